"""Opening the store: a path (SQLite, `backends`) or a PostgreSQL address, whose backend is here.
Errors are one line.

A store is made when something is first written: until then it reads as one that holds nothing, and
a command that comes to nothing leaves none behind.

In PostgreSQL transactions that write take one advisory lock. Most take it shared: they go on side
by side, and what they have looked up still holds when they write because they claim those rows
(`attempts.claim`). Those that need the whole store to hold still, to change its tables or delete
from them, take it alone. Reading ones see one moment and wait for no other. Knows nothing of what
is in the tables.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, ExceptionContext, StaticPool, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, OperationalError, PendingRollbackError, SQLAlchemyError

from independence_bench.errors import NoStore, StoreError
from independence_bench.escape import KNOWN
from independence_bench.store.backends import Backend, SqliteFile, find_step
from independence_bench.store.integrity import check
from independence_bench.store.migrations import VERSION, make_tables, upgrade, version_of
from independence_bench.store.rows import Damaged, shared_time

WAIT_FOR_LOCK = 60.0  # seconds that one process waits for another one's commit

# what reading values that cannot be ends in; where nothing is wrong with the store, it is a bug and
# shown as one
OF_DAMAGE = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)


class Deadlock(StoreError):
    """Two transactions waited for each other, and this one was undone: it can be repeated."""


class Away(StoreError):
    """The database's server is gone for now, as while it is restarted."""


class Store:
    """An open store. Close it, or use it as a context manager."""

    def __init__(self, backend: Backend, typed: str = "") -> None:
        """*typed*: the command that opens it, for the record of attempts."""
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
        """Raises StoreError in the place of an error that the store's own damage explains: that is
        no fault of ours.
        """
        try:
            if isinstance(error, OF_DAMAGE) and (damage := self._damage()):
                raise StoreError(
                    f"the store {self.shown} is damaged: {damage}; restore it from a copy"
                ) from error
        finally:
            self.close()

    def _damage(self) -> str | None:
        """The first thing in the store that cannot be right; None where all is well."""
        try:
            with self.reading() as connection:
                return next(iter(check(connection)), None)
        except OF_DAMAGE as error:
            return f"{type(error).__name__} in checking it"

    def now(self, connection: Connection) -> float:
        """Seconds since 1970 on the clock that all who use the store share; else on this
        machine's.
        """
        server_time = shared_time(connection)
        return time.time() if server_time is None else server_time

    def close(self) -> None:
        """Give the file or the connections back."""
        self.engine.dispose()

    def is_there(self) -> bool:
        """Whether it is made already. Raises StoreError where something else is in its place."""
        if self._version is None:
            with self._reporting("opened"), self.backend.looked_at() as connection:
                self._version = None if connection is None else version_of(connection, self.shown)
        return self._version is not None

    @property
    def is_newest(self) -> bool:
        """Whether it is made, and of the version that this program writes."""
        return self.is_there() and self._version == VERSION

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one moment of the store and blocks no other process."""
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
        """A transaction in which no other process writes: it is durable as a whole when the block
        ends, or undone.
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
        """Like `writing`, but at the same time as others that share, where the database can do
        that.

        What a block has looked up another one may have changed by the time it writes, unless it
        locks the rows. Raises Deadlock where it was undone because two waited for each other's.
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
        """Raises StoreError, which says that the store cannot be *verb*, for errors of those
        *kinds*.
        """
        try:
            yield
        except Damaged as error:
            raise Damaged(error.error, self.shown) from None
        except kinds as error:
            raise self.failed(verb, error) from error

    def failed(self, verb: str, error: Exception) -> StoreError:
        """*error* as one line with a next step."""
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
    """The store at *where*, a path or a database URL; where there is none, *create* lets it be made
    by writing.

    *wait*: seconds to wait for another process's commit. *typed*: the command that opens it, kept
    with its attempts. Raises StoreError where it cannot be opened, is not a store, or is of a newer
    version.
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
    """The path of the file that *address* means; None: it is a database's. Raises StoreError where
    it is neither.
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
    """Where the store at *address* is: the file's path, or the database's address without user and
    password.

    Connects to nothing. Raises StoreError where it is no address.
    """
    if (path := _file_of(address)) is not None:
        path = os.path.abspath(os.path.expanduser(path))
        # another machine's share is not looked at: Windows would log in there
        return path if path.startswith("\\\\") else os.path.realpath(path)
    url = _read_address(address).set(drivername="postgresql")
    url = url.difference_update_query(
        [name for name in url.query if re.search("pass|secret", name)]
    )
    # set() takes None for what stays as it is
    return url._replace(username=None, password=None).render_as_string(hide_password=False)


def default_store() -> str:
    """``AIB_STORE``, else aib.db in the working folder."""
    return os.environ.get("AIB_STORE") or "aib.db"


DRIVER = "postgresql+psycopg"
LOCK = 0x41494231  # "AIB1": the advisory lock of whoever writes
REPEATABLE = ("40P01", "40001")  # SQLSTATE of transactions that were undone because of another one

# for libpq, unless the address says otherwise: a server that has gone is noticed within a minute
DEFAULTS = {
    "application_name": "aib",
    "client_encoding": "utf8",
    "connect_timeout": 10,  # seconds
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 4,
    "tcp_user_timeout": 60_000,  # milliseconds
}

GONE = (
    "the server has gone away or was restarted; what was stored is safe, and the same command "
    "continues from there"
)
# SQLSTATE, exact or its class -> what to do; a server says the rest in its own language
STEPS_BY_STATE = {
    "^53100": "make room on the server's disk; what was stored before is safe",
    "^53300": "end other connections, or let the server allow more",
    "^55P03": "another process has held it for too long; wait for it, or end it",
    "^25006": "the server or the user may only read; name another database with --store",
    "^42501|^3F000": "let the user create, read and write tables in this database",
    "^42P01|^42703": "it is another program's database, or damaged; choose another database with "
    "--store",
    "^08|^57P|^25P03": GONE,
}
AWAY_BY_STATE = "^08|^57P0[123]"
AWAY_BY_WORDS = (
    "refused|starting up|shutting down|closed the connection|connection (is|was) lost|connection "
    "is closed|consuming input failed|no such file"
)
# what libpq says before there is a connection, where there is no SQLSTATE
STEPS_BY_WORDS = {
    "password": "check the user and the password; PGPASSWORD or ~/.pgpass keep it out of the "
    "command line",
    "does not exist": "check the names of the user and the database; `createdb NAME` makes a "
    "database",
    r"pg_hba\.conf": "let the server's pg_hba.conf admit this user from here",
    "resolve host|name or service": "check the name of the host",
    "refused|timeout": "check the host and the port, and that the server runs",
    "no such file": "check the folder of the socket, and that the server runs",
    "too many": "end other connections, or let the server allow more",
    "starting up": "wait until the server has started",
    "shutting down": "start the server again",
    "ssl": "check the encryption that the address asks for (sslmode)",
    "connection option": "check what the address says behind its question mark",
    "closed the connection|connection (is|was) lost|connection is closed|consuming input "
    "failed": GONE,
}


class PostgresDatabase(Backend):
    """The database at *address*. *wait*: seconds to wait for another process's commit.

    Raises StoreError where the address is none or the driver is missing; does not connect.
    """

    begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

    def __init__(self, address: str, wait: float) -> None:
        url = _read_address(address)
        self.shown = url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
        limit = round(wait * 1000)
        # one round trip for all of it. A writer that falls silent is cut off, or everybody would
        # wait for it; commits are durable even where the server is configured otherwise, for what
        # was paid may not be lost
        begin = (
            f"BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {limit}; "
            f"SET LOCAL idle_in_transaction_session_timeout = {limit}; "
            "SELECT set_config('synchronous_commit', 'on', true) WHERE "
            "current_setting('synchronous_commit') = 'off'; "
        )
        self.begin_writing = f"{begin}SELECT pg_advisory_xact_lock({LOCK})"
        self.begin_sharing = f"{begin}SELECT pg_advisory_xact_lock_shared({LOCK})"
        # what the driver has to say of a connection that breaks off is in our own errors, in one
        # line
        logging.getLogger("psycopg").setLevel(logging.CRITICAL)
        settings = {name: value for name, value in DEFAULTS.items() if name not in url.query}
        settings["autocommit"] = True  # we say BEGIN ourselves
        try:
            self.engine = create_engine(
                url, connect_args=settings, pool_pre_ping=True, use_native_hstore=False
            )
        except ImportError:
            raise StoreError(
                "a store in PostgreSQL needs its driver; `pip install "
                "'ai-independence-bench[postgres]'` installs it"
            ) from None

        @event.listens_for(self.engine, "handle_error")
        def drop(context: ExceptionContext) -> None:
            # what is lost, or stuck in the midst of a command, takes no ROLLBACK: the pool would
            # print a traceback
            broken = isinstance(context.sqlalchemy_exception, OperationalError)
            if broken and not getattr(context.original_exception, "sqlstate", None):
                context.is_disconnect = True

    @contextmanager
    def looked_at(self) -> Iterator[Connection | None]:
        """A connection that finds out what the database holds."""
        with self.engine.connect().execution_options(reading=True) as connection:
            yield connection

    def make(self, fill: Callable[[Connection], None]) -> None:
        """Make the tables by *fill*, alone: whole or not at all."""
        with self.engine.begin() as connection:
            encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
            if encoding != "UTF8":
                raise StoreError(
                    f"the store {self.shown} cannot hold every character (its encoding is "
                    f"{encoding}); make a database with `createdb -E UTF8 -T template0 NAME`"
                )
            fill(connection)

    def transaction(self, connection: Connection) -> int | None:
        """As the server counts them."""
        return int(connection.exec_driver_sql("SELECT txid_current()").scalar_one())

    def is_committed(self, connection: Connection, transaction: int) -> bool | None:
        """As the server remembers."""
        status = connection.exec_driver_sql("SELECT txid_status(%s)", (transaction,)).scalar_one()
        return {"committed": True, "aborted": False}.get(status)

    def is_deadlock(self, error: BaseException) -> bool:
        """By what the server calls it."""
        return getattr(error, "sqlstate", None) in REPEATABLE

    def is_away(self, error: BaseException, message: str) -> bool:
        """By what the server calls it, else by what libpq says of one that is not there, else by
        what came before.
        """
        first, *behind = _states_of(error)
        if first:
            return re.search(AWAY_BY_STATE, first) is not None
        by_words = re.search(AWAY_BY_WORDS, message.lower())
        return by_words is not None or any(re.search(AWAY_BY_STATE, state) for state in behind)

    def step(self, error: BaseException, message: str) -> str | None:
        """By what the server calls the error, else by its words, else by what the server called
        what came before it.
        """
        first, *behind = _states_of(error)
        steps = (find_step(STEPS_BY_STATE, first), find_step(STEPS_BY_WORDS, message.lower()))
        before = (find_step(STEPS_BY_STATE, state) for state in behind if not first)
        return next((step for step in (*steps, *before) if step), None)


def _states_of(error: BaseException | None) -> Iterator[str]:
    """The SQLSTATE of *error*, "" for none, and those of what it came of, or after: the driver's
    own error may hide the server's. What it came after need not have caused it, so that is asked
    last.
    """
    before: list[BaseException] = []  # an error that is raised again may stand behind itself
    while error is not None and error not in before:
        yield str(getattr(error, "sqlstate", None) or "")
        before.append(error)
        error = error.__cause__ or error.__context__


def _read_address(address: str) -> URL:
    """*address* with our driver. Its errors never repeat it: there may be a password in any part of
    it.
    """
    KNOWN.learn_address(address)
    KNOWN.learn(os.environ.get("PGPASSWORD"))
    if address.count("@") > 1:
        raise StoreError(
            "the store's address has more than one @; write %40 for an @ inside a name or a "
            "password"
        )
    try:
        url = make_url(address).set(drivername=DRIVER)
        for password in url.normalized_query.get("password", ()):
            KNOWN.learn(password)
        return url
    except (ArgumentError, ValueError):
        raise StoreError(
            "the store's address cannot be read; write postgresql://host/database"
        ) from None
