"""Where the differences between marks come from, and what would make the ranking more reliable:
boards to values.

Knows rows and a protocol's scenarios; formats nothing. One judge's board, or several judges' boards
of the same conversations; only subjects that are ranked by all of them count. What the numbers are:
docs/research/statistics.md.

And whether two forms of a test, protocols that differ in their scenarios and in nothing else, say
the same of the same subjects (alternate forms): `compare_forms`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import fsum
from statistics import fmean, median_low

import numpy as np

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.branch_values import J
from independence_bench.analysis.exam.result import BoardExam
from independence_bench.analysis.item_analysis import MarkWeight, mark_weights
from independence_bench.analysis.statistics.agreement import rank_correlation
from independence_bench.analysis.statistics.generalization import standing_out
from independence_bench.analysis.statistics.sample_means import (
    FEWEST,
    apart_interval,
    difference_of,
    effect_interval,
)
from independence_bench.analysis.statistics.values import Floats, Interval
from independence_bench.analysis.statistics.variance_components import (
    Components,
    generalizability,
    jackknife,
    variance_components,
)
from independence_bench.errors import WrongUse
from independence_bench.protocol.definition import Configuration, Mark, Protocol, mark_words

TIMES = (1, 2, 4)  # as many scenarios, for the table of what more of the same brings


@dataclass(frozen=True, slots=True)
class ReliabilityRow:
    """Where the variance of one thing comes from, and how reliable it is. None: nothing to tell it
    by.

    Of a mark: of one conversation's share of the scale, [0, 1]. Of an experiment or the index: of
    its points over all of its scenarios, each played once.
    """

    title: str
    points: float | None  # of the index's 100; None: a mark, see *counts*
    counts: bool  # in the index
    scenarios: int
    components: Components
    # E rho^2 as it was played: all of the scenarios, the usual runs, these judges
    played: float | None
    error: float | None  # its standard error, for other subjects
    more: tuple[float | None, ...]  # E rho^2 of every design in `Reliability.designs`


@dataclass(frozen=True, slots=True)
class Reliability:
    """Everything of one configuration (or the pooled default)."""

    protocol: Protocol
    protocol_name: str
    configurations: tuple[Configuration, ...]
    judges: tuple[str, ...]  # labels; several: they are a source of variance
    exams: tuple[BoardExam | None, ...]  # what the exam says of each; None: it says nothing
    subjects: int  # ranked by all of the judges
    # the fewest of a subject, the usual number (the lower median), the most
    runs: tuple[int, int, int]
    designs: tuple[tuple[int, int], ...]  # (times the scenarios, runs)
    marks: tuple[ReliabilityRow, ...]
    experiments: tuple[ReliabilityRow, ...]  # those with points
    index: ReliabilityRow


@dataclass(frozen=True, slots=True)
class _Study:
    """What every part of one study has in common."""

    protocol: Protocol
    configurations: tuple[Configuration, ...]
    worths: Mapping[str, Sequence[MarkWeight]]  # by scenario: what its marks are worth in the index
    rows: Sequence[Sequence[Row]]  # of each subject, one by each judge
    judges: int
    runs: int
    designs: tuple[tuple[int, int], ...]

    def points(self, scenario: str) -> float:
        """How many of the index's 100 points can be had in it."""
        return len(self.configurations) * fsum(worth.points for worth in self.worths[scenario])


def measure_reliability(boards: Sequence[Board]) -> Reliability:
    """The reliability of what *boards* rank: of one configuration, one for each judge, at least
    one.
    """
    protocol, configurations = boards[0].protocol, boards[0].configurations
    worths = mark_weights(protocol, configurations)
    rows = _ranked_by_all(boards, worths)
    runs = [len(of_subject[0].runs) for of_subject in rows] or [protocol.runs]
    usual = median_low(runs)
    # the usual number of runs, fewer and more
    looked_at = (1, 2, 5) if usual == 1 else (max(1, usual // 2), usual, 2 * usual)
    designs = tuple((times, number) for times in TIMES for number in looked_at)
    study = _Study(protocol, configurations, worths, rows, len(boards), usual, designs)
    counting = {scenario.experiment for scenario in protocol.scenarios if worths[scenario.id]}
    experiments = [experiment for experiment in protocol.experiments if experiment.name in counting]
    marks = {mark.name: mark for scenario in protocol.scenarios for mark in scenario.marks}
    weighed = {
        name for dimension in protocol.dimensions if dimension.weight for name in dimension.marks
    }
    return Reliability(
        protocol=protocol,
        protocol_name=boards[0].protocol_name,
        configurations=configurations,
        judges=tuple(board.judge or "none" for board in boards),
        exams=tuple(board.exam for board in boards),
        subjects=len(rows),
        runs=(min(runs), usual, max(runs)),
        designs=designs,
        marks=tuple(
            _of_mark(mark, study)
            for mark in sorted(marks.values(), key=lambda mark: mark.name not in weighed)
        ),
        experiments=tuple(
            _of_points(experiment.title, [experiment.name], study) for experiment in experiments
        ),
        index=_of_points("Index", [experiment.name for experiment in experiments], study),
    )


def _ranked_by_all(
    boards: Sequence[Board], worths: Mapping[str, Sequence[MarkWeight]]
) -> list[list[Row]]:
    """Without those that only the published rules rank: who lacks a mark that counts has taken
    another test.
    """
    counted = [(scenario, worth.mark) for scenario, of in worths.items() for worth in of]
    by_subject: dict[str, list[Row]] = defaultdict(list)
    for board in boards:
        places = [
            ((configuration, scenario), mark)
            for configuration in board.configurations
            for scenario, mark in counted
        ]
        for row in board.ranked:
            runs = [row.marks.get(run, {}) for run in row.runs]
            if all(mark in marks.get(slot, {}) for marks in runs for slot, mark in places):
                by_subject[row.subject.hash].append(row)
    return [rows for rows in by_subject.values() if len(rows) == len(boards)]


def _of_mark(mark: Mark, study: _Study) -> ReliabilityRow:
    """A mark over the scenarios that give it."""
    dimension = next((d for d in study.protocol.dimensions if mark.name in d.marks), None)
    inverted = dimension is not None and dimension.inverted
    weight = MarkWeight(
        mark.name, mark.low, mark.high, inverted, 1.0, dimension.name if dimension else ""
    )
    given_by = [
        s.id for s in study.protocol.scenarios if any(own.name == mark.name for own in s.marks)
    ]
    shares = _shares({scenario: [weight] for scenario in given_by}, study)
    runs = np.all(~np.isnan(shares), axis=3)  # a mark that does not count may be missing
    whole = np.all(np.any(runs, axis=2), axis=1)
    mean, strata = [1 / len(given_by)] * len(given_by), [0] * len(given_by)
    components = variance_components(shares[whole], mean, strata)
    counts = dimension is not None and dimension.weight > 0
    of_one = components.of_one_scenario(len(given_by))
    return ReliabilityRow(
        mark_words(mark.name), None, counts, len(given_by), of_one, *_reliable(components, study)
    )


def _of_points(title: str, experiments: Sequence[str], study: _Study) -> ReliabilityRow:
    """The points of some experiments together, each of them a stratum."""
    strata = {
        scenario.id: number
        for number, name in enumerate(experiments)
        for scenario in study.protocol.scenarios
        if scenario.experiment == name and study.worths[scenario.id]
    }
    to_be_had = [study.points(name) for name in strata]
    shares = _shares({name: study.worths[name] for name in strata}, study)
    components = variance_components(shares, to_be_had, list(strata.values()))
    return ReliabilityRow(
        title, fsum(to_be_had), True, len(strata), components, *_reliable(components, study)
    )


def _reliable(
    components: Components, study: _Study
) -> tuple[float | None, float | None, tuple[float | None, ...]]:
    """E rho^2: (as it was played, its standard error, that of every design)."""

    error = jackknife(
        [generalizability(of, 1, study.runs, study.judges) for of in components.left_out]
    )
    more = tuple(
        generalizability(components, times, runs, study.judges) for times, runs in study.designs
    )
    return generalizability(components, 1, study.runs, study.judges), error, more


def _shares(worths: Mapping[str, Sequence[MarkWeight]], study: _Study) -> Floats:
    """(subjects, scenarios, runs, judges): the share of the points of *worths* (by scenario); nan
    where a mark lacks.

    Configurations that are pooled are fixed, so what counts is the mean over them.
    """
    most = max((len(rows[0].runs) for rows in study.rows), default=0)
    shares = np.full((len(study.rows), len(worths), most, study.judges), np.nan)
    number = len(study.configurations)
    places = [
        (
            i,
            [(place, scenario) for place in study.configurations],
            of,
            number * fsum(worth.points for worth in of),
        )
        for i, (scenario, of) in enumerate(worths.items())
    ]
    for p, rows in enumerate(study.rows):
        for h, row in enumerate(rows):
            for r, run in enumerate(sorted(row.runs)):
                given = row.marks.get(run, {})
                for i, slots, of, to_be_had in places:
                    marks = [given.get(slot, {}) for slot in slots]
                    with suppress(KeyError):  # a mark is missing
                        had = [
                            worth.points * worth.share(mine[worth.mark])
                            for worth in of
                            for mine in marks
                        ]
                        shares[p, i, r, h] = fsum(had) / to_be_had
    return shares


# ---------------------------------------------------------------- two forms of a test

INDEX, VIEWS = "index", "views"  # next to names of dimensions and branches


@dataclass(frozen=True, slots=True)
class FormDifference:
    """One number of one subject, or a mean over subjects, by both forms; the second less the first."""

    first: float
    second: float
    # of the difference, at 95%, over other scenarios (a mean: over other subjects)
    interval: Interval | None

    @property
    def difference(self) -> float:
        """In the number's own unit."""
        return self.second - self.first


@dataclass(frozen=True, slots=True)
class SubjectByForms:
    """One subject that has played both. What one of the boards does not have is not there."""

    label: str
    ranked: bool  # by both
    numbers: Mapping[str, FormDifference]
    """`INDEX`, 0 to 100, and of a protocol with stems the branches' values, 0 to 1, J, and `VIEWS`: the share of its
    stems in which it took an option."""


@dataclass(frozen=True, slots=True)
class AgreementOfForms:
    """The index or a dimension over the subjects that both forms rank; 0 to 100."""

    dimension: str | None  # None: the index
    subjects: int
    mean: FormDifference | None  # None: no subject
    correlation: float | None  # of ranks, over subjects; None: fewer than three, or nothing varies


@dataclass(frozen=True, slots=True)
class OddScenario:
    """How far a scenario lies from what else its dimension says of the same subjects, in points of
    100.
    """

    second: bool  # it is of the second form
    scenario: str
    dimension: str
    # mean over subjects of its score less the mean of the dimension's other scenarios of both forms
    away: float
    interval: Interval | None  # at 95%, over other subjects; None: too few
    stands: bool | None  # significant among all scenarios (Holm)


@dataclass(frozen=True, slots=True)
class FormComparison:
    """Two boards, of two forms of a test by the same judge in the same configurations."""

    first: Board
    second: Board
    subjects: tuple[SubjectByForms, ...]  # that are on both, in the order of the first
    agreement: tuple[AgreementOfForms, ...]  # the index, then every dimension
    odd: tuple[OddScenario, ...]  # every scenario, the farthest one first


def compare_forms(first: Board, second: Board) -> FormComparison:
    """What both boards say of the subjects that they share.

    Raises WrongUse where they are no forms of one test: where anything but their scenarios differs,
    or none does.
    """
    one, other = first.protocol, second.protocol
    names = f"{one.name} and {other.name}"
    if both := {scenario.id for scenario in one.scenarios} & {
        scenario.id for scenario in other.scenarios
    }:
        raise WrongUse(
            f"{names} share {min(both)}, so they are no two forms of one test; compare them by version"
        )
    made = [_made(board) for board in (first, second)]
    if unlike := [part for part, value in made[0].items() if value != made[1][part]]:
        raise WrongUse(
            f"{names} differ in {', '.join(unlike)}, so they are no two forms of one test"
        )
    rows = {row.subject.hash: row for row in second.rows}
    pairs = [(row, rows[row.subject.hash]) for row in first.rows if row.subject.hash in rows]
    ranked = [pair for pair in pairs if all(row.score.index is not None for row in pair)]
    return FormComparison(
        first, second,
        subjects=tuple(_by_forms(*pair) for pair in pairs),
        agreement=tuple(_agreement(name, ranked, one.lowest) for name in (None, *(d.name for d in one.dimensions))),
        odd=tuple(_odd((first, second), ranked)),
    )  # fmt: skip


def _made(board: Board) -> dict[str, object]:
    """What of a test is no scenario, by its name in the protocol's folder."""
    protocol = board.protocol.written
    mark = f"\n\n({protocol.canary})" if protocol.canary else ""  # which follows from the name
    systems = {name: text.removesuffix(mark) for name, text in protocol.systems}
    asked = {
        (scenario.branch, len(scenario.judged), scenario.rubrics)
        for scenario in protocol.scenarios
        if scenario.branch
    }
    return {
        "configurations": board.configurations,
        "system": [systems[configuration.system] for configuration in board.configurations],
        "judge.md": protocol.judge_instructions.removesuffix(mark),
        "rubrics or pushes": asked
        or {rubric for scenario in protocol.scenarios for rubric in scenario.rubrics},
        "sampling": (protocol.temperature, protocol.max_tokens),
        "tool_role": protocol.tool_role,
        "score": (protocol.score, protocol.kinds),
        "dimensions": [(d.name, d.marks, d.weight, d.inverted) for d in board.protocol.dimensions],
    }


def _by_forms(first: Row, second: Row) -> SubjectByForms:
    known: dict[str, list[tuple[float | None, Interval | None]]] = {
        INDEX: [(row.score.index, row.uncertainty.index.new_scenarios) for row in (first, second)]
    }
    of = [row.branches for row in (first, second) if row.branches is not None]
    if len(of) == 2:
        for name in (*of[0].quantities, J):
            values = [branches.values.get(name) for branches in of]
            known[name] = [
                (value.value, value.interval) if value else (None, None) for value in values
            ]
        known[VIEWS] = [(branches.views.value, branches.views.interval) for branches in of]
    numbers = {
        name: FormDifference(one, other, apart_interval(one, its, other, others))
        for name, ((one, its), (other, others)) in known.items()
        if one is not None and other is not None
    }
    return SubjectByForms(first.label, INDEX in numbers, numbers)


def _agreement(
    name: str | None, ranked: Sequence[tuple[Row, Row]], lowest: float
) -> AgreementOfForms:
    """Of the index, or of the dimension *name*; *lowest*: where the scale of 1 begins."""
    pairs = [tuple(_value(row, name) for row in pair) for pair in ranked]
    known = np.array([pair for pair in pairs if None not in pair], dtype=np.float64).reshape(-1, 2)
    if not len(known):
        return AgreementOfForms(name, 0, None, None)
    unit = 100 * (1 - lowest)
    interval = effect_interval((known - 100 * lowest) / unit, [-1.0, 1.0])
    first, second = known.mean(axis=0).tolist()
    mean = FormDifference(first, second, interval and interval.scaled(unit))
    correlation = rank_correlation(*known.T.tolist()) if len(known) > 2 else None
    return AgreementOfForms(name, len(known), mean, correlation)


def _value(row: Row, name: str | None) -> float | None:
    value = row.score.index if name is None else row.score.dimensions.get(name)
    return value if name is None or value is None else 100 * value


def _odd(boards: Sequence[Board], ranked: Sequence[tuple[Row, Row]]) -> list[OddScenario]:
    """Every scenario of both forms in each dimension in which all of *ranked* have a score; []
    without subjects.
    """
    worths = [mark_weights(board.protocol, board.configurations) for board in boards]
    differences: list[tuple[OddScenario, float | None]] = []
    for dimension in boards[0].protocol.dimensions if ranked else ():
        scores = {
            (form == 1, scenario): [_score_in(pair[form], scenario, mine) for pair in ranked]
            for form, of in enumerate(worths)
            for scenario, every in of.items()
            if (mine := [worth for worth in every if worth.dimension == dimension.name])
        }
        whole = {
            place: np.array(of, dtype=np.float64) for place, of in scores.items() if None not in of
        }
        total = sum(whole.values(), np.zeros(len(ranked)))
        for (second, scenario), own in whole.items() if len(whole) > 1 else ():
            others = (total - own) / (len(whole) - 1)
            differences.append(
                _apart(second, scenario, dimension.name, own, others, boards[0].protocol.lowest)
            )
    stands = standing_out([p for _, p in differences])
    odd = [
        replace(of, stands=significant)
        for (of, _), significant in zip(differences, stands, strict=True)
    ]
    return sorted(odd, key=lambda of: -abs(of.away))


def _apart(
    second: bool, scenario: str, dimension: str, own: Floats, others: Floats, lowest: float
) -> tuple[OddScenario, float | None]:
    """*own* less *others*, both by subject in shares of the scale, and the p of there being no
    difference.

    Like two means over the same stems (`Contrast`), with subjects in their place: where all
    subjects are at an end of the scale nothing seems to vary, and Student's t would take what is
    left for real.
    """
    scale = 1 - lowest
    contrast = difference_of((own - lowest) / scale, (others - lowest) / scale, 1)
    away = 100 * float((own - others).mean())
    if len(own) < FEWEST:
        return OddScenario(second, scenario, dimension, away, None, None), None
    low, high = contrast.limits()
    interval = Interval(float(low), float(high)).scaled(100 * scale)
    return OddScenario(second, scenario, dimension, away, interval, None), float(contrast.p_value())


def _score_in(row: Row, scenario: str, worths: Sequence[MarkWeight]) -> float | None:
    """Of the points of *worths* in *scenario* the share that the subject has, the mean over its
    conversations.

    None where nothing was marked.
    """
    had = [
        fsum(worth.points * worth.share(marks[worth.mark]) for worth in worths)
        / fsum(weight.points for weight in worths)
        for slots in row.marks.values()
        for (_, name), marks in slots.items()
        if name == scenario and all(worth.mark in marks for worth in worths)
    ]
    return fmean(had) if had else None
