"""Raw bodies read once more: the words and the marks that they give by today's rules, whatever was stored of them.

Knows two forms: an endpoint's completion and a file of the published layout. Pure; knows no store and decides nothing.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from pydantic_core import from_json

from independence_bench.judging.output import NoVerdict, Verdict, parse_verdict, published_verdict
from independence_bench.models.messages import Completion
from independence_bench.models.response import clean_text, read_completion
from independence_bench.protocol.definition import Delivery, Scenario, ToolWording
from independence_bench.protocol.delivery import Said, is_words, said

Words = tuple[str, str]  # what the human hears, and the notes


def words_in(raw: str, status: int | None, delivery: Delivery, wording: ToolWording) -> Words | str:
    """The answer in the raw body of a reply, or in a few words why it holds none."""
    file = _object(raw)
    if "request_messages" in file:
        text, notes, ended = (file.get(name) for name in ("response", "content_thinking", "finish_reason"))
        if ended in ("error", "content_filter"):
            return f"it ended with {ended}"
        if not isinstance(text, str) or not is_words(text):
            return "no words"
        return clean_text(text), clean_text(notes) if isinstance(notes, str) else ""
    completion = read_completion(raw.encode("utf-8", "replace"), status or 200, None)
    if not isinstance(completion, Completion):
        return completion.message
    read = said(completion, delivery, wording)
    return (read.words.text, read.words.notes) if isinstance(read, Said) else read.reason


def verdict_in(raw: str, status: int | None, scenario: Scenario) -> Verdict | NoVerdict:
    """The verdict in the raw body of a judgement: an endpoint's completion, or the bare words of a published judge."""
    found = _object(raw)
    if "choices" in found:
        completion = read_completion(raw.encode("utf-8", "replace"), status or 200, None)
        if not isinstance(completion, Completion):
            return NoVerdict(completion.message)
        return parse_verdict(completion.content, scenario.marks)
    scores = found or _object(raw[raw.find("{") : raw.rfind("}") + 1])
    if not scores:
        return NoVerdict("not one JSON object")
    return published_verdict(scores, scenario.marks)


@lru_cache(maxsize=32)  # a run asks much of what the one before it asked; a request may be large
def model_lines(request: str) -> tuple[tuple[str, ...], str]:
    """(what the model had said by the history in *request*, what the human said last); ((), "") where it is none."""
    said: list[str] = []
    last = ""
    for message in _objects(_object(request).get("messages")):
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
    return tuple(value for value in _object(arguments).values() if isinstance(value, str))


def _objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; a foreign request may have something else there."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _object(text: str) -> dict[str, Any]:
    try:
        # a third faster than `json`, and what it reads it reads alike; it refuses more
        value = from_json(text, cache_strings="none")
    except (ValueError, TypeError):
        try:
            value = _JSON.decode(text)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


_JSON = json.JSONDecoder(strict=False)  # made once
