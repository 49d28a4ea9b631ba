"""Makes one sample of a log as the JSON that Inspect writes: messages, replies, score, usage.

Uses nothing but rows of an export. Knows no store and no Inspect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from independence_bench.hashing import content_hash
from independence_bench.integrations.inspect.rows import KEY, Rows, arguments_of, talk_of, usage_of
from independence_bench.integrations.inspect.samples import (
    ROLE,
    SCORER,
    inspect_name,
    sample_marks,
)
from independence_bench.models.messages import Message, Usage
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.plan import opening, sent
from independence_bench.store.results import Judgement

Row = Mapping[str, Any]


def moment(seconds: float) -> str:
    """Format *seconds* since 1970 as Inspect writes them."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def made_sample(
    protocol: Protocol,
    *,
    subject: ChatModel,
    judge: str | None,
    id_: str,
    about: Mapping[str, Any],
    run: int,
    kept: Rows,
    by_judges: Rows,
    given: Mapping[str, Judgement],
) -> dict[str, Any]:
    """Make the sample *id_*: *kept* has the rows of its conversations, *by_judges* those of all its
    judgements.

    *given*: transcript's id -> the main judge's judgement; *judge*: the name that Inspect has for
    that judge, None if there is none.
    """
    name, last = inspect_name(subject.endpoint, subject.model), kept["transcripts"][0]
    configuration = Configuration(about["system"], about["delivery"])
    begun = opening(protocol, configuration, protocol.scenario(last["scenario"]))
    shown = sent(talk_of(last), configuration.delivery, protocol)
    score = sample_marks(protocol, about, run, kept, given, by_judges)
    messages = messages_json(shown)
    replies = [one for one in messages if one["role"] == "assistant"]
    judged = {judgement.key for judgement in given.values()}
    usage = summed({name: usage_of(_usage(row))} for row in kept["attempts"])
    of_judge = summed(
        {ROLE: usage_of(_usage(row))}
        for row in by_judges.get("attempts", [])
        if row["call_key"] in judged
    )
    times = [row[name] for row in kept["attempts"] for name in ("started_at", "finished_at")]
    times += [row["finished_at"] for row in kept["transcripts"]]
    return {
        "id": id_,
        "epoch": run,
        "input": messages_json(sent(begun.transcript, configuration.delivery, protocol)),
        "target": "",
        "messages": messages,
        "output": _output(name, replies[-1] if replies else {"role": "assistant", "content": ""}),
        "scores": {
            SCORER: {
                "value": score.value,
                "explanation": score.explanation,
                "reason": score.reason,
                "metadata": score.metadata,
            }
        },
        "metadata": dict(about),
        "store": {KEY: kept},
        "events": list(_events(protocol, name, kept)),
        "model_usage": summed([usage, {judge: of_judge[ROLE]} if judge and of_judge else {}]),
        "role_usage": of_judge,
        "started_at": moment(min(times)),
        "completed_at": moment(max(times)),
        "total_time": max(times) - min(times),
        "uuid": content_hash(
            ["sample", about["protocol_hash"], subject.hash, id_, str(configuration), run]
        )[:22],
    }


def messages_json(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return *messages* as Inspect writes them. Equal messages after equal messages have the same
    id, so that they can be matched.
    """
    functions = {call.id: call.name for message in messages for call in message.tool_calls}
    made = []
    before = ""
    for message in messages:
        before = content_hash([before, message.wire()])
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
                    "arguments": arguments_of(call),
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


def _events(protocol: Protocol, model: str, kept: Rows) -> Iterator[dict[str, Any]]:
    """Yield the replies of *model* as Inspect's calls, each once, although branches share the
    replies that they begin with.
    """
    attempts = {(row["call_key"], row["number"]): row for row in kept["attempts"]}
    number_of = {row["key"]: row["attempt"] for row in kept["replies"]}
    known: set[str] = set()
    for row in kept["transcripts"]:
        talk = talk_of(row)
        replies = [at for at, line in enumerate(talk.lines) if line.name]
        for key, at in zip(row["reply_keys"], replies, strict=False):
            if key in known:
                continue
            known.add(key)
            asked, said = (
                messages_json(
                    sent(replace(talk, lines=talk.lines[:end]), row["delivery"], protocol)
                )
                for end in (at, at + 1)
            )
            reply = next(one for one in reversed(said) if one["role"] == "assistant")
            attempt = attempts.get((key, number_of[key]), {})
            output = _output(model, reply)
            output |= {"usage": usage_of(_usage(attempt)), "time": attempt.get("seconds")}
            yield {
                "event": "model",
                "uuid": content_hash(["reply", key])[:22],
                "timestamp": moment(attempt.get("started_at", row["finished_at"])),
                "working_start": 0.0,
                "model": model,
                "input": asked,
                "tools": [],
                "tool_choice": "auto",
                "config": {},
                "output": output,
                "completed": moment(attempt.get("finished_at", row["finished_at"])),
            }


def _output(model: str, reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return *reply*, a message, as the output of a call of *model*."""
    message = {**reply, "source": "generate", "model": model}
    stop = "tool_calls" if "tool_calls" in reply else "stop"
    return {
        "model": model,
        "choices": [{"message": message, "stop_reason": stop}],
        "completion": reply["content"],
    }


def _usage(attempt: Row) -> Usage:
    names = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens", "cost")
    return Usage(*map(attempt.get, names))


def summed(usages: Iterable[Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Add up usage by model or role; a number that is never reported is None."""
    total: dict[str, dict[str, Any]] = {}
    for usage in usages:
        for name, one in usage.items():
            there = total.setdefault(name, dict.fromkeys(one))
            for kind, number in one.items():
                if number is not None:
                    there[kind] = number + (there[kind] or 0)
    return total
