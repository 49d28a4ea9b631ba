"""What differs between a store in a file and one in a server's database."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine


class Backend(ABC):
    """Where a store is kept. What is not abstract here is what a server's database does."""

    shown: str  # for messages, without a password
    engine: Engine
    begin_reading: str  # SQL that begins a transaction which sees one moment
    begin_writing: str  # SQL that begins a transaction in which nobody else writes
    begin_sharing: str  # SQL that begins one beside others like it, each of which claims the rows that it rests on

    def check_writable(self) -> None:  # noqa: B027 - only a file can be known to be unwritable before it is tried
        """Raise StoreError where it is known that no store can be made."""

    @abstractmethod
    def looked_at(self) -> AbstractContextManager[Connection | None]:
        """A connection that finds out what is there and changes nothing; None where nothing is."""

    @abstractmethod
    def make(self, fill: Callable[[Connection], None]) -> None:
        """Make the store with what *fill* puts into it, whole or not at all; another process may do the same."""

    @contextmanager
    def steady(self) -> Iterator[None]:
        """Raise StoreError where what was read inside the block may be two moments."""
        yield

    def time(self, connection: Connection) -> float | None:
        """Seconds since 1970 on the clock that all who use the store share; None where there is no such clock."""
        return None

    def is_replaced(self) -> bool:
        """Whether what was opened is no longer what is in its place: deleted, or another one."""
        return False

    def rescue(self) -> Path | None:
        """Save what was opened, after it was replaced. Returns the copy; None where that cannot be done."""
        return None

    def folder(self) -> Path | None:
        """Where its file is; None where it is none."""
        return None

    def is_deadlock(self, error: BaseException) -> bool:
        """Whether *error* undid a transaction because it and another one waited for each other: it can be repeated."""
        return False

    def is_away(self, error: BaseException, said: str) -> bool:
        """Whether *error*, which *said* something, is that the server is gone, perhaps for a moment."""
        return False

    def transaction(self, connection: Connection) -> int | None:
        """The number of what *connection* writes, by which `is_committed` knows it; None where it has none."""
        return None

    def is_committed(self, connection: Connection, transaction: int) -> bool | None:
        """Whether *transaction* counts; None while, or where, that is not known."""
        return None

    @abstractmethod
    def step(self, error: BaseException, said: str) -> str | None:
        """What to do about *error*, which *said* something; None where that is not known."""


def find_step(steps: Mapping[str, str], said: str) -> str | None:
    """The first of *steps*, by regular expression, that what a database *said* has; None where there is none."""
    return next((step for pattern, step in steps.items() if re.search(pattern, said)), None)
