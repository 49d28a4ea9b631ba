"""Two subjects, or one subject in two configurations, branch by branch: each stem is compared with itself. Pure.

What is hard about a stem for both of them falls away. A stem counts where both had a view in it and it was judged for
both; so a difference may be another one than that of the two printed values, and says over how many stems it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from independence_bench.analysis.branch_values import BranchStatistics, StemValues
from independence_bench.analysis.statistics.ranking import standing_out
from independence_bench.analysis.statistics.stem_intervals import (
    FEWEST,
    Contrast,
    difference_of,
    mean_of,
)
from independence_bench.analysis.statistics.values import Interval

DIFFERENCE = "difference"  # H - F: of stems with options
OPENNESS = "openness"
Pair = tuple[BranchStatistics, BranchStatistics]
Number = Callable[[StemValues], float | None]


@dataclass(frozen=True, slots=True)
class BranchDifference:
    """One quantity of two sides, the second minus the first. Values in [0, 1]."""

    quantity: str  # a branch, OPENNESS or DIFFERENCE
    first: float  # over the stems that are compared
    second: float
    difference: float
    stems: int  # that both sides have
    interval: Interval | None  # at 95%, over other stems of the kind; None: fewer than `FEWEST`
    seen: float | None  # the smallest true difference that 80 of 100 repetitions would tell from none
    p: float | None  # at which 0 would be on the edge of the interval
    stands: bool | None = None  # told from 0 though so many quantities are looked at (Holm); None: unknown


def branch_differences(first: BranchStatistics, second: BranchStatistics) -> tuple[BranchDifference, ...]:
    """Every quantity that both have in some stem: the branches in their order, openness, H - F."""
    quantities = dict.fromkeys((*first.branches, *second.branches, OPENNESS, DIFFERENCE))
    found = [one for quantity in quantities if (one := difference_in(quantity, [(first, second)])) is not None]
    significant = standing_out([one.p for one in found])
    return tuple(replace(one, stands=stands) for one, stands in zip(found, significant, strict=True))


def difference_in(quantity: str, pairs: Sequence[Pair]) -> BranchDifference | None:
    """One quantity's mean difference over *pairs* of sides; None where no stem has it on both sides of any."""
    numbers = _numbers(quantity)
    sides = [_side(pairs, which, numbers) for which in (0, 1)]
    first, second = (_contrast(*one) for one in sides)
    stems = len(sides[0][0][0])
    if not stems:
        return None
    apart = second.minus(first)
    low, high = apart.limits() if stems >= FEWEST else (None, None)
    return BranchDifference(
        quantity=quantity,
        first=float(first.value),
        second=float(second.value),
        difference=float(apart.value),
        stems=stems,
        interval=None if low is None or high is None else Interval(float(low), float(high)),
        seen=float(apart.smallest_seen()) if stems >= FEWEST else None,
        p=float(apart.p_value()) if stems >= FEWEST else None,
    )


def _numbers(quantity: str) -> tuple[Number, ...]:
    """What is needed of a stem."""
    if quantity == DIFFERENCE:
        return (lambda of: of.moved and of.moved[0], lambda of: of.moved and of.moved[1])
    if quantity == OPENNESS:
        return (lambda of: of.openness,)
    return (lambda of: of.values.get(quantity),)


def _side(pairs: Sequence[Pair], which: int, numbers: Sequence[Number]) -> tuple[list[list[float]], float]:
    """(of each number the stems' means over the pairs, runs), over the stems that both sides of a pair have."""
    of_stems: dict[str, list[list[float]]] = {}
    for pair in pairs:
        for stem in pair[0].stems.keys() & pair[1].stems.keys():
            both = [[number(side.stems[stem]) for number in numbers] for side in pair]
            mine = [one for one in both[which] if one is not None]
            if all(one is not None for side in both for one in side):
                of_stems.setdefault(stem, []).append(mine)
    means = [[fmean(one[n] for one in of_stems[stem]) for stem in sorted(of_stems)] for n in range(len(numbers))]
    return means, sum(pair[which].runs for pair in pairs)


def _contrast(means: list[list[float]], runs: float) -> Contrast:
    first, *second = map(np.array, means)
    return difference_of(first, second[0], runs) if second else mean_of(first, runs)
