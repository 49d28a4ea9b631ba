"""Both questions asked of the same numbers: the second answer is never surer than the first."""

from __future__ import annotations

import numpy as np
import pytest

from independence_bench.analysis.statistics.dispersion import (
    Design,
    make_new_scenarios_pair_scores,
    make_rerun_scores,
    measure_score_of_subjects,
)
from independence_bench.analysis.statistics.generalization import (
    estimate_rerun_new_scenarios_limits,
    estimate_score_differences_per_pair,
    find_corrected_better_than_matrices,
)
from independence_bench.analysis.statistics.intervals import (
    Scores,
    compute_difference_limits,
    compute_intervals,
    compute_t_quantile,
    make_plain_scores,
)


def even(scenarios: int) -> Design:
    """So many scenarios of equal weight, one dimension."""
    return Design(np.full((1, scenarios), 1 / scenarios), np.arange(scenarios))


def test_a_dispersion_that_both_sides_share_has_its_degrees_once() -> None:
    """Two scores of 1/2, one dispersion of 0.04 with 4 degrees for both: t is 2.776, not that of 8
    degrees, 2.306.

    Each limit is 0.24273 from 1/2 at t = 2.7764 (k = 0.30835, see tests/test_intervals.py), so the
    difference reaches sqrt(2) x 0.24273 = 0.34327.
    """
    mean, dispersion, degrees = np.array([0.5]), np.array([0.04]), np.array([4.0])
    one = make_plain_scores(mean, dispersion, degrees, shared=True)
    apart = make_plain_scores(mean, dispersion, degrees)

    assert float(compute_difference_limits(one, one)[1][0]) == pytest.approx(0.34327, abs=2e-5)
    k = float(compute_t_quantile(0.975, 8.0)) ** 2 * 0.04
    assert float(compute_difference_limits(apart, apart)[1][0]) == pytest.approx(
        np.sqrt(2 * k / (4 + 4 * k)), abs=2e-5
    )


def test_the_taste_of_the_same_judges_has_its_degrees_once() -> None:
    """Nothing else varies: 0.0001 on each side from one estimate with 3 degrees, 3.1824 x
    sqrt(0.0002).
    """
    still = np.array([0.0])
    side = Scores(
        np.array([0.5]), still, np.array([9.0]), np.array([1e-4]), np.array([3.0]), np.zeros(1)
    )

    assert float(compute_difference_limits(side, side)[1][0]) == pytest.approx(
        3.18245 * np.sqrt(2e-4), abs=1e-6
    )


def test_another_test_is_never_surer_than_the_same_again() -> None:
    """Scenarios alike, runs not: over scenarios nothing seems to vary, and what varies from run to
    run is in both.
    """
    rng = np.random.default_rng(3)
    for _ in range(20):
        every = np.tile(np.array([0.2, 0.5, 0.8])[:, None, None], (6, 1, 1, 12))
        measured = measure_score_of_subjects(even(12), list(rng.permuted(every, axis=1)))
        rerun, new_scenarios = estimate_rerun_new_scenarios_limits([(measured, None)])[0]
        first, second = np.triu_indices(6, 1)
        of_pairs = estimate_score_differences_per_pair([(measured, None, 0.0)], first, second)[0]

        assert rerun is not None
        assert new_scenarios is not None
        assert np.all(new_scenarios[0] <= rerun[0])
        assert np.all(new_scenarios[1] >= rerun[1])
        one, other = of_pairs
        assert one is not None
        assert other is not None
        assert np.all(other.limits[0] <= one.limits[0])
        assert np.all(other.limits[1] >= one.limits[1])
        assert np.all(other.p >= one.p)
        assert np.all(other.seen >= one.seen)


def test_a_difference_counts_the_runs_that_one_side_lacks() -> None:
    """One run against ten, others of ten: 1,200 differences of twenty scenarios of unlike
    difficulty, held in 93%.

    Without what the missing nine runs add, in the same draws, fewer are held.
    """
    rng = np.random.default_rng(8)
    held, without = [], []
    for _ in range(300):
        chances = np.clip(
            rng.beta(6, 6, size=(1, 20)) + rng.normal(scale=0.02, size=(5, 20)), 0.01, 0.99
        )
        board = [
            (rng.random((1 if n == 0 else 10, 1, 20)) < chances[n]).astype(float) for n in range(5)
        ]
        measured = measure_score_of_subjects(even(20), board)
        pair = np.zeros(4, dtype=np.intp), np.arange(1, 5)
        sides = make_new_scenarios_pair_scores(measured, *pair)
        assert sides is not None
        bare = [make_plain_scores(side.mean, sides[1].dispersion, side.degrees) for side in sides]
        for limits, found in (
            (compute_difference_limits(*sides), held),
            (compute_difference_limits(*bare), without),
        ):
            found.append((limits[0] <= 0) & (limits[1] >= 0))

    assert np.mean(held) > 0.93
    assert np.mean(without) < 0.93


def test_runs_shifted_beyond_what_was_found_to_hold_have_no_interval_again() -> None:
    """Ten subjects, three runs, all conversations of a run go up and down together: twelve times
    their sum.

    Of another test like it there is one, and it holds that of the same again, which is not shown.
    """
    shifts = np.random.default_rng(2).uniform(0.3, 0.7, size=(10, 3, 1, 1))
    measured = measure_score_of_subjects(even(12), list(np.tile(shifts, (1, 1, 1, 12))))
    first, second = np.triu_indices(10, 1)
    rerun, new_scenarios = estimate_rerun_new_scenarios_limits([(measured, None)])[0]
    scores = make_rerun_scores(measured)

    assert measured.run_effects.ratio == pytest.approx(12)
    assert measured.run_effects.is_beyond_validated_range
    assert rerun is None
    assert estimate_score_differences_per_pair([(measured, None, 0.0)], first, second)[0][0] is None
    assert find_corrected_better_than_matrices(measured, None)[0] is None
    assert scores is not None
    assert new_scenarios is not None
    assert np.all(new_scenarios[0] <= compute_intervals(scores)[0])
