"""What a sample of Inspect holds of this benchmark: rows of an export, which are checked like those
of any export.

    sample.store[KEY]              subjects, calls, attempts, replies, transcripts, readings
    score.metadata[KEY]            judges, calls, attempts, judgements

Knows nothing of Inspect. docs/data-formats.md has the columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from independence_bench.models.messages import AttemptFacts, ToolCall, Usage
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import Line, Transcript
from independence_bench.store.results import Judgement, PlayedJob, Reply


def encode_usage(usage: Usage) -> dict[str, Any]:
    """Return *usage* as a JSON object with the token counts and dollars that Inspect writes; tokens
    read from a cache are not counted as input.
    """
    prompt, cached, reply = (
        usage.prompt_tokens or 0,
        usage.cached_tokens or 0,
        usage.completion_tokens or 0,
    )
    return {
        "input_tokens": max(prompt - cached, 0),
        "output_tokens": reply,
        "total_tokens": prompt + reply,
        "input_tokens_cache_read": usage.cached_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "total_cost": usage.cost,
    }


def parse_arguments(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a tool call, parsed from JSON, as a dict. Arguments that are no JSON
    object are returned as the value of the key "".
    """
    try:
        given = json.loads(call.arguments)
    except (ValueError, RecursionError):
        given = None
    return given if isinstance(given, dict) else {"": call.arguments}


KEY = "independence_bench"
Rows = dict[str, list[dict[str, Any]]]  # table -> its rows


@dataclass(frozen=True, slots=True)
class TriedOnce:
    """One attempt at a call that has ended. Times are in seconds since 1970."""

    started_at: float
    finished_at: float
    max_tokens: int
    outcome: str
    message: str | None
    status: int | None
    facts: AttemptFacts


def make_call_rows(key: str, kind: str, model: ChatModel, tried: Sequence[TriedOnce]) -> Rows:
    """Return the export rows of the call *key* to *model* (table `calls`) and of all attempts at
    it, *tried* (table `attempts`).
    """
    call = {"key": key, "kind": kind, "endpoint": model.endpoint, "model": model.model}
    attempts = []
    for number, attempt in enumerate(tried, 1):
        usage = attempt.facts.usage
        attempts.append(
            {
                "call_key": key,
                "number": number,
                "started_at": attempt.started_at,
                "finished_at": attempt.finished_at,
                "origin": None,
                "outcome": attempt.outcome,
                "message": attempt.message,
                "status": attempt.status,
                "finish_reason": attempt.facts.finish_reason,
                "max_tokens": attempt.max_tokens,
                "prompt_tokens": usage.prompt_tokens,
                "completion_tokens": usage.completion_tokens,
                "reasoning_tokens": usage.reasoning_tokens,
                "cached_tokens": usage.cached_tokens,
                "cost": usage.cost,
                "seconds": attempt.facts.seconds,
                "served_model": attempt.facts.served_model,
                "served_provider": attempt.facts.served_provider,
            }
        )
    return {"calls": [call], "attempts": attempts}


def make_reply_rows(key: str, reply: Reply, attempt: int, now: float) -> Rows:
    """Return the export row of *reply* (table `replies`), which came from the given *attempt* (1,
    2, ...) at the call *key* and is stored at *now*, in Unix time.
    """
    row = {
        "key": key,
        "attempt": attempt,
        "state": "valid" if reply.reason is None else "invalid",
        "reason": reply.reason,
        "text": reply.text,
        "notes": reply.notes,
        "reasoning": reply.reasoning,
        "cut_off": reply.cut_off,
        "plain_text": reply.plain_text,
        "reasoned": reply.reasoned,
        "stored_at": now,
    }
    return {"replies": [row]}


def make_conversation_rows(played: PlayedJob, now: float) -> Rows:
    """Return the export row of the conversation *played* (table `transcripts`), which was finished
    at *now*, in Unix time.
    """
    job, talk = played.job, played.transcript
    row = {
        "id": job.transcript_id,
        "run": job.run,
        "system": job.configuration.system,
        "delivery": job.configuration.delivery,
        "experiment": job.scenario.experiment,
        "scenario": job.scenario.id,
        "state": "complete" if played.reason is None else "invalid",
        "reason": played.reason,
        "system_prompt": talk.system,
        "lines": [line.make_record() for line in talk.lines],
        **played.reply_counts,
        "reply_keys": [key for key, _ in played.said],
        "heard_hash": talk.heard_hash,
        "script_hash": job.script_hash,
        "subject_hash": job.subject.hash,
        "protocol_hash": played.protocol_hash,
        "finished_at": now,
    }
    return {"transcripts": [row]}


def make_judgement_rows(judgement: Judgement, attempt: int, now: float) -> Rows:
    """Return the export row of *judgement* (table `judgements`), which came from the given
    *attempt* (1, 2, ...) and is stored at *now*, in Unix time.
    """
    row = {
        "key": judgement.key,
        "state": "valid" if judgement.reason is None else "failed",
        "reason": judgement.reason,
        "marks": [
            {"mark": mark, "value": float(value)} for mark, value in sorted(judgement.marks.items())
        ],
        "reasoning": judgement.reasoning,
        "heard_hash": judgement.heard_hash,
        "rubric_hash": judgement.rubric_hash,
        "judge_hash": judgement.judge_hash,
        "attempt": attempt,
        "stored_at": now,
    }
    return {"judgements": [row]}


def make_model_rows(table: str, model: ChatModel) -> Rows:
    """Return the export row (hash, label, settings) of *model*, in the named table: `subjects` or
    `judges`.
    """
    return {table: [{"hash": model.hash, "label": model.label, "spec": model.settings_json}]}


def join_rows(parts: Iterable[Mapping[str, Sequence[Mapping[str, Any]]]]) -> Rows:
    """Return table -> its rows in all *parts*, in their order and each row once."""
    together: Rows = {}
    for part in parts:
        for sheet, rows in part.items():
            there = together.setdefault(sheet, [])
            there += [dict(row) for row in rows if row not in there]
    return together


def extract_transcript(row: Mapping[str, Any]) -> Transcript:
    """Return the system prompt and the lines of *row*, an export row of the table `transcripts`, as
    a transcript.
    """
    return Transcript(row["system_prompt"], tuple(Line(**line) for line in row["lines"]))
