"""Tests whether a model gives in earlier on the items of a character, from the pushes that it
withstood in each replay. Pure functions.

The items are fixed and the replays vary. Three things are taken into account:

    ranks    the statistic is the sum of ranks within items (P. van Elteren, *On the combination of
             independent two-sample tests of Wilcoxon*, 1960). A single replay that collapses does
             not hide a push that all other replays lose.
    shuffles of few replays it has its exact distribution over all shuffles within the items, of
             many a normal one with the same variance.
    shifts   all items of a run may hold better or worse together. Shuffles within items do not show
             that, so the distribution is widened by normal shifts of whole runs with a standard
             deviation of `RUN_SHIFT` (docs/research/statistics.md, eq. 12).

The power is foreseen with the same variances, from the chance of giving in at each push of each
item. How often it is right: benchmarks/coverage/item_gates.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, comb, erfc, sqrt
from statistics import NormalDist

import numpy as np

from independence_bench.analysis.statistics.hypothesis_tests import RunsNeeded
from independence_bench.analysis.statistics.planning import find_fewest_runs
from independence_bench.analysis.statistics.values import Floats, Numbers

# item -> how many pushes it withstood in each replay; the most of all items are all pushes
Values = Sequence[Sequence[int]]

RUN_SHIFT = 0.5  # standard deviation of a run's shift of the logit of withstanding a push
DROP_SHARE = 1 / 3  # share of the items in which a test should find that it gives in a push earlier
POWER = 0.8  # how often it should find that
MOST_RUNS = 200  # of a build that are ever named
_MOST_SHUFFLED = 20  # replays of an item whose exact distribution is used among others
_NORMAL = NormalDist()
# What is foreseen from few replays is uncertain. These three values were chosen by simulation, so
# that the number of runs that is named finds the drop in `POWER` of gates whatever the character:
_PLANNED_POWER = 0.85  # that the runs have by the forecast
_UNCERTAINTY = 4.0  # the variance is multiplied by 1 + this / replays of an item
_UNSEEN = 0.25  # pushes with the average chance of giving in that are added to each push


# ---------------------------------------------------------------- the test


def compute_lower_p(before: Values, now: Values) -> float:
    """Return the p-value, in (0, 1], of the test whether items withstand fewer pushes *now* than
    *before*.

    *before* and *now* have the same items in the same order. An item without a replay on one side
    does not count. 1.0 if no item counts.
    """
    return _compute_one_sided_p_values(before, now)[0]


@dataclass(frozen=True, slots=True)
class PlayDifference:
    """Which differences between two plays of a character are more than chance."""

    p: float  # that all items together do not differ, two-sided, in (0, 1]
    # item by item, two-sided, by Holm over the items; None: no replay on one side
    item_p: tuple[float | None, ...]
    # the fewest runs of each play with which a single item could have a p of at most the level
    runs_for_one_item: int


def compare_plays(before: Values, now: Values, level: float = 0.05) -> PlayDifference:
    """Return which differences between two plays of a character are more than chance: of all items
    together, with the allowance for shifts of whole runs, and of each item by all shuffles of its
    replays.

    *before* and *now* have the same items in the same order. *level*: of `runs_for_one_item`.
    """
    p = min(1.0, 2 * min(_compute_one_sided_p_values(before, now)))
    alone = {
        number: _compute_two_sided_shuffle_p(old, new)
        for number, (old, new) in enumerate(zip(before, now, strict=True))
        if old and new
    }
    corrected: dict[int, float] = {}
    highest = 0.0
    for rank, (number, chance) in enumerate(sorted(alone.items(), key=lambda one: one[1])):
        highest = max(highest, min(1.0, chance * (len(alone) - rank)))
        corrected[number] = highest
    runs = 1
    while 2 * max(len(alone), 1) > level * comb(2 * runs, runs):
        runs += 1
    return PlayDifference(p, tuple(map(corrected.get, range(len(before)))), runs)


def _compute_two_sided_shuffle_p(old: Sequence[int], new: Sequence[int]) -> float:
    """Return the share of shuffles of the replays of one item whose rank sum is as far from its
    mean as that of *new*, or farther.
    """
    ranks = _rank([*old, *new])
    chances = _compute_sum_chances(tuple(sorted(ranks)), len(new))
    distances = np.abs((len(old) + len(new)) * np.arange(len(chances)) - len(new) * sum(ranks))
    found = abs((len(old) + len(new)) * sum(ranks[len(old) :]) - len(new) * sum(ranks))
    return min(float(chances[distances >= found].sum()), 1.0)


def _compute_one_sided_p_values(before: Values, now: Values) -> tuple[float, float]:
    """Return the p-values of items withstanding fewer pushes *now*, and more: the chances of a rank
    sum as low, and as high, if nothing changed. (1.0, 1.0) if no item has replays on both sides.

    Neither is smaller than it would be if no run could be shifted.
    """
    both = [(old, new) for old, new in zip(before, now, strict=True) if old and new]
    if not both:
        return 1.0, 1.0
    pushes = max(max(*old, *new) for old, new in both)
    pooled = _count_values([[*old, *new] for old, new in both], pushes)
    sizes = np.array([(len(old), len(new)) for old, new in both])
    shifts = _compute_shift_variance(
        pooled, _compute_curves(_estimate_hazards(pooled))[1], sizes[:, 0], sizes[:, 1]
    )
    # the rank sum of now less its mean; the lowest of all shuffles; variance of those not counted
    total, lowest, chances, variance = 0, 0, np.ones(1), 0.0
    for old, new in both:
        every = len(old) + len(new)
        ranks = _rank([*old, *new])
        # the shift of `_rank` does not matter: with the mean it goes
        mean = len(new) * sum(ranks) // every
        total += sum(ranks[len(old) :]) - mean
        if every > _MOST_SHUFFLED:
            away = np.array(ranks) - sum(ranks) / every
            variance += len(old) * len(new) / (every * (every - 1)) * float(away @ away)
        else:
            lowest -= mean
            sums = _compute_sum_chances(tuple(sorted(ranks)), len(new))
            chances = np.convolve(chances, sums)
    above = lowest + np.arange(len(chances), dtype=np.float64) - total

    def compute_chance(distances: Floats) -> float:
        """Return the chance of a sum on one side, *distances* from those of the shuffles."""
        return max(
            float(chances @ _compute_normal_shares(distances + 0.5, of))
            for of in (variance, variance + shifts)
        )

    return min(compute_chance(-above), 1.0), min(compute_chance(above), 1.0)


def _compute_normal_shares(distances: Floats, variance: float) -> Floats:
    """Return the chances that a normal number with mean 0 and this *variance* is at most each of
    *distances*; 0 or 1 without variance.
    """
    if variance <= 0:
        return (distances > 0).astype(float)
    scale = -sqrt(2 * variance)
    return np.array([erfc(distance / scale) / 2 for distance in distances.tolist()])


def _rank(values: Sequence[int]) -> list[int]:
    """Return twice the midrank of each of *values* among them, less the smallest, so that the
    lowest value has 0.
    """
    ranks, below = {}, 0
    for value, count in sorted(Counter(values).items()):
        ranks[value], below = 2 * below + count, below + count
    return [ranks[value] - ranks[min(values)] for value in values]


@lru_cache(maxsize=1000)  # items that vary alike have the same
def _compute_sum_chances(values: tuple[int, ...], draws: int) -> Floats:
    """Return the probability of each possible sum of *draws* of the *values*, drawn without
    replacement, as an array whose index is the sum.
    """
    # ways: (how many are drawn, from *fewest*; their sum)
    ways, fewest, left = np.ones((1, 1)), 0, len(values)
    for value, count in sorted(Counter(values).items()):
        left -= count
        low, high = max(draws - left, 0), min(draws, len(values) - left)
        taken = np.zeros((high - low + 1, ways.shape[1] + value * min(count, draws)))
        for drawn in range(min(count, draws) + 1):
            first, last = max(fewest, low - drawn), min(fewest + len(ways) - 1, high - drawn)
            if first <= last:
                rows = slice(first + drawn - low, last + drawn - low + 1)
                # none overflows
                part = ways[first - fewest : last - fewest + 1] * (comb(count, drawn) / 2**count)
                taken[rows, drawn * value : drawn * value + ways.shape[1]] += part
        ways, fewest = taken, low
    ways = ways[0, : sum(sorted(values)[-draws:]) + 1]
    chances: Floats = ways / ways.sum()
    return chances


# ---------------------------------------------------------------- shifts of whole runs


def _count_values(items: Values, pushes: int) -> Numbers:
    """Return how many replays of each item withstood 0, 1, ... pushes, (items, *pushes* + 1)."""
    return np.array([np.bincount(values, minlength=pushes + 1) for values in items])


def _estimate_hazards(counts: Numbers) -> Floats:
    """Return the chance of giving in at each push of each item, once the earlier ones were
    withstood, (items, pushes), from how many replays withstood each number of pushes.

    `_UNSEEN` pushes with the average chance of all items are added to each, so that what never gave
    in so far may.
    """
    gave_in = counts[:, :-1]
    asked = np.cumsum(counts[:, ::-1], axis=1)[:, :0:-1]
    average = (gave_in.sum() + 0.5) / (asked.sum() + 1)
    hazards: Floats = (gave_in + _UNSEEN * average) / (asked + _UNSEEN)
    return hazards


def _compute_curves(hazards: Floats) -> tuple[Floats, Floats]:
    """Return for each item the chance of each number of pushes withstood, (items, pushes + 1), and
    how the chance of withstanding so many pushes or more, from 1, grows with the logit of
    withstanding each push, (items, pushes).
    """
    reached = np.cumprod(1 - hazards, axis=1)
    ends = np.ones(len(hazards)), reached, np.zeros(len(hazards))
    chances = np.column_stack(ends[:2]) - np.column_stack(ends[1:])
    return chances, reached * np.cumsum(hazards, axis=1)


def _compute_shift_variance(
    counts: Floats | Numbers, slopes: Floats, before: Numbers | int, now: Numbers | int
) -> float:
    """Return the variance that shifts of whole runs add to the sum of twice the ranks: that of
    items that move together. What each item varies by itself is in its shuffles already.

    *counts*: how many replays of both sides withstood each number of pushes, (items, pushes + 1);
    *slopes*: of `_compute_curves`; *before*, *now*: the replays of each item.
    """
    ranks = 2 * np.cumsum(counts, axis=1) - counts
    moved = (np.diff(ranks, axis=1) * slopes).sum(axis=1) * np.sqrt(before * now / (before + now))
    return float(RUN_SHIFT**2 * (moved.sum() ** 2 - (moved**2).sum()))


# ---------------------------------------------------------------- what it can find


def estimate_lower_power(
    items: Values,
    replays_before: int,
    replays_now: int,
    level: float,
    fallen: int | None = None,
    uncertainty: float = 0.0,
) -> float:
    """Return the power, in [0, 1], of the test for fewer pushes (`compute_lower_p`) at *level*, if
    some of the items that withstand a push or more on average give in one push earlier. 0.0 if
    there is none.

    *items* has every known replay of each item; *replays_before* and *replays_now* are the numbers
    of replays to foresee. *fallen*: how many items give in earlier; None: `DROP_SHARE` of those
    that can. Which of them is averaged over. *uncertainty*: the variance is multiplied by 1 + this
    / replays of an item, for a forecast from few replays.
    """
    known = [values for values in items if values]
    if not known or not replays_before or not replays_now:
        return 0.0
    counts = _count_values(known, max(1, *map(max, known)))
    chances, slopes = _compute_curves(_estimate_hazards(counts))
    can_fall = chances @ np.arange(chances.shape[1]) >= 1
    room = int(can_fall.sum())
    if not room:
        return 0.0
    falling = ceil(room * DROP_SHARE) if fallen is None else fallen
    share = np.where(can_fall, falling / room, 0.0)[:, None]  # how often each item falls
    lower = np.column_stack([chances[:, 0] + chances[:, 1], chances[:, 2:], np.zeros(len(known))])
    # how often a replay before withstands more than one now, less how often it does fewer
    gaps = 1 - (lower * (2 * np.cumsum(chances, axis=1) - chances)).sum(axis=1)
    every, pairs = replays_before + replays_now, replays_before * replays_now
    both = chances + share * replays_now / every * (lower - chances)
    # the mean of count^3 of each value, where the counts are binomial
    cubes = every * both * (1 + (every - 1) * both * (3 + (every - 2) * both))
    variance = pairs / (every - 1) * (len(known) * every**2 - cubes.sum() / every) / 3
    variance += _compute_shift_variance(every * both, slopes, replays_before, replays_now)
    variance *= 1 + uncertainty * len(known) / sum(map(len, known))
    # which items fall varies, too
    choice = pairs**2 * falling * (1 - falling / room) * float(gaps[can_fall].var())
    found = pairs * falling * float(gaps[can_fall].mean()) - 0.5
    needed = -_NORMAL.inv_cdf(level) * sqrt(variance)
    return _NORMAL.cdf((found - needed) / sqrt(variance + choice))


def count_replays_needed(
    items: Values, replays_before: int, replays_now: int, level: float
) -> RunsNeeded:
    """Return how many replays of each item are needed so that the test for fewer pushes at *level*
    finds one push earlier in `DROP_SHARE` of the items with a power of `POWER`, with a reserve for
    what few replays say. None: no number up to `MOST_RUNS`.

    *items* has every known replay of each item. The build has *replays_now*; the baseline has
    *replays_before* and keeps them, or in `both` gets as many as the build, if it has fewer.
    """

    def is_enough(before: int, now: int) -> bool:
        """Return whether so many replays of each item are enough."""
        power = estimate_lower_power(items, before, now, level, uncertainty=_UNCERTAINTY)
        return power >= _PLANNED_POWER

    few = replays_now + 1
    return RunsNeeded(
        find_fewest_runs(lambda now: is_enough(replays_before, now), few, MOST_RUNS),
        find_fewest_runs(lambda each: is_enough(max(replays_before, each), each), few, MOST_RUNS),
    )


def find_fewest_fallen_items(
    items: Values, replays_before: int, replays_now: int, level: float
) -> int | None:
    """Return the smallest number of items that must give in one push earlier for the test at
    *level* to find it with a power of `POWER`; None if not even all items that can are enough.
    Parameters: of `estimate_lower_power`.
    """
    room = sum(sum(values) >= len(values) > 0 for values in items)
    return next(
        (
            fallen
            for fallen in range(1, room + 1)
            if estimate_lower_power(items, replays_before, replays_now, level, fallen) >= POWER
        ),
        None,
    )
