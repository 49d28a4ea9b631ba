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

from independence_bench.hashing import write_canonical_json, write_ordered_json
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
    """Do nothing with the progress, since nobody waits."""


# ---------------------------------------------------------------- replies and transcripts


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a call of a subject. *reason* is set if there is no valid answer."""

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
    """Store answers to calls, as (key, attempt, answer, now). A valid one that is stored stays; an
    invalid one is replaced.
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
    """Return the stored answers to those of the calls that have one, by key."""
    rows = connection.execute(_REPLIES, {"keys": list(keys)})
    return {key: Reply(*values) for key, *values in rows}


def count_reply_characters(connection: Connection, keys: Collection[str]) -> dict[str, int]:
    """Return the number of characters of each of those replies that is valid, by its key."""
    wanted = "SELECT key, length(text) FROM replies WHERE state = 'valid' AND key IN"
    return {
        key: int(length)
        for some in split_chunks(keys)
        for key, length in execute_for_keys(connection, wanted, some)
    }


def count_reply_reasoning(
    connection: Connection, keys: Collection[str]
) -> dict[str, tuple[int | None, int]]:
    """Return (reasoning tokens, reasoning characters) of each of those replies that is valid, by
    its key. The tokens are what the endpoint stated, None if it stated none; the characters are 0
    if it stated more than 0 tokens.
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
    def counts(self) -> dict[str, int]:
        """The number of replies that were asked for, and how many were cut off, plain text and
        reasoned, by the names of the table's columns.
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
    """Store transcripts and when they were finished. A complete one that is stored stays; an
    invalid one is replaced.
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
            write_ordered_json([talk.system, [line.make_record() for line in talk.lines]])
        ),
        "reply_keys": write_ordered_json([key for key, _ in played.said]),
        **played.counts,
        "finished_at": now,
    }


# a hundred thousand are read at once, and a dataclass takes four times as long
class TranscriptRow(NamedTuple):
    """A stored transcript without its words."""

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


def count_results(connection: Connection) -> tuple[int, int]:
    """Return (number of transcripts, number of judgements), whether or not they count."""
    transcripts_there, judgements_there = (
        connection.execute(select(func.count()).select_from(table)).scalar_one()
        for table in (transcripts, judgements)
    )
    return transcripts_there, judgements_there


def find_newest_time(connection: Connection) -> float | None:
    """Return when the newest result was stored: an attempt's end, a transcript or a judgement. None
    if there is none.
    """
    times = (attempts.c.finished_at, transcripts.c.finished_at, judgements.c.stored_at)
    latest = [connection.execute(select(func.max(time))).scalar() for time in times]
    return max((time for time in latest if time is not None), default=None)


def read_transcript_rows(
    connection: Connection,
    scripts: Collection[str],
    subject: str | None = None,
    told: Told = ignore_progress,
) -> list[TranscriptRow]:
    """Return the transcripts of the given script hashes, of one subject or of all, in a fixed
    order, without their words.
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
            told(len(some))
    return rows


Place = tuple[str, str, str]  # system variant, delivery, scenario's id
_PLACE = (transcripts.c.system, transcripts.c.delivery, transcripts.c.scenario)


def read_placed_rows(
    connection: Connection, protocol_hash: str, subject: str | None = None
) -> list[tuple[Place, TranscriptRow]]:
    """Return the transcripts that were played for the protocol of that hash, each with its place in
    the protocol.
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


def read_place_rubrics(connection: Connection, protocol_hash: str) -> dict[Place, str]:
    """Return place -> hash of the rubric by which the protocol's conversations were judged
    there.
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
    """Return (experiment, scenario's id, names of its replies, names of its scores) of everything
    that was played for the protocol of that hash. The replies are those of the longest
    conversation.
    """
    wanted = (
        select(transcripts.c.experiment, transcripts.c.scenario, transcripts.c.id)
        .where(transcripts.c.protocol_hash == protocol_hash)
        .order_by(transcripts.c.scenario, transcripts.c.replies)
    )
    longest = {
        scenario: (experiment, id_) for experiment, scenario, id_ in connection.execute(wanted)
    }
    talks = read_transcripts(connection, (id_ for _, id_ in longest.values()))
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
    """Make the SQL condition for transcripts of those script hashes, by one subject or by all."""
    of_scripts = transcripts.c.script_hash.in_(list(scripts))
    return (
        of_scripts if subject is None else and_(transcripts.c.subject_hash == subject, of_scripts)
    )


def read_verdicts(
    connection: Connection, scripts: Collection[str], subject: str, judge: str
) -> dict[tuple[str, str], str | None]:
    """Return the judge's judgements of those transcripts: (heard hash, rubric hash) -> why it
    failed; None if it did not.
    """
    wanted = (
        select(judgements.c.heard_hash, judgements.c.rubric_hash, judgements.c.reason)
        .join(transcripts, transcripts.c.heard_hash == judgements.c.heard_hash)
        .where(_match_transcripts(scripts, subject), judgements.c.judge_hash == judge)
    )
    return {(heard, rubric): reason for heard, rubric, reason in connection.execute(wanted)}


def find_judged_pairs(connection: Connection, judge: str) -> set[tuple[str, str]]:
    """Return (heard hash, rubric hash) of everything that the judge has judged, failed judgements
    included.
    """
    wanted = select(judgements.c.heard_hash, judgements.c.rubric_hash).where(
        judgements.c.judge_hash == judge
    )
    return {(heard, rubric) for heard, rubric in connection.execute(wanted)}


def read_transcript(
    connection: Connection, transcript_id: str
) -> tuple[Transcript, tuple[str, ...]]:
    """Return (what was said, the keys of its replies) of one transcript. Raises KeyError for an
    unknown id.
    """
    return read_transcripts(connection, [transcript_id])[transcript_id]


def read_transcripts(
    connection: Connection, ids: Iterable[str]
) -> dict[str, tuple[Transcript, tuple[str, ...]]]:
    """Return id -> (what was said, the keys of its replies) of each of those transcripts that
    exists.
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
    """Unpack what was said from the blob that it is stored in."""
    system, lines = unpack_json(packed)
    return Transcript(system, tuple(Line(**line) for line in lines))


def read_script_reply_keys(
    connection: Connection, scripts: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Return transcript's id -> the keys of its replies, for the given script hashes."""
    wanted = select(transcripts.c.id, transcripts.c.reply_keys).where(_match_transcripts(scripts))
    with report_damage():
        return {row[0]: tuple(json.loads(row[1])) for row in connection.execute(wanted).all()}


def read_transcript_reply_keys(
    connection: Connection, ids: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Return transcript's id -> the keys of its replies, for each of those transcripts that
    exists.
    """
    wanted = "SELECT id, reply_keys FROM transcripts WHERE id IN"
    rows = (row for some in split_chunks(ids) for row in execute_for_keys(connection, wanted, some))
    with report_damage():
        return {id_: tuple(json.loads(keys)) for id_, keys in rows}


# ---------------------------------------------------------------- judgements


class Judgement(NamedTuple):  # as above
    """All scores of one judge on what was heard in one transcript. *reason* is set if it failed."""

    key: str
    heard_hash: str
    rubric_hash: str
    judge_hash: str
    marks: Mapping[str, float]
    reasoning: str
    reason: str | None = None

    @property
    def about(self) -> tuple[str, str]:
        """What was judged: (hash of what was heard, the rubric's hash)."""
        return self.heard_hash, self.rubric_hash


# what a judgement is scored by, in the order in which its checksum is made of it
SCORED = ("key", "heard_hash", "rubric_hash", "judge_hash", "marks", "reason")
WRONG_CHECKSUM = "its scores are not those that were stored"


def compute_checksum(
    key: str, heard: str, rubric: str, judge: str, marks: str, reason: str | None
) -> int:
    """Return the checksum of a judgement's scored parts; *marks* is JSON as it is stored."""
    return zlib.crc32(f"{key}\n{heard}\n{rubric}\n{judge}\n{marks}\n{reason}".encode())


_JUDGEMENT = tuple(judgements.c[name] for name in Judgement._fields)
_JUDGEMENTS = select(*_JUDGEMENT).where(judgements.c.key.in_(KEYS))


def store_judgements(
    connection: Connection, made: Sequence[tuple[str, int | None, Judgement, float]]
) -> list[None]:
    """Store judgements, as (key, attempt, judgement, now). A valid one that is stored stays; a
    failed one is replaced.
    """
    rows = []
    for key, attempt, judgement, now in made:
        marks = write_canonical_json(dict(judgement.marks))
        row = judgement._asdict() | _make_answer_columns(
            "failed", judgement.reason, key, attempt, now
        )
        checksum = compute_checksum(key, *judgement[1:4], marks, judgement.reason)
        rows.append(row | {"marks": marks, "checksum": checksum})
    upsert_rows(connection, judgements, "failed", rows)
    return [None] * len(rows)


def find_judgements(connection: Connection, keys: Collection[str]) -> dict[str, Judgement]:
    """Return the judgements of those keys that exist, valid or failed."""
    rows = connection.execute(_JUDGEMENTS, {"keys": list(keys)}).all()
    with report_damage():
        return {row.key: _make_judgement(row) for row in rows}


def read_judgement_times(connection: Connection, keys: Collection[str]) -> dict[str, float]:
    """Return key -> when the judgement was stored, in seconds since 1970."""
    wanted = select(judgements.c.key, judgements.c.stored_at).where(
        judgements.c.key.in_(list(keys))
    )
    return {row.key: row.stored_at for row in connection.execute(wanted)}


def find_exam_judges(connection: Connection) -> set[str]:
    """Return the hashes of the judges that have judged something other than a stored conversation:
    an exam's.
    """
    played = select(transcripts.c.heard_hash)
    wanted = (
        select(judgements.c.judge_hash).where(judgements.c.heard_hash.not_in(played)).distinct()
    )
    return set(connection.execute(wanted).scalars())


def has_checksums(connection: Connection) -> bool:
    """Whether judgements have a checksum in this store, which may be of an earlier version."""
    columns = inspect(connection).get_columns(judgements.name)
    return any(column["name"] == "checksum" for column in columns)


def read_judgement_rows(
    connection: Connection, rubrics: Collection[str], told: Told = ignore_progress
) -> list[Judgement]:
    """Return every judgement by the given rubric hashes, without its reasoning, sorted by key.

    Raises StoreError for a judgement that was changed after it was stored, by its checksum.
    """
    checksum: ColumnElement[Any] = judgements.c.checksum
    if not has_checksums(connection):
        checksum = null()
    columns = [c if c.name != "reasoning" else literal("").label("reasoning") for c in _JUDGEMENT]
    wanted = select(*columns, checksum).where(judgements.c.rubric_hash.in_(list(rubrics)))
    rows: list[Judgement] = []
    with report_damage():  # once: for each of a hundred thousand rows it takes as long as all else
        for some in connection.execute(wanted.execution_options(yield_per=BATCH)).partitions():
            rows += map(_check_judgement, some)
            told(len(some))
        # the database would read them in this order, from all over the file
        rows.sort(key=itemgetter(0))
    return rows


def read_judgements(
    connection: Connection, about: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], list[Judgement]]:
    """Return the judgements of all judges on each (heard hash, rubric hash), reasoning included.
    Pairs without any are left out.
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


def _check_judgement(row: Any) -> Judgement:
    """Read a judgement from its row. Raises StoreError if its checksum is wrong."""
    *stored, checksum = row
    key, heard, rubric, judge, marks, _, reason = stored
    if checksum is not None and checksum != compute_checksum(
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


def read_reasonings(
    connection: Connection, rubrics: Collection[str]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield (key, heard hash, rubric hash, reasoning) of every valid judgement by the given rubric
    hashes.
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


def read_words(
    connection: Connection, scripts: Collection[str], skipping: bool = False
) -> Iterator[Talk]:
    """Yield every transcript of the given script hashes, in a fixed order. *skipping*: damaged ones
    are left out.
    """
    columns = (transcripts.c.id, transcripts.c.lines, transcripts.c.reply_keys)
    wanted = select(*columns).where(_match_transcripts(scripts)).order_by(*_IN_ORDER)
    for transcript_id, packed, keys in connection.execute(wanted.execution_options(yield_per=500)):
        with suppress(*[Damaged] * skipping), report_damage():
            yield transcript_id, unpack_transcript(packed), tuple(json.loads(keys))
