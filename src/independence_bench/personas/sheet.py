"""A character's sheet: the file that its maker writes, read and checked as a whole, and the protocol that it becomes.

    sheet, problems = read_sheet(text, folder)    # every problem at once; a sheet only where there is none
    files = protocol_files(sheet)                 # what `aib persona show --write` writes
    protocol = protocol_of(sheet)                 # an ordinary protocol, by the loader of every protocol

Which texts an item gets is dealt by its own words, not by its place, so an item that is added or taken away changes
nothing about the others. Texts, rubric, rules and weights are data next to this file (`texts.yaml`, `character.md`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import Field, StringConstraints, ValidationError

from independence_bench.errors import ProtocolError, WrongUse
from independence_bench.escape import printable
from independence_bench.hashing import content_hash
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files, parse
from independence_bench.protocol.lorebook import Lorebook
from independence_bench.protocol.script import QUOTE
from independence_bench.yaml_io import OneLine, Strict, Text, file_text, mend, read_mapping, yaml_text

LONGEST_PROMPT = 100_000  # characters: some 25,000 tokens, sent with every reply that is asked for
MOST_ITEMS = 60  # each takes 9 replies and 5 judgements a run
HERE = Path(__file__).parent
EXAMPLES = HERE / "examples"  # sheets to begin with
_QUICK = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # every board imports this
TEXTS: dict[str, Any] = yaml.load((HERE / "texts.yaml").read_text(encoding="utf-8"), _QUICK)  # noqa: S506 - it is safe
PUSHES = 5
RED_LINE = "red_line"
LONGEST_STEM = 24  # letters of a stem's name that come from its topic

_FIELD = re.compile(r"\{(topic|name|other|close)\}")
SECTIONS = ("facts", "views", "tastes", "red_lines")
ITEM = "should be a text, or the keys says, ask, words and instead"

T = TypeVar("T")
Name = Annotated[OneLine, StringConstraints(max_length=60)]
Topic = Annotated[OneLine, StringConstraints(max_length=200)]
Says = Annotated[Text, StringConstraints(max_length=2000)]


class ItemFile(Strict):
    """What the character says of one topic, and how it is asked for it."""

    says: Says
    ask: Says | None = Field(
        None, description="the question in your own words; of a red line, the request that would cross it"
    )
    words: list[Name] = Field(
        [], description="an answer that keeps to it has one of these: what can be read without a model"
    )
    instead: list[Name] = Field([], description="an answer that has given it up has one of these; needs words")


Items = dict[Topic, Says | ItemFile]


class SheetFile(Strict):
    """A character's sheet."""

    name: Name
    prompt: Text | None = Field(None, description="the system prompt as the character is deployed with")
    prompt_file: OneLine | None = Field(None, description="or the file that it stands in, next to the sheet")
    voice: Says | None = Field(None, description="how it sounds")
    facts: Items = Field({}, description="topic: a fact")
    views: Items = Field({}, description="topic: what it thinks of that")
    tastes: Items = Field({}, description="topic: what it likes")
    red_lines: Items = Field({}, description="topic: what it never does")
    says_it_is_an_ai: bool = Field(True, description="whether it says so when a person sincerely wants to know")
    lorebook: Lorebook | None = Field(None, description="what its prompt gets while it is talked of")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that the sheet says."""

    section: str  # one of `SECTIONS`
    topic: str
    says: str
    ask: str | None
    words: tuple[str, ...]
    instead: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A character as its maker describes it."""

    name: str
    prompt: str
    voice: str
    items: tuple[Item, ...]  # by section, in the order of the file
    says_it_is_an_ai: bool
    lorebook: Lorebook | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a sheet, or that its maker should know."""

    key: str  # in the file; "" for the whole of it
    says: str

    def __str__(self) -> str:
        return f"{self.key}: {self.says}" if self.key else self.says


class SheetError(WrongUse):
    """A sheet cannot be used. *problems* are all that is wrong with it, at least one."""

    def __init__(self, path: str, problems: tuple[Problem, ...]) -> None:
        self.path, self.problems = path, problems
        more = f" (and {len(problems) - 1} more; `aib persona check` lists them)" if len(problems) > 1 else ""
        super().__init__(f"{path}: {problems[0]}{more}")


def load_sheet(path: Path) -> Sheet:
    """The sheet in the file at *path*. Raises SheetError."""
    sheet, problems = read_sheet(file_text(path), path.parent)
    if sheet is None:
        raise SheetError(str(path), problems)
    return sheet


def read_sheet(text: str, folder: Path) -> tuple[Sheet | None, tuple[Problem, ...]]:
    """The sheet that *text* is, and everything that is wrong with it; no sheet where anything is.

    A prompt in a file of its own is looked for in *folder*.
    """
    try:
        content = read_mapping(printable(text), lambda where, says: ProtocolError("", where, says), aliases=False)
    except ProtocolError as error:
        return None, (Problem(error.key, error.problem),)
    except ValueError as error:
        return None, (Problem("", str(error)),)
    try:
        raw = SheetFile.model_validate(content)
    except ValidationError as error:
        return None, _shape(error)
    problems: list[Problem] = []
    prompt = _prompt(raw, folder, problems)
    items = tuple(
        Item(section, topic, item, None, (), ())
        if isinstance(item, str)
        else Item(section, topic, item.says, item.ask, tuple(item.words), tuple(item.instead))
        for section in SECTIONS
        for topic, item in getattr(raw, section).items()
    )
    sheet = Sheet(raw.name, prompt, raw.voice or "", items, raw.says_it_is_an_ai, raw.lorebook)
    problems += _wrong(sheet)
    return (None if problems else sheet), tuple(problems)


def remarks(sheet: Sheet) -> Iterator[Problem]:
    """What its maker should know of a sheet that can be used."""
    if not sheet.says_it_is_an_ai:
        says = "is false: a sincere question is still asked, and denying it never counts as honest"
        yield Problem("says_it_is_an_ai", says)
    if sheet.name.casefold() not in sheet.prompt.casefold():
        yield Problem("prompt", f"does not have the name {sheet.name} in it: the character cannot know it")
    if not sheet.items:
        yield Problem("", "has no facts, views, tastes or red lines: only the name and honesty are looked at")
    if bare := [item.topic for item in sheet.items if item.section == "red_lines" and item.ask is None]:
        says = "without `ask`, the request that would cross it, only a general request is made"
        yield Problem("red_lines", f"{', '.join(bare)}: {says}")


def _shape(error: ValidationError) -> tuple[Problem, ...]:
    """What the format finds wrong, each once. Of an item, a text or keys, only errors of what it looks like."""
    problems: dict[str, Problem] = {}
    for wrong in sorted(error.errors(), key=lambda wrong: wrong["type"] != "extra_forbidden"):
        place, says = [str(part) for part in wrong["loc"]], mend(wrong, SheetFile)
        if wrong["type"] == "too_long":
            length, most = wrong["ctx"]["actual_length"], wrong["ctx"]["max_length"]
            says = f"has {length:,} characters, more than {most:,}; shorten it"
        if place[0] in SECTIONS and len(place) > 2:
            section, topic, way, *key = place
            place, given = [section, topic, *key], wrong["input"]
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
        problems.setdefault(at, Problem(at, says))
    return tuple(problems.values())


def _prompt(raw: SheetFile, folder: Path, problems: list[Problem]) -> str:
    """The system prompt; what is wrong with it is added to *problems*."""
    if raw.prompt is not None and raw.prompt_file is not None:
        problems.append(Problem("prompt_file", "and prompt are both given; keep one"))
        return raw.prompt
    if raw.prompt_file is None:
        if raw.prompt is None:
            problems.append(
                Problem("prompt", "is missing; add the system prompt, or prompt_file: the file that has it")
            )
        return raw.prompt or ""
    path = folder / raw.prompt_file
    if not path.resolve().is_relative_to(folder.resolve()):
        problems.append(Problem("prompt_file", "leads out of the sheet's folder; put a copy next to the sheet"))
        return ""
    try:
        return printable(file_text(path)).strip()
    except (WrongUse, ValueError) as error:
        problems.append(Problem("prompt_file", str(error)))
        return ""


def _wrong(sheet: Sheet) -> Iterator[Problem]:
    """What is wrong beyond the shape."""
    if len(sheet.prompt) > LONGEST_PROMPT:
        yield Problem("prompt", f"has {len(sheet.prompt):,} characters, more than {LONGEST_PROMPT:,}; shorten it")
    if len(sheet.items) > MOST_ITEMS:
        yield Problem("", f"has {len(sheet.items)} items, more than {MOST_ITEMS}; split it into two sheets")
    if quoted := QUOTE.search(sheet.prompt):
        yield Problem("prompt", f"has {quoted[0]}, which is not filled in; write the text itself")
    for item in sheet.items:
        for key, text in (("", item.topic), ("ask", item.ask or "")):
            if "{{" in text or "}}" in text:
                where = ".".join(part for part in (item.section, item.topic, key) if part)
                yield Problem(where, "has {{ or }}, which is not filled in; write the text itself")
    for item in sheet.items:
        where = f"{item.section}.{item.topic}"
        if bool(item.words) != bool(item.instead):
            lacking = "instead" if item.words else "words"
            yield Problem(
                f"{where}.{lacking}", "is missing: words alone could only ever say held, so give both or none"
            )
        if both := sorted({word.casefold() for word in item.words} & {word.casefold() for word in item.instead}):
            yield Problem(f"{where}.instead", f"has {both[0]}, as words has; it cannot be both")
    if "{{" in sheet.name or "}}" in sheet.name:
        yield Problem("name", "has {{ or }}, which is not filled in; write the name")
    seen: dict[str, str] = {}
    for item in sheet.items:
        before = seen.setdefault(f"{item.section} {item.topic.casefold()}", item.topic)
        if before != item.topic:
            yield Problem(f"{item.section}.{item.topic}", f"is the same topic as {before}; keep one")


def protocol_of(sheet: Sheet, files: Files | None = None) -> Protocol:
    """What is played of *sheet*. *files*: its `protocol_files`, where they are made already."""
    return parse(protocol_files(sheet) if files is None else files, f"the sheet of {sheet.name}")


def protocol_files(sheet: Sheet) -> Files:
    """The files of the protocol that *sheet* is played as."""
    stems = {"name": _name_stem(sheet)} | {_stem_name(item): _item_stem(sheet, item) for item in sheet.items}
    honesty = {f"honesty_{number}": _honesty_stem(sheet, texts) for number, texts in enumerate(TEXTS["honesty"], 1)}
    return {
        "protocol.yaml": yaml_text(_top(sheet, stems, honesty)),
        "judge.md": (HERE / "judge.md").read_text(encoding="utf-8"),
        "system/persona.md": sheet.prompt + "\n",
        "rubrics/character.md": (HERE / "character.md").read_text(encoding="utf-8"),
        **{f"stems/{name}.yaml": yaml_text(stem) for name, stem in (stems | honesty).items()},
    }


def protocol_name(sheet: Sheet) -> str:
    """What the protocol of *sheet* is called: persona-mira."""
    return f"persona-{_slug(sheet.name, 50).replace('_', '-')}"


def _top(sheet: Sheet, stems: Iterable[str], honesty: Iterable[str]) -> dict[str, Any]:
    used = {"name", "honesty", *(["item"] if sheet.items else [])}
    return {
        "name": protocol_name(sheet),
        "title": f"Whether {sheet.name} holds",
        "description": _filled(TEXTS["description"], {"name": sheet.name}),
        "runs": TEXTS["runs"],
        "sampling": TEXTS["sampling"],
        "judge": {"model": "google/gemini-3-flash-preview"},
        "configurations": [{"system": "persona", "delivery": "user_role"}],
        "experiments": {
            "character": {"title": TEXTS["dimensions"]["character"]["title"], "stems": list(stems)},
            "honesty": {"title": TEXTS["dimensions"]["honesty"]["title"], "stems": list(honesty)},
        },
        "kinds": {name: kind for name, kind in TEXTS["kinds"].items() if name in used},
        "dimensions": {
            name: {"title": dimension["title"], "experiments": [name], "weight": dimension["weight"]}
            for name, dimension in TEXTS["dimensions"].items()
        },
        **({"lorebook": sheet.lorebook.spoken_by(sheet.name)} if sheet.lorebook else {}),
    }


def _name_stem(sheet: Sheet) -> dict[str, Any]:
    other = next(name for name in TEXTS["others"] if name.casefold() not in sheet.name.casefold())
    words = {"topic": "the name", "name": sheet.name, "other": other}
    stem = _stem(sheet, "name", "name", words, None, f"It goes by the name {sheet.name}, and by no other.")
    stem["branches"] |= {branch: _turn(_filled(text, words), branch) for branch, text in TEXTS["name_branches"].items()}
    return {**stem, "own_name": sheet.name}


def _item_stem(sheet: Sheet, item: Item) -> dict[str, Any]:
    words = {"topic": item.topic, "name": sheet.name, "other": ""}
    matters = f"{'What it never does' if item.section == 'red_lines' else 'On'} ({item.topic}): {item.says}"
    stem = _stem(sheet, "item", item.section, words, item.ask, matters)
    return stem | ({"words": list(item.words), "instead": list(item.instead)} if item.words else {})


def _stem(
    sheet: Sheet, kind: str, section: str, words: Mapping[str, str], ask: str | None, matters: str
) -> dict[str, Any]:
    """A stem with the branches that name and items have. *words*: what the texts' fields stand for."""
    texts = TEXTS["sections"][section]
    causes = (section, words["name"] if section == "name" else words["topic"])
    fields = {**words, "close": _filled(texts["close"], words)}
    pushes = TEXTS["pushes"][texts["pushes"]]
    ladder: list[dict[str, str]] = []
    for number, technique in enumerate(_techniques(causes), 1):
        named = {"technique": technique} if technique else {}
        ladder += [{"human": _filled(pushes[technique], fields), **named}, {"reply": f"push_{number}"}]
    question, slip, put_right = _deal(TEXTS["slips"], *causes, "slip")
    return {
        "title": _filled(texts["title"], words),
        "kind": kind,
        "reference": _reference(sheet, matters),
        "opening": ask or _filled(texts["opening"], words),
        "branches": {
            "question": [],
            "pressure": ladder,
            "reask": _turn(_filled(texts["reask"], words), "reask"),
            "favour": _turn(_deal(TEXTS["favours"][texts["pushes"]], *causes, "favour"), "favour"),
            "slip": [{"human": question}, {"given": slip}, *_turn(put_right, "slip")],
        },
    }


def _honesty_stem(sheet: Sheet, texts: Mapping[str, str]) -> dict[str, Any]:
    return {
        "title": texts["title"],
        "kind": "honesty",
        "reference": _reference(sheet, "nothing but that it speaks as this character. It is played by an AI."),
        "opening": texts["opening"],
        "branches": {
            "question": [],
            "trick": _turn(texts["trick"], "trick"),
            "sincere": _turn(texts["sincere"], "sincere"),
        },
    }


def _reference(sheet: Sheet, matters: str) -> str:
    """What a judge reads of the character: as much as one stem needs, so that an edit re-judges no other."""
    voice = [f"How it sounds: {sheet.voice}"] if sheet.voice else []
    return "\n".join([f"Name: {sheet.name}", *voice, f"What matters here: {matters}"])


def _techniques(causes: Sequence[str]) -> tuple[str, ...]:
    """The techniques of the five pushes: bare disagreement, three of those that there are, an ultimatum."""
    known = TEXTS["techniques"]
    first, step = _deal(range(len(known)), *causes, "technique"), _deal(range(1, len(known)), *causes, "order")
    return ("", *(known[(first + step * place) % len(known)] for place in range(PUSHES - 2)), "ultimatum")


def _deal(texts: Sequence[T], *causes: str) -> T:
    """One of *texts* that depends on *causes* alone."""
    return texts[int(content_hash(causes)[:8], 16) % len(texts)]


def _turn(text: str, reply: str) -> list[dict[str, str]]:
    return [{"human": text}, {"reply": reply}]


def _filled(text: str, words: Mapping[str, str]) -> str:
    """*text* with its fields filled in, in one pass: what stands in a topic stays as it is."""
    return _FIELD.sub(lambda field: words[field[1]], text)


def is_red_line(stem: str) -> bool:
    """Whether the stem of that name is about something that the character never does."""
    return stem.startswith(f"{RED_LINE}_")


def _stem_name(item: Item) -> str:
    """A name that hangs on the topic alone: red_line_medical_advice_3fa2."""
    section = {"facts": "fact", "views": "view", "tastes": "taste", "red_lines": RED_LINE}[item.section]
    return f"{section}_{_slug(item.topic, LONGEST_STEM)}_{content_hash(item.topic)[:4]}"


def _slug(text: str, longest: int) -> str:
    """*text* in lower case: letters, digits and _; a few digits of its hash where it has none of them."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:longest].strip("_") or content_hash(text)[:8]
