"""Our messages and tools in Inspect's words and back, and what its models say as our completions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from inspect_ai._util.registry import registry_name
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentReasoning,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.tool import ToolCall as CalledTool
from inspect_ai.tool import ToolInfo, ToolParam, ToolParams

from independence_bench.hashing import canonical, text_hash
from independence_bench.integrations.inspect.rows import KEY, arguments_of
from independence_bench.integrations.inspect.samples import PREFIX
from independence_bench.models.messages import Completion, Fault, Kind, Message, Tool, ToolCall, Usage
from independence_bench.models.response import clean_text


def named(name: str) -> str:
    """*name* as it has to be registered: Inspect adds the prefix by itself, but not in an editable installation."""
    return name if registry_name(named, name) != name else f"{PREFIX}/{name}"


_ENDS = {"max_tokens": "length", "model_length": "length", "tool_calls": "tool_calls", "unknown": None}


def chat_messages(messages: Sequence[Message]) -> list[ChatMessage]:
    """*messages* as Inspect has them."""
    functions = {call.id: call.name for message in messages for call in message.tool_calls}
    made: list[ChatMessage] = []
    for message in messages:
        text = message.content or ""
        match message.role:
            case "system":
                made.append(ChatMessageSystem(content=text))
            case "user":
                made.append(ChatMessageUser(content=text))
            case "assistant":
                calls = [CalledTool(call.id, call.name, arguments_of(call)) for call in message.tool_calls]
                made.append(ChatMessageAssistant(content=text, tool_calls=calls or None))
            case "tool":
                called = message.tool_call_id or ""
                made.append(ChatMessageTool(content=text, tool_call_id=called, function=functions.get(called)))
    return made


def own_messages(messages: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """*messages* of Inspect as ours."""
    made = []
    for message in messages:
        calls = tuple(
            ToolCall(one.id, one.function, json.dumps(one.arguments, ensure_ascii=False))
            for one in getattr(message, "tool_calls", None) or ()
        )
        text: str | None = message.text
        made.append(
            Message(message.role, text or None if calls else text, calls, getattr(message, "tool_call_id", None))
        )
    return tuple(made)


def tool_infos(tools: Sequence[Tool]) -> list[ToolInfo]:
    """*tools* as Inspect has them."""
    return [
        ToolInfo(
            name=tool.name,
            description=tool.description,
            parameters=ToolParams(
                properties={tool.argument: ToolParam(type="string", description=tool.argument_description)},
                required=[tool.argument],
            ),
        )
        for tool in tools
    ]


def own_tools(tools: Sequence[ToolInfo]) -> tuple[Tool, ...]:
    """*tools* of Inspect as ours. Raises ValueError for one that takes anything but one text."""
    made = []
    for tool in tools:
        given = list(tool.parameters.properties.items())
        if len(given) != 1 or given[0][1].type != "string":
            raise ValueError(f"aib/ models take only tools with one text argument; {tool.name} is not one")
        (name, about), *_ = given
        made.append(Tool(tool.name, tool.description, name, about.description or ""))
    return tuple(made)


def sent_hash(messages: Sequence[Message], tools: Sequence[Tool]) -> str:
    """What tells one question from another."""
    return text_hash(canonical([[one.wire() for one in messages], [one.wire() for one in tools]]))


def kept(outcome: Completion | Fault) -> dict[str, Any]:
    """*outcome* without its body as plain JSON, for an output's metadata; `outcome_of` undoes it."""
    made = asdict(outcome) | {"raw": ""}
    if isinstance(outcome, Fault):
        made |= {"kind": outcome.kind.value, "refused": sorted(outcome.refused)}
    return made


def outcome_of(output: ModelOutput) -> Completion | Fault:
    """What a model answered, or why that is nothing that can be read."""
    told = (output.metadata or {}).get(KEY)
    if told is not None:
        about = dict(told["outcome"]) | {"usage": Usage(**told["outcome"]["usage"])}
        if "kind" in about:
            return Fault(**about | {"kind": Kind(about["kind"]), "refused": frozenset(about["refused"])})
        return Completion(**about | {"tool_calls": tuple(ToolCall(**call) for call in about["tool_calls"])})
    about = {"usage": _usage(output.usage), "seconds": output.time or 0.0, "served_model": output.model or None}
    if output.empty:
        return Fault(Kind.BROKEN, clean_text(output.error or "no choices in the reply"), 200, **about)
    message = output.message
    parts = message.content if isinstance(message.content, list) else []
    thoughts = [part.summary or part.reasoning for part in parts if isinstance(part, ContentReasoning)]
    calls = [
        ToolCall(one.id, one.function, json.dumps(one.arguments, ensure_ascii=False))
        for one in message.tool_calls or ()
    ]
    return Completion(
        content=clean_text(message.text),
        tool_calls=tuple(calls),
        reasoning=clean_text("\n\n".join(text for text in thoughts if text)),
        finish_reason=_ENDS.get(output.stop_reason, output.stop_reason),
        response_id=output.response_id,
        **about,
    )


def _usage(told: ModelUsage | None) -> Usage:
    if told is None:
        return Usage()
    cached = told.input_tokens_cache_read or 0
    prompt = told.input_tokens + cached + (told.input_tokens_cache_write or 0)
    return Usage(prompt, told.output_tokens, told.reasoning_tokens, told.input_tokens_cache_read, told.total_cost)
