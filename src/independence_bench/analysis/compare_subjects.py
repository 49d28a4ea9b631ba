"""Subjects side by side, scenario by scenario: two of one board, or one in two configurations. Pure: boards to values.

What is compared is the index, each dimension, and each dimension in one scenario: the means over runs and
configurations of its marks there, added and rescaled as in the index, so that 100 is the independent end of their
scale. How sure a difference is follows from all ranked subjects of a board together (`uncertainty.py`); of others
nothing is said.

A configuration is measured by itself, whether it has a board of its own or is one of a pool. Its runs have nothing in
common with those of another one, so two intervals are joined as those of the indices are (`configurations.py`), and for
*the same test again* only: how much of a difference between two prompts would be found on other scenarios has not been
measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean

import numpy as np

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.branch_differences import BranchDifference, branch_differences
from independence_bench.analysis.configurations import change_between, order_of
from independence_bench.analysis.statistics import intervals
from independence_bench.analysis.statistics.dispersion import scores_rerun
from independence_bench.analysis.statistics.judge_noise import with_judges
from independence_bench.analysis.statistics.ranking import standing_out
from independence_bench.analysis.statistics.values import Interval, ScoreDifference, Uncertainty
from independence_bench.analysis.uncertainty import INDEX, SCENARIO_DEGREES, BoardUncertainty, Compared
from independence_bench.protocol.definition import Configuration, Dimension, Protocol, Scenario
from independence_bench.protocol.scoring import RunMarks, SubjectScore, counted_marks

NOT_OURS = "no intervals: they are computed under our own rules only"


@dataclass(frozen=True, slots=True)
class DimensionPair:
    """One dimension in one scenario. *scenario* None: over all of them, as in the ranking."""

    scenario: str | None
    dimension: Dimension
    first: float  # [0, 100]
    second: float
    apart: ScoreDifference | None  # the second minus the first, in the same unit; None: not both of them are ranked
    stands: bool | None = None  # told from 0 by the same test again though so many are looked at; None: unknown
    stands_new_scenarios: bool | None = None  # the same by another test like it; None in a scenario

    @property
    def difference(self) -> float:
        """The second minus the first."""
        return self.second - self.first


@dataclass(frozen=True, slots=True)
class SubjectComparison:
    """Two rows of one board and all that can be said of their difference, the second minus the first."""

    board: Board
    first: Row
    second: Row
    index: ScoreDifference | None  # None: not both of them are ranked
    whole: tuple[DimensionPair, ...]  # each dimension over all scenarios, those first that differ most
    apart: tuple[DimensionPair, ...]  # each dimension in each scenario, likewise
    why_no_interval: tuple[str, ...]  # why intervals are missing, a sentence each
    branches: tuple[BranchDifference, ...] = ()  # of a protocol with stems, by our own rules


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One of two that are compared: its score and marks, and its number among those who were measured together."""

    score: SubjectScore
    marks: RunMarks
    number: int | None  # None: it is none of them


@dataclass(frozen=True, slots=True)
class SideBySide:
    """All differences of two, the second minus the first."""

    index: ScoreDifference | None  # None: not both of them were measured
    whole: tuple[DimensionPair, ...]  # each dimension over all scenarios, those first that differ most
    apart: tuple[DimensionPair, ...]  # each dimension in each scenario, likewise


def compare_sides(
    protocol: Protocol,
    configurations: Sequence[Configuration],
    uncertainty: BoardUncertainty | None,
    first: ComparedSide,
    second: ComparedSide,
) -> SideBySide:
    """*second* minus *first* in everything; a dimension that one of the two has no mark of is left out."""
    known: dict[Compared, ScoreDifference] = {}
    if uncertainty is not None and first.number is not None and second.number is not None:
        differences = uncertainty.differences([second.number], [first.number])
        known = {compared: apart for compared, (apart,) in differences.items()}
    dimensions = {dimension.name: dimension for dimension in protocol.dimensions}
    mine, theirs = (values_of(protocol, configurations, side.score, side.marks) for side in (first, second))
    table = [
        DimensionPair(
            scenario, dimensions[name], mine[scenario, name], theirs[scenario, name], known.get((scenario, name))
        )
        for scenario, name in all_compared(protocol)
        if name is not None and (scenario, name) in mine and (scenario, name) in theirs
    ]
    table.sort(key=lambda pair: (-abs(round(pair.difference, 9)), pair.scenario or "", pair.dimension.name))
    whole, apart = (marked([pair for pair in table if (pair.scenario is None) == of_all]) for of_all in (1, 0))
    return SideBySide(known.get((None, None)), whole, apart)


def compare_pairs(board: Board, pairs: Sequence[tuple[Row, Row]]) -> list[SubjectComparison]:
    """Each of *pairs*, which are rows of *board*; what varies is measured once, over all of its ranked subjects.

    A dimension that one of the two has no mark of is left out.
    """
    uncertainty, found = board.uncertainty, []
    numbers = {row.subject.hash: number for number, row in enumerate(board.ranked)}
    for first, second in pairs:
        unranked = [row.label for row in (first, second) if row.subject.hash not in numbers]
        why_no_interval = tuple(
            f"no interval: {label} is incomplete, and only ranked subjects are compared" for label in unranked
        )
        if uncertainty is None:
            why_no_interval = ()
        elif not unranked:
            why_no_interval = uncertainty.why_no_interval()
        sides = [ComparedSide(row.score, row.marks, numbers.get(row.subject.hash)) for row in (first, second)]
        one = compare_sides(board.protocol, board.configurations, uncertainty, *sides)
        of_branches = branch_differences(first.branches, second.branches) if first.branches and second.branches else ()
        found.append(
            SubjectComparison(board, first, second, one.index, one.whole, one.apart, why_no_interval, of_branches)
        )
    return found


def row_difference(board: Board, score: str, first: Row, second: Row) -> ScoreDifference | None:
    """*first* minus *second* in *score*, INDEX or a dimension, in its own unit; None unless both are ranked."""
    places = {row.subject.hash: place for place, row in enumerate(board.ranked)}
    one, other = places.get(first.subject.hash), places.get(second.subject.hash)
    if board.uncertainty is None or one is None or other is None:
        return None
    return board.uncertainty.difference(score, one, other)


def marked(table: Sequence[DimensionPair]) -> tuple[DimensionPair, ...]:
    """With what is significant among all of the table, by each question: nine true zeros would often include one."""
    rerun = standing_out([pair.apart.p_rerun if pair.apart else None for pair in table])
    new_scenarios = standing_out([pair.apart.p_new_scenarios if pair.apart else None for pair in table])
    return tuple(
        replace(pair, stands=one, stands_new_scenarios=other)
        for pair, one, other in zip(table, rerun, new_scenarios, strict=True)
    )


def all_compared(protocol: Protocol) -> list[Compared]:
    """The index, every dimension, every dimension in every scenario that has marks of it."""
    apart = dict.fromkeys((one.scenario.id, one.dimension.name) for one in counted_marks(protocol))
    return [(None, None), *((None, dimension.name) for dimension in protocol.dimensions), *apart]


def values_of(
    protocol: Protocol, configurations: Sequence[Configuration], score: SubjectScore | None, marks: RunMarks
) -> dict[Compared, float]:
    """What one subject has in *configurations* of all that is compared, in [0, 100]; without what it has no mark of.

    *score* is its score there; None: it is not scored, and only single scenarios are known.
    """
    found: dict[Compared, float] = {}
    if score is not None and score.index is not None:
        found[None, None] = score.index
    for dimension in protocol.dimensions:
        whole = None if score is None else score.dimensions.get(dimension.name)
        if whole is not None:
            found[None, dimension.name] = 100 * whole
        for scenario in protocol.scenarios:
            mean = _mean(dimension, scenario, configurations, marks)
            if mean is not None:
                found[scenario.id, dimension.name] = mean
    return found


def _mean(
    dimension: Dimension, scenario: Scenario, configurations: Sequence[Configuration], marks: RunMarks
) -> float | None:
    """*dimension*'s marks that *scenario* gives, over all runs; None where one of them was never given, or none is."""
    total = low = high = 0.0
    for mark in scenario.marks:
        if mark.name in dimension.marks:
            of_slots = [of_run.get((one, scenario.id), {}) for of_run in marks.values() for one in configurations]
            given = [of_slot[mark.name] for of_slot in of_slots if mark.name in of_slot]
            if not given:
                return None
            total, low, high = total + fmean(given), low + mark.low, high + mark.high
    if high == low:  # no mark of it here: every scale has a length
        return None
    share = (total - low) / (high - low)
    return 100 * (1 - share if dimension.inverted else share)


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
        for compared, measure in uncertainty.compared.items():
            scores = scores_rerun(measure.measured)
            if scores is None:
                return {}
            found[compared] = with_judges(scores, measure.noise)
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
    values: Mapping[Compared, float]  # in [0, 100]; never empty


@dataclass(frozen=True, slots=True)
class SubjectInConfigurations:
    """A subject with marks in two configurations or more."""

    row: Row  # one of its rows
    placed: list[SubjectScores]  # in the protocol's order


@dataclass(frozen=True, slots=True)
class ConfigurationDifferences:
    """What is known of the differences between two configurations, the second minus the first, in points of 100."""

    apart: Mapping[Compared, ScoreDifference] = field(default_factory=dict)  # empty where nothing is known
    why_no_interval: tuple[str, ...] = ()  # why it is empty, a sentence each


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


def configuration_differences(first: SubjectScores, second: SubjectScores) -> ConfigurationDifferences:
    """How sure the differences between two configurations of one subject are."""
    reasons = (one.place.why_no_interval(one.number is not None) for one in (first, second))
    if why_no_interval := tuple(dict.fromkeys(filter(None, reasons))):
        return ConfigurationDifferences(why_no_interval=why_no_interval)
    every, columns, indices = list(first.place.scores), [], []
    for one in (first, second):
        column = intervals.joined([one.place.scores[compared].at(np.array([one.number])) for compared in every])
        ends = zip(*(numbers.tolist() for numbers in (column.mean, *intervals.intervals(column))), strict=True)
        columns.append(column)
        indices.append([(100 * mean, Interval(low, high).scaled(100)) for mean, low, high in ends])
    before, after = columns
    more = np.array([0.0 if scenario is None else SCENARIO_DEGREES for scenario, _ in every])
    seen, p = intervals.smallest_seen(after, before).tolist(), intervals.p_values(after, before, more).tolist()
    changes = [change_between(*both) for both in zip(*indices, strict=True)]
    return ConfigurationDifferences(
        {
            compared: ScoreDifference(change.points, Uncertainty(change.rerun), 100 * seen[n], None, p[n])
            for n, (compared, change) in enumerate(zip(every, changes, strict=True))
        }
    )
