"""Rank correlations of things that are measured with error: pure functions on numbers and their standard errors.

Errors of measurement draw a correlation towards 0. How far they do is computed from the errors, and undone. Tried in
benchmarks/coverage/validate.py (docs/coverage.md): it holds from `FEWEST_RANKED` things on and where errors leave
`LEAST_LEFT` of a correlation. Elsewhere there is no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import atanh, sqrt, tanh
from statistics import NormalDist

import numpy as np

from independence_bench.analysis.statistics.agreement import FEWEST_RANKED, SAME, rank_correlation, ranks
from independence_bench.analysis.statistics.intervals import LEVEL, t_quantile
from independence_bench.analysis.statistics.values import Floats, Interval

LEAST_LEFT = 0.5  # of a correlation after both sides' errors; with less the correction is too uncertain itself


@dataclass(frozen=True, slots=True)
class TrueCorrelation:
    """Spearman's rank correlation as measured, and of what was measured, without the errors that are known."""

    observed: float | None  # in [-1, 1]; None: fewer than three things, or all level on one side
    corrected: float | None = None  # in [-1, 1]; None: no interval, or the errors of neither side are known
    interval: Interval | None = None  # 95 %, of the corrected one, for other things like these
    why_no_interval: str | None = None


def true_rank_correlation(
    first: Sequence[float],
    second: Sequence[float],
    first_errors: Sequence[float] | None = None,
    second_errors: Sequence[float] | None = None,
) -> TrueCorrelation:
    """The rank correlation of what two measurements of the same n things measure; errors are standard errors.

    r -> r / A, A being the product of the sides' `rank_attenuation`; None for errors: not known, so that side is taken
    as it is. The interval has the ends tanh(atanh r -+ t sqrt((1 + r^2 / 2) / (n - 3))) / A, at most 1 in size, with
    Student's t of n - 2 degrees (D. G. Bonett and T. A. Wright, Psychometrika 65, 2000, 23-28; t for few things; C.
    Spearman, American Journal of Psychology 15, 1904, 72-101, for the division).
    """
    observed, n = rank_correlation(first, second), len(first)
    if n < FEWEST_RANKED:
        return TrueCorrelation(observed, why_no_interval=f"fewer than {FEWEST_RANKED} models")
    if observed is None:
        return TrueCorrelation(None, why_no_interval="all level on one side")
    if abs(observed) > 1 - SAME:
        return TrueCorrelation(observed, why_no_interval="the same order or its reverse: nothing shows how sure it is")
    sides = ((first, first_errors), (second, second_errors))
    left = float(np.prod([rank_attenuation(values, errors) for values, errors in sides if errors is not None]))
    if left < LEAST_LEFT:
        return TrueCorrelation(observed, why_no_interval="the errors are too large for the differences")
    half = float(t_quantile(LEVEL, n - 2)) * sqrt((1 + observed**2 / 2) / (n - 3))
    ends = (tanh(atanh(observed) - half), tanh(atanh(observed) + half))
    low, corrected, high = (min(max(value / left, -1.0), 1.0) for value in (ends[0], observed, ends[1]))
    known = first_errors is not None or second_errors is not None
    return TrueCorrelation(observed, corrected if known else None, Interval(low, high))


def rank_attenuation(values: Sequence[float], errors: Sequence[float]) -> float:
    """The expected correlation of true ranks with the ranks of a measurement of them, in [0, 1]; 1 without errors.

    True values are taken to be the measured ones, drawn towards their mean until their variance is what the errors
    leave of it, 1 - mean(e^2) / s^2; the expected rank of i is then 1/2 + sum_j P(i is measured above j), the errors
    being normal and independent. 0 where the errors are as large as all differences.
    """
    measured, error = np.array(values, dtype=np.float64), np.array(errors, dtype=np.float64)
    if not error.any():
        return 1.0
    spread = float(measured.var(ddof=1))
    share = 1 - float(np.mean(error**2)) / spread if spread else 0.0
    if share <= 0:
        return 0.0
    true = measured.mean() + sqrt(share) * (measured - measured.mean())
    apart = np.sqrt(error[:, None] ** 2 + error[None, :] ** 2)
    above: Floats = np.vectorize(NormalDist().cdf)((true[:, None] - true[None, :]) / np.maximum(apart, SAME))
    middle = (measured.size + 1) / 2
    own, expected = ranks(true) - middle, above.sum(axis=1) + 0.5 - middle
    below = sqrt(float(own @ own) * (measured.size**3 - measured.size) / 12)
    return min(max(float(own @ expected) / below, 0.0), 1.0) if below else 0.0
