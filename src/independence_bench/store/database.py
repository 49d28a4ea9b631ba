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
from independence_bench.store.backends import Backend, PostgresDatabase, SqliteFile, read_address
from independence_bench.store.blobs import Damaged
from independence_bench.store.integrity import check
from independence_bench.store.migrations import VERSION, make_tables, upgrade, version_of
from independence_bench.store.rows import shared_time

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
        def begin(connection: Connection) -> None:
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
            if isinstance(error, OF_DAMAGE) and (damage := self._damage()):
                raise StoreError(
                    f"the store {self.shown} is damaged: {damage}; restore it from a copy"
                ) from error
        finally:
            self.close()

    def _damage(self) -> str | None:
        """Return the first thing in the store that cannot be right; None if all is well."""
        try:
            with self.reading() as connection:
                return next(iter(check(connection)), None)
        except OF_DAMAGE as error:
            return f"{type(error).__name__} in checking it"

    def now(self, connection: Connection) -> float:
        """Return the seconds since 1970 on the server's clock, which all users of the store share;
        without a server, on this machine's clock.
        """
        server_time = shared_time(connection)
        return time.time() if server_time is None else server_time

    def close(self) -> None:
        """Release the file or the connections."""
        self.engine.dispose()

    def is_there(self) -> bool:
        """Whether the store has been made. Raises StoreError if something else is in its place."""
        if self._version is None:
            with self._reporting("opened"), self.backend.looked_at() as connection:
                self._version = None if connection is None else version_of(connection, self.shown)
        return self._version is not None

    @property
    def is_newest(self) -> bool:
        """Whether the store has been made and has the version that this program writes."""
        return self.is_there() and self._version == VERSION

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a connection that sees the store at one moment and blocks no other process."""
        engine = self.engine
        # what was not made reads as a store that holds nothing, and none is left behind
        if not self.is_there():
            engine = create_engine("sqlite://", poolclass=StaticPool)
            with engine.begin() as connection:
                make_tables(connection)
        try:
            with (
                self._reporting("read"),
                self.backend.steady(),
                engine.connect().execution_options(reading=True) as connection,
            ):
                yield connection
        finally:
            if engine is not self.engine:
                engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction in which no other process writes. It is durable as a whole when the
        block ends, or undone.
        """
        self._make()
        with self._reporting("written"):
            with self.engine.begin() as connection:
                if self._version != VERSION:
                    upgrade(connection, self.shown)
                yield connection
            self._version = VERSION

    @contextmanager
    def sharing(self) -> Iterator[Connection]:
        """Open a transaction like `open_transaction`, but at the same time as other shared ones, if
        the database can do that.

        Another process may change what a block has read before the block writes, unless the block
        locks the rows. Raises Deadlock if it was undone because two transactions waited for each
        other.
        """
        self._make()
        if self._version != VERSION:
            with self.writing():
                pass
        with (
            self._reporting("written"),
            self.engine.connect().execution_options(sharing=True) as connection,
            connection.begin(),
        ):
            yield connection

    def _make(self) -> None:
        if not self.is_there():
            with self._reporting("made", (SQLAlchemyError, sqlite3.Error, OSError)):
                self.backend.make(make_tables)
            self.is_there()  # it may be another process's, and of another version

    @contextmanager
    def _reporting(
        self, verb: str, kinds: tuple[type[Exception], ...] = (SQLAlchemyError,)
    ) -> Iterator[None]:
        """Raise StoreError, saying that the store cannot be *verb*, for errors of those *kinds*
        inside the block.
        """
        try:
            yield
        except Damaged as error:
            raise Damaged(error.error, self.shown) from None
        except kinds as error:
            raise self.failed(verb, error) from error

    def failed(self, verb: str, error: Exception) -> StoreError:
        """Make an error of one line with a next step from *error*."""
        cause = getattr(error, "orig", None) or error
        message = (cause.strerror if isinstance(cause, OSError) else None) or str(cause)
        if isinstance(cause, PendingRollbackError):  # SQLAlchemy's words for what comes after it
            message = "the connection was lost"
        message = message.strip().partition("\n")[0] or type(cause).__name__
        step = self.backend.step(cause, message) or "see what the database says"
        away = Away if self.backend.is_away(cause, message) else StoreError
        kind = Deadlock if self.backend.is_deadlock(cause) else away
        return kind(f"the store {self.shown} cannot be {verb}: {message}; {step}")


def open_store(
    where: str | Path, create: bool = True, wait: float = WAIT_FOR_LOCK, typed: str = ""
) -> Store:
    """Open the store at *where*, a path or a database URL. *create*: if there is none, it is made
    by the first write.

    *wait*: seconds to wait for another process's commit. *typed*: the command line that opens it,
    stored with its attempts. Raises StoreError if it cannot be opened, is not a store, or is of a
    newer version.
    """
    store = Store(_backend(str(where), wait), typed)
    try:
        if not store.is_there() and not create:
            raise NoStore(store.shown)
        if create:
            store.backend.check_writable()
    except BaseException:
        store.close()
        raise
    return store


def _backend(address: str, wait: float) -> Backend:
    path = _file_of(address)
    return PostgresDatabase(address, wait) if path is None else SqliteFile(path, wait)


def _file_of(address: str) -> str | None:
    """Return the path of the file that *address* means; None if it means a database. Raises
    StoreError if it is neither.
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


def place_of(address: str) -> str:
    """Return the place of the store at *address*: the file's path, or the database's address
    without user and password.

    Connects to nothing. Raises StoreError if it is not an address.
    """
    if (path := _file_of(address)) is not None:
        path = os.path.abspath(os.path.expanduser(path))
        # another machine's share is not looked at: Windows would log in there
        return path if path.startswith("\\\\") else os.path.realpath(path)
    url = read_address(address).set(drivername="postgresql")
    url = url.difference_update_query(
        [name for name in url.query if re.search("pass|secret", name)]
    )
    # set() takes None for what stays as it is
    return url._replace(username=None, password=None).render_as_string(hide_password=False)


def default_store() -> str:
    """Return ``AIB_STORE``, else aib.db in the working folder."""
    return os.environ.get("AIB_STORE") or "aib.db"
