"""The values that say how sure numbers and ranks are, and the types of arrays that the statistics
take and return. No arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import numpy.typing as npt

from independence_bench.columns import HIDDEN, SENT, Column
from independence_bench.figures import Format

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.intp]  # of subjects, scenarios or transcripts, from 0


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval at the stated level, in the unit of its number. *low* <= *high*."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """Width of the interval: its upper limit minus its lower limit, in their unit."""
        return self.high - self.low

    def contains(self, number: float) -> bool:
        """Return whether *number* lies in the interval, both limits included."""
        return self.low <= number <= self.high

    def as_text(self, form: Format) -> str:
        """Return the interval's lower and upper limit as text, formatted by *form*."""
        return form.ends(self)

    def scale_interval(self, factor: float) -> Interval:
        """Return the interval in another unit, with both limits multiplied by *factor*. A negative
        *factor* swaps the limits.
        """
        low, high = sorted((factor * self.low, factor * self.high))
        return Interval(low, high)

    def clip_interval(self, low: float, high: float) -> Interval:
        """Return the interval with both limits moved into [*low*, *high*]."""
        return Interval(min(max(self.low, low), high), max(min(self.high, high), low))


@dataclass(frozen=True, slots=True)
class Standing:
    """The ranks that one subject may have, at 95% for this subject."""

    rank_low: int  # the best rank that it may have; 1 is the first
    rank_high: int  # the worst one
    tied_with_best: bool  # it may be first: no other subject is significantly better

    @property
    def is_certain(self) -> bool:
        """Whether the subject can have only one rank: its best and its worst possible rank are the
        same.
        """
        return self.rank_low == self.rank_high


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """The two 95% intervals of one number, one for each question (same scenarios, new scenarios),
    in its own unit. None if an interval is not known.
    """

    rerun: Interval | None = None
    new_scenarios: Interval | None = None

    def scale_intervals(self, factor: float) -> Uncertainty:
        """Return the 95% intervals of a number for the same scenarios and for new scenarios in
        another unit, with all limits multiplied by *factor*. An interval that is None stays None.
        """
        rerun, new_scenarios = (
            None if interval is None else interval.scale_interval(factor)
            for interval in (self.rerun, self.new_scenarios)
        )
        return Uncertainty(rerun, new_scenarios)


UNKNOWN = Uncertainty()


@dataclass(frozen=True, slots=True)
class RowUncertainty:
    """The intervals and possible ranks of one complete subject. Index in [0, 100], dimensions in
    [0, 1].
    """

    index: Uncertainty = UNKNOWN
    dimensions: Mapping[str, Uncertainty] = field(default_factory=dict)
    standing: Standing | None = None  # by the same test again; None: no intervals
    standing_new_scenarios: Standing | None = None
    # of the index, without the allowance for sessions; None: there is no allowance
    without_sessions: Uncertainty | None = None


NO_UNCERTAINTY = RowUncertainty()


@dataclass(frozen=True, slots=True)
class ByQuestion:
    """One number for each of the two questions (same scenarios, new scenarios). None if it is not
    known.
    """

    rerun: float | None
    new_scenarios: float | None


@dataclass(frozen=True, slots=True)
class ScoreDifference:
    """The difference of one score between two subjects, the first minus the second, in the score's
    unit.
    """

    difference: float
    uncertainty: Annotated[Uncertainty, Column(key="interval")]
    # minimum detectable differences: 80 of 100 repetitions would find them significant
    seen_rerun: Annotated[float | None, HIDDEN]
    seen_new_scenarios: Annotated[float | None, HIDDEN]
    # the p at which 0 would be on the edge of the interval
    p_rerun: Annotated[float | None, HIDDEN] = None
    p_new_scenarios: Annotated[float | None, HIDDEN] = None

    @property
    def smallest_seen(self) -> Annotated[ByQuestion, SENT]:
        """Minimum detectable difference of two subjects' scores, for the same scenarios and for new
        scenarios: the smallest true difference that 80 of 100 repetitions would find significant.
        """
        return ByQuestion(self.seen_rerun, self.seen_new_scenarios)

    @property
    def p(self) -> Annotated[ByQuestion, SENT]:
        """P-values of no difference between two subjects' scores, for the same scenarios and for
        new scenarios: at its p-value, 0 lies on the edge of the difference's interval.
        """
        return ByQuestion(self.p_rerun, self.p_new_scenarios)


@dataclass(frozen=True, slots=True, eq=False)
class PairDifferences:
    """Differences of pairs of subjects for one question, as arrays over the pairs, in the score's
    unit. NaN if not known.
    """

    limits: tuple[Floats, Floats]  # low and high
    seen: Floats  # minimum detectable differences: 80 of 100 repetitions find them significant
    # p-values of no difference, at which 0 would be on the edge of the interval
    p: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ScoreDifferences:
    """Differences of one score for many pairs of subjects, the first minus the second, in the
    score's unit. Arrays over the pairs.
    """

    difference: Floats
    rerun: PairDifferences | None  # as far as it is not NaN
    new_scenarios: PairDifferences | None

    def __getitem__(self, number: int) -> ScoreDifference:
        """Return the difference of a score between the two subjects of the pair with this *number*,
        from 0.
        """
        rerun, new_scenarios = (
            _pick_interval_detectable_and_p(differences, number)
            for differences in (self.rerun, self.new_scenarios)
        )
        intervals = Uncertainty(rerun[0], new_scenarios[0])
        seen_and_p = rerun[1], new_scenarios[1], rerun[2], new_scenarios[2]
        return ScoreDifference(float(self.difference[number]), intervals, *seen_and_p)


def _pick_interval_detectable_and_p(
    every: PairDifferences | None, number: int
) -> tuple[Interval | None, float | None, float | None]:
    """Return the interval, the minimum detectable difference and the p-value of pair *number* of
    subjects. An element is None if it is NaN in *every*; all are None if *every* is None.
    """
    if every is None:
        return None, None, None
    numbers = [float(of[number]) for of in (*every.limits, every.seen, every.p)]
    low, high, seen, p = (None if value != value else value for value in numbers)
    return None if low is None or high is None else Interval(low, high), seen, p
