"""Numbers, intervals, money and counts as text, and the formats that a field of a value names.

    number(82.24, 1)        # 82.2; a dash for what is absent
    POINTS.text(82.24)      # the same, as the format of a field (`columns.Column`)

The one place that rounds for a reader: terminal, report and page write a number by these functions,
once, from the value itself, as `format` does (to the nearest). So it reads the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, NamedTuple, Protocol


class Ends(Protocol):
    """An interval, in the unit of its number."""

    @property
    def low(self) -> float:
        """Its lower end."""
        ...

    @property
    def high(self) -> float:
        """Its upper end."""
        ...


class Figure(Protocol):
    """A number with its interval; None for either where there is none."""

    @property
    def value(self) -> float | None:
        """The number."""
        ...

    @property
    def interval(self) -> Ends | None:
        """Its interval."""
        ...


# ---------------------------------------------------------------- numbers


def number(value: float | None, digits: int) -> str:
    """*value* with so many decimals."""
    return "–" if value is None else f"{value:z.{digits}f}"


def signed(points: float | None, digits: int = 1) -> str:
    """A difference with its sign; without one where it is shown as none."""
    if points is None:
        return "–"
    return f"{0:.{digits}f}" if round(abs(points), digits) == 0 else f"{points:+.{digits}f}"


def share(value: float) -> str:
    """A share in whole percent that is 0% only when there is none at all; one below 0 is an
    estimate's error.
    """
    return "<1%" if 0 < value < 0.005 else f"{value:z.0%}"


def percent(value: float | None) -> str:
    """A share in whole percent, without the sign."""
    return "–" if value is None else share(value).removesuffix("%")


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


def given(value: float) -> str:
    """A mark's number: a whole one without decimals, another one with one."""
    return number(value, 0 if value == round(value) else 1)


# ---------------------------------------------------------------- intervals


def between(interval: Ends | None, digits: int = 1) -> str:
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


def from_to(interval: Ends | None, digits: int = 1) -> str:
    """+0.3 to +5.1, of a difference."""
    return (
        "–"
        if interval is None
        else " to ".join(signed(end, digits) for end in (interval.low, interval.high))
    )


def span(interval: Ends | None) -> str:
    """From, to, of a correlation."""
    return (
        "–"
        if interval is None
        else " to ".join(number(end, 2) for end in (interval.low, interval.high))
    )


# ---------------------------------------------------------------- a number with its interval


def value_text(figure: Figure | None) -> str:
    """The number."""
    return number(figure.value if figure else None, 2)


def interval_text(figure: Figure | None) -> str:
    """Its interval."""
    return between(figure.interval if figure else None, 2)


def share_text(figure: Figure | None) -> str:
    """The number, which is a share, in whole percent."""
    return "–" if figure is None or figure.value is None else share(figure.value)


# ---------------------------------------------------------------- formats


class _Scaled(NamedTuple):
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Format:
    """How a number is written, and how the two ends of an interval of it are."""

    text: Callable[[float], str]
    ends: Callable[[Ends], str]


def minus(text: str) -> str:
    """With the sign that is as wide as a plus."""
    return text.replace("-", "−")


def _of(text: Callable[[float], str], ends: Callable[[Ends], str] | None = None) -> Format:
    both = ends or (lambda interval: f"{text(interval.low)} to {text(interval.high)}")
    return Format(
        lru_cache(4096)(lambda value: minus(text(value))), lambda interval: minus(both(interval))
    )


def _decimals(digits: int) -> Format:
    return _of(lambda value: number(value, digits), lambda interval: between(interval, digits))


def _signed(digits: int) -> Format:
    return _of(lambda value: signed(value, digits), lambda interval: from_to(interval, digits))


POINTS, WHOLE, AGREEMENT = _decimals(1), _decimals(0), _decimals(2)  # 82.2, 82, 0.82 (0.41–0.93)
DIFFERENCE, SMALL_DIFFERENCE = _signed(1), _signed(2)  # +1.2, +0.12
# a share in [0, 1] as points of 100: 82
HUNDRED = _of(
    lambda value: number(100 * value, 0),
    lambda ends: between(_Scaled(100 * ends.low, 100 * ends.high), 0),
)
HUNDREDTHS = _of(lambda value: number(value, 2), span)  # 0.82; -0.12 to 0.34
SHARE, DOLLARS, MARK = _of(share), _of(money), _of(given)  # 12%; $0.0123; 7 or 7.5
COUNT = _of(lambda value: f"{value:,.0f}")  # 8,225
PAID = _of(paid)  # free, or money

Points = Annotated[float, POINTS]
Whole = Annotated[float, WHOLE]
Agreement = Annotated[float, AGREEMENT]
Difference = Annotated[float, DIFFERENCE]
SmallDifference = Annotated[float, SMALL_DIFFERENCE]
Hundredths = Annotated[float, HUNDREDTHS]
Share = Annotated[float, SHARE]
Dollars = Annotated[float, DOLLARS]
Paid = Annotated[float, PAID]
GivenMark = Annotated[float, MARK]
Count = Annotated[float, COUNT]
