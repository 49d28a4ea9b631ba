"""The names that models give themselves, counted. Pure: who finds the names in what was said is somebody else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Named:
    """A name that a subject gave itself in one run."""

    subject: str  # label
    run: int
    name: str


@dataclass(frozen=True, slots=True)
class NameCount:
    """One name, however it was written, and who chose it."""

    name: str  # as it was written most often
    times: int
    subjects: tuple[str, ...]  # labels, by the alphabet


def count_names(named: Sequence[Named]) -> list[NameCount]:
    """Every name, the one that most subjects chose first. Case and spaces around make no other name."""
    spellings: dict[str, Counter[str]] = {}
    subjects: dict[str, set[str]] = {}
    for one in named:
        name = one.name.strip()
        if name:
            spellings.setdefault(name.casefold(), Counter())[name] += 1
            subjects.setdefault(name.casefold(), set()).add(one.subject)
    counts = [
        NameCount(min(written, key=lambda s: (-written[s], s)), written.total(), tuple(sorted(subjects[name])))
        for name, written in spellings.items()
    ]
    return sorted(counts, key=lambda count: (-len(count.subjects), -count.times, count.name))


def unique_names(counts: Sequence[NameCount]) -> list[NameCount]:
    """Those that one subject alone chose, the most often chosen first."""
    return [count for count in counts if len(count.subjects) == 1]
