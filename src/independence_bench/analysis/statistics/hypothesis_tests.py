"""Tests of builds: whether a score is worse by more than a margin, and whether items stand lower
than before. Pure functions.

Margin: both builds answered the same scenarios, their runs have nothing in common, and the question
is *the same test again*: a verdict is one on these scenarios. If no subject has two runs, nothing
says how runs vary; then the difference is taken scenario by scenario, and its interval is that of
*another test like it*. It is wider, because it includes how unlike two builds are from scenario to
scenario as well as the noise of runs.

    fail         the whole interval of the difference lies below minus the margin
    pass         it lies wholly above
    undecided    neither, at this number of runs

Without a margin a build fails if the whole interval lies below 0, and passes if it lies above minus
the smallest drop that these runs can decide: one that fails in 80 of 100 repetitions.

This is a test of non-inferiority and one of inferiority by the same interval (G. Piaggio and
others, JAMA 308, 2012, 2594-2604): either of the first two verdicts is wrong at most as often as
the interval misses at that end.

Items: values are small whole numbers. The items are fixed and the replay varies. If nothing
changed, the replays of an item are exchangeable between before and now. The statistic is the sum of
ranks within items (P. van Elteren,
*On the combination of independent two-sample tests of Wilcoxon*, 1960) with its exact distribution,
so the test errs at most as often as its level, whatever the items' distributions and however few
replays there are. Ranks and not values, because a single replay that collapses would hide a step
that all other replays take.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, comb, sqrt
from statistics import NormalDist
from typing import Literal

import numpy as np

from independence_bench.analysis.statistics.dispersion import (
    Measured,
    Pair,
    make_new_scenarios_pair_scores,
    make_rerun_pair_scores,
)
from independence_bench.analysis.statistics.intervals import (
    LEVEL,
    compute_detectable_difference,
    compute_difference_limits,
)
from independence_bench.analysis.statistics.planning import find_fewest_runs, predict_scores
from independence_bench.analysis.statistics.values import Floats, Interval

Values = Sequence[Sequence[int]]  # item -> its value in each replay, from 0

DROP_SHARE = 1 / 3  # share of the items in which a test should find a drop of one step
POWER = 0.8  # how often it should find that
_DRAWS = 2000  # of a power: its standard error is at most .012
LONG = 10_000_000  # products of a convolution
# replays of each item that count as one step away, so that a few equal ones are not taken for
# certainty
_UNSEEN = 0.5


def compute_lower_p(before: Values, now: Values) -> float:
    """Return the p-value, in (0, 1], of the test whether items score lower *now* than *before*: the
    chance that replays shuffled within each item rank as low, or lower.

    *before* and *now* have the same items in the same order, each with the values of its replays.
    An item without a replay on one side does not count. 1.0 if no item counts.
    """
    total, chances = 0, np.ones(1)
    for old, new in zip(before, now, strict=True):
        if old and new:
            ranks = _compute_doubled_shifted_midranks([*old, *new])
            total += sum(ranks[len(old) :])
            chances = _convolve_chances(chances, _compute_sum_chances(ranks, len(new)))
    return min(float(chances[: total + 1].sum()), 1.0)


def _compute_doubled_shifted_midranks(values: Sequence[int]) -> list[int]:
    """Return twice the midrank of each of *values* among them, less the smallest, so that the
    lowest value has 0. This shift changes no probability.
    """
    ranks, below = {}, 0
    for value, count in sorted(Counter(values).items()):
        ranks[value], below = 2 * below + count, below + count
    return [ranks[value] - ranks[min(values)] for value in values]


def _compute_sum_chances(values: Sequence[int], draws: int) -> Floats:
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


def _convolve_chances(first: Floats, second: Floats) -> Floats:
    """Return the probabilities of each sum of two independent whole numbers from 0, whose own
    probabilities are *first* and *second*. Long arrays are multiplied by Fourier transform, whose
    errors are below 1e-15.
    """
    if len(first) * len(second) <= LONG:
        return np.convolve(first, second)
    size = len(first) + len(second) - 1
    both: Floats = np.fft.irfft(np.fft.rfft(first, size) * np.fft.rfft(second, size), size)
    return both


def estimate_lower_power(
    items: Values, replays_before: int, replays_now: int, level: float, share: float = DROP_SHARE
) -> float:
    """Return the power, in [0, 1], of the test for lower scores (`compute_lower_p`) at *level*, if
    a *share* of the items that can score lower do so by one step. By simulation.

    *items* has every known replay of each item; *replays_before* and *replays_now* are the numbers
    of replays that are drawn of each item. Replays are drawn from the item's own and from half a
    replay one step away. The rank sum is taken as normal. 0.0 if no item can be lower.
    """
    known = [values for values in items if values]
    room = [number for number, values in enumerate(known) if sum(values) >= len(values)]
    if not room or not replays_before or not replays_now:
        return 0.0
    rng = np.random.default_rng(0)  # the same answer each time
    steps = max(map(max, known)) + 2
    lower = np.zeros((_DRAWS, len(known)), bool)
    shuffled = rng.permuted(np.tile(room, (_DRAWS, 1)), axis=1)
    np.put_along_axis(lower, shuffled[:, : ceil(len(room) * share)], values=True, axis=1)
    distance, variance = np.zeros(_DRAWS), np.zeros(_DRAWS)
    for number, values in enumerate(known):
        shape = _compute_value_chances(values, steps)
        old, new = (
            rng.multinomial(replays_before, shape, _DRAWS),
            rng.multinomial(replays_now, shape, _DRAWS),
        )
        fallen = np.column_stack([new[:, 0] + new[:, 1], new[:, 2:], np.zeros(_DRAWS, int)])
        new = np.where(lower[:, [number]], fallen, new)
        both, every = old + new, replays_before + replays_now
        ranks = 2 * np.cumsum(both, axis=1) - both - every  # twice the midrank, less its mean
        distance += (new * ranks).sum(axis=1)
        variance += (
            replays_before * replays_now / (every * (every - 1)) * (both * ranks**2).sum(axis=1)
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        score = (distance + 1) / np.sqrt(variance)  # half a rank for continuity
    return float((score <= NormalDist().inv_cdf(level)).mean())


def _compute_value_chances(values: Sequence[int], steps: int) -> Floats:
    """Return the probabilities of the values 0 to *steps* - 1 of one item, (steps,), estimated from
    the *values* of its replays. Half a replay is added one step away from these values.
    """
    counts = np.bincount(values, minlength=steps).astype(float)
    for value in values:
        counts[value - 1 if value else 1] += _UNSEEN / len(values)
    chances: Floats = counts / counts.sum()
    return chances


def count_replays_needed(items: Values, replays_before: int | None, level: float) -> int | None:
    """Return how many replays of each item are needed now so that the test for lower scores has a
    power of `POWER` at *level*; None if no number up to the limit of `find_fewest_runs` is enough.

    *replays_before* is the number of replays of the baseline; None means as many as now.
    """
    return find_fewest_runs(
        lambda now: estimate_lower_power(items, replays_before or now, now, level) >= POWER
    )


def find_fewest_fallen_items(
    items: Values, replays_before: int, replays_now: int, level: float
) -> int | None:
    """Return the smallest number of items that must score one step lower for the test at *level* to
    find it with a power of `POWER`; None if not even all items that can score lower are enough.

    *items* has the known replays of each item; *replays_before* and *replays_now* are the numbers
    of replays of each.
    """
    room = sum(sum(values) >= len(values) > 0 for values in items)
    shares = ((number, (number - 0.5) / room) for number in range(1, room + 1))
    return next(
        (
            few
            for few, share in shares
            if estimate_lower_power(items, replays_before, replays_now, level, share) >= POWER
        ),
        None,
    )


Verdict = Literal["fail", "undecided", "pass"]  # of several the first that there is
_HALVINGS = 14  # of at most the whole scale: a hundredth of a point


@dataclass(frozen=True, slots=True, eq=False)
class MarginTest:
    """The difference of a score in [0, 1] between two builds of a model, now minus before, with its
    interval, to be compared with a margin.
    """

    difference: float
    interval: Interval
    over_scenarios: bool  # no subject has two runs, so it is paired by scenario
    sides: Pair  # now, before
    level: float
    spread: float = 1.0  # factor of standard errors to foresee other gates

    def decide_verdict(self, margin: float | None, decidable_drop: float | None) -> Verdict:
        """Return whether the new build's score fell by more than *margin*, in [0, 1]: "fail" if the
        whole interval lies below minus the margin, "pass" if it lies above, else "undecided".

        If *margin* is None, the test is for any drop: it fails if the whole interval lies below 0,
        and passes if a drop of *decidable_drop* (from `find_smallest_drop`) lies outside it.
        """
        if self.interval.high < -(margin or 0.0):
            return "fail"
        excluded = decidable_drop if margin is None else margin
        return "pass" if excluded is not None and self.interval.low > -excluded else "undecided"

    def _compute_detectable_distance(self, mean: float) -> float:
        """Return the smallest distance of the builds' difference from the margin that 80 of 100
        repetitions find significant, if the new build's score is *mean*, in [0, 1].

        Scores vary more below the ceiling, so the variance is taken at *mean*.
        """
        now, before = self.sides
        there = replace(now, mean=np.full_like(now.mean, mean))
        return float(compute_detectable_difference(there, before, self.level)[0]) * self.spread

    def find_smallest_drop(self, margin: float | None) -> float | None:
        """Return the smallest true drop of the score, in [0, 1], that fails the test with *margin*
        in 80 of 100 repetitions; None if not even a drop to 0 does.
        """
        most = float(self.sides[1].mean[0])
        small, large = margin or 0.0, most

        def is_seen(drop: float) -> bool:
            """Return whether a true *drop* of the score fails the test in 80 of 100 repetitions."""
            return drop - (margin or 0.0) >= self._compute_detectable_distance(most - drop)

        if large <= small or not is_seen(large):
            return None
        for _ in range(_HALVINGS):
            middle = (small + large) / 2
            small, large = (small, middle) if is_seen(middle) else (middle, large)
        return large


@dataclass(frozen=True, slots=True)
class RunsNeeded:
    """How many runs would decide whether a build is worse by more than a margin, in 80 of 100
    repetitions, if the true difference is the one found now. None if no number of runs would.
    """

    now: int | None  # of the build that is tested, the other one staying as it is
    both: int | None  # of each of the two


def compute_confidence_level_per_look(looks: int) -> float:
    """Return the level of each of so many intervals (*looks*), such that with a chance of 95% all
    of them contain their true values (Bonferroni).
    """
    return 1 - (1 - LEVEL) / looks


def make_margin_test(
    measured: Measured, now_subject: int, before_subject: int, level: float = LEVEL
) -> MarginTest | None:
    """Return the test that compares two builds of a model: the score of subject number
    *now_subject* minus that of subject number *before_subject*, with its interval at *level*.

    None if whole runs are shifted too much for any validated interval, if no subject has two runs
    and a dimension that counts has a single scenario, and if a score is missing.
    """
    over_scenarios = not measured.rerun.known.any()
    sides = (make_new_scenarios_pair_scores if over_scenarios else make_rerun_pair_scores)(
        measured, np.array([now_subject]), np.array([before_subject])
    )
    if (
        sides is None
        or measured.run_effects.is_beyond_validated_range
        or np.isnan(measured.mean[[now_subject, before_subject]]).any()
    ):
        return None
    low, high = compute_difference_limits(*sides, level)
    gap = float(measured.mean[now_subject] - measured.mean[before_subject])
    interval = Interval(float(low[0]), float(high[0]))
    return MarginTest(
        gap, interval, over_scenarios, sides, level, _compute_prediction_spread_factor(measured)
    )


def count_runs_needed(
    measured: Measured, now_subject: int, before_subject: int, margin: float, level: float = LEVEL
) -> RunsNeeded:
    """Return how many runs would decide, in 80 of 100 repetitions, whether subject number
    *now_subject* is worse than subject number *before_subject* by more than *margin*, in [0, 1].
    The true difference is taken to be the one found, and dispersions to stay as they are.

    If no subject has two runs, the dispersions are those believed beforehand.
    """
    away = abs(float(measured.mean[now_subject] - measured.mean[before_subject]) + margin)
    away /= _compute_prediction_spread_factor(measured)
    own = measured.runs

    def is_difference_detectable(runs_per_subject: Floats) -> bool:
        """Return whether so many *runs_per_subject*, a number for each subject, make the difference
        between the two builds detectable.
        """
        scores = predict_scores(measured, runs_per_subject)
        one, other = (
            scores.select_scores(np.array([now_subject])),
            scores.select_scores(np.array([before_subject])),
        )
        return bool(compute_detectable_difference(one, other, level)[0] <= away)

    few, number = max(int(own[now_subject]) + 1, 2), np.arange(len(own))
    both = np.isin(number, (now_subject, before_subject))
    return RunsNeeded(
        now=find_fewest_runs(
            lambda runs: is_difference_detectable(
                np.where(number == now_subject, float(runs), own)
            ),
            few,
        ),
        both=find_fewest_runs(
            lambda runs: is_difference_detectable(np.where(both, np.maximum(own, runs), own)), few
        ),
    )


def _compute_prediction_spread_factor(measured: Measured) -> float:
    """Return the factor, at least 1, by which standard errors are enlarged to predict later tests
    of builds. It is above 1 if something shifts whole runs together: the variance is then enlarged
    by one standard error of the ratio of run variances.

    A few runs say little about how much whole runs are shifted. Half of all tests find less than it
    is, and would promise too much.
    """
    effects = measured.run_effects
    shifted = effects.ratio is not None and effects.ratio > 1 and effects.degrees > 0
    return sqrt(1 + sqrt(2 / effects.degrees)) if shifted else 1.0
