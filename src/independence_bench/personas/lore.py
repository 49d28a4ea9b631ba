"""The lorebook of a character card -> the key `lorebook` of a sheet, and what of it is not played."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from independence_bench.protocol.lorebook import LONGEST_ENTRY, LONGEST_KEY, MOST_ENTRIES, MOST_KEYS


def read_lorebook(book: Mapping[str, Any], plain: Callable[[str], str]) -> tuple[dict[str, Any] | None, list[str]]:
    """*book*, a card's `character_book`, as a sheet has it (None: nothing to play), and remarks.

    *plain*: a text with its macros filled in, as a sheet can have it.
    """
    listed = book.get("entries")
    enabled = (
        [raw for raw in listed if isinstance(raw, dict) and raw.get("enabled") is not False]
        if isinstance(listed, list)
        else []
    )
    entries = [entry for raw in enabled[:MOST_ENTRIES] if (entry := _entry(raw, plain))]
    notes = []
    if gone := len(enabled) - len(entries):
        notes.append(
            f"lorebook: {gone} of {len(enabled)} entries have no text, no keys, or patterns as keys, and were left out"
        )
    if any(raw.get("extensions") for raw in enabled):
        notes.append("lorebook: depth, probability, sticky and groups (extensions) are not played")
    if book.get("recursive_scanning") is True:
        notes.append("lorebook: entries do not wake each other (recursive_scanning)")
    stated = {
        "scan_depth": _number(book.get("scan_depth"), 0, 1000),
        "token_budget": _number(book.get("token_budget"), 0),
    }
    stated = {key: value for key, value in stated.items() if value is not None}
    return ({**stated, "entries": entries} if entries else None), notes


def _entry(raw: Mapping[str, Any], plain: Callable[[str], str]) -> dict[str, Any] | None:
    content, keys, constant = raw.get("content"), _keys(raw.get("keys"), plain), raw.get("constant") is True
    # lines that begin with @@ tell a front end where to put it (V3)
    lines = content.splitlines() if isinstance(content, str) else []
    text = plain("\n".join(line for line in lines if not line.startswith("@@")))
    patterns = raw.get("use_regex") is True or any(key[0] == "/" and "/" in key[1:] for key in keys)
    if not 0 < len(text) <= LONGEST_ENTRY or not (constant or (keys and not patterns)):
        return None
    entry = {
        "keys": keys,
        "also": _keys(raw.get("secondary_keys"), plain) if raw.get("selective") is True else [],
        "constant": constant,
        "case_sensitive": raw.get("case_sensitive") is True,
        "order": _number(raw.get("insertion_order")),
        "priority": _number(raw.get("priority")),
        "position": "after" if raw.get("position") == "after_char" else None,
        "text": text,
    }
    return {key: value for key, value in entry.items() if value not in (None, False, [])}


def _keys(raw: object, plain: Callable[[str], str]) -> list[str]:
    texts = (
        [plain(" ".join(key.split()))[:LONGEST_KEY] for key in raw if isinstance(key, str)]
        if isinstance(raw, list)
        else []
    )
    return [text for text in texts if text][:MOST_KEYS]


def _number(raw: object, least: int = -(10**9), most: int = 10**9) -> int | None:
    return min(max(raw, least), most) if isinstance(raw, int) and not isinstance(raw, bool) else None
