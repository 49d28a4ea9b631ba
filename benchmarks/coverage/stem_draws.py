"""What is drawn of protocols with stems: replies of one subject, and boards of several; with their exact truths.

No stored results are behind it: no model was played under v3 when this was written. What a reply does is a step of a
normal variable, the sum of what the subject is like, of the stem (drawn anew for each draw), of the run and of a
residual of variance 1. The truth is exact: the mean over all stems and runs that could be drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from statistics import NormalDist

import numpy as np

from independence_bench.analysis.statistics.dispersion import Design
from independence_bench.analysis.statistics.values import Floats
from independence_bench.analysis.uncertainty import INDEX, designs
from independence_bench.protocol.loader import load

PROTOCOLS = {12: "v3-lite", 28: "v3"}
RUNS = (1, 3, 5)
PUSHES = 5
STEM_SPREADS = (0.3, 1.0)  # standard deviations of what stems add, where the residual has 1
RUN_SPREAD = 0.2  # the same of what shifts a whole run, where something does
SHIFTS = {"none": (0.0, 0.0), "all branches alike": (RUN_SPREAD, 0.0), "each branch by itself": (0.0, RUN_SPREAD)}
HOLDS = (0.0, 0.8, 1.4, 2.0)  # how firm a subject is under pressure: it withstands from 3 to 4.9 of 5 pushes
HARDER = 0.2  # what each push adds
Generator = np.random.Generator
NORMAL = NormalDist()

_GRID = np.linspace(-9, 9, 36_001)
_BELOW = np.array([NORMAL.cdf(one) for one in _GRID])


def phi(x: Floats) -> Floats:
    """The share of a normal distribution below *x*, by interpolation: right to seven digits."""
    return np.interp(x, _GRID, _BELOW)


# ---------------------------------------------------------------- branches of one subject


def moves(
    rng: Generator, draws: int, stems: int, runs: int, rates: Sequence[float], spread: float, shift: tuple[float, float]
) -> list[Floats]:
    """[draws, stems]: the shares of moves in two branches whose true *rates* are z-scores; half of a stem is common."""
    common, own = shift
    total = sqrt(1 + 2 * spread**2 + common**2 + own**2)
    of_stem = spread * rng.standard_normal((draws, stems, 1)) + common * rng.standard_normal((draws, 1, runs))
    found = []
    for rate in rates:
        mine = spread * rng.standard_normal((draws, stems, 1)) + own * rng.standard_normal((draws, 1, runs))
        latent = rate * total + of_stem + mine + rng.standard_normal((draws, stems, runs))
        found.append((latent > 0).mean(axis=2))
    return found


def stands(
    rng: Generator, draws: int, stems: int, runs: int, firm: float, spread: float, run: float
) -> tuple[Floats, Floats]:
    """([draws, pushes, stems]: shares of ladders that stand after each push, [pushes]: their true shares)."""
    of_stem, of_run = (one * rng.standard_normal(shape) for one, shape in _effects(draws, stems, runs, spread, run))
    push = firm + HARDER * (np.arange(PUSHES)[::-1] - PUSHES // 2)
    latent = push[:, None, None] + (of_stem + of_run)[:, None] + rng.standard_normal((draws, PUSHES, stems, runs))
    # exact but for the integral over stem and run together, which is one normal variable
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    truth = np.cumprod(phi(push[:, None] + sqrt(spread**2 + run**2) * nodes), axis=0) @ weights / weights.sum()
    return np.logical_and.accumulate(latent > 0, axis=1).mean(axis=3), truth


def _effects(draws: int, stems: int, runs: int, spread: float, run: float) -> tuple[tuple[float, tuple[int, ...]], ...]:
    return (spread, (draws, stems, 1)), (run, (draws, 1, runs))


# ---------------------------------------------------------------- boards


@dataclass(frozen=True, slots=True)
class Place:
    """What a subject is like: how firm, how likely to move for a reason, to stay, and to grant."""

    firm: float
    reason: float
    stays: float
    grants: float


PLACES = {
    "low": Place(-0.5, -0.5, 0.3, 0.3),
    "rock": Place(3.0, -2.0, 3.0, 0.0),
    "middle": Place(0.8, 0.5, 1.0, 1.0),
    "high": Place(1.8, 1.5, 2.0, 2.0),
    "floor": Place(-2.5, -2.0, -1.0, -1.0),
    "ceiling": Place(3.5, 3.0, 3.0, 3.0),
}
PARTLY = 0.5  # how wide the step of what is half granted or half given up is


@dataclass(frozen=True, slots=True)
class Boards:
    """Scores of stems and their truths."""

    scores: Floats  # [boards, subjects, runs, stems], in [0, 1]
    rerun: Floats  # [boards, subjects, stems]: their expectations over runs of these stems
    new_scenarios: Floats  # [subjects]: over stems, too


def play(
    rng: Generator, boards: int, subjects: Sequence[Place], stems: int, runs: int, run: float, unlike: float
) -> Boards:
    """*run*: the spread of what shifts a subject's whole runs; *unlike*: of what stems are to one subject alone."""
    shape = (boards, len(subjects), 1, stems)
    effects = 0.5 * rng.standard_normal((5, boards, 1, 1, stems)) + unlike * rng.standard_normal((5, *shape))
    shifted = run * rng.standard_normal((boards, len(subjects), runs, 1))
    firm, *steps = latent(subjects, effects, shifted)
    push = HARDER * (np.arange(PUSHES)[::-1] - PUSHES // 2)
    noise = rng.standard_normal((boards, len(subjects), runs, stems, PUSHES))
    hold = np.logical_and.accumulate(firm[..., None] + push + noise > 0, axis=-1).mean(axis=-1)
    e, r, n, s = ((one > 0) / 2 + (one > -PARTLY) / 2 for one in (x + rng.standard_normal(x.shape) for x in steps))
    scores = hold * (0.3 * n + 0.5 * e * r + 0.2 * s)
    new_scenarios = np.array([over_stems(place, run, unlike) for place in subjects])
    return Boards(scores, expected(subjects, effects, run), new_scenarios)


@lru_cache
def over_stems(place: Place, run: float, unlike: float) -> float:
    """The true score over many stems, right to a tenth of a point."""
    effects = sqrt(0.25 + unlike**2) * np.random.default_rng(0).standard_normal((5, 1, 1, 1, 200_000))
    return float(expected([place], effects, run).mean())


def latent(subjects: Sequence[Place], effects: Floats, shifted: Floats | float) -> list[Floats]:
    """Of h, e, r, n, s; what shifts a run makes a subject firmer and less open alike."""
    means = np.array([[p.firm, p.reason, p.stays, p.stays, p.grants] for p in subjects]).T[:, None, :, None, None]
    sign = (1, -1, 1, 1, 1)
    return [mean + effect + towards * shifted for mean, effect, towards in zip(means, effects, sign, strict=True)]


def expected(subjects: Sequence[Place], effects: Floats, run: float) -> Floats:
    """[boards, subjects, stems]: exact but for the integral over runs, by seven points."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(7) if run else (np.zeros(1), np.ones(1))
    push = HARDER * (np.arange(PUSHES)[::-1] - PUSHES // 2)
    total: Floats = np.zeros(1)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        firm, *steps = latent(subjects, effects, run * node)
        hold, stood = np.zeros_like(firm), np.ones_like(firm)
        for one in push:
            stood = stood * phi(firm + one)
            hold = hold + stood / PUSHES
        e, r, n, s = ((phi(x) + phi(x + PARTLY)) / 2 for x in steps)
        total = total + weight * hold * (0.3 * n + 0.5 * e * r + 0.2 * s)
    return total[:, :, 0]


def design_of(stems: int, score: str = INDEX) -> Design:
    """How the shipped protocol with so many stems makes an index, or a dimension, of their scores."""
    units = load(PROTOCOLS[stems]).units
    return designs(units, units.configurations)[score]


def shares_of(design: Design, scores: Floats) -> Floats:
    """[runs, dimensions, stems] of [runs, stems]: 0 where a stem is not of the dimension."""
    shares: Floats = np.where(design.weights > 0, scores[:, None, :], 0.0)
    return shares
