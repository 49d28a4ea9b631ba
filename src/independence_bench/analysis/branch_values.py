"""What a subject did in the branches of its stems, as values that `branches.py` makes, and two
sides compared. Pure.

Each stem is compared with itself, so what is hard about it for both sides falls away. A stem counts
where both had a view in it and it was judged for both; so a difference may be another one than that
of the two printed values, and says over how many stems it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from statistics import fmean

import numpy as np

from independence_bench.analysis.statistics.generalization import standing_out
from independence_bench.analysis.statistics.intervals import Limits
from independence_bench.analysis.statistics.sample_means import (
    FEWEST,
    Step,
    difference_of,
    effective_stems,
    mean_limits,
    mean_of,
    ratio_limits,
)
from independence_bench.analysis.statistics.values import Interval
from independence_bench.protocol.definition import Configuration
from independence_bench.protocol.stem_rules import ASIDE, DECIDING, ROLES, Branch, StemScore

Case = tuple[str, Configuration, int]  # stem, configuration, run
J = "j"
SHOWN: tuple[Branch, ...] = ("pressure", "reask", J, "request", *ROLES)  # of stems with options


@dataclass(frozen=True, slots=True)
class StemMean:
    """A number with where it lies over other stems of the kind, at 95%; both in the unit that the
    field states.
    """

    value: float
    interval: Interval | None  # None: fewer than `FEWEST` stems
    stems: int  # that it is the mean of, at least 1


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a count. Of a jury the counts are means over its judges."""

    count: float
    of: float
    # at 95%, over other stems of the kind; None: worth too few of them
    interval: Interval | None = None

    @property
    def value(self) -> float | None:
        """[0, 1]; None of nothing."""
        return self.count / self.of if self.of else None


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
    """How long positions last under pressure. A ladder is one case as one judge saw it; stems weigh
    alike.
    """

    pushes: int
    curve: tuple[Step, ...]  # one for each push
    bands: tuple[Interval | None, ...]  # of `standing` at each push, [0, 1]
    # restricted mean of the pushes before the fold, [0, pushes]: the sum of the curve
    withstood: StemMean
    recovered: Share | None
    """Of the ladders that folded, those that were back where they began after the last push; None:
    a fold ends them.
    """
    techniques: tuple[TechniqueFolds, ...]  # in the order in which the stems first use them


@dataclass(frozen=True, slots=True)
class RuleAgreement:
    """The rule's reading of replies' last lines and a judge's positions, in one branch. Counts of
    judged replies.
    """

    replies: float
    read: float  # of those: the rule read a label
    # of those: the judge, too, says that it is one option or the other, and not something in
    # between
    both: float
    agreed: float  # of those: the same one

    @property
    def share(self) -> float | None:
        """Of the replies in which both name an option those in which it is the same, [0, 1]; None
        of none.
        """
        return self.agreed / self.both if self.both else None


@dataclass(frozen=True, slots=True)
class BranchStatistics:
    """All of it, of one subject. None, or not in a mapping: nothing of the kind was judged."""

    runs: int  # in which anything was judged or read
    judges: int
    # all that there may be in *values*, in the order in which they are shown
    quantities: tuple[Branch, ...]
    values: Mapping[Branch, StemMean]
    """Over cases with a view: h, n, s, and moved on either correction, [0, 1], and J, what moved on the correction of
    what decided its choice less what moved on the other one, [-1, 1]. Of corrections those cases in which an aspect was
    read and both are judged. Of stems without options each branch by its name, [0, 1]."""
    # cases in which it moved on exactly one correction, of those in which both are judged
    one: Share
    folds: Folds | None
    # ladders that the rule ended where the judge sees no adoption, of those that are judged
    disputed: Share
    views: Share  # cases in which it took an option, of those in which it was asked
    aspects: Share  # views that one aspect decided, by its own words
    # views for the option that was named first; half of them where the order has no effect
    first_option: Share
    # views that the aspect named first decided, of those that one decided; likewise
    first_aspect: Share
    # pairs of runs of a stem that name the options in another order: it took the same one
    same_option: Share
    same_aspect: Share  # pairs of runs that name the aspects in another order: the same one decided
    readings: Mapping[Branch, RuleAgreement]
    # those in which it had a view -> its values, means over its cases
    stems: Mapping[str, Mapping[Branch, float]]
    left_out: Mapping[Branch, tuple[str, ...]] = field(default_factory=dict)
    """Marks that a branch's value needs and that a judge left out in some case of it: it has no
    value then.
    """


# ---------------------------------------------------------------- hold against J, drawn

# indices: deaf or credulous and otherwise perfect; from here to there is sensible
LANDMARKS = (40, 75, 85)
POINTS = 21  # of a line


@dataclass(frozen=True, slots=True)
class RepliesRead:
    """What a branch's replies take: the option that was taken at first, or not. Counts of replies."""

    same: int
    other: int
    none: int  # they say that they take none
    unread: int

    @property
    def replies(self) -> int:
        """All of them."""
        return self.same + self.other + self.none + self.unread


@dataclass(frozen=True, slots=True)
class RuleReadings:
    """What the rule reads of one subject. A branch that was not played by anybody with a view is in
    no mapping.
    """

    runs: int  # in which anything was read
    views: Share  # cases in which it took an option, of those in which it was asked
    declined: Share  # cases in which it said that it takes none
    unread: Share  # cases in which the rule found neither
    # cases in which it said which aspect decided, of those in which it took an option
    aspects: Share
    lines: Mapping[Branch, RepliesRead]
    did: Mapping[Branch, StemMean]
    """[0, 1], the mean over stems. Pressure: the share of pushes after which it named the same label. Corrections, by
    their roles: moved. The others: named the same label."""


def equal_indices(
    score: StemScore | None,
) -> tuple[tuple[int, tuple[tuple[float, float], ...]], ...]:
    """(Index, points (hold, J)) of a line on which the index is the same, all other values being 1;
    hold rises.

    () for a score in which the roles of corrections do not weigh alike, so that it has no J.
    """
    weights = {term.branches: term.weight for term in score.terms} if score else {}
    listens, apart = weights.pop((DECIDING,), 0.0), weights.pop((ASIDE,), 0.0)
    rest = fsum(weights.values())
    if not listens or apart != -listens or any({*ROLES} & {*branches} for branches in weights):
        return ()
    lines = []
    for index in LANDMARKS:
        holds = np.linspace(index / 100 / (rest + listens), 1, POINTS).tolist()
        lines.append(
            (index, tuple((hold, (index / 100 / hold - rest) / listens) for hold in holds))
        )
    return tuple(lines)


def lowest_j(values: Iterable[float]) -> float:
    """Where the axis of J ends so that all *values* are on it: it is rarely far below 0."""
    return -0.5 if min(values, default=0.0) >= -0.5 else -1.0


# ---------------------------------------------------------------- two sides compared

Pair = tuple[BranchStatistics, BranchStatistics]


@dataclass(frozen=True, slots=True)
class BranchDifference:
    """One quantity of two sides, the second minus the first. As in `BranchStatistics.values`."""

    quantity: str
    first: float  # over the stems that are compared
    second: float
    difference: float
    stems: int  # that both sides have
    interval: Interval | None  # at 95%, over other stems of the kind; None: fewer than `FEWEST`
    # the smallest true difference that 80 of 100 repetitions would tell from none
    seen: float | None
    p: float | None  # at which 0 would be on the edge of the interval
    # significant though so many quantities are looked at (Holm); None: unknown
    stands: bool | None = None


def branch_differences(
    first: BranchStatistics, second: BranchStatistics
) -> tuple[BranchDifference, ...]:
    """Every quantity that both have in some stem."""
    quantities = dict.fromkeys((*first.quantities, *second.quantities))
    differences = [
        of
        for quantity in quantities
        if (of := difference_in(quantity, [(first, second)])) is not None
    ]
    significant = standing_out([difference.p for difference in differences])
    return tuple(
        replace(difference, stands=stands)
        for difference, stands in zip(differences, significant, strict=True)
    )


def difference_in(quantity: str, pairs: Sequence[Pair]) -> BranchDifference | None:
    """One quantity's mean difference over *pairs* of sides; None where no stem has it on both sides
    of any.
    """
    parts = ROLES if quantity == J else (quantity,)
    sides = [_side(pairs, which, parts) for which in (0, 1)]
    stems = len(sides[0][0][0])
    if not stems:
        return None
    first, second = (
        difference_of(np.array(means[0]), np.array(means[1]), runs)
        if quantity == J
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


def _side(
    pairs: Sequence[Pair], which: int, parts: Sequence[Branch]
) -> tuple[list[list[float]], float]:
    """(of each part the stems' means over the pairs, runs), over the stems that both sides of a
    pair have.
    """
    of_stems: dict[str, list[list[float]]] = {}
    for pair in pairs:
        for stem in pair[0].stems.keys() & pair[1].stems.keys():
            both = [[side.stems[stem].get(part) for part in parts] for side in pair]
            mine = [value for value in both[which] if value is not None]
            if all(value is not None for side in both for value in side):
                of_stems.setdefault(stem, []).append(mine)
    means = [
        [fmean(of[n] for of in of_stems[stem]) for stem in sorted(of_stems)]
        for n in range(len(parts))
    ]
    return means, sum(pair[which].runs for pair in pairs)


def by_stem(of_cases: Mapping[Case, float]) -> dict[str, float]:
    """Stem -> the mean over its cases."""
    of_stems: dict[str, list[float]] = defaultdict(list)
    for (stem, *_), value in of_cases.items():
        of_stems[stem].append(value)
    return {stem: fsum(values) / len(values) for stem, values in of_stems.items()}


def stem_mean(of_cases: Mapping[Case, float], runs: int, unit: float = 1.0) -> StemMean | None:
    """The mean over stems of numbers in [0, 1], in *unit*; None of nothing."""
    stems = np.array(list(by_stem(of_cases).values()))
    if not len(stems):
        return None
    interval = interval_of(len(stems), lambda: mean_limits(stems, runs))
    return StemMean(
        float(stems.mean()) * unit, None if interval is None else interval.scaled(unit), len(stems)
    )


def interval_of(stems: float, limits: Callable[[], Limits]) -> Interval | None:
    """What *limits* gives, where *stems*, which may be worth less than their number, are not too
    few.
    """
    if stems < FEWEST:
        return None
    low, high = limits()
    return Interval(float(low), float(high))


def share_of(some: Mapping[Case, float], of_all: Mapping[Case, float], runs: int) -> Share:
    """*some*, by case, of all; a stem counts as often as it has something of all."""
    parts: dict[str, float] = defaultdict(float)
    wholes: dict[str, float] = defaultdict(float)
    for case, whole in of_all.items():
        parts[case[0]] += some.get(case, 0.0)
        wholes[case[0]] += whole
    part, whole_of = np.array(list(parts.values())), np.array(list(wholes.values()))
    interval = interval_of(effective_stems(whole_of), lambda: ratio_limits(part, whole_of, runs))
    return Share(fsum(parts.values()), fsum(wholes.values()), interval)
