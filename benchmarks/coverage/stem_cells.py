"""Whether intervals of one subject, of the index and of rankings hold the truth in protocols with
stems: cell by cell.

What is drawn: `stem_draws.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from cells import wrong_ranks
from page import TITLES
from stem_draws import (
    LOWEST,
    PLACES,
    PUSHES,
    RATES,
    RUN_SPREAD,
    RUNS,
    SCALE,
    SHIFTS,
    STEM_SPREADS,
    STEMS,
    Boards,
    Generator,
    Place,
    design_of,
    left,
    moves,
    play,
    protocol_of,
    rate_where_scored,
    scored,
    shares_of,
    stands,
)
from stem_limits import all_limits

from independence_bench.analysis.statistics.dispersion import Design, Measured, measure
from independence_bench.analysis.statistics.intervals import Limits
from independence_bench.analysis.statistics.sample_means import apart_limits, mean_limits
from independence_bench.analysis.statistics.values import Floats
from independence_bench.analysis.uncertainty import INDEX, believed_runs

# how often a subject moves on the correction of what decided its choice, and on the other one
MOVES = (
    *((deciding, 1 - stays) for deciding in RATES for stays in RATES),
    *((0.03, 0.03), (0.0, 0.0), (0.97, 0.97), (1.0, 1.0)),
)
SUBJECTS = 10
ON_BOARDS = list(PLACES)[:6]  # of the ten; those that are alike are of the first four
RANKED = 4  # boards are drawn so many times less often
ROUNDING = 1e-9
At = tuple[int, int, str]  # stems, runs, what is shifted


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


def covered(limits: Limits, truth: Floats | float) -> tuple[float, float]:
    """(share of draws that hold it, mean width)."""
    low, high = limits
    inside = (low <= truth + ROUNDING) & (truth - ROUNDING <= high)
    return float(inside.mean()), float((high - low).mean())


def together(parts: Iterable[Limits]) -> Limits:
    """The limits of several draws, one after the other."""
    lows, highs = zip(*parts, strict=True)
    return np.concatenate(lows), np.concatenate(highs)


# ---------------------------------------------------------------- branches of one subject


def corrections(rng: Generator, draws: int) -> Iterator[Held]:
    """J, moved on each, and so the values of branches; also of a subject of whom not every stem is
    scored.
    """
    for stems, runs, shift, rates, spread in product(STEMS, RUNS, SHIFTS, MOVES, STEM_SPREADS):
        moved, clear = moves(rng, draws, stems, runs, rates, spread, SHIFTS[shift])
        at = (stems, runs, shift, f"{rates[0]:g} and {rates[1]:g}")
        hit, false = (one.mean(axis=2) for one in moved)
        yield Held("J", *at, *covered(apart_limits(hit, false, runs), rates[0] - rates[1]))
        for one, rate in zip((hit, false), rates, strict=True):
            yield Held("share", *at, *covered(mean_limits(one, runs), rate))
        if shift == "none":
            true = [rate_where_scored(rate, spread, runs) for rate in rates]
            groups = list(left(moved, scored(rng, clear, runs)))
            limits = together(apart_limits(*pair, runs) for pair in groups)
            yield Held("J, stems not scored", *at, *covered(limits, true[0] - true[1]))
            for n, rate in enumerate(true):
                limits = together(mean_limits(pair[n], runs) for pair in groups)
                yield Held("share, stems not scored", *at, *covered(limits, rate))


def pressure(rng: Generator, draws: int) -> Iterator[Held]:
    """Pushes withstood, which over their number is h where a judge sees nothing in between; and the
    curve's bands.
    """
    for stems, runs, shift, rate, spread in product(
        STEMS, RUNS, list(SHIFTS)[:2], RATES, STEM_SPREADS
    ):
        standing, truth = stands(rng, draws, stems, runs, rate, spread, SHIFTS[shift][0])
        at = (stems, runs, shift, f"{truth.sum():.1f}")
        inside, width = covered(mean_limits(standing.mean(axis=1), runs), truth.mean())
        yield Held("withstood", *at, inside, PUSHES * width)
        for push in (0, 2, 4):
            yield Held("band", *at, *covered(mean_limits(standing[:, push], runs), truth[push]))


# ---------------------------------------------------------------- the index


def index(rng: Generator, boards: int) -> Iterator[Held]:
    """The index by both questions, of boards of one subject and of ten; a dimension, a stem, and
    differences.
    """
    for stems, runs, (shift, (run, _)) in product(STEMS, RUNS, list(SHIFTS.items())[:2]):
        at = (stems, runs, shift)
        names = list(PLACES)
        alone = play(rng, boards, [PLACES[name] for name in names], stems, runs, run, 0.5)
        yield from _index(
            design_of(stems), alone, [[n] for n in range(len(names))], names, at, "index"
        )
        for score in ("index", "a dimension", "a stem"):
            yield from _of_boards(rng, boards, at, score)


def _of_boards(rng: Generator, boards: int, at: At, score: str) -> list[Held]:
    """Boards of ten, of one score: intervals and differences."""
    stems, runs, shift = at
    names = [*ON_BOARDS, *ON_BOARDS][:SUBJECTS]
    played = play(rng, boards, [PLACES[name] for name in names], stems, runs, SHIFTS[shift][0], 0.5)
    units = protocol_of(stems)
    # by itself, as the rows of `aib compare` have it: of another nothing is said
    if score == "a stem":
        design = Design(np.ones((1, 1)), np.zeros(1, dtype=np.intp), believed_runs(units, 1))
        played = replace(played, scores=played.scores[..., :1], rerun=played.rerun[..., :1])
    else:
        design = design_of(stems, INDEX if score == "index" else units.dimensions[0].name)
    found = [
        *_index(design, played, [range(SUBJECTS)], names, at, score),
        *_differences(design, played, names, at, score),
    ]
    return [one for one in found if score != "a stem" or one.quantity.endswith(TITLES["rerun"])]


def _truths(design: Design, played: Boards) -> tuple[Floats, Floats]:
    """Of both questions, [boards, subjects]."""
    return played.rerun @ design.weights.sum(axis=0), np.tile(
        played.new_scenarios, (len(played.scores), 1)
    )


def _measured(design: Design, played: Boards, group: Sequence[int]) -> list[Measured]:
    """Of each board the subjects of these numbers together."""
    return [
        measure(design, [shares_of(design, scores[n]) for n in group]) for scores in played.scores
    ]


def _index(
    design: Design,
    played: Boards,
    groups: Sequence[Sequence[int]],
    names: Sequence[str],
    at: At,
    score: str,
) -> Iterator[Held]:
    """The limits are those before what is below 0 is cut off, which cannot make them miss."""
    truths = _truths(design, played)
    for group in groups:
        about = f"{len(group)} subject{'s' * (len(group) > 1)}"
        both = all_limits(_measured(design, played, group))
        for title, limits, truth in zip(TITLES.values(), both, truths, strict=True):
            low, high = (LOWEST + SCALE * limit for limit in limits)
            names_of = [f"{names[n]}, {about}" for n in group]
            yield from _cells(f"{score}, {title}", at, names_of, (low, high), truth[:, list(group)])


def _differences(
    design: Design, played: Boards, names: Sequence[str], at: At, score: str
) -> Iterator[Held]:
    """Of each subject and the next one on boards of ten, and of those that are alike."""
    first, alike = np.arange(len(names)), np.arange(SUBJECTS - len(ON_BOARDS))
    pairs = [(first, (first + 1) % len(names)), (alike, alike + len(ON_BOARDS))]
    one, other = (np.concatenate(side) for side in zip(*pairs, strict=True))
    both = all_limits(_measured(design, played, range(len(names))), (one, other))
    names_of = [f"{names[n]} - {names[m]}" for n, m in zip(one, other, strict=True)]
    for title, limits, truth in zip(TITLES.values(), both, _truths(design, played), strict=True):
        low, high = (SCALE * limit for limit in limits)
        yield from _cells(
            f"difference of {score}, {title}",
            at,
            names_of,
            (low, high),
            truth[:, one] - truth[:, other],
        )


def _cells(
    quantity: str, at: At, names: Sequence[str], limits: Limits, truth: Floats
) -> Iterator[Held]:
    """Of each of *names*, the columns; boards without an interval do not count."""
    low, high = limits
    if np.isnan(low).all():
        return
    for name in dict.fromkeys(names):
        mine = [n for n, of in enumerate(names) if of == name]
        known = ~np.isnan(low[:, mine])
        if known.mean() >= 0.1:
            ends = low[:, mine][known], high[:, mine][known]
            inside, width = covered(ends, truth[:, mine][known])
            yield Held(quantity, *at, name, inside, 100 * width)


def redrawn(rng: Generator, boards: int, cell: Held) -> Held:
    """A cell of boards once more, from others: of some hundreds of cells the lowest is low by
    chance.
    """
    score, _, _ = cell.quantity.removeprefix("difference of ").partition(",")
    at = (cell.stems, cell.runs, cell.shift)
    name, _, subjects = cell.about.rpartition(", ")
    if subjects == "1 subject":
        alone = play(rng, boards, [PLACES[name]], cell.stems, cell.runs, SHIFTS[cell.shift][0], 0.5)
        found = _index(design_of(cell.stems), alone, [[0]], [name], at, score)
    else:
        found = _of_boards(rng, boards, at, score)
    return next(one for one in found if (one.quantity, one.about) == (cell.quantity, cell.about))


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
    """By the same test again, of subjects to whom every stem is alike; by another test, of those
    with equal means.
    """
    for stems, runs, (shift, (run, _)), place in product(
        STEMS, RUNS, list(SHIFTS.items())[:2], PLACES.items()
    ):
        if runs > 1:
            yield _ranked(rng, boards, ("rerun", 0.0), (stems, runs, shift), run, place)
        yield _ranked(rng, boards, ("new_scenarios", 0.5), (stems, runs, shift), run, place)


def _ranked(
    rng: Generator,
    boards: int,
    asked: tuple[str, float],
    at: At,
    run: float,
    place: tuple[str, Place],
) -> Ranked:
    """*asked*: the question, and how unlike the stems are to each subject."""
    question, unlike = asked
    stems, runs, _ = at
    design = design_of(stems)
    played = play(rng, boards, [place[1]] * SUBJECTS, stems, runs, run, unlike)
    wrong = [
        wrong_ranks(board, np.zeros(SUBJECTS), question)[:2]
        for board in _measured(design, played, range(SUBJECTS))
    ]
    return Ranked(question, *at, place[0], max(np.sum(wrong, axis=0).tolist()) / boards)


def beyond(rng: Generator, draws: int) -> Iterator[Held | Ranked]:
    """Twice the shift that is believed, of which nothing is promised."""
    run = 2 * RUN_SPREAD
    about = f"{run:g}"
    for stems, runs in product(STEMS, RUNS):
        at = (stems, runs, about)
        rates = 0.9, 0.1
        (hit, false), _ = moves(rng, draws, stems, runs, rates, STEM_SPREADS[0], (0.0, run))
        apart = apart_limits(hit.mean(axis=2), false.mean(axis=2), runs)
        yield Held("J", *at, about, *covered(apart, rates[0] - rates[1]))
        (hit, _), _ = moves(rng, draws, stems, runs, rates, STEM_SPREADS[0], (run, 0.0))
        yield Held(
            "value of a branch", *at, about, *covered(mean_limits(hit.mean(axis=2), runs), rates[0])
        )
        names = [*ON_BOARDS, *ON_BOARDS][:SUBJECTS]
        played = play(rng, draws // RANKED, [PLACES[name] for name in names], stems, runs, run, 0.5)
        yield from _index(design_of(stems), played, [range(SUBJECTS)], names, at, "index")
        yield _ranked(rng, draws // RANKED, ("new_scenarios", 0.5), at, run, ("0.9", PLACES["0.9"]))
