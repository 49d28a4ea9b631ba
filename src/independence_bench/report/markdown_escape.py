"""What a page of Markdown is made of: tables, names as code, prose. Nothing from outside can be markup in them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from independence_bench.escape import label_text

# an underscore inside a word is none to Markdown; what begins an address would be made a link
_MARKUP = re.compile(r"[!\"#$&*+<=>@\[\\\]^`{|}~]|(?<![a-z0-9])_|_(?![a-z0-9])|:(?=/)|(?<=www)\.", re.IGNORECASE)

Cells = Sequence[str]


def table(headings: Cells, rows: Sequence[Cells], left: Sequence[int] = ()) -> str:
    """A table; columns stand to the right, those in *left* to the left. Cells must be Markdown already, on one line."""
    rule = [":---" if column in left else "---:" for column in range(len(headings))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rule, *rows))


def code(text: str) -> str:
    """A name as code, where nothing is markup. What would end the code, or the cell that it is in, is written out."""
    shown = label_text(text).replace("`", "\\u{60}").replace("|", "\\u{7c}")
    return f"`{shown or '–'}`"


def prose(text: str) -> str:
    """*text* on one line, as words: whatever Markdown or HTML would take for markup is a character reference."""
    return _MARKUP.sub(lambda match: f"&#{ord(match.group())};", label_text(text))
