"""The chat-completions format: requests and completions as values, and the reading of both.

Knows the wire format and its quirks; knows no HTTP, no store and nothing about conversations. A reply from
an endpoint is hostile until `read_completion` has turned it into a `Completion`: nothing in it is trusted to
have the right type, to be small or to be there.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from independence_bench.hashing import content_hash
from independence_bench.subject import ChatModel, Dialect, Reasoning

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool. *arguments* is the text as sent, which need not be valid JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a request."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    def wire(self) -> dict[str, Any]:
        """As it is sent."""
        message: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            message["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                for c in self.tool_calls
            ]
        if self.tool_call_id is not None:
            message["tool_call_id"] = self.tool_call_id
        return message


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that takes one text."""

    name: str
    description: str
    argument: str
    argument_description: str

    def wire(self) -> dict[str, Any]:
        """As it is sent."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": {
                    "type": "object",
                    "properties": {self.argument: {"type": "string", "description": self.argument_description}},
                    "required": [self.argument],
                    "additionalProperties": False,
                },
            },
        }


class Structure(StrEnum):
    """How an endpoint is made to answer in JSON."""

    SCHEMA = "schema"  # response_format json_schema
    OBJECT = "object"  # response_format json_object
    PROMPT = "prompt"  # by asking in words only


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to one model. Two requests with one key are the same question."""

    model: ChatModel
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    schema: str = ""  # JSON Schema that the answer should follow, keys in order; "" for free text

    def key(self, run: int) -> str:
        """The hash of everything that causes the reply, in run *run* (1, 2, ...)."""
        return content_hash(
            {
                "messages": [message.wire() for message in self.messages],
                "tools": [tool.wire() for tool in self.tools],
                "schema": self.schema,
                "model": self.model.causes(),
                "run": run,
            }
        )

    def wire(self, dialect: Dialect, max_tokens: int, structure: Structure = Structure.SCHEMA) -> dict[str, Any]:
        """The body to send, in the words of *dialect*, with *max_tokens* as the limit of this attempt."""
        model = self.model
        body: dict[str, Any] = {
            "model": model.model,
            "messages": [message.wire() for message in self.messages],
            "temperature": model.temperature,
            "max_completion_tokens" if dialect == "openai" else "max_tokens": max_tokens,
        }
        if self.tools:
            body["tools"] = [tool.wire() for tool in self.tools]
            body["tool_choice"] = "auto"
        if self.schema and structure is Structure.SCHEMA:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "marks", "strict": True, "schema": json.loads(self.schema)},
            }
        elif self.schema and structure is Structure.OBJECT:
            body["response_format"] = {"type": "json_object"}
        body |= _reasoning(model, dialect)
        if model.provider and dialect == "openrouter":
            body["provider"] = {"only": [model.provider], "allow_fallbacks": False}
        return body


# OpenAI's older families refuse the parameter; everything newer thinks unless told otherwise
_OPENAI_WITHOUT_REASONING = re.compile(r"^(gpt-3|gpt-4|chatgpt-)")


def _reasoning(model: ChatModel, dialect: Dialect) -> dict[str, Any]:
    """Reasoning in the words of *dialect*. Off is always said: left out, it means the provider's default."""
    effort = "none" if model.reasoning is Reasoning.OFF else model.reasoning.value
    if dialect == "openrouter":
        return {"reasoning": {"effort": effort}}
    if dialect == "openai":
        return {} if _OPENAI_WITHOUT_REASONING.match(model.model) else {"reasoning_effort": effort}
    # local servers: llama.cpp and vLLM read the template's switch, Ollama and LM Studio the effort
    return {
        "reasoning_effort": effort,
        "chat_template_kwargs": {"enable_thinking": model.reasoning is not Reasoning.OFF},
    }


@dataclass(frozen=True, slots=True)
class Usage:
    """What one attempt used. None: the endpoint did not say, or said nonsense."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None  # US dollars


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply as the endpoint gave it, before anybody asks whether it is an answer."""

    content: str
    tool_calls: tuple[ToolCall, ...]
    reasoning: str
    finish_reason: str | None
    usage: Usage
    served_model: str | None = None
    served_provider: str | None = None
    response_id: str | None = None
    seconds: float = 0.0
    raw: str = ""


class Kind(StrEnum):
    """What went wrong with one attempt."""

    RATE_LIMITED = "rate limited"  # 429, and 402 with Retry-After
    UNAVAILABLE = "unavailable"  # 408, 5xx, an error inside a 200
    CONNECTION = "connection failed"
    TIMEOUT = "timed out"
    BROKEN = "broken reply"  # a 200 that is not an answer
    WRONG_PROVIDER = "wrong provider"
    REFUSED_PROMPT = "prompt refused by moderation"
    BAD_REQUEST = "request refused"  # 400, 404 and other 4xx: this subject cannot work like this
    UNAUTHORIZED = "key refused"  # 401
    NO_CREDITS = "out of credits"  # 402


@dataclass(frozen=True, slots=True)
class Fault:
    """One failed attempt: a value, stored and counted like any other outcome."""

    kind: Kind
    message: str  # one line, from the endpoint where it said anything
    status: int | None = None
    retry_after: float | None = None  # seconds
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    raw: str = ""
    served_model: str | None = None
    served_provider: str | None = None
    response_id: str | None = None
    finish_reason: str | None = None
    unsent: bool = False  # there was no connection: nothing can have been served, or charged


def read_completion(body: bytes, status: int, retry_after: float | None) -> Completion | Fault:
    """What an endpoint's answer *body* means. Never raises, whatever the bytes are.

    A fault keeps the usage that came with it: a rejected attempt can have cost money.
    """
    raw = body.decode("utf-8", "replace")
    try:
        parsed = _clean(json.loads(raw, parse_constant=_no_constant))
    except (ValueError, RecursionError):
        parsed = None
    reply: Json = parsed if isinstance(parsed, dict) else {}
    usage = read_usage(reply.get("usage"))
    about: dict[str, Any] = {
        "usage": usage,
        "raw": raw,
        "served_model": _text(reply.get("model")) or None,
        "served_provider": _text(reply.get("provider")) or None,
        "response_id": _text(reply.get("id")) or None,
    }
    error = reply.get("error")
    if status != 200 or error:
        inside = status == 200
        code = _whole(error.get("code")) if isinstance(error, dict) else None
        shown = code if inside and code else status
        message = _error_message(error, reply, raw)
        if status in (404, 405, 501) and not reply:
            message = f"no chat completions at this address (does it end in /v1?): {one_line(raw, 80)}"
        return Fault(_kind(shown, inside, error, retry_after), message, shown, retry_after=retry_after, **about)
    if not reply:
        return Fault(Kind.UNAVAILABLE, f"not JSON: {one_line(raw, 16) or '(nothing)'}", status, **about)
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return Fault(Kind.UNAVAILABLE, "no choices in the reply (the model may be starting up)", status, **about)
    finish = _text(choice.get("finish_reason")) or None
    if finish == "error" or choice.get("error"):
        message = _error_message(choice.get("error"), reply, "the provider stopped with an error")
        return Fault(Kind.UNAVAILABLE, message, status, finish_reason=finish, **about)
    message_value = choice.get("message")
    message_read: Json = message_value if isinstance(message_value, dict) else {}
    # OpenAI puts a refusal in the model's own words beside the content: it is what the model said
    said = _content(message_read.get("content")) or _text(message_read.get("refusal"))
    content, thought = split_thoughts(said)
    reasoning = (
        _text(message_read.get("reasoning"))
        or _text(message_read.get("reasoning_content"))
        or _content(message_read.get("reasoning_details"))
    )
    return Completion(
        content=content,
        tool_calls=_tool_calls(message_read.get("tool_calls")),
        reasoning="\n\n".join(part for part in (reasoning, thought) if part),
        finish_reason=finish,
        **about,
    )


def read_usage(value: Any) -> Usage:
    """Tokens and dollars of a ``usage`` object; whatever is missing, negative or no number is None.

    With a key of one's own at the provider, ``cost`` is the service fee alone and the inference is in
    ``cost_details.upstream_inference_cost``; both were paid.
    """
    usage: Json = value if isinstance(value, dict) else {}
    output = usage.get("completion_tokens_details")
    prompt = usage.get("prompt_tokens_details")
    details = usage.get("cost_details")
    cost = _money(usage.get("cost"))
    if usage.get("is_byok") is True and isinstance(details, dict):
        paid = [part for part in (cost, _money(details.get("upstream_inference_cost"))) if part is not None]
        cost = sum(paid) if paid else None
    return Usage(
        prompt_tokens=_whole(usage.get("prompt_tokens")),
        completion_tokens=_whole(usage.get("completion_tokens")),
        reasoning_tokens=_whole(output.get("reasoning_tokens")) if isinstance(output, dict) else None,
        cached_tokens=_whole(prompt.get("cached_tokens")) if isinstance(prompt, dict) else None,
        cost=cost,
    )


def split_thoughts(content: str) -> tuple[str, str]:
    """(words, thoughts) of a content that some servers begin with ``<think>...</think>``.

    Templates that open the thought themselves leave only its end in the reply. Thinking that was never closed
    is thought to the end: nothing was said.
    """
    opened = re.match(r"\s*<(think|thinking|thought)>", content)
    name = opened[1] if opened else "think"
    thought, closed, words = content[opened.end() if opened else 0 :].partition(f"</{name}>")
    if closed and (opened or f"<{name}>" not in thought):
        return words.lstrip(), thought.strip()
    return ("", thought.strip()) if opened else (content, "")


def one_line(text: str, most: int) -> str:
    """*text* on one line of at most *most* characters, control characters shown and not obeyed."""
    folded = " ".join(text.split())
    printable = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in folded[: most + 1])
    return printable if len(printable) <= most else printable[: most - 1] + "…"


def _kind(status: int, inside: bool, error: Any, retry_after: float | None) -> Kind:
    metadata = error.get("metadata") if isinstance(error, dict) else None
    flagged = isinstance(metadata, dict) and bool({"reasons", "flagged_input"} & metadata.keys())
    if inside:
        # the provider had already begun: its key, credits and routing are its own trouble, not ours
        if status == 429:
            return Kind.RATE_LIMITED
        return Kind.REFUSED_PROMPT if status == 403 and flagged else Kind.UNAVAILABLE
    match status:
        case 429:
            return Kind.RATE_LIMITED
        case 402:
            return Kind.NO_CREDITS if retry_after is None else Kind.RATE_LIMITED
        case 401:
            return Kind.UNAUTHORIZED
        case 403:
            return Kind.REFUSED_PROMPT if flagged else Kind.BAD_REQUEST
        case 408 | 425:
            return Kind.UNAVAILABLE
        case _ if 400 <= status < 500 or status == 501:
            return Kind.BAD_REQUEST
        case _:
            return Kind.UNAVAILABLE


def _error_message(error: Any, reply: Json, fallback: str) -> str:
    if isinstance(error, dict):
        metadata = error.get("metadata")
        provider = metadata.get("provider_name") if isinstance(metadata, dict) else None
        said = metadata.get("raw") if isinstance(metadata, dict) else None
        parts = [_text(error.get("message")), f"({_text(provider)})" if provider else "", _text(said)]
    else:
        parts = [_text(error) or _text(reply.get("message")) or _text(reply.get("detail")) or fallback]
    return one_line(" ".join(part for part in parts if part) or fallback, 300)


def _tool_calls(value: Any) -> tuple[ToolCall, ...]:
    calls = []
    for number, call in enumerate(value if isinstance(value, list) else []):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            continue
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        calls.append(ToolCall(_text(call.get("id")) or f"call{number}", _text(function.get("name")), text))
    return tuple(calls)


def _content(value: Any) -> str:
    """The text of a content, which may also come as a list of parts."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12 else None


def _money(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e6 and math.isfinite(value) else None


def _no_constant(word: str) -> None:
    """NaN and Infinity are not JSON: read as absent."""
    del word


def clean_text(text: str) -> str:
    """*text* without lone surrogates and NULs, which no database and no terminal can hold.

    JSON inside JSON (a tool call's arguments, a verdict) can bring in new ones: `\\ud800` is plain text outside.
    """
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "�")


def _clean(value: Any) -> Any:
    """*value* with every text in it cleaned."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean(part) for part in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(part) for key, part in value.items()}
    return value
