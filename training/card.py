"""What a script writes of an embedded judge: its part of a card, between two markers, and its
tables as CSV files.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

TABLES = Path("docs/data")


def with_section(path: Path, section: str, start: str, end: str) -> str:
    """The card at *path* with *section* between its two markers; ValueError where it lacks them."""
    before, found, rest = path.read_text(encoding="utf-8").partition(start)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(
            f"{path} lacks the lines {start!r} and {end!r}; add them where the numbers belong"
        )
    return f"{before}{start}\n\n{section}\n\n{end}{after}"


def rewrite(path: Path, section: str, start: str, end: str) -> None:
    """Put *section* between the card's two markers; ValueError where it lacks them, and nothing is
    written.
    """
    path.write_text(with_section(path, section, start, end), encoding="utf-8")


def rewrite_with_tables(path: Path, section: str, start: str, end: str) -> None:
    """Put the sentences of *section* into the card, and each table under a heading into a CSV file
    named after it.
    """
    sentences = [line for line in section.splitlines() if line and not line.startswith(("#", "|"))]
    rewrite(path, "\n\n".join(sentences), start, end)
    for name, rows in tables(section):
        with (TABLES / f"embedded-{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


def tables(section: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Each table of a section, its header first, by the words of its heading before any bracket."""
    for part in re.split(r"^#+ ", section, flags=re.MULTILINE)[1:]:
        heading, *lines = part.splitlines()
        name = "-".join(re.findall(r"[a-z0-9]+", heading.partition("(")[0].lower()))
        rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
        yield name, rows
