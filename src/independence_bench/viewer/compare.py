"""One subject beside every other one of its board, or in one configuration beside its others: differences, how sure
they are, and which scenarios flipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from independence_bench.analysis.compare_subjects import (
    SubjectScores,
    all_compared,
    configuration_differences,
    standing_out,
    values_of,
)
from independence_bench.analysis.leaderboard import Board, Row
from independence_bench.analysis.statistics.intervals import Interval
from independence_bench.analysis.uncertainty import Compared, ScoreDifference, all_differences
from independence_bench.report.format import from_to, signed
from independence_bench.viewer import boards
from independence_bench.viewer.encode import csv_bytes, minus
from independence_bench.viewer.slugs import scenario_slug
from independence_bench.viewer.snapshot import BoardEntry, Catalog, board_id, rows_of, subject_id

DECIMALS = 3  # of what is compared, in [0, 100]
HALF = 50  # of a score: a subject above it held more than it gave up


@dataclass(frozen=True, slots=True)
class WordedInterval:
    """Two ends of a 95 % interval, in the unit of what it belongs to."""

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
    lows: tuple[float | None, ...]  # of the differences' 95 % intervals, were the same scenarios played again
    highs: tuple[float | None, ...]
    another: tuple[WordedInterval | None, ...]  # of the index and the dimensions: were other scenarios asked
    why: str | None  # why intervals are missing; null: nothing is missing, or it is not known
    flipped: tuple[int, ...]  # places in *compared*: one of the two is above 50 and the other below; largest first
    order: tuple[int, ...]  # places of every other dimension in a scenario that both have, largest difference first
    stand: tuple[int, ...]  # places told from 0 though so many are looked at (Holm's procedure): of the dimensions, by
    # the same test given again, and of what is compared in scenarios; the index is one question by itself
    stand_another: tuple[int, ...]  # of the dimensions, were other scenarios asked


@dataclass(frozen=True, slots=True)
class ComparedSubject:
    """One other subject beside the first."""

    subject: str  # id
    label: str
    values: tuple[float | None, ...]  # [0, 100], in the order of *compared*
    shown: tuple[str | None, ...]  # the same, as text
    apart: Differences


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


def comparisons_answer(catalog: Catalog, entry: BoardEntry, subject: str) -> ComparisonsAnswer | None:
    """`api/boards/<board>/compare/<subject>.json`; None where the board has no such row."""
    board = catalog.board(entry)
    row = None if board is None else catalog.row(board, subject)
    if board is None or row is None:
        return None
    compared = all_compared(board.protocol)
    values = catalog.kept(
        f"values on {entry.id}",
        lambda: {
            one.subject.hash: values_of(board.protocol, board.configurations, one.score, one.marks)
            for one in rows_of(board)
        },
    )
    mine = values[row.subject.hash]
    known = _known(catalog, entry, board, compared, row)
    why = boards.unsaid(board)
    return ComparisonsAnswer(
        version=catalog.version,
        board=entry.id,
        subject=subject,
        label=row.label,
        compared=_shown(compared),
        values=_short([mine.get(one) for one in compared]),
        shown=_values_shown(compared, mine),
        others=tuple(
            _comparison(compared, mine, other, values[other.subject.hash], known, why)
            for other in rows_of(board)
            if other is not row
        ),
    )


def comparisons_table(answer: ComparisonsAnswer) -> bytes:
    """`api/boards/<board>/compare/<subject>.csv`: the index and the dimensions, a line for each other subject."""
    head = ["first", "second", "score", "first_value", "second_value", "difference", "low", "high"]
    lines = []
    for other in answer.others:
        for number, compared in enumerate(answer.compared):
            if compared.scenario is None:
                numbers = (answer.values[number], other.values[number], *_line(other.apart, number))
                lines.append((answer.label, other.label, compared.dimension or "index", *numbers))
    return csv_bytes(head, lines)


def configurations_answer(catalog: Catalog, entry: BoardEntry, subject: str) -> SubjectSettingsAnswer | None:
    """`api/settings/<series>/<subject>.json`, of the series of *entry*; None unless it is in several configurations."""
    several = (one for one in boards.in_several(catalog, entry) if subject_id(one.row.subject) == subject)
    found = next(several, None)
    if found is None:
        return None
    compared = all_compared(entry.weighed)
    return SubjectSettingsAnswer(
        version=catalog.version,
        series=entry.series,
        subject=subject,
        label=found.row.label,
        compared=_shown(compared),
        configurations=tuple(
            InConfiguration(
                configuration=str(one.place.configuration),
                board=board_id(entry.edition, one.place.board.configurations, entry.judge, entry.rules, entry.weights),
                values=_short([one.values.get(name) for name in compared]),
                shown=_values_shown(compared, one.values),
                others=tuple(_beside(compared, one, other) for other in found.placed if other is not one),
            )
            for one in found.placed
        ),
    )


def configurations_table(answer: SubjectSettingsAnswer) -> bytes:
    """`api/settings/<series>/<subject>.csv`: all that is compared, every two of its configurations."""
    head = ["subject", "first", "second", "scenario", "score", "first_value", "second_value", "difference", "low"]
    lines = []
    for one, other in combinations(answer.configurations, 2):
        apart = next(beside.apart for beside in one.others if beside.configuration == other.configuration)
        for number, compared in enumerate(answer.compared):
            what = (answer.label, one.configuration, other.configuration, compared.scenario)
            numbers = (one.values[number], other.values[number], *_line(apart, number))
            lines.append((*what, compared.dimension or "index", *numbers))
    return csv_bytes([*head, "high"], lines)


def _beside(compared: Sequence[Compared], one: SubjectScores, other: SubjectScores) -> OtherConfiguration:
    sure = configuration_differences(one, other)
    known = [sure.apart.get(name) for name in compared]
    apart = _differences(compared, one.values, other.values, known, "; ".join(sure.unsaid) or None)
    return OtherConfiguration(str(other.place.configuration), apart)


def _shown(compared: Sequence[Compared]) -> tuple[ComparedScore, ...]:
    return tuple(
        ComparedScore(None if scenario is None else scenario_slug(scenario), dimension)
        for scenario, dimension in compared
    )


def _line(apart: Differences, number: int) -> tuple[float | None, float | None, float | None]:
    return apart.points[number], apart.lows[number], apart.highs[number]


def _known(
    catalog: Catalog, entry: BoardEntry, board: Board, compared: Sequence[Compared], row: Row
) -> dict[str, list[ScoreDifference | None]]:
    """Hash of another ranked subject -> how it differs from *row* in each of *compared*; {} where nothing is known."""
    ranked = [one.subject.hash for one in board.ranked]
    uncertainty = board.uncertainty
    if uncertainty is None or row.subject.hash not in ranked:
        return {}

    marks = [one.marks for one in board.ranked]
    measures = catalog.kept(f"measures on {entry.id}", lambda: uncertainty.with_scenarios(board.configurations, marks))
    others = [number for number, hash_ in enumerate(ranked) if hash_ != row.subject.hash]
    found = all_differences(measures, others, [ranked.index(row.subject.hash)] * len(others))
    return {ranked[number]: [found[one][n] for one in compared] for n, number in enumerate(others)}


def _comparison(
    compared: Sequence[Compared],
    mine: Mapping[Compared, float],
    other: Row,
    theirs: Mapping[Compared, float],
    known: Mapping[str, Sequence[ScoreDifference | None]],
    why: str | None,
) -> ComparedSubject:
    of_both = known.get(other.subject.hash)
    if of_both is None:
        of_both, why = [None] * len(compared), why or "no intervals: one of the two is not ranked"
    values = _short([theirs.get(one) for one in compared])
    apart = _differences(compared, mine, theirs, of_both, why)
    return ComparedSubject(subject_id(other.subject), other.label, values, _values_shown(compared, theirs), apart)


def _differences(
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
    again = [None if one is None else one.uncertainty.again for one in known]
    dimensions = [n for n, (scenario, name) in enumerate(compared) if scenario is None and name is not None]
    in_scenarios = [n for n, (scenario, _) in enumerate(compared) if scenario is not None]
    p_again = [None if one is None else one.p_again for one in known]
    p_another = [None if one is None else one.p_another for one in known]
    return Differences(
        points=_short(points),
        shown=tuple(
            None if difference is None else minus(signed(difference, _digits(one)))
            for one, difference in zip(compared, points, strict=True)
        ),
        between=tuple(
            None if ends is None else minus(from_to(ends, _digits(one)))
            for one, ends in zip(compared, again, strict=True)
        ),
        lows=_short([None if ends is None else ends.low for ends in again]),
        highs=_short([None if ends is None else ends.high for ends in again]),
        another=tuple(
            None if one is None else _worded(one.uncertainty.another, name)
            for one, name in zip(known, compared, strict=True)
            if name[0] is None
        ),
        why=why,
        flipped=tuple(flipped),
        order=tuple(n for n in largest_first if n not in flipped),
        stand=(*_standing(dimensions, p_again), *_standing(in_scenarios, p_again)),
        stand_another=_standing(dimensions, p_another),
    )


def _standing(places: Sequence[int], p_values: Sequence[float | None]) -> tuple[int, ...]:
    """Those of *places* that stand among all of them."""
    return tuple(n for n, stands in zip(places, standing_out([p_values[n] for n in places]), strict=True) if stands)


def _digits(compared: Compared) -> int:
    """Decimals: one for the index, none for what it is made of."""
    return 1 if compared == (None, None) else 0


def _worded(ends: Interval | None, compared: Compared) -> WordedInterval | None:
    return None if ends is None else WordedInterval(ends.low, ends.high, minus(from_to(ends, _digits(compared))))


def _values_shown(compared: Sequence[Compared], values: Mapping[Compared, float]) -> tuple[str | None, ...]:
    return tuple(f"{values[one]:.{_digits(one)}f}" if one in values else None for one in compared)


def _short(numbers: Sequence[float | None]) -> tuple[float | None, ...]:
    """Rounded: a file has as many of them as there are subjects and scenarios."""
    return tuple(None if number is None else round(number, DECIMALS) for number in numbers)
