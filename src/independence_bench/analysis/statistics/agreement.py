"""How far judges agree: pure functions on numbers. What is absent or not defined is None, never 0.

    krippendorff_alpha    all judges at once, marks missing here and there, as an order or as names
    quadratic_kappa       two judges, marks with distances

In both 1 is perfect agreement and 0 is what chance gives; below 0 is worse.

Conversations of one subject resemble each other, so the subjects are what is sampled: the interval
of alpha says where it lies for subjects like these, under the same judges, from what it would be
without each of them. It holds from `FEWEST_MARKED` subjects on. Such an interval of kappa does not
hold where marks pile up at the end of their scale (docs/research/statistics.md), so kappa has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atanh, sqrt, tanh
from typing import Literal

import numpy as np

from independence_bench.analysis.statistics.intervals import LEVEL, t_quantile
from independence_bench.analysis.statistics.values import Bools, Floats, Interval

FEWEST_LEFT_OUT = 3  # subjects for a standard error
FEWEST_MARKED = 10  # subjects for one of alpha
# Of names alpha depends on the few subjects that get the rare ones: it takes more, and this level
# of Student's t.
FEWEST_NAMED = 20
NAMED_LEVEL = 0.98
SAME = 1e-9  # what differs by less is rounding


Measurement = Literal["nominal", "ordinal"]  # marks are names without an order, or have one


def krippendorff_alpha(
    marks: Sequence[Sequence[float | None]], measurement: Measurement = "ordinal"
) -> float | None:
    """Krippendorff's alpha; *marks* has a row for each judge and a column for each thing marked.

    alpha = 1 - D_o / D_e = 1 - (n - 1) sum o_ck d_ck / sum n_c n_k d_ck, the disagreement seen
    among marks of one thing over that among all n marks: o_ck are the coincidences of c and k, n_c
    how often c was given, and d_ck how far two marks are apart. Of names that is 1 where they
    differ; of an order the square of how many marks there are between them (K. Krippendorff,
    Computing Krippendorff's Alpha-Reliability, 2011). In (-1, 1]. A thing with fewer than two marks
    says nothing and is left out. None where nothing is left, or where all that is left got one and
    the same mark: whether judges who never vary agree is not known.

    Memory grows with the square of the number of different marks: those with many decimals are to
    be rounded before.
    """
    table = _pairable(_table(marks))
    return _alpha(_coincidences(table, np.unique(table[~np.isnan(table)])), measurement)


def quadratic_kappa(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Cohen's kappa with quadratic weights of two judges' marks of the same things, in the same
    order.

    kappa = 1 - sum_i (a_i - b_i)^2 / (1/n sum_i sum_j (a_i - b_j)^2) (J. Cohen, Weighted kappa,
    Psychological Bulletin 70, 1968, 213-220; written over marks instead of a table of categories,
    which gives the same number and takes marks between the categories too). In [-1, 1]. None
    without any mark, and where both judges gave one and the same mark to everything.
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


def jackknife(left_out: Sequence[float | None]) -> float | None:
    """The standard error of an estimate from what it is without each of the n subjects.

    sqrt((n - 1)/n sum (t_j - mean t)^2) (J. W. Tukey, Annals of Mathematical Statistics 29, 1958,
    614). None for fewer than `FEWEST_LEFT_OUT`, and where there is no estimate without one of them.
    """
    there = [value for value in left_out if value is not None]
    if len(there) < len(left_out) or len(there) < FEWEST_LEFT_OUT:
        return None
    return sqrt((len(there) - 1) * float(np.var(np.array(there))))


def jackknife_interval(
    estimate: float, without: Sequence[float | None], level: float = LEVEL
) -> Interval | None:
    """*estimate*, in (-1, 1), from what it is *without* each of the n subjects.

    tanh(atanh x -+ t s), s being Tukey's standard error of atanh x and t Student's at *level* with
    n - 1 degrees. On this scale of Fisher's the limits stay below 1. None where an estimate is
    absent, or is 1 or -1, and where leaving out changes nothing: that does not show that an
    estimate is exact.
    """
    there = [value for value in without if value is not None]
    if len(there) < len(without) or any(abs(value) > 1 - SAME for value in (estimate, *there)):
        return None
    error = jackknife([atanh(value) for value in there])
    if error is None or error < SAME:
        return None
    half, middle = float(t_quantile(level, len(there) - 1)) * error, atanh(estimate)
    return Interval(tanh(middle - half), tanh(middle + half))


def alpha_interval(
    marks: Sequence[Sequence[float | None]],
    subjects: Sequence[str],
    estimate: float | None,
    measurement: Measurement = "ordinal",
) -> Interval | None:
    """Where Krippendorff's alpha, *estimate*, of *marks* (a row for each judge, a column for each
    conversation) lies.

    *subjects*: whose each column is. None for fewer than `FEWEST_MARKED` of them (of names
    `FEWEST_NAMED`), and without an estimate.
    """
    fewest, level = (
        (FEWEST_NAMED, NAMED_LEVEL) if measurement == "nominal" else (FEWEST_MARKED, LEVEL)
    )
    if estimate is None or len(set(subjects)) < fewest:
        return None
    return jackknife_interval(estimate, alphas_without(marks, subjects, measurement), level)


def alphas_without(
    marks: Sequence[Sequence[float | None]],
    subjects: Sequence[str],
    measurement: Measurement,
) -> list[float | None]:
    """Alpha without the columns of each subject, in the order in which subjects first appear.

    Those without a conversation that two judges have marked are no subjects here. Coincidences are
    sums over conversations, so the ones without a subject are a difference. None where nothing is
    left that varies.
    """
    every = _table(marks)
    table, whose = _pairable(every), np.array(subjects)[_paired(every)]
    values = np.unique(table[~np.isnan(table)])
    of_subjects = [
        _coincidences(table[:, whose == name], values)
        for name in dict.fromkeys(subjects)
        if name in whose
    ]
    whole = sum(of_subjects, np.zeros((values.size, values.size)))
    return [_alpha(whole - mine, measurement) for mine in of_subjects]


def _paired(table: Floats) -> Bools:
    """[columns]: whether two judges have marked it."""
    paired: Bools = np.count_nonzero(~np.isnan(table), axis=0) >= 2
    return paired


def _pairable(table: Floats) -> Floats:
    return table[:, _paired(table)]


def _coincidences(table: Floats, values: Floats) -> Floats:
    """[values, values]: how often two judges gave one thing this and that, each thing by 1 / (its
    marks - 1).

    Of *table* [judges, things], with two marks in each column at least.
    """
    counts = np.array(
        [np.count_nonzero(table == value, axis=0) for value in values], dtype=np.float64
    )
    counts = counts.reshape(values.size, table.shape[1])
    share = counts / np.maximum(counts.sum(axis=0) - 1, 1)
    coincidences: Floats = share @ counts.T - np.diag(share.sum(axis=1))
    return coincidences


def _alpha(coincidences: Floats, measurement: Measurement) -> float | None:
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


def _table(marks: Sequence[Sequence[float | None]]) -> Floats:
    rows = [[np.nan if mark is None else mark for mark in row] for row in marks]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]) if rows else 0)
