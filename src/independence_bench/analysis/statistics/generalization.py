"""Intervals, differences and p-values for both questions, *rerun* (same scenarios) and
*new_scenarios*, from the same numbers.

Pure functions on numbers. Whatever varies when the same test is played again varies in another test
like it, too, so the second answer is never surer than the first: its interval holds that of the
first, its p is no smaller. If runs are shifted together by more than any interval was found to
hold, the first question has no answer.

Ranks follow from each subject's comparisons with the n - 1 others, corrected for their number. The
ranks of one row hold for it at 95%, and the best subject is among those that may be first in 95%
of rankings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from independence_bench.analysis.statistics import dispersion
from independence_bench.analysis.statistics.intervals import (
    LEVEL,
    Limits,
    compute_critical_value,
    compute_detectable_difference,
    compute_difference_degrees,
    compute_difference_limits,
    compute_intervals,
    compute_p_values,
    find_significant_pairs,
    join_scores,
    widen_limits,
)
from independence_bench.analysis.statistics.shared_effects import (
    JudgeNoise,
    add_judge_variance,
    add_pair_judge_variance,
)
from independence_bench.analysis.statistics.values import (
    Bools,
    Floats,
    Numbers,
    PairDifferences,
    Standing,
)

_SIDES = dispersion.make_rerun_pair_scores, dispersion.make_new_scenarios_pair_scores  # by question
Answers = tuple[PairDifferences | None, PairDifferences | None]  # rerun, new_scenarios
# of a score; degrees on top for the tail of p
ComparedScore = tuple[dispersion.Measured, JudgeNoise | None, float]


def estimate_rerun_new_scenarios_limits(
    measured_scores: Sequence[tuple[dispersion.Measured, JudgeNoise | None]],
) -> list[tuple[Limits | None, Limits | None]]:
    """Return for each score in *measured_scores* the 95% intervals of all subjects, as a pair: for
    the same scenarios (rerun) and for new ones. Each half is (low, high), two arrays over subjects,
    or None if it is not known.

    All scores are calculated at once, as in `estimate_score_differences_per_pair`.
    """
    sides = [
        None if scores is None else add_judge_variance(scores, noise)
        for measured, noise in measured_scores
        for scores in (
            dispersion.make_rerun_scores(measured),
            dispersion.make_new_scenarios_scores(measured),
        )
    ]
    known = [scores for scores in sides if scores is not None]
    ends = np.cumsum([len(scores.mean) for scores in known])[:-1]
    of_known = iter(
        zip(
            *(np.split(limits, ends) for limits in compute_intervals(join_scores(known))),
            strict=True,
        )
        if known
        else ()
    )
    limits = [None if scores is None else next(of_known) for scores in sides]
    return [
        (
            None if measured.run_effects.is_beyond_validated_range else rerun,
            None if new_scenarios is None else widen_limits(new_scenarios, rerun),
        )
        for (measured, _), rerun, new_scenarios in zip(
            measured_scores, limits[::2], limits[1::2], strict=True
        )
    ]


def estimate_score_differences_per_pair(
    measured_scores: Sequence[ComparedScore],
    first: Numbers,
    second: Numbers,
) -> list[Answers]:
    """Return for each score in *measured_scores* the differences of pairs of subjects, *first*
    minus *second*, as a pair: for the same scenarios (rerun) and for new ones. Each half has
    intervals, p-values and minimum detectable differences, or is None if it is not known.

    *first* and *second* are the subjects' numbers. All scores are calculated at once: on a small
    leaderboard one score takes as long as all of them.
    """
    sides = [
        tuple(_make_pair_scores_per_question(measured, noise, first, second))
        for measured, noise, _ in measured_scores
    ]
    more = [degrees for *_, degrees in measured_scores]
    both = (
        _estimate_differences_per_pair([of[question] for of in sides], more)
        for question in range(2)
    )
    return [
        _combine_questions(measured, *of_both)
        for (measured, *_), *of_both in zip(measured_scores, *both, strict=True)
    ]


def _estimate_differences_per_pair(
    sides: Sequence[dispersion.Pair | None], extra_degrees: Sequence[float]
) -> list[PairDifferences | None]:
    """Return the differences of pairs of subjects in each score, with intervals, p-values and
    minimum detectable differences, for one question (same scenarios or new scenarios); None for a
    score whose *sides* are None.

    *sides* has for each score the scores of the first and of the second subject of every pair;
    *extra_degrees* has for each score the degrees of freedom that are added for its p-values.
    """
    of_scores: list[PairDifferences | None] = [None] * len(sides)
    alike: dict[tuple[tuple[bool, bool], ...], list[tuple[int, dispersion.Pair]]] = defaultdict(
        list
    )
    for place, pair in enumerate(sides):
        if pair is not None:
            alike[tuple((side.shared, side.exact) for side in pair)].append((place, pair))
    for those in alike.values():
        places, pairs = zip(*those, strict=True)
        one, other = map(join_scores, zip(*pairs, strict=True))
        degrees = np.repeat(
            [extra_degrees[place] for place in places], len(one.mean) // len(places)
        )
        critical = compute_critical_value(LEVEL, compute_difference_degrees(one, other))
        low, high = compute_difference_limits(one, other, LEVEL, critical)
        p_value = np.minimum(compute_p_values(one, other, degrees), 1.0)
        seen = compute_detectable_difference(one, other, LEVEL, critical)
        columns = low, high, seen, p_value
        for place, low, high, seen, p in zip(
            places, *(of.reshape(len(places), -1) for of in columns), strict=True
        ):
            of_scores[place] = PairDifferences((low, high), seen, p)
    return of_scores


def _combine_questions(
    measured: dispersion.Measured,
    rerun: PairDifferences | None,
    new_scenarios: PairDifferences | None,
) -> Answers:
    """Return the differences of pairs of subjects as they are shown, for the same scenarios
    (*rerun*) and for new scenarios. The differences for new scenarios get intervals that contain
    those for the same ones, and p-values and minimum detectable differences that are no smaller.

    The differences for the same scenarios are None if whole runs are shifted too much for any
    validated interval.
    """
    shown = None if measured.run_effects.is_beyond_validated_range else rerun
    if rerun is None or new_scenarios is None:
        return shown, new_scenarios
    return shown, PairDifferences(
        widen_limits(new_scenarios.limits, rerun.limits),
        np.maximum(new_scenarios.seen, rerun.seen),
        np.maximum(new_scenarios.p, rerun.p),
    )


AT_ONCE = 1 << 14  # pairs: more of them need more memory and are hardly faster


def find_better_than_matrices(
    measured: dispersion.Measured, noise: JudgeNoise | None, largest_p: float
) -> tuple[Bools | None, Bools | None]:
    """Return two matrices, for the same scenarios (rerun) and for new scenarios: [i, j] is True if
    subject i is better than subject j, by a two-sided p-value of at most *largest_p*. None instead
    of a matrix if that is not known.

    For new scenarios, i must be better than j for the same scenarios, too.
    """
    number = len(measured.mean)
    pairs = list_pairs(number)

    def mask_significant_pairs(asks_new_scenarios: int) -> Bools | None:
        """Return a mask over all pairs of subjects: True for a pair whose scores differ
        significantly, for the same scenarios (*asks_new_scenarios* 0) or for new ones (1). None if
        it is not known.
        """
        parts = []
        for some in np.array_split(np.arange(len(pairs[0])), len(pairs[0]) // AT_ONCE + 1):
            first, second = (of[some] for of in pairs)
            sides = _SIDES[asks_new_scenarios](measured, first, second)
            if sides is None:
                return None
            more = (
                0
                if asks_new_scenarios
                else count_extra_ranking_degrees(number, bool(measured.trials.any()))
            )
            both = add_pair_judge_variance(*sides, noise, first, second)
            parts.append(find_significant_pairs(*both, 1 - largest_p, more))
        return np.concatenate(parts)

    rerun, new_scenarios = mask_significant_pairs(0), mask_significant_pairs(1)
    if rerun is not None and new_scenarios is not None:
        new_scenarios &= rerun
    found: list[Bools | None] = []
    for told in (None if measured.run_effects.is_beyond_validated_range else rerun, new_scenarios):
        if told is None:
            found.append(None)
            continue
        first, second = (of[told] for of in pairs)
        higher = measured.mean[first] > measured.mean[second]
        matrix = np.zeros((number, number), dtype=np.bool_)
        matrix[np.where(higher, first, second), np.where(higher, second, first)] = True
        found.append(matrix)
    return found[0], found[1]


def _make_pair_scores_per_question(
    measured: dispersion.Measured, noise: JudgeNoise | None, first: Numbers, second: Numbers
) -> Iterator[dispersion.Pair | None]:
    """Yield, first for the same scenarios and then for new ones, the scores of the first and of the
    second subject of every pair, with the variance between judges added; None if they are not
    known.
    """
    for pairs in _SIDES:
        sides = pairs(measured, first, second)
        yield None if sides is None else add_pair_judge_variance(*sides, noise, first, second)


# A ranking looks far into the tails, where a few degrees decide; the dispersions come mostly from
# all subjects together, so there are more. How many keep the promise was measured
# (docs/research/coverage.md).
RANKING_DEGREES = 20


def count_extra_ranking_degrees(subject_count: int, binary: bool) -> int:
    """Return how many degrees of freedom are added to the t-tests of a ranking of *subject_count*
    subjects; 0 if their scores are *binary*.
    """
    return 0 if binary else min(RANKING_DEGREES, subject_count)


def find_holm_rejections(p_values: Floats) -> Bools:
    """Return a mask of *p_values*: True for a hypothesis that Holm's procedure rejects, with a
    family-wise error of at most 1 - `LEVEL`, whichever hypotheses are true.

    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6, 1979, 65-70: from the smallest p-value on, the i-th of n is compared with (1 -
    LEVEL) / (n - i + 1), up to the first that is larger. Families are along the last axis; a NaN
    belongs to no family. An empty array for no p-value.
    """
    order = np.argsort(p_values, axis=-1, kind="stable")
    known = np.count_nonzero(~np.isnan(p_values), axis=-1, keepdims=True)
    bounds = (1 - LEVEL) / np.maximum(known - np.arange(p_values.shape[-1]), 1)
    passed = np.logical_and.accumulate(
        np.take_along_axis(p_values, order, axis=-1) <= bounds, axis=-1
    )
    rejected = np.zeros(p_values.shape, dtype=np.bool_)
    np.put_along_axis(rejected, order, passed, axis=-1)
    return rejected


def find_significant_differences(p_values: Sequence[float | None]) -> list[bool | None]:
    """Return for each of *p_values* whether its difference is significant, so that the chance is at
    most 5% that any truly zero difference is called significant. None for a p-value of None.

    By Holm's procedure over the p-values that are not None.
    """
    known = [p for p in p_values if p is not None]
    if not known or min(known) > (1 - LEVEL) / len(known):  # above the first bound, as most are
        return [None if p is None else False for p in p_values]
    kept = iter(find_holm_rejections(np.array(known, dtype=np.float64)).tolist())
    return [None if p is None else next(kept) for p in p_values]


def estimate_standings(
    measured: dispersion.Measured,
    noise: JudgeNoise | None,
    lowest_means: Sequence[float] | None = None,
) -> tuple[list[Standing] | None, list[Standing] | None]:
    """Return the best and worst rank that each subject may have, and whether it may be first, as
    two lists over subjects: for the same scenarios (rerun) and for new scenarios. None instead of a
    list if it is not known.

    A subject may be first if it is not significantly worse than any of the n - 1 others, by
    one-sided tests that share the 5% (Bonferroni). So the best subject is left out in at most 5% of
    rankings (S. S. Gupta, Technometrics 7, 1965, 225-245; J. C. Hsu, Annals of Statistics 9, 1981,
    1026-1034). A rank lies between 1 + (number of better subjects) and n - (number of worse
    subjects), by `find_corrected_better_than_matrices`. A subject that may not be first has rank 2
    at best. *lowest_means*: each mean if the lost replies had got the worst score; a subject that
    is not ahead with that is not better.
    """
    number = len(measured.mean)
    surely = (
        measured.mean
        if lowest_means is None
        else np.minimum(measured.mean, np.asarray(lowest_means))
    )
    ahead = surely[:, None] > measured.mean[None, :]
    found: list[list[Standing] | None] = []
    for one_sided, two_sided in zip(
        find_better_than_matrices(measured, noise, min(2 * _split_error_rate(number), 1.0)),
        find_corrected_better_than_matrices(measured, noise),
        strict=True,
    ):
        if one_sided is None or two_sided is None:
            found.append(None)
            continue
        first = np.count_nonzero(one_sided & ahead, axis=0) == 0
        above, below = ((two_sided & ahead).sum(axis=axis) for axis in (0, 1))
        low = np.maximum(1 + above, np.where(first, 1, 2))
        found.append(
            [
                Standing(int(best), int(worst), bool(may_be))
                for best, worst, may_be in zip(low, number - below, first, strict=True)
            ]
        )
    return found[0], found[1]


def find_corrected_better_than_matrices(
    measured: dispersion.Measured, noise: JudgeNoise | None
) -> tuple[Bools | None, Bools | None]:
    """Return two matrices, for the same scenarios (rerun) and for new scenarios: [i, j] is True if
    subject i is better than subject j by a two-sided test. The n - 1 tests of each subject share an
    error of 5% (Bonferroni). None instead of a matrix if that is not known.
    """
    return find_better_than_matrices(measured, noise, _split_error_rate(len(measured.mean)))


def _split_error_rate(subject_count: int) -> float:
    """Return the error rate of each of the *subject_count* - 1 tests that compare one subject with
    all others and share 5% (Bonferroni).
    """
    return (1 - LEVEL) / max(subject_count - 1, 1)


def list_pairs(number: int) -> tuple[Numbers, Numbers]:
    """Return every pair of *number* subjects once, as two arrays of their numbers from 0, the
    smaller first.
    """
    return np.triu_indices(number, 1)
