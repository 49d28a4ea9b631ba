"""Where a store is kept: what a file (SQLite) and a server's database (`database`) have in common,
and the file.

A file is in WAL mode with ``synchronous=FULL``: what was committed survives a killed process and a
power cut, and a process that only reads takes no lock. Knows nothing of what is in the tables.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Self, cast

from sqlalchemy import Connection, Engine, NullPool, Pool, QueuePool, create_engine, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from independence_bench.errors import StoreError
from independence_bench.store.staging import link_in_place, staging, take_away_leftovers


class Backend(ABC):
    """Where a store is kept. What is not abstract here is what a server's database does."""

    shown: str  # for messages, without a password
    engine: Engine
    begin_reading: str  # SQL that begins a transaction which sees one moment
    begin_writing: str  # SQL that begins a transaction in which no other process writes
    # SQL that begins one next to others like it, each of which locks the rows that it depends on
    begin_sharing: str

    def check_writable(self) -> None:  # noqa: B027 - only a file can be known to be unwritable before it is tried
        """Raise StoreError where it is known that no store can be made."""

    @abstractmethod
    def looked_at(self) -> AbstractContextManager[Connection | None]:
        """A connection that finds out what is there and changes nothing; None where nothing is."""

    @abstractmethod
    def make(self, fill: Callable[[Connection], None]) -> None:
        """Make the store with what *fill* puts into it, whole or not at all; another process may do
        the same.
        """

    @contextmanager
    def steady(self) -> Iterator[None]:
        """Raise StoreError where what was read inside the block may be two moments."""
        yield

    def is_replaced(self) -> bool:
        """Whether what was opened is no longer what is in its place: deleted, or another one."""
        return False

    def rescue(self) -> Path | None:
        """Save what was opened, after it was replaced. Returns the copy; None where that cannot be
        done.
        """
        return None

    def folder(self) -> Path | None:
        """Where its file is; None where it is none."""
        return None

    def is_deadlock(self, error: BaseException) -> bool:
        """Whether *error* undid a transaction because it and another one waited for each other: it
        can be repeated.
        """
        return False

    def is_away(self, error: BaseException, message: str) -> bool:
        """Whether *error*, which came with *message*, is that the server is gone, perhaps for a
        moment.
        """
        return False

    def transaction(self, connection: Connection) -> int | None:
        """The number of what *connection* writes, by which `is_committed` knows it; None where it
        has none.
        """
        return None

    def is_committed(self, connection: Connection, transaction: int) -> bool | None:
        """Whether *transaction* counts; None while, or where, that is not known."""
        return None

    @abstractmethod
    def step(self, error: BaseException, message: str) -> str | None:
        """What to do about *error*, which came with *message*; None where that is not known."""


def find_step(steps: Mapping[str, str], message: str) -> str | None:
    """The first of *steps*, by regular expression, that a database's *message* has; None where
    there is none.
    """
    return next((step for pattern, step in steps.items() if re.search(pattern, message)), None)


# ---------------------------------------------------------------- a file

# in SQLite's own header, so that `file` can tell our store from another program's database
APPLICATION_ID = 0x41494231  # "AIB1"

_FILE = "file"  # what file a connection has, in its record
# seconds that an empty file may be one that another process is putting its store into
WAIT_FOR_MAKER = 1.0

FILE_STEPS = {  # what SQLite says -> what to do
    "disk is full|no space left": "make room; what was stored before is safe",
    "disk i/o error": "check the disk and the room on it; what was stored before is safe",
    "readonly|permission denied": "check the permissions of the file and its folder",
    "read-only file system": "choose a file in a folder that can be written, with --store",
    "unable to open": "check that the folder exists and can be written",
    "locked": "another process has held it for too long; wait for it, or end it",
    "not a database": "choose another file with --store",
    "malformed": "half-written or damaged: restore it from a copy; `sqlite3 FILE .recover` may "
    "save what is in it",
    "no such module": "only a search needs that part of SQLite, which this Python's is without",
    "no such": "it is another program's database, or damaged; choose another file with --store",
}


# seconds that SQLite itself waits for another process: it does so in one call, in which Ctrl-C is
# not heard
TURN = 0.2
_HELD = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY_RECOVERY)


class _Cursor(sqlite3.Cursor):
    """Waits for another process turn by turn; who asks the connection itself waits one turn."""

    def execute(self, statement: str, values: Any = (), /) -> Self:
        until = None
        while True:
            try:
                return super().execute(statement, values)
            except sqlite3.OperationalError as error:
                if until is None:
                    until = time.monotonic() + cast(_Connected, self.connection).wait - TURN
                if (
                    getattr(error, "sqlite_errorcode", None) not in _HELD
                    or time.monotonic() >= until
                ):
                    raise


class _Connected(sqlite3.Connection):
    wait = 0.0  # seconds, all turns together

    def cursor(self, factory: Any = _Cursor) -> Any:
        return super().cursor(factory)


class SqliteFile(Backend):
    """The file at *address*, which need not exist. *wait*: seconds to wait for another process's
    commit.
    """

    begin_reading = "BEGIN"
    # takes the write lock at once: two writers wait instead of one failing
    begin_writing = "BEGIN IMMEDIATE"
    begin_sharing = begin_writing

    def __init__(self, address: str, wait: float) -> None:
        self.shown = address
        # links are followed here, for what SQLite puts next to a file belongs next to its target
        self.path = Path(os.path.realpath(os.path.expanduser(address)))
        self._wal = Path(f"{self.path}-wal")
        self._wait = wait
        self._read_only = not (
            _writable(self.path.parent) and (_writable(self.path) or not os.path.exists(self.path))
        )
        self.engine = self._engine(self._address, NullPool if self._read_only else QueuePool)
        self._opened: tuple[int, int] | None = None  # what file the first connection has
        event.listen(self.engine, "connect", self._remember)

    def exists(self) -> bool:
        """Whether there is a file. Raises StoreError where there is something that can be no
        store.
        """
        until = time.monotonic() + WAIT_FOR_MAKER
        try:
            while (
                (status := self.path.stat()).st_size == 0
                and stat.S_ISREG(status.st_mode)
                and time.monotonic() < until
            ):
                time.sleep(0.01)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise StoreError(
                f"the store {self.shown} cannot be opened: {error.strerror}; check its name and "
                "the permissions of its folder"
            ) from None
        if stat.S_ISDIR(status.st_mode):
            within = Path(self.shown) / "aib.db"
            raise StoreError(
                f"the store {self.shown} is a folder; name a file in it, such as {within}"
            )
        if not stat.S_ISREG(status.st_mode):
            raise StoreError(
                f"the store {self.shown} is a pipe or a device; choose a file with --store"
            )
        if status.st_size == 0:
            raise StoreError(
                f"the store {self.shown} is an empty file, as a copy that broke off leaves it; "
                "restore it, delete it, or choose another file with --store"
            )
        return True

    def check_writable(self) -> None:
        """Raise StoreError where no file can be made."""
        folder = self.path.parent
        if not folder.is_dir():
            raise StoreError(
                f"the store {self.shown} cannot be made: check that the folder exists; {folder} "
                "does not"
            )
        if self._read_only:
            raise StoreError(
                f"the store {self.shown} cannot be written; check the permissions of the file "
                "and its folder"
            )
        take_away_leftovers(self.path)

    @contextmanager
    def looked_at(self) -> Iterator[Connection | None]:
        """A connection that finds out what the file is and leaves no trace; None where there is no
        file.
        """
        if not self.exists():
            yield None
            return
        # without a -wal no process has it open, so nothing can change; else SQLite itself has to
        # find out what holds
        how = "mode=ro" if self._wal.exists() else "mode=ro&immutable=1"
        engine = self._engine(lambda: f"{self.path.as_uri()}?{how}", NullPool)
        try:
            with engine.connect() as connection:
                yield connection
        finally:
            engine.dispose()

    def make(self, fill: Callable[[Connection], None]) -> None:
        """Make the file with what *fill* puts into it: whole or not at all, and never over another
        one.
        """
        with staging(self.path) as fresh:
            engine = self._engine(lambda: f"{fresh.as_uri()}?mode=rwc", NullPool)
            try:
                with engine.begin() as connection:
                    connection.exec_driver_sql("BEGIN")
                    connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
                    fill(connection)
                with closing(self._connect(fresh.as_uri())) as raw:
                    raw.execute("PRAGMA journal_mode=WAL")
            finally:
                engine.dispose()
            # where another process was faster, its store is the one
            link_in_place(fresh, self.path)

    @contextmanager
    def steady(self) -> Iterator[None]:
        """Raise StoreError where the file changed inside the block, although it was read as one
        that does not.
        """
        if not self._read_only:
            yield
            return
        before = self._state()
        yield
        if self._state() != before:
            raise StoreError(
                f"the store {self.shown} was written to while it was read; do it again"
            )

    def is_replaced(self) -> bool:
        """Whether the file that was opened has been deleted, or another one is in its place."""
        return self._opened is not None and self._which() != self._opened

    def folder(self) -> Path | None:
        """Where the file is."""
        return self.path.parent

    def rescue(self) -> Path | None:
        """Copy what connections to the lost file still hold to a file next to it."""
        copy = self.path.with_name(f"{self.path.name}.saved-{uuid.uuid4().hex[:8]}")
        with suppress(SQLAlchemyError, sqlite3.Error, OSError), self.engine.connect() as connection:
            record = connection.connection._connection_record
            raw = connection.connection.dbapi_connection
            if (
                record is not None
                and record.info.get(_FILE) == self._opened
                and isinstance(raw, sqlite3.Connection)
            ):
                with closing(sqlite3.connect(copy)) as target:
                    raw.backup(target)
                return copy
        return None

    def _remember(self, _raw: object, record: ConnectionPoolEntry) -> None:
        record.info[_FILE] = self._which()
        self._opened = self._opened or record.info[_FILE]

    def _which(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def step(self, error: BaseException, message: str) -> str | None:
        """What to do about *error*, which came with *message*; None where that is not known."""
        if "unable to open" in message and _size(self._wal):
            return (
                f"its latest part is in {self.shown}-wal: copy both to a folder that can be "
                "written, and use those"
            )
        return find_step(FILE_STEPS, message.lower())

    def _state(self) -> tuple[float, int, int]:
        status = self.path.stat()
        return status.st_mtime_ns, status.st_size, _size(self._wal)

    def _address(self) -> str:
        """The file for SQLite: never made by opening it, and readable where nothing can be written
        next to it.
        """
        if not self._read_only:
            return f"{self.path.as_uri()}?mode=rw"
        # what may not be written cannot be locked; without a -wal, the file alone is the whole
        # store
        alone = _size(self._wal) == 0
        return f"{self.path.as_uri()}?mode=ro{'&immutable=1' if alone else ''}"

    def _engine(self, address: Callable[[], str], pool: type[Pool]) -> Engine:
        return create_engine("sqlite://", creator=lambda: self._connect(address()), poolclass=pool)

    def _connect(self, address: str) -> sqlite3.Connection:
        # isolation_level None: we say BEGIN ourselves
        turn = min(self._wait, TURN)
        raw = sqlite3.connect(
            address,
            turn,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
            factory=_Connected,
        )
        raw.wait = self._wait
        raw.cursor().execute("PRAGMA synchronous=FULL")
        raw.cursor().execute("PRAGMA foreign_keys=ON")
        return raw


def _size(path: Path) -> int:
    """Bytes; 0 for a file that is not there."""
    return path.stat().st_size if path.exists() else 0


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
