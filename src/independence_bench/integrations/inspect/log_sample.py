"""Makes one sample of a log as the JSON that Inspect writes: messages, replies, score, usage.

Uses nothing but rows of an export. Knows no store and no Inspect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from independence_bench.hashing import hash_content
from independence_bench.integrations.inspect.rows import (
    KEY,
    Rows,
    encode_usage,
    extract_transcript,
    parse_arguments,
)
from independence_bench.integrations.inspect.samples import (
    ROLE,
    SCORER,
    make_inspect_name,
    score_sample,
)
from independence_bench.models.messages import Message, Usage
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.plan import build_messages, start_scenario
from independence_bench.store.results import Judgement

Row = Mapping[str, Any]


def format_moment(seconds: float) -> str:
    """Return the Unix time *seconds* as ISO 8601 text in UTC, as Inspect writes times."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def make_log_sample(
    protocol: Protocol,
    *,
    subject: ChatModel,
    judge: str | None,
    id_: str,
    sample_metadata: Mapping[str, Any],
    run: int,
    conversation_rows: Rows,
    judgement_rows: Rows,
    counted_judgements: Mapping[str, Judgement],
) -> dict[str, Any]:
    """Return the sample *id_* of an Inspect log as JSON values: messages, replies, score and usage
    of one item in one *run*. *conversation_rows* has the export rows of its conversations,
    *judgement_rows* those of all its judgements.

    *counted_judgements*: transcript's id -> the main judge's judgement; *judge*: the name that
    Inspect has for that judge, None if there is none.
    """
    name, last = (
        make_inspect_name(subject.endpoint, subject.model),
        conversation_rows["transcripts"][0],
    )
    configuration = Configuration(sample_metadata["system"], sample_metadata["delivery"])
    begun = start_scenario(protocol, configuration, protocol.find_scenario(last["scenario"]))
    shown = build_messages(extract_transcript(last), configuration.delivery, protocol)
    score = score_sample(
        protocol, sample_metadata, run, conversation_rows, counted_judgements, judgement_rows
    )
    messages = encode_messages(shown)
    replies = [one for one in messages if one["role"] == "assistant"]
    judged = {judgement.key for judgement in counted_judgements.values()}
    usage = sum_usages_by_name(
        {name: encode_usage(_read_usage(row))} for row in conversation_rows["attempts"]
    )
    of_judge = sum_usages_by_name(
        {ROLE: encode_usage(_read_usage(row))}
        for row in judgement_rows.get("attempts", [])
        if row["call_key"] in judged
    )
    times = [
        row[name] for row in conversation_rows["attempts"] for name in ("started_at", "finished_at")
    ]
    times += [row["finished_at"] for row in conversation_rows["transcripts"]]
    return {
        "id": id_,
        "epoch": run,
        "input": encode_messages(
            build_messages(begun.transcript, configuration.delivery, protocol)
        ),
        "target": "",
        "messages": messages,
        "output": _make_output(
            name, replies[-1] if replies else {"role": "assistant", "content": ""}
        ),
        "scores": {
            SCORER: {
                "value": score.value,
                "explanation": score.explanation,
                "reason": score.reason,
                "metadata": score.metadata,
            }
        },
        "metadata": dict(sample_metadata),
        "store": {KEY: conversation_rows},
        "events": list(_make_reply_events(protocol, name, conversation_rows)),
        "model_usage": sum_usages_by_name(
            [usage, {judge: of_judge[ROLE]} if judge and of_judge else {}]
        ),
        "role_usage": of_judge,
        "started_at": format_moment(min(times)),
        "completed_at": format_moment(max(times)),
        "total_time": max(times) - min(times),
        "uuid": hash_content(
            ["sample", sample_metadata["protocol_hash"], subject.hash, id_, str(configuration), run]
        )[:22],
    }


def encode_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return *messages* as the JSON objects that Inspect writes. A message's id depends on its
    content and on all messages before it, so that equal beginnings of conversations can be matched.
    """
    functions = {call.id: call.name for message in messages for call in message.tool_calls}
    made = []
    before = ""
    for message in messages:
        before = hash_content([before, message.format_message()])
        one: dict[str, Any] = {
            "id": before[:22],
            "role": message.role,
            "content": message.content or "",
        }
        if message.tool_calls:
            one["tool_calls"] = [
                {
                    "id": call.id,
                    "function": call.name,
                    "arguments": parse_arguments(call),
                    "type": "function",
                }
                for call in message.tool_calls
            ]
        if message.tool_call_id is not None:
            one |= {
                "tool_call_id": message.tool_call_id,
                "function": functions.get(message.tool_call_id),
            }
        made.append(one)
    return made


def _make_reply_events(
    protocol: Protocol, model: str, conversation_rows: Rows
) -> Iterator[dict[str, Any]]:
    """Yield each reply in the conversations *conversation_rows* as the JSON of an Inspect event for
    a call of *model*; a reply that several branches share is yielded once.
    """
    attempts = {(row["call_key"], row["number"]): row for row in conversation_rows["attempts"]}
    number_of = {row["key"]: row["attempt"] for row in conversation_rows["replies"]}
    known: set[str] = set()
    for row in conversation_rows["transcripts"]:
        talk = extract_transcript(row)
        replies = [at for at, line in enumerate(talk.lines) if line.name]
        for key, at in zip(row["reply_keys"], replies, strict=False):
            if key in known:
                continue
            known.add(key)
            asked, said = (
                encode_messages(
                    build_messages(replace(talk, lines=talk.lines[:end]), row["delivery"], protocol)
                )
                for end in (at, at + 1)
            )
            reply = next(one for one in reversed(said) if one["role"] == "assistant")
            attempt = attempts.get((key, number_of[key]), {})
            output = _make_output(model, reply)
            output |= {"usage": encode_usage(_read_usage(attempt)), "time": attempt.get("seconds")}
            yield {
                "event": "model",
                "uuid": hash_content(["reply", key])[:22],
                "timestamp": format_moment(attempt.get("started_at", row["finished_at"])),
                "working_start": 0.0,
                "model": model,
                "input": asked,
                "tools": [],
                "tool_choice": "auto",
                "config": {},
                "output": output,
                "completed": format_moment(attempt.get("finished_at", row["finished_at"])),
            }


def _make_output(model: str, reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return *reply*, a chat message, as the JSON of what a call of *model* gave in Inspect."""
    message = {**reply, "source": "generate", "model": model}
    stop = "tool_calls" if "tool_calls" in reply else "stop"
    return {
        "model": model,
        "choices": [{"message": message, "stop_reason": stop}],
        "completion": reply["content"],
    }


def _read_usage(attempt: Row) -> Usage:
    names = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens", "cost")
    return Usage(*map(attempt.get, names))


def sum_usages_by_name(
    usages: Iterable[Mapping[str, Mapping[str, Any]]],
) -> dict[str, dict[str, Any]]:
    """Return name of a model or role -> its usage numbers, summed over all *usages*; a number that
    no usage states is None.
    """
    total: dict[str, dict[str, Any]] = {}
    for usage in usages:
        for name, one in usage.items():
            there = total.setdefault(name, dict.fromkeys(one))
            for kind, number in one.items():
                if number is not None:
                    there[kind] = number + (there[kind] or 0)
    return total
