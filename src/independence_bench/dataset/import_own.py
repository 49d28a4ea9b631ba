"""Reads a folder that `aib export` wrote back into a store.

    summary = import_export(Path("results"), store)     # summary.findings: what was refused and why, a line each

Every file is somebody else's: a row that is damaged, of the wrong type or says something else than its key was made
from is refused, counted and listed, and the rest comes in. What is in the store already stays as it is. All of it is
one commit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from independence_bench.dataset.files_io import find_file, in_batches, read_file
from independence_bench.dataset.row_checks import Batch, Refused, Row, StoreLookups
from independence_bench.dataset.schema import SHEETS, VERSION, VERSION_FILE, Sheet, same
from independence_bench.errors import WrongUse
from independence_bench.store import bulk
from independence_bench.store.database import Store

MOST_FINDINGS = 1000  # that are kept in words; all are counted
LONGEST_VERSION = 10_000  # bytes of the file that says it
IMPORTED = tuple(sheet for sheet in SHEETS if sheet.imported)


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

    counts: dict[str, Count] = field(default_factory=lambda: {sheet.name: Count() for sheet in IMPORTED})
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
            f"{path} is not a folder that `aib export` wrote: it has no transcripts.jsonl or transcripts.parquet"
        )
    version = _version(path / VERSION_FILE)
    summary = Imported()
    with store.writing() as connection:
        stored = StoreLookups(connection)
        for sheet in IMPORTED:
            for rows in in_batches(_rows(path, sheet, summary, version)):
                _take(rows, Batch(stored, sheet, [row for _, row in rows]), summary)
    return summary


def _take(rows: list[tuple[str, Row]], batch: Batch, summary: Imported) -> None:
    """Store those *rows* of *batch*, each with where it stands, that are good and new."""
    sheet, connection, count = batch.sheet, batch.stored.connection, summary.counts[batch.sheet.name]
    new = []
    for where, row in rows:
        key = sheet.key_of(row)
        if key not in batch.there:
            try:
                new.append(batch.check(row))
            except Refused as error:
                count.refused += 1
                summary.note(f"{where}: {error}")
            else:
                count.added += 1
                batch.there[key] = row
        elif same(sheet, row, batch.there[key]):
            count.there += 1
        else:
            count.conflicts += 1
            summary.note(f"{where}: is already stored with other content, which is kept")
    bulk.add(connection, sheet.name, new)
    bulk.set_requests(connection, batch.requests)
    summary.untraced += batch.untraced


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
        raise WrongUse(f"{file} states no version; restore it, or delete it where an older aib wrote the export")
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
            yield found.size, (found.where, sheet.read(found.value))
        except ValueError as error:
            summary.counts[sheet.name].refused += 1
            summary.note(f"{found.where}: {error}")
