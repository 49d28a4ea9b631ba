"""What the fields of a value are to its readers: the one place that says it is the class itself.

    @dataclass(frozen=True, slots=True)
    class Health:
        replies: Annotated[int, Column("Replies", COUNT)]
        text: Annotated[str, HIDDEN]                      # for the program alone

        @property
        def cut_off_share(self) -> Annotated[float, Column("Cut off", SHARE, short="cut\\noff")]:
            ...

Terminal, Markdown, CSV, JSON, the page and its TypeScript types follow from the fields (`parts`): a
field is sent under its name unless it is `HIDDEN`; a property is sent if its type is annotated.
With a `Column` that has a title, it is a column of the tables of its class (`table_columns`), too.
A class that is sent as something else has a method `sent` that gives it, as its annotation says.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

from independence_bench.figures import Format


@dataclass(frozen=True, slots=True)
class Column:
    """A field as a reader meets it."""

    title: str = ""  # the head of its column; "": it is in no table
    format: Format | None = None  # of its numbers
    short: str = ""  # the head on a terminal, with its line breaks; "": the title, in small letters
    meaning: str = ""  # a sentence for those who ask what the column is
    # in the table of what the numbers are based on, and not beside the numbers themselves
    wide: bool = False
    spare: int = 0  # left out of a terminal that is too narrow, the highest first; 0: never
    key: str = ""  # what JSON calls it; "": as the field is called


class Sign:
    """A word about a field that is no format; compared by identity."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


HIDDEN: Final = Sign("HIDDEN")  # nothing is sent of it
INSIDE: Final = Sign("INSIDE")  # its own columns are columns of the class that it is a field of
IN_FULL: Final = Sign("IN_FULL")  # sent to programs, which are sent everything, and not to the page
SENT: Final = Sign("SENT")  # of a property: it is sent, and has no numbers
# numbers that have eight digits or fewer and no text: a comparison has a million of them
ROUNDED: Final = Sign("ROUNDED")
Rounded = Annotated[float, ROUNDED]

TEXTS: Mapping[type, Callable[[Any], str]] = {datetime: datetime.isoformat}
"""What is sent as a text, of classes that are not ours."""

AS_IT_IS = frozenset({str, int, bool, type(None)})  # most of what is sent


class Part(NamedTuple):
    """One attribute of a class as it is sent."""

    name: str
    key: str
    hint: Any
    column: Column | None
    # of the numbers and intervals in it; None: that of the field that the whole value stands in
    format: Format | None
    worded: bool  # whether its numbers stand under *shown*, too
    as_it_is: bool  # whether it has no numbers but rounded ones, and nothing else but texts
    inside: bool
    on_page: bool


@cache
def parts(shape: type) -> tuple[Part, ...]:
    """What is sent of a dataclass: its fields in order, then its annotated properties."""
    fields = {field.name for field in dataclasses.fields(shape)}
    hints = {
        name: hint
        for name, hint in get_type_hints(shape, include_extras=True).items()
        if name in fields
    }
    for name, member in _members(shape).items():
        if isinstance(member, property) and "Annotated" in str(
            getattr(member.fget, "__annotations__", {}).get("return", "")
        ):
            hints[name] = get_type_hints(member.fget, include_extras=True)["return"]
    return tuple(
        _part(name, hint) for name, hint in hints.items() if HIDDEN not in _extras_of(hint)
    )


def _members(shape: type) -> dict[str, Any]:
    return {name: member for base in reversed(shape.__mro__) for name, member in vars(base).items()}


def _part(name: str, hint: Any) -> Part:
    extras = _extras_of(hint)
    column = next((one for one in extras if isinstance(one, Column)), None)
    form = column.format if column and column.format else format_in(hint)
    return Part(
        name,
        column.key if column and column.key else name,
        hint,
        column,
        form,
        form is not None and _is_number(hint),
        _is_rounded(hint),
        INSIDE in extras,
        IN_FULL not in extras,
    )


def _extras_of(hint: Any) -> tuple[Any, ...]:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def format_in(hint: Any) -> Format | None:
    """How the numbers in a field of this type are written; None where the type does not say so."""
    for one in _extras_of(hint):
        if isinstance(one, Format):
            return one
        if isinstance(one, Column) and one.format is not None:
            return one.format
    return next((found for part in get_args(hint) if (found := format_in(part))), None)


def _is_rounded(hint: Any) -> bool:
    whole = get_origin(hint) in (tuple, Union, UnionType)
    return hint in (Rounded, Ellipsis, *AS_IT_IS) or (
        whole and all(map(_is_rounded, get_args(hint)))
    )


def _is_number(hint: Any) -> bool:
    """Whether there are numbers in it besides those of other classes."""
    return hint in (int, float) or any(_is_number(part) for part in get_args(hint))


# ---------------------------------------------------------------- tables


class TableColumn(NamedTuple):
    """A column of the tables of a class, and how its cells are found."""

    path: tuple[str, ...]  # from attribute to attribute
    column: Column
    format: Format | None

    @property
    def key(self) -> str:
        """Its name in a table for programs."""
        return self.column.key or self.path[-1]

    def value(self, row: object) -> Any:
        """What *row* has there; None where it, or what it is in, is absent."""
        for name in self.path:
            row = None if row is None else getattr(row, name)
        return row

    def text(self, row: object) -> str:
        """The same for a reader; a dash for what is absent."""
        value = self.value(row)
        if value is None:
            return "–"
        if hasattr(value, "as_text"):
            return str(value.as_text(self.format))
        return str(value) if self.format is None else self.format.text(value)


@cache
def table_columns(shape: type) -> tuple[TableColumn, ...]:
    """The columns that a class says that its tables have: its own, then those of what is `INSIDE`
    it.
    """
    own, within = list[TableColumn](), list[TableColumn]()
    for part in parts(shape):
        if part.inside:
            kind = next(one for one in _classes_in(part.hint) if dataclasses.is_dataclass(one))
            within += [one._replace(path=(part.name, *one.path)) for one in table_columns(kind)]
        elif part.column is not None and part.column.title:
            own.append(TableColumn((part.name,), part.column, part.format))
    return (*own, *within)


def _classes_in(hint: Any) -> list[type]:
    inner = [one for part in get_args(hint) for one in _classes_in(part)]
    return [*([hint] if isinstance(hint, type) else []), *inner]
