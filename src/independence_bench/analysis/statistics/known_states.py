"""How near marks come to states that are known: agreement, error, and the limits of both. Pure
functions on numbers.

    agreement, rank_agreement   kappa and rank correlation of marks with known states
    mean_of_errors              a mean of numbers that lie between 0 and a worst one
    figure_limits               where such a figure lies for other questions like these
    joined_limits               the same of one figure less another on the same questions
    share_limits                of a share of questions
    slope                       how much marks change with length, inside states

What is sampled are questions; one may have several items (marks). Judges are right most of the
time, so that marks pile up at the ends and the errors of sixty questions can be counted on one
hand: no error among them does not mean that there are none. So the distance from a perfect figure
is taken as a share of the largest that there could be, and gets Wilson-type limits whose dispersion
is drawn towards that of errors of the worst kind, the more the fewer were seen.
benchmarks/coverage/exam.py measures how often that holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np

from independence_bench.analysis.statistics.agreement import LEAST_RANKED, Measurement, ranks
from independence_bench.analysis.statistics.exact_binomial import exact_limits
from independence_bench.analysis.statistics.intervals import LEVEL, NORMAL, score_limits, t_quantile
from independence_bench.analysis.statistics.values import Floats, Interval, Numbers

# Chosen by measurement (docs/judges.md): how many errors of the worst kind the belief about them is
# worth, and the level of the normal quantile that makes limits of 95%.
BELIEVED = 3.0
CAREFUL = 0.96
CAREFUL_SLOPE = 0.97
# of all ranks, that a mark is away from its state's: inside a third states do not differ
RANK_ERROR = 0.25
FEWEST = 8  # questions for an interval of anything but a share
# questions that got another number than most of their state, for an interval of a slope
FEWEST_OTHER = 12
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """Marks with the known states, as numbers; one row each."""

    question: Numbers  # from 0: which question it is of
    state: Floats
    given: Floats
    measurement: Measurement = "ordinal"  # nominal: the numbers are names


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A figure of n questions: *value* is *best* less a distance that is at most *worst*."""

    value: float
    best: float
    worst: float  # > 0
    # [n]: by how much each question moves the value from what it would be without chance
    shifts: Floats
    errors: int  # questions with an error
    asked: float  # questions with an item; of a mean of figures the harmonic mean of theirs

    @property
    def distance(self) -> float:
        """From the best, [0, worst]."""
        return abs(self.best - self.value)


def agreement(items: Items, questions: int) -> Figure | None:
    """Cohen's kappa of the marks with the states, over *questions*, of which some may have no item.

    kappa = 1 - D_o / D_e, the mean disagreement over that of all pairs of a state and a mark: the
    square of how far they are apart (Cohen 1968), of names 1 where they differ (Cohen 1960). A
    question's shift is its influence,

        (D_o D_e' / D_e^2 - w / D_e) / n        w: its disagreement less D_o; D_e': its part in D_e

    None without an item, and where states and marks are all the same.
    """
    n = len(items.state)
    if n == 0:
        return None
    apart, by_state, by_mark, most = (
        _named(items) if items.measurement == "nominal" else _ordered(items)
    )
    seen, chance = float(apart.mean()), float(by_state.mean())
    if chance < _NOTHING:
        return None
    each = (seen / chance**2 * (by_state + by_mark - 2 * chance) - (apart - seen) / chance) / n
    shifts = _by_question(items.question, each, questions)
    wrong = len(np.unique(items.question[apart > 0]))
    return Figure(1 - seen / chance, 1.0, most / chance, shifts, wrong, _asked(items.question))


def _ordered(items: Items) -> tuple[Floats, Floats, Floats, float]:
    """Of each item: the disagreement, its state's with all marks, its mark's with all states; and
    the largest one.
    """
    a, b = items.state, items.given
    span = max(float(a.max()), float(b.max())) - min(float(a.min()), float(b.min()))
    by_state = np.square(a) - 2 * a * b.mean() + np.square(b).mean()
    by_mark = np.square(b) - 2 * b * a.mean() + np.square(a).mean()
    return np.square(a - b), by_state, by_mark, span**2


def _named(items: Items) -> tuple[Floats, Floats, Floats, float]:
    a, b = items.state, items.given
    by_state = 1 - (a[:, None] == b[None, :]).mean(axis=1)
    by_mark = 1 - (b[:, None] == a[None, :]).mean(axis=1)
    return (a != b).astype(np.float64), by_state, by_mark, 1.0


def rank_agreement(items: Items, questions: int) -> Figure | None:
    """Spearman's rank correlation of marks and states, ties at their mean rank; shifts are its
    influence.

    A question moves the ranks of all that stand above it, too: C. Croux and C. Dehon (Statistical
    Methods and Applications 19, 2010, 497-515), here with ties. None for fewer than three items,
    and where one side is level.
    """
    n = len(items.state)
    if n < LEAST_RANKED:
        return None
    a, b = (ranks(numbers) / n - (n + 1) / (2 * n) for numbers in (items.state, items.given))
    of_a, of_b, both = float(a @ a) / n, float(b @ b) / n, float(a @ b) / n
    if min(of_a, of_b) < _NOTHING:
        return None
    spread = sqrt(of_a * of_b)
    rho = both / spread
    moves_both = a * b + _above(items.state, b) + _above(items.given, a) - 3 * both
    moves_a = np.square(a) + 2 * _above(items.state, a) - 3 * of_a
    moves_b = np.square(b) + 2 * _above(items.given, b) - 3 * of_b
    each = (moves_both / spread - rho / 2 * (moves_a / of_a + moves_b / of_b)) / n
    wrong = len(np.unique(items.question[np.abs(a - b) > RANK_ERROR]))
    return Figure(
        rho, 1.0, 2.0, _by_question(items.question, each, questions), wrong, _asked(items.question)
    )


def _above(numbers: Floats, of: Floats) -> Floats:
    """For each i the mean of *of* over the j with a larger number, ties by half; less half of all."""
    _, place = np.unique(numbers, return_inverse=True)
    total = np.bincount(place, of)
    above = total.sum() - np.cumsum(total) + total / 2
    means: Floats = (above[place] - of.sum() / 2) / len(of)
    return means


def _asked(question: Numbers) -> float:
    return float(len(np.unique(question)))


def _by_question(question: Numbers, each: Floats, questions: int) -> Floats:
    """[questions]: the sum of *each* over the items of a question."""
    total = np.zeros(questions)
    np.add.at(total, question, each)
    return total


def mean_of_errors(
    question: Numbers, errors: Floats, worst: float, questions: int
) -> Figure | None:
    """The mean of *errors*, one an item, in [0, *worst*]; None without any."""
    if len(errors) == 0:
        return None
    mean = float(errors.mean())
    shifts = _by_question(question, (errors - mean) / len(errors), questions)
    return Figure(mean, 0.0, worst, shifts, len(np.unique(question[errors > 0])), _asked(question))


def mean_figure(figures: Sequence[Figure]) -> Figure:
    """The mean of figures, at least one, of the same questions and with the same best."""
    return Figure(
        float(np.mean([figure.value for figure in figures])),
        figures[0].best,
        float(np.mean([figure.worst for figure in figures])),
        np.mean([figure.shifts for figure in figures], axis=0),
        max(figure.errors for figure in figures),
        1 / float(np.mean([1 / figure.asked for figure in figures])),
    )


def figure_limits(figure: Figure) -> Interval | None:
    """Where *figure* lies for other questions like these, at 95%; None for fewer than `FEWEST`
    questions.

    The distance from the best figure, as a share of the largest distance that there could be, gets
    the limits of a proportion (Wilson's, `score_limits`). They need the variance of that share as a
    multiple of share x (1 - share), called its dispersion: 1/n for n questions of which each is all
    right or as wrong as can be. Two values of it are averaged:

        1/n                            with weight `BELIEVED`: as if every error were of the worst kind
        variance / share x (1 - share) with the number of errors as its weight: the variance that was observed

    so the fewer errors there are, the less what was observed of them counts. In the end the limit
    nearer to the best is moved as near to it as the exact limit of a share of so many errors lies
    (Clopper and Pearson 1934), if that is nearer.
    """
    questions = figure.asked
    if questions < FEWEST:
        return None
    share = min(figure.distance / figure.worst, 1.0)
    of_one = share * (1 - share)  # the variance of one question that is all right or all wrong
    observed = 0.0
    if of_one > _NOTHING:  # else all questions are right, or all are wrong
        variance = (
            float(np.square(figure.shifts).sum()) * questions / (questions - 1) / figure.worst**2
        )
        observed = variance / of_one
    dispersion = (BELIEVED / questions + figure.errors * observed) / (BELIEVED + figure.errors)
    low, high = (float(end) for end in score_limits(share, dispersion, t_quantile(CAREFUL, NORMAL)))
    if figure.errors:
        low = min(low, share * _lowest_part(min(figure.errors, int(questions)), int(questions)))
    towards_worst = -figure.worst if figure.best > 0 else figure.worst
    return Interval(*sorted(figure.best + towards_worst * end for end in (low, high)))


@lru_cache(maxsize=4096)
def _lowest_part(errors: int, questions: int) -> float:
    """The exact lower limit of a share of *questions* with errors, at least one, divided by that
    share.
    """
    low, _ = exact_limits(
        np.array([errors / questions]), np.array([float(questions)]), np.array([1 - LEVEL])
    )
    return float(low[0]) * questions / errors


@lru_cache(maxsize=65536)
def share_limits(hits: float, of: int) -> Interval:
    """Exact limits of a share of *of* >= 1 questions; *hits* may be a part of one, and is rounded
    outwards.
    """
    trials, outside = np.array([float(of)]), np.array([1 - LEVEL])
    low, _ = exact_limits(np.floor(np.array([hits])) / of, trials, outside)
    _, high = exact_limits(np.ceil(np.array([hits])) / of, trials, outside)
    return Interval(float(low[0]), float(high[0]))


def joined_limits(first: Figure, second: Figure) -> Interval | None:
    """Of *first* less *second*, two figures of the same questions, with the correlation of their
    shifts, at 95%.

    G. Y. Zou and A. Donner, Statistics in Medicine 27, 2008, 1693-1702: low = d - sqrt((a -
    low_a)^2 + (high_b - b)^2 - 2 r (a - low_a) (high_b - b)), high likewise with the other ends.
    """
    of_first, of_second = figure_limits(first), figure_limits(second)
    if of_first is None or of_second is None:
        return None
    spread = sqrt(float(np.square(first.shifts).sum() * np.square(second.shifts).sum()))
    r = float(first.shifts @ second.shifts) / spread if spread > _NOTHING else 0.0
    # what is seen of few errors is no ground for a narrower interval; a wider one it may give
    r = max(r, 0.0)
    difference = first.value - second.value

    def reach(a: float, b: float) -> float:
        return sqrt(max(a * a + b * b - 2 * r * a * b, 0.0))

    below = reach(first.value - of_first.low, of_second.high - second.value)
    above = reach(of_first.high - first.value, second.value - of_second.low)
    return Interval(difference - below, difference + above)


def slope(x: Floats, y: Floats, groups: Numbers) -> tuple[float, Interval | None] | None:
    """By how much *y* changes with each unit of *x* inside *groups*, least squares; with limits at
    95%.

    The error is HC3 of J. G. MacKinnon and H. White (Journal of Econometrics 29, 1985, 305-325),
    with Student's t at `CAREFUL_SLOPE` and n - groups - 1 degrees. No limits where fewer than
    `FEWEST_OTHER` y are other than most of their group: the few that are may stand anywhere. None
    where x does not vary inside groups.
    """
    names = np.unique(groups)
    within = x.astype(np.float64).copy()
    left = y.astype(np.float64).copy()
    leverage = np.zeros(len(x))
    other = 0
    for name in names:
        at = groups == name
        other += int(at.sum() - np.unique(y[at], return_counts=True)[1].max())
        within[at] -= within[at].mean()
        left[at] -= left[at].mean()
        leverage[at] = 1 / at.sum()
    total = float(within @ within)
    degrees = len(x) - len(names) - 1
    if total < _NOTHING or degrees < 1:
        return None
    gradient = float(within @ left) / total
    if other < FEWEST_OTHER:
        return gradient, None
    leverage += np.square(within) / total
    residual = (left - gradient * within) / np.maximum(1 - leverage, 0.05)
    error = sqrt(float(np.square(within * residual).sum())) / total
    half = float(t_quantile(CAREFUL_SLOPE, degrees)) * error
    return gradient, Interval(gradient - half, gradient + half)
