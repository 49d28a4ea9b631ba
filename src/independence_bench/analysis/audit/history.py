"""What had been said before, by the history in a stored request. Pure; a foreign request may hold anything."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic_core import from_json

from independence_bench.models.response import read_json


def model_lines(request: str) -> tuple[tuple[str, ...], str]:
    """(what the model had said by the history in *request*, what the human said last); ((), "") where it is none."""
    said: list[str] = []
    last = ""
    for message in _objects(read_object(request).get("messages")):
        if message.get("role") == "assistant":
            called = [call.get("function") for call in _objects(message.get("tool_calls"))]
            spoken = [text for one in _objects(called) for text in _spoken(str(one.get("arguments")))]
            said += spoken if called else [str(message.get("content") or "")]
        elif message.get("role") != "system":
            last = str(message.get("content") or "")
    return tuple(said), last


@lru_cache(maxsize=1024)  # the history of a request is that of the next one, too
def _spoken(arguments: str) -> tuple[str, ...]:
    """The texts that a call of a tool says."""
    return tuple(value for value in read_object(arguments).values() if isinstance(value, str))


def _objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; a foreign request may have something else there."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def read_object(text: str) -> dict[str, Any]:
    """The JSON object in *text*; {} where it is none."""
    try:
        # a third faster than `json`, and what it reads it reads alike; it refuses more
        value = from_json(text, cache_strings="none")
    except (ValueError, TypeError):
        try:
            value = read_json(text)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}
