"""Who is given another run: the rules by themselves, on numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from independence_bench.analysis.statistics.dispersion import (
    Design,
    Measured,
    measure,
    scores_rerun,
)
from independence_bench.analysis.statistics.intervals import intervals
from independence_bench.analysis.statistics.planning import after, look_at_width, runs_needed

FOUR = Design(np.full((1, 4), 0.25), np.arange(4))


def subject(mean: float, runs: int, apart: float = 0.05) -> np.ndarray:
    """[runs, 1, 4]: two transcripts by turns *apart* above and below *mean*, the two others the
    other way round.

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


def test_who_is_narrow_enough_is_settled_and_who_cannot_be_is_given_up() -> None:
    """One at the ceiling, one in the middle: a width between theirs settles the one; the other
    plays on, or nobody.
    """
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
        at, before = (
            intervals(after(measured, np.full(2, float(count)))) for count in (runs, runs - 1)
        )
        assert at[1][n] - at[0][n] <= 0.05 < before[1][n] - before[0][n]
    assert runs_needed(measured, 1e-4) == [None, None]


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(1, 6), st.booleans()), min_size=1, max_size=6)
)
def test_nobody_plays_who_must_not(subjects: list[tuple[float, int, bool]]) -> None:
    """Whatever the scores, runs and permissions; and who is narrow enough is not given up."""
    measured = measure(FOUR, [subject(mean, runs) for mean, runs, _ in subjects])
    may_play = np.array([may for *_, may in subjects])

    width = look_at_width(measured, may_play, 5, 0.2)

    assert np.all(may_play[width.next] & (measured.runs[width.next] < 5))
    assert not np.any(width.narrow & width.out_of_reach)
