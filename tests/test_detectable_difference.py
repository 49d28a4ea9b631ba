"""What can be told before a run: the smallest difference that its runs show."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from terminal_text import displayed

from independence_bench.analysis.detectable import find_detectable_difference
from independence_bench.analysis.statistics.dispersion import (
    Design,
    make_rerun_scores,
    measure_score_of_subjects,
)
from independence_bench.analysis.statistics.intervals import compute_intervals
from independence_bench.analysis.statistics.planning import (
    Expected,
    estimate_detectable_difference,
    estimate_score_variation,
    make_expected_scores,
    predict_scores,
)
from independence_bench.report.estimate_view import render_detectable_difference

ONE = Design(np.array([[1.0]]), np.array([0]))  # one mark in one transcript is the whole score
FOUR = Design(np.full((1, 4), 0.25), np.arange(4))
BY_HAND = Expected(rerun=0.04, borrowed=8.0, degrees=4.0, subjects=3)


def shares(*runs: float) -> np.ndarray:
    """[runs, 1, 1]"""
    return np.array(runs).reshape(-1, 1, 1)


def width_rerun(expected: Expected, mean: float, runs: int) -> float:
    """The width of the interval that is expected after *runs*."""
    scores = make_expected_scores(expected, mean, runs)
    assert scores is not None
    low, high = compute_intervals(scores)
    return float((high - low)[0])


def test_the_expected_width_at_the_ceiling_is_that_of_wilsons_interval() -> None:
    """Two runs: dispersion 0.04/2, 8 + 4 degrees, t = 2.1788, so the lower limit is 1/(1 + 2.1788²
    x 0.02) = 0.9133.
    """
    assert width_rerun(BY_HAND, 1.0, 2) == pytest.approx(1 - 0.9133, abs=5e-5)


def test_the_smallest_difference_seen_is_the_textbooks() -> None:
    """At 0.5, two runs each: (t 2.0639 + 0.8569 at 24 degrees) x sqrt(2 x 0.02 x 0.25) = 0.2921."""
    assert estimate_detectable_difference(BY_HAND, 0.5, 2) == pytest.approx(
        (2.0639 + 0.8569) * sqrt(0.01), abs=5e-5
    )


def test_the_sentence_has_the_difference_in_points_of_the_index() -> None:
    """29.2 of 100 points around 50."""
    (note,) = render_detectable_difference(find_detectable_difference(BY_HAND, 50.0, 2))

    assert "2 runs of each model will show a true difference of 29.2 points" in " ".join(
        displayed([note]).split()
    )


def test_an_empty_store_has_what_is_believed() -> None:
    """A part of what marks at the two ends of their scale have: a quarter of it for four marks that
    weigh the same.
    """
    believed = measure_score_of_subjects(FOUR, [np.full((1, 1, 4), 0.5)])

    assert estimate_score_variation(FOUR).rerun == pytest.approx(believed.believed_rerun)
    assert estimate_score_variation(FOUR).rerun == pytest.approx(
        estimate_score_variation(ONE).rerun / 4
    )
    assert estimate_score_variation(FOUR).degrees == pytest.approx(4), (
        "four conversations that weigh the same"
    )
    assert estimate_score_variation(FOUR).subjects == 0


def test_one_run_says_nothing_where_nobody_has_two() -> None:
    """And something where somebody has."""
    assert make_expected_scores(estimate_score_variation(FOUR), 0.8, 1) is None
    assert estimate_detectable_difference(estimate_score_variation(FOUR), 0.8, 1) is None
    assert make_expected_scores(BY_HAND, 0.8, 1) is not None
    (note,) = render_detectable_difference(
        find_detectable_difference(estimate_score_variation(FOUR), 80.0, 1)
    )
    assert "play two or more" in displayed([note])


def test_those_who_are_stored_speak_for_those_who_are_not() -> None:
    """Variances 0.02 and 0 over rooms 0.25 + 0.01 and 0.25, the belief 0.5 over 0.1: (0.02 +
    0.05)/0.61.
    """
    measured = measure_score_of_subjects(ONE, [shares(0.4, 0.6), shares(0.5, 0.5), shares(0.9)])

    expected = estimate_score_variation(ONE, measured)

    assert expected.rerun == pytest.approx(0.07 / 0.61)
    assert expected.subjects == 2, "one run says nothing"
    assert expected.degrees == pytest.approx(1), "one conversation, one degree for each further run"


def test_after_as_many_runs_as_there_are_all_is_as_it_is() -> None:
    """And after more of them the interval is narrower, around the same mean."""
    measured = measure_score_of_subjects(ONE, [shares(0.4, 0.6, 0.7), shares(0.5, 0.9)])
    now = make_rerun_scores(measured)
    assert now is not None

    same, later = predict_scores(measured, measured.runs), predict_scores(measured, [6, 6])

    assert np.array_equal(compute_intervals(same), compute_intervals(now))
    assert np.array_equal(later.mean, now.mean)
    low, high = compute_intervals(now)
    later_low, later_high = compute_intervals(later)
    assert np.all(later_high - later_low < high - low)


def test_what_a_sitting_shifts_is_foreseen_as_a_board_allows_for_it() -> None:
    """Of equal subjects in one sitting each: no number of runs makes an interval narrower than
    that.
    """
    every = [shares(0.7, 0.8, 0.9), shares(0.9, 0.7, 0.8)]
    measured = measure_score_of_subjects(ONE, every, [(1, 1, 1)] * 2)
    now = make_rerun_scores(measured)
    assert now is not None

    expected = estimate_score_variation(ONE, measured, shifted_by_session=True)

    room = measured.rerun.room[0]
    assert expected.between_sittings * room == pytest.approx(measured.session_dispersions[0])
    low, high = compute_intervals(now)
    assert width_rerun(expected, 0.8, 3) == pytest.approx(float((high - low)[0]), rel=0.1)
    floor = 2 * 1.96 * sqrt(expected.compute_session_dispersion(0.8) * 0.16)
    assert floor < width_rerun(expected, 0.8, 1000) < 1.05 * floor
    assert estimate_score_variation(ONE, measured).compute_session_dispersion(0.8) == 0, (
        "a model file has no other version"
    )
