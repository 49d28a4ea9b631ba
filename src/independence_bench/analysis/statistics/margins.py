"""Whether one of two builds is worse than the other by more than a margin, and what such a comparison can see.

Pure functions on numbers. Both builds answered the same scenarios, their runs have nothing in common, and the question
is *the same test again*: a verdict is one on these scenarios. Where no subject has two runs, nothing says how runs
vary; then the difference is taken scenario by scenario, and its interval is that of *another test like it*. It is
wider: how unlike two builds are from scenario to scenario is in it as well as the noise of runs.

    worse        the whole interval of the difference lies below minus the margin
    not worse    it lies wholly above
    open         neither, at this number of runs

This is a test of non-inferiority and one of inferiority by the same interval (G. Piaggio and others, JAMA 308, 2012,
2594-2604): either of the first two verdicts is wrong at most as often as the interval misses at that end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal

import numpy as np

from independence_bench.analysis.statistics.dispersion import Measured, Pair, pairs_new_scenarios, pairs_rerun
from independence_bench.analysis.statistics.intervals import LEVEL, differences, smallest_seen
from independence_bench.analysis.statistics.planning import after, fewest_runs
from independence_bench.analysis.statistics.values import Floats, Interval

Verdict = Literal["worse", "not worse", "open"]
_HALVINGS = 14  # of at most the whole scale: a hundredth of a point


@dataclass(frozen=True, slots=True, eq=False)
class MarginTest:
    """The difference now minus before of a score in [0, 1], and what could have been seen; in the same unit."""

    difference: float
    interval: Interval
    over_scenarios: bool  # no subject has two runs, so it is paired by scenario
    sides: Pair  # now, before
    level: float
    careful: float = 1.0  # what variances are multiplied by to foresee

    def verdict(self, margin: float) -> Verdict:
        """What the interval says of a *margin* in [0, 1]."""
        if self.interval.high < -margin:
            return "worse"
        return "not worse" if self.interval.low > -margin else "open"

    @property
    def passable(self) -> float:
        """The smallest margin at which a build that is no worse is found so in 80 of 100 repetitions."""
        return self._seen(float(self.sides[1].mean[0]))

    def _seen(self, mean: float) -> float:
        """The smallest distance from the margin that 80 of 100 repetitions tell from none, the build being at *mean*.

        So that it varies as a build does there: below the ceiling more.
        """
        now, before = self.sides
        there = replace(now, mean=np.full_like(now.mean, mean))
        return float(smallest_seen(there, before, self.level)[0]) * sqrt(self.careful)

    def smallest_drop(self, margin: float) -> float | None:
        """The smallest true drop that 80 of 100 repetitions find worse; None: not even one to 0."""
        most = float(self.sides[1].mean[0])

        def seen(drop: float) -> bool:
            return drop - margin >= self._seen(most - drop)

        small, large = margin, most
        if large <= small or not seen(large):
            return None
        for _ in range(_HALVINGS):
            middle = (small + large) / 2
            small, large = (small, middle) if seen(middle) else (middle, large)
        return large


@dataclass(frozen=True, slots=True)
class RunsNeeded:
    """How many runs would decide in 80 of 100 repetitions, if the difference is what it is now; None: no number."""

    now: int | None  # of the build that is tested, the other one staying as it is
    both: int | None  # of each of the two


def level_of(looks: int) -> float:
    """The level of each of so many intervals, of which with a chance of 95% none misses (Bonferroni)."""
    return 1 - (1 - LEVEL) / looks


def look_level(runs: float) -> float:
    """The level of an interval after so many *runs* (at least 1), where somebody may have looked after each of them.

    1 - 0.05 / (runs + 2). If every run adds as much information, one of all intervals from the second run on, however
    many, leaves out the truth in 4.4% of 400,000 random walks (of marks: benchmarks/coverage/looks.py).
    """
    return 1 - (1 - LEVEL) / (runs + 2)


def margin_test(measured: Measured, now: int, before: int, level: float = LEVEL) -> MarginTest | None:
    """Subject number *now* less number *before*.

    None where no interval was found to hold (`run_effects.beyond`), where no subject has two runs and a dimension that
    counts has a single scenario, and where a mark is missing.
    """
    over_scenarios = not measured.rerun.known.any()
    sides = (pairs_new_scenarios if over_scenarios else pairs_rerun)(measured, np.array([now]), np.array([before]))
    if sides is None or measured.run_effects.beyond or np.isnan(measured.mean[[now, before]]).any():
        return None
    low, high = differences(*sides, level)
    gap = float(measured.mean[now] - measured.mean[before])
    interval = Interval(float(low[0]), float(high[0]))
    return MarginTest(gap, interval, over_scenarios, sides, level, _careful(measured))


def runs_needed(measured: Measured, now: int, before: int, margin: float, level: float | None = LEVEL) -> RunsNeeded:
    """How many runs would decide about the difference that was found, dispersions staying as they are.

    Where no subject has two runs they are what is believed beforehand. *level* None: that of `look_level`.
    """
    away = abs(float(measured.mean[now] - measured.mean[before]) + margin) / sqrt(_careful(measured))
    own = measured.runs

    def decides(runs: Floats) -> bool:
        scores = after(measured, runs)
        one, other = scores.at(np.array([now])), scores.at(np.array([before]))
        of_these = look_level(float(runs[[now, before]].max())) if level is None else level
        return bool(smallest_seen(one, other, of_these)[0] <= away)

    few, number = max(int(own[now]) + 1, 2), np.arange(len(own))
    both = np.isin(number, (now, before))
    return RunsNeeded(
        now=fewest_runs(lambda runs: decides(np.where(number == now, float(runs), own)), few),
        both=fewest_runs(lambda runs: decides(np.where(both, np.maximum(own, runs), own)), few),
    )


def _careful(measured: Measured) -> float:
    """What variances are multiplied by to foresee what a gate will find: by one standard error of the ratio of runs.

    Where something shifts whole runs, a few of them say little of how much: half of all gates then take it for less
    than it is, and would promise too much.
    """
    effects = measured.run_effects
    shifted = effects.ratio is not None and effects.ratio > 1 and effects.degrees > 0
    return 1 + sqrt(2 / effects.degrees) if shifted else 1.0
