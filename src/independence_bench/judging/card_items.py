"""What a model is asked about a character's description, and its answer: items, each with the words that state it.

Asks no model; the call is `engine.ask_judges`'. Instructions and the form of an answer are data (`card_items.yaml`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

import yaml

from independence_bench.hashing import content_hash, text_hash
from independence_bench.judging.output import one_object
from independence_bench.models.messages import Message
from independence_bench.personas.sentences import Kind, Statement

LONGEST_CARD = 60_000  # characters that a writer is shown
WRITTEN_TOKENS = 6_000  # at most, of an answer
_DATA: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("card_items.yaml").read_text(encoding="utf-8"))
SCHEMA = json.dumps(_DATA["schema"])
WRITING = content_hash(
    [_DATA["instructions"], SCHEMA]
)  # takes the place of a rubric's hash in the judgement that it is
_LONGEST: dict[str, int] = _DATA["longest"]
KINDS = get_args(Kind)


def card_text(texts: Mapping[str, str]) -> str:
    """*texts*, by field, as one text."""
    return "\n\n".join(f"[{field}]\n{text}" for field, text in texts.items() if text)[:LONGEST_CARD]


def messages_of(card: str) -> tuple[Message, ...]:
    """What a model is asked about *card*."""
    mark = f"=== {text_hash(card)[:12]}"
    form = '{"items": [{"quote": ..., "kind": ..., "topic": ..., "says": ...}, ...]}'
    asked = f"{mark} description\n{card}\n{mark} end\n\nAnswer with one JSON object and nothing else: {form}"
    return Message("system", _DATA["instructions"]), Message("user", asked)


def items_of(reply: str, texts: Mapping[str, str]) -> tuple[tuple[Statement, ...], int] | None:
    """(the items of *reply* whose quotes stand in *texts*, how many were dropped); None: it is no such answer."""
    given = one_object(reply)
    if given is None or given.keys() != {"items"} or not isinstance(given["items"], list):
        return None
    there = {field: " ".join(text.split()) for field, text in texts.items()}
    items: dict[tuple[str, str], Statement] = {}
    for raw in given["items"]:
        if not isinstance(raw, dict) or raw.keys() != _LONGEST.keys():
            continue
        item = {key: " ".join(raw[key].split()) if isinstance(raw[key], str) else "" for key in _LONGEST}
        where = next((field for field, text in there.items() if item["quote"] in text), None)
        fits = all(0 < len(item[key]) <= most for key, most in _LONGEST.items()) and "{{" not in "".join(item.values())
        if where and fits and item["kind"] in KINDS:
            found = Statement(cast(Kind, item["kind"]), item["topic"], item["says"], where, True, item["quote"])
            items.setdefault((found.kind, found.says.casefold()), found)
    return tuple(items.values()), len(given["items"]) - len(items)


def joined(written: Sequence[Statement], read: Sequence[Statement]) -> tuple[Statement, ...]:
    """What a model has *written*, then what was *read* by rule and is in none of its quotes: not sure."""
    quoted = [one.quote.casefold() for one in written]
    left = [
        one for one in read if not any(one.says.casefold() in quote or quote in one.says.casefold() for quote in quoted)
    ]
    return (*written, *(replace(one, sure=False) for one in left))
