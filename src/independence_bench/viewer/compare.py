"""One subject beside every other one of its board, or in one configuration beside its others: differences, how sure
they are, and which scenarios flipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.branch_differences import BranchDifference, branch_differences
from independence_bench.analysis.compare_subjects import (
    SubjectScores,
    all_compared,
    configuration_differences,
    values_of,
)
from independence_bench.analysis.statistics.ranking import standing_out
from independence_bench.analysis.statistics.values import ScoreDifference
from independence_bench.analysis.uncertainty import Compared
from independence_bench.analysis.weight_ranks import PairOrder
from independence_bench.report.compare_view import index_statement
from independence_bench.report.encode import csv_bytes, minus
from independence_bench.report.format import from_to, number, signed
from independence_bench.viewer import boards
from independence_bench.viewer.snapshot import BoardEntry, Catalog, at, board_id, rows_of, scenario_slug, subject_id

DECIMALS = 3  # of what is compared, in [0, 100]
INDEX_ITSELF: Compared = (None, None)
HALF = 50  # of a score: a subject above it held more than it gave up
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class WordedInterval:
    """Two ends of a 95% interval, in the unit of what it belongs to."""

    low: float
    high: float
    shown: str  # both, as text


@dataclass(frozen=True, slots=True)
class ComparedScore:
    """What is compared: one dimension over all scenarios (*scenario* null), or in one."""

    scenario: str | None  # id
    dimension: str | None  # name; null: the index itself


@dataclass(frozen=True, slots=True)
class Differences:
    """The second minus the first, of two subjects or of one in two configurations; in the order of *compared*."""

    points: tuple[float | None, ...]  # null: one of the two has no mark of it
    shown: tuple[str | None, ...]  # the same, as text
    between: tuple[str | None, ...]  # *lows* and *highs*, as text
    lows: tuple[float | None, ...]  # of the differences' 95% intervals, were the same scenarios played again
    highs: tuple[float | None, ...]
    new_scenarios: tuple[WordedInterval | None, ...]  # of the index and the dimensions: were other scenarios asked
    why: str | None  # why intervals are missing; null: nothing is missing, or it is not known
    flipped: tuple[int, ...]  # places in *compared*: one of the two is above 50 and the other below; largest first
    order: tuple[int, ...]  # places of every other dimension in a scenario that both have, largest difference first
    stand: tuple[int, ...]  # places told from 0 though so many are looked at (Holm's procedure): of the dimensions, by
    # the same test given again, and of what is compared in scenarios; the index is one question by itself
    stand_new_scenarios: tuple[int, ...]  # of the dimensions, were other scenarios asked


@dataclass(frozen=True, slots=True)
class ComparedSubject:
    """One other subject beside the first."""

    subject: str  # id
    label: str
    says: str  # what can be said of the two indices, in words; A is the first subject
    values: tuple[float | None, ...]  # [0, 100], in the order of *compared*
    shown: tuple[str | None, ...]  # the same, as text
    apart: Differences
    branches: tuple[BranchDifference, ...]  # of stems: the second minus the first, each stem with itself
    order: PairOrder | None  # of stems: how far it hangs on the weights of the branches; null: one has no index


@dataclass(frozen=True, slots=True)
class ComparisonsAnswer:
    """`api/boards/<board>/compare/<subject>.json`: one subject beside every other one of the board."""

    version: str
    board: str
    subject: str  # id
    label: str
    compared: tuple[ComparedScore, ...]  # the index, each dimension, each dimension in each scenario
    values: tuple[float | None, ...]  # the first subject's
    shown: tuple[str | None, ...]  # the same, as text
    others: tuple[ComparedSubject, ...]  # in the board's order


@dataclass(frozen=True, slots=True)
class OtherConfiguration:
    """One of the subject's configurations beside another one, which is the first."""

    configuration: str
    apart: Differences


@dataclass(frozen=True, slots=True)
class InConfiguration:
    """A subject in one configuration, and every other one of its beside it."""

    configuration: str
    board: str  # id of the board that it is on, alone or in a pool
    values: tuple[float | None, ...]  # [0, 100], in the order of *compared*
    shown: tuple[str | None, ...]  # the same, as text
    others: tuple[OtherConfiguration, ...]


@dataclass(frozen=True, slots=True)
class SubjectSettingsAnswer:
    """`api/settings/<series>/<subject>.json`: one subject in each configuration that it has marks in."""

    version: str
    series: str
    subject: str  # id
    label: str
    compared: tuple[ComparedScore, ...]
    configurations: tuple[InConfiguration, ...]  # two or more, in the protocol's order


Valued = ComparisonsAnswer | ComparedSubject | InConfiguration


def comparisons_answer(catalog: Catalog, entry: BoardEntry, subject: str) -> ComparisonsAnswer:
    """`api/boards/<board>/compare/<subject>.json`."""
    board = catalog.board(entry)
    row = catalog.row(board, subject)
    compared = all_compared(board.protocol)
    values = catalog.kept(
        f"values on {entry.id}",
        lambda: {
            one.subject.hash: values_of(board.protocol, board.configurations, one.score, one.marks)
            for one in rows_of(board)
        },
    )
    mine = values[row.subject.hash]
    known = _known(board, compared, row)
    why = boards.why_no_interval(board)
    held = board.stability.with_others(row.label) if board.stability else {}
    others = []
    for other in (one for one in rows_of(board) if one is not row):
        theirs, of_both = values[other.subject.hash], known.get(other.subject.hash)
        unknown = None if of_both else "no intervals: one of the two is not ranked"
        apart = differences_of(compared, mine, theirs, of_both or [None] * len(compared), why or unknown)
        says = index_statement(board, row, other, of_both[compared.index(INDEX_ITSELF)] if of_both else None)
        named = subject_id(other.subject), other.label, says
        branches = branch_differences(row.branches, other.branches) if row.branches and other.branches else ()
        others.append(ComparedSubject(*named, *values_shown(compared, theirs), apart, branches, held.get(other.label)))
    asked = (catalog.version, entry.id, subject, row.label)
    return ComparisonsAnswer(*asked, places(compared), *values_shown(compared, mine), tuple(others))


def comparisons_table(answer: ComparisonsAnswer) -> bytes:
    """`api/boards/<board>/compare/<subject>.csv`: the index and the dimensions, a line for each other subject."""
    head = ["first", "second", "score", "first_value", "second_value", "difference", "low", "high"]
    return csv_bytes(
        head,
        [
            (answer.label, other.label, compared.dimension or "index", *_line(answer, other, other.apart, place))
            for other in answer.others
            for place, compared in enumerate(answer.compared)
            if compared.scenario is None
        ],
    )


def configurations_answer(catalog: Catalog, entry: BoardEntry, subject: str) -> SubjectSettingsAnswer:
    """`api/settings/<series>/<subject>.json`, of the series of *entry*: there if it is in several configurations."""
    found = at({subject_id(one.row.subject): one for one in boards.in_several(catalog, entry)}, subject)
    compared = all_compared(entry.weighed)

    def beside(one: SubjectScores, other: SubjectScores) -> OtherConfiguration:
        sure = configuration_differences(one, other)
        known = [sure.apart.get(name) for name in compared]
        apart = differences_of(compared, one.values, other.values, known, "; ".join(sure.why_no_interval) or None)
        return OtherConfiguration(str(other.place.configuration), apart)

    configurations = tuple(
        InConfiguration(
            str(one.place.configuration),
            board_id(entry.edition, one.place.board.configurations, entry.judge, entry.rules, entry.weights),
            *values_shown(compared, one.values),
            tuple(beside(one, other) for other in found.placed if other is not one),
        )
        for one in found.placed
    )
    named = (catalog.version, entry.series, subject, found.row.label)
    return SubjectSettingsAnswer(*named, places(compared), configurations)


def configurations_table(answer: SubjectSettingsAnswer) -> bytes:
    """`api/settings/<series>/<subject>.csv`: all that is compared, every two of its configurations."""
    head = ["subject", "first", "second", "scenario", "score", "first_value", "second_value", "difference", "low"]
    lines = []
    for one, other in combinations(answer.configurations, 2):
        apart = next(beside.apart for beside in one.others if beside.configuration == other.configuration)
        for place, compared in enumerate(answer.compared):
            what = (answer.label, one.configuration, other.configuration, compared.scenario)
            lines.append((*what, compared.dimension or "index", *_line(one, other, apart, place)))
    return csv_bytes([*head, "high"], lines)


def _line(first: Valued, second: Valued, apart: Differences, place: int) -> tuple[float | None, ...]:
    """The two values of one thing that is compared, their difference, and the ends of its interval."""
    return tuple(of[place] for of in (first.values, second.values, apart.points, apart.lows, apart.highs))


def _known(board: Board, compared: Sequence[Compared], row: Row) -> Mapping[str, Sequence[ScoreDifference | None]]:
    """Hash of another ranked subject -> how it differs from *row* in each of *compared*; {} where nothing is known."""
    ranked = [one.subject.hash for one in board.ranked]
    if board.uncertainty is None or row.subject.hash not in ranked:
        return {}
    others = [place for place, hash_ in enumerate(ranked) if hash_ != row.subject.hash]
    found = board.uncertainty.differences(others, [ranked.index(row.subject.hash)] * len(others))
    return {ranked[place]: [found[one][n] for one in compared] for n, place in enumerate(others)}


def differences_of(
    compared: Sequence[Compared],
    first: Mapping[Compared, float],
    second: Mapping[Compared, float],
    known: Sequence[ScoreDifference | None],
    why: str | None,
) -> Differences:
    """The second minus the first, with what is *known* of each that is *compared*."""
    points = [second[one] - first[one] if one in first and one in second else None for one in compared]
    sizes = {n: abs(d) for n, d in enumerate(points) if d is not None and compared[n][0] is not None}
    largest_first = sorted(sizes, key=lambda n: (-round(sizes[n], 9), n))
    flipped = [n for n in largest_first if (first[compared[n]] - HALF) * (second[compared[n]] - HALF) < 0]
    rerun = [None if one is None else one.uncertainty.rerun for one in known]
    new_scenarios = [None if one is None else one.uncertainty.new_scenarios for one in known]
    dimensions = [n for n, (scenario, name) in enumerate(compared) if scenario is None and name is not None]
    in_scenarios = [n for n, (scenario, _) in enumerate(compared) if scenario is not None]
    p_rerun = [None if one is None else one.p_rerun for one in known]
    p_new_scenarios = [None if one is None else one.p_new_scenarios for one in known]
    return Differences(
        points=_short(points),
        shown=_texts(compared, points, signed),
        between=_texts(compared, rerun, from_to),
        lows=_short([None if ends is None else ends.low for ends in rerun]),
        highs=_short([None if ends is None else ends.high for ends in rerun]),
        new_scenarios=tuple(
            None if ends is None else WordedInterval(ends.low, ends.high, text or "")
            for ends, text, (scenario, _) in zip(
                new_scenarios, _texts(compared, new_scenarios, from_to), compared, strict=True
            )
            if scenario is None
        ),
        why=why,
        flipped=tuple(flipped),
        order=tuple(n for n in largest_first if n not in flipped),
        stand=(*_standing(dimensions, p_rerun), *_standing(in_scenarios, p_rerun)),
        stand_new_scenarios=_standing(dimensions, p_new_scenarios),
    )


def _standing(places: Sequence[int], p_values: Sequence[float | None]) -> tuple[int, ...]:
    """Those of *places* that stand among all of them."""
    return tuple(n for n, stands in zip(places, standing_out([p_values[n] for n in places]), strict=True) if stands)


def places(compared: Sequence[Compared]) -> tuple[ComparedScore, ...]:
    """What is *compared*, by the ids that the page uses."""
    return tuple(
        ComparedScore(None if scenario is None else scenario_slug(scenario), dimension)
        for scenario, dimension in compared
    )


def values_shown(
    compared: Sequence[Compared], values: Mapping[Compared, float]
) -> tuple[tuple[float | None, ...], tuple[str | None, ...]]:
    """A subject's values in the order of *compared*, as numbers and as text."""
    mine = [values.get(one) for one in compared]
    return _short(mine), _texts(compared, mine, number)


def _texts(
    compared: Sequence[Compared], values: Sequence[A | None], text: Callable[[A, int], str]
) -> tuple[str | None, ...]:
    """Each value as text, with one decimal of the index and none of what it is made of."""
    return tuple(
        None if value is None else minus(text(value, 1 if one == (None, None) else 0))
        for one, value in zip(compared, values, strict=True)
    )


def _short(numbers: Sequence[float | None]) -> tuple[float | None, ...]:
    """Rounded: a file has as many of them as there are subjects and scenarios."""
    return tuple(None if one is None else round(one, DECIMALS) for one in numbers)
