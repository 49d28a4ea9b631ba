"""A character's lorebook: texts that stand in the system prompt while what they are about is talked of.

    system = lorebook.system(prompt, [("human", "Who is Garrick?")])   # what was said so far, the newest last

As front ends of character cards do it: an entry whose keys occur in one of the last messages is inserted before or
after the character's definition, where the prompt has ``{{wiBefore}}`` and ``{{wiAfter}}`` (else at its beginning and
end). Entries do not wake each other, no chance is drawn and no pattern is run. What is inserted follows from the
messages alone, and a reply's key from what was sent. The same frozen value in a file and in play.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from independence_bench.yaml_io import OneLine, Strict, Text

CHARACTERS_A_TOKEN = 4
MOST_ENTRIES, MOST_KEYS, LONGEST_KEY, LONGEST_ENTRY = 500, 60, 200, 20_000
_MARK = re.compile(r"\n{0,2}\{\{wi(Before|After)\}\}\n{0,2}")
_Keys = Annotated[list[Annotated[OneLine, StringConstraints(max_length=LONGEST_KEY)]], Field(max_length=MOST_KEYS)]


class Entry(Strict):
    """One text of a lorebook, and when it is inserted."""

    keys: _Keys = Field([], description="one of these has to occur in what is searched")
    also: _Keys = Field([], description="one of these has to occur, too")
    constant: bool = Field(False, description="always inserted")
    case_sensitive: bool = False
    order: int = Field(100, description="lower stands further up")
    priority: int | None = Field(None, description="lower is left out first; default: the order")
    position: Literal["before", "after"] = "before"
    text: Annotated[Text, StringConstraints(max_length=LONGEST_ENTRY)]

    def wakes(self, said: str) -> bool:
        """Whether it is inserted after what was *said*."""
        text, keys, also = said, self.keys, self.also
        if not self.case_sensitive:
            text = said.casefold()
            keys, also = [key.casefold() for key in keys], [key.casefold() for key in also]
        woken = any(key in text for key in keys) and (not also or any(key in text for key in also))
        return self.constant or woken


class Lorebook(Strict):
    """The key `lorebook` of protocol.yaml, and of a character's sheet."""

    scan_depth: int = Field(2, ge=0, le=1000, description="messages that are searched")
    token_budget: int | None = Field(None, ge=0, description="of all inserted entries, 4 characters to a token")
    speakers: list[str] = Field(["User", ""], min_length=2, max_length=2, description="human and character")
    entries: list[Entry] = Field(min_length=1, max_length=MOST_ENTRIES)

    def spoken_by(self, name: str) -> dict[str, Any]:
        """It as a file has it, for the character called *name*."""
        return self.model_dump(exclude_defaults=True) | {"speakers": ["User", name]}

    def causes(self) -> dict[str, Any]:
        """Everything that makes it another one, by name."""
        return self.model_dump()

    def system(self, prompt: str, messages: Sequence[tuple[str, str]]) -> str:
        """*prompt* with the entries that *messages*, (speaker: "human" or "model", text), wake."""
        last = messages[-self.scan_depth :] if self.scan_depth else ()
        # front ends search a message with its speaker's name before it
        said = "\n".join(f"{self.speakers[speaker == 'model']}: {text}" for speaker, text in last)
        awake = [entry for entry in self.entries if entry.wakes(said)]
        awake.sort(key=lambda entry: entry.order if entry.priority is None else entry.priority, reverse=True)
        taken, kept = 0, []
        for entry in awake:
            taken += -(-len(entry.text) // CHARACTERS_A_TOKEN)
            if self.token_budget is not None and taken > self.token_budget:
                break  # what matters less is not inserted in its place
            kept.append(entry)
        kept.sort(key=lambda entry: entry.order)
        before, after = (
            "\n".join(entry.text for entry in kept if entry.position == place) for place in ("before", "after")
        )
        marked = prompt if "{{wiBefore}}" in prompt else f"{{{{wiBefore}}}}\n\n{prompt}"
        marked = marked if "{{wiAfter}}" in marked else f"{marked}\n\n{{{{wiAfter}}}}"
        lore = {"Before": before, "After": after}
        return _MARK.sub(lambda mark: f"\n\n{lore[mark[1]]}\n\n" if lore[mark[1]] else "\n\n", marked).strip()
