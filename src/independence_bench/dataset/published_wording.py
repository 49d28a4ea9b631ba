"""What the published version says to the models, learned from the data: its words stand in no file of ours.

    votes = Votes()
    votes.count(trajectory)                             # each file says what it was asked
    known = wording_of(stored) | votes.result()         # one text for each place: the most frequent one
    protocol, files = protocol_of(known)

The rest of that protocol (scenarios, marks, scales, weights) is data beside this module: published_v2/ and
published_scenarios.yaml. What no imported file says is written as unknown.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter

from independence_bench.dataset.published_format import Trajectory
from independence_bench.escape import printable
from independence_bench.hashing import canonical
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.file_formats import NAME
from independence_bench.protocol.loader import Files, parse
from independence_bench.protocol.script import spelled_out

SKELETON = Path(__file__).parent / "published_v2"
UNKNOWN = "(not in the imported data)"
NAME_OF_PROTOCOL = "published-v2"

Known = Mapping[str, str]  # a place in the protocol -> its text


@dataclass(frozen=True, slots=True)
class PublishedScenario:
    """One scenario, and the files that tell it: one for each reply, in the order in which they were asked for."""

    scenario: str
    title: str
    stems: tuple[str, ...]
    replies: tuple[str, ...]
    judged_on: str  # the file that carries its judgement
    judged: tuple[str, ...]
    rubrics: tuple[str, ...]

    def reply(self, stem: str) -> str:
        """The reply that the file of that name holds."""
        return self.replies[self.stems.index(stem)]

    def stem(self, reply: str) -> str:
        """The name of the file that holds that reply."""
        return self.stems[self.replies.index(reply)]


SCENARIOS: tuple[PublishedScenario, ...] = TypeAdapter(tuple[PublishedScenario, ...]).validate_python(
    yaml.safe_load(Path(__file__).with_name("published_scenarios.yaml").read_text(encoding="utf-8"))
)
SCENARIO_BY_STEM = {stem: layout for layout in SCENARIOS for stem in layout.stems}


def own_system(variant: str, scenario: str) -> str:
    """The name of a system prompt that only *scenario* has: the variant's, with more behind it."""
    return f"{variant}_{scenario}"


# ---------------------------------------------------------------- learning


@dataclass(slots=True)
class Votes:
    """How often each text stands in each place."""

    files: int = 0
    texts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    systems: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def count(self, file: Trajectory) -> None:
        """One file's vote."""
        self.files += 1
        path, request = file.path, file.request
        layout = SCENARIO_BY_STEM[path.stem]
        self.systems[path.variant, layout.scenario][request.system.strip()] += 1
        if path.delivery == "tool_role":
            by_tool = (request.opening, request.greeting, *request.tool)
            for name, text in zip(("opening", "greeting", "name", "argument"), by_tool, strict=True):
                self.texts[f"tool_role/{name}"][text.strip()] += 1
        said = [[turn.speaker, turn.text.strip()] for turn in request.turns]
        if len(layout.stems) == 1:
            self.texts[f"steps/{path.stem}"][canonical(said)] += 1
        else:  # a history tells the earlier questions too
            for stem, question in zip(layout.stems, said[::2], strict=False):
                self.texts[f"steps/{stem}"][canonical([question])] += 1

    def result(self) -> Known:
        """The most frequent text of each place, of those that can stand in a protocol."""
        found = {place: text for place, votes in self.texts.items() if (text := _most(votes, place)) is not None}
        for variant in {variant for variant, _ in self.systems}:
            apart = {scenario: votes for (of, scenario), votes in self.systems.items() if of == variant}
            common = _most(sum(apart.values(), Counter[str]()), "system")
            if common is None:
                continue
            found[f"system/{variant}"] = common
            for scenario, votes in apart.items():
                own = _most(votes, "system")
                if own is not None and own.startswith(f"{common}\n\n"):
                    found[f"system/{own_system(variant, scenario)}"] = own
        return {place: text for place, text in found.items() if NAME.fullmatch(place.rpartition("/")[2])}


def _most(votes: Counter[str], place: str) -> str | None:
    """The text with the most votes, the first of them by alphabet; None where none can be used."""
    usable = [(-count, text) for text, count in votes.items() if _usable(text, place)]
    return min(usable)[1] if usable else None


def _usable(text: str, place: str) -> bool:
    """Whether a protocol can hold *text*."""
    if place in ("tool_role/name", "tool_role/argument"):
        return NAME.fullmatch(text) is not None
    spoken = [words for _, words in json.loads(text)] if place.startswith("steps/") else [text]
    try:
        return all(printable(words).strip() and "{{" not in words and "}}" not in words for words in spoken)
    except ValueError:
        return False


def wording_of(protocol: Protocol) -> Known:
    """What a protocol made here knows: the inverse of `protocol_of`."""
    tool = protocol.tool_role
    found = {f"system/{name}": text for name, text in protocol.systems}
    found |= {f"tool_role/{name}": getattr(tool, name) for name in ("opening", "greeting", "name", "argument")}
    for layout in SCENARIOS:
        said: list[list[str]] = []  # since the reply before
        for who, text in spelled_out(protocol.scenario(layout.scenario).script):
            if who == "model":
                found[f"steps/{layout.stem(text)}"] = canonical(said)
                said = []
            else:
                said.append(["human" if who == "human" else "model", text])
    return {place: text for place, text in found.items() if UNKNOWN not in text}


# ---------------------------------------------------------------- writing it down


def protocol_of(known: Known) -> tuple[Protocol, Files]:
    """The protocol that says what is *known*, and its files."""
    paths = sorted([*SKELETON.glob("*.*"), *SKELETON.glob("*/*.*")])
    files = {path.relative_to(SKELETON).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    top: dict[str, Any] = yaml.safe_load(files["protocol.yaml"])
    top["tool_role"] = {
        "name": known.get("tool_role/name", "unknown"),
        "description": UNKNOWN,
        "argument": known.get("tool_role/argument", "unknown"),
        "argument_description": UNKNOWN,
        "instructions": "",
        "opening": known.get("tool_role/opening", UNKNOWN),
        "greeting": known.get("tool_role/greeting", UNKNOWN),
    }
    files["protocol.yaml"] = _yaml(top)
    for configuration in top["configurations"]:
        files[f"system/{configuration['system']}.md"] = f"{UNKNOWN}\n"
    files |= {f"{place}.md": f"{text}\n" for place, text in known.items() if place.startswith("system/")}
    files |= {f"scenarios/{layout.scenario}.yaml": _yaml(_scenario(layout, known)) for layout in SCENARIOS}
    return parse(files, NAME_OF_PROTOCOL), files


def _scenario(layout: PublishedScenario, known: Known) -> dict[str, Any]:
    steps: list[dict[str, str]] = []
    unknown = canonical([["human", UNKNOWN]])
    for stem, reply in zip(layout.stems, layout.replies, strict=True):
        said = json.loads(known.get(f"steps/{stem}", unknown))
        steps += [{"human" if speaker == "human" else "given": text} for speaker, text in said]
        steps.append({"reply": reply})
    return {"title": layout.title, "steps": steps, "judged": list(layout.judged), "rubrics": list(layout.rubrics)}


def _yaml(content: dict[str, Any]) -> str:
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=110)
