"""Intervals for means over stems: the stems are a sample of those that could have been written. Pure functions.

    mean_limits, ratio_limits    one mean, or one share of what stems differ in how much there is of
    Contrast                     means over the same stems, added and subtracted: H - F, two subjects

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from independence_bench.analysis.statistics.arrays import Floats
from independence_bench.analysis.statistics.intervals import (
    LEVEL,
    POWER,
    Limits,
    quantile,
    score_limits,
    t_quantile,
    tail,
)

FEWEST = 4  # stems: below, what is believed beforehand outweighs what is measured
# What is believed of a dispersion before anything was measured, with the weight of so many stems in the middle of the
# scale whose mean leaves so much room. Chosen by measurement.
BELIEVED = 1.0
BELIEVED_ROOM = 0.1
# What shifts whole runs, as the dispersion of one run's mean: a standard deviation of a fifth of that of a single
# answer's latent variable moves a mean of 1/2 by .08, so .08^2 / (1/4).
BELIEVED_RUNS = 0.025
ROUNDING = 1e-9  # what comes to less is nothing
_FAR, _HALVINGS = 1e3, 40  # standard errors between which the p of a contrast is looked for, and how finely


def mean_limits(values: Floats, runs: float) -> Limits:
    """Low and high, in [0, 1], of the mean over stems of *values* [..., stems] in [0, 1], each over *runs* runs."""
    return ratio_limits(values, np.ones_like(values), runs)


def ratio_limits(parts: Floats, wholes: Floats, runs: float) -> Limits:
    """Low and high, in [0, 1], of the sum of *parts* over the sum of *wholes*, both [..., stems], over *runs* runs.

    A share of what some stems have more of than others, as of the positions given up those that were taken again: with
    w the share of each stem in the wholes and x its own ratio, the variance is n / (n - 1) sum w^2 (x - mean)^2, and
    there are 1 / sum w^2 stems (W. G. Cochran, Sampling Techniques, 1977, chapter 6). NaN where these are one or none.
    """
    total = wholes.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = parts.sum(axis=-1) / total
        stems = total**2 / np.square(wholes).sum(axis=-1)
        away = np.square(parts - mean[..., None] * wholes).sum(axis=-1) * (stems / total) ** 2
        room = mean * (1 - mean)
        dispersion = (BELIEVED_ROOM * BELIEVED + away) / (BELIEVED_ROOM + (stems - 1) * room)
        degrees = stems - 1
        critical = t_quantile(LEVEL, np.where(degrees > 0, degrees, 1.0))
        limits = score_limits(mean, dispersion / stems + BELIEVED_RUNS / runs, critical)
        low, high = (np.where(degrees > 0, one, np.nan) for one in limits)
    return low, high


def effective_stems(wholes: Floats) -> float:
    """By how many stems of equal weight a ratio over *wholes* [stems] is as well known; 0 where there is nothing."""
    squares = float(np.square(wholes).sum())
    return float(wholes.sum()) ** 2 / squares if squares else 0.0


@dataclass(frozen=True, slots=True)
class Part:
    """One mean over stems in a contrast."""

    values: Floats  # [..., stems], in [0, 1]
    sign: int  # 1 or -1: how it counts
    runs: float  # that the values are over


@dataclass(frozen=True, slots=True)
class _Measured:
    """What is known of a part, whatever the level."""

    sign: int
    mean: Floats  # [...], in [0, 1]
    dispersion: Floats


@dataclass(frozen=True, slots=True)
class Contrast:
    """Means over the same stems, added up by their signs.

    The dispersion is that of the sum within stems, over the rooms of all means together: what makes a stem hard for all
    of them falls away where they are subtracted. Each mean gets its limits, which are joined by square-and-add, as in
    `paired.effect_interval`.
    """

    parts: tuple[Part, ...]

    def minus(self, other: Contrast) -> Contrast:
        """This one less *other*, of another subject in the same stems: their runs have nothing in common."""
        return Contrast((*self.parts, *(Part(one.values, -one.sign, one.runs) for one in other.parts)))

    @property
    def value(self) -> Floats:
        """What it comes to, [...]."""
        return self._sum(self._measured())

    def limits(self, critical: float | Floats | None = None) -> Limits:
        """Low and high, so many (None: those of 95%) standard errors away."""
        if critical is None:
            critical = t_quantile(LEVEL, self._stems - 1.0)
        low, high = self._limits(self._measured(), critical)
        most = max(len(self.parts) / 2, 1.0)
        return np.clip(low, -most, most), np.clip(high, -most, most)

    def _limits(self, parts: Sequence[_Measured], critical: float | Floats) -> Limits:
        """Those that the sum could have, were it not bounded."""
        value = self._sum(parts)
        below = above = np.zeros(())
        for part in parts:
            low, high = score_limits(part.mean, part.dispersion, critical)
            down, up = part.mean - low, high - part.mean
            below = below + np.square(down if part.sign > 0 else up)
            above = above + np.square(up if part.sign > 0 else down)
        return value - np.sqrt(below), value + np.sqrt(above)

    def _measured(self) -> list[_Measured]:
        return [_Measured(part.sign, mean, self._dispersion(part)) for part, mean in self._means()]

    def _sum(self, parts: Sequence[_Measured]) -> Floats:
        return sum((part.sign * part.mean for part in parts), np.zeros(()))

    def p_value(self) -> Floats:
        """The p at which 0 would be on the edge of the limits, [...]; 1 where it comes to 0. By halving."""
        parts = self._measured()
        value = self._sum(parts)
        inside, outside = np.zeros_like(value), np.full_like(value, _FAR)
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            low, high = self._limits(parts, middle)
            apart = np.where(value > 0, low > 0, high < 0)
            inside, outside = np.where(apart, middle, inside), np.where(apart, outside, middle)
        return np.where(np.abs(value) < ROUNDING, 1.0, tail(inside, self._stems - 1.0))

    def smallest_seen(self) -> Floats:
        """The smallest true contrast that is told from 0 in `POWER` of repetitions, in its own unit, [...].

        (t at 97.5% + t at 80%) standard errors. These are those at the middles of the limits, as in
        `intervals.smallest_seen`: at an end itself nothing seems to vary.
        """
        degrees = self._stems - 1.0
        critical = t_quantile(LEVEL, degrees)
        variance: Floats = np.zeros(())
        for part, mean in self._means():
            middle = np.mean(score_limits(mean, self._dispersion(part), critical), axis=0)
            variance = variance + self._dispersion(part) * middle * (1 - middle)
        return (critical + quantile(POWER, degrees)) * np.sqrt(variance)

    @property
    def _stems(self) -> int:
        return int(self.parts[0].values.shape[-1])

    def _means(self) -> Iterator[tuple[Part, Floats]]:
        for part in self.parts:
            yield part, part.values.mean(axis=-1)

    def _dispersion(self, part: Part) -> Floats:
        """Of the mean of *part*."""
        together = sum((one.sign * one.values for one in self.parts), np.zeros(()))
        rooms = sum((_room(one.values.mean(axis=-1)) for one in self.parts), np.zeros(()))
        away = np.square(together - together.mean(axis=-1, keepdims=True)).sum(axis=-1)
        dispersion = (BELIEVED_ROOM * BELIEVED + away) / (BELIEVED_ROOM + (self._stems - 1) * rooms)
        found: Floats = dispersion / self._stems + BELIEVED_RUNS / part.runs
        return found


def mean_of(values: Floats, runs: float) -> Contrast:
    """The mean of one branch, to be compared with that of another subject."""
    return Contrast((Part(values, 1, runs),))


def difference_of(first: Floats, second: Floats, runs: float) -> Contrast:
    """H - F: the mean of *first* minus that of *second*, stem by stem."""
    return Contrast((Part(first, 1, runs), Part(second, -1, runs)))


def _room(mean: Floats) -> Floats:
    return mean * (1 - mean)
