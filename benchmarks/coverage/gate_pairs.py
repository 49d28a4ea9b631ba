"""Pairs of builds of known truth, as `gates.py` tests them: a build and what became of it.

The marks are v2's, drawn from the models fitted to published results (draw.py). The later build is
another one: what suits it in each scenario is drawn anew (or is the same, of builds that are
alike), and it is lowered until its true index is lower by exactly so many points, in all that is
marked or in one dimension alone. Both play the same scenarios; the truth is the mean over all runs
of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from draw import PLACES, Generator, Part, models, whole_index

from independence_bench.analysis.statistics.dispersion import Design
from independence_bench.analysis.statistics.values import Floats

UNLIKE = {"alike": 0.0, "unlike": 1.0}  # how much of what suits the later build is drawn anew
REACH = -1.0, 6.0  # standard deviations of a latent variable by which a build is lowered
HALVINGS = 14  # of that range: what is left of it moves an index by a hundredth of a point


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Builds before and after; shares [draws, runs, dimensions, transcripts]."""

    design: Design
    before: Floats
    after: Floats
    drop: Floats  # [draws], true, in [0, 1]


Draw = Callable[[Generator, int, int, int, float | Floats, str], Pairs]
"""(generator, draws, runs before, runs after, true drop in [0, 1], which builds) -> pairs."""


def of_v2(place: str, spread: float) -> Draw:
    """Pairs whose earlier build stands at *place*; *spread* of what shifts its runs."""
    test = whole_index(models())
    weights = test.design.weights
    at = [(part.dimension, part.transcript) for part in test.parts]
    worth = np.array([part.share * weights[one] for part, one in zip(test.parts, at, strict=True)])

    def draw(
        rng: Generator, draws: int, first: int, later: int, drop: float | Floats, kind: str
    ) -> Pairs:
        unlike, alone = _kind(kind)
        suits, others, hard = ({one: rng.normal(size=draws) for one in at} for _ in range(3))
        cells, moved = [], []
        for part, one in zip(test.parts, at, strict=True):
            model, suit = part.model, suits[one]
            cell = sqrt(model.subject) * PLACES[place] + sqrt(model.scenario) * hard[one]
            anew = sqrt(1 - unlike) * suit + sqrt(unlike) * others[one]
            cells.append(cell + sqrt(model.interaction) * suit)
            moved.append(cell + sqrt(model.interaction) * anew)
        lowered = np.array([not alone or part.model.name == "resistance" for part in test.parts])

        def truth(of: Sequence[Floats]) -> Floats:
            each = [
                p.model.mean(c, p.model.residual + spread**2)
                for p, c in zip(test.parts, of, strict=True)
            ]
            return np.tensordot(worth, np.array(each), 1)

        def lower(by: Floats) -> list[Floats]:
            return [cell - by * mine for cell, mine in zip(moved, lowered, strict=True)]

        level = truth(cells)
        by, reached = _solve(lambda by: truth(lower(by)), level - drop, draws)
        played = [
            _play_v2(rng, test.parts, weights.shape, of, runs, spread)
            for of, runs in ((cells, first), (lower(by), later))
        ]
        return Pairs(
            test.design, *(one[reached] for one in played), (level - truth(lower(by)))[reached]
        )

    return draw


def _play_v2(
    rng: Generator,
    parts: Sequence[Part],
    shape: tuple[int, ...],
    cells: Sequence[Floats],
    runs: int,
    spread: float,
) -> Floats:
    draws = len(cells[0])
    shares = np.zeros((draws, runs, *shape))
    shift = spread * rng.normal(size=(draws, runs))
    for part, cell in zip(parts, cells, strict=True):
        model = part.model
        said = cell[:, None] + shift + sqrt(model.residual) * rng.normal(size=(draws, runs))
        shares[:, :, part.dimension, part.transcript] += part.share * model.given(said)
    return shares


def _kind(kind: str) -> tuple[float, bool]:
    name, _, where = kind.partition(", ")
    return UNLIKE[name], where == "in one dimension"


def _solve(truth: Callable[[Floats], Floats], wanted: Floats, draws: int) -> tuple[Floats, Floats]:
    """How far each is to be lowered for its truth to be *wanted*; and which of them can be."""
    small, large = (np.full(draws, end) for end in REACH)
    for _ in range(HALVINGS):
        middle = (small + large) / 2
        above = truth(middle) > wanted
        small, large = np.where(above, middle, small), np.where(above, large, middle)
    by = (small + large) / 2
    return by, np.abs(truth(by) - wanted) < 5e-4
