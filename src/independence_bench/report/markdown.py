"""Blocks as Markdown (GitHub's). Nothing from outside can be markup: names are code, words have no punctuation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from independence_bench.escape import label_text
from independence_bench.report import table as values

# an underscore inside a word is none to Markdown; what begins an address would be made a link
_MARKUP = re.compile(r"[!\"#$&*+<=>@\[\\\]^`{|}~]|(?<![a-z0-9])_|_(?![a-z0-9])|:(?=/)|(?<=www)\.", re.IGNORECASE)
_COMMAND = re.compile(r"`(aib [^`\n]+)`")
_SENTENCE = re.compile(r"(?<=[.)]) (?=[A-ZΑ-Ω\u2020-\u2260])")  # where the next one begins
PARAGRAPH = 300  # characters of a legend that is still a paragraph; a longer one is a list of its sentences


def code(text: str) -> str:
    """A name as code, where nothing is markup. What would end the code, or the cell that it is in, is written out."""
    shown = label_text(text).replace("`", "\\u{60}").replace("|", "\\u{7c}")
    return f"`{shown or '–'}`"


def prose(text: str) -> str:
    """*text* on one line, as words: whatever Markdown or HTML would take for markup is a character reference.

    Only a command of ours between backticks is code.
    """
    words, *rest = _COMMAND.split(text)
    parts = [_words(words)]
    for command, after in zip(rest[::2], rest[1::2], strict=True):
        parts += [code(command), _words(after)]
    return "".join(parts)


def _words(text: str) -> str:
    return _MARKUP.sub(lambda match: f"&#{ord(match.group())};", label_text(text))


def markdown(blocks: Iterable[values.Block]) -> str:
    """All *blocks*, an empty line between them."""
    return "\n\n".join(part for block in blocks for part in _written(block))


def _written(block: values.Block) -> list[str]:
    match block:
        case values.Table():
            legend = _legend(values.legend_of(block, "report"))
            return [_table(block), legend] if legend else [_table(block)]
        case values.Title():
            return [f"{'#' * block.level} {written(block.text)}"]
        case values.Note() | values.Legend():
            return [written(block.text)]
        case values.Passage():
            return ["\n".join(f"> {prose(line)}" for line in block.text.splitlines())]
        case values.Bullets():
            return ["\n".join(f"- {written(line)}" for line in block.lines)]
        case values.Entries():
            lines = [[f"- {written(item)}", *(f"  - {written(line)}" for line in about)] for item, about in block.items]
            return ["\n".join(line for item in lines for line in item)]


def _legend(text: values.Text) -> str:
    """A paragraph, or a line for each sentence of a long one."""
    if isinstance(text, str | values.Prose) and len(whole := text if isinstance(text, str) else text.text) > PARAGRAPH:
        lines = (values.Prose(one) if isinstance(text, values.Prose) else one for one in _SENTENCE.split(whole))
        return "\n".join(f"- {written(line)}" for line in lines)
    return written(text)


def _table(table: values.Table) -> str:
    columns, rows = values.shown_rows(table, "report")
    lines: list[Sequence[values.Text]] = [
        [column.heading("report") for column in columns],
        [":---" if column.words else "---:" for column in columns],
        *(row for row in rows if isinstance(row, list)),
    ]
    return "\n".join(f"| {' | '.join(written(cell) for cell in cells)} |" for cells in lines)


def written(text: values.Text) -> str:
    """*text* as Markdown has it."""
    match text:
        case str():
            return text
        case values.Name():
            return code(text.text)
        case values.Prose():
            return prose(text.text)
        case values.Styled():
            return text.text
        case values.Drawn():
            return ""
        case values.Strong():
            return f"**{written(text.text)}**"
        case _:
            return "".join(written(part) for part in text)
