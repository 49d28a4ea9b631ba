"""What one scenario (an item) does in a test: classical item analysis. Pure functions on numbers.

    ends                  how many scores are at the ends of the scale
    item_rest             how far an item goes with the rest of what it is a part of
    fisher_interval       where such a correlation lies, were the subjects a sample
    beyond_chance         whether it is further below 0 than chance explains
    variance_share        how much of the differences between subjects an item carries, with its interval
    index_without         the index of every subject with an item left out
    places                who stands where in a ranking

Arrays of subjects have one number for each of them, in one order throughout. Absent is None; what
is not defined is None, never 0. Intervals treat the subjects as a sample of those that might have
been tested: for the subjects at hand the figures are what they are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import atanh, sqrt, tanh
from statistics import NormalDist

import numpy as np

from independence_bench.analysis.statistics.intervals import LEVEL, t_quantile
from independence_bench.analysis.statistics.values import Floats, Interval, Numbers

FEWEST = 3  # subjects for a correlation: two are always on a line
FEWEST_SAMPLED = 4  # subjects for an interval
SAME = 1e-9  # numbers nearer than this do not differ: they are sums in another order


@dataclass(frozen=True, slots=True)
class VarianceShare:
    """What an item carries of the differences between subjects; all of a total's shares add up to
    1.
    """

    share: float  # may be below 0, or above 1 where others are
    interval: Interval | None  # of the share; None for fewer than `FEWEST_SAMPLED` subjects
    # [0, 1], of the total's variance, by a straight line on the item; None: it never varies
    explained: float | None


@dataclass(frozen=True, slots=True)
class MarkScores:
    """One mark in an index: a dimension's marks are averaged over their items, added up and
    weighted.
    """

    dimension: str
    weight: float  # of the dimension in the index
    span: float  # of the mark's scale, to be weighed with those of the dimension's other marks
    items: tuple[int, ...]  # that give the mark
    scores: Floats  # subjects x items, in [0, 1]


def ends(scores: Sequence[float] | Floats) -> tuple[float, float] | tuple[None, None]:
    """(ceiling, floor): the shares of *scores*, all in [0, 1], that are 1 and 0. None without any."""
    given = np.asarray(scores, dtype=np.float64)
    return (
        (float(np.mean(given >= 1 - SAME)), float(np.mean(given <= SAME)))
        if given.size
        else (None, None)
    )


def item_rest(item: Floats, total: Floats) -> float | None:
    """Pearson's correlation of an item with the total that it is a part of, itself taken out: in
    [-1, 1].

    The corrected item-total correlation (L. Crocker and J. Algina, Introduction to Classical and
    Modern Test Theory, 1986, chapter 14): with itself left in, an item goes with the total because
    it is in it. None for fewer than `FEWEST` subjects, and where the item or the rest does not
    vary.
    """
    rest = total - item
    if item.size < FEWEST or not (_varies(item) and _varies(rest)):
        return None
    a, b = item - item.mean(), rest - rest.mean()
    return float(np.clip(a @ b / sqrt(float(a @ a) * float(b @ b)), -1.0, 1.0))


def fisher_interval(correlation: float, subjects: int) -> Interval | None:
    """Where a correlation lies at 95%: tanh(atanh r -+ q / sqrt(n - 3)), q being the normal
    quantile.

    R. A. Fisher, On the "probable error" of a coefficient of correlation deduced from a small
    sample, Metron 1, 1921, 3-32. Exact for pairs that are jointly normal; scores that pile up at an
    end are not, so it is an approximation. None for fewer than `FEWEST_SAMPLED` subjects, and for a
    correlation of exactly 1 or -1.
    """
    if subjects < FEWEST_SAMPLED or abs(correlation) > 1 - SAME:
        return None
    half = NormalDist().inv_cdf((1 + LEVEL) / 2) / sqrt(subjects - 3)
    middle = atanh(correlation)
    return Interval(tanh(middle - half), tanh(middle + half))


def beyond_chance(correlation: float, subjects: int, looked_at: int = 1) -> bool:
    """Whether *correlation* is further below 0 than chance explains, it being one of so many that
    were looked at.

    One-sided, t = r sqrt((n - 2) / (1 - r^2)) against Student's t with n - 2 (exact where nothing
    is connected and the pairs are normal; Fisher's z says it too often this far out). The level is
    divided by *looked_at* (Bonferroni), so that then at most 5% of all reports say this of any
    item. False for fewer than `FEWEST_SAMPLED` subjects.
    """
    if subjects < FEWEST_SAMPLED:
        return False
    errors = correlation * sqrt((subjects - 2) / max(1 - correlation**2, SAME))
    return errors < -float(t_quantile(1 - 2 * (1 - LEVEL) / max(looked_at, 1), subjects - 2))


def variance_share(item: Floats, total: Floats) -> VarianceShare | None:
    """What *item*, one of the summands of *total*, carries of its variance: cov(item, total) /
    var(total).

    As the total is the sum of its items, the shares of all of them add up to 1 (the covariance
    decomposition of a sum; A. F. Shorrocks, Inequality decomposition by factor components,
    Econometrica 50, 1982, 193-211). The share is also the slope of the item on the total, so it has
    a slope's interval, with Student's t for n - 2. An item that goes against the others carries
    less than nothing. *explained* is the squared correlation with the total: how well one could
    tell the total from this item alone; these do not add up to anything.

    None for fewer than `FEWEST` subjects, and where the total does not vary.
    """
    if item.size < FEWEST or not _varies(total):
        return None
    a, b = item - item.mean(), total - total.mean()
    slope = float(a @ b) / float(b @ b)
    explained = (
        float(min(float(a @ b) ** 2 / (float(a @ a) * float(b @ b)), 1.0))
        if _varies(item)
        else None
    )
    if item.size < FEWEST_SAMPLED:
        return VarianceShare(slope, None, explained)
    left = a - slope * b
    half = float(t_quantile(LEVEL, item.size - 2)) * sqrt(
        float(left @ left) / (item.size - 2) / float(b @ b)
    )
    return VarianceShare(slope, Interval(slope - half, slope + half), explained)


def index_without(parts: Sequence[MarkScores], item: int | None = None) -> Floats | None:
    """The index of every subject with *item* left out of the means that it is in; with None, the
    index.

    Means are over the items that remain. A mark that nothing remains of leaves its dimension to the
    dimension's other marks; where none is left either (`emptied` says which dimension), there is no
    index: None.
    """
    if not parts or emptied(parts, {item} if item is not None else ()):
        return None
    dimensions: dict[str, list[tuple[float, float, Floats]]] = {}
    for part in parts:
        columns = [place for place, other in enumerate(part.items) if other != item]
        if columns:
            mean: Floats = part.scores[:, columns].mean(axis=1)
            dimensions.setdefault(part.dimension, []).append((part.weight, part.span, mean))
    index: Floats = np.zeros(parts[0].scores.shape[0])
    for marks in dimensions.values():
        spans = sum(span for _, span, _ in marks)
        for weight, span, mean in marks:
            index = index + weight * span / spans * mean
    return index


def emptied(parts: Sequence[MarkScores], items: Collection[int]) -> tuple[str, ...]:
    """The dimensions of which nothing is left without *items*, in the order of *parts*."""
    left = {part.dimension for part in parts if set(part.items) - set(items)}
    return tuple(dict.fromkeys(part.dimension for part in parts if part.dimension not in left))


def places(index: Floats) -> Numbers:
    """The place of every subject in the ranking: 1 + how many are better; equal ones share it. []
    for none.
    """
    better = index[np.newaxis, :] > index[:, np.newaxis] + SAME
    ranks: Numbers = 1 + np.count_nonzero(better, axis=1)
    return ranks


def _varies(numbers: Floats) -> bool:
    return bool(numbers.size and np.ptp(numbers) >= SAME)
