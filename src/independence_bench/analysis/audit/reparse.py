"""Raw bodies read once more: the words and the marks that they give by today's rules, whatever was stored of them.

Knows two forms: an endpoint's completion and a file of the published layout. Pure; knows no store and decides nothing.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict

from independence_bench.analysis.audit.history import read_object
from independence_bench.judging.output import NoVerdict, Verdict, parse_verdict, published_verdict
from independence_bench.models.messages import Completion
from independence_bench.models.response import clean_text, read_completion
from independence_bench.protocol.definition import Delivery, Scenario, ToolWording
from independence_bench.protocol.delivery import Said, is_words, said
from independence_bench.protocol.scoring import Marks

Words = tuple[str, str]  # what the human hears, and the notes


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

    Evidence that what counts was said, and no way to a mark: a key that has two values may be one that is quoted.
    """
    completion = read_completion(raw.encode("utf-8", "replace"), 200, None) if "choices" in read_object(raw) else raw
    text = completion.content if isinstance(completion, Completion) else raw
    found: dict[str, set[str]] = defaultdict(set)
    for name, value in _MARK.findall(text):
        found[name].add(value)
    said = {name: json.loads(values.pop()) for name, values in found.items() if len(values) == 1}
    read = published_verdict(said, scenario.marks)
    return {} if isinstance(read, NoVerdict) else read.marks


def verdict_in(raw: str, status: int | None, scenario: Scenario) -> Verdict | NoVerdict:
    """The verdict in the raw body of a judgement: an endpoint's completion, or the bare words of a published judge."""
    found = read_object(raw)
    if "choices" in found:
        completion = read_completion(raw.encode("utf-8", "replace"), status or 200, None)
        if not isinstance(completion, Completion):
            return NoVerdict(completion.message)
        return parse_verdict(completion.content, scenario.marks)
    scores = found or read_object(raw[raw.find("{") : raw.rfind("}") + 1])
    if not scores:
        return NoVerdict("not one JSON object")
    return published_verdict(scores, scenario.marks)
