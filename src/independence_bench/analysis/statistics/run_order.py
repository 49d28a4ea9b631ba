"""Whether runs that were made soon after each other resemble one another more than others do. Pure functions.

Intervals take the runs of a subject to be independent of their order. Something that lasts from run to run, or a model
that moves, makes neighbours alike: then the runs say less of the mean than as many independent ones, or the mean is of
a time that is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, sqrt

import numpy as np

from independence_bench.analysis.statistics.shared_effects import alike
from independence_bench.analysis.statistics.values import Floats

FEWEST_ORDERED = 3  # runs: two have no order


def order_p(added: Sequence[Floats], sittings: Sequence[Sequence[int]] | None = None) -> float | None:
    """The chance that neighbours are so much alike where every order of the runs is as likely; None: too few runs.

    From what each transcript adds to each run, of each subject [runs, transcripts], in the order of the runs; within
    *sittings*, where known. Asked of single conversations and of whole runs, it is twice the smaller of the two.
    """
    sums = np.zeros((2, 2))  # of conversations, of runs; how much more alike, its variance
    for _, runs, of_run in alike(added, sittings):
        numbers = np.array(of_run or [1] * runs.shape[1])
        for number in np.unique(numbers):
            mine = runs[:, numbers == number]
            mine = mine[np.isfinite(mine).all(axis=(1, 2))]
            if mine.shape[1] >= FEWEST_ORDERED:
                away = mine - mine.mean(axis=1, keepdims=True)
                whole = away.sum(axis=2, keepdims=True)
                sums += [_neighbours(of @ of.transpose(0, 2, 1)) for of in (away, whole)]
    found = [erfc(more / sqrt(2 * chance)) / 2 for more, chance in sums.tolist() if chance > 0]
    return min(2 * min(found), 1.0) if found else None


def _neighbours(products: Floats) -> tuple[float, float]:
    """How much larger products of neighbours' deviations are than by chance, and its variance, over all subjects.

    From *products* [subjects, runs, runs]. N. Mantel's test (Cancer Research 27, 1967, 209-220) of products by how many
    runs lie between; his mean and variance over all orders of the runs.
    """
    number = products.shape[1]
    between = np.abs(np.subtract.outer(np.arange(number), np.arange(number)))
    pairs, triples, fours = [], [], []
    for matrix in (between[None], products * (1 - np.eye(number))):
        total, squares = matrix.sum(axis=(1, 2)), np.square(matrix).sum(axis=(1, 2))
        rows = np.square(matrix.sum(axis=2)).sum(axis=1)
        pairs.append((total, squares))
        triples.append(rows - squares)
        fours.append(total**2 + 2 * squares - 4 * rows)
    (distance, distances), (product, squared) = pairs
    ways = number * (number - 1)
    expected = distance * product / ways
    variance = 2 * distances * squared / ways + 4 * triples[0] * triples[1] / (ways * (number - 2)) - expected**2
    variance += fours[0] * fours[1] / (ways * (number - 2) * max(number - 3, 1))
    alike_more = expected - (between * products).sum(axis=(1, 2))
    return float(alike_more.sum()), float(np.maximum(variance, 0.0).sum())
