"""One subject beside every other one of its board, or in one configuration beside its others:
differences, how sure they are, and which scenarios flipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, repeat

import numpy as np

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.branches import BranchDifference
from independence_bench.analysis.compare_subjects import (
    Beside,
    Comparison,
    SubjectScores,
    Values,
    all_compared,
    branches_apart,
    compare_beside,
    compare_two_configurations,
    values_on,
    why_no_intervals,
)
from independence_bench.analysis.statistics.intervals import Limits
from independence_bench.analysis.statistics.values import UNKNOWN, Floats
from independence_bench.analysis.uncertainty import Compared
from independence_bench.report.branches_view import quantity_title
from independence_bench.report.compare_view import side_names, statement_of
from independence_bench.report.encode import Cell, Rounded, cell, csv_bytes, minus
from independence_bench.report.format import number, signed
from independence_bench.viewer import fragments
from independence_bench.viewer.snapshot import (
    BoardEntry,
    Catalog,
    at,
    board_id,
    scenario_slug,
    subject_id,
)

DECIMALS = 3  # of what is compared, in [0, 100]
HALF = 50  # of a score: a subject above it held more than it gave up
SIDES = (
    "subject",
    "first",
    "second",
    "scenario",
    "score",
    "first_value",
    "second_value",
    "difference",
    "low",
    "high",
)

Numbers = tuple[Rounded | None, ...]
Texts = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class WordedIntervals:
    """95% intervals, in the unit and the order of what they belong to; null: not known."""

    low: tuple[Rounded | None, ...]
    high: tuple[Rounded | None, ...]
    shown: tuple[str | None, ...]  # both ends, as text


@dataclass(frozen=True, slots=True)
class ComparedScore:
    """What is compared: one dimension over all scenarios (*scenario* null), or in one."""

    scenario: str | None  # id
    dimension: str | None  # name; null: the index itself


@dataclass(frozen=True, slots=True)
class Differences:
    """The second minus the first, of two subjects or of one in two configurations; in the order of
    *compared*.
    """

    points: tuple[Rounded | None, ...]  # null: one of the two has no mark of it
    shown: tuple[str | None, ...]  # the same, as text
    # of the differences: were the same scenarios played again; null: none is known
    rerun: WordedIntervals | None
    # of the index and the dimensions: were other scenarios asked
    new_scenarios: WordedIntervals | None
    why: str | None  # why intervals are missing; null: nothing is missing, or it is not known
    # places in *compared*: one of the two is above 50 and the other below; largest first
    flipped: tuple[int, ...]
    # places of every other dimension in a scenario that both have, largest difference first
    order: tuple[int, ...]
    # places told from 0 though so many are looked at (Holm's procedure): of the dimensions, by
    stand: tuple[int, ...]
    # the same test given again, and of what is compared in scenarios; the index is one question by
    # itself
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
    # of stems: the second minus the first, each stem with itself
    branches: tuple[BranchDifference, ...]


@dataclass(frozen=True, slots=True)
class ComparisonsAnswer:
    """`api/boards/<board>/compare/<subject>.json`: one subject beside each one that comes after it
    on the board.

    So each two are in one file, and stand in it once; turned round, the numbers have the other
    sign. `compare/<subject>/<other>.json`: beside that one alone, which a board of any size has
    soon.
    """

    version: str
    board: str
    subject: str  # id
    label: str
    # the index, each dimension, each dimension in each scenario
    compared: tuple[ComparedScore, ...]
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
    """`api/settings/<series>/<subject>.json`: one subject in each configuration that it has marks
    in.
    """

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
    beside = (
        board.rows[board.rows.index(row) + 1 :] if other is None else [catalog.row(board, other)]
    )
    compared = all_compared(board.protocol)
    sides = {
        one.subject.hash: catalog.kept(
            ("values", entry.id, one.subject.hash), partial(_side, board, one, compared)
        )
        for one in (row, *beside)
    }
    apart, indices = compare_beside(board, row, beside, {of: side[0] for of, side in sides.items()})
    reasons = why_no_intervals(board, [(row, other) for other in beside])
    of_board = fragments.why_no_interval(board)
    differences = differences_of(
        compared, apart, [of_board or "; ".join(reason) or None for reason in reasons]
    )
    others = []
    for one, index, sizes, of in zip(beside, indices, apart.sizes, differences, strict=True):
        branches, names = branches_apart(row, one), side_names(row, one)
        stand = [place for place in of.stand if compared[place][0] is None]
        stand.sort(key=lambda place: (-sizes[place], compared[place]))
        parts = [board.protocol.dimensions[place - 1].title for place in stand]
        parts += [quantity_title(branch.quantity) for branch in branches if branch.stands]
        known = sizes[~np.isnan(sizes)]
        same = (
            0
            if known.any() or any(round(branch.difference, 9) for branch in branches)
            else len(known)
        )
        says = statement_of(board, (row, one), names, index, parts, same)
        shown = sides[one.subject.hash][1:]
        others.append(
            ComparedSubject(subject_id(one.subject), one.label, names, says, *shown, of, branches)
        )
    asked = (catalog.version, entry.id, subject, row.label)
    return ComparisonsAnswer(*asked, places(compared), *sides[row.subject.hash][1:], tuple(others))


def _side(board: Board, row: Row, compared: Sequence[Compared]) -> tuple[Floats, Numbers, Texts]:
    """What a row has, and the same as it is sent."""
    values = in_order(compared, values_on(board, row))
    return values, *values_shown(values)


def comparisons_table(answer: ComparisonsAnswer) -> bytes:
    """`api/boards/<board>/compare/<subject>.csv`: the index and the dimensions, a line for each
    other subject.
    """
    head = [name for name in SIDES if name not in ("subject", "scenario")]
    over_all = [score for score in answer.compared if score.scenario is None]  # they come first
    first = cell(answer.label)
    lines = (
        (first, second, *line)
        for other in answer.others
        for second in [cell(other.label)]
        for _, *line in score_lines(over_all, answer.values, other.values, other.apart)
    )
    return csv_bytes(head, lines, ready=True)


def configurations_answer(
    catalog: Catalog, entry: BoardEntry, subject: str
) -> SubjectSettingsAnswer:
    """`api/settings/<series>/<subject>.json`, of the series of *entry*: there if it is in several
    configurations.
    """
    series = at(
        {
            subject_id(subject_there.row.subject): subject_there
            for subject_there in catalog.in_several(entry)
        },
        subject,
    )
    compared = all_compared(entry.weighed)

    def with_other(one: SubjectScores, other: SubjectScores) -> OtherConfiguration:
        apart = differences_in(compared, compare_two_configurations(one, other))
        return OtherConfiguration(str(other.place.configuration), apart)

    configurations = tuple(
        InConfiguration(
            str(scores.place.configuration),
            board_id(
                entry.edition,
                scores.place.board.configurations,
                entry.judge,
                entry.rules,
                entry.weights,
            ),
            *values_shown(in_order(compared, scores.values)),
            tuple(with_other(scores, other) for other in series.placed if other is not scores),
        )
        for scores in series.placed
    )
    named = (catalog.version, entry.series, subject, series.row.label)
    return SubjectSettingsAnswer(*named, places(compared), configurations)


def configurations_table(answer: SubjectSettingsAnswer) -> bytes:
    """`api/settings/<series>/<subject>.csv`: all that is compared, every two of its configurations."""
    return csv_bytes(
        SIDES,
        [
            (answer.label, one.configuration, other.configuration, *line)
            for one, other in combinations(answer.configurations, 2)
            for apart in (
                configuration.apart
                for configuration in one.others
                if configuration.configuration == other.configuration
            )
            for line in score_lines(answer.compared, one.values, other.values, apart)
        ],
    )


def score_lines(
    compared: Sequence[ComparedScore],
    first: Sequence[float | None],
    second: Sequence[float | None],
    apart: Differences,
) -> Iterator[tuple[Cell, ...]]:
    """Of all that is *compared*: scenario, score, both values, their difference, and the ends of
    its interval.

    *compared* may be only the beginning of all that the others are of.
    """
    scenarios, names = (
        [score.scenario for score in compared],
        [score.dimension or "index" for score in compared],
    )
    ends = (
        (repeat(None), repeat(None)) if apart.rerun is None else (apart.rerun.low, apart.rerun.high)
    )
    return zip(scenarios, names, first, second, apart.points, *ends, strict=False)


def differences_in(compared: Sequence[Compared], pair: Comparison) -> Differences:
    """The second minus the first of all that is *compared*."""
    numbers = np.full((8, 1, len(compared)), np.nan)
    for place, score in (
        (place, pair.scores[key]) for place, key in enumerate(compared) if key in pair.scores
    ):
        sure = score.apart.uncertainty if score.apart else UNKNOWN
        ends = (
            end
            for of in (sure.rerun, sure.new_scenarios)
            for end in ((of.low, of.high) if of else [np.nan] * 2)
        )
        stands = score.stands or False, score.stands_new_scenarios or False
        numbers[:, 0, place] = [score.first, score.second, *ends, *stands]
    first, second, low, high, new_low, new_high, *stand = numbers
    apart = Beside(first, second, (low, high), (new_low, new_high), *(one == 1 for one in stand))
    return differences_of(compared, apart, ["; ".join(pair.why_no_interval) or None])[0]


def differences_of(
    compared: Sequence[Compared], apart: Beside, why_no_interval: Sequence[str | None]
) -> list[Differences]:
    """Of each pair, the second minus the first of all that is *compared*."""
    over_all = sum(scenario is None for scenario, _ in compared)  # they come first
    points, sizes = apart.second - apart.first, apart.sizes[:, over_all:]
    flipped = (apart.first - HALF) * (apart.second - HALF) < 0
    # what one of the two lacks is last
    order = over_all + np.argsort(-sizes, axis=1, kind="stable")
    number = np.count_nonzero(~np.isnan(sizes), axis=1)
    differences = []
    for pair, (numbers, texts, rerun, new_scenarios, why) in enumerate(
        zip(
            _short(points),
            _texts(points, signed),
            _worded(apart.rerun),
            _worded((apart.new_scenarios[0][:, :over_all], apart.new_scenarios[1][:, :over_all])),
            why_no_interval,
            strict=True,
        )
    ):
        in_scenarios = order[pair, : number[pair]]
        turned = flipped[pair, in_scenarios]
        lists = in_scenarios[turned], in_scenarios[~turned]
        stand = (np.flatnonzero(of[pair]) for of in (apart.stands, apart.stands_new_scenarios))
        differences.append(
            Differences(
                numbers,
                texts,
                rerun,
                new_scenarios,
                why,
                *(tuple(places.tolist()) for places in (*lists, *stand)),
            )
        )
    return differences


def _worded(ends: Limits) -> list[WordedIntervals | None]:
    """Intervals with their texts, as `format.from_to` writes them."""
    worded: list[WordedIntervals | None] = [None] * len(ends[0])
    known = np.flatnonzero(~np.isnan(ends[0]).all(axis=1))
    low, high = (end[known] for end in ends)
    columns = _short(low), _short(high), _texts(low, signed), _texts(high, signed)
    for pair, below, above, from_, to in zip(known.tolist(), *columns, strict=True):
        shown = tuple(
            [None if a is None else f"{a} to {b}" for a, b in zip(from_, to, strict=True)]
        )
        worded[pair] = WordedIntervals(below, above, shown)
    return worded


def places(compared: Sequence[Compared]) -> tuple[ComparedScore, ...]:
    """What is *compared*, by the ids that the page uses."""
    return tuple(
        ComparedScore(None if scenario is None else scenario_slug(scenario), dimension)
        for scenario, dimension in compared
    )


def in_order(compared: Sequence[Compared], values: Values) -> Floats:
    """A subject's values in the order of *compared*."""
    return np.array([values.get(key, np.nan) for key in compared])


def values_shown(values: Floats) -> tuple[Numbers, Texts]:
    """Those values as numbers and as text."""
    return _short(values[None])[0], _texts(values[None], number)[0]


def _texts(values: Floats, text: Callable[[float, int], str]) -> list[Texts]:
    """Each row of *values* as text, with one decimal of the index, which is first, and none of what
    it is made of.
    """
    # there are few whole numbers, and most of what is compared is shown as one
    numbers, which = np.unique(np.rint(values[:, 1:]), return_inverse=True)
    texts = np.array(
        [None if value != value else minus(text(value, 0)) for value in numbers.tolist()],
        dtype=object,
    )
    whole = texts[which.reshape(-1, values.shape[1] - 1)].tolist()
    indices = (None if value != value else minus(text(value, 1)) for value in values[:, 0].tolist())
    return [(index, *row) for index, row in zip(indices, whole, strict=True)]


def _short(values: Floats) -> list[Numbers]:
    """Each row of *values*, rounded: a file has as many of them as there are subjects and
    scenarios.
    """
    rounded = np.round(values, DECIMALS).astype(object)
    # numpy rounds what it has multiplied, where what is a little more than a half may be one
    halves = np.abs(np.abs(values) * 10**DECIMALS % 1 - 0.5) < 1e-6
    rounded[halves] = [round(value, DECIMALS) for value in values[halves].tolist()]
    rounded[np.isnan(values)] = None
    return list(map(tuple, rounded.tolist()))
