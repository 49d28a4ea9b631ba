"""Intervals for differences within the same subjects, and for figures of agreement: by hand, and by
their promise.
"""

from __future__ import annotations

from math import atanh, hypot, sqrt, tanh

import numpy as np
import pytest

from independence_bench.analysis.statistics.agreement import (
    Measurement,
    compute_alphas_without_each_subject,
    compute_krippendorff_alpha,
    estimate_alpha_interval,
    estimate_jackknife_interval,
)
from independence_bench.analysis.statistics.intervals import compute_weighted_sum_limits
from independence_bench.analysis.statistics.sample_means import (
    estimate_mean_difference_interval,
    estimate_paired_difference_interval,
)
from independence_bench.analysis.statistics.values import Interval

Marks = list[list[float | None]]


def ends(interval: Interval | None) -> tuple[float, float]:
    """Low and high."""
    assert interval is not None
    return interval.low, interval.high


# ---------------------------------------------------------------- differences within subjects


def test_a_difference_of_two_numbers_is_squared_and_added() -> None:
    """.8 (.7 to .84) minus .5 (.46 to .53): .3 - sqrt(.1^2 + .03^2), .3 + sqrt(.04^2 + .04^2)."""
    low, high = compute_weighted_sum_limits(
        *np.array([[1, -1], [0.8, 0.5], [0.7, 0.46], [0.84, 0.53]])
    )

    assert (low, high) == (
        pytest.approx(0.3 - hypot(0.1, 0.03)),
        pytest.approx(0.3 + hypot(0.04, 0.04)),
    )


def test_the_published_interval_of_two_proportions() -> None:
    """56/70 and 48/80 in Newcombe 1998, table II, method 10: .0524 to .3339; Wilson's limits as he
    has them.
    """
    low, high = compute_weighted_sum_limits(
        *np.array([[1, -1], [56 / 70, 48 / 80], [0.6918, 0.4905], [0.8770, 0.7004]])
    )

    assert (low, high) == (pytest.approx(0.0524, abs=2e-4), pytest.approx(0.3339, abs=2e-4))


def test_weights_stretch_what_they_weigh() -> None:
    """Half of .6 (.4 to .7) twice: .6 - sqrt(.1^2 + .1^2), .6 + sqrt(.05^2 + .05^2)."""
    low, high = compute_weighted_sum_limits(
        *np.array([[0.5, 0.5], [0.6, 0.6], [0.4, 0.4], [0.7, 0.7]])
    )

    assert (low, high) == (
        pytest.approx(0.6 - hypot(0.1, 0.1)),
        pytest.approx(0.6 + hypot(0.05, 0.05)),
    )


def test_an_effect_by_hand() -> None:
    """Four subjects gain .4, .2, .6, .4: variance .08/3; means .9 and .5, room .09 + .25 = .34,
    measured .0784.

    Drawn to .05 by two subjects: (2 x .05 + 3 x .0784) / 5 = .0671; t with 5 degrees is 2.571. Each
    mean has Wilson's limits, but with .0671 / 4 where a proportion has 1/n, and these are squared
    and added.
    """
    scores = np.array([[0.9, 0.5], [0.8, 0.6], [1.0, 0.4], [0.9, 0.5]])
    dispersion = (2 * 0.05 + 3 * (0.08 / 3) / 0.34) / 5 / 4
    k = 2.5706**2 * dispersion
    wilson = [
        [(m + k / 2 + sign * sqrt(k * k / 4 + k * m * (1 - m))) / (1 + k) for sign in (-1, 1)]
        for m in (0.9, 0.5)
    ]

    found = estimate_paired_difference_interval(scores)

    assert dispersion == pytest.approx(0.0671 / 4, abs=1e-4)
    assert ends(found) == (
        pytest.approx(0.4 - hypot(0.9 - wilson[0][0], wilson[1][1] - 0.5), abs=1e-5),
        pytest.approx(0.4 + hypot(wilson[0][1] - 0.9, 0.5 - wilson[1][0]), abs=1e-5),
    )


def test_at_the_ceiling_an_effect_is_not_certain() -> None:
    """Everybody has 100 with both: the difference is 0, and others may still differ. Two subjects
    are too few.
    """
    low, high = ends(estimate_paired_difference_interval(np.ones((4, 2))))

    assert -0.1 < low < 0 < high == -low
    assert estimate_paired_difference_interval(np.ones((2, 2))) is None


@pytest.mark.torture
@pytest.mark.parametrize(("subjects", "gain"), [(4, 0.0), (4, 1.0), (12, 0.0), (12, 1.0)])
def test_effects_hold_what_they_promise_where_t_does_not(subjects: int, gain: float) -> None:
    """Subjects near the ceiling, a sample of many: at least 93 of 100 intervals hold the mean over
    all of them.
    """
    random = np.random.default_rng(7)
    base = random.normal(2.2, 1.0, 20_000)
    everybody = 1 / (1 + np.exp(-np.stack([base + gain + random.normal(0, 0.5, 20_000), base])))
    truth = float((everybody[0] - everybody[1]).mean())

    held = []
    for _ in range(1_000):
        scores = everybody[:, random.integers(0, 20_000, subjects)].T
        found = estimate_paired_difference_interval(scores)
        held.append(found is not None and found.contains(truth))

    assert np.mean(held) >= 0.93


TWELVE = [float(n) for n in range(1, 13)]  # mean 6.5, sum of squares around it 143


def test_a_single_case_is_held_against_the_others() -> None:
    """9 against 1 to 12: 2.5 -+ t(11) sqrt(143 / 11 (1 + 1/12)) = 2.5 -+ 2.718 x 3.7528; eleven are
    too few.
    """
    found = estimate_mean_difference_interval([9.0], TWELVE)

    assert ends(found) == (
        pytest.approx(2.5 - 2.7181 * 3.7528, abs=1e-3),
        pytest.approx(2.5 + 2.7181 * 3.7528, abs=1e-3),
    )
    assert estimate_mean_difference_interval([9.0], TWELVE[:-1]) is None
    assert estimate_mean_difference_interval([], TWELVE) is None
    assert estimate_mean_difference_interval([9.0], [1.0] * 12) is None


def test_several_cases_add_their_own_variance() -> None:
    """8 and 10 against the same: (2 + 143) / 12, t(12) = 2.681, sqrt(145 / 12 (1/2 + 1/12)) =
    2.6549.
    """
    found = estimate_mean_difference_interval([8.0, 10.0], TWELVE)

    assert ends(found) == (
        pytest.approx(2.5 - 2.6810 * 2.6549, abs=1e-3),
        pytest.approx(2.5 + 2.6810 * 2.6549, abs=1e-3),
    )


# ---------------------------------------------------------------- leaving out


def test_the_jackknife_by_hand() -> None:
    """.5, and .4, .5, .6 without each of three: on atanh, sqrt(2/3 x sum of squares) and t(2) =
    4.303.
    """
    on_scale = [atanh(x) for x in (0.4, 0.5, 0.6)]
    mean = sum(on_scale) / 3
    half = 4.3027 * sqrt(2 / 3 * sum((x - mean) ** 2 for x in on_scale))

    found = estimate_jackknife_interval(0.5, [0.4, 0.5, 0.6])

    assert ends(found) == (
        pytest.approx(tanh(atanh(0.5) - half), abs=1e-4),
        pytest.approx(tanh(atanh(0.5) + half), abs=1e-4),
    )


@pytest.mark.parametrize(
    "without", [[0.4, None, 0.6], [0.4, 1.0, 0.6], [0.5, 0.5, 0.5], [0.4, 0.6]]
)
def test_the_jackknife_is_absent_where_it_says_nothing(without: list[float | None]) -> None:
    """An estimate is missing, or perfect; nothing changes; fewer than three."""
    assert estimate_jackknife_interval(0.5, without) is None
    assert estimate_jackknife_interval(1.0, [0.4, 0.5, 0.6]) is None


def marked(conversations: int, subjects: int) -> tuple[Marks, list[str]]:
    """Three judges, a fifth of their marks missing; and whose each conversation is."""
    random = np.random.default_rng(5)
    judged = random.normal(5, 2, conversations) + random.normal(0, 1, (3, conversations))
    marks: Marks = [
        [None if random.random() < 0.2 else float(mark) for mark in np.clip(np.round(row), 0, 10)]
        for row in judged
    ]
    return marks, [f"subject {n % subjects}" for n in range(conversations)]


@pytest.mark.parametrize("measurement", ["ordinal", "nominal"])
def test_alpha_without_each_subject_is_that_of_the_conversations_that_are_left(
    measurement: Measurement,
) -> None:
    """Coincidences less those of a subject are those of the others."""
    marks, whose = marked(60, 12)

    left = [
        compute_krippendorff_alpha(
            [
                [mark for mark, one in zip(row, whose, strict=True) if one != subject]
                for row in marks
            ],
            measurement,
        )
        for subject in dict.fromkeys(whose)
    ]

    assert compute_alphas_without_each_subject(marks, whose, measurement) == pytest.approx(left)


def test_alpha_has_an_interval_from_ten_subjects_on() -> None:
    """Around the estimate; nine subjects are too few, and so is no alpha."""
    marks, whose = marked(60, 12)
    alpha = compute_krippendorff_alpha(marks)

    low, high = ends(estimate_alpha_interval(marks, whose, alpha))

    assert alpha is not None
    assert low < alpha < high
    assert estimate_alpha_interval(marks, [f"subject {n % 9}" for n in range(60)], alpha) is None
    assert estimate_alpha_interval(marks, whose, None) is None


def test_alpha_of_names_has_an_interval_from_twenty_subjects_on() -> None:
    """And a wider one than the same estimates would have of marks with an order."""
    marks, whose = marked(200, 20)
    alpha = compute_krippendorff_alpha(marks, "nominal")
    assert alpha is not None

    low, high = ends(estimate_alpha_interval(marks, whose, alpha, "nominal"))
    narrow = ends(
        estimate_jackknife_interval(
            alpha, compute_alphas_without_each_subject(marks, whose, "nominal")
        )
    )

    assert low < narrow[0] < alpha < narrow[1] < high
    assert (
        estimate_alpha_interval(marks, [f"subject {n % 19}" for n in range(200)], alpha, "nominal")
        is None
    )
