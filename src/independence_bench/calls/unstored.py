"""Replies that arrived and could not be stored: saved in a file of their own, which the next command takes in.

A disk is full, or a database stays away. Attempts are in the store before they are sent, so what is missing of them is
how they ended: that is saved, with the bodies of the replies, and the answers are read from those anew.
"""

from __future__ import annotations

import json
import os
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, or_, select

from independence_bench.calls.call import CallLedger, EndedAttempt
from independence_bench.models.local.weights import data_folder
from independence_bench.models.messages import Usage
from independence_bench.models.redaction import KNOWN, SENT
from independence_bench.store import attempts, schema, workers
from independence_bench.store.attempts import LOST, Ended
from independence_bench.store.group_commit import Operation

PREFIX, SUFFIX = "aib-unstored-", ".jsonl"


def is_finish(operation: Operation) -> bool:
    """Whether a write of the store is how attempts ended."""
    return getattr(operation, "__func__", None) is CallLedger.finish


@dataclass(frozen=True, slots=True)
class Unstored:
    """What one process could not store."""

    owner: str
    ended: Sequence[EndedAttempt]
    now: float  # seconds since 1970

    def __str__(self) -> str:
        return f"what came of {len(self.ended)} call{'' if len(self.ended) == 1 else 's'} since"

    def save(self, store_folder: Path | None) -> Path | None:
        """Write the file, whole or not at all, to the first folder that takes it; None where none does."""
        lines = [self._line(*ended) for ended in self.ended]
        for folder in _folders(store_folder):
            path = folder / f"{PREFIX}{uuid.uuid4().hex}{SUFFIX}"
            fresh = path.with_suffix(".making")
            try:
                folder.mkdir(parents=True, exist_ok=True)
                with open(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
                    file.writelines(lines)
                    file.flush()
                    os.fsync(file.fileno())
                fresh.rename(path)
            except OSError:  # the next folder may be on another disk
                with suppress(OSError):
                    fresh.unlink()
            else:
                return path
        return None

    def _line(self, state: Any, attempt: int, ended: Ended, step: Any) -> str:
        how = asdict(ended) | {"raw": SENT.redacted_text(ended.raw), "message": KNOWN.redacted_message(ended.message)}
        saved = {"owner": self.owner, "key": state.key, "attempt": attempt, "at": self.now, "charge": step.charge}
        return json.dumps(saved | {"ended": how}) + "\n"


def take_in(connection: Connection, store_folder: Path | None) -> list[Path]:
    """Write down how the saved attempts of this store ended. Returns the files that can be deleted once that is
    durable."""
    taken = []
    for path, saved in _files(store_folder):
        # an id and an owner's name are of this store or of none: a file of another store has no line for it
        here = [line for line in saved if connection.execute(_attempt(line)).first() is not None]
        if not here:
            continue
        for line in here:
            # another process may have taken it for lost meanwhile, but it has not seen how that ended
            no_end = or_(schema.attempts.c.finished_at.is_(None), schema.attempts.c.outcome == LOST)
            if connection.execute(_attempt(line).where(no_end)).first() is not None:
                ended = Ended(**line["ended"] | {"usage": Usage(**line["ended"]["usage"])})
                attempts.end_attempts(connection, [(line["attempt"], ended)], line["at"])
                workers.settle(connection, [line["attempt"]])
                workers.spend(connection, line["owner"], line["charge"])
        taken.append(path)
    return taken


def _attempt(line: Mapping[str, Any]) -> Any:
    of = schema.attempts.c
    return select(of.id).where(of.id == line["attempt"], of.call_key == line["key"], of.owner == line["owner"])


def _folders(store_folder: Path | None) -> Iterator[Path]:
    """Where files are saved and looked for: user data, the store's folder, the system's for temporary files."""
    yield data_folder()
    if store_folder is not None:
        yield store_folder
    yield Path(tempfile.gettempdir())


def _files(store_folder: Path | None) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    """The files that this user has saved, and their lines."""
    for folder in dict.fromkeys(_folders(store_folder)):
        with suppress(OSError):
            for path in sorted(folder.glob(f"{PREFIX}*{SUFFIX}")):
                # anybody may put a file into a folder for temporary ones
                if not path.is_symlink() and (os.name == "nt" or path.stat().st_uid == os.getuid()):
                    with suppress(OSError, ValueError):
                        yield path, [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
