"""Opening the store: a path (SQLite) or a database URL. Everything that can be wrong with it is one line.

SQLite runs in WAL mode with ``synchronous=FULL``: what was committed survives a killed process and a power
cut. A process that only reads takes no lock.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, select
from sqlalchemy.engine import make_url
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError, OperationalError, SQLAlchemyError

from independence_bench.errors import StoreError
from independence_bench.store.tables import VERSION, meta, metadata

WAIT_FOR_LOCK = 60.0  # seconds that one process waits for another one's commit

# told to SQLite's own header, so that `file` and we can tell our store from another program's database
APPLICATION_ID = 0x41494231  # "AIB1"


class Store:
    """An open store. Close it, or use it as a context manager."""

    def __init__(self, engine: Engine, shown: str) -> None:
        self.engine = engine
        self.shown = shown  # the path or URL for messages, without a password

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back."""
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one moment of the store and blocks nobody."""
        try:
            with self.engine.connect().execution_options(reading=True) as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self.failed("read", error) from error

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction: all of it is durable when the block ends, or none of it is."""
        try:
            with self.engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self.failed("written", error) from error

    def failed(self, verb: str, error: SQLAlchemyError) -> StoreError:
        """*error* as one line with a next step."""
        said = str(getattr(error, "orig", None) or error).splitlines()[0]
        steps = {
            "disk is full": "make room; what was stored before is safe",
            "readonly": "check the permissions of the file and its folder",
            "unable to open": "check that the folder exists and can be written",
            "locked": "another process has held it for over a minute; wait for it, or end it",
            "not a database": "choose another file with --store",
            "malformed": "restore it from a copy; `sqlite3 FILE .recover` may save what is in it",
        }
        step = next((step for clue, step in steps.items() if clue in said), "see what the database says")
        return StoreError(f"the store {self.shown} cannot be {verb}: {said}; {step}")


def open_store(where: str | Path, create: bool = True) -> Store:
    """The store at *where*, a path or a database URL; made if it is not there and *create* is set.

    Raises StoreError where it cannot be opened, is not a store, or is of a newer version.
    """
    address = str(where)
    if "://" in address:
        store = _from_url(address)
    else:
        path = Path(address).expanduser()
        if not create and not path.exists():
            raise StoreError(f"there is no store at {path}; `aib run` makes one, --store or AIB_STORE names one")
        if path.is_dir():
            raise StoreError(f"the store {path} is a folder; name a file in it, such as {path / 'aib.db'}")
        # not as text: a question mark in a file's name would begin the address's parameters
        url = URL.create("sqlite", database=str(path))
        store = Store(create_engine(url, connect_args={"timeout": WAIT_FOR_LOCK}), str(path))
    if store.engine.dialect.name == "sqlite":
        _prepare_sqlite(store.engine)
    try:
        _check_version(store)
    except BaseException:
        store.close()
        raise
    return store


def _from_url(address: str) -> Store:
    try:
        url = make_url(address)
        shown = url.set(query={}).render_as_string(hide_password=True)  # a query can hold a password too
        return Store(create_engine(url), shown)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValueError) as error:
        raise StoreError(
            f"the store's address is not one ({type(error).__name__}); write a path or "
            "postgresql+psycopg://user@host/name, with the driver installed"
        ) from None


def _prepare_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves
        cursor = connection.cursor()
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        # IMMEDIATE takes the write lock at once: two writers wait for each other instead of one failing
        reading = connection.get_execution_options().get("reading")
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _check_version(store: Store) -> None:
    try:
        with store.engine.connect().execution_options(reading=True) as connection:
            tables = set(inspect(connection).get_table_names())
            if "meta" in tables:
                found = connection.execute(select(meta.c.value).where(meta.c.name == "version")).scalar()
                if found is None or not str(found).isdigit():
                    raise StoreError(f"the store {store.shown} has no version; it is not one of ours, or damaged")
                if int(found) > VERSION:
                    raise StoreError(
                        f"the store {store.shown} was written by a newer aib (version {found}, this one knows "
                        f"{VERSION}); update aib, nothing was changed"
                    )
                return
            if tables:
                raise StoreError(
                    f"the store {store.shown} is a database of another program; choose another file with --store"
                )
        _create(store)
    except (DatabaseError, sqlite3.Error) as error:
        raise store.failed(
            "opened", error if isinstance(error, SQLAlchemyError) else OperationalError("", {}, error)
        ) from error


def _create(store: Store) -> None:
    if store.engine.dialect.name == "sqlite":
        with store.engine.connect() as connection:
            raw = connection.connection.dbapi_connection
            assert raw is not None  # noqa: S101 - a fresh connection has its driver's
            cursor = raw.cursor()
            cursor.execute("ROLLBACK") if getattr(raw, "in_transaction", False) else None
            _write_ahead(cursor)
            cursor.execute(f"PRAGMA application_id={APPLICATION_ID}")
            cursor.close()
    with store.engine.begin() as connection:
        metadata.create_all(connection)
        if connection.execute(select(meta.c.value).where(meta.c.name == "version")).scalar() is None:
            connection.execute(insert(meta).values(name="version", value=str(VERSION)))


def _write_ahead(cursor: DBAPICursor) -> None:
    """Turn WAL on. SQLite does not wait for another process that is doing the same, so we do."""
    until = time.monotonic() + WAIT_FOR_LOCK
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def default_store() -> str:
    """``AIB_STORE``, else aib.db in the working folder."""
    return os.environ.get("AIB_STORE") or "aib.db"
