"""Intervals for means over stems: the stems are a sample of those that could have been written. Pure functions.

What was measured of a stem is averaged over its runs (and judges) first, so that the mean over stems has as many
independent parts as there are stems, however often each was played. A share of moves near 0 or 1 varies little, and
towards the middle only; with a dozen stems Student's t then holds in far fewer cases than it says. So, as elsewhere
here (`intervals.py`), the variance is told as a dispersion,

    dispersion = sum over stems of (x - mean)^2 / ((stems - 1) x mean x (1 - mean))

of 1 for answers that are yes or no, drawn towards what is believed beforehand and the more so the less room the mean
leaves; then Wilson-type limits are put around the mean. What shifts a whole run moves all of its stems together, which
stems cannot show and a single run not at all: some of it is believed beforehand, and more runs make it less. How often
the limits hold is in docs/coverage.md.

Every array has the stems on its last axis, so that thousands of draws are as easy as one. At least `FEWEST` stems.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from independence_bench.analysis.statistics import Floats
from independence_bench.analysis.statistics.intervals import LEVEL, Limits, score_limits, t_quantile

FEWEST = 4  # stems: below, what is believed beforehand outweighs what is measured
# What is believed of a dispersion before anything was measured, with the weight of so many stems in the middle of the
# scale whose mean leaves so much room. Chosen by measurement.
BELIEVED = 1.0
BELIEVED_ROOM = 0.1
# What shifts whole runs, as the dispersion of one run's mean: a standard deviation of a fifth of that of a single
# answer's latent variable moves a mean of 1/2 by .08, so .08^2 / (1/4).
BELIEVED_RUNS = 0.025


def mean_limits(values: Floats, runs: float) -> Limits:
    """Low and high, in [0, 1], of the mean over stems of *values* [..., stems] in [0, 1], each over *runs* runs."""
    mean = values.mean(axis=-1)
    return _limits(mean, dispersion_of(values, mean * (1 - mean)), values.shape[-1], runs)


def difference_limits(first: Floats, second: Floats, runs: float) -> Limits:
    """Low and high, in [-1, 1], of the mean of *first* minus that of *second*, both [..., stems], stem by stem.

    The dispersion is that of the difference within stems, over the room of both means together; the two pairs of limits
    are joined by square-and-add, as in `paired.effect_interval`.
    """
    means = first.mean(axis=-1), second.mean(axis=-1)
    dispersion = _paired_dispersion(first, second)
    below, above = zip(*(_limits(mean, dispersion, first.shape[-1], runs) for mean in means), strict=True)
    gap = means[0] - means[1]
    low = gap - np.hypot(means[0] - below[0], above[1] - means[1])
    high = gap + np.hypot(above[0] - means[0], means[1] - below[1])
    return np.clip(low, -1.0, 1.0), np.clip(high, -1.0, 1.0)


def d_prime_limits(first: Floats, second: Floats, trials: float, runs: float) -> Limits:
    """Low and high of d' from the shares of moves of each stem, *first* on the relevant kind, of *trials* each kind.

    As `difference_limits`, of the corrected rates and joined on the scale of z. Both are finite.
    """
    rates = [(one.mean(axis=-1) * trials + 0.5) / (trials + 1) for one in (first, second)]
    dispersion = _paired_dispersion(first, second)
    ends = [_limits(rate, dispersion, first.shape[-1], runs) for rate in rates]
    (hit, hit_low, hit_high), (false, false_low, false_high) = (
        (_z(rate), _z(low), _z(high)) for rate, (low, high) in zip(rates, ends, strict=True)
    )
    d_prime = hit - false
    return d_prime - np.hypot(hit - hit_low, false_high - false), d_prime + np.hypot(hit_high - hit, false - false_low)


def dispersion_of(values: Floats, room: Floats) -> Floats:
    """[...]: the dispersion of *values* [..., stems] over *room* [...], drawn towards what is believed."""
    squares = np.square(values - values.mean(axis=-1, keepdims=True)).sum(axis=-1)
    measured: Floats = (BELIEVED_ROOM * BELIEVED + squares) / (BELIEVED_ROOM + (values.shape[-1] - 1) * room)
    return measured


def _paired_dispersion(first: Floats, second: Floats) -> Floats:
    rooms = (one.mean(axis=-1) * (1 - one.mean(axis=-1)) for one in (first, second))
    return dispersion_of(first - second, sum(rooms, np.zeros(first.shape[:-1])))


def _limits(mean: Floats, dispersion: Floats, stems: int, runs: float) -> Limits:
    of_mean = dispersion / stems + BELIEVED_RUNS / runs
    return score_limits(mean, of_mean, t_quantile(LEVEL, stems - 1.0))


_NORMAL = NormalDist()


def _z(rate: Floats) -> Floats:
    """Of rates in (0, 1)."""
    return np.array([_NORMAL.inv_cdf(one) for one in np.ravel(rate)]).reshape(np.shape(rate))
