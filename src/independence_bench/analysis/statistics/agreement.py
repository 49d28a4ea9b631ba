"""How far judges agree: pure functions on their marks. Absent is None; what is not defined is None, never 0.

    krippendorff_alpha    all judges at once, marks missing here and there, as an order
    quadratic_kappa       two judges
    icc_2k                the mean of all judges, as a measurement of what they mark
    rank_correlation      two orders of the same things

In all of them 1 is perfect agreement and 0 what chance (for the last: no connection) gives; below 0 is worse than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import krippendorff
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
LEAST_RANKED = 3  # two things are always in order, or in the opposite one


def krippendorff_alpha(marks: Sequence[Sequence[float | None]]) -> float | None:
    """Krippendorff's alpha for ordinal marks; *marks* has a row for each judge and a column for each thing marked.

    alpha = 1 - D_o / D_e, the disagreement seen among marks of one thing over that among all marks, where two marks
    are as far apart as there are marks between them (K. Krippendorff, Computing Krippendorff's Alpha-Reliability,
    2011). In (-1, 1]. A thing with fewer than two marks says nothing and is left out. None where nothing is left, or
    where all that is left got one and the same mark: whether judges who never vary agree cannot be told.

    Memory grows with columns x (different marks) squared: marks with many decimals are to be rounded before.
    """
    table = _table(marks)
    pairable = table[:, np.count_nonzero(~np.isnan(table), axis=0) >= 2]
    if np.unique(pairable[~np.isnan(pairable)]).size < 2:
        return None
    return float(krippendorff.alpha(reliability_data=pairable, level_of_measurement="ordinal"))


def quadratic_kappa(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Cohen's kappa with quadratic weights of two judges' marks of the same things, in the same order.

    kappa = 1 - sum_i (a_i - b_i)^2 / (1/n sum_i sum_j (a_i - b_j)^2)
    (J. Cohen, Weighted kappa, Psychological Bulletin 70, 1968, 213-220; written over marks instead of a table of
    categories, which gives the same number and takes marks between the categories too). In [-1, 1]. None without any
    mark, and where both judges gave one and the same mark to everything.
    """
    a, b = _pair(one, other)
    if a.size == 0:
        return None
    # 1/n sum_i sum_j (a_i - b_j)^2, without the table of all pairs
    expected = a.size * (np.var(a) + np.var(b) + (np.mean(a) - np.mean(b)) ** 2)
    return float(1 - np.sum((a - b) ** 2) / expected) if expected > 0 else None


def icc_2k(marks: Sequence[Sequence[float]]) -> float | None:
    """ICC(2,k): how reliable the mean of these judges is; *marks* has a row for each judge, complete.

    ICC(2,k) = (BMS - EMS) / (BMS + (JMS - EMS) / n) with the mean squares between the n things, between the judges,
    and of the rest in a two-way analysis of variance (P. E. Shrout and J. L. Fleiss, Intraclass correlations,
    Psychological Bulletin 86, 1979, 420-428). A judge that is stricter throughout lowers it. At most 1; below 0 where
    things differ less than judges do. None with fewer than two judges or things, and where nothing varies.
    """
    table = np.array(marks, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        return None
    judges, things = table.shape
    mean = table.mean()
    between = judges * np.sum((table.mean(axis=0) - mean) ** 2) / (things - 1)
    by_judge = things * np.sum((table.mean(axis=1) - mean) ** 2) / (judges - 1)
    rest = np.sum((table - table.mean(axis=0) - table.mean(axis=1)[:, np.newaxis] + mean) ** 2)
    error = rest / ((things - 1) * (judges - 1))
    below = between + (by_judge - error) / things
    return float((between - error) / below) if below > 1e-12 else None


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's rank correlation of the same things under two judges; equal numbers share their mean rank.

    rho = the product-moment correlation of the ranks (C. Spearman, American Journal of Psychology 15, 1904, 72-101).
    In [-1, 1]. None for fewer than three things, and where one side puts all of them level.
    """
    a, b = _pair(one, other)
    if a.size < LEAST_RANKED:
        return None
    x, y = ranks(a) - (a.size + 1) / 2, ranks(b) - (b.size + 1) / 2
    below = sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / below if below else None


def ranks(numbers: Sequence[float] | Floats) -> Floats:
    """The rank of each number, the smallest being 1; equal ones share the mean of their ranks. [] for none."""
    _, place, count = np.unique(np.asarray(numbers, dtype=np.float64), return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    shared: Floats = (last - (count - 1) / 2)[place]
    return shared


def _table(marks: Sequence[Sequence[float | None]]) -> Floats:
    rows = [[np.nan if mark is None else mark for mark in row] for row in marks]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]) if rows else 0)


def _pair(one: Sequence[float], other: Sequence[float]) -> tuple[Floats, Floats]:
    if len(one) != len(other):
        raise ValueError(f"{len(one)} marks of one judge cannot be compared with {len(other)} of another")
    return np.array(one, dtype=np.float64), np.array(other, dtype=np.float64)
