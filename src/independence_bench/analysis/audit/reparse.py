"""Raw bodies read again: the words and marks in replies by today's rules, and the history in requests.

Knows two forms: an endpoint's completion and a file of the published layout. A foreign body may hold anything. Pure;
knows no store and decides nothing.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from functools import lru_cache
from typing import Any

from pydantic_core import from_json

from independence_bench.judging.output import NoVerdict, Verdict, parse_verdict, published_verdict
from independence_bench.models.messages import Completion
from independence_bench.models.response import clean_text, read_completion, read_json
from independence_bench.protocol.definition import Delivery, Scenario, ToolWording
from independence_bench.protocol.delivery import Said, is_words, said
from independence_bench.protocol.scoring import Marks

Words = tuple[str, str]  # what the human hears, and the notes


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


def words_in(raw: str, status: int | None, delivery: Delivery, wording: ToolWording) -> Words | str:
    """The answer in the raw body of a reply, or in a few words why it holds none."""
    file = read_object(raw)
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


# a mark as JSON writes it, up to what may follow it there
_MARK = re.compile(r'"(\w{1,80})"[ \t]*:[ \t]*(-?[0-9]{1,9}(?:\.[0-9]{1,9})?|true|false)(?=\s*[,}])', re.ASCII)


def marks_in(raw: str, scenario: Scenario) -> Marks:
    """The marks that stand in a judge's reply which is no JSON, as with an unescaped quote; {} where one is not clear.

    Evidence for marks that count, and no way to a mark: a key that has two values may be one that is quoted.
    """
    completion = read_completion(raw.encode("utf-8", "replace"), 200, None) if "choices" in read_object(raw) else raw
    text = completion.content if isinstance(completion, Completion) else raw
    given: dict[str, set[str]] = defaultdict(set)
    for name, value in _MARK.findall(text):
        given[name].add(value)
    clear = {name: json.loads(values.pop()) for name, values in given.items() if len(values) == 1}
    read = published_verdict(clear, scenario.marks)
    return {} if isinstance(read, NoVerdict) else read.marks


def verdict_in(raw: str, status: int | None, scenario: Scenario) -> Verdict | NoVerdict:
    """The verdict in the raw body of a judgement: an endpoint's completion, or the bare words of a published judge."""
    body = read_object(raw)
    if "choices" in body:
        completion = read_completion(raw.encode("utf-8", "replace"), status or 200, None)
        if not isinstance(completion, Completion):
            return NoVerdict(completion.message)
        return parse_verdict(completion.content, scenario.marks)
    scores = body or read_object(raw[raw.find("{") : raw.rfind("}") + 1])
    if not scores:
        return NoVerdict("not one JSON object")
    return published_verdict(scores, scenario.marks)


# ---------------------------------------------------------------- histories in requests


def model_lines(request: str) -> tuple[tuple[str, ...], str]:
    """(the model's texts in the history in *request*, the human's last one); ((), "") where it is none."""
    texts: list[str] = []
    last = ""
    for message in _objects(read_object(request).get("messages")):
        if message.get("role") == "assistant":
            called = [call.get("function") for call in _objects(message.get("tool_calls"))]
            spoken = [text for call in _objects(called) for text in _spoken(str(call.get("arguments")))]
            texts += spoken if called else [str(message.get("content") or "")]
        elif message.get("role") != "system":
            last = str(message.get("content") or "")
    return tuple(texts), last


@lru_cache(maxsize=1024)  # the history of a request is that of the next one, too
def _spoken(arguments: str) -> tuple[str, ...]:
    return tuple(value for value in read_object(arguments).values() if isinstance(value, str))


def _objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; a foreign request may have something else there."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
