"""Both questions, *rerun* and *new_scenarios*, asked of the same numbers: intervals, differences
and p-values.

Pure functions on numbers. Whatever varies when the same test is played again varies in another test
like it, too, so the second answer is never surer than the first: its interval holds that of the
first, its p is no smaller. Where runs are shifted together by more than any interval was found to
hold, the first question has no answer.

Ranks that are claimed follow from a p-value for every pair: only from the pairs that stand after
Holm's correction, so the chance that a ranking holds a single false "better than" is at most 1 -
level, whoever is equal to whom.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from string import ascii_lowercase

import numpy as np

from independence_bench.analysis.statistics import dispersion
from independence_bench.analysis.statistics.intervals import (
    LEVEL,
    Limits,
    Scores,
    differences,
    intervals,
    joined,
    no_narrower,
    p_near,
    p_values,
    shared_degrees,
    smallest_seen,
    t_quantile,
)
from independence_bench.analysis.statistics.shared_effects import (
    JudgeNoise,
    pairs_with_judges,
    with_judges,
)
from independence_bench.analysis.statistics.values import (
    Bools,
    Floats,
    Numbers,
    PairDifferences,
    Standing,
)

_SIDES = dispersion.pairs_rerun, dispersion.pairs_new_scenarios  # by question
Answers = tuple[PairDifferences | None, PairDifferences | None]  # rerun, new_scenarios
# of a score; degrees on top for the tail of p
ComparedScore = tuple[dispersion.Measured, JudgeNoise | None, float]


def limits_of(
    asked: Sequence[tuple[dispersion.Measured, JudgeNoise | None]],
) -> list[tuple[Limits | None, Limits | None]]:
    """Of each score that is *asked* about (rerun, new_scenarios): low and high of each subject;
    None: not known.

    All at once, as `all_differences`.
    """
    sides = [
        None if scores is None else with_judges(scores, noise)
        for measured, noise in asked
        for scores in (dispersion.scores_rerun(measured), dispersion.scores_new_scenarios(measured))
    ]
    known = [scores for scores in sides if scores is not None]
    ends = np.cumsum([len(scores.mean) for scores in known])[:-1]
    of_known = iter(
        zip(*(np.split(limits, ends) for limits in intervals(joined(known))), strict=True)
        if known
        else ()
    )
    limits = [None if scores is None else next(of_known) for scores in sides]
    return [
        (
            None if measured.run_effects.beyond else rerun,
            None if new_scenarios is None else no_narrower(new_scenarios, rerun),
        )
        for (measured, _), rerun, new_scenarios in zip(
            asked, limits[::2], limits[1::2], strict=True
        )
    ]


def all_differences(
    asked: Sequence[ComparedScore],
    first: Numbers,
    second: Numbers,
    level: float = LEVEL,
    standing: bool = False,
) -> list[Answers]:
    """Of each score that is *asked* about (rerun, new_scenarios): subjects *first* minus *second*,
    by number.

    All at once: on a small board one score takes as long as all of them. At *level*; a p is
    multiplied until it is 5% at the edge of the interval. *standing*: only what may stand is asked
    about, so a p that is surely above 5% is 1, and what could have been seen in a scenario is NaN.
    """
    sides = [tuple(_sides(measured, noise, first, second)) for measured, noise, _ in asked]
    more = [degrees for *_, degrees in asked]
    both = (
        _differences([of[question] for of in sides], more, level, standing) for question in range(2)
    )
    return [
        _answers(measured, *of_both) for (measured, *_), *of_both in zip(asked, *both, strict=True)
    ]


def _differences(
    sides: Sequence[dispersion.Pair | None], more: Sequence[float], level: float, standing: bool
) -> list[PairDifferences | None]:
    """Those of each score, whose two sides have a number for each pair of subjects."""
    of_scores: list[PairDifferences | None] = [None] * len(sides)
    alike: dict[tuple[tuple[bool, bool], ...], list[tuple[int, dispersion.Pair]]] = defaultdict(
        list
    )
    for place, pair in enumerate(sides):
        if pair is not None:
            alike[tuple((side.shared, side.exact) for side in pair)].append((place, pair))
    for those in alike.values():
        places, pairs = zip(*those, strict=True)
        one, other = map(joined, zip(*pairs, strict=True))
        degrees = np.repeat([more[place] for place in places], len(one.mean) // len(places))
        critical = t_quantile(level, shared_degrees(one, other))
        low, high = differences(one, other, level, critical)
        # no interval holds 0 below 5%, but for exact shares, whose own test is sharper, and where
        # degrees are added
        asked = (
            (low > 0) | (high < 0) | (not standing or (one.exact and other.exact)) | (degrees > 0)
        )
        p_value = np.where(np.isnan(low), np.nan, 1.0)  # what is not known is no hypothesis
        of_asked = p_values(one.at(asked), other.at(asked), degrees[asked])
        p_value[asked] = np.minimum(of_asked * ((1 - LEVEL) / (1 - level)), 1.0)
        seen, over_all = np.full(low.shape, np.nan), (degrees == 0) | (not standing)
        seen[over_all] = smallest_seen(
            one.at(over_all), other.at(over_all), level, critical[over_all]
        )
        columns = low, high, seen, p_value
        for place, low, high, seen, p in zip(
            places, *(of.reshape(len(places), -1) for of in columns), strict=True
        ):
            of_scores[place] = PairDifferences((low, high), seen, p)
    return of_scores


def _answers(
    measured: dispersion.Measured,
    rerun: PairDifferences | None,
    new_scenarios: PairDifferences | None,
) -> Answers:
    """What is shown of both; the second is never surer than the first."""
    shown = None if measured.run_effects.beyond else rerun
    if rerun is None or new_scenarios is None:
        return shown, new_scenarios
    return shown, PairDifferences(
        no_narrower(new_scenarios.limits, rerun.limits),
        np.maximum(new_scenarios.seen, rerun.seen),
        np.maximum(new_scenarios.p, rerun.p),
    )


def picked(every: Answers, number: int, first: Numbers, second: Numbers) -> Answers:
    """Subjects *first* minus *second*, out of *every* pair of *number* subjects, as `pairs_of` has
    them.

    Where *first* comes after *second*, with the signs turned: no formula here tells its sides
    apart.
    """
    low, high = np.minimum(first, second), np.maximum(first, second)
    which, turned = low * (2 * number - low - 1) // 2 + high - low - 1, first > second

    def of(answer: PairDifferences | None) -> PairDifferences | None:
        if answer is None:
            return None
        below, above = (limit[which] for limit in answer.limits)
        # no -0.0
        limits = np.where(turned, 0.0 - above, below), np.where(turned, 0.0 - below, above)
        return PairDifferences(limits, answer.seen[which], answer.p[which])

    return of(every[0]), of(every[1])


def ranking_p(
    measured: dispersion.Measured, noise: JudgeNoise | None, first: Numbers, second: Numbers
) -> tuple[Floats | None, Floats | None]:
    """(rerun, new scenarios): what a ranking takes for its pairs.

    The tail of the first has more degrees, the dispersions coming mostly from all subjects
    together; that of the second has none, because the subjects have its scenarios in common.
    """
    asked = (_ranking_sides(measured, noise, question, first, second) for question in range(2))
    p_rerun, p_new_scenarios = (None if sides is None else p_values(*sides) for sides in asked)
    if p_rerun is not None and p_new_scenarios is not None:
        p_new_scenarios = np.maximum(p_new_scenarios, p_rerun)
    return None if measured.run_effects.beyond else p_rerun, p_new_scenarios


def _ranking_sides(
    measured: dispersion.Measured,
    noise: JudgeNoise | None,
    question: int,
    first: Numbers,
    second: Numbers,
) -> tuple[Scores, Scores, float] | None:
    """Both sides by that question, 0 or 1, and the degrees on top."""
    sides = _SIDES[question](measured, first, second)
    if sides is None:
        return None
    one, other = pairs_with_judges(*sides, noise, first, second)
    if question:
        return one, other, 0.0
    more = ranking_degrees(len(measured.mean), bool(measured.trials.any()))
    return dispersion.for_ranking(measured, one), dispersion.for_ranking(measured, other), more


AT_ONCE = 1 << 14  # pairs: more of them need more memory and are hardly faster
WORKED_OUT = 20_000  # pairs of which every p is worked out
NEXT = 1.1  # times Holm's bound: where p is worked out next to it


def told_apart(
    measured: dispersion.Measured, noise: JudgeNoise | None, worked_out: int = WORKED_OUT
) -> tuple[Bools | None, Bools | None]:
    """(rerun, new scenarios): of every pair, in the order of `pairs_of`, whether `holm` rejects its
    p of `ranking_p`.

    A thousand subjects have half a million pairs, and a p takes fifty looks at two intervals where
    to know on which side of a bound it is takes two. So p is worked out only next to the bound, of
    about *worked_out* pairs: all of them up to 200 subjects.
    """
    first, second = pairs_of(len(measured.mean))

    def ask(question: int) -> Bools | None:
        def p(which: Numbers) -> Floats:
            found = ranking_p(measured, noise, first[which], second[which])[question]
            return np.ones(len(which)) if found is None else found

        def near(which: Numbers, bound: float) -> tuple[Bools, Bools]:
            known = np.ones((2, len(which)), dtype=np.bool_)
            for some in np.array_split(np.arange(len(which)), len(which) // AT_ONCE + 1):
                # by the second question p is the larger of the two
                for asked in range(question + 1):
                    left = some[known[1, some]]
                    pairs = first[which[left]], second[which[left]]
                    sides = _ranking_sides(measured, noise, asked, *pairs) if len(left) else None
                    if sides is not None:
                        known[:, left] &= p_near(*sides, bound)
            return known[0] & known[1], known[1]

        no_subjects = np.array([], dtype=np.intp)
        return (
            None
            if ranking_p(measured, noise, no_subjects, no_subjects)[question] is None
            else holm_near(len(first), p, near, worked_out)
        )

    return ask(0), ask(1)


def holm_near(
    number: int,
    p_of: Callable[[Numbers], Floats],
    near: Callable[[Numbers, float], tuple[Bools, Bools]],
    worked_out: int,
    level: float = LEVEL,
) -> Bools:
    """What `holm` says of *number* p-values of which most are not worked out.

    *p_of* gives those of some of them; *near* says of which it is known that they are at most a
    bound, and of which it may be so. About *worked_out* are asked for at once.
    """
    rejected, left = np.zeros(number, dtype=np.bool_), np.arange(number)
    if number > worked_out:
        left = left[near(left, 1 - level)[1]]  # nothing above the last bound is ever rejected
    while len(left):
        window = left
        if len(left) > worked_out:
            surely, _ = near(left, (1 - level) / (number - rejected.sum()))
            rejected[left[surely]] = True
            left = left[~surely]
            if 100 * surely.sum() > len(surely):
                continue  # the bound has moved
            window = (
                left[near(left, NEXT * (1 - level) / (number - rejected.sum()))[1]]
                if len(left)
                else left
            )
        p = p_of(window)
        order = np.argsort(p, kind="stable")
        bounds = (1 - level) / (number - rejected.sum() - np.arange(len(p)))
        passed = np.logical_and.accumulate(p[order] <= bounds)
        rejected[window[order[passed]]] = True
        if not len(passed) or not passed.all():
            break
        left = left[~rejected[left]]
    return rejected


def _sides(
    measured: dispersion.Measured, noise: JudgeNoise | None, first: Numbers, second: Numbers
) -> Iterator[dispersion.Pair | None]:
    """Both sides of the differences, with the judges in them: of a rerun, then of new scenarios."""
    for pairs in _SIDES:
        sides = pairs(measured, first, second)
        yield None if sides is None else pairs_with_judges(*sides, noise, first, second)


FEWEST_DRAWN = 4  # subjects
TINY = 1e-12  # a dispersion is at least so much
# A ranking looks far into the tails of thousands of differences, where a few degrees decide; the
# dispersions come mostly from all subjects together, so there are more. How many keep the promise
# was measured
# (docs/statistics-methods.md).
RANKING_DEGREES = 20


def ranking_degrees(number: int, binary: bool) -> int:
    """How many degrees are added for a ranking of *number* subjects; none where their marks are
    *binary*.
    """
    return 0 if binary else min(RANKING_DEGREES, number)


def holm(p_values: Floats, level: float = LEVEL) -> Bools:
    """Which hypotheses are rejected with a family-wise error of at most 1 - *level*, whichever of
    them are true.

    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6, 1979, 65-70: from the smallest p-value on, the i-th of n is compared with (1 -
    level) / (n - i + 1), up to the first that is larger. Families are along the last axis; a NaN is
    none of their hypotheses. An empty array for none.
    """
    order = np.argsort(p_values, axis=-1, kind="stable")
    known = np.count_nonzero(~np.isnan(p_values), axis=-1, keepdims=True)
    bounds = (1 - level) / np.maximum(known - np.arange(p_values.shape[-1]), 1)
    passed = np.logical_and.accumulate(
        np.take_along_axis(p_values, order, axis=-1) <= bounds, axis=-1
    )
    rejected = np.zeros(p_values.shape, dtype=np.bool_)
    np.put_along_axis(rejected, order, passed, axis=-1)
    return rejected


def standing_out(p_values: Sequence[float | None]) -> list[bool | None]:
    """Which of several differences are significant, with a chance of at most 5% that any is truly
    0.

    By Holm's procedure over those that have a p-value; None for the others.
    """
    known = [p for p in p_values if p is not None]
    if not known or min(known) > (1 - LEVEL) / len(known):  # above the first bound, as most are
        return [None if p is None else False for p in p_values]
    kept = iter(holm(np.array(known, dtype=np.float64)).tolist())
    return [None if p is None else next(kept) for p in p_values]


def shrunken(scores: Scores) -> Floats:
    """[subjects]: each mean drawn towards all of them, as far as chance alone may have moved it
    away; in [0, 1].

    Of many who are alike the best one was the luckiest. Empirical Bayes on the angle asin
    sqrt(mean), whose variance is a quarter of the dispersion wherever the mean is: normal around a
    common angle, with the variance between subjects by moments (R. DerSimonian and N. Laird,
    Controlled Clinical Trials 7, 1986, 177-188), each drawn by (n - 3)/(n - 1) of its share that is
    noise (C. N. Morris, Journal of the American Statistical Association 78, 1983, 47-55). With
    fewer than four subjects nothing is drawn.
    """
    number = len(scores.mean)
    if number < FEWEST_DRAWN:
        return scores.mean
    # a mean of marks may be a rounding error beyond its ends
    angles, noise = (
        np.arcsin(np.sqrt(np.clip(scores.mean, 0.0, 1.0))),
        np.maximum(scores.dispersion, TINY) / 4,
    )
    weights = 1 / noise
    middle = (weights * angles).sum() / weights.sum()
    spare = weights.sum() - np.square(weights).sum() / weights.sum()
    between = max(((weights * np.square(angles - middle)).sum() - (number - 1)) / spare, 0.0)
    weights = 1 / (noise + between)
    middle = (weights * angles).sum() / weights.sum()
    drawn = (number - 3) / (number - 1) * noise / (noise + between)
    return np.asarray(np.square(np.sin(angles + drawn * (middle - angles))))


def standings(
    indices: Sequence[float], apart: Bools, least: Sequence[float] | None = None
) -> list[Standing]:
    """The standing of each subject, from its index and which pairs are told *apart*, in the order
    of `pairs_of`.

    A rank lies between 1 + (those that are better) and n - (those that are worse), of which certain
    ones are counted.
    *least*: what each index would be if what was lost had been the worst; who is not ahead with
    that, is not better.
    """
    number = len(indices)
    first, second = pairs_of(number)
    better = np.zeros((number, number), dtype=np.bool_)  # [i, j]: i is better than j
    higher = np.asarray(indices, dtype=np.float64)
    surely = higher if least is None else np.minimum(higher, np.asarray(least, dtype=np.float64))
    better[first, second] = apart & (surely[first] > higher[second])
    better[second, first] = apart & (surely[second] > higher[first])
    letters = tie_groups(indices, better | better.T)
    above, below = better.sum(axis=0), better.sum(axis=1)
    return [
        Standing(1 + int(above[i]), number - int(below[i]), letters[i], not above[i])
        for i in range(number)
    ]


def pairs_of(number: int) -> tuple[Numbers, Numbers]:
    """Every pair of *number* subjects once, as two arrays of their numbers from 0, the smaller
    first.
    """
    return np.triu_indices(number, 1)


def tie_groups(indices: Sequence[float], apart: Bools) -> list[str]:
    """Letters for each subject: two share one exactly if nothing between them in order, themselves
    included, is apart.

    A compact letter display (H. P. Piepho, Journal of Computational and Graphical Statistics 13,
    2004, 456-466) over the order of the indices: each letter is a longest stretch of neighbours of
    whom no two are *apart*. So two that are not apart share none where one between them, measured
    more closely, is apart from one of them.
    """
    order = sorted(range(len(indices)), key=lambda i: -indices[i])
    letters: list[list[str]] = [[] for _ in indices]
    # a, b, ... z, then a1, b1, ...
    names = (f"{letter}{turn or ''}" for turn in count() for letter in ascii_lowercase)
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
