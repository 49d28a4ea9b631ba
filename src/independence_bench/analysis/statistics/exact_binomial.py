"""Exact limits of shares of Bernoulli trials, and an exact test of two shares. Pure functions on
numbers.

A single conversation that is marked at one end of its scale or the other is a Bernoulli trial in
each run. Nothing about it has to be measured but its share, and with two or three trials no
approximation is near enough.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb

import numpy as np

from independence_bench.analysis.statistics.values import Bools, Floats

MOST_TABLES = 2500  # of two shares together: beyond, the limits are near enough
# up to so many, about 24 trials each, several conversations are held to what chance could do
FEW_TABLES = 600
_HALVINGS = 50  # of the bracket: what is left of it is below the precision of a p-value
_GRID = 200  # chances that are tried, and as many again around the best one
_SAME = 1e-9


def find_last_true(low: Floats, high: Floats, holds: Callable[[Floats], Bools]) -> Floats:
    """Return, for each element, the largest number between *low* and *high* at which *holds* is
    true, found by bisection. *holds* must be true up to some number and false above it.
    """
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = holds(middle)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low


def compute_exact_limits(share: Floats, trials: Floats, outside: Floats) -> tuple[Floats, Floats]:
    """Return the exact lower and upper limits, in [0, 1], of binomial shares: the success chances
    at which so many successes or more, or so few or fewer, occur with the probability *outside*/2.

    C. J. Clopper and E. S. Pearson, Biometrika 26, 1934, 404-413. *share* in [0, 1] of *trials* >=
    1 were successes; *outside* in [0, 1] is 1 minus the level. All are arrays of one shape.
    """
    every = np.stack([np.rint(share * trials), trials, outside])
    # of thousands of pairs there are a few cases; a limit that has no formula takes fifty steps
    (successes, trials, outside), case = np.unique(
        every.reshape(3, -1), axis=1, return_inverse=True
    )
    low = np.where(successes > 0, _find_success_chance(successes, trials, outside / 2), 0.0)
    # failures are successes of the complement
    high = np.where(
        successes < trials, 1 - _find_success_chance(trials - successes, trials, outside / 2), 1.0
    )
    low, high = (limit[case].reshape(share.shape) for limit in (low, high))
    return np.minimum(low, share), np.maximum(high, share)


def _find_success_chance(successes: Floats, trials: Floats, wanted_upper_tail: Floats) -> Floats:
    """Return the success chance at which *successes* or more of *trials* have the probability
    *wanted_upper_tail*; 0 for no success.

    All successes and one success have a formula, which is most of the cases; the others take a
    bisection.
    """
    chance = np.where(
        successes == trials,
        wanted_upper_tail ** (1 / trials),
        np.where(successes == 1, 1 - (1 - wanted_upper_tail) ** (1 / trials), 0),
    )
    between = (successes > 1) & (successes < trials)
    if between.any():
        successes, trials, wanted = (
            successes[between],
            trials[between],
            np.broadcast_to(wanted_upper_tail, chance.shape)[between],
        )
        ends = np.zeros_like(successes), np.ones_like(successes)
        chance[between] = find_last_true(
            *ends, lambda middle: _compute_upper_tail(successes, trials, middle) < wanted
        )
    return chance


def _compute_upper_tail(successes: Floats, trials: Floats, chance: Floats) -> Floats:
    """Return the binomial probability, for each element, that *successes* or more of *trials*
    trials succeed, if each trial succeeds with the probability *chance*.
    """
    total = np.zeros_like(successes)
    for number in np.unique(trials):
        at = trials == number
        n = int(number)
        k = np.arange(n + 1)
        ways = np.array([float(comb(n, hits)) for hits in range(n + 1)])
        p = chance[at][:, None]
        terms = ways * p**k * (1 - p) ** (n - k)
        total[at] = np.where(k >= successes[at][:, None], terms, 0.0).sum(axis=1)
    return total


def compute_unconditional_p(
    successes: int, trials: int, other_successes: int, other_trials: int
) -> float:
    """Return the two-sided p-value of two binomial shares being equal, by Barnard's unconditional
    test: the largest probability, over all values of their common success chance, of a difference
    as large as the observed one or larger.

    G. A. Barnard (Biometrika 34, 1947, 123-138), with tables ordered by the pooled score statistic,
    on both sides. 2 of 2 against 0 of 2 has 2 x p^2 (1 - p)^2, at most 1/8.
    """
    x, y = np.arange(trials + 1)[:, None], np.arange(other_trials + 1)[None, :]
    pooled = (x + y) / (trials + other_trials)
    spread = pooled * (1 - pooled)
    score = np.square(x / trials - y / other_trials) / np.where(spread > 0, spread, 1.0)
    extreme = score >= score[successes, other_successes] - _SAME
    every = trials + other_trials
    ways = np.zeros(every + 1)  # of each number of successes in both
    for i, j in zip(*np.nonzero(extreme), strict=True):
        ways[i + j] += float(comb(trials, int(i)) * comb(other_trials, int(j)))
    k = np.arange(every + 1)

    def find_largest_probability_and_chance(low: float, high: float) -> tuple[float, float]:
        """Return the largest probability of so extreme a difference over success chances between
        *low* and *high*, and the success chance at which it occurs.
        """
        chances = np.linspace(low, high, _GRID + 1)[:, None]
        probabilities = (ways * chances**k * (1 - chances) ** (every - k)).sum(axis=1)
        best = int(probabilities.argmax())
        return float(probabilities[best]), float(chances[best, 0])

    p, at = find_largest_probability_and_chance(0.0, 0.5)  # above one half it is symmetric
    nearer, _ = find_largest_probability_and_chance(
        max(at - 0.5 / _GRID, 0.0), min(at + 0.5 / _GRID, 1.0)
    )
    return min(max(p, nearer), 1.0)
