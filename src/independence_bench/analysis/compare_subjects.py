"""Comparisons of two sides, score by score: two subjects of one leaderboard, a subject by two
versions (`compare_versions.py`), two builds (`gate.py`). Pure.

The scores are the index, each dimension, and each dimension in one scenario. The last is the mean
over runs and configurations of its marks there, added and rescaled as in the index, so that 100 is
the independent end of their scale.

The uncertainty of a difference follows from all ranked subjects of a leaderboard together
(`uncertainty.py`). Nothing is said of other subjects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.branches import BranchDifference, compare_branches
from independence_bench.analysis.statistics.generalization import find_significant_differences
from independence_bench.analysis.statistics.hypothesis_tests import RunsNeeded, count_runs_needed
from independence_bench.analysis.statistics.values import ByQuestion, ScoreDifference, Uncertainty
from independence_bench.analysis.uncertainty import INDEX, BoardUncertainty, Compared
from independence_bench.columns import HIDDEN, SENT, Column
from independence_bench.figures import DIFFERENCE, Points
from independence_bench.protocol.definition import Configuration, Dimension, Item, Protocol
from independence_bench.protocol.scoring import RunMarks, SubjectScore, list_counted_marks

Values = Mapping[Compared, float]  # of one side, in [0, 100]; without what it has no mark of
Known = Mapping[Compared, ScoreDifference]  # the second minus the first, in points of 100
INDEX_ITSELF: Compared = (None, None)


@dataclass(frozen=True, slots=True)
class ScorePair:
    """One score of both sides. *scenario* None: over all of them, as in the ranking; *dimension*
    None: the index.
    """

    scenario: str | None
    dimension: Annotated[Dimension | None, HIDDEN]
    first: Points  # [0, 100]
    second: Points
    # the second minus the first, in the same unit; None: nothing says how sure it is
    apart: Annotated[ScoreDifference | None, HIDDEN]
    # significant by a rerun, corrected for the number of scores; None: unknown
    stands: bool | None = None
    stands_new_scenarios: bool | None = None  # the same with new scenarios; None in a scenario

    @property
    def dimension_name(self) -> Annotated[str | None, Column(key="dimension")]:
        """The name of the dimension; None for the index."""
        return self.dimension.name if self.dimension else None

    @property
    def difference(self) -> Annotated[float, DIFFERENCE]:
        """The second minus the first."""
        return self.second - self.first

    @property
    def interval(self) -> Annotated[Uncertainty | None, DIFFERENCE]:
        """The two 95% intervals of the difference; None if they are unknown."""
        return self.apart.uncertainty if self.apart else None

    @property
    def smallest_seen(self) -> Annotated[ByQuestion | None, SENT]:
        """The minimum detectable difference: the smallest true difference that 80 of 100
        repetitions would find significant.
        """
        return self.apart.smallest_seen if self.apart else None

    @property
    def p(self) -> Annotated[ByQuestion | None, SENT]:
        """The p-value of no difference: at it, 0 lies on the edge of the interval."""
        return self.apart.p if self.apart else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences of two sides, the second minus the first."""

    sides: tuple[Values, Values]
    # that both have: the index, the others with the largest difference first
    scores: Mapping[Compared, ScorePair]
    why_no_interval: tuple[str, ...] = ()  # why intervals are missing, a sentence each

    @property
    def index(self) -> ScoreDifference | None:
        """The difference of the indices; None if nothing says how sure it is."""
        pair = self.scores.get(INDEX_ITSELF)
        return pair.apart if pair else None

    @property
    def dimension_scores(self) -> list[ScorePair]:
        """Each dimension over all scenarios."""
        return [
            score
            for score in self.scores.values()
            if score.scenario is None and score.dimension is not None
        ]

    @property
    def scenario_scores(self) -> list[ScorePair]:
        """Each dimension in each scenario."""
        return [score for score in self.scores.values() if score.scenario is not None]


def compare_sides(
    protocol: Protocol, sides: Sequence[Values], known: Known, why_no_interval: Sequence[str] = ()
) -> Comparison:
    """Compare two *sides* in every score, the second minus the first. A score that one of them has
    no mark of is left out.

    *known* has the differences whose uncertainty is known; *why_no_interval* says why others are
    missing.
    """
    first, second = sides
    dimensions = {dimension.name: dimension for dimension in protocol.dimensions}
    pairs: dict[Compared, ScorePair] = {}
    itself, *others = list_score_keys(protocol)
    others.sort(key=lambda key: (key[0] or "", key[1] or ""))  # where two differences are equal
    whole, in_scenarios = ([k for k in others if (k[0] is None) is over] for over in (True, False))
    for kind in ([itself], whole, in_scenarios):
        sizes = {
            key: -abs(round(second[key] - first[key], 9))
            for key in kind
            if key in first and key in second
        }
        group = sorted(sizes, key=sizes.__getitem__)
        # significant among all of them, by each question: nine true zeros would often include one
        apart = [known.get(key) for key in group]
        several = [None if group == [INDEX_ITSELF] else difference for difference in apart]
        rerun = find_significant_differences(
            [difference.p_rerun if difference else None for difference in several]
        )
        new_scenarios = find_significant_differences(
            [difference.p_new_scenarios if difference else None for difference in several]
        )
        for key, of_key, stands, with_new in zip(group, apart, rerun, new_scenarios, strict=True):
            dimension = dimensions[key[1]] if key[1] else None
            pairs[key] = ScorePair(
                key[0], dimension, first[key], second[key], of_key, stands, with_new
            )
    return Comparison((first, second), pairs, tuple(why_no_interval))


def estimate_pair_differences(
    uncertainty: BoardUncertainty, pairs: Sequence[tuple[int, int]]
) -> list[Known]:
    """Return, for each of *pairs* of subjects that were measured together, by number, the
    differences of all scores, the second minus the first.

    A hundred pairs take little longer than one.
    """
    by_score = uncertainty.estimate_differences(
        [second for _, second in pairs], [first for first, _ in pairs]
    )
    return [
        {key: differences[n] for key, differences in by_score.items()} for n in range(len(pairs))
    ]


def list_score_keys(protocol: Protocol) -> list[Compared]:
    """Return the keys of all scores that are compared: the index, every dimension, every dimension
    in every item that has marks of it.
    """
    apart = dict.fromkeys(
        (mark.item.id, mark.dimension.name) for mark in list_counted_marks(protocol)
    )
    return [INDEX_ITSELF, *((None, dimension.name) for dimension in protocol.dimensions), *apart]


def compute_compared_values(
    protocol: Protocol,
    configurations: Sequence[Configuration],
    score: SubjectScore | None,
    marks: RunMarks,
) -> dict[Compared, float]:
    """Return one subject's value in *configurations* of every score that is compared, in [0, 100].
    A score that it has no mark of is left out.

    *score* is its score there; None: it is not scored, and only single scenarios are known.
    """
    values: dict[Compared, float] = {}
    if score is not None and score.index is not None:
        values[INDEX_ITSELF] = score.index
    for dimension in protocol.dimensions:
        whole = None if score is None else score.dimensions.get(dimension.name)
        if whole is not None:
            values[None, dimension.name] = 100 * whole
        for item in protocol.items:
            mean = _average_dimension(dimension, item, configurations, marks)
            if mean is not None:
                values[item.id, dimension.name] = mean
    return values


def _average_dimension(
    dimension: Dimension,
    item: Item,
    configurations: Sequence[Configuration],
    marks: RunMarks,
) -> float | None:
    """Return the mean of *dimension*'s marks that *item* has, over all runs, rescaled to [0, 100].
    None if one of them was never given, or there is none.
    """
    total = low = high = 0.0
    for mark in item.marks:
        if mark.name in dimension.marks:
            of_slots = [
                of_run.get((one, item.id), {})
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


@dataclass(frozen=True, slots=True)
class SubjectComparison:
    """Two rows of one leaderboard and all that can be said of their difference, the second minus
    the first.
    """

    board: Board
    first: Row
    second: Row
    scores: Comparison
    branches: tuple[BranchDifference, ...] = ()  # of a protocol with stems, by our own rules

    @property
    def needed_runs(self) -> RunsNeeded | None:
        """The number of runs that would make the difference of the index significant.

        None if it is significant already, is 0 or unknown; and if whole runs are shifted, or judges
        differ, so that runs alone do not say.
        """
        index, uncertainty = self.scores.index, self.board.uncertainty
        if uncertainty is None or index is None or not index.difference:
            return None
        if index.uncertainty.rerun is not None and not index.uncertainty.rerun.contains(0.0):
            return None
        of = uncertainty.measures[INDEX]
        if of.measured.run_effects.beyond or of.noise is not None:
            return None
        first, second = (self.board.ranked.index(row) for row in (self.first, self.second))
        return count_runs_needed(of.measured, second, first, 0.0)


def compare_pairs(board: Board, pairs: Sequence[tuple[Row, Row]]) -> list[SubjectComparison]:
    """Compare each of *pairs*, which are rows of *board*. The variation is measured once, over all
    of its ranked subjects.
    """
    uncertainty = board.uncertainty
    numbers = {row.subject.hash: number for number, row in enumerate(board.ranked)}
    places = [
        tuple(numbers[row.subject.hash] for row in pair if row.subject.hash in numbers)
        for pair in pairs
    ]
    known: dict[tuple[int, ...], Known] = {}
    if uncertainty is not None:
        ranked = [(place[0], place[1]) for place in places if len(place) > 1]
        known = dict(zip(ranked, estimate_pair_differences(uncertainty, ranked), strict=True))
    values = {
        row.subject.hash: compute_compared_values(
            board.protocol, board.configurations, row.score, row.marks
        )
        for pair in pairs
        for row in pair
    }
    comparisons = []
    for pair, place in zip(pairs, places, strict=True):
        first, second = pair
        sides = [values[row.subject.hash] for row in pair]
        reasons = _explain_no_intervals(
            uncertainty, [r for r in pair if r.subject.hash not in numbers]
        )
        scores = compare_sides(board.protocol, sides, known.get(place, {}), reasons)
        branches: tuple[BranchDifference, ...] = ()
        if first.branches and second.branches:
            branches = compare_branches(first.branches, second.branches)
        comparisons.append(SubjectComparison(board, first, second, scores, branches))
    return comparisons


def _explain_no_intervals(
    uncertainty: BoardUncertainty | None, unranked: Sequence[Row]
) -> tuple[str, ...]:
    """Return why intervals are missing, a sentence each; () for another set of rules, which has
    none.
    """
    if uncertainty is None:
        return ()
    return (
        tuple(
            f"no interval: {row.label} is incomplete, and only ranked subjects are compared"
            for row in unranked
        )
        or uncertainty.explain_no_intervals()
    )
