"""Numbers, money, counts and scales as text."""

from __future__ import annotations

from independence_bench.protocol.definition import Mark
from independence_bench.report import figures


def number(value: float | None, digits: int) -> str:
    """*value* with so many decimals; a dash for what is absent."""
    return "–" if value is None else f"{value:.{digits}f}"


def signed(points: float | None) -> str:
    """A difference with its sign, one decimal; a dash for what is absent."""
    return "–" if points is None else figures.signed(points)


def share(value: float) -> str:
    """A share in whole percent that is 0 % only when there is none at all."""
    return "0%" if value == 0 else "<1%" if value < 0.005 else f"{value:.0%}"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """1 call, 2 calls; 1 reply, 2 replies."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def money(dollars: float) -> str:
    """$12.34, $0.0123: enough digits that nothing that was spent reads as nothing."""
    if 0 < dollars < 0.00005:
        return "<$0.0001"
    return f"${dollars:,.2f}" if dollars >= 10 or round(dollars, 2) == dollars else f"${dollars:.4f}"


def scale(mark: Mark) -> str:
    """A mark's scale in a word."""
    return "yes = 1" if mark.kind == "yes_no" else f"{mark.low:g}-{mark.high:g}"
