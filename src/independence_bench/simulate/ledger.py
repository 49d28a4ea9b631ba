"""What was asked of the simulated endpoint and what it charged, and the audit of it.

Knows requests by their hash only: what was said stands in no ledger. The file is JSON lines, one for each
request as it ended, each handed to the system before the next one is written.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from pydantic import ConfigDict, TypeAdapter, ValidationError

from independence_bench.errors import WrongUse, why

SHOWN = 8  # requests that an audit in words names one by one


@dataclass(frozen=True, slots=True)
class Entry:
    """One request for a completion, as it ended."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)
    number: int  # 1, 2, ... in the order of arrival
    request: str  # hash of its content but the token limit
    model: str
    times: int  # how often that request had come by then: 1, 2, ...
    at: float  # seconds from the server's start to its arrival
    fault: str  # "" where nothing went wrong
    status: int
    completed: bool  # the last byte was handed over to the connection
    answer: bool  # what was sent is a usable answer
    charged: float  # dollars
    told: float  # dollars of it that stood in what the client received
    seconds: float


@dataclass(frozen=True, slots=True)
class Audit:
    """What a ledger comes to."""

    requests: int
    distinct: int
    answered: int  # usable answers that went out to their last byte
    broken_off: int  # requests that did not get all of theirs
    charged: float
    told: float
    again: tuple[tuple[str, str, int], ...]  # (request, model, answers) of those answered more often than wanted
    wasted: float  # dollars of those surplus answers
    faults: tuple[tuple[str, int], ...]  # by name, the most frequent first


class Ledger:
    """Keeps entries, in memory and in *file* where there is one."""

    def __init__(self, file: IO[str] | None = None) -> None:
        self.entries: list[Entry] = []
        self._file = file

    def add(self, entry: Entry) -> None:
        """Write *entry* down."""
        self.entries.append(entry)
        if self._file is not None:
            self._file.write(json.dumps(asdict(entry)) + "\n")
            self._file.flush()


@contextmanager
def open_ledger(path: Path | None) -> Iterator[Ledger]:
    """A ledger whose entries are added to the file at *path*, where there is one. Raises WrongUse."""
    if path is None:
        yield Ledger()
        return
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise WrongUse(f"--ledger {path}: cannot be written ({error.strerror})") from error
    with file:
        yield Ledger(file)


def read_ledger(path: Path) -> list[Entry]:
    """The entries in the file at *path*; a last line that was torn off is left out. Raises WrongUse."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(f"{path}: cannot be read ({why(error)}); name a file that --ledger has written") from error
    entries = []
    for at, line in enumerate(lines[:-1], 1):
        try:
            entries.append(_ENTRY.validate_json(line))
        except ValidationError as error:
            raise WrongUse(
                f"{path}, line {at}: not a line of a ledger; name a file that --ledger has written"
            ) from error
    return entries


_ENTRY = TypeAdapter(Entry)


def audit(entries: Iterable[Entry], runs: int = 1) -> Audit:
    """What *entries* come to, where each request may be answered *runs* times.

    The requests of several runs are the same as long as the replies are: *runs* is how many were played.
    """
    entries = list(entries)
    answers: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.completed and entry.answer:
            answers.setdefault(entry.request, []).append(entry)
    surplus = {request: given for request, given in answers.items() if len(given) > runs}
    return Audit(
        requests=len(entries),
        distinct=len({entry.request for entry in entries}),
        answered=sum(len(given) for given in answers.values()),
        broken_off=sum(not entry.completed for entry in entries),
        charged=_dollars(entry.charged for entry in entries),
        told=_dollars(entry.told for entry in entries),
        again=tuple((request, given[0].model, len(given)) for request, given in surplus.items()),
        wasted=_dollars(entry.charged for given in surplus.values() for entry in given[runs:]),
        faults=tuple(Counter(entry.fault for entry in entries if entry.fault).most_common()),
    )


def audit_lines(audit: Audit, runs: int = 1) -> list[str]:
    """An audit in words."""
    faults = ", ".join(f"{name} {count}" for name, count in audit.faults)
    more = f"more often than {runs} times" if runs > 1 else "more than once"
    lines = [
        f"{audit.requests:,} requests, {audit.distinct:,} of them different; {audit.answered:,} answered, "
        f"{audit.broken_off:,} broken off",
        f"charged ${audit.charged:.6f}, of which the client was told ${audit.told:.6f}",
        f"faults: {faults or 'none'}",
        f"answered {more}: {len(audit.again):,} requests, ${audit.wasted:.6f}",
    ]
    lines += [f"  {request[:16]}  {model}  {count} times" for request, model, count in audit.again[:SHOWN]]
    return [*lines, f"  and {len(audit.again) - SHOWN:,} more"] if len(audit.again) > SHOWN else lines


def _dollars(amounts: Iterable[float]) -> float:
    return round(sum(amounts), 9)
