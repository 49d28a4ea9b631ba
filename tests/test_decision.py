"""Decision studies: how reliable a test would be, by hand, and the cheapest one that is reliable enough."""

from __future__ import annotations

from itertools import product

import pytest

from independence_bench.analysis.statistics.d_study import (
    JUDGES,
    MULTIPLES,
    RUNS,
    Sources,
    StratumPrice,
    cheapest,
    coefficients,
    option,
    sources_of,
)

ONE = {"p": 0.01, "i": 0.005, "pi": 0.014, "r:pi": 0.014}
JUDGED = ONE | {"h": 0.002, "ph": 0.003, "ih": 0.001, "pih": 0.004, "residual": 0.006}
TWO = Sources({"p": 40.0}, ({"i": 3.0, "pi": 12.0, "r:pi": 8.0}, {"i": 1.0, "pi": 4.0, "r:pi": 10.0}))
CHEAP = (StratumPrice(10, 5, 0.02, 0.005), StratumPrice(5, 5, 0.01, 0.005))


def test_one_mark_by_hand() -> None:
    """5 scenarios, 5 runs: errors .014/5 + .014/25 = .00336 and with difficulty .00436; 20 and 2: .00105, .0013."""
    sources = sources_of(ONE)
    assert sources is not None

    five, twenty = coefficients(sources, [5], 5), coefficients(sources, [20], 2)

    assert five.relative_error == pytest.approx(0.00336)
    assert five.relative == pytest.approx(0.01 / 0.01336)
    assert five.absolute == pytest.approx(0.01 / 0.01436)
    assert five.repeated == pytest.approx(0.0128 / 0.01336), "what is a scenario's own comes back with it"
    assert twenty.relative == pytest.approx(0.01 / 0.01105)
    assert twenty.absolute == pytest.approx(0.01 / 0.0113)


def test_judges_by_hand() -> None:
    """4 scenarios, 2 runs, 3 judges, every component over all that it is averaged over."""
    sources = sources_of(JUDGED)
    assert sources is not None

    found = coefficients(sources, [4], 2, 3)

    relative = 0.014 / 4 + 0.014 / 8 + 0.003 / 3 + 0.004 / 12 + 0.006 / 24
    assert found.relative_error == pytest.approx(relative)
    assert found.absolute_error == pytest.approx(relative + 0.005 / 4 + 0.002 / 3 + 0.001 / 12)


def test_strata_by_hand() -> None:
    """Twice the first stratum's scenarios, the second's as they are, two runs: 6 + 2 + 4 + 5 = 17, and 1.5 + 1."""
    found = coefficients(TWO, [2, 1], 2)
    assert found.relative_error == pytest.approx(17)
    assert found.absolute_error == pytest.approx(19.5)
    assert found.relative == pytest.approx(40 / 57)


def test_what_was_estimated_below_nothing_counts_as_nothing() -> None:
    """And one that is not known makes everything unknown, in a stratum too."""
    sources = sources_of(ONE | {"i": -0.001})
    assert sources is not None
    assert sources.within[0]["i"] == 0
    assert sources_of(ONE | {"pi": None}) is None
    assert sources_of({"p": 1.0, "pi": None}, [{"i": 1.0, "pi": 1.0, "r:pi": 1.0}, {"i": None}]) is None


def test_nothing_that_varies_has_no_reliability() -> None:
    """0 of 0 is no coefficient; differences without any noise are wholly reliable, noise alone not at all."""
    still = dict.fromkeys(ONE, 0.0)
    for changed, relative in (({}, None), ({"p": 1.0}, 1.0), ({"pi": 1.0}, 0.0)):
        sources = sources_of(still | changed)
        assert sources is not None
        assert coefficients(sources, [3], 2).relative == relative


def test_what_a_test_takes() -> None:
    """Two runs, twice the first scenarios, two judges: 4 x (10 + 2 x 5) + 2 x (5 + 2 x 5) = 110 calls."""
    found = option(TWO, CHEAP, [2, 1], 2, 2)
    assert found.calls == 110
    assert found.dollars == pytest.approx(4 * 0.03 + 2 * 0.02)
    unknown = (StratumPrice(10, 5, 0.02, 0.005), StratumPrice(5, 5, None, 0.005))
    assert option(TWO, unknown, [1, 1], 1, 1).dollars is None


@pytest.mark.parametrize(
    "prices", [CHEAP, (StratumPrice(10, 5, None, None), StratumPrice(5, 5, None, None))], ids=["usd", "calls"]
)
@pytest.mark.parametrize("target", [0.6, 0.8, 0.9])
def test_the_cheapest_is_the_cheapest_of_all(prices: tuple[StratumPrice, ...], target: float) -> None:
    """Compared with every combination there is, one after the other; with judges, too."""
    judged = Sources(
        TWO.between | {"h": 1.0, "ph": 6.0},
        tuple(dict(of) | {"ih": 0.5, "pih": 2.0, "residual": 3.0} for of in TWO.within),
    )
    for sources, judges in ((TWO, JUDGES[:1]), (judged, JUDGES)):
        every = [
            option(sources, prices, multiples, runs, number)
            for multiples, runs, number in product(product(MULTIPLES, repeat=2), RUNS, judges)
        ]
        enough = [one for one in every if (one.coefficients.relative or 0) >= target]

        best = cheapest(sources, prices, target)[0]

        least = min(one.calls if one.dollars is None else one.dollars for one in enough)
        assert (best.calls if best.dollars is None else best.dollars) == pytest.approx(least)
        assert (best.coefficients.relative or 0) >= target


def test_alternatives_are_no_more_of_the_same() -> None:
    """One for each number of runs, cheapest first, and none that has all of another one and more."""
    found = cheapest(TWO, CHEAP, 0.7)
    assert len({one.runs for one in found}) == len(found) > 1
    assert [one.dollars for one in found] == sorted(one.dollars or 0 for one in found)
    for one, other in product(found, repeat=2):
        sizes = [(*of.multiples, of.runs, of.judges) for of in (one, other)]
        assert one is other or any(a < b for a, b in zip(*sizes, strict=True))


def test_what_cannot_be_reached_has_no_cheapest() -> None:
    """Subjects who do not differ, or a target beyond all combinations."""
    assert cheapest(TWO, CHEAP, 0.999) == []
    assert cheapest(Sources({"p": 0.0}, TWO.within), CHEAP, 0.1) == []


def test_many_strata_share_one_multiple() -> None:
    """Five of them apart would be seven to the fifth combinations."""
    many = Sources({"p": 20.0}, ({"i": 0.0, "pi": 4.0, "r:pi": 4.0},) * 5)
    found = cheapest(many, [StratumPrice(1, 1, None, None)] * 5, 0.8)
    assert {len(set(one.multiples)) for one in found} == {1}
