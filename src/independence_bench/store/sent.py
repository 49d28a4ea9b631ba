"""What was sent and what came back, word for word, for the calls that somebody wants to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from independence_bench.store.tables import attempts, calls, unpack


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
