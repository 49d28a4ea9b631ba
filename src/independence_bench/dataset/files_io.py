"""The files of an export -> their rows, unchecked; what is no row at all comes as a ValueError in its place.

Every file may be damaged, cut short or something else. Knows the two formats and nothing of what a row means.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from independence_bench.errors import WrongUse
from independence_bench.store.blobs import HELD, LARGEST_TEXT, LARGEST_TOTAL, Allowance, TooLarge

T = TypeVar("T")

BATCH = 500  # rows that are looked up and stored together, at most
FORMS = ("jsonl", "parquet")


@dataclass(frozen=True, slots=True)
class Found:
    """A row as it stands in a file: where, how many bytes it has when it is unpacked, and what it says."""

    where: str
    size: int
    value: Any  # a ValueError in the place of what is no row


def find_file(folder: Path, name: str) -> Path | None:
    """The file of the sheet called *name* in either format; None where there is none."""
    try:
        return next((file for form in FORMS if (file := folder / f"{name}.{form}").is_file()), None)
    except OSError:
        return None


def read_file(file: Path) -> Iterator[Found]:
    """Each row of *file*. Raises WrongUse where Parquet cannot be read here."""
    allowance = Allowance()
    try:
        for found in _jsonl(file) if file.suffix == ".jsonl" else _parquet(file):
            allowance.take(found.size)
            yield found
    except TooLarge as error:
        yield Found(file.name, 0, ValueError(f"cannot be read to its end: {error}"))


def _jsonl(file: Path) -> Iterator[Found]:
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(_lines(lines), 1):
                where = f"{file.name}, line {number}"
                if line is None:
                    yield Found(where, 0, ValueError(f"is longer than {LARGEST_TEXT:,} bytes"))
                elif line.strip():
                    yield Found(where, len(line), _parsed(line))
    except OSError as error:
        yield Found(file.name, 0, ValueError(f"cannot be read ({error.strerror or error})"))


def _lines(file: Any) -> Iterator[bytes | None]:
    """Line by line; None for one that is too long to be ours."""
    while line := file.readline(LARGEST_TEXT + 1):
        if len(line) <= LARGEST_TEXT:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LARGEST_TEXT)
        yield None


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8-sig"), parse_constant=_no_constant)
    except UnicodeDecodeError:
        return ValueError("is not UTF-8")
    except (ValueError, RecursionError):
        return ValueError("is not a JSON object")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _parquet(file: Path) -> Iterator[Found]:
    """Row by row. Texts that stand in a dictionary are kept there until a row is known to be of a sensible size."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise WrongUse("Parquet needs pyarrow: pip install 'ai-independence-bench[export]'") from None
    number = 0
    try:
        with parquet.ParquetFile(file) as plain:
            paths = [plain.schema.column(at).path for at in range(len(plain.schema))]
            _check_dictionaries(plain.metadata)
        with parquet.ParquetFile(file, read_dictionary=paths) as opened:
            for group in opened.iter_batches(batch_size=BATCH):
                for at, size in enumerate(_sizes(group.to_struct_array()).tolist()):
                    number += 1
                    where = f"{file.name}, row {number}"
                    if size > LARGEST_TEXT:
                        yield Found(where, 0, ValueError(f"is longer than {LARGEST_TEXT:,} bytes"))
                    else:
                        yield Found(where, int(size), group.slice(at, 1).to_pylist()[0])
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError, TooLarge, ValueError) as error:
        said = str(error).strip().partition("\n")[0][:120]
        yield Found(f"{file.name} behind row {number}", 0, ValueError(f"cannot be read ({said})"))


def _check_dictionaries(metadata: Any) -> None:
    """Raise TooLarge where one part of a column is larger than may be held at once, as its own file says."""
    for group in range(metadata.num_row_groups):
        about = metadata.row_group(group)
        for column in range(about.num_columns):
            if about.column(column).total_uncompressed_size > LARGEST_TOTAL // 4:
                raise TooLarge(LARGEST_TOTAL // 4)


def _sizes(array: Any) -> Any:
    """How many bytes each value of an Arrow *array* takes when it is unpacked, as int64 of numpy."""
    import pyarrow
    from pyarrow import compute

    kind = array.type
    sizes = np.full(len(array), 8, dtype=np.int64)
    if pyarrow.types.is_dictionary(kind):
        entries = _sizes(array.dictionary)
        places = compute.fill_null(array.indices, -1).to_numpy(zero_copy_only=False)
        sizes[places >= 0] += entries[places[places >= 0]]
    elif pyarrow.types.is_struct(kind):
        for field in array.flatten():
            sizes += _sizes(field)
    elif pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind):
        ends = np.concatenate([[0], np.cumsum(_sizes(array.values))])
        offsets = array.offsets.to_numpy()
        sizes += ends[offsets[1:]] - ends[offsets[:-1]]
    elif pyarrow.types.is_map(kind) or pyarrow.types.is_fixed_size_list(kind):
        raise ValueError(f"has a column of type {kind}, which no export has")
    elif hasattr(array, "total_values_length") or pyarrow.types.is_binary(kind) or pyarrow.types.is_string(kind):
        sizes += compute.fill_null(compute.binary_length(array), 0).to_numpy(zero_copy_only=False)
    return sizes


def in_batches(rows: Iterable[tuple[int, T]]) -> Iterator[list[T]]:
    """*rows*, each with its size in bytes, in lists of at most `BATCH` rows and about `HELD` bytes."""
    batch: list[T] = []
    held = 0
    for size, one in rows:
        batch.append(one)
        held += size
        if len(batch) == BATCH or held > HELD:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch
