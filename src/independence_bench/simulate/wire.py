"""The chat-completions format from the server's side: reads a request and writes a completion.

Knows the format; knows no character, no fault and no HTTP. A body that is not a request raises
`NotUnderstood`.

It also draws random numbers that can be drawn again: they are made from a hash of their causes, so
the order in which concurrent requests arrive changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from independence_bench.hashing import hash_content
from independence_bench.models.response import get_nested_value

T = TypeVar("T")


def draw_number(*causes: str | int) -> float:
    """Return a pseudo-random number in [0, 1), the same one for the same *causes*."""
    return int(hash_content(list(causes))[:13], 16) / 16**13


def draw_option(options: Sequence[T], *causes: str | int) -> T:
    """Return a pseudo-random one of *options*, at least one, the same one for the same *causes*."""
    return options[int(draw_number(*causes) * len(options))]


CHARACTERS_A_TOKEN = 4
LIMITS = ("max_tokens", "max_completion_tokens")


class NotUnderstood(Exception):
    """A body that is not a request for a chat completion; the text says why."""


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request, as far as a character can use it."""

    hash: str  # of its content without the token limit, which clients raise when they ask again
    model: str
    heard: tuple[str, ...]  # the human's messages so far, in either delivery mode
    prompt: str  # the first user message: for a judge the case, before any note on its last answer
    tool: tuple[str, str] | None  # name and argument of the tool that it speaks by
    schema: Mapping[str, Any] | None  # JSON Schema that the answer should follow
    provider: str | None  # the provider that the request is pinned to
    limit: int | None  # of the reply's tokens
    thinks: bool
    tokens: int  # of the prompt
    system: str = ""  # the system prompt
    turns: int = 0  # messages of both sides, the last one of the human included

    @property
    def last_heard(self) -> str:
        """The human's last message in this request; "" if there is none."""
        return self.heard[-1] if self.heard else ""


@dataclass(frozen=True, slots=True)
class PlayedReply:
    """A character's reply. *usable*: whether it is an answer at all."""

    words: str
    thoughts: str = ""  # reasoning
    usable: bool = True
    called: bool = True  # by the tool, if one is offered; False: always as plain text


@dataclass(frozen=True, slots=True)
class Price:
    """A price in dollars a token."""

    prompt: float
    completion: float


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of subjects and judges, and whether the list of models states them."""

    subject: Price = Price(0.000001, 0.000004)
    judge: Price = Price(0.0000005, 0.000003)
    listed: bool = True


@dataclass(frozen=True, slots=True)
class SimulatedCompletion:
    """A completion's body, which may be changed; its cost in dollars; and whether it is a whole
    answer.
    """

    body: dict[str, Any]
    cost: float
    usable: bool


def read_request(data: bytes) -> ReceivedRequest:
    """Return the request for a chat completion in *data*, the body of an HTTP request. Raises
    NotUnderstood, with the reason, if there is none.
    """
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
        role: tuple(_read_content_text(m.get("content")) for m in messages if m.get("role") == role)
        for role in ("user", "tool", "system")
    }
    schema, only = (
        get_nested_value(body, "response_format", "json_schema", "schema"),
        get_nested_value(body, "provider", "only"),
    )
    limits = [body[name] for name in LIMITS if isinstance(body.get(name), int)]
    content = {name: value for name, value in body.items() if name not in LIMITS}
    try:
        asked_hash = hash_content(content)
    except (TypeError, ValueError, RecursionError):
        raise NotUnderstood("the body holds what JSON has no word for") from None
    return ReceivedRequest(
        hash=asked_hash,
        model=body["model"],
        heard=said["tool"] or said["user"],
        prompt=said["user"][0] if said["user"] else "",
        tool=_read_tool(get_nested_value(body, "tools", 0, "function")),
        schema=schema if isinstance(schema, dict) else None,
        provider=str(only[0]) if isinstance(only, list) and only else None,
        limit=limits[0] if limits and limits[0] > 0 else None,
        thinks=(get_nested_value(body, "reasoning", "effort") or body.get("reasoning_effort"))
        not in (None, "none"),
        tokens=_count_tokens(len(data)),
        system="\n".join(said["system"]),
        turns=sum(part.get("role") != "system" for part in messages),
    )


def make_completion(
    asked: ReceivedRequest, reply: PlayedReply, number: int, price: Price, provider: str
) -> SimulatedCompletion:
    """Return the chat completion that answers *asked*, the *number*-th request of all, with
    *reply*, cut off if it is longer than the request's token limit, and with its cost at *price*.
    """
    spent = _count_tokens(len(reply.thoughts))
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
    written = _count_tokens(len(words)) + spent
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
    return SimulatedCompletion(body, cost, reply.usable and not cut)


def make_error_body(code: int, message: str) -> dict[str, Any]:
    """Return the JSON body of an error as OpenRouter words it."""
    return {"error": {"code": code, "message": message}}


def _count_tokens(characters: int) -> int:
    """Return the number of tokens of a text with that many *characters*: four to a token, rounded
    up.
    """
    return -(-characters // CHARACTERS_A_TOKEN)


def _read_content_text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(str(part.get("text", "")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _read_tool(function: Any) -> tuple[str, str] | None:
    """Return the name and the first argument of *function*, the tool that a request offers; None if
    it has no name or no argument.
    """
    name, arguments = (
        get_nested_value(function, "name"),
        get_nested_value(function, "parameters", "properties"),
    )
    return (
        (str(name), str(next(iter(arguments))))
        if name and isinstance(arguments, dict) and arguments
        else None
    )
