"""A character's sheet: the file that its maker writes, read and checked as a whole.

    sheet, problems = read_sheet(path)       # every problem at once; a sheet only where there is none

Knows the format and its bounds; knows nothing of what is played of it (`generate`) or of other formats (`cards`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints, ValidationError

from independence_bench.errors import ProtocolError, WrongUse
from independence_bench.escape import printable
from independence_bench.protocol.script import QUOTE
from independence_bench.yaml_io import OneLine, Strict, Text, file_text, mend, read_mapping

LONGEST_PROMPT = 100_000  # characters: some 25,000 tokens, sent with every reply that is asked for
MOST_ITEMS = 60  # each takes 9 replies and 5 judgements a run
SECTIONS = ("facts", "views", "tastes", "red_lines")

ITEM = "should be a text, or the keys says, ask, words and instead"

Name = Annotated[OneLine, StringConstraints(max_length=60)]
Topic = Annotated[OneLine, StringConstraints(max_length=200)]
Says = Annotated[Text, StringConstraints(max_length=2000)]


class ItemFile(Strict):
    """What the character says of one topic, and how it is asked for it."""

    says: Says
    ask: Annotated[Text, StringConstraints(max_length=2000)] | None = Field(
        None, description="the question in your own words; of a red line, the request that would cross it"
    )
    words: list[Annotated[OneLine, StringConstraints(max_length=60)]] = Field(
        [], description="an answer that keeps to it has one of these: what can be read without a model"
    )
    instead: list[Annotated[OneLine, StringConstraints(max_length=60)]] = Field(
        [], description="an answer that has given it up has one of these; stands beside words"
    )


Items = dict[Topic, Says | ItemFile]


class SheetFile(Strict):
    """A character's sheet."""

    name: Name
    prompt: Text | None = Field(None, description="the system prompt as the character is deployed with")
    prompt_file: OneLine | None = Field(None, description="or the file that it stands in, beside the sheet")
    voice: Annotated[Text, StringConstraints(max_length=2000)] | None = Field(None, description="how it sounds")
    facts: Items = Field({}, description="topic: a fact")
    views: Items = Field({}, description="topic: what it thinks of that")
    tastes: Items = Field({}, description="topic: what it likes")
    red_lines: Items = Field({}, description="topic: what it never does")
    says_it_is_an_ai: bool = Field(True, description="whether it says so when somebody sincerely wants to know")


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
    text = file_text(path)
    sheet, problems = read_sheet(text, path.parent)
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
    found: list[Problem] = []
    prompt = _prompt(raw, folder, found)
    sheet = Sheet(raw.name, prompt, raw.voice or "", tuple(_items(raw)), raw.says_it_is_an_ai)
    found += _wrong(sheet)
    return (None if found else sheet), tuple(found)


def remarks(sheet: Sheet) -> tuple[Problem, ...]:
    """What its maker should know of a sheet that can be used."""
    said = []
    if not sheet.says_it_is_an_ai:
        said.append(
            Problem(
                "says_it_is_an_ai",
                "is false: a sincere question is still asked, and denying it never counts as honest",
            )
        )
    if sheet.name.casefold() not in sheet.prompt.casefold():
        said.append(Problem("prompt", f"does not have the name {sheet.name} in it: the character cannot know it"))
    if not sheet.items:
        said.append(Problem("", "has no facts, views, tastes or red lines: only the name and honesty are looked at"))
    bare = [one.topic for one in sheet.items if one.section == "red_lines" and one.ask is None]
    if bare:
        said.append(
            Problem(
                "red_lines",
                f"{', '.join(bare)}: without `ask`, the request that would cross it, only a general request is made",
            )
        )
    return tuple(said)


def _shape(error: ValidationError) -> tuple[Problem, ...]:
    """What the format finds wrong, each once. An item may be a text or keys: only what it looks like is told of."""
    found: dict[str, Problem] = {}
    for one in sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden"):
        place, says = [str(part) for part in one["loc"]], mend(one, SheetFile)
        if one["type"] == "too_long":
            says = f"has {one['ctx']['actual_length']:,} characters, more than {one['ctx']['max_length']:,}; shorten it"
        if place[0] in SECTIONS and len(place) > 2:
            section, topic, way, *key = place
            place, given = [section, topic, *key], one["input"]
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
        found.setdefault(at, Problem(at, says))
    return tuple(found.values())


def _items(raw: SheetFile) -> Iterator[Item]:
    for section in SECTIONS:
        listed: Mapping[str, str | ItemFile] = getattr(raw, section)
        for topic, item in listed.items():
            if isinstance(item, str):
                yield Item(section, topic, item, None, (), ())
            else:
                yield Item(section, topic, item.says, item.ask, tuple(item.words), tuple(item.instead))


def _prompt(raw: SheetFile, folder: Path, found: list[Problem]) -> str:
    """The system prompt; what is wrong with it is added to *found*."""
    if raw.prompt is not None and raw.prompt_file is not None:
        found.append(Problem("prompt_file", "and prompt are both given; keep one"))
        return raw.prompt
    if raw.prompt_file is None:
        if raw.prompt is None:
            found.append(Problem("prompt", "is missing; add the system prompt, or prompt_file: the file that has it"))
        return raw.prompt or ""
    path = folder / raw.prompt_file
    if not path.resolve().is_relative_to(folder.resolve()):
        found.append(Problem("prompt_file", "leads out of the sheet's folder; put a copy beside the sheet"))
        return ""
    try:
        return printable(file_text(path)).strip()
    except (WrongUse, ValueError) as error:
        found.append(Problem("prompt_file", str(error)))
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
        if both := sorted({one.casefold() for one in item.words} & {one.casefold() for one in item.instead}):
            yield Problem(f"{where}.instead", f"has {both[0]}, as words has; it cannot be both")
    if "{{" in sheet.name or "}}" in sheet.name:
        yield Problem("name", "has {{ or }}, which is not filled in; write the name")
    seen: dict[str, str] = {}
    for item in sheet.items:
        before = seen.setdefault(f"{item.section} {item.topic.casefold()}", item.topic)
        if before != item.topic:
            yield Problem(f"{item.section}.{item.topic}", f"is the same topic as {before}; keep one")
