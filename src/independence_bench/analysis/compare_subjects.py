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
from independence_bench.analysis.reasons import compare_reasons
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
    """The values of one score for the two sides of a comparison. *scenario* None: over all
    scenarios, as in the ranking; *dimension* None: the index.
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
        """Name of the dimension that is compared; None if the index is compared."""
        return self.dimension.name if self.dimension else None

    @property
    def difference(self) -> Annotated[float, DIFFERENCE]:
        """Score of the second side minus score of the first side, in points of 100."""
        return self.second - self.first

    @property
    def interval(self) -> Annotated[Uncertainty | None, DIFFERENCE]:
        """The two 95% intervals of the difference between two sides' scores, in points (same
        scenarios again, new scenarios); None if they are unknown.
        """
        return self.apart.uncertainty if self.apart else None

    @property
    def smallest_seen(self) -> Annotated[ByQuestion | None, SENT]:
        """The minimum detectable difference between two sides' scores, in points (for the same
        scenarios and for new ones): the smallest true difference that 80 of 100 repetitions would
        find significant. None if unknown.
        """
        return self.apart.smallest_seen if self.apart else None

    @property
    def p(self) -> Annotated[ByQuestion | None, SENT]:
        """The p-values of two sides' scores not differing (for the same scenarios and for new
        ones): the level at which 0 lies on the edge of the interval of the difference. None if
        unknown.
        """
        return self.apart.p if self.apart else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences between two sides of a comparison, the second minus the first."""

    sides: tuple[Values, Values]
    # that both have: the index, the others with the largest difference first
    scores: Mapping[Compared, ScorePair]
    why_no_interval: tuple[str, ...] = ()  # why intervals are missing, a sentence each

    @property
    def index(self) -> ScoreDifference | None:
        """Difference of the two sides' indices, second minus first, with its uncertainty; None if
        the uncertainty is unknown or a side has no index.
        """
        pair = self.scores.get(INDEX_ITSELF)
        return pair.apart if pair else None

    @property
    def dimension_scores(self) -> list[ScorePair]:
        """Both sides' scores of each dimension over all scenarios, the largest difference first."""
        return [
            score
            for score in self.scores.values()
            if score.scenario is None and score.dimension is not None
        ]

    @property
    def scenario_scores(self) -> list[ScorePair]:
        """Both sides' scores of each dimension in each single scenario, the largest difference
        first.
        """
        return [score for score in self.scores.values() if score.scenario is not None]


def compare_sides(
    protocol: Protocol,
    sides: Sequence[Values],
    known_differences: Known,
    why_no_interval: Sequence[str] = (),
) -> Comparison:
    """Return the comparison of two *sides* (such as two models, or one model by two versions) in
    the index, each dimension, and each dimension in each scenario; differences are the second side
    minus the first. A score that one side lacks is left out.

    *sides*: each side's scores in [0, 100]. *known_differences*: the differences whose uncertainty
    is known. *why_no_interval*: sentences that say why others have none.
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
        apart = [known_differences.get(key) for key in group]
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


def estimate_second_minus_first(
    uncertainty: BoardUncertainty, pairs: Sequence[tuple[int, int]]
) -> list[Known]:
    """Return, for each of *pairs* of models, the differences of all their scores, second minus
    first, with their uncertainty. The two models of a pair are given by their numbers among the
    models that were measured together in *uncertainty*.

    A hundred pairs take little longer than one.
    """
    by_score = uncertainty.estimate_differences_per_pair(
        [second for _, second in pairs], [first for first, _ in pairs]
    )
    return [
        {key: differences[n] for key, differences in by_score.items()} for n in range(len(pairs))
    ]


def list_score_keys(protocol: Protocol) -> list[Compared]:
    """Return the keys (scenario, dimension) of all scores that a comparison by *protocol* has:
    (None, None) for the index, (None, dimension) for every dimension, and then every dimension in
    every item that has scores for it.
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
    """Return (scenario, dimension) -> one model's score in *configurations*, in [0, 100]: the index
    under (None, None), every dimension under (None, dimension), and every dimension in every item.
    A score for which the model lacks judge's marks is left out.

    *score* is the model's score in these configurations; None: it is not scored, and only single
    scenarios are known.
    """
    values: dict[Compared, float] = {}
    if score is not None and score.index is not None:
        values[INDEX_ITSELF] = score.index
    for dimension in protocol.dimensions:
        whole = None if score is None else score.dimensions.get(dimension.name)
        if whole is not None:
            values[None, dimension.name] = 100 * whole
        for item in protocol.items:
            mean = _average_dimension_to_percent(dimension, item, configurations, marks)
            if mean is not None:
                values[item.id, dimension.name] = mean
    return values


def _average_dimension_to_percent(
    dimension: Dimension,
    item: Item,
    configurations: Sequence[Configuration],
    marks: RunMarks,
) -> float | None:
    """Return one model's score in *dimension* by one *item* alone, in [0, 100], 100 being the most
    independent: the mean of the judge's marks over all runs and *configurations*, rescaled. None if
    one of the needed marks was never given, or the item has none for the dimension.
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
    """Two rows of one leaderboard and their differences in all scores, the second row minus the
    first.
    """

    board: Board
    first: Row
    second: Row
    scores: Comparison
    # of a protocol with stems, by our own rules; of one with reasons, openness before them
    branches: tuple[BranchDifference, ...] = ()

    @property
    def needed_runs(self) -> RunsNeeded | None:
        """Number of runs that would make the difference between two models' indices significant.

        None if the difference is significant already, is 0 or unknown; and if whole runs are
        shifted together, or judges differ, so that the number of runs alone does not decide.
        """
        index, uncertainty = self.scores.index, self.board.uncertainty
        if uncertainty is None or index is None or not index.difference:
            return None
        if index.uncertainty.rerun is not None and not index.uncertainty.rerun.contains(0.0):
            return None
        of = uncertainty.measures[INDEX]
        if of.measured.run_effects.is_beyond_validated_range or of.noise is not None:
            return None
        first, second = (self.board.ranked.index(row) for row in (self.first, self.second))
        return count_runs_needed(of.measured, second, first, 0.0)


def compare_pairs(board: Board, pairs: Sequence[tuple[Row, Row]]) -> list[SubjectComparison]:
    """Return the comparison of the two models of each of *pairs*, which are rows of the leaderboard
    *board*, in all scores. The variation is measured once, over all models that are ranked.
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
        known = dict(zip(ranked, estimate_second_minus_first(uncertainty, ranked), strict=True))
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
        if first.reasons and second.reasons:
            branches = compare_reasons(first.reasons, second.reasons)
        comparisons.append(SubjectComparison(board, first, second, scores, branches))
    return comparisons


def _explain_no_intervals(
    uncertainty: BoardUncertainty | None, unranked: Sequence[Row]
) -> tuple[str, ...]:
    """Return the reasons why the differences between two models have no intervals, a sentence each.
    *unranked*: the rows of the two models that are incomplete. () if intervals exist, and if
    *uncertainty* is None, as by rules that have no intervals.
    """
    if uncertainty is None:
        return ()
    return (
        tuple(
            f"no interval: {row.label} is incomplete, and only ranked models are compared"
            for row in unranked
        )
        or uncertainty.explain_no_intervals()
    )
