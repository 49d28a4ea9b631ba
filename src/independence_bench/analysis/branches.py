"""What a subject did in each of a stem's branches, beside the index: one subject, one board, one judge or jury.

    for_subject = branch_statistics(results, subject_hash, [given])   # given: key -> judgement, of each judge
    for_subject.discrimination.difference.value                       # H - F
    for_subject.folds.curve                                           # Kaplan-Meier, push by push

A *case* is a stem in one run (and configuration). The stems are the units: what varies over the cases of a stem is
averaged first. Of a jury each judge's levels are read by themselves and what they come to is averaged, over what all of
its judges have marked. Formats nothing; decides nothing about what counts (`results.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import fsum

import numpy as np

from independence_bench.analysis.results import Key, Results
from independence_bench.analysis.statistics.intervals import Interval, Limits
from independence_bench.analysis.statistics.signal_detection import Detection
from independence_bench.analysis.statistics.stem_intervals import (
    FEWEST,
    d_prime_limits,
    difference_limits,
    mean_limits,
)
from independence_bench.analysis.statistics.survival import Ended, Step, kaplan_meier
from independence_bench.protocol.conversation import Reading
from independence_bench.protocol.definition import BRANCHES, POSITION, Branch, Configuration, Scenario, StemScore
from independence_bench.protocol.stem_scoring import Ladder, branch_worth, ladder, needed_marks, positions_of
from independence_bench.store.results import Judgement

RELEVANT: Branch = "relevant"
IRRELEVANT: Branch = "irrelevant"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with where it lies over other stems of the kind, at 95 %; both in the unit that the field states."""

    value: float
    interval: Interval | None  # None: fewer than `FEWEST` stems
    stems: int  # that it is the mean of, at least 1


@dataclass(frozen=True, slots=True)
class Share:
    """Some of many. Of a jury the counts are means over its judges."""

    count: float
    of: float

    @property
    def value(self) -> float | None:
        """[0, 1]; None of nothing."""
        return self.count / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class Discrimination:
    """Moves on the relevant and on the irrelevant correction, over cases in which both were judged."""

    counts: Detection  # a stem's cases are averaged: its rates are means over stems, its trials the number of cases
    difference: Estimate  # H - F, [-1, 1]
    d_prime: Estimate  # standard deviations; to be compared at equal numbers of trials only
    criterion: float  # standard deviations; above 0: it seldom moves


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
    withstood: Estimate  # restricted mean of the pushes before the fold, [0, pushes]: the sum of the curve
    recovered: Share  # of the ladders that folded, those that were back where they began after the last push
    techniques: tuple[TechniqueFolds, ...]  # in the order in which the stems first use them


@dataclass(frozen=True, slots=True)
class RuleAgreement:
    """The rule's reading of replies' last lines beside a judge's positions, in one branch. Counts of judged replies."""

    replies: float
    read: float  # of those: the rule read a label
    both: float  # of those: the judge, too, says that it is one option or the other, and not something in between
    agreed: float  # of those: the same one

    @property
    def share(self) -> float | None:
        """Of the replies in which both name an option those in which it is the same, [0, 1]; None of none."""
        return self.agreed / self.both if self.both else None


@dataclass(frozen=True, slots=True)
class BranchStatistics:
    """All of it, of one subject. None, or not in a mapping: nothing of the kind was judged."""

    runs: int  # in which anything was judged or read
    judges: int
    values: Mapping[Branch, Estimate]  # h, e, r, n, s over cases with a view, [0, 1]
    openness: Estimate | None  # the mean of e x r, [0, 1]
    discrimination: Discrimination | None
    folds: Folds | None
    views: Share  # cases in which it took an option, of those in which it was asked
    openings: Share  # pairs of runs of a stem in which it took the same description, of those with two views
    first_named: Share  # views for the option that was named first; half of them where the order has no effect
    first_label: Share  # views for the label that the stem's file has first; half of them where labels have none
    readings: Mapping[Branch, RuleAgreement]
    left_out: Mapping[Branch, tuple[str, ...]] = field(default_factory=dict)
    """Marks that a branch's value needs and that a judge left out in some case of it: it has no value then."""


Case = tuple[str, Configuration, int]  # stem, configuration, run


@dataclass(frozen=True, slots=True)
class _Judged:
    """One branch of one case as one judge saw it."""

    scenario: Scenario
    positions: tuple[str, ...]
    worth: float | None  # None: the judge left out a mark that it needs


@dataclass(slots=True)
class _Seen:
    """What is known of the cases of a subject."""

    judged: dict[tuple[Case, Branch], list[_Judged]] = field(default_factory=dict)  # by judge
    readings: dict[tuple[Case, Branch], Reading] = field(default_factory=dict)
    opened: dict[Case, tuple[Scenario, str | None]] = field(default_factory=dict)  # a branch, the label taken
    gaps: dict[Branch, set[str]] = field(default_factory=lambda: defaultdict(set))  # marks that a judge left out

    def mean(self, branch: Branch, number: Callable[[_Judged], float | None]) -> dict[Case, float]:
        """Case -> the judges' mean of *number*, which nobody's is None."""
        found: dict[Case, float] = {}
        for (case, of), judges in self.judged.items():
            known = [value for one in judges if (value := number(one)) is not None] if of == branch else []
            if known and len(known) == len(judges):
                found[case] = fsum(known) / len(known)
        return found

    def unsure(self, branch: Branch) -> bool:
        """Whether a judge left out where the subject stands, in some case of *branch*."""
        return any(mark.startswith(f"{POSITION}_") for mark in self.gaps[branch])


def branch_statistics(
    results: Results, subject: str, judges: Sequence[Mapping[Key, Judgement]]
) -> BranchStatistics | None:
    """What *subject* (its hash) did by *judges*, one or those of a jury; *results* are of a protocol with stems.

    None where the protocol has no stems, or where nothing of the subject counts.
    """
    score, transcripts = results.protocol.score, results.by_subject.get(subject)
    if score is None or not transcripts:
        return None
    seen = _seen(results, score, subject, judges)
    runs = len({run for _, _, run in seen.opened})
    # which marks a judge leaves out hangs on what was said, so what it did mark would be a selection
    worth = {branch: {} if seen.gaps[branch] else seen.mean(branch, lambda one: one.worth) for branch in BRANCHES}
    e, r = worth[RELEVANT], worth[IRRELEVANT]
    moved_e, moved_r = (
        {} if seen.unsure(branch) else seen.mean(branch, lambda one: float(one.positions[0] == score.adopted))
        for branch in (RELEVANT, IRRELEVANT)
    )
    estimates = {branch: stem_mean(of, runs) for branch, of in worth.items()}
    views = {case: (scenario, label) for case, (scenario, label) in seen.opened.items() if label is not None}
    return BranchStatistics(
        runs=runs,
        judges=len(judges),
        values={branch: one for branch, one in estimates.items() if one is not None},
        openness=stem_mean({case: e[case] * r[case] for case in e if case in r}, runs),
        discrimination=_discrimination(moved_e, moved_r, runs),
        folds=_folds(seen, score, runs),
        views=Share(len(views), len(seen.opened)),
        openings=_same_description(views),
        first_named=Share(sum(label == s.first_named(case[2]) for case, (s, label) in views.items()), len(views)),
        first_label=Share(sum(label == s.first_label for s, label in views.values()), len(views)),
        readings=_agreements(seen, score),
        left_out={branch: tuple(sorted(seen.gaps[branch])) for branch in BRANCHES if seen.gaps[branch]},
    )


def _seen(results: Results, score: StemScore, subject: str, judges: Sequence[Mapping[Key, Judgement]]) -> _Seen:
    seen = _Seen()
    for one in results.by_subject[subject]:
        scenario, reading = one.scenario, results.readings.get(one.row.id)
        if one.row.state != "complete" or reading is None:
            continue
        case = (scenario.stem, one.configuration, one.row.run)
        seen.opened.setdefault(case, (scenario, reading.choice))
        if reading.choice is None or scenario.branch is None:
            continue
        seen.readings[case, scenario.branch] = reading
        for judgement in filter(None, (given.get(one.key) for given in judges)):
            if judgement.reason is None:
                seen.gaps[scenario.branch] |= needed_marks(scenario, score) - judgement.marks.keys()
        judged = [_judged(results, scenario, given.get(one.key)) for given in judges]
        known = [of_judge for of_judge in judged if of_judge is not None]
        if len(known) == len(judges):
            seen.judged[case, scenario.branch] = known
    return seen


def _judged(results: Results, scenario: Scenario, judgement: Judgement | None) -> _Judged | None:
    if judgement is None or judgement.reason is not None:
        return None
    positions = positions_of(scenario, judgement.marks)
    worth = branch_worth(scenario, judgement.marks, results.protocol)
    return None if positions is None else _Judged(scenario, tuple(positions), worth)


def _by_stem(of_cases: Mapping[Case, float]) -> dict[str, float]:
    """Stem -> the mean over its cases."""
    found: dict[str, list[float]] = defaultdict(list)
    for (stem, *_), value in of_cases.items():
        found[stem].append(value)
    return {stem: fsum(values) / len(values) for stem, values in found.items()}


def stem_mean(of_cases: Mapping[Case, float], runs: int, unit: float = 1.0) -> Estimate | None:
    """The mean over stems of numbers in [0, 1], in *unit*; None of nothing."""
    stems = np.array(list(_by_stem(of_cases).values()))
    if not len(stems):
        return None
    interval = _interval(len(stems), lambda: mean_limits(stems, runs))
    return Estimate(float(stems.mean()) * unit, None if interval is None else interval.scaled(unit), len(stems))


def _interval(stems: int, limits: Callable[[], Limits]) -> Interval | None:
    if stems < FEWEST:
        return None
    low, high = limits()
    return Interval(float(low), float(high))


def _discrimination(
    relevant: Mapping[Case, float], irrelevant: Mapping[Case, float], runs: int
) -> Discrimination | None:
    cases = [case for case in relevant if case in irrelevant]
    if not cases:
        return None
    by_stem = [_by_stem({case: of[case] for case in cases}) for of in (relevant, irrelevant)]
    hits, false = (np.array(list(of.values())) for of in by_stem)
    trials, stems = len(cases), len(hits)
    counts = Detection(float(hits.mean()) * trials, trials, float(false.mean()) * trials, trials)
    apart = _interval(stems, lambda: difference_limits(hits, false, runs))
    d_prime = _interval(stems, lambda: d_prime_limits(hits, false, trials, runs))
    return Discrimination(
        counts, Estimate(counts.difference, apart, stems), Estimate(counts.d_prime, d_prime, stems), counts.criterion
    )


def _folds(seen: _Seen, score: StemScore, runs: int) -> Folds | None:
    ladders: dict[Case, list[tuple[Ladder, tuple[str, ...]]]] = {}
    for (case, branch), judged in seen.judged.items():
        if branch == "pressure" and not seen.unsure(branch):
            ladders[case] = [(ladder(one.positions, score), one.scenario.techniques) for one in judged]
    pushes = max((one.pushes for of in ladders.values() for one, _ in of), default=0)
    withstood = stem_mean({case: fsum(map(_stood, of)) / len(of) for case, of in ladders.items()}, runs, pushes)
    if withstood is None:
        return None
    cases = defaultdict(list)
    for case in ladders:
        cases[case[0]].append(case)
    # of a stem that was played less often than others every ladder weighs more
    weighed = [
        (one, techniques, len(ladders) / len(cases) / len(cases[case[0]]) / len(of))
        for case, of in ladders.items()
        for one, techniques in of
    ]
    curve = kaplan_meier([Ended(one.fold or one.pushes, one.fold is not None, w) for one, _, w in weighed], pushes)
    folded = [(one, weight) for one, _, weight in weighed if one.fold is not None]
    return Folds(
        pushes=pushes,
        curve=curve,
        bands=tuple(_band(ladders, push, runs) for push in range(1, pushes + 1)),
        withstood=withstood,
        recovered=Share(fsum(w for one, w in folded if one.recovered), fsum(w for _, w in folded)),
        techniques=_by_technique(weighed),
    )


def _stood(of_judge: tuple[Ladder, tuple[str, ...]]) -> float:
    """The share of its pushes that a ladder withstood before it folded."""
    one = of_judge[0]
    return 1.0 if one.fold is None else (one.fold - 1) / one.pushes


def _band(ladders: Mapping[Case, Sequence[tuple[Ladder, tuple[str, ...]]]], push: int, runs: int) -> Interval | None:
    standing = {
        case: fsum(one.fold is None or one.fold > push for one, _ in of) / len(of) for case, of in ladders.items()
    }
    found = stem_mean(standing, runs)
    return None if found is None else found.interval


def _by_technique(weighed: Iterable[tuple[Ladder, tuple[str, ...], float]]) -> tuple[TechniqueFolds, ...]:
    pushed: dict[str, float] = defaultdict(float)
    folded: dict[str, float] = defaultdict(float)
    for one, techniques, weight in weighed:
        for push, technique in enumerate(techniques, 1):
            at_risk = one.fold is None or push <= one.fold
            pushed[technique] += weight * at_risk
            folded[technique] += weight * (push == one.fold)
    return tuple(TechniqueFolds(technique, pushed[technique], folded[technique]) for technique in pushed)


def _same_description(views: Mapping[Case, tuple[Scenario, str | None]]) -> Share:
    """Labels change places from run to run, so descriptions are compared: the labels of each run in their order."""
    taken: dict[tuple[str, Configuration], list[int]] = defaultdict(list)
    for (stem, configuration, run), (scenario, label) in views.items():
        labels = scenario.labels_of(run)
        if labels is not None and label in labels:
            taken[stem, configuration].append(labels.index(label))
    pairs = [one == other for of in taken.values() for one, other in combinations(of, 2)]
    return Share(sum(pairs), len(pairs))


def _agreements(seen: _Seen, score: StemScore) -> dict[Branch, RuleAgreement]:
    same = max(score.positions, key=lambda of: of[1])[0]
    counted: dict[Branch, list[tuple[float, ...]]] = defaultdict(list)
    for (case, branch), judged in seen.judged.items():
        reading = seen.readings[case, branch]
        labels = dict(reading.options)
        for one in judged:
            for reply, position in zip(one.scenario.judged, one.positions, strict=True):
                label = labels.get(reply)
                both = label is not None and position in (same, score.adopted)
                agreed = both and (label == reading.choice) == (position == same)
                counted[branch].append(
                    tuple(float(is_so) / len(judged) for is_so in (True, label is not None, both, agreed))
                )
    return {
        branch: RuleAgreement(*map(fsum, zip(*counted[branch], strict=True))) for branch in BRANCHES if counted[branch]
    }
