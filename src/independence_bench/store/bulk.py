"""Whole tables out of a store and into it, as plain rows: column -> value, blobs as the text that
is in them.

Knows the tables and nothing of what a row means; what goes in has to be checked before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, Table, func, inspect, select

from independence_bench.escape import label_text
from independence_bench.protocol.definition import Delivery
from independence_bench.store.attempts import CallInfo, Ended, call_row, ended_row, new_attempts
from independence_bench.store.results import SCORED, checksum_of
from independence_bench.store.rows import insert_once, insert_rows, pack, unpack, write_rows
from independence_bench.store.schema import (
    IMPORTED,
    Packed,
    attempts,
    calls,
    judgements,
    metadata,
    replies,
    transcripts,
)

BATCH = 500  # rows that are read at once

Row = dict[str, Any]


def dump(
    connection: Connection, name: str, blobs: Collection[str] = ()
) -> Iterator[dict[str, Any]]:
    """Every row of the table *name* by its primary key; of its blobs only those called *blobs*.

    Attempts come call by call, each in the order in which it was made, and only those that have
    ended.
    """
    table = metadata.tables[name]
    if not inspect(connection).has_table(name):  # a store of an older version
        return
    chosen = _columns(table, blobs)
    if name == "attempts":
        chosen = chosen.where(attempts.c.finished_at.is_not(None)).order_by(
            attempts.c.call_key, attempts.c.id
        )
    else:
        chosen = chosen.order_by(*table.primary_key.columns)
    yield from _read(connection, chosen)


def find(
    connection: Connection,
    name: str,
    column: str,
    values: Collection[Any],
    blobs: Collection[str] = (),
) -> list[dict[str, Any]]:
    """The rows of the table *name* whose *column* is one of *values*; attempts in order, those in
    flight too.
    """
    table = metadata.tables[name]
    chosen = _columns(table, blobs).where(table.c[column].in_(list(values)))
    return list(_read(connection, chosen.order_by(*table.primary_key.columns)))


def _columns(table: Table, blobs: Collection[str]) -> Select[*tuple[Any, ...]]:
    return select(
        *(
            c
            for c in table.c
            if c.name != "checksum" and (c.name in blobs or not isinstance(c.type, Packed))
        )
    )


def _read(connection: Connection, chosen: Select[*tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    for row in connection.execute(chosen.execution_options(yield_per=BATCH)).mappings():
        yield {
            str(name): unpack(value) if isinstance(value, bytes) else value
            for name, value in row.items()
        }


def add(connection: Connection, name: str, rows: Sequence[Row]) -> None:
    """Put *rows* into the table *name*; their keys must be new."""
    blobs = {column.name for column in metadata.tables[name].c if isinstance(column.type, Packed)}
    if name == judgements.name:
        rows = [row | {"checksum": checksum_of(*(row[c] for c in SCORED))} for row in rows]
    packed = [
        {column: pack(value) if column in blobs else value for column, value in row.items()}
        for row in rows
    ]
    insert_rows(connection, metadata.tables[name], packed)


def in_flight(connection: Connection) -> int:
    """How many attempts have not ended."""
    unended = select(func.count()).select_from(attempts).where(attempts.c.finished_at.is_(None))
    return int(connection.execute(unended).scalar_one())


def set_requests(connection: Connection, requests: Mapping[str, str]) -> None:
    """Store the *requests* of calls, by key, whose request is not known."""
    changed = [
        {"key": key, "request": pack(request), "unknown": pack("")}
        for key, request in requests.items()
    ]
    write_rows(
        connection,
        "UPDATE calls SET request = :request WHERE key = :key AND request = :unknown",
        changed,
    )


# an outcome: answered, and what came after answers another reply to the same question
REPLACED = "replaced"
JUDGED_AGAIN = "judged again"  # an outcome: the same words were judged once more


def origin_of(layout: str, source: str) -> str:
    """The owner of attempts that were read in *layout* from *source* (a file's or folder's
    name).
    """
    return f"{IMPORTED}{layout}|{label_text(source)[:120]}"


@dataclass(frozen=True, slots=True)
class PaidAttempt:
    """An attempt at a call that was imported, and when it began and ended (seconds since 1970)."""

    call: CallInfo
    ended: Ended
    started_at: float
    finished_at: float


def keep_attempts(
    connection: Connection, made: Sequence[PaidAttempt], owner: str
) -> tuple[dict[tuple[str, float], int], list[PaidAttempt]]:
    """Store attempts and their calls, each once: what is there already is the same call at the same
    time.

    Returns all attempts of those calls, (key, finished at) -> id, and those of *made* that are new.
    """
    wanted = select(attempts.c.call_key, attempts.c.finished_at, attempts.c.id)
    there = wanted.where(attempts.c.call_key.in_({item.call.key for item in made}))
    known = {(key, finished): attempt for key, finished, attempt in connection.execute(there)}
    numbers = iter(new_attempts(connection, len(made)))
    rows: list[dict[str, object]] = []
    new = []
    for item in made:
        place = (item.call.key, item.finished_at)
        if place not in known:
            insert_once(connection, calls, call_row(item.call))
            known[place] = next(numbers)
            times = {"started_at": item.started_at, "finished_at": item.finished_at}
            row = {"id": known[place], "call_key": item.call.key, "owner": owner, "max_tokens": 0}
            rows.append(row | times | ended_row(item.ended, item.ended.raw))
            new.append(item)
    insert_rows(connection, attempts, rows)
    return known, new


def answered(connection: Connection, keys: Collection[str]) -> set[str]:
    """Those of the calls that have a reply or a judgement, of whatever kind."""
    kept = (select(table.c.key).where(table.c.key.in_(keys)) for table in (replies, judgements))
    return {key for wanted in kept for key in connection.execute(wanted).scalars()}


def transcripts_known(connection: Connection, ids: Collection[str]) -> dict[str, tuple[str, str]]:
    """Those of the transcripts that are stored: id -> (state, heard hash)."""
    wanted = select(transcripts.c.id, transcripts.c.state, transcripts.c.heard_hash).where(
        transcripts.c.id.in_(ids)
    )
    return {found: (state, heard) for found, state, heard in connection.execute(wanted)}


def transcripts_by_place(
    connection: Connection, scripts: Collection[str]
) -> dict[tuple[str, Delivery, str], int]:
    """How many transcripts of these scripts are stored, by (system, delivery, state)."""
    columns = (transcripts.c.system, transcripts.c.delivery, transcripts.c.state)
    wanted = (
        select(*columns, func.count())
        .where(transcripts.c.script_hash.in_(scripts))
        .group_by(*columns)
    )
    return {
        (system, delivery, state): count
        for system, delivery, state, count in connection.execute(wanted)
    }
