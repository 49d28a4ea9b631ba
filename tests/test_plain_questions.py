"""What is made of a model's answers to one plain question a mark."""

from __future__ import annotations

from math import log

import numpy as np
import plain_questions
import pytest


def test_log_odds_are_of_yes_and_no_in_any_case() -> None:
    """0.3 + 0.1 for yes and 0.2 for no: log 2; what is no answer does not count."""
    top = [("Yes", 0.3), (" yes", 0.1), ("No", 0.2), ("Maybe", 0.4)]

    odds = plain_questions.log_odds(
        [{"token": token, "logprob": log(chance)} for token, chance in top]
    )

    assert odds == pytest.approx(log(2), abs=1e-4)


def test_area_counts_ties_as_half() -> None:
    """Of 2 x 2 pairs: 3 > 1, 3 > 2, 2 > 1 and 2 = 2, so 3.5 of 4."""
    area = plain_questions.area(
        np.array([True, True, False, False]), np.array([3.0, 2.0, 1.0, 2.0])
    )

    assert area == 3.5 / 4


def test_kappa_is_one_in_the_right_order_and_zero_for_one_answer() -> None:
    """The bands follow the order of the numbers alone; who gives everything the same number agrees
    by chance.
    """
    states = np.array([0.0, 0.0, 1.0, 2.0])

    assert plain_questions.kappa_of(states, np.array([-9.0, -8.0, 0.5, 0.6])) == 1
    assert plain_questions.kappa_of(np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4)) == 0


def test_every_mark_has_a_question_to_which_yes_is_high_and_one_to_which_it_is_low() -> None:
    """So that an inclination to say yes can be told from an opinion."""
    asked = {case.id: set(case.questions) for case in plain_questions.pilot_cases("stands")}

    assert all(
        set(questions) == {"low", "high"} for questions in plain_questions.QUESTIONS.values()
    )
    assert len(asked) == 27
    assert set(map(len, asked.values())) == {2}
