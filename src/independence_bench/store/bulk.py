"""Whole tables out of a store and into it, as plain rows: column -> value, blobs as the text that is in them.

Functions on a connection. Knows the tables and nothing of what a row means; what goes in has to be checked before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, LargeBinary, RowMapping, Select, bindparam, func, inspect, select, update

from independence_bench.escape import label_text
from independence_bench.store.attempts import CallInfo, Ended, call_row, ended_row
from independence_bench.store.schema import (
    IMPORTED,
    attempts,
    calls,
    insert_once,
    insert_rows,
    judgements,
    metadata,
    pack,
    replies,
    transcripts,
    unpack,
)

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
    insert_rows(connection, table, packed)


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


REPLACED = "replaced"  # an outcome: answered, and what came after answers another reply to the same question
JUDGED_AGAIN = "judged again"  # an outcome: the same words were judged once more


def origin_of(layout: str, source: str) -> str:
    """The owner of attempts that were read in *layout* from *source* (a file's or folder's name)."""
    return f"{IMPORTED}{layout}|{label_text(source)[:120]}"


@dataclass(frozen=True, slots=True)
class Bought:
    """One attempt of somebody else's at a call, and when it began and ended (seconds since 1970)."""

    call: CallInfo
    ended: Ended
    started_at: float
    finished_at: float


def keep_bought(
    connection: Connection, bought: Sequence[Bought], owner: str
) -> tuple[dict[tuple[str, float], int], list[Bought]]:
    """Store attempts and their calls, each once: what is there already is the same call at the same time.

    Returns all attempts of those calls, (key, finished at) -> id, and those of *bought* that are new.
    """
    keys = {item.call.key for item in bought}
    known = _attempts_of(connection, keys)
    first = next_attempt(connection)
    rows: list[dict[str, object]] = []
    new = []
    for item in bought:
        place = (item.call.key, item.finished_at)
        if place not in known:
            insert_once(connection, calls, call_row(item.call))
            known[place] = first + len(rows)
            times = {"started_at": item.started_at, "finished_at": item.finished_at}
            row = {"id": known[place], "call_key": item.call.key, "owner": owner, "max_tokens": 0}
            rows.append(row | times | ended_row(item.ended, item.ended.raw))
            new.append(item)
    insert_rows(connection, attempts, rows)
    return known, new


def _attempts_of(connection: Connection, keys: Collection[str]) -> dict[tuple[str, float], int]:
    wanted = select(attempts.c.call_key, attempts.c.finished_at, attempts.c.id).where(attempts.c.call_key.in_(keys))
    return {(key, finished): attempt for key, finished, attempt in connection.execute(wanted)}


def answered(connection: Connection, keys: Collection[str]) -> set[str]:
    """Those of the calls that have a reply or a judgement, of whatever kind."""
    found = set(connection.execute(select(replies.c.key).where(replies.c.key.in_(keys))).scalars())
    return found | set(connection.execute(select(judgements.c.key).where(judgements.c.key.in_(keys))).scalars())


def transcripts_known(connection: Connection, ids: Collection[str]) -> dict[str, tuple[str, str]]:
    """Those of the transcripts that are stored: id -> (state, heard hash)."""
    wanted = select(transcripts.c.id, transcripts.c.state, transcripts.c.heard_hash).where(transcripts.c.id.in_(ids))
    return {found: (state, heard) for found, state, heard in connection.execute(wanted)}


def complete_of(connection: Connection, protocol_hash: str) -> int:
    """How many complete transcripts were stored for that version of a protocol."""
    mine = (transcripts.c.protocol_hash == protocol_hash, transcripts.c.state == "complete")
    return int(connection.execute(select(func.count()).select_from(transcripts).where(*mine)).scalar_one())
