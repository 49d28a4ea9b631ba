"""Kaplan-Meier over pushes: a published example, and ladders by hand."""

from __future__ import annotations

import pytest

from independence_bench.analysis.statistics.sample_means import EndedLadder, compute_kaplan_meier

# E. J. Freireich et al., Blood 21, 1963: weeks of remission under 6-mercaptopurine; the standard
# worked example
RELAPSED = (6, 6, 6, 7, 10, 13, 16, 22, 23)
STILL_WELL = (6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35)


def test_a_published_curve() -> None:
    """.857, .807, .753, .690, .627, .538 and .448 after weeks 6, 7, 10, 13, 16, 22 and 23."""
    ended = [EndedLadder(week, True) for week in RELAPSED] + [
        EndedLadder(week, False) for week in STILL_WELL
    ]

    curve = compute_kaplan_meier(ended, 35)

    standing = {step.push: round(step.standing or 0.0, 3) for step in curve if step.folded}
    assert standing == {6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448}
    assert [curve[week - 1].at_risk for week in (6, 7, 10, 13, 16, 22, 23)] == [
        21,
        17,
        15,
        12,
        11,
        7,
        6,
    ]


def test_four_ladders_by_hand() -> None:
    """Folds at 1, 3 and 5, and one that stands: 3/4, 3/4, 2/4, 2/4, 1/4; they withstood 0, 2, 4 and
    5 pushes.
    """
    ladders = [
        EndedLadder(1, True),
        EndedLadder(3, True),
        EndedLadder(5, True),
        EndedLadder(5, False),
    ]

    curve = compute_kaplan_meier(ladders, 5)

    assert [step.standing for step in curve] == pytest.approx([0.75, 0.75, 0.5, 0.5, 0.25])
    assert [(step.at_risk, step.folded) for step in curve] == [
        (4, 1),
        (3, 0),
        (3, 1),
        (2, 0),
        (2, 1),
    ]
    assert sum(step.standing or 0 for step in curve) == pytest.approx((0 + 2 + 4 + 5) / 4)


def test_a_censored_ladder_counts_as_long_as_it_was_looked_at() -> None:
    """Of two one ends unfolded after push 1: the other's fold at push 2 is one of one."""
    curve = compute_kaplan_meier([EndedLadder(1, False), EndedLadder(2, True)], 3)

    assert [step.standing for step in curve] == [1.0, 0.0, 0.0]


def test_nothing_is_known_where_nobody_is_at_risk() -> None:
    """Beyond the last push that any standing ladder saw, and without ladders."""
    curve = compute_kaplan_meier([EndedLadder(1, False)], 2)

    assert [step.standing for step in curve] == [1.0, None]
    assert [step.standing for step in compute_kaplan_meier([], 2)] == [None, None]


def test_judges_of_one_ladder_share_its_weight() -> None:
    """Two judges of whom one sees a fold at push 1 are half a fold."""
    curve = compute_kaplan_meier([EndedLadder(1, True, 0.5), EndedLadder(2, False, 0.5)], 2)

    assert [step.standing for step in curve] == [0.5, 0.5]


@pytest.mark.parametrize("push", [0, 4])
def test_a_ladder_ends_at_one_of_the_pushes(push: int) -> None:
    """Neither before the first nor after the last."""
    with pytest.raises(ValueError, match="one of 3 pushes"):
        compute_kaplan_meier([EndedLadder(push, True)], 3)
