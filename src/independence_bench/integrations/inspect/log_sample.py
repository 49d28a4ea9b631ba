"""One sample of a log, as the JSON that Inspect writes: messages, calls of subject and judge,
score, usage.

Made of rows of an export alone. Knows no store and no Inspect.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from independence_bench.hashing import content_hash
from independence_bench.integrations.inspect.rows import KEY, Rows, arguments_of, talk_of, usage_of
from independence_bench.integrations.inspect.samples import (
    PROVIDER,
    ROLE,
    SCORER,
    judged_case,
    sample_marks,
)
from independence_bench.judging.output import REASONING
from independence_bench.judging.prompt import judge_request
from independence_bench.models.messages import Message, Tool, Usage
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import Words, begin
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.plan import opening, request, sent
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.store.results import Judgement

_ENDS = {"length": "max_tokens", "content_filter": "content_filter", "tool_calls": "tool_calls"}
Row = Mapping[str, Any]


def moment(seconds: float) -> str:
    """*seconds* since 1970 as Inspect writes them."""
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
    """The sample *id_*: *kept* are the rows of its conversations, *by_judges* those of all its
    judgements.

    *given*: transcript's id -> the main judge's judgement; *judge*: as Inspect names that judge,
    None where there is none.
    """
    made = _Events(protocol, subject, kept, by_judges, judge)
    events, last = list(made.events(given)), kept["transcripts"][0]
    configuration = Configuration(about["system"], about["delivery"])
    begun = opening(protocol, configuration, protocol.scenario(last["scenario"]))
    shown = sent(talk_of(last), configuration.delivery, protocol)
    score = sample_marks(protocol, about, run, kept, given, by_judges)
    said = [line["text"] for line in last["lines"] if line["name"]]
    times = [row[name] for row in kept["attempts"] for name in ("started_at", "finished_at")]
    times += [row["finished_at"] for row in kept["transcripts"]]
    return {
        "id": id_,
        "epoch": run,
        "input": messages_json(sent(begun.transcript, configuration.delivery, protocol)),
        "target": "",
        "messages": messages_json(shown),
        "output": _output(made.name, said[-1] if said else "", ()),
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
        "events": events,
        "model_usage": made.usage,
        "role_usage": made.role_usage,
        "started_at": moment(min(times)),
        "completed_at": moment(max(times)),
        "total_time": max(times) - min(times),
        "uuid": content_hash(
            ["sample", about["protocol_hash"], subject.hash, id_, str(configuration), run]
        )[:22],
    }


def messages_json(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """*messages* as Inspect writes them. A message has one id wherever it stands, so that equal
    ones are known.
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


def _output(
    model: str, text: str, calls: Sequence[Mapping[str, Any]], **more: Any
) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": text,
        "source": "generate",
        "model": model,
    }
    if calls:
        message["tool_calls"] = list(calls)
    stop = more.pop("stop_reason", "stop")
    return {
        "model": model,
        "choices": [{"message": message, "stop_reason": stop}],
        "completion": text,
        **more,
    }


class _Events:
    """The calls of one sample as events, in the spans that Inspect's own runs have."""

    def __init__(
        self, protocol: Protocol, subject: ChatModel, kept: Rows, by_judges: Rows, judge: str | None
    ) -> None:
        self.protocol, self.subject, self.kept, self.by_judges = protocol, subject, kept, by_judges
        self.name, self.judge = f"{PROVIDER}/{subject.name}", judge
        self.replies: dict[str, Row] = {row["key"]: row for row in kept["replies"]}
        self.judgements: dict[str, Row] = {
            row["key"]: row for row in by_judges.get("judgements", [])
        }
        self.attempts: dict[str, list[Row]] = {}
        for row in (*kept["attempts"], *by_judges.get("attempts", [])):
            self.attempts.setdefault(row["call_key"], []).append(row)
        self.usage: dict[str, dict[str, Any]] = {}
        self.role_usage: dict[str, dict[str, Any]] = {}
        self._known: set[str] = set()  # calls that stand in the sample already

    def events(self, given: Mapping[str, Judgement]) -> Iterator[dict[str, Any]]:
        played = [
            event
            for row in self.kept["transcripts"]
            for event in self._in_span(row, self._played(row))
        ]
        judged = [
            event
            for row in self.kept["transcripts"]
            if row["id"] in given
            for event in self._in_span(row, self._judged(row, given[row["id"]]), ROLE)
        ]
        yield from _span("solvers", "solvers", played)
        yield from _span("scorers", "scorers", judged)

    def _in_span(
        self, row: Row, events: Iterator[dict[str, Any]], who: str = ""
    ) -> list[dict[str, Any]]:
        scenario = self.protocol.scenario(row["scenario"])
        name = scenario.branch or scenario.id
        return list(_span(name, f"{row['id']} {who}", list(events)))

    def _played(self, row: Row) -> Iterator[dict[str, Any]]:
        configuration = Configuration(row["system"], row["delivery"])
        talk = begin(row["system_prompt"], self.protocol.scenario(row["scenario"]).script)
        for key in row["reply_keys"]:
            reply = self.replies[key]
            asked = request(talk, self.subject, configuration, self.protocol, row["id"])
            if key not in self._known:
                self._known.add(key)
                said = self._said(reply, configuration)
                yield from self._calls(
                    key, reply, asked.messages, asked.tools, self.name, None, said
                )
            if reply["state"] != "valid":
                break
            talk = talk.answered(Words(reply["text"], reply["notes"]))

    def _said(self, reply: Row, configuration: Configuration) -> tuple[str, list[dict[str, Any]]]:
        """Words and calls of a reply, as the model is taken to have said them."""
        if configuration.delivery == "user_role" or reply["plain_text"] or not reply["text"]:
            return reply["text"], []
        wording = self.protocol.tool_role
        arguments = {wording.argument: reply["text"]}
        call = {
            "id": reply["key"][:9],
            "function": wording.name,
            "arguments": arguments,
            "type": "function",
        }
        return reply["notes"], [call]

    def _judged(self, row: Row, judgement: Judgement) -> Iterator[dict[str, Any]]:
        case = judged_case(self.protocol, row)
        if case is None or judgement.key in self._known or self.judge is None:
            return
        self._known.add(judgement.key)
        # what a judge reads does not depend on who judges
        asked = judge_request(case, self.subject)
        reasoning = self.judgements[judgement.key]["reasoning"]
        answer: dict[str, Any] = {REASONING: reasoning}
        for mark in case.scenario.marks:
            if (value := judgement.marks.get(mark.name)) is not None:
                yes_no = mark.kind == "yes_no"
                answer[mark.name] = (
                    mark.levels[int(value)] if mark.levels else bool(value) if yes_no else value
                )
        text = json.dumps(answer, ensure_ascii=False) if judgement.reason is None else ""
        yield from self._calls(
            judgement.key,
            self.judgements[judgement.key],
            asked.messages,
            (),
            self.judge,
            ROLE,
            (text, []),
        )

    def _calls(
        self,
        key: str,
        answer: Row,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        model: str,
        role: str | None,
        said: tuple[str, list[dict[str, Any]]],
    ) -> Iterator[dict[str, Any]]:
        """Every attempt at a call; only what its answer came from is known word by word."""
        for attempt in self.attempts.get(key, []):
            told = Usage(
                attempt["prompt_tokens"],
                attempt["completion_tokens"],
                attempt["reasoning_tokens"],
                attempt["cached_tokens"],
                attempt["cost"],
            )
            usage = usage_of(told)
            _add(self.usage, model, usage)
            if role is not None:
                _add(self.role_usage, role, usage)
            usable = attempt["outcome"] in (ANSWERED, CUT_OFF)
            text, calls = said if attempt["number"] == answer["attempt"] and usable else ("", [])
            stop = "tool_calls" if calls else _ENDS.get(attempt["finish_reason"] or "", "stop")
            output = _output(
                attempt["served_model"] or model,
                text,
                calls,
                usage=usage,
                time=attempt["seconds"],
                stop_reason=stop,
            )
            if not usable:
                output["error"] = attempt["message"] or attempt["outcome"]
            yield {
                "event": "model",
                "uuid": content_hash(["attempt", key, attempt["number"]])[:22],
                "timestamp": moment(attempt["started_at"]),
                "working_start": 0.0,
                "model": model,
                "role": role,
                "input": messages_json(messages),
                "tools": [
                    {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.wire()["function"]["parameters"],
                    }
                    for tool in tools
                ],
                "tool_choice": "auto",
                "config": {"max_tokens": attempt["max_tokens"] or None},
                "output": output,
                "error": None if usable else attempt["message"] or attempt["outcome"],
                "completed": moment(attempt["finished_at"]),
                "working_time": attempt["seconds"],
            }


def _span(name: str, about: str, inside: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """*inside* between the beginning and the end of a span; nothing where there is nothing."""
    if not inside:
        return
    id_ = content_hash(["span", about, inside[0].get("uuid", inside[0].get("id"))])[:22]
    begun, ended = inside[0]["timestamp"], inside[-1].get("completed", inside[-1]["timestamp"])
    about_span = {"span_id": id_, "working_start": 0.0, "id": id_}
    yield {"event": "span_begin", "timestamp": begun, "name": name, "type": name, **about_span}
    for event in inside:
        if event["event"] == "span_begin" and "parent_id" not in event:
            yield event | {"parent_id": id_}
        else:
            yield {"span_id": id_, **event}
    yield {"event": "span_end", "timestamp": ended, **about_span}


def _add(total: dict[str, dict[str, Any]], name: str, usage: Mapping[str, Any]) -> None:
    there = total.setdefault(name, dict.fromkeys(usage))
    for kind, number in usage.items():
        if number is not None:
            there[kind] = number + (there[kind] or 0)
