"""Calls of models: which process has claimed one, every attempt at it as it came, and what all of
them have cost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    case,
    delete,
    func,
    null,
    select,
    update,
)

from independence_bench.escape import KNOWN, SENT
from independence_bench.models.messages import UNUSABLE, Usage
from independence_bench.store.blobs import Damaged, pack_text, unpack_text
from independence_bench.store.owners import LeaseWatch, has_known_machine, has_same_clock, is_dead
from independence_bench.store.rows import (
    execute_for_keys,
    insert_new_rows,
    insert_rows,
    read_fields,
    read_server_time,
    split_chunks,
    take_next_numbers,
    write_rows,
)
from independence_bench.store.schema import (
    ATTEMPT_IDS,
    IMPORTED,
    attempts,
    calls,
    judgements,
    replies,
)

LEASE = 90.0  # seconds that a claim lasts unless it is renewed
# outcomes of an attempt, next to the kinds of fault
ANSWERED, CUT_OFF, LOST = "answered", "cut off", "lost"

CallKind = Literal["reply", "judgement"]


@dataclass(frozen=True, slots=True)
class CallInfo:
    """A call as it is recorded before it is made."""

    key: str
    kind: CallKind
    endpoint: str
    model: str
    request: str  # JSON


@dataclass(frozen=True, slots=True)
class EarlierAttempts:
    """The results of earlier attempts at a call. A resumed call goes on where they stopped."""

    broken: int = 0
    cut_off: int = 0
    # the last cut-off attempt and its raw body: paid for, so not thrown away
    spare: tuple[int, str] | None = None
    arrived: bool = False  # *spare* is a whole answer, which its process could not store


_OUTCOMES = "SELECT call_key, id, outcome FROM attempts WHERE call_key IN"
_HOLDERS = "SELECT key, owner, lease_until FROM calls WHERE key IN"
_RELEASE = "UPDATE calls SET owner = NULL, lease_until = NULL WHERE owner = ? AND key IN"


def find_earlier_attempts(
    connection: Connection, keys: Collection[str], unanswered: Collection[str] = ()
) -> dict[str, EarlierAttempts]:
    """Return call's key -> the results of the earlier attempts at that model call, for those of
    *keys* that were attempted before: how many attempts gave an unusable response and how many a
    cut-off one, and the id and raw body of the last cut-off response, if there is one.

    *unanswered*: the calls whose answer is not stored. For these, the body of the last answered
    attempt is preferred to a cut-off one.
    """
    outcomes: dict[str, list[tuple[int, str | None]]] = {}
    for key, attempt, outcome in sorted(
        execute_for_keys(connection, _OUTCOMES, keys), key=itemgetter(1)
    ):
        outcomes.setdefault(key, []).append((attempt, outcome))
    earlier = {}
    for key, ended in outcomes.items():
        cut_off = [attempt for attempt, outcome in ended if outcome == CUT_OFF]
        arrived = [
            attempt for attempt, outcome in ended if outcome == ANSWERED and key in unanswered
        ]
        spare = None
        if paid := arrived or cut_off:
            raw = connection.execute(
                select(attempts.c.raw).where(attempts.c.id == paid[-1])
            ).scalar_one()
            spare = (paid[-1], unpack_text(raw))
        broken = sum(outcome in UNUSABLE for _, outcome in ended)
        earlier[key] = EarlierAttempts(broken, len(cut_off), spare, bool(arrived))
    return earlier


def read_last_owners(connection: Connection, keys: Collection[str]) -> dict[str, tuple[int, str]]:
    """Return call's key -> (id, owner) of the last attempt at that model call, for those of *keys*
    that were attempted. Attempts are numbered in the order in which they began.
    """
    wanted = "SELECT call_key, id, owner FROM attempts WHERE call_key IN"
    last: dict[str, tuple[int, str]] = {}
    for some in split_chunks(keys):
        for key, attempt, owner in execute_for_keys(connection, wanted, some):
            last[key] = max(last.get(key, (0, "")), (attempt, owner))
    return last


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that has claimed a call, and until when. *owner* is None if no process has."""

    owner: str | None
    until: float | None

    def is_gone(self, now: float, watch: LeaseWatch | None) -> bool:
        """Whether another process may take this model call, because no process has claimed it, the
        one that has is known to have ended, or its claim is over at *now* (seconds since 1970).

        *watch*: used if the clocks of the processes may differ or be set; a claim is then over if
        its process has renewed no claim for too long. None if all processes read one database
        server's clock.
        """
        if self.owner is None or self.until is None or is_dead(self.owner):
            return True
        if watch is not None and has_known_machine(self.owner):
            return watch.is_silent(self.owner, self.until)
        return self.until <= now


def find_holders(
    connection: Connection, keys: Collection[str], lock: bool = False
) -> dict[str, Holder]:
    """Return call's key -> the process that has claimed that model call, and until when, for those
    of *keys* that are stored; the process is None for a call that nobody has claimed.

    *lock*: no other process changes those rows until the commit. Rows that another process is
    changing just now are left out and not waited for, because whoever changes a row has claimed the
    call.
    """
    rows = execute_for_keys(connection, _HOLDERS, keys, lock=lock)
    return {key: Holder(owner, until) for key, owner, until in rows}


def claim_calls(
    connection: Connection,
    wanted: Sequence[CallInfo],
    held: Mapping[str, Holder],
    owner: str,
    now: float,
    watch: LeaseWatch | None = None,
) -> set[str]:
    """Claim the model calls *wanted* for the process *owner*, for `LEASE` seconds from *now*
    (seconds since 1970), and return the keys of those that it got: new calls, and those whose
    earlier holder is gone. *held*: the earlier holders, from `find_holders`. *watch*: as in
    `Holder.is_gone`.

    No other process changes the claimed calls until the commit, so anything that is looked up about
    them still holds then. Attempts that a dead or silent process left in flight at these calls are
    marked as lost.
    """
    claimed = {"owner": owner, "lease_until": now + LEASE}

    def is_free(holder: Holder) -> bool:
        # another task of ours is at it, whatever the clock says: it may have been set, or the
        # machine have slept
        return holder.owner != owner and holder.is_gone(now, watch)

    def find_free(held: Mapping[str, Holder]) -> set[str]:
        return {call.key for call in wanted if call.key in held and is_free(held[call.key])}

    new = {call.key: call for call in wanted if call.key not in held}
    got = insert_new_rows(
        connection, calls, [make_call_row(call) | claimed for call in new.values()]
    )
    if (gone := find_free(held)) and (shared := read_server_time(connection)) is not None:
        # our own clock may have been set since it was compared with that one
        now = min(now, shared)
        gone = find_free(held)
    # another process may have taken one since *held* was read
    free = {
        key: holder
        for key, holder in find_holders(connection, gone, lock=True).items()
        if is_free(holder)
    }
    if free:
        connection.execute(update(calls).where(calls.c.key.in_(free)).values(**claimed))
    if taken_over := [key for key, holder in free.items() if holder.owner is not None]:
        _mark_attempts_lost(connection, attempts.c.call_key.in_(taken_over), now)
    return got | free.keys()


def _mark_attempts_lost(connection: Connection, which: ColumnElement[bool], now: float) -> None:
    lost = {
        "finished_at": now,
        "outcome": LOST,
        "message": "the process ended while this call was in flight",
    }
    connection.execute(
        update(attempts).where(which, attempts.c.finished_at.is_(None)).values(**lost)
    )


def make_call_row(call: CallInfo) -> dict[str, Any]:
    """Return the database row of a model call as column name -> value, the request compressed."""
    return read_fields(call) | {"request": _packed(call.request)}


# every run of a conversation begins with the same request: often it is packed already
_packed = lru_cache(maxsize=256)(pack_text)


def renew_claims(connection: Connection, owner: str, now: float) -> None:
    """Extend every claim of the process *owner* on model calls to `LEASE` seconds after *now*
    (seconds since 1970).
    """
    connection.execute(update(calls).where(calls.c.owner == owner).values(lease_until=now + LEASE))


def release_claims(connection: Connection, keys: Collection[str], owner: str) -> None:
    """Give back the claims of the process *owner* on the model calls *keys*, answered or not, so
    that other processes may claim these calls.
    """
    execute_for_keys(connection, _RELEASE, keys, owner)


def make_attempt_ids(connection: Connection, count: int) -> Sequence[int]:
    """Return ids for *count* new attempts at model calls, larger than those of all earlier attempts
    at the same call.
    """
    return take_next_numbers(connection, attempts, ATTEMPT_IDS, count)


def begin_attempts(
    connection: Connection, keys_and_token_limits: Sequence[tuple[str, int]], owner: str, now: float
) -> list[int]:
    """Record in the store that requests to models are about to be sent, and return the ids of these
    new attempts, in order.

    *keys_and_token_limits*: for each request, the key of the model call and the most tokens that
    the response may have. *owner*: the process that sends. *now*: seconds since 1970.
    """
    numbers = make_attempt_ids(connection, len(keys_and_token_limits))
    rows = [
        {
            "id": attempt,
            "call_key": key,
            "owner": owner,
            "started_at": now,
            "max_tokens": max_tokens,
        }
        for attempt, (key, max_tokens) in zip(numbers, keys_and_token_limits, strict=True)
    ]
    insert_rows(connection, attempts, rows)
    return list(numbers)


def delete_unsent_attempt(connection: Connection, attempt: int) -> None:
    """Delete the record of an attempt at a model call that was never sent; *attempt* is its id. An
    attempt that has ended stays.
    """
    connection.execute(
        delete(attempts).where(attempts.c.id == attempt, attempts.c.finished_at.is_(None))
    )


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt at a model call ended, and what it cost."""

    outcome: str  # ANSWERED, CUT_OFF, or a `Kind` of fault
    message: str
    usage: Usage
    seconds: float
    raw: str
    status: int | None = None
    finish_reason: str | None = None
    served_model: str | None = None
    served_provider: str | None = None
    response_id: str | None = None


def record_attempt_ends(
    connection: Connection, ended: Sequence[tuple[int, Ended]], now: float
) -> None:
    """Record in the store how attempts at model calls ended and what they cost, whether or not
    their responses were of use. *ended*: (id of the attempt, how it ended); *now*: when, in seconds
    since 1970. Secrets are removed from response bodies and messages.
    """
    rows = [
        make_attempt_row(how, SENT.redact_text(how.raw))
        | {
            "id": attempt,
            "finished_at": now,
            "message": KNOWN.redact_secrets_and_logins(how.message),
        }
        for attempt, how in ended
    ]
    if rows:
        changed = ", ".join(f"{name} = :{name}" for name in rows[0] if name != "id")
        write_rows(connection, f"UPDATE attempts SET {changed} WHERE id = :id", rows)  # noqa: S608 - names of columns


def make_attempt_row(ended: Ended, raw: str) -> dict[str, Any]:
    """Return the database columns that say how an attempt at a model call ended, as column name ->
    value, with its tokens and cost. *raw*: the response body as it is to be stored, which is
    compressed here.
    """
    row = read_fields(ended) | read_fields(ended.usage) | {"raw": pack_text(raw)}
    del row["usage"]
    return row


def find_other_machines_lease_ends(connection: Connection) -> dict[str, float]:
    """Return process name -> when its last claim on a model call ends, in seconds since 1970, for
    the processes whose clock is not this machine's.
    """
    rows = connection.execute(
        select(calls.c.owner, func.max(calls.c.lease_until))
        .where(calls.c.owner.is_not(None))
        .group_by(calls.c.owner)
    )
    return {
        owner: until for owner, until in rows if until is not None and not has_same_clock(owner)
    }


def close_lost_attempts(connection: Connection, now: float, watch: LeaseWatch | None = None) -> int:
    """Mark every attempt that a dead or silent process left in flight as lost, and return how many
    there were. *now*: seconds since 1970; *watch*: as in `Holder.is_gone`.

    Such attempts may have been paid for although no reply arrived: that is all that a kill can
    cost.
    """
    wanted = select(attempts.c.id, attempts.c.owner, calls.c.owner, calls.c.lease_until).join_from(
        attempts, calls
    )
    lost = [
        attempt
        for attempt, owner, holder, until in connection.execute(
            wanted.where(attempts.c.finished_at.is_(None))
        )
        if holder != owner or Holder(owner, until).is_gone(now, watch)
    ]
    if lost:
        _mark_attempts_lost(connection, attempts.c.id.in_(lost), now)
    return len(lost)


def select_attempt_columns(*names: str) -> Select[*tuple[Any, ...]]:
    """Return a SQL query for the columns *names* of every attempt at a model call, by attempt id. A
    name is a column of the table `attempts`, else of `calls`; "provider" means the column
    "served_provider".
    """
    names = tuple("served_provider" if name == "provider" else name for name in names)
    columns = (attempts.c[name] if name in attempts.c else calls.c[name] for name in names)
    return select(*columns).select_from(attempts.join(calls)).order_by(attempts.c.id)


def read_attempts(connection: Connection, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Return every attempt at the model calls *keys* as column name -> value, sorted by attempt id,
    without the raw response body.
    """
    columns = [column for column in attempts.c if column.name != "raw"]
    rows = connection.execute(
        select(*columns).where(attempts.c.call_key.in_(list(keys))).order_by(attempts.c.id)
    )
    return [dict(row) for row in rows.mappings()]


@dataclass(frozen=True, slots=True)
class Spending:
    """The cost of a store. *unpriced*: attempts that ended in a reply of unknown cost."""

    replies: float = 0.0
    judgements: float = 0.0
    attempts: int = 0
    lost: int = 0
    unpriced: int = 0

    @property
    def total(self) -> float:
        """US dollars that all models' replies and all judges' judgements in the store have cost
        together.
        """
        return self.replies + self.judgements


def sum_spending(connection: Connection) -> Spending:
    """Return what the store's attempts have cost since it was made, in US dollars for replies and
    for judgements, rejected attempts included, and how many attempts there were, how many were
    lost, and how many have an unknown cost. Imported attempts are left out: others paid for them.
    """
    unpriced = and_(attempts.c.cost.is_(None), attempts.c.outcome.in_((ANSWERED, CUT_OFF)))
    sums = connection.execute(
        select(
            calls.c.kind,
            func.coalesce(func.sum(attempts.c.cost), 0.0),
            func.count(),
            func.count(case((attempts.c.outcome == LOST, 1))),
            func.count(case((unpriced, 1))),
        )
        .join(calls, calls.c.key == attempts.c.call_key)
        .where(attempts.c.owner.not_like(f"{IMPORTED}%"))
        .group_by(calls.c.kind)
    ).all()
    dollars = {kind: float(cost) for kind, cost, *_ in sums}
    made, lost, unknown = (sum(row[column] for row in sums) for column in (2, 3, 4))
    return Spending(dollars.get("reply", 0.0), dollars.get("judgement", 0.0), made, lost, unknown)


# ---------------------------------------------------------------- as they came


class RawAttempt(NamedTuple):
    """An attempt that has ended, as it came, with the stored answer if that answer comes from this
    attempt.
    """

    key: str  # of the call
    outcome: str
    status: int | None
    served_provider: str | None
    served_model: str | None
    raw: str | None  # "": nothing came, or nothing was kept; None: damaged
    state: str | None  # of the stored reply or judgement; None: another attempt became it, or none
    text: str | None  # of the stored reply
    notes: str | None


def read_raw_attempts(connection: Connection, kind: CallKind) -> Iterator[RawAttempt]:
    """Yield every ended attempt at the stored model calls of *kind* (a reply or a judgement), by
    attempt id: its outcome, HTTP status, provider, model and raw response body, and the stored
    answer if that comes from this attempt.
    """
    of_reply: tuple[Any, ...] = (replies.c.state, replies.c.text, replies.c.notes)
    of_judgement = (judgements.c.state, null(), null())
    table, columns = (replies, of_reply) if kind == "reply" else (judgements, of_judgement)
    told = ("outcome", "status", "served_provider", "served_model", "raw")
    of_attempt = (calls.c.key, *(attempts.c[name] for name in told))
    stored = and_(table.c.key == calls.c.key, table.c.attempt_id == attempts.c.id)
    wanted = select(*of_attempt, *columns).select_from(
        attempts.join(calls).outerjoin(table, stored)
    )
    wanted = wanted.where(calls.c.kind == kind, attempts.c.outcome.is_not(None)).order_by(
        attempts.c.id
    )
    for key, outcome, status, by, model, raw, *kept_as in connection.execute(
        wanted.execution_options(yield_per=200)
    ):
        yield RawAttempt(key, outcome, status, by, model, _unpack_unless_damaged(raw), *kept_as)


class SharedId(NamedTuple):
    """A response id under which an endpoint answered several calls."""

    endpoint: str
    id: str
    calls: int  # at least 2
    example: tuple[str, str]  # the keys of two of them
    answered: int  # calls of that endpoint that were answered under any id


def find_shared_response_ids(connection: Connection) -> list[SharedId]:
    """Return every response id that one endpoint gave in its answers to more than one model call,
    each with the number of these calls, sorted by endpoint and id.
    """
    of_answers = (attempts.c.outcome.in_((ANSWERED, CUT_OFF)), attempts.c.response_id != "")
    different = func.count(attempts.c.call_key.distinct())
    joined = attempts.join(calls, calls.c.key == attempts.c.call_key)
    every = (
        select(calls.c.endpoint, different)
        .select_from(joined)
        .where(*of_answers)
        .group_by(calls.c.endpoint)
    )
    answered = {row[0]: row[1] for row in connection.execute(every)}
    place = (calls.c.endpoint, attempts.c.response_id)
    ends = (func.min(attempts.c.call_key), func.max(attempts.c.call_key))
    shared = (
        select(*place, different, *ends).select_from(joined).where(*of_answers).group_by(*place)
    )
    return [
        SharedId(endpoint, response_id, count, (first, last), answered[endpoint])
        for endpoint, response_id, count, first, last in connection.execute(
            shared.having(different > 1).order_by(*place)
        )
    ]


def _unpack_unless_damaged(blob: bytes | None) -> str | None:
    """Return the text in *blob*, a compressed text from the store: "" if there is no blob, None if
    it is damaged.
    """
    try:
        return unpack_text(blob) if blob else ""
    except Damaged:
        return None


@dataclass(frozen=True, slots=True)
class Body:
    """The response of one attempt as it came."""

    outcome: str | None  # None: in flight
    status: int | None
    raw: str  # "": nothing came, or nothing was kept


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call: the request as it was recorded (JSON, without address and key), and the response of
    every attempt in order.
    """

    request: str
    bodies: tuple[Body, ...]


def read_exchanges(connection: Connection, keys: Sequence[str]) -> dict[str, Exchange]:
    """Return call's key -> the request as it was recorded and the raw responses of all attempts,
    for those of the model calls *keys* that are stored. Raises StoreError if a request or response
    is damaged.
    """
    rows = connection.execute(
        select(calls.c.key, calls.c.request).where(calls.c.key.in_(list(keys)))
    )
    requests = {key: unpack_text(packed) for key, packed in rows}
    columns = (attempts.c.call_key, attempts.c.outcome, attempts.c.status, attempts.c.raw)
    bodies: dict[str, list[Body]] = {key: [] for key in requests}
    wanted = select(*columns).where(attempts.c.call_key.in_(list(requests))).order_by(attempts.c.id)
    for key, outcome, status, raw in connection.execute(wanted):
        bodies[key].append(Body(outcome, status, unpack_text(raw) if raw else ""))
    return {key: Exchange(request, tuple(bodies[key])) for key, request in requests.items()}
