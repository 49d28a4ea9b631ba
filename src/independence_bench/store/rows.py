"""Writing and reading rows of any table, on SQLite and PostgreSQL alike."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, inspect, select

T = TypeVar("T")


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


def rows_of(connection: Connection, table: Table) -> list[tuple[Any, ...]]:
    """Every row of *table*, its columns in order; [] in a store of a version before there was such a table."""
    return (
        [tuple(row) for row in connection.execute(select(table))] if inspect(connection).has_table(table.name) else []
    )


def fields_of(record: Any) -> dict[str, Any]:
    """The fields of a dataclass as they are, by name."""
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def in_chunks(items: Iterable[T], size: int = 500) -> Iterator[list[T]]:
    """*items* in lists of *size*, the last one shorter; 500 keys fit into one statement."""
    left = iter(items)
    while chunk := list(islice(left, size)):
        yield chunk
