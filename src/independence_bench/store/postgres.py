"""A store in a PostgreSQL database: its address, its transactions, and what may be wrong with a server.

Transactions that write take one advisory lock. Most take it shared: they go on side by side, and what they have looked
up still holds when they write because they claim those rows (`attempts.claim`). Those that need the whole store to hold
still, to change its tables or delete from them, take it alone. Reading ones see one moment and wait for no other. Knows
nothing of what is in the tables.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import URL, Connection, create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from independence_bench.errors import StoreError
from independence_bench.escape import KNOWN
from independence_bench.store.backends import Backend, find_step

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

GONE = "the server has gone away or was restarted; what was stored is safe, and the same command continues from there"
# SQLSTATE, exact or its class -> what to do; a server says the rest in its own language
STEPS_BY_STATE = {
    "^53100": "make room on the server's disk; what was stored before is safe",
    "^53300": "end other connections, or let the server allow more",
    "^55P03": "another process has held it for too long; wait for it, or end it",
    "^25006": "the server or the user may only read; name another database with --store",
    "^42501|^3F000": "let the user create, read and write tables in this database",
    "^42P01|^42703": "it is another program's database, or damaged; choose another database with --store",
    "^08|^57P|^25P03": GONE,
}
AWAY_BY_STATE = "^08|^57P0[123]"
AWAY_BY_WORDS = (
    "refused|starting up|shutting down|closed the connection|connection (is|was) lost|connection is closed|"
    "consuming input failed|no such file"
)
# what libpq says before there is a connection, where there is no SQLSTATE
STEPS_BY_WORDS = {
    "password": "check the user and the password; PGPASSWORD or ~/.pgpass keep it out of the command line",
    "does not exist": "check the names of the user and the database; `createdb NAME` makes a database",
    r"pg_hba\.conf": "let the server's pg_hba.conf admit this user from here",
    "resolve host|name or service": "check the name of the host",
    "refused|timeout": "check the host and the port, and that the server runs",
    "no such file": "check the folder of the socket, and that the server runs",
    "too many": "end other connections, or let the server allow more",
    "starting up": "wait until the server has started",
    "shutting down": "start the server again",
    "ssl": "check the encryption that the address asks for (sslmode)",
    "connection option": "check what the address says behind its question mark",
    "closed the connection|connection (is|was) lost|connection is closed|consuming input failed": GONE,
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
        # one round trip for all of it. A writer that falls silent is cut off, or everybody would wait for it; commits
        # are durable even where the server is configured otherwise, for what was paid may not be lost
        begin = (
            f"BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {limit}; "
            f"SET LOCAL idle_in_transaction_session_timeout = {limit}; "
            "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'; "
        )
        self.begin_writing = f"{begin}SELECT pg_advisory_xact_lock({LOCK})"
        self.begin_sharing = f"{begin}SELECT pg_advisory_xact_lock_shared({LOCK})"
        # what the driver has to say of a connection that breaks off is in our own errors, in one line
        logging.getLogger("psycopg").setLevel(logging.CRITICAL)
        settings = {name: value for name, value in DEFAULTS.items() if name not in url.query}
        settings["autocommit"] = True  # we say BEGIN ourselves
        try:
            self.engine = create_engine(url, connect_args=settings, pool_pre_ping=True, use_native_hstore=False)
        except ImportError:
            raise StoreError(
                "a store in PostgreSQL needs its driver; `pip install 'ai-independence-bench[postgres]'` installs it"
            ) from None

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
                    f"the store {self.shown} cannot hold every character (its encoding is {encoding}); make a "
                    "database with `createdb -E UTF8 -T template0 NAME`"
                )
            fill(connection)

    def time(self, connection: Connection) -> float | None:
        """The server's clock: those of its clients may differ."""
        return float(connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one())

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
        """By what the server calls it, else by what libpq says of a server that is not there."""
        state = str(getattr(error, "sqlstate", None) or "")
        pattern, text = (AWAY_BY_STATE, state) if state else (AWAY_BY_WORDS, message.lower())
        return re.search(pattern, text) is not None

    def step(self, error: BaseException, message: str) -> str | None:
        """By what the server calls the error, else by its words."""
        state = str(getattr(error, "sqlstate", None) or "")
        return find_step(STEPS_BY_STATE, state) or find_step(STEPS_BY_WORDS, message.lower())


def _read_address(address: str) -> URL:
    """*address* with our driver. Its errors never repeat it: there may be a password in any part of it."""
    KNOWN.learn_address(address)
    KNOWN.learn(os.environ.get("PGPASSWORD"))
    if address.count("@") > 1:
        raise StoreError("the store's address has more than one @; write %40 for an @ inside a name or a password")
    try:
        url = make_url(address).set(drivername=DRIVER)
        for password in url.normalized_query.get("password", ()):
            KNOWN.learn(password)
        return url
    except (ArgumentError, ValueError):
        raise StoreError("the store's address cannot be read; write postgresql://host/database") from None
