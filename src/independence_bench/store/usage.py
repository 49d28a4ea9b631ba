"""What was consumed: tries, tokens and dollars of replies and judgements, and when the newest came.

Functions on a connection, so one transaction can do several of them; opens nothing and waits for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, and_, func, select

from independence_bench.store.schema import attempts, calls, judgements, transcripts, undamaged


def newest(connection: Connection) -> float | None:
    """When the newest result was stored: an attempt's end, a transcript or a judgement. None where there is none."""
    times = (attempts.c.finished_at, transcripts.c.finished_at, judgements.c.stored_at)
    found = [connection.execute(select(func.max(time))).scalar() for time in times]
    return max((time for time in found if time is not None), default=None)


@dataclass(frozen=True, slots=True)
class Try:
    """An attempt that has ended, as far as it is money."""

    key: str  # of the call
    outcome: str
    cost: float | None  # dollars; None: not told
    provider: str | None  # that served it, by its own word
    seconds: float | None  # from sending to the end; None: not told


def tries(connection: Connection, kind: Literal["reply", "judgement"]) -> list[Try]:
    """Every attempt at a call of that kind that has ended, in order."""
    wanted = (
        select(
            attempts.c.call_key,
            attempts.c.outcome,
            *(attempts.c[name] for name in ("cost", "served_provider", "seconds")),
        )
        .join(calls, calls.c.key == attempts.c.call_key)
        .where(calls.c.kind == kind, attempts.c.outcome.is_not(None))
        .order_by(attempts.c.id)
    )
    return [Try(*row) for row in connection.execute(wanted)]


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
    with undamaged():
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


def failed_attempts(connection: Connection, broken: Collection[str], scripts: Collection[str]) -> dict[str, int]:
    """Transcript id -> how many attempts at its replies ended as one of *broken*; without those that have none."""
    found = connection.execute(
        select(attempts.c.call_key, func.count())
        .join(calls, calls.c.key == attempts.c.call_key)
        .where(attempts.c.outcome.in_(list(broken)), calls.c.kind == "reply")
        .group_by(attempts.c.call_key)
    )
    spoiled = {row[0]: int(row[1]) for row in found}
    if not spoiled:
        return {}
    keyed = select(transcripts.c.id, transcripts.c.reply_keys).where(transcripts.c.script_hash.in_(list(scripts)))
    with undamaged():
        counts = {one: sum(spoiled.get(key, 0) for key in json.loads(keys)) for one, keys in connection.execute(keyed)}
    return {one: count for one, count in counts.items() if count}
