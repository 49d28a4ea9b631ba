"""A character's lorebook: texts that stand in the system prompt while what they are about is talked
of.

    system = lorebook.fill_prompt(prompt, [("human", "Who is Garrick?")])
        # what was said so far, the newest last

As front ends of character cards do it: an entry whose keys occur in one of the last messages is
inserted before or after the character's definition, where the prompt has ``{{wiBefore}}`` and
``{{wiAfter}}`` (else at its beginning and end). Entries do not wake each other, no chance is drawn
and no pattern is run. What is inserted follows from the messages alone, and a reply's key from what
was sent. The same frozen value in a file and in play; `read_lorebook` makes it of a character
card's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from independence_bench.yaml_io import OneLine, Strict, Text

CHARACTERS_A_TOKEN = 4
MOST_ENTRIES, MOST_KEYS, LONGEST_KEY, LONGEST_ENTRY = 500, 60, 200, 20_000
_MARK = re.compile(r"\n{0,2}\{\{wi(Before|After)\}\}\n{0,2}")
_Keys = Annotated[
    list[Annotated[OneLine, StringConstraints(max_length=LONGEST_KEY)]], Field(max_length=MOST_KEYS)
]


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

    def is_woken(self, said: str) -> bool:
        """Return whether this lorebook entry belongs into the system prompt after *said*, the
        latest messages: always if the entry is constant, else if one of its keys, and one of `also`
        if that has any, occurs in them.
        """
        text, keys, also = said, self.keys, self.also
        if not self.case_sensitive:
            text = said.casefold()
            keys, also = [key.casefold() for key in keys], [key.casefold() for key in also]
        woken = any(key in text for key in keys) and (not also or any(key in text for key in also))
        return self.constant or woken


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
        """Return all fields of this lorebook by name, for hashes: a change in any of them makes it
        another one.
        """
        return self.model_dump()

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


# ---------------------------------------------------------------- out of a character card


def read_lorebook(
    book: Mapping[str, Any], fill_macros: Callable[[str], str]
) -> tuple[dict[str, Any] | None, list[str]]:
    """Return (lorebook, remarks) of *book*, a character card's `character_book`: the lorebook as a
    dictionary for a sheet, or None if there is nothing to play, and remarks on what is not played.

    *fill_macros* fills in the macros of a text.
    """
    listed = book.get("entries")
    enabled = (
        [raw for raw in listed if isinstance(raw, dict) and raw.get("enabled") is not False]
        if isinstance(listed, list)
        else []
    )
    entries = [
        entry for raw in enabled[:MOST_ENTRIES] if (entry := _read_card_entry(raw, fill_macros))
    ]
    notes = []
    if gone := len(enabled) - len(entries):
        notes.append(
            f"lorebook: {gone} of {len(enabled)} entries have no text, no keys, or patterns as "
            "keys, and were left out"
        )
    if any(raw.get("extensions") for raw in enabled):
        notes.append("lorebook: depth, probability, sticky and groups (extensions) are not played")
    if book.get("recursive_scanning") is True:
        notes.append("lorebook: entries do not wake each other (recursive_scanning)")
    stated = {
        "scan_depth": _clamp_whole_number(book.get("scan_depth"), 0, 1000),
        "token_budget": _clamp_whole_number(book.get("token_budget"), 0),
    }
    stated = {key: value for key, value in stated.items() if value is not None}
    return ({**stated, "entries": entries} if entries else None), notes


def _read_card_entry(
    raw: Mapping[str, Any], fill_macros: Callable[[str], str]
) -> dict[str, Any] | None:
    """Return *raw*, a lorebook entry of a character card, as a dictionary for a sheet; None if it
    has no text, no keys, or patterns as keys. *fill_macros* fills in the macros of a text.
    """
    content, keys, constant = (
        raw.get("content"),
        _read_keys(raw.get("keys"), fill_macros),
        raw.get("constant") is True,
    )
    # lines that begin with @@ tell a front end where to put it (V3)
    lines = content.splitlines() if isinstance(content, str) else []
    text = fill_macros("\n".join(line for line in lines if not line.startswith("@@")))
    patterns = raw.get("use_regex") is True or any(key[0] == "/" and "/" in key[1:] for key in keys)
    if not 0 < len(text) <= LONGEST_ENTRY or not (constant or (keys and not patterns)):
        return None
    entry = {
        "keys": keys,
        "also": _read_keys(raw.get("secondary_keys"), fill_macros)
        if raw.get("selective") is True
        else [],
        "constant": constant,
        "case_sensitive": raw.get("case_sensitive") is True,
        "order": _clamp_whole_number(raw.get("insertion_order")),
        "priority": _clamp_whole_number(raw.get("priority")),
        "position": "after" if raw.get("position") == "after_char" else None,
        "text": text,
    }
    return {key: value for key, value in entry.items() if value not in (None, False, [])}


def _read_keys(raw: object, fill_macros: Callable[[str], str]) -> list[str]:
    """Return the texts in the list *raw*, keys of a lorebook entry, with macros filled in by
    *fill_macros*: at most `MOST_KEYS`, each of at most `LONGEST_KEY` characters; [] if there is no
    list.
    """
    texts = (
        [fill_macros(" ".join(key.split()))[:LONGEST_KEY] for key in raw if isinstance(key, str)]
        if isinstance(raw, list)
        else []
    )
    return [text for text in texts if text][:MOST_KEYS]


def _clamp_whole_number(raw: object, least: int = -(10**9), most: int = 10**9) -> int | None:
    """Return the whole number *raw*, raised to *least* or lowered to *most* if it lies outside of
    them; None if *raw* is no whole number.
    """
    return (
        min(max(raw, least), most) if isinstance(raw, int) and not isinstance(raw, bool) else None
    )
