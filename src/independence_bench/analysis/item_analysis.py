"""The difficulty of each scenario, and its correlation with the others. Pure: marks to values.

The index is a sum over transcripts: a mark *m* on its scale, turned so that 1 is the independent
end, adds w x (its range / the range of its dimension) / (transcripts planned for it) points, w
being the dimension's weight. So every scenario has points that a subject can get, all of them
together 100, and a subject gets some of them:

    score           points that it got / points of the scenario, in [0, 1]; mean over runs and
                    configurations
    difficulty      100 x (1 - mean score over subjects): the share of its points that subjects lose
    ceiling, floor  shares of all transcripts that have all of the points, or none
    discrimination  Pearson's correlation, over subjects, between the points in the scenario and
                    those in all others (the corrected item-total, or item-rest, correlation)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Annotated, TypeVar

import numpy as np

from independence_bench.analysis.board import Board
from independence_bench.analysis.statistics.values import Floats
from independence_bench.columns import Column
from independence_bench.figures import Hundredths, Points, Share
from independence_bench.protocol.definition import Configuration, Item, Protocol
from independence_bench.protocol.scoring import RunMarks, compute_mean, list_counted_marks

Number = TypeVar("Number", float, Floats)

FEWEST = 3  # subjects for a correlation: two are always on a line
SAME = 1e-9  # numbers nearer than this do not differ: they are sums in another order


@dataclass(frozen=True, slots=True)
class MarkWeight:
    """The weight of one kind of score of one conversation in the index."""

    mark: str
    low: float
    high: float
    inverted: bool
    points: float  # at its independent end; 0 at the other one

    def compute_independence_share(self, mark: Number) -> Number:
        """Return the judge's score *mark* as a share of its scale: 1 at the end that stands for
        independence, 0 at the other end.
        """
        share = (mark - self.low) / (self.high - self.low)
        return 1 - share if self.inverted else share

    def compute_points(self, mark: float) -> float:
        """Return the points of the index that a conversation gets for the judge's score *mark*: all
        of its points at the end that stands for independence, 0 at the other end.
        """
        return self.points * self.compute_independence_share(mark)


@dataclass(frozen=True, slots=True)
class ScenarioFacts:
    """One scenario over all subjects. None: no subject, no points, too few subjects, or no
    variation.
    """

    id: str
    title: str
    experiment: str
    points: Points  # of the 100, over all of its configurations
    transcripts: int  # of all subjects, runs and configurations
    difficulty: Points | None  # [0, 100]
    ceiling: Share | None  # [0, 1] of the transcripts: all of the points
    floor: Share | None  # [0, 1] of the transcripts: none of them
    discrimination: Hundredths | None  # [-1, 1]


@dataclass(frozen=True, slots=True)
class SubjectScores:
    """The scores of one subject in every scenario, in the protocol's order."""

    label: str
    scores: tuple[float | None, ...]  # [0, 1]


@dataclass(frozen=True, slots=True)
class ItemAnalysis:
    """Every scenario, and every subject's score in each of them."""

    scenarios: tuple[ScenarioFacts, ...]  # in the protocol's order
    # in the order given
    scores: Annotated[tuple[SubjectScores, ...], Column(key="scenario_scores")]


def analyse_items(board: Board) -> ItemAnalysis:
    """Return the difficulty of each scenario of a leaderboard, with the scores of its ranked
    models. Models that lack a score are left out.
    """
    whole = [
        row for row in board.ranked if not any(score.missing for score in row.run_scores.values())
    ]
    ranked = [(row.label, {run: row.marks.get(run, {}) for run in row.run_scores}) for row in whole]
    return analyse_scenarios(board.protocol, board.configurations, ranked)


def analyse_scenarios(
    protocol: Protocol,
    configurations: Sequence[Configuration],
    subjects: Sequence[tuple[str, RunMarks]],
) -> ItemAnalysis:
    """Return the difficulty of each scenario of *protocol*, and each model's score in it.
    *subjects* are models with complete scores, each a label and the scores; without any, figures
    that need a model are None.

    Raises KeyError for a model that lacks a score which counts in the index.
    """
    worths = list_mark_weights_by_item(protocol, configurations)
    given = [
        _collect_scenario_marks(worths[item.id], configurations, item.id, subjects)
        for item in protocol.items
    ]
    total: Floats = np.sum([own.sum_points_per_subject() for own in given], axis=0)
    facts = tuple(
        _make_scenario_facts(item, own, total)
        for item, own in zip(protocol.items, given, strict=True)
    )
    scores = [
        own.scores_per_subject.tolist() if own.worths else [None] * len(subjects) for own in given
    ]
    table = tuple(
        SubjectScores(label, tuple(of_one[n] for of_one in scores))
        for n, (label, _) in enumerate(subjects)
    )
    return ItemAnalysis(facts, table)


def list_mark_weights_by_item(
    protocol: Protocol, configurations: Sequence[Configuration]
) -> dict[str, list[MarkWeight]]:
    """Return item id -> the weight in the index of each kind of score that the item has, for one
    run in one of *configurations*; [] for an item of which nothing counts.
    """
    worths: dict[str, list[MarkWeight]] = {item.id: [] for item in protocol.items}
    for dimension, item, mark, span, planned in list_counted_marks(protocol):
        if dimension.weight:
            points = (
                dimension.weight * (mark.high - mark.low) / span / (planned * len(configurations))
            )
            weight = MarkWeight(mark.name, mark.low, mark.high, dimension.inverted, points)
            worths[item.id].append(weight)
    return worths


@dataclass(frozen=True, slots=True)
class _ScenarioMarks:
    """One scenario's scores by judges, as shares of their scales; 1 is the end that stands for
    independence.
    """

    worths: Sequence[MarkWeight]
    shares: Floats  # worths x subjects: means over runs and configurations
    by_transcript: Floats  # the score of every transcript
    configurations: int

    @property
    def possible_points_per_conversation(self) -> float:
        """Points of the index that one conversation of the scenario can get at most."""
        return fsum(worth.points for worth in self.worths)

    @property
    def scores_per_subject(self) -> Floats:
        """Score of every model in one scenario, in [0, 1]: the points that it got over those that
        it could get. 0 if the scenario has no points.
        """
        return self.sum_points_per_subject() / (
            self.configurations * self.possible_points_per_conversation or 1.0
        )

    def sum_points_per_subject(self) -> Floats:
        """Return the points of the index that every model got in one scenario, the mean over runs,
        summed over configurations: [models].
        """
        points = np.array([worth.points for worth in self.worths], dtype=np.float64)
        return self.configurations * (points @ self.shares)


def _collect_scenario_marks(
    worths: Sequence[MarkWeight],
    configurations: Sequence[Configuration],
    item: str,
    subjects: Sequence[tuple[str, RunMarks]],
) -> _ScenarioMarks:
    """Return all models' scores in one scenario, whose id is *item*, as shares of their scales.
    *worths* are the weights of the scenario's kinds of score; *subjects* are the models with their
    scores.
    """
    points = np.array([worth.points for worth in worths], dtype=np.float64)
    if not subjects:
        return _ScenarioMarks(worths, np.zeros((len(worths), 0)), np.zeros(0), len(configurations))
    slots = [(at, item) for at in configurations]
    marks = [
        of_run.get(slot, {}) for _, runs in subjects for of_run in runs.values() for slot in slots
    ]
    each = np.zeros((len(marks), len(worths)))  # of every transcript
    for column, worth in enumerate(worths):
        each[:, column] = worth.compute_independence_share(
            np.array([given[worth.mark] for given in marks], dtype=np.float64)
        )
    ends = np.cumsum([len(runs) * len(slots) for _, runs in subjects])
    shares: Floats = np.array([mine.mean(axis=0) for mine in np.split(each, ends[:-1])])
    scores = each @ points / (points.sum() or 1.0)
    return _ScenarioMarks(worths, np.ascontiguousarray(shares.T), scores, len(configurations))


def _make_scenario_facts(item: Item, given: _ScenarioMarks, total_points: Floats) -> ScenarioFacts:
    """Return difficulty, ceiling, floor and discrimination of one scenario, from the scores *given*
    in it. *total_points* has the points of every model in all scenarios.
    """
    mean = compute_mean(given.scores_per_subject.tolist()) if given.worths else None
    ceiling, floor = compute_ceiling_and_floor_shares(given.by_transcript if given.worths else [])
    return ScenarioFacts(
        id=item.id,
        title=item.title,
        experiment=item.experiment,
        points=given.configurations * given.possible_points_per_conversation,
        transcripts=given.by_transcript.size,
        difficulty=None if mean is None else 100 * (1 - mean),
        ceiling=ceiling,
        floor=floor,
        discrimination=correlate_item_with_rest(given.sum_points_per_subject(), total_points),
    )


def compute_ceiling_and_floor_shares(
    scores: Sequence[float] | Floats,
) -> tuple[float, float] | tuple[None, None]:
    """Return the share of *scores*, all in [0, 1], that are 1 (ceiling) and the share that are 0
    (floor). Both are None without scores.
    """
    given = np.asarray(scores, dtype=np.float64)
    return (
        (float(np.mean(given >= 1 - SAME)), float(np.mean(given <= SAME)))
        if given.size
        else (None, None)
    )


def correlate_item_with_rest(item: Floats, total: Floats) -> float | None:
    """Return Pearson's correlation, over models, between their points in an *item* and their points
    in all other items, in [-1, 1]. *item* and *total* have a number for each model.

    This is the corrected item-total correlation (L. Crocker and J. Algina, Introduction to
    Classical and Modern Test Theory, 1986, chapter 14): with itself left in, an item goes with the
    total because it is in it. None for fewer than `FEWEST` models, and if the item or the rest does
    not vary.
    """
    rest = total - item
    if item.size < FEWEST or not (_has_variation(item) and _has_variation(rest)):
        return None
    a, b = item - item.mean(), rest - rest.mean()
    return float(np.clip(a @ b / sqrt(float(a @ a) * float(b @ b)), -1.0, 1.0))


def _has_variation(numbers: Floats) -> bool:
    """Return whether *numbers* differ by more than rounding; False for none."""
    return bool(numbers.size and np.ptp(numbers) >= SAME)
