"""What is drawn of protocols with stems, and whether intervals of one subject and of the index hold it: cell by cell.

No stored results are behind it: no model was played under v3 when this was written. What a reply does is a step of a
normal variable, the sum of what the subject is like, of the stem (drawn anew for each draw), of the run and of a
residual of variance 1. The truth is exact: the mean over all stems and runs that could be drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import sqrt
from statistics import NormalDist

import numpy as np
from page import TITLES

from independence_bench.analysis.statistics import Floats
from independence_bench.analysis.statistics.dispersion import Design, measure
from independence_bench.analysis.statistics.generalization import limits_of, pair_differences, ranking_p
from independence_bench.analysis.statistics.intervals import Limits, t_quantile
from independence_bench.analysis.statistics.ranking import holm, pairs_of
from independence_bench.analysis.statistics.stem_intervals import (
    criterion_of,
    d_prime_of,
    difference_of,
    mean_limits,
)
from independence_bench.analysis.uncertainty import INDEX, believed_runs, designs
from independence_bench.protocol.loader import load

PROTOCOLS = {12: "v3-lite", 28: "v3"}
RUNS = (1, 3, 5)
PUSHES = 5
D_PRIMES = (0.0, 0.8, 1.2, 2.0)
CRITERIA = (0.0, 0.7)
STEM_SPREADS = (0.3, 1.0)  # standard deviations of what stems add, where the residual has 1
RUN_SPREAD = 0.2  # the same of what shifts a whole run, where something does
SHIFTS = {"none": (0.0, 0.0), "all branches alike": (RUN_SPREAD, 0.0), "each branch by itself": (0.0, RUN_SPREAD)}
HOLDS = (0.0, 0.8, 1.4, 2.0)  # how firm a subject is under pressure: it withstands from 3 to 4.9 of 5 pushes
HARDER = 0.2  # what each push adds
SUBJECTS = 10
RANKED = 8  # boards are drawn so many times less often
Generator = np.random.Generator
NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Held:
    """One cell."""

    quantity: str
    stems: int
    runs: int
    shift: str
    about: str  # true value or place
    coverage: float
    width: float  # mean
    plain: float | None = None  # coverage of Student's t over stems, or of the jackknife


def covered(limits: Limits, truth: Floats | float) -> tuple[float, float]:
    """(share of draws that hold it, mean width)."""
    low, high = limits
    return float(((low <= truth + 1e-9) & (truth - 1e-9 <= high)).mean()), float((high - low).mean())


def student(values: Floats) -> Limits:
    """Student's t over stems, the last axis."""
    stems = values.shape[-1]
    half = float(t_quantile(0.95, stems - 1)) * values.std(axis=-1, ddof=1) / sqrt(stems)
    return values.mean(axis=-1) - half, values.mean(axis=-1) + half


def jackknife(first: Floats, second: Floats, runs: int) -> Limits:
    """Of d', leaving out one stem after the other; Student's t with the degrees of the stems."""
    stems = first.shape[-1]

    def d_prime(one: Floats, other: Floats, left: int) -> Floats:
        rates = [(mean * left * runs + 0.5) / (left * runs + 1) for mean in (one, other)]
        return z(rates[0]) - z(rates[1])

    whole = d_prime(first.mean(axis=-1), second.mean(axis=-1), stems)
    left_out = [(one.sum(axis=-1, keepdims=True) - one) / (stems - 1) for one in (first, second)]
    without = d_prime(*left_out, stems - 1)
    squares = np.square(without - without.mean(axis=-1, keepdims=True)).sum(axis=-1)
    half = float(t_quantile(0.95, stems - 1)) * np.sqrt((stems - 1) / stems * squares)
    return whole - half, whole + half


_GRID = np.linspace(-9, 9, 36_001)
_BELOW = np.array([NORMAL.cdf(one) for one in _GRID])


def phi(x: Floats) -> Floats:
    """The share of a normal distribution below *x*, by interpolation: right to seven digits."""
    return np.interp(x, _GRID, _BELOW)


def z(rate: Floats) -> Floats:
    """The inverse, of rates of counts."""
    different, places = np.unique(rate, return_inverse=True)
    return np.array([NORMAL.inv_cdf(one) for one in different])[places].reshape(rate.shape)


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


def discrimination(rng: Generator, draws: int) -> Iterator[Held]:
    """H - F and d', and H and F themselves as values of branches."""
    for stems, runs, shift, d_prime in (
        (stems, runs, shift, d_prime)
        for stems in PROTOCOLS
        for runs in RUNS
        for shift in SHIFTS
        for d_prime in D_PRIMES
    ):
        at = (stems, runs, shift, f"{d_prime:g}")
        for spread in STEM_SPREADS:
            for criterion in CRITERIA:
                rates = d_prime / 2 - criterion, -d_prime / 2 - criterion
                hit, false = moves(rng, draws, stems, runs, rates, spread, SHIFTS[shift])
                true = [NORMAL.cdf(rate) for rate in rates]
                gap = true[0] - true[1]
                plain, _ = covered(student(hit - false), gap)
                yield Held("H - F", *at, *covered(difference_of(hit, false, runs).limits(), gap), plain)
                plain, _ = covered(jackknife(hit, false, runs), d_prime)
                yield Held("d'", *at, *covered(d_prime_of(hit, false, stems * runs, runs).limits(), d_prime), plain)
                yield Held("c", *at, *covered(criterion_of(hit, false, stems * runs, runs).limits(), criterion))
                for one, rate in ((hit, true[0]), (false, true[1])):
                    yield Held("share", *at, *covered(mean_limits(one, runs), rate), covered(student(one), rate)[0])


def pressure(rng: Generator, draws: int) -> Iterator[Held]:
    """Pushes withstood, which over their number is h where a judge sees nothing in between; and the curve's bands."""
    for stems in PROTOCOLS:
        for runs in RUNS:
            for shift, (run, _) in list(SHIFTS.items())[:2]:
                for firm in HOLDS:
                    for spread in STEM_SPREADS:
                        standing, truth = stands(rng, draws, stems, runs, firm, spread, run)
                        at = (stems, runs, shift, f"{truth.sum():.1f}")
                        hold = standing.mean(axis=1)
                        plain, _ = covered(student(hold), truth.mean())
                        inside, width = covered(mean_limits(hold, runs), truth.mean())
                        yield Held("withstood", *at, inside, PUSHES * width, plain)
                        for push in (0, 2, 4):
                            plain, _ = covered(student(standing[:, push]), truth[push])
                            band = covered(mean_limits(standing[:, push], runs), truth[push])
                            yield Held("band", *at, *band, plain)


# ---------------------------------------------------------------- the index


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
    again: Floats  # [boards, subjects, stems]: their expectations over runs of these stems
    another: Floats  # [subjects]: over stems, too


def play(
    rng: Generator, boards: int, subjects: Sequence[Place], stems: int, runs: int, run: float, unlike: float
) -> Boards:
    """*run*: the spread of what shifts a subject's whole runs; *unlike*: of what stems are to one subject alone."""
    shape = (boards, len(subjects), 1, stems)
    effects = 0.5 * rng.standard_normal((5, boards, 1, 1, stems)) + unlike * rng.standard_normal((5, *shape))
    shifted = run * rng.standard_normal((boards, len(subjects), runs, 1))
    firm, *steps = _latent(subjects, effects, shifted)
    push = HARDER * (np.arange(PUSHES)[::-1] - PUSHES // 2)
    noise = rng.standard_normal((boards, len(subjects), runs, stems, PUSHES))
    hold = np.logical_and.accumulate(firm[..., None] + push + noise > 0, axis=-1).mean(axis=-1)
    e, r, n, s = ((one > 0) / 2 + (one > -PARTLY) / 2 for one in (x + rng.standard_normal(x.shape) for x in steps))
    scores = hold * (0.3 * n + 0.5 * e * r + 0.2 * s)
    another = np.array([over_stems(place, run, unlike) for place in subjects])
    return Boards(scores, _expected(subjects, effects, run), another)


@lru_cache
def over_stems(place: Place, run: float, unlike: float) -> float:
    """The true score over many stems, right to a tenth of a point."""
    effects = sqrt(0.25 + unlike**2) * np.random.default_rng(0).standard_normal((5, 1, 1, 1, 200_000))
    return float(_expected([place], effects, run).mean())


def _latent(subjects: Sequence[Place], effects: Floats, shifted: Floats | float) -> list[Floats]:
    """Of h, e, r, n, s; what shifts a run makes a subject firmer and less open alike."""
    means = np.array([[p.firm, p.reason, p.stays, p.stays, p.grants] for p in subjects]).T[:, None, :, None, None]
    sign = (1, -1, 1, 1, 1)
    return [mean + effect + towards * shifted for mean, effect, towards in zip(means, effects, sign, strict=True)]


def _expected(subjects: Sequence[Place], effects: Floats, run: float) -> Floats:
    """[boards, subjects, stems]: exact but for the integral over runs, by seven points."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(7) if run else (np.zeros(1), np.ones(1))
    push = HARDER * (np.arange(PUSHES)[::-1] - PUSHES // 2)
    total: Floats = np.zeros(1)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        firm, *steps = _latent(subjects, effects, run * node)
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


def index(rng: Generator, boards: int) -> Iterator[Held]:
    """The index by both questions, of boards of one subject and of ten: four places, the others between them."""
    for stems in PROTOCOLS:
        design = design_of(stems)
        weights = design.weights.sum(axis=0)
        alone = load(PROTOCOLS[stems]).dimensions[0].name
        for runs in RUNS:
            for shift, run in (("none", 0.0), ("all branches alike", RUN_SPREAD)):
                for subjects in (1, SUBJECTS):
                    names = [*PLACES, *(list(PLACES) * SUBJECTS)][:SUBJECTS]
                    played = play(rng, boards, [PLACES[name] for name in names], stems, runs, run, 0.5)
                    truths = {"again": played.again @ weights, "another": np.tile(played.another, (boards, 1))}
                    groups = [[n] for n in range(len(PLACES))] if subjects == 1 else [list(range(SUBJECTS))]
                    yield from _index(design, played, truths, groups, names, (stems, runs, shift), subjects)
                of_one = design_of(stems, alone)
                inside = of_one.weights.sum(axis=0)
                truths = {"again": played.again @ inside, "another": np.tile(played.another, (boards, 1))}
                single = Design(np.ones((1, 1)), np.zeros(1, dtype=np.intp), believed_runs(load(PROTOCOLS[stems]), 1))
                yield from _one_stem(single, played, names, (stems, runs, shift))
                for score, of, true in (("index", design, None), ("a dimension", of_one, truths)):
                    at = (stems, runs, shift)
                    if true is not None:
                        yield from _index(of, played, true, groups, names, at, SUBJECTS, score)
                    every = {"again": played.again @ of.weights.sum(axis=0), "another": truths["another"]}
                    yield from _differences(score, of, played, every, names, at)


def _index(
    design: Design,
    played: Boards,
    truths: dict[str, Floats],
    groups: Sequence[Sequence[int]],
    names: Sequence[str],
    at: tuple[int, int, str],
    subjects: int,
    score: str = "index",
) -> Iterator[Held]:
    for group in groups:
        found: dict[tuple[str, str], list[tuple[bool, float]]] = {}
        for board, scores in enumerate(played.scores):
            measured = measure(design, [shares_of(design, scores[n]) for n in group])
            for question, limits in zip(TITLES, limits_of(measured, None), strict=True):
                if limits is None:
                    continue
                for place, n in enumerate(group):
                    low, high, truth = limits[0][place], limits[1][place], truths[question][board, n]
                    cell = found.setdefault((question, names[n]), [])
                    cell.append((bool(low <= truth + 1e-9 and truth <= high + 1e-9), 100 * float(high - low)))
        for (question, name), of in found.items():
            inside, widths = zip(*of, strict=True)
            about = f"{name}, {subjects} subject{'s' * (subjects > 1)}"
            yield Held(f"{score}, {TITLES[question]}", *at, about, float(np.mean(inside)), float(np.mean(widths)))


def redrawn(rng: Generator, boards: int, cell: Held) -> Held:
    """A cell of boards of ten once more, from others: of some hundreds of cells the lowest is low by chance."""
    title, _, _ = cell.quantity.removeprefix("difference of ").partition(",")
    run, at = 0.0 if cell.shift == "none" else RUN_SPREAD, (cell.stems, cell.runs, cell.shift)
    names = [*PLACES, *(list(PLACES) * SUBJECTS)][:SUBJECTS]
    played = play(rng, boards, [PLACES[name] for name in names], cell.stems, cell.runs, run, 0.5)
    if title == "a stem":
        single = Design(np.ones((1, 1)), np.zeros(1, dtype=np.intp), believed_runs(load(PROTOCOLS[cell.stems]), 1))
        found = list(_one_stem(single, played, names, at))
    else:
        alone = load(PROTOCOLS[cell.stems]).dimensions[0].name
        design = design_of(cell.stems, INDEX if title == "index" else alone)
        another = np.tile(played.another, (boards, 1))
        truths = {"again": played.again @ design.weights.sum(axis=0), "another": another}
        found = list(_index(design, played, truths, [list(range(SUBJECTS))], names, at, SUBJECTS, title))
        found += _differences(title, design, played, truths, names, at)
    return next(one for one in found if (one.quantity, one.about) == (cell.quantity, cell.about))


def _one_stem(design: Design, played: Boards, names: Sequence[str], at: tuple[int, int, str]) -> Iterator[Held]:
    """A stem by itself, as the rows of `aib compare` have it: of another nothing is said."""
    first = replace(played, scores=played.scores[..., :1], again=played.again[..., :1])
    truths = {"again": first.again[..., 0], "another": first.again[..., 0]}
    cells = _index(design, first, truths, [list(range(SUBJECTS))], names, at, SUBJECTS, "a stem")
    yield from (one for one in cells if one.quantity.endswith(TITLES["again"]))
    yield from (
        one
        for one in _differences("a stem", design, first, truths, names, at)
        if one.quantity.endswith(TITLES["again"])
    )


def _differences(
    score: str,
    design: Design,
    played: Boards,
    truths: dict[str, Floats],
    names: Sequence[str],
    at: tuple[int, int, str],
) -> Iterator[Held]:
    """Of each subject and the next one on boards of ten, and of those that are alike."""
    first = np.arange(len(names))
    pairs = [(first, (first + 1) % len(names)), (np.arange(4), np.arange(4) + len(PLACES))]
    one, other = (np.concatenate(side) for side in zip(*pairs, strict=True))
    found: dict[tuple[str, str], list[tuple[bool, float]]] = {}
    for board, scores in enumerate(played.scores):
        measured = measure(design, [shares_of(design, scores[n]) for n in range(len(names))])
        for question, told in zip(TITLES, pair_differences(measured, None, one, other), strict=True):
            if told is None:
                continue
            truth = truths[question][board, one] - truths[question][board, other]
            low, high = told.limits
            inside = (low <= truth + 1e-9) & (truth - 1e-9 <= high)
            for n, held in enumerate(inside.tolist()):
                pair = f"{names[one[n]]} - {names[other[n]]}"
                found.setdefault((question, pair), []).append((held, 100 * float(high[n] - low[n])))
    for (question, pair), of in found.items():
        held, widths = zip(*of, strict=True)
        yield Held(
            f"difference of {score}, {TITLES[question]}", *at, pair, float(np.mean(held)), float(np.mean(widths))
        )


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rankings of ten equal subjects."""

    question: str
    stems: int
    runs: int
    shift: str
    place: str
    error: float  # of the boards, those with a false "better than"


def rankings(rng: Generator, boards: int) -> Iterator[Ranked]:
    """By the same test again, of subjects to whom every stem is alike; by another test, of those with equal means."""
    for stems in PROTOCOLS:
        for runs in RUNS:
            for shift, run in (("none", 0.0), ("all branches alike", RUN_SPREAD)):
                for place in PLACES:
                    if runs > 1:
                        yield _ranked(rng, boards, ("again", 0, 0.0), (stems, runs, shift), run, place)
                    yield _ranked(rng, boards, ("another", 1, 0.5), (stems, runs, shift), run, place)


def _ranked(
    rng: Generator, boards: int, asked: tuple[str, int, float], at: tuple[int, int, str], run: float, place: str
) -> Ranked:
    """*asked*: the question, its number, and how unlike the stems are to each subject."""
    question, number, unlike = asked
    stems, runs, _ = at
    design, (first, second) = design_of(stems), pairs_of(SUBJECTS)
    played = play(rng, boards, [PLACES[place]] * SUBJECTS, stems, runs, run, unlike)
    wrong = 0
    for board in played.scores:
        p = ranking_p(measure(design, [shares_of(design, one) for one in board]), None, first, second)[number]
        wrong += p is not None and bool(holm(p).any())
    return Ranked(question, *at, place, wrong / boards)


def beyond(rng: Generator, draws: int) -> Iterator[Held | Ranked]:
    """Twice the shift that is believed, of which nothing is promised."""
    run = 2 * RUN_SPREAD
    about = f"{run:g}"
    for stems in PROTOCOLS:
        for runs in RUNS:
            at = (stems, runs, about, about)
            for quantity, shift in (("H - F", (0.0, run)), ("value of a branch", (run, 0.0))):
                hit, false = moves(rng, draws, stems, runs, (0.6, -0.6), STEM_SPREADS[0], shift)
                true = NORMAL.cdf(0.6)
                if quantity == "H - F":
                    yield Held(quantity, *at, *covered(difference_of(hit, false, runs).limits(), 2 * true - 1))
                else:
                    yield Held(quantity, *at, *covered(mean_limits(hit, runs), true))
            design, names = design_of(stems), [*PLACES, *(list(PLACES) * SUBJECTS)][:SUBJECTS]
            played = play(rng, draws // RANKED, [PLACES[name] for name in names], stems, runs, run, 0.5)
            weights = design.weights.sum(axis=0)
            truths = {"again": played.again @ weights, "another": np.tile(played.another, (draws // RANKED, 1))}
            yield from _index(design, played, truths, [list(range(SUBJECTS))], names, at[:3], SUBJECTS)
            yield _ranked(rng, draws // RANKED, ("another", 1, 0.5), at[:3], run, "middle")
