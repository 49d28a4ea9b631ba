"""Numbers, intervals, money, counts and scales as text; a dash for what is absent.

The one place that rounds for a reader: terminal, report and page (`encode.py`) write a number by
these functions, once, from the value itself, as `format` does (to the nearest). So it reads the
same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from independence_bench.protocol.definition import Mark

# every command writes numbers, and few compute any: numpy is not loaded for the others
if TYPE_CHECKING:
    from independence_bench.analysis.results import ReasoningTokens
    from independence_bench.analysis.statistics.values import Interval

_TEMPERATURE = re.compile(r"-t([0-9.]+|unset)$")


class Figure(Protocol):
    """A number with its interval; None for either where there is none."""

    @property
    def value(self) -> float | None:
        """The number."""
        ...

    @property
    def interval(self) -> Interval | None:
        """Its interval."""
        ...


def number(value: float | None, digits: int) -> str:
    """*value* with so many decimals."""
    return "–" if value is None else f"{value:z.{digits}f}"


def signed(points: float | None, digits: int = 1) -> str:
    """A difference with its sign; without one where it is shown as none."""
    if points is None:
        return "–"
    return f"{0:.{digits}f}" if round(abs(points), digits) == 0 else f"{points:+.{digits}f}"


def between(interval: Interval | None, digits: int = 1) -> str:
    """93.1–98.4; 98.0–100, for at an end no digit is needed; -0.2 to 0.3, for a dash next to a
    minus cannot be read.
    """
    if interval is None:
        return "–"
    low, high = (f"{end:.{digits}f}" for end in (interval.low, interval.high))
    dash = " to " if low.startswith("-") else "–"
    return dash.join(
        end.removesuffix(".0") if end in ("0.0", "100.0") else end for end in (low, high)
    )


def from_to(interval: Interval | None, digits: int = 1) -> str:
    """+0.3 to +5.1, of a difference."""
    return (
        "–"
        if interval is None
        else " to ".join(signed(end, digits) for end in (interval.low, interval.high))
    )


def span(interval: Interval | None) -> str:
    """From, to, of a correlation."""
    return (
        "–"
        if interval is None
        else " to ".join(number(end, 2) for end in (interval.low, interval.high))
    )


def percent(value: float | None) -> str:
    """A share in whole percent, without the sign."""
    return "–" if value is None else share(value).removesuffix("%")


def value_text(figure: Figure | None) -> str:
    """The number."""
    return number(figure.value if figure else None, 2)


def interval_text(figure: Figure | None) -> str:
    """Its interval."""
    return between(figure.interval if figure else None, 2)


def share_text(figure: Figure | None) -> str:
    """The number, which is a share, in whole percent."""
    return "–" if figure is None or figure.value is None else share(figure.value)


def share(value: float) -> str:
    """A share in whole percent that is 0% only when there is none at all; one below 0 is an
    estimate's error.
    """
    return "<1%" if 0 < value < 0.005 else f"{value:z.0%}"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """1 call, 2 calls; 1 reply, 2 replies."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def money(dollars: float) -> str:
    """$12.34, $0.0123: enough digits that nothing that was spent reads as nothing."""
    if 0 < dollars < 0.00005:
        return "<$0.0001"
    return (
        f"${dollars:,.2f}" if dollars >= 10 or round(dollars, 2) == dollars else f"${dollars:.4f}"
    )


def paid(dollars: float | None) -> str:
    """What something cost: free, or money."""
    return "–" if dollars is None else "free" if dollars == 0 else money(dollars)


def seconds_text(seconds: float | None) -> str:
    """Whole seconds."""
    return number(seconds, 0) if seconds is None else f"{seconds:,.0f}"


def tokens_text(tokens: ReasoningTokens | None) -> str:
    """412, or about 412 where some are estimated; below half of one, <1."""
    if tokens is None:
        return "–"
    count = "<1" if 0 < tokens.mean < 0.5 else f"{tokens.mean:,.0f}"
    return f"about {count}" if tokens.estimated else count


def given(value: float) -> str:
    """A mark's number: a whole one without decimals, another one with one."""
    return number(value, 0 if value == round(value) else 1)


def mark_text(mark: Mark, value: float | None) -> str:
    """A mark that was given: yes or no, its level's name, or the number with its scale; a dash for
    none.
    """
    if value is None:
        return number(None, 1)
    if mark.kind == "yes_no":
        return "yes" if value else "no"
    return mark.levels[int(value)] if mark.levels else f"{given(value)} (scale {scale(mark)})"


def scale(mark: Mark) -> str:
    """A mark's scale in a word."""
    if mark.levels:
        return ", ".join(f"{level} = {number}" for number, level in enumerate(mark.levels))
    return "yes = 1" if mark.kind == "yes_no" else f"{mark.low:g}-{mark.high:g}"


def shared(labels: set[str]) -> tuple[str, str]:
    """What all *labels* begin and end with: endpoint and vendor, and settings or temperature; ""
    for one alone.
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


def short_names(labels: Sequence[str]) -> list[str]:
    """*labels* without what all of them have in common, where that leaves each something of its
    own.
    """
    first, last = shared(set(labels))
    short = [label.removeprefix(first).removesuffix(last) for label in labels]
    return short if all(short) and len(set(short)) == len(short) else list(labels)
