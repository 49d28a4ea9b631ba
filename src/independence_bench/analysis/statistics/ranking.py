"""Ranks that are claimed: who is better than whom, with a bounded chance that any of it is wrong. Pure functions.

Input is a p-value for every pair; everything else follows from the pairs that stand after Holm's correction,
so the chance that a ranking holds a single false "better than" is at most 1 - level, whoever is equal to whom.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from string import ascii_lowercase

import numpy as np

from independence_bench.analysis.statistics.intervals import LEVEL
from independence_bench.analysis.statistics.values import Bools, Floats, Numbers, Standing

# A ranking looks far into the tails of thousands of differences, where a few degrees decide; the dispersions come
# mostly from all subjects together, so there are more. How many keep the promise was measured
# (docs/statistics-methods.md).
RANKING_DEGREES = 20


def ranking_degrees(number: int, binary: bool) -> int:
    """How many degrees are added for a ranking of *number* subjects; none where their marks are *binary*."""
    return 0 if binary else min(RANKING_DEGREES, number)


def holm(p_values: Floats, level: float = LEVEL) -> Bools:
    """Which hypotheses are rejected with a family-wise error of at most 1 - *level*, whichever of them are true.

    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979, 65-70:
    from the smallest p-value on, the i-th of n is compared with (1 - level) / (n - i + 1), up to the first that is
    larger. An empty array for none.
    """
    order = np.argsort(p_values, kind="stable")
    bounds = (1 - level) / np.arange(len(p_values), 0, -1)
    passed = np.logical_and.accumulate(p_values[order] <= bounds)
    rejected = np.zeros(len(p_values), dtype=np.bool_)
    rejected[order] = passed
    return rejected


def standing_out(p_values: Sequence[float | None]) -> list[bool | None]:
    """Which of several differences are significant, with a chance of at most 5% that any is truly 0.

    By Holm's procedure over those that have a p-value; None for the others.
    """
    kept = iter(holm(np.array([p for p in p_values if p is not None], dtype=np.float64)).tolist())
    return [None if p is None else next(kept) for p in p_values]


def standings(indices: Sequence[float], pairs: Floats) -> list[Standing]:
    """The standing of each subject, from its index and the p-values of all *pairs*, in the order of `pairs_of`.

    A rank lies between 1 + (those that are better) and n - (those that are worse), of which certain ones are counted.
    """
    number = len(indices)
    first, second = pairs_of(number)
    apart = holm(pairs)
    better = np.zeros((number, number), dtype=np.bool_)  # [i, j]: i is better than j
    higher = np.asarray(indices, dtype=np.float64)
    ahead = higher[first] > higher[second]
    better[first, second], better[second, first] = apart & ahead, apart & ~ahead
    letters = tie_groups(indices, better | better.T)
    above, below = better.sum(axis=0), better.sum(axis=1)
    return [Standing(1 + int(above[i]), number - int(below[i]), letters[i], not above[i]) for i in range(number)]


def pairs_of(number: int) -> tuple[Numbers, Numbers]:
    """Every pair of *number* subjects once, as two arrays of their numbers from 0, the smaller first."""
    return np.triu_indices(number, 1)


def tie_groups(indices: Sequence[float], apart: Bools) -> list[str]:
    """Letters for each subject: two share one exactly if nothing between them in order, themselves included, is apart.

    A compact letter display (H. P. Piepho, Journal of Computational and Graphical Statistics 13, 2004, 456-466) over
    the order of the indices: each letter is a longest stretch of neighbours of whom no two are *apart*. So two that
    are not apart share none where one between them, measured more closely, is apart from one of them.
    """
    order = sorted(range(len(indices)), key=lambda i: -indices[i])
    letters: list[list[str]] = [[] for _ in indices]
    names = (f"{letter}{turn or ''}" for turn in count() for letter in ascii_lowercase)  # a, b, ... z, then a1, b1, ...
    reached = 0  # the end of the last stretch
    for start in range(len(order)):
        end = max(start + 1, reached)  # no two of the last stretch are apart, whichever leaves it
        while end < len(order) and not apart[order[end], order[start:end]].any():
            end += 1
        if end > reached:
            name = next(names)
            for place in order[start:end]:
                letters[place].append(name)
            reached = end
    return ["".join(mine) for mine in letters]
