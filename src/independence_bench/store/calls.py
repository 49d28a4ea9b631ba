"""Questions that have to be bought: who is at one, every attempt at it, and what it all has cost.

Functions on a connection, so one transaction can do several of them; opens nothing and waits for nothing.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sqlalchemy import Connection, and_, case, func, or_, select, update

from independence_bench.chat import Kind, Usage
from independence_bench.store.tables import attempts, calls, insert_once, pack, unpack

LEASE = 90.0  # seconds that a claim lasts unless it is renewed
ANSWERED, CUT_OFF, LOST = "answered", "cut off", "lost"  # outcomes of an attempt, beside the kinds of fault

# ---------------------------------------------------------------- who is at work


def new_owner() -> str:
    """A name for this process among all that share the store: host, process, and something of its own."""
    return f"{_place()}|{os.getpid()}|{uuid.uuid4().hex[:12]}"


def _place() -> str:
    """Where a process number means one process: the host, and its process namespace where there are such."""
    with suppress(OSError):
        return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}"
    return socket.gethostname()


def is_dead(owner: str) -> bool:
    """Whether *owner* is a process of this machine that has ended; False for what cannot be known."""
    place, pid, _ = owner.split("|") if owner.count("|") == 2 else ("", "", "")
    if place != _place() or not pid.isdigit() or os.name == "nt":
        return False  # on Windows, kill(pid, 0) would not ask but act; there the lease has to run out
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


# ---------------------------------------------------------------- calls, leases and attempts


@dataclass(frozen=True, slots=True)
class CallInfo:
    """What is written down about a question before it is asked."""

    key: str
    kind: Literal["reply", "judgement"]
    endpoint: str
    model: str
    request: str  # JSON


@dataclass(frozen=True, slots=True)
class Tried:
    """What earlier attempts at a call came to: a resumed call goes on where it stopped."""

    broken: int = 0
    cut_off: int = 0
    spare: tuple[int, str] | None = None  # the last cut-off attempt and its raw body: paid for, so not thrown away


def tried(connection: Connection, key: str) -> Tried:
    """What earlier attempts at the call came to; nothing, for a call that was never asked."""
    outcomes = connection.execute(
        select(attempts.c.id, attempts.c.outcome).where(attempts.c.call_key == key).order_by(attempts.c.id)
    ).all()
    broken = sum(outcome == Kind.BROKEN for _, outcome in outcomes)
    cut_off = [attempt for attempt, outcome in outcomes if outcome == CUT_OFF]
    if not cut_off:
        return Tried(broken)
    raw = connection.execute(select(attempts.c.raw).where(attempts.c.id == cut_off[-1])).scalar_one()
    return Tried(broken, len(cut_off), (cut_off[-1], unpack(raw)))


def claim(connection: Connection, call: CallInfo, owner: str, now: float) -> bool:
    """Take the call for *owner*; False while another process is at it."""
    insert_once(
        connection,
        calls,
        {
            "key": call.key,
            "kind": call.kind,
            "endpoint": call.endpoint,
            "model": call.model,
            "request": pack(call.request),
        },
    )
    holder, until = connection.execute(select(calls.c.owner, calls.c.lease_until).where(calls.c.key == call.key)).one()
    if holder is not None and until > now and not is_dead(holder):
        return False
    free = and_(calls.c.key == call.key, calls.c.owner.is_(None) if holder is None else calls.c.owner == holder)
    taken = connection.execute(update(calls).where(free).values(owner=owner, lease_until=now + LEASE))
    return taken.rowcount == 1


def renew(connection: Connection, owner: str, now: float) -> None:
    """Keep every claim of *owner* for another lease."""
    connection.execute(update(calls).where(calls.c.owner == owner).values(lease_until=now + LEASE))


def release(connection: Connection, key: str, owner: str) -> None:
    """Give the claim back, whatever came of it."""
    mine = and_(calls.c.key == key, calls.c.owner == owner)
    connection.execute(update(calls).where(mine).values(owner=None, lease_until=None))


def begin_attempt(connection: Connection, key: str, owner: str, max_tokens: int, now: float) -> int:
    """Write down that a call is about to be sent. Returns the attempt's id."""
    made = connection.execute(
        attempts.insert().values(call_key=key, owner=owner, started_at=now, max_tokens=max_tokens)
    )
    identity = made.inserted_primary_key
    if identity is None:
        raise LookupError("the database gave no id for an attempt")
    return int(identity[0])


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt ended."""

    outcome: str  # answered, cut off, or a chat.Kind
    message: str
    usage: Usage
    seconds: float
    raw: str
    status: int | None = None
    finish_reason: str | None = None
    served_model: str | None = None
    served_provider: str | None = None
    response_id: str | None = None


def end_attempt(connection: Connection, attempt: int, ended: Ended, now: float) -> None:
    """Write down how the attempt ended and what it cost, whether it was of use or not."""
    row = {name: getattr(ended, name) for name in Ended.__dataclass_fields__ if name not in ("usage", "raw")}
    row |= asdict(ended.usage) | {"raw": pack(ended.raw), "finished_at": now}
    connection.execute(update(attempts).where(attempts.c.id == attempt).values(**row))


def mark_lost(connection: Connection, now: float) -> int:
    """Close the attempts that a dead or silent process left in flight. Returns how many there were.

    They may have been paid for without us ever seeing the reply: all that a kill can cost.
    """
    open_attempts = connection.execute(
        select(attempts.c.id, attempts.c.owner, calls.c.owner, calls.c.lease_until)
        .join(calls, calls.c.key == attempts.c.call_key)
        .where(attempts.c.finished_at.is_(None))
    ).all()
    lost = [
        attempt
        for attempt, owner, holder, until in open_attempts
        if is_dead(owner) or holder != owner or until is None or until < now
    ]
    for attempt in lost:
        connection.execute(
            update(attempts)
            .where(attempts.c.id == attempt)
            .values(finished_at=now, outcome=LOST, message="the process ended while this call was in flight")
        )
    return len(lost)


def attempts_of(connection: Connection, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Every attempt at the given calls, in order, without the raw body."""
    columns = [column for column in attempts.c if column.name != "raw"]
    found = connection.execute(select(*columns).where(attempts.c.call_key.in_(list(keys))).order_by(attempts.c.id))
    return [dict(row) for row in found.mappings()]


# ---------------------------------------------------------------- money


@dataclass(frozen=True, slots=True)
class Spending:
    """What a store has cost. *unpriced*: attempts that ended in a reply whose cost was not told."""

    replies: float = 0.0
    judgements: float = 0.0
    attempts: int = 0
    lost: int = 0
    unpriced: int = 0

    @property
    def total(self) -> float:
        """US dollars, candidates and judges together."""
        return self.replies + self.judgements


def spending(connection: Connection) -> Spending:
    """What the store has cost in its whole life, rejected attempts included."""
    found = connection.execute(
        select(
            calls.c.kind,
            func.coalesce(func.sum(attempts.c.cost), 0.0),
            func.count(),
            func.coalesce(func.sum(_one_if(attempts.c.outcome == LOST)), 0),
            func.coalesce(
                func.sum(
                    _one_if(
                        and_(
                            attempts.c.cost.is_(None),
                            or_(attempts.c.outcome == ANSWERED, attempts.c.outcome == CUT_OFF),
                        )
                    )
                ),
                0,
            ),
        )
        .join(calls, calls.c.key == attempts.c.call_key)
        .group_by(calls.c.kind)
    ).all()
    rows = {row[0]: row for row in found}
    return Spending(
        replies=float(rows["reply"][1]) if "reply" in rows else 0.0,
        judgements=float(rows["judgement"][1]) if "judgement" in rows else 0.0,
        attempts=sum(row[2] for row in found),
        lost=sum(row[3] for row in found),
        unpriced=sum(row[4] for row in found),
    )


def _one_if(condition: Any) -> Any:
    return case((condition, 1), else_=0)
