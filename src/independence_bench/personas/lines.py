"""What the person says to a character: hand-written lines in three languages, and the file in which
lines are frozen.

    make_item_lines("en", PEOPLE, "tastes", "the weather", says, ask)  # by the templates
    frozen, problems = parse_lines_file(text)  # NAME.lines.yaml: what it has of which stem
    render_lines_file(frozen)  # and back

The lines of a stem are a mapping from place to text: opening, pushes.flattery, reask, favour,
slip.asks, slip.given (put into the character's mouth), slip.corrects; of the name renaming,
drop_act and developers as well; of honesty opening, trick and sincere. One voice, dealt by what a
stem is about, says all of them. Knows nothing of sheets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, Field, StringConstraints

from independence_bench.errors import ProtocolError
from independence_bench.hashing import hash_content
from independence_bench.yaml_io import (
    OneLine,
    Strict,
    Text,
    format_yaml,
    load_shipped_yaml,
    read_yaml,
)

LANGUAGES = ("en", "de", "ja")
FOLDER = Path(__file__).parent / "languages"
Person = Literal["friend", "student", "customer", "child"]
CHOICES: tuple[Person, ...] = get_args(Person)
PEOPLE: tuple[Person, ...] = ("friend", "student")  # where a sheet does not say who talks to it
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
def load_templates(language: str) -> dict[str, Any]:
    """Return the content of the template file of *language*, one of `LANGUAGES`: what the person
    says to a character.
    """
    content: dict[str, Any] = load_shipped_yaml(
        (FOLDER / f"{language}.yaml").read_text(encoding="utf-8")
    )
    return content


def hash_templates(language: str) -> str:
    """Return 12 hexadecimal digits of a hash of the templates of *language*, which tell two
    versions of them apart.
    """
    return hash_content(load_templates(language))[:12]


def detect_language(text: str) -> str:
    """Return the language of `LANGUAGES` that *text* is written in, by its script or its commonest
    words; "" for none of them.
    """
    letters = [letter for letter in text if letter.isalpha()]
    if letters and 5 * sum("\u3040" <= letter <= "\u30ff" for letter in letters) >= len(letters):
        return "ja"
    words = re.findall(r"[^\W\d_]+", text.casefold())
    counts = {
        name: sum(word in load_templates(name)["stop_words"] for word in words)
        for name in LANGUAGES
    }
    best = max(LANGUAGES, key=counts.__getitem__)
    return best if words and counts[best] >= _SHARE * len(words) else ""


def choose_template_language(language: str) -> str:
    """Return the language ("en", "de", "ja") in which the person speaks to a character who speaks
    *language*: English if there are no templates in that language.
    """
    return language.lower().partition("-")[0] if has_templates(language) else LANGUAGES[0]


def has_templates(language: str) -> bool:
    """Return whether there are templates of what the person says in *language*, a code such as "de"
    or "de-AT".
    """
    return language.lower().partition("-")[0] in LANGUAGES


def choose_other_name(language: str, people: Sequence[str], name: str) -> str:
    """Return another name than *name*, the character's own, for the lines that ask the character to
    go by another name. *people*: who may say those lines.
    """
    others: list[str] = choose_person_voice(language, people, NAME[0], name)["others"]
    return next((other for other in others if other.casefold() not in name.casefold()), others[0])


def make_name_lines(language: str, people: Sequence[str], name: str) -> StemLines:
    """Return what the person says in the conversations about the character's *name*, place -> text,
    made from the templates. *people*: who may say it.
    """
    voice = choose_person_voice(language, people, NAME[0], name)
    return _fill_fields(
        {**voice["name"], "slip": voice["slip"]},
        {"other": choose_other_name(language, people, name)},
    )


def make_item_lines(
    language: str,
    people: Sequence[str],
    section: str,
    topic: str,
    says: str,
    ask: str | None,
) -> StemLines:
    """Return what the person says about one item of a character sheet (its *section* and *topic*),
    place -> text, made from the templates. Without *ask* the opening quotes the sentence that the
    sheet *says*.
    """
    voice = choose_person_voice(language, people, section, topic)
    texts = voice[section]
    parts = {
        "opening": texts["opening"] if ask is None else "{ask}",
        "pushes": texts["pushes"],
        "reask": texts.get("reask", voice["reask"]),
        "favour": texts.get("favour", voice["favour"]),
        "slip": voice["slip"],
    }
    sentence = " ".join(says.split()).removesuffix(load_templates(language)["ends"])
    return _fill_fields(parts, {"says": sentence, "ask": ask or ""})


def make_honesty_lines(language: str, people: Sequence[str]) -> dict[StemKey, StemLines]:
    """Return what the person says in the conversations about honesty, as key of the conversation ->
    (place -> text), taken from the templates.
    """
    return {
        (HONESTY, str(number + 1)): choose_person_voice(language, people, HONESTY, str(number))[
            HONESTY
        ][number]
        for number in range(len(load_templates(language)["voices"][0][HONESTY]))
    }


def choose_person_voice(language: str, people: Sequence[str], *causes: str) -> dict[str, Any]:
    """Return the entry in the templates of the person, one of *people*, who speaks about *causes*,
    such as a section and a topic. The choice depends on *causes* alone, so that another item
    changes nothing.
    """
    voices: list[dict[str, Any]] = [
        voice for voice in load_templates(language)["voices"] if voice["id"] in people
    ]
    return voices[int(hash_content(causes)[:8], 16) % len(voices)]


def list_template_places_and_texts() -> Iterator[tuple[str, str]]:
    """Yield (key or place, text with fields unfilled) for every text in the templates of all
    languages.
    """
    for language in LANGUAGES:
        yield from _list_places_and_texts(load_templates(language), "")


def _list_places_and_texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Yield (place, text) for every text in *value*, the part of a template file that stands at
    *place*.
    """
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, list):
        yield from (pair for part in value for pair in _list_places_and_texts(part, place))
    else:
        inside = f"{place}." if place in ("pushes", "slip") else ""
        yield from (
            pair
            for key, part in value.items()
            for pair in _list_places_and_texts(part, inside + key)
        )


def _fill_fields(voice: Mapping[str, Any], words: Mapping[str, str]) -> StemLines:
    """Return every text in *voice*, place -> text, with its fields filled in from *words* in one
    pass: braces in what is filled in stay as they are.
    """
    return {
        place: _FIELD.sub(lambda found: words.get(found[1], found[0]), text)
        for place, text in _list_places_and_texts(voice, "")
    }


# ---------------------------------------------------------------- the file


def _refuse_double_braces(text: str) -> str:
    """Return *text*. Raises ValueError if it has {{ or }}."""
    if "{{" in text or "}}" in text:
        raise ValueError("has {{ or }}, which is not filled in; write the text itself")
    return text


PUSH = "pushes."
_SHARED = ("opening", "reask", "favour", "slip.asks", "slip.given", "slip.corrects")
_PLACES = {  # part of a file -> the places of its stems that are no pushes
    NAME[0]: (*_SHARED, "renaming", "drop_act", "developers"),
    **dict.fromkeys(SECTIONS, _SHARED),
    HONESTY: ("opening", "trick", "sincere"),
}
_TECHNIQUES = (
    BARE,
    "flattery",
    "relationship",
    "social_proof",
    "authority",
    "reciprocity",
    "ultimatum",
)
Line = Annotated[Text, StringConstraints(max_length=4000), AfterValidator(_refuse_double_braces)]
Topic = Annotated[OneLine, StringConstraints(max_length=200)]


class StemLinesFile(Strict):
    """The lines of a stem, and where they come from, which is no part of any key."""

    by: OneLine = Field(description="who wrote them: the templates and their language")
    source: OneLine = Field(description="hash of those templates")
    date: OneLine
    says: Line | None = Field(None, description="the sheet's sentence that they were written for")
    lines: dict[str, Line] = Field(
        description="place: what the person says; of slip.given, the character"
    )


class LinesFile(Strict):
    """NAME.lines.yaml"""

    name: StemLinesFile | None = None
    facts: dict[Topic, StemLinesFile] = Field({})
    views: dict[Topic, StemLinesFile] = Field({})
    tastes: dict[Topic, StemLinesFile] = Field({})
    red_lines: dict[Topic, StemLinesFile] = Field({})
    honesty: dict[Literal["1", "2", "3"], StemLinesFile] = Field({})


def parse_lines_file(text: str) -> tuple[dict[StemKey, StemLinesFile], list[tuple[str, str]]]:
    """Return what *text*, the content of a lines file, has the person say, and (key, problem) for
    everything that is wrong with the file. No lines if the file cannot be read at all.
    """
    wrong: list[tuple[str, str]] = []

    def record_problem(key: str, problem: str) -> ProtocolError:
        """Add the *problem* at *key* to the problems found, and return it as an error."""
        wrong.append((key, problem))
        return ProtocolError("", key, problem)

    try:
        file = read_yaml(text, LinesFile, record_problem, aliases=False)
    except ProtocolError:
        return {}, wrong
    stems = {NAME: file.name} if file.name else {}
    stems |= {
        (part, key): stem
        for part in (*SECTIONS, HONESTY)
        for key, stem in getattr(file, part).items()
    }
    for key, stem in stems.items():
        where = ".".join((*filter(None, key), "lines"))
        places = [place for place in stem.lines if not place.startswith(PUSH)]
        pushes = [place for place in stem.lines if place.startswith(PUSH)]
        wrong += [
            (f"{where}.{place}", "is missing; add it")
            for place in _PLACES[key[0]]
            if place not in places
        ]
        unknown = [place for place in places if place not in _PLACES[key[0]]]
        unknown += [
            place
            for place in pushes
            if place.removeprefix(PUSH) not in _TECHNIQUES or key[0] == HONESTY
        ]
        wrong += [(f"{where}.{place[:60]}", "is not a known place") for place in unknown]
        if key[0] != HONESTY and len(pushes) != PUSHES:
            wrong.append(
                (
                    where,
                    f"has {len(pushes)} pushes; write {PUSHES}, each with a technique of its own",
                )
            )
    return stems, wrong


def render_lines_file(stems: Mapping[StemKey, StemLinesFile]) -> str:
    """Return the person's lines in *stems* as the text of a lines file (YAML)."""
    content: dict[str, Any] = {}
    for (part, key), stem in stems.items():
        written = stem.model_dump(exclude_defaults=True)
        if (part, key) == NAME:
            content[part] = written
        else:
            content.setdefault(part, {})[key] = written
    return format_yaml(content)
