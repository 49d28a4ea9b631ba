"""Checks whether everything in the store still follows from everything else.

    with store.reading() as connection:
        findings = check(connection)            # a line of words each; [] where all is well

Functions on a connection that change nothing. Every key and hash that can be made again from what
is stored is made again, every reply and every mark is followed back to the attempt that was paid
for it. Reads some rows after the others, so a large store needs time and no memory. Knows no
protocol and sends nothing.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import Connection, RowMapping, String, Table, func, select

from independence_bench.hashing import (
    hash_text,
    make_judgement_key,
    make_reply_key_from_hash,
    make_transcript_id,
)
from independence_bench.protocol.conversation import Transcript
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.store.blobs import unpack_text
from independence_bench.store.results import (
    SCORED,
    WRONG_CHECKSUM,
    compute_judgement_checksum,
    has_checksum_column,
    unpack_transcript,
)
from independence_bench.store.schema import (
    CLEARED,
    attempts,
    calls,
    judgements,
    judges,
    metadata,
    protocols,
    replies,
    subjects,
    transcripts,
)

BATCH = 500  # rows that are read at once
# transcripts whose replies are looked up at once: a query for each would be most of the time
TOGETHER = 100
SHOWN = 12  # characters of a key
COUNTED = ("cut_off", "plain_text", "reasoned")  # what a transcript counts of its replies
_SAID = [replies.c[name] for name in ("key", "state", "text", "notes", *COUNTED)]
T = TypeVar("T")
Row = Mapping[str, Any] | RowMapping


def check_store(connection: Connection) -> list[str]:
    """Check everything in the store, and return one line of text for each thing that cannot be
    right; [] if nothing is wrong.
    """
    parts = (
        check_sqlite_file,
        check_files_and_specs,
        check_attempts,
        check_answered_calls,
        check_replies,
        check_transcripts,
        check_judgements,
    )
    return [finding for part in parts for finding in part(connection)]


def check_sqlite_file(connection: Connection) -> Iterator[str]:
    """Yield one line of text for each fault that SQLite finds in the store's file: damage,
    references to missing rows, and text columns that hold something else; nothing on PostgreSQL.
    """
    if connection.dialect.name != "sqlite":
        return
    for (message,) in connection.exec_driver_sql("PRAGMA integrity_check"):
        if message != "ok":
            yield f"the file is damaged: {message}"
    for row in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"table {row[0]}, row {row[1]}: what it refers to in table {row[2]} is not there"
    for table in metadata.tables.values():
        yield from _check_text_columns(connection, table)


def _check_text_columns(connection: Connection, table: Table) -> Iterator[str]:
    """Yield one line of text for each text column of *table* that holds values of another type,
    which SQLite allows, with the number of such rows. Columns that the store of an earlier version
    does not have are passed over.
    """
    there = {row[1] for row in connection.exec_driver_sql(f"PRAGMA table_info({table.name})")}
    columns = [
        column
        for column in table.columns
        if column.name in there and isinstance(column.type, String)
    ]
    kinds = [
        func.count().filter(func.typeof(column).not_in(("text", "null"))).label(column.name)
        for column in columns
    ]
    counted = (
        connection.execute(select(*kinds).select_from(table)).mappings().one() if kinds else {}
    )
    for name, rows in counted.items():
        if rows:
            yield f"table {table.name}: the column {name} holds no text in {rows} rows"


def check_files_and_specs(connection: Connection) -> Iterator[str]:
    """Yield one line of text for each stored protocol, tested model or judge whose files or
    settings cannot be read.
    """
    for table, column in ((protocols, "files"), (subjects, "spec"), (judges, "spec")):
        key = table.primary_key.columns[0].name
        for row in _read_rows(connection, select(table.c[key], table.c[column])):
            if not isinstance(_try_read(_read_json, row[column]), dict):
                yield f"the {column} of {table.name} {_shorten_key(str(row[key]))} cannot be read"


def check_attempts(connection: Connection) -> Iterator[str]:
    """Yield one line of text for each attempt in the store that never ended although no process
    makes it, that has an end without an outcome or an outcome without an end, or that has a
    negative cost, and for each model call with an owner and no end of the claim, or the reverse.
    """
    owned = attempts.join(calls, calls.c.key == attempts.c.call_key)
    columns = [
        attempts.c[name] for name in ("id", "owner", "started_at", "finished_at", "outcome", "cost")
    ]
    for row in _read_rows(
        connection, select(*columns, calls.c.owner.label("holder")).select_from(owned)
    ):
        about = f"attempt {row['id']}"
        if row["finished_at"] is None:
            if row["outcome"] is not None:
                yield f"{about} has an outcome ({row['outcome']}) and no end"
            elif row["holder"] != row["owner"]:
                yield (
                    f"{about} has no end, and no process is making its call; the next `aib run` "
                    "counts it as lost"
                )
        elif row["outcome"] is None:
            yield f"{about} has an end and no outcome"
        if row["cost"] is not None and row["cost"] < 0:
            yield f"{about} has cost {row['cost']:g} dollars"
    half = (calls.c.owner.is_(None)) != (calls.c.lease_until.is_(None))
    for row in _read_rows(connection, select(calls.c.key).where(half)):
        yield f"call {_shorten_key(row['key'])} has half a lease"


def check_answered_calls(connection: Connection) -> Iterator[str]:
    """Yield one line of text for each model call that was answered although no reply or judgement
    is stored for it, and for each that was answered more than once.
    """
    kept = {"reply": replies.c.key, "judgement": judgements.c.key}
    for kind, key in kept.items():
        answered = select(calls.c.key).join(attempts, attempts.c.call_key == calls.c.key)
        answered = answered.where(calls.c.kind == kind, attempts.c.outcome == ANSWERED)
        answered = answered.where(calls.c.key.not_like(f"{CLEARED}%"))
        for row in _read_rows(connection, answered.where(calls.c.key.not_in(select(key)))):
            yield f"the {kind} {_shorten_key(row['key'])} was answered and is not stored"
    twice = select(attempts.c.call_key, func.count().label("times")).where(
        attempts.c.outcome == ANSWERED
    )
    for row in _read_rows(connection, twice.group_by(attempts.c.call_key).having(func.count() > 1)):
        yield f"call {_shorten_key(row['call_key'])} was answered {row['times']} times"


def check_replies(connection: Connection) -> Iterator[str]:
    """Yield one line of text for each fault of a stored reply: the attempt that it came from is
    missing or another call's, or the reply's state does not go together with its text and reason.
    """
    for row in _read_rows(connection, _select_with_attempt(replies)):
        for fault in (*_find_attempt_faults(row, "reply"), *find_reply_faults(row)):
            yield f"reply {_shorten_key(row['key'])} {fault}"


def check_transcripts(connection: Connection) -> Iterator[str]:
    """Yield one line of text for each fault of a stored conversation: it cannot be read, differs
    from its stored replies, or does not fit what its keys and hashes were made from.
    """
    rows = _read_rows(connection, select(transcripts))
    while together := list(islice(rows, TOGETHER)):
        keys_of = {row["id"]: _try_read(_read_keys, row["reply_keys"]) for row in together}
        every = [key for keys in keys_of.values() for key in keys or ()]
        said_rows = connection.execute(select(*_SAID).where(replies.c.key.in_(every))).mappings()
        stored = {reply["key"]: reply for reply in said_rows}
        sent = _hash_requests(connection, every)
        for row in together:
            talk = _try_read(unpack_transcript, row["lines"])
            yield from _check_transcript(row, talk, keys_of[row["id"]], stored, sent)


def _hash_requests(connection: Connection, keys: Sequence[str]) -> dict[str, str | None]:
    """Return reply's key -> the hash of the stored request that the reply answers, for *keys*; None
    if the request is damaged.
    """
    same: dict[bytes, list[str]] = defaultdict(list)  # what several runs ask is unpacked once
    for key, packed in connection.execute(
        select(calls.c.key, calls.c.request).where(calls.c.key.in_(keys))
    ):
        same[packed].append(key)
    hashes: dict[str, str | None] = {}
    for packed, of in same.items():
        request = _try_read(unpack_text, packed)
        hashes |= dict.fromkeys(of, None if request is None else hash_text(request))
    return hashes


def _check_transcript(
    row: RowMapping,
    talk: Transcript | None,
    keys: Sequence[str] | None,
    replies_by_key: Mapping[str, Row],
    request_hashes: Mapping[str, str | None],
) -> Iterator[str]:
    """Yield one line of text for each fault of one stored conversation, given as its database
    *row*, its text *talk* and the *keys* of its replies (None: they cannot be read).
    *replies_by_key*: reply's key -> reply; *request_hashes*: reply's key -> hash of the request,
    None if that is damaged.
    """
    about = f"transcript {_shorten_key(row['id'])} ({row['scenario']}, run {row['run']})"
    if talk is None or keys is None:
        yield f"{about} cannot be read"
        return
    for fault in find_transcript_faults(row, talk):
        yield f"{about} {fault}"
    if missing := [key for key in keys if key not in replies_by_key]:
        yield (
            f"{about} names replies that are not stored: "
            f"{', '.join(_shorten_key(key) for key in missing)}"
        )
    # what ended another may have been answered since; `aib run --again` plays it
    elif row["state"] == "complete":
        for fault in find_reply_mismatches(row, talk, [replies_by_key[key] for key in keys]):
            yield f"{about} {fault}"
        for key, line in zip(keys, (line for line in talk.lines if line.name), strict=False):
            request = request_hashes.get(key)
            if request is None or make_reply_key_from_hash(request, row["run"]) != key:
                yield (
                    f"{about}: the request of “{line.name}” is not the one that its key was made "
                    "from"
                )


def check_judgements(connection: Connection) -> Iterator[str]:
    """Yield one line of text for each fault of a stored judgement: the attempt that it came from is
    missing or another call's, its checksum is wrong, or its key, state or scores are not valid.

    A judgement of a conversation that is not stored is no fault: the judges' exam makes such
    judgements.
    """
    checked = has_checksum_column(connection)
    for row in _read_rows(
        connection, _select_with_attempt(judgements, () if checked else ("checksum",))
    ):
        paid = () if row["attempt_id"] is None else _find_attempt_faults(row, "judgement")
        if row.get("checksum") not in (
            None,
            compute_judgement_checksum(*(row[name] for name in SCORED)),
        ):
            yield f"judgement {_shorten_key(row['key'])}: {WRONG_CHECKSUM}"
        for fault in (*paid, *find_judgement_faults(row)):
            yield f"judgement {_shorten_key(row['key'])} {fault}"


# -------------------------------------------------------- one row, as the store or an export has it

OTHER_KEY = "is stored under another key than its own"


def find_reply_faults(row: Row) -> Iterator[str]:
    """Yield the faults of the reply in *row* as ends of sentences: its state does not go together
    with its reason, or it is valid and has no text.
    """
    yield from _find_state_faults(row, "valid", "invalid")
    if row["state"] == "valid" and not row["text"].strip():
        yield "is valid and says nothing"


def find_judgement_faults(row: Row) -> Iterator[str]:
    """Yield the faults of the judgement in *row*, whose scores are JSON, as ends of sentences: its
    key is not made from its hashes, or its state does not go together with its reason or scores.

    A valid judgement without scores and without cost gives a reason and is no fault: the embedded
    judge gives no score that it is unsure of.
    """
    if row["key"] != make_judgement_key(row["heard_hash"], row["rubric_hash"], row["judge_hash"]):
        yield OTHER_KEY
    yield from _find_state_faults(row, "valid", "failed")
    marks = _try_read(_read_marks, row["marks"])
    silent = row["attempt_id" if "attempt_id" in row else "attempt"] is None and bool(
        row["reasoning"].strip()
    )
    if marks is None or (
        row["state"] == "failed" if marks else row["state"] == "valid" and not silent
    ):
        yield f"is {row['state']}, with the marks {row['marks'][:80]}"


def find_transcript_faults(row: Row, talk: Transcript) -> Iterator[str]:
    """Yield the contradictions between the *row* of a conversation and its text *talk*, as ends of
    sentences: its id, the hash of its text, or its state is wrong.
    """
    if row["id"] != make_transcript_id(row["script_hash"], row["subject_hash"], row["run"]):
        yield OTHER_KEY
    if talk.heard_hash != row["heard_hash"]:
        yield "holds other words than its hash was made from"
    yield from _find_state_faults(row, "complete", "invalid")


def find_reply_mismatches(row: Row, talk: Transcript, reply_rows: Sequence[Row]) -> Iterator[str]:
    """Yield the contradictions between a conversation (its *row* and its text *talk*) and its
    replies, as ends of sentences: their number, their texts, or the counts of replies that were cut
    off, in plain text or reasoned. *reply_rows*: the rows of all replies that the conversation
    names, in order.
    """
    lines = [line for line in talk.lines if line.name]
    complete = row["state"] == "complete"
    without_line = len(reply_rows) - len(lines)  # what ended an invalid one is no line of it
    if without_line not in ((0,) if complete else (0, 1)) or len(reply_rows) != row["replies"]:
        yield (
            f"has {len(lines)} replies of the model's, {len(reply_rows)} keys, and counts "
            f"{row['replies']}"
        )
        return
    for line, reply in zip(lines, reply_rows, strict=False):
        usable = reply["state"] == "valid" or not complete
        if not usable or (line.text, line.notes) != (reply["text"], reply["notes"]):
            yield f"does not say at “{line.name}” what its reply says"
    for count in COUNTED:
        if row[count] != sum(bool(reply[count]) for reply in reply_rows):
            yield f"miscounts the replies that are {count}"


def _find_state_faults(row: Row, good: str, bad: str) -> Iterator[str]:
    if row["state"] not in (good, bad) or (row["state"] == good) != (row["reason"] is None):
        yield f"is {row['state']}, with the reason {row['reason']!r}"


# ---------------------------------------------------------------- the parts of them


def _select_with_attempt(table: Table, without: Collection[str] = ()) -> Any:
    """Return a SQL query for each row of *table*, *without* some columns, with the key, outcome and
    kind of the model call's attempt that the row names.
    """
    columns = [column for column in table.c if column.name not in without]
    joined = table.outerjoin(attempts, attempts.c.id == table.c.attempt_id)
    joined = joined.outerjoin(calls, calls.c.key == attempts.c.call_key)
    about_attempt = (
        attempts.c.call_key.label("paid_for"),
        attempts.c.outcome.label("outcome"),
        calls.c.kind.label("kind"),
    )
    return select(*columns, *about_attempt).select_from(joined)


def _find_attempt_faults(row: Row, kind: str) -> Iterator[str]:
    """Yield the contradictions between the answer in *row* and the attempt that it names, as ends
    of sentences: the attempt is missing, belongs to another call or to a call of another kind than
    *kind*, or ended without an answer.
    """
    if row["paid_for"] is None:
        yield "comes from an attempt that is not there"
    elif row["paid_for"] != row["key"] or row["kind"] != kind:
        yield "comes from an attempt at something else"
    elif row["outcome"] is None or (
        row["state"] == "valid" and row["outcome"] not in (ANSWERED, CUT_OFF)
    ):
        yield f"comes from an attempt that came to: {row['outcome'] or 'nothing yet'}"


def _read_json(value: str | bytes) -> Any:
    return json.loads(unpack_text(value) if isinstance(value, bytes) else value)


def _read_keys(text: str) -> list[str]:
    return [str(key) for key in json.loads(text)]


def _read_marks(text: str) -> Mapping[str, float]:
    marks = json.loads(text)
    if not isinstance(marks, dict) or not all(
        type(mark) in (int, float) for mark in marks.values()
    ):
        raise ValueError("marks are numbers by name")
    return marks


def _try_read(read: Callable[[Any], T], stored: Any) -> T | None:
    """Return the result of calling *read* with a *stored* value; None if that raises an error,
    because the value is damaged.
    """
    try:
        return read(stored)
    except Exception:  # damaged in whatever way: that is what is being found out
        return None


def _read_rows(connection: Connection, query: Any) -> Iterator[RowMapping]:
    yield from connection.execute(query.execution_options(yield_per=BATCH)).mappings()


def _shorten_key(key: str) -> str:
    return key[:SHOWN]
