"""How sure scores are, as values: what `uncertainty` finds and others show. No arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from independence_bench.analysis.statistics.values import Interval, Standing


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """Where a number lies, at 95%, by each of the two questions; in its own unit. None: nothing can be said."""

    again: Interval | None = None
    another: Interval | None = None

    def scaled(self, factor: float) -> Uncertainty:
        """In another unit."""
        again, another = (None if one is None else one.scaled(factor) for one in (self.again, self.another))
        return Uncertainty(again, another)


UNKNOWN = Uncertainty()


@dataclass(frozen=True, slots=True)
class RowUncertainty:
    """What is known of one complete subject. Index in [0, 100], dimensions in [0, 1]."""

    index: Uncertainty = UNKNOWN
    dimensions: Mapping[str, Uncertainty] = field(default_factory=dict)
    standing: Standing | None = None  # by the same test again; None: no intervals
    standing_another: Standing | None = None


NO_UNCERTAINTY = RowUncertainty()


@dataclass(frozen=True, slots=True)
class ScoreDifference:
    """One score of two subjects, the first minus the second, in its own unit."""

    difference: float
    uncertainty: Uncertainty
    seen_again: float | None  # the smallest true difference that 80 of 100 repetitions would tell from none
    seen_another: float | None
    p_again: float | None = None  # the p at which 0 would be on the edge of the interval
    p_another: float | None = None
