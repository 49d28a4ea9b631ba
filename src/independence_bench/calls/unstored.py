"""Replies that arrived and could not be stored: a disk is full, or a database stays away.

They are saved in a file, which the next command takes in. Attempts are in the store before they are
sent, so what is missing of them is how they ended: that is saved, with the bodies of the replies,
and the answers are read from those anew.
"""

from __future__ import annotations

import json
import os
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sqlalchemy import Connection, or_, select

from independence_bench.calls.executor import CallLedger, EndedAttempt
from independence_bench.escape import KNOWN, SENT
from independence_bench.models.local.files import find_data_folder
from independence_bench.models.messages import Usage
from independence_bench.store import attempts, schema, workers
from independence_bench.store.attempts import LOST, Ended
from independence_bench.store.group_commit import Operation
from independence_bench.store.rows import split_chunks

PREFIX, SUFFIX = "aib-unstored-", ".jsonl"
UNREADABLE = (ValueError, TypeError, LookupError, OverflowError)


def is_attempt_end(operation: Operation) -> bool:
    """Return whether *operation*, a write to the store, is the one that records how attempts at
    model calls ended (`CallLedger.finish_attempts`).
    """
    return getattr(operation, "__func__", None) is CallLedger.finish_attempts


@dataclass(frozen=True, slots=True)
class SavedEnd:
    """One line of a file: how an attempt of *owner* at the call *key* ended."""

    owner: str
    key: str
    attempt: int
    at: float  # seconds since 1970
    charge: float  # dollars that a budget counts for it
    ended: Ended


def make_saved_end(owner: str, finished: EndedAttempt, now: float) -> SavedEnd:
    """Return what a file keeps of an attempt that ended and could not be stored: who made it, how
    it ended and the body of its reply, without any secret that this process knows. *now*: its end,
    in seconds since 1970.
    """
    state, attempt, ended, step = finished
    ended = replace(
        ended,
        raw=SENT.redact_text(ended.raw),
        message=KNOWN.redact_secrets_and_logins(ended.message),
    )
    return SavedEnd(owner, state.key, attempt, now, step.charge, ended)


def save_attempt_ends(ends: Sequence[SavedEnd], store_folder: Path | None) -> Path | None:
    """Write *ends*, how attempts ended that could not be stored, to a new file in the first folder
    that takes it: whole or not at all. Returns the file's path; None if no folder takes it.
    """
    for folder in _list_folders(store_folder):
        path = folder / f"{PREFIX}{uuid.uuid4().hex}{SUFFIX}"
        fresh = path.with_suffix(".making")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with open(
                os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8"
            ) as file:
                file.writelines(f"{json.dumps(asdict(end))}\n" for end in ends)
                file.flush()
                os.fsync(file.fileno())
            fresh.rename(path)
        except OSError:  # the next folder may be on another disk
            with suppress(OSError):
                fresh.unlink()
        else:
            return path
    return None


def restore_attempt_ends(connection: Connection, store_folder: Path | None) -> list[Path]:
    """Record in the store how those of its attempts ended that earlier commands saved in files
    because they could not store them. Returns the files that can be deleted once the commit is
    durable.
    """
    taken = []
    for path, saved in _read_saved_files(store_folder):
        # an id and an owner's name are of this store or of none: a file of another store has no
        # line for it
        here = [
            end for ends in split_chunks(saved) for end in _select_this_store_ends(connection, ends)
        ]
        if not here:
            continue
        for end in here:
            # another process may have taken it for lost meanwhile, but it has not seen how that
            # ended
            row = schema.attempts.c
            no_end = or_(row.finished_at.is_(None), row.outcome == LOST)
            if (
                connection.execute(select(row.id).where(row.id == end.attempt, no_end)).first()
                is not None
            ):
                attempts.record_attempt_ends(connection, [(end.attempt, end.ended)], end.at)
                workers.delete_reservations(connection, [end.attempt])
                workers.record_spending(connection, end.owner, end.charge)
        taken.append(path)
    return taken


def _select_this_store_ends(connection: Connection, ends: Sequence[SavedEnd]) -> list[SavedEnd]:
    """Return those of *ends*, saved ends of attempts, whose attempt is in this store. One query
    finds them, since files of other stores may lie in the same folder for ever.
    """
    row = schema.attempts.c
    listed = select(row.id, row.call_key, row.owner).where(
        row.id.in_([end.attempt for end in ends])
    )
    held = {tuple(row) for row in connection.execute(listed)}
    return [end for end in ends if (end.attempt, end.key, end.owner) in held]


def _list_folders(store_folder: Path | None) -> Iterator[Path]:
    """Yield the folders in which ends of attempts that could not be stored are saved and looked
    for, in order: the user's data folder, the store's folder (*store_folder*, None: it has none),
    and the system's folder for temporary files.
    """
    yield find_data_folder()
    if store_folder is not None:
        yield store_folder
    yield Path(tempfile.gettempdir())


def _read_saved_files(store_folder: Path | None) -> Iterator[tuple[Path, list[SavedEnd]]]:
    """Yield each file in which this user's commands saved ends of attempts that could not be
    stored, with the ends in it. Files of other users, links, and files that cannot be read are
    passed over.
    """
    for folder in dict.fromkeys(_list_folders(store_folder)):
        with suppress(OSError):
            for path in sorted(folder.glob(f"{PREFIX}*{SUFFIX}")):
                # anybody may put a file into a folder for temporary ones
                if not path.is_symlink() and (os.name == "nt" or path.stat().st_uid == os.getuid()):
                    with suppress(OSError, *UNREADABLE):
                        yield (
                            path,
                            [
                                _read_saved_end(line)
                                for line in path.read_text(encoding="utf-8").splitlines()
                            ],
                        )


def _read_saved_end(line: str) -> SavedEnd:
    """Return how an attempt ended, from *line*, the JSON that was saved because it could not be
    stored. Raises one of UNREADABLE if the line is anything else.
    """
    saved = json.loads(line)
    ended = Ended(**saved["ended"] | {"usage": Usage(**saved["ended"]["usage"])})
    number = int(saved["attempt"]), float(saved["at"]), float(saved["charge"])
    return SavedEnd(str(saved["owner"]), str(saved["key"]), *number, ended)
