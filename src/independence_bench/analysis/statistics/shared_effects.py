"""The effects that many marks share: the run of their conversations, the session of their runs, and
the judges who gave them. Pure functions.

*Runs*: the question is whether the conversations of one run are independent. A run is a sum over
conversations, and if these are independent its variance V is the sum W of theirs. A provider's bad
day, an update between two runs, an hour of heavy load shift all conversations of a run together;
then V is more, and V - W is twice the sum of their covariances. Both are estimated on every
leaderboard, so the assumption is tested where it is used, and the excess over W widens the
intervals.

*Sessions* (sittings): runs without half a day between them. The spread between the runs of one
session cannot show an effect that was the same in all of them, such as the provider's day or a
version of the model. So the variance between sessions is believed beforehand, from subjects that
were played in several, and combined with what the leaderboard itself shows of it. Each subject's
mean varies by that over the number of its sessions.

*Judges*: those that marked are a sample of those that could. One judge shows nothing of the
variation between judges, and nothing is added. Judges differ most where there is room for it: the
strict and the mild mark a subject that never gives in the same. So the variance that they add to a
score is in proportion to its mean x (1 - mean), as its own variance is (`intervals.py`). A jury
need not be whole: a mark is the mean of the judges who gave it. So a judge's *voice* in a subject's
score is the part of it that its marks make up, and two judges are compared by the marks that both
have given. A missing mark says nothing of how far judges differ. Judges are taken to miss marks at
random.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import erfc, sqrt
from typing import Annotated

import numpy as np

from independence_bench.analysis.statistics.intervals import Scores
from independence_bench.analysis.statistics.values import Floats, Numbers
from independence_bench.columns import HIDDEN, SENT, Column

BELIEVED_DEGREES = 0.5  # that runs are independent is believed beforehand, with so many degrees
# share of the average: the least effect of a shift of whole runs on a subject near an end
LEAST_SHARE = 0.5
NOTABLE = 0.05
# beyond it, for certain, no interval was found to hold (docs/research/statistics.md)
MOST_RATIO = 3.0
CERTAIN = 0.01
# Sessions vary a score's latent variable by this variance, and so a score by its room times the
# standard deviation: by 1.8 points at an index of 89, where the room is 0.1. Measured on the 15
# published subjects that were played in two sessions, with their information
# (`SessionEffects.estimate_latent_variance`). It is an assumption, and said with every number.
BELIEVED_SITTINGS = 0.031
BELIEVED_INFORMATION = 0.21
BELIEVED_SUBJECTS = 15
# a variance below it is 0: equal numbers less their mean are not always 0 to the last bit
ROUNDING = 1e-20
# share of the average: the least room of a subject in the variance that judges add to it
LEAST_ROOM = 0.25
# for each judge but the first: a jury's variance is worth no more degrees of freedom
DEGREES_OF_ONE = 1.5
_NOTHING = 1e-9


# ---------------------------------------------------------------- runs


@dataclass(frozen=True, slots=True, eq=False)
class RunEffects:
    """The variation between the runs of each subject; arrays [subjects]. A subject with one run has
    0 everywhere.
    """

    of_runs: Annotated[Floats, HIDDEN]  # V: the variance of its runs' scores
    of_conversations: Annotated[Floats, HIDDEN]  # W: the sum of its conversations' variances
    by_chance: Annotated[Floats, HIDDEN]  # the variance of V - W where runs are independent
    weight: Annotated[Floats, HIDDEN]  # runs - 1, or runs - sessions

    @property
    def ratio(self) -> Annotated[float | None, Column(key="variance_ratio")]:
        """Variance between whole runs' scores (V) over the sum of their conversations' variances
        (W), all subjects together; about 1 if the conversations of a run are independent. None if
        nothing varies.
        """
        below = float((self.weight * self.of_conversations).sum())
        return float((self.weight * self.of_runs).sum()) / below if below > 0 else None

    @property
    def degrees(self) -> Annotated[float, SENT]:
        """Degrees of freedom of the ratio of the variance between runs to the sum of their
        conversations' variances: 2 over the ratio's variance if the conversations of a run are
        independent, as for a chi-square.

        0 if no subject has two conversations that vary: then both variances are the same.
        """
        chance = float((np.square(self.weight) * self.by_chance).sum())
        return (
            2 * float((self.weight * self.of_conversations).sum()) ** 2 / chance
            if chance > 0
            else 0.0
        )

    @property
    def p(self) -> Annotated[float | None, SENT]:
        """P-value of the hypothesis that the conversations of one run are independent: the chance
        of so large a ratio of the variance between runs to the sum of their conversations'
        variances, or a larger one. None if it is not known.

        By the cube root of a chi-square over its degrees (E. B. Wilson and M. M. Hilferty,
        Proceedings of the National Academy of Sciences 17, 1931, 684-688).
        """
        ratio, degrees = self.ratio, self.degrees
        if ratio is None or degrees <= 0:
            return None
        spread = 2 / (9 * degrees)
        return erfc((max(ratio, 0.0) ** (1 / 3) - 1 + spread) / sqrt(2 * spread)) / 2

    @property
    def excess(self) -> Annotated[float, Column(key="excess_in_intervals")]:
        """Excess of the variance of a run over the sum of its conversations' variances, as a share
        of this sum, at least 0; intervals are widened by it.

        It is the ratio of the two minus 1, drawn towards 0 by `BELIEVED_DEGREES`.
        """
        ratio, degrees = self.ratio, self.degrees
        return (
            0.0 if ratio is None else max(degrees * (ratio - 1) / (BELIEVED_DEGREES + degrees), 0.0)
        )

    @property
    def is_beyond_validated_range(self) -> bool:
        """Whether whole runs are shifted so much (the variance ratio is above `MOST_RATIO`, with a
        p-value below `CERTAIN`) that no interval for the same scenarios holds.
        """
        return (
            self.ratio is not None
            and self.ratio > MOST_RATIO
            and self.p is not None
            and self.p < CERTAIN
        )

    @property
    def subjects(self) -> Annotated[int, SENT]:
        """Number of subjects with enough runs to show whether whole runs are shifted together."""
        return int((self.weight > 0).sum())

    def compute_excess(self, room: Floats) -> Floats:
        """Return for each subject, [subjects], the excess of the variance of a run over the sum of
        its conversations' variances, as a share of this sum. *room* is each subject's mean x (1 -
        mean).

        A shift of a run moves a score in proportion to its room. So it counts in the variance by
        the square of the room, while the conversations' variances count by the room itself. Near an
        end of the scale at least `LEAST_SHARE` of the average room is taken.
        """
        varied = self.weight * self.of_conversations
        total = float(varied.sum())
        typical = float((varied * room).sum()) / total if total > 0 else 0.0
        if typical <= 0:
            return np.full_like(room, self.excess)
        share: Floats = np.maximum(room / typical, LEAST_SHARE)
        return self.excess * share


def group_subjects_by_sessions(
    conversation_points: Sequence[Floats], sittings: Sequence[Sequence[int]] | None = None
) -> Iterator[tuple[Numbers, Floats, tuple[int, ...]]]:
    """Yield groups of subjects that have the same number of runs in the same *sittings* (sessions):
    the subjects' numbers, their points *conversation_points* [subjects, runs, conversations], and
    the session number of each run.

    A calculation over a thousand subjects at once takes little longer than over one. The session
    numbers are () if they are not known.
    """
    together: dict[tuple[int, tuple[int, ...]], list[int]] = defaultdict(list)
    for number, runs in enumerate(conversation_points):
        together[len(runs), tuple(sittings[number]) if sittings else ()].append(number)
    for (_, of_runs), numbers in together.items():
        yield (
            np.array(numbers),
            np.array([conversation_points[number] for number in numbers]),
            of_runs,
        )


def measure_run_effects(
    conversation_points: Sequence[Floats], sittings: Sequence[Sequence[int]] | None = None
) -> RunEffects:
    """Return how much the scores of whole runs vary beyond the variation of their conversations.
    *conversation_points* has for each subject the points that each conversation adds to each run,
    [runs, conversations]. *sittings* has the session of each run; the variation is then taken
    within sessions.

    Let V be the variance between runs and W the sum of their conversations' variances. V - W is the
    sum over pairs of different conversations k, l of their covariance over runs. If the runs of one
    conversation are put in another order, it has the expectation 0 and the variance 2((sum s2)^2 -
    sum s2^2)/(R - 1), exactly, s2 being the variances of the conversations and every order being as
    likely: each covariance has the variance s2_k s2_l / (R - 1), and any two of them are
    uncorrelated.
    """
    columns = np.zeros((4, len(conversation_points)))
    for subjects, runs, of_run in group_subjects_by_sessions(conversation_points, sittings):
        numbers = np.array(of_run or [1] * runs.shape[1])
        weight = len(numbers) - len(np.unique(numbers))
        if not weight:
            continue
        away = runs - np.stack(
            [runs[:, numbers == number].mean(axis=1) for number in numbers], axis=1
        )
        away = np.where(np.square(away).sum(axis=1, keepdims=True) / weight > ROUNDING, away, 0.0)
        squares = np.square(away).sum(axis=1) / weight
        total = squares.sum(axis=1)
        chance = 2 * np.maximum(total**2 - np.square(squares).sum(axis=1), 0.0) / weight
        chance = np.where(chance <= 1e-12 * total**2, 0.0, chance)  # one that varies: V is W
        of_runs = np.square(away.sum(axis=2)).sum(axis=1) / weight
        columns[:, subjects] = of_runs, total, chance, np.full(len(subjects), float(weight))
    return RunEffects(*columns)


# ---------------------------------------------------------------- sessions


@dataclass(frozen=True, slots=True, eq=False)
class SessionEffects:
    """The variation between the sessions (sittings) of each subject; arrays [subjects]."""

    # squared distances of the sessions' means from the subject's, each as often as it has runs
    between: Floats
    by_runs: Floats  # what these would be if only runs varied: W, for each session but the first
    # how often a session's own variance is in them: N - sum n^2 / N, of N runs, n in each session
    growth: Floats
    # effective number of sessions: N^2 / sum n^2; infinite if nothing is known of them
    number: Floats

    def estimate_latent_variance(self, room: Floats) -> float:
        """Return the variance between sessions of the latent variable behind the scores, at least
        0: the mean of the believed and the observed variance, weighted by their information. *room*
        is mean x (1 - mean), [subjects].

        A one-way random effects model, solved by moments (S. R. Searle, G. Casella and C. E.
        McCulloch, Variance Components, 1992, chapter 3): the expectation of *between* is *by_runs*
        + *growth* x variance x the square of the room.
        """
        information = float((self.growth * room * _raise_small_rooms(room)).sum())
        away = BELIEVED_SITTINGS * BELIEVED_INFORMATION + float((self.between - self.by_runs).sum())
        return max(away / (BELIEVED_INFORMATION + information), 0.0)

    def compute_score_variances(self, room: Floats) -> Floats:
        """Return the variance of each subject's score from one session to another, [subjects], in
        squares of the scale [0, 1]. *room* is mean x (1 - mean), [subjects].
        """
        of_each: Floats = self.estimate_latent_variance(room) * room * _raise_small_rooms(room)
        return of_each

    def compute_mean_score_dispersions(self, room: Floats) -> Floats:
        """Return the variance of each subject's mean score due to sessions, divided by its mean x
        (1 - mean), [subjects]. *room* is mean x (1 - mean), [subjects].
        """
        of_each: Floats = (
            self.estimate_latent_variance(room) * _raise_small_rooms(room) / self.number
        )
        return of_each


def _raise_small_rooms(room: Floats) -> Floats:
    """Return *room*, mean x (1 - mean) of each subject, with small values raised to `LEAST_SHARE`
    of the average. Near the ends of the scale this is one of the two factors of the squared room.
    """
    least: Floats = np.maximum(room, LEAST_SHARE * room.mean())
    return least


def measure_session_effects(
    conversation_points: Sequence[Floats], sittings: Sequence[Sequence[int]], run_excess: float
) -> SessionEffects:
    """Return how much each subject's score varies between sessions (sets of runs played close
    together). *conversation_points* has for each subject the points that each conversation adds to
    each run, [runs, conversations]; *sittings* has the session number of each run.

    *run_excess*: the share by which the variance of a run is larger than that of its conversations,
    which is no effect of a session. A subject whose sessions are not known, (), has no effect.
    """
    columns = np.tile([[0.0], [0.0], [0.0], [np.inf]], len(conversation_points))
    for subjects, runs, of_run in group_subjects_by_sessions(conversation_points, sittings):
        if not of_run:
            continue
        _, sitting, counts = np.unique(of_run, return_inverse=True, return_counts=True)
        scores = runs.sum(axis=2)
        means = scores @ np.eye(len(counts))[sitting] / counts
        away = runs - runs.mean(axis=1, keepdims=True)
        conversations = np.square(away).sum(axis=(1, 2)) / max(len(of_run) - 1, 1)
        squares = float(np.square(counts).sum())
        columns[:2, subjects] = (
            (counts * np.square(means - scores.mean(axis=1, keepdims=True))).sum(axis=1),
            (len(counts) - 1) * conversations * (1 + run_excess),
        )
        columns[2:, subjects] = [
            [len(of_run) - squares / len(of_run)],
            [len(of_run) ** 2 / squares],
        ]
    return SessionEffects(*columns)


# ---------------------------------------------------------------- judges


@dataclass(frozen=True, slots=True, eq=False)
class JuryMarks:
    """How far the judges of a jury differ on each subject, and how much each judge contributes to
    the subject's score.
    """

    # [subjects, judges, judges]: the first's score minus the second's, over what both of them
    # marked
    apart: Floats
    # [subjects, judges, judges]: the part of the score that both marked, in [0, 1]; if 0, so is
    # *apart*
    shared: Floats
    # [subjects, judges]: the part of the jury's score that is the judge's marks; the sum is 1
    voices: Floats


def measure_jury_differences(weights: Floats, subject_shares: Sequence[Floats]) -> JuryMarks:
    """Return how far the judges of a jury differ on each subject's score, and how much each judge
    contributes to it. *weights* [dimensions, conversations], whose sum is 1, make up the score;
    each of *subject_shares* has the judges' scores of one subject.

    These are [judges, runs, dimensions, conversations], in [0, 1]; NaN where a judge gave no score.
    """
    parts = zip(
        *(_compare_subject_judges(weights, shares) for shares in subject_shares), strict=True
    )
    return JuryMarks(*map(np.array, parts))


def _compare_subject_judges(weights: Floats, shares: Floats) -> tuple[Floats, Floats, Floats]:
    """Return three arrays about one subject's judges: the score by one judge minus that by another,
    over what both scored, [judges, judges]; the part of the score that both scored, [judges,
    judges]; and the part of the jury's score that each judge contributes, [judges].

    They are `apart`, `shared` and `voices` of `JuryMarks`. *weights* [dimensions, conversations]
    make up the score; *shares* are [judges, runs, dimensions, conversations], NaN where a judge
    gave no score.
    """
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
    """Variances of one judge's score around that of all judges, over all subjects. The unit is the
    square of a score in [0, 1].
    """

    severity: float  # how strict it is to everybody
    taste: float  # how strict it is to one subject more than to others
    voices: Floats  # [subjects, judges], as of the panel
    # the subjects' average mean x (1 - mean); 0: all are at an end, and each gets the same
    room: float


def measure_judge_noise(marks: JuryMarks, means: Floats) -> JudgeNoise | None:
    """Return the variances between the judges of a jury: of how strict a judge is to everybody
    (severity) and to single subjects (taste). *means* [subjects] are the jury's scores, in [0, 1].
    None with fewer than two judges, and if no two judges scored the same.

    For judges g and h let d_j be how far they are apart on subject j, over the part p_j of its
    score that both gave. Each judge's severity and taste being drawn independently of the others',
    d_j has the variance 2 (severity + taste), of which 2 severity is the same for all j. So with P
    = sum p_j, Q = sum p_j^2 and m = sum p_j d_j / P, for any p

        expected  sum p_j (d_j - m)^2 = 2 taste (P - Q / P)
        expected  m^2 = 2 (severity + taste Q / P^2)

    and both are solved for, over all pairs of judges: taste from the sums over them, severity from
    the mean weighted with P; what would be below 0 is 0. Where nothing is missing these are the
    expected mean squares of subjects x judges, one number in each cell (R. L. Brennan,
    Generalizability Theory, 2001, chapter 3). What varies from conversation to conversation weighs
    more in a part of the score than in the whole, so where scores are missing at random taste is
    found too large rather than too small. With one subject, or where no pair of judges shares two,
    all of it is severity.
    """
    subjects, judges = marks.voices.shape
    pairs = np.triu_indices(judges, 1)
    apart, shared = marks.apart[:, *pairs], marks.shared[:, *pairs]
    together = shared.sum(axis=0) > 0
    if not subjects or not together.any():
        return None
    apart, shared = apart[:, together], shared[:, together]
    total, squares = shared.sum(axis=0), np.square(shared).sum(axis=0)
    mean = (shared * apart).sum(axis=0) / total
    free = float((total - squares / total).sum())
    taste = float((shared * np.square(apart - mean)).sum()) / (2 * free) if free > _NOTHING else 0.0
    severity = float((total * (mean**2 / 2 - taste * squares / total**2)).sum() / total.sum())
    room = float((means * (1 - means)).mean())
    return JudgeNoise(max(severity, 0.0), taste, marks.voices, room)


def add_judge_variance(scores: Scores, noise: JudgeNoise | None) -> Scores:
    """Return *scores*, those of all subjects in their order, with the variance between judges
    added: that of a mean of so many judges. If *noise* is None, return *scores* unchanged.
    """
    if noise is None:
        return scores
    few, many = _compute_severity_taste_degrees(noise)
    total = noise.severity + noise.taste
    below = noise.severity**2 / few + noise.taste**2 / many
    # the severity of two or three judges that happen to be alike seems to be none, so the degrees
    # have a bound
    degrees = np.minimum(total**2 / below if total else few, DEGREES_OF_ONE * few)
    return _add_judge_variance(scores, noise, total * np.square(noise.voices).sum(axis=1), degrees)


def add_pair_judge_variance(
    first: Scores, second: Scores, noise: JudgeNoise | None, one: Numbers, other: Numbers
) -> tuple[Scores, Scores]:
    """Return the scores of the first and of the second subject of each pair, with the variance
    between judges added to both for a comparison of the two. *one* and *other* are the numbers of
    the first and of the second subjects. If *noise* is None, both are unchanged.

    The same judges scored both subjects. So the judges' severity cancels as far as each judge
    contributes the same part to both scores, and their taste for single subjects remains.
    """
    if noise is None:
        return first, second
    few, many = _compute_severity_taste_degrees(noise)
    uneven = noise.severity * np.square(noise.voices[one] - noise.voices[other]).sum(axis=1) / 2
    sides = []
    for side, at in ((first, one), (second, other)):
        taste = noise.taste * np.square(noise.voices[at]).sum(axis=1)
        below = taste**2 / many[at] + uneven**2 / few[at]
        degrees = np.where(
            below > 0, (taste + uneven) ** 2 / np.where(below > 0, below, 1.0), many[at]
        )
        sides.append(_add_judge_variance(side, noise, taste + uneven, degrees))
    return sides[0], sides[1]


def _compute_severity_taste_degrees(noise: JudgeNoise) -> tuple[Floats, Floats]:
    """Return the degrees of freedom of the variance of judges' severity and of that of their taste
    for single subjects, two arrays [subjects]. A judge that contributes half as much to a score as
    the others is half a judge.
    """
    few = np.maximum(1 / np.square(noise.voices).sum(axis=1) - 1, 1.0)
    return few, max(len(noise.voices) - 1, 1) * few


def _add_judge_variance(
    scores: Scores, noise: JudgeNoise, variance: Floats, degrees: Floats
) -> Scores:
    """Return *scores* with *variance*, that between judges, added in proportion to each score's
    mean x (1 - mean), and with its *degrees* of freedom.
    """
    room = scores.mean * (1 - scores.mean)
    part: Floats = np.maximum(room / noise.room, LEAST_ROOM) if noise.room else np.ones_like(room)
    return replace(scores, added=part * variance, added_degrees=degrees)
