"""The variation of a score: from run to run, and from one set of scenarios to another. Pure
functions on numbers.

Two questions are asked of every score (docs/reading-results.md):

    rerun          the same test again: the scenarios stay, the runs vary
    new_scenarios  another test like it: the scenarios are a sample too, of those that could
                   have been written

and each has a variance of its own. A score is a weighted sum of shares (1 is the independent end of
a mark's scale),

    score of a run = sum over dimensions d and transcripts k of weight[d, k] x share[d, k]

and conversations of one run are independent, so the variance of a run is the sum of the variances
of its conversations: five runs of fifteen conversations say more about it than five indices do.
Each leaderboard tests whether they are independent, and adds the variation beyond that sum
(`shared_effects.py`).

A variance of a few runs is a poor one, and at the ceiling it is 0. So it is expressed as a
dispersion (variance over mean x (1 - mean), which barely depends on the mean) and drawn towards
that of all subjects on the leaderboard, the less the more these differ in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from independence_bench.analysis.statistics.intervals import (
    NORMAL,
    Scores,
    make_plain_scores,
    shrink_dispersion,
)
from independence_bench.analysis.statistics.shared_effects import (
    BELIEVED_DEGREES,
    ROUNDING,
    RunEffects,
    SessionEffects,
    measure_run_effects,
    measure_session_effects,
)
from independence_bench.analysis.statistics.values import Bools, Floats, Numbers

# The pool of all subjects counts at most as much as so many degrees of freedom of a subject with
# average room: less where the subjects' dispersions are found to be unlike (with 8 always, one
# noisy subject among 18 that never vary was covered in 80 to 85% at two runs). So much is believed
# of their likeness beforehand, with the weight of two subjects.
# 4: up to a quarter wider at the ceiling; 12: hangs more on the others' likeness
WEIGHT_RERUN = 8.0
WEIGHT_NEW_SCENARIOS = 20.0  # 10: 92% for low subjects in stability's mark
LEAST_WEIGHT = 0.2
LIKE_SUBJECTS = 2.0
# The belief about a mark before anything was measured: a part of what marks at the two ends of
# their scale would have. It counts as much as one subject with that room, so that it is forgotten
# where several were measured.
BELIEVED_RERUN = 0.5
# where all marks are at the two ends it is no belief; 0.5: 75 to 82% with one scenario
BELIEVED_OF_BINARY = 1.0
BELIEVED_NEW_SCENARIOS = 0.6  # 0.5: 92.6% for low subjects in stability's mark
BELIEVED_ROOM = 0.1
# at least so many: a subject with two scenarios leans on the others, too
DEGREES_NEW_SCENARIOS = 4.0
EXACT = 1e-9  # what two equal shares of points may differ by


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """The weights with which conversations' scores, as shares of their scale in [0, 1], add up to
    one score.
    """

    # [dimensions, transcripts], their sum 1; 0 where a transcript has no mark for the dimension
    weights: Floats
    scenario: Numbers  # [transcripts]: the number of its scenario, from 0; configurations share one
    # the variation of a run's mean by shifts of whole runs, believed beforehand, as a dispersion
    believed_runs: float = 0.0

    def __post_init__(self) -> None:
        if self.weights.shape[1:] != self.scenario.shape:
            raise ValueError("every transcript needs a weight for each dimension and a scenario")

    def sum_by_scenario(self, weighted: Floats | None = None) -> Floats:
        """Return *weighted* [..., conversations] added up over the conversations of each scenario,
        [..., scenarios]. If *weighted* is None, the design's weights are added up.
        """
        of_each = self.weights if weighted is None else weighted
        return of_each @ np.eye(int(self.scenario.max()) + 1)[self.scenario]


@dataclass(frozen=True, slots=True, eq=False)
class Variations:
    """Variances of one score for each of several subjects; arrays [subjects]."""

    variance: Floats
    room: Floats  # mean x (1 - mean), without bias: the largest that the variance could be
    degrees: Floats  # of freedom of each variance; 0: it says nothing of its subject alone
    known: Bools  # whether there is a variance at all
    planned: Floats  # the degrees that there would be if everything varied as its weight says

    @property
    def pool_sums(self) -> Floats:
        """Five sums over the subjects whose variance is known: their number, and the sums of
        variances, of room (mean x (1 - mean)), of squared room, and of squared variances.

        Each squared variance is divided by the factor by which chance enlarges its expectation.
        """
        variance, room = self.variance[self.known], self.room[self.known]
        degrees = np.where(self.degrees > 0, np.maximum(self.degrees, 1.0), self.planned)[
            self.known
        ]
        every = (
            np.ones_like(room),
            variance,
            room,
            np.square(room),
            np.square(variance) / (1 + 2 / degrees),
        )
        return np.array([of.sum() for of in every])


@dataclass(frozen=True, eq=False)
class Measured:
    """One score of several subjects, and its variation."""

    mean: Floats  # [subjects], in [0, 1]
    runs: Floats  # [subjects]
    rerun: Variations  # of one run
    run_effects: RunEffects  # and whether its conversations are independent
    # of the mean over runs; None: a dimension that counts has a single scenario
    new_scenarios: Variations | None
    # [subjects, scenarios]: what each scenario adds to the square root of `new_scenarios.variance`
    influence: Floats
    # [subjects]: as many Bernoulli trials as its score is worth; 0: not all marks are at an end
    trials: Floats
    # whether the score is made of a single conversation, so that its dispersion is exact
    single: bool
    believed_rerun: float  # dispersions of this design that are believed beforehand
    believed_new_scenarios: float
    believed_runs: float = 0.0  # the design's
    sittings: SessionEffects | None = None  # None: when runs were made is not known

    @cached_property
    def pair_pool_sums(self) -> Floats:
        """Five sums over all pairs of subjects that say how the differences of pairs vary over
        scenarios: the number of pairs, and the sums of variances, of room (mean x (1 - mean) of
        both), of squared room, and of squared variances. Zeros if the variation over scenarios is
        not known.
        """
        number, pool = len(self.mean), np.zeros(5)
        if self.new_scenarios is not None:
            # a million of them would not fit into the memory that a thousand subjects need
            for first in range(number - 1):
                others = np.arange(first + 1, number)
                pool += _measure_pair_variations(
                    self, self.new_scenarios, np.full_like(others, first), others
                ).pool_sums
        return pool

    @property
    def session_dispersions(self) -> Floats:
        """Variance of each subject's mean score from session to session, divided by mean x (1 -
        mean), [subjects]. Zeros if the sessions are not known.
        """
        room = self.rerun.room
        return (
            np.zeros_like(room)
            if self.sittings is None
            else self.sittings.compute_mean_score_dispersions(room)
        )


def measure_score_of_subjects(
    design: Design, shares: Sequence[Floats], sittings: Sequence[Sequence[int]] | None = None
) -> Measured:
    """Return the mean score of each subject and its variation over runs, sessions and scenarios.
    *shares* has an array [runs, dimensions, conversations] for each subject, in [0, 1], with at
    least one run; *design* has the weights that make up the score.

    *sittings*: for each subject the session number of each run; () if it is not known. If *design*
    has no weight for a share, this share may be anything finite. Raises ValueError if there is no
    subject.
    """
    if not shares:
        raise ValueError("nothing is known of no subjects")
    weights = design.weights
    runs = np.array([len(share) for share in shares], dtype=np.float64)
    every = np.concatenate(shares)
    first = np.concatenate([[0], np.cumsum(runs[:-1])]).astype(np.intp)  # of each subject's runs
    means = np.add.reduceat(every, first) / runs[:, None, None]
    mean = np.einsum("dk,sdk->s", weights, means)
    # what each transcript adds to its run
    of_runs = np.einsum("dk,rdk->rk", weights, every)
    added = np.split(of_runs, first[1:])
    away = of_runs - np.repeat(
        np.add.reduceat(of_runs, first) / runs[:, None], runs.astype(np.intp), axis=0
    )
    spread = np.add.reduceat(np.square(away), first) / np.maximum(runs - 1, 1)[:, None]
    of_each = np.where(spread > ROUNDING, spread, 0.0)  # over runs; 0 for a single one
    variance = of_each.sum(axis=1)
    squares = np.square(of_each).sum(axis=1)
    # Satterthwaite: based on many conversations that vary alike, or on the one that varies
    degrees = np.where(
        squares > 0, (runs - 1) * variance**2 / np.where(squares > 0, squares, 1.0), 0.0
    )
    parts = np.square(weights.sum(axis=0))
    planned = (runs - 1) * float(parts.sum() ** 2 / np.square(parts).sum())
    rerun = Variations(variance, mean * (1 - mean) + variance / runs, degrees, runs > 1, planned)
    influence, new_scenarios = _measure_scenario_influence(design, mean, means)
    whole = weights.sum(axis=0)
    # whether every conversation gave all of its points or none, in all runs of all subjects
    binary = not np.any((of_runs > EXACT) & (of_runs < whole - EXACT))
    effects = measure_run_effects(added, sittings)
    return Measured(
        mean=mean,
        runs=runs,
        rerun=rerun,
        run_effects=effects,
        new_scenarios=new_scenarios,
        influence=influence,
        trials=runs / parts.sum() if binary else np.zeros_like(runs),
        single=np.count_nonzero(parts) == 1,
        believed_rerun=(BELIEVED_OF_BINARY if binary else BELIEVED_RERUN) * float(parts.sum()),
        believed_new_scenarios=BELIEVED_NEW_SCENARIOS
        * float(np.square(design.sum_by_scenario().sum(axis=0)).sum()),
        believed_runs=design.believed_runs,
        sittings=None
        if sittings is None
        else measure_session_effects(added, sittings, effects.excess),
    )


def _measure_scenario_influence(
    design: Design, mean: Floats, shares: Floats
) -> tuple[Floats, Variations | None]:
    """Return the influence of each scenario on each subject's score, [subjects, scenarios], and the
    variances over scenarios, which are the sums of squared influences; None for the variances if a
    dimension has a single scenario.

    *shares* are [subjects, dimensions, conversations] and *mean* is each subject's score. An
    influence is weight x distance from the dimension's mean. A dimension is a weighted mean of its
    scenarios; the squares are multiplied by what makes their sum unbiased for scenarios that are
    drawn independently (n / (n - 1) where all n weigh the same).
    """
    weights = design.sum_by_scenario()
    of_dimension = weights.sum(axis=1, keepdims=True)
    relative = weights / np.where(of_dimension > 0, of_dimension, 1.0)
    by_scenario = design.sum_by_scenario(design.weights * shares) / np.where(
        weights > 0, weights, 1.0
    )
    away = by_scenario - (relative * by_scenario).sum(axis=-1, keepdims=True)
    squared = np.square(relative).sum(axis=1)
    unbiased = squared - 2 * (relative**3).sum(axis=1) + squared**2
    grow = np.sqrt(
        np.where(unbiased > 1e-12, squared / np.where(unbiased > 1e-12, unbiased, 1.0), 0.0)
    )
    influence = (weights * away * grow[:, None]).sum(axis=-2)
    number = np.count_nonzero(weights, axis=1)
    if np.any(number == 1):
        return influence, None
    # degrees of the sum, each dimension taken to vary as its weights say
    part = np.square(weights).sum(axis=1)
    degrees = float(part.sum() ** 2 / (part**2 / np.maximum(number - 1, 1)).sum())
    every, variance = np.full(len(mean), degrees), np.square(influence).sum(axis=1)
    return influence, Variations(
        variance, mean * (1 - mean), every, np.full(len(mean), True), every
    )


def shrink_dispersions_to_pool(
    own: Variations, pool_sums: Floats, believed_dispersion: float, most_weight: float
) -> tuple[Floats, float]:
    """Return the dispersion (variance / (mean x (1 - mean))) of each subject in *own*, drawn
    towards the common dispersion of the *pool_sums* of all subjects, and the degrees of freedom
    that the pool counts for.

    The common dispersion is the pool's sum of variances over its sum of mean x (1 - mean), with
    *believed_dispersion* as one more subject. It counts as much as its weight in degrees of freedom
    of a subject with the pool's average mean x (1 - mean), at *most_weight* so many. So a subject
    at the ceiling, whose own variance says nothing, gets the common dispersion.
    """
    weight, (number, variance, rooms, *_) = compute_pool_weight(pool_sums, most_weight), pool_sums
    room = rooms + BELIEVED_ROOM
    common = (variance + BELIEVED_ROOM * believed_dispersion) / room
    believed_room = weight * room / (number + 1)
    away, own_room = own.degrees * own.variance, own.degrees * own.room
    return shrink_dispersion(believed_room * common, believed_room, away, own_room), weight


def compute_pool_weight(pool_sums: Floats, most_weight: float) -> float:
    """Return the degrees of freedom, in [LEAST_WEIGHT, *most_weight*], that the common dispersion
    of a *pool_sums* of subjects counts for: the more their dispersions differ, the fewer.

    If dispersions are spread as a chi-square over its n degrees around their mean, their squared
    coefficient of variation is 2/n. It is estimated by moments: a variance with f degrees has the
    expected square (1 + 2/f) (r x dispersion)^2, r being mean x (1 - mean), so with variances v

        sum v^2/(1 + 2/f) x (sum r)^2 / (sum v)^2 / sum r^2 - 1

    Moments, and not logarithms as Smyth has, because a subject whose scores never vary has none.
    The belief is 2/most, with the weight of `LIKE_SUBJECTS`; so the result is *most_weight* for one
    subject.
    """
    _, variance, room, squared_room, squares = pool_sums
    if not variance > 0 or not room > 0:
        return most_weight
    alike = room**2 / squared_room  # so many subjects of equal room
    unlike = squares * alike / variance**2 - 1
    squared = (LIKE_SUBJECTS * 2 / most_weight + (alike - 1) * unlike) / (LIKE_SUBJECTS + alike - 1)
    return float(np.clip(2 / max(squared, 1e-9), LEAST_WEIGHT, most_weight))


def make_rerun_scores(measured: Measured) -> Scores | None:
    """Return each subject's score with its dispersion if the same scenarios were played again; None
    if no subject has two runs to show how they vary.
    """
    if not np.any(measured.rerun.known):
        return None
    return make_scores_after_runs(measured, measured.runs, measured.rerun.degrees)


def make_scores_after_runs(measured: Measured, runs: Floats, degrees: Floats) -> Scores:
    """Return each subject's score with the dispersion that it would have after so many *runs* of
    the same scenarios, if its own variance had so many *degrees* of freedom. Both are arrays
    [subjects].

    The effect of whole runs is added to the variation of conversations. A subject that was played
    twice and never varied has the common dispersion of all subjects; the measurement shows that it
    is not one of those that vary, so the common dispersion keeps its full weight.
    """
    own = measured.rerun
    drawn, weight = shrink_dispersions_to_pool(
        own, own.pool_sums, measured.believed_rerun, WEIGHT_RERUN
    )
    never = own.known & (own.degrees == 0)
    joint = np.where(never, WEIGHT_RERUN, weight) + degrees
    excess = measured.run_effects.compute_excess(own.room)
    of_excess = BELIEVED_DEGREES + measured.run_effects.degrees
    # Satterthwaite, of the two parts
    joint = (1 + excess) ** 2 / (1 / joint + excess**2 / of_excess)
    excess = np.maximum(excess, measured.believed_runs / drawn)
    trials = measured.trials / measured.runs * runs
    exact = (trials > 0) & measured.single  # Bernoulli trials, of which nothing has to be measured
    dispersion = np.where(exact, 1.0, drawn * (1 + excess)) / runs
    more = measured.session_dispersions  # an assumption, so it has no degrees of its own
    joint = np.where(exact, NORMAL, joint * np.square(1 + more / dispersion))
    scores = make_plain_scores(measured.mean, dispersion + more, joint)
    return replace(scores, trials=trials, exact=bool(exact.any()))


def make_new_scenarios_scores(measured: Measured) -> Scores | None:
    """Return each subject's score with its dispersion if other scenarios of the same kind were
    played; None if a dimension that counts has a single scenario.
    """
    own = measured.new_scenarios
    if own is None:
        return None
    drawn, _ = shrink_dispersions_to_pool(
        own, own.pool_sums, measured.believed_new_scenarios, WEIGHT_NEW_SCENARIOS
    )
    # the subjects share their scenarios, so a pool of many adds none for how hard these happen to
    # be
    degrees = np.maximum(own.degrees, DEGREES_NEW_SCENARIOS)
    return make_plain_scores(
        measured.mean, drawn + _compute_run_dispersion_beyond_scenarios(measured), degrees
    )


def _compute_run_dispersion_beyond_scenarios(measured: Measured) -> Floats:
    """Return the part of each subject's variance from run to run that its scenarios do not show,
    divided by mean x (1 - mean), [subjects].

    An effect on whole runs shifts all scenarios alike. And the mean of a subject with fewer runs
    varies more than the others', which the variation over scenarios of all subjects together does
    not show.
    """
    scores, own, of_sittings = (
        make_rerun_scores(measured),
        measured.rerun,
        measured.session_dispersions,
    )
    if scores is None:
        return measured.believed_runs / measured.runs + of_sittings
    drawn, _ = shrink_dispersions_to_pool(own, own.pool_sums, measured.believed_rerun, WEIGHT_RERUN)
    excess = np.maximum(
        measured.run_effects.compute_excess(own.room), measured.believed_runs / drawn
    )
    # as a part of its own; 1 where all have as many
    of_others = measured.runs * np.mean(1 / measured.runs)
    of_runs = scores.dispersion - of_sittings
    unseen: Floats = (
        of_runs * (excess + np.maximum(1 - of_others, 0.0)) / (1 + excess) + of_sittings
    )
    return unseen


Pair = tuple[Scores, Scores]


def make_rerun_pair_scores(measured: Measured, first: Numbers, second: Numbers) -> Pair | None:
    """Return the scores of the first and of the second subject of each pair, with their dispersions
    if the same scenarios were played again; None if no subject has two runs.

    *first* and *second* are the subjects' numbers. The runs of the two subjects have nothing in
    common.
    """
    scores = make_rerun_scores(measured)
    return None if scores is None else (scores.select_scores(first), scores.select_scores(second))


def make_new_scenarios_pair_scores(
    measured: Measured, first: Numbers, second: Numbers
) -> Pair | None:
    """Return the scores of the first and of the second subject of each pair, with their dispersions
    if other scenarios of the same kind were played; None if a dimension that counts has a single
    scenario.

    *first* and *second* are the subjects' numbers. Both subjects answered the same scenarios, so a
    scenario's difficulty for everybody cancels: the dispersion is that of the difference, relative
    to the sum of both subjects' mean x (1 - mean). A subject with fewer runs than the others has
    the noise of the missing ones on its side.
    """
    own = measured.new_scenarios
    if own is None:
        return None
    drawn, _ = shrink_dispersions_to_pool(
        _measure_pair_variations(measured, own, first, second),
        measured.pair_pool_sums,
        measured.believed_new_scenarios,
        WEIGHT_NEW_SCENARIOS,
    )
    more, degrees = (
        _compute_run_dispersion_beyond_scenarios(measured),
        np.maximum(own.degrees, DEGREES_NEW_SCENARIOS),
    )
    one, other = (
        make_plain_scores(measured.mean[n], drawn + more[n], degrees[n], shared=True)
        for n in (first, second)
    )
    return one, other


def _measure_pair_variations(
    measured: Measured, own: Variations, first: Numbers, second: Numbers
) -> Variations:
    """Return the variances over scenarios of the score differences of pairs of subjects. *first*
    and *second* are the subjects' numbers; *own* has the variances of single subjects.
    """
    variance = np.square(measured.influence[first] - measured.influence[second]).sum(axis=1)
    degrees = np.full(len(variance), own.degrees[0])
    return Variations(
        variance, own.room[first] + own.room[second], degrees, np.full(len(variance), True), degrees
    )
