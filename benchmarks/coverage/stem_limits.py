"""Limits of many boards of one design at once: as `generalization` has them, which
asks board by board.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from independence_bench.analysis.statistics.dispersion import (
    Measured,
    pairs_new_scenarios,
    pairs_rerun,
    scores_new_scenarios,
    scores_rerun,
)
from independence_bench.analysis.statistics.intervals import (
    Limits,
    Scores,
    differences,
    intervals,
    joined,
)
from independence_bench.analysis.statistics.values import Numbers

Sides = tuple[Scores, ...]  # one: of subjects; two: of pairs of them


def all_limits(
    measured: Sequence[Measured], pairs: tuple[Numbers, Numbers] | None = None
) -> tuple[Limits, Limits]:
    """(rerun, new_scenarios): low and high [boards, subjects, or *pairs* of them, by number]; NaN:
    no interval.
    """
    if pairs is None:
        rerun = _at_once([_one(scores_rerun(board)) for board in measured])
        another = _at_once([_one(scores_new_scenarios(board)) for board in measured])
    else:
        rerun = _at_once([pairs_rerun(board, *pairs) for board in measured])
        another = _at_once([pairs_new_scenarios(board, *pairs) for board in measured])
    wide = np.fmin(another[0], rerun[0]), np.fmax(another[1], rerun[1])
    shown = np.array([not one.run_effects.beyond for one in measured])[:, None]
    return (np.where(shown, rerun[0], np.nan), np.where(shown, rerun[1], np.nan)), wide


def _one(scores: Scores | None) -> Sides | None:
    return None if scores is None else (scores,)


def _at_once(boards: Sequence[Sides | None]) -> Limits:
    number = max((len(sides[0].mean) for sides in boards if sides), default=1)
    low, high = (np.full((len(boards), number), np.nan) for _ in range(2))
    for those, sides in _alike(boards):
        found = intervals(*sides) if len(sides) == 1 else differences(*sides)
        low[those], high[those] = (ends.reshape(len(those), -1) for ends in found)
    return low, high


def _alike(boards: Sequence[Sides | None]) -> list[tuple[list[int], Sides]]:
    """(numbers of boards, theirs one after the other), apart where some are exact."""
    kinds: dict[tuple[bool, ...], list[int]] = {}
    for place, sides in enumerate(boards):
        if sides is not None:
            kinds.setdefault(tuple(side.exact for side in sides), []).append(place)
    found = []
    for those in kinds.values():
        mine = [sides for place in those if (sides := boards[place]) is not None]
        found.append((those, tuple(joined(of) for of in zip(*mine, strict=True))))
    return found
