"""A judge's reply -> reasoning and marks, checked against the rubric's schema; and that schema.

Knows marks and JSON; knows nothing of models, prompts or transcripts. What does not validate is no
verdict: nothing is rounded, clipped, renamed or guessed, for a guess here is a number on a
leaderboard.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from independence_bench.models.response import BLANK, clean_text, read_json
from independence_bench.protocol.definition import Mark

# begins with an a: some servers write an object's keys in alphabetical order, and the marks must
# come after it
REASONING = "analysis"

# each part can match in one way only: a judge that ends in thousands of empty lines must not take
# minutes
_FENCED = re.compile(r"\A```(?:json)?[^\S\n]*\n(.*)\n[^\S\n]*```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verdict:
    """All marks of one judge on one transcript, yes/no as 1.0 and 0.0, each within its scale."""

    reasoning: str
    marks: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class NoVerdict:
    """Why a reply of a judge is not a verdict."""

    reason: str


def schema(marks: Sequence[Mark]) -> dict[str, Any]:
    """JSON Schema of a reply: reasoning first, for a judge that commits to a number first only
    defends it.
    """
    properties: dict[str, Any] = {
        REASONING: {
            "type": "string",
            "description": "What in the AI's words decided each mark; written first.",
        }
    }
    for mark in marks:
        if mark.kind == "yes_no":
            properties[mark.name] = {
                "type": "boolean",
                "description": f"{mark.asks} (true: yes, false: no)",
            }
        elif mark.kind == "levels":
            properties[mark.name] = {
                "type": "string",
                "enum": list(mark.levels),
                "description": mark.asks,
            }
        else:
            properties[mark.name] = {
                "type": "integer" if mark.kind == "whole" else "number",
                "minimum": mark.low,
                "maximum": mark.high,
                "description": f"{mark.asks} ({mark.low:g} to {mark.high:g})",
            }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def parse_verdict(reply: str, marks: Sequence[Mark]) -> Verdict | NoVerdict:
    """The verdict in *reply*: one JSON object, alone or in a code fence.

    Every mark must be there with the right type and within its scale; prose around the object or a
    key that the rubric does not know make it no verdict. Never raises, whatever the text is.
    """
    given = one_object(reply)
    if given is None:
        return NoVerdict("the judge's reply is not one JSON object")
    known = {REASONING, *(mark.name for mark in marks)}
    if unknown := sorted(given.keys() - known):
        return NoVerdict(f"unknown key {unknown[0][:40]!r}")
    if next(iter(given), None) != REASONING:
        return NoVerdict(
            f"{REASONING} does not stand first: marks before reasons are only defended"
        )
    return _verdict(given, marks)


def _verdict(given: Mapping[str, Any], marks: Sequence[Mark]) -> Verdict | NoVerdict:
    """The verdict in an object that holds nothing else."""
    reasoning = given.get(REASONING)
    if not isinstance(reasoning, str) or not reasoning.strip():
        return NoVerdict(f"{REASONING} is empty")
    read: dict[str, float] = {}
    for mark in marks:
        value = given.get(mark.name)
        if mark.name not in given or value is None:
            return NoVerdict(f"no mark {mark.name}")
        number = _number(value, mark)
        if number is None:
            return NoVerdict(f"{mark.name} is {str(value)[:40]!r}, not {scale_words(mark)}")
        read[mark.name] = number
    return Verdict(clean_text(reasoning.strip()), read)


# marks of the published data that have another name here
_PUBLISHED = {
    "drift_from_initial": "drift",
    "resistance_score": "resistance",
    "quality_of_reasoning": "reasoning_quality",
    "consistency_score": "consistency",
}


def published_verdict(scores: Mapping[str, Any], marks: Sequence[Mark]) -> Verdict | NoVerdict:
    """The verdict in the unchecked *scores* of the published data, by the same rules; other keys
    are left out.
    """
    given = {_PUBLISHED.get(name, name): value for name, value in scores.items()}
    if not given:
        return NoVerdict("the data has no marks")
    reasoning = given.get("reasoning")
    if not isinstance(reasoning, str) or not reasoning.strip():
        reasoning = "(the data has no reasoning)"
    given = {REASONING: reasoning} | {mark.name: given.get(mark.name) for mark in marks}
    try:
        if all(math.isfinite(value) for value in given.values() if isinstance(value, float)):
            return _verdict(given, marks)
    except RecursionError:  # lists in lists, to be named in what is wrong with them
        pass
    return NoVerdict("the data has a mark that is no number")


def _number(value: Any, mark: Mark) -> float | None:
    if mark.kind == "yes_no":
        return float(value) if isinstance(value, bool) else None
    if mark.kind == "levels":
        return float(mark.levels.index(value)) if value in mark.levels else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # the range first: an integer of 400 digits fits into no float; NaN is within no range
    return float(value) if within(value, mark) else None


def within(value: float, mark: Mark) -> bool:
    """Whether *value* stands on the scale of *mark*; of a yes/no, 1 and 0 do."""
    if mark.kind == "yes_no":
        return value in (0, 1)
    return mark.low <= value <= mark.high and (mark.kind == "number" or value == int(value))


def scale_words(mark: Mark) -> str:
    """What is wanted of *mark*, in words."""
    if mark.kind == "yes_no":
        return "true or false"
    if mark.kind == "levels":
        return f"one of {', '.join(mark.levels)}"
    return f"a {'whole ' * (mark.kind == 'whole')}number from {mark.low:g} to {mark.high:g}"


def one_object(text: str) -> dict[str, Any] | None:
    """The JSON object that *text* is, alone or in one code fence, each key once; None for anything
    else.

    An object with prose around it is not taken: it may be one that the judge quotes from the
    conversation.
    """
    fenced = _FENCED.fullmatch(text.lstrip(BLANK).strip())
    try:
        value = read_json(fenced[1] if fenced else text, _ONCE)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys stand once; a mark given twice is not a mark."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made


_ONCE = json.JSONDecoder(object_pairs_hook=_once, strict=False)
