"""What the system prompt and the way of talking do to the index: configurations of one protocol, compared.

Pure: from boards to values. Everything is paired within subjects, so a difference is never one between other
models; all numbers are points of the index (0-100). Points only: says nothing of how sure they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal

from independence_bench.plan import every_configuration
from independence_bench.protocol import DELIVERIES, Configuration
from independence_bench.report.rows import Board
from independence_bench.scoring import mean_of

Indices = Mapping[Configuration, float]  # of one subject, where it has one
Contrast = tuple[Configuration, Configuration]  # a configuration, and the one that it is compared with


@dataclass(frozen=True, slots=True)
class Place:
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


@dataclass(frozen=True, slots=True)
class Spread:
    """One subject in the configurations of a comparison, in its order; None where it has no index."""

    label: str
    indices: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Configurations:
    """All configurations that a judge's marks give an index in, side by side."""

    judge: str | None
    places: tuple[Place, ...]
    subjects: tuple[Spread, ...]  # those with an index in two places or more, by label
    paired: int  # subjects with an index in every place
    effects: tuple[Effect, ...]


def compare_configurations(boards: Sequence[Board], judge: str | None) -> Configurations | None:
    """The configurations of the boards by *judge*; None unless a subject has an index in two of them.

    A subject that is incomplete in a pool still counts in the configurations that it has completed.
    """
    mine = [board for board in boards if board.judge == judge]
    indices, labels = _indices(mine)
    if not any(len(there) > 1 for there in indices.values()):
        return None
    played = [c for c in every_configuration(mine[0].protocol) if any(c in there for there in indices.values())]
    played.sort(key=lambda c: _order(mine[0], c))
    whole = [there for there in indices.values() if len(there) == len(played)]
    places = [_place(configuration, list(indices.values()), whole) for configuration in played]
    spreads = [
        Spread(labels[subject], tuple(there.get(c) for c in played))
        for subject, there in indices.items()
        if len(there) > 1
    ]
    spreads.sort(key=lambda spread: spread.label)
    effects = _effects(_systems(mine[0], played), list(indices.values()))
    return Configurations(judge, tuple(places), tuple(spreads), len(whole), tuple(effects))


def _indices(boards: Sequence[Board]) -> tuple[dict[str, dict[Configuration, float]], dict[str, str]]:
    """(subject -> configuration -> index, subject -> label), subjects by their hash."""
    indices: dict[str, dict[Configuration, float]] = {}
    labels: dict[str, str] = {}
    for board in boards:
        for row in (*board.ranked, *board.incomplete):
            labels.setdefault(row.subject.hash, row.label)
            there = indices.setdefault(row.subject.hash, {})
            by_itself = row.by_configuration or {board.configurations[0]: row.score}
            there |= {c: score.index for c, score in by_itself.items() if score.index is not None}
    return indices, labels


def _order(board: Board, configuration: Configuration) -> tuple[int, int]:
    systems = [name for name, _ in board.protocol.systems]
    return systems.index(configuration.system), DELIVERIES.index(configuration.delivery)


def _systems(board: Board, played: Sequence[Configuration]) -> list[str]:
    """The variants that were played, in the protocol's order; the first is what the others are compared with."""
    return [name for name, _ in board.protocol.systems if any(c.system == name for c in played)]


def _place(configuration: Configuration, subjects: Sequence[Indices], whole: Sequence[Indices]) -> Place:
    there = [indices[configuration] for indices in subjects if configuration in indices]
    mean = fsum(there) / len(there)  # somebody has an index there: that is what makes it played
    return Place(str(configuration), len(there), mean, mean_of([indices[configuration] for indices in whole]))


def _effects(systems: Sequence[str], subjects: Sequence[Indices]) -> list[Effect]:
    """Every effect that at least one subject has all indices for: both factors, then their interaction."""
    user, tool = DELIVERIES
    found: list[Effect | None] = []
    for level in systems[1:]:
        prompts: dict[str, Contrast] = {d: (Configuration(level, d), Configuration(systems[0], d)) for d in DELIVERIES}
        found += _factor("system", level, systems[0], prompts, subjects)
    ways: dict[str, Contrast] = {s: (Configuration(s, tool), Configuration(s, user)) for s in systems}
    found += _factor("delivery", tool, user, ways, subjects)
    for level in systems[1:]:
        (a, b), (c, d) = ways[level], ways[systems[0]]
        found.append(_effect("interaction", level, systems[0], None, ((1, a), (-1, b), (-1, c), (1, d)), subjects))
    return [effect for effect in found if effect is not None]


def _factor(
    factor: Literal["system", "delivery"],
    level: str,
    base: str,
    contrasts: Mapping[str, Contrast],
    subjects: Sequence[Indices],
) -> list[Effect | None]:
    """The main effect, where the other factor has two levels or more, then the effect within each of those."""
    share = 1 / len(contrasts)
    every = [part for one, other in contrasts.values() for part in ((share, one), (-share, other))]
    main = _effect(factor, level, base, None, every, subjects) if len(contrasts) > 1 else None
    within = [
        _effect(factor, level, base, name, ((1, one), (-1, other)), subjects)
        for name, (one, other) in contrasts.items()
    ]
    return [main, *within]


def _effect(
    factor: Literal["system", "delivery", "interaction"],
    level: str,
    base: str,
    within: str | None,
    contrast: Sequence[tuple[float, Configuration]],
    subjects: Sequence[Indices],
) -> Effect | None:
    """The mean of the *contrast* (weights on configurations) over the subjects that have all of it."""
    needed = {configuration for _, configuration in contrast}
    points = [fsum(weight * there[c] for weight, c in contrast) for there in subjects if needed <= there.keys()]
    mean = mean_of(points)
    return None if mean is None else Effect(factor, level, base, within, len(points), mean)
