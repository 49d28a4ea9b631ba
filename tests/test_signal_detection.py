"""Hits and false alarms -> d' and criterion: against tables of the normal distribution and by hand."""

from __future__ import annotations

import pytest

from independence_bench.analysis.statistics.signal_detection import Detection, corrected_rate, z_score


def test_z_is_that_of_the_table() -> None:
    """z(.69) = .496, z(.89) = 1.227, z(.59) = .228, z(.975) = 1.960."""
    assert [round(z_score(rate), 3) for rate in (0.69, 0.89, 0.59, 0.975, 0.5)] == [0.496, 1.227, 0.228, 1.960, 0.0]
    assert z_score(0.31) == pytest.approx(-z_score(0.69))


def test_d_prime_and_criterion_by_hand() -> None:
    """20 of 25 and 10 of 25: 20.5/26 = .7885 and 10.5/26 = .4038, z = .8012 and -.2434."""
    found = Detection(20, 25, 10, 25)

    assert (found.hit_rate, found.false_alarm_rate) == (0.8, 0.4)
    assert found.difference == pytest.approx(0.4)
    assert found.d_prime == pytest.approx(0.8012 + 0.2434, abs=2e-4)
    assert found.criterion == pytest.approx(-(0.8012 - 0.2434) / 2, abs=2e-4)


def test_rates_at_the_ends_are_corrected() -> None:
    """All of 28 hits and no false alarm: z(28.5/29) = 2.1144, twice; without the correction there is no number."""
    assert corrected_rate(28, 28) == 28.5 / 29
    assert Detection(28, 28, 0, 28).d_prime == pytest.approx(2 * 2.1144, abs=2e-4)
    assert Detection(28, 28, 0, 28).criterion == pytest.approx(0)


def test_a_rock_and_a_credulous_subject_are_told_apart_by_the_criterion_alone() -> None:
    """Both discriminate nothing; one never moves, the other always."""
    rock, credulous = Detection(0, 12, 0, 12), Detection(12, 12, 12, 12)

    assert rock.difference == credulous.difference == rock.d_prime == credulous.d_prime == 0
    assert rock.criterion == pytest.approx(-credulous.criterion)
    assert rock.criterion == pytest.approx(1.7688, abs=2e-4)  # z(12.5/13)


def test_what_draws_towards_0_weighs_less_with_more_trials() -> None:
    """The same shares, of 12 trials and of 120."""
    few, many = Detection(9, 12, 3, 12).d_prime, Detection(90, 120, 30, 120).d_prime

    assert few < many < 2 * z_score(0.75)


@pytest.mark.parametrize("counts", [(3, 2, 0, 2), (-1, 2, 0, 2), (0, 0, 0, 2), (1, 2, 0, 0), (1, 2, 3, 2)])
def test_impossible_counts_are_errors(counts: tuple[int, int, int, int]) -> None:
    """More moves than trials, fewer than none, or no trials."""
    with pytest.raises(ValueError, match="trials"):
        Detection(*counts)


@pytest.mark.parametrize("rate", [0.0, 1.0, 1.5])
def test_a_rate_at_an_end_has_no_z(rate: float) -> None:
    """It is said, and not an infinity that spreads."""
    with pytest.raises(ValueError, match="correct it first"):
        z_score(rate)


def test_no_trials_are_a_coin() -> None:
    """What is added alone; and more moves than trials are an error."""
    assert corrected_rate(0, 0) == 0.5
    with pytest.raises(ValueError, match="3 moves in 2 trials"):
        corrected_rate(3, 2)
