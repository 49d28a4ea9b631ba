"""Two sides, score by score, as one value: two subjects, one in two configurations, by two versions, two builds. Pure.

Compared are the index, each dimension, and each dimension in one scenario: the means over runs and configurations of
its marks there, added and rescaled as in the index, so that 100 is the independent end of their scale. Where the
intervals of a difference come from is the caller's to know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from independence_bench.analysis.statistics.ranking import standing_out
from independence_bench.analysis.statistics.values import ScoreDifference
from independence_bench.analysis.uncertainty import BoardUncertainty, Compared
from independence_bench.protocol.definition import Configuration, Dimension, Protocol, Scenario
from independence_bench.protocol.scoring import RunMarks, SubjectScore, counted_marks

Values = Mapping[Compared, float]  # of one side, in [0, 100]; without what it has no mark of
Known = Mapping[Compared, ScoreDifference]  # the second minus the first, in points of 100
INDEX_ITSELF: Compared = (None, None)


@dataclass(frozen=True, slots=True)
class ScorePair:
    """One score of both sides. *scenario* None: over all of them, as in the ranking; *dimension* None: the index."""

    scenario: str | None
    dimension: Dimension | None
    first: float  # [0, 100]
    second: float
    apart: ScoreDifference | None  # the second minus the first, in the same unit; None: nothing says how sure it is
    stands: bool | None = None  # told from 0 on a rerun though so many are looked at; None: unknown
    stands_new_scenarios: bool | None = None  # the same with new scenarios; None in a scenario

    @property
    def difference(self) -> float:
        """The second minus the first."""
        return self.second - self.first


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences of two sides, the second minus the first."""

    scores: Mapping[Compared, ScorePair]  # that both have: the index, the others with the largest difference first
    why_no_interval: tuple[str, ...] = ()  # why intervals are missing, a sentence each

    @property
    def index(self) -> ScoreDifference | None:
        """How the indices differ; None where nothing says how sure that is."""
        found = self.scores.get(INDEX_ITSELF)
        return found.apart if found else None

    @property
    def whole(self) -> list[ScorePair]:
        """Each dimension over all scenarios."""
        return [one for one in self.scores.values() if one.scenario is None and one.dimension is not None]

    @property
    def in_scenarios(self) -> list[ScorePair]:
        """Each dimension in each scenario."""
        return [one for one in self.scores.values() if one.scenario is not None]


def comparison_of(
    protocol: Protocol, sides: Sequence[Values], known: Known, why_no_interval: Sequence[str] = ()
) -> Comparison:
    """The second of two *sides* minus the first in everything; what one of them has no mark of is left out."""
    first, second = sides
    dimensions = {dimension.name: dimension for dimension in protocol.dimensions}
    both = [key for key in all_compared(protocol) if key in first and key in second]
    both.sort(key=lambda key: (-abs(round(second[key] - first[key], 9)), key[0] or "", key[1] or ""))
    found: dict[Compared, ScorePair] = {}
    for group in (
        [key for key in both if key == INDEX_ITSELF],
        [key for key in both if key != INDEX_ITSELF and key[0] is None],
        [key for key in both if key[0] is not None],
    ):
        scores = [
            ScorePair(key[0], dimensions[key[1]] if key[1] else None, first[key], second[key], known.get(key))
            for key in group
        ]
        found |= zip(group, scores if group == [INDEX_ITSELF] else _marked(scores), strict=True)
    return Comparison(found, tuple(why_no_interval))


def _marked(scores: Sequence[ScorePair]) -> list[ScorePair]:
    """With what is significant among all of them, by each question: nine true zeros would often include one."""
    rerun = standing_out([one.apart.p_rerun if one.apart else None for one in scores])
    new_scenarios = standing_out([one.apart.p_new_scenarios if one.apart else None for one in scores])
    return [
        replace(one, stands=stands, stands_new_scenarios=with_new)
        for one, stands, with_new in zip(scores, rerun, new_scenarios, strict=True)
    ]


def known_differences(uncertainty: BoardUncertainty, pairs: Sequence[tuple[int, int]]) -> list[Known]:
    """Of each of *pairs* of those who were measured together, by number, the second minus the first.

    A hundred pairs take little longer than one.
    """
    found = uncertainty.differences([second for _, second in pairs], [first for first, _ in pairs])
    return [{key: differences[n] for key, differences in found.items()} for n in range(len(pairs))]


def all_compared(protocol: Protocol) -> list[Compared]:
    """The index, every dimension, every dimension in every scenario that has marks of it."""
    apart = dict.fromkeys((one.scenario.id, one.dimension.name) for one in counted_marks(protocol))
    return [INDEX_ITSELF, *((None, dimension.name) for dimension in protocol.dimensions), *apart]


def values_of(
    protocol: Protocol, configurations: Sequence[Configuration], score: SubjectScore | None, marks: RunMarks
) -> dict[Compared, float]:
    """What one subject has in *configurations* of all that is compared, in [0, 100]; without what it has no mark of.

    *score* is its score there; None: it is not scored, and only single scenarios are known.
    """
    found: dict[Compared, float] = {}
    if score is not None and score.index is not None:
        found[INDEX_ITSELF] = score.index
    for dimension in protocol.dimensions:
        whole = None if score is None else score.dimensions.get(dimension.name)
        if whole is not None:
            found[None, dimension.name] = 100 * whole
        for scenario in protocol.scenarios:
            mean = _mean(dimension, scenario, configurations, marks)
            if mean is not None:
                found[scenario.id, dimension.name] = mean
    return found


def _mean(
    dimension: Dimension, scenario: Scenario, configurations: Sequence[Configuration], marks: RunMarks
) -> float | None:
    """*dimension*'s marks that *scenario* gives, over all runs; None where one of them was never given, or none is."""
    total = low = high = 0.0
    for mark in scenario.marks:
        if mark.name in dimension.marks:
            of_slots = [of_run.get((one, scenario.id), {}) for of_run in marks.values() for one in configurations]
            given = [of_slot[mark.name] for of_slot in of_slots if mark.name in of_slot]
            if not given:
                return None
            total, low, high = total + fmean(given), low + mark.low, high + mark.high
    if high == low:  # no mark of it here: every scale has a length
        return None
    share = (total - low) / (high - low)
    return 100 * (1 - share if dimension.inverted else share)
