"""Both questions asked of the same numbers: intervals, differences and p-values, *again* and *another* side by side.

Pure functions on numbers. Whatever varies when the same test is played again varies in another test like it, too, so
the second answer is never surer than the first: its interval holds that of the first, its p is no smaller. Where runs
are shifted together by more than any interval was found to hold, the first question has no answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from independence_bench.analysis.statistics import dispersion
from independence_bench.analysis.statistics.intervals import (
    Limits,
    differences,
    intervals,
    joined,
    no_narrower,
    p_values,
    smallest_seen,
)
from independence_bench.analysis.statistics.ranking import ranking_degrees
from independence_bench.analysis.statistics.shared_effects import JudgeNoise, pairs_with_judges, with_judges
from independence_bench.analysis.statistics.values import Floats, Numbers


@dataclass(frozen=True, slots=True, eq=False)
class PairDifferences:
    """Differences of pairs of subjects by one question; arrays over pairs, in the unit of a score in [0, 1]."""

    limits: Limits
    seen: Floats  # the smallest true difference that 80 of 100 repetitions would tell from none
    p: Floats  # at which 0 would be on the edge of the interval


Answers = tuple[PairDifferences | None, PairDifferences | None]  # rerun, new_scenarios
ComparedScore = tuple[dispersion.Measured, JudgeNoise | None, float]  # of a score; degrees on top for the tail of p


def limits_of(measured: dispersion.Measured, noise: JudgeNoise | None) -> tuple[Limits | None, Limits | None]:
    """(rerun, new_scenarios): low and high of each subject; None where it is not known."""
    shown = not measured.run_effects.beyond
    rerun, new_scenarios = (
        None if scores is None else intervals(with_judges(scores, noise))
        for scores in (dispersion.scores_rerun(measured), dispersion.scores_new_scenarios(measured))
    )
    return rerun if shown else None, None if new_scenarios is None else no_narrower(new_scenarios, rerun)


def all_differences(asked: Sequence[ComparedScore], first: Numbers, second: Numbers) -> list[Answers]:
    """Of each score that is *asked* about (rerun, new_scenarios): subjects *first* minus *second*, by number.

    All at once: on a small board one score takes as long as all of them.
    """
    sides = [tuple(_sides(measured, noise, first, second)) for measured, noise, _ in asked]
    more = [degrees for *_, degrees in asked]
    both = (_differences([of[question] for of in sides], more) for question in range(2))
    return [_answers(measured, *of_both) for (measured, *_), *of_both in zip(asked, *both, strict=True)]


def _differences(sides: Sequence[dispersion.Pair | None], more: Sequence[float]) -> list[PairDifferences | None]:
    """Those of each score, whose two sides have a number for each pair of subjects."""
    of_scores: list[PairDifferences | None] = [None] * len(sides)
    alike: dict[tuple[tuple[bool, bool], ...], list[tuple[int, dispersion.Pair]]] = defaultdict(list)
    for place, pair in enumerate(sides):
        if pair is not None:
            alike[tuple((side.shared, side.exact) for side in pair)].append((place, pair))
    for those in alike.values():
        places, pairs = zip(*those, strict=True)
        one, other = map(joined, zip(*pairs, strict=True))
        degrees = np.repeat([more[place] for place in places], len(one.mean) // len(places))
        columns = *differences(one, other), smallest_seen(one, other), p_values(one, other, degrees)
        for place, low, high, seen, p in zip(places, *(of.reshape(len(places), -1) for of in columns), strict=True):
            of_scores[place] = PairDifferences((low, high), seen, p)
    return of_scores


def _answers(
    measured: dispersion.Measured, rerun: PairDifferences | None, new_scenarios: PairDifferences | None
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


def ranking_p(
    measured: dispersion.Measured, noise: JudgeNoise | None, first: Numbers, second: Numbers
) -> tuple[Floats | None, Floats | None]:
    """(rerun, new scenarios): what a ranking takes for its pairs.

    The tail of the first has more degrees, the dispersions coming mostly from all subjects together; that of the
    second has none, because the subjects have its scenarios in common.
    """
    rerun, new_scenarios = _sides(measured, noise, first, second)
    p_rerun = None
    if rerun is not None:
        more = ranking_degrees(len(measured.mean), bool(measured.trials.any()))
        one, other = (dispersion.for_ranking(measured, side) for side in rerun)
        p_rerun = p_values(one, other, more)
    p_new_scenarios = None if new_scenarios is None else p_values(*new_scenarios)
    if p_rerun is not None and p_new_scenarios is not None:
        p_new_scenarios = np.maximum(p_new_scenarios, p_rerun)
    return None if measured.run_effects.beyond else p_rerun, p_new_scenarios


def _sides(
    measured: dispersion.Measured, noise: JudgeNoise | None, first: Numbers, second: Numbers
) -> Iterator[dispersion.Pair | None]:
    """Both sides of the differences, with the judges in them: of a rerun, then of new scenarios."""
    for pairs in (dispersion.pairs_rerun, dispersion.pairs_new_scenarios):
        sides = pairs(measured, first, second)
        yield None if sides is None else pairs_with_judges(*sides, noise, first, second)
