"""Variance components: against a published table, mean squares by hand, and effects that were
planted.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from independence_bench.analysis.statistics.variance_components import (
    OF_SCENARIOS,
    ONE_JUDGE,
    SEVERAL_JUDGES,
    Components,
    jackknife,
    variance_components,
)

Floats = npt.NDArray[np.float64]

# D. C. Montgomery, Design and Analysis of Experiments: a gauge study, 20 parts x 3 operators x 2
# measurements, which is our design: subjects x scenarios, runs nested in both. A line is a part.
GAUGE = """
21 20 20 20 19 21  24 23 24 24 23 24  20 21 19 21 20 22  27 27 28 26 27 28  19 18 19 18 18 21
23 21 24 21 23 22  22 21 22 24 22 20  19 17 18 20 19 18  24 23 25 23 24 24  25 23 26 25 24 25
21 20 20 20 21 20  18 19 17 19 18 19  23 25 25 25 25 25  24 24 23 25 24 25  29 30 30 28 31 30
26 26 25 26 25 27  20 20 19 20 20 20  19 21 19 19 21 23  25 26 25 24 25 25  19 19 18 17 19 17
"""
PLANTED = {
    "p": 0.04, "i": 0.01, "pi": 0.02, "r:pi": 0.03, "h": 0.006, "ph": 0.01, "ih": 0.005, "pih": 0.008, "residual": 0.015
}  # fmt: skip


def gauge() -> Floats:
    """(20, 3, 2, 1)."""
    return np.array(GAUGE.split(), dtype=np.float64).reshape(20, 3, 2, 1)


def drawn(
    rng: np.random.Generator, subjects: int, scenarios: int, runs: int, judges: int
) -> Floats:
    """Marks with the planted variances; without those of judges where there is one."""
    p, i, r, h = subjects, scenarios, runs, judges
    shapes = {
        "p": (p, 1, 1, 1), "i": (1, i, 1, 1), "pi": (p, i, 1, 1), "r:pi": (p, i, r, 1),
        "h": (1, 1, 1, h), "ph": (p, 1, 1, h), "ih": (1, i, 1, h), "pih": (p, i, 1, h), "residual": (p, i, r, h),
    }  # fmt: skip
    marks = np.full((p, i, r, h), 0.5)
    for name, shape in shapes.items():
        if judges > 1 or name in ONE_JUDGE:
            marks = marks + np.sqrt(PLANTED[name]) * rng.standard_normal(shape)
    return marks


def with_holes(rng: np.random.Generator, marks: Floats) -> Floats:
    """One to all of the runs for each subject, and some runs of a conversation missing here and
    there.
    """
    holed = marks.copy()
    for subject in range(len(holed)):
        holed[subject, :, rng.integers(1, marks.shape[2] + 1) :] = np.nan
    missing = rng.random(marks.shape) < 0.07
    missing[:, :, 0] = False
    holed[missing] = np.nan
    return holed


def of_mark(marks: Floats) -> Components:
    """Those of one scenario's mark."""
    scenarios = marks.shape[1]
    return variance_components(marks, [1 / scenarios] * scenarios, [0] * scenarios).of_one_scenario(
        scenarios
    )


def test_a_published_analysis_of_variance() -> None:
    """Mean squares 62.391, 1.308, 0.712, 0.992: (62.391 - 0.712)/6 = 10.28, (1.308 - 0.712)/40 =
    0.0149, (0.712 - 0.992)/2 = -0.14 and 0.9917. The negative one is shown as 0.
    """
    found = of_mark(gauge())

    assert found.estimates == {
        "p": pytest.approx((1185.425 / 19 - 27.05 / 38) / 6),
        "i": pytest.approx((2.616667 / 2 - 27.05 / 38) / 40, rel=1e-5),
        "pi": pytest.approx((27.05 / 38 - 59.5 / 60) / 2),
        "r:pi": pytest.approx(59.5 / 60),
    }
    assert found.estimates["pi"] == pytest.approx(-0.14, abs=0.001)
    assert found.shown["pi"] == 0.0
    assert found.shares["p"] == pytest.approx(10.2798 / (10.2798 + 0.0149 + 0.9917), rel=1e-4)


def test_balanced_judges_are_an_analysis_of_variance() -> None:
    """All nine mean squares by their definitions, and the components from their expectations
    (Brennan 2001, 3.4).
    """
    p, i, r, h = 7, 4, 3, 2
    marks = np.random.default_rng(5).random((p, i, r, h))

    def effect(*axes: int) -> Floats:
        """The mean over all other axes, less everything that is made of fewer of these."""
        mean = marks.mean(axis=tuple(axis for axis in range(4) if axis not in axes), keepdims=True)
        below = [some for size in range(len(axes)) for some in combinations(axes, size)]
        return mean - sum((effect(*some) for some in below), np.zeros(1))

    def mean_square(freedom: int, *effects: Floats) -> float:
        return (
            sum(float(np.sum(np.broadcast_to(one, marks.shape) ** 2)) for one in effects) / freedom
        )

    ms = {
        "p": mean_square(p - 1, effect(0)),
        "i": mean_square(i - 1, effect(1)),
        "h": mean_square(h - 1, effect(3)),
        "pi": mean_square((p - 1) * (i - 1), effect(0, 1)),
        "ph": mean_square((p - 1) * (h - 1), effect(0, 3)),
        "ih": mean_square((i - 1) * (h - 1), effect(1, 3)),
        "pih": mean_square((p - 1) * (i - 1) * (h - 1), effect(0, 1, 3)),
        "r:pi": mean_square(
            p * i * (r - 1), effect(2), effect(0, 2), effect(1, 2), effect(0, 1, 2)
        ),
        "residual": mean_square(
            p * i * (r - 1) * (h - 1),
            effect(2, 3),
            effect(0, 2, 3),
            effect(1, 2, 3),
            effect(0, 1, 2, 3),
        ),
    }
    expected = {
        "p": (ms["p"] - ms["pi"] - ms["ph"] + ms["pih"]) / (i * r * h),
        "i": (ms["i"] - ms["pi"] - ms["ih"] + ms["pih"]) / (p * r * h),
        "pi": (ms["pi"] - ms["r:pi"] - ms["pih"] + ms["residual"]) / (r * h),
        "r:pi": (ms["r:pi"] - ms["residual"]) / h,
        "h": (ms["h"] - ms["ph"] - ms["ih"] + ms["pih"]) / (p * i * r),
        "ph": (ms["ph"] - ms["pih"]) / (i * r),
        "ih": (ms["ih"] - ms["pih"]) / (p * r),
        "pih": (ms["pih"] - ms["residual"]) / r,
        "residual": ms["residual"],
    }
    assert of_mark(marks).estimates == {
        name: pytest.approx(expected[name]) for name in SEVERAL_JUDGES
    }


@pytest.mark.torture
@pytest.mark.parametrize("judges", [1, 3])
@pytest.mark.parametrize("holes", [False, True], ids=["balanced", "with holes"])
def test_what_was_planted_is_found(judges: int, holes: bool) -> None:
    """The mean of 800 estimates is within a tenth of every variance, whoever was played how often."""
    rng = np.random.default_rng(20260701)
    found: dict[str, list[float]] = {}
    for _ in range(800):
        marks = drawn(rng, 16, 6, 4, judges)
        for name, value in of_mark(with_holes(rng, marks) if holes else marks).estimates.items():
            assert value is not None
            found.setdefault(name, []).append(value)

    assert {name: float(np.mean(values)) for name, values in found.items()} == {
        name: pytest.approx(PLANTED[name], rel=0.1) for name in found
    }


@pytest.mark.torture
def test_standard_errors_are_what_estimates_vary_by() -> None:
    """Over 400 draws of other subjects and scenarios the jackknife's is on average within 15% of
    the true one.
    """
    rng = np.random.default_rng(3)
    draws = [of_mark(drawn(rng, 40, 6, 3, 1)) for _ in range(400)]

    for name in ("p", "pi", "r:pi"):
        true = float(np.std([draw.estimates[name] for draw in draws], ddof=1))
        told = [error for draw in draws if (error := draw.errors[name]) is not None]
        assert np.sqrt(np.mean(np.square(told))) == pytest.approx(true, rel=0.15)
    assert draws[0].errors["i"] is None, "other scenarios would move it, not other subjects"


def test_without_each_subject_is_without_each_subject() -> None:
    """What is computed for all at once is what comes out when one is really left out."""
    rng = np.random.default_rng(8)
    marks = with_holes(rng, drawn(rng, 9, 5, 3, 2))
    found = of_mark(marks)
    for subject, left_out in enumerate(found.left_out):
        assert left_out.estimates == pytest.approx(
            of_mark(np.delete(marks, subject, axis=0)).estimates
        )


def test_marks_that_do_not_vary_have_no_shares() -> None:
    """All variances are 0, and 0 of 0 is no share."""
    found = of_mark(np.full((4, 3, 2, 1), 0.7))
    assert found.estimates == pytest.approx(dict.fromkeys(found.estimates, 0.0))
    assert set(Components(dict.fromkeys(found.estimates, 0.0)).shares.values()) == {None}


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    """Of 1, 2, 3, 6: leaving out one gives 11/3, 10/3, 3, 2, and the error is sqrt(14/3/4) as in
    any textbook.
    """
    numbers = [1.0, 2.0, 3.0, 6.0]
    assert jackknife([(12 - out) / 3 for out in numbers]) == pytest.approx(
        np.sqrt(np.var(numbers, ddof=1) / 4)
    )
    assert jackknife([1.0, 2.0]) is None
    assert jackknife([1.0, 2.0, None]) is None


# ---------------------------------------------------------------- sums over strata


def test_the_variance_of_the_index_is_all_of_its_parts() -> None:
    """With as many runs for everybody: p + pi + r:pi / runs is the variance of the observed sums,
    to the digit.
    """
    marks = np.random.default_rng(7).random((12, 7, 4, 1))
    points = np.array([1.0, 4, 2, 3, 3, 5, 2])

    found = variance_components(marks, list(points), [0, 0, 0, 1, 1, 2, 2]).estimates

    observed = marks[..., 0].mean(axis=2) @ points
    parts = [found[name] or 0.0 for name in ("p", "pi", "r:pi")]
    assert parts[0] + parts[1] + parts[2] / 4 == pytest.approx(np.var(observed, ddof=1))


def test_two_strata_by_hand() -> None:
    """Shares of three subjects, two runs alike, so no noise: strata {1, 2} and {3, 4}, one point
    each.

    Covariances over subjects: S12 = S34 = .04, S13 = S14 = S23 = S24 = .02, all variances .05. p:
    across strata 2 x 4 x .02 = .16, within 2 x (2^2 x .04) = .32; pi: 4 x (.05 - .04) = .04.
    """
    root = np.linalg.cholesky(
        np.array([[5.0, 4, 2, 2], [4, 5, 2, 2], [2, 2, 5, 4], [2, 2, 4, 5]]) / 100
    )
    # five subjects, mean 0
    basis = np.linalg.qr(np.column_stack([np.ones(5), np.eye(5)[:, :4]]))[0][:, 1:]
    shares = 0.5 + 2 * basis @ root.T  # n - 1 = 4
    marks = np.repeat(shares[:, :, None, None], 2, axis=2)

    found = variance_components(marks, [1.0] * 4, [0, 0, 1, 1])

    assert {name: found.estimates[name] for name in ("p", "pi", "r:pi")} == {
        "p": pytest.approx(0.48), "pi": pytest.approx(0.04), "r:pi": pytest.approx(0)
    }  # fmt: skip
    assert [of["pi"] for of in found.by_stratum] == [pytest.approx(0.02)] * 2


@pytest.mark.torture
@pytest.mark.parametrize("judges", [1, 2])
def test_what_was_planted_in_strata_is_found(judges: int) -> None:
    """Unequal points, unequal runs: within a tenth of (sum of points)^2 and of the sum of their
    squares.
    """
    rng = np.random.default_rng(11)
    points = np.array([1.0, 2, 3, 1, 1, 2])
    found: dict[str, list[float]] = {}
    for _ in range(1500):
        marks = drawn(rng, 14, 6, 4, judges)
        for subject in range(14):
            marks[subject, :, rng.integers(1, 5) :] = np.nan
        for name, value in variance_components(
            marks, list(points), [0, 0, 0, 1, 1, 1]
        ).estimates.items():
            assert value is not None
            found.setdefault(name, []).append(value)

    whole = {
        name: np.sum(points**2) if name in OF_SCENARIOS else np.sum(points) ** 2 for name in found
    }
    for name, values in found.items():
        if name != "h":  # of two judges: nothing is learned of how judges differ
            assert float(np.mean(values)) / (PLANTED[name] * whole[name]) == pytest.approx(
                1, abs=0.1
            ), name


def test_what_a_sum_cannot_tell_is_none() -> None:
    """A stratum of one scenario, nobody played twice, one subject; an empty cell is an error."""
    marks = np.random.default_rng(9).random((5, 3, 2, 1))
    alone = variance_components(marks, [1.0, 1, 1], [0, 0, 1]).estimates
    once = variance_components(marks[:, :, :1], [1.0, 1, 1], [0, 0, 0]).estimates
    assert {name for name, value in alone.items() if value is not None} == {"r:pi"}
    assert {name for name, value in once.items() if value is not None} == {"p", "i"}
    assert set(variance_components(marks[:1], [1.0, 1, 1], [0, 0, 0]).estimates.values()) == {None}
    marks[2, 1] = np.nan
    with pytest.raises(ValueError, match="no mark in one of the scenarios"):
        variance_components(marks, [1.0, 1, 1], [0, 0, 0])
