"""Whether runs that were made soon after each other resemble one another more than others do. Pure functions.

Intervals take the runs of a subject to be independent of their order. Something that lasts from run to run, or a model
that moves, makes neighbours alike: then the runs say less of the mean than as many independent ones, or the mean is of
a time that is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, sqrt

import numpy as np

from independence_bench.analysis.statistics.values import Floats

FEWEST_ORDERED = 3  # runs: two have no order


def order_p(added: Sequence[Floats], sittings: Sequence[Sequence[int]] | None = None) -> float | None:
    """The chance that neighbours are so much alike where every order of the runs is as likely; None: too few runs.

    From what each transcript adds to each run, of each subject [runs, transcripts], in the order of the runs; within
    *sittings*, where known. Asked of single conversations and of whole runs, it is twice the smaller of the two.
    """
    sums = np.zeros((2, 2))  # of conversations, of runs; how much more alike, its variance
    for runs, of_run in zip(added, sittings or [()] * len(added), strict=True):
        numbers = np.array(of_run or [1] * len(runs))
        for number in np.unique(numbers):
            mine = runs[numbers == number]
            if len(mine) >= FEWEST_ORDERED and np.isfinite(mine).all():
                away = mine - mine.mean(axis=0)
                whole = away.sum(axis=1)
                sums += [_neighbours(away @ away.T), _neighbours(np.outer(whole, whole))]
    found = [erfc(alike / sqrt(2 * chance)) / 2 for alike, chance in sums.tolist() if chance > 0]
    return min(2 * min(found), 1.0) if found else None


def _neighbours(products: Floats) -> tuple[float, float]:
    """From products [runs, runs] of deviations: how much larger those of neighbours are than by chance; its variance.

    N. Mantel's test (Cancer Research 27, 1967, 209-220) of products by how many runs lie between; his mean and variance
    over all orders of the runs.
    """
    number = len(products)
    between = np.abs(np.subtract.outer(np.arange(number), np.arange(number)))
    pairs, triples, fours = [], [], []
    for matrix in (between, products * (1 - np.eye(number))):
        total, squares, rows = matrix.sum(), np.square(matrix).sum(), np.square(matrix.sum(axis=1)).sum()
        pairs.append((total, squares))
        triples.append(rows - squares)
        fours.append(total**2 + 2 * squares - 4 * rows)
    (distance, distances), (product, squared) = pairs
    ways = number * (number - 1)
    expected = distance * product / ways
    variance = 2 * distances * squared / ways + 4 * np.prod(triples) / (ways * (number - 2)) - expected**2
    variance += np.prod(fours) / (ways * (number - 2) * max(number - 3, 1))
    return expected - float((between * products).sum()), max(float(variance), 0.0)
