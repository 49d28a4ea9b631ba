"""Whether intervals of one subject, of the index and of rankings hold the truth in protocols with stems: cell by cell.

What is drawn: `stem_draws.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from page import TITLES
from stem_draws import (
    HOLDS,
    NORMAL,
    PLACES,
    PROTOCOLS,
    PUSHES,
    RUN_SPREAD,
    RUNS,
    SHIFTS,
    STEM_SPREADS,
    Boards,
    Generator,
    design_of,
    moves,
    play,
    shares_of,
    stands,
)

from independence_bench.analysis.statistics.dispersion import Design, measure
from independence_bench.analysis.statistics.generalization import all_differences, limits_of, ranking_p
from independence_bench.analysis.statistics.intervals import Limits, t_quantile
from independence_bench.analysis.statistics.ranking import holm, pairs_of
from independence_bench.analysis.statistics.sample_means import difference_of, mean_limits
from independence_bench.analysis.statistics.values import Floats
from independence_bench.analysis.uncertainty import INDEX, believed_runs
from independence_bench.protocol.loader import load

GAPS = (0.0, 0.8, 1.2, 2.0)  # true z(H) - z(F): how far what moves a subject is from what should not
FIRM = (0.0, 0.7)  # true -(z(H) + z(F)) / 2: how seldom a subject moves at all
SUBJECTS = 10
RANKED = 8  # boards are drawn so many times less often


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
    plain: float | None = None  # coverage of Student's t over stems


def covered(limits: Limits, truth: Floats | float) -> tuple[float, float]:
    """(share of draws that hold it, mean width)."""
    low, high = limits
    return float(((low <= truth + 1e-9) & (truth - 1e-9 <= high)).mean()), float((high - low).mean())


def student(values: Floats) -> Limits:
    """Student's t over stems, the last axis."""
    stems = values.shape[-1]
    half = float(t_quantile(0.95, stems - 1)) * values.std(axis=-1, ddof=1) / sqrt(stems)
    return values.mean(axis=-1) - half, values.mean(axis=-1) + half


# ---------------------------------------------------------------- branches of one subject


def discrimination(rng: Generator, draws: int) -> Iterator[Held]:
    """H - F, and H and F themselves as values of branches."""
    for stems, runs, shift, apart in (
        (stems, runs, shift, apart) for stems in PROTOCOLS for runs in RUNS for shift in SHIFTS for apart in GAPS
    ):
        at = (stems, runs, shift, f"{apart:g}")
        for spread in STEM_SPREADS:
            for firm in FIRM:
                rates = apart / 2 - firm, -apart / 2 - firm
                hit, false = moves(rng, draws, stems, runs, rates, spread, SHIFTS[shift])
                true = [NORMAL.cdf(rate) for rate in rates]
                gap = true[0] - true[1]
                plain, _ = covered(student(hit - false), gap)
                yield Held("H - F", *at, *covered(difference_of(hit, false, runs).limits(), gap), plain)
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
                    truths = {
                        "rerun": played.rerun @ weights,
                        "new_scenarios": np.tile(played.new_scenarios, (boards, 1)),
                    }
                    groups = [[n] for n in range(len(PLACES))] if subjects == 1 else [list(range(SUBJECTS))]
                    yield from _index(design, played, truths, groups, names, (stems, runs, shift), subjects)
                of_one = design_of(stems, alone)
                inside = of_one.weights.sum(axis=0)
                truths = {"rerun": played.rerun @ inside, "new_scenarios": np.tile(played.new_scenarios, (boards, 1))}
                single = Design(np.ones((1, 1)), np.zeros(1, dtype=np.intp), believed_runs(load(PROTOCOLS[stems]), 1))
                yield from _one_stem(single, played, names, (stems, runs, shift))
                for score, of, true in (("index", design, None), ("a dimension", of_one, truths)):
                    at = (stems, runs, shift)
                    if true is not None:
                        yield from _index(of, played, true, groups, names, at, SUBJECTS, score)
                    every = {"rerun": played.rerun @ of.weights.sum(axis=0), "new_scenarios": truths["new_scenarios"]}
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
        new_scenarios = np.tile(played.new_scenarios, (boards, 1))
        truths = {"rerun": played.rerun @ design.weights.sum(axis=0), "new_scenarios": new_scenarios}
        found = list(_index(design, played, truths, [list(range(SUBJECTS))], names, at, SUBJECTS, title))
        found += _differences(title, design, played, truths, names, at)
    return next(one for one in found if (one.quantity, one.about) == (cell.quantity, cell.about))


def _one_stem(design: Design, played: Boards, names: Sequence[str], at: tuple[int, int, str]) -> Iterator[Held]:
    """A stem by itself, as the rows of `aib compare` have it: of another nothing is said."""
    first = replace(played, scores=played.scores[..., :1], rerun=played.rerun[..., :1])
    truths = {"rerun": first.rerun[..., 0], "new_scenarios": first.rerun[..., 0]}
    cells = _index(design, first, truths, [list(range(SUBJECTS))], names, at, SUBJECTS, "a stem")
    yield from (one for one in cells if one.quantity.endswith(TITLES["rerun"]))
    yield from (
        one
        for one in _differences("a stem", design, first, truths, names, at)
        if one.quantity.endswith(TITLES["rerun"])
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
        for question, told in zip(TITLES, all_differences([(measured, None, 0.0)], one, other)[0], strict=True):
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
                        yield _ranked(rng, boards, ("rerun", 0, 0.0), (stems, runs, shift), run, place)
                    yield _ranked(rng, boards, ("new_scenarios", 1, 0.5), (stems, runs, shift), run, place)


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
            truths = {
                "rerun": played.rerun @ weights,
                "new_scenarios": np.tile(played.new_scenarios, (draws // RANKED, 1)),
            }
            yield from _index(design, played, truths, [list(range(SUBJECTS))], names, at[:3], SUBJECTS)
            yield _ranked(rng, draws // RANKED, ("new_scenarios", 1, 0.5), at[:3], run, "middle")
