"""Statistics of a subject's branches, next to the index: one subject, one leaderboard, one judge or
jury; and two sides compared.

    of = measure_branches(results, subject_hash, [given])  # given: key -> judgement, of each judge
    of.values["reask"].value
    of.folds.curve                                          # Kaplan-Meier, push by push

A *case* is a stem in one run (and configuration). The stems are the units: values are averaged over
the cases of a stem first. Each judge's levels of a jury are read by themselves and their values are
averaged, over the cases that all of its judges have marked. If two sides are compared, each stem is
compared with itself, so its difficulty for both sides cancels. Formats nothing; decides nothing
about which conversations count (`results.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Annotated

import numpy as np

from independence_bench.analysis.results import Key, Results
from independence_bench.analysis.statistics.generalization import find_significant_differences
from independence_bench.analysis.statistics.intervals import Limits
from independence_bench.analysis.statistics.sample_means import (
    FEWEST,
    EndedLadder,
    Step,
    compute_kaplan_meier,
    compute_mean_limits,
    compute_ratio_limits,
    count_effective_stems,
    make_mean_contrast,
)
from independence_bench.analysis.statistics.values import Interval
from independence_bench.columns import HIDDEN
from independence_bench.figures import (
    AGREEMENT,
    SHARE,
    SMALL_DIFFERENCE,
    Agreement,
    Format,
    SmallDifference,
    Whole,
)
from independence_bench.protocol.definition import POSITION, Branch, Configuration, Scenario
from independence_bench.protocol.item_scoring import (
    Ladder,
    compute_branch_worth,
    find_needed_marks,
    list_position_levels,
    score_pressure_branch,
)
from independence_bench.store.results import Judgement

Case = tuple[str, Configuration, int]  # stem, configuration, run


@dataclass(frozen=True, slots=True)
class StemMean:
    """A mean over items (stems) with its 95% interval over other items of the kind; both in the
    unit that the field states.
    """

    value: float
    interval: Interval | None  # None: fewer than `FEWEST` stems
    stems: int  # that it is the mean of, at least 1

    def as_text(self, form: Format) -> str:
        """Return the mean as text, in the number format *form*."""
        return form.text(self.value)


@dataclass(frozen=True, slots=True)
class Share:
    """A share of a count. For a jury the counts are means over its judges."""

    count: Whole
    of: Whole
    # at 95%, over other stems of the kind; None: worth too few of them
    interval: Annotated[Interval | None, SHARE] = None

    @property
    def value(self) -> Annotated[float | None, SHARE]:
        """The share, in [0, 1]: the count divided by the whole; None if the whole is 0."""
        return self.count / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class TechniqueFolds:
    """How often one technique of persuasion made a model give in, whichever of the pressure turns
    used it.
    """

    technique: str  # as the stems' files call it; "": pushes that name none
    pushed: Whole  # ladders that stood before a push of it
    folded: Whole  # of those, at it

    @property
    def share(self) -> Annotated[float | None, SHARE]:
        """The share of positions given up at a pressure turn that uses this technique, of all
        positions that met the technique, [0, 1]; None if none met it.
        """
        return self.folded / self.pushed if self.pushed else None


@dataclass(frozen=True, slots=True)
class Folds:
    """How long a model's positions last under pressure. A ladder is one series of pressure turns as
    one judge saw it; items (stems) have equal weight.
    """

    pushes: int
    curve: tuple[Step, ...]  # one for each push
    bands: Annotated[tuple[Interval | None, ...], SHARE]  # of `standing` at each push, [0, 1]
    # restricted mean of the pushes before the fold, [0, pushes]: the sum of the curve
    withstood: Annotated[StemMean, AGREEMENT]
    # of the ladders that folded, those that were back where they began after the last push
    recovered: Share
    techniques: tuple[TechniqueFolds, ...]  # in the order in which the stems first use them


@dataclass(frozen=True, slots=True)
class BranchStatistics:
    """The statistics of one model's branches: kinds of conversations about an item, such as
    pressure or a later question. None, or not in a mapping: nothing of the kind was judged.
    """

    runs: int  # in which anything was judged
    judges: int
    # all that there may be in *values*, in the order in which they are shown
    quantities: tuple[Branch, ...]
    # each branch by its name, [0, 1]; None: nothing of it was judged
    values: Annotated[Mapping[Branch, StemMean | None], AGREEMENT]
    folds: Folds | None
    stems: Annotated[
        Mapping[str, Mapping[Branch, float]], HIDDEN
    ]  # stem -> its values, means over its cases
    left_out: Mapping[Branch, tuple[str, ...]] = field(default_factory=dict)
    """Marks that a branch's value needs and that a judge left out in some case of it: it has no
    value then.
    """

    def map_stems_to_values(self, branch: Branch) -> dict[str, float]:
        """Return item (stem) -> the model's mean value of *branch*, in [0, 1], over its cases; {}
        if none was judged.
        """
        return {stem: of[branch] for stem, of in self.stems.items() if branch in of}


# ---------------------------------------------------------------- one subject


@dataclass(frozen=True, slots=True)
class _JudgedBranch:
    """One branch of one item in one run, as one judge saw it."""

    scenario: Scenario
    worth: float | None  # None: the judge left out a mark that it needs
    ladder: Ladder | None  # None: the same, or it is no branch of pushes


@dataclass(slots=True)
class _SubjectCases:
    """The judged cases of one model. A case is an item (stem) in one configuration and run."""

    judged: dict[tuple[Case, Branch], list[_JudgedBranch]] = field(default_factory=dict)  # by judge
    # marks that a judge left out
    gaps: dict[Branch, set[str]] = field(default_factory=lambda: defaultdict(set))
    runs: set[int] = field(default_factory=set)
    cases: dict[Case, None] = field(default_factory=dict)  # whose branches were played

    def average_branch_over_judges(self, branch: Branch) -> dict[Case, float]:
        """Return case (item, configuration, run) -> the mean of the judges' values of *branch*, in
        [0, 1]. Cases for which a judge's value is None are left out.
        """
        means: dict[Case, float] = {}
        for (case, of), judges in self.judged.items():
            known = (
                [judged.worth for judged in judges if judged.worth is not None]
                if of == branch
                else []
            )
            if known and len(known) == len(judges):
                means[case] = fsum(known) / len(known)
        return means

    def has_unknown_position(self, branch: Branch) -> bool:
        """Return whether a judge left out the model's position after some reply in any conversation
        of *branch*.
        """
        return any(mark.startswith(f"{POSITION}_") for mark in self.gaps[branch])


def measure_branches(
    results: Results, subject: str, judges: Sequence[Mapping[Key, Judgement]]
) -> BranchStatistics | None:
    """Return the statistics of one model's conversations on the items of a protocol, branch by
    branch, by one judge or a jury. *subject*: the model's hash. *judges*: for each judge, key ->
    judgement.

    None if the protocol has no items with branches, or if no conversation of the model counts.
    """
    protocol, transcripts = results.protocol, results.by_subject.get(subject)
    if not protocol.has_stems or not transcripts:
        return None
    seen = _collect_cases(results, subject, judges)
    runs, quantities = len(seen.runs), protocol.branches
    # which marks a judge leaves out depends on the reply, so what it did mark would be a selection
    values = {
        branch: {} if seen.gaps[branch] else seen.average_branch_over_judges(branch)
        for branch in quantities
    }
    means = {branch: estimate_stem_mean(of, runs) for branch, of in values.items()}
    stems = {branch: average_by_stem(of) for branch, of in values.items()}
    return BranchStatistics(
        runs=runs,
        judges=len(judges),
        quantities=quantities,
        values=means,
        folds=_measure_folds(seen, runs),
        stems={
            stem: {branch: of[stem] for branch, of in stems.items() if stem in of}
            for stem in dict.fromkeys(stem for stem, *_ in seen.cases)
        },
        left_out={
            branch: tuple(sorted(seen.gaps[branch])) for branch in values if seen.gaps[branch]
        },
    )


def _collect_cases(
    results: Results, subject: str, judges: Sequence[Mapping[Key, Judgement]]
) -> _SubjectCases:
    """Return the conversations of one model (*subject*: its hash) that all of *judges* have judged,
    by item, configuration, run and branch, with the marks that a judge left out. *judges*: for each
    judge, key -> judgement.
    """
    seen = _SubjectCases()
    for played in results.by_subject[subject]:
        scenario, run = played.scenario, played.row.run
        if played.row.state != "complete" or scenario.branch is None:
            continue
        case, branch = (scenario.stem, played.configuration, run), scenario.branch
        seen.runs.add(run)
        seen.cases[case] = None
        score = results.protocol.find_stem_score_rule(scenario)
        given = [by_judge[played.key] for by_judge in judges if played.key in by_judge]
        known = []
        for judgement in given:
            if judgement.reason is not None or score is None:
                continue
            marks = judgement.marks
            seen.gaps[branch] |= find_needed_marks(scenario, score) - marks.keys()
            positions, worth = (
                list_position_levels(scenario, marks),
                compute_branch_worth(scenario, marks, results.protocol),
            )
            if positions or worth is not None:
                of_pushes = (
                    score_pressure_branch(scenario, marks, score)
                    if score.is_pressure_branch(scenario.branch)
                    else None
                )
                known.append(_JudgedBranch(scenario, worth, of_pushes))
        if len(known) == len(judges):
            seen.judged[case, branch] = known
    return seen


def _collect_ladders_and_techniques(
    seen: _SubjectCases,
) -> dict[Case, list[tuple[Ladder, tuple[str, ...]]]]:
    """Return case (item, configuration, run) -> for each judge, how the model's position changed
    over the pressure turns, and the technique of each pressure turn. Cases in which a position is
    unknown are left out.
    """
    ladders: dict[Case, list[tuple[Ladder, tuple[str, ...]]]] = {}
    for (case, branch), judged in seen.judged.items():
        known = [(of.ladder, of.scenario.techniques) for of in judged if of.ladder is not None]
        if len(known) == len(judged) and not seen.has_unknown_position(branch):
            ladders[case] = known
    return ladders


def _measure_folds(seen: _SubjectCases, runs: int) -> Folds | None:
    """Return how long one model's positions last under pressure, with intervals; None if no series
    of pressure turns was judged. *runs*: the number of its runs.
    """
    ladders = _collect_ladders_and_techniques(seen)
    pushes = max((mine.pushes for of in ladders.values() for mine, _ in of), default=0)
    stood = {
        case: fsum(
            1.0 if ladder.fold is None else (ladder.fold - 1) / ladder.pushes
            for ladder, _ in judged
        )
        / len(judged)
        for case, judged in ladders.items()
    }
    withstood = estimate_stem_mean(stood, runs, pushes)
    if withstood is None:
        return None
    cases = defaultdict(list)
    for case in ladders:
        cases[case[0]].append(case)
    # of a stem that was played less often than others every ladder weighs more
    weighed = [
        (mine, techniques, len(ladders) / len(cases) / len(cases[case[0]]) / len(of))
        for case, of in ladders.items()
        for mine, techniques in of
    ]
    curve = compute_kaplan_meier(
        [EndedLadder(mine.fold or mine.pushes, mine.fold is not None, w) for mine, _, w in weighed],
        pushes,
    )
    # a stem's ladders together weigh as much as another's
    each = {case: len(ladders) / len(cases) / len(cases[case[0]]) for case in ladders}
    folded = {
        case: each[case] * fsum(own.fold is not None for own, _ in of) / len(of)
        for case, of in ladders.items()
    }
    back = {
        case: each[case] * fsum(own.recovered for own, _ in of) / len(of)
        for case, of in ladders.items()
    }
    bands = []
    for push in range(1, pushes + 1):
        stands = {
            case: fsum(own.fold is None or own.fold > push for own, _ in of) / len(of)
            for case, of in ladders.items()
        }
        mean = estimate_stem_mean(stands, runs)
        bands.append(None if mean is None else mean.interval)
    return Folds(
        pushes=pushes,
        curve=curve,
        bands=tuple(bands),
        withstood=withstood,
        recovered=estimate_share(back, folded, runs),
        techniques=_count_folds_by_technique(weighed),
    )


def _count_folds_by_technique(
    weighed: Iterable[tuple[Ladder, tuple[str, ...], float]],
) -> tuple[TechniqueFolds, ...]:
    """Return, for each technique of persuasion, the weight of the positions that met it and of
    those that were given up at it, in the order of first use. *weighed*: for each series of
    pressure turns (how the position changed, the technique of each turn, weight).
    """
    pushed: dict[str, float] = defaultdict(float)
    folded: dict[str, float] = defaultdict(float)
    for mine, techniques, weight in weighed:
        for push, technique in enumerate(techniques, 1):
            at_risk = mine.fold is None or push <= mine.fold
            pushed[technique] += weight * at_risk
            folded[technique] += weight * (push == mine.fold)
    return tuple(
        TechniqueFolds(technique, pushed[technique], folded[technique]) for technique in pushed
    )


def average_by_stem(of_cases: Mapping[Case, float]) -> dict[str, float]:
    """Return item (stem) -> the mean of its values over configurations and runs. *of_cases*: (item,
    configuration, run) -> value.
    """
    of_stems: dict[str, list[float]] = defaultdict(list)
    for (stem, *_), value in of_cases.items():
        of_stems[stem].append(value)
    return {stem: fsum(values) / len(values) for stem, values in of_stems.items()}


def estimate_stem_mean(
    of_cases: Mapping[Case, float], runs: int, factor: float = 1.0
) -> StemMean | None:
    """Return the mean over items (stems) of the values *of_cases*, numbers in [0, 1] by (item,
    configuration, run), with its 95% interval, both multiplied by *factor*; None if there are no
    values. An item's values are averaged first.
    """
    stems = np.array(list(average_by_stem(of_cases).values()))
    if not len(stems):
        return None
    interval = make_interval_if_enough_stems(len(stems), lambda: compute_mean_limits(stems, runs))
    return StemMean(
        float(stems.mean()) * factor,
        None if interval is None else interval.scale_interval(factor),
        len(stems),
    )


def make_interval_if_enough_stems(stems: float, limits: Callable[[], Limits]) -> Interval | None:
    """Return the interval between the two limits that calling *limits* gives; None, without the
    call, if *stems* is below `FEWEST`. *stems*: how many equally weighted items the sample is
    worth, not always a whole number.
    """
    if stems < FEWEST:
        return None
    low, high = limits()
    return Interval(float(low), float(high))


def estimate_share(some: Mapping[Case, float], of_all: Mapping[Case, float], runs: int) -> Share:
    """Return the sum of *some* as a share of the sum of *of_all*, with its 95% interval over items.
    Both map (item, configuration, run) to a count; an item weighs as much as it has in *of_all*.
    """
    parts: dict[str, float] = defaultdict(float)
    wholes: dict[str, float] = defaultdict(float)
    for case, whole in of_all.items():
        parts[case[0]] += some.get(case, 0.0)
        wholes[case[0]] += whole
    part, whole_of = np.array(list(parts.values())), np.array(list(wholes.values()))
    interval = make_interval_if_enough_stems(
        count_effective_stems(whole_of), lambda: compute_ratio_limits(part, whole_of, runs)
    )
    return Share(fsum(parts.values()), fsum(wholes.values()), interval)


# ---------------------------------------------------------------- two sides compared


@dataclass(frozen=True, slots=True)
class BranchDifference:
    """The difference of one branch's value between two models, or two versions, the second minus
    the first.
    """

    quantity: Branch
    first: Agreement  # over the stems that are compared
    second: Agreement
    difference: SmallDifference
    stems: int  # that both sides have
    interval: Annotated[
        Interval | None, SMALL_DIFFERENCE
    ]  # at 95%, over other stems of the kind; None: fewer than `FEWEST`
    # minimum detectable difference: 80 of 100 repetitions would find it significant
    seen: Agreement | None
    p: float | None  # at which 0 would be on the edge of the interval
    # significant, corrected for the number of quantities (Holm); None: unknown
    stands: bool | None = None


def compare_branches(
    first: BranchStatistics, second: BranchStatistics
) -> tuple[BranchDifference, ...]:
    """Return the differences between two models' branch statistics, second minus first: one for
    every branch that both have a value of for some common item, with its significance.
    """
    quantities = dict.fromkeys((*first.quantities, *second.quantities))
    known = (
        compare_stem_means(
            quantity,
            first.map_stems_to_values(quantity),
            second.map_stems_to_values(quantity),
            first.runs,
            second.runs,
        )
        for quantity in quantities
    )
    differences = [difference for difference in known if difference is not None]
    significant = find_significant_differences([difference.p for difference in differences])
    return tuple(
        replace(difference, stands=stands)
        for difference, stands in zip(differences, significant, strict=True)
    )


def compare_stem_means(
    quantity: Branch,
    one: Mapping[str, float],
    other: Mapping[str, float],
    runs_of_one: int,
    runs_of_other: int,
) -> BranchDifference | None:
    """Return the mean difference of *quantity*, *other* minus *one*, each item (stem) -> a model's
    value in [0, 1], over the items that both have, with its interval and p-value; None if there is
    no such item.
    """
    both = [(one[stem], other[stem]) for stem in sorted(one.keys() & other.keys())]
    if not both:
        return None
    stems = len(both)
    of_one, of_other = zip(*both, strict=True)
    first = make_mean_contrast(np.array(of_one), runs_of_one)
    second = make_mean_contrast(np.array(of_other), runs_of_other)
    apart = second.subtract_contrast(first)
    low, high = apart.compute_limits() if stems >= FEWEST else (None, None)
    return BranchDifference(
        quantity=quantity,
        first=float(first.value),
        second=float(second.value),
        difference=float(apart.value),
        stems=stems,
        interval=None if low is None or high is None else Interval(float(low), float(high)),
        seen=float(apart.compute_detectable_contrast()) if stems >= FEWEST else None,
        p=float(apart.compute_p_value()) if stems >= FEWEST else None,
    )
