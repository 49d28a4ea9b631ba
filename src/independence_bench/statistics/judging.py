"""What several judges add to the uncertainty of a score: the judges that marked it are a sample of those that could.

Pure functions on numbers. With one judge nothing is known of it, and nothing is added. Judges differ most where there
is room for it: who never gives in is marked alike by the strict and by the mild. So what they add to a score is in
proportion to its mean x (1 - mean), as its own variance is (`intervals.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from independence_bench.statistics.intervals import Floats, Scores

LEAST_ROOM = 0.25  # of the average: how little the mean of a subject takes away from what judges add to it
DEGREES_OF_ONE = 1.5  # for each judge but the first: a jury's variance is worth no more degrees of freedom


@dataclass(frozen=True, slots=True)
class JudgeNoise:
    """Variances of one judge's score around that of all judges, in squares of a score in [0, 1], over all subjects."""

    severity: float  # how strict it is to everybody
    taste: float  # how strict it is to one subject more than to others
    judges: int
    subjects: int
    room: float = 0.0  # the subjects' average mean x (1 - mean); 0: not known, the same is added to every score


def judge_noise(deviations: Floats, means: Floats | None = None) -> JudgeNoise | None:
    """From *deviations* [subjects, judges]: each judge's score of a subject minus the mean of all judges' of it.

    *means* [subjects]: their scores, in [0, 1].

    Expected mean squares of subjects x judges, one number in each cell (R. L. Brennan, Generalizability Theory, 2001,
    chapter 3); what would be below 0 is 0. With one subject all of it is severity. None with fewer than two judges.
    """
    subjects, judges = deviations.shape
    if judges < 2 or not subjects:
        return None
    room = 0.0 if means is None else float((means * (1 - means)).mean())
    by_judge = deviations.mean(axis=0)
    strict = float(np.square(by_judge).sum() / (judges - 1))
    if subjects < 2:
        return JudgeNoise(strict, 0.0, judges, subjects, room)
    taste = float(np.square(deviations - by_judge).sum() / ((subjects - 1) * (judges - 1)))
    return JudgeNoise(max(strict - taste / subjects, 0.0), taste, judges, subjects, room)


def with_judges(scores: Scores, noise: JudgeNoise | None) -> Scores:
    """*scores* with the variance of the mean of so many judges on top."""
    if noise is None:
        return scores
    few, many = noise.judges - 1, max(noise.subjects - 1, 1) * (noise.judges - 1)
    total = noise.severity + noise.taste
    below = noise.severity**2 / few + noise.taste**2 / many
    # the severity of two or three judges that happen to be alike seems to be none, so the degrees have a bound
    degrees = min(total**2 / below if below else few, DEGREES_OF_ONE * few)
    return _with(scores, noise, total, degrees)


def pairs_with_judges(first: Scores, second: Scores, noise: JudgeNoise | None) -> tuple[Scores, Scores]:
    """Two sides of differences: the same judges marked both, so their severity falls away and their taste is there."""
    if noise is None:
        return first, second
    degrees = max(noise.subjects - 1, 1) * (noise.judges - 1)
    return _with(first, noise, noise.taste, degrees), _with(second, noise, noise.taste, degrees)


def _with(scores: Scores, noise: JudgeNoise, variance: float, degrees: float) -> Scores:
    room = scores.mean * (1 - scores.mean)
    part: Floats = np.maximum(room / noise.room, LEAST_ROOM) if noise.room else np.ones_like(room)
    return replace(scores, added=part * variance / noise.judges, added_degrees=np.full_like(part, degrees))
