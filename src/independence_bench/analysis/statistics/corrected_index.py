"""An index whose marks are corrected for a judge's known confusion, with its limits. Pure functions on numbers.

An index that is a weighted sum of marks is right in the mean where each given mark x of level j counts

    x + u[j] - c[j],  u = M^-1 c

c[j] being what marks of level j are on the board, and M the judge's matrix (`misclassification.py`). So the corrected
index is an index like any other, and what its sample leaves open is measured as that of any other (`dispersion.py`);
what the matrices leave open is drawn and joined to it by squares (G. Y. Zou and A. Donner, Statistics in Medicine 27,
2008, 1693-1702), marks of one rubric, which share their questions, first being added up. Limits hold the intervals of
all mixes of hard cases. Whether they keep their promise: docs/exam.md, "Correction".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from independence_bench.analysis.statistics.arrays import Floats
from independence_bench.analysis.statistics.dispersion import Design, measure
from independence_bench.analysis.statistics.generalization import limits_of
from independence_bench.analysis.statistics.intervals import Limits
from independence_bench.analysis.statistics.misclassification import (
    MIXES,
    REACH,
    Confusion,
    corrected_worths,
)

Levels = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class GivenMark:
    """One mark that counts, as all subjects of a board were given it. A share of 1 is the independent end."""

    confusion: Confusion
    rubric: str  # whose questions the confusion was counted in
    defaults: Floats  # [levels]: what a level is worth that nobody on the board was given, as a share
    shares: Sequence[Floats]  # of each subject, [runs, transcripts], in [0, 1]
    levels: Sequence[Levels]  # the same places: which level that is


@dataclass(frozen=True, slots=True, eq=False)
class CorrectedScores:
    """Of each subject; [subjects]."""

    score: Floats  # [0, 1]
    limits: Limits | None  # of the same test again, at 95%; None: the runs do not say how they vary


def corrected_scores(design: Design, marks: Sequence[GivenMark]) -> CorrectedScores | None:
    """The corrected score of every subject. *design* has a row of weights for each of *marks*, in their order.

    None where a mark's confusion cannot be corrected, or where there are no subjects.
    """
    if not marks or not marks[0].shares or not all(mark.confusion.correctable for mark in marks):
        return None
    subjects = len(marks[0].shares)
    linear = [np.zeros((len(one), *design.weights.shape)) for one in marks[0].shares]
    middle = np.zeros((len(MIXES), subjects))  # of what the matrices of each mix make of the scores, less the score
    below: dict[str, Floats] = {}  # by rubric: how far their limits are from there, [mixes, subjects]
    above: dict[str, Floats] = {}
    for row, mark in enumerate(marks):
        counting = design.weights[row] > 0
        weight = float(design.weights[row].sum())
        worths = _worths(mark, counting)
        inverse = np.linalg.inv(mark.confusion.matrix)
        moved = corrected_worths(worths, inverse.astype(np.float64))
        given = np.array([_level_shares(one[:, counting], len(worths)) for one in mark.levels])
        drawn = corrected_worths(worths, mark.confusion.inverses) - moved  # [mixes, draws, levels]
        apart = weight * np.einsum("mdk,sk->mds", drawn, given)
        low, half, high = np.quantile(apart, [(1 - REACH) / 2, 0.5, (1 + REACH) / 2], axis=1)
        middle += half
        for reach, found in ((half - low, below), (high - half, above)):
            found[mark.rubric] = found.get(mark.rubric, 0.0) + reach
        for subject, (shares, levels) in enumerate(zip(mark.shares, mark.levels, strict=True)):
            placed = np.where(counting, levels, 0)
            linear[subject][:, row] = np.where(counting, shares + (moved - worths)[placed], 0.0)
    score = np.array([float((design.weights * one.mean(axis=0)).sum()) for one in linear]).clip(0.0, 1.0)
    return CorrectedScores(
        score, joined_limits(design, linear, score, middle, list(below.values()), list(above.values()))
    )


def _worths(mark: GivenMark, counting: npt.NDArray[np.bool_]) -> Floats:
    """[levels]: the mean share of what was given each level on the board."""
    shares = np.concatenate([one[:, counting].ravel() for one in mark.shares])
    levels = np.concatenate([one[:, counting].ravel() for one in mark.levels])
    of_each = [shares[levels == level] for level in range(len(mark.defaults))]
    return np.array([float(of.mean()) if len(of) else d for of, d in zip(of_each, mark.defaults, strict=True)])


def _level_shares(levels: Levels, number: int) -> Floats:
    """[levels]: how often each was given, [0, 1]."""
    return np.bincount(levels.ravel(), minlength=number) / levels.size


def joined_limits(
    design: Design,
    shares: Sequence[Floats],
    score: Floats,
    middle: Floats,
    below: Sequence[Floats],
    above: Sequence[Floats],
) -> Limits | None:
    """The limits of each subject's *score*, [0, 1]; None where the runs do not say how they vary.

    *shares* of each subject [runs, marks, transcripts], which may lie outside [0, 1]. *middle* [mixes, subjects]: what
    is drawn of the matrices moves the score by in the middle; *below* and *above*: how far its limits are from there,
    arrays of the same shape whose errors are independent of one another.
    """
    low, high = min(0.0, *(float(one.min()) for one in shares)), max(1.0, *(float(one.max()) for one in shares))
    measured = measure(design, [np.where(design.weights > 0, (one - low) / (high - low), 0.0) for one in shares])
    again, _ = limits_of(measured, None)
    if again is None:
        return None
    mean, sampled = (low + (high - low) * one for one in (measured.mean, np.array(again)))
    # with few answers matrices are drawn with more errors than were counted, in every mark, so what was counted has an
    # interval around it as well
    middle = np.concatenate([np.zeros((1, len(mean))), middle])
    drawn = [sum(np.square(np.concatenate([one.max(axis=0)[None], one])) for one in side) for side in (below, above)]
    down, up = np.sqrt((mean - sampled[0]) ** 2 + drawn[0]), np.sqrt((sampled[1] - mean) ** 2 + drawn[1])
    ends = (mean + middle - down).min(axis=0).clip(0.0, 1.0), (mean + middle + up).max(axis=0).clip(0.0, 1.0)
    return np.minimum(ends[0], score), np.maximum(ends[1], score)
