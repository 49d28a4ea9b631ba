"""Describes the files of an export and their columns (columns.yaml), and converts rows between the
store and an export.

Writing, reading and docs/data/export.csv follow this description. The module knows no file format
except Arrow's types, which need pyarrow (extra `export`), and nothing of the store except its rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    create_model,
)

from independence_bench.errors import WrongUse
from independence_bench.hashing import write_canonical_json
from independence_bench.store.rows import split_chunks
from independence_bench.store.schema import CLEARED, IMPORTED
from independence_bench.yaml_io import load_shipped_yaml

VERSION = 3  # of columns.yaml; an export without `VERSION_FILE` is of version 1
VERSION_FILE = "export.json"
LARGEST_INTEGER = 2**63 - 1
LATEST = 253_402_300_799.0  # seconds since 1970, the end of year 9999: later ones have no date
LARGEST_NUMBER = 2.0**252

Row = Mapping[str, Any]


def refuse_nan_or_infinity(name: str) -> Any:
    """Raise ValueError for *name*, which is NaN or an infinity in JSON; Python would read it. This
    is the `parse_constant` of `json.loads`.
    """
    raise ValueError(f"{name} is not JSON")


def _check_storable(text: str) -> str:
    if _UNSTORABLE.search(text):
        raise ValueError("holds what no database can: a NUL or half a character")
    return text


_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def _read_body(value: Any) -> str:
    """Return *value*, the raw body of a request or response in an export, as text, which may hold
    half a character, as endpoints send it. Parquet has it as bytes, which are decoded. Raises
    ValueError for any other type.
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogatepass")
    if not isinstance(value, str):
        raise ValueError(f"{type(value).__name__} is not text")
    return value


def check_time(seconds: float) -> float:
    """Return the Unix time *seconds* unchanged if it has a date, from 1970 to the year 9999. Raises
    ValueError if not.
    """
    if not 0 <= seconds <= LATEST:
        raise ValueError("no date has so many seconds since 1970")
    return seconds


Text = Annotated[str, AfterValidator(_check_storable)]
Key = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
CallKey = Annotated[
    str, Field(pattern=f"^([0-9a-f]{{64}}|{CLEARED}[0-9a-f]{{{64 - len(CLEARED)}}})$")
]
Integer = Annotated[int, Field(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Number = Annotated[float, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
Time = Annotated[float, AfterValidator(check_time)]


class ValueKind(NamedTuple):
    """A kind of value: its type for pydantic, for the documentation and for Arrow."""

    type: Any  # pydantic's
    shown: str  # in the documentation
    feature: str | Mapping[str, str] = "string"  # Arrow's; for a list: of its elements, or fields
    listed: bool = False


KINDS: dict[str, ValueKind] = {
    "text": ValueKind(Text, "text"),
    "body": ValueKind(Annotated[str, PlainValidator(_read_body)], "text", "binary"),
    "key": ValueKind(Key, "hash"),
    "call": ValueKind(CallKey, "hash"),
    "integer": ValueKind(Integer, "integer", "int64"),
    "count": ValueKind(Count, "integer", "int64"),
    "number": ValueKind(Number, "number", "float64"),
    "time": ValueKind(Time, "number", "float64"),
    "flag": ValueKind(bool, "true/false", "bool"),
    "keys": ValueKind(list[Key], "list of hashes", listed=True),
    "texts": ValueKind(list[Text], "list of texts", listed=True),
}


def _make_object_type(title: str, /, **fields: tuple[Any, Any]) -> type[BaseModel]:
    """Return a strict pydantic class called *title* for objects with exactly *fields*, each given
    with its type and its default.
    """
    config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    made: type[BaseModel] = create_model(title, __config__=config, **fields)  # type: ignore[call-overload]
    return made


def _strip_null(kind: str) -> str:
    return kind.removesuffix(" or null")


def _find_pydantic_type(kind: str) -> Any:
    type_ = KINDS[_strip_null(kind)].type
    return type_ if kind == _strip_null(kind) else type_ | None


# kinds that are lists of objects, with the objects' fields
for _name, _parts in {
    "lines": {"speaker": "text", "text": "text", "notes": "text", "name": "text"},
    "files": {"path": "text", "text": "text"},
    "marks": {"mark": "text", "value": "number"},
    "options": {"reply": "text", "label": "text or null"},
    "values": {"name": "text", "value": "number or null"},
    "indices": {"run": "count", "index": "number or null"},
}.items():
    _part = _make_object_type(
        _name, **{name: (_find_pydantic_type(kind), ...) for name, kind in _parts.items()}
    )
    _shown = f"list of {{{', '.join(_parts)}}}"
    KINDS[_name] = ValueKind(list[_part], _shown, _parts, listed=True)  # type: ignore[valid-type]


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """One column. *kind* is one of `KINDS`, alone or followed by " or null"."""

    name: str
    kind: str
    says: str
    told: bool = False  # a copy from another file for the reader, which is not imported
    raw: bool = False  # is only in an export with raw bodies and requests

    @property
    def base_kind(self) -> str:
        """This column's kind of value without " or null", a key of `KINDS`."""
        return _strip_null(self.kind)

    @property
    def documented_kind(self) -> str:
        """This column's kind of value in the words of the documentation, such as "list of texts or
        null".
        """
        return self.kind.replace(self.base_kind, KINDS[self.base_kind].shown, 1)


@dataclass(frozen=True)
class ExportTable:
    """One file of an export, with a row for each thing."""

    name: str
    says: str
    columns: tuple[ExportColumn, ...]
    key: int = 1  # how many of its first columns identify a row
    imported: bool = True
    since: int = 1  # the first version of the export that has it

    def list_columns(self, raw: bool) -> tuple[ExportColumn, ...]:
        """Return the columns that this table has in an export with or without *raw* bodies."""
        return tuple(column for column in self.columns if raw or not column.raw)

    def identify_row(self, row: Row) -> tuple[Any, ...]:
        """Return the values of this table's key columns in *row*, which identify the row."""
        return tuple(row[column.name] for column in self.columns[: self.key])

    def read_row(self, given: Any) -> dict[str, Any]:
        """Return the imported columns of *given*, a row of this table in an export, after checking
        their types; a *raw* column that is absent is None. Raises ValueError, which names the wrong
        column.
        """
        try:
            row = self._row_model.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])[:60]
            problem = first["msg"].removeprefix("Value error, ")
            raise ValueError(f"{where}: {problem}" if where else problem) from None
        return row.model_dump(exclude={column.name for column in self.columns if column.told})

    @cached_property
    def _row_model(self) -> type[BaseModel]:
        types = {
            c.name: (
                Any if c.told else _find_pydantic_type(c.kind),
                None if c.told or c.raw else ...,
            )
            for c in self.columns
        }
        return _make_object_type(self.name, **types)


def _load_tables() -> Iterator[ExportTable]:
    listed = load_shipped_yaml(Path(__file__).with_name("columns.yaml").read_text(encoding="utf-8"))
    for name, about in listed.items():
        columns = tuple(
            ExportColumn(column, kind, says, told="told" in flags, raw="raw" in flags)
            for column, (kind, says, *flags) in about.pop("columns").items()
        )
        yield ExportTable(name, columns=columns, **about)


EXPORT_TABLES = tuple(_load_tables())


def render_columns() -> str:
    """Return a Markdown text for the dataset card that describes every file of an export and its
    columns.
    """
    lines: list[str] = []
    for table in EXPORT_TABLES:
        lines += [f"### {table.name}\n", f"{table.says}\n", "| column | | |", "|---|---|---|"]
        for c in table.columns:
            lines.append(f"| `{c.name}` | {c.documented_kind} | {c.says}{' *(raw)*' * c.raw} |")
        lines.append("")
    return "\n".join(lines[:-1])


# ---------------------------------------------------------------- rows of the store, and back

# kinds that the store keeps as JSON: conversion to the export's value, and back
PACKED: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "keys": (list, list),
    "files": (
        lambda files: [{"path": path, "text": text} for path, text in sorted(files.items())],
        lambda listed: {file["path"]: file["text"] for file in listed},
    ),
    "marks": (
        lambda marks: [{"mark": name, "value": float(marks[name])} for name in sorted(marks)],
        lambda listed: {mark["mark"]: mark["value"] for mark in listed},
    ),
    "options": (
        lambda options: [{"reply": reply, "label": label} for reply, label in options],
        lambda listed: [[option["reply"], option["label"]] for option in listed],
    ),
}


def make_export_row(table: ExportTable, stored: Row, looked_up_values: Row) -> dict[str, Any]:
    """Return a *stored* row of *table* as an export has it, with the table's columns;
    *looked_up_values* has the values that stand in other tables.

    The row leaves out what belongs to one machine: the holder of a lease, and the ids of attempts
    in one database.
    """
    row = {**stored, **looked_up_values}
    for column in table.columns:
        if column.base_kind in PACKED and column.name in row:
            row[column.name] = PACKED[column.base_kind][0](json.loads(row[column.name]))
        elif column.raw and column.name in row:
            row[column.name] = row[column.name] or None
    if table.name == "transcripts":
        row["system_prompt"], lines = json.loads(row["lines"])
        row["lines"] = [{part: line[part] for part in KINDS["lines"].feature} for line in lines]
    elif table.name == "attempts":
        imported = row["owner"].startswith(IMPORTED)
        row["origin"] = (row["owner"].removeprefix(IMPORTED) or None) if imported else None
    return {column.name: row[column.name] for column in table.columns if column.name in row}


def make_stored_row(table: ExportTable, row: Row) -> dict[str, Any]:
    """Return the checked export *row* of *table* in the form of the store, without the ids of
    attempts.
    """
    stored = dict(row)
    for column in table.columns:
        if column.base_kind in PACKED:
            stored[column.name] = write_canonical_json(
                PACKED[column.base_kind][1](row[column.name])
            )
        elif column.base_kind == "body":
            stored[column.name] = row[column.name] or ""
    if table.name == "transcripts":
        stored["lines"] = write_canonical_json([stored.pop("system_prompt"), row["lines"]])
    elif table.name == "attempts":
        del stored["number"]
        stored["owner"] = IMPORTED + (stored.pop("origin") or "")
    return stored


def is_same_row(table: ExportTable, one: Row, other: Row) -> bool:
    """Return whether two export rows of *table* with the same key have the same content, in the
    columns that both have.

    The time at which a protocol was played, and the origin of an attempt, do not count.
    """
    compared = [c for c in table.columns if not c.told and c.name not in ("played_at", "origin")]
    return all(
        one.get(c.name) == other.get(c.name)
        or (c.raw and (one.get(c.name) is None or other.get(c.name) is None))
        for c in compared
    )


ROWS_A_BATCH = 1000  # also the size of a row group in a Parquet file


def load_pyarrow(error_suffix: str = "") -> Any:
    """Import and return the module pyarrow. Raises WrongUse if it is not installed; *error_suffix*
    is put at the end of the message and tells how to do without.
    """
    try:
        import pyarrow
    except ImportError:
        raise WrongUse(
            "Parquet and tables need pyarrow: pip install 'ai-independence-bench[export]'"
            + error_suffix
        ) from None
    return pyarrow


def make_dataset_feature(kind: str) -> dict[str, Any]:
    """Return the type of a column of *kind* as the dataset card states it for Hugging Face. Loaders
    guess without it, and cannot guess a column that is null throughout.
    """
    known = KINDS[_strip_null(kind)]
    if not known.listed:
        return {"dtype": known.feature}
    if isinstance(known.feature, str):
        return {"list": known.feature}
    return {
        "list": [
            {"name": name, **make_dataset_feature(part)} for name, part in known.feature.items()
        ]
    }


def make_arrow_schema(columns: Sequence[ExportColumn]) -> Any:
    """Return the `pyarrow.Schema` of *columns*, in which columns without null are not nullable."""
    arrow = load_pyarrow()
    types = [
        (c.name, _make_arrow_type(arrow, make_dataset_feature(c.kind)), c.kind != c.base_kind)
        for c in columns
    ]
    return arrow.schema([arrow.field(name, type_, null) for name, type_, null in types])


def _make_arrow_type(arrow: Any, feature: Mapping[str, Any]) -> Any:
    """Return the Arrow type of a column whose type in the dataset card is given; *arrow* is the
    module pyarrow.
    """
    if "dtype" in feature:
        return arrow.type_for_alias(feature["dtype"])
    if isinstance(feature["list"], str):
        return arrow.list_(arrow.type_for_alias(feature["list"]))
    parts = [(part["name"], _make_arrow_type(arrow, part)) for part in feature["list"]]
    return arrow.list_(arrow.struct(parts))


def make_arrow_batches(columns: Sequence[ExportColumn], rows: Iterable[Row]) -> Iterator[Any]:
    """Yield *rows* as `pyarrow.RecordBatch`es with *columns*, of up to `ROWS_A_BATCH` rows each;
    none for no rows.
    """
    arrow, schema = load_pyarrow(), make_arrow_schema(columns)
    bodies = {column.name for column in columns if column.base_kind == "body"}
    for group in split_chunks(rows, ROWS_A_BATCH):
        plain = [{column.name: row[column.name] for column in columns} for row in group]
        for row in plain:
            for name in bodies:
                if row[name] is not None:
                    row[name] = row[name].encode("utf-8", "surrogatepass")
        yield arrow.RecordBatch.from_pylist(plain, schema=schema)


def make_arrow_table(columns: Sequence[ExportColumn], rows: Iterable[Row]) -> Any:
    """Return *rows* as one `pyarrow.Table` with *columns*, which may have no rows."""
    return load_pyarrow().Table.from_batches(
        make_arrow_batches(columns, rows), schema=make_arrow_schema(columns)
    )
