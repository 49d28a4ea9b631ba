"""What the system prompt and the way of talking do to the index: configurations of one protocol, compared.

Pure: from boards to values. Everything is paired within subjects, so a difference is never one between other
models; all numbers are points of the index (0-100). A difference has an interval by each of two questions:

    sampled   other subjects like these: they are a sample, the scenarios stay
    again     the same test again: these subjects and these scenarios, the runs vary

Runs of two configurations have nothing in common but the subject and the scenarios.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal

import numpy as np

from independence_bench.analysis.leaderboard import Board
from independence_bench.analysis.statistics.intervals import Interval
from independence_bench.analysis.statistics.paired import effect_interval, linear_limits
from independence_bench.analysis.uncertainty import UNKNOWN
from independence_bench.protocol.definition import DELIVERIES, Configuration, Protocol
from independence_bench.protocol.plan import every_configuration
from independence_bench.protocol.scoring import mean_of

Index = tuple[float, Interval | None]  # in [0, 100], and where it lies by the same test again, where that is known
Indices = Mapping[Configuration, Index]  # of one subject, where it has one
Pair = tuple[Configuration, Configuration]  # a configuration, and the one that it is compared with


@dataclass(frozen=True, slots=True)
class ConfigurationSummary:
    """One configuration and what the subjects came to in it."""

    configuration: str
    subjects: int  # that have an index there
    mean: float  # of theirs
    paired: float | None  # mean over the subjects that have an index in every place; None: there are none


@dataclass(frozen=True, slots=True)
class Effect:
    """The mean over subjects of a difference within each of them.

    system, delivery: the index with *level* minus the index with *base*, *within* one level of the other factor, or
    averaged over all of its levels (the main effect; *within* is None then). interaction: the difference that
    tool_role makes with *level* minus the one that it makes with *base*: 0 where the two factors add up.
    """

    factor: Literal["system", "delivery", "interaction"]
    level: str
    base: str
    within: str | None
    subjects: int
    points: float
    sampled: Interval | None = None  # at 95 %, in points; None: fewer than three subjects
    again: Interval | None = None  # None: how the runs of one of the subjects vary is not known


@dataclass(frozen=True, slots=True)
class SubjectEffect:
    """An effect in one subject alone, in points, with its interval by the same test again where that is known."""

    points: float
    again: Interval | None


@dataclass(frozen=True, slots=True)
class SubjectIndices:
    """One subject in the configurations of a comparison, in its order; None where it has no index."""

    label: str
    indices: tuple[float | None, ...]
    intervals: tuple[Interval | None, ...] = ()  # of the indices, by the same test again
    changes: tuple[
        SubjectEffect | None, ...
    ] = ()  # by the effects of the comparison, in their order; None: not all is there


@dataclass(frozen=True, slots=True)
class ConfigurationComparison:
    """All configurations that a judge's marks give an index in, side by side."""

    judge: str | None
    places: tuple[ConfigurationSummary, ...]
    subjects: tuple[SubjectIndices, ...]  # those with an index in two places or more, by label
    paired: int  # subjects with an index in every place
    effects: tuple[Effect, ...]


def compare_configurations(boards: Sequence[Board], judge: str | None) -> ConfigurationComparison | None:
    """The configurations of the boards by *judge*; None unless a subject has an index in two of them.

    A subject that is incomplete in a pool still counts in the configurations that it has completed.
    """
    mine = [board for board in boards if board.judge == judge]
    indices, labels = _indices(mine)
    if not any(len(there) > 1 for there in indices.values()):
        return None
    played = [c for c in every_configuration(mine[0].protocol) if any(c in there for there in indices.values())]
    played.sort(key=lambda c: order_of(mine[0].protocol, c))
    whole = [there for there in indices.values() if len(there) == len(played)]
    places = [_place(configuration, list(indices.values()), whole) for configuration in played]
    contrasts = [(c, e) for c in _contrasts(_systems(mine[0], played)) if (e := _effect(c, list(indices.values())))]
    spreads = [
        _spread(labels[subject], there, played, [contrast for contrast, _ in contrasts])
        for subject, there in indices.items()
        if len(there) > 1
    ]
    spreads.sort(key=lambda spread: spread.label)
    effects = tuple(effect for _, effect in contrasts)
    return ConfigurationComparison(judge, tuple(places), tuple(spreads), len(whole), effects)


def change_between(first: Index, second: Index) -> SubjectEffect:
    """The second minus the first: of one subject in two places whose runs have nothing in common."""
    return _sum([(1.0, *second), (-1.0, *first)])


def _indices(boards: Sequence[Board]) -> tuple[dict[str, dict[Configuration, Index]], dict[str, str]]:
    """(subject -> configuration -> index, subject -> label), subjects by their hash."""
    indices: dict[str, dict[Configuration, Index]] = {}
    labels: dict[str, str] = {}
    for board in boards:
        for row in (*board.ranked, *board.incomplete):
            labels.setdefault(row.subject.hash, row.label)
            there = indices.setdefault(row.subject.hash, {})
            by_itself = row.by_configuration or {board.configurations[0]: row.score}
            sure = row.certainty_by_configuration or {board.configurations[0]: row.certainty.index}
            there |= {
                c: (score.index, sure.get(c, UNKNOWN).again)
                for c, score in by_itself.items()
                if score.index is not None
            }
    return indices, labels


def _spread(
    label: str, there: Indices, played: Sequence[Configuration], contrasts: Sequence[_Contrast]
) -> SubjectIndices:
    indices = [there.get(configuration, (None, None)) for configuration in played]
    return SubjectIndices(
        label,
        tuple(index for index, _ in indices),
        tuple(interval for _, interval in indices),
        tuple(_change(contrast, there) for contrast in contrasts),
    )


def order_of(protocol: Protocol, configuration: Configuration) -> tuple[int, int]:
    """What configurations are sorted by: the protocol's order of prompts, then deliveries."""
    systems = [name for name, _ in protocol.systems]
    return systems.index(configuration.system), DELIVERIES.index(configuration.delivery)


def _systems(board: Board, played: Sequence[Configuration]) -> list[str]:
    """The variants that were played, in the protocol's order; the first is what the others are compared with."""
    return [name for name, _ in board.protocol.systems if any(c.system == name for c in played)]


def _place(configuration: Configuration, subjects: Sequence[Indices], whole: Sequence[Indices]) -> ConfigurationSummary:
    there = [indices[configuration][0] for indices in subjects if configuration in indices]
    mean = fsum(there) / len(there)  # somebody has an index there: that is what makes it played
    return ConfigurationSummary(
        str(configuration), len(there), mean, mean_of([indices[configuration][0] for indices in whole])
    )


# ---------------------------------------------------------------- effects


@dataclass(frozen=True, slots=True)
class _Contrast:
    """What an effect compares, and by which weights on the configurations; they add up to 0."""

    factor: Literal["system", "delivery", "interaction"]
    level: str
    base: str
    within: str | None
    weights: tuple[tuple[float, Configuration], ...]

    def of(self, there: Indices) -> float:
        """In one subject; KeyError where it lacks one of the configurations."""
        return fsum(weight * there[c][0] for weight, c in self.weights)

    def possible(self, there: Indices) -> bool:
        """Whether a subject has all of it."""
        return all(configuration in there for _, configuration in self.weights)


def _contrasts(systems: Sequence[str]) -> list[_Contrast]:
    """Every effect that there may be: both factors, then their interaction."""
    user, tool = DELIVERIES
    found: list[_Contrast] = []
    for level in systems[1:]:
        prompts: dict[str, Pair] = {d: (Configuration(level, d), Configuration(systems[0], d)) for d in DELIVERIES}
        found += _factor("system", level, systems[0], prompts)
    ways: dict[str, Pair] = {s: (Configuration(s, tool), Configuration(s, user)) for s in systems}
    found += _factor("delivery", tool, user, ways)
    for level in systems[1:]:
        (a, b), (c, d) = ways[level], ways[systems[0]]
        found.append(_Contrast("interaction", level, systems[0], None, ((1, a), (-1, b), (-1, c), (1, d))))
    return found


def _factor(factor: Literal["system", "delivery"], level: str, base: str, pairs: Mapping[str, Pair]) -> list[_Contrast]:
    """The main effect, where the other factor has two levels or more, then the effect within each of those."""
    share = 1 / len(pairs)
    every = tuple(part for one, other in pairs.values() for part in ((share, one), (-share, other)))
    main = [_Contrast(factor, level, base, None, every)] if len(pairs) > 1 else []
    return [*main, *(_Contrast(factor, level, base, name, ((1, a), (-1, b))) for name, (a, b) in pairs.items())]


def _effect(contrast: _Contrast, subjects: Sequence[Indices]) -> Effect | None:
    """The mean over the subjects that have all of it; None where nobody has."""
    mine = [there for there in subjects if contrast.possible(there)]
    points = mean_of([contrast.of(there) for there in mine])
    if points is None:
        return None
    weights = [weight for weight, _ in contrast.weights]
    scores = np.array([[there[c][0] / 100 for _, c in contrast.weights] for there in mine])
    sampled = effect_interval(scores, weights)
    changes = [change for there in mine if (change := _change(contrast, there))]
    return Effect(
        contrast.factor,
        contrast.level,
        contrast.base,
        contrast.within,
        len(mine),
        points,
        sampled.scaled(100) if sampled else None,
        _joined([(1 / len(mine), change.points, change.again) for change in changes]),
    )


def _change(contrast: _Contrast, there: Indices) -> SubjectEffect | None:
    if not contrast.possible(there):
        return None
    return _sum([(weight, *there[c]) for weight, c in contrast.weights])


def _sum(parts: Sequence[tuple[float, float, Interval | None]]) -> SubjectEffect:
    return SubjectEffect(fsum(weight * points for weight, points, _ in parts), _joined(parts))


def _joined(parts: Sequence[tuple[float, float, Interval | None]]) -> Interval | None:
    """Of the weighted sum; None where one of the parts has no interval."""
    known = [(weight, points, interval) for weight, points, interval in parts if interval is not None]
    return linear_limits(known) if len(known) == len(parts) else None
