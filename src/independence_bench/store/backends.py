"""The place of a store: a file (SQLite) or a server's database (PostgreSQL).

A file is in WAL mode with ``synchronous=FULL``: what was committed survives a killed process and a
power cut, and a process that only reads takes no lock.

In PostgreSQL transactions that write take one advisory lock. Most take it shared: they go on side
by side, and what they have looked up still holds when they write because they claim those rows
(`attempts.claim`). Those that need the whole store to hold still, to change its tables or delete
from them, take it alone. Reading ones see one moment and wait for no other.

Knows nothing of what is in the tables.
"""

from __future__ import annotations

import logging
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

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    ExceptionContext,
    NullPool,
    Pool,
    QueuePool,
    create_engine,
    event,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from independence_bench.errors import StoreError
from independence_bench.escape import KNOWN
from independence_bench.store.staging import (
    link_file_unless_exists,
    make_temporary_path,
    remove_leftovers,
)


class Backend(ABC):
    """The place of a store. Methods that are not abstract here do what a server's database does."""

    shown: str  # for messages, without a password
    engine: Engine
    begin_reading: str  # SQL that begins a transaction which sees one moment
    begin_writing: str  # SQL that begins a transaction in which no other process writes
    # SQL that begins one next to others like it, each of which locks the rows that it depends on
    begin_sharing: str

    def check_writable(self) -> None:  # noqa: B027 - only a file can be known to be unwritable before it is tried
        """Raise StoreError if it is known without trying that the store cannot be made or written
        at its address. A database server's store is never refused in advance.
        """

    @abstractmethod
    def open_inspection(self) -> AbstractContextManager[Connection | None]:
        """Open a connection that finds out what is at the store's address and changes nothing; the
        block gets None in place of a connection if nothing is there.
        """

    @abstractmethod
    def make_store(self, fill: Callable[[Connection], None]) -> None:
        """Make the store at its address, with the tables that *fill* makes on a connection: all of
        it or nothing. Another process may do the same at the same time.
        """

    @contextmanager
    def check_unchanged_during_reading(self) -> Iterator[None]:
        """Raise StoreError after the block if what was read inside it may come from two moments,
        because the store was changed meanwhile. A database server never lets that happen.
        """
        yield

    def is_replaced(self) -> bool:
        """Whether the store's file has been deleted or replaced by another file since it was
        opened; always False for a store on a database server.
        """
        return False

    def set_log_aside(self) -> None:  # noqa: B027 - a server keeps nothing beside a file
        """Rename what SQLite keeps beside the store's file, after that file was deleted or
        replaced. Otherwise the next connection would take it for a part of the new file, and
        damage that file. Does nothing on a server.
        """

    def rescue_copy(self) -> Path | None:
        """Save the contents of the opened store to a new file, after the store's own file was
        deleted or replaced. Returns the new file's path; None if that is impossible, as always on a
        server.
        """
        return None

    def find_folder(self) -> Path | None:
        """Return the folder that the store's file is in; None if the store is on a database
        server.
        """
        return None

    def is_deadlock(self, error: BaseException) -> bool:
        """Whether the database reported with *error* that it undid a transaction because two
        transactions waited for each other. The transaction can then be repeated.
        """
        return False

    def is_server_away(self, error: BaseException, message: str) -> bool:
        """Whether a database *error*, whose text is *message*, says that the database server is
        gone, perhaps only for a moment; always False for a store in a file.
        """
        return False

    def read_transaction_number(self, connection: Connection) -> int | None:
        """Return the number of the transaction that is open on *connection*, by which
        `is_committed` can ask for its fate later; None if the database has no such numbers.
        """
        return None

    def is_committed(self, connection: Connection, transaction: int) -> bool | None:
        """Whether the database has committed the transaction with the number *transaction*; None if
        that is not known, or not decided yet.
        """
        return None

    @abstractmethod
    def suggest_step(self, error: BaseException, message: str) -> str | None:
        """Return what the user can do about a database *error* whose text is *message*, as the last
        words of an error message; None if no advice is known.
        """


def match_step(steps: Mapping[str, str], message: str) -> str | None:
    """Return the advice that fits a database's error *message*: the first value of *steps* whose
    key, a regular expression, is found in the message; None if there is none.
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
    """Waits for another process turn by turn. A statement on the connection itself waits for one
    turn only.
    """

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
    """A store in the file at *address*, which need not exist. *wait*: seconds to wait for another
    process's commit.
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
            _is_writable(self.path.parent)
            and (_is_writable(self.path) or not os.path.exists(self.path))
        )
        self.engine = self._make_engine(
            self._make_file_uri, NullPool if self._read_only else QueuePool
        )
        self._opened: tuple[int, int] | None = None  # what file the first connection has
        self._beside_opened: dict[Path, tuple[int, int] | None] = {}  # its -wal and -shm
        event.listen(self.engine, "connect", self._record_file)

    def has_file(self) -> bool:
        """Whether a file exists at the path of the store; an empty one is given a second to be
        filled. Raises StoreError for a folder, a pipe, a device, a file that stays empty, or a path
        that cannot be looked at.
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
        """Raise StoreError if the store's file can neither be made nor written, because its folder
        is missing or permissions forbid it. Also deletes what killed processes left next to the
        file.
        """
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
        remove_leftovers(self.path)

    @contextmanager
    def open_inspection(self) -> Iterator[Connection | None]:
        """Open a connection that only reads the store's file and leaves no trace on the disk; the
        block gets None in place of a connection if there is no file.
        """
        if not self.has_file():
            yield None
            return
        # without a -wal no process has it open, so nothing can change; else SQLite itself has to
        # find out what holds
        how = "mode=ro" if self._wal.exists() else "mode=ro&immutable=1"
        engine = self._make_engine(lambda: f"{self.path.as_uri()}?{how}", NullPool)
        try:
            with engine.connect() as connection:
                yield connection
        finally:
            engine.dispose()

    def make_store(self, fill: Callable[[Connection], None]) -> None:
        """Make the store's file with the tables that *fill* makes on a connection: the whole file
        or none, and never over an existing file.
        """
        with make_temporary_path(self.path) as fresh:
            engine = self._make_engine(lambda: f"{fresh.as_uri()}?mode=rwc", NullPool)
            try:
                with engine.begin() as connection:
                    connection.exec_driver_sql("BEGIN")
                    connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
                    fill(connection)
                with closing(self._open_connection(fresh.as_uri())) as raw:
                    raw.execute("PRAGMA journal_mode=WAL")
            finally:
                engine.dispose()
            # where another process was faster, its store is the one
            link_file_unless_exists(fresh, self.path)

    @contextmanager
    def check_unchanged_during_reading(self) -> Iterator[None]:
        """Raise StoreError after the block if the store's file was changed meanwhile. Looks only at
        files that may not be written and are therefore read without a lock.
        """
        if not self._read_only:
            yield
            return
        before = self._read_time_and_sizes()
        yield
        if self._read_time_and_sizes() != before:
            raise StoreError(
                f"the store {self.shown} was written to while it was read; do it again"
            )

    def is_replaced(self) -> bool:
        """Whether the store's file that was first opened has been deleted, or replaced by another
        file.
        """
        return self._opened is not None and _identify_file(self.path) != self._opened

    def find_folder(self) -> Path | None:
        """Return the folder that the store's file is in."""
        return self.path.parent

    def set_log_aside(self) -> None:
        """Rename the -wal and -shm of the store's file that was deleted or replaced. The open
        connections go on using them, whatever their names are.
        """
        suffix = f"replaced-{uuid.uuid4().hex[:8]}"
        for path in self._find_files_beside_opened():
            aside = path.with_name(f"{path.name}.{suffix}")
            with suppress(OSError):
                path.rename(aside)
                self._beside_opened[aside] = self._beside_opened.pop(path)

    def rescue_copy(self) -> Path | None:
        """Copy the contents of the store's file that was deleted or replaced, which an open
        connection still holds, to a new file in the same folder. Returns the new file's path; None
        if that fails. Then delete what SQLite kept beside the old file, for the copy has it.
        """
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
                for path in self._find_files_beside_opened():
                    with suppress(OSError):
                        path.unlink()
                return copy
        return None

    def _find_files_beside_opened(self) -> list[Path]:
        return [
            path
            for path, identity in self._beside_opened.items()
            if identity is not None and _identify_file(path) == identity
        ]

    def _record_file(self, _raw: object, record: ConnectionPoolEntry) -> None:
        record.info[_FILE] = _identify_file(self.path)
        self._opened = self._opened or record.info[_FILE]
        if record.info[_FILE] == self._opened:
            self._beside_opened = {
                path: _identify_file(path) for path in (self._wal, Path(f"{self.path}-shm"))
            }

    def suggest_step(self, error: BaseException, message: str) -> str | None:
        """Return what the user can do about an SQLite *error* whose text is *message*, as the last
        words of an error message; None if no advice is known.
        """
        if "unable to open" in message and _count_bytes(self._wal):
            return (
                f"its latest part is in {self.shown}-wal: copy both to a folder that can be "
                "written, and use those"
            )
        return match_step(FILE_STEPS, message.lower())

    def _read_time_and_sizes(self) -> tuple[float, int, int]:
        status = self.path.stat()
        return status.st_mtime_ns, status.st_size, _count_bytes(self._wal)

    def _make_file_uri(self) -> str:
        """Return the address by which SQLite opens the store's file: for reading and writing, or
        only for reading if the file may not be written. Opening it never makes the file, and works
        even if nothing can be written next to the file.
        """
        if not self._read_only:
            return f"{self.path.as_uri()}?mode=rw"
        # what may not be written cannot be locked; without a -wal, the file alone is the whole
        # store
        alone = _count_bytes(self._wal) == 0
        return f"{self.path.as_uri()}?mode=ro{'&immutable=1' if alone else ''}"

    def _make_engine(self, make_uri: Callable[[], str], pool: type[Pool]) -> Engine:
        return create_engine(
            "sqlite://", creator=lambda: self._open_connection(make_uri()), poolclass=pool
        )

    def _open_connection(self, file_uri: str) -> sqlite3.Connection:
        # isolation_level None: we say BEGIN ourselves
        turn = min(self._wait, TURN)
        raw = sqlite3.connect(
            file_uri,
            timeout=turn,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
            factory=_Connected,
        )
        raw.wait = self._wait
        raw.cursor().execute("PRAGMA synchronous=FULL")
        raw.cursor().execute("PRAGMA foreign_keys=ON")
        return raw


def _identify_file(path: Path) -> tuple[int, int] | None:
    """Return the device and number of the file *path*; None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _count_bytes(path: Path) -> int:
    """Return the size of the file *path* in bytes; 0 if the file does not exist."""
    return path.stat().st_size if path.exists() else 0


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


# ---------------------------------------------------------------- a server's database

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
    """A store in the database at *address*. *wait*: seconds to wait for another process's commit.

    Raises StoreError if the address is not valid or the driver is missing; does not connect.
    """

    begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

    def __init__(self, address: str, wait: float) -> None:
        url = parse_postgres_address(address)
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
        def mark_disconnect(context: ExceptionContext) -> None:
            # what is lost, or stuck in the midst of a command, takes no ROLLBACK: the pool would
            # print a traceback
            broken = isinstance(context.sqlalchemy_exception, OperationalError)
            if broken and not getattr(context.original_exception, "sqlstate", None):
                context.is_disconnect = True

    @contextmanager
    def open_inspection(self) -> Iterator[Connection | None]:
        """Open a connection that only reads the PostgreSQL database, to find out whether a store is
        in it.
        """
        with self.engine.connect().execution_options(reading=True) as connection:
            yield connection

    def make_store(self, fill: Callable[[Connection], None]) -> None:
        """Make the store's tables in the PostgreSQL database by calling *fill* with a connection,
        while no other process does so: all tables or none. Raises StoreError if the database's
        encoding is not UTF-8.
        """
        with self.engine.begin() as connection:
            encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
            if encoding != "UTF8":
                raise StoreError(
                    f"the store {self.shown} cannot hold every character (its encoding is "
                    f"{encoding}); make a database with `createdb -E UTF8 -T template0 NAME`"
                )
            fill(connection)

    def read_transaction_number(self, connection: Connection) -> int | None:
        """Return the number that the PostgreSQL server has given to the transaction open on
        *connection*.
        """
        return int(connection.exec_driver_sql("SELECT txid_current()").scalar_one())

    def is_committed(self, connection: Connection, transaction: int) -> bool | None:
        """Whether the PostgreSQL server has committed the transaction with the number
        *transaction*; None if the transaction has not ended or the server no longer remembers it.
        """
        status = connection.exec_driver_sql("SELECT txid_status(%s)", (transaction,)).scalar_one()
        return {"committed": True, "aborted": False}.get(status)

    def is_deadlock(self, error: BaseException) -> bool:
        """Whether the PostgreSQL server's error code in *error* says that a transaction was undone
        because of another one, by a deadlock or a conflict, and can be repeated.
        """
        return getattr(error, "sqlstate", None) in REPEATABLE

    def is_server_away(self, error: BaseException, message: str) -> bool:
        """Whether *error* says that the PostgreSQL server is gone or cannot be reached, by its
        error code, else by the words of its text *message*, else by the codes of the errors before
        it.
        """
        first, *behind = _list_sql_states(error)
        if first:
            return re.search(AWAY_BY_STATE, first) is not None
        by_words = re.search(AWAY_BY_WORDS, message.lower())
        return by_words is not None or any(re.search(AWAY_BY_STATE, state) for state in behind)

    def suggest_step(self, error: BaseException, message: str) -> str | None:
        """Return what the user can do about a PostgreSQL *error*, as the last words of an error
        message: by its error code, else by the words of its text *message*, else by the codes of
        the errors before it. None if no advice is known.
        """
        first, *behind = _list_sql_states(error)
        steps = (match_step(STEPS_BY_STATE, first), match_step(STEPS_BY_WORDS, message.lower()))
        before = (match_step(STEPS_BY_STATE, state) for state in behind if not first)
        return next((step for step in (*steps, *before) if step), None)


def _list_sql_states(error: BaseException | None) -> Iterator[str]:
    """Yield the SQLSTATE code of a database *error*, "" if it has none, and then the codes of the
    errors that caused or preceded it, since the driver's own error may hide the server's. An
    earlier error need not be the cause, so its code comes last.
    """
    before: list[BaseException] = []  # an error that is raised again may stand behind itself
    while error is not None and error not in before:
        yield str(getattr(error, "sqlstate", None) or "")
        before.append(error)
        error = error.__cause__ or error.__context__


def parse_postgres_address(address: str) -> URL:
    """Return a PostgreSQL *address* as a URL for the driver that we use. The passwords in it are
    remembered as secrets that no output shows. Raises StoreError if the address cannot be read; the
    error does not repeat the address, since any part of it may hold a password.
    """
    KNOWN.learn_address_password(address)
    KNOWN.learn_secret(os.environ.get("PGPASSWORD"))
    if address.count("@") > 1:
        raise StoreError(
            "the store's address has more than one @; write %40 for an @ inside a name or a "
            "password"
        )
    try:
        url = make_url(address).set(drivername=DRIVER)
        for password in url.normalized_query.get("password", ()):
            KNOWN.learn_secret(password)
        return url
    except (ArgumentError, ValueError):
        raise StoreError(
            "the store's address cannot be read; write postgresql://host/database"
        ) from None
