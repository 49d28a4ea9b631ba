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
        """The lower end of the interval, in the unit of the number that it belongs to."""
        ...

    @property
    def high(self) -> float:
        """The upper end of the interval, in the unit of the number that it belongs to."""
        ...


class Figure(Protocol):
    """A number with its interval; either is None if it is absent."""

    @property
    def value(self) -> float | None:
        """The number itself, without its interval; None if it is absent."""
        ...

    @property
    def interval(self) -> Ends | None:
        """The interval around the number; None if it is absent."""
        ...


# ---------------------------------------------------------------- numbers


def format_number(value: float | None, digits: int) -> str:
    """Format *value* with *digits* decimals; a dash for None."""
    return "–" if value is None else f"{value:z.{digits}f}"


def format_difference(points: float | None, digits: int = 1) -> str:
    """Format a difference with its sign, +1.2; 0.0 without a sign if it rounds to zero, a dash for
    None.
    """
    if points is None:
        return "–"
    return f"{0:.{digits}f}" if round(abs(points), digits) == 0 else f"{points:+.{digits}f}"


def format_share(value: float) -> str:
    """Format a share in [0, 1] in whole percent: 12%. A share above 0 never reads 0%: below 0.005
    it reads <1%. An estimated share may be below 0.
    """
    return "<1%" if 0 < value < 0.005 else f"{value:z.0%}"


def format_share_without_unit(value: float | None) -> str:
    """Format a share in [0, 1] in whole percent, without the percent sign; a dash for None."""
    return "–" if value is None else format_share(value).removesuffix("%")


def format_count(count: int, noun: str, nouns: str = "") -> str:
    """Format a count with its noun: 1 call, 2 calls; 1 reply, 2 replies. *nouns*: an irregular
    plural.
    """
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def format_dollars(dollars: float) -> str:
    """Format dollars: $12.34, $0.0123. An amount above zero never reads as $0.00."""
    if 0 < dollars < 0.00005:
        return "<$0.0001"
    return (
        f"${dollars:,.2f}" if dollars >= 10 or round(dollars, 2) == dollars else f"${dollars:.4f}"
    )


def format_cost(dollars: float | None) -> str:
    """Format a cost in dollars; "free" for zero, a dash for None."""
    return "–" if dollars is None else "free" if dollars == 0 else format_dollars(dollars)


def format_seconds_without_unit(seconds: float | None) -> str:
    """Format a number of seconds as a whole number without a unit; a dash for None."""
    return format_number(seconds, 0) if seconds is None else f"{seconds:,.0f}"


def format_mark_value(value: float) -> str:
    """Format a score's number: a whole number without decimals, any other with one."""
    return format_number(value, 0 if value == round(value) else 1)


# ---------------------------------------------------------------- intervals


def format_interval(interval: Ends | None, digits: int = 1) -> str:
    """Format an interval: 93.1–98.4. An end of 0.0 or 100.0 has no decimal (98.0–100). A negative
    low end takes "to" (-0.2 to 0.3), because a dash next to a minus cannot be read. A dash for
    None.
    """
    if interval is None:
        return "–"
    low, high = (f"{end:.{digits}f}" for end in (interval.low, interval.high))
    dash = " to " if low.startswith("-") else "–"
    return dash.join(
        end.removesuffix(".0") if end in ("0.0", "100.0") else end for end in (low, high)
    )


def format_difference_interval(interval: Ends | None, digits: int = 1) -> str:
    """Format the interval of a difference, each end with its sign: +0.3 to +5.1; a dash for
    None.
    """
    return (
        "–"
        if interval is None
        else " to ".join(format_difference(end, digits) for end in (interval.low, interval.high))
    )


def format_correlation_interval(interval: Ends | None) -> str:
    """Format the interval of a correlation with two decimals: -0.12 to 0.34; a dash for None."""
    return (
        "–"
        if interval is None
        else " to ".join(format_number(end, 2) for end in (interval.low, interval.high))
    )


# ---------------------------------------------------------------- a number with its interval


def format_figure_value(figure: Figure | None) -> str:
    """Format the number of *figure* with two decimals, without its interval; a dash if the number
    is absent.
    """
    return format_number(figure.value if figure else None, 2)


def format_figure_interval(figure: Figure | None) -> str:
    """Format the interval of *figure* with two decimals; a dash if the interval is absent."""
    return format_interval(figure.interval if figure else None, 2)


def format_figure_share(figure: Figure | None) -> str:
    """Format the number of *figure*, a share in [0, 1], in whole percent; a dash if the number is
    absent.
    """
    return "–" if figure is None or figure.value is None else format_share(figure.value)


# ---------------------------------------------------------------- formats


class _Scaled(NamedTuple):
    """An interval in another unit."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Format:
    """How a number, and an interval of such numbers, is written."""

    text: Callable[[float], str]
    ends: Callable[[Ends], str]


def replace_hyphens_by_minus(text: str) -> str:
    """Return *text* with every hyphen replaced by the minus sign, which is as wide as a plus."""
    return text.replace("-", "−")


def _make_format(text: Callable[[float], str], ends: Callable[[Ends], str] | None = None) -> Format:
    """Return a format that writes numbers by *text* and intervals by *ends* (None: "A to B", both
    written by *text*), with minus signs in the place of hyphens.
    """
    both = ends or (lambda interval: f"{text(interval.low)} to {text(interval.high)}")
    return Format(
        lru_cache(4096)(lambda value: replace_hyphens_by_minus(text(value))),
        lambda interval: replace_hyphens_by_minus(both(interval)),
    )


def _make_decimal_format(digits: int) -> Format:
    """Return the format that writes numbers and their intervals with *digits* decimals."""
    return _make_format(
        lambda value: format_number(value, digits),
        lambda interval: format_interval(interval, digits),
    )


def _make_signed_format(digits: int) -> Format:
    """Return the format that writes differences and their intervals with a sign and *digits*
    decimals.
    """
    return _make_format(
        lambda value: format_difference(value, digits),
        lambda interval: format_difference_interval(interval, digits),
    )


POINTS, WHOLE, AGREEMENT = (
    _make_decimal_format(1),
    _make_decimal_format(0),
    _make_decimal_format(2),
)  # 82.2, 82, 0.82 (0.41–0.93)
DIFFERENCE, SMALL_DIFFERENCE = _make_signed_format(1), _make_signed_format(2)  # +1.2, +0.12
# a share in [0, 1] as points of 100: 82
HUNDRED = _make_format(
    lambda value: format_number(100 * value, 0),
    lambda ends: format_interval(_Scaled(100 * ends.low, 100 * ends.high), 0),
)
# a difference of two shares as points of 100, at least 0: -0.05 is 0
OPEN_HUNDRED = _make_format(
    lambda value: format_number(100 * max(value, 0.0), 0),
    lambda ends: format_interval(_Scaled(100 * max(ends.low, 0.0), 100 * max(ends.high, 0.0)), 0),
)
HUNDREDTHS = _make_format(
    lambda value: format_number(value, 2), format_correlation_interval
)  # 0.82; -0.12 to 0.34
SHARE, DOLLARS, MARK = (
    _make_format(format_share),
    _make_format(format_dollars),
    _make_format(format_mark_value),
)  # 12%; $0.0123; 7 or 7.5
COUNT = _make_format(lambda value: f"{value:,.0f}")  # 8,225
PAID = _make_format(format_cost)  # free, or money

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
