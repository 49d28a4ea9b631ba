"""One subject in two configurations side by side, scenario by scenario. Pure: from boards to values.

What is compared is what `compare_subjects.py` compares of two subjects. A configuration is measured by itself, over all
that are ranked in it, whether it has a board of its own or is one of a pool. Its runs have nothing in common with those
of another one, so two intervals are joined as the report joins those of an index (`configurations.py`).

There is an interval for *the same test again* only. How much of a difference between two prompts would be found on
other scenarios has not been measured, so of another test like it nothing is said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from independence_bench.analysis.compare_subjects import Compared, all_compared, values_of
from independence_bench.analysis.configurations import Index, change_between, order_of
from independence_bench.analysis.leaderboard import Board, Row
from independence_bench.analysis.statistics import intervals
from independence_bench.analysis.statistics.dispersion import scores_again
from independence_bench.analysis.statistics.judge_noise import with_judges
from independence_bench.analysis.uncertainty import (
    INDEX,
    SCENARIO_DEGREES,
    BoardUncertainty,
    ScoreDifference,
    Uncertainty,
    measure_scenarios,
)
from independence_bench.protocol.definition import Configuration

NOT_OURS = "no intervals: they are worked out by our own rules only"


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
        board, uncertainty = self.board, self.uncertainty
        if uncertainty is None or not board.ranked or self.shifted:
            return {}
        marks = [row.marks for row in board.ranked]
        alone = measure_scenarios(board.protocol, (self.configuration,), marks)
        found: dict[Compared, intervals.Scores] = {}
        for scenario, dimension in all_compared(board.protocol):
            name = dimension or INDEX
            measure = uncertainty.measures[name] if scenario is None else alone[name, scenario]
            scores = scores_again(measure.measured)
            if scores is None:
                return {}
            found[scenario, dimension] = with_judges(scores, measure.noise)
        return found

    def unsaid(self, ranked: bool) -> str | None:
        """Why nothing says how sure a score is, of somebody who is *ranked* here or not; None where something does."""
        if self.board.uncertainty is None:
            return NOT_OURS
        if not ranked:
            return f"no interval: it is not ranked in {self.configuration}, and only who is ranked is measured"
        if self.shifted:
            return f"no interval: whole runs are shifted in {self.configuration}, beyond what one was found to hold"
        if not self.scores:
            return f"no interval: nobody has two runs in {self.configuration}, so nothing says how they vary"
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
    placed: tuple[SubjectScores, ...]  # in the protocol's order


@dataclass(frozen=True, slots=True)
class ConfigurationDifferences:
    """What is known of the differences between two configurations, the second minus the first, in points of 100."""

    apart: Mapping[Compared, ScoreDifference] = field(default_factory=dict)  # empty where nothing is known
    unsaid: tuple[str, ...] = ()  # why it is empty, a sentence each


def compare_in_configurations(boards: Sequence[Board], judge: str | None) -> tuple[SubjectInConfigurations, ...]:
    """Everybody whom *judge* has marked in two configurations or more, by label; () where nobody is.

    *boards* are of one protocol and by one set of rules.
    """
    rows: dict[str, Row] = {}
    placed: dict[str, list[SubjectScores]] = defaultdict(list)
    places = _places([board for board in boards if board.judge == judge])
    for place in places if len(places) > 1 else ():
        ranked = len(place.board.ranked)
        for number, row in enumerate(place.board.rows):
            if values := _values(place, row):
                rows.setdefault(row.subject.hash, row)
                placed[row.subject.hash].append(SubjectScores(place, number if number < ranked else None, values))
    found = [SubjectInConfigurations(rows[hash_], tuple(of_one)) for hash_, of_one in placed.items() if len(of_one) > 1]
    return tuple(sorted(found, key=lambda one: (one.row.label, one.row.subject.hash)))


def configuration_differences(first: SubjectScores, second: SubjectScores) -> ConfigurationDifferences:
    """How sure the differences between two configurations of one subject are."""
    reasons = (one.place.unsaid(one.number is not None) for one in (first, second))
    unsaid = tuple(dict.fromkeys(filter(None, reasons)))
    if unsaid or first.number is None or second.number is None:
        return ConfigurationDifferences(unsaid=unsaid)
    every = list(first.place.scores)
    one, other = _column(first.place, every, first.number), _column(second.place, every, second.number)
    more = np.array([0.0 if scenario is None else SCENARIO_DEGREES for scenario, _ in every])
    columns = (intervals.smallest_seen(other, one).tolist(), intervals.p_values(other, one, more).tolist())
    found = {}
    for compared, before, after, seen, p in zip(every, _indices(one), _indices(other), *columns, strict=True):
        change = change_between(before, after)
        found[compared] = ScoreDifference(change.points, Uncertainty(change.again), 100 * seen, None, p)
    return ConfigurationDifferences(found)


def _places(boards: Sequence[Board]) -> list[ConfigurationScores]:
    """Every configuration of the boards, in the protocol's order."""
    found = [ConfigurationScores(one, board) for board in boards for one in board.configurations]
    return sorted(found, key=lambda place: order_of(place.board.protocol, place.configuration))


def _values(place: ConfigurationScores, row: Row) -> dict[Compared, float]:
    score = row.by_configuration.get(place.configuration) if place.pooled else row.score
    return values_of(place.board.protocol, (place.configuration,), score, row.marks)


def _column(place: ConfigurationScores, every: Sequence[Compared], number: int) -> intervals.Scores:
    """Of one subject: all of *every*, one after the other."""
    at = np.array([number])
    return intervals.joined([place.scores[one].at(at) for one in every])


def _indices(scores: intervals.Scores) -> list[Index]:
    """Each with its interval, in [0, 100]."""
    low, high = intervals.intervals(scores)
    ends = zip(scores.mean.tolist(), low.tolist(), high.tolist(), strict=True)
    return [(100 * mean, intervals.Interval(a, b).scaled(100)) for mean, a, b in ends]
