"""Student's t: closed forms, printed tables, and another implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtr, stdtrit

from independence_bench.analysis.statistics.intervals import (
    FAR,
    FEW,
    compute_t_quantile,
    compute_two_sided_t_tail,
)


def test_both_sides_of_where_the_method_changes() -> None:
    """The fraction and the normal approximation meet: no step at the number of degrees that divides
    them.
    """
    t = np.array([0.3, 2.0, 6.0])
    border = FEW + FAR * t * t
    below, above = (
        compute_two_sided_t_tail(t, border * (1 - 1e-12)),
        compute_two_sided_t_tail(t, border * (1 + 1e-12)),
    )
    assert above == pytest.approx(below, rel=2e-9)


def test_nothing_gives_nothing() -> None:
    """Arrays keep their shape, be it that of no numbers."""
    assert compute_t_quantile(0.975, np.ones((0,))).shape == (0,)
    assert compute_two_sided_t_tail(np.ones((2, 1)), np.ones((1, 3))).shape == (2, 3)


@given(st.floats(1e-3, 30), st.floats(0.3, 1e8))
def test_tail_agrees_with_scipy(t: float, degrees: float) -> None:
    """To eight significant digits, at any degrees of freedom, down to chances that nobody would
    write down.
    """
    theirs = 2 * stdtr(degrees, -t)
    if theirs > 1e-60:
        assert float(compute_two_sided_t_tail(t, degrees)) == pytest.approx(theirs, rel=1e-8)


@given(st.floats(1e-6, 1 - 1e-6), st.floats(0.3, 1e8))
def test_quantile_agrees_with_scipy(share: float, degrees: float) -> None:
    """To eight significant digits; next to the middle, where the quantile itself vanishes, to as
    many decimals.
    """
    assert float(compute_t_quantile(share, degrees)) == pytest.approx(
        stdtrit(degrees, share), rel=1e-8, abs=1e-8
    )
