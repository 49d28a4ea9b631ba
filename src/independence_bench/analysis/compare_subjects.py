"""Two sides, score by score: two subjects, one in two configurations, by two versions, two builds.
Pure.

Compared are the index, each dimension, and each dimension in one scenario: the means over runs and
configurations of its marks there, added and rescaled as in the index, so that 100 is the
independent end of their scale. Here are two subjects of one board, and one subject in two
configurations (versions: `compare_versions.py`; builds: `gate.py`).

How sure a difference is follows from all ranked subjects of a board together (`uncertainty.py`); of
others nothing is said.

A configuration is measured by itself, whether it has a board of its own or is one of a pool. Its
runs have nothing in common with those of another one, so two intervals are joined as those of the
indices are (`compare_settings.py`), and for *the same test again* only: how much of a difference
between two prompts would be found on other scenarios has not been measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import numpy as np

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.branches import BranchDifference, branch_differences
from independence_bench.analysis.compare_settings import change_between, order_of
from independence_bench.analysis.statistics import intervals
from independence_bench.analysis.statistics.dispersion import scores_rerun
from independence_bench.analysis.statistics.generalization import holm, standing_out
from independence_bench.analysis.statistics.hypothesis_tests import RunsNeeded, runs_needed
from independence_bench.analysis.statistics.shared_effects import with_judges
from independence_bench.analysis.statistics.values import (
    Bools,
    Floats,
    Interval,
    ScoreDifference,
    Uncertainty,
)
from independence_bench.analysis.uncertainty import (
    INDEX,
    SCENARIO_DEGREES,
    BoardUncertainty,
    Compared,
)
from independence_bench.protocol.definition import Configuration, Dimension, Protocol, Scenario
from independence_bench.protocol.scoring import RunMarks, SubjectScore, counted_marks

Values = Mapping[Compared, float]  # of one side, in [0, 100]; without what it has no mark of
Known = Mapping[Compared, ScoreDifference]  # the second minus the first, in points of 100
INDEX_ITSELF: Compared = (None, None)


@dataclass(frozen=True, slots=True)
class ScorePair:
    """One score of both sides. *scenario* None: over all of them, as in the ranking; *dimension*
    None: the index.
    """

    scenario: str | None
    dimension: Dimension | None
    first: float  # [0, 100]
    second: float
    # the second minus the first, in the same unit; None: nothing says how sure it is
    apart: ScoreDifference | None
    stands: bool | None = None  # told from 0 on a rerun though so many are looked at; None: unknown
    stands_new_scenarios: bool | None = None  # the same with new scenarios; None in a scenario

    @property
    def difference(self) -> float:
        """The second minus the first."""
        return self.second - self.first


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences of two sides, the second minus the first."""

    # that both have: the index, the others with the largest difference first
    scores: Mapping[Compared, ScorePair]
    why_no_interval: tuple[str, ...] = ()  # why intervals are missing, a sentence each

    @property
    def index(self) -> ScoreDifference | None:
        """How the indices differ; None where nothing says how sure that is."""
        pair = self.scores.get(INDEX_ITSELF)
        return pair.apart if pair else None

    @property
    def whole(self) -> list[ScorePair]:
        """Each dimension over all scenarios."""
        return [
            score
            for score in self.scores.values()
            if score.scenario is None and score.dimension is not None
        ]

    @property
    def in_scenarios(self) -> list[ScorePair]:
        """Each dimension in each scenario."""
        return [score for score in self.scores.values() if score.scenario is not None]


def comparison_of(
    protocol: Protocol, sides: Sequence[Values], known: Known, why_no_interval: Sequence[str] = ()
) -> Comparison:
    """The second of two *sides* minus the first in everything; what one of them has no mark of is
    left out.
    """
    first, second = sides
    dimensions = {dimension.name: dimension for dimension in protocol.dimensions}
    pairs: dict[Compared, ScorePair] = {}
    for kind in kinds_compared(protocol):
        sizes = {
            key: -abs(round(second[key] - first[key], 9))
            for key in kind
            if key in first and key in second
        }
        group = sorted(sizes, key=sizes.__getitem__)
        # significant among all of them, by each question: nine true zeros would often include one
        apart = [known.get(key) for key in group]
        several = [None if group == [INDEX_ITSELF] else difference for difference in apart]
        rerun = standing_out([difference.p_rerun if difference else None for difference in several])
        new_scenarios = standing_out(
            [difference.p_new_scenarios if difference else None for difference in several]
        )
        for key, of_key, stands, with_new in zip(group, apart, rerun, new_scenarios, strict=True):
            dimension = dimensions[key[1]] if key[1] else None
            pairs[key] = ScorePair(
                key[0], dimension, first[key], second[key], of_key, stands, with_new
            )
    return Comparison(pairs, tuple(why_no_interval))


def known_differences(
    uncertainty: BoardUncertainty, pairs: Sequence[tuple[int, int]]
) -> list[Known]:
    """Of each of *pairs* of those who were measured together, by number, the second minus the
    first.

    A hundred pairs take little longer than one.
    """
    by_score = uncertainty.differences(
        [second for _, second in pairs], [first for first, _ in pairs]
    )
    return [
        {key: differences[n] for key, differences in by_score.items()} for n in range(len(pairs))
    ]


def all_compared(protocol: Protocol) -> list[Compared]:
    """The index, every dimension, every dimension in every scenario that has marks of it."""
    apart = dict.fromkeys(
        (mark.scenario.id, mark.dimension.name) for mark in counted_marks(protocol)
    )
    return [INDEX_ITSELF, *((None, dimension.name) for dimension in protocol.dimensions), *apart]


def kinds_compared(protocol: Protocol) -> list[list[Compared]]:
    """The same, each kind by itself: the index; dimensions, by name; dimensions in scenarios, by
    both names.
    """
    itself, *others = all_compared(protocol)
    others.sort(key=lambda key: (key[0] or "", key[1] or ""))
    whole = [key for key in others if key[0] is None]
    return [[itself], whole, others[len(whole) :]]


def values_of(
    protocol: Protocol,
    configurations: Sequence[Configuration],
    score: SubjectScore | None,
    marks: RunMarks,
) -> dict[Compared, float]:
    """What one subject has in *configurations* of all that is compared, in [0, 100]; without what
    it has no mark of.

    *score* is its score there; None: it is not scored, and only single scenarios are known.
    """
    values: dict[Compared, float] = {}
    if score is not None and score.index is not None:
        values[INDEX_ITSELF] = score.index
    for dimension in protocol.dimensions:
        whole = None if score is None else score.dimensions.get(dimension.name)
        if whole is not None:
            values[None, dimension.name] = 100 * whole
        for scenario in protocol.scenarios:
            mean = _mean(dimension, scenario, configurations, marks)
            if mean is not None:
                values[scenario.id, dimension.name] = mean
    return values


def _mean(
    dimension: Dimension,
    scenario: Scenario,
    configurations: Sequence[Configuration],
    marks: RunMarks,
) -> float | None:
    """*dimension*'s marks that *scenario* gives, over all runs; None where one of them was never
    given, or none is.
    """
    total = low = high = 0.0
    for mark in scenario.marks:
        if mark.name in dimension.marks:
            of_slots = [
                of_run.get((one, scenario.id), {})
                for of_run in marks.values()
                for one in configurations
            ]
            given = [of_slot[mark.name] for of_slot in of_slots if mark.name in of_slot]
            if not given:
                return None
            total, low, high = total + fmean(given), low + mark.low, high + mark.high
    if high == low:  # no mark of it here: every scale has a length
        return None
    share = (total - low) / (high - low)
    return 100 * (1 - share if dimension.inverted else share)


# ---------------------------------------------------------------- two subjects of one board

NOT_OURS = "no intervals: they are computed under our own rules only"


@dataclass(frozen=True, slots=True)
class SubjectComparison:
    """Two rows of one board and all that can be said of their difference, the second minus the
    first.
    """

    board: Board
    first: Row
    second: Row
    scores: Comparison
    branches: tuple[BranchDifference, ...] = ()  # of a protocol with stems, by our own rules
    # runs at which the difference of the index would be told; None: it is, or is unknown
    needed: RunsNeeded | None = None


def values_on(board: Board, row: Row) -> Values:
    """What *row* has on *board* of all that is compared."""
    return values_of(board.protocol, board.configurations, row.score, row.marks)


def compare_pairs(board: Board, pairs: Sequence[tuple[Row, Row]]) -> list[SubjectComparison]:
    """Each of *pairs*, which are rows of *board*; what varies is measured once, over all of its
    ranked subjects.
    """
    uncertainty = board.uncertainty
    numbers = {row.subject.hash: number for number, row in enumerate(board.ranked)}
    ranked = [pair for pair in pairs if all(row.subject.hash in numbers for row in pair)]
    known: dict[tuple[str, str], Known] = {}
    if uncertainty is not None:
        hashes = [(first.subject.hash, second.subject.hash) for first, second in ranked]
        of_numbers = known_differences(
            uncertainty, [(numbers[one], numbers[other]) for one, other in hashes]
        )
        known = dict(zip(hashes, of_numbers, strict=True))
    comparisons = []
    for (first, second), reasons in zip(pairs, why_no_intervals(board, pairs), strict=True):
        sides, both = (
            [values_on(board, row) for row in (first, second)],
            (first.subject.hash, second.subject.hash),
        )
        scores = comparison_of(board.protocol, sides, known.get(both, {}), reasons)
        needed = None
        if uncertainty is not None and both in known:
            needed = runs_that_decide(uncertainty, numbers[both[0]], numbers[both[1]], scores.index)
        branches = branches_apart(first, second)
        comparisons.append(SubjectComparison(board, first, second, scores, branches, needed))
    return comparisons


def runs_that_decide(
    uncertainty: BoardUncertainty,
    first: int,
    second: int,
    index: ScoreDifference | None,
) -> RunsNeeded | None:
    """How many runs would tell the difference of the *index* of two subjects, by number, from none.

    None where it is told already, is 0 or unknown; and where whole
    runs are shifted, or judges differ, so that runs alone do not say.
    """
    if index is None or not index.difference:
        return None
    if index.uncertainty.rerun is not None and not index.uncertainty.rerun.holds(0.0):
        return None
    of = uncertainty.measures[INDEX]
    if of.measured.run_effects.beyond or of.noise is not None:
        return None
    return runs_needed(of.measured, second, first, 0.0)


def why_no_intervals(board: Board, pairs: Sequence[tuple[Row, Row]]) -> list[tuple[str, ...]]:
    """Of each of *pairs*, rows of *board*, why intervals are missing, a sentence each."""
    if board.uncertainty is None:
        return [()] * len(pairs)
    ranked = {row.subject.hash for row in board.ranked}
    of_board = board.uncertainty.why_no_interval()
    return [
        tuple(
            f"no interval: {row.label} is incomplete, and only ranked subjects are compared"
            for row in pair
            if row.subject.hash not in ranked
        )
        or of_board
        for pair in pairs
    ]


def branches_apart(first: Row, second: Row) -> tuple[BranchDifference, ...]:
    """What differs branch by branch; () without stems."""
    return (
        branch_differences(first.branches, second.branches)
        if first.branches and second.branches
        else ()
    )


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """Pairs of sides in all that is compared: arrays [pairs, compared], in points of 100; NaN: not
    known.
    """

    first: Floats
    second: Floats
    rerun: intervals.Limits  # low and high of the second minus the first
    new_scenarios: intervals.Limits
    stands: Bools  # as in `ScorePair`
    stands_new_scenarios: Bools

    @property
    def sizes(self) -> Floats:
        """How large each difference is, by which they are ordered: what is equal but for rounding
        is.
        """
        return np.asarray(np.abs(np.round(self.second - self.first, 9)))


def compare_beside(
    board: Board, row: Row, others: Sequence[Row], values: Mapping[str, Floats]
) -> tuple[Beside, list[ScoreDifference | None]]:
    """*others* beside *row*, all of *board*, as `compare_pairs` has them but in arrays; and how
    their indices differ.

    *values*: what each has of `all_compared`, by its subject's hash.
    """
    first = np.repeat(values[row.subject.hash][None], len(others), axis=0)
    second = np.array([values[other.subject.hash] for other in others]).reshape(first.shape)
    # [question, (low, high, p), others, compared]
    ends_and_p = np.full((2, 3, *first.shape), np.nan)
    indices: list[ScoreDifference | None] = [None] * len(others)
    numbers = {ranked_row.subject.hash: number for number, ranked_row in enumerate(board.ranked)}
    ranked = [
        place
        for place, other in enumerate(others)
        if {other.subject.hash, row.subject.hash} <= numbers.keys()
    ]
    if board.uncertainty is not None and ranked:
        theirs = [numbers[others[place].subject.hash] for place in ranked]
        every = board.uncertainty.differences(
            theirs, [numbers[row.subject.hash]] * len(ranked), standing=True
        )
        for column, key in enumerate(all_compared(board.protocol)):
            both = (every[key].rerun, every[key].new_scenarios) if key in every else ()
            for question, differences in enumerate(both):
                if differences is not None:
                    ends_and_p[question, :, ranked, column] = np.transpose(
                        [*differences.limits, differences.p]
                    )
        for number, place in enumerate(ranked):
            indices[place] = every[INDEX_ITSELF][number]
    ends_and_p[:, :, np.isnan(second - first)] = np.nan
    stands, over_all = (
        np.zeros((2, *first.shape), dtype=np.bool_),
        1 + len(board.protocol.dimensions),
    )
    for kind in (slice(1, over_all), slice(over_all, None)):  # the index is one question by itself
        stands[:, :, kind] = holm(ends_and_p[:, 2, :, kind])
    rerun, new_scenarios = ((low, high) for low, high, _ in ends_and_p)
    return Beside(first, second, rerun, new_scenarios, *stands), indices


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
        return (
            board.uncertainty_by_configuration.get(self.configuration)
            if self.pooled
            else board.uncertainty
        )

    @property
    def shifted(self) -> bool:
        """Whether whole runs are shifted beyond what intervals were found to hold."""
        measures = self.uncertainty.measures if self.uncertainty else {}
        return bool(measures) and measures[INDEX].measured.run_effects.beyond

    @cached_property
    def scores(self) -> Mapping[Compared, intervals.Scores]:
        """Of the measured rows, in their order, what an interval needs; {} where nothing says how
        sure they are.

        Worked out when it is first asked for: to list who can be compared it is not needed.
        """
        uncertainty, by_score = self.uncertainty, {}
        if uncertainty is None or not self.board.ranked or self.shifted:
            return {}
        for key, measure in uncertainty.compared.items():
            scores = scores_rerun(measure.measured)
            if scores is None:
                return {}
            by_score[key] = with_judges(scores, measure.noise)
        return by_score

    def why_no_interval(self, ranked: bool) -> str | None:
        """Why nothing says how sure a score is, of somebody who is *ranked* here or not; None where
        something does.
        """
        if self.board.uncertainty is None:
            return NOT_OURS
        if not ranked:
            return f"no interval: it is not ranked in {self.configuration}, and only ranked subjects are compared"
        if self.shifted:
            return f"no interval: whole runs are shifted in {self.configuration}, more than an interval was validated for"
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


def compare_in_configurations(
    boards: Sequence[Board], judge: str | None
) -> tuple[SubjectInConfigurations, ...]:
    """Everybody whom *judge* has marked in two configurations or more, by label; () where nobody
    is.

    *boards* are of one protocol and by one set of rules.
    """
    mine = [board for board in boards if board.judge == judge]
    places = [ConfigurationScores(one, board) for board in mine for one in board.configurations]
    places.sort(key=lambda place: order_of(place.board.protocol, place.configuration))
    by_subject: dict[str, SubjectInConfigurations] = {}
    for place in places if len(places) > 1 else ():
        numbers = {row.subject.hash: number for number, row in enumerate(place.board.ranked)}
        for row in place.board.rows:
            score = row.by_configuration.get(place.configuration) if place.pooled else row.score
            if values := values_of(place.board.protocol, (place.configuration,), score, row.marks):
                ranked = numbers.get(row.subject.hash)
                one = by_subject.setdefault(row.subject.hash, SubjectInConfigurations(row, []))
                one.placed.append(SubjectScores(place, ranked, values))
    several = [
        configurations for configurations in by_subject.values() if len(configurations.placed) > 1
    ]
    return tuple(sorted(several, key=lambda subject: (subject.row.label, subject.row.subject.hash)))


def compare_two_configurations(first: SubjectScores, second: SubjectScores) -> Comparison:
    """Two configurations of one subject, the second minus the first, and how sure each difference
    is.
    """
    reasons = (
        scores.place.why_no_interval(scores.number is not None) for scores in (first, second)
    )
    why_no_interval = tuple(dict.fromkeys(filter(None, reasons)))
    known = {} if why_no_interval else _known_between(first, second)
    return comparison_of(
        first.place.board.protocol, (first.values, second.values), known, why_no_interval
    )


def _known_between(first: SubjectScores, second: SubjectScores) -> Known:
    every, columns, indices = list(first.place.scores), [], []
    for scores in (first, second):
        column = intervals.joined(
            [scores.place.scores[key].at(np.array([scores.number])) for key in every]
        )
        ends = zip(
            *(numbers.tolist() for numbers in (column.mean, *intervals.intervals(column))),
            strict=True,
        )
        columns.append(column)
        indices.append([(100 * mean, Interval(a, b).scaled(100)) for mean, a, b in ends])
    before, after = columns
    more = np.array([0.0 if scenario is None else SCENARIO_DEGREES for scenario, _ in every])
    seen, p = (
        intervals.smallest_seen(after, before).tolist(),
        intervals.p_values(after, before, more).tolist(),
    )
    changes = [change_between(*both) for both in zip(*indices, strict=True)]
    return {
        key: ScoreDifference(change.points, Uncertainty(change.rerun), 100 * seen[n], None, p[n])
        for n, (key, change) in enumerate(zip(every, changes, strict=True))
    }
