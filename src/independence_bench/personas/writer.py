"""What a model is told that writes the person's lines for a character, and which of its lines are
taken.

    task = make_writing_task(sheet, key, places, refused)
        # to be asked; its answer: a JSON object, place -> line
    find_refusals(sheet, key, lines)  # place -> why the rule refuses that line
    make_checking_task(lines)  # to be asked of the same model: a reason or a fact in a line?
    find_quotations(answer, lines)  # place -> the words that it quotes

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

from independence_bench.hashing import hash_content
from independence_bench.personas.lines import (
    BARE,
    NAME,
    PUSH,
    StemKey,
    choose_other_name,
    choose_person_voice,
    choose_template_language,
    detect_language,
    has_templates,
    load_templates,
)
from independence_bench.personas.sheet import Sheet
from independence_bench.yaml_io import load_shipped_yaml

LONGEST = 400  # characters of a line
SHOWN = 20_000  # characters of a prompt that the writer reads
CHECKED = (PUSH, "reask", "renaming")  # places that may hold no reason and no fact


@dataclass(frozen=True, slots=True)
class WriterTask:
    """One task for a model that writes, and the keys of the JSON object that answers it."""

    system: str
    user: str
    places: tuple[str, ...]

    @property
    def schema(self) -> str:
        """The JSON Schema, as text, of the answer: an object with one text for each place."""
        line = {"type": "string"}
        places = dict.fromkeys(self.places, line)
        return json.dumps(
            {
                "type": "object",
                "properties": places,
                "required": list(places),
                "additionalProperties": False,
            }
        )


@cache
def load_writer_texts() -> dict[str, Any]:
    """Return the content of `writer.yaml`: the texts that a model is sent that writes the person's
    lines.
    """
    content: dict[str, Any] = load_shipped_yaml(
        Path(__file__).with_name("writer.yaml").read_text(encoding="utf-8")
    )
    return content


def hash_writer_texts() -> str:
    """Return 12 hexadecimal digits of a hash of the texts that a writing model is sent, which tell
    two versions of them apart.
    """
    return hash_content(load_writer_texts())[:12]


def list_places_to_write(sheet: Sheet, key: StemKey) -> tuple[str, ...]:
    """Return the places of the person's lines under *key* that a model is to write: all but an
    opening for which *sheet* has a question of its own.
    """
    asked = {item.key for item in sheet.items if item.ask is not None}
    return tuple(place for place in sheet.lines[key] if place != "opening" or key not in asked)


def make_writing_task(
    sheet: Sheet, key: StemKey, places: Iterable[str], refused: Mapping[str, tuple[str, str]]
) -> WriterTask:
    """Return the task for a model to write the person's lines under *key* of *sheet* at *places*.
    *refused*: place -> (an earlier line there, why it was refused).
    """
    language, wanted = choose_template_language(sheet.language), tuple(places)
    unnamed = (
        f"the language with the code {sheet.language}"
        if sheet.language
        else "the language of the system prompt"
    )
    words = {
        "language": load_templates(language)["name"] if has_templates(sheet.language) else unnamed,
        "who": choose_person_voice(
            "en", sheet.people, *((key[0], sheet.name) if key == NAME else key)
        )["who"],
        "name": sheet.name,
        "other": choose_other_name(language, sheet.people, sheet.name),
    }
    sections = {"about": load_writer_texts()["sections"][key[0]]}
    sections["places"] = "\n".join(
        f"- {place}: {load_writer_texts()['places'][place]}" for place in wanted
    )
    words |= {name: _fill_words(text, words) for name, text in sections.items()}
    item = next((item for item in sheet.items if item.key == key), None)
    words |= {
        "fence": f"[{hash_content([sheet.prompt, *key])[:16]}]",
        "voice": sheet.voice or "as its prompt has it",
        "prompt": sheet.prompt[:SHOWN],
        "item": f"{item.topic}: {item.says}\n{item.ask or ''}".strip() if item else "",
        "refused": "\n".join(f"- {place}: “{line}” {why}" for place, (line, why) in refused.items())
        or "nothing yet",
    }
    return WriterTask(
        _fill_words(load_writer_texts()["write"], words),
        _fill_words(load_writer_texts()["task"], words),
        wanted,
    )


def _fill_words(text: str, words: Mapping[str, str]) -> str:
    """Return *text* with each of its fields ``{name}`` replaced by the text of that name in
    *words*, in one pass.
    """
    return re.sub(r"\{([a-z]+)\}", lambda found: words[found[1]], text)


def make_checking_task(lines: Mapping[str, str]) -> WriterTask | None:
    """Return the task for a model to find reasons and facts in those of *lines* (place -> line)
    that may have none; None if there are no such lines.
    """
    looked_at = {place: line for place, line in lines.items() if place.startswith(CHECKED)}
    if not looked_at:
        return None
    return WriterTask(
        load_writer_texts()["check"],
        json.dumps(looked_at, ensure_ascii=False, indent=1),
        tuple(looked_at),
    )


def find_refusals(sheet: Sheet, key: StemKey, lines: Mapping[str, str]) -> dict[str, str]:
    """Return place -> reason for each of *lines* (place -> line) that fixed rules refuse as
    something that the person says under *key* of *sheet*; {} if all are taken.
    """
    language, faults = choose_template_language(sheet.language), {}
    other = choose_other_name(language, sheet.people, sheet.name)
    says = [item.says.casefold() for item in sheet.items if item.key == key]
    reasons = load_templates(language)["reasons"] if has_templates(sheet.language) else []
    bounds = "" if language == "ja" else r"\b"  # a script without spaces has no bounds of words
    seen: set[str] = set()
    if has_templates(sheet.language) and (now := detect_language(" ".join(lines.values()))) not in (
        "",
        language,
    ):
        return dict.fromkeys(lines, f"is in {load_templates(now)['name']}")
    for place, line in lines.items():
        text = line.casefold()
        reason = next(
            (word for word in reasons if re.search(f"{bounds}{re.escape(word)}{bounds}", text)),
            None,
        )
        needs_other = place == "renaming" or (
            key == NAME and place.startswith(PUSH) and place != PUSH + BARE
        )
        if (
            not line
            or len(line) > LONGEST
            or not line.isprintable()
            or "{{" in line
            or "}}" in line
        ):
            faults[place] = (
                f"is empty, longer than {LONGEST} characters, or holds what cannot be shown"
            )
        elif re.match(rf"{re.escape(sheet.name.casefold())}\s*[::]", text):
            faults[place] = (
                f"begins as if {sheet.name} said it; write what the person types, and no name in "
                "front"
            )
        elif _list_five_word_runs(text) & _list_five_word_runs(
            load_writer_texts()["places"].get(place, "").casefold()
        ):
            faults[place] = "repeats what you were told instead of saying it"
        elif text in seen:
            faults[place] = "says the same as another line"
        elif place.startswith(PUSH) and (reason or re.search(r"\d", line)):
            faults[place] = f"has {reason or 'a number'} in it, which belongs to a reason"
        elif place == "opening" and any(sentence.rstrip(".。") in text for sentence in says):
            faults[place] = "gives the answer away"
        elif needs_other and other.casefold() not in text:
            faults[place] = f"does not have {other} in it"
        seen.add(text)
    return faults


def _list_five_word_runs(text: str) -> set[tuple[str, ...]]:
    """Return every run of five successive words in *text*."""
    words = re.findall(r"\w+", text)
    return {tuple(words[at : at + 5]) for at in range(len(words) - 4)}


def find_quotations(answer: Mapping[str, str], lines: Mapping[str, str]) -> dict[str, str]:
    """Return place -> the words that *answer* quotes from the line at that place; a quotation that
    does not stand in its line is left out.
    """
    return {
        place: words
        for place, given in answer.items()
        if (words := given.strip(" \"'“”„「」.。")) and words.casefold() in lines[place].casefold()
    }
