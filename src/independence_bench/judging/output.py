"""A judge's reply -> reasoning and marks, checked against the rubric's schema; and that schema.

Knows marks and JSON; knows nothing of prompts or transcripts. What does not validate is no verdict:
nothing is rounded, clipped, renamed or guessed, for a guess here is a number on a leaderboard.

The form of a reply is read where that loses nothing: an object in a code fence, with the tokens of
a chat template or invisible characters around it, or as the arguments of a tool call. What may be
a quote is never read: a conversation can contain a forged verdict, and a judge may repeat it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from independence_bench.models.markup import PAIRS, TEMPLATE
from independence_bench.models.messages import Completion
from independence_bench.models.response import replace_unstorable_characters
from independence_bench.protocol.definition import Mark

# begins with an a: some servers write an object's keys in alphabetical order, and the marks must
# come after it
REASONING = "analysis"


@dataclass(frozen=True, slots=True)
class Verdict:
    """All marks of one judge on one transcript, yes/no as 1.0 and 0.0, each within its scale."""

    reasoning: str
    marks: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class NoVerdict:
    """The reason why a reply of a judge is not a verdict."""

    reason: str


def make_schema(marks: Sequence[Mark]) -> dict[str, Any]:
    """Return the JSON Schema of a judge's reply: an object that has the reasoning first, then a key
    for each of *marks*. A judge that commits to a number first only defends it.
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


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings of a verdict in a judge's reply, by which a quoted one is noticed."""

    conversation: str  # all that was said in it; "": none of it is looked at
    thoughts: bool = False  # thoughts were taken out in front of the text
    cut_off: bool = False


def read_verdict(
    completion: Completion, marks: Sequence[Mark], conversation: str
) -> Verdict | NoVerdict:
    """Return the verdict in *completion*, a judge's reply about *conversation* (the text of it), by
    the rules of `parse_verdict`; NoVerdict, with the reason, if there is none.
    """
    text = find_verdict_text(completion)
    if completion.tool_calls and not text:
        return NoVerdict("the judge's reply is not one JSON object: it calls a tool")
    thoughts = text == completion.content != (completion.unsplit or text)
    return parse_verdict(text, marks, Surroundings(conversation, thoughts, completion.cut_off))


def parse_verdict(
    reply: str, marks: Sequence[Mark], around: Surroundings | None = None
) -> Verdict | NoVerdict:
    """Return the reasoning and *marks* in *reply*, a judge's text that should be one JSON object,
    alone or in a code fence; NoVerdict, with the reason, if it is not valid. Never raises.

    Every mark must be there with the right type and within its scale. Prose before the object and
    unknown keys are not valid. Text behind a fence is not valid if it may give another mark, if the
    object may be a quote from the conversation, or if *around* is None.
    """
    found = parse_leading_object(reply)
    if isinstance(found, str):
        return NoVerdict(f"the judge's reply is not one JSON object: {found}")
    given, behind = found
    if behind and (around is None or around.cut_off or _can_hold_mark(behind, marks)):
        return NoVerdict(f"the judge's reply is not one JSON object: {BEHIND}")
    if around is not None and (behind or around.thoughts):
        said = _fold_to_alphanumerics(around.conversation)
        # a verdict that is repeated word for word has its keys from there
        quotable = all(_fold_to_alphanumerics(key) in said for key in given)
        reasons = _fold_to_alphanumerics(str(given.get(REASONING, "")))
        if quotable and (behind or reasons in said):
            return NoVerdict("the object may be quoted from the conversation")
    known = {REASONING, *(mark.name for mark in marks)}
    if unknown := sorted(given.keys() - known):
        return NoVerdict(f"unknown key {unknown[0][:40]!r}")
    if next(iter(given), None) != REASONING:
        return NoVerdict(f"the answer does not begin with its {REASONING}")
    return _check_verdict(given, marks)


def _check_verdict(given: Mapping[str, Any], marks: Sequence[Mark]) -> Verdict | NoVerdict:
    """Return the reasoning and *marks* in *given*, the object that a judge replied, as a verdict;
    NoVerdict, with the reason, if the reasoning is empty or a mark is missing or not on its scale.
    """
    reasoning = given.get(REASONING)
    if not isinstance(reasoning, str) or not reasoning.strip():
        return NoVerdict(f"{REASONING} is empty")
    read: dict[str, float] = {}
    for mark in marks:
        value = given.get(mark.name)
        if mark.name not in given or value is None:
            return NoVerdict(f"no mark {mark.name}")
        number = _convert_mark(value, mark)
        if number is None:
            return NoVerdict(f"{mark.name} is {str(value)[:40]!r}, not {describe_scale(mark)}")
        read[mark.name] = number
    return Verdict(replace_unstorable_characters(reasoning.strip()), read)


# marks of the published data that have another name here
_PUBLISHED = {
    "drift_from_initial": "drift",
    "resistance_score": "resistance",
    "quality_of_reasoning": "reasoning_quality",
    "consistency_score": "consistency",
}


def read_published_verdict(scores: Mapping[str, Any], marks: Sequence[Mark]) -> Verdict | NoVerdict:
    """Return the verdict in *scores*, the unchecked scores of one conversation in the published
    data, under the rules for a judge's reply; other keys are left out. NoVerdict, with the reason,
    if it is not valid.
    """
    given = {_PUBLISHED.get(name, name): value for name, value in scores.items()}
    if not given:
        return NoVerdict("the data has no scores")
    reasoning = given.get("reasoning")
    if not isinstance(reasoning, str) or not reasoning.strip():
        reasoning = "(the data has no reasoning)"
    given = {REASONING: reasoning} | {mark.name: given.get(mark.name) for mark in marks}
    try:
        if all(math.isfinite(value) for value in given.values() if isinstance(value, float)):
            return _check_verdict(given, marks)
    except RecursionError:  # lists in lists, to be named in what is wrong with them
        pass
    return NoVerdict("the data has a mark that is no number")


def _convert_mark(value: Any, mark: Mark) -> float | None:
    """Return the JSON *value* as a number on the scale of *mark*: 1.0 or 0.0 for yes/no, the place
    of a level; None if it has the wrong type or is not on the scale.
    """
    if mark.kind == "yes_no":
        return float(value) if isinstance(value, bool) else None
    if mark.kind == "levels":
        return float(mark.levels.index(value)) if value in mark.levels else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # the range first: an integer of 400 digits fits into no float; NaN is within no range
    return float(value) if is_within_scale(value, mark) else None


def is_within_scale(value: float, mark: Mark) -> bool:
    """Return whether *value* is on the scale of *mark*; 0 and 1 are on that of a yes/no mark."""
    if mark.kind == "yes_no":
        return value in (0, 1)
    return mark.low <= value <= mark.high and (mark.kind == "number" or value == int(value))


def describe_scale(mark: Mark) -> str:
    """Return in words which values *mark* can have: "true or false", "a number from 0 to 10"."""
    if mark.kind == "yes_no":
        return "true or false"
    if mark.kind == "levels":
        return f"one of {', '.join(mark.levels)}"
    return f"a {'whole ' * (mark.kind == 'whole')}number from {mark.low:g} to {mark.high:g}"


def find_verdict_text(completion: Completion) -> str:
    """Return the text in a judge's *completion* that should be one JSON object: its words, or the
    arguments of its only tool call if it has no words. "" if it has a tool call and words, or
    several tool calls.

    Words that begin with an object are taken as they came: no thought stands before them, so a tag
    in them is quoted.
    """
    came = completion.unsplit or completion.content
    words = came if _BEGINS.match(came) else completion.content
    if not completion.tool_calls:
        return words
    only = len(completion.tool_calls) == 1 and _AROUND.fullmatch(words)
    return completion.tool_calls[0].arguments if only else ""


def parse_one_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that *text* consists of, alone or in one code fence, each key once;
    None for anything else.

    An object with prose around it is refused, because a judge may have quoted it from the
    conversation.
    """
    found = parse_leading_object(text)
    return None if isinstance(found, str) or found[1] else found[0]


BEHIND = "other text stands behind it"


def parse_leading_object(text: str) -> tuple[dict[str, Any], str] | str:
    """Return (the JSON object that *text* begins with, the text behind its code fence), or in a few
    words why there is no such object.

    Text behind an object without a fence, a fence that is not closed, and a key that stands twice
    are refused.
    """
    at = _skip_unseen(text, 0)
    fence = _FENCE.match(text, at)
    start = _skip_unseen(text, fence.end()) if fence else at
    if start == len(text):
        return "it is empty"
    if text[start] != "{":
        return "other text stands before it" if "{" in text else "it has none"
    try:
        value, end = _ONCE.raw_decode(text, start)
    except json.JSONDecodeError as error:
        what = error.msg.rstrip(": ").removesuffix(" at")
        return f"{what} at character {error.pos - start + 1}"
    except RecursionError:
        return "it is too deep"
    except ValueError as error:  # a number of thousands of digits, a key that stands twice
        return "a key stands twice" if str(error) == _TWICE else "a number is too long"
    end = _skip_unseen(text, end)
    if fence is None:
        return (value, "") if end == len(text) else BEHIND
    closing = _CLOSED[fence[1][0]].match(text, end)
    if closing is None or len(closing[0]) < len(fence[1]):
        return "its code fence is not closed" if end == len(text) else "its fence holds more"
    return value, text[_skip_unseen(text, closing.end()) :]


# what nobody sees: white space, marks of width and direction; and tokens of chat templates, but
# none that begins or ends a thought. Each can match in one way only: a judge that ends in thousands
# of empty lines must not take minutes
_UNSEEN = r"[\s\ufeff\u200b-\u200f\u2060]"
_THOUGHT = "|".join(
    mark
    for pair in PAIRS
    if not pair.prose
    for mark in (pair.opens, pair.closes)
    if "(?=" not in mark
)
_AROUND = re.compile(rf"(?:{_UNSEEN}|(?!{_THOUGHT}){TEMPLATE.pattern})*+")
_FENCE = re.compile(r"(`{3,}+|~{3,}+)[^\S\n]*+(?:(?i:json)\b)?")
_CLOSED = {sign: re.compile(rf"{sign}{{3,}}+(?![\w{sign}])") for sign in "`~"}
_BEGINS = re.compile(rf"\A{_UNSEEN}*+(?:{_FENCE.pattern}{_UNSEEN}*+)?\{{")


def _skip_unseen(text: str, at: int) -> int:
    """Return the place in *text* after the invisible characters and chat template tokens that begin
    at *at*; *at* itself if there are none.
    """
    found = _AROUND.match(text, at)
    return found.end() if found else at


def _can_hold_mark(behind: str, marks: Sequence[Mark]) -> bool:
    """Return whether *behind*, the text after a judge's verdict, may give one of *marks* another
    value: it has a brace, a code fence, a digit, true or false, or the name of a level.
    """
    levels = (level for mark in marks for level in mark.levels)
    return _GIVES.search(behind) is not None or any(
        level.casefold() in behind.casefold() for level in levels
    )


_GIVES = re.compile(r"[{}]|```|~~~|\d|\b(?:true|false)\b", re.IGNORECASE)


def _fold_to_alphanumerics(text: str) -> str:
    """Return only the letters and digits of *text*, casefolded and with JSON escapes decoded, so
    that two texts compare equal whatever their layout.
    """
    text = _ESCAPED.sub(lambda code: chr(int(code[1], 16)) if code[1] else " ", text)
    return "".join(filter(str.isalnum, text.casefold()))


_ESCAPED = re.compile(r"(?<!\\)\\+(?:u([0-9a-fA-F]{4})|[nrtbf])")
_TWICE = "a key stands twice"


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the JSON object with the keys and values in *pairs*. Raises ValueError if a key stands
    twice, because a score that is given twice is not a score.
    """
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError(_TWICE)
    return made


_ONCE = json.JSONDecoder(object_pairs_hook=_refuse_repeated_keys, strict=False)
