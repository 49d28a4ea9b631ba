"""Agreement of marks with known states, and its limits. Pure functions.

    measure_kappa_with_states        kappa of marks with known states
    average_figures          the mean over several marks of the same questions
    estimate_figure_limits   the interval of such a figure for other questions like these
    compute_share_limits     the same for a share of questions

The questions are the sample; one may have several items (marks). Judges are right most of the time,
so that marks pile up at the ends and the errors of sixty questions can be counted on one hand: no
error among them does not mean that there are none. So the distance from a perfect figure
is taken as a share of the largest that there could be, and gets Wilson-type limits whose dispersion
is drawn towards that of errors of the worst kind, the more the fewer were seen.
benchmarks/coverage/exam.py measures how often that holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from independence_bench.analysis.statistics.agreement import Measurement
from independence_bench.analysis.statistics.exact_binomial import compute_exact_limits
from independence_bench.analysis.statistics.intervals import (
    LEVEL,
    NORMAL,
    compute_critical_value,
    compute_score_limits,
)
from independence_bench.analysis.statistics.values import Floats, Interval, Numbers

# Chosen by measurement (docs/research/judges.md): how many errors of the worst kind the belief
# about them is worth, and the level of the normal quantile that makes limits of 95%.
BELIEVED = 3.0
CAREFUL = 0.96
FEWEST = 8  # questions for an interval of anything but a share
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """A judge's scores (*given*) and the known right answers (*state*) of the same items, as
    numbers; one element for each item.
    """

    question: Numbers  # from 0: which question it is of
    state: Floats
    given: Floats
    measurement: Measurement = "ordinal"  # nominal: the numbers are names


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A coefficient of agreement, such as kappa, over n questions: *value* is 1 minus a distance
    that is at most *worst*.
    """

    value: float
    worst: float  # > 0
    # [n]: by how much each question moves the value from what it would be without chance
    shifts: Floats
    errors: int  # questions with an error
    asked: float  # questions with an item; of a mean of figures the harmonic mean of theirs

    @property
    def distance_from_perfect(self) -> float:
        """Distance of the coefficient of agreement from 1, its best value; in [0, worst]."""
        return 1 - self.value


def measure_kappa_with_states(items: Items, questions: int) -> Figure | None:
    """Return Cohen's kappa of a judge's scores with the known states of the same *items*, and the
    influence of each question on it. *questions* is the number of questions, some of which may have
    no item.

    kappa = 1 - D_o / D_e is the mean disagreement relative to that of all pairs of a state and a
    score: the square of their distance (Cohen 1968), for names 1 if they differ (Cohen 1960). A
    question's shift is its influence,

        (D_o D_e' / D_e^2 - w / D_e) / n        w: its disagreement less D_o; D_e': its part in D_e

    None without an item, and if states and scores are all the same.
    """
    n = len(items.state)
    if n == 0:
        return None
    apart, by_state, by_mark, most = (
        _compare_named_items(items)
        if items.measurement == "nominal"
        else _compare_ordered_items(items)
    )
    seen, chance = float(apart.mean()), float(by_state.mean())
    if chance < _NOTHING:
        return None
    each = (seen / chance**2 * (by_state + by_mark - 2 * chance) - (apart - seen) / chance) / n
    shifts = _sum_by_question(items.question, each, questions)
    wrong = len(np.unique(items.question[apart > 0]))
    return Figure(1 - seen / chance, most / chance, shifts, wrong, _count_questions(items.question))


def _compare_ordered_items(items: Items) -> tuple[Floats, Floats, Floats, float]:
    """Return the squared distances that weighted kappa needs, for scores with an order: three
    arrays over the items (between its state and its score; the mean between its state and all
    scores; the mean between its score and all states), and the largest possible squared distance.
    """
    a, b = items.state, items.given
    span = max(float(a.max()), float(b.max())) - min(float(a.min()), float(b.min()))
    by_state = np.square(a) - 2 * a * b.mean() + np.square(b).mean()
    by_mark = np.square(b) - 2 * b * a.mean() + np.square(a).mean()
    return np.square(a - b), by_state, by_mark, span**2


def _compare_named_items(items: Items) -> tuple[Floats, Floats, Floats, float]:
    """Return the disagreements that kappa needs, for scores that are names (0: same, 1: different):
    three arrays over the items (between its state and its score; the mean between its state and all
    scores; the mean between its score and all states), and the largest possible disagreement, 1.
    """
    a, b = items.state, items.given
    by_state = 1 - (a[:, None] == b[None, :]).mean(axis=1)
    by_mark = 1 - (b[:, None] == a[None, :]).mean(axis=1)
    return (a != b).astype(np.float64), by_state, by_mark, 1.0


def _count_questions(question: Numbers) -> float:
    """Return how many different questions occur in *question*, the question number of each item."""
    return float(len(np.unique(question)))


def _sum_by_question(question: Numbers, each: Floats, questions: int) -> Floats:
    """Return the sum of *each*, a value for every item, over the items of each question,
    [questions]. *question* is the question number of every item.
    """
    total = np.zeros(questions)
    np.add.at(total, question, each)
    return total


def average_figures(figures: Sequence[Figure]) -> Figure:
    """Return the mean of several coefficients of agreement, at least one, over the same questions.
    Its number of errors is the largest of theirs.
    """
    return Figure(
        float(np.mean([figure.value for figure in figures])),
        float(np.mean([figure.worst for figure in figures])),
        np.mean([figure.shifts for figure in figures], axis=0),
        max(figure.errors for figure in figures),
        1 / float(np.mean([1 / figure.asked for figure in figures])),
    )


def estimate_figure_limits(figure: Figure) -> Interval | None:
    """Return the 95% interval of *figure*, a coefficient of agreement such as kappa, for other
    questions like these; None for fewer than `FEWEST` questions.

    The distance from the best figure, as a share of the largest distance that there could be, gets
    the limits of a proportion (Wilson's, `compute_score_limits`). They need the variance of that
    share as a multiple of share x (1 - share), called its dispersion: 1/n for n questions of which
    each is all right or as wrong as can be. Two values of it are averaged:

        1/n                             with weight `BELIEVED`: as if every error were of the worst
                                        kind
        variance / share x (1 - share)  with the number of errors as its weight: the variance that
                                        was observed

    so the fewer errors there are, the less what was observed of them counts. In the end the limit
    nearer to the best is moved as near to it as the exact limit of a share of so many errors lies
    (Clopper and Pearson 1934), if that is nearer.
    """
    questions = figure.asked
    if questions < FEWEST:
        return None
    share = min(figure.distance_from_perfect / figure.worst, 1.0)
    of_one = share * (1 - share)  # the variance of one question that is all right or all wrong
    observed = 0.0
    if of_one > _NOTHING:  # else all questions are right, or all are wrong
        variance = (
            float(np.square(figure.shifts).sum()) * questions / (questions - 1) / figure.worst**2
        )
        observed = variance / of_one
    dispersion = (BELIEVED / questions + figure.errors * observed) / (BELIEVED + figure.errors)
    low, high = (
        float(end)
        for end in compute_score_limits(share, dispersion, compute_critical_value(CAREFUL, NORMAL))
    )
    if figure.errors:
        low = min(
            low,
            share * _compute_lower_limit_ratio(min(figure.errors, int(questions)), int(questions)),
        )
    return Interval(1 - figure.worst * high, 1 - figure.worst * low)


@lru_cache(maxsize=4096)
def _compute_lower_limit_ratio(errors: int, questions: int) -> float:
    """Return the exact 95% lower limit of the share *errors* / *questions*, divided by this share.
    *errors* >= 1.
    """
    low, _ = compute_exact_limits(
        np.array([errors / questions]), np.array([float(questions)]), np.array([1 - LEVEL])
    )
    return float(low[0]) * questions / errors


@lru_cache(maxsize=65536)
def compute_share_limits(hits: int, total: int) -> Interval:
    """Return the exact 95% interval, in [0, 1], of a share of questions: *hits* questions of a
    total of at least 1.
    """
    low, high = compute_exact_limits(
        np.array([hits / total]), np.array([float(total)]), np.array([1 - LEVEL])
    )
    return Interval(float(low[0]), float(high[0]))
