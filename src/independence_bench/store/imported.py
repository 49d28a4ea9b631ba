"""Looks up what an import of others' results needs, and stores the attempts that they paid for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from independence_bench.escape import escape_line
from independence_bench.protocol.definition import Delivery
from independence_bench.store.attempts import (
    CallInfo,
    Ended,
    make_attempt_ids,
    make_attempt_row,
    make_call_row,
)
from independence_bench.store.rows import insert_missing_row, insert_rows
from independence_bench.store.schema import (
    IMPORTED,
    attempts,
    calls,
    judgements,
    replies,
    transcripts,
)

# an outcome: answered, and what came after answers another reply to the same question
REPLACED = "replaced"
JUDGED_AGAIN = "judged again"  # an outcome: the same words were judged once more


def make_import_owner_name(layout: str, source: str) -> str:
    """Return the name that is stored as the owner of attempts imported from *source* (a file's or
    folder's name) in the file format *layout*.
    """
    return f"{IMPORTED}{layout}|{escape_line(source)[:120]}"


@dataclass(frozen=True, slots=True)
class PaidAttempt:
    """An attempt at a call that is imported, and when it began and ended (seconds since 1970)."""

    call: CallInfo
    ended: Ended
    started_at: float
    finished_at: float


def store_imported_attempts(
    connection: Connection, made: Sequence[PaidAttempt], owner: str
) -> tuple[dict[tuple[str, float], int], list[PaidAttempt]]:
    """Store imported attempts and the model calls that they belong to. An attempt is left out if
    one at the same call with the same end time is stored already. *owner*: from
    `make_import_owner_name`.

    Returns two things: (call's key, end of the attempt in seconds since 1970) -> attempt's id, for
    all attempts at those calls, and a list of those of *made* that are new.
    """
    wanted = select(attempts.c.call_key, attempts.c.finished_at, attempts.c.id)
    there = wanted.where(attempts.c.call_key.in_({item.call.key for item in made}))
    known = {(key, finished): attempt for key, finished, attempt in connection.execute(there)}
    numbers = iter(make_attempt_ids(connection, len(made)))
    rows: list[dict[str, object]] = []
    new = []
    for item in made:
        place = (item.call.key, item.finished_at)
        if place not in known:
            insert_missing_row(connection, calls, make_call_row(item.call))
            known[place] = next(numbers)
            times = {"started_at": item.started_at, "finished_at": item.finished_at}
            row = {"id": known[place], "call_key": item.call.key, "owner": owner, "max_tokens": 0}
            rows.append(row | times | make_attempt_row(item.ended, item.ended.raw))
            new.append(item)
    insert_rows(connection, attempts, rows)
    return known, new


def find_stored_answer_keys(connection: Connection, keys: Collection[str]) -> set[str]:
    """Return those of the model calls *keys* that have a stored reply or judgement, valid or
    not.
    """
    kept = (select(table.c.key).where(table.c.key.in_(keys)) for table in (replies, judgements))
    return {key for wanted in kept for key in connection.execute(wanted).scalars()}


def read_states_and_text_hashes(
    connection: Connection, ids: Collection[str]
) -> dict[str, tuple[str, str]]:
    """Return id -> (state, hash of the text that judges read) for those of the conversations *ids*
    that are stored; the state is "complete" or "invalid".
    """
    wanted = select(transcripts.c.id, transcripts.c.state, transcripts.c.heard_hash).where(
        transcripts.c.id.in_(ids)
    )
    return {found: (state, heard) for found, state, heard in connection.execute(wanted)}


def count_by_configuration_and_state(
    connection: Connection, scripts: Collection[str]
) -> dict[tuple[str, Delivery, str], int]:
    """Return (system prompt variant, delivery mode, state) -> number of stored conversations with
    these three, among those of the script hashes *scripts*; the state is "complete" or "invalid".
    """
    columns = (transcripts.c.system, transcripts.c.delivery, transcripts.c.state)
    wanted = (
        select(*columns, func.count())
        .where(transcripts.c.script_hash.in_(scripts))
        .group_by(*columns)
    )
    return {
        (system, delivery, state): count
        for system, delivery, state, count in connection.execute(wanted)
    }
