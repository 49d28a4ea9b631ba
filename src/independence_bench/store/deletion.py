"""Deletes answers, so that they are asked for anew. Their attempts and costs are kept.

A call whose answer is deleted leaves its key, so that a new call of that key starts from
nothing: its attempts go on under a key of their own, of the same kind, and spending is what it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, bindparam, delete, select, update

from independence_bench.errors import StoreError
from independence_bench.hashing import hash_content
from independence_bench.models.spec import ChatModel
from independence_bench.store.blobs import unpack_text
from independence_bench.store.owners import is_dead
from independence_bench.store.registry import delete_decision
from independence_bench.store.rows import insert_rows, split_chunks
from independence_bench.store.schema import (
    CLEARED,
    attempts,
    begun,
    calls,
    judgements,
    readings,
    replies,
    subjects,
    transcripts,
    worked_out,
)


@dataclass(frozen=True, slots=True)
class DeletionPlan:
    """The ids and keys of what is to be deleted. *of*: the hashes of the tested models that lose
    all their results in *protocols* (hashes; None: in all).
    """

    transcripts: tuple[str, ...] = ()
    replies: tuple[str, ...] = ()
    judgements: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    protocols: tuple[str, ...] | None = None

    def __bool__(self) -> bool:
        return bool(self.transcripts or self.replies or self.judgements)


def plan_conversation_deletion(
    connection: Connection, models: Sequence[ChatModel], protocols: Sequence[str] | None
) -> DeletionPlan:
    """Return the plan to delete all conversations of the tested models *models* in the protocols
    with the hashes *protocols* (None: in all), with their replies and judgements. Deletes nothing
    yet.

    What the remaining conversations share with them stays: a first reply that two scenarios share,
    or a judgement of the very same text. If all protocols are meant, replies of conversations that
    were never finished are in the plan too.
    """
    going, staying = _split_transcripts(connection, {subject.hash for subject in models}, protocols)
    given, kept = (
        {key for row in rows for key in json.loads(row.reply_keys)} for rows in (going, staying)
    )
    if protocols is None:
        given |= set(_find_unfinished_reply_keys(connection, models, given | kept))
    return DeletionPlan(
        tuple(sorted(row.id for row in going)),
        tuple(sorted(given - kept)),
        tuple(sorted(_find_judgement_keys(connection, going, staying, None))),
        tuple(subject.hash for subject in models),
        None if protocols is None else tuple(protocols),
    )


def plan_judgement_deletion(
    connection: Connection,
    models: Sequence[ChatModel],
    protocols: Sequence[str] | None,
    judges: Collection[str] | None,
) -> DeletionPlan:
    """Return the plan to delete the judgements of the conversations of the tested models *models*
    in the protocols with the hashes *protocols* (None: in all), by the judges with the hashes
    *judges* (None: by all). Deletes nothing yet.

    A judgement stays if a conversation that is not meant has the very same text.
    """
    going, staying = _split_transcripts(connection, {subject.hash for subject in models}, protocols)
    return DeletionPlan(
        judgements=tuple(sorted(_find_judgement_keys(connection, going, staying, judges)))
    )


def check_unclaimed(connection: Connection, plan: DeletionPlan, now: float) -> None:
    """Raise StoreError if a running process has claimed some of the model calls whose answers
    *plan* would delete. *now*: seconds since 1970 on the store's clock.
    """
    wanted = select(calls.c.owner).where(calls.c.owner.is_not(None), calls.c.lease_until > now)
    busy = sum(
        not is_dead(owner)
        for keys in split_chunks((*plan.replies, *plan.judgements))
        for owner in connection.execute(wanted.where(calls.c.key.in_(keys))).scalars()
    )
    if busy:
        raise StoreError(
            f"another command is making {busy:,} of these calls; wait until it has ended"
        )


def carry_out_deletion(
    connection: Connection,
    plan: DeletionPlan,
    plan_again: Callable[[Connection], DeletionPlan],
    now: float,
) -> None:
    """Delete the conversations, replies and judgements of *plan* from the store, in a transaction
    in which no other process writes. Their costs stay on record. Their runs no longer count as
    begun, and a tested model of which no run is left is deleted with the decision about it.

    Raises StoreError, before anything is deleted, if *plan_again* (which plans the same deletion
    again) now gives another plan, or if another process is making some of the calls.
    """
    check_unclaimed(connection, plan, now)
    if plan_again(connection) != plan:
        raise StoreError(
            "another command has changed what would be deleted: nothing was deleted; repeat the "
            "command"
        )
    _delete_rows(connection, judgements, plan.judgements)
    _delete_rows(connection, readings, plan.transcripts)
    _delete_rows(connection, transcripts, plan.transcripts)
    _delete_rows(connection, replies, plan.replies)
    connection.execute(delete(worked_out))  # names what was deleted, too
    for keys in split_chunks((*plan.replies, *plan.judgements)):
        _move_calls_to_new_keys(connection, keys, now)
    for subject in plan.of:
        runs = delete(begun).where(begun.c.subject_hash == subject)
        if plan.protocols is not None:
            runs = runs.where(begun.c.protocol_hash.in_(plan.protocols))
        connection.execute(runs)
        left = [
            select(table.c.run).where(table.c.subject_hash == subject).limit(1)
            for table in (transcripts, begun)
        ]
        if all(connection.execute(rows).first() is None for rows in left):
            delete_decision(connection, subject)
            connection.execute(delete(subjects).where(subjects.c.hash == subject))


def _move_calls_to_new_keys(connection: Connection, keys: Sequence[str], now: float) -> None:
    """Give the model calls *keys*, and their attempts, new keys that no command asks for. Their
    costs stay on record, and a new call with an old key starts from nothing.
    """
    retired = connection.execute(select(calls).where(calls.c.key.in_(keys))).mappings().all()
    if not retired:
        return
    new = {
        row["key"]: CLEARED + hash_content([row["key"], now])[: 64 - len(CLEARED)]
        for row in retired
    }
    free = {"owner": None, "lease_until": None}
    moved = [
        {**{str(name): value for name, value in row.items()}, "key": new[row["key"]], **free}
        for row in retired
    ]
    insert_rows(connection, calls, moved)
    connection.execute(
        update(attempts)
        .where(attempts.c.call_key == bindparam("old"))
        .values(call_key=bindparam("new")),
        [{"old": old, "new": key} for old, key in new.items()],
    )
    connection.execute(delete(calls).where(calls.c.key.in_(list(new))))


def _split_transcripts(
    connection: Connection, subject_hashes: Collection[str], protocols: Sequence[str] | None
) -> tuple[list[Any], list[Any]]:
    """Return two lists of rows of the stored conversations: those of the tested models with the
    hashes *subject_hashes* in the protocols with the hashes *protocols* (None: in all), and all
    others.
    """
    columns = ("id", "heard_hash", "reply_keys", "subject_hash", "protocol_hash")
    going: list[Any] = []
    staying: list[Any] = []
    for row in connection.execute(select(*(transcripts.c[name] for name in columns))):
        meant = row.subject_hash in subject_hashes and (
            protocols is None or row.protocol_hash in protocols
        )
        (going if meant else staying).append(row)
    return going, staying


def _find_unfinished_reply_keys(
    connection: Connection, models: Sequence[ChatModel], finished_reply_keys: Collection[str]
) -> Iterator[str]:
    """Yield the keys of the stored replies of the tested models *models* that are not among
    *finished_reply_keys*, the keys of the replies in stored conversations.
    """
    for subject in models:
        mine = (
            calls.c.kind == "reply",
            calls.c.model == subject.model,
            calls.c.endpoint == subject.endpoint,
        )
        requests = connection.execute(
            select(calls.c.key, calls.c.request).join(replies).where(*mine)
        )
        for key, request in requests:
            if (
                key not in finished_reply_keys
                and json.loads(unpack_text(request))["model"] == subject.causes()
            ):
                yield key


def _find_judgement_keys(
    connection: Connection,
    going: Sequence[Any],
    staying: Sequence[Any],
    judges: Collection[str] | None,
) -> Iterator[str]:
    """Yield the keys of the judgements of texts that only conversations of *going* have and none of
    *staying*, by the judges with the hashes *judges* (None: by all).
    """
    wanted = select(judgements.c.key).order_by(judgements.c.key)
    if judges is not None:
        wanted = wanted.where(judgements.c.judge_hash.in_(list(judges)))
    heard = {row.heard_hash for row in going} - {row.heard_hash for row in staying}
    for some in split_chunks(sorted(heard)):
        yield from connection.execute(wanted.where(judgements.c.heard_hash.in_(some))).scalars()


def _delete_rows(connection: Connection, table: Table, keys: Sequence[str]) -> None:
    (primary,) = table.primary_key.columns
    for some in split_chunks(keys):
        connection.execute(delete(table).where(primary.in_(some)))
