"""Whether an index has an interval that holds where not every stem is scored: a simple method,
tried out.

    python benchmarks/coverage/stem_gaps.py           # prints a table

Today such subjects have none (`Board.measured`). The method: the index is a mean of settings, each
the mean over the stems that are scored in a run. A stem that is not gets its setting's mean over
all runs of the subject; one that is scored is moved away from that mean by planned stems over
scored ones, so that the mean of the whole is the index as it is, and varies as that of so many
stems. What is missing depends on how clear a stem is to a subject, as the score does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import sqrt

import numpy as np
from page import PROMISE, TITLES, percent
from stem_cells import ON_BOARDS, SUBJECTS, Held, covered
from stem_draws import (
    LOWEST,
    PLACES,
    RUNS,
    SCALE,
    SHIFTS,
    STEM_SPREAD,
    STEMS,
    Boards,
    Generator,
    design_of,
    effects_of,
    expected,
    play,
    total_of,
    z,
)
from stem_limits import all_limits

from independence_bench.analysis.statistics.dispersion import Design, measure
from independence_bench.analysis.statistics.values import Bools, Floats

SHARES = (0.1, 0.25)  # of stems that are not scored
APART = (0.5, 2.0)  # spread of what makes a stem of a subject missing in all runs
ALL, EACH = 0.75, 0.57  # of stems, the share that has to be scored: of all, and of each setting
# of the boards, those on which the subject has an index; a cell of fewer is none
FEWEST_BOARDS = 0.1
PLAYED = 150  # runs that a truth is the mean over
TESTS = 4_000  # of new stems
# the spread of what a stem does to all branches of a subject
CLEAR = sqrt((STEM_SPREAD**2 + 0.5**2) / 2)


def hidden(rng: Generator, clear: Floats, share: float, apart: float) -> Floats:
    """[..., stems]: how far each stem of a subject is from not being scored; half of that is how
    *clear* it is.
    """
    standard = clear / CLEAR
    own = rng.standard_normal(clear.shape)
    return z(1 - share) * sqrt(1 + apart**2) + apart * (sqrt(0.5) * standard + sqrt(0.5) * own)


def there(rng: Generator, of_stem: Floats, runs: int) -> Bools:
    """[..., runs, stems]: whether each is scored."""
    noise = rng.standard_normal((*of_stem.shape[:-1], runs, of_stem.shape[-1]))
    return of_stem[..., None, :] + noise > 0


def index_of(scores: Floats, known: Bools, settings: Floats) -> Floats:
    """[...] of *scores* and *known* [..., stems] and *settings* [settings, stems]: NaN where a
    setting has none.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        each = (np.where(known, scores, 0) @ settings.T) / (known @ settings.T)
    index: Floats = each.mean(axis=-1)
    return index


def filled(shares: Floats, known: Bools, settings: Floats) -> Floats:
    """The method, of one subject: [runs, stems] for [runs, stems], so that plain means of settings
    are the index.
    """
    number = settings.sum(axis=1)
    planned = number @ settings
    # of each stem in its setting in its run
    weights = known / (np.maximum(known @ settings.T, 1) @ settings)
    means = ((weights * shares) @ settings.T).mean(axis=0) @ settings  # [stems]: of its setting
    result: Floats = means + weights * planned * (shares - means)
    return result


def counted(known: Bools, settings: Floats) -> Bools:
    """[boards] of [boards, runs, stems]: whether the subject has an index."""
    of_each = known @ settings.T  # [boards, runs, settings]
    shares = of_each.sum(axis=1) / (settings.sum(axis=1) * known.shape[1])
    enough: Bools = (
        (known.mean(axis=(1, 2)) >= ALL)
        & (shares >= EACH).all(axis=1)
        & (of_each > 0).all(axis=(1, 2))
    )
    return enough


@lru_cache
def _tests(place: str, stems: int, run: float) -> tuple[Floats, Floats]:
    """[tests, stems]: what new stems do to all branches, and what they are worth."""
    effects = effects_of(
        np.random.default_rng(0), (TESTS, 1, 1, stems), sqrt(STEM_SPREAD**2 + 0.5**2)
    )
    return effects[0, :, 0, 0], expected([PLACES[place]], effects, run, total_of(0.5, run))[:, 0]


def over_tests(place: str, stems: int, run: float, share: float, apart: float) -> float:
    """The true mean index over tests of so many new stems."""
    rng = np.random.default_rng(1)
    clear, scores = _tests(place, stems, run)
    known = there(rng, hidden(rng, clear, share, apart), 1)[:, 0]
    return float(np.nanmean(index_of(scores, known, _settings(stems))))


@lru_cache
def _settings(stems: int) -> Floats:
    return (design_of(stems).weights > 0) * 1.0


@dataclass(frozen=True, slots=True)
class Gaps:
    """Of one subject of every board what is scored, and the truths."""

    known: Bools  # [boards, runs, stems]
    rerun: Floats  # [boards]
    new_scenarios: float


def gaps(
    rng: Generator,
    played: Boards,
    n: int,
    name: str,
    at: tuple[int, int, float],
    share: float,
    apart: float,
) -> Gaps:
    """Of subject number *n*; *at*: stems, runs, spread of what shifts runs."""
    stems, runs, run = at
    settings = _settings(stems)
    of_stem = hidden(rng, played.clear[:, n], share, apart)
    known = there(rng, of_stem, runs)
    often = index_of(played.rerun[:, n][:, None], there(rng, of_stem, PLAYED), settings)
    whole = ~np.isnan(often)  # a run without any stem of a setting has no index
    rerun = np.where(whole, often, 0).sum(axis=1) / np.maximum(whole.sum(axis=1), 1)
    return Gaps(known, rerun, over_tests(name, stems, run, share, apart))


def alone(rng: Generator, boards: int) -> Iterator[Held]:
    """Boards of one subject."""
    for stems, runs, shift, share, apart in product(STEMS, RUNS, list(SHIFTS)[:2], SHARES, APART):
        if shift != "none" and share != SHARES[-1]:
            continue
        run = SHIFTS[shift][0]
        names = list(PLACES)
        played = play(rng, boards, [PLACES[name] for name in names], stems, runs, run, 0.5)
        for n, name in enumerate(names):
            mine = gaps(rng, played, n, name, (stems, runs, run), share, apart)
            at = (stems, runs, shift, f"{name}, {share:g} not scored, spread {apart:g}")
            yield from _cells(design_of(stems), played, n, mine, at)


def _cells(
    design: Design, played: Boards, n: int, mine: Gaps, at: tuple[int, int, str, str]
) -> Iterator[Held]:
    settings = _settings(at[0])
    enough = np.flatnonzero(counted(mine.known, settings))
    if len(enough) < FEWEST_BOARDS * len(played.scores):
        return
    measured = [
        measure(
            design, [_spread(design, filled(_share(played.scores[b, n]), mine.known[b], settings))]
        )
        for b in enough
    ]
    truths = mine.rerun[enough], np.full(len(enough), mine.new_scenarios)
    for title, limits, truth in zip(TITLES.values(), all_limits(measured), truths, strict=True):
        low, high = (LOWEST + SCALE * limit[:, 0] for limit in limits)
        shown = ~np.isnan(low)
        if shown.any():
            inside, width = covered((low[shown], high[shown]), truth[shown])
            yield Held(f"index, {title}", *at, inside, 100 * width)


def _share(scores: Floats) -> Floats:
    return (scores - LOWEST) / SCALE


def _spread(design: Design, shares: Floats) -> Floats:
    spread: Floats = np.where(design.weights > 0, shares[:, None, :], 0.0)
    return spread


def together(rng: Generator, boards: int) -> Iterator[Held]:
    """Differences on boards of ten, of whom every second one is not scored in a quarter of its
    stems.
    """
    names = [*ON_BOARDS, *ON_BOARDS][:SUBJECTS]
    for stems, runs, shift, apart in product(STEMS, RUNS, list(SHIFTS)[:2], APART):
        run, design, settings = SHIFTS[shift][0], design_of(stems), _settings(stems)
        played = play(rng, boards, [PLACES[name] for name in names], stems, runs, run, 0.5)
        of_each = [
            gaps(rng, played, n, name, (stems, runs, run), SHARES[-1] if n % 2 else 0.0, apart)
            for n, name in enumerate(names)
        ]
        enough = np.array([counted(mine.known, settings) for mine in of_each])  # [subjects, boards]
        one = np.arange(SUBJECTS)
        other = (one + 1) % SUBJECTS
        measured = [
            measure(
                design,
                [
                    _spread(design, filled(_share(played.scores[b, n]), mine.known[b], settings))
                    for n, mine in enumerate(of_each)
                ],
            )
            for b in range(boards)
        ]
        rerun = np.array([mine.rerun for mine in of_each]).T
        new_scenarios = np.tile([mine.new_scenarios for mine in of_each], (boards, 1))
        for title, limits, truth in zip(
            TITLES.values(), all_limits(measured, (one, other)), (rerun, new_scenarios), strict=True
        ):
            low, high = (SCALE * limit for limit in limits)
            apart_by = truth[:, one] - truth[:, other]
            for n, m in zip(one, other, strict=True) if not np.isnan(low).all() else ():
                shown = enough[n] & enough[m] & ~np.isnan(low[:, n])
                if shown.mean() >= FEWEST_BOARDS:
                    inside, width = covered((low[shown, n], high[shown, n]), apart_by[shown, n])
                    pair = f"{names[n]} - {names[m]}, spread {apart:g}"
                    yield Held(
                        f"difference of index, {title}",
                        stems,
                        runs,
                        shift,
                        pair,
                        inside,
                        100 * width,
                    )


def summary(found: Sequence[Held]) -> Iterator[str]:
    """The lowest coverage of each, by stems and runs, and the cells below the requirement."""
    for quantity in dict.fromkeys(held.quantity for held in found):
        for stems, runs in product(STEMS, RUNS):
            cells = [
                held
                for held in found
                if (held.quantity, held.stems, held.runs) == (quantity, stems, runs)
            ]
            if cells:
                low = min(cells, key=lambda cell: cell.coverage)
                width = np.mean([cell.width for cell in cells])
                yield (
                    f"| {quantity} | {stems} | {runs} | {len(cells)} | {percent(low.coverage)} | {width:.0f} | "
                    f"{low.shift}, {low.about} |"
                )
    yield from (f"below: {held}" for held in found if held.coverage < PROMISE)


def main() -> int:
    """Simulate and print; exit code 1 where the method does not hold."""
    parser = argparse.ArgumentParser(
        prog="stem_gaps", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--draws", type=int, default=500, help="boards of each cell  [default: 500]"
    )
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    found = [
        *alone(np.random.default_rng([chosen.seed, 1]), chosen.draws),
        *together(np.random.default_rng([chosen.seed, 2]), chosen.draws),
    ]
    print(*summary(found), sep="\n")
    return 0 if all(one.coverage >= PROMISE for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
