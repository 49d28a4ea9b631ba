"""One subject beside every other one of its board: differences, how sure they are, and which scenarios flipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from independence_bench.report.certainty import INDEX, Apart, Measure, every_apart, measure_scenarios
from independence_bench.report.paired import pair_rows, standing_out
from independence_bench.report.rows import Board, Row
from independence_bench.viewer import ranking, shapes
from independence_bench.viewer.catalog import Catalog, Ranking, rows_of, subject_id
from independence_bench.viewer.slugs import scenario_slug
from independence_bench.viewer.writing import csv_bytes

DECIMALS = 3  # of what is compared, in [0, 100]
HALF = 50  # of a score: a subject above it held more than it gave up

Compared = tuple[str | None, str | None]  # scenario, dimension; None: all of them


def comparisons_answer(catalog: Catalog, place: Ranking, subject: str) -> shapes.Comparisons | None:
    """`api/boards/<board>/compare/<subject>.json`; None where the board has no such row."""
    board = catalog.board(place)
    row = None if board is None else catalog.row(board, subject)
    if board is None or row is None:
        return None
    compared = _compared(board)
    values = catalog.kept(
        f"values on {place.id}", lambda: {one.subject.hash: _values(board, one) for one in rows_of(board)}
    )
    mine = values[row.subject.hash]
    known = _known(catalog, place, board, compared, row)
    why = ranking.unsaid(board)
    return shapes.Comparisons(
        version=catalog.version,
        board=place.id,
        subject=subject,
        label=row.label,
        compared=tuple(
            shapes.Compared(None if scenario is None else scenario_slug(scenario), dimension)
            for scenario, dimension in compared
        ),
        values=_short([mine.get(one) for one in compared]),
        others=tuple(
            _comparison(compared, mine, other, values[other.subject.hash], known.get(other.subject.hash), why)
            for other in rows_of(board)
            if other is not row
        ),
    )


def comparisons_table(answer: shapes.Comparisons) -> bytes:
    """`api/boards/<board>/compare/<subject>.csv`: the index and the dimensions, a line for each other subject."""
    head = ["first", "second", "score", "first_value", "second_value", "difference", "low", "high"]
    lines = []
    for other in answer.others:
        for number, compared in enumerate(answer.compared):
            if compared.scenario is None:
                numbers = [of[number] for of in (other.values, other.differences, other.lows, other.highs)]
                name = compared.dimension or "index"
                lines.append((answer.label, other.label, name, answer.values[number], *numbers))
    return csv_bytes(head, lines)


def _compared(board: Board) -> list[Compared]:
    """The index, every dimension, every dimension in every scenario that has marks of it."""
    protocol = board.protocol
    apart = [
        (scenario.id, dimension.name)
        for dimension in protocol.dimensions
        for scenario in protocol.scenarios
        if any(mark.name in dimension.marks for mark in scenario.marks)
    ]
    return [(None, None), *((None, dimension.name) for dimension in protocol.dimensions), *apart]


def _values(board: Board, row: Row) -> Mapping[Compared, float]:
    """What *row* has, in [0, 100]: the numbers that `paired` sets side by side, of one of the two."""
    whole, apart = pair_rows(board.protocol, board.configurations, row, row)
    found: dict[Compared, float] = {(pair.scenario, pair.dimension.name): pair.first for pair in (*whole, *apart)}
    if row.score.index is not None:
        found[None, None] = row.score.index
    return found


def _known(
    catalog: Catalog, place: Ranking, board: Board, compared: Sequence[Compared], row: Row
) -> dict[str, list[Apart | None]]:
    """Hash of another ranked subject -> how it differs from *row* in each of *compared*; {} where nothing is known."""
    ranked = [one.subject.hash for one in board.ranked]
    sureness = board.sureness
    if sureness is None or row.subject.hash not in ranked:
        return {}

    def measure_apart() -> Mapping[tuple[str, str], Measure]:
        return measure_scenarios(board.protocol, board.configurations, [one.marks for one in board.ranked])

    in_scenarios = catalog.kept(f"measures on {place.id}", measure_apart)
    others = [number for number, hash_ in enumerate(ranked) if hash_ != row.subject.hash]
    found: list[Sequence[Apart | None]] = []
    for scenario, dimension in compared:
        if scenario is None:
            measure = sureness.measures.get(dimension or INDEX)
        else:
            measure = in_scenarios.get((dimension or INDEX, scenario))
        if measure is None:
            found.append([None] * len(others))
        else:
            # the second minus the first, as everywhere
            aparts = every_apart(measure, others, [ranked.index(row.subject.hash)] * len(others))
            found.append([one if dimension is None else one.in_percent() for one in aparts])
    return {ranked[number]: list(of_one) for number, of_one in zip(others, zip(*found, strict=True), strict=True)}


def _comparison(
    compared: Sequence[Compared],
    mine: Mapping[Compared, float],
    other: Row,
    theirs: Mapping[Compared, float],
    known: Sequence[Apart | None] | None,
    why: str | None,
) -> shapes.Comparison:
    differences = [theirs[one] - mine[one] if one in mine and one in theirs else None for one in compared]
    sizes = {n: abs(d) for n, d in enumerate(differences) if d is not None and compared[n][0] is not None}
    largest_first = sorted(sizes, key=lambda n: (-round(sizes[n], 9), n))
    flipped = [n for n in largest_first if (mine[compared[n]] - HALF) * (theirs[compared[n]] - HALF) < 0]
    if known is None:
        known, why = [None] * len(compared), why or "no intervals: one of the two is not ranked"
    again = [None if one is None else one.uncertainty.again for one in known]
    in_scenarios = [n for n, (scenario, _) in enumerate(compared) if scenario is not None]
    p_values = [None if (one := known[n]) is None else one.p_again for n in in_scenarios]
    return shapes.Comparison(
        subject=subject_id(other.subject),
        label=other.label,
        values=_short([theirs.get(one) for one in compared]),
        differences=_short(differences),
        lows=_short([None if ends is None else ends.low for ends in again]),
        highs=_short([None if ends is None else ends.high for ends in again]),
        another=tuple(
            None if one is None else ranking.interval(one.uncertainty.another)
            for one, (scenario, _) in zip(known, compared, strict=True)
            if scenario is None
        ),
        why=why,
        flipped=tuple(flipped),
        order=tuple(n for n in largest_first if n not in flipped),
        stand=tuple(n for n, stands in zip(in_scenarios, standing_out(p_values), strict=True) if stands),
    )


def _short(numbers: Sequence[float | None]) -> tuple[float | None, ...]:
    """Rounded: a file has as many of them as there are subjects and scenarios."""
    return tuple(None if number is None else round(number, DECIMALS) for number in numbers)
