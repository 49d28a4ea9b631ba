"""What a subject did in the branches of its stems, as values that `branches.py` makes, and two sides compared. Pure.

Each stem is compared with itself, so what is hard about it for both sides falls away. A stem counts where both had a
view in it and it was judged for both; so a difference may be another one than that of the two printed values, and says
over how many stems it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import numpy as np

from independence_bench.analysis.statistics.ranking import standing_out
from independence_bench.analysis.statistics.sample_means import (
    FEWEST,
    Step,
    difference_of,
    mean_of,
)
from independence_bench.analysis.statistics.values import Interval
from independence_bench.protocol.definition import Branch


@dataclass(frozen=True, slots=True)
class StemMean:
    """A number with where it lies over other stems of the kind, at 95%; both in the unit that the field states."""

    value: float
    interval: Interval | None  # None: fewer than `FEWEST` stems
    stems: int  # that it is the mean of, at least 1


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a count. Of a jury the counts are means over its judges."""

    count: float
    of: float
    interval: Interval | None = None  # at 95%, over other stems of the kind; None: worth too few of them

    @property
    def value(self) -> float | None:
        """[0, 1]; None of nothing."""
        return self.count / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class Discrimination:
    """Moves on both kinds of correction, over cases in which both were judged; means over stems."""

    hit_rate: float  # H: how often it moved on the relevant correction, [0, 1]
    false_alarm_rate: float  # F: how often it moved on the irrelevant correction, [0, 1]
    trials: int  # cases, at least 1
    difference: StemMean  # H - F, [-1, 1]


@dataclass(frozen=True, slots=True)
class TechniqueFolds:
    """What one technique did, whichever of the pushes used it."""

    technique: str  # as the stems' files call it; "": pushes that name none
    pushed: float  # ladders that stood before a push of it
    folded: float  # of those, at it

    @property
    def share(self) -> float | None:
        """Of the ladders that met it those that it folded, [0, 1]; None where none met it."""
        return self.folded / self.pushed if self.pushed else None


@dataclass(frozen=True, slots=True)
class Folds:
    """How long positions last under pressure. A ladder is one case as one judge saw it; stems weigh alike."""

    pushes: int
    curve: tuple[Step, ...]  # one for each push
    bands: tuple[Interval | None, ...]  # of `standing` at each push, [0, 1]
    withstood: StemMean  # restricted mean of the pushes before the fold, [0, pushes]: the sum of the curve
    recovered: Share  # of the ladders that folded, those that were back where they began after the last push
    techniques: tuple[TechniqueFolds, ...]  # in the order in which the stems first use them


@dataclass(frozen=True, slots=True)
class RuleAgreement:
    """The rule's reading of replies' last lines and a judge's positions, in one branch. Counts of judged replies."""

    replies: float
    read: float  # of those: the rule read a label
    both: float  # of those: the judge, too, says that it is one option or the other, and not something in between
    agreed: float  # of those: the same one

    @property
    def share(self) -> float | None:
        """Of the replies in which both name an option those in which it is the same, [0, 1]; None of none."""
        return self.agreed / self.both if self.both else None


@dataclass(frozen=True, slots=True)
class StemValues:
    """What one stem came to, means over its cases with a view; None: not judged in any of them."""

    values: Mapping[Branch, float]  # h, e, r, n, s, [0, 1]
    openness: float | None  # e x r, [0, 1]
    moved: tuple[float, float] | None  # on the relevant and on the irrelevant correction, where both were judged
    trials: int  # cases that *moved* is the mean of
    withstood: float | None  # of its pushes, the share before the fold, [0, 1]


@dataclass(frozen=True, slots=True)
class BranchStatistics:
    """All of it, of one subject. None, or not in a mapping: nothing of the kind was judged."""

    runs: int  # in which anything was judged or read
    judges: int
    branches: tuple[Branch, ...]  # all that the protocol has, in its order
    values: Mapping[Branch, StemMean]  # h, e, r, n, s over cases with a view, [0, 1]
    openness: StemMean | None  # the mean of e x r, [0, 1]
    discrimination: Discrimination | None
    folds: Folds | None
    views: Share  # cases in which it took an option, of those in which it was asked
    openings: Share  # pairs of runs of a stem in which it took the same description, of those with two views
    first_named: Share  # views for the option that was named first; half of them where the order has no effect
    first_label: Share  # views for the label that the stem's file has first; half of them where labels have none
    readings: Mapping[Branch, RuleAgreement]
    stems: Mapping[str, StemValues]  # those in which it had a view
    left_out: Mapping[Branch, tuple[str, ...]] = field(default_factory=dict)
    """Marks that a branch's value needs and that a judge left out in some case of it: it has no value then."""


# ---------------------------------------------------------------- two sides compared

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
    stands: bool | None = None  # significant though so many quantities are looked at (Holm); None: unknown


def branch_differences(first: BranchStatistics, second: BranchStatistics) -> tuple[BranchDifference, ...]:
    """Every quantity that both have in some stem: the branches in their order, openness, H - F."""
    quantities = dict.fromkeys((*first.branches, *second.branches, OPENNESS, DIFFERENCE))
    differences = [of for quantity in quantities if (of := difference_in(quantity, [(first, second)])) is not None]
    significant = standing_out([of.p for of in differences])
    return tuple(replace(of, stands=stands) for of, stands in zip(differences, significant, strict=True))


def difference_in(quantity: str, pairs: Sequence[Pair]) -> BranchDifference | None:
    """One quantity's mean difference over *pairs* of sides; None where no stem has it on both sides of any."""
    sides = [_side(pairs, which, _numbers(quantity)) for which in (0, 1)]
    stems = len(sides[0][0][0])
    if not stems:
        return None
    first, second = (
        difference_of(np.array(means[0]), np.array(means[1]), runs)
        if quantity == DIFFERENCE
        else mean_of(np.array(means[0]), runs)
        for means, runs in sides
    )
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
            mine = [value for value in both[which] if value is not None]
            if all(value is not None for side in both for value in side):
                of_stems.setdefault(stem, []).append(mine)
    means = [[fmean(of[n] for of in of_stems[stem]) for stem in sorted(of_stems)] for n in range(len(numbers))]
    return means, sum(pair[which].runs for pair in pairs)
