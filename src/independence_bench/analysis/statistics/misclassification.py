"""What a judge's known confusion does to shares and means, and its correction. Pure functions on numbers.

A judge gives a conversation of level i the level j with probability M[i, j]; then the shares of levels that it gives
are q = M' p, p being the true ones, and p = M'^-1 q: for yes and no

    p = (q + specificity - 1) / (sensitivity + specificity - 1)

(W. J. Rogan and B. Gladen, American Journal of Epidemiology 107, 1978, 71-76), for more levels the matrix method (e.g.
B. A. Barron, Biometrics 33, 1977, 414-418). M is counted in an exam and is itself uncertain; an interval has to say
that as well as what the sample leaves open, as for yes and no that of Z. Lang and J. Reiczigel does (Preventive
Veterinary Medicine 113, 2014, 13-22). Here both are drawn from Dirichlet distributions around what was counted.

**The edge.** Where q could not come from any p in [0, 1], p is the point of the simplex whose shares under M are
nearest to q. That draws estimates away from 0 and 1: of subjects that are all of one level, a judge with 10% of
errors, known from 20 questions a level, is corrected to some 95%, not to 100% (docs/exam.md, "Correction"). Limits
are those of the estimate that may leave the simplex, cut at 0 and 1, and do not have that bias.

**The mix.** A judge that fails hard cases has one matrix for those and another for ordinary ones, and how many of a
subject's conversations are hard is not known. The estimate takes the exam's mix; limits hold the intervals of all of
`MIXES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from independence_bench.analysis.statistics.arrays import Floats
from independence_bench.analysis.statistics.intervals import Limits

MIXES = (0.0, 0.3, 0.6, 0.9)  # shares of hard cases, [0, 1], that limits hold for, and what is between them
DRAWS = 1000
REACH = 0.975  # of what is drawn that limits hold: at 0.95 they held less often than that, by measurement
SEED = 1978  # draws are the same each time, so that a number can be made again
PRIOR = 0.5  # of an observation: what is believed of every level before the first (H. Jeffreys, 1946)
SINGULAR = 0.025  # share of drawn matrices that may turn levels around before none is taken to be invertible
_ROUNDING = 1e-9


def corrected_shares(given: Floats, matrix: Floats) -> Floats | None:
    """The true shares of levels, [levels], in [0, 1] and summing to 1, from the *given* ones.

    *matrix* [levels, levels]: known, given; rows sum to 1. None where it is singular or a row is not known (NaN).
    """
    if np.isnan(matrix).any() or np.linalg.cond(matrix) > 1 / _ROUNDING:
        return None
    found = np.asarray(np.linalg.solve(matrix.T, given), dtype=np.float64)
    return found.clip(0.0, 1.0) if found.min() > -_ROUNDING else _nearest(given, matrix)


def _nearest(given: Floats, matrix: Floats) -> Floats:
    """The shares in the simplex that bring M'p nearest to *given*, by squares: one of its faces has them."""
    levels, best = len(given), np.inf
    found = given
    for size in range(1, levels + 1):
        for of in map(list, combinations(range(levels), size)):
            part = matrix[of].T
            # the minimum under the condition that they sum to 1, by its multiplier
            system = np.ones((size + 1, size + 1))
            system[:size, :size], system[size, size] = part.T @ part, 0.0
            shares = np.linalg.solve(system, np.append(part.T @ given, 1.0))[:size]
            away = float(np.square(part @ shares - given).sum())
            if shares.min() > -_ROUNDING and away < best:
                best, found = away, np.zeros(levels)
                found[of] = shares.clip(0.0, 1.0)
    return np.asarray(found / found.sum(), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Confusion:
    """What a judge made of an exam's questions of known level; arrays [levels, levels]: known, given."""

    ordinary: Floats
    hard: Floats

    @property
    def counts(self) -> Floats:
        """Both kinds together."""
        return self.ordinary + self.hard

    @cached_property
    def matrix(self) -> Floats:
        """The share of each known level's questions that were given each level, at the exam's mix; NaN: none."""
        known = self.counts.sum(axis=1, keepdims=True)
        found: Floats = np.where(known > 0, self.counts / np.maximum(known, 1), np.nan)
        return found

    @property
    def accuracy(self) -> float | None:
        """The share of questions that were given their level, [0, 1]; None without questions."""
        asked = float(self.counts.sum())
        return float(np.trace(self.counts)) / asked if asked else None

    @cached_property
    def correctable(self) -> bool:
        """Whether the exam tells the matrix from a singular one, which no correction can be made by.

        Perfect judging has the determinant 1 and guessing 0, so: whether hardly any of the drawn ones is at or below 0.
        """
        if not len(self.counts) or np.isnan(self.matrix).any() or np.linalg.det(self.matrix) <= _ROUNDING:
            return False
        drawn = _rows(self.counts, np.random.default_rng(SEED), DRAWS)
        return bool((np.linalg.det(drawn) <= 0).mean() <= SINGULAR)

    @cached_property
    def inverses(self) -> Floats:
        """[mixes, draws, levels, levels]: inverses of matrices that the exam allows, for each mix of `MIXES`.

        A level that one of the kinds has no questions of is taken from the other.
        """
        rng = np.random.default_rng(SEED)
        asked = [kind.sum(axis=1, keepdims=True) > 0 for kind in (self.ordinary, self.hard)]
        ordinary = _rows(np.where(asked[0], self.ordinary, self.hard), rng, DRAWS)
        hard = _rows(np.where(asked[1], self.hard, self.ordinary), rng, DRAWS)
        return np.linalg.inv(np.stack([(1 - mix) * ordinary + mix * hard for mix in MIXES]))


def _rows(counts: Floats, rng: np.random.Generator, number: int) -> Floats:
    """[number, levels, levels]: matrices drawn from a Dirichlet distribution around the counts of each row.

    The prior is shared by a row's errors, so that more levels do not mean more errors.
    """
    levels = len(counts)
    prior = np.full((levels, levels), PRIOR / max(levels - 1, 1))
    np.fill_diagonal(prior, PRIOR)
    drawn = rng.standard_gamma(np.broadcast_to(counts + prior, (number, levels, levels)))
    found: Floats = drawn / drawn.sum(axis=2, keepdims=True)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Corrected:
    """Shares of levels and their mean, corrected, with limits at 95%."""

    shares: Floats  # [levels], [0, 1]
    share_limits: Limits
    mean: float  # in the unit of the worths
    mean_limits: tuple[float, float]


def corrected(
    confusion: Confusion,
    counts: Sequence[float],
    worths: Floats,
    spread: float = 0.0,
    scale: tuple[float, float] | None = None,
) -> Corrected | None:
    """The levels that one subject was given *counts* times each, corrected.

    Of conversations that are independent of one another; *counts* may be fractions where several marks are of one.
    *worths* [levels]: what a level is worth, for bands the mean of the marks that are in it; *spread*: the standard
    deviation of single marks about these, on a *scale* that ends there (None: at the worths). None without
    conversations, or where the confusion cannot be corrected.
    """
    given = np.array(counts, dtype=np.float64)
    number = float(given.sum())
    if not number or not confusion.correctable:
        return None
    shares = corrected_shares(given / number, confusion.matrix)
    if shares is None:
        return None
    rng = np.random.default_rng([SEED, *map(int, counts)])
    drawn = rng.standard_gamma(np.broadcast_to(given + PRIOR, (DRAWS, len(given))))
    drawn /= drawn.sum(axis=1, keepdims=True)
    found = np.einsum("dg,mdgk->mdk", drawn, confusion.inverses)  # p' = q' M^-1
    mean, least, most = float(shares @ worths), float(worths.min()), float(worths.max())
    means = (found @ worths).clip(least, most) + spread / np.sqrt(number) * rng.standard_normal(DRAWS)
    low, high = _limits(found, shares, 0.0, 1.0)
    ends = _limits(means, np.array(mean), *(scale or (least, most)))
    return Corrected(shares, (low, high), mean, (float(ends[0]), float(ends[1])))


def _limits(drawn: Floats, point: Floats, low: float, high: float) -> Limits:
    """What holds the intervals of all mixes, [mixes, draws, ...], and the point, cut at the ends of the scale."""
    outside = (1 - REACH) / 2
    below, above = np.quantile(drawn, [outside, 1 - outside], axis=1)
    return np.minimum(below.min(axis=0).clip(low, high), point), np.maximum(above.max(axis=0).clip(low, high), point)


def corrected_worths(worths: Floats, inverses: Floats) -> Floats:
    """[..., levels]: what a given level has to count so that the mean comes out right: M^-1 v.

    *inverses* [..., levels, levels]. A score that is linear in such numbers, or a product of some whose errors are
    independent of one another, is right in the mean when it is made of them. They may lie outside the scale.
    """
    found: Floats = inverses @ worths
    return found
