"""Reads a folder that `aib export` wrote back into a store.

    summary = import_export(Path("results"), store)     # summary.findings: what was refused and why, a line each

Every file is somebody else's: a row that is damaged, of the wrong type or says something else than its key was made
from is refused, counted and listed, and the rest comes in. What is in the store already stays as it is. All of it is
one commit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from independence_bench.dataset import cross_checks, validate
from independence_bench.dataset.convert import same, to_sheet, to_store
from independence_bench.dataset.cross_checks import Check, Row, StoreLookups, Transcripts
from independence_bench.dataset.files_io import find_file, in_batches, read_file
from independence_bench.dataset.schema import SHEETS, VERSION, VERSION_FILE, Sheet, read_row
from independence_bench.dataset.validate import Refused, need
from independence_bench.errors import WrongUse
from independence_bench.store import bulk
from independence_bench.store.database import Store

MOST_FINDINGS = 1000  # that are kept in words; all are counted
LONGEST_VERSION = 10_000  # bytes of the file that says it


@dataclass(slots=True)
class Count:
    """What became of the rows of one file."""

    added: int = 0
    there: int = 0  # were stored already, and say the same
    conflicts: int = 0  # are stored already and say something else; what is stored stays
    refused: int = 0


@dataclass(slots=True)
class Imported:
    """What an import came to."""

    counts: dict[str, Count] = field(default_factory=lambda: {s.name: Count() for s in SHEETS if s.imported})
    findings: list[str] = field(default_factory=list)  # the first of them, a line each
    found: int = 0  # all of them
    untraced: int = 0  # transcripts played by other programs, or by a script that no protocol here has

    def note(self, finding: str) -> None:
        """Write a finding down."""
        self.found += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)


def is_export(path: Path) -> bool:
    """Whether *path* looks like a folder that `aib export` wrote."""
    return find_file(path, "transcripts") is not None or find_file(path, "calls") is not None


def import_export(path: Path, store: Store) -> Imported:
    """Read the export in the folder *path* into *store*.

    Raises WrongUse where there is none, or one of a newer version, and StoreError.
    """
    if not is_export(path):
        raise WrongUse(
            f"{path} is no folder that `aib export` wrote: it has no transcripts.jsonl or transcripts.parquet"
        )
    version = _version(path / VERSION_FILE)
    summary = Imported()
    with store.writing() as connection:
        importer = _Importer(connection, summary)
        for sheet in SHEETS:
            if sheet.imported:
                for batch in in_batches(_rows(path, sheet, summary, version)):
                    importer.take(sheet, batch)
    return summary


def _version(file: Path) -> int:
    """The version of the export's layout; 1 where it does not say. Raises WrongUse for what is not known here."""
    try:
        with file.open("rb") as opened:
            version = json.loads(opened.read(LONGEST_VERSION))["version"]
    except FileNotFoundError:
        return 1
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise WrongUse(f"{file} cannot be read; restore it, or delete it where an older aib wrote the export") from None
    if type(version) is not int or version < 1:
        raise WrongUse(f"{file} says no version; restore it, or delete it where an older aib wrote the export")
    if version > VERSION:
        raise WrongUse(
            f"{file.parent} was written by a newer aib (export version {version}, this one knows {VERSION}); update "
            "aib, nothing was imported"
        )
    return version


def _rows(path: Path, sheet: Sheet, summary: Imported, version: int) -> Iterator[tuple[int, tuple[str, Row]]]:
    """Its size, where it stands, and the row, for each good row of *sheet*."""
    file = find_file(path, sheet.name)
    if file is None:
        if version >= sheet.since:
            summary.note(f"{sheet.name}: there is no such file")
        return
    for found in read_file(file):
        try:
            if isinstance(found.value, ValueError):
                raise found.value
            yield found.size, (found.where, read_row(sheet, found.value))
        except ValueError as error:
            summary.counts[sheet.name].refused += 1
            summary.note(f"{found.where}: {error}")


class _Importer:
    """Takes rows of one sheet after the other, each batch checked against what came before it."""

    def __init__(self, connection: Connection, summary: Imported) -> None:
        self.connection, self.summary, self.stored = connection, summary, StoreLookups(connection)

    def take(self, sheet: Sheet, batch: list[tuple[str, Row]]) -> None:
        """Store what is good and new of *batch*."""
        rows = [row for _, row in batch]
        transcripts = Transcripts(self.stored, rows) if sheet.name == "transcripts" else None
        new: list[Row] = []
        if sheet.name == "attempts":
            take = self._attempts(sheet, rows, new)
        else:
            take = self._keyed(sheet, rows, transcripts.check if transcripts else _check(sheet, self.stored, rows), new)
        count = self.summary.counts[sheet.name]
        for where, row in batch:
            try:
                there = take(row)
            except Refused as error:
                count.refused += 1
                self.summary.note(f"{where}: {error}")
                continue
            if there is None:
                count.added += 1
            elif same(sheet, row, there):
                count.there += 1
            else:
                count.conflicts += 1
                self.summary.note(f"{where}: is stored already with other content, which stays")
        bulk.add(self.connection, sheet.name, new)
        if transcripts:
            self.summary.untraced += transcripts.untraced
            bulk.set_requests(self.connection, transcripts.requests)

    def _keyed(self, sheet: Sheet, rows: list[Row], check: Check, new: list[Row]) -> Take:
        """For rows that have a key: what *check* makes of a new one is added to *new*."""
        stored = self._stored(sheet, rows)

        def take(row: Row) -> Row | None:
            key = _key(sheet, row)
            if key in stored:
                return stored[key]
            new.append(check(row))
            stored[key] = row
            return None

        return take

    def _stored(self, sheet: Sheet, rows: list[Row]) -> dict[tuple[Any, ...], Row]:
        """What is stored under the keys of *rows*, in the form of an export."""
        first = sheet.columns[0].name
        found = self.stored.rows(sheet.name, first, {row[first] for row in rows}, _BLOBS)
        numbers = self.stored.numbers({row["attempt_id"] for row in found if row.get("attempt_id")})
        as_exported = [to_sheet(sheet, row, {"attempt": numbers.get(row.get("attempt_id") or 0)}) for row in found]
        return {_key(sheet, row): row for row in as_exported}

    def _attempts(self, sheet: Sheet, rows: list[Row], new: list[Row]) -> Take:
        """For attempts, which have no key of their own: they are the first, second, ... at their call."""
        calls = {row["call_key"] for row in rows}
        stored: dict[str, list[Row]] = {key: [] for key in self.stored.present("calls", "key", calls)}
        stored |= self.stored.attempts_at(calls, _BLOBS)
        first = bulk.next_attempt(self.connection)

        def take(row: Row) -> Row | None:
            validate.check_attempt(row)
            need(row["call_key"] in stored, "its call is not here")
            before, number = stored[row["call_key"]], row["number"]
            if 0 < number <= len(before):
                return to_sheet(sheet, {**before[number - 1], "number": number}, {})
            need(number == len(before) + 1, f"attempt {number} comes after {len(before)}")
            made = {**to_store(sheet, row), "id": first + len(new)}
            del made["number"]
            before.append(made)
            new.append(made)
            return None

        return take


Take = Callable[[Row], Row | None]  # takes a new row, and returns None; or what is stored in its place
_BLOBS = {"files", "lines", "request", "raw"}
_ALONE: Mapping[str, Check] = {
    "protocols": validate.check_protocol,
    "subjects": validate.check_subject,
    "judges": validate.check_judge,
    "calls": validate.check_call,
}
_TOGETHER: Mapping[str, Callable[[StoreLookups, list[Row]], Check]] = {
    "begun": cross_checks.parents,
    "decisions": cross_checks.parents,
    "replies": cross_checks.replies,
    "judgements": cross_checks.judgements,
}


def _check(sheet: Sheet, stored: StoreLookups, rows: list[Row]) -> Check:
    """What makes a row for the store of one of *rows*, or refuses it."""
    return _ALONE[sheet.name] if sheet.name in _ALONE else _TOGETHER[sheet.name](stored, rows)


def _key(sheet: Sheet, row: Row) -> tuple[Any, ...]:
    return tuple(row[c.name] for c in sheet.columns) if sheet.name == "begun" else (row[sheet.columns[0].name],)
