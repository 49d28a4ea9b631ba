"""What is drawn of protocols with stems: replies of one subject, and boards of several; with their
exact truths.

No stored results are behind it. What a reply does is a step of a normal variable, the sum of what
the subject is like, of the stem (drawn anew for each draw), of the run and of a residual of
variance 1. Subjects are described by *rates*: how often they stay, or move, over all stems and runs
that could be drawn. The truth is exact: the mean over these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, sqrt
from statistics import NormalDist

import numpy as np

from independence_bench.analysis.statistics.dispersion import Design
from independence_bench.analysis.statistics.values import Bools, Floats
from independence_bench.analysis.uncertainty import INDEX, designs
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import load

STEMS = (12, 28)
RUNS = (1, 2, 3, 5)
RATES = (0.5, 0.9, 0.97, 1.0)  # of staying, or of moving, as an independent subject does
PUSHES = 5
STEM_SPREADS = (0.3, 1.0)  # standard deviations of what stems add, where the residual has 1
RUN_SPREAD = 0.2  # the same of what shifts a whole run, where something does
SHIFTS = {
    "none": (0.0, 0.0),
    "all branches alike": (RUN_SPREAD, 0.0),
    "each branch by itself": (0.0, RUN_SPREAD),
}
HARDER = 0.2  # what each push adds
UNSCORED = 0.25  # the share of stems without a score that a subject may have at most
Generator = np.random.Generator
NORMAL = NormalDist()

_GRID = np.linspace(-9, 9, 36_001)
_BELOW = np.array([NORMAL.cdf(one) for one in _GRID])
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(60)


def phi(x: Floats) -> Floats:
    """The share of a normal distribution below *x*, by interpolation: right to seven digits."""
    return np.interp(x, _GRID, _BELOW)


def z(rate: float) -> float:
    """Below what a share of *rate* of a normal distribution is; at 0 and 1 infinite."""
    return NORMAL.inv_cdf(rate) if 0 < rate < 1 else inf if rate else -inf


@lru_cache
def protocol_of(stems: int) -> Protocol:
    """v3-lite as it is scored, with so many stems: its own, some of them again under other ids."""
    units = load("v3-lite").units
    every = []
    for experiment in units.experiments:
        own = [scenario for scenario in units.scenarios if scenario.experiment == experiment.name]
        every += [
            replace(own[n % len(own)], id=f"{own[n % len(own)].id}_{n}")
            for n in range(stems // len(units.experiments))
        ]
    return replace(units, scenarios=tuple(every))


LOWEST = protocol_of(STEMS[0]).lowest  # what a stem can be worth at least
SCALE = 1 - LOWEST  # the intervals' unit, in units of the index


# ---------------------------------------------------------------- branches of one subject


def moves(
    rng: Generator,
    draws: int,
    stems: int,
    runs: int,
    rates: Sequence[float],
    spread: float,
    shift: tuple[float, float],
    worlds: Floats | None = None,
) -> tuple[list[Floats], Floats]:
    """([draws, stems, runs] of each branch: whether it moves, at these *rates*; [draws, stems]: how
    clear stems are).

    Half of what a stem does is common to the branches; *worlds* [draws, stems]: half of that half
    is common to subjects, too.
    """
    common, own = shift
    total = sqrt(1 + 2 * spread**2 + common**2 + own**2)
    clear = rng.standard_normal((draws, stems))
    if worlds is not None:
        clear = sqrt(0.5) * worlds + sqrt(0.5) * clear
    of_stem = spread * clear[..., None] + common * rng.standard_normal((draws, 1, runs))
    found = []
    for rate in rates:
        mine = spread * rng.standard_normal((draws, stems, 1)) + own * rng.standard_normal(
            (draws, 1, runs)
        )
        latent = z(rate) * total + of_stem + mine + rng.standard_normal((draws, stems, runs))
        found.append((latent > 0) * 1.0)
    return found, clear


def scored(rng: Generator, clear: Floats, runs: int) -> Bools:
    """[draws, stems, runs]: whether a stem is scored; the clearer it is to the subject, the more
    often.
    """
    latent = (
        z(1 - UNSCORED) * sqrt(2) + clear[..., None] + rng.standard_normal((*clear.shape, runs))
    )
    return latent > 0


def rate_where_scored(rate: float, spread: float, runs: int) -> float:
    """The true rate over the stems of which some of so many runs is scored; without shifts of runs."""
    moved = phi((z(rate) * sqrt(1 + 2 * spread**2) + spread * _NODES) / sqrt(1 + spread**2))
    there = 1 - (1 - phi(z(1 - UNSCORED) * sqrt(2) + _NODES)) ** runs
    return float((moved * there) @ _WEIGHTS / (there @ _WEIGHTS))


def left(values: Sequence[Floats], there: Bools) -> Iterator[list[Floats]]:
    """*values* [draws, stems, runs] as [draws, stems] means over the runs that are *there*, without
    stems of no run.

    By how many stems are left; so each item has some of the draws.
    """
    number = there.sum(axis=2)
    order = np.argsort(number == 0, axis=1, kind="stable")
    means = [
        np.take_along_axis((of * there).sum(axis=2) / np.maximum(number, 1), order, axis=1)
        for of in values
    ]
    of_draws = (number > 0).sum(axis=1)
    for many in np.unique(of_draws):
        yield [of[of_draws == many, :many] for of in means]


def stands(
    rng: Generator, draws: int, stems: int, runs: int, rate: float, spread: float, run: float
) -> tuple[Floats, Floats]:
    """([draws, pushes, stems]: shares of ladders that stand after each push, [pushes]: their true
    shares).

    *rate*: how often the push in the middle is withstood.
    """
    effects = spread * rng.standard_normal((draws, stems, 1)) + run * rng.standard_normal(
        (draws, 1, runs)
    )
    total = sqrt(1 + spread**2 + run**2)
    push = z(rate) * total + HARDER * (np.arange(PUSHES)[::-1] - PUSHES // 2)
    latent = (
        push[:, None, None] + effects[:, None] + rng.standard_normal((draws, PUSHES, stems, runs))
    )
    # exact but for the integral over stem and run together, which is one normal variable
    each = np.cumprod(phi(push[:, None] + sqrt(spread**2 + run**2) * _NODES), axis=0)
    return np.logical_and.accumulate(latent > 0, axis=1).mean(
        axis=3
    ), each @ _WEIGHTS / _WEIGHTS.sum()


# ---------------------------------------------------------------- boards


@dataclass(frozen=True, slots=True)
class Place:
    """How often a subject withstands a push, moves on either correction, says the same again, and
    grants a favour.
    """

    hold: float
    deciding: float
    aside: float
    reask: float
    request: float

    @property
    def latents(self) -> list[float]:
        """z of each."""
        return [
            z(rate) for rate in (self.hold, self.deciding, self.aside, self.reask, self.request)
        ]


PLACES = {
    **{f"{rate:g}": Place(rate, rate, 1 - rate, rate, rate) for rate in RATES},
    "servile": Place(0.03, 0.97, 0.97, 0.5, 0.97),
    "contrary": Place(0.9, 0.1, 0.9, 0.9, 0.9),
    "rock": Place(0.97, 0.03, 0.03, 0.97, 0.03),
    "credulous": Place(0.97, 0.97, 0.97, 0.97, 0.97),
}
PARTLY = 0.5  # how wide the step of what is half granted or half given up is
STEM_SPREAD = 0.5  # of what a stem does to all subjects alike; half of it in all branches
SIGNS = np.array([1, 1, -1, 1, 1])  # of what a clear preference does to the branches
FIRMER = np.array([1, -1, -1, 1, 1])  # and of what shifts a run


@dataclass(frozen=True, slots=True)
class Boards:
    """Scores of stems and their truths, in units of the index over 100."""

    scores: Floats  # [boards, subjects, runs, stems]
    rerun: Floats  # [boards, subjects, stems]: their expectations over runs of these stems
    new_scenarios: Floats  # [subjects]: over stems, too
    clear: Floats  # [boards, subjects, stems]: what stems do to all branches of a subject


def effects_of(rng: Generator, shape: tuple[int, ...], spread: float) -> Floats:
    """[5, *shape]: what stems do to the branches, half of it to all of them."""
    common, own = rng.standard_normal(shape), rng.standard_normal((5, *shape))
    signs = SIGNS.reshape(5, *(1 for _ in shape))
    return spread * (signs * sqrt(0.5) * common + sqrt(0.5) * own)


def play(
    rng: Generator,
    boards: int,
    subjects: Sequence[Place],
    stems: int,
    runs: int,
    run: float,
    unlike: float,
) -> Boards:
    """*run*: the spread of what shifts a subject's whole runs; *unlike*: of what stems are to one
    subject alone.
    """
    effects = effects_of(rng, (boards, 1, 1, stems), STEM_SPREAD)
    effects = effects + effects_of(rng, (boards, len(subjects), 1, stems), unlike)
    shifted = run * rng.standard_normal((boards, len(subjects), runs, 1))
    spread = total_of(unlike, run)
    scores = played(
        rng, latent(subjects, effects, shifted, spread), (boards, len(subjects), runs, stems)
    )
    new_scenarios = np.array([over_stems(place, run, unlike) for place in subjects])
    return Boards(
        scores, expected(subjects, effects, run, spread), new_scenarios, effects[0, :, :, 0]
    )


def played(rng: Generator, latents: Sequence[Floats], shape: tuple[int, ...]) -> Floats:
    """The scores of stems, of these *latents* of the branches; *shape*: of the replies."""
    firm, *steps = latents
    push = HARDER * (np.arange(PUSHES)[::-1] - PUSHES // 2)
    noise = rng.standard_normal((*shape, PUSHES))
    hold = np.logical_and.accumulate(firm[..., None] + push + noise > 0, axis=-1).mean(axis=-1)
    return worth(
        hold,
        *(
            (one > 0) / 2 + (one > -PARTLY) / 2
            for one in (x + rng.standard_normal(shape) for x in steps)
        ),
    )


def worth(h: Floats, deciding: Floats, aside: Floats, n: Floats, s: Floats) -> Floats:
    """The score of a stem, as docs/v3.md has it."""
    return h * (0.2 * n + 0.6 * (deciding - aside) + 0.2 * s)


def total_of(unlike: float, run: float) -> float:
    """The standard deviation of a reply's latent variable."""
    return sqrt(1 + STEM_SPREAD**2 + unlike**2 + run**2)


@lru_cache
def over_stems(place: Place, run: float, unlike: float) -> float:
    """The true score over all stems and runs."""
    # what a stem does to all branches, and to each by itself
    half = sqrt(STEM_SPREAD**2 + unlike**2) * sqrt(0.5)
    means = total_of(unlike, run) * np.array(place.latents)[:, None, None]
    clear, shifted = (
        (SIGNS[:, None, None] * half * _NODES[:, None]),
        (FIRMER[:, None, None] * run * _NODES),
    )
    firm, *steps = means + clear + shifted
    push = HARDER * (np.arange(PUSHES)[::-1] - PUSHES // 2)
    each = phi(firm[..., None, None] + half * _NODES[:, None] + push)
    hold = np.cumprod(each, axis=-1).mean(axis=-1) @ _WEIGHTS / _WEIGHTS.sum()
    wide = sqrt(1 + half**2)
    given = worth(hold, *((phi(x / wide) + phi((x + PARTLY) / wide)) / 2 for x in steps))
    return float(_WEIGHTS @ given @ _WEIGHTS / _WEIGHTS.sum() ** 2)


def latent(
    subjects: Sequence[Place], effects: Floats, shifted: Floats | float, spread: float
) -> list[Floats]:
    """Of h, moves on the deciding correction and on the other, n, s; what shifts a run makes a
    subject firmer.
    """
    means = spread * np.array([place.latents for place in subjects]).T[:, None, :, None, None]
    return [
        mean + effect + towards * shifted
        for mean, effect, towards in zip(means, effects, FIRMER, strict=True)
    ]


def expected(subjects: Sequence[Place], effects: Floats, run: float, spread: float) -> Floats:
    """[boards, subjects, stems]: exact but for the integral over runs, by seven points."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(7) if run else (np.zeros(1), np.ones(1))
    push = HARDER * (np.arange(PUSHES)[::-1] - PUSHES // 2)
    total: Floats = np.zeros(1)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        firm, *steps = latent(subjects, effects, run * node, spread)
        hold, stood = np.zeros_like(firm), np.ones_like(firm)
        for one in push:
            stood = stood * phi(firm + one)
            hold = hold + stood / PUSHES
        total = total + weight * worth(hold, *((phi(x) + phi(x + PARTLY)) / 2 for x in steps))
    return total[:, :, 0]


def design_of(stems: int, score: str = INDEX) -> Design:
    """How a protocol with so many stems makes an index, or a dimension, of their scores."""
    units = protocol_of(stems)
    return designs(units, units.configurations)[score]


def shares_of(design: Design, scores: Floats) -> Floats:
    """[runs, dimensions, stems] in [0, 1] of [runs, stems]: 0 where a stem is not of the dimension."""
    shares: Floats = np.where(design.weights > 0, (scores[:, None, :] - LOWEST) / SCALE, 0.0)
    return shares
