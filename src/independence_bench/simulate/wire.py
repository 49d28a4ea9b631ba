"""The chat-completions format from the server's side: a request read, a completion written.

Knows the format; knows no character, no fault and no HTTP. A body that is not a request raises
`NotUnderstood`.

Also random numbers that can be drawn again: made from a hash of what causes them, so that the order
in which concurrent requests arrive changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from independence_bench.hashing import content_hash
from independence_bench.models.response import dig

T = TypeVar("T")


def unit(*causes: str | int) -> float:
    """A number in [0, 1), the same for the same *causes*."""
    return int(content_hash(list(causes))[:13], 16) / 16**13


def choose(options: Sequence[T], *causes: str | int) -> T:
    """One of *options* (there must be one), the same for the same *causes*."""
    return options[int(unit(*causes) * len(options))]


CHARACTERS_A_TOKEN = 4
LIMITS = ("max_tokens", "max_completion_tokens")


class NotUnderstood(Exception):
    """A body is not a request for a chat completion: why."""


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request, as far as a character can use it."""

    hash: str  # of all its content but the token limit, which a client raises when it asks again
    model: str
    heard: tuple[str, ...]  # what the human has said so far, in either delivery mode
    prompt: (
        str  # the first user message: what a judge is sent, before what it is told of its answer
    )
    tool: tuple[str, str] | None  # name and argument of the tool that it speaks by
    schema: Mapping[str, Any] | None  # JSON Schema that the answer should follow
    provider: str | None  # pin
    limit: int | None  # tokens
    thinks: bool
    tokens: int  # of the prompt
    system: str = ""  # the system prompt
    turns: int = 0  # messages of both sides, the last one of the human included

    @property
    def last(self) -> str:
        """What the human said last; "" where there is nothing."""
        return self.heard[-1] if self.heard else ""


@dataclass(frozen=True, slots=True)
class PlayedReply:
    """What a character says. *usable*: whether it is an answer at all."""

    words: str
    thoughts: str = ""  # reasoning
    usable: bool = True
    called: bool = True  # False: as plain text, even where a tool is offered


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars a token."""

    prompt: float
    completion: float


@dataclass(frozen=True, slots=True)
class Prices:
    """What subjects and judges cost, and whether the list of models says so."""

    subject: Price = Price(0.000001, 0.000004)
    judge: Price = Price(0.0000005, 0.000003)
    listed: bool = True


@dataclass(frozen=True, slots=True)
class Made:
    """A completion's body, fresh and free to be spoiled; what it costs; whether it is a whole
    answer.
    """

    body: dict[str, Any]
    cost: float
    usable: bool


def read_request(data: bytes) -> ReceivedRequest:
    """The request in *data*. Raises NotUnderstood."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise NotUnderstood("the body is not JSON") from None
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        raise NotUnderstood("the body has no model")
    messages = body.get("messages")
    if (
        not isinstance(messages, list)
        or not messages
        or not all(isinstance(part, dict) for part in messages)
    ):
        raise NotUnderstood("the body has no messages")
    said = {
        role: tuple(_text(m.get("content")) for m in messages if m.get("role") == role)
        for role in ("user", "tool", "system")
    }
    schema, only = (
        dig(body, "response_format", "json_schema", "schema"),
        dig(body, "provider", "only"),
    )
    limits = [body[name] for name in LIMITS if isinstance(body.get(name), int)]
    content = {name: value for name, value in body.items() if name not in LIMITS}
    try:
        asked_hash = content_hash(content)
    except (TypeError, ValueError, RecursionError):
        raise NotUnderstood("the body holds what JSON has no word for") from None
    return ReceivedRequest(
        hash=asked_hash,
        model=body["model"],
        heard=said["tool"] or said["user"],
        prompt=said["user"][0] if said["user"] else "",
        tool=_tool(dig(body, "tools", 0, "function")),
        schema=schema if isinstance(schema, dict) else None,
        provider=str(only[0]) if isinstance(only, list) and only else None,
        limit=limits[0] if limits and limits[0] > 0 else None,
        thinks=(dig(body, "reasoning", "effort") or body.get("reasoning_effort"))
        not in (None, "none"),
        tokens=_tokens(len(data)),
        system="\n".join(said["system"]),
        turns=sum(part.get("role") != "system" for part in messages),
    )


def completion(
    asked: ReceivedRequest, reply: PlayedReply, number: int, price: Price, provider: str
) -> Made:
    """*reply* as the answer to request *number*, cut off where it is longer than the limit."""
    spent = _tokens(len(reply.thoughts))
    room = None if asked.limit is None else max(asked.limit - spent, 0) * CHARACTERS_A_TOKEN
    calling = asked.tool is not None and reply.called
    words = (
        json.dumps({asked.tool[1]: reply.words}, ensure_ascii=False)
        if asked.tool and calling
        else reply.words
    )
    cut = room is not None and len(words) > room
    words = words[:room]
    message: dict[str, Any] = {"role": "assistant", "content": words}
    if asked.tool and calling:
        function = {"name": asked.tool[0], "arguments": words}
        message["content"] = None
        message["tool_calls"] = [{"id": "call00001", "type": "function", "function": function}]
    if reply.thoughts:
        message["reasoning"] = reply.thoughts
    written = _tokens(len(words)) + spent
    cost = round(asked.tokens * price.prompt + written * price.completion, 9)
    finish = "length" if cut else "tool_calls" if calling else "stop"
    body = {
        "id": f"gen-sim-{number:06d}",
        "object": "chat.completion",
        "model": asked.model,
        "provider": provider,
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
        "usage": {
            "prompt_tokens": asked.tokens,
            "completion_tokens": written,
            "total_tokens": asked.tokens + written,
            "completion_tokens_details": {"reasoning_tokens": spent},
            "prompt_tokens_details": {"cached_tokens": 0},
            "cost": cost,
        },
    }
    return Made(body, cost, reply.usable and not cut)


def error_body(code: int, message: str) -> dict[str, Any]:
    """An error as OpenRouter words it."""
    return {"error": {"code": code, "message": message}}


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_A_TOKEN)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(str(part.get("text", "")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _tool(function: Any) -> tuple[str, str] | None:
    """Name and first argument of a tool that is offered."""
    name, arguments = dig(function, "name"), dig(function, "parameters", "properties")
    return (
        (str(name), str(next(iter(arguments))))
        if name and isinstance(arguments, dict) and arguments
        else None
    )
