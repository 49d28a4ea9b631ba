"""How far models move by their own reasons, for a report: a table and what it means. Computes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.branches import StemMean
from independence_bench.analysis.reasons import Reasons
from independence_bench.columns import list_table_columns
from independence_bench.figures import HUNDRED, OPEN_HUNDRED, SHARE, Format
from independence_bench.report.branches_view import explain_missing_openness
from independence_bench.report.table import Block, Column, Name, Note, Prose, Table

PICTURE = (
    "Each ranked model by its index, from left to right, and by its openness, upward. In the "
    "upper right corner it holds and moves by its own reasons"
)


def render_reasons(board: Board, picture_file_names: Sequence[str]) -> Iterator[Block]:
    """Yield a report's table of how far each ranked model moves by its own reasons, and the
    pictures in *picture_file_names*; nothing for a protocol without such cases.
    """
    shown = [row for row in board.ranked if row.reasons]
    if not shown:
        return
    yield build_reasons_table(shown)
    yield from (Note(Prose(line)) for line in explain_missing_openness(board))
    for name in picture_file_names:
        yield Note(f"![{PICTURE}]({name})")


def build_reasons_table(rows: Sequence[Row]) -> Table:
    """Return a table with a line for each of *rows* that has reasons: openness, moving and staying
    with their intervals, and in how many branches the model named no condition.
    """
    meanings = {one.column.title: one.column.meaning for one in list_table_columns(Reasons)}
    cells = [
        (
            Name(row.label),
            *_format_mean(of.openness, OPEN_HUNDRED),
            *_format_mean(of.moves, HUNDRED),
            *_format_mean(of.stays, HUNDRED),
            "–" if of.unnamed_share is None else SHARE.text(of.unnamed_share),
        )
        for row in rows
        if (of := row.reasons)
    ]
    columns = [Column("Model", words=True, labels=True)]
    for title in ("Openness", "Moves", "Stays"):
        columns += [Column(title), Column("95% CI", spare=1)]
    legend = "; ".join(f"{{{title}}}: {meaning}" for title, meaning in meanings.items())
    return Table([*columns, Column("No condition")], cells, f"{legend}.", gap=2)


def _format_mean(mean: StemMean | None, form: Format) -> tuple[str, str]:
    """Return a mean and its interval as text; dashes for what is not known."""
    if mean is None:
        return "–", "–"
    return form.text(mean.value), "–" if mean.interval is None else form.ends(mean.interval)
