"""What one setting does to the index: the system prompt and the way of talking; a subject's
provider and its effort.

Pure: from boards to values; all numbers are points of the index (0-100). Configurations of one
protocol are paired within subjects, so a difference is never one between other models. It has an
interval by each of two questions:

    sampled  other subjects like these: they are a sample, the scenarios stay
    rerun    the same test again: these subjects and these scenarios, the runs vary

Runs of two configurations have nothing in common but the subject and the scenarios. Subjects that
differ in one setting are compared by means over runs; how sure these are follows from all ranked
subjects of the board (`uncertainty.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Literal

import numpy as np

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.costs import SubjectCost
from independence_bench.analysis.statistics.generalization import standing_out
from independence_bench.analysis.statistics.intervals import joined_limits
from independence_bench.analysis.statistics.sample_means import effect_interval
from independence_bench.analysis.statistics.values import UNKNOWN, Interval, ScoreDifference
from independence_bench.analysis.uncertainty import INDEX
from independence_bench.models.spec import ChatModel, Reasoning
from independence_bench.protocol.definition import DELIVERIES, Configuration, Protocol
from independence_bench.protocol.plan import every_configuration
from independence_bench.protocol.scoring import OWN, mean_of

# in [0, 100], and where it lies by the same test again, where that is known
Index = tuple[float, Interval | None]
Indices = Mapping[Configuration, Index]  # of one subject, where it has one
# a configuration, and the one that it is compared with
Places = tuple[Configuration, Configuration]
Factor = Literal["both", "system", "delivery", "interaction"]
# on the configurations that an effect compares; they add up to 0
Weights = tuple[tuple[float, Configuration], ...]


@dataclass(frozen=True, slots=True)
class ConfigurationSummary:
    """One configuration and what the subjects came to in it."""

    configuration: str
    subjects: int  # that have an index there
    mean: float  # of theirs
    # mean over the subjects that have an index in every place; None: there are none
    paired: float | None


@dataclass(frozen=True, slots=True)
class Effect:
    """The mean over subjects of a difference within each of them.

    both: the index with *level* and tool_role minus the index with *base* and user_role. system,
    delivery: the index with *level* minus the index with *base*, *within* one level of the other
    factor, or averaged over all of its levels (the main effect; *within* is None then).
    interaction: the difference that tool_role makes with
    *level* minus the one that it makes with *base*: 0 where the two factors add up.
    """

    factor: Factor
    level: str
    base: str
    within: str | None
    subjects: int = 0
    points: float = 0.0
    sampled: Interval | None = None  # at 95%, in points; None: fewer than three subjects
    rerun: Interval | None = None  # None: how the runs of one of the subjects vary is not known


@dataclass(frozen=True, slots=True)
class SubjectEffect:
    """An effect in one subject alone, in points, with its interval by the same test again where
    that is known.
    """

    points: float
    rerun: Interval | None


@dataclass(frozen=True, slots=True)
class SubjectIndices:
    """One subject in the configurations of a comparison, in its order; None where it has no index."""

    label: str
    indices: tuple[float | None, ...]
    intervals: tuple[Interval | None, ...] = ()  # of the indices, by the same test again
    changes: tuple[SubjectEffect | None, ...] = ()
    """By the effects of the comparison, in their order; None: not all is there."""


@dataclass(frozen=True, slots=True)
class ConfigurationComparison:
    """All configurations that a judge's marks give an index in, side by side."""

    judge: str | None
    places: tuple[ConfigurationSummary, ...]
    subjects: tuple[SubjectIndices, ...]  # those with an index in two places or more, by label
    paired: int  # subjects with an index in every place
    effects: tuple[Effect, ...]


def compare_configurations(
    boards: Sequence[Board], judge: str | None
) -> ConfigurationComparison | None:
    """The configurations of the boards by *judge*; None unless a subject has an index in two of
    them.

    A subject that is incomplete in a pool still counts in the configurations that it has completed.
    """
    mine = [board for board in boards if board.judge == judge]
    indices, labels = _indices(mine)
    if not any(len(there) > 1 for there in indices.values()):
        return None
    played = [
        c
        for c in every_configuration(mine[0].protocol)
        if any(c in there for there in indices.values())
    ]
    played.sort(key=lambda c: order_of(mine[0].protocol, c))
    whole = [there for there in indices.values() if len(there) == len(played)]
    places = []
    for configuration in played:
        there = [of[configuration][0] for of in indices.values() if configuration in of]
        paired = mean_of([of[configuration][0] for of in whole])
        places.append(
            ConfigurationSummary(str(configuration), len(there), fsum(there) / len(there), paired)
        )
    systems = [
        name for name, _ in mine[0].protocol.systems if any(c.system == name for c in played)
    ]
    measured = [
        (_measured(*one, list(indices.values())), one[1]) for one in _possible_effects(systems)
    ]
    effects = {effect: weights for effect, weights in measured if effect is not None}
    spreads = []
    for hash_, of in indices.items():
        if len(of) > 1:
            values, ends = zip(
                *(of.get(configuration, (None, None)) for configuration in played), strict=True
            )
            changes = tuple(_in_subject(weights, of) for weights in effects.values())
            spreads.append(SubjectIndices(labels[hash_], values, ends, changes))
    spreads.sort(key=lambda spread: spread.label)
    return ConfigurationComparison(judge, tuple(places), tuple(spreads), len(whole), tuple(effects))


def change_between(first: Index, second: Index) -> SubjectEffect:
    """The second minus the first: of one subject in two configurations whose runs have nothing in
    common.
    """
    return _weighted([(1.0, *second), (-1.0, *first)])


def _indices(
    boards: Sequence[Board],
) -> tuple[dict[str, dict[Configuration, Index]], dict[str, str]]:
    """(subject -> configuration -> index, subject -> label), subjects by their hash."""
    indices: dict[str, dict[Configuration, Index]] = {}
    labels: dict[str, str] = {}
    for board in boards:
        for row in board.rows:
            labels.setdefault(row.subject.hash, row.label)
            there = indices.setdefault(row.subject.hash, {})
            by_itself = row.by_configuration or {board.configurations[0]: row.score}
            sure = row.uncertainty_by_configuration or {
                board.configurations[0]: row.uncertainty.index
            }
            there |= {
                c: (score.index, sure.get(c, UNKNOWN).rerun if board.rules == OWN.name else None)
                for c, score in by_itself.items()
                if score.index is not None
            }
    return indices, labels


def order_of(protocol: Protocol, configuration: Configuration) -> tuple[int, int]:
    """What configurations are sorted by: the protocol's order of prompts, then deliveries."""
    systems = [name for name, _ in protocol.systems]
    return systems.index(configuration.system), DELIVERIES.index(configuration.delivery)


def _possible_effects(systems: Sequence[str]) -> list[tuple[Effect, Weights]]:
    """Every effect that there may be, not measured yet: both factors together, each one, then their
    interaction.

    The first of *systems* is what the others are compared with.
    """
    user, tool = DELIVERIES
    base, *levels = systems
    effects: list[tuple[Effect, Weights]] = [
        (
            Effect("both", level, base, None),
            ((1, Configuration(level, tool)), (-1, Configuration(base, user))),
        )
        for level in levels
    ]
    for level in levels:
        prompts: dict[str, Places] = {
            d: (Configuration(level, d), Configuration(base, d)) for d in DELIVERIES
        }
        effects += _of_factor("system", level, base, prompts)
    ways: dict[str, Places] = {s: (Configuration(s, tool), Configuration(s, user)) for s in systems}
    effects += _of_factor("delivery", tool, user, ways)
    for level in levels:
        (a, b), (c, d) = ways[level], ways[base]
        effects.append(
            (Effect("interaction", level, base, None), ((1, a), (-1, b), (-1, c), (1, d)))
        )
    return effects


def _of_factor(
    factor: Factor, level: str, base: str, pairs: Mapping[str, Places]
) -> list[tuple[Effect, Weights]]:
    """The main effect, where the other factor has two levels or more, then the effect within each
    of those.
    """
    share = 1 / len(pairs)
    every = tuple(part for one, other in pairs.values() for part in ((share, one), (-share, other)))
    main = [(Effect(factor, level, base, None), every)] if len(pairs) > 1 else []
    return [
        *main,
        *((Effect(factor, level, base, name), ((1, a), (-1, b))) for name, (a, b) in pairs.items()),
    ]


def _measured(effect: Effect, weights: Weights, subjects: Sequence[Indices]) -> Effect | None:
    """*effect* over the subjects that have all of it; None where nobody has."""
    there = [(indices, one) for indices in subjects if (one := _in_subject(weights, indices))]
    points = mean_of([one.points for _, one in there])
    if points is None:
        return None
    scores = np.array([[indices[c][0] / 100 for _, c in weights] for indices, _ in there])
    sampled = effect_interval(scores, [weight for weight, _ in weights])
    return replace(
        effect,
        subjects=len(there),
        points=points,
        sampled=sampled.scaled(100) if sampled else None,
        rerun=_joined([(1 / len(there), one.points, one.rerun) for _, one in there]),
    )


def _in_subject(weights: Weights, indices: Indices) -> SubjectEffect | None:
    """The effect in one subject alone; None where it lacks one of the configurations."""
    if any(configuration not in indices for _, configuration in weights):
        return None
    return _weighted([(weight, *indices[configuration]) for weight, configuration in weights])


def _weighted(parts: Sequence[tuple[float, float, Interval | None]]) -> SubjectEffect:
    return SubjectEffect(fsum(weight * points for weight, points, _ in parts), _joined(parts))


def _joined(parts: Sequence[tuple[float, float, Interval | None]]) -> Interval | None:
    """Of the weighted sum; None where one of the parts has no interval."""
    known = [
        (weight, points, interval.low, interval.high)
        for weight, points, interval in parts
        if interval is not None
    ]
    if len(known) < len(parts):
        return None
    low, high = joined_limits(*np.array(known).T)
    return Interval(float(low), float(high))


NOT_PINNED = "not pinned"


# ---------------------------------------------------------------- subjects that differ in one setting


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the subjects of a comparison."""

    label: str
    setting: str  # the provider that it is pinned to, or the effort
    index: float | None  # None: incomplete
    runs: int
    # its index minus the one of what it is compared with; None for that one itself
    difference: float | None
    served: tuple[tuple[str, int], ...]
    # the same difference with its intervals; None: not both of them are ranked
    apart: ScoreDifference | None = None
    # told from 0 on this test though so many are compared; None: nothing is known
    stands: bool | None = None


@dataclass(frozen=True, slots=True)
class SettingComparison:
    """Subjects that are the same but for one setting."""

    model: str
    # the setting that the others are compared with; None: no variant is complete
    against: str | None
    variants: tuple[Variant, ...]


def compare_providers(board: Board, spent: Mapping[str, SubjectCost]) -> list[SettingComparison]:
    """Every model that was served under two pins or more, no pin being one: compared with no pin,
    where that is there.

    *spent* by subject hash says who served those that were not pinned. Subjects are put side by
    side only if they are equal in everything else.
    """

    def rest(model: ChatModel) -> tuple[object, ...]:
        return tuple((name, value) for name, value in model.causes().items() if name != "provider")

    return _compare(
        board, spent, rest, lambda m: m.provider or NOT_PINNED, lambda m: m.provider is not None
    )


def compare_efforts(board: Board, spent: Mapping[str, SubjectCost]) -> list[SettingComparison]:
    """Every model that was played with two reasoning efforts or more: compared with the lowest that
    is complete.

    Equal in everything else, except that who thinks has more room for its reply unless a limit was
    chosen.
    """
    order = list(Reasoning)

    def rest(model: ChatModel) -> tuple[object, ...]:
        same = {
            name: value
            for name, value in model.causes().items()
            if name not in ("reasoning", "max_tokens")
        }
        return (*same.items(), model.max_tokens if model.own_limit else None)

    return _compare(
        board, spent, rest, lambda m: m.reasoning.value, lambda m: order.index(m.reasoning)
    )


def _compare(
    board: Board,
    spent: Mapping[str, SubjectCost],
    rest: Callable[[ChatModel], tuple[object, ...]],
    setting: Callable[[ChatModel], str],
    place: Callable[[ChatModel], int],
) -> list[SettingComparison]:
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in board.rows:
        groups.setdefault(rest(row.subject), []).append(row)
    comparisons = []
    for group in groups.values():
        if len({setting(row.subject) for row in group}) > 1:
            group.sort(key=lambda row: (place(row.subject), row.label))
            base = next((row for row in group if row.score.index is not None), None)
            variants = tuple(
                _variant(board, row, base, setting(row.subject), spent) for row in group
            )
            against = setting(base.subject) if base else None
            comparisons.append(SettingComparison(group[0].subject.name, against, variants))
    comparisons.sort(key=lambda comparison: (comparison.model, comparison.variants[0].label))
    # which are significant among all of them: of forty true zeros two seem to be none
    aparts = [variant.apart for comparison in comparisons for variant in comparison.variants]
    stands = iter(standing_out([apart.p_rerun if apart else None for apart in aparts]))
    return [
        replace(
            comparison,
            variants=tuple(
                replace(variant, stands=next(stands)) for variant in comparison.variants
            ),
        )
        for comparison in comparisons
    ]


def _variant(
    board: Board, row: Row, base: Row | None, setting: str, spent: Mapping[str, SubjectCost]
) -> Variant:
    apart, difference = None, None
    if (
        base is not None
        and row is not base
        and row.score.index is not None
        and base.score.index is not None
    ):
        difference = row.score.index - base.score.index
        if board.uncertainty is not None and row in board.ranked and base in board.ranked:
            apart = board.uncertainty.difference(
                INDEX, board.ranked.index(row), board.ranked.index(base)
            )
    served = spent.get(row.subject.hash, SubjectCost()).served
    return Variant(row.label, setting, row.score.index, row.score.runs, difference, served, apart)
