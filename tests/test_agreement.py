"""Agreement between judges, against worked examples that others have published, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from independence_bench.analysis.statistics.agreement import (
    compute_krippendorff_alpha,
    compute_quadratic_kappa,
    estimate_jackknife_error,
)

# Krippendorff 2011, Computing Krippendorff's Alpha-Reliability, section E: four observers, twelve
# units
RELIABILITY: list[list[float | None]] = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]

# the same paper, section A: two observers, ten units, yes or no; section B: two observers, twelve
# units, names a to e
MEG_AND_OWEN: list[list[float | None]] = [
    [0, 1, 0, 0, 0, 0, 0, 0, 1, 0],
    [1, 1, 1, 0, 0, 1, 0, 0, 0, 0],
]
BEN_AND_GERRY: list[list[float | None]] = [
    [1, 1, 2, 2, 4, 3, 3, 3, 5, 4, 4, 1],
    [2, 1, 2, 2, 2, 3, 3, 3, 5, 4, 4, 4],
]

# The anxiety ratings of the R package irr: twenty people under two of its raters
ANXIETY_1 = [3, 3, 3, 4, 5, 5, 2, 3, 5, 2, 2, 6, 1, 5, 2, 2, 1, 2, 4, 3]
ANXIETY_2 = [3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4]


# ---------------------------------------------------------------- Krippendorff's alpha


def test_alpha_of_the_published_reliability_data() -> None:
    """Krippendorff gives 0.815 for them as an order and 0.743 as names."""
    assert compute_krippendorff_alpha(RELIABILITY) == pytest.approx(0.815, abs=0.0005)
    assert compute_krippendorff_alpha(RELIABILITY, "nominal") == pytest.approx(0.743, abs=0.0005)


def test_alpha_of_the_published_examples_of_names() -> None:
    """He gives 0.095 for two names, where an order is the same, and 0.692 for five."""
    assert compute_krippendorff_alpha(MEG_AND_OWEN, "nominal") == pytest.approx(0.095, abs=0.0005)
    assert compute_krippendorff_alpha(MEG_AND_OWEN) == pytest.approx(0.095, abs=0.0005)
    assert compute_krippendorff_alpha(BEN_AND_GERRY, "nominal") == pytest.approx(0.692, abs=0.0005)


def test_alpha_is_what_the_library_gave() -> None:
    """`krippendorff` 0.9.0 of three judges, thirty things, marks from 0 to 20, a fifth of them
    missing.
    """
    marks = [
        [
            None if (n + 2 * j) % 5 == 0 else float((n * n + (n % 7 == j) * (4 + j)) % 21)
            for n in range(30)
        ]
        for j in range(3)
    ]

    assert compute_krippendorff_alpha(marks) == pytest.approx(0.787931794572841, abs=1e-12)
    assert compute_krippendorff_alpha(marks, "nominal") == pytest.approx(
        0.6591008293321694, abs=1e-12
    )


def test_alpha_is_one_when_judges_never_differ() -> None:
    """Whatever the marks are, as long as they vary."""
    assert compute_krippendorff_alpha([[0, 5, 10], [0, 5, 10], [0, None, 10]]) == pytest.approx(1)


def test_alpha_sees_an_order_and_not_the_numbers() -> None:
    """10 instead of 5 for the highest mark changes nothing: an ordinal mark has no distances of its
    own.
    """
    stretched = [[10 if mark == 5 else mark for mark in row] for row in RELIABILITY]
    assert compute_krippendorff_alpha(stretched) == pytest.approx(
        compute_krippendorff_alpha(RELIABILITY)
    )


@pytest.mark.parametrize(
    "marks",
    [
        [],
        [[]],
        [[], []],
        [[1, 2, 3]],
        [[1, None], [None, 2]],
        [[None], [None]],
        [[7, 7], [7, 7]],
        [[7, 3], [7, None]],
    ],
)
def test_alpha_is_absent_where_it_means_nothing(marks: list[list[float | None]]) -> None:
    """No pair of marks, or no variation among those that have a partner: None, neither 0 nor 1."""
    assert compute_krippendorff_alpha(marks) is None


# ---------------------------------------------------------------- quadratic kappa


def test_kappa_of_the_published_anxiety_ratings() -> None:
    """R's irr prints 0.297 for kappa2(anxiety[, 1:2], "squared")."""
    assert compute_quadratic_kappa(ANXIETY_1, ANXIETY_2) == pytest.approx(0.297, abs=0.0005)


def test_kappa_is_lower_for_a_judge_that_is_stricter_throughout() -> None:
    """The same order, three points lower: no agreement on the marks themselves."""
    assert compute_quadratic_kappa([5, 6, 7], [5, 6, 7]) == pytest.approx(1)
    shifted = compute_quadratic_kappa([5, 6, 7], [2, 3, 4])
    assert shifted is not None
    assert shifted < 0.2


@pytest.mark.parametrize(("one", "other"), [([], []), ([4, 4], [4, 4]), ([4], [4])])
def test_kappa_is_absent_where_it_means_nothing(one: list[float], other: list[float]) -> None:
    """Nothing to compare, or nothing that varies."""
    assert compute_quadratic_kappa(one, other) is None


def test_marks_of_different_things_cannot_be_compared() -> None:
    """A mistake of the caller's is an error, not a number."""
    with pytest.raises(ValueError, match="2 marks of one judge"):
        compute_quadratic_kappa([1, 2], [1])


# ---------------------------------------------------------------- whatever the marks are

numbers = st.integers(0, 20).map(lambda n: n / 2)
columns = st.integers(2, 8).flatmap(
    lambda n: st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=2, max_size=4)
)


@settings(max_examples=150)
@given(columns)
def test_every_number_stays_in_its_range(marks: list[list[float]]) -> None:
    """At most 1, a number and not NaN, and the same whoever is named first."""
    one, other, *_ = marks
    for found in (compute_krippendorff_alpha(marks), compute_quadratic_kappa(one, other)):
        assert found is None or found <= 1 + 1e-9
    first, second = compute_quadratic_kappa(one, other), compute_quadratic_kappa(other, one)
    assert first == second if first is None or second is None else first == pytest.approx(second)
    assert first is None or first >= -1 - 1e-9


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    """Of 1, 2, 3, 6: leaving out one gives 11/3, 10/3, 3, 2, and the error is sqrt(14/3/4) as in
    any textbook.
    """
    numbers = [1.0, 2.0, 3.0, 6.0]
    assert estimate_jackknife_error([(12 - out) / 3 for out in numbers]) == pytest.approx(
        np.sqrt(np.var(numbers, ddof=1) / 4)
    )
    assert estimate_jackknife_error([1.0, 2.0]) is None
    assert estimate_jackknife_error([1.0, 2.0, None]) is None
