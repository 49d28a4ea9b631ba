"""Who is given another run: the rules by themselves, on numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from independence_bench.analysis.statistics.dispersion import Design, Measured, measure, scores_rerun
from independence_bench.analysis.statistics.intervals import intervals, p_values
from independence_bench.analysis.statistics.planning import after, runs_needed
from independence_bench.analysis.statistics.ranking import holm, pairs_of
from independence_bench.analysis.statistics.sequential import (
    FEWEST,
    POCOCK,
    level_of_a_look,
    look_at_ranking,
    look_at_width,
)

FOUR = Design(np.full((1, 4), 0.25), np.arange(4))


def subject(mean: float, runs: int, apart: float = 0.05) -> np.ndarray:
    """[runs, 1, 4]: two transcripts by turns *apart* above and below *mean*, the two others the other way round.

    So every transcript varies, and whole runs do not.
    """
    signs = np.where(np.arange(runs) % 2, 1, -1) * (runs % 2 == 0)
    return np.clip(mean + apart * signs[:, None, None] * np.array([[[1, 1, -1, -1]]]), 0, 1)


def everybody(measured: Measured) -> np.ndarray:
    """All may play."""
    return np.full(len(measured.mean), True)


def widths(measured: Measured) -> np.ndarray:
    """Of the intervals that are shown."""
    scores = scores_rerun(measured)
    assert scores is not None
    low, high = intervals(scores)
    return high - low


def test_the_level_of_a_look_is_pococks() -> None:
    """Published: 0.0182 at four looks, 0.0106 at ten; beyond, less than any of ten."""
    assert 1 - level_of_a_look(1) == pytest.approx(0.05, abs=5e-5)
    assert 1 - level_of_a_look(4) == pytest.approx(0.0182, abs=5e-5)
    assert 1 - level_of_a_look(10) == pytest.approx(0.0106, abs=5e-5)
    assert 1 - level_of_a_look(20) == pytest.approx(0.0106 / 2, abs=5e-5)


@pytest.mark.torture
@pytest.mark.parametrize("looks", [2, 5, 10])
def test_all_looks_together_come_to_five_percent(looks: int) -> None:
    """Sums of normal numbers, looked at after each: seen beyond the bound at least once, 200,000 times tried."""
    steps = np.random.default_rng(1).normal(size=(200_000, looks))
    z = np.cumsum(steps, axis=1) / np.sqrt(np.arange(1, looks + 1))

    assert np.mean((np.abs(z) > POCOCK[looks - 1]).any(axis=1)) == pytest.approx(0.05, abs=0.002)


def test_who_is_narrow_enough_is_settled_and_who_cannot_be_is_given_up() -> None:
    """One at the ceiling, one in the middle: a width between theirs settles the one; the other plays on, or nobody."""
    measured = measure(FOUR, [subject(1.0, 4, 0.0), subject(0.5, 4)])
    ceiling, middle = widths(measured)
    between = (ceiling + middle) / 2

    look = look_at_width(measured, everybody(measured), 10, between)
    hopeless = look_at_width(measured, everybody(measured), 10, ceiling / 4)

    assert look.narrow.tolist() == [True, False]
    assert look.next.tolist() == [1]
    assert look.width == pytest.approx([ceiling, middle])
    assert hopeless.out_of_reach.all()
    assert hopeless.next.tolist() == []


def test_who_is_closest_to_the_width_goes_first() -> None:
    """A budget that does not hold everybody's next run settles most so."""
    measured = measure(FOUR, [subject(0.5, 4), subject(0.9, 4)])

    look = look_at_width(measured, everybody(measured), 10, 0.9 * widths(measured).min())

    assert look.next.tolist() == [1, 0]


def test_at_the_most_runs_nobody_plays_on() -> None:
    """Nor does who may not be played at all."""
    measured = measure(FOUR, [subject(0.5, 4), subject(0.6, 4)])
    wanted = 0.95 * widths(measured).min()

    assert look_at_width(measured, everybody(measured), 4, wanted).next.tolist() == []
    assert look_at_width(measured, np.array([False, True]), 9, wanted).next.tolist() == [1]


def test_where_nobody_has_two_runs_everybody_plays_on() -> None:
    """Nothing is known of how runs vary, whatever the believed dispersion says."""
    measured = measure(FOUR, [subject(1.0, 1), subject(0.9, 1)])

    look = look_at_width(measured, everybody(measured), 10, 0.9)

    assert not look.narrow.any()
    assert sorted(look.next.tolist()) == [0, 1]


def test_the_runs_that_a_width_needs_are_the_fewest() -> None:
    """Reached with them, not with one less; None where a thousand do not do it."""
    measured = measure(FOUR, [subject(0.5, 4), subject(0.9, 4)])

    needed = runs_needed(measured, 0.05)

    for n, runs in enumerate(needed):
        assert runs is not None
        at, before = (intervals(after(measured, np.full(2, float(count)))) for count in (runs, runs - 1))
        assert at[1][n] - at[0][n] <= 0.05 < before[1][n] - before[0][n]
    assert runs_needed(measured, 1e-4) == [None, None]


def test_far_apart_is_settled_and_level_is_given_up() -> None:
    """Nobody plays on for either."""
    measured = measure(FOUR, [subject(0.95, 4), subject(0.5, 4), subject(0.5, 4)])

    look = look_at_ranking(measured, everybody(measured), 6)

    assert look.apart.tolist() == [True, True, False]
    assert look.out_of_reach.tolist() == [False, False, True]
    assert look.next.tolist() == []


def test_a_pair_in_reach_is_played_on_until_it_is_apart() -> None:
    """A gap that two runs do not show and more would: both sides gain, and after some runs it is settled."""
    shares = [subject(0.70, 10), subject(0.58, 10)]
    runs = FEWEST
    while True:
        measured = measure(FOUR, [one[:runs] for one in shares])
        look = look_at_ranking(measured, everybody(measured), 10)
        if not len(look.next):
            break
        assert sorted(look.next.tolist()) == [0, 1]
        runs += 2

    assert look.apart.all()
    assert FEWEST < runs <= 10


def test_the_gain_is_the_share_of_the_evidence_that_is_lacking() -> None:
    """(log p now - log p with a run more of one side)/(log p now - log 0.05), there being one pair."""
    measured = measure(FOUR, [subject(0.70, 2), subject(0.58, 2)])

    look = look_at_ranking(measured, everybody(measured), 10, looks=1)

    now, more = after(measured, [2, 2]), after(measured, [3, 3])
    one, other = np.array([0]), np.array([1])
    p = p_values(now.at(one), now.at(other), 2)[0]
    p_first, p_second = p_values(more.at(one), now.at(other), 2)[0], p_values(now.at(one), more.at(other), 2)[0]
    lacking = np.log(p) - np.log(0.05)
    assert look.gain == pytest.approx([(np.log(p) - np.log(q)) / lacking for q in (p_first, p_second)])


def test_who_may_not_play_is_told_apart_by_the_others_runs() -> None:
    """A stored subject stays as it is; the new one plays."""
    measured = measure(FOUR, [subject(0.72, 10), subject(0.58, 2)])

    look = look_at_ranking(measured, np.array([False, True]), 30)

    assert look.open.all()
    assert look.next.tolist() == [1]


def test_a_settled_pair_is_apart_in_the_ranking_too() -> None:
    """The level of a look is stricter than that of what is shown, the p-values are the same."""
    measured = measure(FOUR, [subject(mean, 4) for mean in (0.9, 0.75, 0.7, 0.5, 0.4)])
    scores = after(measured, measured.runs)
    first, second = pairs_of(5)

    look = look_at_ranking(measured, everybody(measured), 10)

    assert look.apart.any()
    assert np.all(holm(p_values(scores.at(first), scores.at(second), 5))[look.apart])


@settings(max_examples=40)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 6), st.booleans()), min_size=1, max_size=6))
def test_every_pair_is_in_one_state_and_nobody_plays_who_must_not(subjects: list[tuple[float, int, bool]]) -> None:
    """Whatever the scores, runs and permissions; and where a pair is open, somebody plays."""
    measured = measure(FOUR, [subject(mean, runs) for mean, runs, _ in subjects])
    may_play = np.array([may for *_, may in subjects])

    ranking = look_at_ranking(measured, may_play, 5)
    width = look_at_width(measured, may_play, 5, 0.2)

    assert np.all(ranking.apart.astype(int) + ranking.open + ranking.out_of_reach == 1)
    assert bool(len(ranking.next)) == bool(ranking.open.any())
    for chosen in (ranking.next, width.next):
        assert np.all(may_play[chosen] & (measured.runs[chosen] < 5))
    assert not np.any(width.narrow & width.out_of_reach)
