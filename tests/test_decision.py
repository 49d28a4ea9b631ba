"""Decision studies: how reliable a test would be, by hand."""

from __future__ import annotations

import pytest
from known import known

from independence_bench.analysis.statistics.variance_components import Sources, generalizability, sources_of

ONE = {"p": 0.01, "i": 0.005, "pi": 0.014, "r:pi": 0.014}
JUDGED = ONE | {"h": 0.002, "ph": 0.003, "ih": 0.001, "pih": 0.004, "residual": 0.006}
TWO = Sources({"p": 40.0}, ({"i": 3.0, "pi": 12.0, "r:pi": 8.0}, {"i": 1.0, "pi": 4.0, "r:pi": 10.0}))


def test_one_mark_by_hand() -> None:
    """5 scenarios, 5 runs: an error of .014/5 + .014/25 = .00336; 20 and 2: .00105."""
    sources = known(sources_of(ONE))

    assert generalizability(sources, [5], 5) == pytest.approx(0.01 / 0.01336)
    assert generalizability(sources, [20], 2) == pytest.approx(0.01 / 0.01105)


def test_judges_by_hand() -> None:
    """4 scenarios, 2 runs, 3 judges, every component over all that it is averaged over."""
    sources = known(sources_of(JUDGED))

    error = 0.014 / 4 + 0.014 / 8 + 0.003 / 3 + 0.004 / 12 + 0.006 / 24
    assert generalizability(sources, [4], 2, 3) == pytest.approx(0.01 / (0.01 + error))


def test_strata_by_hand() -> None:
    """Twice the first stratum's scenarios, the second's as they are, two runs: 6 + 2 + 4 + 5 = 17."""
    assert generalizability(TWO, [2, 1], 2) == pytest.approx(40 / 57)


def test_what_was_estimated_below_nothing_counts_as_nothing() -> None:
    """And one that is not known makes everything unknown, in a stratum too."""
    sources = known(sources_of(ONE | {"i": -0.001}))
    assert sources.within[0]["i"] == 0
    assert sources_of(ONE | {"pi": None}) is None
    assert sources_of({"p": 1.0, "pi": None}, [{"i": 1.0, "pi": 1.0, "r:pi": 1.0}, {"i": None}]) is None


def test_nothing_that_varies_has_no_reliability() -> None:
    """0 of 0 is no coefficient; differences without any noise are wholly reliable, noise alone not at all."""
    still = dict.fromkeys(ONE, 0.0)
    for changed, reached in (({}, None), ({"p": 1.0}, 1.0), ({"pi": 1.0}, 0.0)):
        sources = known(sources_of(still | changed))
        assert generalizability(sources, [3], 2) == reached
