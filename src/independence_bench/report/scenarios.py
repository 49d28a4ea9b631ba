"""How hard each scenario is, and how well it tells subjects apart. Pure: from marks to values.

The index is a sum over transcripts: a mark *m* on its scale, turned so that 1 is the independent end, adds
w x (its range / the range of its dimension) / (transcripts planned for it) points, w being the dimension's weight.
So every scenario has points to be had, all of them together 100, and a subject has so much of them:

    score           points had / points to be had, in [0, 1]; mean over runs and configurations
    difficulty      100 x (1 - mean score over subjects): the share of its points that subjects lose
    discrimination  Pearson's correlation, over subjects, between the score and the points had in all other
                    scenarios (item-rest correlation, Crocker & Algina 1986): in [-1, 1]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import correlation

from independence_bench.protocol import Configuration, Protocol
from independence_bench.scoring import Marks, Slot, mean_of

RunMarks = Mapping[int, Mapping[Slot, Marks]]  # run -> slot -> marks, of one subject
FEWEST = 3  # subjects for a discrimination: two are always on a line
_SAME = 1e-9  # numbers nearer than this do not differ


@dataclass(frozen=True, slots=True)
class Worth:
    """What one mark of one transcript is worth in the index."""

    mark: str
    low: float
    high: float
    inverted: bool
    points: float  # at its independent end; 0 at the other one

    def earned(self, mark: float) -> float:
        """Points for *mark*, which is on its own scale."""
        share = (mark - self.low) / (self.high - self.low)
        return self.points * (1 - share if self.inverted else share)


@dataclass(frozen=True, slots=True)
class ScenarioFacts:
    """One scenario over all subjects. None: no subject, no points to be had, or no variation."""

    id: str
    title: str
    experiment: str
    points: float  # of the 100, over all of its configurations
    difficulty: float | None  # [0, 100]
    discrimination: float | None  # [-1, 1]


@dataclass(frozen=True, slots=True)
class Complexity:
    """Every scenario, and every subject's score in each of them."""

    scenarios: tuple[ScenarioFacts, ...]  # in the protocol's order
    scores: tuple[tuple[str, tuple[float | None, ...]], ...]  # (label, [0, 1] by scenario), in the order given


def measure_scenarios(
    protocol: Protocol, configurations: Sequence[Configuration], subjects: Sequence[tuple[str, RunMarks]]
) -> Complexity:
    """Difficulty and discrimination from complete *subjects* (label, marks); without any, all is None."""
    worths = worth_of_marks(protocol, configurations)
    scores = {
        scenario.id: [_score(worths[scenario.id], configurations, scenario.id, runs) for _, runs in subjects]
        for scenario in protocol.scenarios
    }
    to_be_had = {name: len(configurations) * fsum(worth.points for worth in of_one) for name, of_one in worths.items()}
    facts = []
    for scenario in protocol.scenarios:
        mine = scores[scenario.id]
        rest = [
            fsum(to_be_had[other] * (scores[other][n] or 0.0) for other in scores if other != scenario.id)
            for n in range(len(subjects))
        ]
        mean = mean_of(mine)
        facts.append(
            ScenarioFacts(
                scenario.id,
                scenario.title,
                scenario.experiment,
                to_be_had[scenario.id],
                None if mean is None else 100 * (1 - mean),
                _correlation([score for score in mine if score is not None], rest),
            )
        )
    table = [(label, tuple(scores[s.id][n] for s in protocol.scenarios)) for n, (label, _) in enumerate(subjects)]
    return Complexity(tuple(facts), tuple(table))


def worth_of_marks(protocol: Protocol, configurations: Sequence[Configuration]) -> dict[str, list[Worth]]:
    """Scenario -> what its marks are worth in one transcript; [] where none of them counts in the index."""
    planned: dict[str, int] = {}
    for scenario in protocol.scenarios:
        for mark in scenario.marks:
            planned[mark.name] = planned.get(mark.name, 0) + len(configurations)
    worths: dict[str, list[Worth]] = {scenario.id: [] for scenario in protocol.scenarios}
    for dimension in protocol.dimensions:
        span = fsum(protocol.mark(name).high - protocol.mark(name).low for name in dimension.marks)
        for scenario in protocol.scenarios:
            for mark in scenario.marks:
                if dimension.weight and mark.name in dimension.marks:
                    points = dimension.weight * (mark.high - mark.low) / span / planned[mark.name]
                    worths[scenario.id].append(Worth(mark.name, mark.low, mark.high, dimension.inverted, points))
    return worths


def _score(
    worths: Sequence[Worth], configurations: Sequence[Configuration], scenario: str, runs: RunMarks
) -> float | None:
    points = fsum(worth.points for worth in worths)
    if not points:
        return None
    had: list[float | None] = []
    for marks in runs.values():
        for configuration in configurations:
            given = marks.get((configuration, scenario), {})
            there = all(worth.mark in given for worth in worths)
            had.append(fsum(w.earned(given[w.mark]) for w in worths) / points if there else None)
    return mean_of(had)


def _correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """None for fewer than `FEWEST` pairs, and where one side does not vary."""
    if len(one) != len(other) or len(one) < FEWEST:
        return None
    if any(max(side) - min(side) < _SAME for side in (one, other)):
        return None
    return correlation(one, other)
