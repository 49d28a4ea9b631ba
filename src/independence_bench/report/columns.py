"""A table in lines of a terminal: how wide its columns are, which there is room for, and where labels break."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from rich.cells import cell_len
from rich.text import Text

from independence_bench.report import table as values
from independence_bench.report.table import Column, Drawn, Table

LABEL = 36  # characters of a column of words that are kept before columns are left out
NARROWEST = 8  # of a column of words
PICTURE = (16, 60)  # characters of a drawn interval: it is left out where there are fewer
# a label breaks behind these, and before its provider and its settings, which stay whole
_TEMPERATURE = re.compile(r"-t[0-9.]+$")
_BREAK = re.compile(r"(?<=[\s/:_])|(?<=-)(?!t[0-9])|(?=[@+])")
_SPACE = re.compile(r"(?<=\s)")
INDENT = 4  # of a remark
Across = values.Group | values.Remark  # what stands across all columns
Write = Callable[[values.Text], Text]


@dataclass(frozen=True, slots=True)
class Layout:
    """Lines without blanks at their ends, and the headings of columns that there was no room for."""

    lines: list[Text]
    hidden: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Grid:
    """The columns that are shown, and how wide they are."""

    columns: Sequence[Column]
    kept: Sequence[int]  # places of those that are shown
    sizes: Sequence[int]  # characters of each column, whether it is shown or not
    gap: int

    @property
    def width(self) -> int:
        """Characters of a whole line."""
        return _total(self.sizes, self.kept, self.gap)

    def lines(self, row: Sequence[Text], heading: bool = False) -> list[Text]:
        """*row* in as many lines as its longest cell takes; a *heading* ends on the last of them, without a style."""
        parts = [
            [part for one in row[place].split("\n", allow_blank=True) for part in _broken(one, self.sizes[place])]
            for place in self.kept
        ]
        if heading:
            height = max(map(len, parts))
            parts = [[Text()] * (height - len(part)) + part for part in parts]
        return [self._line(across, styled=not heading) for across in zip_longest(*parts)]

    def _line(self, across: Sequence[Text | None], styled: bool) -> Text:
        whole = Text()
        for place, cell in zip(self.kept, across, strict=True):
            column, shown = self.columns[place], cell.copy() if cell is not None else Text()
            if styled and column.style:
                shown.stylize_before(column.style)
            missing = self.sizes[place] - shown.cell_len
            if column.words or column.drawn:
                shown.pad_right(missing)
            else:
                shown.pad_left(missing)
            whole.append_text(shown).append(" " * self.gap)
        whole.rstrip()
        return whole


def laid_out(table: Table, width: int | None, draws: bool, write: Write) -> Layout:
    """*table* in lines of at most *width* characters where that can be; None: as wide as it is.

    Columns that can be spared are left out before a label is broken below `LABEL` characters. Intervals are drawn, if
    it *draws*, in what is left.
    """
    columns, rows = values.shown_rows(table, "terminal")
    headings = [write(column.heading("terminal")) for column in columns]
    if width is None:
        headings = [Text(values.in_one_line(heading.plain)) for heading in headings]
    else:
        rows = _shortened(columns, headings, rows)
    cells: list[Across | list[Text]] = [
        row if isinstance(row, Across) else [write(cell) for cell in row] for row in rows
    ]
    plain = [row for row in cells if not isinstance(row, Across)]
    grid, hidden = _fitted(columns, headings, plain, 1 + table.gap, width)
    if draws and width is not None:
        grid = _with_pictures(grid, headings, plain, [row for row in rows if not isinstance(row, Across)], width)
    lines = grid.lines(headings, heading=True)
    rule = Text("─" * grid.width)
    lines.append(rule)
    for shown in cells:
        if isinstance(shown, values.Group):
            lines += [] if lines[-1] is rule else [Text()]
            title = write(values.Strong(shown.title))
            lines += ([title] if width is None else _broken(title, width)) if shown.title else []
        elif isinstance(shown, values.Remark):
            lines += _remark(write(shown.text), width)
        else:
            lines += grid.lines(shown)
    names = (values.in_one_line(headings[place].plain) for place in hidden)
    return Layout(lines, tuple(name for name in names if name))


def _fitted(
    columns: Sequence[Column], headings: Sequence[Text], plain: Sequence[Sequence[Text]], gap: int, width: int | None
) -> tuple[_Grid, list[int]]:
    """The columns that there is room for, as wide as they can be, without those that are drawn; and those left out."""
    natural = [
        max([_widest(headings[place]), *(_widest(row[place]) for row in plain)]) if not column.drawn else 0
        for place, column in enumerate(columns)
    ]
    if width is not None:
        natural = [
            min(size, column.widest) if column.widest else size for size, column in zip(natural, columns, strict=True)
        ]
    every = [place for place, column in enumerate(columns) if not column.drawn]
    if width is not None and _total(natural, every, gap) > width:
        gap = 1  # before anything is left out or broken
    kept, hidden = _kept(columns, natural, gap, width)
    least = [max((_longest(row[place]) for row in plain), default=0) for place in range(len(columns))]
    return _Grid(columns, kept, _sizes(columns, natural, least, kept, gap, width), gap), hidden


def _with_pictures(
    grid: _Grid,
    headings: list[Text],
    plain: Sequence[list[Text]],
    rows: Sequence[Sequence[values.Text]],
    width: int,
) -> _Grid:
    """*grid* with the columns that are drawn, in what it leaves of *width*; *headings* and *plain* get their pictures.

    *rows*: what stands in *plain*, not written yet.
    """
    for place, column in enumerate(grid.columns):
        room = width - grid.width - grid.gap
        if column.drawn and room >= PICTURE[0]:
            size = min(room, PICTURE[1])
            sizes = [*grid.sizes[:place], size, *grid.sizes[place + 1 :]]
            grid = replace(grid, kept=sorted([*grid.kept, place]), sizes=sizes)
            low, high = column.drawn
            headings[place] = Text(f"{low:g}{f'{high:g}':>{size - len(f'{low:g}')}}")
            for cells, row in zip(plain, rows, strict=True):
                cells[place] = Text(_picture(row[place], column.drawn, size))
    return grid


def _remark(said: Text, width: int | None) -> list[Text]:
    """What is *said* across all columns, indented, in lines of at most *width* characters."""
    said.stylize_before("dim")
    lines = [said] if width is None else _broken(said, width - INDENT, _SPACE)
    for one in lines:
        one.rstrip()
        one.pad_left(INDENT)
    return lines


def _shortened(
    columns: Sequence[Column], headings: list[Text], rows: Sequence[list[values.Text] | Across]
) -> list[list[values.Text] | Across]:
    """*rows* with what all labels of a column have in common in its heading instead."""
    made = [row if isinstance(row, Across) else list(row) for row in rows]
    plain = [row for row in made if not isinstance(row, Across)]
    for place, column in enumerate(columns):
        if column.labels:
            first, last = shared({name for row in plain for name in _names(row[place])})
            if first or last:
                headings[place] = Text(f"{first}…{last}\n", "dim").append_text(headings[place])
                for row in plain:
                    row[place] = _without(row[place], first, last)
    return made


def shared(labels: set[str]) -> tuple[str, str]:
    """What all *labels* begin and end with: endpoint and vendor, and settings or temperature; "" for one alone."""
    if len(labels) < 2:
        return "", ""
    names = [label.partition("@")[0] for label in labels]
    lowest, highest = min(names), max(names)  # what these two begin with, all do
    alike = next((at for at, (a, b) in enumerate(zip(lowest, highest, strict=False)) if a != b), 0)
    begun = re.match(r".*[/:]", lowest[:alike], re.DOTALL)
    settings = {label.partition("@")[2] for label in labels}
    if len(settings) == 1:
        return begun[0] if begun else "", f"@{settings.pop()}" if all("@" in label for label in labels) else ""
    ends = {found[0] if (found := _TEMPERATURE.search(label)) else "" for label in labels}
    return begun[0] if begun else "", ends.pop() if len(ends) == 1 else ""


def _names(text: values.Text) -> list[str]:
    if isinstance(text, tuple):
        return [name for part in text for name in _names(part)]
    return [text.text] if isinstance(text, values.Name) and text.text else []


def _without(text: values.Text, first: str, last: str) -> values.Text:
    if isinstance(text, tuple):
        return tuple(_without(part, first, last) for part in text)
    if isinstance(text, values.Name):
        return values.Name(text.text.removeprefix(first).removesuffix(last))
    return text


def _total(sizes: Sequence[int], kept: Sequence[int], gap: int) -> int:
    return sum(sizes[place] for place in kept) + gap * (len(kept) - 1)


def _kept(
    columns: Sequence[Column], natural: Sequence[int], gap: int, width: int | None
) -> tuple[list[int], list[int]]:
    """The columns that there is room for, and those that are left out: what can be spared, in the end the last ones."""
    kept = [place for place, column in enumerate(columns) if not column.drawn]
    hidden: list[int] = []
    least = [min(size, LABEL) if column.words else size for size, column in zip(natural, columns, strict=True)]
    spared = sorted({column.spare for column in columns if column.spare}, reverse=True)
    for spare in spared:
        if width is None or _total(least, kept, gap) <= width:
            break
        hidden += [place for place in kept if columns[place].spare == spare]
        kept = [place for place in kept if columns[place].spare != spare]
    bare = [min(size, NARROWEST) if column.words else size for size, column in zip(natural, columns, strict=True)]
    while width is not None and len(kept) > 2 and _total(bare, kept, gap) > width:
        hidden.append(kept.pop())
    return kept, sorted(hidden)


def _sizes(
    columns: Sequence[Column],
    natural: Sequence[int],
    least: Sequence[int],
    kept: Sequence[int],
    gap: int,
    width: int | None,
) -> list[int]:
    """Characters of each column: what it needs; columns of words give way where that is too much, the widest first.

    Not below their longest word (*least*), unless there is no other way.
    """
    sizes = list(natural)
    words = [place for place in kept if columns[place].words]
    for floors in (least, [0] * len(sizes)):
        while width is not None and _total(sizes, kept, gap) > width:
            wide = [place for place in words if sizes[place] > max(NARROWEST, floors[place])]
            if not wide:
                break
            sizes[max(wide, key=lambda place: sizes[place])] -= 1
    return sizes


def _widest(text: Text) -> int:
    return max((cell_len(line) for line in text.plain.split("\n")), default=0)


def _longest(text: Text) -> int:
    """Characters of its longest word."""
    return max((cell_len(part.rstrip()) for part in _BREAK.split(text.plain)), default=0)


def _broken(text: Text, width: int, at: re.Pattern[str] = _BREAK) -> list[Text]:
    """*text* in lines of *width* characters; a word is broken only where it is longer than that by itself."""
    if text.cell_len <= width:
        return [text]
    cuts: list[int] = []
    offset = used = 0
    for part in at.split(text.plain):
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
    for one in lines:
        one.rstrip()
    return lines


def _picture(cell: values.Text, ends: tuple[float, float], width: int) -> str:
    """A dot at a value on a line from *ends* to ends, and its interval; nothing where there is none."""
    if not isinstance(cell, Drawn):
        return ""
    low, high = ends

    def at(value: float) -> int:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(min(max(share, 0.0), 1.0) * (width - 1))

    marks = [" "] * width
    if cell.interval is not None:
        first, last = at(cell.interval[0]), at(cell.interval[1])
        marks[first : last + 1] = "─" * (last - first + 1)
        marks[first], marks[last] = "├", "┤"
    marks[at(cell.at)] = "●"
    return "".join(marks)
