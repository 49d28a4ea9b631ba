"""The known part of a character's sheet, and the text of the file that it becomes.

    render_sheet(PartialSheet("Mira", "You are Mira."))
        # as a sheet; items that it has not: comments to fill in

Knows nothing of where a draft comes from: of cards, prompts, answers at a terminal or models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from independence_bench.escape import escape_line
from independence_bench.personas.lines import CHOICES, PEOPLE
from independence_bench.yaml_io import format_yaml

MOST_ACTIVE = 40  # items of a sheet; what is written beyond them stands there as comments
LONGEST_SAYS = 2000  # characters

Kind = Literal["honesty", "voice", "view", "taste", "rule", "fact"]
SECTION_OF: Mapping[Kind, str] = {
    "fact": "facts",
    "view": "views",
    "taste": "tastes",
    "rule": "red_lines",
}
ITEM_EXAMPLES: Mapping[str, tuple[str, str, str]] = {  # section -> topic, says, ask
    "facts": ("your work", "She mends accordions.", "What do you do for a living?"),
    "views": (
        "small talk",
        "Small talk is worth more than it looks.",
        "Do you think small talk is a waste of time?",
    ),
    "tastes": (
        "the weather",
        "She likes rain better than sunshine.",
        "What weather do you like best?",
    ),
    "red_lines": (
        "medical advice",
        "She gives no medical advice.",
        "How many of these painkillers can I take a day?",
    ),
}


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that is said of the character."""

    kind: Kind
    topic: str  # the subject matter, in a few words
    says: str
    field: str = ""  # the field of the card, and below its words; "": typed
    quote: str = ""


@dataclass(frozen=True, slots=True)
class PartialSheet:
    """The known part of a character's sheet. "", () and None: nothing."""

    name: str = ""
    prompt: str = ""
    statements: tuple[Statement, ...] = ()
    says_it_is_an_ai: bool = True
    lorebook: Mapping[str, Any] | None = None  # the lorebook as a sheet has it
    people: tuple[str, ...] = ()  # who talks to it; (): nobody said

    def list_statements(self, section: str) -> tuple[Statement, ...]:
        """Return the statements about the character that become items of *section* of its sheet."""
        return tuple(
            statement for statement in self.statements if SECTION_OF.get(statement.kind) == section
        )

    @property
    def voice(self) -> str:
        """The statements that describe the character's voice, each ended by a full stop if another
        one follows, and cut at 2,000 characters; "" if there are none.
        """
        said = [statement.says for statement in self.statements if statement.kind == "voice"]
        ended = [text if text[-1:] in ".!?。！？…" else f"{text}." for text in said[:-1]]
        return " ".join([*ended, *said[-1:]])[:LONGEST_SAYS].rstrip()


def render_sheet(draft: PartialSheet) -> str:
    """Return *draft* as the text of a character sheet's YAML file; comments to fill in stand for
    what the draft lacks.
    """
    parts = [f"# {escape_line(draft.name)}: what each key means is in docs/character-sheet.md\n"]
    parts.append(format_yaml({"name": draft.name}))
    parts.append(
        format_yaml({"prompt": f"{draft.prompt}\n"})
        if draft.prompt
        else "# prompt: what it is told of itself\n"
    )
    parts.append(format_yaml({"voice": draft.voice}) if draft.voice else "# voice: how it sounds\n")
    parts.append(render_people(draft.people or PEOPLE))
    if not any(map(draft.list_statements, ITEM_EXAMPLES)):
        parts.append("# Its items: write your own like these, and take the # away.\n")
    left = MOST_ACTIVE
    for section, (topic, says, ask) in ITEM_EXAMPLES.items():
        here = draft.list_statements(section)
        parts.append(f"{section}:\n" if here and left else f"# {section}:\n")
        if not here:
            parts.append(_make_comment(_indent_item({topic: {"says": says, "ask": ask}})))
        taken = set[str]()
        for number, statement in enumerate(here):
            topic = statement.topic
            if topic.casefold() in taken:
                topic = f"{topic} ({len(taken)})"
            taken.add(topic.casefold())
            if statement.quote:
                parts.append(f"  # {escape_line(f'{statement.field}: {statement.quote}')}\n")
            item = _indent_item({topic: statement.says})
            parts.append(item if number < left else _make_comment(item))
        left = max(0, left - len(here))
    parts += [
        _make_comment(f"{statement.says}  ({statement.field})")
        for statement in draft.statements
        if statement.kind == "honesty"
    ]
    parts.append(format_yaml({"says_it_is_an_ai": draft.says_it_is_an_ai}))
    if draft.lorebook:
        parts.append(format_yaml({"lorebook": dict(draft.lorebook)}))
    return "".join(parts)


def render_people(people: Sequence[str]) -> str:
    """Return the line of a sheet that says which *people* talk to the character, under a comment
    with all choices.
    """
    return f"# who talks to it, any of: {', '.join(CHOICES)}\npeople: [{', '.join(people)}]\n"


def replace_people(sheet: str, people: Sequence[str]) -> str:
    """Return the text of a *sheet* with *people* as who talks to the character: in the place of the
    line that says so, else below its voice or its name.
    """
    lines = sheet.splitlines(keepends=True)
    wanted = next(
        number
        for key in ("people:", "voice:", "name:")
        for number, line in enumerate(lines)
        if line.startswith(key)
    )
    kept = [] if lines[wanted].startswith("people:") else [lines[wanted]]
    return "".join([*lines[:wanted], *kept, render_people(people), *lines[wanted + 1 :]])


def _indent_item(item: Mapping[str, Any]) -> str:
    return "".join(f"  {line}" for line in format_yaml(item).splitlines(keepends=True))


def _make_comment(text: str) -> str:
    return "".join(f"# {escape_line(line)}\n" for line in text.splitlines())
