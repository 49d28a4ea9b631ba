"""Replies, transcripts, judgements and who was played: reading and writing them.

Functions on a connection, so one transaction can do several of them; opens nothing and waits for nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, and_, bindparam, func, select, update

from independence_bench.conversation import Line, Transcript
from independence_bench.hashing import canonical
from independence_bench.store.tables import (
    Damaged,
    attempts,
    begun,
    calls,
    insert_once,
    insert_over,
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

A = TypeVar("A")


@contextmanager
def _undamaged() -> Iterator[None]:
    """What cannot be read back raises StoreError."""
    try:
        yield
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Damaged(error) from None


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


# made once, for every call looks there
_REPLIES = select(replies.c.key, *(replies.c[name] for name in Reply.__dataclass_fields__)).where(
    replies.c.key.in_(bindparam("keys", expanding=True))
)


def keep_replies(connection: Connection, answers: Sequence[tuple[str, int | None, Reply, float]]) -> list[None]:
    """Store answers to calls, as (key, attempt, answer, now). A valid one stays; an invalid one gives way."""
    rows = [
        {name: getattr(reply, name) for name in Reply.__dataclass_fields__}
        | {
            "key": key,
            "attempt_id": attempt,
            "state": "valid" if reply.reason is None else "invalid",
            "stored_at": now,
        }
        for key, attempt, reply, now in answers
    ]
    insert_over(connection, replies, "invalid", rows)
    return [None] * len(rows)


def find_replies(connection: Connection, keys: Collection[str]) -> dict[str, Reply]:
    """The answers to those of the calls that have one."""
    found = connection.execute(_REPLIES, {"keys": list(keys)})
    return {key: Reply(*values) for key, *values in found}


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


def keep_transcripts(connection: Connection, finished: Sequence[tuple[Played, float]]) -> list[None]:
    """Store transcripts and when they were finished. A complete one stays; an invalid one gives way."""
    insert_over(connection, transcripts, "invalid", [_transcript_row(played, now) for played, now in finished])
    return [None] * len(finished)


def _transcript_row(played: Played, now: float) -> dict[str, Any]:
    row = {name: getattr(played, name) for name in Played.__dataclass_fields__ if name != "transcript"}
    return row | {
        "state": "complete" if played.reason is None else "invalid",
        "heard_hash": played.transcript.heard_hash,
        "lines": pack(canonical([played.transcript.system, [line.record() for line in played.transcript.lines]])),
        "reply_keys": canonical(played.reply_keys),
        "finished_at": now,
    }


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


@dataclass(frozen=True, slots=True)
class Ending:
    """How a stored transcript ended."""

    run: int
    state: str
    reason: str | None
    heard_hash: str


def endings(connection: Connection, scripts: Collection[str], subject: str) -> dict[str, Ending]:
    """How the subject's transcripts of the given script hashes ended, by their ids."""
    columns = [transcripts.c[name] for name in ("id", *Ending.__dataclass_fields__)]
    wanted = select(*columns).where(transcripts.c.subject_hash == subject, transcripts.c.script_hash.in_(scripts))
    return {row[0]: Ending(*row[1:]) for row in connection.execute(wanted)}


def verdicts(
    connection: Connection, scripts: Collection[str], subject: str, judge: str
) -> dict[tuple[str, str], str | None]:
    """What the judge made of those transcripts: (heard hash, rubric hash) -> why it failed, None where it did not."""
    of_subject = and_(transcripts.c.subject_hash == subject, transcripts.c.script_hash.in_(scripts))
    wanted = (
        select(judgements.c.heard_hash, judgements.c.rubric_hash, judgements.c.reason)
        .join(transcripts, transcripts.c.heard_hash == judgements.c.heard_hash)
        .where(of_subject, judgements.c.judge_hash == judge)
    )
    return {(heard, rubric): reason for heard, rubric, reason in connection.execute(wanted)}


def read_transcript(connection: Connection, transcript_id: str) -> tuple[Transcript, tuple[str, ...]]:
    """(what was said, the keys of its replies). Raises KeyError for an unknown id."""
    row = connection.execute(
        select(transcripts.c.lines, transcripts.c.reply_keys).where(transcripts.c.id == transcript_id)
    ).one_or_none()
    if row is None:
        raise KeyError(transcript_id)
    with _undamaged():
        system, lines = json.loads(unpack(row[0]))
        return Transcript(system, tuple(Line(**line) for line in lines)), tuple(json.loads(row[1]))


def reply_keys(connection: Connection, scripts: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The keys of the replies in each transcript of the given script hashes, by the transcript's id."""
    wanted = select(transcripts.c.id, transcripts.c.reply_keys).where(transcripts.c.script_hash.in_(list(scripts)))
    with _undamaged():
        return {row[0]: tuple(json.loads(row[1])) for row in connection.execute(wanted)}


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


_JUDGEMENTS = select(judgements).where(judgements.c.key.in_(bindparam("keys", expanding=True)))


def keep_judgements(connection: Connection, made: Sequence[tuple[str, int | None, Judgement, float]]) -> list[None]:
    """Store judgements, as (key, attempt, judgement, now). A valid one stays; a failed one gives way."""
    rows = [
        {name: getattr(judgement, name) for name in Judgement.__dataclass_fields__}
        | {
            "key": key,
            "marks": canonical(dict(judgement.marks)),
            "state": "valid" if judgement.reason is None else "failed",
            "attempt_id": attempt,
            "stored_at": now,
        }
        for key, attempt, judgement, now in made
    ]
    insert_over(connection, judgements, "failed", rows)
    return [None] * len(rows)


def find_judgements(connection: Connection, keys: Collection[str]) -> dict[str, Judgement]:
    """The judgements of those keys, valid or failed, that there are."""
    found = connection.execute(_JUDGEMENTS, {"keys": list(keys)}).mappings()
    return {row["key"]: _judgement(row) for row in found}


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
    with _undamaged():
        return Judgement(**values | {"marks": json.loads(row["marks"])})


# ---------------------------------------------------------------- what is bought


@dataclass(frozen=True, slots=True)
class Shelf(Generic[A]):
    """Where answers of one kind are kept, for whoever buys them without knowing what they are."""

    find: Callable[[Connection, Collection[str]], dict[str, A]]  # keys -> those that are there
    keep: Callable[[Connection, Sequence[tuple[str, int | None, A, float]]], list[None]]  # key, attempt, answer, now


REPLIES = Shelf(find_replies, keep_replies)
JUDGEMENTS = Shelf(find_judgements, keep_judgements)


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
    with _undamaged():
        return [(row[0], row[1], json.loads(unpack(row[2]))) for row in found]


def keep_subject(connection: Connection, subject: ChatModel) -> None:
    """Store a subject's settings."""
    insert_once(connection, subjects, {"hash": subject.hash, "label": subject.label, "spec": canonical(subject)})


def stored_subjects(connection: Connection) -> dict[str, ChatModel]:
    """Every subject that was played: hash -> settings."""
    found = connection.execute(select(subjects.c.hash, subjects.c.spec).order_by(subjects.c.label, subjects.c.hash))
    with _undamaged():
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


def judge_specs(connection: Connection) -> dict[str, dict[str, Any]]:
    """Every judge's settings as it stored them: hash -> a JSON object; {} where it is none that we know."""
    found = {}
    for judge, spec in connection.execute(select(judges.c.hash, judges.c.spec)):
        with _undamaged():
            read = json.loads(spec)
        found[judge] = read if isinstance(read, dict) else {}
    return found


def reasonings(connection: Connection, rubrics: Collection[str]) -> Iterator[tuple[str, str]]:
    """(key, reasoning) of every valid judgement by the given rubric hashes, one after the other."""
    wanted = select(judgements.c.key, judgements.c.reasoning).where(
        judgements.c.rubric_hash.in_(list(rubrics)), judgements.c.state == "valid"
    )
    for row in connection.execute(wanted.execution_options(yield_per=1000)):
        yield row[0], row[1]


# ---------------------------------------------------------------- runs


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that was begun for a protocol, in one configuration."""

    protocol_hash: str
    subject_hash: str
    run: int
    system: str
    delivery: str


def begin_runs(connection: Connection, runs: Sequence[Begun]) -> list[None]:
    """Write down that runs were begun, once each: who fails before any transcript is stored has begun all the same."""
    for run in dict.fromkeys(runs):
        insert_once(connection, begun, {name: getattr(run, name) for name in Begun.__dataclass_fields__})
    return [None] * len(runs)


def begun_runs(connection: Connection, protocol: str, subject: str | None = None) -> set[tuple[str, int, str, str]]:
    """The runs that were begun for a protocol of that name, in whatever version: (subject, run, system, delivery).

    Of one subject (its hash) or of all. Begun is what something was played for, or was to be and failed.
    """
    found: set[tuple[str, int, str, str]] = set()
    for table in (transcripts, begun):
        columns = (table.c.subject_hash, table.c.run, table.c.system, table.c.delivery)
        wanted = select(*columns).join(protocols, protocols.c.hash == table.c.protocol_hash).distinct()
        wanted = wanted.where(protocols.c.name == protocol)
        if subject is not None:
            wanted = wanted.where(table.c.subject_hash == subject)
        found |= {(of, run, system, way) for of, run, system, way in connection.execute(wanted)}
    return found


# ---------------------------------------------------------------- when, and for how much


def newest(connection: Connection) -> float | None:
    """When the newest result was stored: an attempt's end, a transcript or a judgement. None where there is none."""
    times = (attempts.c.finished_at, transcripts.c.finished_at, judgements.c.stored_at)
    found = [connection.execute(select(func.max(time))).scalar() for time in times]
    return max((time for time in found if time is not None), default=None)


@dataclass(frozen=True, slots=True)
class Try:
    """An attempt at a reply that has ended, as far as it is money."""

    key: str  # of the call
    outcome: str
    cost: float | None  # dollars; None: not told
    provider: str | None  # that served it, by its own word


def reply_tries(connection: Connection) -> list[Try]:
    """Every attempt at a reply of a subject that has ended, in order."""
    wanted = (
        select(attempts.c.call_key, attempts.c.outcome, attempts.c.cost, attempts.c.served_provider)
        .join(calls, calls.c.key == attempts.c.call_key)
        .where(calls.c.kind == "reply", attempts.c.outcome.is_not(None))
        .order_by(attempts.c.id)
    )
    return [Try(*row) for row in connection.execute(wanted)]


# ---------------------------------------------------------------- as it came


@dataclass(frozen=True, slots=True)
class ReplyBody:
    """An attempt at a reply that has ended, as it came, and the reply that was made of it."""

    key: str  # of the call
    outcome: str
    status: int | None
    served_provider: str | None
    raw: str  # "": nothing came, or nothing was kept
    request: str  # JSON
    state: str | None  # of the stored reply; None: another attempt became it, or none
    text: str | None
    notes: str | None


def reply_bodies(connection: Connection) -> Iterator[ReplyBody]:
    """Every attempt at a reply that has ended, in order, one after the other."""
    plain = [attempts.c[name] for name in ("outcome", "status", "served_provider")]
    kept = replies.c.attempt_id == attempts.c.id
    wanted = (
        select(calls.c.key, *plain, attempts.c.raw, calls.c.request, replies.c.state, replies.c.text, replies.c.notes)
        .select_from(attempts.join(calls, calls.c.key == attempts.c.call_key))
        .outerjoin(replies, and_(replies.c.key == calls.c.key, kept))
        .where(calls.c.kind == "reply", attempts.c.outcome.is_not(None))
        .order_by(attempts.c.id)
    )
    for key, outcome, status, served, raw, request, *kept_as in connection.execute(
        wanted.execution_options(yield_per=200)
    ):
        yield ReplyBody(key, outcome, status, served, unpack(raw) if raw else "", unpack(request), *kept_as)


@dataclass(frozen=True, slots=True)
class VerdictBody:
    """An attempt at a judgement that has ended, as it came."""

    key: str  # of the call, and of the judgement
    outcome: str
    status: int | None
    raw: str
    is_stored: bool  # whether the stored judgement was made of it


def verdict_bodies(connection: Connection) -> Iterator[VerdictBody]:
    """Every attempt at a judgement that has ended, in order, one after the other."""
    kept = judgements.c.attempt_id == attempts.c.id
    wanted = (
        select(calls.c.key, attempts.c.outcome, attempts.c.status, attempts.c.raw, judgements.c.key)
        .select_from(attempts.join(calls, calls.c.key == attempts.c.call_key))
        .outerjoin(judgements, and_(judgements.c.key == calls.c.key, kept))
        .where(calls.c.kind == "judgement", attempts.c.outcome.is_not(None))
        .order_by(attempts.c.id)
    )
    for key, outcome, status, raw, stored in connection.execute(wanted.execution_options(yield_per=500)):
        yield VerdictBody(key, outcome, status, unpack(raw) if raw else "", stored is not None)


def words_of(
    connection: Connection, scripts: Collection[str]
) -> Iterator[tuple[TranscriptRow, Transcript, tuple[str, ...]]]:
    """Every transcript of the given script hashes with what was said and the keys of its replies, in a fixed order."""
    names = tuple(TranscriptRow.__dataclass_fields__)
    wanted = select(*(transcripts.c[name] for name in names), transcripts.c.lines, transcripts.c.reply_keys)
    wanted = wanted.where(transcripts.c.script_hash.in_(list(scripts)))
    order = (transcripts.c.subject_hash, transcripts.c.run, transcripts.c.script_hash)
    for row in connection.execute(wanted.order_by(*order).execution_options(yield_per=500)):
        *about, packed, keys = row
        with _undamaged():
            system, lines = json.loads(unpack(packed))
            talk = Transcript(system, tuple(Line(**line) for line in lines))
            read = tuple(json.loads(keys))
        yield TranscriptRow(*about), talk, read


# ---------------------------------------------------------------- what was taken


@dataclass(frozen=True, slots=True)
class Used:
    """Tokens that one reply took, all its attempts together; the mean of several, where it says so."""

    prompt: float
    completion: float  # reasoning included
    said: float  # of the last attempt's completion: what was no reasoning


def used_by(
    connection: Connection, scripts: Collection[str], subject: str, most_runs: int = 3
) -> dict[str, list[tuple[Used, ...]]]:
    """Script hash -> what each reply took, for every complete transcript of the subject in its first runs.

    Without those whose endpoint did not say what they took.
    """
    found = connection.execute(
        select(transcripts.c.script_hash, transcripts.c.reply_keys)
        .where(transcripts.c.script_hash.in_(list(scripts)), transcripts.c.subject_hash == subject)
        .where(transcripts.c.state == "complete", transcripts.c.run <= most_runs)
    ).all()
    with _undamaged():
        keyed = [(script, json.loads(keys)) for script, keys in found]
    used = _used(connection, [key for _, keys in keyed for key in keys])
    by_script: dict[str, list[tuple[Used, ...]]] = {}
    for script, keys in keyed:
        if keys and all(key in used for key in keys):
            by_script.setdefault(script, []).append(tuple(used[key] for key in keys))
    return by_script


def _used(connection: Connection, keys: Sequence[str]) -> dict[str, Used]:
    columns = (
        attempts.c.call_key,
        attempts.c.prompt_tokens,
        attempts.c.completion_tokens,
        attempts.c.reasoning_tokens,
    )
    told = and_(attempts.c.prompt_tokens.is_not(None), attempts.c.completion_tokens.is_not(None))
    used: dict[str, Used] = {}
    for start in range(0, len(keys), 500):
        wanted = select(*columns).where(told, attempts.c.call_key.in_(keys[start : start + 500]))
        for key, prompt, completion, reasoning in connection.execute(wanted.order_by(attempts.c.id)):
            before = used.get(key, Used(0, 0, 0))
            said = max(completion - (reasoning or 0), 0)
            used[key] = Used(before.prompt + prompt, before.completion + completion, said)
    return used


def verdict_tokens(connection: Connection, judge: str) -> dict[str, float]:
    """Rubric hash -> mean completion tokens of the judge's judgements by it; without those that did not say."""
    found = connection.execute(
        select(judgements.c.rubric_hash, func.avg(attempts.c.completion_tokens))
        .join(attempts, attempts.c.id == judgements.c.attempt_id)
        .where(judgements.c.judge_hash == judge, attempts.c.completion_tokens.is_not(None))
        .group_by(judgements.c.rubric_hash)
    )
    return {rubric: float(mean) for rubric, mean in found}


def last_judge(connection: Connection, protocol: str) -> ChatModel | str | None:
    """Who judged last what was played for a protocol of that name: a model, or "embedded"; people are not asked again.

    None where no such judge did.
    """
    latest = func.max(judgements.c.stored_at)
    found = connection.execute(
        select(judges.c.spec)
        .join(judgements, judgements.c.judge_hash == judges.c.hash)
        .join(transcripts, transcripts.c.heard_hash == judgements.c.heard_hash)
        .join(protocols, protocols.c.hash == transcripts.c.protocol_hash)
        .where(protocols.c.name == protocol)
        .group_by(judges.c.hash, judges.c.spec)
        .order_by(latest.desc(), judges.c.hash)
    ).scalars()
    with _undamaged():
        for spec in map(json.loads, found):
            if spec.get("kind") == "table":
                return "embedded"
            if "kind" not in spec:
                return _model(spec)
    return None


def unusable_replies(connection: Connection, broken: str, scripts: Collection[str]) -> dict[str, int]:
    """Transcript id -> how many of its replies had to be asked for again, or were given up, because they ended as
    *broken*; transcripts without any are left out.
    """
    found = connection.execute(
        select(attempts.c.call_key)
        .join(calls, calls.c.key == attempts.c.call_key)
        .where(attempts.c.outcome == broken, calls.c.kind == "reply")
        .distinct()
    )
    spoiled = set(found.scalars())
    if not spoiled:
        return {}
    keyed = select(transcripts.c.id, transcripts.c.reply_keys).where(transcripts.c.script_hash.in_(list(scripts)))
    with _undamaged():
        counts = {one: len(spoiled.intersection(json.loads(keys))) for one, keys in connection.execute(keyed)}
    return {one: count for one, count in counts.items() if count}
