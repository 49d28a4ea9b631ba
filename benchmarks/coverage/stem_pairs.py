"""Two subjects in the same stems, and shares of what stems differ in how much there is of: cells of `stems.py`.

Two subjects have half of what a stem does to them in common. Truths are exact, as in `stem_draws.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from stem_cells import FIRM, Held, covered
from stem_draws import (
    HARDER,
    NORMAL,
    PARTLY,
    PLACES,
    PROTOCOLS,
    PUSHES,
    RUN_SPREAD,
    RUNS,
    SHIFTS,
    STEM_SPREADS,
    Generator,
    Place,
)

from independence_bench.analysis.statistics.ranking import holm
from independence_bench.analysis.statistics.sample_means import (
    FEWEST,
    Contrast,
    difference_of,
    mean_of,
    ratio_limits,
)
from independence_bench.analysis.statistics.values import Floats

GAP_PAIRS = ((0.0, 0.0), (0.8, 1.2), (2.0, 2.0), (0.0, 2.0))  # z(H) - z(F) of the two
PAIRS = ("value of a branch", "H - F", "openness", "pushes withstood")
SHARES = ("recovered", "openings", "first named", "views")
Rates = Sequence[tuple[float, float]]  # of each subject: z of H and of F


def two(
    rng: Generator, draws: int, stems: int, runs: int, rates: Rates, spread: float, shift: tuple[float, float]
) -> list[tuple[Floats, Floats]]:
    """Of two subjects [draws, stems]: shares of moves on relevant and on irrelevant corrections."""
    common, own = shift
    total = sqrt(1 + 2 * spread**2 + common**2 + own**2)
    world = rng.standard_normal((draws, stems, 1))
    found = []
    for pair in rates:
        of_stem = sqrt(0.5) * world + sqrt(0.5) * rng.standard_normal((draws, stems, 1))
        of_run = common * rng.standard_normal((draws, 1, runs))
        sides = []
        for rate in pair:
            mine = spread * rng.standard_normal((draws, stems, 1)) + own * rng.standard_normal((draws, 1, runs))
            latent = rate * total + spread * of_stem + of_run + mine + rng.standard_normal((draws, stems, runs))
            sides.append((latent > 0).mean(axis=2))
        found.append((sides[0], sides[1]))
    return found


def _contrasts(hits: Floats, false: Floats, runs: int) -> dict[str, Contrast]:
    return {
        "value of a branch": mean_of(hits, runs),
        "H - F": difference_of(hits, false, runs),
    }


def compared(rng: Generator, draws: int) -> Iterator[Held]:
    """Differences of two subjects in what single corrections show."""
    for stems in PROTOCOLS:
        for runs in RUNS:
            for shift, of_shift in SHIFTS.items():
                for less, more in GAP_PAIRS:
                    for spread in STEM_SPREADS:
                        for firm in FIRM:
                            rates = [(less / 2, -less / 2), (more / 2 - firm, -more / 2 - firm)]
                            (one, of_one), (other, of_other) = two(rng, draws, stems, runs, rates, spread, of_shift)
                            true = [[NORMAL.cdf(rate) for rate in pair] for pair in rates]
                            truths = {
                                "value of a branch": true[1][0] - true[0][0],
                                "H - F": true[1][0] - true[1][1] - true[0][0] + true[0][1],
                            }
                            first = _contrasts(one, of_one, runs)
                            second = _contrasts(other, of_other, runs)
                            at = (stems, runs, shift, f"{less:g} and {more:g}")
                            for name, truth in truths.items():
                                limits = second[name].minus(first[name]).limits()
                                yield Held(f"two subjects: {name}", *at, *covered(limits, truth))


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
    """[draws, stems] of what each branch is worth, of openness, of moves, of pushes withstood."""
    own = rng.standard_normal((5, draws, stems, 1))
    of_stem = 0.5 * (sqrt(0.5) * worlds + sqrt(0.5) * own)
    of_run = run * rng.standard_normal((draws, 1, runs))
    means = (place.firm, place.reason, place.stays, place.stays, place.grants)
    firm, *steps = (mean + of + of_run for mean, of in zip(means, of_stem, strict=True))
    push = HARDER * (np.arange(PUSHES)[::-1] - PUSHES // 2)
    stood = np.logical_and.accumulate(firm[..., None] + push + rng.standard_normal((*firm.shape, PUSHES)) > 0, axis=-1)
    e, r, n, s = ((one > 0) / 2 + (one > -PARTLY) / 2 for one in (x + rng.standard_normal(x.shape) for x in steps))
    values = {"h": stood.mean(axis=-1), "e": e, "r": r, "n": n, "s": s, "openness": e * r}
    values |= {"moved on e": (e > 0.5) * 1.0, "moved on r": (r < 0.5) * 1.0}
    return {name: of.mean(axis=2) for name, of in values.items()}


def tables(rng: Generator, draws: int) -> Iterator[Held | Tables]:
    """Openness and pushes withstood of two subjects; and whether anything stands in the table of two equal ones."""
    for stems in PROTOCOLS:
        for runs in RUNS:
            for shift, run in (("none", 0.0), ("all branches alike", RUN_SPREAD)):
                for name, place in PLACES.items():
                    worlds = rng.standard_normal((5, draws, stems, 1))
                    one, other = (_branches(rng, draws, place, stems, runs, run, worlds) for _ in range(2))
                    at = (stems, runs, shift, name)
                    for title, of in (("openness", "openness"), ("pushes withstood", "h")):
                        limits = mean_of(one[of], runs).minus(mean_of(other[of], runs)).limits()
                        yield Held(f"two subjects: {title}", *at, *covered(limits, 0.0))
                    yield Tables(*at, _marked(one, other, runs))


def _marked(one: dict[str, Floats], other: dict[str, Floats], runs: int) -> float:
    def every(of: dict[str, Floats]) -> list[Contrast]:
        means = [mean_of(of[name], runs) for name in ("h", "e", "r", "n", "s", "openness")]
        return [*means, difference_of(of["moved on e"], of["moved on r"], runs)]

    p = np.array([a.minus(b).p_value() for a, b in zip(every(one), every(other), strict=True)])
    return float(np.mean([holm(of_draw).any() for of_draw in p.T]))


# ---------------------------------------------------------------- shares


def shares(rng: Generator, draws: int) -> Iterator[Held]:
    """What is recovered of what was given up, openings that agree, effects of the order, views."""
    for stems in PROTOCOLS:
        for runs in RUNS:
            for spread in (*STEM_SPREADS, 2.0):
                total = sqrt(1 + spread**2)

                def happens(rate: float, shape: tuple[int, int, int] = (draws, stems, runs)) -> Floats:
                    latent = NORMAL.inv_cdf(rate) * total + spread * rng.standard_normal((*shape[:2], 1))  # noqa: B023
                    return (latent + rng.standard_normal(shape) > 0) * 1.0

                for rate in (0.05, 0.2, 0.5, 0.8, 0.95):
                    at = (stems, runs, "none", f"{rate:g}")
                    for folds in (0.3, 0.6, 0.95):
                        fell = happens(folds)
                        back = fell * happens(rate)
                        yield _ratio("recovered", back.sum(axis=2), fell.sum(axis=2), runs, rate, at)
                    yield _ratio("views", happens(rate).sum(axis=2), np.full((draws, stems), runs), runs, rate, at)
                    yield _first_named(rng, draws, (stems, runs), spread, rate, at)
                if runs > 1:
                    yield _openings(rng, draws, (stems, runs), spread)


def _first_named(
    rng: Generator, draws: int, size: tuple[int, int], spread: float, rate: float, at: tuple[int, int, str, str]
) -> Held:
    """A subject with likings, to whom options are named in one order and in the other; *rate*: the first one."""
    stems, runs = size
    bias = NORMAL.inv_cdf(rate) * sqrt(1 + spread**2)
    order = np.where((np.arange(runs) + np.arange(stems)[:, None]) % 2, 1, -1)
    liking = spread * rng.standard_normal((draws, stems, 1)) * order
    first = (bias + liking + rng.standard_normal((draws, stems, runs)) > 0).sum(axis=2)
    return _ratio("first named", first * 1.0, np.full((draws, stems), runs * 1.0), runs, rate, at)


def _openings(rng: Generator, draws: int, size: tuple[int, int], spread: float) -> Held:
    stems, runs = size
    liking = spread * rng.standard_normal((draws, stems, 1))
    takes = (liking + rng.standard_normal((draws, stems, runs)) > 0).sum(axis=2)
    pairs = runs * (runs - 1) / 2
    alike = (takes * (takes - 1) + (runs - takes) * (runs - takes - 1)) / 2
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    p = np.array([NORMAL.cdf(spread * node) for node in nodes])
    truth = float((p**2 + (1 - p) ** 2) @ weights / weights.sum())
    at = (stems, runs, "none", f"{truth:.2f}")
    return _ratio("openings", alike, np.full((draws, stems), pairs), runs, truth, at)


def _ratio(name: str, parts: Floats, wholes: Floats, runs: int, truth: float, at: tuple[int, int, str, str]) -> Held:
    """Over the draws in which there is enough for an interval; NaN where that is less than one in ten."""
    with np.errstate(divide="ignore", invalid="ignore"):
        enough = wholes.sum(axis=1) ** 2 / np.square(wholes).sum(axis=1) >= FEWEST
    if enough.mean() < 0.1:
        return Held(name, *at, float("nan"), float("nan"))
    return Held(name, *at, *covered(ratio_limits(parts[enough], wholes[enough], runs), truth))
