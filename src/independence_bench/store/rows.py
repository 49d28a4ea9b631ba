"""Writing and reading rows of any table, on SQLite and PostgreSQL alike, and the texts in them,
which are blobs.

Whoever unpacks an archive, a blob or a column asks here how much may be written or held of it,
before the bytes are there: a small file can stand for gigabytes.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any, TypeVar

from pydantic_core import from_json
from sqlalchemy import BindParameter, Connection, Table, bindparam, inspect, select
from sqlalchemy import Sequence as Sequence_

from independence_bench.errors import StoreError

T = TypeVar("T")
# of an IN: a list in the statement itself is held with it until garbage is looked for
KEYS: BindParameter[Sequence[str]] = bindparam("keys", expanding=True)


def write_rows(connection: Connection, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Carry *sql*, in which `:name` is a value, out for each of *rows*, which have plain values,
    blobs packed.

    Handed to the driver as it is: every call needs five such statements, and SQLAlchemy's care for
    each value takes longer than the database.
    """
    if rows:
        if connection.dialect.name == "postgresql":
            sql = re.sub(r":(\w+)", r"%(\1)s", sql)
        connection.exec_driver_sql(sql, list(rows))


def insert_rows(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], conflict: str = ""
) -> None:
    """Insert *rows*, which have the same columns; *conflict*: what to do where a primary key is
    there already.
    """
    if rows:
        names, values = ", ".join(rows[0]), ", ".join(f":{name}" for name in rows[0])
        sql = f"INSERT INTO {table.name} ({names}) VALUES ({values}) {conflict}"  # noqa: S608 - names of columns
        write_rows(connection, sql, rows)


def insert_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> set[Any]:
    """Insert those of *rows*, which have an owner, whose primary key is not there yet. Returns the
    keys of those.
    """
    (key,) = table.primary_key.columns
    given = [row[key.name] for row in rows]
    if not rows or connection.dialect.name != "postgresql":  # no other process writes
        insert_rows(connection, table, rows)
        return set(given)
    # where two processes insert the same ones, in one order, the second waits for the first, and
    # has none
    insert_rows(connection, table, sorted(rows, key=itemgetter(key.name)), "ON CONFLICT DO NOTHING")
    mine = f"SELECT {key.name} FROM {table.name} WHERE owner = ? AND {key.name} IN"  # noqa: S608 - names of columns
    return {row[0] for row in execute_in(connection, mine, given, rows[0]["owner"])}


def next_numbers(
    connection: Connection, table: Table, numbers: Sequence_, count: int
) -> Sequence[int]:
    """*count* new numbers for the primary key of *table*: of *numbers*, where the database has
    such, else the next.
    """
    if connection.dialect.name == "postgresql":
        drawn = f"SELECT nextval('{numbers.name}') FROM generate_series(1, {count})"  # noqa: S608 - our own name
        return [int(row[0]) for row in connection.exec_driver_sql(drawn)]
    (key,) = table.primary_key.columns
    last = f"SELECT coalesce(max({key.name}), 0) FROM {table.name}"  # noqa: S608 - names of columns
    first = int(connection.exec_driver_sql(last).scalar_one()) + 1  # no other process writes
    return range(first, first + count)


def shared_time(connection: Connection) -> float | None:
    """Seconds since 1970 on the clock that all who use the store share, a server's; None where
    there is no such clock.

    Those of its clients may differ.
    """
    if connection.dialect.name != "postgresql":
        return None
    return float(
        connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one()
    )


def insert_once(connection: Connection, table: Table, row: Mapping[str, Any]) -> None:
    """Insert *row* unless its primary key is there already."""
    insert_rows(connection, table, [row], "ON CONFLICT DO NOTHING")


def insert_over(
    connection: Connection, table: Table, state: str, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Insert *rows*; where a primary key is there already, its row gives way only if it is in
    *state*.
    """
    (key,) = table.primary_key.columns
    # two processes that write the same ones do it in one order
    rows = sorted(rows, key=itemgetter(key.name))
    changed = ", ".join(
        f"{column.name} = excluded.{column.name}" for column in table.c if column is not key
    )
    given_way = (
        f"ON CONFLICT ({key.name}) DO UPDATE SET {changed} WHERE {table.name}.state = '{state}'"
    )
    insert_rows(connection, table, rows, given_way)


def execute_in(
    connection: Connection, until_in: str, keys: Collection[str], *given: str, lock: bool = False
) -> Iterable[Sequence[Any]]:
    """Carry out *until_in*, SQL that ends with the IN of a condition, for *keys*; *given* fills its
    question marks.

    *lock*: no other transaction changes the rows until the commit; those that one is changing are
    left out. Handed to the driver as it is, like above.
    """
    if not keys:
        return ()
    sql = f"{until_in} ({', '.join('?' * len(keys))})"
    if connection.dialect.name == "postgresql":
        # not FOR UPDATE: rows that refer to it may be inserted meanwhile
        sql = sql.replace("?", "%s") + (" FOR NO KEY UPDATE SKIP LOCKED" if lock else "")
    return connection.exec_driver_sql(sql, (*given, *keys))


def rows_of(connection: Connection, table: Table) -> list[tuple[Any, ...]]:
    """Every row of *table*, its columns in order; [] in a store of a version before there was such
    a table.
    """
    return (
        [tuple(row) for row in connection.execute(select(table))]
        if inspect(connection).has_table(table.name)
        else []
    )


def fields_of(record: Any) -> dict[str, Any]:
    """The fields of a dataclass as they are, by name."""
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def in_chunks(items: Iterable[T], size: int = 500) -> Iterator[list[T]]:
    """*items* in lists of *size*, the last one shorter; 500 keys fit into one statement."""
    left = iter(items)
    while chunk := list(islice(left, size)):
        yield chunk


# bytes of one record: a reply of the largest size that can be set, escaped for JSON in JSON
LARGEST_TEXT = 64_000_000
LARGEST_TOTAL = 2_000_000_000  # bytes of a data set in all; the known one has 100 million
HELD = 64_000_000  # bytes of records that are held together


class TooLarge(ValueError):
    """Unpacked, it would be larger than it may be."""

    def __init__(self, most: int) -> None:
        super().__init__(f"unpacked it would be larger than {most:,} bytes")


@dataclass(slots=True)
class Allowance:
    """What is left to unpack, in bytes."""

    most: int = LARGEST_TOTAL
    taken: int = 0

    def take(self, size: int) -> None:
        """Count *size* more bytes. Raises TooLarge before they are beyond the most."""
        if self.taken + size > self.most:
            raise TooLarge(self.most)
        self.taken += size


def inflate(blob: bytes, most: int = LARGEST_TEXT) -> bytes:
    """What zlib packed, at most *most* bytes. Raises TooLarge for more, zlib.error for what is
    damaged or cut short.
    """
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(blob, most + 1)
    if len(data) > most:
        raise TooLarge(most)
    if not unpacker.eof:
        raise zlib.error("incomplete or truncated stream")
    return data


def pack(text: str) -> bytes:
    """*text* as it is stored in a blob."""
    # fast: 4% larger than the default, in half of the time, which is spent on every call; to clear
    # a window of the usual size takes a fifth of it
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1, 14)


def unpack(blob: bytes) -> str:
    """The text of a blob. Raises StoreError where it is damaged."""
    try:
        return inflate(blob).decode("utf-8", "surrogatepass")
    except (zlib.error, TooLarge, UnicodeDecodeError, TypeError) as error:
        raise Damaged(error) from None


def unpack_json(blob: bytes) -> Any:
    """The JSON value of a blob. Raises StoreError where it is damaged, ValueError where it is no
    JSON.
    """
    try:
        # in half the time of the two steps below; it refuses more, such as a lone surrogate
        return from_json(inflate(blob), cache_strings="keys")
    except (zlib.error, TooLarge, ValueError, TypeError):
        return json.loads(unpack(blob))


class WrongChecksum(ValueError):
    """A stored record that can be read, and was another one when it was stored."""


class Damaged(StoreError):
    """A stored record that is not what we wrote; *store* as a user named it, where that is
    known.
    """

    def __init__(self, error: Exception, store: str = "") -> None:
        self.error = error
        reason = type(error).__name__
        if isinstance(error, zlib.error):
            reason = "it cannot be unpacked"
        elif isinstance(error, WrongChecksum):
            reason = str(error)
        named = f"the store {store}".rstrip()
        super().__init__(f"{named} holds a damaged record ({reason}); restore it from a copy")


@contextmanager
def undamaged() -> Iterator[None]:
    """What cannot be read back raises StoreError."""
    try:
        yield
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Damaged(error) from None
