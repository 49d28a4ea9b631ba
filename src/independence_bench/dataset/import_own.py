"""Reads a folder that `aib export` wrote back into a store.

    summary = import_export(Path("results"), store)
        # summary.findings: which rows were refused and why, a line each

Every file counts as foreign. A row that is damaged, has a wrong type or does not agree with its key
is refused, counted and listed, and the other rows are imported. Rows that the store has already
stay as they are. The import is one commit.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from independence_bench.dataset.row_checks import Batch, Refused, Row, StoreLookups
from independence_bench.dataset.schema import (
    EXPORT_TABLES,
    VERSION,
    VERSION_FILE,
    ExportTable,
    is_same_row,
    load_pyarrow,
    refuse_nan_or_infinity,
)
from independence_bench.errors import WrongUse
from independence_bench.store import bulk
from independence_bench.store.blobs import HELD, LARGEST_TEXT, LARGEST_TOTAL, Allowance, TooLarge
from independence_bench.store.database import Store

T = TypeVar("T")

BATCH = 500  # rows that are looked up and stored together, at most
MOST_FINDINGS = 1000  # findings that are kept as text; all are counted
LONGEST_VERSION = 10_000  # bytes of the file that states the version
IMPORTED = tuple(table for table in EXPORT_TABLES if table.imported)


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row of a file: its place, its size in bytes when it is unpacked, and its content."""

    where: str
    size: int
    value: Any  # the row, or a ValueError if it is none


def find_table_file(folder: Path, name: str) -> Path | None:
    """Return the file of the table called *name* in *folder*, JSON Lines or else Parquet; None if
    there is neither.
    """
    try:
        return next(
            (
                file
                for form in ("jsonl", "parquet")
                if (file := folder / f"{name}.{form}").is_file()
            ),
            None,
        )
    except OSError:
        return None


def read_table_file(file: Path) -> Iterator[FoundRow]:
    """Yield each row of the export file *file* with its place and size; a row that cannot be read
    has a ValueError in place of its content. Raises WrongUse if the file is Parquet and pyarrow is
    not installed.
    """
    allowance = Allowance()
    try:
        for found in _read_jsonl(file) if file.suffix == ".jsonl" else _read_parquet(file):
            allowance.take_bytes(found.size)
            yield found
    except TooLarge as error:
        yield FoundRow(file.name, 0, ValueError(f"cannot be read to its end: {error}"))


def _read_jsonl(file: Path) -> Iterator[FoundRow]:
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(_read_bounded_lines(lines), 1):
                where = f"{file.name}, line {number}"
                if line is None:
                    yield FoundRow(where, 0, ValueError(f"is longer than {LARGEST_TEXT:,} bytes"))
                elif line.strip():
                    yield FoundRow(where, len(line), _parse_line_or_error(line))
    except OSError as error:
        yield FoundRow(file.name, 0, ValueError(f"cannot be read ({error.strerror or error})"))


def _read_bounded_lines(file: Any) -> Iterator[bytes | None]:
    """Yield each line of an open binary file; None in place of a line that is longer than
    `LARGEST_TEXT` bytes, as no export writes it.
    """
    while line := file.readline(LARGEST_TEXT + 1):
        if len(line) <= LARGEST_TEXT:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LARGEST_TEXT)
        yield None


def _parse_line_or_error(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8-sig"), parse_constant=refuse_nan_or_infinity)
    except UnicodeDecodeError:
        return ValueError("is not UTF-8")
    except (ValueError, RecursionError):
        return ValueError("is not a JSON object")


def _read_parquet(file: Path) -> Iterator[FoundRow]:
    """Yield each row of the Parquet file *file*; a row that is too large, or the end of what can be
    read, is a ValueError. Texts in a dictionary stay there until the size of their row is known to
    be sensible.
    """
    pyarrow = load_pyarrow()
    from pyarrow import parquet

    number = 0
    try:
        with parquet.ParquetFile(file) as plain:
            paths = [plain.schema.column(at).path for at in range(len(plain.schema))]
            for group in range(plain.metadata.num_row_groups):
                for column in range(len(paths)):
                    about = plain.metadata.row_group(group).column(column)
                    if about.total_uncompressed_size > LARGEST_TOTAL // 4:  # it is read as a whole
                        raise TooLarge(LARGEST_TOTAL // 4)
        with parquet.ParquetFile(file, read_dictionary=paths) as opened:
            nothing = pyarrow.RecordBatch.from_pylist([], schema=opened.schema_arrow)
            _count_bytes_per_value(nothing.to_struct_array())  # raises for types that no export has
            for group in opened.iter_batches(batch_size=BATCH):
                for at, size in enumerate(_count_bytes_per_value(group.to_struct_array()).tolist()):
                    number += 1
                    where = f"{file.name}, row {number}"
                    if size > LARGEST_TEXT:
                        yield FoundRow(
                            where, 0, ValueError(f"is longer than {LARGEST_TEXT:,} bytes")
                        )
                    else:
                        yield FoundRow(where, int(size), group.slice(at, 1).to_pylist()[0])
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError, TooLarge, ValueError) as error:
        message = str(error).strip().partition("\n")[0][:120]
        yield FoundRow(
            f"{file.name} after row {number}", 0, ValueError(f"cannot be read ({message})")
        )


def _count_bytes_per_value(array: Any) -> Any:
    """Return how many bytes each value of an Arrow *array* takes when it is unpacked, as int64 of
    numpy.

    Raises ValueError for a type that no export has, because its size is not known.
    """
    from pyarrow import binary, compute, large_binary, large_string, string, types

    kind = array.type
    sizes = np.full(len(array), 8, dtype=np.int64)
    if types.is_dictionary(kind):
        entries = _count_bytes_per_value(array.dictionary)
        places = compute.fill_null(array.indices, -1).to_numpy(zero_copy_only=False)
        sizes[places >= 0] += entries[places[places >= 0]]
    elif types.is_struct(kind):
        for field in array.flatten():
            sizes += _count_bytes_per_value(field)
    elif types.is_list(kind) or types.is_large_list(kind):
        ends = np.concatenate([[0], np.cumsum(_count_bytes_per_value(array.values))])
        offsets = array.offsets.to_numpy()
        sizes += ends[offsets[1:]] - ends[offsets[:-1]]
    elif kind in (string(), large_string(), binary(), large_binary()):
        sizes += compute.fill_null(compute.binary_length(array), 0).to_numpy(zero_copy_only=False)
    elif not (types.is_primitive(kind) or types.is_null(kind)):
        raise ValueError(f"has a column of type {kind}, which no export has")
    return sizes


def split_batches(sized_rows: Iterable[tuple[int, T]]) -> Iterator[list[T]]:
    """Yield the values of *sized_rows*, which are pairs (size in bytes, value), in lists of at most
    `BATCH` values and about `HELD` bytes.
    """
    batch: list[T] = []
    held = 0
    for size, one in sized_rows:
        batch.append(one)
        held += size
        if len(batch) == BATCH or held > HELD:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


@dataclass(slots=True)
class RowCounts:
    """How many rows of one file were added, known, in conflict or refused."""

    added: int = 0
    there: int = 0  # stored already, with the same content
    conflicts: int = 0  # stored already, with other content, which stays
    refused: int = 0


@dataclass(slots=True)
class Imported:
    """The result of an import: how many rows of each file were added or not, and why."""

    counts: dict[str, RowCounts] = field(
        default_factory=lambda: {table.name: RowCounts() for table in IMPORTED}
    )
    findings: list[str] = field(default_factory=list)  # the first ones, a line each
    found: int = 0  # number of all findings
    # transcripts played by other programs, or by a script that no protocol here has
    untraced: int = 0

    def record_finding(self, finding: str) -> None:
        """Count *finding*, a line about a refused row, and keep its text if it is among the first
        `MOST_FINDINGS`.
        """
        self.found += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)


def is_export(path: Path) -> bool:
    """Return whether *path* looks like a folder that `aib export` wrote."""
    return (
        find_table_file(path, "transcripts") is not None
        or find_table_file(path, "calls") is not None
    )


def import_export(path: Path, store: Store) -> Imported:
    """Read the export in the folder *path* into *store*, in one commit, and return how many rows
    were added and which were refused.

    Raises WrongUse if there is no export, or one of a newer version, and StoreError.
    """
    if not is_export(path):
        raise WrongUse(
            f"{path} is not a folder that `aib export` wrote: it has no transcripts.jsonl or "
            "transcripts.parquet"
        )
    version = _read_version(path / VERSION_FILE)
    summary = Imported()
    with store.open_transaction() as connection:
        stored = StoreLookups(connection)
        for table in IMPORTED:
            for rows in split_batches(_read_valid_rows_with_sizes(path, table, summary, version)):
                _check_and_store_rows(rows, Batch(stored, table, [row for _, row in rows]), summary)
    return summary


def _check_and_store_rows(rows: list[tuple[str, Row]], batch: Batch, summary: Imported) -> None:
    """Store the rows of *batch* that are true and new, and count in *summary* which were added,
    stored already, in conflict, or refused. *rows* has the same rows, each with its place in a
    file.
    """
    count, new = summary.counts[batch.table.name], []
    for where, row in rows:
        key = batch.table.identify_row(row)
        if key not in batch.existing_rows:
            try:
                new.append(batch.check_and_convert_row(row))
            except Refused as error:
                count.refused += 1
                summary.record_finding(f"{where}: {error}")
            else:
                count.added += 1
                batch.existing_rows[key] = row
        elif is_same_row(batch.table, row, batch.existing_rows[key]):
            count.there += 1
        else:
            count.conflicts += 1
            summary.record_finding(f"{where}: is already stored with other content, which is kept")
    bulk.add_rows(batch.stored.connection, batch.table.name, new)
    bulk.store_missing_requests(batch.stored.connection, batch.requests)
    summary.untraced += batch.untraced


def _read_version(file: Path) -> int:
    """Return the version of an export's layout that *file* states; 1 if the file is missing. Raises
    WrongUse if it states none, or one newer than this program knows.
    """
    try:
        with file.open("rb") as opened:
            version = json.loads(opened.read(LONGEST_VERSION))["version"]
    except FileNotFoundError:
        return 1
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        version = None
    if type(version) is not int or version < 1:
        raise WrongUse(
            f"{file} states no version; restore it, or delete it where an older aib wrote the "
            "export"
        )
    if version > VERSION:
        raise WrongUse(
            f"{file.parent} was written by a newer aib (export version {version}, this one knows "
            f"{VERSION}); update aib, nothing was imported"
        )
    return version


def _read_valid_rows_with_sizes(
    path: Path, table: ExportTable, summary: Imported, version: int
) -> Iterator[tuple[int, tuple[str, Row]]]:
    """Yield each row of *table* in the export *path* that has the right types, as (its size in
    bytes, (its place, the row)). Other rows, and a missing file, are noted in *summary*.
    """
    file = find_table_file(path, table.name)
    if file is None:
        if version >= table.since:
            summary.record_finding(f"{table.name}: there is no such file")
        return
    for found in read_table_file(file):
        try:
            if isinstance(found.value, ValueError):
                raise found.value
            yield found.size, (found.where, table.read_row(found.value))
        except ValueError as error:
            summary.counts[table.name].refused += 1
            summary.record_finding(f"{found.where}: {error}")
