"""What several judges add to the uncertainty of a score: by hand, planted and found again."""

from __future__ import annotations

import numpy as np
import pytest

from independence_bench.statistics.intervals import differences, intervals, plain_scores
from independence_bench.statistics.judging import JudgeNoise, judge_noise, pairs_with_judges, with_judges

BY_HAND = np.array([[0.1, -0.1], [0.2, -0.2]])


def test_mean_squares_worked_by_hand() -> None:
    """Two judges, a tenth and a fifth from the mean: by judge +-0.15, so 2 x 0.15^2 / 1 = 0.045.

    What is left is +-0.05 four times: 0.01 / (1 x 1) is taste, and 0.045 - 0.01 / 2 = 0.04 severity.
    """
    noise = judge_noise(BY_HAND)

    assert noise is not None
    assert (noise.severity, noise.taste) == (pytest.approx(0.04), pytest.approx(0.01))
    assert (noise.judges, noise.subjects, noise.room) == (2, 2, 0.0)


def test_one_judge_and_nobody_say_nothing() -> None:
    """No noise is known, and none is added."""
    scores = plain_scores(np.array([0.5]), np.array([0.01]), np.array([9.0]))

    assert judge_noise(np.zeros((5, 1))) is None
    assert judge_noise(np.zeros((0, 3))) is None
    assert with_judges(scores, None) is scores
    assert pairs_with_judges(scores, scores, None) == (scores, scores)


def test_one_subject_cannot_tell_taste_from_severity() -> None:
    """All of it is severity: (0.1^2 + 0.1^2) / 1."""
    noise = judge_noise(np.array([[0.1, -0.1]]))

    assert noise == JudgeNoise(pytest.approx(0.02), 0.0, 2, 1)  # type: ignore[arg-type]


def test_what_is_planted_is_found_within_a_tenth() -> None:
    """A severity of 0.03^2 and a taste of 0.02^2, five judges, 40 subjects, the mean of 2,000 juries."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(2000):
        marks = 0.03 * rng.normal(size=(1, 5)) + 0.02 * rng.normal(size=(40, 5))
        noise = judge_noise(marks - marks.mean(axis=1, keepdims=True))
        assert noise is not None
        found.append((noise.severity, noise.taste))

    assert np.mean(found, axis=0) == pytest.approx([0.0009, 0.0004], rel=0.1)


def test_the_mean_of_two_judges_worked_by_hand() -> None:
    """(0.04 + 0.01) / 2 on top; degrees 0.05^2 / (0.04^2 / 1 + 0.01^2 / 1) = 1.47, below the bound of 1.5."""
    scores = plain_scores(np.array([0.5]), np.array([0.01]), np.array([9.0]))
    judged = with_judges(scores, judge_noise(BY_HAND))

    assert judged.added.tolist() == [pytest.approx(0.025)]
    assert judged.added_degrees.tolist() == [pytest.approx(25 / 17)]


def test_two_judges_who_happen_to_agree_are_still_two() -> None:
    """Equally strict by chance, with many subjects: no severity is seen, but the degrees stay those of a few judges."""
    rng = np.random.default_rng(1)
    taste = rng.normal(size=(50, 1)) * np.array([[0.05, -0.05]])
    noise = judge_noise(taste - taste.mean(axis=0))
    scores = plain_scores(np.array([0.5]), np.array([0.01]), np.array([9.0]))

    assert noise is not None
    assert noise.severity == 0
    assert with_judges(scores, noise).added_degrees.tolist() == [1.5]


def test_judges_add_most_where_there_is_room() -> None:
    """Scores of 0.5 and 0.9 have rooms of 0.25 and 0.09, on average 0.17; at 1 a quarter of the average is left."""
    means = np.array([0.5, 0.9])
    noise = judge_noise(BY_HAND, means)
    scores = plain_scores(np.array([0.5, 0.9, 1.0]), np.full(3, 0.01), np.full(3, 9.0))

    assert noise is not None
    assert noise.room == pytest.approx(0.17)
    assert with_judges(scores, noise).added.tolist() == pytest.approx(
        [0.025 * 0.25 / 0.17, 0.025 * 0.09 / 0.17, 0.025 * 0.25]
    )


def test_severity_falls_out_of_a_difference_and_taste_does_not() -> None:
    """The same judges marked both: on each side taste / judges = 0.005."""
    scores = plain_scores(np.array([0.5]), np.array([0.01]), np.array([9.0]))
    first, second = pairs_with_judges(scores, scores, judge_noise(BY_HAND))

    assert first.added.tolist() == second.added.tolist() == [pytest.approx(0.005)]
    assert first.added_degrees.tolist() == [1.0]


def test_judges_widen_intervals_and_never_narrow_them() -> None:
    """Of scores and of differences."""
    scores = plain_scores(np.array([0.3, 0.6, 0.95]), np.full(3, 0.01), np.full(3, 9.0))
    noise = judge_noise(BY_HAND / 10, scores.mean[:2])
    low, high = intervals(scores)
    judged_low, judged_high = intervals(with_judges(scores, noise))
    one, other = scores.at(np.array([0])), scores.at(np.array([1]))
    plain, judged = differences(one, other), differences(*pairs_with_judges(one, other, noise))

    assert (judged_low < low).all()
    assert (judged_high > high).all()
    assert judged[0][0] < plain[0][0]
    assert judged[1][0] > plain[1][0]
