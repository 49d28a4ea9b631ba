"""Whole tables out of a store and into it, as plain rows: column -> value, blobs as the text that is in them.

Functions on a connection. Knows the tables and nothing of what a row means; what goes in has to be checked before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, LargeBinary, RowMapping, Select, bindparam, func, insert, inspect, select, update

from independence_bench.store.tables import attempts, calls, metadata, pack, unpack

BATCH = 500  # rows that are read at once

Row = Mapping[str, Any]


def dump(connection: Connection, name: str, blobs: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """Every row of the table *name* by its primary key; of its blobs only those called *blobs*.

    Attempts come call by call, each in the order in which it was made, and only those that have ended.
    """
    table = metadata.tables[name]
    if name not in inspect(connection).get_table_names():  # a store of an older version
        return
    chosen = select(*(c for c in table.c if c.name in blobs or not isinstance(c.type, LargeBinary)))
    if name == "attempts":
        chosen = chosen.where(attempts.c.finished_at.is_not(None)).order_by(attempts.c.call_key, attempts.c.id)
    else:
        chosen = chosen.order_by(*table.primary_key.columns)
    yield from _read(connection, chosen)


def find(
    connection: Connection, name: str, column: str, values: Collection[Any], blobs: Collection[str] = ()
) -> list[dict[str, Any]]:
    """The rows of the table *name* whose *column* is one of *values*; attempts in order, those in flight too."""
    table = metadata.tables[name]
    chosen = select(*(c for c in table.c if c.name in blobs or not isinstance(c.type, LargeBinary)))
    return list(_read(connection, chosen.where(table.c[column].in_(list(values))).order_by(*table.primary_key.columns)))


def add(connection: Connection, name: str, rows: Sequence[Row]) -> None:
    """Put *rows* into the table *name*; their keys must be new."""
    table = metadata.tables[name]
    packed = [{column: _packed(table.c[column].type, value) for column, value in row.items()} for row in rows]
    if packed:
        connection.execute(insert(table), packed)


def next_attempt(connection: Connection) -> int:
    """The number that the next new attempt gets."""
    return int(connection.execute(select(func.coalesce(func.max(attempts.c.id), 0))).scalar_one()) + 1


def in_flight(connection: Connection) -> int:
    """How many attempts have not ended."""
    unended = select(func.count()).select_from(attempts).where(attempts.c.finished_at.is_(None))
    return int(connection.execute(unended).scalar_one())


def set_requests(connection: Connection, requests: Mapping[str, str]) -> None:
    """Store the *requests* of calls, by key, whose request is not known."""
    changed = [{"call": key, "text": pack(request)} for key, request in requests.items()]
    if changed:
        empty = calls.c.request == pack("")
        connection.execute(
            update(calls).where(calls.c.key == bindparam("call"), empty).values(request=bindparam("text")), changed
        )


def _read(connection: Connection, chosen: Select[Any]) -> Iterator[dict[str, Any]]:
    for row in connection.execute(chosen.execution_options(yield_per=BATCH)).mappings():
        yield _unpacked(row)


def _unpacked(row: RowMapping) -> dict[str, Any]:
    return {name: unpack(value) if isinstance(value, bytes) else value for name, value in row.items()}


def _packed(kind: Any, value: Any) -> Any:
    return pack(value) if isinstance(kind, LargeBinary) and isinstance(value, str) else value
