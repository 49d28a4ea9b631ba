"""Tables, titles and paragraphs as values, and as Markdown (GitHub's); `terminal` renders them with
Rich.

A text is our own words, or a `Name` or `Prose` from outside, or several of these side by side. Both
renderers escape what comes from outside; in Markdown nothing of it can be markup: names are code,
words have no punctuation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from independence_bench.escape import escape_line, escape_name
from independence_bench.figures import format_count

Medium = Literal["terminal", "report"]


@dataclass(frozen=True, slots=True)
class Name:
    """A label or an id from outside: code in Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Prose:
    """A title or a sentence with words from outside: nothing in it is markup."""

    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    """Bold text."""

    text: Text


@dataclass(frozen=True, slots=True)
class Styled:
    """Our own words in a terminal's *style*."""

    text: str
    style: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """A value and its interval, drawn on a terminal that has room for it."""

    at: float
    interval: tuple[float, float] | None


Text = str | Styled | Name | Prose | Strong | Drawn | tuple["Text", ...]
Cells = Sequence[Text]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: of numbers, aligned to the right, unless *words* is set."""

    title: Text  # the title in a report
    words: bool = False
    short: Text | None = None  # the title on a terminal; None: the same, not capitalised
    on: Medium | None = None  # the only medium that has it; None: both
    style: str = ""  # on a terminal
    widest: int | None = None  # characters on a terminal
    spare: int = 0  # left out of a terminal that is too narrow, the highest first; 0: never
    # the ends of a line on which its cells are drawn, where there is room
    drawn: tuple[float, float] | None = None
    cut: bool = False  # on a terminal a cell that is too wide is cut, not broken into lines
    labels: bool = False  # labels of subjects: on a terminal the heading has their shared parts

    def find_heading(self, medium: Medium) -> Text:
        """Return the heading of a table's column in *medium*, "terminal" or "report"."""
        if medium == "terminal" and self.short is not None:
            return self.short
        if medium == "report" or not isinstance(self.title, str) or self.title[:2].isupper():
            return self.title
        return self.title[:1].lower() + self.title[1:]


@dataclass(frozen=True, slots=True)
class Group:
    """A line across a terminal's table: the rows below it are of one kind. Markdown has a column
    for that.
    """

    title: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence below a row of a terminal's table, across all columns. Markdown has a column for
    that.
    """

    text: Text


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, rows with a cell for each column, and a legend. In the legend, {Title} stands for a
    column's title.

    *brief*: the part of the legend that a terminal shows by default. *long*: readers may choose
    among its rows (`RowFilter`). *total*: a row below whichever they choose.
    """

    columns: Sequence[Column]
    rows: Sequence[Cells | Group | Remark]
    legend: Text = ""
    gap: int = 1  # between columns on a terminal, and one more
    brief: Text = ""
    long: bool = False
    total: Cells | None = None


@dataclass(frozen=True, slots=True)
class Title:
    """A heading, and what follows it in dim letters on a terminal."""

    text: Text
    level: int = 2
    aside: Text = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A paragraph; *style* and *indent* are a terminal's."""

    text: Text
    style: str = "dim"
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Passage:
    """A text from outside, with its line breaks. *reflow*: without the line breaks of a file whose
    lines were filled.
    """

    text: str
    style: str = ""
    indent: int = 2
    reflow: bool = False


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of lines."""

    lines: Sequence[Text]


@dataclass(frozen=True, slots=True)
class Entries:
    """A list of things with a few lines about each."""

    items: Sequence[tuple[Text, Sequence[Text]]]


@dataclass(frozen=True, slots=True)
class Legend:
    """The meaning of columns. *brief*: the part that a terminal shows by default."""

    text: Text
    brief: Text


Block = Table | Legend | Title | Note | Passage | Bullets | Entries


def make_columns(*titles: str, word_column_count: int = 1) -> list[Column]:
    """Return a table column for each of *titles*, with the same heading on a terminal and in a
    report; the first *word_column_count* columns hold words, the others numbers.
    """
    return [Column(title, place < word_column_count, title) for place, title in enumerate(titles)]


def join_texts(parts: Sequence[Text], between: str = ", ") -> tuple[Text, ...]:
    """Return *parts* as one tuple of texts, with *between* between each two; () if there are no
    parts.
    """
    return tuple(
        part for place, one in enumerate(parts) for part in ((between, one) if place else (one,))
    )


def flatten_heading(heading: str) -> str:
    """Return a column heading of several lines as one line, without the blanks that would split a
    name.
    """
    return re.sub(r"(?<=[-/:_])\n|\n(?=[@+])", "", heading.strip()).replace("\n", " ")


def fill_legend_headings(table: Table, medium: Medium) -> Text:
    """Return the legend of *table*, with each {Title} replaced by that column's heading in
    *medium*.
    """
    legend = table.legend
    if isinstance(legend, str):
        for column in table.columns:
            legend = legend.replace(
                f"{{{column.title}}}", flatten_heading(str(column.find_heading(medium)))
            )
    return legend


def select_cells(
    table: Table, medium: Medium
) -> tuple[list[Column], list[list[Text] | Group | Remark]]:
    """Return the columns of *table* that *medium* shows, and its rows with the cells of these
    columns alone. The total, if there is one, is the last row.
    """
    there = [place for place, column in enumerate(table.columns) if column.on in (None, medium)]
    every: list[Cells | Group | Remark] = [*table.rows]
    every += [] if table.total is None else [Group(), table.total]
    rows = [
        row if isinstance(row, Group | Remark) else [row[place] for place in there] for row in every
    ]
    return [table.columns[place] for place in there], rows


# -------------------------------------------------------------- which rows of long tables are shown


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows of long tables are shown. *top*: at most so many of each; *find*: those that
    contain this word, in upper or lower case; None: all.
    """

    top: int | None = None
    find: str | None = None

    def has_word(self, text: str) -> bool:
        """Whether *text* contains the word that a user searches a table for, in upper or lower
        case; always True if there is no such word.
        """
        return self.find is None or self.find.lower() in text.lower()


EVERYTHING = RowFilter()


@dataclass(frozen=True, slots=True)
class ChosenBlocks:
    """Blocks with the rows that were chosen, and the number of rows of their long tables."""

    blocks: list[Block]
    rows: int


def choose_long_table_rows(blocks: Iterable[Block], shown: RowFilter) -> ChosenBlocks:
    """Return *blocks* with only those rows of long tables (`Table.long`) that *shown* chooses, each
    shortened table followed by a note such as "Shown: 5 of 12 rows.", and the number of rows that
    were chosen (0 if *shown* limits nothing).

    A long table of which no row is chosen is left out.
    """
    made: list[Block] = []
    total = 0
    for block in blocks:
        if not isinstance(block, Table) or not block.long or shown == EVERYTHING:
            made.append(block)
            continue
        rows = list(_choose_table_rows(block, shown))
        kept = sum(not isinstance(row, Group | Remark) for row in rows)
        of = sum(not isinstance(row, Group | Remark) for row in block.rows)
        total += kept
        if kept:
            made.append(replace(block, rows=rows))
        elif made and made[-1] == Note(""):
            made.pop()
        if 0 < kept < of:
            made.append(Note(f"Shown: {kept} of {format_count(of, 'row')}."))
    return ChosenBlocks(made, total)


def _choose_table_rows(table: Table, shown: RowFilter) -> Iterator[Cells | Group | Remark]:
    """Yield the rows of *table* that *shown* chooses by its word and its greatest number of rows. A
    group's title comes before the group's first chosen row, and a remark follows the row that it
    belongs to.
    """
    group: Group | None = None
    inside, kept, count = False, False, 0
    for row in table.rows:
        match row:
            case Group():
                group, inside, kept = (
                    row,
                    shown.find is not None and shown.has_word(row.title),
                    False,
                )
            case Remark():
                if kept:
                    yield row
            case _:
                kept = inside or any(shown.has_word(strip_styles(cell)) for cell in row)
                kept = kept and (shown.top is None or count < shown.top)
                if kept:
                    count += 1
                    if group is not None:
                        yield group
                        group = None
                    yield row


def name_models_in_blocks(blocks: Iterable[Block], names: Mapping[str, str]) -> Iterator[Block]:
    """Yield *blocks* with the names of models instead of their labels, in names and in prose.
    *names*: label -> name.
    """
    changed = {
        escape_name(label): escape_name(name) for label, name in names.items() if label != name
    }
    longest_first = sorted(map(re.escape, changed), key=len, reverse=True)
    pattern = re.compile("|".join(longest_first)) if changed else None

    def rename(text: Text) -> Text:
        match text:
            case Name():
                return Name(names.get(text.text, text.text))
            case Prose() if pattern:
                return Prose(pattern.sub(lambda found: changed[found.group()], text.text))
            case Strong():
                return Strong(rename(text.text))
            case tuple():
                return tuple(map(rename, text))
            case _:
                return text

    for block in blocks:
        match block:
            case Table():
                rows = [
                    row if isinstance(row, Group | Remark) else [rename(cell) for cell in row]
                    for row in block.rows
                ]
                yield replace(block, rows=rows, legend=rename(block.legend))
            case Title() | Note():
                yield replace(block, text=rename(block.text))
            case Bullets():
                yield Bullets([rename(line) for line in block.lines])
            case _:
                yield block


def strip_styles(text: Text) -> str:
    """Return the plain characters of *text*, without styles and without escaping; "" for a drawn
    interval.
    """
    match text:
        case str():
            return text
        case Name() | Prose() | Styled():
            return text.text
        case Strong():
            return strip_styles(text.text)
        case Drawn():
            return ""
        case _:
            return "".join(strip_styles(part) for part in text)


# an underscore inside a word is none to Markdown; what begins an address would be made a link
_MARKUP = re.compile(
    r"[!\"#$&*+<=>@\[\\\]^`{|}~]|(?<![a-z0-9])_|_(?![a-z0-9])|:(?=/)|(?<=www)\.", re.IGNORECASE
)
_COMMAND = re.compile(r"`(aib [^`\n]+)`")
_SENTENCE = re.compile(r"(?<=[.)]) (?=[A-ZΑ-Ω\u2020-\u2260])")  # where the next one begins
# characters of a legend that is still a paragraph; a longer one is a list of its sentences
PARAGRAPH = 300


def render_markdown_code(text: str) -> str:
    """Return the name *text* as Markdown code, in which nothing is markup; a dash for "".
    Characters that would end the code, or the table cell around it, are written as escapes.
    """
    shown = escape_name(text).replace("`", "\\u{60}").replace("|", "\\u{7c}")
    return f"`{shown or '–'}`"


def render_markdown_prose(text: str) -> str:
    """Return *text* on one line as Markdown: whatever Markdown or HTML would take for markup
    becomes a character reference. Only an `aib` command between backticks becomes code.
    """
    words, *rest = _COMMAND.split(text)
    parts = [_escape_markdown(words)]
    for command, after in zip(rest[::2], rest[1::2], strict=True):
        parts += [render_markdown_code(command), _escape_markdown(after)]
    return "".join(parts)


def _escape_markdown(text: str) -> str:
    """Return *text* on one line, with each Markdown or HTML markup character as a character
    reference.
    """
    return _MARKUP.sub(lambda match: f"&#{ord(match.group())};", escape_line(text))


def render_markdown(blocks: Iterable[Block]) -> str:
    """Return all *blocks* as one Markdown text, with an empty line between paragraphs."""
    return "\n\n".join(part for block in blocks for part in _render_markdown_paragraphs(block))


def _render_markdown_paragraphs(block: Block) -> list[str]:
    """Return one block (a table, title, note, list or the like) as paragraphs of Markdown."""
    match block:
        case Table():
            legend = _render_markdown_legend(fill_legend_headings(block, "report"))
            return (
                [_render_markdown_table(block), legend]
                if legend
                else [_render_markdown_table(block)]
            )
        case Title():
            return [f"{'#' * block.level} {render_markdown_text(block.text)}"]
        case Note() | Legend():
            return [render_markdown_text(block.text)]
        case Passage():
            return [
                "\n".join(f"> {render_markdown_prose(line)}" for line in block.text.splitlines())
            ]
        case Bullets():
            return ["\n".join(f"- {render_markdown_text(line)}" for line in block.lines)]
        case Entries():
            lines = [
                [
                    f"- {render_markdown_text(item)}",
                    *(f"  - {render_markdown_text(line)}" for line in about),
                ]
                for item, about in block.items
            ]
            return ["\n".join(line for item in lines for line in item)]


def _render_markdown_legend(text: Text) -> str:
    """Return a table's legend as a Markdown paragraph, or as a list with a line for each sentence
    if it is longer than `PARAGRAPH` characters.
    """
    if (
        isinstance(text, str | Prose)
        and len(whole := text if isinstance(text, str) else text.text) > PARAGRAPH
    ):
        lines = (Prose(one) if isinstance(text, Prose) else one for one in _SENTENCE.split(whole))
        return "\n".join(f"- {render_markdown_text(line)}" for line in lines)
    return render_markdown_text(text)


def _render_markdown_table(table: Table) -> str:
    """Return *table* as a Markdown table, without its legend."""
    columns, rows = select_cells(table, "report")
    lines: list[Sequence[Text]] = [
        [column.find_heading("report") for column in columns],
        [":---" if column.words else "---:" for column in columns],
        *(row for row in rows if isinstance(row, list)),
    ]
    return "\n".join(
        f"| {' | '.join(render_markdown_text(cell) for cell in cells)} |" for cells in lines
    )


def render_markdown_text(text: Text) -> str:
    """Return *text*, with its names, prose and bold parts, as Markdown; "" for a drawn interval."""
    match text:
        case str():
            return text
        case Name():
            return render_markdown_code(text.text)
        case Prose():
            return render_markdown_prose(text.text)
        case Styled():
            return text.text
        case Drawn():
            return ""
        case Strong():
            return f"**{render_markdown_text(text.text)}**"
        case _:
            return "".join(render_markdown_text(part) for part in text)
