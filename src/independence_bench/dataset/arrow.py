"""Rows of an export as Arrow: the types of its columns, and batches of its rows. Needs pyarrow (extra `export`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from independence_bench.dataset.schema import KINDS, PARTS, ExportColumn
from independence_bench.errors import WrongUse
from independence_bench.store.rows import in_chunks

ROWS_A_BATCH = 1000  # and of a group of rows in a Parquet file


def library(otherwise: str = "") -> Any:
    """The module pyarrow. Raises WrongUse where it is not installed; *otherwise* says what does without it."""
    try:
        import pyarrow
    except ImportError:
        what = "Parquet needs pyarrow" if otherwise else "tables need pyarrow"
        raise WrongUse(f"{what}: pip install 'ai-independence-bench[export]'{otherwise}") from None
    return pyarrow


def schema_of(columns: Sequence[ExportColumn]) -> Any:
    """The `pyarrow.Schema` of *columns*; what cannot be null is told so."""
    arrow = library()
    return arrow.schema([arrow.field(c.name, _type(arrow, c.kind), nullable=c.kind != c.base) for c in columns])


def batches(columns: Sequence[ExportColumn], rows: Iterable[Mapping[str, Any]]) -> Iterator[Any]:
    """*rows* as `pyarrow.RecordBatch`es of up to `ROWS_A_BATCH`; none for no rows."""
    arrow, schema = library(), schema_of(columns)
    for group in in_chunks(rows, ROWS_A_BATCH):
        plain = [{c.name: _value(c, row[c.name]) for c in columns} for row in group]
        yield arrow.RecordBatch.from_pylist(plain, schema=schema)


def table(columns: Sequence[ExportColumn], rows: Iterable[Mapping[str, Any]]) -> Any:
    """*rows* as one `pyarrow.Table`, which may be empty."""
    return library().Table.from_batches(batches(columns, rows), schema=schema_of(columns))


def _value(column: ExportColumn, value: Any) -> Any:
    return value.encode("utf-8", "surrogatepass") if column.base == "body" and value is not None else value


def _type(arrow: Any, kind: str) -> Any:
    base = kind.removesuffix(" or null")
    if base in PARTS:
        return arrow.list_(arrow.struct([(name, _type(arrow, part)) for name, part in PARTS[base].items()]))
    if base in ("keys", "texts"):
        return arrow.list_(arrow.string())
    return getattr(arrow, KINDS[base].arrow)()
