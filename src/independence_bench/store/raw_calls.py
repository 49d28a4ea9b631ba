"""What endpoints sent, as it came. A body that cannot be read back hides none of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, and_, null, select

from independence_bench.store.blobs import Damaged, unpack
from independence_bench.store.rows import in_chunks
from independence_bench.store.schema import attempts, calls, judgements, replies


class RawAttempt(NamedTuple):
    """An attempt that has ended, as it came, and what is stored of it where the stored answer is of this attempt."""

    key: str  # of the call
    outcome: str
    status: int | None
    served_provider: str | None
    raw: str | None  # "": nothing came, or nothing was kept; None: damaged
    state: str | None  # of the stored reply or judgement; None: another attempt became it, or none
    text: str | None  # of the stored reply
    notes: str | None


def raw_attempts(connection: Connection, kind: Literal["reply", "judgement"]) -> Iterator[RawAttempt]:
    """Every attempt at a call of that kind that has ended, in order, read one after the other."""
    of_reply: tuple[Any, ...] = (replies.c.state, replies.c.text, replies.c.notes)
    of_judgement = (judgements.c.state, null(), null())
    table, columns = (replies, of_reply) if kind == "reply" else (judgements, of_judgement)
    of_attempt = (calls.c.key, *(attempts.c[name] for name in ("outcome", "status", "served_provider", "raw")))
    stored = and_(table.c.key == calls.c.key, table.c.attempt_id == attempts.c.id)
    wanted = select(*of_attempt, *columns).select_from(attempts.join(calls).outerjoin(table, stored))
    wanted = wanted.where(calls.c.kind == kind, attempts.c.outcome.is_not(None)).order_by(attempts.c.id)
    for key, outcome, status, served, raw, *kept_as in connection.execute(wanted.execution_options(yield_per=200)):
        yield RawAttempt(key, outcome, status, served, _text(raw), *kept_as)


def requests_of(connection: Connection, keys: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """(key, request as JSON) of each of those calls that there is; None where it is damaged."""
    for some in in_chunks(keys):
        for key, packed in connection.execute(select(calls.c.key, calls.c.request).where(calls.c.key.in_(some))):
            yield key, _text(packed)


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
