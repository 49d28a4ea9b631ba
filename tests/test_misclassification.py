"""Correction of shares and means for a judge's known confusion, by values worked by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from independence_bench.analysis.statistics.misclassification import (
    Confusion,
    corrected,
    corrected_shares,
    corrected_worths,
)

THREE = np.array([[0.8, 0.2, 0.0], [0.1, 0.8, 0.1], [0.0, 0.2, 0.8]])
TENTH = np.array([[9.0, 1.0], [1.0, 9.0]])  # of ten questions a level one was given the other
YES_NO = np.array([0.0, 1.0])


def test_three_levels_by_hand() -> None:
    """Of .5, .3, .2 this judge makes .5 x .8 + .3 x .1 = .43, .5 x .2 + .3 x .8 + .2 x .2 = .38 and .19: and back."""
    found = corrected_shares(np.array([0.43, 0.38, 0.19]), THREE)

    assert found == pytest.approx([0.5, 0.3, 0.2])


def test_two_levels_are_the_formula() -> None:
    """Rogan and Gladen's (share + specificity - 1) / (sensitivity + specificity - 1), cut at 0 and 1.

    With .9 and .8 a share of .3 is (0.3 + 0.8 - 1) / (0.9 + 0.8 - 1) = 1/7; the judge's errors alone make .2 of yes.
    """
    matrix = np.array([[0.8, 0.2], [0.1, 0.9]])  # no, yes
    for share, true in ((0.05, 0.0), (0.2, 0.0), (0.3, 1 / 7), (0.6, 4 / 7), (0.95, 1.0)):
        found = corrected_shares(np.array([1 - share, share]), matrix)
        assert found is not None
        assert found[1] == pytest.approx(true, abs=1e-9)


def test_a_judge_that_guesses_is_not_corrected() -> None:
    """Sensitivity and specificity that add up to 1 say nothing of who is what, in whichever way they do."""
    for sensitivity, specificity in ((0.5, 0.5), (1.0, 0.0)):
        matrix = np.array([[specificity, 1 - specificity], [1 - sensitivity, sensitivity]])
        assert corrected_shares(np.array([0.7, 0.3]), matrix) is None


def test_outside_the_simplex_the_nearest_point_is_taken() -> None:
    """No true shares give .7, .05, .25 under this judge; a fine grid finds no point that comes nearer."""
    given = np.array([0.7, 0.05, 0.25])
    found = corrected_shares(given, THREE)
    grid = [np.array([a, b, 100 - a - b]) / 100 for a, b in product(range(101), repeat=2) if a + b <= 100]

    assert found is not None
    assert found.sum() == pytest.approx(1.0)
    assert found.min() >= 0
    best = min(float(np.square(THREE.T @ p - given).sum()) for p in grid)
    assert float(np.square(THREE.T @ found - given).sum()) <= best + 1e-12


def test_a_singular_matrix_and_an_unknown_row_correct_nothing() -> None:
    """A judge that gives two levels alike, and a level without questions, leave no way back."""
    alike = np.array([[0.5, 0.5], [0.5, 0.5]])
    unknown = Confusion(np.array([[10.0, 0.0], [0.0, 0.0]]), np.zeros((2, 2)))

    assert corrected_shares(np.array([0.5, 0.5]), alike) is None
    assert corrected_shares(np.array([0.5, 0.5]), unknown.matrix) is None
    for one in (Confusion(10 * alike, 10 * alike), unknown, Confusion(np.zeros((2, 2)), np.zeros((2, 2)))):
        assert not one.correctable
        assert corrected(one, [5, 5], YES_NO) is None


def test_nearly_a_coin_is_not_corrected_either() -> None:
    """12 of 20 right on both levels could be a coin: the determinant is not told from 0."""
    coin = Confusion(np.array([[6.0, 4.0], [4.0, 6.0]]), np.array([[6.0, 4.0], [4.0, 6.0]]))

    assert np.linalg.det(coin.matrix) > 0
    assert not coin.correctable


def test_a_planted_tenth_is_taken_out() -> None:
    """Of 30% yes a judge with 10% errors makes .3 x .9 + .7 x .1 = 34%; corrected it is 30% again."""
    found = corrected(Confusion(TENTH, TENTH), [66, 34], YES_NO)

    assert found is not None
    assert found.shares == pytest.approx([0.7, 0.3])
    assert found.mean == pytest.approx(0.3)
    low, high = found.share_limits
    assert low[1] < 0.3 < high[1]
    assert found.mean_limits == pytest.approx((low[1], high[1]), abs=0.03)


def test_a_perfect_judge_changes_nothing_and_is_still_known_from_few_questions() -> None:
    """Forty right answers leave the share where it is, with limits wider than those of the sample alone."""
    perfect = Confusion(10 * np.eye(2), 10 * np.eye(2))
    known_well = Confusion(10_000 * np.eye(2), 10_000 * np.eye(2))
    few, many = (corrected(one, [70, 30], YES_NO) for one in (perfect, known_well))

    assert few is not None
    assert many is not None
    assert few.shares == pytest.approx([0.7, 0.3])
    assert many.share_limits[1][1] - many.share_limits[0][1] < few.share_limits[1][1] - few.share_limits[0][1]
    # Student's or Wilson's limits of 30 of 100 are .22 to .40
    assert many.share_limits[0][1] == pytest.approx(0.21, abs=0.02)
    assert many.share_limits[1][1] == pytest.approx(0.41, abs=0.02)


def test_limits_hold_every_mix_of_hard_cases() -> None:
    """A judge that calls half of the hard no's yes: limits reach from hardly any hard case to mostly hard ones."""
    blind = Confusion(10 * np.eye(2), np.array([[5.0, 5.0], [0.0, 10.0]]))
    found = corrected(blind, [500, 500], YES_NO)

    assert found is not None
    low, high = found.share_limits
    assert low[1] < 0.25  # mostly hard: half of what is called yes is not
    assert high[1] > 0.49  # none is hard: the half that was called yes is


def test_marks_keep_what_they_are_inside_their_band() -> None:
    """A band is worth the mean of the marks in it, so that a perfect judge's mean stays 8.4, with limits around it."""
    perfect = Confusion(10 * np.eye(3), 10 * np.eye(3))
    found = corrected(perfect, [0, 0, 25], np.array([1.5, 5.0, 8.4]), 0.5, (0, 10))

    assert found is not None
    assert found.mean == pytest.approx(8.4)
    assert 7 < found.mean_limits[0] < 8.3 < 8.5 < found.mean_limits[1] < 9


def test_nothing_given_has_no_correction() -> None:
    """Without conversations there is nothing to correct."""
    assert corrected(Confusion(TENTH, TENTH), [0, 0], YES_NO) is None


def test_corrected_worths_give_the_right_mean() -> None:
    """What the judge makes of .5, .3, .2, counted by corrected worths, has the mean .3 x 1 + .2 x 2 = .7."""
    worths = corrected_worths(np.array([0.0, 1.0, 2.0]), np.linalg.inv(THREE))

    assert float(np.array([0.43, 0.38, 0.19]) @ worths) == pytest.approx(0.7)


def test_the_same_counts_give_the_same_limits() -> None:
    """A number that was printed can be made again."""
    first, second = (corrected(Confusion(TENTH, TENTH), [66, 34], YES_NO) for _ in range(2))

    assert first is not None
    assert second is not None
    assert first.mean_limits == second.mean_limits
    assert (first.share_limits[0] == second.share_limits[0]).all()
