"""Equations as values: built of a few kinds of parts, and said in a line of text. The page draws them.

A text among the parts is what it looks like: a number, a sign, a letter or the name of a function, or words where it
has a space. Knows nothing of what the equations are about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

SPACED = frozenset("=+−×∈≤≥∓±/…")  # signs that have a space on either side
SIGNS = SPACED | frozenset("(),")
OVERLINE = "\u0304"


@dataclass(frozen=True, slots=True)
class Expression:
    """A piece of an equation. What a *kind* has as *parts*, in this order; what has no parts has a *text*.

    name, words, number, sign: a text. row: what stands side by side. fraction: above, below. root: inside.
    power: base, exponent. index: base, index. mean: what has a line above it. sum: what is added up, what over (or from
    where), and up to where.
    """

    kind: Literal["name", "words", "number", "sign", "row", "fraction", "root", "power", "index", "mean", "sum"]
    text: str
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Equation:
    """One equation: to be read out or copied, and to be drawn."""

    text: str
    shown: Expression


@dataclass(frozen=True, slots=True)
class Letter:
    """What a letter of an equation stands for."""

    text: str
    shown: Expression
    means: str


Part = Expression | str


def equation(*parts: Part) -> Equation:
    """One line: *parts* side by side."""
    shown = row(*parts)
    return Equation(said(shown), shown)


def letter(part: Part, means: str) -> Letter:
    """What *part* stands for."""
    shown = _part(part)
    return Letter(said(shown), shown, means)


def row(*parts: Part) -> Expression:
    """*parts* side by side."""
    return Expression("row", "", tuple(map(_part, parts)))


def brackets(*parts: Part) -> Expression:
    """*parts* side by side, in brackets."""
    return row("(", *parts, ")")


def fraction(above: Part, below: Part) -> Expression:
    """*above* over *below*."""
    return Expression("fraction", "", (_part(above), _part(below)))


def root(inside: Part) -> Expression:
    """The square root of *inside*."""
    return Expression("root", "", (_part(inside),))


def squared(base: Part) -> Expression:
    """The square of *base*."""
    return Expression("power", "", (_part(base), _part("2")))


def indexed(base: Part, *index: Part) -> Expression:
    """*base* with what is written below it on its right."""
    return Expression("index", "", (_part(base), row(*index) if len(index) > 1 else _part(index[0])))


def mean(base: Part) -> Expression:
    """*base* with a line above it."""
    return Expression("mean", "", (_part(base),))


def total(over: Part, what: Part, to: Part | None = None) -> Expression:
    """The sum of *what* over everything that *over* says, or from there up *to*."""
    bounds = (_part(over),) if to is None else (_part(over), _part(to))
    return Expression("sum", "", (_part(what), *bounds))


def said(one: Expression) -> str:
    """The same in a line of text, for ears and for letters: ``D_d = 100 × (sum over m of x_m) / n``."""
    parts = [said(part) for part in one.parts]
    match one.kind:
        case "row":
            return _line(one.parts)
        case "fraction":
            return f"{_whole(one.parts[0])} / {_whole(one.parts[1])}"
        case "root":
            return f"√({parts[0]})"
        case "power":
            return f"{_whole(one.parts[0])}²" if parts[1] == "2" else f"{_whole(one.parts[0])}^{_whole(one.parts[1])}"
        case "index":
            return f"{parts[0]}_{parts[1]}" if len(parts[1]) == 1 else f"{parts[0]}_{{{parts[1]}}}"
        case "mean":
            return f"{parts[0]}{OVERLINE}"
        case "sum":
            bounds = f"over {parts[1]}" if len(parts) == 2 else f"from {parts[1]} to {parts[2]}"
            return f"sum {bounds} of {parts[0]}"
        case _:
            return one.text


def _part(part: Part) -> Expression:
    if isinstance(part, Expression):
        return part
    if part in SIGNS:
        return Expression("sign", part, ())
    if part.replace(".", "", 1).isdigit():
        return Expression("number", part, ())
    return Expression("words" if " " in part else "name", part, ())


def _line(parts: Sequence[Expression]) -> str:
    line = ""
    for before, part, after in zip((None, *parts), parts, (*parts[1:], None), strict=False):
        if before is not None and part.kind == "sum" and before.kind != "sign":
            line += " ×"
        if before is not None and _apart(before, part):
            line += " "
        line += f"({said(part)})" if _runs_on(part, after) else said(part)
    return line


def _apart(before: Expression, part: Expression) -> bool:
    """Whether a space stands between two neighbours."""
    if part.text in SPACED or before.text in (*SPACED, ","):
        return True
    is_function = before.kind == "name" and len(before.text) > 1
    return before.text != "(" and part.text not in (")", ",") and not (is_function and _opens(part))


def _runs_on(part: Expression, after: Expression | None) -> bool:
    """Whether what stands behind *part* would seem to belong to the end of it."""
    if after is None or after.text == ")":
        return False
    return part.kind == "sum" or (part.kind == "fraction" and after.kind != "sign")


def _opens(part: Expression) -> bool:
    return part.text == "(" or (part.kind == "row" and _opens(part.parts[0]))


def _whole(part: Expression) -> str:
    """*part* so that what stands before or behind it takes nothing of it away."""
    text = said(part)
    return f"({text})" if " " in text and not _opens(part) else text
