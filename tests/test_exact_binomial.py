"""Binomial shares: published limits, an exact test by hand and by every chance; boards of one
conversation.
"""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from assertions import known

from independence_bench.analysis.statistics.dispersion import (
    BELIEVED_OF_BINARY,
    BELIEVED_RERUN,
    Design,
    make_rerun_pair_scores,
    make_rerun_scores,
    measure_score_of_subjects,
)
from independence_bench.analysis.statistics.exact_binomial import (
    compute_exact_limits,
    compute_unconditional_p,
)
from independence_bench.analysis.statistics.intervals import compute_intervals, compute_p_values

ONE = Design(np.array([[1.0]]), np.array([0]))
PAIR = np.array([0]), np.array([1])
THREE = Design(np.full((1, 3), 1 / 3), np.arange(3))


def runs(*marks: float) -> np.ndarray:
    """[runs, 1, 1]"""
    return np.array(marks).reshape(-1, 1, 1)


def test_limits_of_81_in_263_are_the_published_ones() -> None:
    """Newcombe 1998 (Statistics in Medicine 17, 857-872), table I, method 5 (Clopper and Pearson):
    0.2527 to 0.3676.
    """
    low, high = compute_exact_limits(np.array([81 / 263]), np.array([263.0]), np.array([0.05]))

    assert (float(low[0]), float(high[0])) == (
        pytest.approx(0.2527, abs=5e-5),
        pytest.approx(0.3676, abs=5e-5),
    )


def test_limits_of_two_successes_in_two_worked_by_hand() -> None:
    """p^2 = 0.025 at p = 0.1581; the upper limit is 1."""
    low, high = compute_exact_limits(np.array([1.0]), np.array([2.0]), np.array([0.05]))

    assert (float(low[0]), float(high[0])) == (pytest.approx(np.sqrt(0.025)), 1.0)


@pytest.mark.parametrize("trials", [1, 2, 3, 5, 12])
def test_exact_limits_are_scipys(trials: int) -> None:
    """For every number of successes."""
    # takes a second, which each worker would spend that reads this file
    from scipy.stats import binomtest

    for successes in range(trials + 1):
        low, high = compute_exact_limits(
            np.array([successes / trials]), np.array([float(trials)]), np.array([0.05])
        )
        theirs = binomtest(successes, trials).proportion_ci()
        assert (float(low[0]), float(high[0])) == (
            pytest.approx(theirs.low),
            pytest.approx(theirs.high),
        )


def test_two_of_two_against_none_of_two_is_an_eighth() -> None:
    """2 p^2 (1 - p)^2 is largest at p = 1/2; three of each: 2/64."""
    assert compute_unconditional_p(2, 2, 0, 2) == pytest.approx(0.125)
    assert compute_unconditional_p(3, 3, 0, 3) == pytest.approx(1 / 32)
    assert compute_unconditional_p(1, 2, 1, 2) == pytest.approx(1)


@pytest.mark.parametrize(("trials", "other"), [(2, 3), (5, 5), (4, 9)])
def test_the_exact_test_is_the_largest_of_every_chance(trials: int, other: int) -> None:
    """Tables that lie as far apart by SciPy's pooled statistic, and their probability at each of
    1,000 chances.

    SciPy's own p is found by a search that stops at lower hills now and then, so ours is never
    smaller.
    """
    from scipy.stats import barnard_exact, binom

    tables = list(product(range(trials + 1), range(other + 1)))
    statistic = {}
    for successes, other_successes in tables:
        share = (successes + other_successes) / (trials + other)
        error = np.sqrt(share * (1 - share) * (1 / trials + 1 / other))
        statistic[successes, other_successes] = (
            abs(successes / trials - other_successes / other) / error if error else 0.0
        )
    chances = np.linspace(0, 1, 1001)
    for successes, other_successes in [(0, other), (trials, 1), (trials - 1, 0), (1, other // 2)]:
        far = [
            table
            for table in tables
            if statistic[table] >= statistic[successes, other_successes] - 1e-9
        ]
        largest = sum(
            binom.pmf(x, trials, chances) * binom.pmf(y, other, chances) for x, y in far
        ).max()
        theirs = barnard_exact(
            [[successes, other_successes], [trials - successes, other - other_successes]],
            pooled=True,
        ).pvalue

        ours = compute_unconditional_p(successes, trials, other_successes, other)
        assert ours == pytest.approx(largest, abs=2e-5)
        assert ours >= theirs - 1e-6


@pytest.mark.parametrize("trials", [2, 3])
def test_a_single_conversation_of_two_marks_is_covered_at_every_chance(trials: int) -> None:
    """Every outcome weighed with its probability, exactly: at least 95% for each of 99 chances."""
    held = np.zeros(99)
    chances = np.arange(1, 100) / 100
    for successes in range(trials + 1):
        scores = known(
            make_rerun_scores(
                measure_score_of_subjects(
                    ONE, [runs(*[1.0] * successes, *[0.0] * (trials - successes))]
                )
            )
        )
        low, high = compute_intervals(scores)
        inside = (low[0] <= chances) & (chances <= high[0])
        held += (
            inside
            * comb(trials, successes)
            * chances**successes
            * (1 - chances) ** (trials - successes)
        )

    assert held.min() >= 0.95 - 1e-9


def test_ten_against_zero_with_two_runs_each_is_told_exactly() -> None:
    """On a board of one scenario: p = 0.125, not 0.009."""
    sides = known(
        make_rerun_pair_scores(
            measure_score_of_subjects(ONE, [runs(1.0, 1.0), runs(0.0, 0.0)]),
            np.array([0]),
            np.array([1]),
        )
    )

    assert compute_p_values(*sides).tolist() == [pytest.approx(0.125)]
    assert compute_p_values(*sides, 20).tolist() == [pytest.approx(0.125)]


def test_marks_at_the_two_ends_are_believed_to_vary_as_trials_do() -> None:
    """One mark between the ends, anywhere on the board, and they are no trials."""
    ends = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])[:, None]
    between = np.array([[1.0, 0.5, 1.0], [1.0, 1.0, 1.0]])[:, None]

    assert measure_score_of_subjects(THREE, [ends]).believed_rerun == pytest.approx(
        BELIEVED_OF_BINARY / 3
    )
    assert measure_score_of_subjects(THREE, [ends, between]).believed_rerun == pytest.approx(
        BELIEVED_RERUN / 3
    )
    assert measure_score_of_subjects(THREE, [ends, between]).trials.tolist() == [0, 0]
    assert measure_score_of_subjects(THREE, [ends]).trials.tolist() == [pytest.approx(6)]
    assert measure_score_of_subjects(ONE, [runs(1.0, 0.0), runs(1.0)]).trials.tolist() == [2, 1]
    assert measure_score_of_subjects(ONE, [runs(1.0, 0.5), runs(1.0)]).trials.tolist() == [0, 0]


@pytest.mark.torture
def test_two_equal_subjects_of_few_trials_are_seldom_told_apart() -> None:
    """Two scenarios of two marks, two runs, every pair of outcomes with its probability at chance
    1/2: at most 5%.
    """
    outcomes = [np.array(one, dtype=float).reshape(2, 1, 2) for one in product((0, 1), repeat=4)]
    wrong = 0
    for one, other in product(outcomes, repeat=2):
        sides = known(
            make_rerun_pair_scores(
                measure_score_of_subjects(
                    Design(np.array([[0.5, 0.5]]), np.arange(2)), [one, other]
                ),
                *PAIR,
            )
        )
        wrong += bool(compute_p_values(*sides, 2)[0] < 0.05)

    assert wrong / len(outcomes) ** 2 <= 0.05


@pytest.mark.torture
@pytest.mark.parametrize(("scenarios", "number"), [(2, 2), (2, 3), (3, 2)])
def test_tiny_boards_of_two_marks_are_covered(scenarios: int, number: int) -> None:
    """Two subjects, 500 boards, every scenario a trial with a chance of its own: 93% and more."""
    rng = np.random.default_rng(21)
    design = Design(np.full((1, scenarios), 1 / scenarios), np.arange(scenarios))
    held = []
    for _ in range(500):
        chances = rng.uniform(0.05, 0.95, size=(2, 1, 1, scenarios))
        board = (rng.random((2, number, 1, scenarios)) < chances).astype(float)
        scores = known(make_rerun_scores(measure_score_of_subjects(design, list(board))))
        low, high = compute_intervals(scores)
        truth = chances.mean(axis=(1, 2, 3))
        held.append((low <= truth) & (truth <= high))

    assert np.mean(held) > 0.93
