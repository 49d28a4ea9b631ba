"""Two subjects side by side, scenario by scenario. Pure: from two rows of one board to values.

What is compared is a dimension in one scenario: the means over runs and configurations of its marks there, added and
rescaled as in the index, so that 100 is the independent end of their scale. It says nothing of how sure it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from independence_bench.protocol import Configuration, Dimension, Protocol, Scenario
from independence_bench.report.rows import Row


@dataclass(frozen=True, slots=True)
class Pair:
    """One dimension in one scenario. *scenario* None: over all of them, as in the ranking."""

    scenario: str | None
    dimension: Dimension
    first: float  # [0, 100]
    second: float

    @property
    def difference(self) -> float:
        """The second minus the first."""
        return self.second - self.first


def pair_rows(
    protocol: Protocol, configurations: Sequence[Configuration], first: Row, second: Row
) -> tuple[list[Pair], list[Pair]]:
    """(each dimension over all scenarios, each dimension in each scenario); those first that differ most.

    What one of the two has no mark of is left out; both lists may be empty.
    """
    whole, apart = [], []
    for dimension in protocol.dimensions:
        one, other = (row.score.dimensions.get(dimension.name) for row in (first, second))
        if one is not None and other is not None:
            whole.append(Pair(None, dimension, 100 * one, 100 * other))
        for scenario in protocol.scenarios:
            one, other = (_mean(dimension, scenario, configurations, row) for row in (first, second))
            if one is not None and other is not None:
                apart.append(Pair(scenario.id, dimension, one, other))
    return sorted(whole, key=_size), sorted(apart, key=_size)


def _size(pair: Pair) -> tuple[float, str, str]:
    return -abs(round(pair.difference, 9)), pair.scenario or "", pair.dimension.name


def _mean(dimension: Dimension, scenario: Scenario, configurations: Sequence[Configuration], row: Row) -> float | None:
    """*dimension*'s marks that *scenario* gives, over all of the row's runs; None where there are none."""
    total = low = high = 0.0
    marks = [mark for mark in scenario.marks if mark.name in dimension.marks]
    for mark in marks:
        given = [
            of_run[configuration, scenario.id][mark.name]
            for of_run in row.marks.values()
            for configuration in configurations
            if mark.name in of_run.get((configuration, scenario.id), {})
        ]
        if not given:
            return None
        total, low, high = total + fmean(given), low + mark.low, high + mark.high
    if not marks:
        return None
    share = (total - low) / (high - low)
    return 100 * (1 - share if dimension.inverted else share)
