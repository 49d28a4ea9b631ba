"""How sure a figure of agreement is, from what it would be without each of the subjects. Pure functions on numbers.

Conversations of one subject resemble each other, so the subjects are what is sampled: an interval says where the figure
lies for subjects like these, under the same judges. Tried for alpha and the rank correlation, where it keeps its
promise from `FEWEST` subjects on; for kappa and ICC(2,k) it does not where marks pile up at the end of their scale
(docs/statistics.md), so these have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atanh, tanh

import numpy as np
import numpy.typing as npt

from independence_bench.analysis.statistics.agreement import rank_correlation
from independence_bench.analysis.statistics.intervals import LEVEL, Floats, Interval, t_quantile
from independence_bench.analysis.statistics.variance_components import jackknife

FEWEST_RANKED = 8  # subjects for an interval of a rank correlation
FEWEST_MARKED = 10  # subjects for one of alpha
SAME = 1e-9  # what differs by less is rounding
ALMOST_ONE = 1 - SAME


def jackknife_interval(estimate: float, without: Sequence[float | None]) -> Interval | None:
    """*estimate*, in (-1, 1), from what it is *without* each of the n subjects.

    tanh(atanh x -+ t s), s being Tukey's standard error of atanh x and t Student's with n - 1 degrees of freedom. On
    this scale of Fisher's the limits stay below 1. None where an estimate is absent, or is 1 or -1, and where leaving
    out changes nothing: that an estimate is exact, nobody may conclude from that.
    """
    there = [value for value in without if value is not None]
    if len(there) < len(without) or any(abs(value) > ALMOST_ONE for value in (estimate, *there)):
        return None
    error = jackknife([atanh(value) for value in there])
    if error is None or error < SAME:
        return None
    half, middle = float(t_quantile(LEVEL, len(there) - 1)) * error, atanh(estimate)
    return Interval(tanh(middle - half), tanh(middle + half))


def rank_correlation_interval(one: Sequence[float], other: Sequence[float]) -> Interval | None:
    """Where Spearman's rank correlation of subjects lies; None for fewer than `FEWEST_RANKED`, and at 1 or -1."""
    estimate = rank_correlation(one, other)
    if estimate is None or len(one) < FEWEST_RANKED:
        return None
    without = [
        rank_correlation([*one[:left], *one[left + 1 :]], [*other[:left], *other[left + 1 :]])
        for left in range(len(one))
    ]
    return jackknife_interval(estimate, without)


def alpha_interval(
    marks: Sequence[Sequence[float | None]], subjects: Sequence[str], estimate: float | None
) -> Interval | None:
    """Where Krippendorff's alpha, *estimate*, of *marks* (a row for each judge, a column for each conversation) lies.

    *subjects*: whose each column is. None for fewer than `FEWEST_MARKED` of them, and without an estimate.
    """
    if estimate is None or len(set(subjects)) < FEWEST_MARKED:
        return None
    return jackknife_interval(estimate, alphas_without(marks, subjects))


def alphas_without(marks: Sequence[Sequence[float | None]], subjects: Sequence[str]) -> list[float | None]:
    """Ordinal alpha without the columns of each subject, in the order in which subjects first appear.

    Those without a conversation that two judges have marked are no subjects here.

    alpha = 1 - (n - 1) sum o_ck d_ck / sum n_c n_k d_ck, from the coincidences o of each two marks of a conversation
    (K. Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011), which are sums over conversations: so the ones
    without a subject are a difference. None where nothing is left that varies.
    """
    table = np.array([[np.nan if mark is None else mark for mark in row] for row in marks], dtype=np.float64)
    pairable = np.count_nonzero(~np.isnan(table), axis=0) >= 2
    table, whose = table[:, pairable], [one for one, counts_here in zip(subjects, pairable, strict=True) if counts_here]
    steps = np.unique(table[~np.isnan(table)])
    counts = np.array([np.count_nonzero(table == step, axis=0) for step in steps], dtype=np.float64).T
    there = set(whose)
    numbers = {one: place for place, one in enumerate(one for one in dict.fromkeys(subjects) if one in there)}
    of_each = np.array([numbers[one] for one in whose], dtype=np.intp)
    found = np.array([_coincidences(counts[of_each == place]) for place in numbers.values()])
    return [_alpha(found.sum(axis=0) - mine) for mine in found]


def _coincidences(counts: Floats) -> Floats:
    """[steps, steps] from how often each step was given in each conversation, [conversations, steps]."""
    share = counts / (counts.sum(axis=1, keepdims=True) - 1)
    together: Floats = share.T @ counts - np.diag(share.sum(axis=0))
    return together


def _alpha(coincidences: Floats) -> float | None:
    given: npt.NDArray[np.float64] = coincidences.sum(axis=1)
    place = np.cumsum(given) - given / 2
    apart = np.square(place[:, None] - place[None, :])
    expected = float(given @ apart @ given)
    if expected < 1e-9:
        return None
    return 1 - (float(given.sum()) - 1) * float(np.sum(coincidences * apart)) / expected
