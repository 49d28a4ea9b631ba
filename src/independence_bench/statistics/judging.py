"""What several judges add to the uncertainty of a score: the judges that marked it are a sample of those that could.

Pure functions on numbers. With one judge nothing is known of it, and nothing is added.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from independence_bench.statistics.intervals import Floats, Scores


@dataclass(frozen=True, slots=True)
class JudgeNoise:
    """Variances of one judge's score around that of all judges, in squares of a score in [0, 1]."""

    severity: float  # how strict it is to everybody
    taste: float  # how strict it is to one subject more than to others
    judges: int
    subjects: int


def judge_noise(deviations: Floats) -> JudgeNoise | None:
    """From *deviations* [subjects, judges]: each judge's score of a subject minus the mean of all judges' of it.

    Expected mean squares of subjects x judges, one number in each cell (R. L. Brennan, Generalizability Theory, 2001,
    chapter 3); what would be below 0 is 0. With one subject all of it is severity. None with fewer than two judges.
    """
    subjects, judges = deviations.shape
    if judges < 2 or not subjects:
        return None
    by_judge = deviations.mean(axis=0)
    strict = float(np.square(by_judge).sum() / (judges - 1))
    if subjects < 2:
        return JudgeNoise(strict, 0.0, judges, subjects)
    taste = float(np.square(deviations - by_judge).sum() / ((subjects - 1) * (judges - 1)))
    return JudgeNoise(max(strict - taste / subjects, 0.0), taste, judges, subjects)


def with_judges(scores: Scores, noise: JudgeNoise | None) -> Scores:
    """*scores* with the variance of the mean of so many judges on top."""
    if noise is None:
        return scores
    few, many = noise.judges - 1, max(noise.subjects - 1, 1) * (noise.judges - 1)
    total = noise.severity + noise.taste
    below = noise.severity**2 / few + noise.taste**2 / many
    degrees = total**2 / below if below else few
    return _with(scores, total / noise.judges, degrees)


def pairs_with_judges(first: Scores, second: Scores, noise: JudgeNoise | None) -> tuple[Scores, Scores]:
    """Two sides of differences: the same judges marked both, so their severity falls away and their taste is there."""
    if noise is None:
        return first, second
    degrees = max(noise.subjects - 1, 1) * (noise.judges - 1)
    return _with(first, noise.taste / noise.judges, degrees), _with(second, noise.taste / noise.judges, degrees)


def _with(scores: Scores, variance: float, degrees: float) -> Scores:
    shape: npt.NDArray[np.float64] = np.ones_like(scores.mean)
    return replace(scores, added=variance * shape, added_degrees=degrees * shape)
