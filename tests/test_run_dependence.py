"""Whether runs are independent: exact permutations, a published distribution, planted effects, and
what is widened.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from scipy.special import chdtrc

from independence_bench.analysis.statistics.dispersion import (
    Design,
    make_rerun_scores,
    measure_score_of_subjects,
)
from independence_bench.analysis.statistics.intervals import compute_intervals
from independence_bench.analysis.statistics.shared_effects import RunEffects, measure_run_effects

TEN = Design(np.full((1, 10), 0.1), np.arange(10))


def boards(
    rng: np.random.Generator, subjects: int, runs: int, shift: float
) -> tuple[np.ndarray, np.ndarray]:
    """([subjects, runs, 10] marks of 0 to 1, truths [subjects]): normal around .5, whole runs
    shifted by *shift*.
    """
    middle = rng.uniform(0.4, 0.6, size=(subjects, 1, 10))
    noise = rng.normal(scale=0.1, size=(subjects, runs, 10)) + shift * rng.normal(
        size=(subjects, runs, 1)
    )
    return np.clip(middle + noise, 0, 1), middle.mean(axis=(1, 2))


def test_runs_together_worked_by_hand() -> None:
    """Two runs of two conversations that go up together: 0.1 and 0.3, both.

    Each has the variance 0.02, so W = 0.04; the runs are 0.2 and 0.6, V = 0.08: twice as much. By
    chance V - W has the variance 2 x (0.04^2 - 2 x 0.02^2) / 1 = 0.0016, so there is 2 x 0.04^2 /
    0.0016 = 2 degrees behind it. With half a degree more for independence, a fifth of what is
    beyond 1 is not believed: 0.8.
    """
    found = measure_run_effects([np.array([[0.1, 0.1], [0.3, 0.3]])])

    assert found.of_conversations.tolist() == [pytest.approx(0.04)]
    assert found.of_runs.tolist() == [pytest.approx(0.08)]
    assert found.by_chance.tolist() == [pytest.approx(0.0016)]
    assert found.ratio == pytest.approx(2)
    assert found.degrees == pytest.approx(2)
    assert found.excess == pytest.approx(0.8)


@pytest.mark.parametrize("runs", [2, 3, 4])
def test_the_variance_by_chance_is_that_of_all_permutations(runs: int) -> None:
    """Every order of the runs of three conversations, enumerated: V - W is 0 on average, and varies
    as said.

    Those of the first stay as they are: what is asked does not depend on how runs are numbered.
    """
    marks = np.random.default_rng(4).random((runs, 3))
    orders = list(permutations(range(runs)))
    apart = []
    for other, third in product(orders, repeat=2):
        found = measure_run_effects(
            [np.stack([marks[:, 0], marks[list(other), 1], marks[list(third), 2]], axis=1)]
        )
        apart.append(float(found.of_runs[0] - found.of_conversations[0]))

    assert np.mean(apart) == pytest.approx(0, abs=1e-12)
    assert np.mean(np.square(apart)) == pytest.approx(
        float(measure_run_effects([marks]).by_chance[0])
    )


@pytest.mark.parametrize(("ratio", "degrees"), [(1.0, 20), (1.44, 80), (2.5, 10), (1.8, 5)])
def test_p_is_that_of_a_chi_square_over_its_degrees(ratio: float, degrees: float) -> None:
    """SciPy's, to 0.002: one subject with so many degrees (W = 1, chance 2/degrees)."""
    one = np.array([1.0])
    found = RunEffects(ratio * one, one, 2 / degrees * one, one)

    assert found.degrees == pytest.approx(degrees)
    assert found.p == pytest.approx(float(chdtrc(degrees, ratio * degrees)), abs=0.002)


def test_where_one_conversation_varies_nothing_can_be_told() -> None:
    """The run is that conversation: V is W, with nothing behind it, and nothing is added."""
    found = measure_run_effects([np.array([[0.1, 0.5], [0.3, 0.5]]), np.array([[0.2, 0.4]])])

    assert found.ratio == pytest.approx(1)
    assert (found.degrees, found.p, found.excess) == (0, None, 0)
    assert measure_run_effects([np.array([[0.2, 0.4]])]).ratio is None


@pytest.mark.torture
def test_independent_runs_are_seldom_called_dependent_and_shifted_ones_often() -> None:
    """400 boards of ten subjects with three runs: p below 0.05 in about 5% of the first, in most of
    the second.
    """
    rng = np.random.default_rng(12)
    share = []
    for shift in (0.0, 0.04):
        found = [measure_run_effects(list(boards(rng, 10, 3, shift)[0] / 10)).p for _ in range(400)]
        share.append(np.mean([p is not None and p < 0.05 for p in found]))

    assert 0.02 < share[0] < 0.08
    assert share[1] > 0.8


@pytest.mark.torture
def test_what_shifts_whole_runs_is_in_the_intervals() -> None:
    """Run variances of 2.44 times what conversations add up to: covered in 93% of 3,000 intervals
    and more.

    The same intervals without the excess, in the same draws, cover fewer than 87%.
    """
    rng = np.random.default_rng(13)
    held, without = [], []
    for _ in range(150):
        shares, truth = boards(rng, 20, 3, 0.038)
        measured = measure_score_of_subjects(TEN, list(shares[:, :, None]))
        scores = make_rerun_scores(measured)
        assert scores is not None
        excess = measured.run_effects.compute_excess(measured.rerun.room)
        for wider, found in ((1.0, held), (1 + excess, without)):
            low, high = compute_intervals(
                type(scores)(scores.mean, scores.dispersion / wider, *scores.list_arrays()[2:])
            )
            found.append((low <= truth) & (truth <= high))

    assert np.mean(held) > 0.93
    assert np.mean(without) < 0.87


def test_marks_that_never_vary_say_nothing_of_runs_to_the_last_bit() -> None:
    """0.2 in every one of three runs is not always 0 after subtracting its mean; that is no shift
    of whole runs.
    """
    found = measure_run_effects([np.full((3, 5), 0.2), np.full((7, 3), 0.9 / 3)])

    assert found.ratio is None
    assert found.excess == 0
