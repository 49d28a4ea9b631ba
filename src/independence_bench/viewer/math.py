"""Equations as values: read from a line of text as TeX has it, and said in words. The page draws them.

    x_m  x_{m, t}  x^2  \\bar{x}  \\frac{above}{below}  \\sqrt{inside}  \\sum_{over}{what}  \\sum_{from}^{to}{what}

Braces hold together what stands side by side, brackets are shown and do so, too, and words stand in quotation marks.
Knows nothing of what the equations are about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

SPACED = frozenset("=+−×∈≤≥∓±/…")  # signs that have a space on either side
SIGNS = SPACED | frozenset("(),")
OVERLINE = "\u0304"
_TOKEN = re.compile(r"\\[a-z]+|\"[^\"]+\"|\d+(?:\.\d+)?|[^\W\d_]+′?|\S")


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


def equation(text: str) -> Equation:
    """One line. Raises ValueError for a text that is none."""
    shown = parse(text)
    return Equation(said(shown), shown)


def letter(text: str, means: str) -> Letter:
    """What *text* stands for."""
    shown = parse(text)
    return Letter(said(shown), shown, means)


def parse(text: str) -> Expression:
    """*text* as a value: several parts side by side are a row."""
    return _row(_parts(_TOKEN.findall(text)[::-1], ""))  # the next token last


def _row(parts: tuple[Expression, ...]) -> Expression:
    return parts[0] if len(parts) == 1 else Expression("row", "", parts)


def _parts(tokens: list[str], end: str) -> tuple[Expression, ...]:
    """Everything up to *end*, which is taken away."""
    parts = []
    while tokens and tokens[-1] != end:
        parts.append(_part(tokens))
    if end:
        if not tokens:
            raise ValueError(f"{end} is missing")
        tokens.pop()
    return tuple(parts)


def _part(tokens: list[str]) -> Expression:
    """The next part, with what is written on its right above and below."""
    part = _group(tokens)
    while tokens and tokens[-1] in ("_", "^"):
        kind: Literal["index", "power"] = "index" if tokens.pop() == "_" else "power"
        part = Expression(kind, "", (part, _group(tokens)))
    return part


def _group(tokens: list[str]) -> Expression:
    """The next part alone."""
    if not tokens:
        raise ValueError("something is missing at the end")
    match token := tokens.pop():
        case "{":
            return _row(_parts(tokens, "}"))
        case "(":
            opened, closed = (Expression("sign", bracket, ()) for bracket in "()")
            return Expression("row", "", (opened, *_parts(tokens, ")"), closed))
        case r"\frac":
            return Expression("fraction", "", (_group(tokens), _group(tokens)))
        case r"\sqrt":
            return Expression("root", "", (_group(tokens),))
        case r"\bar":
            return Expression("mean", "", (_group(tokens),))
        case r"\sum":
            bounds = []
            while tokens and tokens[-1] in ("_", "^"):
                tokens.pop()
                bounds.append(_group(tokens))
            return Expression("sum", "", (_group(tokens), *bounds))
        case _ if token in SIGNS:
            return Expression("sign", token, ())
        case _ if token[0].isdigit():
            return Expression("number", token, ())
        case _ if token[0] == '"':
            return Expression("words", token[1:-1], ())
        case _ if token[0].isalpha():
            return Expression("name", token, ())
    raise ValueError(f"{token} cannot stand here")


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
