"""Intervals for a score between two ends, and for the difference of two scores. Pure functions on
numbers.

A score is in [0, 1] and its variance is taken to be

    var = dispersion x mean x (1 - mean)

as for a proportion, with a *dispersion* that is measured (`dispersion.py`): 1/n would be n
Bernoulli trials. Near an end scores vary little, and towards the other end only; an interval built
on this knows that, where a symmetric one promises points beyond 100 or, at the end itself, nothing
at all. Every function takes numbers or arrays of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from independence_bench.analysis.statistics.exact_binomial import (
    FEW_TABLES,
    MOST_TABLES,
    compute_exact_limits,
    compute_unconditional_p,
    find_last_true,
)
from independence_bench.analysis.statistics.values import Bools, Floats, Numbers

LEVEL = 0.95
NORMAL = 1e12  # degrees of freedom with which Student's t is the normal distribution
POWER = 0.8
LEAST_DEGREES = 1.0  # of a tail from which degrees are taken off
_FAR = 1e4  # standard errors: nothing is farther


def compute_critical_value(level: float | Floats, degrees: float | Floats) -> Floats:
    """Return the two-sided critical value of Student's t at *level* in (0, 1), with *degrees* > 0:
    the number of standard errors on each side.
    """
    if np.ndim(level) == np.ndim(degrees) == 0:
        return _compute_cached_critical_value(float(level), float(degrees))
    return compute_t_quantile((1 + np.asarray(level)) / 2, degrees)


# one at a time it is the most of what an interval costs, and boards have the same degrees again and
# again
@lru_cache(maxsize=4096)
def _compute_cached_critical_value(level: float, degrees: float) -> Floats:
    """Return the two-sided critical value of Student's t at one *level* with one number of
    *degrees* of freedom; results are kept in a cache.
    """
    return compute_t_quantile((1 + level) / 2, degrees)


def compute_score_limits(
    mean: float | Floats, dispersion: float | Floats, critical: float | Floats
) -> tuple[Floats, Floats]:
    """Return the lower and upper limits of a mean: the two means from which *mean*, in [0, 1], is
    *critical* standard errors away.

    The limits are the roots m of (mean - m)^2 = critical^2 x dispersion x m (1 - m): E. B. Wilson's
    interval (Journal of the American Statistical Association 22, 1927, 209-212), with the
    quasi-likelihood dispersion of R. W. M. Wedderburn (Biometrika 61, 1974, 439-447) instead of a
    proportion's 1/n. Both are in [0, 1]; at dispersion 0 both are *mean*.
    """
    q = np.asarray(mean, dtype=np.float64)
    k = np.asarray(critical, dtype=np.float64) ** 2 * np.asarray(dispersion, dtype=np.float64)
    middle, half = 2 * q + k, np.sqrt(np.maximum(k * k + 4 * k * q * (1 - q), 0.0))
    low, high = (middle - half) / (2 * (1 + k)), (middle + half) / (2 * (1 + k))
    # not np.clip: of a few numbers it takes most of the time, and a p-value asks for fifty limits
    return np.minimum(np.maximum(low, 0.0), q), np.minimum(np.maximum(high, q), 1.0)


def shrink_dispersion(
    believed_away: float | Floats,
    believed_room: float | Floats,
    away: float | Floats,
    room: float | Floats,
) -> Floats:
    """Return a dispersion (variance / (mean x (1 - mean))) drawn towards the believed one:
    (believed_away + away) / (believed_room + room).

    *away* is a measured sum of squares and *room* the sum of mean x (1 - mean) that belongs to it.
    The smaller *room*, the more the belief counts: empirical Bayes after G. K. Smyth (Statistical
    Applications in Genetics and Molecular Biology 3, 2004, article 3). `compute_score_limits` takes
    the result, divided by the number of independent parts of a mean.
    """
    return np.asarray((believed_away + away) / (believed_room + room))


def compute_weighted_sum_limits(
    weights: Floats, estimates: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """Return the limits low and high of the sum of weight x estimate over the first axis, from the
    limits *low* and *high* of each estimate and at their level.

    Square-and-add: low = sum - sqrt(sum (the loss of each at its worse end)^2), high likewise with
    the better ends (G. Y. Zou and A. Donner, Statistics in Medicine 27, 2008, 1693-1702). The
    estimates are independent.
    """
    ends = weights * (low - estimates), weights * (high - estimates)
    below, above = (
        np.sqrt(np.square(worst(*ends)).sum(axis=0)) for worst in (np.minimum, np.maximum)
    )
    total = (weights * estimates).sum(axis=0)
    return total - below, total + above


def find_critical_reaching_zero(
    gap: Floats, limits: Callable[[Floats], tuple[Floats, Floats]]
) -> Floats:
    """Return the number of standard errors at which 0 lies on the edge of the interval around
    *gap*; 0 if *gap* is 0. *limits* takes a number of standard errors and returns the interval's
    low and high, which move apart as it grows.
    """

    def excludes_zero(critical: Floats) -> Bools:
        """Return a mask: True where 0 lies outside the interval at *critical* standard errors."""
        low, high = limits(critical)
        return np.where(gap > 0, low > 0, high < 0)

    return find_last_true(np.zeros_like(gap), np.full_like(gap, _FAR), excludes_zero)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores in [0, 1] with all that an interval around them needs; arrays of one shape.

    *degrees* and *added_degrees* are the degrees of freedom of *dispersion* and *added*. *shared*:
    the dispersion is that of a difference and the other side has the very same one, so its degrees
    count once. *trials*: the number of Bernoulli trials that the mean is worth; 0 if marks are not
    at the two ends of their scale. *exact*: the mean is the share of successes among them.
    """

    mean: Floats  # [0, 1]
    dispersion: Floats  # of the mean, as above
    degrees: Floats
    added: Floats  # a variance on top, which the ends do not know of: that of judges; 0: none
    added_degrees: Floats
    trials: Floats
    _: KW_ONLY
    shared: bool = False
    exact: bool = False

    def select_scores(self, which: Numbers | Bools) -> Scores:
        """Return only the scores that *which* selects: by their numbers, in that order, or by a
        mask.
        """
        return Scores(
            *(array[which] for array in self.list_arrays()), shared=self.shared, exact=self.exact
        )

    def list_arrays(self) -> tuple[Floats, ...]:
        """Return the six arrays that describe the scores, in the order of the fields: mean,
        dispersion, degrees, added, added_degrees, trials.
        """
        return self.mean, self.dispersion, self.degrees, self.added, self.added_degrees, self.trials


def make_plain_scores(
    mean: Floats, dispersion: Floats, degrees: Floats, *, shared: bool = False
) -> Scores:
    """Return scores with these means, dispersions and degrees of freedom, without a variance of
    judges and without Bernoulli trials.
    """
    nothing = np.zeros_like(mean)
    return Scores(mean, dispersion, degrees, nothing, np.ones_like(mean), nothing, shared=shared)


def join_scores(parts: Sequence[Scores]) -> Scores:
    """Return one `Scores` that holds the scores of all *parts*, at least one, one after the other.
    If some parts are exact, the Bernoulli trials of the other parts are set to 0.
    """
    exact = any(part.exact for part in parts)
    trials = [
        part.trials if part.exact or not exact else np.zeros_like(part.mean) for part in parts
    ]
    arrays = zip(
        *((*part.list_arrays()[:-1], own) for part, own in zip(parts, trials, strict=True)),
        strict=True,
    )
    return Scores(*map(np.concatenate, arrays), shared=parts[0].shared, exact=exact)


Limits = tuple[Floats, Floats]


def widen_limits(limits: Limits, included: Limits | None) -> Limits:
    """Return limits (low, high) that contain both given intervals, element by element: the lower
    low and the higher high. If the second interval is None, return *limits* as they are.

    Whatever varies in the second interval varies in *limits* as well.
    """
    return (
        limits
        if included is None
        else (np.minimum(limits[0], included[0]), np.maximum(limits[1], included[1]))
    )


def compute_intervals(scores: Scores, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Return the interval of each score at *level*, as two arrays low and high in [0, 1]."""
    below, above, added = _compute_distances_and_judge_variance(scores, 2.0)
    degrees = _combine_degrees(
        (below**2 + above**2, scores.degrees), (2 * added, scores.added_degrees)
    )
    below, above, added = _compute_distances_and_judge_variance(
        scores, compute_critical_value(level, degrees)
    )
    low, high = scores.mean - np.sqrt(below**2 + added), scores.mean + np.sqrt(above**2 + added)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def compute_difference_limits(
    first: Scores, second: Scores, level: float = LEVEL, critical: Floats | None = None
) -> Limits:
    """Return the interval of *first* minus *second* at *level*, as two arrays low and high in [-1,
    1]. The two scores of a difference are independent.

    Square-and-add, as in `compute_weighted_sum_limits`: low = d - sqrt((a - low_a)^2 + (high_b -
    b)^2), high likewise. *critical* is the critical value for their `compute_difference_degrees`,
    if it is at hand.
    """
    critical = (
        compute_critical_value(level, compute_difference_degrees(first, second))
        if critical is None
        else critical
    )
    low, high = _compute_unclipped_difference_limits(first, second, critical)
    return np.clip(low, -1.0, 1.0), np.clip(high, -1.0, 1.0)


def compute_p_values(first: Scores, second: Scores, extra_degrees: float | Floats = 0.0) -> Floats:
    """Return the two-sided p-value of no difference for each pair of scores *first* and *second*: 1
    minus the level at which 0 is on the edge of the difference's interval.

    1 if the two means are the same. *extra_degrees* degrees of freedom are added to those of the
    interval; a negative number takes degrees off, and one is left at least. For two exact shares it
    is the exact p-value (`exact_binomial.py`), which is smaller: joined limits are wider than they
    need be. For scores that are worth few trials it is no smaller than the exact one.
    """
    exact, few = first.exact and second.exact, _find_few_trial_pairs(first, second)
    p = np.ones(np.shape(first.mean))
    apart = first.mean != second.mean
    if (by_limits := apart & ~few if exact else apart).any():  # exact limits take long
        one, other = first.select_scores(by_limits), second.select_scores(by_limits)
        distance = find_critical_reaching_zero(
            one.mean - other.mean,
            lambda critical: _compute_unclipped_difference_limits(one, other, critical),
        )
        p[by_limits] = compute_two_sided_t_tail(
            distance,
            _compute_tail_degrees(one, other, np.broadcast_to(extra_degrees, p.shape)[by_limits]),
        )
    for at in map(tuple, np.argwhere(few)):
        n, m = (max(round(float(side[at])), 1) for side in (first.trials, second.trials))
        of_binary = compute_unconditional_p(
            round(float(first.mean[at]) * n), n, round(float(second.mean[at]) * m), m
        )
        p[at] = of_binary if exact else max(of_binary, p[at])
    return p


def find_significant_pairs(
    first: Scores, second: Scores, level: float, extra_degrees: float = 0.0
) -> Bools:
    """Return a mask over pairs of scores *first* and *second*: True if the p-value of no difference
    (`compute_p_values`, with *extra_degrees* degrees of freedom) is at most 1 - *level*, so that 0
    is outside the interval of the difference.
    """
    degrees = _compute_tail_degrees(first, second, extra_degrees)
    if not degrees.size:
        return np.zeros(degrees.shape, dtype=np.bool_)
    # The critical value of a pair lies between those at the fewest and at the most degrees of
    # freedom of all pairs. Its computation takes most of the time, so it is left out where these
    # two decide alike.
    widest, narrowest = (
        _mask_intervals_without_zero(first, second, compute_critical_value(level, float(end)))
        for end in (degrees.min(), degrees.max())
    )
    outside, open_ = widest, narrowest & ~widest
    if open_.any():
        outside[open_] = _mask_intervals_without_zero(
            first.select_scores(open_),
            second.select_scores(open_),
            compute_critical_value(level, degrees[open_]),
        )
    few = _find_few_trial_pairs(first, second)
    if few.any():
        outside[few] = (
            compute_p_values(first.select_scores(few), second.select_scores(few), extra_degrees)
            <= 1 - level
        )
    return outside


def _mask_intervals_without_zero(first: Scores, second: Scores, critical: Floats) -> Bools:
    """Return a mask over pairs of scores: True if 0 is outside the interval of their difference at
    *critical* standard errors.
    """
    gap = first.mean - second.mean
    low, high = _compute_unclipped_difference_limits(first, second, critical)
    return np.where(gap > 0, low > 0, (gap < 0) & (high < 0))


def _compute_tail_degrees(first: Scores, second: Scores, extra_degrees: float | Floats) -> Floats:
    """Return the degrees of freedom for the p-value of each difference: those of its interval plus
    *extra_degrees*, but at least `LEAST_DEGREES`.
    """
    degrees = compute_difference_degrees(first, second)
    return np.maximum(degrees + extra_degrees, np.minimum(degrees, LEAST_DEGREES))


def _find_few_trial_pairs(first: Scores, second: Scores) -> Bools:
    """Return a mask over pairs of scores: True if the exact binomial test says more, because both
    scores are worth few Bernoulli trials, they differ, and no variance of judges is added.
    """
    most = MOST_TABLES if first.exact and second.exact else FEW_TABLES
    binary = (first.added == 0) & (second.added == 0) & (first.trials > 0) & (second.trials > 0)
    apart = np.abs(first.mean - second.mean) > 0  # not of a mean that is not known
    return np.asarray(binary & ((first.trials + 1) * (second.trials + 1) <= most) & apart)


def compute_detectable_difference(
    first: Scores, second: Scores, level: float = LEVEL, critical: Floats | None = None
) -> Floats:
    """Return the minimum detectable difference of each pair of scores, in [0, 1]: the smallest true
    difference that a share `POWER` of repetitions would find significant at *level*.

    (t at *level* + t at `POWER`) x standard error of the difference. It is a property of the design
    and not of its result (e.g. M. Bland, An Introduction to Medical Statistics, 2015, chapter 18).
    The variance is that at the middles of the two intervals, because at an end itself nothing seems
    to vary. *critical*: as in `compute_difference_limits`.
    """
    degrees = compute_difference_degrees(first, second)
    critical = compute_critical_value(level, degrees) if critical is None else critical
    limits = [
        compute_score_limits(side.mean, side.dispersion, critical) for side in (first, second)
    ]
    middle = np.mean(limits, axis=(0, 1))
    variance = (
        (first.dispersion + second.dispersion) * middle * (1 - middle) + first.added + second.added
    )
    smallest: Floats = np.minimum(
        (critical + compute_t_quantile(POWER, degrees)) * np.sqrt(variance), 1.0
    )
    return smallest


def _compute_distances_and_judge_variance(
    scores: Scores, critical: float | Floats
) -> tuple[Floats, Floats, Floats]:
    """Return three arrays over *scores*: the distance from the mean down to its lower limit, the
    distance up to its upper limit, and the square of what judges' variance adds to both, all at
    *critical* standard errors.
    """
    low, high = compute_score_limits(scores.mean, scores.dispersion, critical)
    if scores.exact and (binary := scores.trials > 0).any():
        outside = compute_two_sided_t_tail(
            np.broadcast_to(critical, scores.mean.shape)[binary], NORMAL
        )
        low, high = low.copy(), high.copy()
        low[binary], high[binary] = compute_exact_limits(
            scores.mean[binary], scores.trials[binary], outside
        )
    return scores.mean - low, high - scores.mean, np.square(critical) * scores.added


def _compute_unclipped_difference_limits(
    first: Scores, second: Scores, critical: Floats
) -> tuple[Floats, Floats]:
    """Return the limits low and high of *first* minus *second* at *critical* standard errors. They
    may lie beyond -1 and 1.
    """
    below_a, above_a, added_a = _compute_distances_and_judge_variance(first, critical)
    below_b, above_b, added_b = _compute_distances_and_judge_variance(second, critical)
    added, gap = added_a + added_b, first.mean - second.mean
    return gap - np.sqrt(below_a**2 + above_b**2 + added), gap + np.sqrt(
        above_a**2 + below_b**2 + added
    )


def compute_difference_degrees(first: Scores, second: Scores) -> Floats:
    """Return the degrees of freedom of the difference of each pair of scores *first* and *second*.

    Each side counts by the squares of its distances to its limits, which are not 0 at an end as its
    variance is. An estimate that both sides share counts once: a shared dispersion, and the
    variance that the judges, who are the same for both, add.
    """
    (below, above, added), (below_other, above_other, added_other) = (
        _compute_distances_and_judge_variance(first, 2.0),
        _compute_distances_and_judge_variance(second, 2.0),
    )
    one, other = below**2 + above**2, below_other**2 + above_other**2
    judges = (2 * (added + added_other), np.minimum(first.added_degrees, second.added_degrees))
    if first.shared and second.shared:
        return _combine_degrees((one + other, np.minimum(first.degrees, second.degrees)), judges)
    return _combine_degrees((one, first.degrees), (other, second.degrees), judges)


def _combine_degrees(*parts: tuple[Floats, Floats]) -> Floats:
    """Return the degrees of freedom of a sum of variances, by Satterthwaite's formula. Each of
    *parts* is a variance and its own degrees (F. E. Satterthwaite, Biometrics Bulletin 2, 1946).

    If nothing varies, the degrees are those of the first part.
    """
    total = np.sum([size for size, _ in parts], axis=0)
    below = np.sum([size**2 / degrees for size, degrees in parts], axis=0)
    return np.where(below > 0, total**2 / np.where(below > 0, below, 1.0), parts[0][1])


# Above FEW + FAR x distance^2 degrees of freedom the normal distribution is near enough: eight
# digits and more.
FEW, FAR = 12.0, 4.0
_SERIES = 50.0  # argument from which on the ratio of two gamma functions is taken from its series
_PRECISION = 1e-12
_TERMS = 500  # of the fraction: about the root of the degrees are needed
_STEPS = 100
_NEAR = 3e-4  # a step that leaves its cube to be gone
_TINY = 1e-300


def compute_two_sided_t_tail(
    distance: float | Floats, degrees: float | Floats, log_gamma_ratios: Floats | None = None
) -> Floats:
    """Return the two-sided p-value of Student's t, in [0, 1]: the chance of being *distance* or
    farther from 0, on either side.

    Arrays are broadcast; *distance* is finite, *degrees* > 0. *log_gamma_ratios*:
    `_compute_log_gamma_ratio` of half of each of the degrees, if at hand.
    """
    t, df = np.broadcast_arrays(
        np.abs(np.asarray(distance, np.float64)), np.asarray(degrees, np.float64)
    )
    near = df > FEW + FAR * t * t
    outside, far = np.empty(t.shape), ~near
    if near.any():
        outside[near] = _approximate_two_sided_t_tail(t[near], df[near])
    if far.any():
        outside[far] = _compute_t_tail_by_beta(
            t[far],
            df[far],
            _compute_log_gamma_ratio(df[far] / 2)
            if log_gamma_ratios is None
            else log_gamma_ratios[far],
        )
    return outside


def compute_t_quantile(share: float | Floats, degrees: float | Floats) -> Floats:
    """Return the quantile of Student's t with *degrees* > 0: the number below which lies the
    probability *share*, in (0, 1). Arrays are broadcast.

    Raises StatisticsError for a *share* of 0 or 1. The method is Halley's for the logarithm of the
    tail by the logarithm of the distance, a curve that falls and is concave.
    """
    below, df = np.broadcast_arrays(np.asarray(share, np.float64), np.asarray(degrees, np.float64))
    shape, below, df = df.shape, below.ravel(), df.ravel()
    outside = 2 * np.minimum(below, 1 - below)
    halves, which = np.unique(outside / 2, return_inverse=True)
    z = np.array([-NormalDist().inv_cdf(half) for half in halves])[which]
    # Cornish and Fisher's first two terms; at the middle the logarithm would have no start
    square = z * z
    t = z * (1 + (square + 1) / (4 * df) + ((5 * square + 16) * square + 3) / (96 * df * df))
    t, ratios = np.maximum(t, 1e-9), _compute_log_gamma_ratio(df / 2)
    # those that are not there yet, each for itself: a number must not depend on the others
    at = np.arange(len(t))
    for _ in range(_STEPS):
        now, of, ratio = t[at], df[at], ratios[at]
        left = compute_two_sided_t_tail(now, of, ratio)
        logarithm = ratio - (of + 1) / 2 * np.log1p(now * now / of)
        # the density at t in brackets
        slope = -2 * now * (np.exp(logarithm) / np.sqrt(of * np.pi)) / left
        bend = slope * (1 - (of + 1) * now * now / (of + now * now) - slope)
        newton = -np.log(left / outside[at]) / slope
        step = newton / (1 + np.clip(newton * bend / (2 * slope), -0.5, 0.5))
        t[at] = now * np.exp(np.minimum(step, 50.0))
        at = at[np.abs(step) >= _NEAR]
        if not len(at):
            break
    return np.where(outside == 1, 0.0, np.where(below < 0.5, -t, t)).reshape(shape)


def _compute_log_gamma_ratio(a: Floats) -> Floats:
    """Return log(gamma(a + 1/2) / gamma(a)). A large *a* takes its series, because the two
    logarithms differ by less than their rounding.

    NIST Digital Library of Mathematical Functions, 5.11.13.
    """
    whole = np.maximum(a, _SERIES)
    series = np.log(whole) / 2 - 1 / (8 * whole) + 1 / (192 * whole**3) - 1 / (640 * whole**5)
    exact, small = np.zeros(a.shape), a <= _SERIES
    exact[small] = [math.lgamma(x + 0.5) - math.lgamma(x) for x in a[small].tolist()]
    return np.where(small, exact, series)


def _compute_t_tail_by_beta(t: Floats, degrees: Floats, log_gamma_ratio: Floats) -> Floats:
    """Return the two-sided p-value of Student's t at the distance *t* from 0, as the incomplete
    beta function I_x(degrees / 2, 1/2) at x = degrees / (degrees + t^2). *log_gamma_ratio* is
    `_compute_log_gamma_ratio` of half the degrees.

    DLMF 8.17.22's continued fraction, on the side where it converges soon; I_x(a, b) = 1 -
    I_(1-x)(b, a) for the other side.
    """
    square = t * t / degrees
    x = 1 / (1 + square)
    half = np.full_like(x, 0.5)
    turned = x > (degrees + 2) / (degrees + 5)
    a, b = np.where(turned, half, degrees / 2), np.where(turned, degrees / 2, half)
    at = np.where(turned, square / (1 + square), x)
    # 1 / (a B(a, b)) x^a (1 - x)^b, the same on both sides but for its first factor
    with np.errstate(divide="ignore"):
        powers = np.log(square) / 2 - (degrees + 1) / 2 * np.log1p(square)
    front = np.exp(log_gamma_ratio + powers) / (a * math.sqrt(math.pi))
    part = front * _evaluate_beta_continued_fraction(a, b, at)
    return np.where(turned, 1 - part, part)


def _evaluate_beta_continued_fraction(a: Floats, b: Floats, x: Floats) -> Floats:
    """Return the value of the continued fraction 1 / (1 + d1 / (1 + d2 / ...)) of the incomplete
    beta function, by the method of W. J. Lentz (Applied Optics 15, 1976, 668-671), without a
    division by 0.
    """
    c, d = np.ones_like(x), 1 / (1 - (a + b) * x / (a + 1) + _TINY)
    value, going = d.copy(), np.full(x.shape, True)
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = np.ones_like(x)
        for term in (even, odd):
            d = 1 / (1 + term * d + _TINY)
            c = 1 + term / (c + _TINY)
            change = change * (c * d)
        value = np.where(going, value * change, value)
        going &= np.abs(change - 1) >= _PRECISION
        if not going.any():
            break
    return value


def _approximate_two_sided_t_tail(t: Floats, degrees: Floats) -> Floats:
    """Return the two-sided p-value of Student's t at the distance *t* from 0 for many *degrees*,
    approximated by the normal distribution: G. W. Hill, Communications of the ACM 13, 1970, no.
    395.
    """
    n = degrees - 0.5
    b = 48 * n * n
    square = n * np.log1p(t * t / degrees)
    z = np.sqrt(square)
    z = z * (
        1
        + (square + 3) / b
        - (((0.4 * square + 3.3) * square + 24) * square + 85.5)
        / (0.8 * square * square + 100 + b)
        / b
    )
    return np.array([math.erfc(x / math.sqrt(2)) for x in z.ravel()]).reshape(z.shape)
