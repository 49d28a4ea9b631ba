"""Writes and reads rows of any table, on SQLite and PostgreSQL alike."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, TypeVar

from sqlalchemy import BindParameter, Connection, Table, bindparam, inspect, select
from sqlalchemy import Sequence as Sequence_

T = TypeVar("T")
# of an IN: a list in the statement itself is held with it until garbage is looked for
KEYS: BindParameter[Sequence[str]] = bindparam("keys", expanding=True)


def write_rows(connection: Connection, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Execute the SQL statement *sql* once for each of *rows* (name -> value), with the row's value
    for each `:name` in it. The values are plain, long texts already compressed.

    The statement goes to the database's driver as it is: every model call needs five of them, and
    SQLAlchemy's care for each value takes longer than the database.
    """
    if rows:
        if connection.dialect.name == "postgresql":
            sql = re.sub(r":(\w+)", r"%(\1)s", sql)
        connection.exec_driver_sql(sql, list(rows))


def insert_rows(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], conflict: str = ""
) -> None:
    """Insert *rows* (column name -> value), which all have the same columns, into *table*.
    *conflict*: the SQL that says what to do about a primary key that exists already.
    """
    if rows:
        names, values = ", ".join(rows[0]), ", ".join(f":{name}" for name in rows[0])
        sql = f"INSERT INTO {table.name} ({names}) VALUES ({values}) {conflict}"  # noqa: S608 - names of columns
        write_rows(connection, sql, rows)


def insert_new_rows(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]
) -> set[Any]:
    """Insert those of *rows* (column name -> value) whose primary key is not in *table* yet, and
    return the keys of the inserted ones. Every row has the column "owner". On SQLite, where no
    other process writes meanwhile, all of the rows must be new.
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
    return {row[0] for row in execute_for_keys(connection, mine, given, rows[0]["owner"])}


def take_next_numbers(
    connection: Connection, table: Table, numbers: Sequence_, count: int
) -> Sequence[int]:
    """Return *count* unused numbers for the primary key of *table*: from the database sequence
    *numbers* on PostgreSQL, else the numbers after the highest key in the table.
    """
    if connection.dialect.name == "postgresql":
        drawn = f"SELECT nextval('{numbers.name}') FROM generate_series(1, {count})"  # noqa: S608 - our own name
        return [int(row[0]) for row in connection.exec_driver_sql(drawn)]
    (key,) = table.primary_key.columns
    last = f"SELECT coalesce(max({key.name}), 0) FROM {table.name}"  # noqa: S608 - names of columns
    first = int(connection.exec_driver_sql(last).scalar_one()) + 1  # no other process writes
    return range(first, first + count)


def read_server_time(connection: Connection) -> float | None:
    """Return the present time in seconds since 1970 on the PostgreSQL server's clock, which all
    users of the store share although their own clocks may differ. None on SQLite, which has no
    server.
    """
    if connection.dialect.name != "postgresql":
        return None
    return float(
        connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one()
    )


def insert_missing_row(connection: Connection, table: Table, row: Mapping[str, Any]) -> None:
    """Insert *row* (column name -> value) into *table*, unless a row with the same primary key
    exists.
    """
    insert_rows(connection, table, [row], "ON CONFLICT DO NOTHING")


def upsert_rows(
    connection: Connection, table: Table, replaceable_state: str, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Insert *rows* (column name -> value) into *table*. A row with the same primary key that
    exists already is replaced if its column "state" says *replaceable_state*, and else stays.
    """
    (key,) = table.primary_key.columns
    # two processes that write the same ones do it in one order
    rows = sorted(rows, key=itemgetter(key.name))
    changed = ", ".join(
        f"{column.name} = excluded.{column.name}" for column in table.c if column is not key
    )
    given_way = (
        f"ON CONFLICT ({key.name}) DO UPDATE SET {changed} "
        f"WHERE {table.name}.state = '{replaceable_state}'"
    )
    insert_rows(connection, table, rows, given_way)


def execute_for_keys(
    connection: Connection,
    sql_until_in: str,
    keys: Collection[str],
    *given: str,
    lock: bool = False,
) -> Iterable[Sequence[Any]]:
    """Execute the SQL statement *sql_until_in*, which ends with the IN of a condition, for the list
    *keys*, and return its rows; none if *keys* is empty. *given* fills the statement's question
    marks.

    *lock*: no other transaction changes the rows until the commit; rows that another one is
    changing are left out. The statement goes to the database's driver as it is, as in `write_rows`.
    """
    if not keys:
        return ()
    sql = f"{sql_until_in} ({', '.join('?' * len(keys))})"
    if connection.dialect.name == "postgresql":
        # not FOR UPDATE: rows that refer to it may be inserted meanwhile
        sql = sql.replace("?", "%s") + (" FOR NO KEY UPDATE SKIP LOCKED" if lock else "")
    return connection.exec_driver_sql(sql, (*given, *keys))


def read_all_rows(connection: Connection, table: Table) -> list[tuple[Any, ...]]:
    """Return every row of *table* as a tuple of its columns in order; [] if the store is of an
    older version, which has no such table.
    """
    return (
        [tuple(row) for row in connection.execute(select(table))]
        if inspect(connection).has_table(table.name)
        else []
    )


def read_fields(record: Any) -> dict[str, Any]:
    """Return the fields of the dataclass object *record*, as name -> value."""
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def split_chunks(items: Iterable[T], size: int = 500) -> Iterator[list[T]]:
    """Yield *items* in lists of *size*, in order, the last list shorter. The default of 500 keys
    fits into one SQL statement.
    """
    left = iter(items)
    while chunk := list(islice(left, size)):
        yield chunk
