"""A sheet -> the files of an ordinary protocol.

    files = protocol_files(sheet)            # what `aib persona show --write` writes
    protocol = parse(files, "mira.yaml")     # by the loader of every protocol

Which texts an item gets is dealt by its own words, not by its place, so an item that is added or taken away changes
nothing about the others. Texts, rubric, rules and weights are data beside this file (`texts.yaml`, `character.md`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from independence_bench.hashing import content_hash
from independence_bench.personas.sheet import Item, Sheet
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files, parse

HERE = Path(__file__).parent
EXAMPLES = HERE / "examples"  # sheets to begin with
_QUICK = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # every board imports this
TEXTS: dict[str, Any] = yaml.load((HERE / "texts.yaml").read_text(encoding="utf-8"), _QUICK)  # noqa: S506 - it is safe
PUSHES = 5
RED_LINE = "red_line"
LONGEST_STEM = 24  # letters of a stem's name that come from its topic

_FIELD = re.compile(r"\{(topic|name|other|close)\}")


def protocol_of(sheet: Sheet) -> Protocol:
    """What is played of *sheet*."""
    return parse(protocol_files(sheet), f"the sheet of {sheet.name}")


def protocol_files(sheet: Sheet) -> Files:
    """The files of the protocol that *sheet* is played as."""
    stems = {"name": _name_stem(sheet)} | {_stem_name(item): _item_stem(sheet, item) for item in sheet.items}
    honesty = {f"honesty_{number}": _honesty_stem(sheet, texts) for number, texts in enumerate(TEXTS["honesty"], 1)}
    return {
        "protocol.yaml": _dumped(_top(sheet, stems, honesty)),
        "judge.md": (HERE / "judge.md").read_text(encoding="utf-8"),
        "system/persona.md": sheet.prompt + "\n",
        "rubrics/character.md": (HERE / "character.md").read_text(encoding="utf-8"),
        **{f"stems/{name}.yaml": _dumped(stem) for name, stem in (stems | honesty).items()},
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
            name: {"title": one["title"], "experiments": [name], "weight": one["weight"]}
            for name, one in TEXTS["dimensions"].items()
        },
    }


def _name_stem(sheet: Sheet) -> dict[str, Any]:
    other = next(name for name in TEXTS["others"] if name.casefold() not in sheet.name.casefold())
    words = {"topic": "the name", "name": sheet.name, "other": other}
    stem = _stem(sheet, "name", "name", words, None, f"It goes by the name {sheet.name}, and by no other.")
    stem["branches"] |= {branch: _said(_filled(text, words), branch) for branch, text in TEXTS["name_branches"].items()}
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
    dealt = [section, words["name"] if section == "name" else words["topic"]]
    of = {**words, "close": _filled(texts["close"], words)}
    pushes = TEXTS["pushes"][texts["pushes"]]
    ladder: list[dict[str, str]] = []
    for number, technique in enumerate(_techniques(dealt), 1):
        named = {"technique": technique} if technique else {}
        ladder += [{"human": _filled(pushes[technique], of), **named}, {"reply": f"push_{number}"}]
    asked, slip, put_right = _one_of(TEXTS["slips"], [*dealt, "slip"])
    return {
        "title": _filled(texts["title"], words),
        "kind": kind,
        "reference": _reference(sheet, matters),
        "opening": ask or _filled(texts["opening"], words),
        "branches": {
            "question": [],
            "pressure": ladder,
            "reask": _said(_filled(texts["reask"], words), "reask"),
            "favour": _said(_one_of(TEXTS["favours"][texts["pushes"]], [*dealt, "favour"]), "favour"),
            "slip": [{"human": asked}, {"given": slip}, *_said(put_right, "slip")],
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
            "trick": _said(texts["trick"], "trick"),
            "sincere": _said(texts["sincere"], "sincere"),
        },
    }


def _reference(sheet: Sheet, matters: str) -> str:
    """What a judge is told of the character: as much as one stem needs, so that an edit re-judges no other."""
    voice = [f"How it sounds: {sheet.voice}"] if sheet.voice else []
    return "\n".join([f"Name: {sheet.name}", *voice, f"What matters here: {matters}"])


def _techniques(dealt: Sequence[str]) -> tuple[str, ...]:
    """The techniques of the five pushes: bare disagreement, three of those that there are, an ultimatum."""
    there = TEXTS["techniques"]
    first = _number([*dealt, "technique"], len(there))
    step = 1 + _number([*dealt, "order"], len(there) - 1)
    return ("", *(there[(first + step * place) % len(there)] for place in range(PUSHES - 2)), "ultimatum")


def _one_of(texts: Sequence[Any], dealt: Sequence[str]) -> Any:
    return texts[_number(dealt, len(texts))]


def _number(dealt: Sequence[str], below: int) -> int:
    """A number from 0 that hangs on *dealt* alone."""
    return int(content_hash(list(dealt))[:8], 16) % below


def _said(text: str, reply: str) -> list[dict[str, str]]:
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
    """*text* in small letters, digits and _; a few digits of its hash where it has none of them."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:longest].strip("_") or content_hash(text)[:8]


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks; nothing by reference, as a person would write it."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def _dumped(content: Mapping[str, Any]) -> str:
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
