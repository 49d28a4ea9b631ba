"""Intervals of scores and of differences: published values, hand calculations, and what must hold
of all of them.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from independence_bench.analysis.statistics.intervals import (
    Scores,
    compute_critical_value,
    compute_detectable_difference,
    compute_difference_limits,
    compute_intervals,
    compute_p_values,
    compute_score_limits,
    compute_two_sided_t_tail,
    find_significant_pairs,
    make_plain_scores,
)
from independence_bench.analysis.statistics.values import Interval

MANY = 1e12  # degrees of freedom: the normal distribution
NORMAL = 1.959963984540054

means = st.floats(0.0, 1.0)
dispersions = st.floats(1e-6, 1.0)
degrees = st.floats(1.0, 200.0)


def score(mean: float, dispersion: float, degrees: float = MANY) -> Scores:
    """One score without judges."""
    return make_plain_scores(np.array([mean]), np.array([dispersion]), np.array([degrees]))


def one(limits: tuple[np.ndarray, np.ndarray]) -> tuple[float, float]:
    """The only interval among *limits*."""
    low, high = limits
    return float(low[0]), float(high[0])


# ---------------------------------------------------------------- published values


@pytest.mark.parametrize(
    ("share", "of", "low", "high"), [(81 / 263, 263, 0.2553, 0.3662), (0.0, 20, 0.0, 0.1611)]
)
def test_wilsons_limits_as_published(share: float, of: int, low: float, high: float) -> None:
    """Newcombe 1998 (Statistics in Medicine 17, 857-872), table I, method 3; at the end the low
    limit is 0 exactly.

    There a symmetric interval would have no width at all.
    """
    found = [float(end) for end in compute_score_limits(share, 1 / of, NORMAL)]

    assert found == pytest.approx([low, high], abs=5e-5)
    assert share or found[0] == 0.0


def test_newcombes_difference_of_two_proportions() -> None:
    """Newcombe 1998 (Statistics in Medicine 17, 873-890), table II, method 10: 56/70 - 48/80 is
    0.0524 to 0.3339.
    """
    low, high = one(compute_difference_limits(score(56 / 70, 1 / 70), score(48 / 80, 1 / 80)))

    assert (low, high) == (pytest.approx(0.0524, abs=5e-5), pytest.approx(0.3339, abs=5e-5))


def test_students_t_as_printed_in_every_table() -> None:
    """2.776 at 95% with 4 degrees; and its tail is what is left."""
    assert float(compute_critical_value(0.95, 4)) == pytest.approx(2.776, abs=5e-4)
    assert float(compute_two_sided_t_tail(np.array(2.776445), 4)) == pytest.approx(0.05, abs=1e-6)


# ---------------------------------------------------------------- by hand


def test_an_interval_worked_by_hand() -> None:
    """Mean 1/2, dispersion 0.04, 4 degrees.

    k = 2.7764^2 x 0.04 = 0.30835; (2/2 + k -/+ sqrt(k^2 + 4k/4)) / (2 + 2k) = (1.30835 -/+ 0.63516)
    / 2.6167.
    """
    low, high = one(compute_intervals(score(0.5, 0.04, 4)))

    assert (low, high) == (pytest.approx(0.25727, abs=2e-5), pytest.approx(0.74273, abs=2e-5))


def test_what_judges_add_is_added_to_the_squares_of_the_reaches() -> None:
    """No dispersion, a variance of 0.0001 with 3 degrees: mean -/+ 3.1824 x 0.01."""
    alone = Scores(
        np.array([0.5]),
        np.array([0.0]),
        np.array([9.0]),
        np.array([1e-4]),
        np.array([3.0]),
        np.zeros(1),
    )

    assert one(compute_intervals(alone)) == (
        pytest.approx(0.5 - 0.031824, abs=1e-6),
        pytest.approx(0.5 + 0.031824, abs=1e-6),
    )


def test_the_smallest_difference_that_could_be_seen_worked_by_hand() -> None:
    """(1.96 + 0.8416) x sqrt(2 x 0.001 x 0.25) for two scores of 1/2, whose limits have 1/2 in the
    middle: 0.06265.
    """
    seen = compute_detectable_difference(score(0.5, 0.001), score(0.5, 0.001))

    assert float(seen[0]) == pytest.approx(2.80158 * np.sqrt(0.0005), rel=1e-4)


def test_at_the_end_itself_something_could_still_be_missed() -> None:
    """Two scores of 1 seem not to vary; what could be seen is not 0 all the same."""
    assert float(compute_detectable_difference(score(1.0, 0.01), score(1.0, 0.01))[0]) > 0.02


def test_an_interval_in_another_unit() -> None:
    """Turned round by a negative factor, and as wide as before."""
    interval = Interval(0.2, 0.5)

    assert interval.scale_interval(-100) == Interval(-50, -20)
    assert interval.width == pytest.approx(0.3)
    assert interval.contains(0.2)
    assert interval.contains(0.5)
    assert not interval.contains(0.51)


# ---------------------------------------------------------------- what must hold of all


@given(means, dispersions, degrees)
def test_limits_are_in_order_and_within_the_scale(
    mean: float, dispersion: float, degrees: float
) -> None:
    """0 <= low <= mean <= high <= 1."""
    low, high = one(compute_intervals(score(mean, dispersion, degrees)))

    assert 0 <= low <= mean <= high <= 1


@given(means, dispersions, degrees, st.floats(0.5, 0.98))
def test_a_higher_level_is_a_wider_interval(
    mean: float, dispersion: float, degrees: float, level: float
) -> None:
    """On both sides, and the same mirrored: an interval of 1 - mean is the mirror image."""
    some = score(mean, dispersion, degrees)
    narrow, wide = one(compute_intervals(some, level)), one(compute_intervals(some, level + 0.01))
    mirrored = one(compute_intervals(score(1 - mean, dispersion, degrees), level))

    assert wide[0] <= narrow[0] + 1e-12
    assert wide[1] >= narrow[1] - 1e-12
    assert wide[1] - wide[0] > narrow[1] - narrow[0] or dispersion < 1e-5
    assert mirrored == (
        pytest.approx(1 - narrow[1], abs=1e-9),
        pytest.approx(1 - narrow[0], abs=1e-9),
    )


@given(means, dispersions, degrees, means, dispersions, degrees)
def test_a_difference_the_other_way_round_is_its_mirror_image(
    a: float, of_a: float, for_a: float, b: float, of_b: float, for_b: float
) -> None:
    """A - B from low to high is B - A from -high to -low, and it holds what was found."""
    first, second = score(a, of_a, for_a), score(b, of_b, for_b)
    low, high = one(compute_difference_limits(first, second))
    there, back = one(compute_difference_limits(second, first))

    assert (there, back) == (pytest.approx(-high, abs=1e-12), pytest.approx(-low, abs=1e-12))
    assert -1 <= low <= a - b <= high <= 1


@given(means, dispersions, degrees, means, dispersions, degrees)
def test_p_is_below_5_percent_exactly_where_the_interval_leaves_out_0(
    a: float, of_a: float, for_a: float, b: float, of_b: float, for_b: float
) -> None:
    """One and the same question, asked in two ways."""
    first, second = score(a, of_a, for_a), score(b, of_b, for_b)
    low, high = one(compute_difference_limits(first, second))
    p = float(compute_p_values(first, second)[0])

    assert 0 <= p <= 1
    if abs(p - 0.05) > 1e-6:
        assert (p < 0.05) == (low > 0 or high < 0)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
@pytest.mark.parametrize("extra", [0.0, 20.0])
def test_pairs_that_differ_are_those_of_a_small_p(level: float, extra: float) -> None:
    """Whoever else is asked about: a pair alone, and among thousands of other degrees."""
    rng = np.random.default_rng(3)
    first, second = (
        make_plain_scores(
            rng.uniform(size=4000), rng.uniform(1e-4, 0.2, 4000), rng.uniform(1, 200, 4000)
        )
        for _ in range(2)
    )

    found = find_significant_pairs(first, second, level, extra)
    p = compute_p_values(first, second, extra)
    sure = np.abs(p - (1 - level)) > 1e-9

    assert 0 < np.count_nonzero(found) < len(found)
    assert np.array_equal(found[sure], p[sure] <= 1 - level)
    for place in range(40):
        (alone,) = find_significant_pairs(
            first.select_scores(np.array([place])),
            second.select_scores(np.array([place])),
            level,
            extra,
        )
        assert alone == found[place]


def test_of_no_pairs_none_differ() -> None:
    """A board of a single model has none."""
    none = make_plain_scores(np.zeros(0), np.zeros(0), np.zeros(0))

    assert not len(find_significant_pairs(none, none, 0.95))


def test_two_equal_scores_have_p_1() -> None:
    """Also where neither varies at all."""
    assert compute_p_values(score(0.4, 0.1), score(0.4, 0.1)).tolist() == [1.0]
    assert compute_p_values(score(1.0, 0.0), score(1.0, 0.0)).tolist() == [1.0]


def test_more_degrees_make_a_smaller_p() -> None:
    """What a ranking gives to the tail; the interval itself has none of it."""
    first, second = score(0.8, 0.02, 6.0), score(0.5, 0.02, 6.0)

    assert float(compute_p_values(first, second, 20)[0]) < float(compute_p_values(first, second)[0])


def test_arrays_give_what_single_numbers_give() -> None:
    """Nothing leaks from one score into the next."""
    both = make_plain_scores(np.array([0.3, 0.9]), np.array([0.02, 0.1]), np.array([5.0, 50.0]))
    low, high = compute_intervals(both)

    assert (low[0], high[0]) == one(compute_intervals(score(0.3, 0.02, 5.0)))
    assert (low[1], high[1]) == one(compute_intervals(score(0.9, 0.1, 50.0)))
    assert both.select_scores(np.array([1])).mean.tolist() == [0.9]


def test_a_tail_keeps_one_degree_however_many_are_taken_off() -> None:
    """Of 3 degrees 4 are taken off, or 40: one is left, whose p is a number, and larger than with
    more degrees.
    """
    first = make_plain_scores(np.array([0.8]), np.array([0.01]), np.array([1.5]))
    second = make_plain_scores(np.array([0.3]), np.array([0.01]), np.array([1.5]))

    p = {more: float(compute_p_values(first, second, more)[0]) for more in (-2.0, -4.0, -40.0)}

    assert p[-4.0] == p[-40.0]
    assert 0 < p[-2.0] <= p[-4.0] < 1
