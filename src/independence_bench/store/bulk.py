"""Reads whole tables of a store and writes them, as plain rows: column -> value, blobs as the text
inside them.

Knows the tables and nothing of what a row means; what goes in has to be checked before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Select, Table, func, inspect, select

from independence_bench.store.blobs import pack_text, unpack_text
from independence_bench.store.results import SCORED, compute_judgement_checksum
from independence_bench.store.rows import insert_rows, write_rows
from independence_bench.store.schema import (
    Packed,
    attempts,
    judgements,
    metadata,
)

BATCH = 500  # rows that are read at once

Row = dict[str, Any]


def read_table(
    connection: Connection, name: str, blobs: Collection[str] = ()
) -> Iterator[dict[str, Any]]:
    """Yield every row of the store's table *name* as column name -> value, in the order of the
    primary key, without checksums; nothing if a store of an older version has no such table.
    *blobs*: the compressed columns to include, as text; the others are left out.

    Attempts come call by call, each call's in the order in which they were made, and only those
    that have ended.
    """
    table = metadata.tables[name]
    if not inspect(connection).has_table(name):  # a store of an older version
        return
    chosen = _select_columns(table, blobs)
    if name == "attempts":
        chosen = chosen.where(attempts.c.finished_at.is_not(None)).order_by(
            attempts.c.call_key, attempts.c.id
        )
    else:
        chosen = chosen.order_by(*table.primary_key.columns)
    yield from _read_rows(connection, chosen)


def find_rows(
    connection: Connection,
    name: str,
    column: str,
    values: Collection[Any],
    blobs: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Return the rows of the store's table *name* whose *column* has one of *values*, as column
    name -> value in the order of the primary key, without checksums. *blobs*: the compressed
    columns to include, as text; the others are left out. Attempts that have not ended are included.
    """
    table = metadata.tables[name]
    chosen = _select_columns(table, blobs).where(table.c[column].in_(list(values)))
    return list(_read_rows(connection, chosen.order_by(*table.primary_key.columns)))


def _select_columns(table: Table, blobs: Collection[str]) -> Select[*tuple[Any, ...]]:
    return select(
        *(
            c
            for c in table.c
            if c.name != "checksum" and (c.name in blobs or not isinstance(c.type, Packed))
        )
    )


def _read_rows(
    connection: Connection, chosen: Select[*tuple[Any, ...]]
) -> Iterator[dict[str, Any]]:
    for row in connection.execute(chosen.execution_options(yield_per=BATCH)).mappings():
        yield {
            str(name): unpack_text(value) if isinstance(value, bytes) else value
            for name, value in row.items()
        }


def add_rows(connection: Connection, name: str, rows: Sequence[Row]) -> None:
    """Insert *rows* (column name -> value) into the store's table *name*; their primary keys must
    be new. Compresses the texts of compressed columns, and adds the checksums of judgements.
    """
    blobs = {column.name for column in metadata.tables[name].c if isinstance(column.type, Packed)}
    if name == judgements.name:
        rows = [
            row | {"checksum": compute_judgement_checksum(*(row[c] for c in SCORED))}
            for row in rows
        ]
    packed = [
        {column: pack_text(value) if column in blobs else value for column, value in row.items()}
        for row in rows
    ]
    insert_rows(connection, metadata.tables[name], packed)


def count_attempts_in_flight(connection: Connection) -> int:
    """Count the attempts at model calls in the store that have begun and not ended."""
    unended = select(func.count()).select_from(attempts).where(attempts.c.finished_at.is_(None))
    return int(connection.execute(unended).scalar_one())


def store_missing_requests(connection: Connection, requests: Mapping[str, str]) -> None:
    """Store the texts of *requests* (key of a model call -> its request), but only for calls whose
    stored request is empty.
    """
    changed = [
        {"key": key, "request": pack_text(request), "unknown": pack_text("")}
        for key, request in requests.items()
    ]
    write_rows(
        connection,
        "UPDATE calls SET request = :request WHERE key = :key AND request = :unknown",
        changed,
    )
