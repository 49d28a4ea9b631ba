"""The tables as they are now; `migrations` leads there from those of older versions.

Times are seconds since 1970 (UTC), costs are US dollars, blobs are zlib-compressed UTF-8.

protocols     snapshot of each protocol that was played, so that old results can be read and scored
subjects      each subject that was played, by the hash of all its settings
judges        each judge that marked, likewise
calls         one question (a reply or a judgement that has to be bought), its request, and its lease
attempts      every try at a call: written before it is sent, completed when it has ended
replies       the answer to a call of a subject, or that it has none (invalid)
transcripts   one scenario played to its end, or to the reply that was invalid
judgements    all marks of one judge on what was heard in one transcript, or that it failed
begun         runs that were begun for a protocol, beside those that have transcripts of it
commands      what each owner of attempts was: the command, as it was typed (since version 2)
prices        what an endpoint listed for a model when an owner of attempts called it (since version 2)
decisions     which subjects a person took off the boards, or kept on them, and why (since version 3)
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)

from independence_bench.errors import StoreError
from independence_bench.store.unpacking import TooLarge, inflate

IMPORTED = "import|"  # how the owner of an attempt begins that somebody else made and paid for
CLEARED = "cleared-"  # how the keys of calls begin whose answers were deleted

metadata = MetaData()


class _Checked(TypeDecorator[float]):
    """A number, or NULL. SQLite keeps whatever is written into a column: what is no number raises StoreError."""

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """*value*, which the database has in the column."""
        if value is not None and not isinstance(value, int | float | Decimal):
            raise Damaged(TypeError(f"{value!r:.40} is no number"))
        return value


class Number(_Checked):
    """Seconds, dollars: any number."""

    impl, cache_ok = Float, True


class Whole(_Checked):
    """A count or an id."""

    impl, cache_ok = Integer, True


class LargeWhole(_Checked):
    """A whole number that somebody else told: it may be any."""

    impl, cache_ok = BigInteger, True


meta = Table("meta", metadata, Column("name", String, primary_key=True), Column("value", String, nullable=False))

protocols = Table(
    "protocols",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("name", String, nullable=False),
    Column("files", LargeBinary, nullable=False),  # JSON: path -> text
    Column("played_at", Number, nullable=False),  # last
)

subjects = Table(
    "subjects",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("label", String, nullable=False),
    Column("spec", Text, nullable=False),  # JSON of ChatModel
)

judges = Table(
    "judges",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("label", String, nullable=False),
    Column("spec", Text, nullable=False),
)

calls = Table(
    "calls",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("kind", String, nullable=False),  # reply | judgement
    Column("endpoint", String, nullable=False),
    Column("model", String, nullable=False),
    Column("request", LargeBinary, nullable=False),
    Column("owner", String),  # who is at it now; NULL: nobody
    Column("lease_until", Number),
)
# of what is at work alone: an index of all that ever was would be written to twice with every call
_claimed = calls.c.owner.is_not(None)
Index("calls_by_owner", calls.c.owner, sqlite_where=_claimed, postgresql_where=_claimed)

attempts = Table(
    "attempts",
    metadata,
    Column("id", Whole, primary_key=True, autoincrement=False),
    Column("call_key", String(64), ForeignKey("calls.key"), nullable=False, index=True),
    Column("owner", String, nullable=False),  # the process that made it; IMPORTED and where it is from
    Column("started_at", Number, nullable=False),
    Column("max_tokens", LargeWhole, nullable=False),
    Column("finished_at", Number),
    Column("outcome", String),  # NULL: in flight; answered, cut off, lost, or a chat.Kind
    Column("message", Text),
    Column("status", LargeWhole),
    Column("finish_reason", String),
    Column("prompt_tokens", LargeWhole),  # a server may say any number
    Column("completion_tokens", LargeWhole),
    Column("reasoning_tokens", LargeWhole),
    Column("cached_tokens", LargeWhole),
    Column("cost", Number),
    Column("seconds", Number),
    Column("served_model", String),
    Column("served_provider", String),
    Column("response_id", String),
    Column("raw", LargeBinary),
)
_in_flight = attempts.c.finished_at.is_(None)
Index("attempts_in_flight", attempts.c.id, sqlite_where=_in_flight, postgresql_where=_in_flight)

replies = Table(
    "replies",
    metadata,
    Column("key", String(64), ForeignKey("calls.key"), primary_key=True),
    Column("attempt_id", Whole, ForeignKey("attempts.id"), nullable=False),
    Column("state", String, nullable=False),  # valid | invalid
    Column("reason", Text),  # why it is invalid
    Column("text", Text, nullable=False),
    Column("notes", Text, nullable=False),
    Column("reasoning", Text, nullable=False),
    Column("cut_off", Boolean, nullable=False),
    Column("plain_text", Boolean, nullable=False),
    Column("reasoned", Boolean, nullable=False),
    Column("stored_at", Number, nullable=False),
)

transcripts = Table(
    "transcripts",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("script_hash", String(64), nullable=False, index=True),
    Column("subject_hash", String(64), ForeignKey("subjects.hash"), nullable=False, index=True),
    Column("protocol_hash", String(64), ForeignKey("protocols.hash"), nullable=False),
    Column("run", Whole, nullable=False),
    Column("system", String, nullable=False),
    Column("delivery", String, nullable=False),
    Column("experiment", String, nullable=False),
    Column("scenario", String, nullable=False),
    Column("state", String, nullable=False),  # complete | invalid
    Column("reason", Text),
    Column("heard_hash", String(64), nullable=False, index=True),
    Column("lines", LargeBinary, nullable=False),  # JSON
    Column("reply_keys", Text, nullable=False),  # JSON, in order
    Column("replies", Whole, nullable=False),  # asked for, the invalid one included
    Column("cut_off", Whole, nullable=False),  # of those
    Column("plain_text", Whole, nullable=False),
    Column("reasoned", Whole, nullable=False),
    Column("finished_at", Number, nullable=False),
)

judgements = Table(
    "judgements",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("heard_hash", String(64), nullable=False),
    Column("rubric_hash", String(64), nullable=False),
    Column("judge_hash", String(64), ForeignKey("judges.hash"), nullable=False),
    Column("state", String, nullable=False),  # valid | failed
    Column("reason", Text),
    Column("marks", Text, nullable=False),  # JSON: mark -> number
    Column("reasoning", Text, nullable=False),
    Column("attempt_id", Whole, ForeignKey("attempts.id")),  # NULL: nothing was bought for it
    Column("stored_at", Number, nullable=False),
    Index("judgements_by_heard", "heard_hash", "rubric_hash"),
)

begun = Table(
    "begun",
    metadata,
    Column("protocol_hash", String(64), ForeignKey("protocols.hash"), primary_key=True),
    Column("subject_hash", String(64), ForeignKey("subjects.hash"), primary_key=True),
    Column("run", Whole, primary_key=True, autoincrement=False),
    Column("system", String, primary_key=True),
    Column("delivery", String, primary_key=True),
)

commands = Table(
    "commands",
    metadata,
    Column("owner", String, primary_key=True),  # as in attempts
    Column("session", String, nullable=False),  # one command may have several owners, one after the other
    Column("began_at", Number, nullable=False),
    Column("typed", Text, nullable=False),  # without secrets; "": by a program that uses the library
)

prices = Table(
    "prices",
    metadata,
    Column("owner", String, primary_key=True),
    Column("endpoint", String, primary_key=True),
    Column("model", String, primary_key=True),
    Column("prompt", Number, nullable=False),  # dollars a token
    Column("completion", Number, nullable=False),
    Column("request", Number, nullable=False),  # dollars a call
)

decisions = Table(
    "decisions",
    metadata,
    Column("subject_hash", String(64), ForeignKey("subjects.hash"), primary_key=True),
    Column("verdict", String, nullable=False),  # exclude | keep
    Column("reason", Text, nullable=False),
    Column("origin", String, nullable=False),  # command | models.yaml
    Column("decided_at", Number, nullable=False),
)


def write_rows(connection: Connection, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Carry *sql*, in which `:name` is a value, out for each of *rows*, which have plain values, blobs packed.

    Handed to the driver as it is: every call needs five such statements, and SQLAlchemy's care for each value takes
    longer than the database.
    """
    if rows:
        if connection.dialect.name == "postgresql":
            sql = re.sub(r":(\w+)", r"%(\1)s", sql)
        connection.exec_driver_sql(sql, list(rows))


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], conflict: str = "") -> None:
    """Insert *rows*, which have the same columns; *conflict*: what to do where a primary key is there already."""
    if rows:
        names, values = ", ".join(rows[0]), ", ".join(f":{name}" for name in rows[0])
        sql = f"INSERT INTO {table.name} ({names}) VALUES ({values}) {conflict}"  # noqa: S608 - names of columns
        write_rows(connection, sql, rows)


def insert_once(connection: Connection, table: Table, row: Mapping[str, Any]) -> None:
    """Insert *row* unless its primary key is there already."""
    insert_rows(connection, table, [row], "ON CONFLICT DO NOTHING")


def insert_over(connection: Connection, table: Table, state: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert *rows*; where a primary key is there already, its row gives way only if it is in *state*."""
    (key,) = table.primary_key.columns
    changed = ", ".join(f"{column.name} = excluded.{column.name}" for column in table.c if column is not key)
    given_way = f"ON CONFLICT ({key.name}) DO UPDATE SET {changed} WHERE {table.name}.state = '{state}'"
    insert_rows(connection, table, rows, given_way)


def execute_in(connection: Connection, until_in: str, keys: Collection[str], *given: str) -> Iterable[Sequence[Any]]:
    """Carry out *until_in*, SQL that ends with the IN of a condition, for *keys*; *given* fills its question marks.

    Handed to the driver as it is, like above.
    """
    sql = f"{until_in} ({', '.join('?' * len(keys))})"
    if connection.dialect.name == "postgresql":
        sql = sql.replace("?", "%s")
    return connection.exec_driver_sql(sql, (*given, *keys))


def fields_of(record: Any) -> dict[str, Any]:
    """The fields of a dataclass as they are, by name."""
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def in_chunks(keys: Sequence[str], size: int = 500) -> Iterator[list[str]]:
    """*keys* in lists that fit into one statement."""
    for start in range(0, len(keys), size):
        yield list(keys[start : start + size])


def pack(text: str) -> bytes:
    """*text* as it is stored in a blob."""
    # fast: 4 % larger than the default, in two thirds of the time, which is spent on every call
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)


def unpack(blob: bytes) -> str:
    """The text of a blob. Raises StoreError where it is damaged."""
    try:
        return inflate(blob).decode("utf-8", "surrogatepass")
    except (zlib.error, TooLarge, UnicodeDecodeError, TypeError) as error:
        raise Damaged(error) from None


class Damaged(StoreError):
    """A stored record that is not what we wrote."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"the store holds a damaged record ({type(error).__name__}); restore it from a copy")


@contextmanager
def undamaged() -> Iterator[None]:
    """What cannot be read back raises StoreError."""
    try:
        yield
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Damaged(error) from None
