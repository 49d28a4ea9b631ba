"""Measures of how far judges agree. Pure functions on numbers. A value that is absent or not
defined is None, never 0.

    compute_krippendorff_alpha    all judges at once; some marks may be missing; an order or names
    compute_quadratic_kappa       two judges, marks with distances

In both 1 is perfect agreement and 0 is chance agreement; below 0 is worse.

Conversations of one subject resemble each other, so the subjects are the sample. The interval of
alpha is for subjects like these, under the same judges, and follows from alpha without each of
them. It holds from `FEWEST_MARKED` subjects on. Such an interval of kappa does not hold if marks
pile up at the end of their scale (docs/research/statistics.md), so kappa has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atanh, sqrt, tanh
from typing import Literal

import numpy as np

from independence_bench.analysis.statistics.intervals import LEVEL, compute_critical_value
from independence_bench.analysis.statistics.values import Bools, Floats, Interval

FEWEST_LEFT_OUT = 3  # subjects for a standard error
FEWEST_MARKED = 10  # subjects for one of alpha
# Alpha of names depends on the few subjects that get the rare ones: it takes more subjects, and
# this level of Student's t.
FEWEST_NAMED = 20
NAMED_LEVEL = 0.98
SAME = 1e-9  # a smaller difference is rounding


Measurement = Literal["nominal", "ordinal"]  # marks are names without an order, or have one


def compute_krippendorff_alpha(
    marks: Sequence[Sequence[float | None]], measurement: Measurement = "ordinal"
) -> float | None:
    """Return Krippendorff's alpha, the agreement of all judges, in (-1, 1]. *marks* has a row for
    each judge and a column for each thing scored: the score that the judge gave, or None.

    alpha = 1 - D_o / D_e = 1 - (n - 1) sum o_ck d_ck / sum n_c n_k d_ck is the observed
    disagreement among the scores of one thing, relative to the disagreement among all n scores.
    o_ck are the coincidences of the scores c and k, n_c is how often c was given, and d_ck is the
    distance of c and k. If *measurement* is nominal, the distance is 1 for different scores; if it
    is ordinal, it is the square of the number of scores that lie between them (K. Krippendorff,
    Computing Krippendorff's Alpha-Reliability, 2011). A thing with fewer than two scores is left
    out. None if no thing is left, or if all remaining scores are the same: it is not known whether
    judges who never vary agree.

    Memory grows with the square of the number of different scores, so round scores with many
    decimals before.
    """
    table = _select_columns_with_two_scores(_make_mark_table(marks))
    return _compute_alpha(
        _count_coincidences(table, np.unique(table[~np.isnan(table)])), measurement
    )


def compute_quadratic_kappa(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Cohen's kappa with quadratic weights, the agreement of two judges, in [-1, 1]. *first*
    and *second* are the two judges' scores of the same things, in the same order.

    kappa = 1 - sum_i (a_i - b_i)^2 / (1/n sum_i sum_j (a_i - b_j)^2) (J. Cohen, Weighted kappa,
    Psychological Bulletin 70, 1968, 213-220; written over scores instead of a table of categories,
    which gives the same number and takes scores between the categories too). None without any
    score, and if both judges gave the same score to everything. Raises ValueError if the lengths
    differ.
    """
    if len(first) != len(second):
        raise ValueError(
            f"{len(first)} marks of one judge cannot be compared with {len(second)} of another"
        )
    a, b = np.array(first, dtype=np.float64), np.array(second, dtype=np.float64)
    if a.size == 0:
        return None
    # 1/n sum_i sum_j (a_i - b_j)^2, without the table of all pairs
    expected = a.size * (np.var(a) + np.var(b) + (np.mean(a) - np.mean(b)) ** 2)
    return float(1 - np.sum((a - b) ** 2) / expected) if expected > 0 else None


# ----------------------------------------------------------- how sure: without each of the subjects


def estimate_jackknife_error(leave_one_out_estimates: Sequence[float | None]) -> float | None:
    """Return the jackknife standard error of an estimate over n subjects. *leave_one_out_estimates*
    has n estimates, each calculated without one of the subjects.

    sqrt((n - 1)/n sum (t_j - mean t)^2) (J. W. Tukey, Annals of Mathematical Statistics 29, 1958,
    614). None for fewer than `FEWEST_LEFT_OUT` subjects, and if one of the estimates is None.
    """
    there = [value for value in leave_one_out_estimates if value is not None]
    if len(there) < len(leave_one_out_estimates) or len(there) < FEWEST_LEFT_OUT:
        return None
    return sqrt((len(there) - 1) * float(np.var(np.array(there))))


def estimate_jackknife_interval(
    estimate: float, leave_one_out_estimates: Sequence[float | None], level: float = LEVEL
) -> Interval | None:
    """Return the jackknife interval of *estimate*, a coefficient of agreement, at *level*; its
    limits are in (-1, 1). *leave_one_out_estimates* has one estimate for each subject, calculated
    without that subject.

    tanh(atanh x -+ t s), with Tukey's standard error s of atanh x and Student's t at *level* with n
    - 1 degrees for n subjects. On Fisher's scale the limits stay below 1. None if an estimate is
    absent, or is 1 or -1, and if leaving out a subject changes nothing: that does not show that an
    estimate is exact.
    """
    there = [value for value in leave_one_out_estimates if value is not None]
    if len(there) < len(leave_one_out_estimates) or any(
        abs(value) > 1 - SAME for value in (estimate, *there)
    ):
        return None
    error = estimate_jackknife_error([atanh(value) for value in there])
    if error is None or error < SAME:
        return None
    half, middle = float(compute_critical_value(level, len(there) - 1)) * error, atanh(estimate)
    return Interval(tanh(middle - half), tanh(middle + half))


def estimate_alpha_interval(
    marks: Sequence[Sequence[float | None]],
    subjects: Sequence[str],
    estimate: float | None,
    measurement: Measurement = "ordinal",
) -> Interval | None:
    """Return the 95% interval of Krippendorff's alpha for other subjects like these, by the
    jackknife. *estimate* is alpha itself; *marks* has a row for each judge and a column for each
    conversation, and *subjects* has the subject of each column.

    None if *estimate* is None, and for fewer subjects than `FEWEST_MARKED`, or `FEWEST_NAMED` if
    *measurement* is nominal.
    """
    fewest, level = (
        (FEWEST_NAMED, NAMED_LEVEL) if measurement == "nominal" else (FEWEST_MARKED, LEVEL)
    )
    if estimate is None or len(set(subjects)) < fewest:
        return None
    return estimate_jackknife_interval(
        estimate, compute_alphas_without_each_subject(marks, subjects, measurement), level
    )


def compute_alphas_without_each_subject(
    marks: Sequence[Sequence[float | None]],
    subjects: Sequence[str],
    measurement: Measurement,
) -> list[float | None]:
    """Return Krippendorff's alpha once for each subject, calculated without that subject's
    conversations. *marks* has a row for each judge and a column for each conversation, and
    *subjects* has the subject of each column.

    The order is that in which subjects first appear. A subject without a conversation that two
    judges have scored is left out. Coincidences are sums over conversations, so those without a
    subject are a difference. An alpha is None if the remaining scores do not vary.
    """
    every = _make_mark_table(marks)
    table, whose = (
        _select_columns_with_two_scores(every),
        np.array(subjects)[_mask_columns_with_two_scores(every)],
    )
    values = np.unique(table[~np.isnan(table)])
    of_subjects = [
        _count_coincidences(table[:, whose == name], values)
        for name in dict.fromkeys(subjects)
        if name in whose
    ]
    whole = sum(of_subjects, np.zeros((values.size, values.size)))
    return [_compute_alpha(whole - mine, measurement) for mine in of_subjects]


def _mask_columns_with_two_scores(table: Floats) -> Bools:
    """Return a mask [columns] of *table* [judges, columns]: True for a column in which two judges
    or more gave a score.
    """
    paired: Bools = np.count_nonzero(~np.isnan(table), axis=0) >= 2
    return paired


def _select_columns_with_two_scores(table: Floats) -> Floats:
    """Return only the columns of *table* [judges, things] in which two judges or more gave a
    score.
    """
    return table[:, _mask_columns_with_two_scores(table)]


def _count_coincidences(table: Floats, values: Floats) -> Floats:
    """Return how often two judges gave each pair of *values* to the same thing, [values, values]. A
    thing counts with the weight 1 / (its number of scores - 1).

    *table* is [judges, things], with at least two scores in each column, and NaN for a missing one.
    """
    counts = np.array(
        [np.count_nonzero(table == value, axis=0) for value in values], dtype=np.float64
    )
    counts = counts.reshape(values.size, table.shape[1])
    share = counts / np.maximum(counts.sum(axis=0) - 1, 1)
    coincidences: Floats = share @ counts.T - np.diag(share.sum(axis=1))
    return coincidences


def _compute_alpha(coincidences: Floats, measurement: Measurement) -> float | None:
    """Return Krippendorff's alpha from the matrix of *coincidences* [values, values], which counts
    the pairs of scores that two judges gave to the same thing; None if the scores do not vary.
    """
    given: Floats = coincidences.sum(axis=1)
    place = np.cumsum(given) - given / 2
    apart = (
        1 - np.eye(given.size)
        if measurement == "nominal"
        else np.square(place[:, None] - place[None, :])
    )
    expected = float(given @ apart @ given)
    if expected < SAME:
        return None
    return 1 - (float(given.sum()) - 1) * float(np.sum(coincidences * apart)) / expected


def _make_mark_table(marks: Sequence[Sequence[float | None]]) -> Floats:
    """Return *marks*, a row of scores for each judge, as an array [judges, things], with NaN for a
    missing score.
    """
    rows = [[np.nan if mark is None else mark for mark in row] for row in marks]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]) if rows else 0)
