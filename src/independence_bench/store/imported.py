"""What was bought by somebody else: calls and attempts that are written down after the event, with their origin.

An attempt's owner is the process that made it; of one that was imported it is `import|` and where it came from, so
that what this store has cost can be told from what others have paid. Functions on a connection; opens nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, insert, select

from independence_bench.shown import label_text
from independence_bench.store.calls import CallInfo, Ended
from independence_bench.store.tables import (
    IMPORTED,
    attempts,
    calls,
    insert_once,
    judgements,
    pack,
    replies,
    transcripts,
)

REPLACED = "replaced"  # an outcome: answered, and what came after answers another reply to the same question
JUDGED_AGAIN = "judged again"  # an outcome: the same words were judged once more


def origin_of(layout: str, source: str) -> str:
    """The owner of attempts that were read in *layout* from *source* (a file's or folder's name)."""
    return f"{IMPORTED}{layout}|{label_text(source)[:120]}"


@dataclass(frozen=True, slots=True)
class Bought:
    """One attempt of somebody else's at a call, and when it began and ended (seconds since 1970)."""

    call: CallInfo
    ended: Ended
    started_at: float
    finished_at: float


def keep_bought(
    connection: Connection, bought: Sequence[Bought], owner: str
) -> tuple[dict[tuple[str, float], int], list[Bought]]:
    """Store attempts and their calls, each once: what is there already is the same call at the same time.

    Returns all attempts of those calls, (key, finished at) -> id, and those of *bought* that are new.
    """
    keys = {item.call.key for item in bought}
    known = _attempts_of(connection, keys)
    last = connection.execute(select(func.coalesce(func.max(attempts.c.id), 0))).scalar_one()
    rows: list[dict[str, object]] = []
    new = []
    for item in bought:
        place = (item.call.key, item.finished_at)
        if place not in known:
            insert_once(connection, calls, _call_row(item.call))
            known[place] = last + len(rows) + 1
            rows.append(_attempt_row(item) | {"id": known[place], "owner": owner})
            new.append(item)
    if rows:
        connection.execute(insert(attempts), rows)
    return known, new


def _attempts_of(connection: Connection, keys: Collection[str]) -> dict[tuple[str, float], int]:
    wanted = select(attempts.c.call_key, attempts.c.finished_at, attempts.c.id).where(attempts.c.call_key.in_(keys))
    return {(key, finished): attempt for key, finished, attempt in connection.execute(wanted)}


def _call_row(call: CallInfo) -> dict[str, object]:
    plain = {name: getattr(call, name) for name in ("key", "kind", "endpoint", "model")}
    return plain | {"request": pack(call.request)}


def _attempt_row(item: Bought) -> dict[str, object]:
    told = {name: getattr(item.ended, name) for name in Ended.__dataclass_fields__ if name not in ("usage", "raw")}
    usage = item.ended.usage
    return told | {
        "call_key": item.call.key,
        "started_at": item.started_at,
        "max_tokens": 0,
        "finished_at": item.finished_at,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cached_tokens": usage.cached_tokens,
        "cost": usage.cost,
        "raw": pack(item.ended.raw),
    }


def answered(connection: Connection, keys: Collection[str]) -> set[str]:
    """Those of the calls that have a reply or a judgement, of whatever kind."""
    found = set(connection.execute(select(replies.c.key).where(replies.c.key.in_(keys))).scalars())
    return found | set(connection.execute(select(judgements.c.key).where(judgements.c.key.in_(keys))).scalars())


def transcripts_known(connection: Connection, ids: Collection[str]) -> dict[str, tuple[str, str]]:
    """Those of the transcripts that are stored: id -> (state, heard hash)."""
    wanted = select(transcripts.c.id, transcripts.c.state, transcripts.c.heard_hash).where(transcripts.c.id.in_(ids))
    return {found: (state, heard) for found, state, heard in connection.execute(wanted)}


def complete_of(connection: Connection, protocol_hash: str) -> int:
    """How many complete transcripts were stored for that version of a protocol."""
    mine = (transcripts.c.protocol_hash == protocol_hash, transcripts.c.state == "complete")
    return int(connection.execute(select(func.count()).select_from(transcripts).where(*mine)).scalar_one())
