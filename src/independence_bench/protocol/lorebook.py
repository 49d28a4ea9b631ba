"""A character's lorebook: texts that stand in the system prompt while what they are about is talked
of.

    system = lorebook.fill_prompt(prompt, [("human", "Who is Garrick?")])
        # what was said so far, the newest last

As front ends of character cards do it: an entry whose keys occur in one of the last messages is
inserted before or after the character's definition, where the prompt has ``{{wiBefore}}`` and
``{{wiAfter}}`` (else at its beginning and end). Entries do not wake each other, no chance is drawn
and no pattern is run. What is inserted follows from the messages alone, and a reply's key from what
was sent. The same frozen value in a file and in play. Knows nothing of cards.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from independence_bench.yaml_io import OneLine, Strict, Text

CHARACTERS_A_TOKEN = 4
MOST_ENTRIES, MOST_KEYS, LONGEST_KEY, LONGEST_ENTRY = 1000, 60, 200, 20_000
_MARK = re.compile(r"\n{0,2}\{\{wi(Before|After)\}\}\n{0,2}")
_Keys = Annotated[
    list[Annotated[OneLine, StringConstraints(max_length=LONGEST_KEY)]], Field(max_length=MOST_KEYS)
]


AlsoRule = Literal["any", "all", "not any", "not all"]


class Entry(Strict):
    """One text of a lorebook, and when it is inserted."""

    keys: _Keys = Field([], description="one of these has to occur in what is searched")
    also: _Keys = Field([], description="one of these has to occur, too")
    also_rule: AlsoRule = Field(
        "any", description="how many of `also` have to occur: one, all, none, or not all of them"
    )
    constant: bool = Field(False, description="always inserted")
    case_sensitive: bool = False
    whole_words: bool = Field(False, description="a key within a longer word does not count")
    order: int = Field(100, description="lower stands further up")
    priority: int | None = Field(None, description="lower is left out first; default: the order")
    position: Literal["before", "after"] = "before"
    text: Annotated[Text, StringConstraints(max_length=LONGEST_ENTRY)]

    def is_woken(self, said: str) -> bool:
        """Return whether this lorebook entry belongs into the system prompt after *said*, the
        latest messages: always if the entry is constant, else if one of its keys occurs in them,
        and those of `also` as `also_rule` says.
        """
        if self.constant:
            return True
        text = said if self.case_sensitive else said.casefold()
        if not any(self._occurs(key, text) for key in self.keys):
            return False
        if not self.also:
            return True
        there = (self._occurs(key, text) for key in self.also)
        if self.also_rule in ("any", "not any"):
            return any(there) == (self.also_rule == "any")
        return all(there) == (self.also_rule == "all")

    def _occurs(self, key: str, text: str) -> bool:
        """Return whether *key* occurs in *text*, which is casefolded unless case matters."""
        key = key if self.case_sensitive else key.casefold()
        if key not in text or not self.whole_words:
            return key in text
        return re.search(rf"(?<!\w){re.escape(key)}(?!\w)", text) is not None


_ADDED_LATER = {"also_rule": "any", "whole_words": False}


class Lorebook(Strict):
    """The key `lorebook` of protocol.yaml, and of a character's sheet."""

    scan_depth: int = Field(2, ge=0, le=1000, description="messages that are searched")
    token_budget: int | None = Field(
        None, ge=0, description="of all inserted entries, 4 characters to a token"
    )
    speakers: list[str] = Field(
        ["User", ""], min_length=2, max_length=2, description="human and character"
    )
    entries: list[Entry] = Field(min_length=1, max_length=MOST_ENTRIES)

    def make_file_form(self, name: str) -> dict[str, Any]:
        """Return this lorebook as a dictionary for a file, without default values; *name* is the
        character's name.
        """
        return self.model_dump(exclude_defaults=True) | {"speakers": ["User", name]}

    def causes(self) -> dict[str, Any]:
        """Return the fields of this lorebook by name, for hashes: a change in any of them makes it
        another one. A field of an entry that came later counts only if it is set.
        """
        whole = self.model_dump()
        for entry in whole["entries"]:
            for name, default in _ADDED_LATER.items():
                if entry[name] == default:
                    del entry[name]
        return whole

    def fill_prompt(self, prompt: str, messages: Sequence[tuple[str, str]]) -> str:
        """Return the system prompt *prompt* with those entries of this lorebook inserted whose keys
        occur in the last *messages*, as far as the token budget allows. A message is (speaker,
        text), its speaker "human" or "model".
        """
        last = messages[-self.scan_depth :] if self.scan_depth else ()
        # front ends search a message with its speaker's name before it
        said = "\n".join(f"{self.speakers[speaker == 'model']}: {text}" for speaker, text in last)
        awake = [entry for entry in self.entries if entry.is_woken(said)]
        awake.sort(
            key=lambda entry: entry.order if entry.priority is None else entry.priority,
            reverse=True,
        )
        taken, kept = 0, []
        for entry in awake:
            taken += -(-len(entry.text) // CHARACTERS_A_TOKEN)
            if self.token_budget is not None and taken > self.token_budget:
                break  # what matters less is not inserted in its place
            kept.append(entry)
        kept.sort(key=lambda entry: entry.order)
        before, after = (
            "\n".join(entry.text for entry in kept if entry.position == place)
            for place in ("before", "after")
        )
        marked = prompt if "{{wiBefore}}" in prompt else f"{{{{wiBefore}}}}\n\n{prompt}"
        marked = marked if "{{wiAfter}}" in marked else f"{marked}\n\n{{{{wiAfter}}}}"
        lore = {"Before": before, "After": after}
        return _MARK.sub(
            lambda mark: f"\n\n{lore[mark[1]]}\n\n" if lore[mark[1]] else "\n\n", marked
        ).strip()
