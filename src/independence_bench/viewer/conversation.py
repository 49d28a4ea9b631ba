"""What the store has of one conversation: what was said, every attempt at it, and what judges made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from independence_bench.protocol.conversation import Transcript
from independence_bench.store import attempts as stored_attempts
from independence_bench.store import results
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.store.results import Judgement, Reply
from independence_bench.viewer.fragments import moment
from independence_bench.viewer.numbers import Dollars, Points
from independence_bench.viewer.snapshot import Catalog, Edition, StoredTranscript

IN_FLIGHT = "in flight"


@dataclass(frozen=True, slots=True)
class TranscriptAttempt:
    """One try at a call."""

    outcome: str  # answered, cut off, lost, in flight, or what went wrong
    accepted: bool  # whether its answer is the one that is stored
    why: str | None  # what was wrong with it, in the words of whoever said so
    status: int | None  # HTTP
    finish_reason: str | None
    started: str
    seconds: Points | None
    max_tokens: int
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    dollars: Dollars | None
    model: str | None  # that served it, by its own word
    provider: str | None


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """What is read from the store of one transcript."""

    edition: Edition
    stored: StoredTranscript
    transcript: Transcript
    keys: Sequence[str]  # of its replies, as far as they were asked for
    replies: Mapping[str, Reply]
    judgements: Sequence[tuple[str, Judgement]]  # (label, judgement), by label
    attempts: Mapping[str, Sequence[TranscriptAttempt]]  # by the key of the reply, or of the judgement


def read_conversation(connection: Connection, catalog: Catalog, id_: str) -> StoredConversation | None:
    """The transcript of that id; None where there is none, or none any more."""
    if id_ not in catalog.transcripts:
        return None
    edition, stored = catalog.transcripts[id_]
    try:
        transcript, keys = results.read_transcript(connection, stored.row.id)
    except KeyError:
        return None
    judges = catalog.judges
    judged = sorted(
        ((judges.get(one.judge_hash, one.judge_hash), one) for one in results.judgements_of(connection, *stored.key)),
        key=lambda pair: pair[0],
    )
    return StoredConversation(
        edition=edition,
        stored=stored,
        transcript=transcript,
        keys=keys,
        replies=results.find_replies(connection, keys),
        judgements=judged,
        attempts=_attempts(connection, [*keys, *(judgement.key for _, judgement in judged)]),
    )


def _attempts(connection: Connection, keys: Sequence[str]) -> dict[str, list[TranscriptAttempt]]:
    rows = stored_attempts.attempts_of(connection, keys)
    # the last one that brought an answer is the one that is stored, cut off or not
    stored = {row["call_key"]: row["id"] for row in rows if row["outcome"] in (ANSWERED, CUT_OFF)}
    found: dict[str, list[TranscriptAttempt]] = {}
    for row in rows:
        accepted = stored.get(row["call_key"]) == row["id"]
        found.setdefault(row["call_key"], []).append(_attempt(row, accepted))
    return found


def _attempt(row: Mapping[str, Any], accepted: bool) -> TranscriptAttempt:
    """An attempt as the store has it: its columns have the types that the shape states."""
    renamed = {
        "outcome": row["outcome"] or IN_FLIGHT,
        "accepted": accepted,
        "why": row["message"] or None,
        "started": moment(row["started_at"]) or "",
        "dollars": row["cost"],
        "model": row["served_model"],
        "provider": row["served_provider"],
    }
    same = TranscriptAttempt.__dataclass_fields__.keys() - renamed.keys()
    return TranscriptAttempt(**renamed, **{name: row[name] for name in same})
