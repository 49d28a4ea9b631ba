"""What several judges add to the uncertainty of a score: the judges that marked it are a sample of those that could.

Pure functions on numbers. With one judge nothing is known of it, and nothing is added. Judges differ most where there
is room for it: who never gives in is marked alike by the strict and by the mild. So what they add to a score is in
proportion to its mean x (1 - mean), as its own variance is (`intervals.py`).

A jury need not be whole: a mark is the mean of the judges who gave it. So a judge's *voice* in a subject's score is the
part of it that its marks make up, and judges are compared by what two of them have both marked. A mark that one of them
did not give says nothing of how far they are apart. Judges are taken to miss marks at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from independence_bench.analysis.statistics.intervals import Scores
from independence_bench.analysis.statistics.values import Floats, Numbers

LEAST_ROOM = 0.25  # of the average: how little the mean of a subject takes away from what judges add to it
DEGREES_OF_ONE = 1.5  # for each judge but the first: a jury's variance is worth no more degrees of freedom
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class JuryMarks:
    """What the judges of a jury gave each subject."""

    apart: Floats  # [subjects, judges, judges]: the first's score minus the second's, over what both of them marked
    shared: Floats  # [subjects, judges, judges]: what part of the score that is, in [0, 1]; where 0, so is *apart*
    voices: Floats  # [subjects, judges]: what part of the jury's score the judge's marks make up; the sum is 1


def jury_marks(weights: Floats, subjects: Sequence[Floats]) -> JuryMarks:
    """From *weights* [dimensions, transcripts], their sum 1, and the judges' shares of each of *subjects*.

    These are [judges, runs, dimensions, transcripts], in [0, 1]; NaN where a judge gave no mark.
    """
    parts = zip(*(_of_one(weights, shares) for shares in subjects), strict=True)
    return JuryMarks(*map(np.array, parts))


def _of_one(weights: Floats, shares: Floats) -> tuple[Floats, Floats, Floats]:
    judges, runs = shares.shape[:2]
    worth = np.tile(weights / runs, (runs, 1, 1)).ravel()
    flat = shares.reshape(judges, -1)
    marked = (~np.isnan(flat)).astype(np.float64)
    both = (worth * marked) @ marked.T
    points = (worth * np.nan_to_num(flat)) @ marked.T
    apart = np.where(both > 0, (points - points.T) / np.where(both > 0, both, 1.0), 0.0)
    voices = (worth * marked / np.maximum(marked.sum(axis=0), 1.0)).sum(axis=1)
    return apart, both, voices / voices.sum()


@dataclass(frozen=True, slots=True, eq=False)
class JudgeNoise:
    """Variances of one judge's score around that of all judges, in squares of a score in [0, 1], over all subjects."""

    severity: float  # how strict it is to everybody
    taste: float  # how strict it is to one subject more than to others
    voices: Floats  # [subjects, judges], as of the panel
    room: float = 0.0  # the subjects' average mean x (1 - mean); 0: not known, the same is added to every score


def judge_noise(of: JuryMarks, means: Floats | None = None) -> JudgeNoise | None:
    """How unlike the judges of a jury are; *means* [subjects]: the jury's scores, in [0, 1].

    For judges g and h let d_j be how far they are apart on subject j, over the part p_j of its score that both marked.
    Each judge's severity and taste being drawn apart from the others', d_j has the variance 2 (severity + taste), of
    which 2 severity is the same for all j. So with P = sum p_j, Q = sum p_j^2 and m = sum p_j d_j / P, for any p

        expected  sum p_j (d_j - m)^2 = 2 taste (P - Q / P)        expected  m^2 = 2 (severity + taste Q / P^2)

    and both are solved for, over all pairs of judges: taste from the sums over them, severity from the mean weighted
    with P; what would be below 0 is 0. Where nothing is missing these are the expected mean squares of subjects x
    judges, one number in each cell (R. L. Brennan, Generalizability Theory, 2001, chapter 3). What varies from
    transcript to transcript weighs more in a part of the score than in the whole, so where marks are missing at random
    taste is found too large rather than too small. With one subject, or where no pair of judges shares two, all of it
    is severity.
    None with fewer than two judges, and where no two have marked the same.
    """
    subjects, judges = of.voices.shape
    pairs = np.triu_indices(judges, 1)
    apart, shared = of.apart[:, *pairs], of.shared[:, *pairs]
    together = shared.sum(axis=0) > 0
    if not subjects or not together.any():
        return None
    apart, shared = apart[:, together], shared[:, together]
    total, squares = shared.sum(axis=0), np.square(shared).sum(axis=0)
    mean = (shared * apart).sum(axis=0) / total
    free = float((total - squares / total).sum())
    taste = float((shared * np.square(apart - mean)).sum()) / (2 * free) if free > _NOTHING else 0.0
    severity = float((total * (mean**2 / 2 - taste * squares / total**2)).sum() / total.sum())
    room = 0.0 if means is None else float((means * (1 - means)).mean())
    return JudgeNoise(max(severity, 0.0), taste, of.voices, room)


def with_judges(scores: Scores, noise: JudgeNoise | None) -> Scores:
    """*scores*, of all subjects in their order, with the variance of such a mean of judges on top."""
    if noise is None:
        return scores
    few, many = _degrees(noise)
    total = noise.severity + noise.taste
    below = noise.severity**2 / few + noise.taste**2 / many
    # the severity of two or three judges that happen to be alike seems to be none, so the degrees have a bound
    degrees = np.minimum(total**2 / below if total else few, DEGREES_OF_ONE * few)
    return _with(scores, noise, total * np.square(noise.voices).sum(axis=1), degrees)


def pairs_with_judges(
    first: Scores, second: Scores, noise: JudgeNoise | None, one: Numbers, other: Numbers
) -> tuple[Scores, Scores]:
    """Two sides of differences, between the subjects of the numbers *one* and *other*.

    The same judges marked both, so their severity falls away, as far as their voices are the same, and their taste is
    there.
    """
    if noise is None:
        return first, second
    few, many = _degrees(noise)
    uneven = noise.severity * np.square(noise.voices[one] - noise.voices[other]).sum(axis=1) / 2
    sides = []
    for side, at in ((first, one), (second, other)):
        taste = noise.taste * np.square(noise.voices[at]).sum(axis=1)
        below = taste**2 / many[at] + uneven**2 / few[at]
        degrees = np.where(below > 0, (taste + uneven) ** 2 / np.where(below > 0, below, 1.0), many[at])
        sides.append(_with(side, noise, taste + uneven, degrees))
    return sides[0], sides[1]


def _degrees(noise: JudgeNoise) -> tuple[Floats, Floats]:
    """[subjects]: of severity, and of taste. A judge with half a voice is half a judge."""
    few = np.maximum(1 / np.square(noise.voices).sum(axis=1) - 1, 1.0)
    return few, max(len(noise.voices) - 1, 1) * few


def _with(scores: Scores, noise: JudgeNoise, variance: Floats, degrees: Floats) -> Scores:
    room = scores.mean * (1 - scores.mean)
    part: Floats = np.maximum(room / noise.room, LEAST_ROOM) if noise.room else np.ones_like(room)
    return replace(scores, added=part * variance, added_degrees=degrees)
