"""Where the differences between marks come from, and what would make the ranking more reliable: boards to values.

Knows rows and a protocol's scenarios; formats nothing. One judge's board, or several judges' boards of the same
conversations; only subjects that are ranked by all of them count. What the numbers are: docs/statistics-methods.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
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
    Sources,
    composite_components,
    generalizability,
    jackknife,
    sources_of,
    variance_components,
)
from independence_bench.judging.judge import find_jury
from independence_bench.protocol.definition import Configuration, Mark, Protocol, mark_words

TIMES = (1, 2, 4)  # as many scenarios, for the table of what more of the same brings


@dataclass(frozen=True, slots=True)
class ReliabilityRow:
    """Where the variance of one thing comes from, and how reliable it is. None: nothing to tell it by.

    Of a mark: of one conversation's share of the scale, [0, 1]. Of an experiment or the index: of its points over all
    of its scenarios, each played once.
    """

    title: str
    points: float | None  # of the index's 100; None: a mark, see *counts*
    counts: bool  # in the index
    scenarios: int
    components: Components
    played: float | None  # E rho^2 as it was played: all of the scenarios, the usual runs, these judges
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
    runs: tuple[int, int, int]  # the fewest of a subject, the usual number (the lower median), the most
    designs: tuple[tuple[int, int], ...]  # (times the scenarios, runs)
    marks: tuple[ReliabilityRow, ...]
    experiments: tuple[ReliabilityRow, ...]  # those with points
    index: ReliabilityRow


def panel(boards: Sequence[Board]) -> list[Board]:
    """Those of *boards*, of one configuration, whose judges are taken together.

    The embedded judge only where there is no other. A judge that ranks fewer than half of the subjects that any judge
    ranks is left out, because only subjects that all judges rank are compared. *boards* must not be empty.
    """
    judged = [board for board in boards if board.judge is not None and not board.by_table] or list(boards)
    every = {row.subject.hash for board in judged for row in board.ranked}
    return [board for board in judged if 2 * len(board.ranked) >= len(every)] if every else judged[:1]


def jury_of(boards: Sequence[Board], names: Sequence[str]) -> list[Board]:
    """The boards of the judges that *names* fit, one each. Raises WrongUse for fewer than two, or an unknown one."""
    chosen = find_jury({board.judge: board.judge for board in boards if board.judge is not None}, names)
    return [board for board in boards if board.judge in chosen]


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
    """The reliability of what *boards* rank: of one configuration, one for each judge, at least one."""
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
    weighed = {name for dimension in protocol.dimensions if dimension.weight for name in dimension.marks}
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
            _of_mark(mark, study) for mark in sorted(marks.values(), key=lambda mark: mark.name not in weighed)
        ),
        experiments=tuple(_of_points(experiment.title, [experiment.name], study) for experiment in experiments),
        index=_of_points("Index", [experiment.name for experiment in experiments], study),
    )


def _ranked_by_all(boards: Sequence[Board], worths: Mapping[str, Sequence[MarkWeight]]) -> list[list[Row]]:
    """Without those that only the published rules rank: who lacks a mark that counts has taken another test."""
    counted = [(scenario, worth.mark) for scenario, of in worths.items() for worth in of]
    by_subject: dict[str, list[Row]] = defaultdict(list)
    for board in boards:
        places = [
            ((configuration, scenario), mark) for configuration in board.configurations for scenario, mark in counted
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
    weight = MarkWeight(mark.name, mark.low, mark.high, inverted, 1.0, dimension.name if dimension else "")
    given_by = [s.id for s in study.protocol.scenarios if any(own.name == mark.name for own in s.marks)]
    components = variance_components(_shares({scenario: [weight] for scenario in given_by}, study))
    sources = [sources_of(estimates) for estimates in (components.estimates, *components.left_out)]
    counts = dimension is not None and dimension.weight > 0
    title, reliable = mark_words(mark.name), _reliable([len(given_by)], sources, study)
    return ReliabilityRow(title, None, counts, len(given_by), components, *reliable)


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
    whole = composite_components(shares, to_be_had, list(strata.values()))
    components = Components(whole.estimates, tuple(without.estimates for without in whole.left_out))
    sources = [sources_of(of.estimates, of.by_stratum) for of in (whole, *whole.left_out)]
    reliable = _reliable([1] * len(experiments), sources, study)
    return ReliabilityRow(title, fsum(to_be_had), True, len(strata), components, *reliable)


def _reliable(
    scenarios: Sequence[int], sources: Sequence[Sources | None], study: _Study
) -> tuple[float | None, float | None, tuple[float | None, ...]]:
    """E rho^2: (as it was played, its standard error, that of every design).

    *scenarios*: of each stratum, as often as in *sources*, which are those of all subjects, then without each of them.
    """

    def reached(of: Sources | None, times: int, runs: int) -> float | None:
        return generalizability(of, [times * n for n in scenarios], runs, study.judges) if of else None

    whole, *left_out = sources
    error = jackknife([reached(without, 1, study.runs) for without in left_out])
    return reached(whole, 1, study.runs), error, tuple(reached(whole, times, runs) for times, runs in study.designs)


def _shares(worths: Mapping[str, Sequence[MarkWeight]], study: _Study) -> Floats:
    """(subjects, scenarios, runs, judges): the share of the points of *worths* (by scenario); nan where a mark lacks.

    Configurations that are pooled are fixed, so what counts is the mean over them.
    """
    most = max((len(rows[0].runs) for rows in study.rows), default=0)
    shares = np.full((len(study.rows), len(worths), most, study.judges), np.nan)
    for p, rows in enumerate(study.rows):
        for h, row in enumerate(rows):
            for r, run in enumerate(sorted(row.runs)):
                for i, (scenario, of) in enumerate(worths.items()):
                    slots = [row.marks.get(run, {}).get((place, scenario), {}) for place in study.configurations]
                    if all(worth.mark in marks for worth in of for marks in slots):
                        had = fsum(worth.points * worth.share(marks[worth.mark]) for worth in of for marks in slots)
                        shares[p, i, r, h] = had / (len(slots) * fsum(worth.points for worth in of))
    return shares
