"""The equations of the methods: each of them is drawn whole, and they are what the code computes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from mathml import PARTS, drawn

from independence_bench.analysis.statistics.intervals import score_limits
from independence_bench.viewer.methods import MathElement, read_terms

LEAVES = {"mi", "mn", "mo", "mtext"}


def inside(one: MathElement) -> Iterator[MathElement]:
    """*one* and everything in it."""
    yield one
    for part in one.parts:
        yield from inside(part)


@pytest.mark.parametrize("text", ["{a", r"\frac{a}", "a }", r"\unknown{a}"])
def test_what_is_no_equation_is_refused(text: str) -> None:
    """Something is missing, or is too much."""
    with pytest.raises(ValueError, match=r"missing|not whole"):
        drawn(text)


def test_every_equation_of_the_methods_is_drawn_whole() -> None:
    """Each element has its parts, and what has no parts has a text."""
    found = [one.shown for term in read_terms() for one in (*term.equations, *term.where)]

    assert len(found) > 40
    for one in (part for shown in found for part in inside(shown)):
        assert len(one.parts) == PARTS.get(one.name, len(one.parts))
        assert bool(one.text) is (one.name in LEAVES)
        assert not set(one.text) & set("\\{}_^")


def test_every_letter_that_is_explained_stands_in_an_equation() -> None:
    """A letter whose equation has gone would explain nothing."""
    for term in read_terms():
        equations = " ".join(equation.tex for equation in term.equations)
        for letter in term.where:
            for one in re.split(r", (?![^{]*})", letter.tex):
                assert one in equations, (term.name, one)


def test_two_equations_of_a_term_are_two() -> None:
    """The page tells them apart by their TeX."""
    for term in read_terms():
        written = [equation.tex for equation in term.equations]
        assert len(set(written)) == len(written)


def test_the_limits_that_are_shown_are_those_that_are_computed() -> None:
    """Worked by hand: q = 0.8, t = 2, φ = 0.08, R = 2, so k = 4 × 0.04 = 0.16.

    2q + k = 1.76; k² + 4kq(1 − q) = 0.0256 + 0.1024 = 0.128, its root 0.35777; over 2 (1 + k) =
    2.32: 0.6044, 0.9128.
    """
    low, high = score_limits(0.8, 0.08 / 2, 2.0)

    assert (round(float(low), 4), round(float(high), 4)) == (0.6044, 0.9128)
    (term,) = [one for one in read_terms() if one.name == "Interval: the same test again"]
    assert [equation.tex for equation in term.equations[:2]] == [
        r"{\text{low}, \text{high}} = \frac{2 q + k \mp \sqrt{k^2 + 4 k q (1 - q)}}{2 (1 + k)}",
        r"k = \frac{t^2 \varphi}{R}",
    ]
