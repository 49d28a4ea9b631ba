"""What sittings shift: by hand, from the published data, and on boards whose truth is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from assertions import known
from test_import_published import board

from independence_bench.analysis.statistics.dispersion import (
    Design,
    Measured,
    make_new_scenarios_scores,
    make_rerun_scores,
    measure_score_of_subjects,
)
from independence_bench.analysis.statistics.intervals import compute_intervals
from independence_bench.analysis.statistics.shared_effects import (
    BELIEVED_INFORMATION,
    BELIEVED_SITTINGS,
    BELIEVED_SUBJECTS,
)
from independence_bench.analysis.uncertainty import INDEX
from independence_bench.dataset.import_published import PublishedImport

TEN = Design(np.full((1, 10), 0.1), np.arange(10))


def test_one_subject_in_two_sittings_worked_by_hand() -> None:
    """Runs of 0.4 and 0.6, then 0.7: between the sittings (0.5 - 17/30)^2 x 2 + (0.7 - 17/30)^2 =
    0.02667.

    One conversation: W is the variance of the runs, 0.02333. A sitting counts 3 - 5/3 times, and
    the mean is of 9/5 sittings. Room: mean x (1 - mean) + W/3 = 0.24556 + 0.00778, twice, as nobody
    else is there.
    """
    single = Design(np.ones((1, 1)), np.zeros(1, dtype=np.intp))
    measured = measure_score_of_subjects(
        single, [np.array([0.4, 0.6, 0.7])[:, None, None]], [[1, 1, 2]]
    )
    effects, room = known(measured.sittings), measured.rerun.room

    assert effects.between.tolist() == [pytest.approx(0.026667, abs=1e-6)]
    assert effects.by_runs.tolist() == [pytest.approx(0.023333, abs=1e-6)]
    assert effects.growth.tolist() == [pytest.approx(4 / 3)]
    assert effects.number.tolist() == [pytest.approx(9 / 5)]
    assert room.tolist() == [pytest.approx(0.253333, abs=1e-6)]
    variance = (BELIEVED_SITTINGS * BELIEVED_INFORMATION + 0.003333) / (
        BELIEVED_INFORMATION + 4 / 3 * 0.253333**2
    )
    assert effects.estimate_latent_variance(room) == pytest.approx(variance, rel=1e-4)
    assert measured.session_dispersions.tolist() == [
        pytest.approx(variance * 0.253333 / 1.8, rel=1e-4)
    ]


def test_what_is_believed_is_what_the_published_subjects_show(
    real: tuple[Path, PublishedImport],
) -> None:
    """Fifteen were played in two sittings; the board says so, with how many points that is."""
    found = board(real[0])
    uncertainty = known(found.uncertainty)
    measured = uncertainty.measures[INDEX].measured
    effects, room = known(measured.sittings), measured.rerun.room
    near_ends = np.maximum(room, room.mean() / 2)
    information = float((effects.growth * room * near_ends).sum())
    away = float((effects.between - effects.by_runs).sum())

    assert int((effects.number > 1).sum()) == BELIEVED_SUBJECTS
    assert information == pytest.approx(BELIEVED_INFORMATION, abs=0.0005)
    assert away / information == pytest.approx(BELIEVED_SITTINGS, abs=0.0005)
    allowance = known(uncertainty.measure_session_allowance())
    assert (allowance.one, allowance.of, allowance.published, allowance.own) == (57, 72, 15, 15)
    assert allowance.points == pytest.approx(2.08, abs=0.01)
    assert str(allowance) == (
        "57 of 72 models were played in one session: intervals allow for 2.1 points between "
        "sessions, estimated from 15 published models and 15 here; intervals for the same "
        "scenarios are "
        f"{known(allowance.width):.1f} points wide on average, without that "
        f"{known(allowance.width_without):.1f}"
    )
    assert known(allowance.width_without) < known(allowance.width)
    for row in found.ranked:
        plain = known(known(row.index_interval_without_sessions).rerun)
        assert plain.width <= known(row.index_interval.rerun).width


def test_who_may_be_first_of_the_published_subjects(real: tuple[Path, PublishedImport]) -> None:
    """Twenty of seventy-two; by another test like it, hardly anybody can be told from anybody."""
    rows = board(real[0]).ranked

    assert sum(known(row.ranks).tied_with_best for row in rows) == 20


def drawn(
    rng: np.random.Generator, subjects: int, sittings: int, runs: int, spread: float
) -> np.ndarray:
    """[subjects, runs, 1, 10]: subjects that are equal in truth, at 0.8; *spread*: SD of the score
    between sittings.
    """
    shifts = np.repeat(rng.normal(0, spread, size=(subjects, sittings)), runs, axis=1)
    noise = rng.uniform(-0.15, 0.15, size=(subjects, sittings * runs, 10))
    return np.clip(0.8 + shifts[:, :, None] + noise, 0.0, 1.0)[:, :, None]


def covered(measured: Measured) -> float:
    """How many of the rerun intervals hold 0.8."""
    low, high = compute_intervals(known(make_rerun_scores(measured)))
    return float(np.mean((low <= 0.8) & (high >= 0.8)))


def test_what_a_sitting_shifts_is_covered_where_it_is_what_is_believed() -> None:
    """One sitting each, with the believed SD; without the allowance two of three intervals hold the
    truth.
    """
    rng = np.random.default_rng(7)
    spread = float(np.sqrt(BELIEVED_SITTINGS)) * 0.16
    boards = [drawn(rng, 12, 1, 4, spread) for _ in range(120)]

    allowed = np.mean(
        [covered(measure_score_of_subjects(TEN, list(each), [[1] * 4] * 12)) for each in boards]
    )
    before = np.mean([covered(measure_score_of_subjects(TEN, list(each))) for each in boards])

    assert allowed > 0.93
    assert before < 0.75


def test_a_board_with_several_sittings_finds_out_by_itself() -> None:
    """Thirty subjects in five sittings that shift nothing, or by twice the SD that is believed."""
    rng = np.random.default_rng(8)
    steps = [[sitting for sitting in range(5) for _ in range(2)]] * 30

    def seen(spread: float) -> float:
        measured = measure_score_of_subjects(TEN, list(drawn(rng, 30, 5, 2, spread)), steps)
        return known(measured.sittings).estimate_latent_variance(measured.rerun.room)

    believed = float(np.sqrt(BELIEVED_SITTINGS)) * 0.16
    assert seen(0.0) < 0.1 * BELIEVED_SITTINGS
    assert seen(2 * believed) == pytest.approx(4 * BELIEVED_SITTINGS, rel=0.3)


def test_more_sittings_narrow_and_an_unknown_one_allows_nothing() -> None:
    """Four runs in one sitting, in two, in four; at the ceiling, and where no time is known."""
    shares = list(drawn(np.random.default_rng(9), 3, 1, 4, 0.0))
    widths = []
    for sittings in ([1, 1, 1, 1], [1, 1, 2, 2], [1, 2, 3, 4], []):
        measured = measure_score_of_subjects(TEN, shares, [sittings] * 3)
        low, high = compute_intervals(known(make_rerun_scores(measured)))
        farther = compute_intervals(known(make_new_scenarios_scores(measured)))
        widths.append((float((high - low).mean()), float((farther[1] - farther[0]).mean())))

    assert widths == sorted(widths, reverse=True)
    assert len({width for width, _ in widths}) == 4
    plain = measure_score_of_subjects(TEN, shares)
    assert compute_intervals(known(make_rerun_scores(plain)))[0].tolist() == pytest.approx(
        compute_intervals(known(make_rerun_scores(measured)))[0].tolist()
    )
    perfect = measure_score_of_subjects(TEN, [np.ones((4, 1, 10))] * 2, [[1] * 4] * 2)
    assert perfect.session_dispersions.tolist() == [0.0, 0.0]


def test_at_the_end_of_the_scale_there_is_half_of_the_average_allowance_too() -> None:
    """One of twenty never loses a point: its allowance is that of one who loses the least."""
    others = list(drawn(np.random.default_rng(10), 19, 1, 4, 0.02))
    once = [[1] * 4] * 20
    nearly = np.ones((4, 1, 10))
    nearly[0, 0, 0] = 0.9999

    perfect, near = (
        measure_score_of_subjects(TEN, [first, *others], once)
        for first in (np.ones((4, 1, 10)), nearly)
    )

    assert perfect.session_dispersions[0] == pytest.approx(near.session_dispersions[0], rel=1e-3)
    assert perfect.session_dispersions[0] > 0.3 * perfect.session_dispersions[1:].mean()


def test_what_sittings_shift_is_not_taken_for_runs_that_depend_on_each_other() -> None:
    """Thirty subjects, five sittings of two runs, shifted by 0.1: within them the runs are
    independent.
    """
    shares = list(drawn(np.random.default_rng(11), 30, 5, 2, 0.1))
    steps = [[sitting for sitting in range(5) for _ in range(2)]] * 30

    assert known(measure_score_of_subjects(TEN, shares).run_effects.ratio) > 3
    assert known(measure_score_of_subjects(TEN, shares, steps).run_effects.ratio) == pytest.approx(
        1.0, abs=0.25
    )
