"""Scores, their scales and subjects' labels as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from independence_bench.figures import format_mark_value, format_number
from independence_bench.protocol.definition import Mark

_TEMPERATURE = re.compile(r"-t([0-9.]+|unset)$")


def format_mark(mark: Mark, value: float | None) -> str:
    """Format the score *value* of *mark*: "yes" or "no", the name of its level, or the number with
    its scale; a dash if *value* is None.
    """
    if value is None:
        return format_number(None, 1)
    if mark.kind == "yes_no":
        return "yes" if value else "no"
    return (
        mark.levels[int(value)]
        if mark.levels
        else f"{format_mark_value(value)} (scale {format_scale(mark)})"
    )


def format_scale(mark: Mark) -> str:
    """Format the scale of the score *mark*: its levels with their numbers, "yes = 1", or
    "low-high".
    """
    if mark.levels:
        return ", ".join(f"{level} = {number}" for number, level in enumerate(mark.levels))
    return "yes = 1" if mark.kind == "yes_no" else f"{mark.low:g}-{mark.high:g}"


def find_shared_ends(labels: set[str]) -> tuple[str, str]:
    """Return the beginning (endpoint and vendor) and the end (settings or temperature) that all
    model *labels* share; "" for either if none is shared, or if there is only one label.
    """
    if len(labels) < 2:
        return "", ""
    names = [label.partition("@")[0] for label in labels]
    lowest, highest = min(names), max(names)  # what these two begin with, all do
    alike = next((at for at, (a, b) in enumerate(zip(lowest, highest, strict=False)) if a != b), 0)
    begun = re.match(r".*[/:]", lowest[:alike], re.DOTALL)
    settings = {label.partition("@")[2] for label in labels}
    if len(settings) == 1:
        return begun[0] if begun else "", f"@{settings.pop()}" if all(
            "@" in label for label in labels
        ) else ""
    ends = {found[0] if (found := _TEMPERATURE.search(label)) else "" for label in labels}
    return begun[0] if begun else "", ends.pop() if len(ends) == 1 else ""


def shorten_names(labels: Sequence[str]) -> list[str]:
    """Return the model *labels* without the beginning and the end that all of them share; unchanged
    if a label would become empty or equal to another one.
    """
    first, last = find_shared_ends(set(labels))
    short = [label.removeprefix(first).removesuffix(last) for label in labels]
    return short if all(short) and len(set(short)) == len(short) else list(labels)


def name_models(labels: Iterable[str]) -> dict[str, str]:
    """Return a name for each of *labels*: the label without its pinned provider and its settings
    (what follows + and @). A part that tells two labels apart stays: the provider if two labels
    differ in nothing else before the @, and the settings if two differ in nothing else.
    """
    every = sorted(set(labels))
    names: dict[str, str] = {}
    for form in (_drop_provider_and_settings, _drop_settings, str):
        counted = Counter(form(label) for label in every)
        for label in every:
            if counted[form(label)] == 1:
                names.setdefault(label, form(label))
    return names


def _drop_settings(label: str) -> str:
    """Return *label* without what follows its first @."""
    return label.partition("@")[0]


def _drop_provider_and_settings(label: str) -> str:
    """Return *label* without what follows its first @, and without a provider before it."""
    return _drop_settings(label).partition("+")[0]
