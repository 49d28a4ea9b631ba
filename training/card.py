"""The part of a card that a script writes, between two markers of its own."""

from __future__ import annotations

from pathlib import Path


def with_section(path: Path, section: str, start: str, end: str) -> str:
    """The card at *path* with *section* between its two markers; ValueError where it lacks them."""
    before, found, rest = path.read_text(encoding="utf-8").partition(start)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{path} lacks the lines {start!r} and {end!r}; add them where the numbers belong")
    return f"{before}{start}\n\n{section}\n\n{end}{after}"


def rewrite(path: Path, section: str, start: str, end: str) -> None:
    """Put *section* between the card's two markers; ValueError where it lacks them, and nothing is written."""
    path.write_text(with_section(path, section, start, end), encoding="utf-8")
