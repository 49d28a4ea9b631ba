"""Means over a sample of stems (items) or of subjects, with intervals; and survival curves of
positions under pressure. Pure functions on numbers.

The stems are a sample of those that could have been written, the subjects of those that might have
been tested. If a method does not keep its promise there is no interval (None).

    compute_mean_limits                  one mean over stems
    compute_ratio_limits                 one share of something that some stems have more of
    Contrast                             means over the same stems, subtracted: two subjects
    compute_kaplan_meier                 the share of positions that stand after each push
    estimate_paired_difference_interval  the mean over subjects of the difference of two scores
    estimate_mean_difference_interval    a few numbers against many: whether they differ in kind
    compute_bootstrap_interval           the mean of a few numbers, as others publish it

The values of a stem are averaged over its runs (and judges) first, so that the mean over stems has
as many independent parts as there are stems, however often each was played. A share near 0 or 1
varies little, and towards the middle only; with a dozen stems Student's t then holds in far fewer
cases than it says. So, as elsewhere here (`intervals.py`), the variance is
expressed as a dispersion,

    dispersion = sum over stems of (x - mean)^2 / ((stems - 1) x mean x (1 - mean))

of 1 for answers that are yes or no, drawn towards what is believed beforehand and the more so the
less room the mean leaves; then Wilson-type limits are put around the mean. An effect on a whole run
moves all of its stems together. Stems cannot show it and a single run cannot either, so some of it
is believed beforehand, and more runs make it less. docs/research/coverage.md says how often the
limits hold.

Every array of stems has them on its last axis, so that thousands of draws are as easy as one. At
least `FEWEST` stems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt

import numpy as np

from independence_bench.analysis.statistics.intervals import (
    LEVEL,
    POWER,
    Limits,
    compute_critical_value,
    compute_score_limits,
    compute_t_quantile,
    compute_two_sided_t_tail,
    compute_weighted_sum_limits,
    find_critical_reaching_zero,
    shrink_dispersion,
)
from independence_bench.analysis.statistics.values import Floats, Interval
from independence_bench.figures import Share, Whole

FEWEST = 4  # stems: below, what is believed beforehand outweighs what is measured
# The belief about a dispersion before anything was measured, with the weight of so many stems in
# the middle of the scale whose mean leaves so much room. Chosen by measurement.
BELIEVED = 1.0
BELIEVED_ROOM = 0.1
# The effect on whole runs, as the dispersion of one run's mean: a standard deviation of a fifth of
# that of a single answer's latent variable moves a mean of 1/2 by .08, so .08^2 / (1/4).
BELIEVED_RUNS = 0.025
ROUNDING = 1e-9  # a smaller value is 0


def compute_mean_limits(values: Floats, runs: float) -> Limits:
    """Return the 95% limits low and high, in [0, 1], of the mean of *values* over test items.
    *values* is [..., items] in [0, 1], each a mean over so many *runs*.
    """
    return compute_ratio_limits(values, np.ones_like(values), runs)


def compute_ratio_limits(parts: Floats, wholes: Floats, runs: float) -> Limits:
    """Return the 95% limits low and high, in [0, 1], of a ratio over test items: the sum of *parts*
    over the sum of *wholes*. Both are [..., items], from so many *runs*.

    The ratio is a share of something that some items have more of than others, such as the share of
    positions given up that were taken again. With w the share of each item in the wholes and x its
    own ratio, the variance is n / (n - 1) sum w^2 (x - mean)^2, and there are effectively 1 / sum
    w^2 items (W. G. Cochran, Sampling Techniques, 1977, chapter 6). NaN for one effective item or
    none.
    """
    total = wholes.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = parts.sum(axis=-1) / total
        stems = total**2 / np.square(wholes).sum(axis=-1)
        away = np.square(parts - mean[..., None] * wholes).sum(axis=-1) * (stems / total) ** 2
        room = mean * (1 - mean)
        dispersion = shrink_dispersion(
            BELIEVED_ROOM * BELIEVED, BELIEVED_ROOM, away, (stems - 1) * room
        )
        degrees = stems - 1
        critical = compute_critical_value(LEVEL, np.where(degrees > 0, degrees, 1.0))
        limits = compute_score_limits(mean, dispersion / stems + BELIEVED_RUNS / runs, critical)
        low, high = (np.where(degrees > 0, limit, np.nan) for limit in limits)
    return low, high


RESAMPLES = 10_000


def compute_bootstrap_interval(numbers: Sequence[float]) -> Interval | None:
    """Return the percentile bootstrap interval of the mean of *numbers*, at a nominal 95%; None for
    fewer than two numbers.

    Its random draws have a fixed seed, so it is the same each time. For a few numbers it covers the
    true mean in 50 to 85% of cases (docs/research/coverage.md).
    """
    if len(numbers) < 2:
        return None
    drawn = np.random.default_rng(0).choice(np.array(numbers), (RESAMPLES, len(numbers)))
    low, high = np.quantile(drawn.mean(axis=1), (0.025, 0.975))
    return Interval(float(low), float(high))


def count_effective_stems(wholes: Floats) -> float:
    """Return the effective number of test items of a ratio whose denominators are *wholes* [items]:
    so many items of equal weight would estimate it as precisely. 0 if all of *wholes* are 0.
    """
    squares = float(np.square(wholes).sum())
    return float(wholes.sum()) ** 2 / squares if squares else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """A signed sum of means over the same test items, such as the difference of two subjects.

    Its dispersion is that of the sum within items, relative to mean x (1 - mean) of all means
    together. The difficulty of an item for all subjects cancels if they are subtracted.
    """

    values: Floats  # [means, ..., stems], in [0, 1]
    signs: Floats  # [means, 1, ...]: 1 or -1
    runs: Floats  # [means, 1, ...]: that the values are over

    def subtract_contrast(self, other: Contrast) -> Contrast:
        """Return this signed sum of means minus *other*, a signed sum of another subject over the
        same test items. The runs of the two subjects have nothing in common.
        """
        pairs = (self.values, other.values), (self.signs, -other.signs), (self.runs, other.runs)
        return Contrast(*map(np.concatenate, pairs))

    @property
    def value(self) -> Floats:
        """Value of the signed sum of means over test items, [...]."""
        total: Floats = (self.signs * self._means).sum(axis=0)
        return total

    def compute_limits(self) -> Limits:
        """Return the 95% limits low and high of the signed sum of means over test items, two arrays
        [...].
        """
        critical = compute_critical_value(LEVEL, self._degrees)
        low, high = compute_contrast_limits(
            self.signs, self._means, self._compute_dispersion(), critical
        )
        most = max(len(self.values) / 2, 1.0)
        return np.clip(low, -most, most), np.clip(high, -most, most)

    def compute_p_value(self) -> Floats:
        """Return the p-value of the signed sum of means being 0, [...]: 1 minus the level at which
        0 lies on the edge of its interval. 1 if the sum is 0.
        """
        value, means, dispersion = self.value, self._means, self._compute_dispersion()
        distance = find_critical_reaching_zero(
            value, lambda critical: compute_contrast_limits(self.signs, means, dispersion, critical)
        )
        return np.where(
            np.abs(value) < ROUNDING, 1.0, compute_two_sided_t_tail(distance, self._degrees)
        )

    def compute_detectable_contrast(self) -> Floats:
        """Return the minimum detectable value of the signed sum of means, [...], in its own unit:
        the smallest true value that a share `POWER` of repetitions would find different from 0.

        (t at 97.5% + t at 80%) standard errors, taken at the middles of the limits, as in
        `intervals.compute_detectable_difference`: at an end itself nothing seems to vary.
        """
        critical, dispersion = (
            compute_critical_value(LEVEL, self._degrees),
            self._compute_dispersion(),
        )
        middle = np.mean(compute_score_limits(self._means, dispersion, critical), axis=0)
        variance = (dispersion * middle * (1 - middle)).sum(axis=0)
        smallest: Floats = (critical + compute_t_quantile(POWER, self._degrees)) * np.sqrt(variance)
        return smallest

    @property
    def _means(self) -> Floats:
        means: Floats = self.values.mean(axis=-1)
        return means

    @property
    def _degrees(self) -> float:
        return float(self.values.shape[-1] - 1)

    def _compute_dispersion(self) -> Floats:
        """Return the dispersion (variance / (mean x (1 - mean))) of each mean of the signed sum,
        [means, ...], with what is believed of effects on whole runs.
        """
        together = (self.signs[..., None] * self.values).sum(axis=0)
        away = np.square(together - together.mean(axis=-1, keepdims=True)).sum(axis=-1)
        rooms = (self._means * (1 - self._means)).sum(axis=0)
        dispersion = shrink_dispersion(
            BELIEVED_ROOM * BELIEVED, BELIEVED_ROOM, away, self._degrees * rooms
        )
        return dispersion / (self._degrees + 1) + BELIEVED_RUNS / self.runs


def make_mean_contrast(values: Floats, runs: float) -> Contrast:
    """Return a `Contrast` of a single mean over test items, from which another subject's can be
    subtracted. *values* are [..., items] in [0, 1], each a mean over so many *runs*.
    """
    ones = np.ones((1, *[1] * (values.ndim - 1)))
    return Contrast(values[None], ones, runs * ones)


@dataclass(frozen=True, slots=True)
class EndedLadder:
    """How one series of pressure turns against one position ended."""

    # number of the last push that counts: the one at which it gave in, or the last; at least 1
    pushes: int
    folded: bool  # it gave in at that push; False: it stood, and is censored
    weight: float = 1.0  # above 0: of several judges of one ladder, the share of each


@dataclass(frozen=True, slots=True)
class Step:
    """The outcome of one pressure turn over all series of pressure turns, which count by their
    weight.
    """

    push: int  # 1, 2, ...
    at_risk: float  # ladders that stood before it and were pushed
    folded: Whole  # of those, at this push
    # S: the share that stands after it, [0, 1]; None: none was at risk, so nothing is known
    standing: Share | None


def compute_kaplan_meier(ladders: Sequence[EndedLadder], pushes: int) -> tuple[Step, ...]:
    """Return the Kaplan-Meier survival curve of positions under pressure: for each of so many
    pressure turns (*pushes*, at least 1) the share of positions that still hold. Each of *ladders*
    says after how many turns one position gave in, or that it held.

    Of the positions that held before turn k and were pressed, some give in there. The share that
    holds after it is

        S(k) = product over j <= k of (1 - folded[j] / at risk[j])

    (E. L. Kaplan and P. Meier, Journal of the American Statistical Association 53, 1958, 457-481).
    A position that did not give in is censored after its last turn.

    `standing` is None without *ladders*, and from the first turn on at which no position was at
    risk. If all have given in before, it stays 0. Raises ValueError for a position whose last turn
    is before the first or after the last of *pushes*.
    """
    if any(not 1 <= ladder.pushes <= pushes for ladder in ladders):
        raise ValueError(f"a ladder ends at one of {pushes} pushes")
    steps, standing = [], 1.0 if ladders else None
    for push in range(1, pushes + 1):
        at_risk = fsum(ladder.weight for ladder in ladders if ladder.pushes >= push)
        folded = fsum(
            ladder.weight for ladder in ladders if ladder.folded and ladder.pushes == push
        )
        if standing:
            standing = standing * (1 - folded / at_risk) if at_risk else None
        steps.append(Step(push, at_risk, folded, standing))
    return tuple(steps)


# ------------------------------------------------------------- differences within the same subjects

FEWEST_PAIRED = 3  # subjects: below, what is believed beforehand outweighs what is measured
# Student's t at 95% holds for normal numbers; where judges agree exactly on most subjects, or
# differences are skewed, it takes so many subjects elsewhere and this level of t to hold in 93% of
# simulated cases at least.
FEWEST_ELSEWHERE = 12
CAREFUL_LEVEL = 0.98
# The belief about an effect before anything was measured: how much subjects differ in it, as a
# share of the room that their scores leave. It counts as much as so many subjects. Chosen by
# measurement (docs/research/statistics.md).
BELIEVED_EFFECT = 0.05
BELIEVED_SUBJECTS = 2.0


DIFFERENCE = np.array([1.0, -1.0])  # of two scores


def estimate_paired_difference_interval(scores: Floats) -> Interval | None:
    """Return the 95% interval of the mean difference between two scores of the same subjects.
    *scores* is [subjects, 2], in [0, 1]; the difference is the first column minus the second.

    The subjects are a sample of those that might have been tested; the test stays as it is. At an
    end of the scale such differences are skewed (a subject with 100 gains nothing), and the paired
    t-interval then holds in half of the cases. So the variance between subjects is expressed as a
    dispersion, as that of scores is,

        dispersion = variance of the difference / sum of mean x (1 - mean) over both scores

    drawn towards `BELIEVED_EFFECT`, and the limits are `compute_contrast_limits`.

    None for fewer than `FEWEST_PAIRED` subjects.
    """
    subjects = len(scores)
    if subjects < FEWEST_PAIRED:
        return None
    means = scores.mean(axis=0)
    room = float((means * (1 - means)).sum())
    variance = float((scores[:, 0] - scores[:, 1]).var(ddof=1))
    degrees = subjects - 1
    measured = variance / room if room > 0 else 0.0
    dispersion = shrink_dispersion(
        BELIEVED_SUBJECTS * BELIEVED_EFFECT, BELIEVED_SUBJECTS, degrees * measured, degrees
    )
    critical = compute_critical_value(LEVEL, BELIEVED_SUBJECTS + degrees)
    low, high = compute_contrast_limits(DIFFERENCE, means, dispersion / subjects, critical)
    return Interval(float(low), float(high))


def estimate_mean_difference_interval(
    own: Sequence[float], elsewhere: Sequence[float]
) -> Interval | None:
    """Return the 95% interval of the mean of *own* minus the mean of *elsewhere*, two samples with
    the same variance. *own* may be a single number.

    difference -+ t s sqrt(1/n + 1/m) with n + m - 2 degrees of freedom, the pooled variance s^2
    (Student 1908) and t at `CAREFUL_LEVEL`. With one number in *own* it is the comparison of a
    single case with controls of J. R. Crawford and D. C. Howell (The Clinical Neuropsychologist 12,
    1998, 482-486), and all of the variance is that of *elsewhere*.

    None if *elsewhere* has fewer than `FEWEST_ELSEWHERE` numbers, if *own* has none, and if nothing
    varies.
    """
    if not own or len(elsewhere) < FEWEST_ELSEWHERE:
        return None
    one, other = np.asarray(own, dtype=np.float64), np.asarray(elsewhere, dtype=np.float64)
    degrees = one.size + other.size - 2
    squares = float(np.square(one - one.mean()).sum() + np.square(other - other.mean()).sum())
    if squares < 1e-12:
        return None
    half = float(compute_critical_value(CAREFUL_LEVEL, degrees)) * sqrt(
        squares / degrees * (1 / one.size + 1 / other.size)
    )
    difference = float(one.mean() - other.mean())
    return Interval(difference - half, difference + half)


def compute_contrast_limits(
    weights: Floats, means: Floats, dispersion: float | Floats, critical: float | Floats
) -> tuple[Floats, Floats]:
    """Return the limits low and high of the sum of weight x mean over the first axis, at *critical*
    standard errors. Each mean, in [0, 1], gets its own limits (`compute_score_limits`), which
    `compute_weighted_sum_limits` combines.

    With weights 1 and -1 and the dispersion of the difference this is R. G. Newcombe's interval for
    two proportions (Statistics in Medicine 17, 1998, 873-890, method 10), for paired data.
    """
    return compute_weighted_sum_limits(
        weights, means, *compute_score_limits(means, dispersion, critical)
    )
