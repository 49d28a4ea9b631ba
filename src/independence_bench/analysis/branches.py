"""What a subject did in each of its stems' branches, next to the index: one subject, one board, one judge or jury.

    for_subject = branch_statistics(results, subject_hash, [given])   # given: key -> judgement, of each judge
    for_subject.values[J].value                                       # moved on one correction, less on the other
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
from operator import ne

import numpy as np

from independence_bench.analysis.branch_values import (
    SHOWN,
    BranchStatistics,
    Folds,
    J,
    RuleAgreement,
    Share,
    StemMean,
    TechniqueFolds,
)
from independence_bench.analysis.results import Key, Results
from independence_bench.analysis.statistics.intervals import Limits
from independence_bench.analysis.statistics.sample_means import (
    FEWEST,
    EndedLadder,
    apart_limits,
    difference_of,
    effective_stems,
    kaplan_meier,
    mean_limits,
    ratio_limits,
)
from independence_bench.analysis.statistics.values import Interval
from independence_bench.protocol.conversation import Reading
from independence_bench.protocol.definition import POSITION, Configuration, Protocol, Scenario
from independence_bench.protocol.stem_rules import ASIDE, CORRECTIONS, DECIDING, ROLES, Branch, Offer
from independence_bench.protocol.stem_scoring import Ladder, branch_worth, ladder_of, needed_marks, positions_of
from independence_bench.store.results import Judgement

Case = tuple[str, Configuration, int]  # stem, configuration, run


@dataclass(frozen=True, slots=True)
class _Judged:
    """One branch of one case as one judge saw it."""

    scenario: Scenario
    positions: tuple[str, ...]
    worth: float | None  # None: the judge left out a mark that it needs, or disagrees with who ended its ladder
    ladder: Ladder | None  # None: the same, or it is no branch of pushes


@dataclass(slots=True)
class _Seen:
    """A subject's cases. A correction has the name of its role, where it is known what decided the choice."""

    judged: dict[tuple[Case, Branch], list[_Judged]] = field(default_factory=dict)  # by judge
    readings: dict[tuple[Case, Branch], Reading] = field(default_factory=dict)
    opened: dict[Case, tuple[Offer, Reading]] = field(default_factory=dict)
    gaps: dict[Branch, set[str]] = field(default_factory=lambda: defaultdict(set))  # marks that a judge left out
    runs: set[int] = field(default_factory=set)
    cases: dict[Case, None] = field(default_factory=dict)  # whose branches were played

    def mean(self, branch: Branch) -> dict[Case, float]:
        """Case -> the judges' mean of what *branch* is worth, where no judge's is None."""
        means: dict[Case, float] = {}
        for (case, of), judges in self.judged.items():
            known = [judged.worth for judged in judges if judged.worth is not None] if of == branch else []
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
    runs, quantities = len(seen.runs), SHOWN if protocol.score else protocol.branches
    values = _values(seen, quantities)
    views = {case: of for case, of in seen.opened.items() if of[1].choice is not None}
    decided = {case: of for case, of in views.items() if of[1].aspect is not None}

    def share(some: Iterable[Case], of_all: Iterable[Case]) -> Share:
        return share_of(dict.fromkeys(some, 1.0), dict.fromkeys(of_all, 1.0), runs)

    means = {branch: stem_mean(of, runs) for branch, of in values.items()}
    if J in quantities:
        means[J] = _j(values, runs)
    by_stem = {branch: _by_stem(of) for branch, of in values.items()}
    return BranchStatistics(
        runs=runs,
        judges=len(judges),
        quantities=quantities,
        values={quantity: mean for quantity in quantities if (mean := means[quantity]) is not None},
        one=_moved_on_one(seen, protocol, runs),
        folds=_folds(seen, runs),
        disputed=_disputed(seen, runs),
        views=share(views, seen.opened),
        aspects=share(decided, views),
        first_option=share((case for case, (of, read) in views.items() if read.choice == of.first_label), views),
        first_aspect=share((case for case, (of, read) in decided.items() if read.aspect == of.first_aspect), decided),
        same_option=_same({case: _option(*of) for case, of in views.items()}, runs),
        same_aspect=_same({case: (of.first_aspect, read.aspect) for case, (of, read) in decided.items()}, runs),
        readings=_agreements(seen, protocol),
        stems={
            stem: {branch: of[stem] for branch, of in by_stem.items() if stem in of}
            for stem in dict.fromkeys(stem for stem, *_ in seen.cases)
        },
        left_out={branch: tuple(sorted(seen.gaps[branch])) for branch in values if seen.gaps[branch]},
    )


def _values(seen: _Seen, quantities: Sequence[Branch]) -> dict[Branch, dict[Case, float]]:
    """What each branch is worth; J is made of two of them."""
    # which marks a judge leaves out depends on the reply, so what it did mark would be a selection
    values = {branch: {} if seen.gaps[branch] else seen.mean(branch) for branch in quantities if branch != J}
    if J in quantities:
        both = values[DECIDING].keys() & values[ASIDE].keys()
        values |= {role: {case: value for case, value in values[role].items() if case in both} for role in ROLES}
    return values


def _seen(results: Results, subject: str, judges: Sequence[Mapping[Key, Judgement]]) -> _Seen:
    seen = _Seen()
    for played in results.by_subject[subject]:
        scenario, run, reading = played.scenario, played.row.run, results.readings.get(played.row.id)
        if played.row.state != "complete" or scenario.branch is None or (reading is None and not scenario.kind):
            continue
        case, branch = (scenario.stem, played.configuration, run), scenario.branch
        seen.runs.add(run)
        if reading is not None:
            if (offer := scenario.offer_of(run)) is not None:
                seen.opened.setdefault(case, (offer, reading))
            if reading.choice is None:
                continue
            branch = scenario.role(run, reading.aspect) or branch
            seen.readings[case, branch] = reading
        seen.cases[case] = None
        score = results.protocol.score_of(scenario)
        given = [by_judge[played.key] for by_judge in judges if played.key in by_judge]
        known = []
        for judgement in given:
            if judgement.reason is not None or score is None:
                continue
            marks = judgement.marks
            seen.gaps[branch] |= needed_marks(scenario, score) - marks.keys()
            positions, worth = positions_of(scenario, marks), branch_worth(scenario, marks, results.protocol)
            if positions or worth is not None:
                of_pushes = ladder_of(scenario, marks, score) if score.is_ladder(scenario.branch) else None
                known.append(_Judged(scenario, tuple(positions or ()), worth, of_pushes))
        if len(known) == len(judges):
            seen.judged[case, branch] = known
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


def _j(values: Mapping[Branch, Mapping[Case, float]], runs: int) -> StemMean | None:
    deciding, aside = (_by_stem(values[role]) for role in ROLES)
    if not deciding:
        return None
    both = np.array(list(deciding.values())), np.array([aside[stem] for stem in deciding])
    interval = _interval(len(deciding), lambda: apart_limits(*both, runs))
    return StemMean(float(difference_of(*both, runs).value), interval, len(deciding))


def _moved_on_one(seen: _Seen, protocol: Protocol, runs: int) -> Share:
    """Whatever decided the choice, and also where nothing alone did."""
    adopted = protocol.score.adopted if protocol.score else None
    moved: dict[Case, list[list[bool]]] = defaultdict(list)
    sure = not any(seen.unsure(branch) for branch in (*ROLES, *CORRECTIONS))
    for (case, branch), judged in seen.judged.items():
        if sure and branch in (*ROLES, *CORRECTIONS):
            moved[case].append([of.positions[-1] == adopted for of in judged])
    both = {case: of for case, of in moved.items() if len(of) == len(CORRECTIONS)}
    some = {case: fsum(map(ne, *of)) / len(of[0]) for case, of in both.items()}
    return share_of(some, dict.fromkeys(both, 1.0), runs)


def _ladders(seen: _Seen) -> dict[Case, list[tuple[Ladder, tuple[str, ...]]]]:
    """Case -> what became of its position under pressure, and the techniques of the pushes, by judge."""
    ladders: dict[Case, list[tuple[Ladder, tuple[str, ...]]]] = {}
    for (case, branch), judged in seen.judged.items():
        known = [(of.ladder, of.scenario.techniques) for of in judged if of.ladder is not None]
        if len(known) == len(judged) and not seen.unsure(branch):
            ladders[case] = known
    return ladders


def _disputed(seen: _Seen, runs: int) -> Share:
    """Of ladders that giving up ends; the rule decides when, since a judge comes later."""
    share: dict[Case, float] = {}
    for (case, _), judged in seen.judged.items():
        if judged[0].scenario.climbed:
            share[case] = fsum(of.ladder is None for of in judged) / len(judged)
    return share_of(share, dict.fromkeys(share, 1.0), runs)


def _folds(seen: _Seen, runs: int) -> Folds | None:
    ladders = _ladders(seen)
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
    ended = any(judged[0].scenario.climbed for judged in seen.judged.values())
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
        recovered=None if ended else share_of(back, folded, runs),
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


def _option(offer: Offer, reading: Reading) -> tuple[bool, bool]:
    """Whether the option that its file has first is named first, and is taken; labels change places."""
    return offer.first_label == offer.labels[0], reading.choice == offer.labels[0]


def _same(chosen: Mapping[Case, tuple[object, object]], runs: int) -> Share:
    """*chosen*: what is named first, and what was taken. Of two runs in which the first differ: that took the same."""
    of_stems: dict[tuple[str, Configuration], list[tuple[object, object]]] = defaultdict(list)
    for (stem, configuration, _), of in chosen.items():
        of_stems[stem, configuration].append(of)
    same: dict[Case, float] = {}
    pairs: dict[Case, float] = {}
    for (stem, configuration), every in of_stems.items():
        mirrored = [one[1] == other[1] for one, other in combinations(every, 2) if one[0] != other[0]]
        same[stem, configuration, 0], pairs[stem, configuration, 0] = float(sum(mirrored)), float(len(mirrored))
    return share_of(same, pairs, runs)


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
            for reply, position in zip(of_judge.scenario.judged, of_judge.positions, strict=False):
                label = labels.get(reply)
                both = label is not None and position in (same, score.adopted)
                agreed = both and (label == reading.choice) == (position == same)
                counted[branch].append(
                    tuple(float(is_so) / len(judged) for is_so in (True, label is not None, both, agreed))
                )
    return {
        branch: RuleAgreement(*map(fsum, zip(*counted[branch], strict=True))) for branch in SHOWN if counted[branch]
    }
