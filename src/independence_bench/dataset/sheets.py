"""The files of an export -> their rows, unchecked; what is no row at all comes as a ValueError in its place.

Every file may be damaged, cut short or something else. Knows the two formats and nothing of what a row means.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from independence_bench.errors import WrongUse

T = TypeVar("T")

BATCH = 500  # rows that are looked up and stored together
LARGEST_LINE = 64 * 1024 * 1024  # bytes; the largest reply that is ever taken is 16 MB
FORMS = ("jsonl", "parquet")


def find_file(folder: Path, name: str) -> Path | None:
    """The file of the sheet called *name* in either format; None where there is none."""
    try:
        return next((file for form in FORMS if (file := folder / f"{name}.{form}").is_file()), None)
    except OSError:
        return None


def read_file(file: Path) -> Iterator[tuple[str, Any]]:
    """(where it stands, value or what is wrong) for each row. Raises WrongUse where Parquet cannot be read here."""
    return _jsonl(file) if file.suffix == ".jsonl" else _parquet(file)


def _jsonl(file: Path) -> Iterator[tuple[str, Any]]:
    """(where, value or what is wrong) for each line."""
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(_lines(lines), 1):
                where = f"{file.name}, line {number}"
                if line is None:
                    yield where, ValueError(f"is longer than {LARGEST_LINE:,} bytes")
                elif line.strip():
                    yield where, _parsed(line)
    except OSError as error:
        yield file.name, ValueError(f"cannot be read ({error.strerror or error})")


def _lines(file: Any) -> Iterator[bytes | None]:
    """Line by line; None for one that is too long to be ours."""
    while line := file.readline(LARGEST_LINE + 1):
        if len(line) <= LARGEST_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LARGEST_LINE)
        yield None


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError:
        return ValueError("is no UTF-8")
    except (ValueError, RecursionError):
        return ValueError("is no JSON object")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _parquet(file: Path) -> Iterator[tuple[str, Any]]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise WrongUse("Parquet needs pyarrow: pip install 'ai-independence-bench[export]'") from None
    number = 0
    try:
        with parquet.ParquetFile(file) as opened:
            for group in opened.iter_batches(batch_size=BATCH):
                for value in group.to_pylist():
                    number += 1
                    yield f"{file.name}, row {number}", value
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError, ValueError) as error:
        said = str(error).strip().partition("\n")[0][:120]
        yield f"{file.name} behind row {number}", ValueError(f"cannot be read ({said})")


def in_batches(rows: Iterable[T]) -> Iterator[list[T]]:
    """*rows* in lists of `BATCH`, the last one shorter."""
    batch: list[T] = []
    for one in rows:
        batch.append(one)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
