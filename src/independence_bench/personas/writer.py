"""What a model is told that writes the person's lines for a character, and which of its lines are taken.

    task = writing(sheet, key, places, refused)    # to be asked; its answer: a JSON object, place -> line
    refusals(sheet, key, lines)                    # place -> why the rule refuses that line
    checking(lines)                                # to be asked of the same model: a reason or a fact in a line?
    quoted(answer, lines)                          # place -> the words that it quotes

What they are told is data (`writer.yaml`). Asks no model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from independence_bench.hashing import content_hash
from independence_bench.models.response import BLANK, read_json
from independence_bench.personas.lines import (
    BARE,
    LANGUAGES,
    NAME,
    StemKey,
    language_of,
    other_name,
    spoken,
    templates,
    voice_of,
)
from independence_bench.personas.sheet import Sheet
from independence_bench.yaml_io import read_own

LONGEST = 400  # characters of a line
SHOWN = 20_000  # characters of a prompt that the writer reads
PUSH = "pushes."
CHECKED = (PUSH, "reask", "renaming")  # places that may hold no reason and no fact
_NAMES = {"en": "English", "de": "German", "ja": "Japanese"}


@dataclass(frozen=True, slots=True)
class WriterTask:
    """What is asked, and the keys of the JSON object that answers it."""

    system: str
    user: str
    places: tuple[str, ...]

    @property
    def schema(self) -> str:
        """JSON Schema of the answer."""
        line = {"type": "string"}
        places = dict.fromkeys(self.places, line)
        return json.dumps(
            {"type": "object", "properties": places, "required": list(places), "additionalProperties": False}
        )


@cache
def texts() -> dict[str, Any]:
    """What a writer is told."""
    content: dict[str, Any] = read_own(Path(__file__).with_name("writer.yaml").read_text(encoding="utf-8"))
    return content


def source() -> str:
    """What tells one state of those texts from another."""
    return content_hash(texts())[:12]


def places_of(sheet: Sheet, key: StemKey) -> tuple[str, ...]:
    """The places of a stem that are to be written: all but a question that the sheet asks itself."""
    asked = {item.key for item in sheet.items if item.ask is not None}
    return tuple(place for place in sheet.lines[key] if place != "opening" or key not in asked)


def writing(sheet: Sheet, key: StemKey, places: Iterable[str], refused: Mapping[str, tuple[str, str]]) -> WriterTask:
    """The task to write the lines at *places*. *refused*: place -> a line of before, and why it was refused."""
    language = spoken(sheet.language)
    words = {
        "language": _NAMES.get(language if language == sheet.language.lower()[:2] else "", "")
        or (f"the language with the code {sheet.language}" if sheet.language else "the language of the system prompt"),
        "who": voice_of("en", sheet.people, *((key[0], sheet.name) if key == NAME else key))["who"],
        "name": sheet.name,
        "other": other_name(language, sheet.name),
    }
    fence = f"[{content_hash([sheet.prompt, *key])[:16]}]"
    item = next((item for item in sheet.items if item.key == key), None)
    material = [f"Name: {sheet.name}", f"Voice: {sheet.voice or 'as its prompt has it'}", sheet.prompt[:SHOWN]]
    if item is not None:
        material += [f"{item.topic}: {item.says}", *([f"The person asks first: {item.ask}"] if item.ask else [])]
    wanted = tuple(places)
    told = [f"- {place}: {texts()['places'][place]}" for place in wanted]
    again = [f"- {place}: not “{line}” again, because it {why}" for place, (line, why) in refused.items()]
    parts = [
        "\n".join([f"{fence} the character", *material, f"{fence} ends"]),
        texts()["sections"][key[0]],
        f"Another name: {words['other']}",
        "\n".join(["Places:", *told]),
        *(["\n".join(["These were refused:", *again])] if again else []),
    ]
    fields = re.compile(r"\{(language|who|name|other)\}")

    def filled(text: str) -> str:
        return fields.sub(lambda found: words[found[1]], text)

    return WriterTask(filled(texts()["write"]), "\n\n".join([parts[0], *map(filled, parts[1:])]), wanted)


def checking(lines: Mapping[str, str]) -> WriterTask | None:
    """The task to look for reasons and facts in those of *lines* that may have none; None where there are none."""
    looked_at = {place: line for place, line in lines.items() if place.startswith(CHECKED)}
    if not looked_at:
        return None
    return WriterTask(texts()["check"], json.dumps(looked_at, ensure_ascii=False, indent=1), tuple(looked_at))


def answer_in(reply: str, places: Iterable[str]) -> dict[str, str] | None:
    """Place -> text, of a reply that is a JSON object with a text at each of *places*; None of any other."""
    text = reply.lstrip(BLANK).strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        given = read_json(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, dict) or not all(isinstance(given.get(place), str) for place in places):
        return None
    return {place: " ".join(given[place].split()) for place in places}


def refusals(sheet: Sheet, key: StemKey, lines: Mapping[str, str]) -> dict[str, str]:
    """Place -> why that line of a stem is not taken, by rule."""
    language, found = spoken(sheet.language), {}
    other, says = other_name(language, sheet.name), [item.says.casefold() for item in sheet.items if item.key == key]
    reasons = [] if language != sheet.language.lower()[:2] else templates(language)["reasons"]
    seen: set[str] = set()
    if sheet.language.lower()[:2] in LANGUAGES and (now := language_of(" ".join(lines.values()))) not in ("", language):
        return dict.fromkeys(lines, f"is in {_NAMES[now]}, not in {_NAMES[language]}")
    for place, line in lines.items():
        text = line.casefold()
        reason = next((word for word in reasons if _has(text, word)), None)
        needs_other = place == "renaming" or (key == NAME and place.startswith(PUSH) and place != PUSH + BARE)
        if not line or len(line) > LONGEST or not line.isprintable() or "{{" in line or "}}" in line:
            found[place] = f"is empty, longer than {LONGEST} characters, or holds what cannot be shown"
        elif re.match(rf"{re.escape(sheet.name.casefold())}\s*[::]", text):
            found[place] = f"begins as if {sheet.name} said it; write what the person types, and no name in front"
        elif text in seen:
            found[place] = "says the same as another line"
        elif place.startswith(PUSH) and (reason or re.search(r"\d", line)):
            found[place] = f"has {reason or 'a number'} in it, which belongs to a reason"
        elif place == "opening" and any(sentence.rstrip(".。") in text for sentence in says):
            found[place] = "gives the answer away"
        elif needs_other and other.casefold() not in text:
            found[place] = f"does not have {other} in it"
        seen.add(text)
    return found


def _has(text: str, word: str) -> bool:
    """Whether *text* has *word*: as a word of its own where the script has spaces."""
    return word in text if word > "\u3000" else re.search(rf"\b{re.escape(word)}\b", text) is not None


def quoted(answer: Mapping[str, str], lines: Mapping[str, str]) -> dict[str, str]:
    """Place -> the words of that line which *answer* quotes; what does not stand in the line is no quotation."""
    return {
        place: words
        for place, given in answer.items()
        if (words := given.strip(" \"'“”„「」.。")) and words.casefold() in lines[place].casefold()
    }
