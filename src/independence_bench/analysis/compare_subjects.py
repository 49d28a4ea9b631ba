"""Two subjects side by side, scenario by scenario. Pure: from two rows of one board to values.

What is compared is a dimension in one scenario: the means over runs and configurations of its marks there, added and
rescaled as in the index, so that 100 is the independent end of their scale. How sure a difference is follows from all
ranked subjects of the board together (`uncertainty.py`); of who is not ranked nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from independence_bench.analysis.leaderboard import Board, Row
from independence_bench.analysis.statistics.ranking import holm
from independence_bench.analysis.uncertainty import (
    INDEX,
    SCENARIO_DEGREES,
    Measure,
    ScoreDifference,
    measure_scenarios,
    score_difference,
)
from independence_bench.protocol.definition import Configuration, Dimension, Protocol, Scenario
from independence_bench.protocol.scoring import RunMarks, SubjectScore, counted_marks

Compared = tuple[str | None, str | None]  # a scenario's id, a dimension's name; None: over all of them


@dataclass(frozen=True, slots=True)
class DimensionPair:
    """One dimension in one scenario. *scenario* None: over all of them, as in the ranking."""

    scenario: str | None
    dimension: Dimension
    first: float  # [0, 100]
    second: float
    apart: ScoreDifference | None = (
        None  # the second minus the first, in the same unit; None: not both of them are ranked
    )
    stands: bool | None = None  # told from 0 by the same test again though so many are looked at; None: unknown
    stands_another: bool | None = None  # the same by another test like it; None in a scenario

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
    whole: tuple[DimensionPair, ...]  # each dimension over all scenarios
    apart: tuple[DimensionPair, ...]  # each dimension in each scenario
    unsaid: tuple[str, ...]  # why intervals are missing, a sentence each


def compare_pairs(board: Board, pairs: Sequence[tuple[Row, Row]]) -> list[SubjectComparison]:
    """Each of *pairs*, which are rows of *board*; what varies is measured once, over all of its ranked subjects."""
    uncertainty, found = board.uncertainty, []
    numbers = {row.subject.hash: number for number, row in enumerate(board.ranked)}
    measures: Mapping[tuple[str, str], Measure] = {}
    if uncertainty is not None:
        measures = measure_scenarios(board.protocol, board.configurations, [row.marks for row in board.ranked])
    for first, second in pairs:
        whole, apart = pair_rows(board.protocol, board.configurations, first, second)
        one, other = numbers.get(first.subject.hash), numbers.get(second.subject.hash)
        index: ScoreDifference | None = None
        unsaid: tuple[str, ...] = ()
        if uncertainty is not None and one is not None and other is not None:
            index, unsaid = uncertainty.apart(INDEX, other, one), uncertainty.unsaid()
            whole = [replace(p, apart=uncertainty.apart(p.dimension.name, other, one).in_percent()) for p in whole]
            apart = [replace(pair, apart=_in_scenario(measures, pair, other, one)) for pair in apart]
        elif uncertainty is not None:
            unsaid = tuple(
                f"no interval: {row.label} is incomplete, and only who is ranked is measured"
                for row in (first, second)
                if row.subject.hash not in numbers
            )
        found.append(SubjectComparison(board, first, second, index, _marked(whole), _marked(apart), unsaid))
    return found


def row_difference(board: Board, score: str, first: Row, second: Row) -> ScoreDifference | None:
    """*first* minus *second* in *score*, INDEX or a dimension, in its own unit; None unless both are ranked."""
    places = {row.subject.hash: place for place, row in enumerate(board.ranked)}
    one, other = places.get(first.subject.hash), places.get(second.subject.hash)
    if board.uncertainty is None or one is None or other is None:
        return None
    return board.uncertainty.apart(score, one, other)


def standing_out(p_values: Sequence[float | None]) -> list[bool | None]:
    """Which of several differences are told from 0 with a chance of at most 5 % that any of them is wrongly so.

    By Holm's procedure over those that have a p-value; None for the others.
    """
    kept = iter(holm(np.array([p for p in p_values if p is not None], dtype=np.float64)).tolist())
    return [None if p is None else next(kept) for p in p_values]


def _marked(table: Sequence[DimensionPair]) -> tuple[DimensionPair, ...]:
    """With those that stand among all of the table, by each question: of nine that are none one often seems to be."""
    again = standing_out([pair.apart.p_again if pair.apart else None for pair in table])
    another = standing_out([pair.apart.p_another if pair.apart else None for pair in table])
    return tuple(
        replace(pair, stands=one, stands_another=other) for pair, one, other in zip(table, again, another, strict=True)
    )


def _in_scenario(
    measures: Mapping[tuple[str, str], Measure], pair: DimensionPair, first: int, second: int
) -> ScoreDifference:
    measure = measures[pair.dimension.name, pair.scenario or ""]
    return score_difference(measure, first, second, SCENARIO_DEGREES).in_percent()


def pair_rows(
    protocol: Protocol, configurations: Sequence[Configuration], first: Row, second: Row
) -> tuple[list[DimensionPair], list[DimensionPair]]:
    """(each dimension over all scenarios, each dimension in each scenario); those first that differ most.

    What one of the two has no mark of is left out; both lists may be empty.
    """
    one, other = (values_of(protocol, configurations, row.score, row.marks) for row in (first, second))
    dimensions = {dimension.name: dimension for dimension in protocol.dimensions}
    pairs = [
        DimensionPair(scenario, dimensions[name], one[scenario, name], other[scenario, name])
        for scenario, name in all_compared(protocol)
        if name is not None and (scenario, name) in one and (scenario, name) in other
    ]
    whole, apart = ([pair for pair in pairs if (pair.scenario is None) == of_all] for of_all in (True, False))
    return sorted(whole, key=_size), sorted(apart, key=_size)


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


def _size(pair: DimensionPair) -> tuple[float, str, str]:
    return -abs(round(pair.difference, 9)), pair.scenario or "", pair.dimension.name


def _mean(
    dimension: Dimension, scenario: Scenario, configurations: Sequence[Configuration], marks: RunMarks
) -> float | None:
    """*dimension*'s marks that *scenario* gives, over all runs; None where there are none."""
    total = low = high = 0.0
    wanted = [mark for mark in scenario.marks if mark.name in dimension.marks]
    for mark in wanted:
        given = [
            of_run[configuration, scenario.id][mark.name]
            for of_run in marks.values()
            for configuration in configurations
            if mark.name in of_run.get((configuration, scenario.id), {})
        ]
        if not given:
            return None
        total, low, high = total + fmean(given), low + mark.low, high + mark.high
    if not wanted:
        return None
    share = (total - low) / (high - low)
    return 100 * (1 - share if dimension.inverted else share)
