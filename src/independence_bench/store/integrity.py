"""The store's own check: whether everything in it still follows from everything else.

    with store.reading() as connection:
        findings = check(connection)            # a line of words each; [] where all is well

Functions on a connection that change nothing. Every key and hash that can be made again from what is stored
is made again, every reply and every mark is followed back to the attempt that was paid for it. Reads one row
after the other, so a large store needs time and no memory. Knows no protocol and sends nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from sqlalchemy import Connection, RowMapping, Table, func, select

from independence_bench.hashing import judgement_key, reply_key, transcript_id
from independence_bench.protocol.conversation import Transcript
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.store.results import read_lines
from independence_bench.store.schema import (
    CLEARED,
    attempts,
    calls,
    judgements,
    judges,
    protocols,
    replies,
    subjects,
    transcripts,
    unpack,
)

BATCH = 500  # rows that are read at once
SHOWN = 12  # characters of a key
T = TypeVar("T")


def check(connection: Connection) -> list[str]:
    """Everything in the store that cannot be right, a line each; [] where nothing is wrong."""
    parts = (database, who_took_part, money_and_leases, answers_kept, each_reply, each_transcript, each_judgement)
    return [finding for part in parts for finding in part(connection)]


def database(connection: Connection) -> Iterator[str]:
    """What the database says about its own file; PostgreSQL keeps that to itself."""
    if connection.dialect.name != "sqlite":
        return
    for (said,) in connection.exec_driver_sql("PRAGMA integrity_check"):
        if said != "ok":
            yield f"the file is damaged: {said}"
    for row in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"table {row[0]}, row {row[1]}: what it refers to in table {row[2]} is not there"


def who_took_part(connection: Connection) -> Iterator[str]:
    """Protocols, subjects and judges that cannot be read."""
    for table, column in ((protocols, "files"), (subjects, "spec"), (judges, "spec")):
        key = table.primary_key.columns[0].name
        for row in _rows(connection, select(table.c[key], table.c[column])):
            if not isinstance(_read(lambda value=row[column]: _json(value)), dict):  # type: ignore[misc]
                yield f"the {column} of {table.name} {_short(str(row[key]))} cannot be read"


def _json(value: str | bytes) -> Any:
    return json.loads(unpack(value) if isinstance(value, bytes) else value)


def money_and_leases(connection: Connection) -> Iterator[str]:
    """Attempts that never ended although nobody is at them, and ends without an outcome or of no sense."""
    owned = attempts.join(calls, calls.c.key == attempts.c.call_key)
    columns = [attempts.c[name] for name in ("id", "owner", "started_at", "finished_at", "outcome", "cost")]
    for row in _rows(connection, select(*columns, calls.c.owner.label("holder")).select_from(owned)):
        about = f"attempt {row['id']}"
        if row["finished_at"] is None:
            if row["outcome"] is not None:
                yield f"{about} has an outcome ({row['outcome']}) and no end"
            elif row["holder"] != row["owner"]:
                yield f"{about} has no end although nobody is at its call; the next `aib run` counts it as lost"
        elif row["outcome"] is None:
            yield f"{about} has an end and no outcome"
        if row["cost"] is not None and row["cost"] < 0:
            yield f"{about} has cost {row['cost']:g} dollars"
    half = (calls.c.owner.is_(None)) != (calls.c.lease_until.is_(None))
    for row in _rows(connection, select(calls.c.key).where(half)):
        yield f"call {_short(row['key'])} has half a lease"


def answers_kept(connection: Connection) -> Iterator[str]:
    """Answers that were paid for and are not there, and calls that were answered more than once."""
    kept = {"reply": replies.c.key, "judgement": judgements.c.key}
    for kind, key in kept.items():
        answered = select(calls.c.key).join(attempts, attempts.c.call_key == calls.c.key)
        answered = answered.where(calls.c.kind == kind, attempts.c.outcome == ANSWERED)
        answered = answered.where(calls.c.key.not_like(f"{CLEARED}%"))
        for row in _rows(connection, answered.where(calls.c.key.not_in(select(key)))):
            yield f"the {kind} {_short(row['key'])} was answered and is not stored"
    twice = select(attempts.c.call_key, func.count().label("times")).where(attempts.c.outcome == ANSWERED)
    for row in _rows(connection, twice.group_by(attempts.c.call_key).having(func.count() > 1)):
        yield f"call {_short(row['call_key'])} was answered {row['times']} times"


def each_reply(connection: Connection) -> Iterator[str]:
    """Replies whose call or attempt is not theirs, or whose state and words do not go together."""
    for row in _rows(connection, _with_attempt(replies)):
        about = f"reply {_short(row['key'])}"
        yield from _bought(about, row, "reply", row["state"] == "valid")
        if row["state"] not in ("valid", "invalid") or (row["state"] == "valid") != (row["reason"] is None):
            yield f"{about} is {row['state']}, with the reason {row['reason']!r}"
        if row["state"] == "valid" and not row["text"].strip():
            yield f"{about} is valid and says nothing"


def each_transcript(connection: Connection) -> Iterator[str]:
    """Transcripts that are not what their replies say, or not what their keys were made from."""
    for row in _rows(connection, select(transcripts)):
        about = f"transcript {_short(row['id'])} ({row['scenario']}, run {row['run']})"
        if row["id"] != transcript_id(row["script_hash"], row["subject_hash"], row["run"]):
            yield f"{about} is stored under another key than its own"
        talk = _read(lambda row=row: read_lines(row["lines"]))  # type: ignore[misc]
        keys = _read(lambda row=row: [str(key) for key in json.loads(row["reply_keys"])])  # type: ignore[misc]
        if talk is None or keys is None:
            yield f"{about} cannot be read"
            continue
        if talk.heard_hash != row["heard_hash"]:
            yield f"{about} holds other words than its hash was made from"
        yield from _replies_of(connection, about, row, talk, keys)


def each_judgement(connection: Connection) -> Iterator[str]:
    """Judgements of no attempt, or with marks that are none.

    One of a conversation that is not stored is no finding: `aib judge --probe-injection` buys such judgements.
    """
    for row in _rows(connection, _with_attempt(judgements)):
        about, valid = f"judgement {_short(row['key'])}", row["state"] == "valid"
        if row["key"] != judgement_key(row["heard_hash"], row["rubric_hash"], row["judge_hash"]):
            yield f"{about} is stored under another key than its own"
        if row["attempt_id"] is not None:
            yield from _bought(about, row, "judgement", valid)
        if row["state"] not in ("valid", "failed") or valid != (row["reason"] is None):
            yield f"{about} is {row['state']}, with the reason {row['reason']!r}"
        marks = _read(lambda row=row: _marks(row["marks"]))  # type: ignore[misc]
        if marks is None or (valid and not marks) or (not valid and marks):
            yield f"{about} is {row['state']}, with the marks {row['marks'][:80]}"


# ---------------------------------------------------------------- the parts of them


def _with_attempt(table: Table) -> Any:
    """Each row of *table* with the attempt that it names, and that attempt's call."""
    joined = table.outerjoin(attempts, attempts.c.id == table.c.attempt_id)
    joined = joined.outerjoin(calls, calls.c.key == attempts.c.call_key)
    found = (attempts.c.call_key.label("paid_for"), attempts.c.outcome.label("outcome"), calls.c.kind.label("kind"))
    return select(table, *found).select_from(joined)


def _bought(about: str, row: RowMapping, kind: str, valid: bool) -> Iterator[str]:
    """What is wrong between an answer and the attempt that it is said to come from."""
    if row["paid_for"] is None:
        yield f"{about} comes from an attempt that is not there"
    elif row["paid_for"] != row["key"] or row["kind"] != kind:
        yield f"{about} comes from an attempt at something else"
    elif row["outcome"] is None or (valid and row["outcome"] not in (ANSWERED, CUT_OFF)):
        yield f"{about} comes from an attempt that came to: {row['outcome'] or 'nothing yet'}"


def _replies_of(
    connection: Connection, about: str, row: RowMapping, talk: Transcript, keys: list[str]
) -> Iterator[str]:
    said = [line for line in talk.lines if line.name]
    stored = {
        found["key"]: found for found in connection.execute(select(replies).where(replies.c.key.in_(keys))).mappings()
    }
    if missing := [key for key in keys if key not in stored]:
        yield f"{about} names replies that are not stored: {', '.join(_short(key) for key in missing)}"
        return
    if row["state"] != "complete":
        return  # what ended it may have been answered since; `aib run --again` plays it then
    if len(said) != len(keys) or row["replies"] != len(keys):
        yield f"{about} has {len(said)} replies of the model's, {len(keys)} keys, and counts {row['replies']}"
        return
    for line, key in zip(said, keys, strict=True):
        reply = stored[key]
        if reply["state"] != "valid" or (line.text, line.notes) != (reply["text"], reply["notes"]):
            yield f"{about} does not say at “{line.name}” what its reply says"
        if not _is_caused(connection, key, row["run"]):
            yield f"{about}: the request of “{line.name}” is not the one that its key was made from"
    for count in ("cut_off", "plain_text", "reasoned"):
        if row[count] != sum(bool(stored[key][count]) for key in keys):
            yield f"{about} miscounts the replies that are {count}"


def _is_caused(connection: Connection, key: str, run: int) -> bool:
    """Whether the stored request of a reply, in that run, makes its key again."""
    packed = connection.execute(select(calls.c.request).where(calls.c.key == key)).scalar_one_or_none()
    request = None if packed is None else _read(lambda: unpack(packed))
    return request is not None and reply_key(request, run) == key


def _marks(text: str) -> Mapping[str, float]:
    marks = json.loads(text)
    if not isinstance(marks, dict) or not all(type(mark) in (int, float) for mark in marks.values()):
        raise ValueError("marks are numbers by name")
    return marks


def _read(read: Callable[[], T]) -> T | None:
    """What *read* reads; None where it is not what it should be."""
    try:
        return read()
    except Exception:  # damaged in whatever way: that is what is being found out
        return None


def _rows(connection: Connection, query: Any) -> Iterator[RowMapping]:
    yield from connection.execute(query.execution_options(yield_per=BATCH)).mappings()


def _short(key: str) -> str:
    return key[:SHOWN]
