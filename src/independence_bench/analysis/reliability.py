"""Where the differences between marks come from, and what would make the ranking more reliable:
boards to values.

Knows rows and a protocol's scenarios; formats nothing. One judge's board, or several judges' boards
of the same conversations; only subjects that are ranked by all of them count. What the numbers are:
docs/statistics-methods.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import fsum
from statistics import median_low

import numpy as np

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.exam.result import BoardExam
from independence_bench.analysis.item_analysis import MarkWeight, mark_weights
from independence_bench.analysis.statistics.values import Floats
from independence_bench.analysis.statistics.variance_components import (
    Components,
    generalizability,
    jackknife,
    variance_components,
)
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
