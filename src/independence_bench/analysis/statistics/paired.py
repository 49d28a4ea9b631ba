"""Intervals for differences within the same things: the same subjects in two configurations, under two judges.

    effect_interval   the mean over subjects of a contrast of their scores, the subjects being a sample
    lone_interval     a few numbers against many: whether they are of the same kind

Pure functions on numbers. Where a method does not keep its promise there is no interval (None).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from independence_bench.analysis.statistics.intervals import LEVEL, contrast_limits, drawn_dispersion, t_quantile
from independence_bench.analysis.statistics.values import Floats, Interval

FEWEST_PAIRED = 3  # subjects: below, what is believed beforehand outweighs what is measured
# Student's t at 95% holds for normal numbers; where judges agree exactly on most subjects, or differences are skewed,
# it takes so many subjects elsewhere and this level of t to hold in 93% of simulated cases at least.
FEWEST_ELSEWHERE = 12
CAREFUL_LEVEL = 0.98
# What is believed of an effect before anything was measured: how much subjects differ in it, as a share of the room
# that their scores leave. It counts as much as so many subjects. Chosen by measurement (docs/statistics-methods.md).
BELIEVED = 0.05
BELIEVED_SUBJECTS = 2.0


def effect_interval(scores: Floats, weights: Sequence[float]) -> Interval | None:
    """The mean over subjects of a contrast, *weights* on their *scores* [subjects, len(weights)] in [0, 1].

    The subjects are a sample of those that might have been tested; what is scored stays as it is. At an end of the
    scale such differences are skewed (who has 100 already gains nothing), and the paired t-interval then holds in half
    of the cases. So the variance between subjects is expressed as a dispersion, as that of scores is,

        dispersion = variance of the contrast / sum over k of weight[k]^2 x mean[k] x (1 - mean[k])

    drawn towards `BELIEVED`, and the limits are `intervals.contrast_limits`.

    None for fewer than `FEWEST_PAIRED` subjects.
    """
    subjects = len(scores)
    if subjects < FEWEST_PAIRED:
        return None
    of_each, means = np.asarray(weights, dtype=np.float64), scores.mean(axis=0)
    room = float(np.square(of_each) @ (means * (1 - means)))
    variance = float((scores @ of_each).var(ddof=1))
    degrees = subjects - 1
    measured = variance / room if room > 0 else 0.0
    dispersion = drawn_dispersion(BELIEVED_SUBJECTS * BELIEVED, BELIEVED_SUBJECTS, degrees * measured, degrees)
    critical = t_quantile(LEVEL, BELIEVED_SUBJECTS + degrees)
    low, high = contrast_limits(of_each, means, dispersion / subjects, critical)
    return Interval(float(low), float(high))


def lone_interval(own: Sequence[float], elsewhere: Sequence[float]) -> Interval | None:
    """The mean of *own* minus that of *elsewhere*, both being samples with the same variance, at 95%.

    difference -+ t s sqrt(1/n + 1/m) with n + m - 2 degrees of freedom, the pooled variance s^2 (Student 1908) and t
    at `CAREFUL_LEVEL`. With one number of one's own it is the comparison of a single case with controls of J. R.
    Crawford and D. C. Howell (The Clinical Neuropsychologist 12, 1998, 482-486), and all of the variance is that
    elsewhere.

    None for fewer than `FEWEST_ELSEWHERE` elsewhere or none of one's own, and where nothing varies.
    """
    if not own or len(elsewhere) < FEWEST_ELSEWHERE:
        return None
    one, other = np.asarray(own, dtype=np.float64), np.asarray(elsewhere, dtype=np.float64)
    degrees = one.size + other.size - 2
    squares = float(np.square(one - one.mean()).sum() + np.square(other - other.mean()).sum())
    if squares < 1e-12:
        return None
    half = float(t_quantile(CAREFUL_LEVEL, degrees)) * sqrt(squares / degrees * (1 / one.size + 1 / other.size))
    difference = float(one.mean() - other.mean())
    return Interval(difference - half, difference + half)
