"""Subjects side by side, scenario by scenario: two of one board, or one in two configurations. Pure: boards to values.

How sure a difference is follows from all ranked subjects of a board together (`uncertainty.py`); of others nothing is
said.

A configuration is measured by itself, whether it has a board of its own or is one of a pool. Its runs have nothing in
common with those of another one, so two intervals are joined as those of the indices are (`configurations.py`), and for
*the same test again* only: how much of a difference between two prompts would be found on other scenarios has not been
measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.branch_values import BranchDifference, branch_differences
from independence_bench.analysis.comparison import (
    Comparison,
    Known,
    Values,
    comparison_of,
    known_differences,
    values_of,
)
from independence_bench.analysis.configurations import change_between, order_of
from independence_bench.analysis.statistics import intervals
from independence_bench.analysis.statistics.dispersion import scores_rerun
from independence_bench.analysis.statistics.judge_noise import with_judges
from independence_bench.analysis.statistics.values import Interval, ScoreDifference, Uncertainty
from independence_bench.analysis.uncertainty import INDEX, SCENARIO_DEGREES, BoardUncertainty, Compared
from independence_bench.protocol.definition import Configuration

NOT_OURS = "no intervals: they are computed under our own rules only"


@dataclass(frozen=True, slots=True)
class SubjectComparison:
    """Two rows of one board and all that can be said of their difference, the second minus the first."""

    board: Board
    first: Row
    second: Row
    scores: Comparison
    branches: tuple[BranchDifference, ...] = ()  # of a protocol with stems, by our own rules


def values_on(board: Board, row: Row) -> Values:
    """What *row* has on *board* of all that is compared."""
    return values_of(board.protocol, board.configurations, row.score, row.marks)


def compare_pairs(
    board: Board, pairs: Sequence[tuple[Row, Row]], values: Mapping[str, Values] | None = None
) -> list[SubjectComparison]:
    """Each of *pairs*, which are rows of *board*; what varies is measured once, over all of its ranked subjects.

    *values*: of the rows, by their subjects' hashes, as `values_on` has them; None: not known yet.
    """
    uncertainty = board.uncertainty
    if values is None:
        values = {row.subject.hash: values_on(board, row) for pair in pairs for row in pair}
    numbers = {row.subject.hash: number for number, row in enumerate(board.ranked)}
    ranked = [pair for pair in pairs if all(row.subject.hash in numbers for row in pair)]
    known: dict[tuple[str, str], Known] = {}
    if uncertainty is not None:
        hashes = [(first.subject.hash, second.subject.hash) for first, second in ranked]
        of_numbers = known_differences(uncertainty, [(numbers[one], numbers[other]) for one, other in hashes])
        known = dict(zip(hashes, of_numbers, strict=True))
    found = []
    for first, second in pairs:
        unranked = [row.label for row in (first, second) if row.subject.hash not in numbers]
        why_no_interval = tuple(
            f"no interval: {label} is incomplete, and only ranked subjects are compared" for label in unranked
        )
        if uncertainty is None:
            why_no_interval = ()
        elif not unranked:
            why_no_interval = uncertainty.why_no_interval()
        both = first.subject.hash, second.subject.hash
        scores = comparison_of(board.protocol, [values[one] for one in both], known.get(both, {}), why_no_interval)
        of_branches = branch_differences(first.branches, second.branches) if first.branches and second.branches else ()
        found.append(SubjectComparison(board, first, second, scores, of_branches))
    return found


# ---------------------------------------------------------------- one subject in two configurations


@dataclass(frozen=True, eq=False)
class ConfigurationScores:
    """One configuration by itself."""

    configuration: Configuration
    board: Board  # that ranks it, alone or in a pool

    @property
    def pooled(self) -> bool:
        """Whether the board ranks it together with others."""
        return len(self.board.configurations) > 1

    @property
    def uncertainty(self) -> BoardUncertainty | None:
        """How sure the scores in this configuration are; None where nothing says so."""
        board = self.board
        return board.uncertainty_by_configuration.get(self.configuration) if self.pooled else board.uncertainty

    @property
    def shifted(self) -> bool:
        """Whether whole runs are shifted beyond what intervals were found to hold."""
        measures = self.uncertainty.measures if self.uncertainty else {}
        return bool(measures) and measures[INDEX].measured.run_effects.beyond

    @cached_property
    def scores(self) -> Mapping[Compared, intervals.Scores]:
        """Of the board's ranked rows, in their order, what an interval needs; {} where nothing says how sure they are.

        Worked out when it is first asked for: to list who can be compared it is not needed.
        """
        uncertainty, found = self.uncertainty, {}
        if uncertainty is None or not self.board.ranked or self.shifted:
            return {}
        for key, measure in uncertainty.compared.items():
            scores = scores_rerun(measure.measured)
            if scores is None:
                return {}
            found[key] = with_judges(scores, measure.noise)
        return found

    def why_no_interval(self, ranked: bool) -> str | None:
        """Why nothing says how sure a score is, of somebody who is *ranked* here or not; None where something does."""
        if self.board.uncertainty is None:
            return NOT_OURS
        if not ranked:
            return f"no interval: it is not ranked in {self.configuration}, and only ranked subjects are compared"
        if self.shifted:
            return (
                f"no interval: whole runs are shifted in {self.configuration}, more than an interval was validated for"
            )
        if not self.scores:
            return f"no interval: no subject has two runs in {self.configuration}, so their spread is unknown"
        return None


@dataclass(frozen=True, slots=True)
class SubjectScores:
    """One subject in one configuration."""

    place: ConfigurationScores
    number: int | None  # among the ranked; None: it is none of them
    values: Values  # never empty


@dataclass(frozen=True, slots=True)
class SubjectInConfigurations:
    """A subject with marks in two configurations or more."""

    row: Row  # one of its rows
    placed: list[SubjectScores]  # in the protocol's order


def compare_in_configurations(boards: Sequence[Board], judge: str | None) -> tuple[SubjectInConfigurations, ...]:
    """Everybody whom *judge* has marked in two configurations or more, by label; () where nobody is.

    *boards* are of one protocol and by one set of rules.
    """
    mine = [board for board in boards if board.judge == judge]
    places = [ConfigurationScores(one, board) for board in mine for one in board.configurations]
    places.sort(key=lambda place: order_of(place.board.protocol, place.configuration))
    found: dict[str, SubjectInConfigurations] = {}
    for place in places if len(places) > 1 else ():
        for number, row in enumerate(place.board.rows):
            score = row.by_configuration.get(place.configuration) if place.pooled else row.score
            if values := values_of(place.board.protocol, (place.configuration,), score, row.marks):
                ranked = number if number < len(place.board.ranked) else None
                one = found.setdefault(row.subject.hash, SubjectInConfigurations(row, []))
                one.placed.append(SubjectScores(place, ranked, values))
    several = [one for one in found.values() if len(one.placed) > 1]
    return tuple(sorted(several, key=lambda one: (one.row.label, one.row.subject.hash)))


def compare_two_configurations(first: SubjectScores, second: SubjectScores) -> Comparison:
    """Two configurations of one subject, the second minus the first, and how sure each difference is."""
    reasons = (one.place.why_no_interval(one.number is not None) for one in (first, second))
    why_no_interval = tuple(dict.fromkeys(filter(None, reasons)))
    known = {} if why_no_interval else _known_between(first, second)
    return comparison_of(first.place.board.protocol, (first.values, second.values), known, why_no_interval)


def _known_between(first: SubjectScores, second: SubjectScores) -> Known:
    every, columns, indices = list(first.place.scores), [], []
    for one in (first, second):
        column = intervals.joined([one.place.scores[key].at(np.array([one.number])) for key in every])
        ends = zip(*(numbers.tolist() for numbers in (column.mean, *intervals.intervals(column))), strict=True)
        columns.append(column)
        indices.append([(100 * mean, Interval(low, high).scaled(100)) for mean, low, high in ends])
    before, after = columns
    more = np.array([0.0 if scenario is None else SCENARIO_DEGREES for scenario, _ in every])
    seen, p = intervals.smallest_seen(after, before).tolist(), intervals.p_values(after, before, more).tolist()
    changes = [change_between(*both) for both in zip(*indices, strict=True)]
    return {
        key: ScoreDifference(change.points, Uncertainty(change.rerun), 100 * seen[n], None, p[n])
        for n, (key, change) in enumerate(zip(every, changes, strict=True))
    }
