"""What a benchmark prints: a table that fits 80 columns, and whether each target was met.

Knows nothing of what was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A promise about one number: it stays at or below *most*, both in *unit*."""

    about: str
    value: float
    most: float
    unit: str = ""

    @property
    def met(self) -> bool:
        """Whether the number keeps the promise; NaN keeps none."""
        return self.value <= self.most

    @property
    def line(self) -> str:
        """The promise and what became of it, in one line."""
        unit = f" {self.unit}" if self.unit else ""
        return (
            f"{'PASS' if self.met else 'OVER'}  {self.about}: {self.value:.3g}{unit} (at most "
            f"{self.most:g}{unit})"
        )


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """*rows* under *columns*: the first column to the left, the others to the right. No rows: the
    head alone.
    """
    cells = [tuple(columns), *(tuple(row) for row in rows)]
    widths = [max(len(row[number]) for row in cells) for number in range(len(columns))]
    lines = []
    for row in cells:
        first, *others = (
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join((first, *others)).rstrip())
    rule = "─" * max(len(line) for line in lines)
    return "\n".join((lines[0], rule, *lines[1:]))


def verdict(targets: Sequence[Target]) -> int:
    """Print what became of each target; the process's exit code: 0 where all are met, else 1."""
    for target in targets:
        print(target.line)
    return 0 if all(target.met for target in targets) else 1
