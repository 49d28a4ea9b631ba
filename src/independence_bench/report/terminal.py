"""Blocks on a terminal: as wide as it is, and unbounded in a pipe. Escape sequences in them are shown, not obeyed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from rich.console import Console, RenderableType
from rich.text import Text

from independence_bench.escape import harmless, label_text
from independence_bench.report import table as values
from independence_bench.report.columns import laid_out
from independence_bench.report.table import (
    Block,
    Bullets,
    Entries,
    Legend,
    Name,
    Note,
    Passage,
    Prose,
    Strong,
    Table,
    Title,
)

UNBOUNDED = 1_000_000  # columns of a pipe: nothing is wrapped, dropped or cut
FILLED = 60  # characters of the longest line of a text that was filled
_ITEM = re.compile(r"\s|[-*#>|]|[0-9]{1,3}[.)]")
MORE = "`--legend` explains every column."


def printed(console: Console, *views: RenderableType | Iterable[Block], legend: bool | None = None) -> None:
    """Print *views*, each on its own, followed by an empty line.

    *legend*: whether all that is known of a table's columns is told, or only the brief one; None: the command has no
    such option, so all of it. No legend is told twice.
    """
    screen = _Screen(console, legend)
    for one in views:
        if isinstance(one, Iterator):
            lines = [line for block in one for line in screen.lines(block)]
            console.print(Text("\n").join(lines), highlight=False, soft_wrap=True)
        else:
            console.print(one, highlight=False, soft_wrap=True)
    if screen.withheld:
        console.print(Text("\n").join(screen.wrapped(Text(MORE, "dim"))), highlight=False, soft_wrap=True)
    console.print()


class _Screen:
    """How wide lines may be, and which legends were told."""

    def __init__(self, console: Console, legend: bool | None) -> None:
        self.console = console
        self.width = None if console.width >= UNBOUNDED else console.width
        self.draws = self.width is not None and console.encoding.lower().startswith("utf")
        self.legend = legend
        self.withheld = False
        self.told: set[str] = set()

    def lines(self, block: Block) -> Iterator[Text]:
        """*block*, line by line, without blanks at their ends."""
        match block:
            case Table():
                made = laid_out(block, self.width, self.draws, written)
                yield from made.lines
                yield from self._legend(values.legend_of(block, "terminal"), block.brief)
                if made.hidden:
                    yield from self._once(f"No room at {self.width} columns for: {', '.join(made.hidden)}.")
            case Legend():
                yield from self._legend(block.text, block.brief)
            case Title():
                yield Text()
                yield from self.wrapped(written(block.text, "bold").append_text(written(block.aside, "dim")))
            case Note():
                yield from self.wrapped(written(block.text, block.style), block.indent)
            case Passage():
                text = reflowed(block.text) if block.reflow and self.width is not None else block.text
                yield from self.wrapped(Text(harmless(text), block.style), block.indent)
            case Bullets():
                for line in block.lines:
                    yield from self.wrapped(written(line))
            case Entries():
                for item, about in block.items:
                    yield from self.wrapped(written(item, "bold"), 2)
                    for line in about:
                        yield from self.wrapped(written(line), 4)

    def _legend(self, everything: values.Text, brief: values.Text) -> Iterator[Text]:
        """What columns mean, as far as it was asked for."""
        self.withheld = self.withheld or (self.legend is False and bool(everything) and everything != brief)
        yield from self._once(brief if self.legend is False else everything)

    def _once(self, text: values.Text) -> Iterator[Text]:
        """*text*, dim, unless it was printed before."""
        said = written(text, "dim")
        if said.plain and said.plain not in self.told:
            self.told.add(said.plain)
            yield from self.wrapped(said)

    def wrapped(self, text: Text, indent: int = 0) -> Iterator[Text]:
        """*text* in lines that fit; a line with nothing but blanks is an empty one."""
        for line in text.split("\n", allow_blank=True):
            fitting = [line] if self.width is None else line.wrap(self.console, max(8, self.width - indent))
            for one in fitting or [line]:
                one.rstrip()
                if one.plain and indent:
                    one.pad_left(indent)
                yield one


def reflowed(text: str) -> str:
    """*text* without the line breaks of a file that was filled to some width, which would make short lines here.

    A line that the next one's first word would have made the longest of all was filled; the end of a sentence stays
    the end of a line, and what is indented or begins like a list's item a line of its own.
    """
    lines = text.split("\n")
    longest = max(map(len, lines))
    made = lines[:1]
    for before, line in pairwise(lines):
        first = line.split(" ")[0]
        filled = longest >= FILLED and len(before) + 1 + len(first) > longest
        goes_on = before.strip() and before.rstrip()[-1] not in ".:!?"
        if filled and goes_on and line.strip() and not _ITEM.match(line):
            made[-1] += f" {line}"
        else:
            made.append(line)
    return "\n".join(made)


def written(text: values.Text, style: str = "") -> Text:
    """*text* as a terminal has it."""
    match text:
        case str():
            return Text(harmless(text), style)
        case Name() | Prose():
            return Text(label_text(text.text), style)
        case values.Styled():
            return Text(text.text, text.style)
        case values.Drawn():
            return Text()
        case Strong():
            return written(text.text, "bold")
        case _:
            return Text("", style).join(written(part) for part in text)
