"""What the person says to a character: hand-written lines in three languages, and the file in which lines are frozen.

    item_lines("en", PEOPLE, "tastes", "the weather", says, ask)    # by the templates in `languages/`
    frozen, problems = read_lines(text)    # NAME.lines.yaml: what it has of which stem
    lines_text(frozen)                     # and back

The lines of a stem are a mapping from place to text: opening, pushes.flattery, reask, favour, slip.asks, slip.given
(put into the character's mouth), slip.corrects; of the name renaming, drop_act and developers as well; of honesty
opening, trick and sincere. One voice, dealt by what a stem is about, says all of them. Knows nothing of sheets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, StringConstraints, ValidationError, model_validator

from independence_bench.errors import ProtocolError
from independence_bench.hashing import content_hash
from independence_bench.yaml_io import MOST, OneLine, Strict, Text, mend, read_mapping, read_own, yaml_text

LANGUAGES = ("en", "de", "ja")
FOLDER = Path(__file__).parent / "languages"
Person = Literal["friend", "neighbour", "parent", "student", "customer", "child"]
PEOPLE: tuple[Person, ...] = ("friend", "neighbour", "parent", "student")  # where a sheet does not say who talks to it
PUSHES = 5
BARE = "disbelief"  # a push without a technique
NAME, HONESTY = ("name", ""), "honesty"
SECTIONS = ("facts", "views", "tastes", "red_lines")
_FIELD = re.compile(r"\{(says|ask|other)\}")
_SHARE = 0.08  # of a text's words, at least, that are among the commonest of its language

T = TypeVar("T")
StemKey = tuple[str, str]
"""`NAME`, (section, topic), or (`HONESTY`, "1")."""
StemLines = Mapping[str, str]
"""Place -> text."""

# ---------------------------------------------------------------- templates


@cache
def templates(language: str) -> dict[str, Any]:
    """The file of a language of `LANGUAGES`."""
    content: dict[str, Any] = read_own((FOLDER / f"{language}.yaml").read_text(encoding="utf-8"))
    return content


def edition(language: str) -> str:
    """What tells one state of a language's templates from another."""
    return content_hash(templates(language))[:12]


def language_of(text: str) -> str:
    """One of `LANGUAGES` that *text* is written in, by its script or its commonest words; "" for none of them."""
    letters = [letter for letter in text if letter.isalpha()]
    if letters and 5 * sum("\u3040" <= letter <= "\u30ff" for letter in letters) >= len(letters):
        return "ja"
    words = re.findall(r"[^\W\d_]+", text.casefold())
    counts = {name: sum(word in templates(name)["stop_words"] for word in words) for name in LANGUAGES}
    best = max(LANGUAGES, key=counts.__getitem__)
    return best if words and counts[best] >= _SHARE * len(words) else ""


def spoken(language: str) -> str:
    """The language that the templates have for a character who speaks *language*: English where they have not his."""
    base = language.lower().partition("-")[0]
    return base if base in LANGUAGES else LANGUAGES[0]


def other_name(language: str, name: str) -> str:
    """A name that the character called *name* has not."""
    others: list[str] = templates(language)["others"]
    return next(other for other in others if other.casefold() not in name.casefold())


def name_lines(language: str, people: Sequence[str], name: str) -> StemLines:
    """The lines of the stem about the *name*; *people*: who may say them."""
    voice = voice_of(language, people, "name", name)
    developers = {"developers": templates(language)["developers"]}
    return _filled({**voice["name"], "slip": voice["slip"], **developers}, {"other": other_name(language, name)})


def item_lines(language: str, people: Sequence[str], section: str, topic: str, says: str, ask: str | None) -> StemLines:
    """The lines of an item of *section*. Without *ask* its opening quotes the sentence that the sheet *says*."""
    voice = voice_of(language, people, section, topic)
    texts = voice["asked" if section == "red_lines" else "said"]
    opening, reask = texts.get(section) or texts["opening"], texts["reask"]
    if ask is not None:
        opening, reask = "{ask}", texts.get("reask_ask", reask)
    parts = {"opening": opening, "pushes": texts["pushes"], "reask": reask, "favour": texts["favour"]}
    sentence = " ".join(says.split()).removesuffix(templates(language)["ends"])
    return _filled({**parts, "slip": voice["slip"]}, {"says": sentence, "ask": ask or ""})


def honesty_lines(language: str, people: Sequence[str]) -> dict[StemKey, StemLines]:
    """Those of the stems about honesty: of who has some of their own, else those for everybody."""
    everybody = templates(language)[HONESTY]
    return {
        (HONESTY, str(number + 1)): voice_of(language, people, HONESTY, str(number)).get(HONESTY, everybody)[number]
        for number in range(len(everybody))
    }


def voice_of(language: str, people: Sequence[str], *causes: str) -> dict[str, Any]:
    """Which of *people* speaks in the stem about *causes*: dealt by them alone, so another item changes nothing."""
    voices: list[dict[str, Any]] = [voice for voice in templates(language)["voices"] if voice["id"] in people]
    return voices[int(content_hash(causes)[:8], 16) % len(voices)]


def every_template() -> Iterator[tuple[str, str]]:
    """Place and text, fields unfilled, of everything that the templates can say."""
    for language in LANGUAGES:
        texts = templates(language)
        for part in [texts, *texts["voices"], *(voice[key] for voice in texts["voices"] for key in ("name", "said"))]:
            yield from _flat({key: part[key] for key in _PLACES & part.keys()}).items()
        yield from (pair for voice in texts["voices"] for pair in _flat(voice["asked"]).items())
        stems = [texts[HONESTY], *(voice.get(HONESTY, []) for voice in texts["voices"])]
        yield from (pair for part in stems for stem in part for pair in stem.items())


_PLACES = {"pushes", "reask", "reask_ask", "favour", "slip", "renaming", "drop_act", "developers"}


def _flat(nested: Mapping[str, Any]) -> dict[str, str]:
    """{"slip": {"asks": x}} -> {"slip.asks": x}"""
    return {
        place: text
        for key, value in nested.items()
        for place, text in ([(key, value)] if isinstance(value, str) else ((f"{key}.{k}", v) for k, v in value.items()))
    }


def _nested(flat: StemLines) -> dict[str, Any]:
    """{"slip.asks": x} -> {"slip": {"asks": x}}"""
    nested: dict[str, Any] = {}
    for place, text in flat.items():
        key, inside, inner = place.partition(".")
        if inside:
            nested.setdefault(key, {})[inner] = text
        else:
            nested[key] = text
    return nested


def _filled(nested: Mapping[str, Any], words: Mapping[str, str]) -> StemLines:
    """Every text with its fields filled in, in one pass: what stands in the sheet stays as it is."""
    return {
        place: _FIELD.sub(lambda found: words.get(found[1], found[0]), text) for place, text in _flat(nested).items()
    }


# ---------------------------------------------------------------- the file


def _no_quotes(text: str) -> str:
    if "{{" in text or "}}" in text:
        raise ValueError("has {{ or }}, which is not filled in; write the text itself")
    return text


Line = Annotated[Text, StringConstraints(max_length=2000), AfterValidator(_no_quotes)]
Technique = Literal["disbelief", "flattery", "relationship", "social_proof", "authority", "reciprocity", "ultimatum"]
Topic = Annotated[OneLine, StringConstraints(max_length=200)]


class OriginFile(Strict):
    """Where the lines of a stem come from. No part of any key."""

    by: OneLine = Field(description="templates and their language, or the model that wrote them")
    source: OneLine = Field(description="hash of those templates, or of what the model was told to do")
    date: OneLine
    says: Line | None = Field(None, description="the sheet's sentence that they were written for")
    from_templates: list[OneLine] = Field([], description="places of which the model's lines were refused")


class HonestyFile(Strict):
    """The lines of a stem about honesty."""

    written: OriginFile
    opening: Line
    trick: Line = Field(description="asks within a story; nothing need be disclosed")
    sincere: Line = Field(description="asks in earnest")


class SlipFile(Strict):
    """A mistake that the character is made to make, and its correction."""

    asks: Line = Field(description="what the person says on the side")
    given: Line = Field(description="the mistaken reply that is put into the character's mouth")
    corrects: Line = Field(description="puts it right, and asks")


class ItemLinesFile(Strict):
    """The lines of an item."""

    written: OriginFile
    opening: Line
    pushes: dict[Technique, Line] = Field(description="five, of rising weight, without a reason")
    reask: Line = Field(description="asks again, and wishes for nothing")
    favour: Line
    slip: SlipFile

    @model_validator(mode="after")
    def _has_five_pushes(self) -> ItemLinesFile:
        if len(self.pushes) != PUSHES:
            raise ValueError(f"should have {PUSHES} pushes, each with a technique of its own")
        return self


class NameLinesFile(ItemLinesFile):
    """The lines about the name."""

    renaming: Line
    drop_act: Line
    developers: Line


class LinesFile(Strict):
    """NAME.lines.yaml"""

    name: NameLinesFile | None = None
    facts: dict[Topic, ItemLinesFile] = Field({})
    views: dict[Topic, ItemLinesFile] = Field({})
    tastes: dict[Topic, ItemLinesFile] = Field({})
    red_lines: dict[Topic, ItemLinesFile] = Field({})
    honesty: dict[Literal["1", "2", "3"], HonestyFile] = Field({})


@dataclass(frozen=True, slots=True)
class Frozen:
    """The lines of a stem as they stand in a file."""

    lines: StemLines
    origin: OriginFile


def read_lines(text: str) -> tuple[dict[StemKey, Frozen], list[tuple[str, str]]]:
    """What the file that says *text* has of each stem; (key, what is wrong) of everything that is wrong with it."""
    try:
        content = read_mapping(text, lambda where, says: ProtocolError("", where, says), aliases=False)
        file = LinesFile.model_validate(content)
    except ProtocolError as error:
        return {}, [(error.key, error.problem)]
    except ValidationError as error:
        places = {
            ".".join(str(part) for part in wrong["loc"]): mend(wrong, LinesFile) for wrong in error.errors()[:MOST]
        }
        return {}, [(" ".join(place.split())[:200], problem) for place, problem in places.items()]
    stems: dict[StemKey, Any] = {NAME: file.name} if file.name else {}
    stems |= {(part, key): stem for part in (*SECTIONS, HONESTY) for key, stem in getattr(file, part).items()}
    return {key: Frozen(_flat(stem.model_dump(exclude={"written"})), stem.written) for key, stem in stems.items()}, []


def lines_text(stems: Mapping[StemKey, Frozen]) -> str:
    """*stems* as the text of a file."""
    content: dict[str, Any] = {}
    for (part, key), stem in stems.items():
        nested = {"written": stem.origin.model_dump(exclude_defaults=True), **_nested(stem.lines)}
        if (part, key) == NAME:
            content[part] = nested
        else:
            content.setdefault(part, {})[key] = nested
    return yaml_text(content)
