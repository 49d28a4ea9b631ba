"""Opens the store, at a path or at a PostgreSQL address (`backends`). Errors are one line.

A store is made when something is first written: until then it reads as one that holds nothing, and
a command that comes to nothing leaves none behind. Knows nothing of what is in the tables.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, StaticPool, create_engine, event
from sqlalchemy.exc import PendingRollbackError, SQLAlchemyError

from independence_bench.errors import NoStore, StoreError
from independence_bench.store.backends import (
    Backend,
    PostgresDatabase,
    SqliteFile,
    parse_postgres_address,
)
from independence_bench.store.blobs import Damaged
from independence_bench.store.integrity import check_store
from independence_bench.store.migrations import VERSION, find_version, make_tables, upgrade_tables
from independence_bench.store.rows import read_server_time

WAIT_FOR_LOCK = 60.0  # seconds that one process waits for another one's commit

# what reading values that cannot be ends in; where nothing is wrong with the store, it is a bug and
# shown as one
OF_DAMAGE = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)


class Deadlock(StoreError):
    """The error for a transaction that was undone because it and another one waited for each other.
    It can be repeated.
    """


class Away(StoreError):
    """The error for a database server that is gone for now, such as during a restart."""


class Store:
    """An open store. Close it, or use it as a context manager."""

    def __init__(self, backend: Backend, typed: str = "") -> None:
        """*typed*: the command line that opens it, for the record of attempts."""
        self.backend, self.engine, self.shown = backend, backend.engine, backend.shown
        self.session, self.typed = uuid.uuid4().hex[:12], typed
        self._version: int | None = None  # None: it is not known to be there

        @event.listens_for(self.engine, "begin")
        def begin_transaction(connection: Connection) -> None:
            how = connection.get_execution_options()
            writing = backend.begin_sharing if how.get("sharing") else backend.begin_writing
            connection.exec_driver_sql(backend.begin_reading if how.get("reading") else writing)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Close the store. Raises StoreError in place of an error that the store's own damage
        explains.
        """
        try:
            if isinstance(error, OF_DAMAGE) and (damage := self._find_damage()):
                raise StoreError(
                    f"the store {self.shown} is damaged: {damage}; restore it from a copy"
                ) from error
        finally:
            self.close()

    def _find_damage(self) -> str | None:
        """Check the whole store and return the first thing in it that cannot be right, in words;
        None if nothing is wrong.
        """
        try:
            with self.open_snapshot() as connection:
                return next(iter(check_store(connection)), None)
        except OF_DAMAGE as error:
            return f"{type(error).__name__} in checking it"

    def read_time(self, connection: Connection) -> float:
        """Return the present time in seconds since 1970, on the database server's clock, which all
        users of the store share; on this machine's clock if the store is a file.
        """
        server_time = read_server_time(connection)
        return time.time() if server_time is None else server_time

    def close(self) -> None:
        """Close the store's connections to its file or to the database server."""
        self.engine.dispose()

    def is_made(self) -> bool:
        """Whether the store exists: its file, or its tables on the database server, have been made.
        Raises StoreError if something else is in its place.
        """
        if self._version is None:
            with self._report_errors("opened"), self.backend.open_inspection() as connection:
                self._version = None if connection is None else find_version(connection, self.shown)
        return self._version is not None

    @property
    def is_newest(self) -> bool:
        """Whether the store exists and its tables have the version that this program writes."""
        return self.is_made() and self._version == VERSION

    @contextmanager
    def open_snapshot(self) -> Iterator[Connection]:
        """Open a connection for a block that reads the store as it is at one moment and blocks no
        other process. A store that does not exist reads as an empty one and is not made.
        """
        engine = self.engine
        # what was not made reads as a store that holds nothing, and none is left behind
        if not self.is_made():
            engine = create_engine("sqlite://", poolclass=StaticPool)
            with engine.begin() as connection:
                make_tables(connection)
        try:
            with (
                self._report_errors("read"),
                self.backend.check_unchanged_during_reading(),
                engine.connect().execution_options(reading=True) as connection,
            ):
                yield connection
        finally:
            if engine is not self.engine:
                engine.dispose()

    @contextmanager
    def open_transaction(self) -> Iterator[Connection]:
        """Open a transaction on the store for a block in which no other process writes. What the
        block writes is durable as a whole after the block, or undone if the block raises. Makes the
        store if it does not exist, and brings the tables of an older version up to date.
        """
        self._ensure_made()
        with self._report_errors("written"):
            with self.engine.begin() as connection:
                if self._version != VERSION:
                    upgrade_tables(connection, self.shown)
                yield connection
            self._version = VERSION

    @contextmanager
    def open_shared_transaction(self) -> Iterator[Connection]:
        """Open a transaction on the store for a block that writes while other shared transactions
        write too, if the database can do that. What the block writes is durable as a whole after
        the block, or undone if the block raises. Makes or updates the store's tables first if
        needed.

        Another process may change what a block has read before the block writes, unless the block
        locks the rows. Raises Deadlock if the transaction was undone because two transactions
        waited for each other.
        """
        self._ensure_made()
        if self._version != VERSION:
            with self.open_transaction():
                pass
        with (
            self._report_errors("written"),
            self.engine.connect().execution_options(sharing=True) as connection,
            connection.begin(),
        ):
            yield connection

    def _ensure_made(self) -> None:
        if not self.is_made():
            with self._report_errors("made", (SQLAlchemyError, sqlite3.Error, OSError)):
                self.backend.make_store(make_tables)
            self.is_made()  # it may be another process's, and of another version

    @contextmanager
    def _report_errors(
        self, verb: str, kinds: tuple[type[Exception], ...] = (SQLAlchemyError,)
    ) -> Iterator[None]:
        """Turn errors of the types *kinds* inside the block into a StoreError which says that the
        store cannot be *verb*, such as "read".
        """
        try:
            yield
        except Damaged as error:
            raise Damaged(error.error, self.shown) from None
        except kinds as error:
            raise self.make_error(verb, error) from error

    def make_error(self, verb: str, error: Exception) -> StoreError:
        """Return a StoreError of one line which says that the store cannot be *verb* (such as
        "read"), why, by the database's *error*, and what the user can do. It is a Deadlock or Away
        if the error was that.
        """
        cause = getattr(error, "orig", None) or error
        message = (cause.strerror if isinstance(cause, OSError) else None) or str(cause)
        if isinstance(cause, PendingRollbackError):  # SQLAlchemy's words for what comes after it
            message = "the connection was lost"
        message = message.strip().partition("\n")[0] or type(cause).__name__
        step = self.backend.suggest_step(cause, message) or "see what the database says"
        away = Away if self.backend.is_server_away(cause, message) else StoreError
        kind = Deadlock if self.backend.is_deadlock(cause) else away
        return kind(f"the store {self.shown} cannot be {verb}: {message}; {step}")


def open_store(
    where: str | Path, create: bool = True, wait: float = WAIT_FOR_LOCK, command_line: str = ""
) -> Store:
    """Return the store at *where*, a path or a database URL, ready to be read and written. A store
    that does not exist is made by the first write if *create* is True; otherwise NoStore is raised.

    *wait*: seconds to wait for another process's commit. *command_line*: the command line that
    opens the store, stored with its attempts. Raises StoreError if the store cannot be opened, is
    of a newer version, is something other than a store, or, with *create*, cannot be written.
    """
    store = Store(_make_backend(str(where), wait), command_line)
    try:
        if not store.is_made() and not create:
            raise NoStore(store.shown)
        if create:
            store.backend.check_writable()
    except BaseException:
        store.close()
        raise
    return store


def _make_backend(address: str, wait: float) -> Backend:
    path = _find_file_path(address)
    return PostgresDatabase(address, wait) if path is None else SqliteFile(path, wait)


def _find_file_path(address: str) -> str | None:
    """Return the path of the file if *address* is that of a store in a file; None if it is that of
    a PostgreSQL database. Raises StoreError for any other address.
    """
    scheme, divided, rest = address.partition("://")
    kind = scheme.partition("+")[0]  # a driver may follow the plus
    if divided and kind in ("postgresql", "postgres"):
        return None
    if divided and kind != "sqlite":
        raise StoreError(
            "this is not the address of a store; write the path of a file, or "
            "postgresql://host/database"
        )
    # not a path: it may hold a password, so it is not repeated
    if not divided and _MISTYPED.match(address):
        raise StoreError(
            "this is not the address of a store; write postgresql://host/database, with two slashes"
        )
    path = rest.partition("?")[0].removeprefix("/") if divided else address
    if path in ("", ":memory:"):
        raise StoreError(
            "a store in memory would be lost with the command; name a file with --store"
        )
    return path


_MISTYPED = re.compile(r"\A(?:postgres|pg)[^/]*:", re.IGNORECASE)


def find_store_place(address: str) -> str:
    """Return where the store at *address* is: the absolute path of its file, or its database URL
    without user and password. Connects to nothing. Raises StoreError if the address cannot be that
    of a store.
    """
    if (path := _find_file_path(address)) is not None:
        path = os.path.abspath(os.path.expanduser(path))
        # another machine's share is not looked at: Windows would log in there
        return path if path.startswith("\\\\") else os.path.realpath(path)
    url = parse_postgres_address(address).set(drivername="postgresql")
    url = url.difference_update_query(
        [name for name in url.query if re.search("pass|secret", name)]
    )
    # set() takes None for what stays as it is
    return url._replace(username=None, password=None).render_as_string(hide_password=False)


def find_default_store() -> str:
    """Return the address of the store that is used if a user names none: the value of the
    environment variable ``AIB_STORE``, else "aib.db", a file in the working folder.
    """
    return os.environ.get("AIB_STORE") or "aib.db"
