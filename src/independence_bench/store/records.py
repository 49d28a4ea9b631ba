"""Replies, transcripts, judgements and who was played: reading and writing them.

Functions on a connection, so one transaction can do several of them; opens nothing and waits for nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, select, update

from independence_bench.conversation import Line, Transcript
from independence_bench.hashing import canonical
from independence_bench.store.tables import (
    insert_once,
    judgements,
    judges,
    pack,
    protocols,
    replies,
    subjects,
    transcripts,
    unpack,
)
from independence_bench.subject import ChatModel, Reasoning

# ---------------------------------------------------------------- replies and transcripts


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a call of a subject; *reason* is set where there is none (invalid)."""

    text: str
    notes: str = ""
    reasoning: str = ""
    cut_off: bool = False
    plain_text: bool = False
    reasoned: bool = False  # it came with reasoning, asked for or not
    reason: str | None = None


def keep_reply(connection: Connection, key: str, attempt: int, reply: Reply, now: float) -> None:
    """Store the answer to a call. A valid one stays for ever; an invalid one gives way to a later try."""
    connection.execute(replies.delete().where(replies.c.key == key, replies.c.state == "invalid"))
    insert_once(
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
    reasoned: int
    reason: str | None = None


def keep_transcript(connection: Connection, played: Played, now: float) -> None:
    """Store a finished transcript. A complete one stays for ever; an invalid one gives way to a later try."""
    connection.execute(transcripts.delete().where(transcripts.c.id == played.id, transcripts.c.state == "invalid"))
    row = {name: getattr(played, name) for name in Played.__dataclass_fields__ if name != "transcript"}
    row |= {
        "state": "complete" if played.reason is None else "invalid",
        "heard_hash": played.transcript.heard_hash,
        "lines": pack(canonical([played.transcript.system, played.transcript.lines])),
        "reply_keys": canonical(played.reply_keys),
        "finished_at": now,
    }
    insert_once(connection, transcripts, row)


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
    reasoned: int


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
    insert_once(connection, judgements, row)


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
    """Store the protocol's files, once for each of its versions, and that it is played now."""
    row = {"hash": protocol_hash, "name": name, "files": pack(canonical(dict(files))), "played_at": now}
    insert_once(connection, protocols, row)
    connection.execute(update(protocols).where(protocols.c.hash == protocol_hash).values(played_at=now))


def stored_protocols(connection: Connection) -> list[tuple[str, str, dict[str, str]]]:
    """(hash, name, files) of every protocol that was played, the last one first."""
    found = connection.execute(
        select(protocols.c.hash, protocols.c.name, protocols.c.files).order_by(protocols.c.played_at.desc())
    )
    return [(row[0], row[1], json.loads(unpack(row[2]))) for row in found]


def keep_subject(connection: Connection, subject: ChatModel) -> None:
    """Store a subject's settings."""
    insert_once(connection, subjects, {"hash": subject.hash, "label": subject.label, "spec": canonical(subject)})


def stored_subjects(connection: Connection) -> dict[str, ChatModel]:
    """Every subject that was played: hash -> settings."""
    found = connection.execute(select(subjects.c.hash, subjects.c.spec).order_by(subjects.c.label, subjects.c.hash))
    return {row[0]: _model(json.loads(row[1])) for row in found}


def _model(spec: dict[str, Any]) -> ChatModel:
    return ChatModel(**spec | {"reasoning": Reasoning(spec["reasoning"])})


def keep_judge(connection: Connection, judge_hash: str, label: str, spec: str) -> None:
    """Store a judge's settings (*spec* is JSON)."""
    insert_once(connection, judges, {"hash": judge_hash, "label": label, "spec": spec})


def stored_judges(connection: Connection) -> dict[str, str]:
    """Every judge that marked: hash -> label; those of one label get the start of their hash behind it."""
    found = connection.execute(select(judges.c.hash, judges.c.label).order_by(judges.c.label, judges.c.hash)).all()
    labels = Counter(row[1] for row in found)
    return {row[0]: row[1] if labels[row[1]] == 1 else f"{row[1]}#{row[0][:6]}" for row in found}
