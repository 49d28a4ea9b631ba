"""Shares of coin tosses, exactly: their limits, and whether two of them differ. Pure functions on numbers.

A single conversation that is marked at one end of its scale or the other is a coin, tossed once in each run. Nothing
about it has to be measured but its share, and with two or three tosses no approximation is near enough.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
MOST_TABLES = 2500  # of two coins together: beyond, the limits are near enough
FEW_TABLES = 600  # up to so many, about 24 coins each, several conversations are held to what coins could do by chance
_HALVINGS = 50
_GRID = 200  # chances that are tried, and as many again around the best one
_SAME = 1e-9


def exact_limits(share: Floats, tosses: Floats, outside: Floats) -> tuple[Floats, Floats]:
    """The chances at which so many heads or more, or so few or fewer, come up in *outside*/2 of all series.

    C. J. Clopper and E. S. Pearson, Biometrika 26, 1934, 404-413. *share* in [0, 1] of *tosses* >= 1 were heads;
    *outside* in [0, 1] is 1 less the level. Arrays of one shape; limits are in [0, 1].
    """
    heads = np.rint(share * tosses)
    low = np.where(heads > 0, _chance(heads, tosses, outside / 2), 0.0)
    # tails are heads of the coin turned over
    high = np.where(heads < tosses, 1 - _chance(tosses - heads, tosses, outside / 2), 1.0)
    return np.minimum(low, share), np.maximum(high, share)


def _chance(heads: Floats, tosses: Floats, wanted: Floats) -> Floats:
    """The chance of a coin of which *heads* or more of *tosses* have the probability *wanted*; 0 for no heads.

    All of them and one of them have a formula, which is most of what is asked for; the others by halving.
    """
    found = np.where(heads == tosses, wanted ** (1 / tosses), np.where(heads == 1, 1 - (1 - wanted) ** (1 / tosses), 0))
    between = (heads > 1) & (heads < tosses)
    if between.any():
        heads, tosses, wanted = heads[between], tosses[between], np.broadcast_to(wanted, found.shape)[between]
        below, above = np.zeros_like(heads), np.ones_like(heads)
        for _ in range(_HALVINGS):
            middle = (below + above) / 2
            less = _at_least(heads, tosses, middle) < wanted
            below, above = np.where(less, middle, below), np.where(less, above, middle)
        found[between] = below
    return found


def _at_least(heads: Floats, tosses: Floats, chance: Floats) -> Floats:
    """The probability of *heads* or more of *tosses*."""
    total = np.zeros_like(heads)
    for number in np.unique(tosses):
        at = tosses == number
        n = int(number)
        k = np.arange(n + 1)
        ways = np.array([float(comb(n, one)) for one in range(n + 1)])
        p = chance[at][:, None]
        terms = ways * p**k * (1 - p) ** (n - k)
        total[at] = np.where(k >= heads[at][:, None], terms, 0.0).sum(axis=1)
    return total


@lru_cache(maxsize=65536)
def unconditional_p(heads: int, tosses: int, other_heads: int, other_tosses: int) -> float:
    """How often two equal coins differ at least so much, whatever their chance: the largest probability over it.

    G. A. Barnard's unconditional test (Biometrika 34, 1947, 123-138), tables ordered by the pooled score statistic, on
    both sides. 2 of 2 against 0 of 2 has 2 x p^2 (1 - p)^2, at most 1/8.
    """
    x, y = np.arange(tosses + 1)[:, None], np.arange(other_tosses + 1)[None, :]
    pooled = (x + y) / (tosses + other_tosses)
    spread = pooled * (1 - pooled)
    apart = np.square(x / tosses - y / other_tosses) / np.where(spread > 0, spread, 1.0)
    extreme = apart >= apart[heads, other_heads] - _SAME
    every = tosses + other_tosses
    ways = np.zeros(every + 1)  # of each number of heads in both
    for i, j in zip(*np.nonzero(extreme), strict=True):
        ways[i + j] += float(comb(tosses, int(i)) * comb(other_tosses, int(j)))
    k = np.arange(every + 1)

    def largest(low: float, high: float) -> tuple[float, float]:
        chances = np.linspace(low, high, _GRID + 1)[:, None]
        found = (ways * chances**k * (1 - chances) ** (every - k)).sum(axis=1)
        best = int(found.argmax())
        return float(found[best]), float(chances[best, 0])

    p, at = largest(0.0, 0.5)  # turned over, both coins say the same
    nearer, _ = largest(max(at - 0.5 / _GRID, 0.0), min(at + 0.5 / _GRID, 1.0))
    return min(max(p, nearer), 1.0)
