"""Which rows of long tables are shown: the first so many, and those with a word in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from independence_bench.report.format import plural
from independence_bench.report.table import (
    Block,
    Cells,
    Drawn,
    Group,
    Name,
    Note,
    Prose,
    Remark,
    Strong,
    Styled,
    Table,
    Text,
)


@dataclass(frozen=True, slots=True)
class Shown:
    """*top*: so many rows of each long table; *find*: those that contain it, in upper or lower case; None: all."""

    top: int | None = None
    find: str | None = None

    def has(self, text: str) -> bool:
        """Whether *text* contains the word."""
        return self.find is None or self.find.lower() in text.lower()


EVERYTHING = Shown()


@dataclass(frozen=True, slots=True)
class Chosen:
    """Blocks with the rows that are shown, and how many of these long tables have."""

    blocks: list[Block]
    rows: int


def choose(blocks: Iterable[Block], shown: Shown) -> Chosen:
    """*blocks* with the rows of their long tables (`Table.long`) that are *shown*, and a note of how many these are.

    A long table of which no row is shown is left out.
    """
    made: list[Block] = []
    total = 0
    for block in blocks:
        if not isinstance(block, Table) or not block.long or shown == EVERYTHING:
            made.append(block)
            continue
        rows = list(_chosen(block, shown))
        kept = sum(not isinstance(row, Group | Remark) for row in rows)
        of = sum(not isinstance(row, Group | Remark) for row in block.rows)
        total += kept
        if kept:
            made.append(replace(block, rows=rows))
        elif made and made[-1] == Note(""):
            made.pop()
        if 0 < kept < of:
            made.append(Note(f"Shown: {kept} of {plural(of, 'row')}."))
    return Chosen(made, total)


def _chosen(table: Table, shown: Shown) -> Iterator[Cells | Group | Remark]:
    """The rows, each group before its first one, each remark behind its own."""
    group: Group | None = None
    inside, kept, count = False, False, 0
    for row in table.rows:
        match row:
            case Group():
                group, inside, kept = row, shown.find is not None and shown.has(row.title), False
            case Remark():
                if kept:
                    yield row
            case _:
                kept = inside or any(shown.has(plain(cell)) for cell in row)
                kept = kept and (shown.top is None or count < shown.top)
                if kept:
                    count += 1
                    if group is not None:
                        yield group
                        group = None
                    yield row


def plain(text: Text) -> str:
    """*text* without styles, as it came."""
    match text:
        case str():
            return text
        case Name() | Prose() | Styled():
            return text.text
        case Strong():
            return plain(text.text)
        case Drawn():
            return ""
        case _:
            return "".join(plain(part) for part in text)
