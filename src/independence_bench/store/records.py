"""Reading and writing the store, as functions on a connection: one transaction can do several of them.

Knows the tables and the values that go in and out; opens nothing and waits for nothing.
"""

from __future__ import annotations

import json
import os
import socket
import uuid
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from independence_bench.chat import Kind, Usage
from independence_bench.conversation import Line, Transcript
from independence_bench.hashing import canonical
from independence_bench.store.tables import (
    attempts,
    calls,
    judgements,
    judges,
    protocols,
    replies,
    subjects,
    transcripts,
)
from independence_bench.subject import ChatModel, Reasoning

LEASE = 90.0  # seconds that a claim lasts unless it is renewed

# ---------------------------------------------------------------- who is at work


def new_owner() -> str:
    """A name for this process among all that share the store: host, process, and something of its own."""
    return f"{socket.gethostname()}|{os.getpid()}|{uuid.uuid4().hex[:12]}"


def is_dead(owner: str) -> bool:
    """Whether *owner* is a process of this machine that has ended; False for what cannot be known."""
    host, pid, _ = owner.split("|") if owner.count("|") == 2 else ("", "", "")
    if host != socket.gethostname() or not pid.isdigit() or os.name == "nt":
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


def claim(connection: Connection, call: CallInfo, owner: str, now: float) -> Tried | None:
    """Take the call for *owner* and say what was tried before; None while another process is at it."""
    _insert_once(
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
        return None
    free = and_(calls.c.key == call.key, calls.c.owner.is_(None) if holder is None else calls.c.owner == holder)
    taken = connection.execute(update(calls).where(free).values(owner=owner, lease_until=now + LEASE))
    if taken.rowcount != 1:
        return None
    outcomes = connection.execute(select(attempts.c.outcome).where(attempts.c.call_key == call.key)).scalars().all()
    broken = sum(outcome in (Kind.BROKEN, Kind.WRONG_PROVIDER) for outcome in outcomes)
    return Tried(broken, cut_off=outcomes.count("cut off"))


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
            .values(finished_at=now, outcome="lost", message="the process ended while this call was in flight")
        )
    return len(lost)


# ---------------------------------------------------------------- replies and transcripts


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a call of a subject; *reason* is set where there is none (invalid)."""

    text: str
    notes: str = ""
    reasoning: str = ""
    cut_off: bool = False
    plain_text: bool = False
    reason: str | None = None


def keep_reply(connection: Connection, key: str, attempt: int, reply: Reply, now: float) -> None:
    """Store the answer to a call. One that is there already stays: a valid reply is never replaced."""
    _insert_once(
        connection,
        replies,
        asdict(reply)
        | {
            "key": key,
            "attempt_id": attempt,
            "state": "valid" if reply.reason is None else "invalid",
            "stored_at": now,
        },
    )


def find_reply(connection: Connection, key: str) -> Reply | None:
    """The answer to a call, if there is one."""
    row = connection.execute(select(replies).where(replies.c.key == key)).mappings().one_or_none()
    return None if row is None else Reply(**{name: row[name] for name in Reply.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class Played:
    """One scenario played to its end, or to the reply that was invalid (*reason* is set then)."""

    id: str
    script_hash: str
    subject_hash: str
    protocol_hash: str
    run: int
    system: str
    delivery: str
    experiment: str
    scenario: str
    transcript: Transcript
    reply_keys: tuple[str, ...]
    replies: int
    cut_off: int
    plain_text: int
    reason: str | None = None


def keep_transcript(connection: Connection, played: Played, now: float) -> None:
    """Store a finished transcript; one that is there already stays."""
    row = {name: getattr(played, name) for name in Played.__dataclass_fields__ if name != "transcript"}
    row |= {
        "state": "complete" if played.reason is None else "invalid",
        "heard_hash": played.transcript.heard_hash,
        "lines": pack(canonical([played.transcript.system, played.transcript.lines])),
        "reply_keys": canonical(played.reply_keys),
        "finished_at": now,
    }
    _insert_once(connection, transcripts, row)


@dataclass(frozen=True, slots=True)
class TranscriptRow:
    """A stored transcript without its words."""

    id: str
    script_hash: str
    subject_hash: str
    run: int
    system: str
    delivery: str
    scenario: str
    state: str
    reason: str | None
    heard_hash: str
    replies: int
    cut_off: int
    plain_text: int


def transcript_rows(
    connection: Connection, scripts: Collection[str], subject: str | None = None
) -> list[TranscriptRow]:
    """The transcripts of the given script hashes, of one subject or of all, in a fixed order."""
    columns = [transcripts.c[name] for name in TranscriptRow.__dataclass_fields__]
    wanted: list[ColumnElement[bool]] = [transcripts.c.script_hash.in_(list(scripts))]
    if subject is not None:
        wanted.append(transcripts.c.subject_hash == subject)
    order = (transcripts.c.subject_hash, transcripts.c.run, transcripts.c.script_hash)
    return [TranscriptRow(*row) for row in connection.execute(select(*columns).where(*wanted).order_by(*order))]


def read_transcript(connection: Connection, transcript_id: str) -> tuple[Transcript, tuple[str, ...]]:
    """(what was said, the keys of its replies). Raises KeyError for an unknown id."""
    row = connection.execute(
        select(transcripts.c.lines, transcripts.c.reply_keys).where(transcripts.c.id == transcript_id)
    ).one_or_none()
    if row is None:
        raise KeyError(transcript_id)
    system, lines = json.loads(unpack(row[0]))
    return Transcript(system, tuple(Line(**line) for line in lines)), tuple(json.loads(row[1]))


# ---------------------------------------------------------------- judgements


@dataclass(frozen=True, slots=True)
class Judgement:
    """All marks of one judge on what was heard in one transcript; *reason* is set where it failed."""

    key: str
    heard_hash: str
    rubric_hash: str
    judge_hash: str
    marks: Mapping[str, float]
    reasoning: str
    reason: str | None = None


def keep_judgement(connection: Connection, judgement: Judgement, attempt: int | None, now: float) -> None:
    """Store a judgement. A valid one stays for ever; a failed one gives way to a later try."""
    earlier = and_(judgements.c.key == judgement.key, judgements.c.state == "failed")
    connection.execute(judgements.delete().where(earlier))
    row = {name: getattr(judgement, name) for name in Judgement.__dataclass_fields__}
    row |= {
        "marks": canonical(dict(judgement.marks)),
        "state": "valid" if judgement.reason is None else "failed",
        "attempt_id": attempt,
        "stored_at": now,
    }
    _insert_once(connection, judgements, row)


def find_judgement(connection: Connection, key: str) -> Judgement | None:
    """The judgement of that key, valid or failed, if there is one."""
    row = connection.execute(select(judgements).where(judgements.c.key == key)).mappings().one_or_none()
    return None if row is None else _judgement(row)


def judgement_rows(connection: Connection, rubrics: Collection[str]) -> list[Judgement]:
    """Every judgement by the given rubric hashes, without its reasoning."""
    columns = [judgements.c[n] for n in Judgement.__dataclass_fields__ if n != "reasoning"]
    found = connection.execute(
        select(*columns).where(judgements.c.rubric_hash.in_(list(rubrics))).order_by(judgements.c.key)
    )
    return [_judgement({**row, "reasoning": ""}) for row in found.mappings()]


def judgements_of(connection: Connection, heard_hash: str, rubric_hash: str) -> list[Judgement]:
    """All judges' judgements of one transcript by one rubric, reasoning included."""
    wanted = and_(judgements.c.heard_hash == heard_hash, judgements.c.rubric_hash == rubric_hash)
    found = connection.execute(select(judgements).where(wanted).order_by(judgements.c.key))
    return [_judgement(row) for row in found.mappings()]


def _judgement(row: Any) -> Judgement:
    values = {name: row[name] for name in Judgement.__dataclass_fields__}
    return Judgement(**values | {"marks": json.loads(row["marks"])})


# ---------------------------------------------------------------- who and what was played


def keep_protocol(connection: Connection, protocol_hash: str, name: str, files: Mapping[str, str], now: float) -> None:
    """Store the protocol's files, once for each of its versions."""
    row = {"hash": protocol_hash, "name": name, "files": pack(canonical(dict(files))), "played_at": now}
    _insert_once(connection, protocols, row)


def stored_protocols(connection: Connection) -> list[tuple[str, str, dict[str, str]]]:
    """(hash, name, files) of every protocol that was played, the last one first."""
    found = connection.execute(
        select(protocols.c.hash, protocols.c.name, protocols.c.files).order_by(protocols.c.played_at.desc())
    )
    return [(row[0], row[1], json.loads(unpack(row[2]))) for row in found]


def keep_subject(connection: Connection, subject: ChatModel) -> None:
    """Store a subject's settings."""
    _insert_once(connection, subjects, {"hash": subject.hash, "label": subject.label, "spec": canonical(subject)})


def stored_subjects(connection: Connection) -> dict[str, ChatModel]:
    """Every subject that was played: hash -> settings."""
    found = connection.execute(select(subjects.c.hash, subjects.c.spec).order_by(subjects.c.label, subjects.c.hash))
    return {row[0]: _model(json.loads(row[1])) for row in found}


def _model(spec: dict[str, Any]) -> ChatModel:
    return ChatModel(**spec | {"reasoning": Reasoning(spec["reasoning"])})


def keep_judge(connection: Connection, judge_hash: str, label: str, spec: str) -> None:
    """Store a judge's settings (*spec* is JSON)."""
    _insert_once(connection, judges, {"hash": judge_hash, "label": label, "spec": spec})


def stored_judges(connection: Connection) -> dict[str, str]:
    """Every judge that marked: hash -> label."""
    found = connection.execute(select(judges.c.hash, judges.c.label).order_by(judges.c.label, judges.c.hash))
    return {row[0]: row[1] for row in found}


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
            func.coalesce(func.sum(_one_if(attempts.c.outcome == "lost")), 0),
            func.coalesce(
                func.sum(
                    _one_if(
                        and_(
                            attempts.c.cost.is_(None),
                            or_(attempts.c.outcome == "answered", attempts.c.outcome == "cut off"),
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


# ---------------------------------------------------------------- plumbing


def _insert_once(connection: Connection, table: Any, row: Mapping[str, Any]) -> None:
    """Insert *row* unless its primary key is there already."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    connection.execute(insert(table).values(**row).on_conflict_do_nothing())


def pack(text: str) -> bytes:
    """*text* as it is stored in a blob."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


def unpack(blob: bytes) -> str:
    """The text of a blob."""
    return zlib.decompress(blob).decode("utf-8", "surrogatepass")


def attempts_of(connection: Connection, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Every attempt at the given calls, in order, without the raw body."""
    columns = [column for column in attempts.c if column.name != "raw"]
    found = connection.execute(select(*columns).where(attempts.c.call_key.in_(list(keys))).order_by(attempts.c.id))
    return [dict(row) for row in found.mappings()]
