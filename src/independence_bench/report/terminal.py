"""Blocks on a terminal: readable at 80 columns, and in a pipe. Escape sequences in them are shown, not obeyed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich import box, table
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from independence_bench.escape import harmless, label_text
from independence_bench.report import table as values
from independence_bench.report.table import Block, Bullets, Entries, Name, Note, Passage, Prose, Strong, Table, Title


def view(blocks: Iterable[Block]) -> RenderableType:
    """All *blocks*, one below the other."""
    return Group(*(part for block in blocks for part in _shown(block)))


def printed(console: Console, *views: RenderableType | Iterable[Block]) -> None:
    """Print *views*, each on its own, followed by an empty line."""
    for one in views:
        console.print(view(one) if isinstance(one, Iterator) else one, highlight=False, soft_wrap=False)
    console.print()


def _shown(block: Block) -> list[RenderableType]:
    match block:
        case Table():
            legend = written(values.legend_of(block, "terminal"), "dim")
            return [_table(block), legend] if legend else [_table(block)]
        case Title():
            return [Text("\n").append_text(written(block.text, "bold")).append_text(written(block.aside, "dim"))]
        case Note():
            text = written(block.text, block.style)
            return [Padding(text, (0, 0, 0, block.indent)) if block.indent else text]
        case Passage():
            return [Padding(Text(harmless(block.text), block.style), (0, 0, 0, block.indent), expand=False)]
        case Bullets():
            return [written(line) for line in block.lines]
        case Entries():
            return [
                Padding(text, (0, 0, 0, by))
                for item, lines in block.items
                for text, by in ((written(item, "bold"), 2), *((written(line), 4) for line in lines))
            ]


def _table(shown: Table) -> table.Table:
    made = table.Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, shown.gap, 0, 0), expand=shown.full
    )
    columns, rows = values.shown_rows(shown, "terminal")
    for place, column in enumerate(columns):
        made.add_column(
            written(column.heading("terminal")),
            justify="left" if column.words else "right",
            style=column.style,
            overflow="fold",
            no_wrap=not column.words,
            max_width=column.widest,
            ratio=None if place else 1,
        )
    for row in rows:
        if isinstance(row, values.Group):
            made.add_section()
            if row.title:
                made.add_row(written(row.title, "bold"))
        else:
            made.add_row(*(written(cell) for cell in row))
    return made


def written(text: values.Text, style: str = "") -> Text:
    """*text* as a terminal has it."""
    match text:
        case str():
            return Text(harmless(text), style)
        case Name() | Prose():
            return Text(label_text(text.text), style)
        case values.Styled():
            return Text(text.text, text.style)
        case Strong():
            return written(text.text, "bold")
        case _:
            return Text("", style).join(written(part) for part in text)
