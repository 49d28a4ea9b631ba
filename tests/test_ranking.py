"""What is claimed of ranks: who may be first, possible ranks, and how often a ranking is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from independence_bench.analysis.statistics.dispersion import (
    Design,
    Measured,
    make_rerun_pair_scores,
    measure_score_of_subjects,
)
from independence_bench.analysis.statistics.generalization import (
    count_extra_ranking_degrees,
    estimate_standings,
    find_corrected_better_than_matrices,
    find_holm_rejections,
    list_pairs,
)
from independence_bench.analysis.statistics.intervals import compute_p_values
from independence_bench.analysis.statistics.values import Standing

EIGHT = Design(np.full((1, 8), 1 / 8), np.arange(8))


def around(*means: float, spread: float = 0.02, runs: int = 3) -> Measured:
    """A board of such subjects, whose marks vary by *spread*."""
    rng = np.random.default_rng(1)
    noise = rng.normal(scale=spread, size=(len(means), runs, 1, 8))
    noise -= noise.mean(axis=(1, 2, 3), keepdims=True)
    return measure_score_of_subjects(EIGHT, list(np.array(means)[:, None, None, None] + noise))


def test_holms_procedure_on_its_textbook_example() -> None:
    """p = 0.01, 0.04, 0.03, 0.005: 0.005 < 0.05/4 and 0.01 < 0.05/3 stand; 0.03 > 0.05/2 and all
    after it do not.

    So 0.04 is not rejected although it is below 0.05, the bound of the last one.
    """
    assert find_holm_rejections(np.array([0.01, 0.04, 0.03, 0.005])).tolist() == [
        True,
        False,
        False,
        True,
    ]


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
    assert find_holm_rejections(np.array(p)).tolist() == rejected


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_rejects_more_than_bonferroni_and_less_than_none(p: list[float]) -> None:
    """All below 0.05 / n, none above 0.05, and nothing that is larger than something it keeps."""
    rejected = find_holm_rejections(np.array(p))

    for value, gone in zip(p, rejected, strict=True):
        assert gone or value > 0.05 / len(p)
        assert not gone or value <= 0.05
    kept = [value for value, gone in zip(p, rejected, strict=True) if not gone]
    assert all(
        value <= min(kept, default=1.0) for value, gone in zip(p, rejected, strict=True) if gone
    )


def known(found: list[Standing] | None) -> list[Standing]:
    """It is there."""
    assert found is not None
    return found


def ranks(found: list[Standing]) -> list[tuple[int, int]]:
    """From the best possible rank to the worst."""
    return [(one.rank_low, one.rank_high) for one in found]


def test_possible_ranks_of_who_are_far_apart_and_of_who_are_not() -> None:
    """The first is far ahead, the two behind it are equal, the last is far behind."""
    found = known(estimate_standings(around(0.9, 0.6, 0.6, 0.3), None)[0])

    assert ranks(found) == [(1, 1), (2, 3), (2, 3), (4, 4)]
    assert [one.tied_with_best for one in found] == [True, False, False, False]
    assert found[0].is_certain


def test_who_may_be_first_is_asked_one_sided() -> None:
    """A difference whose two-sided p lies between 5% and 10% of what each of two comparisons
    gets.
    """
    for gap in np.linspace(0.01, 0.2, 200):
        board = around(0.6, 0.6 - gap, 0.1, spread=0.1)
        sides = make_rerun_pair_scores(board, np.array([0]), np.array([1]))
        assert sides is not None
        p = float(compute_p_values(*sides, count_extra_ranking_degrees(3, binary=False))[0])
        first, second, _ = known(estimate_standings(board, None)[0])
        assert second.tied_with_best == (p > 2 * 0.05 / 2)
        assert second.rank_low == (1 if second.tied_with_best else 2)
        assert first.rank_high == (1 if p <= 0.05 / 2 else 2)


def test_who_is_ahead_only_by_what_was_lost_is_not_better() -> None:
    """Three who are all apart; with its lost replies at worst the first would be behind the
    second.
    """
    board = around(0.9, 0.6, 0.3)
    bounded = known(estimate_standings(board, None, [0.5, 0.6, 0.3])[0])

    assert ranks(known(estimate_standings(board, None)[0])) == [(1, 1), (2, 2), (3, 3)]
    assert ranks(bounded) == [(1, 2), (1, 2), (3, 3)]


def test_a_subject_alone_is_first() -> None:
    """There is nobody to be compared with."""
    assert estimate_standings(around(0.5), None)[0] == [Standing(1, 1, tied_with_best=True)]


@given(st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_what_is_claimed_never_contradicts_itself(number: int, seed: int) -> None:
    """A subject's own place is among its possible ranks, and who may be first may have rank 1."""
    rng = np.random.default_rng(seed)
    board = measure_score_of_subjects(
        EIGHT, list(rng.random((number, 3, 1, 8)) * rng.random((number, 1, 1, 1)))
    )
    for found in estimate_standings(board, None):
        if found is None:  # whole runs are shifted by more than an interval was found to hold
            continue
        order = np.argsort(-board.mean, kind="stable")
        for place, subject in enumerate(order.tolist(), start=1):
            one = found[subject]
            assert one.rank_low <= place <= one.rank_high
            assert one.tied_with_best == (one.rank_low == 1)
        assert found[order[0]].tied_with_best


@pytest.mark.parametrize("kind", ["scores", "trials", "one conversation", "few runs"])
def test_who_is_better_is_so_by_its_p_value(kind: str) -> None:
    """Of forty subjects: the pairs whose p is at most 5% over 39, and by another test like it only
    those of them that are so by a rerun, too.
    """
    rng = np.random.default_rng(5)
    number = 1 if kind == "one conversation" else 8
    design = Design(np.full((1, number), 1 / number), np.arange(number))
    first, second = list_pairs(40)
    for spread in (0.0, 0.4, 1.0):
        chance = np.clip(0.5 + spread * (np.linspace(0, 1, 40) - 0.5), 0.02, 0.98)[
            :, None, None, None
        ]
        runs = {"few runs": 2, "one conversation": 4}.get(kind, 12)
        drawn = rng.random((40, runs, 1, number))
        binary = kind in ("trials", "one conversation")
        marks = (drawn < chance).astype(float) if binary else (drawn + 3 * chance) / 4
        measured = measure_score_of_subjects(design, list(marks))
        sides = make_rerun_pair_scores(measured, first, second)
        assert sides is not None
        told = compute_p_values(*sides, count_extra_ranking_degrees(40, binary)) <= 0.05 / 39
        rerun, new_scenarios = find_corrected_better_than_matrices(measured, None)
        assert rerun is not None
        assert (rerun | rerun.T)[first, second].tolist() == told.tolist()
        if new_scenarios is not None:
            assert not (new_scenarios & ~rerun).any()


@pytest.mark.torture
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_a_ranking_of_equals_seldom_says_anything(share: float) -> None:
    """100 boards of eight equals, three runs of six conversations with chance *share* each: a
    subject is left out of those that may be first in at most 5%, and so are its possible ranks
    wrong.
    """
    rng = np.random.default_rng(11)
    design = Design(np.full((1, 6), 1 / 6), np.arange(6))
    left_out, wrong = [], []
    for _ in range(100):
        measured = measure_score_of_subjects(
            design, list((rng.random((8, 3, 1, 6)) < share).astype(float))
        )
        for found in estimate_standings(measured, None):
            left_out += [not one.tied_with_best for one in known(found)]
            wrong += [one.rank_low > 1 or one.rank_high < 8 for one in known(found)]

    assert np.mean(left_out) <= 0.05
    assert np.mean(wrong) <= 0.05
