"""Equations: every part is said in a line that means the same, and those of the methods are what the code computes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from independence_bench.analysis.statistics.intervals import score_limits
from independence_bench.viewer.math import Expression, equation, letter, parse
from independence_bench.viewer.methods import read_terms

PARTS = {"row": (1, 99), "fraction": (2, 2), "root": (1, 1), "power": (2, 2), "index": (2, 2), "mean": (1, 1),
         "sum": (2, 3)}  # fmt: skip


def inside(one: Expression) -> Iterator[Expression]:
    """*one* and everything in it."""
    yield one
    for part in one.parts:
        yield from inside(part)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"\frac{a}{b}", "a / b"),
        (r"\frac{a + b}{2 c}", "(a + b) / (2 c)"),
        (r'\frac{"points had"}{n}', "(points had) / n"),
        (r"1 − \frac{a}{b}", "1 − a / b"),
        (r"\frac{a}{b} c", "(a / b) c"),
        (r"\frac{1}{n} \sum_i{x}", "(1 / n) × sum over i of x"),
        (r"\sum_g^k{x} − 1", "(sum from g to k of x) − 1"),
        (r"\sqrt{a + b}", "√(a + b)"),
        ("t^2", "t²"),
        ("(a − b)^2", "(a − b)²"),
        ("x_m", "x_m"),
        ("x_{m, t}", "x_{m, t}"),
        ("u_i^2", "u_i²"),
        ("cor(a, b)", "cor(a, b)"),
        ("k q (1 − q)", "k q (1 − q)"),
        (r"\bar{x}_m", "x̄_m"),
    ],
)
def test_a_line_of_text_means_the_same(written: str, text: str) -> None:
    """What is drawn above, below or beside needs brackets, and only then."""
    assert equation(written).text == text


def test_a_text_is_what_it_looks_like() -> None:
    """Numbers stand upright, letters slant, signs have room, words stay words."""
    kinds = [part.kind for part in parse('2 0.05 q low = "points had" φ').parts]

    assert kinds == ["number", "number", "name", "name", "sign", "words", "name"]


@pytest.mark.parametrize("text", ["{a", "(a + b", r"\\frac{a}", "a }", r"\\unknown{a}", "x_"])
def test_what_is_no_equation_is_refused(text: str) -> None:
    """Something is missing, or is too much."""
    with pytest.raises(ValueError, match=r".+"):
        parse(text)


def test_every_equation_of_the_methods_can_be_drawn() -> None:
    """Each kind has the parts that the page draws, and what has no parts has a text."""
    found = [one.shown for term in read_terms() for one in term.equations]
    found += [one.shown for term in read_terms() for one in term.where]

    assert len(found) > 40
    for one in (part for shown in found for part in inside(shown)):
        least, most = PARTS.get(one.kind, (0, 0))
        assert least <= len(one.parts) <= most
        assert bool(one.text) is (one.kind not in PARTS)


def test_every_letter_that_is_explained_stands_in_an_equation() -> None:
    """A letter whose equation has gone would explain nothing."""
    for term in read_terms():
        there = {part for one in term.equations for part in inside(one.shown)}
        for one in term.where:
            alone = one.shown.parts if one.shown.kind == "row" and one.shown not in there else (one.shown,)
            assert there.issuperset(part for part in alone if part.text != ","), (term.name, one.text)


def test_a_letter_is_said_like_an_equation() -> None:
    """What reads aloud has a name for it, too."""
    assert letter("w_d", "weight").text == "w_d"


def test_two_equations_of_a_term_are_two() -> None:
    """The page tells them apart by their text."""
    for term in read_terms():
        texts = [one.text for one in term.equations]
        assert len(set(texts)) == len(texts)


def test_the_limits_that_are_shown_are_those_that_are_computed() -> None:
    """Worked by hand: q = 0.8, t = 2, φ = 0.08, R = 2, so k = 4 × 0.04 = 0.16.

    2q + k = 1.76; k² + 4kq(1 − q) = 0.0256 + 0.1024 = 0.128, its root 0.35777; over 2 (1 + k) = 2.32: 0.6044, 0.9128.
    """
    low, high = score_limits(0.8, 0.08 / 2, 2.0)

    assert (round(float(low), 4), round(float(high), 4)) == (0.6044, 0.9128)
    (term,) = [one for one in read_terms() if one.name == "Interval: the same test again"]
    assert [one.text for one in term.equations[:2]] == [
        "low, high = (2 q + k ∓ √(k² + 4 k q (1 − q))) / (2 (1 + k))",
        "k = (t² φ) / R",
    ]
