"""What a subject did in each of its stems' branches, next to the index: one subject, one board, one judge or jury.

    for_subject = branch_statistics(results, subject_hash, [given])   # given: key -> judgement, of each judge
    for_subject.discrimination.difference.value                       # H - F
    for_subject.folds.curve                                           # Kaplan-Meier, push by push

A *case* is a stem in one run (and configuration). The stems are the units: what varies over the cases of a stem is
averaged first. Of a jury each judge's levels are read by themselves and what they come to is averaged, over what all of
its judges have marked. Formats nothing; decides nothing about what counts (`results.py`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import fsum

import numpy as np

from independence_bench.analysis.branch_values import (
    BranchStatistics,
    Discrimination,
    Folds,
    RuleAgreement,
    Share,
    StemMean,
    StemValues,
    TechniqueFolds,
)
from independence_bench.analysis.results import Key, Results
from independence_bench.analysis.statistics.intervals import Limits
from independence_bench.analysis.statistics.sample_means import (
    FEWEST,
    EndedLadder,
    difference_of,
    effective_stems,
    kaplan_meier,
    mean_limits,
    ratio_limits,
)
from independence_bench.analysis.statistics.values import Interval
from independence_bench.protocol.conversation import Reading
from independence_bench.protocol.definition import POSITION, Branch, Configuration, Protocol, Scenario
from independence_bench.protocol.scoring import Ladder, branch_worth, ladder, needed_marks, positions_of
from independence_bench.store.results import Judgement

RELEVANT: Branch = "relevant"
IRRELEVANT: Branch = "irrelevant"

Case = tuple[str, Configuration, int]  # stem, configuration, run


@dataclass(frozen=True, slots=True)
class _Judged:
    """One branch of one case as one judge saw it."""

    scenario: Scenario
    positions: tuple[str, ...]
    worth: float | None  # None: the judge left out a mark that it needs


@dataclass(slots=True)
class _Seen:
    """A subject's cases."""

    judged: dict[tuple[Case, Branch], list[_Judged]] = field(default_factory=dict)  # by judge
    readings: dict[tuple[Case, Branch], Reading] = field(default_factory=dict)
    opened: dict[Case, tuple[Scenario, str | None]] = field(default_factory=dict)  # a branch, the label taken
    gaps: dict[Branch, set[str]] = field(default_factory=lambda: defaultdict(set))  # marks that a judge left out
    runs: set[int] = field(default_factory=set)
    cases: dict[Case, None] = field(default_factory=dict)  # whose branches were played

    def mean(self, branch: Branch, number: Callable[[_Judged], float | None]) -> dict[Case, float]:
        """Case -> the judges' mean of *number*, where no judge's is None."""
        means: dict[Case, float] = {}
        for (case, of), judges in self.judged.items():
            known = [value for judged in judges if (value := number(judged)) is not None] if of == branch else []
            if known and len(known) == len(judges):
                means[case] = fsum(known) / len(known)
        return means

    def unsure(self, branch: Branch) -> bool:
        """Whether a judge left out where the subject stands, in some case of *branch*."""
        return any(mark.startswith(f"{POSITION}_") for mark in self.gaps[branch])


def branch_statistics(
    results: Results, subject: str, judges: Sequence[Mapping[Key, Judgement]]
) -> BranchStatistics | None:
    """What *subject* (its hash) did by *judges*, one or those of a jury; *results* are of a protocol with stems.

    None where the protocol has no stems, or where nothing of the subject counts.
    """
    protocol, transcripts = results.protocol, results.by_subject.get(subject)
    if not protocol.has_stems or not transcripts:
        return None
    seen = _seen(results, subject, judges)
    runs = len(seen.runs)
    views = {case: (scenario, label) for case, (scenario, label) in seen.opened.items() if label is not None}
    first = {case: float(label == scenario.first_named(case[2])) for case, (scenario, label) in views.items()}
    labelled = {case: float(label == scenario.first_label) for case, (scenario, label) in views.items()}
    asked = dict.fromkeys(seen.opened, 1.0)
    stems = _stem_values(seen, protocol)
    of_branches = {
        branch: _estimate([of.values[branch] for of in stems.values() if branch in of.values], runs)
        for branch in protocol.branches
    }
    return BranchStatistics(
        runs=runs,
        judges=len(judges),
        branches=protocol.branches,
        values={branch: value for branch, value in of_branches.items() if value is not None},
        openness=_estimate([of.openness for of in stems.values() if of.openness is not None], runs),
        discrimination=_discrimination(stems, runs),
        folds=_folds(seen, protocol, runs),
        views=share_of(dict.fromkeys(views, 1.0), asked, runs),
        openings=_same_description(views, runs),
        first_named=share_of(first, dict.fromkeys(views, 1.0), runs),
        first_label=share_of(labelled, dict.fromkeys(views, 1.0), runs),
        readings=_agreements(seen, protocol),
        stems=stems,
        left_out={branch: tuple(sorted(seen.gaps[branch])) for branch in protocol.branches if seen.gaps[branch]},
    )


def _stem_values(seen: _Seen, protocol: Protocol) -> dict[str, StemValues]:
    # which marks a judge leaves out depends on the reply, so what it did mark would be a selection
    worth = {
        branch: {} if seen.gaps[branch] else seen.mean(branch, lambda judged: judged.worth)
        for branch in protocol.branches
    }
    of_branches = {branch: _by_stem(of) for branch, of in worth.items()}
    # corrections that matter to a choice, or do not, are branches of stems with options only
    e, r = (worth[branch] if protocol.score else {} for branch in (RELEVANT, IRRELEVANT))
    adopted = protocol.score.adopted if protocol.score else None
    opened = _by_stem({case: e[case] * r[case] for case in e if case in r})
    moves = [
        seen.mean(branch, lambda of: float(of.positions[0] == adopted)) if adopted and not seen.unsure(branch) else {}
        for branch in (RELEVANT, IRRELEVANT)
    ]
    both = [case for case in moves[0] if case in moves[1]]
    hits, false = (_by_stem({case: of[case] for case in both}) for of in moves)
    trials = Counter(stem for stem, *_ in both)
    stood = _by_stem(_stood(_ladders(seen, protocol)))
    return {
        stem: StemValues(
            values={branch: of[stem] for branch, of in of_branches.items() if stem in of},
            openness=opened.get(stem),
            moved=(hits[stem], false[stem]) if stem in hits else None,
            trials=trials[stem],
            withstood=stood.get(stem),
        )
        for stem in dict.fromkeys(stem for stem, *_ in seen.cases)
    }


def _seen(results: Results, subject: str, judges: Sequence[Mapping[Key, Judgement]]) -> _Seen:
    seen = _Seen()
    for played in results.by_subject[subject]:
        scenario, reading = played.scenario, results.readings.get(played.row.id)
        if played.row.state != "complete" or scenario.branch is None or (reading is None and not scenario.kind):
            continue
        case = (scenario.stem, played.configuration, played.row.run)
        seen.runs.add(played.row.run)
        if reading is not None:
            seen.opened.setdefault(case, (scenario, reading.choice))
            if reading.choice is None:
                continue
            seen.readings[case, scenario.branch] = reading
        seen.cases[case] = None
        score = results.protocol.score_of(scenario)
        given = [by_judge[played.key] for by_judge in judges if played.key in by_judge]
        verdicts = [judgement for judgement in given if judgement.reason is None]
        if score is not None:
            for judgement in verdicts:
                seen.gaps[scenario.branch] |= needed_marks(scenario, score) - judgement.marks.keys()
        known = []
        for judgement in verdicts:
            positions = positions_of(scenario, judgement.marks)
            worth = branch_worth(scenario, judgement.marks, results.protocol)
            if positions is not None or worth is not None:
                known.append(_Judged(scenario, tuple(positions or ()), worth))
        if len(known) == len(judges):
            seen.judged[case, scenario.branch] = known
    return seen


def _by_stem(of_cases: Mapping[Case, float]) -> dict[str, float]:
    """Stem -> the mean over its cases."""
    of_stems: dict[str, list[float]] = defaultdict(list)
    for (stem, *_), value in of_cases.items():
        of_stems[stem].append(value)
    return {stem: fsum(values) / len(values) for stem, values in of_stems.items()}


def stem_mean(of_cases: Mapping[Case, float], runs: int, unit: float = 1.0) -> StemMean | None:
    """The mean over stems of numbers in [0, 1], in *unit*; None of nothing."""
    return _estimate(list(_by_stem(of_cases).values()), runs, unit)


def _estimate(of_stems: Sequence[float], runs: int, unit: float = 1.0) -> StemMean | None:
    stems = np.array(of_stems)
    if not len(stems):
        return None
    interval = _interval(len(stems), lambda: mean_limits(stems, runs))
    return StemMean(float(stems.mean()) * unit, None if interval is None else interval.scaled(unit), len(stems))


def _interval(stems: float, limits: Callable[[], Limits]) -> Interval | None:
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
    interval = _interval(effective_stems(whole_of), lambda: ratio_limits(part, whole_of, runs))
    return Share(fsum(parts.values()), fsum(wholes.values()), interval)


def _discrimination(stems: Mapping[str, StemValues], runs: int) -> Discrimination | None:
    moved = [of.moved for of in stems.values() if of.moved is not None]
    if not moved:
        return None
    hits, false = (np.array(of) for of in zip(*moved, strict=True))
    interval = _interval(len(hits), difference_of(hits, false, runs).limits)
    rates = float(hits.mean()), float(false.mean())
    difference = StemMean(rates[0] - rates[1], interval, len(hits))
    return Discrimination(*rates, sum(of.trials for of in stems.values()), difference)


def _ladders(seen: _Seen, protocol: Protocol) -> dict[Case, list[tuple[Ladder, tuple[str, ...]]]]:
    """Case -> what became of its position under pressure, and the techniques of the pushes, by judge."""
    ladders: dict[Case, list[tuple[Ladder, tuple[str, ...]]]] = {}
    for (case, branch), judged in seen.judged.items():
        score = protocol.score_of(judged[0].scenario)
        if score is not None and score.is_ladder(branch) and not seen.unsure(branch):
            ladders[case] = [(ladder(of.positions, score), of.scenario.techniques) for of in judged]
    return ladders


def _folds(seen: _Seen, protocol: Protocol, runs: int) -> Folds | None:
    ladders = _ladders(seen, protocol)
    pushes = max((mine.pushes for of in ladders.values() for mine, _ in of), default=0)
    withstood = stem_mean(_stood(ladders), runs, pushes)
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
    curve = kaplan_meier(
        [EndedLadder(mine.fold or mine.pushes, mine.fold is not None, w) for mine, _, w in weighed], pushes
    )
    # a stem's ladders together weigh as much as another's
    each = {case: len(ladders) / len(cases) / len(cases[case[0]]) for case in ladders}
    folded = {case: each[case] * fsum(own.fold is not None for own, _ in of) / len(of) for case, of in ladders.items()}
    back = {case: each[case] * fsum(own.recovered for own, _ in of) / len(of) for case, of in ladders.items()}
    bands = []
    for push in range(1, pushes + 1):
        stands = {
            case: fsum(own.fold is None or own.fold > push for own, _ in of) / len(of) for case, of in ladders.items()
        }
        mean = stem_mean(stands, runs)
        bands.append(None if mean is None else mean.interval)
    return Folds(
        pushes=pushes,
        curve=curve,
        bands=tuple(bands),
        withstood=withstood,
        recovered=share_of(back, folded, runs),
        techniques=_by_technique(weighed),
    )


def _stood(ladders: Mapping[Case, Sequence[tuple[Ladder, tuple[str, ...]]]]) -> dict[Case, float]:
    """Case -> the share of its pushes that its position withstood before it folded, the mean over judges."""
    return {
        case: fsum(1.0 if of.fold is None else (of.fold - 1) / of.pushes for of, _ in judged) / len(judged)
        for case, judged in ladders.items()
    }


def _by_technique(weighed: Iterable[tuple[Ladder, tuple[str, ...], float]]) -> tuple[TechniqueFolds, ...]:
    pushed: dict[str, float] = defaultdict(float)
    folded: dict[str, float] = defaultdict(float)
    for mine, techniques, weight in weighed:
        for push, technique in enumerate(techniques, 1):
            at_risk = mine.fold is None or push <= mine.fold
            pushed[technique] += weight * at_risk
            folded[technique] += weight * (push == mine.fold)
    return tuple(TechniqueFolds(technique, pushed[technique], folded[technique]) for technique in pushed)


def _same_description(views: Mapping[Case, tuple[Scenario, str | None]], runs: int) -> Share:
    """Labels change places from run to run, so descriptions are compared: the labels of each run in their order."""
    taken: dict[Case, list[int]] = defaultdict(list)
    for (stem, configuration, run), (scenario, label) in views.items():
        labels = scenario.labels_of(run)
        if labels is not None and label in labels:
            taken[stem, configuration, 0].append(labels.index(label))
    pairs = {stem: [first == second for first, second in combinations(of, 2)] for stem, of in taken.items()}
    alike = {stem: float(sum(of)) for stem, of in pairs.items()}
    return share_of(alike, {stem: float(len(of)) for stem, of in pairs.items()}, runs)


def _agreements(seen: _Seen, protocol: Protocol) -> dict[Branch, RuleAgreement]:
    score = protocol.score
    if score is None:  # without options there is none to read
        return {}
    same = max(score.positions, key=lambda of: of[1])[0]
    counted: dict[Branch, list[tuple[float, ...]]] = defaultdict(list)
    for (case, branch), judged in seen.judged.items():
        reading = seen.readings[case, branch]
        labels = dict(reading.options)
        for of_judge in judged:
            for reply, position in zip(of_judge.scenario.judged, of_judge.positions, strict=True):
                label = labels.get(reply)
                both = label is not None and position in (same, score.adopted)
                agreed = both and (label == reading.choice) == (position == same)
                counted[branch].append(
                    tuple(float(is_so) / len(judged) for is_so in (True, label is not None, both, agreed))
                )
    return {
        branch: RuleAgreement(*map(fsum, zip(*counted[branch], strict=True)))
        for branch in protocol.branches
        if counted[branch]
    }
