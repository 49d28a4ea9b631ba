"""How the fields of a class are shown and sent. The class itself is the only place that says so.

    @dataclass(frozen=True, slots=True)
    class Health:
        replies: Annotated[int, Column("Replies", COUNT)]
        text: Annotated[str, HIDDEN]                      # for the program alone

        @property
        def cut_off_share(self) -> Annotated[float, Column("Cut off", SHARE, short="cut\\noff")]:
            ...

Terminal, Markdown, CSV, JSON, the page and its TypeScript types follow from the fields: a field is
sent under its name unless it is `HIDDEN`; a property is sent if its type is annotated. A field or
property whose `Column` has a title is also a column of the tables of its class. A class that is
sent as something else has a method `sent` that returns that, as its annotation says.
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
    """How a reader sees a field: its column's title, number format and meaning."""

    title: str = ""  # the head of its column; "": it is in no table
    format: Format | None = None  # how its numbers are written
    short: str = ""  # the head on a terminal, with its line breaks; "": the title, in small letters
    meaning: str = ""  # a sentence for those who ask what the column is
    # shown in the table of what the numbers are based on, not beside the numbers
    wide: bool = False
    spare: int = 0  # left out of a terminal that is too narrow, the highest first; 0: never
    key: str = ""  # its name in JSON; "": the field's name
    # a report shows it for models that have more; None: a report does not look at it
    wrong_above: float | None = None


class FieldMarker:
    """A marker in a field's annotation that is no format; compared by identity."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


HIDDEN: Final = FieldMarker("HIDDEN")  # nothing is sent of it
INSIDE: Final = FieldMarker(
    "INSIDE"
)  # its own columns are columns of the class that it is a field of
IN_FULL: Final = FieldMarker(
    "IN_FULL"
)  # sent to programs, which are sent everything, and not to the page
SENT: Final = FieldMarker("SENT")  # for a property that is sent and has no numbers
# numbers that have eight digits or fewer and no text: a comparison has a million of them
ROUNDED: Final = FieldMarker("ROUNDED")
Rounded = Annotated[float, ROUNDED]

TEXTS: Mapping[type, Callable[[Any], str]] = {datetime: datetime.isoformat}
"""What is sent as a text, of classes that are not ours."""

AS_IT_IS = frozenset({str, int, bool, type(None)})  # most of what is sent


class SentPart(NamedTuple):
    """One attribute of a class, as it is sent."""

    name: str
    key: str
    hint: Any
    column: Column | None
    # format of the numbers and intervals in it; None: the format of the field around it
    format: Format | None
    worded: bool  # whether its numbers stand under *shown*, too
    as_it_is: bool  # whether it has no numbers but rounded ones, and nothing else but texts
    inside: bool
    on_page: bool


@cache
def list_sent_parts(shape: type) -> tuple[SentPart, ...]:
    """Return a description of each attribute of the dataclass *shape* that is sent to programs and
    pages: its fields in order, then its properties with an annotated type. Attributes marked
    `HIDDEN` are left out.
    """
    fields = {field.name for field in dataclasses.fields(shape)}
    hints = {
        name: hint
        for name, hint in get_type_hints(shape, include_extras=True).items()
        if name in fields
    }
    for name, member in _collect_class_attributes(shape).items():
        if isinstance(member, property) and "Annotated" in str(
            getattr(member.fget, "__annotations__", {}).get("return", "")
        ):
            hints[name] = get_type_hints(member.fget, include_extras=True)["return"]
    return tuple(
        _make_part(name, hint)
        for name, hint in hints.items()
        if HIDDEN not in _list_annotations(hint)
    )


def _collect_class_attributes(shape: type) -> dict[str, Any]:
    """Return the attributes of a class and of its bases, by name; a subclass's own win."""
    return {name: member for base in reversed(shape.__mro__) for name, member in vars(base).items()}


def _make_part(name: str, hint: Any) -> SentPart:
    """Return the description of one sent attribute from its *name* and its annotated type *hint*:
    its key in JSON, its table column and its number format.
    """
    extras = _list_annotations(hint)
    column = next((one for one in extras if isinstance(one, Column)), None)
    form = column.format if column and column.format else find_format(hint)
    return SentPart(
        name,
        column.key if column and column.key else name,
        hint,
        column,
        form,
        form is not None and _has_numbers(hint),
        _is_rounded_or_plain(hint),
        INSIDE in extras,
        IN_FULL not in extras,
    )


def _list_annotations(hint: Any) -> tuple[Any, ...]:
    """Return the annotations of a type (all but the type itself in `Annotated`); () for a plain
    type.
    """
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def find_format(hint: Any) -> Format | None:
    """Return the number format that the annotated type *hint* names, or one of its parts does, as
    in `Points | None`; None if no format is named.
    """
    for one in _list_annotations(hint):
        if isinstance(one, Format):
            return one
        if isinstance(one, Column) and one.format is not None:
            return one.format
    return next((found for part in get_args(hint) if (found := find_format(part))), None)


def _is_rounded_or_plain(hint: Any) -> bool:
    """Whether the type *hint* holds only numbers marked as rounded, texts, ints, bools and None,
    also inside tuples and unions.
    """
    whole = get_origin(hint) in (tuple, Union, UnionType)
    return hint in (Rounded, Ellipsis, *AS_IT_IS) or (
        whole and all(map(_is_rounded_or_plain, get_args(hint)))
    )


def _has_numbers(hint: Any) -> bool:
    """Whether the type *hint* is int or float or has one of them among its arguments. Numbers
    inside other classes do not count.
    """
    return hint in (int, float) or any(_has_numbers(part) for part in get_args(hint))


# ---------------------------------------------------------------- tables


class TableColumn(NamedTuple):
    """A column of the tables of a class, and the path to its cells."""

    path: tuple[str, ...]  # attribute names, from the row down to the value
    column: Column
    format: Format | None

    @property
    def key(self) -> str:
        """The name of this column in a table for programs: the column's own key, else the
        attribute's name.
        """
        return self.column.key or self.path[-1]

    def find_value(self, row: object) -> Any:
        """Return the value that the object *row* has in this table column; None if the value, or an
        object on the way to it, is None.
        """
        for name in self.path:
            row = None if row is None else getattr(row, name)
        return row

    def format_cell(self, row: object) -> str:
        """Return the value of the object *row* in this table column as text, in the column's number
        format; a dash if the value is None.
        """
        value = self.find_value(row)
        if value is None:
            return "–"
        if hasattr(value, "as_text"):
            return str(value.as_text(self.format))
        return str(value) if self.format is None else self.format.text(value)


@cache
def list_table_columns(shape: type) -> tuple[TableColumn, ...]:
    """Return the columns that a table of objects of the class *shape* has: those of its own fields
    and properties, then the columns of its fields marked `INSIDE`.
    """
    own, within = list[TableColumn](), list[TableColumn]()
    for part in list_sent_parts(shape):
        if part.inside:
            kind = next(one for one in _find_classes(part.hint) if dataclasses.is_dataclass(one))
            within += [
                one._replace(path=(part.name, *one.path)) for one in list_table_columns(kind)
            ]
        elif part.column is not None and part.column.title:
            own.append(TableColumn((part.name,), part.column, part.format))
    return (*own, *within)


def _find_classes(hint: Any) -> list[type]:
    """Return every class that the type annotation *hint* names, outer classes before inner ones."""
    inner = [one for part in get_args(hint) for one in _find_classes(part)]
    return [*([hint] if isinstance(hint, type) else []), *inner]
