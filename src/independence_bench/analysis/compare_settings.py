"""The effect of one setting on the index: the system prompt and the delivery mode; a model's
provider and its reasoning effort.

Pure: from boards to values; all numbers are points of the index (0-100). Configurations of one
protocol are paired within subjects, so a difference is never one between other models. It has an
interval by each of two questions:

    sampled  other subjects like these: they are a sample, the scenarios stay
    rerun    the same test again: these subjects and these scenarios, the runs vary

Runs of two configurations have nothing in common but the subject and the scenarios. Subjects that
differ in one setting are compared by means over runs; how sure these are follows from all ranked
subjects of the leaderboard (`uncertainty.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Annotated

import numpy as np

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.row_costs import SubjectCost
from independence_bench.analysis.statistics.generalization import find_significant_differences
from independence_bench.analysis.statistics.intervals import compute_weighted_sum_limits
from independence_bench.analysis.statistics.sample_means import estimate_paired_difference_interval
from independence_bench.analysis.statistics.values import (
    UNKNOWN,
    ByQuestion,
    Interval,
    ScoreDifference,
    Uncertainty,
)
from independence_bench.analysis.uncertainty import INDEX
from independence_bench.columns import HIDDEN, SENT
from independence_bench.figures import DIFFERENCE, POINTS, Difference, Points
from independence_bench.models.spec import ChatModel, Reasoning
from independence_bench.protocol.definition import DELIVERIES, Configuration
from independence_bench.protocol.plan import list_possible_configurations
from independence_bench.protocol.scoring import OWN

# in [0, 100], and where it lies by the same test again, where that is known
Index = tuple[float, Interval | None]
Indices = Mapping[Configuration, Index]  # of one subject, where it has one


@dataclass(frozen=True, slots=True)
class Effect:
    """The index in one configuration minus that in the first configuration, in points, as the mean
    over the models that have both.
    """

    subjects: int
    points: Difference
    sampled: Annotated[Interval | None, DIFFERENCE]  # at 95%; None: fewer than three subjects
    rerun: Annotated[
        Interval | None, DIFFERENCE
    ]  # None: how the runs of one of the subjects vary is not known


@dataclass(frozen=True, slots=True)
class ConfigurationSummary:
    """One configuration and the mean index of the models in it."""

    configuration: str
    subjects: int  # that have an index there
    mean: Points  # of theirs
    effect: Effect | None  # None: it is the first one, or no subject has an index in both


@dataclass(frozen=True, slots=True)
class SubjectEffect:
    """The difference of one model's indices in two configurations, in points, with its interval if
    the same test is given again, where that is known.
    """

    points: Difference
    rerun: Annotated[Interval | None, DIFFERENCE]


@dataclass(frozen=True, slots=True)
class SubjectIndices:
    """The indices of one model in all configurations of a comparison, in order; None where the
    model has no index.
    """

    label: str
    indices: tuple[Points | None, ...]
    # of the indices, by the same test again
    intervals: Annotated[tuple[Interval | None, ...], POINTS]
    changes: tuple[SubjectEffect | None, ...]  # minus the first configuration's; None for itself


@dataclass(frozen=True, slots=True)
class ConfigurationComparison:
    """The indices of models in all configurations in which one judge's marks give an index, in the
    protocol's order.
    """

    judge: str | None
    places: tuple[ConfigurationSummary, ...]
    subjects: tuple[SubjectIndices, ...]  # those with an index in two places or more, by label


def compare_configurations(
    boards: Sequence[Board], judge: str | None
) -> ConfigurationComparison | None:
    """Return the indices of all models in each configuration (system prompt and delivery mode), and
    the mean effect of each compared with the first configuration, on those of *boards* by *judge*;
    None unless some model has an index in two configurations.

    A model that is incomplete in the pool of configurations still counts in those that it has
    completed.
    """
    mine = [board for board in boards if board.judge == judge]
    indices, labels = _collect_indices(mine)
    if not any(len(there) > 1 for there in indices.values()):
        return None
    protocol = mine[0].protocol
    systems = [name for name, _ in protocol.systems]
    played = sorted(
        (
            c
            for c in list_possible_configurations(protocol)
            if any(c in there for there in indices.values())
        ),
        key=lambda c: (systems.index(c.system), DELIVERIES.index(c.delivery)),
    )
    places = []
    for configuration in played:
        there = [of[configuration][0] for of in indices.values() if configuration in of]
        effect = _estimate_effect(configuration, played[0], list(indices.values()))
        mean = fsum(there) / len(there)
        places.append(ConfigurationSummary(str(configuration), len(there), mean, effect))
    subjects = []
    for hash_, of in indices.items():
        if len(of) > 1:
            values, ends = zip(*(of.get(one, (None, None)) for one in played), strict=True)
            changes = tuple(_subtract_base(one, played[0], of) for one in played)
            subjects.append(SubjectIndices(labels[hash_], values, ends, changes))
    subjects.sort(key=lambda subject: subject.label)
    return ConfigurationComparison(judge, tuple(places), tuple(subjects))


def _collect_indices(
    boards: Sequence[Board],
) -> tuple[dict[str, dict[Configuration, Index]], dict[str, str]]:
    """Return two mappings from the leaderboards *boards*: model's hash -> configuration -> its
    index with the interval, where it has one; and model's hash -> label.
    """
    indices: dict[str, dict[Configuration, Index]] = {}
    labels: dict[str, str] = {}
    for board in boards:
        for row in board.rows:
            labels.setdefault(row.subject.hash, row.label)
            there = indices.setdefault(row.subject.hash, {})
            by_itself = row.by_configuration or {board.configurations[0]: row.score}
            sure = row.uncertainty_by_configuration or {board.configurations[0]: row.index_interval}
            there |= {
                c: (score.index, sure.get(c, UNKNOWN).rerun if board.rules == OWN.name else None)
                for c, score in by_itself.items()
                if score.index is not None
            }
    return indices, labels


def _estimate_effect(
    configuration: Configuration, base: Configuration, subjects: Sequence[Indices]
) -> Effect | None:
    """Return the mean difference of the models' indices in *configuration* minus those in *base*,
    in points, with intervals. *subjects*: each model's indices by configuration. None if no model
    has an index in both.
    """
    changes = [change for of in subjects if (change := _subtract_base(configuration, base, of))]
    if not changes:
        return None
    scores = np.array(
        [
            [of[configuration][0] / 100, of[base][0] / 100]
            for of in subjects
            if configuration in of and base in of
        ]
    )
    sampled = estimate_paired_difference_interval(scores)
    share = 1 / len(changes)
    return Effect(
        len(changes),
        fsum(change.points for change in changes) / len(changes),
        sampled.scale_interval(100) if sampled else None,
        _compute_weighted_sum_interval(
            [(share, change.points, change.rerun) for change in changes]
        ),
    )


def _subtract_base(
    configuration: Configuration, base: Configuration, indices: Indices
) -> SubjectEffect | None:
    """Return one model's index in *configuration* minus its index in *base*, in points; None if the
    two configurations are the same, or the model lacks an index in one of them.
    """
    if configuration == base or configuration not in indices or base not in indices:
        return None
    return subtract_first_index_from_second(indices[base], indices[configuration])


def subtract_first_index_from_second(first: Index, second: Index) -> SubjectEffect:
    """Return the *second* index minus the *first*, in points, with the interval of the difference.
    Both are of one model, in two configurations whose runs have nothing in common.
    """
    return SubjectEffect(
        second[0] - first[0], _compute_weighted_sum_interval([(1.0, *second), (-1.0, *first)])
    )


def _compute_weighted_sum_interval(
    parts: Sequence[tuple[float, float, Interval | None]],
) -> Interval | None:
    """Return the interval of a weighted sum, from its independent *parts* (weight, points, interval
    of the points); None if a part has no interval.
    """
    known = [
        (weight, points, interval.low, interval.high)
        for weight, points, interval in parts
        if interval is not None
    ]
    if len(known) < len(parts):
        return None
    low, high = compute_weighted_sum_limits(*np.array(known).T)
    return Interval(float(low), float(high))


# -------------------------------------------------------------- subjects that differ in one setting

NOT_PINNED = "not pinned"


@dataclass(frozen=True, slots=True)
class Variant:
    """One of several models that differ in one setting only, such as the provider or the reasoning
    effort.
    """

    label: str
    setting: str  # the provider that it is pinned to, or the effort
    index: Points | None  # None: incomplete
    runs: int
    # its index minus the one of what it is compared with; None for that one itself
    difference: Difference | None
    served: Mapping[str, int]  # provider -> replies, the one that served most first
    # the same difference with its intervals; None: not both of them are ranked
    apart: Annotated[ScoreDifference | None, HIDDEN] = None
    # significant on the same scenarios, corrected for the number of comparisons; None: unknown
    stands: bool | None = None

    @property
    def interval(self) -> Annotated[Uncertainty | None, DIFFERENCE]:
        """The two 95% intervals of the difference between this model's index and that of the model
        it is compared with, in points (same scenarios again, new scenarios); None unless both are
        ranked.
        """
        return self.apart.uncertainty if self.apart else None

    @property
    def smallest_seen(self) -> Annotated[ByQuestion | None, SENT]:
        """The minimum detectable difference between the indices of two models that differ in one
        setting, in points (for the same scenarios and for new ones): the smallest true difference
        that 80 of 100 repetitions would find significant. None unless both are ranked.
        """
        return self.apart.smallest_seen if self.apart else None

    @property
    def p(self) -> Annotated[ByQuestion | None, SENT]:
        """The p-values of two models' indices not differing (for the same scenarios and for new
        ones): the level at which 0 lies on the edge of the interval of the difference. None unless
        both are ranked.
        """
        return self.apart.p if self.apart else None


@dataclass(frozen=True, slots=True)
class SettingComparison:
    """Models that differ in one setting only, with their indices."""

    model: str
    # the setting that the others are compared with; None: no variant is complete
    against: str | None
    variants: tuple[Variant, ...]


def compare_providers(board: Board, spent: Mapping[str, SubjectCost]) -> list[SettingComparison]:
    """Return a comparison of the indices by provider for every model on *board* that was played
    with at least two provider settings. Not pinning a provider is one of the settings, and the
    others are compared with it if it was played. The compared entries are equal in everything else.

    *spent*: model's hash -> its cost, which says which providers served the replies.
    """

    def list_causes_without_provider(model: ChatModel) -> tuple[object, ...]:
        """Return (name, value) of everything that can change what *model* says, except its
        provider.
        """
        return tuple((name, value) for name, value in model.causes().items() if name != "provider")

    return _compare_setting(
        board,
        spent,
        list_causes_without_provider,
        lambda m: m.provider or NOT_PINNED,
        lambda m: m.provider is not None,
    )


def compare_efforts(board: Board, spent: Mapping[str, SubjectCost]) -> list[SettingComparison]:
    """Return a comparison of the indices by reasoning effort for every model on *board* that was
    played with at least two efforts, each compared with the lowest effort whose runs are complete.
    The compared entries are equal in everything else (`list_causes_without_effort`).

    *spent*: model's hash -> its cost, which says which providers served the replies.
    """
    return _compare_setting(
        board,
        spent,
        list_causes_without_effort,
        lambda m: m.reasoning.value,
        lambda m: EFFORTS[m.reasoning],
    )


# the lowest is 0; what a model does by itself stands next to off, with which it is compared
EFFORTS = {
    effort: place
    for place, effort in enumerate(
        sorted(Reasoning, key=lambda one: (one is not Reasoning.OFF, one is not Reasoning.UNSET))
    )
}


def list_causes_without_effort(model: ChatModel) -> tuple[object, ...]:
    """Return everything that can change what *model* says, except its reasoning effort.

    Its token limit is left out too, unless a person chose the limit: a model that reasons gets a
    larger one by default.
    """
    same = {
        name: value
        for name, value in model.causes().items()
        if name not in ("reasoning", "max_tokens")
    }
    return (*same.items(), model.max_tokens if model.own_limit else None)


def differ_only_in_effort(first: ChatModel, second: ChatModel) -> bool:
    """Return whether *first* and *second* are one model with two reasoning efforts, equal in
    everything else.
    """
    return first.reasoning != second.reasoning and list_causes_without_effort(
        first
    ) == list_causes_without_effort(second)


def _compare_setting(
    board: Board,
    spent: Mapping[str, SubjectCost],
    other_causes: Callable[[ChatModel], tuple[object, ...]],
    setting: Callable[[ChatModel], str],
    sort_key: Callable[[ChatModel], int],
) -> list[SettingComparison]:
    """Return a comparison of the indices for every group of rows of *board* that are equal in
    *other_causes* and differ in *setting*. In a group the rows are sorted by *sort_key*, and all
    are compared with the first complete one. *other_causes*, *setting* and *sort_key* are called
    with a row's model. *spent*: model's hash -> its cost.
    """
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in board.rows:
        groups.setdefault(other_causes(row.subject), []).append(row)
    comparisons = []
    for group in groups.values():
        if len({setting(row.subject) for row in group}) > 1:
            group.sort(key=lambda row: (sort_key(row.subject), row.label))
            base = next((row for row in group if row.index is not None), None)
            variants = tuple(
                _make_variant(board, row, base, setting(row.subject), spent) for row in group
            )
            against = setting(base.subject) if base else None
            comparisons.append(SettingComparison(group[0].subject.name, against, variants))
    comparisons.sort(key=lambda comparison: (comparison.model, comparison.variants[0].label))
    # which are significant among all of them: of forty true zeros two seem to be none
    aparts = [variant.apart for comparison in comparisons for variant in comparison.variants]
    stands = iter(
        find_significant_differences([apart.p_rerun if apart else None for apart in aparts])
    )
    return [
        replace(
            comparison,
            variants=tuple(
                replace(variant, stands=next(stands)) for variant in comparison.variants
            ),
        )
        for comparison in comparisons
    ]


def _make_variant(
    board: Board, row: Row, base: Row | None, setting: str, spent: Mapping[str, SubjectCost]
) -> Variant:
    """Return *row* of *board* as an entry of a comparison by one setting, with its index minus that
    of *base*, the row that it is compared with. *base* None: no row of the comparison is complete,
    and there is no difference. *spent*: model's hash -> its cost, which says which providers served
    it.
    """
    apart, difference = None, None
    if base is not None and row is not base and row.index is not None and base.index is not None:
        difference = row.index - base.index
        if board.uncertainty is not None and row in board.ranked and base in board.ranked:
            apart = board.uncertainty.estimate_difference(
                INDEX, board.ranked.index(row), board.ranked.index(base)
            )
    served = dict(spent.get(row.subject.hash, SubjectCost()).served)
    return Variant(row.label, setting, row.index, row.runs, difference, served, apart)
