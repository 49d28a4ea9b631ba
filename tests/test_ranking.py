"""What is claimed of ranks: Holm's example, letters by hand, and how often a ranking of equals says
anything.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from independence_bench.analysis.statistics.dispersion import (
    Design,
    measure,
    pairs_new_scenarios,
    pairs_rerun,
)
from independence_bench.analysis.statistics.generalization import (
    holm,
    pairs_of,
    ranking_p,
    shrunken,
    standings,
    tie_groups,
    told_apart,
)
from independence_bench.analysis.statistics.intervals import p_values, plain_scores
from independence_bench.analysis.statistics.values import Standing


def matrix(number: int, *pairs: tuple[int, int]) -> np.ndarray:
    """Who is apart from whom."""
    apart = np.zeros((number, number), dtype=np.bool_)
    for one, other in pairs:
        apart[one, other] = apart[other, one] = True
    return apart


def test_holms_procedure_on_its_textbook_example() -> None:
    """p = 0.01, 0.04, 0.03, 0.005: 0.005 < 0.05/4 and 0.01 < 0.05/3 stand; 0.03 > 0.05/2 and all
    after it do not.

    So 0.04 is not rejected although it is below 0.05, the bound of the last one.
    """
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])).tolist() == [True, False, False, True]


@pytest.mark.parametrize(
    ("p", "rejected"),
    [
        # 0.03 would pass as the last of two, but has to pass as the first, 0.025
        ([0.03, 0.5], [False, False]),
        ([0.04, 0.02], [True, True]),  # 0.02 does, and 0.04 after it
        ([], []),
        ([0.049], [True]),  # a single one is judged as it is
        ([0.051], [False]),
    ],
)
def test_holms_strictest_bound_comes_first(p: list[float], rejected: list[bool]) -> None:
    """And no hypotheses are no rejections."""
    assert holm(np.array(p)).tolist() == rejected


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_rejects_more_than_bonferroni_and_less_than_none(p: list[float]) -> None:
    """All below 0.05 / n, none above 0.05, and nothing that is larger than something it keeps."""
    rejected = holm(np.array(p))

    for value, gone in zip(p, rejected, strict=True):
        assert gone or value > 0.05 / len(p)
        assert not gone or value <= 0.05
    kept = [value for value, gone in zip(p, rejected, strict=True) if not gone]
    assert all(
        value <= min(kept, default=1.0) for value, gone in zip(p, rejected, strict=True) if gone
    )


def test_letters_worked_by_hand() -> None:
    """Four in order; the first is apart from the last two, the second from the last: the stretches
    12, 23, 34.
    """
    assert tie_groups([90, 80, 70, 60], matrix(4, (0, 2), (0, 3), (1, 3))) == ["a", "ab", "bc", "c"]


def test_letters_follow_the_scores_and_not_the_order_of_asking() -> None:
    """The same four, asked in another order."""
    assert tie_groups([60, 90, 70, 80], matrix(4, (1, 2), (1, 0), (3, 0))) == ["c", "a", "bc", "ab"]


def test_letters_where_nobody_and_where_everybody_is_apart() -> None:
    """One letter for all, or one for each, beyond z too."""
    everybody = ~np.eye(28, dtype=np.bool_)
    letters = tie_groups(list(range(28, 0, -1)), everybody)

    assert tie_groups([3, 2, 1], matrix(3)) == ["a", "a", "a"]
    assert letters[:2] == ["a", "b"]
    assert letters[25:] == ["z", "a1", "b1"]
    assert tie_groups([], matrix(0)) == []


def test_standings_worked_by_hand() -> None:
    """Three subjects; only the first and the last are apart for certain: ranks 1-2, 1-3 and 2-3."""
    pairs = np.array([0.4, 0.001, 0.3])  # 1-2, 1-3, 2-3

    assert standings([90, 80, 70], holm(pairs)) == [
        Standing(1, 2, "a", True),
        Standing(1, 3, "ab", True),
        Standing(2, 3, "b", False),
    ]


def test_who_is_ahead_only_by_what_was_lost_is_not_better() -> None:
    """Three who are all apart; with its lost replies at worst the first would be behind the second."""
    apart = np.full(3, True)
    plain = standings([90.0, 80.0, 70.0], apart)
    bounded = standings([90.0, 80.0, 70.0], apart, [75.0, 80.0, 70.0])

    assert [(one.rank_low, one.rank_high) for one in plain] == [(1, 1), (2, 2), (3, 3)]
    assert [(one.rank_low, one.rank_high) for one in bounded] == [(1, 2), (1, 2), (3, 3)]


def test_a_rank_is_certain_when_everybody_else_is_apart() -> None:
    """The winner by a wide margin; the two behind share the second place."""
    first, second, third = standings([90, 80, 79], np.array([True, True, False]))

    assert first.certain
    assert (first.rank_low, first.groups, first.tied_with_best) == (1, "a", True)
    assert [(s.rank_low, s.rank_high, s.groups, s.tied_with_best) for s in (second, third)] == [
        (2, 3, "b", False)
    ] * 2


def test_a_subject_alone_is_first() -> None:
    """There is nobody to be told apart from."""
    assert standings([12.5], np.array([], dtype=np.bool_)) == [Standing(1, 1, "a", True)]


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.tuples(st.permutations(range(n)), st.integers(0, 2**32 - 1))
    )
)
def test_what_is_claimed_never_contradicts_itself(drawn: tuple[list[int], int]) -> None:
    """A subject's own place is in its range of ranks; who shares a letter is not apart; nobody is
    without a letter.
    """
    indices, seed = drawn
    number = len(indices)
    first, second = pairs_of(number)
    p = np.random.default_rng(seed).random(len(first)) ** 6
    found = standings(indices, holm(p))
    apart = dict(
        zip(zip(first.tolist(), second.tolist(), strict=True), holm(p).tolist(), strict=True)
    )

    for place, subject in enumerate(sorted(range(number), key=lambda n: -indices[n]), start=1):
        assert found[subject].rank_low <= place <= found[subject].rank_high
        assert found[subject].groups
        assert found[subject].tied_with_best == (found[subject].rank_low == 1)
    for (one, other), told in apart.items():
        assert not (told and set(found[one].groups) & set(found[other].groups))
    ordered = sorted(found, key=lambda s: s.groups[0])
    assert all(a.groups[0] <= b.groups[0] for a, b in pairwise(ordered))


@pytest.mark.parametrize("kind", ["scores", "trials", "one conversation", "few runs"])
def test_ranks_of_many_are_those_of_all_their_p_values(kind: str) -> None:
    """Of forty, p is worked out only next to Holm's bound: the same pairs stand as with all 780 of
    them.
    """
    rng = np.random.default_rng(5)
    number = 1 if kind == "one conversation" else 8
    design = Design(np.full((1, number), 1 / number), np.arange(number))
    for spread in (0.0, 0.4, 1.0):
        chance = np.clip(0.5 + spread * (np.linspace(0, 1, 40) - 0.5), 0.02, 0.98)[
            :, None, None, None
        ]
        runs = {"few runs": 2, "one conversation": 4}.get(kind, 12)
        drawn = rng.random((40, runs, 1, number))
        marks = (
            (drawn < chance).astype(float)
            if kind in ("trials", "one conversation")
            else (drawn + 3 * chance) / 4
        )
        measured = measure(design, list(marks))
        every = ranking_p(measured, None, *pairs_of(40))
        for p, apart in zip(every, told_apart(measured, None, worked_out=20), strict=True):
            assert (p is None) == (apart is None)
            if p is not None and apart is not None:
                assert apart.tolist() == holm(p).tolist()
    few = kind == "one conversation"  # four trials each: nothing can be told of 780 pairs
    assert few or any(p is not None and 0 < holm(p).sum() < len(p) for p in every), (
        "the last board tells some apart"
    )


@pytest.mark.torture
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_a_ranking_of_equals_seldom_says_anything(share: float) -> None:
    """100 boards of eight equals, three runs of six conversations with chance *share* each: in at
    most 5% of them is anybody better than anybody; plain p-values below 0.05, in the same draws,
    say so several times as often.
    """
    rng = np.random.default_rng(11)
    design = Design(np.full((1, 6), 1 / 6), np.arange(6))
    first, second = pairs_of(8)
    wrong, plain = 0, 0
    for _ in range(100):
        board = (rng.random((8, 3, 1, 6)) < share).astype(float)
        measured = measure(design, list(board))
        for pairs in (pairs_rerun, pairs_new_scenarios):
            sides = pairs(measured, first, second)
            assert sides is not None
            p = p_values(*sides, 8)
            wrong += bool(holm(p).any())
            plain += bool((p < 0.05).any())

    assert wrong <= 0.05 * 200
    assert plain > max(2, 3 * wrong)


def test_what_is_drawn_worked_by_hand() -> None:
    """Five angles 1.0, 1.1, 1.2, 1.3 and 1.4 with a noise of 0.01 each, and with one of 0.04.

    The squares around 1.2 are 0.1. At 0.01 that is 10, 6 more than four, and 5/0.01 - 1/0.01 = 400
    to divide it by: a variance of 0.015 between subjects, so each is drawn by (5 - 3)/(5 - 1) x
    0.01/0.025 = 1/5 of the way. At 0.04 it is
    2.5, less than four: nothing is between them, and each is drawn half of the way.
    """
    angles = np.array([1.0, 1.1, 1.2, 1.3, 1.4])
    for noise, part in ((0.01, 0.2), (0.04, 0.5)):
        scores = plain_scores(np.sin(angles) ** 2, np.full(5, 4 * noise), np.full(5, 9.0))
        drawn = np.arcsin(np.sqrt(shrunken(scores)))
        assert drawn.tolist() == pytest.approx((1.2 + (1 - part) * (angles - 1.2)).tolist())


def test_few_subjects_and_those_who_never_vary_are_not_drawn() -> None:
    """Three say too little of each other; without noise nothing is luck; and both ends stay where
    they are.
    """
    three = plain_scores(np.array([0.2, 0.5, 1.0]), np.full(3, 0.04), np.full(3, 9.0))
    exact = plain_scores(np.array([0.0, 0.3, 0.6, 0.9, 1.0]), np.zeros(5), np.full(5, 9.0))
    equal = plain_scores(np.full(5, 1.0), np.full(5, 0.04), np.full(5, 9.0))

    assert shrunken(three).tolist() == [0.2, 0.5, 1.0]
    assert shrunken(exact).tolist() == pytest.approx([0.0, 0.3, 0.6, 0.9, 1.0], abs=1e-9)
    assert shrunken(equal).tolist() == pytest.approx([1.0] * 5)
    beyond = plain_scores(
        np.array([1.0000000000000004, 0.9, 0.8, 0.7, -1e-17]), np.full(5, 0.04), np.full(5, 9.0)
    )
    assert np.all((shrunken(beyond) >= 0) & (shrunken(beyond) <= 1)), (
        "a mean may be a rounding error beyond its end"
    )


def test_drawn_the_best_of_equals_is_hardly_too_good() -> None:
    """Twenty equal subjects, 200 boards: the best index is too high by more than a standard
    deviation of its noise.
    """
    rng = np.random.default_rng(3)
    noise = 0.02  # of the angle, a standard deviation
    angles = 1.1 + rng.normal(0, noise, size=(200, 20))
    best = [angles_of.max() for angles_of in angles]
    scores = [
        plain_scores(np.sin(of) ** 2, np.full(20, 4 * noise**2), np.full(20, 30.0)) for of in angles
    ]
    drawn = [np.arcsin(np.sqrt(shrunken(of).max())) for of in scores]

    assert np.mean(best) - 1.1 > 1.5 * noise
    assert abs(np.mean(drawn) - 1.1) < 0.5 * noise
