"""What the words and numbers of the viewer mean, read from glossary.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from independence_bench.viewer.math import Equation, Letter, equation, letter


@dataclass(frozen=True, slots=True)
class Term:
    """What a word or a number means, in plain words, with the equations that it is made by."""

    name: str
    text: str
    equations: tuple[Equation, ...]
    where: tuple[Letter, ...]  # the letters in them


@cache
def read_terms() -> tuple[Term, ...]:
    """Every term, in the order of the page."""
    text = Path(__file__).with_name("glossary.yaml").read_text(encoding="utf-8")
    listed = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    return tuple(
        Term(
            one["name"],
            one["text"],
            tuple(map(equation, one.get("equations", ()))),
            tuple(letter(*pair) for pair in one.get("where", {}).items()),
        )
        for one in listed
    )
