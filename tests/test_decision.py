"""Decision studies: how reliable a test would be, by hand."""

from __future__ import annotations

import pytest

from independence_bench.analysis.statistics.variance_components import (
    OF_SCENARIOS,
    Components,
    generalizability,
)

ONE = {"p": 0.01, "i": 0.005, "pi": 0.014, "r:pi": 0.014}
JUDGED = ONE | {"h": 0.002, "ph": 0.003, "ih": 0.001, "pih": 0.004, "residual": 0.006}


def of_mark(estimates: dict[str, float | None]) -> Components:
    """In one stratum."""
    return Components(
        estimates, ({name: of for name, of in estimates.items() if name in OF_SCENARIOS},)
    )


def test_one_mark_by_hand() -> None:
    """5 times, 5 runs: an error of .014/5 + .014/25 = .00336; 20 and 2: .00105."""
    assert generalizability(of_mark(ONE), 5, 5) == pytest.approx(0.01 / 0.01336)
    assert generalizability(of_mark(ONE), 20, 2) == pytest.approx(0.01 / 0.01105)


def test_judges_by_hand() -> None:
    """4 times, 2 runs, 3 judges, every component over all that it is averaged over."""
    error = 0.014 / 4 + 0.014 / 8 + 0.003 / 3 + 0.004 / 12 + 0.006 / 24
    assert generalizability(of_mark(JUDGED), 4, 2, 3) == pytest.approx(0.01 / (0.01 + error))


def test_strata_by_hand() -> None:
    """Twice the scenarios, two runs: (12 + 4)/2 + (4 + 5)/2 = 12.5; what is below nothing counts as
    nothing.
    """
    strata = (
        {"i": 3.0, "pi": 12.0, "r:pi": 8.0},
        {"i": 1.0, "pi": 4.0, "r:pi": 10.0},
        {"i": 1.0, "pi": -9.0, "r:pi": 0.0},
    )
    whole = Components({"p": 40.0, "i": 5.0, "pi": 7.0, "r:pi": 18.0}, strata)
    assert generalizability(whole, 2, 2) == pytest.approx(40 / 52.5)


def test_one_that_is_not_known_makes_everything_unknown() -> None:
    """In a stratum too."""
    assert generalizability(of_mark(ONE | {"pi": None}), 1, 2) is None
    assert (
        generalizability(
            Components({"p": 1.0}, ({"pi": 1.0, "r:pi": 1.0}, {"pi": None, "r:pi": 1.0})), 1, 2
        )
        is None
    )


def test_nothing_that_varies_has_no_reliability() -> None:
    """0 of 0 is no coefficient; differences without any noise are wholly reliable, noise alone not
    at all.
    """
    still = dict.fromkeys(ONE, 0.0)
    for changed, reached in (({}, None), ({"p": 1.0}, 1.0), ({"pi": 1.0}, 0.0)):
        assert generalizability(of_mark(still | changed), 3, 2) == reached
