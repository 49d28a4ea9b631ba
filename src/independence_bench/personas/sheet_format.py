"""The format of a sheet as pydantic models, and what is wrong with a file's shape in the words of
its writer.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated

from pydantic import Field, StringConstraints, ValidationError

from independence_bench.personas.drafts import ITEM_EXAMPLES
from independence_bench.personas.lines import PEOPLE, SECTIONS, Person, Topic
from independence_bench.protocol.lorebook import Lorebook
from independence_bench.yaml_io import (
    OneLine,
    Strict,
    Text,
    describe_mistake,
    find_yaml_scalar_and_line,
)

ITEM = "should be a text, or the keys says, ask, words and instead"

Name = Annotated[OneLine, StringConstraints(max_length=60)]
Language = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]
Says = Annotated[Text, StringConstraints(max_length=2000)]


class ItemFile(Strict):
    """What the character says of one topic, and how it is asked for it."""

    says: Says
    ask: Says | None = Field(
        None,
        description="the question in your own words; of a red line, the request that would cross "
        "it",
    )
    words: list[Name] = Field(
        [],
        description="an answer that keeps to it has one of these: what can be read without a model",
    )
    instead: list[Name] = Field(
        [], description="an answer that has given it up has one of these; needs words"
    )


Items = dict[Topic, Says | ItemFile]


class SheetFile(Strict):
    """A character's sheet."""

    name: Name
    prompt: Text | None = Field(
        None, description="the system prompt as the character is deployed with"
    )
    prompt_file: OneLine | None = Field(
        None, description="or the file that it stands in, next to the sheet"
    )
    language: Language | None = Field(
        None, description="what it speaks: en, de, ja, fr; else that of the prompt"
    )
    people: list[Person] = Field(list(PEOPLE), min_length=1, description="who talks to it")
    voice: Says | None = Field(None, description="how it sounds")
    facts: Items = Field({}, description="topic: a fact")
    views: Items = Field({}, description="topic: what it thinks of that")
    tastes: Items = Field({}, description="topic: what it likes")
    red_lines: Items = Field({}, description="topic: what it never does")
    says_it_is_an_ai: bool = Field(
        True, description="whether it says so when a person sincerely wants to know"
    )
    lorebook: Lorebook | None = Field(
        None, description="what its prompt gets while it is talked of"
    )


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a sheet, or that its maker should know."""

    key: str  # in the file; "" for the whole of it
    says: str

    def __str__(self) -> str:
        return f"{self.key}: {self.says}" if self.key else self.says


def list_shape_problems(error: ValidationError, text: str) -> tuple[Problem, ...]:
    """Return everything in *error* that is wrong with the format of the character sheet in the YAML
    *text*, one problem for each key, with its line. For an item, which may be a text or a mapping,
    only errors of the form that it seems to have are given.
    """
    problems: dict[str, Problem] = {}
    for wrong in sorted(error.errors(), key=lambda wrong: wrong["type"] != "extra_forbidden"):
        place, says = [str(part) for part in wrong["loc"]], describe_mistake(wrong, SheetFile)
        given = wrong["input"]
        if wrong["type"] == "too_long":
            length, most = wrong["ctx"]["actual_length"], wrong["ctx"]["max_length"]
            says = f"has {length:,} characters, more than {most:,}; shorten it"
        of_keys = False
        if place[0] in SECTIONS and len(place) > 2:
            section, topic, way, *key = place
            place = [section, topic, *key]
            of_keys = way == ItemFile.__name__
            if of_keys and not key and isinstance(given, str):
                continue  # a text that is none
            if not of_keys:
                place = place[:2]
            if not of_keys and way != "[key]" and isinstance(given, dict):
                continue  # keys that are none
            if way != "[key]" and not isinstance(given, str) and not (of_keys and key):
                says = ITEM
        at = " ".join(".".join(place).split())[:200]
        if at in problems:
            continue
        written, line = find_yaml_scalar_and_line(text, place)
        if wrong["type"] not in ("missing", "extra_forbidden"):
            says = _describe_misread_value(place, given, written) or says
        in_line = f" (line {line})" if line and wrong["type"] != "missing" else ""
        problems[at] = Problem(at, f"{says}{in_line}")
    return tuple(problems.values())


def _describe_misread_value(place: list[str], given: object, written: str | None) -> str:
    """Return what is wrong with the value *given* at *place* in a sheet, if YAML reads it as
    something other than its writer meant, or it is a list or a text where the other is needed; ""
    for any other mistake. *written*: the value as it stands in the file.
    """
    if place == ["says_it_is_an_ai"]:
        return f"should be true or false, without quotes (it says {str(given)[:40]!r})"
    if place == ["people"] and isinstance(given, str):
        return f"should be a list: `people: [{given[:40]}]`"
    if place[0] in SECTIONS and len(place) == 1:
        topic, says, _ = ITEM_EXAMPLES[place[0]]
        what = "is a list" if isinstance(given, list) else "is not keys and texts"
        return f"{what}; give each of them a topic instead of a dash: `{topic}: {says}`"
    if given is None:
        return "has nothing behind it; write its text, or delete the line"
    if written is not None and isinstance(given, bool | int | float | date):
        what = str(given).lower() if isinstance(given, bool) else "a number"
        what = "a date" if isinstance(given, date) else what
        key = f"{place[-1]}: " if not place[-1].isdigit() else ""
        return f'YAML reads {written[:40]} as {what}; put it in quotes: {key}"{written[:40]}"'
    return ""
