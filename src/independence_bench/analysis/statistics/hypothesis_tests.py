"""The test of builds whether a score is worse by more than a margin. Pure functions. That of a
character's items: item_tests.py.

Both builds answered the same scenarios, their runs have nothing in common, and the question
is *the same test again*: a verdict is one on these scenarios. If no subject has two runs, nothing
says how runs vary; then the difference is taken scenario by scenario, and its interval is that of
*another test like it*. It is wider, because it includes how unlike two builds are from scenario to
scenario as well as the noise of runs.

    fail         the whole interval of the difference lies below minus the margin
    pass         it lies wholly above
    undecided    neither, at this number of runs

Without a margin a build fails if the whole interval lies below 0, and passes if it lies above minus
the smallest drop that these runs can decide: one that fails in 80 of 100 repetitions.

This is a test of non-inferiority and one of inferiority by the same interval (G. Piaggio and
others, JAMA 308, 2012, 2594-2604): either of the first two verdicts is wrong at most as often as
the interval misses at that end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal

import numpy as np

from independence_bench.analysis.statistics.dispersion import (
    Measured,
    Pair,
    make_new_scenarios_pair_scores,
    make_rerun_pair_scores,
)
from independence_bench.analysis.statistics.intervals import (
    LEVEL,
    compute_detectable_difference,
    compute_difference_limits,
)
from independence_bench.analysis.statistics.planning import find_fewest_runs, predict_scores
from independence_bench.analysis.statistics.values import Floats, Interval

Verdict = Literal["fail", "undecided", "pass"]  # of several the first that there is
_HALVINGS = 14  # of at most the whole scale: a hundredth of a point


@dataclass(frozen=True, slots=True, eq=False)
class MarginTest:
    """The difference of a score in [0, 1] between two builds of a model, now minus before, with its
    interval, to be compared with a margin.
    """

    difference: float
    interval: Interval
    over_scenarios: bool  # no subject has two runs, so it is paired by scenario
    sides: Pair  # now, before
    level: float
    spread: float = 1.0  # factor of standard errors to foresee other gates

    def decide_verdict(self, margin: float | None, decidable_drop: float | None) -> Verdict:
        """Return whether the new build's score fell by more than *margin*, in [0, 1]: "fail" if the
        whole interval lies below minus the margin, "pass" if it lies above, else "undecided".

        If *margin* is None, the test is for any drop: it fails if the whole interval lies below 0,
        and passes if a drop of *decidable_drop* (from `find_smallest_drop`) lies outside it.
        """
        if self.interval.high < -(margin or 0.0):
            return "fail"
        excluded = decidable_drop if margin is None else margin
        return "pass" if excluded is not None and self.interval.low > -excluded else "undecided"

    def _compute_detectable_distance(self, mean: float) -> float:
        """Return the smallest distance of the builds' difference from the margin that 80 of 100
        repetitions find significant, if the new build's score is *mean*, in [0, 1].

        Scores vary more below the ceiling, so the variance is taken at *mean*.
        """
        now, before = self.sides
        there = replace(now, mean=np.full_like(now.mean, mean))
        return float(compute_detectable_difference(there, before, self.level)[0]) * self.spread

    def find_smallest_drop(self, margin: float | None) -> float | None:
        """Return the smallest true drop of the score, in [0, 1], that fails the test with *margin*
        in 80 of 100 repetitions; None if not even a drop to 0 does.
        """
        most = float(self.sides[1].mean[0])
        small, large = margin or 0.0, most

        def is_seen(drop: float) -> bool:
            """Return whether a true *drop* of the score fails the test in 80 of 100 repetitions."""
            return drop - (margin or 0.0) >= self._compute_detectable_distance(most - drop)

        if large <= small or not is_seen(large):
            return None
        for _ in range(_HALVINGS):
            middle = (small + large) / 2
            small, large = (small, middle) if is_seen(middle) else (middle, large)
        return large


@dataclass(frozen=True, slots=True)
class RunsNeeded:
    """How many runs would decide whether a build is worse by more than a margin, in 80 of 100
    repetitions, if the true difference is the one found now. None if no number of runs would.
    """

    now: int | None  # of the build that is tested, the other one staying as it is
    both: int | None  # of each of the two


def compute_confidence_level_per_look(looks: int) -> float:
    """Return the level of each of so many intervals (*looks*), such that with a chance of 95% all
    of them contain their true values (Bonferroni).
    """
    return 1 - (1 - LEVEL) / looks


def make_margin_test(
    measured: Measured, now_subject: int, before_subject: int, level: float = LEVEL
) -> MarginTest | None:
    """Return the test that compares two builds of a model: the score of subject number
    *now_subject* minus that of subject number *before_subject*, with its interval at *level*.

    None if whole runs are shifted too much for any validated interval, if no subject has two runs
    and a dimension that counts has a single scenario, and if a score is missing.
    """
    over_scenarios = not measured.rerun.known.any()
    sides = (make_new_scenarios_pair_scores if over_scenarios else make_rerun_pair_scores)(
        measured, np.array([now_subject]), np.array([before_subject])
    )
    if (
        sides is None
        or measured.run_effects.is_beyond_validated_range
        or np.isnan(measured.mean[[now_subject, before_subject]]).any()
    ):
        return None
    low, high = compute_difference_limits(*sides, level)
    gap = float(measured.mean[now_subject] - measured.mean[before_subject])
    interval = Interval(float(low[0]), float(high[0]))
    return MarginTest(
        gap, interval, over_scenarios, sides, level, _compute_prediction_spread_factor(measured)
    )


def count_runs_needed(
    measured: Measured, now_subject: int, before_subject: int, margin: float, level: float = LEVEL
) -> RunsNeeded:
    """Return how many runs would decide, in 80 of 100 repetitions, whether subject number
    *now_subject* is worse than subject number *before_subject* by more than *margin*, in [0, 1].
    The true difference is taken to be the one found, and dispersions to stay as they are.

    If no subject has two runs, the dispersions are those believed beforehand.
    """
    away = abs(float(measured.mean[now_subject] - measured.mean[before_subject]) + margin)
    away /= _compute_prediction_spread_factor(measured)
    own = measured.runs

    def is_difference_detectable(runs_per_subject: Floats) -> bool:
        """Return whether so many *runs_per_subject*, a number for each subject, make the difference
        between the two builds detectable.
        """
        scores = predict_scores(measured, runs_per_subject)
        one, other = (
            scores.select_scores(np.array([now_subject])),
            scores.select_scores(np.array([before_subject])),
        )
        return bool(compute_detectable_difference(one, other, level)[0] <= away)

    few, number = max(int(own[now_subject]) + 1, 2), np.arange(len(own))
    both = np.isin(number, (now_subject, before_subject))
    return RunsNeeded(
        now=find_fewest_runs(
            lambda runs: is_difference_detectable(
                np.where(number == now_subject, float(runs), own)
            ),
            few,
        ),
        both=find_fewest_runs(
            lambda runs: is_difference_detectable(np.where(both, np.maximum(own, runs), own)), few
        ),
    )


def _compute_prediction_spread_factor(measured: Measured) -> float:
    """Return the factor, at least 1, by which standard errors are enlarged to predict later tests
    of builds. It is above 1 if something shifts whole runs together: the variance is then enlarged
    by one standard error of the ratio of run variances.

    A few runs say little about how much whole runs are shifted. Half of all tests find less than it
    is, and would promise too much.
    """
    effects = measured.run_effects
    shifted = effects.ratio is not None and effects.ratio > 1 and effects.degrees > 0
    return sqrt(1 + sqrt(2 / effects.degrees)) if shifted else 1.0
