"""Blocks as Markdown (GitHub's). Nothing from outside can be markup: names are code, words have no punctuation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from independence_bench.escape import label_text
from independence_bench.report.table import (
    Block,
    Bullets,
    Entries,
    Name,
    Note,
    Passage,
    Prose,
    Strong,
    Styled,
    Table,
    Text,
    Title,
    legend_of,
    shown_rows,
)

# an underscore inside a word is none to Markdown; what begins an address would be made a link
_MARKUP = re.compile(r"[!\"#$&*+<=>@\[\\\]^`{|}~]|(?<![a-z0-9])_|_(?![a-z0-9])|:(?=/)|(?<=www)\.", re.IGNORECASE)


def code(text: str) -> str:
    """A name as code, where nothing is markup. What would end the code, or the cell that it is in, is written out."""
    shown = label_text(text).replace("`", "\\u{60}").replace("|", "\\u{7c}")
    return f"`{shown or '–'}`"


def prose(text: str) -> str:
    """*text* on one line, as words: whatever Markdown or HTML would take for markup is a character reference."""
    return _MARKUP.sub(lambda match: f"&#{ord(match.group())};", label_text(text))


def markdown(blocks: Iterable[Block]) -> str:
    """All *blocks*, an empty line between them."""
    return "\n\n".join(part for block in blocks for part in _written(block))


def _written(block: Block) -> list[str]:
    match block:
        case Table():
            legend = written(legend_of(block, "report"))
            return [_table(block), legend] if legend else [_table(block)]
        case Title():
            return [f"{'#' * block.level} {written(block.text)}"]
        case Note():
            return [written(block.text)]
        case Passage():
            return ["\n".join(f"> {prose(line)}" for line in block.text.splitlines())]
        case Bullets():
            return ["\n".join(f"- {written(line)}" for line in block.lines)]
        case Entries():
            lines = [[f"- {written(item)}", *(f"  - {written(line)}" for line in about)] for item, about in block.items]
            return ["\n".join(line for item in lines for line in item)]


def _table(table: Table) -> str:
    columns, rows = shown_rows(table, "report")
    lines: list[Sequence[Text]] = [
        [column.heading("report") for column in columns],
        [":---" if column.words else "---:" for column in columns],
        *(row for row in rows if isinstance(row, list)),
    ]
    return "\n".join(f"| {' | '.join(written(cell) for cell in cells)} |" for cells in lines)


def written(text: Text) -> str:
    """*text* as Markdown has it."""
    match text:
        case str():
            return text
        case Name():
            return code(text.text)
        case Prose():
            return prose(text.text)
        case Styled():
            return text.text
        case Strong():
            return f"**{written(text.text)}**"
        case _:
            return "".join(written(part) for part in text)
