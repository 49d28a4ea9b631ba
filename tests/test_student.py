"""Student's t: closed forms, printed tables, and another implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtr, stdtrit

from independence_bench.analysis.statistics.intervals import FAR, FEW, quantile, tail

# upper 2.5% and 0.5% points, as printed in Fisher and Yates, Statistical Tables, table III
TABLE = {
    1: (12.706, 63.657),
    2: (4.303, 9.925),
    4: (2.776, 4.604),
    10: (2.228, 3.169),
    30: (2.042, 2.750),
    120: (1.980, 2.617),
}


@pytest.mark.parametrize("degrees", TABLE)
def test_printed_tables(degrees: int) -> None:
    """The points of the printed table, to its three decimals."""
    assert np.round(quantile([0.975, 0.995], degrees), 3).tolist() == list(TABLE[degrees])


def test_one_degree_is_cauchy() -> None:
    """With one degree the tail beyond t is 1 - 2 arctan(t) / pi: beyond 1 lies a half."""
    t = np.array([0.0, 0.1, 1.0, 12.0, 1e6])
    assert tail(t, 1.0) == pytest.approx(1 - 2 * np.arctan(t) / np.pi, rel=1e-10, abs=1e-15)
    assert float(tail(1.0, 1.0)) == pytest.approx(0.5)


def test_two_degrees_have_a_closed_form() -> None:
    """With two degrees the tail beyond t is 1 - t / sqrt(2 + t^2), and its quantile turns that round."""
    t = np.array([0.5, 1.0, 3.0])
    shares = 1 - (1 - t / np.sqrt(2 + t * t)) / 2
    assert tail(t, 2.0) == pytest.approx(1 - t / np.sqrt(2 + t * t), rel=1e-12)
    assert quantile(shares, 2.0) == pytest.approx(t, rel=1e-12)


def test_both_sides_of_where_the_method_changes() -> None:
    """The fraction and the normal approximation meet: no step at the number of degrees that divides them."""
    t = np.array([0.3, 2.0, 6.0])
    border = FEW + FAR * t * t
    below, above = tail(t, border * (1 - 1e-12)), tail(t, border * (1 + 1e-12))
    assert above == pytest.approx(below, rel=2e-9)


def test_the_middle_and_its_sides() -> None:
    """Half of it lies below 0, and a share and its rest are equally far from there."""
    assert float(quantile(0.5, 3.0)) == 0.0
    assert quantile(0.1, [0.7, 5.0]) == pytest.approx(-quantile(0.9, [0.7, 5.0]), rel=1e-12)


def test_nothing_gives_nothing() -> None:
    """Arrays keep their shape, be it that of no numbers."""
    assert quantile(0.975, np.ones((0,))).shape == (0,)
    assert tail(np.ones((2, 1)), np.ones((1, 3))).shape == (2, 3)


@given(st.floats(1e-3, 30), st.floats(0.3, 1e8))
def test_tail_agrees_with_scipy(t: float, degrees: float) -> None:
    """To eight significant digits, at any degrees of freedom, down to chances that nobody would write down."""
    theirs = 2 * stdtr(degrees, -t)
    if theirs > 1e-60:
        assert float(tail(t, degrees)) == pytest.approx(theirs, rel=1e-8)


@given(st.floats(1e-6, 1 - 1e-6), st.floats(0.3, 1e8))
def test_quantile_agrees_with_scipy(share: float, degrees: float) -> None:
    """To eight significant digits; next to the middle, where the quantile itself vanishes, to as many decimals."""
    assert float(quantile(share, degrees)) == pytest.approx(stdtrit(degrees, share), rel=1e-8, abs=1e-8)
