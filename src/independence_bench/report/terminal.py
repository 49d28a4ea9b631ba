"""Blocks printed on a terminal: as wide as it is, and unbounded in a pipe. Escape sequences in them
are shown, not obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from independence_bench.escape import escape_line, escape_name, escape_text
from independence_bench.report import table as values
from independence_bench.report.commands import list_store_places
from independence_bench.report.format import find_shared_ends
from independence_bench.report.table import (
    Block,
    Bullets,
    Column,
    Drawn,
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
# where the next column of a legend begins: at a sentence, or after a semicolon at "name: "
_EXPLAINED = re.compile(r"(?<=[.)]) (?=[A-ZΑ-Ωa-z†-≠][^.;]{0,30}: )|(?<=;) (?=[^.;:]{1,30}: )")
_ITEM = re.compile(r"\s|[-*#>|]|[0-9]{1,3}[.)]")


def print_views(
    console: Console,
    *views: RenderableType | Iterable[Block],
    legend: bool | None = None,
    command: str = "",
    store_option: str = "",
) -> None:
    """Print *views* on *console*, each on its own, followed by an empty line.

    *legend*: True prints the whole legend of each table, False only the brief one; None: the
    command has no option `--explain`, so the whole legend is printed. No legend is printed twice.
    *command*: the command that shows a leaderboard, named in a hint if something was withheld.
    *store_option*: the option --store that printed commands need; "" for none.
    """
    screen = _Screen(console, legend, store_option)
    for view in views:
        if isinstance(view, Iterator):
            lines = [line for block in view for line in screen.render_lines(block)]
            console.print(Text("\n").join(lines), highlight=False, soft_wrap=True)
        else:
            console.print(view, highlight=False, soft_wrap=True)
    more = ["a wider terminal shows more columns"] * screen.narrow
    explain = (
        f"`{command} --wide` has more columns, and --explain explains them"
        if command
        else "`--explain` explains all"
    )
    if more := [explain] * screen.withheld + more:
        lines = list(screen.wrap_text(Text(f"{'; '.join(more)}.", "dim")))
        console.print(Text("\n").join(lines), highlight=False, soft_wrap=True)
    console.print()


class _Screen:
    """The width of the terminal, and the legends that were already printed."""

    def __init__(self, console: Console, legend: bool | None, store_option: str) -> None:
        self.console, self.store_option = console, store_option
        self.width = None if console.width >= UNBOUNDED else console.width
        self.draws = self.width is not None and console.encoding.lower().startswith("utf")
        self.legend = legend
        self.withheld = self.narrow = False
        self.told: set[str] = set()

    def render_lines(self, block: Block) -> Iterator[Text]:
        """Yield the lines of *block* for a terminal, without blanks at their ends. Legends that
        were printed before are left out.
        """
        match block:
            case Table():
                made = lay_out_table(block, self.width, self.draws, render_rich_text)
                yield from made.lines
                yield from self._render_legend(
                    values.fill_legend_headings(block, "terminal"), block.brief
                )
                if made.hidden and self.legend is False:
                    self.narrow = True
                elif made.hidden:
                    yield from self._render_once(
                        f"No room at {self.width} columns for: {', '.join(made.hidden)}."
                    )
            case Legend():
                yield from self._render_legend(block.text, block.brief)
            case Title():
                yield Text()
                yield from self.wrap_text(
                    render_rich_text(block.text, "bold").append_text(
                        render_rich_text(block.aside, "dim")
                    )
                )
            case Note():
                yield from self.wrap_text(render_rich_text(block.text, block.style), block.indent)
            case Passage():
                text = (
                    reflow_text(block.text)
                    if block.reflow and self.width is not None
                    else block.text
                )
                yield from self.wrap_text(Text(escape_text(text), block.style), block.indent)
            case Bullets():
                for line in block.lines:
                    yield from self.wrap_text(render_rich_text(line))
            case Entries():
                for item, about in block.items:
                    yield from self.wrap_text(render_rich_text(item, "bold"), 2)
                    for line in about:
                        yield from self.wrap_text(render_rich_text(line), 4)

    def _render_legend(self, everything: values.Text, brief: values.Text) -> Iterator[Text]:
        """Yield the lines of a table's legend: the text *everything*, or only *brief* if the user
        did not ask for the whole legend.
        """
        self.withheld = self.withheld or (
            self.legend is False and bool(everything) and everything != brief
        )
        if self.legend and isinstance(everything, str):
            everything = "\n".join(_EXPLAINED.split(everything))
        yield from self._render_once(brief if self.legend is False else everything)

    def _render_once(self, text: values.Text) -> Iterator[Text]:
        """Yield the lines of *text*, dim; none if the same text was already printed on this
        screen.
        """
        rendered = render_rich_text(text, "dim")
        if rendered.plain and rendered.plain not in self.told:
            self.told.add(rendered.plain)
            yield from self.wrap_text(rendered)

    def wrap_text(self, text: Text, indent: int = 0) -> Iterator[Text]:
        """Yield *text* in lines that fit the terminal's width, each indented by *indent* blanks; a
        line of blanks alone is empty. On a pipe, lines are not wrapped. Commands in it name the
        store.
        """
        for place in reversed(list_store_places(text.plain)) if self.store_option else ():
            text = text[:place].append(self.store_option).append_text(text[place:])
        for line in text.split("\n", allow_blank=True):
            fitting = (
                [line]
                if self.width is None
                else line.wrap(self.console, max(8, self.width - indent))
            )
            for one in fitting or [line]:
                one.rstrip()
                if one.plain and indent:
                    one.pad_left(indent)
                yield one


def reflow_text(text: str) -> str:
    """Return *text* without the line breaks of a file that was filled to some width, which would
    make short lines on a terminal.

    A line was filled if the next line's first word would have made it the longest of all. The end
    of a sentence stays the end of a line; an indented line, and one that begins like an item of a
    list, stays a line of its own.
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


def render_rich_text(text: values.Text, style: str = "") -> Text:
    """Return *text* as text of the library Rich in *style*, with escape sequences made visible;
    empty for a drawn interval.
    """
    match text:
        case str():
            return Text(escape_text(text), style)
        case Name():
            return Text(escape_name(text.text), style)
        case Prose():
            return Text(escape_line(text.text), style)
        case values.Styled():
            return Text(text.text, text.style)
        case values.Drawn():
            return Text()
        case Strong():
            return render_rich_text(text.text, "bold")
        case _:
            return Text("", style).join(render_rich_text(part) for part in text)


# ------------------------------------------------- tables: columns that fit, and where labels break


LABEL = 24  # characters of a column of words that are kept before columns are left out
NARROWEST = 8  # characters of the narrowest column of words
PICTURE = (16, 60)  # characters of a drawn interval: it is left out where there are fewer
# a label breaks after these, and before its provider and its settings, which stay whole
_BREAK = re.compile(r"(?<=[\s/:_])|(?<=-)(?!t[0-9])|(?=[@+])")
_SPACE = re.compile(r"(?<=\s)")
HEADING = 12  # characters of a name over a column of numbers
INDENT = 4  # characters before a remark
Across = values.Group | values.Remark  # a line across all columns
Write = Callable[[values.Text], Text]


@dataclass(frozen=True, slots=True)
class Layout:
    """A table as lines of text without blanks at their ends, and the headings of the columns for
    which a terminal was too narrow.
    """

    lines: list[Text]
    hidden: tuple[str, ...]


@dataclass(slots=True, eq=False)
class _Lane:
    """A column of a terminal's table while it is laid out, with its heading, its cells and its
    width in characters.
    """

    column: Column
    heading: Text
    cells: list[Text]
    raw: Sequence[values.Text]  # the texts from which the cells are made
    size: int  # characters

    @property
    def longest_word_width(self) -> int:
        """Number of characters of the longest word in this column's cells; 0 if there are none."""
        words = (part for cell in self.cells for part in _BREAK.split(cell.plain))
        return max((cell_len(word.rstrip()) for word in words), default=0)


def lay_out_table(table: Table, width: int | None, draws: bool, write: Write) -> Layout:
    """Lay out *table* in lines of at most *width* characters if possible; with None, in lines as
    wide as the table. Return the lines, and the headings of the columns that were left out.

    Columns marked as optional are left out before a label is broken below `LABEL` characters.
    Intervals are drawn, if *draws* is set, in the space that is left. *write* turns a text into
    Rich text.
    """
    columns, rows = values.select_cells(table, "terminal")
    plain = [row for row in rows if not isinstance(row, Across)]
    every = [
        _make_lane(column, [row[place] for row in plain], width, write)
        for place, column in enumerate(columns)
    ]
    lanes = there = [lane for lane in every if not lane.column.drawn]
    gap = 1 + table.gap
    if width is not None:
        if _count_line_characters(lanes, gap) > width:
            gap = 1  # before anything is left out or broken
        lanes = _select_lanes(lanes, gap, width)
        _narrow_lanes(lanes, gap, width)
    hidden = [values.flatten_heading(lane.heading.plain) for lane in there if lane not in lanes]
    if draws and width is not None:
        lanes = _add_interval_lanes(every, lanes, gap, width)
    lines = _render_row_lines(lanes, [lane.heading for lane in lanes], gap, heading=True)
    rule = Text("─" * _count_line_characters(lanes, gap))
    lines.append(rule)
    cells = zip(*(lane.cells for lane in lanes), strict=True)
    for row in rows:
        if isinstance(row, values.Group):
            lines += [] if lines[-1] is rule else [Text()]
            title = write(values.Strong(row.title))
            lines += ([title] if width is None else _break_lines(title, width)) if row.title else []
        elif isinstance(row, values.Remark):
            lines += _render_remark(write(row.text), width)
        else:
            lines += _render_row_lines(lanes, next(cells), gap)
    return Layout(lines, tuple(name for name in hidden if name))


def _make_lane(
    column: Column, cells: Sequence[values.Text], width: int | None, write: Write
) -> _Lane:
    """Return *column* with its *cells* turned into Rich text by *write*, at its natural width. If
    *width* limits the line, the beginning and the end that all labels of the column share move into
    its heading.
    """
    heading = write(column.find_heading("terminal"))
    if width is None:
        heading = Text(values.flatten_heading(heading.plain))
    elif column.labels:
        first, last = find_shared_ends({name for cell in cells for name in _list_names(cell)})
        last = last if last.startswith("@") else ""  # a temperature alone says nothing to a reader
        if first or last:
            heading = Text(f"all {first}…{last}\n", "dim").append_text(heading)
            cells = [_strip_shared_ends(cell, first, last) for cell in cells]
    written = [write(cell) for cell in cells]
    size = max(cell_len(line) for text in (heading, *written) for line in text.plain.split("\n"))
    return _Lane(
        column, heading, written, cells, min(size, column.widest or size) if width else size
    )


def _count_line_characters(lanes: Sequence[_Lane], gap: int, words: int | None = None) -> int:
    """Count the characters of a table's line: the widths of the columns *lanes* and *gap* blanks
    between them. *words*: columns of words count as no wider than so many characters.
    """
    sizes = (
        lane.size if words is None or not lane.column.words else min(lane.size, words)
        for lane in lanes
    )
    return sum(sizes) + gap * (len(lanes) - 1)


def _select_lanes(lanes: Sequence[_Lane], gap: int, width: int) -> list[_Lane]:
    """Return those of the columns *lanes* that fit in a line of *width* characters. Optional
    columns are left out first; if the rest is still too wide, the last ones go, down to two.
    """
    kept = list(lanes)
    for spare in sorted({lane.column.spare for lane in lanes if lane.column.spare}, reverse=True):
        if _count_line_characters(kept, gap, LABEL) > width:
            kept = [lane for lane in kept if lane.column.spare != spare]
    while len(kept) > 2 and _count_line_characters(kept, gap, NARROWEST) > width:
        kept.pop()
    return kept


def _narrow_lanes(lanes: Sequence[_Lane], gap: int, width: int) -> None:
    """Narrow the columns of words among *lanes*, in place, the widest first, until a line fits in
    *width* characters.

    A column gets narrower than its longest word only if the line does not fit otherwise.
    """
    words = [lane for lane in lanes if lane.column.words]
    for floors in (
        [max(NARROWEST, lane.longest_word_width) for lane in words],
        [NARROWEST] * len(words),
    ):
        while _count_line_characters(lanes, gap) > width:
            wide = [lane for lane, least in zip(words, floors, strict=True) if lane.size > least]
            if not wide:
                break
            max(wide, key=lambda lane: lane.size).size -= 1


def _add_interval_lanes(
    every: Sequence[_Lane], lanes: list[_Lane], gap: int, width: int
) -> list[_Lane]:
    """Return the columns *lanes* and, in their places among *every*, those whose cells are drawn as
    intervals, if a line of *width* characters has enough space left for the drawings.
    """
    for lane in every:
        room = width - _count_line_characters(lanes, gap) - gap
        if lane.column.drawn and room >= PICTURE[0]:
            lane.size = min(room, PICTURE[1])
            low, high = (f"{end:g}" for end in lane.column.drawn)
            lane.heading = Text(f"{low}{high:>{lane.size - len(low)}}")
            lane.cells = [
                Text(_draw_interval(cell, lane.column.drawn, lane.size)) for cell in lane.raw
            ]
            lanes = [one for one in every if one is lane or one in lanes]
    return lanes


def _render_row_lines(
    lanes: Sequence[_Lane], cells: Sequence[Text], gap: int, heading: bool = False
) -> list[Text]:
    """Return the lines of a table's row, as many as its longest cell takes. The cells of a
    *heading* are aligned at the bottom and have no style.
    """
    parts = [
        [
            part
            for one in cell.split("\n", allow_blank=True)
            for part in (
                _cut_line(one, lane.size) if lane.column.cut else _break_lines(one, lane.size)
            )
        ]
        for lane, cell in zip(lanes, cells, strict=True)
    ]
    if heading:
        height = max(map(len, parts))
        parts = [[Text()] * (height - len(part)) + part for part in parts]
    return [_render_line(lanes, across, gap, styled=not heading) for across in zip_longest(*parts)]


def _render_line(
    lanes: Sequence[_Lane], line_cells: Sequence[Text | None], gap: int, styled: bool
) -> Text:
    """Return one line of a table's row, with its cells aligned in the columns *lanes*; a cell of
    None is blank.
    """
    whole = Text()
    for lane, cell in zip(lanes, line_cells, strict=True):
        shown = cell.copy() if cell is not None else Text()
        if styled and lane.column.style:
            shown.stylize_before(lane.column.style)
        shown.align(
            "left" if lane.column.words or lane.column.drawn else "right",
            max(lane.size, shown.cell_len),
        )
        whole.append_text(shown).append(" " * gap)
    whole.rstrip()
    return whole


def _render_remark(text: Text, width: int | None) -> list[Text]:
    """Return a remark below a table's row as dim, indented lines across all columns, of at most
    *width* characters each; one line if *width* is None.
    """
    text.stylize_before("dim")
    lines = [text] if width is None else _break_lines(text, width - INDENT, _SPACE)
    for line in lines:
        line.rstrip()
        line.pad_left(INDENT)
    return lines


def stack_heading(name: str) -> str:
    """Return *name*, escaped, as the heading of a column of numbers, broken into lines of at most
    `HEADING` characters.
    """
    return "\n".join(line.plain for line in _break_lines(Text(escape_line(name)), HEADING))


def _list_names(text: values.Text) -> list[str]:
    """Return the characters of each `Name` in *text* that is not empty."""
    if isinstance(text, tuple):
        return [name for part in text for name in _list_names(part)]
    return [text.text] if isinstance(text, values.Name) and text.text else []


def _strip_shared_ends(text: values.Text, first: str, last: str) -> values.Text:
    """Return *text* with the beginning *first* and the end *last* removed from its names."""
    if isinstance(text, tuple):
        return tuple(_strip_shared_ends(part, first, last) for part in text)
    if isinstance(text, values.Name):
        return values.Name(text.text.removeprefix(first).removesuffix(last))
    return text


def _cut_line(text: Text, width: int) -> list[Text]:
    """Return a list with *text* as its one line, cut to *width* characters, with an ellipsis at the
    cut.
    """
    text.truncate(width, overflow="ellipsis")
    return [text]


def _break_lines(text: Text, width: int, break_pattern: re.Pattern[str] = _BREAK) -> list[Text]:
    """Return *text* in lines of at most *width* characters, broken only at places that
    *break_pattern* matches. A word is broken only if it is longer than a line by itself.
    """
    if text.cell_len <= width:
        return [text]
    cuts: list[int] = []
    offset = used = 0
    for part in break_pattern.split(text.plain):
        size = cell_len(part.rstrip())
        if used and used + size > width:
            cuts.append(offset)
            used = 0
        if size > width:
            for number, character in enumerate(part):
                if used and used + cell_len(character) > width:
                    cuts.append(offset + number)
                    used = 0
                used += cell_len(character)
        else:
            used += cell_len(part)
        offset += len(part)
    lines = list(text.divide(cuts))
    for line in lines:
        line.rstrip()
    return lines


def _draw_interval(cell: values.Text, ends: tuple[float, float], width: int) -> str:
    """Draw a value as a dot on a line of *width* characters, with its interval around it; "" for a
    cell that holds no drawing. *ends*: the values at the two ends of the line.
    """
    if not isinstance(cell, Drawn):
        return ""
    low, high = ends

    def find_place(value: float) -> int:
        """Return the position of *value* on the drawn line, in characters from 0."""
        share = (value - low) / (high - low) if high > low else 0.5
        return round(min(max(share, 0.0), 1.0) * (width - 1))

    marks = [" "] * width
    if cell.interval is not None:
        first, last = find_place(cell.interval[0]), find_place(cell.interval[1])
        marks[first : last + 1] = "─" * (last - first + 1)
        marks[first], marks[last] = "├", "┤"
    marks[find_place(cell.at)] = "●"
    return "".join(marks)
