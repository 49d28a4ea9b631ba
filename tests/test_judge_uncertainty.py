"""What several judges add to the uncertainty of a score: by hand, planted and found again."""

from __future__ import annotations

import numpy as np
import pytest

from independence_bench.analysis.statistics.intervals import (
    compute_difference_limits,
    compute_intervals,
    make_plain_scores,
)
from independence_bench.analysis.statistics.shared_effects import (
    JuryMarks,
    add_judge_variance,
    add_pair_judge_variance,
    measure_judge_noise,
    measure_jury_differences,
)
from independence_bench.analysis.statistics.values import Floats


def whole_panel(scores: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> JuryMarks:
    """Of a jury that lacks no mark, from its judges' *scores* [subjects, judges]."""
    apart = scores[:, :, None] - scores[:, None, :]
    return JuryMarks(apart, np.ones_like(apart), np.full_like(scores, 1 / max(scores.shape[1], 1)))


def middle(subjects: int) -> Floats:
    """Scores of 1/2, where there is the same room for all."""
    return np.full(subjects, 0.5)


BY_HAND = whole_panel(np.array([[0.6, 0.4], [0.7, 0.3]]))
MIDDLE_AND_END = np.array([[0.5, 0.9], [0.5, 1.0]])
ONE, OTHER = np.array([0]), np.array([1])


def test_mean_squares_worked_by_hand() -> None:
    """Two judges, a tenth and a fifth from the mean: by judge +-0.15, so 2 x 0.15^2 / 1 = 0.045.

    What is left is +-0.05 four times: 0.01 / (1 x 1) is taste, and 0.045 - 0.01 / 2 = 0.04
    severity.
    """
    noise = measure_judge_noise(BY_HAND, middle(2))

    assert noise is not None
    assert (noise.severity, noise.taste) == (pytest.approx(0.04), pytest.approx(0.01))
    assert (noise.voices.tolist(), noise.room) == ([[0.5, 0.5], [0.5, 0.5]], 0.25)


def test_one_judge_and_nobody_say_nothing() -> None:
    """No noise is known, and none is added."""
    scores = make_plain_scores(np.array([0.5]), np.array([0.01]), np.array([9.0]))

    assert measure_judge_noise(whole_panel(np.zeros((5, 1))), middle(5)) is None
    assert measure_judge_noise(whole_panel(np.zeros((0, 3))), middle(0)) is None
    assert add_judge_variance(scores, None) is scores
    assert add_pair_judge_variance(scores, scores, None, ONE, ONE) == (scores, scores)


def test_one_subject_cannot_tell_taste_from_severity() -> None:
    """All of it is severity: (0.1^2 + 0.1^2) / 1."""
    noise = measure_judge_noise(whole_panel(np.array([[0.1, -0.1]])), middle(1))

    assert noise is not None
    assert (noise.severity, noise.taste) == (pytest.approx(0.02), 0.0)


def test_what_is_planted_is_found_within_a_tenth() -> None:
    """A severity of 0.03^2 and a taste of 0.02^2, five judges, 40 subjects, the mean of 2,000
    juries.
    """
    rng = np.random.default_rng(3)
    found = []
    for _ in range(2000):
        marks = 0.03 * rng.normal(size=(1, 5)) + 0.02 * rng.normal(size=(40, 5))
        noise = measure_judge_noise(whole_panel(marks), middle(40))
        assert noise is not None
        found.append((noise.severity, noise.taste))

    assert np.mean(found, axis=0) == pytest.approx([0.0009, 0.0004], rel=0.1)


def test_the_mean_of_two_judges_worked_by_hand() -> None:
    """(0.04 + 0.01) / 2 on top; degrees 0.05^2 / (0.04^2 / 1 + 0.01^2 / 1) = 1.47, below the bound
    of 1.5.
    """
    scores = make_plain_scores(np.full(2, 0.5), np.full(2, 0.01), np.full(2, 9.0))
    judged = add_judge_variance(scores, measure_judge_noise(BY_HAND, middle(2)))

    assert judged.added.tolist() == [pytest.approx(0.025)] * 2
    assert judged.added_degrees.tolist() == [pytest.approx(25 / 17)] * 2


def test_two_judges_who_happen_to_agree_are_still_two() -> None:
    """Equally strict by chance, with many subjects: no severity is seen, but the degrees stay those
    of a few judges.
    """
    rng = np.random.default_rng(1)
    taste = rng.normal(size=(50, 1)) * np.array([[0.05, -0.05]])
    noise = measure_judge_noise(whole_panel(taste - taste.mean(axis=0)), middle(50))
    scores = make_plain_scores(np.full(50, 0.5), np.full(50, 0.01), np.full(50, 9.0))

    assert noise is not None
    assert noise.severity == 0
    assert add_judge_variance(scores, noise).added_degrees.tolist() == [1.5] * 50


def test_judges_add_most_where_there_is_room() -> None:
    """Scores of 0.5 and 0.9 have rooms of 0.25 and 0.09, on average 0.17; at 1 a quarter of the
    average is left.
    """
    noise = measure_judge_noise(BY_HAND, np.array([0.5, 0.9]))
    middling, at_the_end = (
        make_plain_scores(np.array(means), np.full(2, 0.01), np.full(2, 9.0))
        for means in MIDDLE_AND_END
    )

    assert noise is not None
    assert noise.room == pytest.approx(0.17)
    assert add_judge_variance(middling, noise).added.tolist() == pytest.approx(
        [0.025 * 0.25 / 0.17, 0.025 * 0.09 / 0.17]
    )
    assert add_judge_variance(at_the_end, noise).added.tolist() == pytest.approx(
        [0.025 * 0.25 / 0.17, 0.025 * 0.25]
    )


def test_severity_falls_out_of_a_difference_and_taste_does_not() -> None:
    """The same judges marked both: on each side taste / judges = 0.005."""
    scores = make_plain_scores(np.array([0.5]), np.array([0.01]), np.array([9.0]))
    first, second = add_pair_judge_variance(
        scores, scores, measure_judge_noise(BY_HAND, middle(2)), ONE, OTHER
    )

    assert first.added.tolist() == second.added.tolist() == [pytest.approx(0.005)]
    assert first.added_degrees.tolist() == [1.0]


def test_judges_widen_intervals_and_never_narrow_them() -> None:
    """Of scores and of differences."""
    scores = make_plain_scores(np.array([0.3, 0.6]), np.full(2, 0.01), np.full(2, 9.0))
    noise = measure_judge_noise(BY_HAND, scores.mean)
    low, high = compute_intervals(scores)
    judged_low, judged_high = compute_intervals(add_judge_variance(scores, noise))
    one, other = scores.select_scores(ONE), scores.select_scores(OTHER)
    plain, judged = (
        compute_difference_limits(one, other),
        compute_difference_limits(*add_pair_judge_variance(one, other, noise, ONE, OTHER)),
    )

    assert (judged_low < low).all()
    assert (judged_high > high).all()
    assert judged[0][0] < plain[0][0]
    assert judged[1][0] > plain[1][0]


def test_a_juror_who_marked_half_worked_by_hand() -> None:
    """Two transcripts of equal weight; the third judge, 0.4 milder than the others, marked only the
    first.

    Voices: (1/3 + 1/2) / 2 = 5/12 twice and 1/6, whose squares add up to 54/144 = 0.375. Pairs
    share 1, 1/2 and 1/2 of the score and are 0, 0.4 and 0.4 apart over that, so severity is (1/2 +
    1/2) x 0.4^2 / 2 over 2, that is 0.04; it was 0.0133 when the missing mark was taken for one
    that agrees.
    """
    shares = np.array([[[[0.2, 0.6]]], [[[0.2, 0.6]]], [[[0.6, np.nan]]]])
    found = measure_jury_differences(np.array([[0.5, 0.5]]), [shares])
    noise = measure_judge_noise(found, middle(1))
    scores = make_plain_scores(np.array([0.5]), np.array([0.01]), np.array([9.0]))

    assert found.voices.tolist() == [
        [pytest.approx(5 / 12), pytest.approx(5 / 12), pytest.approx(1 / 6)]
    ]
    assert found.shared[0].tolist() == [[1, 1, 0.5], [1, 1, 0.5], [0.5, 0.5, 0.5]]
    assert found.apart[0, 2].tolist() == [pytest.approx(0.4), pytest.approx(0.4), 0]
    assert noise is not None
    assert (noise.severity, noise.taste) == (pytest.approx(0.04), 0.0)
    judged = add_judge_variance(scores, noise)
    assert judged.added.tolist() == [pytest.approx(0.04 * 0.375)]
    # two thirds of a judge beside the first
    assert judged.added_degrees.tolist() == [pytest.approx(1 / 0.375 - 1)]


def test_judges_who_lack_nothing_are_the_same_by_marks_and_by_scores() -> None:
    """Of every transcript or of their scores: the same panel."""
    rng = np.random.default_rng(2)
    weights = np.array([[0.1, 0.2], [0.3, 0.4]])
    shares = rng.random((4, 3, 5, 2, 2))
    of_marks = measure_jury_differences(weights, list(shares))
    of_scores = whole_panel(np.einsum("dk,shrdk->sh", weights, shares) / 5)

    for name in ("apart", "shared", "voices"):
        assert getattr(of_marks, name) == pytest.approx(getattr(of_scores, name))


@pytest.mark.torture
def test_what_is_planted_is_found_though_marks_are_missing() -> None:
    """The third of three judges lacks every second mark: the jury's variance is found, and was
    taken for .57 of it.

    Twenty subjects, ten transcripts. Severity 0.03^2; taste 0.02^2; a slip of 0.05 in each
    transcript, which a mean over half of them holds more of: so what is found is a little too much,
    and never too little.
    """
    rng = np.random.default_rng(5)
    weights = np.full((1, 10), 0.1)
    added, truth, naive = [], [], []
    for _ in range(1500):
        leans = 0.03 * rng.normal(size=(1, 3)) + 0.02 * rng.normal(size=(20, 3))
        marks = 0.5 + leans[..., None, None, None] + 0.05 * rng.normal(size=(20, 3, 1, 1, 10))
        missing = np.argsort(rng.random((20, 10)))[:, :5]
        for subject, cells in enumerate(missing):
            marks[subject, 2, 0, 0, cells] = np.nan
        jury = np.nanmean(marks, axis=1)
        noise = measure_judge_noise(measure_jury_differences(weights, list(marks)), middle(20))
        scores = make_plain_scores(np.full(20, 0.5), np.full(20, 0.01), np.full(20, 9.0))
        added.append(add_judge_variance(scores, noise).added.mean())
        truth.append(np.square(jury.mean(axis=(1, 2, 3)) - 0.5).mean())
        away = np.nan_to_num(marks - jury[:, None]).mean(axis=(2, 3, 4))
        naive.append(np.square(away).sum(axis=1).mean() / 2 / 3)

    ratio = np.mean(added) / np.mean(truth)
    assert np.mean(naive) / np.mean(truth) == pytest.approx(0.57, abs=0.04)
    assert 0.97 < ratio < 1.12


def test_severity_is_in_a_difference_where_the_judges_voices_are_not_the_same() -> None:
    """The third judge, 0.4 milder, marked half of the first subject and all of the second.

    Voices 5/12, 5/12, 1/6 and 1/3 each: squared differences 1/144, 1/144 and 1/36 add up to 1/24.
    The judges differ in the same way on both, so there is no taste, and severity is 0.4^2 / 2 over
    three pairs, of which two differ; on each side of the difference stands half of severity / 24.
    """
    whole = [[[[0.2, 0.6]]], [[[0.2, 0.6]]], [[[0.6, 1.0]]]]
    half = np.array([[[[0.2, 0.6]]], [[[0.2, 0.6]]], [[[0.6, np.nan]]]])
    noise = measure_judge_noise(
        measure_jury_differences(np.array([[0.5, 0.5]]), [half, np.array(whole)]), middle(2)
    )
    scores = make_plain_scores(np.full(2, 0.5), np.full(2, 0.01), np.full(2, 9.0))
    sides = add_pair_judge_variance(
        scores.select_scores(ONE), scores.select_scores(OTHER), noise, ONE, OTHER
    )

    assert noise is not None
    assert noise.taste == pytest.approx(0, abs=1e-12)
    # pairs share 2, 1.5 and 1.5 of two scores: (1.5 + 1.5) x 0.08 / 5
    assert noise.severity == pytest.approx(0.048)
    for side in sides:
        assert side.added.tolist() == [pytest.approx(0.048 / 24 / 2)]
