"""`aib import LOG.eval`: reads logs of our tasks, or of `aib export --form inspect`, back into a
store.

A log is a zip of JSON of unknown origin. The import unpacks no more than the store's bounds allow,
and checks the conversations row by row, as those of an export (`dataset.row_checks`). It does not
need Inspect. A log that is packed by zstandard, as Inspect packs it, needs the package of that
name.
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from independence_bench.dataset.import_own import Imported, import_export
from independence_bench.dataset.schema import EXPORT_TABLES, VERSION, VERSION_FILE
from independence_bench.errors import WrongUse
from independence_bench.hashing import hash_text
from independence_bench.integrations.inspect.rows import KEY
from independence_bench.integrations.inspect.samples import ROWS
from independence_bench.store.blobs import LARGEST_TEXT, Allowance, TooLarge
from independence_bench.store.database import Store

SUFFIX = ".eval"
MOST_MEMBERS = 200_000
INSTALL = "pip install 'ai-independence-bench[inspect]'"
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93  # how a member of a zip is packed
_HEADER = 30  # bytes before a member's name


class _Unreadable(ValueError):
    """A log, or a part of one, that is not as Inspect writes it."""


def is_log_or_log_folder(path: Path) -> bool:
    """Return whether *path* is a log file of Inspect (.eval), or a folder that has some in it."""
    return (path.suffix == SUFFIX and path.is_file()) or bool(_find_logs(path))


def _find_logs(folder: Path) -> list[Path]:
    return (
        sorted(path for path in folder.glob(f"*{SUFFIX}") if path.is_file())
        if folder.is_dir()
        else []
    )


def import_logs(path: Path, store: Store) -> Imported:
    """Import the Inspect log *path*, or all logs in the folder *path*, into *store* in one commit,
    and return how many rows were added and which logs and rows were refused.

    Raises WrongUse if no log has a conversation of this benchmark, and StoreError.
    """
    refused: list[str] = []
    allowance = Allowance()
    with TemporaryDirectory(prefix="aib-") as made:
        writer = _RowWriter(Path(made))
        logs = _find_logs(path) or [path]
        try:
            for log in logs:
                try:
                    _copy_log_rows(log, writer, allowance, refused)
                except (_Unreadable, zipfile.BadZipFile, OSError, TooLarge) as error:
                    refused.append(f"{log.name}: {_format_error(error)}")
        finally:
            writer.close()
        if not writer.written:
            why = refused[0] if refused else f"{path.name}: it holds no conversation"
            raise WrongUse(
                f"{why}; name a log of a task independence_bench/..., or of `aib export --form "
                "inspect`"
            )
        came = import_export(Path(made), store)
    for finding in reversed(refused):
        came.findings.insert(0, finding)
        came.found += 1
    return came


class _RowWriter:
    """Writes the files of an export row by row, and equal rows once."""

    def __init__(self, folder: Path) -> None:
        (folder / VERSION_FILE).write_text(f'{{"version": {VERSION}}}', encoding="utf-8")
        self._files: dict[str, IO[str]] = {
            table.name: (folder / f"{table.name}.jsonl").open(
                "w", encoding="utf-8", errors="backslashreplace"
            )
            for table in EXPORT_TABLES
            if table.imported
        }
        self._known: set[str] = set()
        self.written = 0  # conversations

    def add_row_once(self, table: str, row: Any) -> None:
        """Write *row* to the export file of *table*, unless an equal row was written before."""
        line = json.dumps(row, ensure_ascii=False)
        if (key := hash_text(f"{table} {line}")) not in self._known:
            self._known.add(key)
            self._files[table].write(line + "\n")
            self.written += table == "transcripts"

    def add_rows_by_table(self, rows: Any) -> None:
        """Write the rows in *rows* (table's name -> rows) to the export files of their tables.
        *rows* may be anything: unknown tables and other types are ignored.
        """
        for table in self._files:
            of = rows.get(table) if isinstance(rows, dict) else None
            for row in of if isinstance(of, list) else []:
                self.add_row_once(table, row)

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def _copy_log_rows(
    path: Path, writer: _RowWriter, allowance: Allowance, refused: list[str]
) -> None:
    """Write all rows that the Inspect log *path* has of this benchmark with *writer*; samples that
    cannot be read are listed in *refused*. *allowance* bounds the bytes that are unpacked. Raises
    the errors of a damaged file, TooLarge, and _Unreadable if it is no log of this benchmark.
    """
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        size = path.stat().st_size
        # a member that was written again: the last one counts
        members = {info.filename: info for info in archive.infolist()}
        if len(members) > MOST_MEMBERS:
            raise _Unreadable(f"it has more than {MOST_MEMBERS:,} parts")
        begin = members.get("header.json") or members.get("_journal/start.json")
        if begin is None:
            raise _Unreadable("it is not a log of Inspect")
        header = _parse_json(_unpack_member(file, begin, size, allowance))
        eval_ = _find_part(header, "eval")
        about = _find_part(_find_part(eval_, "metadata"), KEY)
        files, name, hash_ = (
            _find_part(about, "files"),
            about.get("protocol"),
            about.get("protocol_hash"),
        )
        if not files:
            raise _Unreadable("it is a log of another task")
        played = _parse_time(eval_.get("created"))
        listed = [{"path": path, "text": text} for path, text in sorted(files.items())]
        writer.add_row_once(
            "protocols", {"hash": hash_, "name": name, "files": listed, "played_at": played}
        )
        begun: dict[tuple[str, str, int], None] = {}
        subjects: dict[str, None] = {}
        for sample in _read_samples(path, file, members, size, allowance, refused):
            _add_sample_rows(sample, writer)
            if (place := _find_system_delivery_run(sample)) is not None:
                begun[place] = None
            subjects |= dict.fromkeys(
                _list_hashes(_find_part(_find_part(sample, "store"), KEY).get("subjects"))
            )
        # a run in which every conversation failed has no rows, but it was begun
        for system, delivery, run in begun:
            for subject in subjects:
                place_of = {"run": run, "system": system, "delivery": delivery}
                writer.add_row_once(
                    "begun", {"protocol_hash": hash_, "subject_hash": subject, **place_of}
                )


def _read_samples(
    path: Path,
    file: IO[bytes],
    members: Mapping[str, zipfile.ZipInfo],
    file_size: int,
    allowance: Allowance,
    refused: list[str],
) -> Iterator[Mapping[str, Any]]:
    for name, info in members.items():
        if not (name.startswith("samples/") and name.endswith(".json")):
            continue
        try:
            sample = _parse_json(_unpack_member(file, info, file_size, allowance))
        except _Unreadable as error:
            refused.append(f"{path.name}, {name[:80]}: {_format_error(error)}")
            continue
        yield sample


def _find_system_delivery_run(sample: Mapping[str, Any]) -> tuple[str, str, int] | None:
    """Return (system prompt, delivery mode, run) of an Inspect sample, whether it ended or not;
    None if the sample does not state them.
    """
    about, epoch = _find_part(sample, "metadata"), sample.get("epoch")
    system, delivery = about.get("system"), about.get("delivery")
    known = type(epoch) is int and isinstance(system, str) and isinstance(delivery, str)
    return (system, delivery, epoch) if known else None


def _add_sample_rows(sample: Mapping[str, Any], writer: _RowWriter) -> None:
    writer.add_rows_by_table(_find_part(_find_part(sample, "store"), KEY))
    for score in _find_part(sample, "scores").values():
        inside = _find_part(_find_part(score if isinstance(score, dict) else {}, "metadata"), KEY)
        writer.add_rows_by_table(_find_part(inside, ROWS))


def _list_hashes(rows: Any) -> list[str]:
    """Return the value of `hash` of each object in the list *rows*, without those that are no text;
    [] if *rows* is no list.
    """
    hashes = (
        [row.get("hash") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    )
    return [hash_ for hash_ in hashes if isinstance(hash_, str)]


def _unpack_member(
    file: IO[bytes], info: zipfile.ZipInfo, file_size: int, allowance: Allowance
) -> bytes:
    """Return the unpacked bytes of one member of a zip file. The sizes that the zip states are not
    trusted: raises TooLarge for more than `LARGEST_TEXT` bytes or more than *allowance* has left,
    _Unreadable if the member is damaged. *file_size*: bytes of the whole zip file.
    """
    if info.compress_size > file_size or info.flag_bits & 1:
        raise _Unreadable("it is damaged, or locked by a password")
    file.seek(info.header_offset)
    head = file.read(_HEADER)
    if len(head) < _HEADER or not head.startswith(b"PK\x03\x04"):
        raise _Unreadable("it is damaged")
    named, extra = struct.unpack("<HH", head[26:])
    file.seek(named + extra, 1)
    data = _inflate_data(file.read(info.compress_size), info.compress_type)
    if len(data) > LARGEST_TEXT:
        raise TooLarge(LARGEST_TEXT)
    allowance.take_bytes(len(data))
    return data


def _inflate_data(packed: bytes, how: int) -> bytes:
    """Return the bytes that were *packed* by the zip method *how* (stored, deflated or zstandard).
    Compressed data is unpacked to `LARGEST_TEXT` + 1 bytes at most. Raises _Unreadable for damaged
    data or another method, WrongUse if zstandard is not installed.
    """
    if how == _STORED:
        return packed
    if how == _DEFLATED:
        try:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, LARGEST_TEXT + 1)
        except zlib.error:
            raise _Unreadable("it is damaged") from None
    if how != _ZSTANDARD:
        raise _Unreadable("it is packed in a way that Inspect does not use")
    try:
        import zstandard
    except ImportError:
        raise WrongUse(
            f"this log is packed by zstandard, which is not installed: {INSTALL}"
        ) from None
    try:
        with zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(
            packed, read_across_frames=True
        ) as stream:
            return bytes(stream.read(LARGEST_TEXT + 1))
    except zstandard.ZstdError:
        raise _Unreadable("it is damaged") from None


def _parse_json(data: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise _Unreadable("it is not JSON") from None
    if not isinstance(value, dict):
        raise _Unreadable("it is not a JSON object")
    return value


def _find_part(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = document.get(name)
    return part if isinstance(part, dict) else {}


def _parse_time(created: Any) -> float:
    try:
        return datetime.fromisoformat(created).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        return 0.0


def _format_error(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
