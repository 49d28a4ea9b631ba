"""How hard each scenario is, how well it tells subjects apart, and what the index owes to it. Pure:
marks to values.

The index is a sum over transcripts: a mark *m* on its scale, turned so that 1 is the independent
end, adds w x (its range / the range of its dimension) / (transcripts planned for it) points, w
being the dimension's weight. So every scenario has points to be had, all of them together 100, and
a subject has so much of them:

    score           points had / points to be had, in [0, 1]; mean over runs and configurations
    difficulty      100 x (1 - mean score over subjects): the share of its points that subjects lose
    ceiling, floor  shares of all transcripts that have all of the points, or none discrimination
    Pearson's correlation, over subjects, between the score and the points had in all other
                    scenarios (the corrected item-total, or item-rest, correlation)
    share           what it carries of the variance, between subjects, of the index or of a
    dimension without         what the index would be if the scenario were left out

The equations are in docs/statistics-methods.md; `statistics.items` computes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Literal, TypeVar

import numpy as np

from independence_bench.analysis.board import Board
from independence_bench.analysis.branches import BranchStatistics
from independence_bench.analysis.statistics import items
from independence_bench.analysis.statistics.agreement import rank_correlation
from independence_bench.analysis.statistics.items import MarkScores
from independence_bench.analysis.statistics.values import Floats, Interval
from independence_bench.protocol.definition import Branch, Configuration, Protocol, Scenario
from independence_bench.protocol.scoring import RunMarks, counted_marks, mean_of

Number = TypeVar("Number", float, Floats)

# verdicts (docs/statistics-methods.md says why these)
# of its dimension's differences: whose interval is all above this carries the dimension alone
ALONE = 0.5
# scenarios in a dimension for that to mean something: of two, one always carries half
FEWEST_IN_DIMENSION = 3
AT_THE_END = 0.95  # of all transcripts at one end: no subjects are told apart
HARDLY = 0.01  # of the differences in each of its dimensions: the same

# the same of a stem, of which a dimension has many
# of its dimension's differences; where stems are few, so many times an even share of them
TOO_MUCH = 0.25
TIMES_EVEN = 1.75
MOST_AT_AN_END = 0.9  # of the subjects, in every branch

VerdictKind = Literal[
    "decides its dimension alone",
    "carries too much",
    "does not tell subjects apart",
    "at one end in every branch",
    "points the other way",
]


@dataclass(frozen=True, slots=True)
class MarkWeight:
    """What one mark of one transcript is worth in the index."""

    mark: str
    low: float
    high: float
    inverted: bool
    points: float  # at its independent end; 0 at the other one
    dimension: str

    def share(self, mark: Number) -> Number:
        """Where *mark*, which is on its own scale, lies between the other end and the independent
        one: [0, 1].
        """
        share = (mark - self.low) / (self.high - self.low)
        return 1 - share if self.inverted else share

    def earned(self, mark: float) -> float:
        """Points for *mark*, which is on its own scale."""
        return self.points * self.share(mark)


@dataclass(frozen=True, slots=True)
class InDimension:
    """A scenario in one of the dimensions that it counts in."""

    dimension: str
    scenarios: int  # that count in it, this one included
    points: float  # of the 100, that it gives in this dimension
    item_rest: float | None  # its points with those of the dimension's other scenarios, [-1, 1]
    item_rest_interval: Interval | None  # at 95%
    # of the dimension's variance between subjects; the shares of a dimension add up to 1
    share: float | None
    share_interval: Interval | None  # at 95%
    # [0, 1], of that variance, by this scenario alone: the squared correlation
    explained: float | None


@dataclass(frozen=True, slots=True)
class LargestChange:
    """A subject, and what leaving a scenario out does to its index."""

    label: str
    points: float


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The index without a scenario. None: there is none, because dimensions are empty or no subject
    is ranked.
    """

    empty: tuple[str, ...]  # dimensions that would be left with nothing
    # marks that no other scenario gives: their dimensions rest on what is left
    marks_gone: tuple[str, ...]
    mean_change: float | None = None  # points, over subjects
    largest_change: LargestChange | None = None  # the subject whose index changes most, up or down
    spearman: float | None = None  # rank correlation with it
    most_ranks: int | None = None  # by which a subject moves at most
    indices: tuple[float, ...] | None = None  # of every subject, in the order of the scores


@dataclass(frozen=True, slots=True)
class ScenarioVerdict:
    """What is wrong with a scenario. *dimension*: in which one; None: in the whole index."""

    kind: VerdictKind
    dimension: str | None = None


@dataclass(frozen=True, slots=True)
class ScenarioFacts:
    """One scenario over all subjects. None: no subject, no points to be had, too few, or no
    variation.
    """

    id: str
    title: str
    experiment: str
    points: float  # of the 100, over all of its configurations
    transcripts: int  # of all subjects, runs and configurations
    difficulty: float | None  # [0, 100]
    ceiling: float | None  # [0, 1] of the transcripts: all of the points
    floor: float | None  # [0, 1] of the transcripts: none of them
    discrimination: float | None  # [-1, 1]
    discrimination_interval: Interval | None  # at 95%
    # of the index's variance between subjects; those of all scenarios add up to 1
    share: float | None
    share_interval: Interval | None  # at 95%
    within: tuple[InDimension, ...]  # its dimensions that have a weight
    without: LeftOut
    verdicts: tuple[ScenarioVerdict, ...]


@dataclass(frozen=True, slots=True)
class ItemAnalysis:
    """Every scenario, and every subject's score in each of them."""

    scenarios: tuple[ScenarioFacts, ...]  # in the protocol's order
    # (label, [0, 1] by scenario), in the order given
    scores: tuple[tuple[str, tuple[float | None, ...]], ...]


def measure_board(board: Board) -> ItemAnalysis:
    """The scenarios of *board*, over its ranked subjects; by lenient rules, over those that lack no
    mark.
    """
    whole = [row for row in board.ranked if not any(score.missing for score in row.runs.values())]
    ranked = [(row.label, {run: row.marks.get(run, {}) for run in row.runs}) for row in whole]
    analysis = measure_scenarios(board.protocol, board.configurations, ranked)
    of_branches = [row.branches for row in whole if row.branches is not None]
    return with_stems(analysis, of_branches) if board.protocol.has_stems else analysis


def with_stems(analysis: ItemAnalysis, subjects: Sequence[BranchStatistics]) -> ItemAnalysis:
    """*analysis* of a protocol whose scenarios are stems, with what stands out in these;
    *subjects*: in their branches.

    A stem that carries more than `TOO_MUCH` of its dimension's differences (with fewer stems than
    seven more than `TIMES_EVEN` times an even share), and one in which nine of ten subjects are at
    one end in every branch.
    """
    if len(analysis.scores) < items.FEWEST_SAMPLED:
        return analysis
    scenarios = []
    for facts in analysis.scenarios:
        alone = {
            verdict.dimension
            for verdict in facts.verdicts
            if verdict.kind == "decides its dimension alone"
        }
        more = [
            ScenarioVerdict("carries too much", part.dimension)
            for part in facts.within
            if part.dimension not in alone
            and (part.share or 0.0) > max(TOO_MUCH, TIMES_EVEN / part.scenarios)
        ]
        if at_one_end(
            [statistics.stems[facts.id] for statistics in subjects if facts.id in statistics.stems]
        ):
            more.append(ScenarioVerdict("at one end in every branch"))
        scenarios.append(replace(facts, verdicts=(*facts.verdicts, *more)))
    return replace(analysis, scenarios=tuple(scenarios))


def at_one_end(subjects: Sequence[Mapping[Branch, float]]) -> bool:
    """Whether in every branch `MOST_AT_AN_END` of *subjects* have all of it, or none; False for too
    few of them.
    """
    by_branch: dict[Branch, list[float]] = {}
    for of in subjects:
        for branch, value in of.items():
            by_branch.setdefault(branch, []).append(value)
    return bool(by_branch) and all(
        len(values) >= items.FEWEST_SAMPLED
        and max(end or 0.0 for end in items.ends(values)) >= MOST_AT_AN_END
        for values in by_branch.values()
    )


def measure_scenarios(
    protocol: Protocol,
    configurations: Sequence[Configuration],
    subjects: Sequence[tuple[str, RunMarks]],
) -> ItemAnalysis:
    """Everything above from complete *subjects* (label, marks); without any, whatever needs one is
    None.

    Raises KeyError for a subject that lacks a mark which counts: it has no index.
    """
    worths = mark_weights(protocol, configurations)
    given = [_given(worths[s.id], configurations, s.id, subjects) for s in protocol.scenarios]
    labels = [label for label, _ in subjects]
    parts = _parts(protocol, given)
    full = items.index_without(parts) if subjects else None
    total: Floats = np.sum([own.had() for own in given], axis=0)
    facts = [
        _facts(
            scenario,
            own,
            total,
            _within(protocol, given, own),
            _without(parts, place, given, full, labels),
        )
        for place, (scenario, own) in enumerate(zip(protocol.scenarios, given, strict=True))
    ]
    looked_at = sum(
        r is not None for f in facts for r in (f.discrimination, *(w.item_rest for w in f.within))
    )
    scores = [own.scores.tolist() if own.worths else [None] * len(labels) for own in given]
    table = tuple((label, tuple(of_one[n] for of_one in scores)) for n, label in enumerate(labels))
    return ItemAnalysis(
        tuple(replace(f, verdicts=_verdicts(f, len(labels), looked_at)) for f in facts), table
    )


def mark_weights(
    protocol: Protocol, configurations: Sequence[Configuration]
) -> dict[str, list[MarkWeight]]:
    """Scenario -> what its marks are worth in one transcript; [] where none of them counts in the
    index.
    """
    worths: dict[str, list[MarkWeight]] = {scenario.id: [] for scenario in protocol.scenarios}
    for dimension, scenario, mark, span, planned in counted_marks(protocol):
        if dimension.weight:
            points = (
                dimension.weight * (mark.high - mark.low) / span / (planned * len(configurations))
            )
            weight = MarkWeight(
                mark.name, mark.low, mark.high, dimension.inverted, points, dimension.name
            )
            worths[scenario.id].append(weight)
    return worths


@dataclass(frozen=True, slots=True)
class _Given:
    """One scenario's marks as shares of their scales, 1 being the independent end."""

    worths: Sequence[MarkWeight]
    shares: Floats  # worths x subjects: means over runs and configurations
    by_transcript: Floats  # the score of every transcript
    configurations: int

    @property
    def points(self) -> float:
        """To be had in one transcript."""
        return fsum(worth.points for worth in self.worths)

    @property
    def scores(self) -> Floats:
        """Of every subject, in [0, 1]; 0 where there are no points."""
        return self.had() / (self.configurations * self.points or 1.0)

    def had(self, dimension: str | None = None) -> Floats:
        """The points of every subject, in one dimension or in all of them."""
        counted = [
            worth.points if dimension in (None, worth.dimension) else 0.0 for worth in self.worths
        ]
        return self.configurations * (np.array(counted, dtype=np.float64) @ self.shares)


def _given(
    worths: Sequence[MarkWeight],
    configurations: Sequence[Configuration],
    scenario: str,
    subjects: Sequence[tuple[str, RunMarks]],
) -> _Given:
    points = np.array([worth.points for worth in worths], dtype=np.float64)
    if not subjects:
        return _Given(worths, np.zeros((len(worths), 0)), np.zeros(0), len(configurations))
    slots = [(at, scenario) for at in configurations]
    marks = [
        of_run.get(slot, {}) for _, runs in subjects for of_run in runs.values() for slot in slots
    ]
    each = np.zeros((len(marks), len(worths)))  # of every transcript
    for column, worth in enumerate(worths):
        each[:, column] = worth.share(
            np.array([given[worth.mark] for given in marks], dtype=np.float64)
        )
    ends = np.cumsum([len(runs) * len(slots) for _, runs in subjects])
    shares: Floats = np.array([mine.mean(axis=0) for mine in np.split(each, ends[:-1])])
    scores = each @ points / (points.sum() or 1.0)
    return _Given(worths, np.ascontiguousarray(shares.T), scores, len(configurations))


def _parts(protocol: Protocol, given: Sequence[_Given]) -> list[MarkScores]:
    """The index, taken apart into marks."""
    parts = []
    for dimension in protocol.dimensions:
        for name in dimension.marks if dimension.weight else ():
            there = {
                place: own.shares[at]
                for place, own in enumerate(given)
                for at, worth in enumerate(own.worths)
                if (worth.dimension, worth.mark) == (dimension.name, name)
            }
            mark, columns = protocol.mark(name), np.array(list(there.values()), dtype=np.float64).T
            parts.append(
                MarkScores(
                    dimension.name, dimension.weight, mark.high - mark.low, tuple(there), columns
                )
            )
    return parts


def _carried(
    item: Floats, total: Floats
) -> tuple[float | None, Interval | None, float | None, Interval | None, float | None]:
    """The correlation of *item* with the rest of *total*, and its share of the variance, each with
    its interval.

    And last what part of the variance it explains by itself.
    """
    rest, of = items.item_rest(item, total), items.variance_share(item, total)
    interval = None if rest is None else items.fisher_interval(rest, item.size)
    return (
        (rest, interval, of.share, of.interval, of.explained)
        if of
        else (rest, interval, None, None, None)
    )


def _facts(
    scenario: Scenario,
    given: _Given,
    total: Floats,
    within: tuple[InDimension, ...],
    without: LeftOut,
) -> ScenarioFacts:
    mean = mean_of(given.scores.tolist()) if given.worths else None
    ceiling, floor = items.ends(given.by_transcript if given.worths else [])
    discrimination, interval, share, share_interval, _ = _carried(given.had(), total)
    return ScenarioFacts(
        id=scenario.id,
        title=scenario.title,
        experiment=scenario.experiment,
        points=given.configurations * given.points,
        transcripts=given.by_transcript.size,
        difficulty=None if mean is None else 100 * (1 - mean),
        ceiling=ceiling,
        floor=floor,
        discrimination=discrimination,
        discrimination_interval=interval,
        share=share,
        share_interval=share_interval,
        within=within,
        without=without,
        verdicts=(),
    )


def _within(protocol: Protocol, given: Sequence[_Given], mine: _Given) -> tuple[InDimension, ...]:
    """*mine*, one of *given*, in each of its dimensions."""
    dimensions = []
    for name in (dimension.name for dimension in protocol.dimensions):
        here = [own for own in given if any(worth.dimension == name for worth in own.worths)]
        if any(own is mine for own in here):
            points = mine.configurations * fsum(
                worth.points for worth in mine.worths if worth.dimension == name
            )
            total: Floats = np.sum([own.had(name) for own in here], axis=0)
            dimensions.append(
                InDimension(name, len(here), points, *_carried(mine.had(name), total))
            )
    return tuple(dimensions)


def _without(
    parts: Sequence[MarkScores],
    place: int,
    given: Sequence[_Given],
    full: Floats | None,
    labels: Sequence[str],
) -> LeftOut:
    empty = items.emptied(parts, {place})
    others = {worth.mark for n, own in enumerate(given) if n != place for worth in own.worths}
    gone = [
        w.mark for w in given[place].worths if w.mark not in others and w.dimension not in empty
    ]
    index = None if full is None else items.index_without(parts, place)
    if full is None or index is None:
        return LeftOut(empty, tuple(gone))
    changes, before, after = index - full, items.places(full), items.places(index)
    most = int(np.argmax(np.abs(changes)))
    return LeftOut(
        empty=empty,
        marks_gone=tuple(gone),
        mean_change=float(changes.mean()),
        largest_change=LargestChange(labels[most], float(changes[most])),
        spearman=rank_correlation(before.tolist(), after.tolist()),
        most_ranks=int(np.max(np.abs(after - before))),
        indices=tuple(index.tolist()),
    )


def _verdicts(facts: ScenarioFacts, subjects: int, looked_at: int) -> tuple[ScenarioVerdict, ...]:
    """What stands out in a scenario, *looked_at* being all correlations of the report; () for too
    few subjects.
    """
    if subjects < items.FEWEST_SAMPLED or not facts.within:
        return ()
    verdicts = [
        ScenarioVerdict("decides its dimension alone", part.dimension)
        for part in facts.within
        if part.scenarios >= FEWEST_IN_DIMENSION
        and part.share_interval
        and part.share_interval.low > ALONE
    ]
    at_an_end = max(facts.ceiling or 0.0, facts.floor or 0.0) >= AT_THE_END
    if at_an_end or all(abs(part.share or 0.0) < HARDLY for part in facts.within):
        verdicts.append(ScenarioVerdict("does not tell subjects apart"))
    correlations = [
        (None, facts.discrimination),
        *((part.dimension, part.item_rest) for part in facts.within),
    ]
    verdicts += [
        ScenarioVerdict("points the other way", dimension)
        for dimension, correlation in correlations
        if correlation is not None and items.beyond_chance(correlation, subjects, looked_at)
    ]
    return tuple(verdicts)
