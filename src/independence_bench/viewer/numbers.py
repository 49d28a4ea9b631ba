"""Numbers as the page shows them: made into text once, here, as Python's `round` does; the page rounds nothing.

A field that is made of one of the names below (`Points`, `Share`, ...), or that `views.py` gives one of their forms, is
sent as a number, to sort and draw by, and under *shown* as text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from independence_bench.analysis.statistics.intervals import Interval
from independence_bench.analysis.uncertainty import Uncertainty
from independence_bench.report.format import between, from_to, money, signed

Worded = str | None | list["Worded"] | dict[str, "Worded"]


@dataclass(frozen=True, slots=True)
class Form:
    """How a number is written, and how the two ends of an interval of it are."""

    text: Callable[[float], str]
    ends: Callable[[Interval], str]


def share(value: float) -> str:
    """A share in [0, 1] as per cent: 12 %; 0.4 %, <0.1 %, for a small one is not none."""
    percent = 100 * value
    if percent == 0:
        return "0 %"
    return f"{percent:.0f} %" if percent >= 1 else "<0.1 %" if percent < 0.1 else f"{percent:.1f} %"


def mark(value: float) -> str:
    """A mark: a whole number without decimals, another one with one."""
    return f"{value:.0f}" if value.is_integer() else f"{value:.1f}"


def minus(text: str) -> str:
    """With the sign that is as wide as a plus."""
    return text.replace("-", "−")


def _of(text: Callable[[float], str], ends: Callable[[Interval], str] | None = None) -> Form:
    both = ends or (lambda one: f"{text(one.low)} to {text(one.high)}")
    return Form(lambda value: minus(text(value)), lambda one: minus(both(one)))


def _decimals(digits: int) -> Form:
    return _of(lambda value: f"{value:.{digits}f}", lambda one: between(one, digits))


def _signed(digits: int) -> Form:
    return _of(lambda value: signed(value, digits), lambda one: from_to(one, digits))


POINTS, WHOLE, AGREEMENT = _decimals(1), _decimals(0), _decimals(2)  # 82.2, 82, 0.82
DIFFERENCE, WHOLE_DIFFERENCE, SMALL_DIFFERENCE = _signed(1), _signed(0), _signed(2)  # +1.2, +1, +0.12
HUNDREDTHS = _of(lambda value: f"{value:.2f}")  # 0.82; -0.12 to 0.34
SHARE, DOLLARS, MARK = _of(share), _of(money), _of(mark)  # 12 %; $0.0123; 7 or 7.5
THOUSANDS = _of(lambda value: f"{value:,.0f}")  # 8,225

Points = Annotated[float, POINTS]
Whole = Annotated[float, WHOLE]
SmallDifference = Annotated[float, SMALL_DIFFERENCE]
Difference = Annotated[float, DIFFERENCE]
Share = Annotated[float, SHARE]
Dollars = Annotated[float, DOLLARS]
GivenMark = Annotated[float, MARK]


@dataclass(frozen=True, slots=True)
class Score:
    """A number in [0, 100] with its uncertainty."""

    value: float | None
    uncertainty: Uncertainty
    why: str | None  # why an interval is missing; null where none is


def worded(value: Any, form: Form) -> Worded:
    """The numbers in *value* as text, wherever they stand in it; texts beside them stay."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, tuple | list):
        return [worded(one, form) for one in value]
    if isinstance(value, Mapping):
        return {str(name): worded(one, form) for name, one in value.items()}
    return form.text(float(value))
