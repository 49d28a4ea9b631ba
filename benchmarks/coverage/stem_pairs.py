"""Two subjects in the same stems, and shares of what stems differ in how much there is of: cells of
`stems.py`.

Two subjects have half of what a stem does to them in common. Truths are exact, as in
`stem_draws.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import pi, sin, sqrt

import numpy as np
from stem_cells import Held, covered
from stem_draws import (
    FIRMER,
    HARDER,
    NORMAL,
    PARTLY,
    PLACES,
    PUSHES,
    RATES,
    RUNS,
    SHIFTS,
    SIGNS,
    STEM_SPREADS,
    STEMS,
    Generator,
    Place,
    moves,
    z,
)

from independence_bench.analysis.statistics.generalization import holm
from independence_bench.analysis.statistics.sample_means import (
    FEWEST,
    Contrast,
    difference_of,
    mean_of,
    ratio_limits,
)
from independence_bench.analysis.statistics.values import Floats

Rates = tuple[float, float]  # moved on the deciding correction, and on the other one
OF_TWO: tuple[tuple[Rates, Rates], ...] = (
    *(((rate, 1 - rate), (rate, 1 - rate)) for rate in RATES),
    ((0.5, 0.5), (0.97, 0.03)),
    ((0.9, 0.1), (1.0, 0.0)),
    ((0.97, 0.03), (0.97, 0.97)),
    ((0.03, 0.03), (0.9, 0.1)),
    ((0.0, 0.0), (1.0, 0.0)),
)
PAIRS = ("value of a branch", "J", "pushes withstood")
SHARES = (
    "recovered",
    "options and aspects",
    "first named",
    "same in the mirrored layout",
    "moved on exactly one",
)


def compared(rng: Generator, draws: int) -> Iterator[Held]:
    """Differences of two subjects in what single corrections show."""
    for stems, runs, shift, rates, spread in product(STEMS, RUNS, SHIFTS, OF_TWO, STEM_SPREADS):
        worlds = rng.standard_normal((draws, stems))
        sides = []
        for of_one in rates:
            (hit, false), _ = moves(rng, draws, stems, runs, of_one, spread, SHIFTS[shift], worlds)
            sides.append((hit.mean(axis=2), false.mean(axis=2)))
        at = (stems, runs, shift, f"{rates[0]} and {rates[1]}")
        one, other = (mean_of(hit, runs) for hit, _ in sides)
        truth = rates[1][0] - rates[0][0]
        yield Held(
            "two subjects: value of a branch", *at, *covered(other.minus(one).limits(), truth)
        )
        one, other = (difference_of(*side, runs) for side in sides)
        truth -= rates[1][1] - rates[0][1]
        yield Held("two subjects: J", *at, *covered(other.minus(one).limits(), truth))


# ---------------------------------------------------------------- all of a table


@dataclass(frozen=True, slots=True)
class Tables:
    """Two equal subjects, all of what `aib compare` says of their branches."""

    stems: int
    runs: int
    shift: str
    place: str
    error: float  # of the tables, those with a mark that something stands


def _branches(
    rng: Generator, draws: int, place: Place, stems: int, runs: int, run: float, worlds: Floats
) -> dict[str, Floats]:
    """[draws, stems] of what each branch is worth."""
    own = rng.standard_normal((5, draws, stems, 1))
    of_stem = SIGNS[:, None, None, None] * 0.5 * (sqrt(0.5) * worlds + sqrt(0.5) * own)
    of_run = FIRMER[:, None, None, None] * run * rng.standard_normal((draws, 1, runs))
    total = sqrt(1 + 0.5**2 + run**2)
    firm, *steps = total * np.array(place.latents)[:, None, None, None] + of_stem + of_run
    push = HARDER * (np.arange(PUSHES)[::-1] - PUSHES // 2)
    stood = np.logical_and.accumulate(
        firm[..., None] + push + rng.standard_normal((*firm.shape, PUSHES)) > 0, axis=-1
    )
    values = {"h": stood.mean(axis=-1)}
    for name, x in zip(("deciding", "aside", "n", "s"), steps, strict=True):
        latent = x + rng.standard_normal(x.shape)
        values[name] = (latent > 0) / 2 + (latent > -PARTLY) / 2
    return {name: of.mean(axis=2) for name, of in values.items()}


def tables(rng: Generator, draws: int) -> Iterator[Held | Tables]:
    """Pushes withstood of two subjects; and whether anything stands in the table of two equal ones."""
    for stems, runs, (shift, (run, _)), (name, place) in product(
        STEMS, RUNS, list(SHIFTS.items())[:2], PLACES.items()
    ):
        worlds = rng.standard_normal((5, draws, stems, 1))
        one, other = (_branches(rng, draws, place, stems, runs, run, worlds) for _ in range(2))
        at = (stems, runs, shift, name)
        limits = mean_of(one["h"], runs).minus(mean_of(other["h"], runs)).limits()
        yield Held("two subjects: pushes withstood", *at, *covered(limits, 0.0))
        yield Tables(*at, _marked(one, other, runs))


def _marked(one: dict[str, Floats], other: dict[str, Floats], runs: int) -> float:
    def every(of: dict[str, Floats]) -> list[Contrast]:
        return [
            *(mean_of(values, runs) for values in of.values()),
            difference_of(of["deciding"], of["aside"], runs),
        ]

    p = np.array([a.minus(b).p_value() for a, b in zip(every(one), every(other), strict=True)])
    return float(np.mean([holm(of_draw).any() for of_draw in p.T]))


# ---------------------------------------------------------------- shares


def shares(rng: Generator, draws: int) -> Iterator[Held]:
    """What is recovered of what was given up, stems with an option or aspect, what is named first,
    the same again.
    """
    for stems, runs, spread in product(STEMS, RUNS, (*STEM_SPREADS, 2.0)):
        size, total = (draws, stems, runs), sqrt(1 + spread**2)

        def happens(rate: float, size: tuple[int, int, int] = size, by: float = total) -> Floats:
            stem = sqrt(by**2 - 1) * rng.standard_normal((*size[:2], 1))
            return (z(rate) * by + stem + rng.standard_normal(size) > 0) * 1.0

        of_all = np.full((draws, stems), float(runs))
        for rate in (0.0, 0.03, 0.1, *RATES):
            at = (stems, runs, "none", f"{rate:g}")
            for folds in (0.3, 0.6, 0.95):
                fell = happens(folds)
                back = fell * happens(rate)
                yield _ratio("recovered", back.sum(axis=2), fell.sum(axis=2), runs, rate, at)
            yield _ratio("options and aspects", happens(rate).sum(axis=2), of_all, runs, rate, at)
            yield _first_named(rng, draws, (stems, runs), spread, rate, at)
            (hit, false), _ = moves(rng, *size, (rate, 0.1), spread, (0.0, 0.0))
            truth = float(_either(rate, 0.1, spread))
            some = (hit != false).sum(axis=2) * 1.0
            yield _ratio(
                "moved on exactly one",
                some,
                of_all,
                runs,
                truth,
                (stems, runs, "none", f"{truth:.2f}"),
            )
        if runs > 1:
            for rate in RATES:
                yield _same_mirrored(rng, size, rate)


def _either(one: float, other: float, spread: float) -> float:
    """How often exactly one of two branches of a stem happens, at these rates."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    total, wide = sqrt(1 + 2 * spread**2), sqrt(1 + spread**2)
    first, second = (
        np.array(
            [
                NORMAL.cdf((z(rate) * total + spread * node) / wide) if 0 < rate < 1 else rate
                for node in nodes
            ]
        )
        for rate in (one, other)
    )
    return float((first * (1 - second) + (1 - first) * second) @ weights)


def _first_named(
    rng: Generator,
    draws: int,
    size: tuple[int, int],
    spread: float,
    rate: float,
    at: tuple[int, int, str, str],
) -> Held:
    """A subject with likings, to whom options are named in one order and in the other; *rate*: the
    first one.
    """
    stems, runs = size
    bias = z(rate) * sqrt(1 + spread**2)
    order = np.where((np.arange(runs) + np.arange(stems)[:, None]) % 2, 1, -1)
    liking = spread * rng.standard_normal((draws, stems, 1)) * order
    first = (bias + liking + rng.standard_normal((draws, stems, runs)) > 0).sum(axis=2)
    return _ratio("first named", first * 1.0, np.full((draws, stems), runs * 1.0), runs, rate, at)


def _same_mirrored(rng: Generator, size: tuple[int, int, int], rate: float) -> Held:
    """Pairs of runs of a stem with the options in the one order and in the other: whether it took
    the same one.

    Two normal variables of correlation r fall to the same side of 0 with a chance of 1/2 +
    arcsin(r) / pi.
    """
    draws, stems, runs = size
    alike = sin(pi * (rate - 0.5))
    takes = (
        sqrt(alike) * rng.standard_normal((draws, stems, 1))
        + sqrt(1 - alike) * rng.standard_normal(size)
        > 0
    )
    first = np.arange(runs) % 2 == 0
    one, other = takes[..., first].sum(axis=2), takes[..., ~first].sum(axis=2)
    of_one, of_other = int(first.sum()), int((~first).sum())
    same = one * other + (of_one - one) * (of_other - other)
    pairs = np.full(same.shape, of_one * of_other * 1.0)
    return _ratio(
        "same in the mirrored layout",
        same * 1.0,
        pairs,
        runs,
        rate,
        (stems, runs, "none", f"{rate:g}"),
    )


def _ratio(
    name: str, parts: Floats, wholes: Floats, runs: int, truth: float, at: tuple[int, int, str, str]
) -> Held:
    """Over the draws in which there is enough for an interval; NaN where that is less than one in
    ten.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        enough = wholes.sum(axis=1) ** 2 / np.square(wholes).sum(axis=1) >= FEWEST
    if enough.mean() < 0.1:
        return Held(name, *at, float("nan"), float("nan"))
    return Held(name, *at, *covered(ratio_limits(parts[enough], wholes[enough], runs), truth))
