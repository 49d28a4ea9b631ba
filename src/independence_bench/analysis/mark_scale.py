"""What a mark's numbers mean: whether they have an order, and how far two of them are apart. Pure.

A judge's marks are stored as numbers, and a level as its place in the list. Whether that place means anything is said
by the protocol's score: a position has a value there, so positions are ordered by it; of any other list of levels only
the names count, and two different ones differ, no more and no less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from independence_bench.analysis.statistics.agreement import Measurement
from independence_bench.protocol.definition import Mark, StemScore
from independence_bench.protocol.scoring import level_worths


@dataclass(frozen=True, slots=True)
class MarkScale:
    """How marks of one kind are compared."""

    measurement: Measurement
    low: float
    high: float
    worths: tuple[float, ...] = ()  # of levels with an order: what each is worth, by its place in the list

    def number(self, given: float) -> float:
        """*given* as what is compared: what a level with an order is worth, else as it is."""
        return self.worths[int(given)] if self.worths else given

    def spread(self, given: Sequence[float]) -> float:
        """How far the furthest two of *given*, at least one, are apart, as a share of the scale: [0, 1]."""
        if self.measurement == "nominal":
            return float(len(set(given)) > 1)
        numbers = [self.number(one) for one in given]
        return (max(numbers) - min(numbers)) / (self.high - self.low)


def scale_of(mark: Mark, score: StemScore | None) -> MarkScale:
    """That of *mark* in a protocol that scores stems by *score*; None: it has none."""
    worths = level_worths(mark, score)
    if len(set(worths)) > 1:
        return MarkScale("ordinal", min(worths), max(worths), worths)
    return MarkScale("nominal" if mark.levels else "ordinal", mark.low, mark.high)
