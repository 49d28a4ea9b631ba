"""What a model is asked about a character's description, and its answer: items, each with the words that state it.

    messages_of(card)               # what it is asked
    items_of(reply, texts)          # the items whose quotes stand in the description; None: no such answer

Asks no model; the call is `engine.ask_judges`'.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from independence_bench.hashing import content_hash, text_hash
from independence_bench.judging.output import one_object
from independence_bench.models.messages import Message
from independence_bench.personas.sentences import Kind, Statement

KINDS: tuple[str, ...] = get_args(Kind)
LONGEST_CARD = 60_000  # characters that a writer is shown
WRITTEN_TOKENS = 6_000  # at most, of an answer
INSTRUCTIONS = Path(__file__).with_name("writer.md").read_text(encoding="utf-8").strip()
_LONGEST: Mapping[str, int] = {"quote": 2_000, "kind": 20, "topic": 120, "says": 600}  # characters
_TEXT = {"type": "string"}
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "quote": _TEXT,
                        "kind": {"type": "string", "enum": KINDS},
                        "topic": _TEXT,
                        "says": _TEXT,
                    },
                    "required": list(_LONGEST),
                    "additionalProperties": False,
                },
            }
        },
        "required": ["items"],
        "additionalProperties": False,
    }
)
WRITING = content_hash([INSTRUCTIONS, SCHEMA])  # takes the place of the rubric's hash in the judgement that it is


def card_text(texts: Mapping[str, str]) -> str:
    """*texts*, by field, as one text."""
    return "\n\n".join(f"[{field}]\n{text}" for field, text in texts.items() if text)[:LONGEST_CARD]


def messages_of(card: str) -> tuple[Message, ...]:
    """What a model is asked about *card*."""
    mark = f"=== {text_hash(card)[:12]}"
    form = '{"items": [{"quote": ..., "kind": ..., "topic": ..., "says": ...}, ...]}'
    asked = f"{mark} description\n{card}\n{mark} end\n\nAnswer with one JSON object and nothing else: {form}"
    return Message("system", INSTRUCTIONS), Message("user", asked)


def items_of(reply: str, texts: Mapping[str, str]) -> tuple[tuple[Statement, ...], int] | None:
    """(the items of *reply* that *texts* bear out, how many were thrown away); None: it is no such answer."""
    given = one_object(reply)
    if given is None or given.keys() != {"items"} or not isinstance(given["items"], list):
        return None
    there = {field: " ".join(text.split()) for field, text in texts.items()}
    items: dict[tuple[str, str], Statement] = {}
    for raw in given["items"]:
        if (
            not isinstance(raw, dict)
            or raw.keys() != _LONGEST.keys()
            or not all(isinstance(v, str) for v in raw.values())
        ):
            continue
        item = {key: " ".join(value.split()) for key, value in raw.items()}
        where = next((field for field, text in there.items() if item["quote"] in text), None)
        fits = all(0 < len(item[key]) <= most for key, most in _LONGEST.items()) and "{{" not in "".join(item.values())
        if where and fits and item["kind"] in KINDS:
            found = Statement(item["kind"], item["topic"], item["says"], where, True, item["quote"])  # type: ignore[arg-type]
            items.setdefault((found.kind, found.says.casefold()), found)
    return tuple(items.values()), len(given["items"]) - len(items)


def joined(written: Sequence[Statement], read: Sequence[Statement]) -> tuple[Statement, ...]:
    """What a model has *written*, then what was *read* by rule and is in none of its quotes: not sure."""
    quoted = "\n".join(one.quote.casefold() for one in written)
    left = [
        one
        for one in read
        if one.says.casefold() not in quoted and not any(w.quote.casefold() in one.says.casefold() for w in written)
    ]
    return (*written, *(replace(one, sure=False) for one in left))
