"""Replies, transcripts and judgements: reading and writing them."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from sys import intern
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic_core import from_json
from sqlalchemy import ColumnElement, Connection, and_, func, inspect, literal, null, select

from independence_bench.hashing import write_canonical_json, write_presorted_canonical_json
from independence_bench.protocol.conversation import Line, Transcript
from independence_bench.protocol.plan import Job
from independence_bench.store.blobs import (
    Damaged,
    WrongChecksum,
    pack_text,
    report_damage,
    unpack_json,
)
from independence_bench.store.rows import (
    KEYS,
    execute_for_keys,
    read_fields,
    split_chunks,
    upsert_rows,
)
from independence_bench.store.schema import attempts, judgements, replies, transcripts

A = TypeVar("A")
BATCH = 1000  # rows that are read at once
Talk = tuple[str, Transcript, tuple[str, ...]]  # id, what was said, keys of the replies
# told how many more there are of what it takes a while to go through
Told = Callable[[int], object]


def ignore_progress(_more: int) -> None:
    """Do nothing with the number of rows that were read, for callers that show no progress."""


# ---------------------------------------------------------------- replies and transcripts


@dataclass(frozen=True, slots=True)
class Reply:
    """A tested model's reply to one call. *reason* is set if there is no valid reply."""

    text: str
    notes: str = ""
    reasoning: str = ""
    cut_off: bool = False
    plain_text: bool = False
    reasoned: bool = False  # it came with reasoning, asked for or not
    reason: str | None = None


# made once, for every call looks there
_REPLIES = select(replies.c.key, *(replies.c[name] for name in Reply.__dataclass_fields__)).where(
    replies.c.key.in_(KEYS)
)


def store_replies(
    connection: Connection, answers: Sequence[tuple[str, int | None, Reply, float]]
) -> list[None]:
    """Store replies of tested models, each as (key, id of the attempt, reply, time in seconds since
    1970). A valid reply that is stored stays; an invalid one is replaced. Returns a None for each.
    """
    rows = [
        read_fields(reply) | _make_answer_columns("invalid", reply.reason, key, attempt, now)
        for key, attempt, reply, now in answers
    ]
    upsert_rows(connection, replies, "invalid", rows)
    return [None] * len(rows)


def _make_answer_columns(
    bad: str, reason: str | None, key: str, attempt: int | None, now: float
) -> dict[str, Any]:
    state = "valid" if reason is None else bad
    return {"key": key, "attempt_id": attempt, "state": state, "stored_at": now}


def find_replies(connection: Connection, keys: Collection[str]) -> dict[str, Reply]:
    """Return key -> reply, valid or not, for those of *keys* under which a reply is stored."""
    rows = connection.execute(_REPLIES, {"keys": list(keys)})
    return {key: Reply(*values) for key, *values in rows}


def count_reply_characters(connection: Connection, keys: Collection[str]) -> dict[str, int]:
    """Return reply's key -> number of characters of the reply's text, for those of *keys* under
    which a valid reply is stored.
    """
    wanted = "SELECT key, length(text) FROM replies WHERE state = 'valid' AND key IN"
    return {
        key: int(length)
        for some in split_chunks(keys)
        for key, length in execute_for_keys(connection, wanted, some)
    }


def count_reasoning_tokens_and_characters(
    connection: Connection, keys: Collection[str]
) -> dict[str, tuple[int | None, int]]:
    """Return reply's key -> (tokens of its reasoning, characters of its reasoning), for those of
    *keys* under which a valid reply is stored. The tokens are what the endpoint stated, None if it
    stated none; the characters are 0 if the endpoint stated more than 0 tokens.
    """
    wanted = (
        "SELECT replies.key, reasoning_tokens, "
        "CASE WHEN reasoning_tokens > 0 THEN 0 ELSE length(reasoning) END "
        "FROM replies LEFT JOIN attempts ON attempts.id = replies.attempt_id "
        "WHERE state = 'valid' AND replies.key IN"
    )
    with report_damage():
        return {
            key: (None if tokens is None else int(tokens), int(characters))
            for some in split_chunks(keys)
            for key, tokens, characters in execute_for_keys(connection, wanted, some)
        }


@dataclass(frozen=True, slots=True)
class PlayedJob:
    """A *job* that was played to its end, or to the reply that was invalid (*reason* is set
    then).
    """

    job: Job
    protocol_hash: str
    transcript: Transcript
    said: Sequence[tuple[str, Reply]]  # the replies of the transcript with their keys, in order
    reason: str | None = None

    @property
    def reply_counts(self) -> dict[str, int]:
        """Numbers of replies in this conversation, by column name: "replies" (all that were asked
        for), and those that were "cut_off" by the token limit, came as "plain_text" instead of in a
        tool call, or "reasoned".
        """
        said = [reply for _, reply in self.said]
        of = {
            name: sum(getattr(reply, name) for reply in said)
            for name in ("cut_off", "plain_text", "reasoned")
        }
        return {"replies": len(said)} | of


def store_transcripts(
    connection: Connection, finished: Sequence[tuple[PlayedJob, float]]
) -> list[None]:
    """Store conversations that were played to their end or to an invalid reply, each with the time
    when it was finished, in seconds since 1970. A complete conversation that is stored stays; an
    invalid one is replaced. Returns a None for each.
    """
    upsert_rows(
        connection,
        transcripts,
        "invalid",
        [_make_transcript_row(played, now) for played, now in finished],
    )
    return [None] * len(finished)


def _make_transcript_row(played: PlayedJob, now: float) -> dict[str, Any]:
    job, talk = played.job, played.transcript
    return {
        "id": job.transcript_id,
        "script_hash": job.script_hash,
        "subject_hash": job.subject.hash,
        "protocol_hash": played.protocol_hash,
        "run": job.run,
        "system": job.configuration.system,
        "delivery": job.configuration.delivery,
        "experiment": job.scenario.experiment,
        "scenario": job.scenario.id,
        "state": "complete" if played.reason is None else "invalid",
        "reason": played.reason,
        "heard_hash": talk.heard_hash,
        "lines": pack_text(
            write_presorted_canonical_json(
                [talk.system, [line.make_record() for line in talk.lines]]
            )
        ),
        "reply_keys": write_presorted_canonical_json([key for key, _ in played.said]),
        **played.reply_counts,
        "finished_at": now,
    }


# a hundred thousand are read at once, and a dataclass takes four times as long
class TranscriptRow(NamedTuple):
    """A stored conversation without its text."""

    id: str
    script_hash: str
    subject_hash: str
    run: int
    state: str
    reason: str | None
    heard_hash: str
    replies: int
    cut_off: int
    plain_text: int
    reasoned: int
    finished_at: float  # seconds since 1970; of imported ones, when they were played


_ROW = tuple(transcripts.c[name] for name in TranscriptRow._fields)
_IN_ORDER = (transcripts.c.subject_hash, transcripts.c.run, transcripts.c.script_hash)


def count_transcripts_and_judgements(connection: Connection) -> tuple[int, int]:
    """Return the number of conversations and the number of judgements in the store, whether or not
    a leaderboard counts them.
    """
    transcripts_there, judgements_there = (
        connection.execute(select(func.count()).select_from(table)).scalar_one()
        for table in (transcripts, judgements)
    )
    return transcripts_there, judgements_there


def find_newest_time(connection: Connection) -> float | None:
    """Return when the newest result was stored, in seconds since 1970: the end of an attempt, a
    conversation or a judgement. None if there is none.
    """
    times = (attempts.c.finished_at, transcripts.c.finished_at, judgements.c.stored_at)
    latest = [connection.execute(select(func.max(time))).scalar() for time in times]
    return max((time for time in latest if time is not None), default=None)


def read_transcript_rows(
    connection: Connection,
    scripts: Collection[str],
    subject: str | None = None,
    on_progress: Told = ignore_progress,
) -> list[TranscriptRow]:
    """Return the stored conversations of the script hashes *scripts*, without their text, sorted by
    tested model, run and script. *subject*: the hash of the only model to look at; None: all
    models. Calls *on_progress* with the number of rows each time that a batch was read.
    """
    wanted = select(*_ROW).where(_match_transcripts(scripts, subject)).order_by(*_IN_ORDER)
    rows: list[TranscriptRow] = []
    # a hundred thousand rows have a few thousand hashes of subjects and scripts
    with report_damage():
        for some in connection.execute(wanted.execution_options(yield_per=BATCH)).partitions():
            rows += [
                TranscriptRow(
                    key,
                    intern(script),
                    intern(of),
                    run,
                    intern(state),
                    reason,
                    intern(heard),
                    *counts,
                )
                for key, script, of, run, state, reason, heard, *counts in some
            ]
            on_progress(len(some))
    return rows


Place = tuple[str, str, str]  # system variant, delivery, scenario's id
_PLACE = (transcripts.c.system, transcripts.c.delivery, transcripts.c.scenario)


def read_protocol_transcript_rows(
    connection: Connection, protocol_hash: str, subject: str | None = None
) -> list[tuple[Place, TranscriptRow]]:
    """Return the stored conversations of the protocol version with the hash *protocol_hash*,
    without their text, each as ((system prompt variant, delivery mode, scenario's id),
    conversation), sorted by tested model, run and script. *subject*: the hash of the only model to
    look at; None: all.
    """
    mine = transcripts.c.protocol_hash == protocol_hash
    if subject is not None:
        mine = and_(mine, transcripts.c.subject_hash == subject)
    wanted = select(*_PLACE, *_ROW).where(mine).order_by(*_IN_ORDER)
    with report_damage():
        return [
            ((system, delivery, scenario), TranscriptRow(*row))
            for system, delivery, scenario, *row in connection.execute(wanted)
        ]


def read_place_rubric_hashes(connection: Connection, protocol_hash: str) -> dict[Place, str]:
    """Return (system prompt variant, delivery mode, scenario's id) -> hash of the rubric by which
    the conversations with these three were judged, for the protocol version with the hash
    *protocol_hash*; of several rubrics the one used last.
    """
    wanted = (
        select(*_PLACE, judgements.c.rubric_hash)
        .join(transcripts, transcripts.c.heard_hash == judgements.c.heard_hash)
        .where(transcripts.c.protocol_hash == protocol_hash)
        .order_by(judgements.c.stored_at)
    )
    return {
        (system, delivery, scenario): rubric
        for system, delivery, scenario, rubric in connection.execute(wanted)
    }


def list_played_scenarios(
    connection: Connection, protocol_hash: str
) -> list[tuple[str, str, tuple[str, ...], frozenset[str]]]:
    """Return (experiment, scenario's id, names of the replies, names of the scores) of every
    scenario of which a conversation is stored for the protocol version with the hash
    *protocol_hash*. The names of the replies are those in the scenario's longest conversation.
    """
    wanted = (
        select(transcripts.c.experiment, transcripts.c.scenario, transcripts.c.id)
        .where(transcripts.c.protocol_hash == protocol_hash)
        .order_by(transcripts.c.scenario, transcripts.c.replies)
    )
    longest = {
        scenario: (experiment, id_) for experiment, scenario, id_ in connection.execute(wanted)
    }
    talks = read_transcripts_and_reply_keys(connection, (id_ for _, id_ in longest.values()))
    given = (
        select(transcripts.c.scenario, judgements.c.marks)
        .join(judgements, transcripts.c.heard_hash == judgements.c.heard_hash)
        .where(transcripts.c.protocol_hash == protocol_hash)
    )
    marks: dict[str, set[str]] = {scenario: set() for scenario in longest}
    with report_damage():
        for scenario, of in connection.execute(given):
            marks[scenario].update(json.loads(of))
    return [
        (experiment, scenario, talks[id_][0].reply_names, frozenset(marks[scenario]))
        for scenario, (experiment, id_) in longest.items()
    ]


def _match_transcripts(scripts: Collection[str], subject: str | None = None) -> ColumnElement[bool]:
    """Return the SQL condition for conversations of the script hashes *scripts*, by the tested
    model with the hash *subject* or, with None, by any.
    """
    of_scripts = transcripts.c.script_hash.in_(list(scripts))
    return (
        of_scripts if subject is None else and_(transcripts.c.subject_hash == subject, of_scripts)
    )


def read_text_rubric_failures(
    connection: Connection, scripts: Collection[str], subject: str, judge: str
) -> dict[tuple[str, str], str | None]:
    """Return (hash of the judged text, rubric's hash) -> why the judgement failed, None if it did
    not, for all judgements by one judge of one tested model's conversations. *scripts*: hashes of
    the conversations' scripts; *subject* and *judge*: hashes of the model and of the judge.
    """
    wanted = (
        select(judgements.c.heard_hash, judgements.c.rubric_hash, judgements.c.reason)
        .join(transcripts, transcripts.c.heard_hash == judgements.c.heard_hash)
        .where(_match_transcripts(scripts, subject), judgements.c.judge_hash == judge)
    )
    return {(heard, rubric): reason for heard, rubric, reason in connection.execute(wanted)}


def find_judged_text_rubric_pairs(connection: Connection, judge: str) -> set[tuple[str, str]]:
    """Return (hash of the judged text, rubric's hash) of every stored judgement, valid or failed,
    by the judge with the hash *judge*.
    """
    wanted = select(judgements.c.heard_hash, judgements.c.rubric_hash).where(
        judgements.c.judge_hash == judge
    )
    return {(heard, rubric) for heard, rubric in connection.execute(wanted)}


def read_transcript_and_reply_keys(
    connection: Connection, transcript_id: str
) -> tuple[Transcript, tuple[str, ...]]:
    """Return (text, keys of the replies in order) of the stored conversation with the id
    *transcript_id*. Raises KeyError for an unknown id.
    """
    return read_transcripts_and_reply_keys(connection, [transcript_id])[transcript_id]


def read_transcripts_and_reply_keys(
    connection: Connection, ids: Iterable[str]
) -> dict[str, tuple[Transcript, tuple[str, ...]]]:
    """Return id -> (text, keys of the replies in order) of those of the conversations *ids* that
    are stored.
    """
    by_id = {}
    wanted = select(transcripts.c.id, transcripts.c.lines, transcripts.c.reply_keys).where(
        transcripts.c.id.in_(KEYS)
    )
    for some in split_chunks(ids):
        for id_, packed, keys in connection.execute(wanted, {"keys": some}).all():
            with report_damage():
                by_id[id_] = unpack_transcript(packed), tuple(json.loads(keys))
    return by_id


def unpack_transcript(packed: bytes) -> Transcript:
    """Return the text of a conversation from *packed*, the compressed JSON in which the store keeps
    it.
    """
    system, lines = unpack_json(packed)
    return Transcript(system, tuple(Line(**line) for line in lines))


def read_script_transcripts_reply_keys(
    connection: Connection, scripts: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Return conversation's id -> the keys of its replies in order, for every stored conversation
    of the script hashes *scripts*.
    """
    wanted = select(transcripts.c.id, transcripts.c.reply_keys).where(_match_transcripts(scripts))
    with report_damage():
        return {row[0]: tuple(json.loads(row[1])) for row in connection.execute(wanted).all()}


def read_transcript_reply_keys(
    connection: Connection, ids: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Return conversation's id -> the keys of its replies in order, for those of the conversations
    *ids* that are stored.
    """
    wanted = "SELECT id, reply_keys FROM transcripts WHERE id IN"
    rows = (row for some in split_chunks(ids) for row in execute_for_keys(connection, wanted, some))
    with report_damage():
        return {id_: tuple(json.loads(keys)) for id_, keys in rows}


# ---------------------------------------------------------------- judgements


class Judgement(NamedTuple):  # as above
    """All scores of one judge on the text of one conversation. *reason* is set if the judgement
    failed.
    """

    key: str
    heard_hash: str
    rubric_hash: str
    judge_hash: str
    marks: Mapping[str, float]
    reasoning: str
    reason: str | None = None

    @property
    def text_and_rubric_hashes(self) -> tuple[str, str]:
        """What this judgement is about: (hash of the judged text, hash of the rubric)."""
        return self.heard_hash, self.rubric_hash


# what a judgement is scored by, in the order in which its checksum is made of it
SCORED = ("key", "heard_hash", "rubric_hash", "judge_hash", "marks", "reason")
WRONG_CHECKSUM = "its scores are not those that were stored"


def compute_judgement_checksum(
    key: str, heard: str, rubric: str, judge: str, marks: str, reason: str | None
) -> int:
    """Return the CRC-32 of what a judgement is scored by. *heard*, *rubric* and *judge*: hashes of
    the judged text, the rubric and the judge; *marks*: the scores, JSON as it is stored; *reason*:
    why the judgement failed, None if it did not.
    """
    return zlib.crc32(f"{key}\n{heard}\n{rubric}\n{judge}\n{marks}\n{reason}".encode())


_JUDGEMENT = tuple(judgements.c[name] for name in Judgement._fields)
_JUDGEMENTS = select(*_JUDGEMENT).where(judgements.c.key.in_(KEYS))


def store_judgements(
    connection: Connection, made: Sequence[tuple[str, int | None, Judgement, float]]
) -> list[None]:
    """Store judgements with their checksums, each given as (key, id of the attempt or None,
    judgement, time in seconds since 1970). A valid judgement that is stored stays; a failed one is
    replaced. Returns a None for each.
    """
    rows = []
    for key, attempt, judgement, now in made:
        marks = write_canonical_json(dict(judgement.marks))
        row = judgement._asdict() | _make_answer_columns(
            "failed", judgement.reason, key, attempt, now
        )
        checksum = compute_judgement_checksum(key, *judgement[1:4], marks, judgement.reason)
        rows.append(row | {"marks": marks, "checksum": checksum})
    upsert_rows(connection, judgements, "failed", rows)
    return [None] * len(rows)


def find_judgements(connection: Connection, keys: Collection[str]) -> dict[str, Judgement]:
    """Return key -> judgement, valid or failed, for those of *keys* under which a judgement is
    stored.
    """
    rows = connection.execute(_JUDGEMENTS, {"keys": list(keys)}).all()
    with report_damage():
        return {row.key: _make_judgement(row) for row in rows}


def read_judgement_times(connection: Connection, keys: Collection[str]) -> dict[str, float]:
    """Return judgement's key -> when that judgement was stored, in seconds since 1970, for those of
    *keys* under which a judgement is stored.
    """
    wanted = select(judgements.c.key, judgements.c.stored_at).where(
        judgements.c.key.in_(list(keys))
    )
    return {row.key: row.stored_at for row in connection.execute(wanted)}


def find_exam_judge_hashes(connection: Connection) -> set[str]:
    """Return the hashes of the judges that have judged a text which is no stored conversation, as
    the judges' exam lets them.
    """
    played = select(transcripts.c.heard_hash)
    wanted = (
        select(judgements.c.judge_hash).where(judgements.c.heard_hash.not_in(played)).distinct()
    )
    return set(connection.execute(wanted).scalars())


def has_checksum_column(connection: Connection) -> bool:
    """Whether the store's table of judgements has a column for checksums; it does not in a store of
    an earlier version.
    """
    columns = inspect(connection).get_columns(judgements.name)
    return any(column["name"] == "checksum" for column in columns)


def read_judgement_rows(
    connection: Connection, rubrics: Collection[str], on_progress: Told = ignore_progress
) -> list[Judgement]:
    """Return all stored judgements, valid or failed, by the rubrics with the hashes *rubrics*,
    sorted by key, without their reasoning. Calls *on_progress* with the number of rows each time
    that a batch was read.

    Raises StoreError if the checksum of a judgement shows that it was changed after it was stored.
    """
    checksum: ColumnElement[Any] = judgements.c.checksum
    if not has_checksum_column(connection):
        checksum = null()
    columns = [c if c.name != "reasoning" else literal("").label("reasoning") for c in _JUDGEMENT]
    wanted = select(*columns, checksum).where(judgements.c.rubric_hash.in_(list(rubrics)))
    rows: list[Judgement] = []
    with report_damage():  # once: for each of a hundred thousand rows it takes as long as all else
        for some in connection.execute(wanted.execution_options(yield_per=BATCH)).partitions():
            rows += map(_make_checked_judgement, some)
            on_progress(len(some))
        # the database would read them in this order, from all over the file
        rows.sort(key=itemgetter(0))
    return rows


def read_judgements(
    connection: Connection, about: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], list[Judgement]]:
    """Return (hash of the judged text, rubric's hash) -> the stored judgements of all judges,
    reasoning included, for each such pair in *about*. Pairs without a judgement are left out.
    """
    given: dict[tuple[str, str], list[Judgement]] = defaultdict(list)
    wanted = set(about)
    for some in split_chunks({heard for heard, _ in wanted}):
        of_some = (
            select(*_JUDGEMENT).where(judgements.c.heard_hash.in_(some)).order_by(judgements.c.key)
        )
        with report_damage():
            for row in connection.execute(of_some).all():
                if (row.heard_hash, row.rubric_hash) in wanted:
                    given[row.heard_hash, row.rubric_hash].append(_make_judgement(row))
    return given


def _make_judgement(row: Any) -> Judgement:
    key, heard, rubric, judge, marks, reasoning, reason = row
    return Judgement(
        key, intern(heard), intern(rubric), intern(judge), _parse_marks(marks), reasoning, reason
    )


def _make_checked_judgement(row: Any) -> Judgement:
    """Return the judgement in a database *row*, whose last value is the checksum (None: not known).
    Raises StoreError if the checksum is wrong.
    """
    *stored, checksum = row
    key, heard, rubric, judge, marks, _, reason = stored
    if checksum is not None and checksum != compute_judgement_checksum(
        key, heard, rubric, judge, marks, reason
    ):
        raise Damaged(WrongChecksum(f"{key[:12]}: {WRONG_CHECKSUM}"))
    return _make_judgement(stored)


@lru_cache(maxsize=8192)  # a hundred thousand judgements have a few thousand texts of marks
def _parse_marks(text: str) -> Mapping[str, float]:
    marks: Mapping[str, float] = from_json(text, cache_strings="keys")
    return marks


# ---------------------------------------------------------------- answers to calls


@dataclass(frozen=True, slots=True)
class AnswerTable(Generic[A]):
    """The functions that read and store answers of one kind, for calls that do not know the
    kind.
    """

    find: Callable[[Connection, Collection[str]], dict[str, A]]  # keys -> those that are there
    # key, attempt, answer, now
    keep: Callable[[Connection, Sequence[tuple[str, int | None, A, float]]], list[None]]


REPLIES = AnswerTable(find_replies, store_replies)
JUDGEMENTS = AnswerTable(find_judgements, store_judgements)


# ---------------------------------------------------------------- all words, one after the other


def read_keys_hashes_and_reasonings(
    connection: Connection, rubrics: Collection[str]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield (key, hash of the judged text, rubric's hash, text of the reasoning) of every valid
    judgement by the rubrics with the hashes *rubrics*.
    """
    columns = (
        judgements.c.key,
        judgements.c.heard_hash,
        judgements.c.rubric_hash,
        judgements.c.reasoning,
    )
    wanted = select(*columns).where(
        judgements.c.rubric_hash.in_(list(rubrics)), judgements.c.state == "valid"
    )
    for row in connection.execute(wanted.execution_options(yield_per=1000)):
        yield row[0], row[1], row[2], row[3]


def read_script_transcripts(
    connection: Connection, scripts: Collection[str], skip_damaged: bool = False
) -> Iterator[Talk]:
    """Yield (id, text, keys of the replies in order) of every stored conversation of the script
    hashes *scripts*, sorted by tested model, run and script. *skip_damaged*: damaged conversations
    are left out; else they raise StoreError.
    """
    columns = (transcripts.c.id, transcripts.c.lines, transcripts.c.reply_keys)
    wanted = select(*columns).where(_match_transcripts(scripts)).order_by(*_IN_ORDER)
    for transcript_id, packed, keys in connection.execute(wanted.execution_options(yield_per=500)):
        with suppress(*[Damaged] * skip_damaged), report_damage():
            yield transcript_id, unpack_transcript(packed), tuple(json.loads(keys))
