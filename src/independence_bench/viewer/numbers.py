"""Numbers as the page shows them: made into text once, here, as Python's `round` does; the page rounds nothing.

A type of `shapes` that is made of one of the names below (`Points`, `Share`, ...) is sent as a number, to sort and draw
by, and under *shown* as text. Which digits a number has is decided by its type, so it has the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from independence_bench.report.format import money, signed

Worded = str | None | list["Worded"] | dict[str, "Worded"]


@dataclass(frozen=True, slots=True)
class Form:
    """How a number is written."""

    text: Callable[[float], str]


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


Points = Annotated[float, Form(lambda value: minus(f"{value:.1f}"))]  # 82.2
Whole = Annotated[float, Form(lambda value: minus(f"{value:.0f}"))]  # 82
Hundredths = Annotated[float, Form(lambda value: minus(f"{value:.2f}"))]  # 0.82
Difference = Annotated[float, Form(lambda value: minus(signed(value)))]  # +1.2
SmallDifference = Annotated[float, Form(lambda value: minus(signed(value, 2)))]  # +0.12
Share = Annotated[float, Form(share)]  # 12 %
Dollars = Annotated[float, Form(money)]  # $0.0123
Thousands = Annotated[float, Form(lambda value: f"{value:,.0f}")]  # 8,225
Given = Annotated[float, Form(mark)]  # 7; 7.5


def form_of(hint: Any) -> Form | None:
    """How the numbers in a field of this type are written; None where it has none that are."""
    if get_origin(hint) is Annotated:
        return next((part for part in get_args(hint)[1:] if isinstance(part, Form)), None)
    return next((found for part in get_args(hint) if (found := form_of(part))), None)


def forms_of(shape: type) -> dict[str, Form]:
    """Field -> how it is written, of a dataclass; without those that are not."""
    hints = get_type_hints(shape, include_extras=True)
    return {name: form for name, hint in hints.items() if (form := form_of(hint))}


def worded(value: Any, form: Form) -> Worded:
    """The numbers in *value* as text, wherever they stand in it."""
    if value is None:
        return None
    if isinstance(value, tuple | list):
        return [worded(one, form) for one in value]
    if isinstance(value, Mapping):
        return {name: worded(one, form) for name, one in value.items()}
    return form.text(float(value))
