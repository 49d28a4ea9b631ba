"""What is said of a number and of a place, as values: whoever only shows them needs none of the arithmetic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a number lies, at the stated level. In the number's own unit; *low* <= *high*."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """From end to end."""
        return self.high - self.low

    def holds(self, number: float) -> bool:
        """Whether *number* is inside, the ends included."""
        return self.low <= number <= self.high

    def scaled(self, factor: float) -> Interval:
        """In another unit; a negative *factor* turns it round."""
        low, high = sorted((factor * self.low, factor * self.high))
        return Interval(low, high)


@dataclass(frozen=True, slots=True)
class Standing:
    """What can be said of one subject's place among all."""

    rank_low: int  # the best rank that it may have; 1 is the first
    rank_high: int  # the worst one
    groups: str  # letters; two subjects that share one cannot be told apart
    tied_with_best: bool  # nobody is better for certain

    @property
    def certain(self) -> bool:
        """Whether its rank is one number."""
        return self.rank_low == self.rank_high
