"""What endpoints sent, as it came: every attempt that has ended, read one after the other.

A body that cannot be read back is told apart from one that was never kept, and hides none of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, select

from independence_bench.store.attempts import select_attempts
from independence_bench.store.schema import Damaged, attempts, calls, judgements, replies, unpack


@dataclass(frozen=True, slots=True)
class ReplyBody:
    """An attempt at a reply that has ended, as it came, and what is stored of it where it is the stored one."""

    key: str  # of the call
    outcome: str
    status: int | None
    served_provider: str | None
    raw: str | None  # "": nothing came, or nothing was kept; None: damaged
    request: str | None  # JSON; None: damaged
    state: str | None  # of the stored reply; None: another attempt became it, or none
    text: str | None
    notes: str | None


@dataclass(frozen=True, slots=True)
class VerdictBody:
    """An attempt at a judgement that has ended, as it came."""

    key: str  # of the call, and of the judgement
    outcome: str
    status: int | None
    raw: str | None
    is_stored: bool  # whether the stored judgement was made of it


def reply_bodies(connection: Connection) -> Iterator[ReplyBody]:
    """Every attempt at a reply that has ended, in order, one after the other."""
    stored = and_(replies.c.key == calls.c.key, replies.c.attempt_id == attempts.c.id)
    columns = ("key", "outcome", "status", "served_provider", "raw", "request")
    wanted = select_attempts(*columns).add_columns(replies.c.state, replies.c.text, replies.c.notes)
    for key, outcome, status, served, raw, request, *kept_as in _ended(connection, wanted, "reply", replies, stored):
        yield ReplyBody(key, outcome, status, served, _text(raw), _text(request), *kept_as)


def verdict_bodies(connection: Connection) -> Iterator[VerdictBody]:
    """Every attempt at a judgement that has ended, in order, one after the other."""
    stored = and_(judgements.c.key == calls.c.key, judgements.c.attempt_id == attempts.c.id)
    wanted = select_attempts("key", "outcome", "status", "raw").add_columns(judgements.c.key.label("stored"))
    for key, outcome, status, raw, kept in _ended(connection, wanted, "judgement", judgements, stored):
        yield VerdictBody(key, outcome, status, _text(raw), kept is not None)


def _ended(
    connection: Connection, wanted: Select[Any], kind: str, table: Table, stored: ColumnElement[bool]
) -> Iterator[Sequence[Any]]:
    """Those *wanted* attempts of a kind that have ended, with what of *table* is *stored* of each."""
    wanted = wanted.outerjoin(table, stored).where(calls.c.kind == kind, attempts.c.outcome.is_not(None))
    yield from connection.execute(wanted.execution_options(yield_per=200))


def _text(blob: bytes | None) -> str | None:
    """What was packed: "" where nothing was, None where it is damaged."""
    try:
        return unpack(blob) if blob else ""
    except Damaged:
        return None


@dataclass(frozen=True, slots=True)
class Body:
    """One attempt as it came."""

    outcome: str | None  # None: in flight
    status: int | None
    raw: str  # "": nothing came, or nothing was kept


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call: the request as it was recorded (JSON, without address and key), and every attempt in order."""

    request: str
    bodies: tuple[Body, ...]


def exchanges_of(connection: Connection, keys: Sequence[str]) -> dict[str, Exchange]:
    """The calls of those keys that there are. Raises StoreError where one is damaged."""
    found = connection.execute(select(calls.c.key, calls.c.request).where(calls.c.key.in_(list(keys))))
    requests = {key: unpack(packed) for key, packed in found}
    columns = (attempts.c.call_key, attempts.c.outcome, attempts.c.status, attempts.c.raw)
    bodies: dict[str, list[Body]] = {key: [] for key in requests}
    wanted = select(*columns).where(attempts.c.call_key.in_(list(requests))).order_by(attempts.c.id)
    for key, outcome, status, raw in connection.execute(wanted):
        bodies[key].append(Body(outcome, status, unpack(raw) if raw else ""))
    return {key: Exchange(request, tuple(bodies[key])) for key, request in requests.items()}
