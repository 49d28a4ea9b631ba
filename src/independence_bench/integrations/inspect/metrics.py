"""The Independence Index and what belongs to it as Inspect's metrics: over all runs, from the marks of every sample.

A sample's score has its marks as its value, and in its metadata its run and its place; the sample's metadata has the
plan (`plan`). Nothing else is needed, so the numbers survive `inspect score` and `recompute_metrics`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import nan

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from independence_bench.analysis.uncertainty import measure_board
from independence_bench.integrations.inspect.names import named
from independence_bench.integrations.inspect.plan import read_plan
from independence_bench.integrations.inspect.rows import KEY
from independence_bench.integrations.inspect.samples import PLAN, RUN, SLOT
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.scoring import Marks, Slot, SubjectScore, score


@metric(name=named("independence_index"), scores="unreduced")
def independence_index() -> Metric:
    """The index, 0 to 100; NaN where a planned mark is missing."""

    def of(scores: list[SampleScore]) -> Value:
        found = scored(scores)
        return nan if found is None or found.index is None else found.index

    return of


@metric(name=named("dimensions"), scores="unreduced")
def dimensions() -> Metric:
    """Each dimension, 0 to 1, 1 the most independent; NaN where a planned mark is missing."""

    def of(scores: list[SampleScore]) -> Value:
        found = scored(scores)
        return {name: nan if value is None else value for name, value in found.dimensions.items()} if found else {}

    return of


@metric(name=named("index_interval"), scores="unreduced")
def index_interval() -> Metric:
    """Where the index lies at 95%, by the same test again; nothing where nothing can be said (docs/statistics.md).

    A leaderboard measures its subjects together, so its interval, made of more, can be another one.
    """

    def of(scores: list[SampleScore]) -> Value:
        found = scored(scores)
        if found is None or found.index is None:
            return {}
        protocol, configurations, marks = _read(scores)
        (row,) = measure_board(protocol, configurations, [marks]).of_subjects()
        interval = row.index.again
        return {} if interval is None else {"index_low": interval.low, "index_high": interval.high}

    return of


def scored(scores: Sequence[SampleScore]) -> SubjectScore | None:
    """The score of all runs in *scores*; None for no scores."""
    if not scores:
        return None
    return score(*_read(scores))[1]


def _read(scores: Sequence[SampleScore]) -> tuple[Protocol, tuple[Configuration, ...], dict[int, dict[Slot, Marks]]]:
    plans = [one.sample_metadata[PLAN] for one in scores if one.sample_metadata]
    if any(plan != plans[0] for plan in plans):
        raise ValueError("samples of several protocols have no index together; score each log by itself")
    protocol, configurations = read_plan(plans[0])
    marks: dict[int, dict[Slot, Marks]] = defaultdict(dict)
    for one in scores:
        place = (one.score.metadata or {})[KEY]
        system, delivery, unit = place[SLOT]
        marks[place[RUN]][Configuration(system, delivery), unit] = dict(one.score.as_dict())
    return protocol, configurations, dict(sorted(marks.items()))
