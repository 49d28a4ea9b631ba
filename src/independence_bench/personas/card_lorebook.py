"""The lorebook of a character card -> that of a sheet, and what of it is not played.

    lorebook, notes = read_lorebook(fields.get("character_book"), filler.fill)

Reads the books of cards V2 and V3 and the world files of front ends: entries in a list or an
object, keys in a list or a text with commas, numbers and truth values also as texts. No pattern is
run, no chance is drawn: what such an entry needs is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from independence_bench.protocol.lorebook import (
    LONGEST_ENTRY,
    LONGEST_KEY,
    MOST_ENTRIES,
    MOST_KEYS,
    AlsoRule,
)

MOST_NAMED = 3  # entries in one note
LONGEST_LABEL = 40
MOST_CHARACTERS = 500_000  # of all entries
MOST_LOOKED_AT = 20_000  # entries of a file

Fill = Callable[[str], str]
# /drag(on|oon)/i, but neither 24/7 nor /help
_PATTERN = re.compile(r"\A/(?:[^/\\]|\\.)++/[dgimsuvy]*+")
_RULES: tuple[AlsoRule, ...] = ("any", "not all", "not any", "all")  # front ends number them
_BEFORE, _AFTER, _DEPTH, _OUTLET = 0, 1, 4, 7  # places in front ends
_UNPLAYED = {  # setting of an entry -> what of it is not played
    "sticky": "stays for some messages once it was inserted",
    "cooldown": "pauses after it was inserted",
    "delay": "waits for some messages",
    "group": "is one of a group, of which one is drawn",
    "scan_depth": "searches a number of messages of its own",
}


class _Notes:
    """Remarks on entries, one line for each kind of remark."""

    def __init__(self) -> None:
        self._of: dict[str, list[str]] = {}

    def add(self, says: str, label: str) -> None:
        """Note that the entry called *label* has the remark *says*."""
        self._of.setdefault(says, []).append(label)

    def lines(self) -> Iterator[str]:
        """Yield one line for each kind of remark, which names its first entries."""
        for says, labels in self._of.items():
            named = ", ".join(f"“{label}”" for label in labels[:MOST_NAMED])
            more = len(labels) - MOST_NAMED
            yield f"lorebook: {named}{f' and {more} more' if more > 0 else ''}: {says}"


def read_lorebook(book: object, fill: Fill) -> tuple[dict[str, Any] | None, list[str]]:
    """Return (lorebook, notes) of *book*, the `character_book` of a card: the lorebook as a
    dictionary for a sheet, or None if there is nothing to play, and what is not played as it
    stands. *fill* fills in the macros of a text.
    """
    if not isinstance(book, Mapping):
        unread = book not in (None, "", [], False)
        return None, (["lorebook: character_book is no lorebook and was left out"] * unread)
    listed = book.get("entries")
    raws = list(listed.values()) if isinstance(listed, Mapping) else listed
    if not isinstance(raws, list):
        unread = listed not in (None, "", False)
        return None, (["lorebook: its entries are no list and were left out"] * unread)
    notes = _Notes()
    entries: list[dict[str, Any]] = []
    size = 0
    for raw in raws[:MOST_LOOKED_AT]:
        if not isinstance(raw, Mapping) or not is_enabled(raw):
            continue
        label = _make_label(raw)
        entry = _read_entry(raw, label, notes, fill)
        if entry is None:
            continue
        size += len(entry["text"])
        if len(entries) == MOST_ENTRIES or size > MOST_CHARACTERS:
            says = (
                f"left out: more than {MOST_ENTRIES:,} entries, or {MOST_CHARACTERS:,} characters"
            )
            notes.add(says, label)
        else:
            entries.append(entry)
    lines = list(notes.lines())
    if len(raws) > MOST_LOOKED_AT:
        lines.append(f"lorebook: only the first {MOST_LOOKED_AT:,} of {len(raws):,} were looked at")
    if entries and read_truth(book.get("recursive_scanning")):
        lines.append("lorebook: entries do not wake each other (recursive_scanning)")
    stated = {
        "scan_depth": read_number(book.get("scan_depth"), 0, 1000),
        "token_budget": read_number(book.get("token_budget"), 0),
    }
    kept = {key: value for key, value in stated.items() if value is not None}
    return ({**kept, "entries": entries} if entries else None), lines


def is_enabled(raw: Mapping[str, Any]) -> bool:
    """Return whether the lorebook entry *raw* of a card is switched on, as it is if nothing says
    otherwise.
    """
    disabled = read_truth(raw.get("disable")) is True
    return not disabled and read_truth(raw.get("enabled")) is not False


def _read_entry(
    raw: Mapping[str, Any], label: str, notes: _Notes, fill: Fill
) -> dict[str, Any] | None:
    """Return *raw*, a lorebook entry of a card, as a dictionary for a sheet; None if it cannot be
    played. Everything that is not played as it stands is added to *notes* under *label*.
    """
    extensions = raw.get("extensions")
    more = extensions if isinstance(extensions, Mapping) else {}

    def find(*names: str) -> Any:
        """Return what the entry or its extensions have under the first of *names* that is there."""
        for name in names:
            for place in (more, raw):
                if place.get(name) is not None:
                    return place[name]
        return None

    content, marks = _split_decorators(raw.get("content"))
    text = fill(content)
    constant = read_truth(raw.get("constant")) is True or bool(marks & {"constant", "activate"})
    keys = _read_keys(_find_list(raw, "keys", "key"), label, notes, fill)
    keys, patterns = _split_patterns(keys, read_truth(raw.get("use_regex")) is True)
    also_keys = _read_keys(_find_list(raw, "secondary_keys", "keysecondary"), label, notes, fill)
    also, also_patterns = _split_patterns(also_keys, read_truth(raw.get("use_regex")) is True)
    # a world file without the switch has it on
    selective = read_truth(raw.get("selective"))
    selects = selective is True or (selective is None and "keysecondary" in raw)
    chance = read_number(find("probability"))
    drawn = (
        chance is not None and read_truth(find("useProbability", "use_probability")) is not False
    )
    why = ""
    if not text:
        why = "has no text, and was left out"
    elif len(text) > LONGEST_ENTRY:
        why = f"has more than {LONGEST_ENTRY:,} characters, and was left out; shorten it"
    elif "dont_activate" in marks:
        why = "is never inserted (@@dont_activate), and was left out"
    elif drawn and chance is not None and chance <= 0:
        why = "has a probability of 0, and was left out"
    elif read_number(find("position")) == _OUTLET:
        why = "stands where an outlet is, and was left out"
    elif read_truth(find("delay_until_recursion", "delayUntilRecursion")) or (
        (read_number(find("delay_until_recursion", "delayUntilRecursion")) or 0) > 0
    ):
        why = "is woken by other entries alone, and was left out"
    elif not constant and patterns and not keys:
        why = "has patterns as keys, which are not run, and was left out; write words"
    elif not constant and not keys:
        why = "has no keys, and was left out"
    elif selects and also_patterns and not constant:
        why = "has patterns as secondary keys, which are not run, and was left out; write words"
    if why:
        notes.add(why, label)
        return None
    if patterns and not constant:
        notes.add("its patterns are not run; only its words wake it", label)
    if drawn and chance is not None and chance < 100 and not constant:
        notes.add("no chance is drawn (probability): it is always inserted", label)
    for name, says in _UNPLAYED.items():
        given = find(name, {"scan_depth": "scanDepth"}.get(name, name))
        if given not in (None, False, 0, "", "0", [], {}):
            notes.add(f"not played: it {says} ({name})", label)
    for mark in sorted(marks - {"constant", "activate", "dont_activate"})[:MOST_NAMED]:
        notes.add(f"@@{mark[:LONGEST_LABEL]} is not followed", label)
    place = _read_position(raw, more, label, notes)
    number = read_number(find("selectiveLogic", "selective_logic")) or 0
    rule = _RULES[number] if 0 <= number < len(_RULES) else _RULES[0]
    entry = {
        "keys": keys,
        "also": also if selects and not constant else [],
        "also_rule": rule if selects and also and not constant and rule != "any" else None,
        "constant": constant,
        "case_sensitive": read_truth(find("case_sensitive", "caseSensitive")) is True,
        "whole_words": read_truth(find("match_whole_words", "matchWholeWords")) is True,
        "order": read_number(_first(raw, "insertion_order", "order")),
        "priority": read_number(raw.get("priority")),
        "position": "after" if place == _AFTER else None,
        "text": text,
    }
    return {key: value for key, value in entry.items() if value not in (None, False, [])}


def _read_position(
    raw: Mapping[str, Any], more: Mapping[str, Any], label: str, notes: _Notes
) -> int:
    """Return whether the entry *raw* stands before (0) or after (1) the definition. *more*: its
    extensions, which front ends believe first. Any other place is named in *notes*.
    """
    given = more.get("position")
    if given is None:
        given = raw.get("position")
    named = {"before_char": _BEFORE, "after_char": _AFTER, "": _BEFORE}
    place = named.get(given) if isinstance(given, str) else None
    if place is None:
        place = read_number(given)
    if place in (None, _BEFORE, _AFTER):
        return place or _BEFORE
    depth = read_number(more.get("depth", raw.get("depth")))
    at = f"at depth {depth}" if place == _DEPTH and depth is not None else "elsewhere"
    notes.add(f"stands after the definition; in a front end {at} (position {place})", label)
    return _AFTER


def _split_decorators(content: object) -> tuple[str, set[str]]:
    """Return (*content*, the text of an entry, without the lines at its head that begin with @@;
    the names in those lines). ("", nothing) if *content* is no text.
    """
    lines = content.splitlines() if isinstance(content, str) else []
    marks = {line.lstrip("@").split(" ", 1)[0].strip() for line in lines if line.startswith("@@")}
    return "\n".join(line for line in lines if not line.startswith("@@")), marks


def _split_patterns(keys: list[str], all_patterns: bool) -> tuple[list[str], list[str]]:
    """Return (the *keys* that are words, those that are patterns)."""
    patterns = [key for key in keys if all_patterns or _PATTERN.fullmatch(key)]
    return [key for key in keys if key not in patterns], patterns


def _find_list(raw: Mapping[str, Any], *names: str) -> object:
    """Return what *raw* has under the first of *names* with anything in it; None for nothing."""
    return next((raw[name] for name in names if raw.get(name) not in (None, "", [])), None)


def _first(raw: Mapping[str, Any], *names: str) -> object:
    return next((raw[name] for name in names if raw.get(name) is not None), None)


def _read_keys(given: object, label: str, notes: _Notes, fill: Fill) -> list[str]:
    """Return the keys of a lorebook entry with macros filled in: *given* is a list, or a text with
    commas between them. Keys that are too long or too many are named in *notes*.
    """
    listed = given if isinstance(given, list) else [given]
    texts: list[str] = []
    for one in listed[: 10 * MOST_KEYS]:
        if isinstance(one, bool) or not isinstance(one, str | int | float):
            continue
        text = " ".join(str(one).split())
        if "," in text and not _PATTERN.fullmatch(text):
            if isinstance(given, list):
                notes.add("has a key with commas in it, read as several keys", label)
            texts += text.split(",")
        else:
            texts.append(text)
    keys = list(dict.fromkeys(filter(None, (" ".join(fill(text).split()) for text in texts))))
    if any(len(key) > LONGEST_KEY for key in keys):
        notes.add(f"keys of more than {LONGEST_KEY} characters were left out", label)
        keys = [key for key in keys if len(key) <= LONGEST_KEY]
    if len(keys) > MOST_KEYS:
        notes.add(f"has {len(keys)} keys; the first {MOST_KEYS} are played", label)
    return keys[:MOST_KEYS]


def _make_label(raw: Mapping[str, Any]) -> str:
    """Return what a note calls the entry *raw*: its title, first key or text, shortened."""
    keys = _find_list(raw, "keys", "key")
    first = keys[0] if isinstance(keys, list) and keys else keys
    for given in (raw.get("name"), raw.get("comment"), first, raw.get("content")):
        text = " ".join(str(given)[:400].split()) if isinstance(given, str | int) else ""
        if text:
            return text if len(text) <= LONGEST_LABEL else f"{text[:LONGEST_LABEL]}…"
    return "an entry without a name"


def read_truth(given: object) -> bool | None:
    """Return the truth value *given*, also as a number or a text; None if it is none."""
    if isinstance(given, str):
        given = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(
            given.strip().lower()
        )
    return bool(given) if isinstance(given, int) and given in (0, 1) else None


def read_number(given: object, least: int = -(10**9), most: int = 10**9) -> int | None:
    """Return the whole number *given*, also as a text, raised to *least* or lowered to *most*; None
    if it is none.
    """
    if isinstance(given, str) and re.fullmatch(r"\s*-?\d{1,12}\s*", given):
        given = int(given)
    if isinstance(given, float) and abs(given) < 1e12:
        given = int(given)
    if isinstance(given, bool) or not isinstance(given, int):
        return None
    return min(max(given, least), most)
