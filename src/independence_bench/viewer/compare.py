"""One subject beside every other one of its board, or in one configuration beside its others: differences, how sure
they are, and which scenarios flipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.branch_values import BranchDifference
from independence_bench.analysis.compare_subjects import (
    INDEX_ITSELF,
    Comparison,
    SubjectScores,
    Values,
    all_compared,
    compare_pairs,
    compare_two_configurations,
    values_on,
)
from independence_bench.analysis.statistics.values import Interval
from independence_bench.analysis.uncertainty import Compared
from independence_bench.report.compare_view import side_names, statement
from independence_bench.report.encode import Cell, Rounded, csv_bytes, minus
from independence_bench.report.format import number, signed
from independence_bench.viewer import fragments
from independence_bench.viewer.snapshot import BoardEntry, Catalog, at, board_id, scenario_slug, subject_id

DECIMALS = 3  # of what is compared, in [0, 100]
HALF = 50  # of a score: a subject above it held more than it gave up
SIDES = ("subject", "first", "second", "scenario", "score", "first_value", "second_value", "difference", "low", "high")

Numbers = tuple[Rounded | None, ...]
Texts = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class WordedInterval:
    """Two ends of a 95% interval, in the unit of what it belongs to."""

    low: Rounded
    high: Rounded
    shown: str  # both, as text


@dataclass(frozen=True, slots=True)
class ComparedScore:
    """What is compared: one dimension over all scenarios (*scenario* null), or in one."""

    scenario: str | None  # id
    dimension: str | None  # name; null: the index itself


@dataclass(frozen=True, slots=True)
class Differences:
    """The second minus the first, of two subjects or of one in two configurations; in the order of *compared*."""

    points: tuple[Rounded | None, ...]  # null: one of the two has no mark of it
    shown: tuple[str | None, ...]  # the same, as text
    rerun: tuple[WordedInterval | None, ...]  # of the differences: were the same scenarios played again
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
    names: tuple[str, str]  # how the two are called: their labels without what these have in common
    says: str  # what can be said of the two indices, in words
    values: tuple[Rounded | None, ...]  # [0, 100], in the order of *compared*
    shown: tuple[str | None, ...]  # the same, as text
    apart: Differences
    branches: tuple[BranchDifference, ...]  # of stems: the second minus the first, each stem with itself


@dataclass(frozen=True, slots=True)
class ComparisonsAnswer:
    """`api/boards/<board>/compare/<subject>.json`: one subject beside every other one of the board.

    `compare/<subject>/<other>.json`: beside that one alone, which a board of any size has soon.
    """

    version: str
    board: str
    subject: str  # id
    label: str
    compared: tuple[ComparedScore, ...]  # the index, each dimension, each dimension in each scenario
    values: tuple[Rounded | None, ...]  # the first subject's
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
    values: tuple[Rounded | None, ...]  # [0, 100], in the order of *compared*
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


def comparisons_answer(
    catalog: Catalog, entry: BoardEntry, subject: str, other: str | None = None
) -> ComparisonsAnswer:
    """`api/boards/<board>/compare/<subject>.json`; with *other*, beside that one alone."""
    board = catalog.board(entry)
    row = catalog.row(board, subject)
    beside = [one for one in board.rows if one is not row] if other is None else [catalog.row(board, other)]
    compared = all_compared(board.protocol)
    sides = {
        one.subject.hash: catalog.kept(("values", entry.id, one.subject.hash), partial(_side, board, one, compared))
        for one in (row, *beside)
    }
    why = fragments.why_no_interval(board)
    others = []
    for pair in compare_pairs(board, [(row, one) for one in beside], {of: side[0] for of, side in sides.items()}):
        second = pair.second
        unknown = "; ".join(pair.scores.why_no_interval) or None
        apart = differences_of(compared, pair.scores, why or unknown)
        named = subject_id(second.subject), second.label, side_names(pair), statement(pair)
        theirs = sides[second.subject.hash][1:]
        others.append(ComparedSubject(*named, *theirs, apart, pair.branches))
    asked = (catalog.version, entry.id, subject, row.label)
    mine = sides[row.subject.hash][1:]
    return ComparisonsAnswer(*asked, places(compared), *mine, tuple(others))


def _side(board: Board, row: Row, compared: Sequence[Compared]) -> tuple[Values, Numbers, Texts]:
    """What a row has, and the same as it is sent."""
    values = values_on(board, row)
    return values, *values_shown(compared, values)


def comparisons_table(answer: ComparisonsAnswer) -> bytes:
    """`api/boards/<board>/compare/<subject>.csv`: the index and the dimensions, a line for each other subject."""
    head = [name for name in SIDES if name not in ("subject", "scenario")]
    over_all = [score for score in answer.compared if score.scenario is None]  # they come first
    return csv_bytes(
        head,
        [
            (answer.label, other.label, score, *numbers)
            for other in answer.others
            for _, score, *numbers in score_lines(over_all, answer.values, other.values, other.apart)
        ],
    )


def configurations_answer(catalog: Catalog, entry: BoardEntry, subject: str) -> SubjectSettingsAnswer:
    """`api/settings/<series>/<subject>.json`, of the series of *entry*: there if it is in several configurations."""
    found = at({subject_id(one.row.subject): one for one in catalog.in_several(entry)}, subject)
    compared = all_compared(entry.weighed)

    def with_other(one: SubjectScores, other: SubjectScores) -> OtherConfiguration:
        pair = compare_two_configurations(one, other)
        apart = differences_of(compared, pair, "; ".join(pair.why_no_interval) or None)
        return OtherConfiguration(str(other.place.configuration), apart)

    configurations = tuple(
        InConfiguration(
            str(one.place.configuration),
            board_id(entry.edition, one.place.board.configurations, entry.judge, entry.rules, entry.weights),
            *values_shown(compared, one.values),
            tuple(with_other(one, other) for other in found.placed if other is not one),
        )
        for one in found.placed
    )
    named = (catalog.version, entry.series, subject, found.row.label)
    return SubjectSettingsAnswer(*named, places(compared), configurations)


def configurations_table(answer: SubjectSettingsAnswer) -> bytes:
    """`api/settings/<series>/<subject>.csv`: all that is compared, every two of its configurations."""
    return csv_bytes(
        SIDES,
        [
            (answer.label, one.configuration, other.configuration, *line)
            for one, other in combinations(answer.configurations, 2)
            for apart in (of.apart for of in one.others if of.configuration == other.configuration)
            for line in score_lines(answer.compared, one.values, other.values, apart)
        ],
    )


def score_lines(
    compared: Sequence[ComparedScore],
    first: Sequence[float | None],
    second: Sequence[float | None],
    apart: Differences,
) -> Iterator[list[Cell]]:
    """Of all that is *compared*: scenario, score, both values, their difference, and the ends of its interval."""
    for place, score in enumerate(compared):
        ends = apart.rerun[place]
        interval = (None, None) if ends is None else (ends.low, ends.high)
        numbers = (first[place], second[place], apart.points[place], *interval)
        yield [score.scenario, score.dimension or "index", *numbers]


def differences_of(compared: Sequence[Compared], pair: Comparison, why: str | None) -> Differences:
    """The second minus the first of all that is *compared*."""
    there = {place: pair.scores[key] for place, key in enumerate(compared) if key in pair.scores}
    in_scenarios = [place for place, score in there.items() if score.scenario is not None]
    in_scenarios.sort(key=lambda place: -abs(round(there[place].difference, 9)))
    flipped = [n for n in in_scenarios if (there[n].first - HALF) * (there[n].second - HALF) < 0]
    scores = [pair.scores.get(key) for key in compared]
    points = [None if one is None else one.difference for one in scores]
    sure = [None if one is None or one.apart is None else one.apart.uncertainty for one in scores]
    over_all = sum(scenario is None for scenario, _ in compared)  # they come first
    return Differences(
        points=_short(points),
        shown=_texts(compared, points, signed),
        rerun=_worded(compared, [None if one is None else one.rerun for one in sure]),
        new_scenarios=_worded(
            compared[:over_all], [None if one is None else one.new_scenarios for one in sure[:over_all]]
        ),
        why=why,
        flipped=tuple(flipped),
        order=tuple(n for n in in_scenarios if n not in flipped),
        stand=tuple(place for place, score in there.items() if score.stands),
        stand_new_scenarios=tuple(place for place, score in there.items() if score.stands_new_scenarios),
    )


def _worded(compared: Sequence[Compared], intervals: Sequence[Interval | None]) -> tuple[WordedInterval | None, ...]:
    """The *intervals* of what is *compared*, with their texts, as `format.from_to` writes them."""
    low = [None if ends is None else ends.low for ends in intervals]
    high = [None if ends is None else ends.high for ends in intervals]
    texts = _texts(compared, low, signed), _texts(compared, high, signed)
    return tuple(
        None if one is None or other is None else WordedInterval(one, other, f"{from_} to {to}")
        for one, other, from_, to in zip(_short(low), _short(high), *texts, strict=True)
    )


def places(compared: Sequence[Compared]) -> tuple[ComparedScore, ...]:
    """What is *compared*, by the ids that the page uses."""
    return tuple(
        ComparedScore(None if scenario is None else scenario_slug(scenario), dimension)
        for scenario, dimension in compared
    )


def values_shown(compared: Sequence[Compared], values: Values) -> tuple[Numbers, Texts]:
    """A subject's values in the order of *compared*, as numbers and as text."""
    mine = [values.get(one) for one in compared]
    return _short(mine), _texts(compared, mine, number)


def _texts(compared: Sequence[Compared], values: Sequence[float | None], text: Callable[[float, int], str]) -> Texts:
    """Each value as text, with one decimal of the index and none of what it is made of."""
    return tuple(
        None if value is None else minus(text(value, 1)) if one == INDEX_ITSELF else _whole(text, round(value))
        for one, value in zip(compared, values, strict=True)
    )


@cache
def _whole(text: Callable[[float, int], str], value: int) -> str:
    """There are few whole numbers, and most of what is compared is shown as one."""
    return minus(text(value, 0))


def _short(numbers: Sequence[float | None]) -> Numbers:
    """Rounded: a file has as many of them as there are subjects and scenarios."""
    return tuple(None if one is None else round(one, DECIMALS) for one in numbers)
