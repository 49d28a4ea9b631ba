"""Whether intervals hold as often as they say, and rankings err as seldom: simulation from fitted
models.

    python benchmarks/coverage  # everything, some 20 minutes
    python benchmarks/coverage --quick  # a tenth of the draws, and fewer cells
    python benchmarks/coverage --only index ranking
    python benchmarks/coverage --store published.db --write
        # and docs/research/coverage.md, and every cell as CSV

The models (models.json) were fitted to published results by fit.py. With --store, a store with
those results, the published subjects also play again by their own marks, so that not everything
hangs on the models.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cells import (
    Cell,
    Family,
    contest,
    index_by_runs,
    marks_of,
    of_judges,
    of_pairs,
    of_places,
    of_rankings,
    resampled,
)
from draw import Floats, Generator, Jury, models, published, whole_index
from fit import PROTOCOL, read_board, smoothed
from fit import marks_of as published_marks
from page import PAGE, promises, summary, write_cells, write_section

MARKS = ("resistance", "consistency", "non_assistant_likeness")
# some 3 points of the index in the middle
SEVERITY = Jury(judges=1, severity=0.12, taste=0.12, slips=0.3)


@dataclass(frozen=True, slots=True)
class Grid:
    """What is gone through."""

    draws: int
    scenarios: tuple[int, ...] = (2, 3, 5, 10, 20, 50)
    runs: tuple[int, ...] = (2, 3, 5, 10)
    few_runs: tuple[int, ...] = (2, 5)
    boards: tuple[int, ...] = (1, 3)
    ranked: tuple[int, ...] = (5, 20, 60)
    juries: tuple[int, ...] = (1, 2, 3, 5)
    store: Path | None = None


Found = Iterator[Cell | Family]


def marks(grid: Grid, rng: Generator) -> Found:
    """One mark on a board of 20, every method."""
    for test in marks_of(models(), MARKS, grid.scenarios):
        for runs in grid.runs:
            yield from contest(test, rng, grid.draws, 20, runs)


def small(grid: Grid, rng: Generator) -> Found:
    """One mark on small boards; and on one of 20, a subject with a single run."""
    for test in marks_of(models(), MARKS, grid.scenarios):
        yield from of_places(test, rng, grid.draws, 20, 1)
        for subjects in grid.boards:
            for runs in grid.few_runs:
                yield from of_places(test, rng, grid.draws, subjects, runs)


def index(grid: Grid, rng: Generator) -> Found:
    """Protocol v2's index."""
    test = whole_index(models())
    for subjects in (20, *grid.boards):
        for runs in (1, *grid.runs):
            yield from of_places(test, rng, grid.draws, subjects, runs)
    for runs in grid.runs:
        yield from index_by_runs(test, rng, grid.draws, 20, runs)


def published_subjects(grid: Grid, rng: Generator) -> Found:
    """Those of the store, by their own marks."""
    if grid.store is None:
        print("published: no --store, left out", file=sys.stderr)
        return
    test = whole_index(models())
    for runs in grid.runs:
        yield from resampled(test, _chances(grid.store), rng, max(grid.draws, 1), runs)


def _chances(store: Path) -> Floats:
    protocol, board = read_board(store, PROTOCOL)
    given = {
        name: smoothed(
            published_marks(board, protocol, protocol.find_mark(name), dimension.inverted),
            round(protocol.find_mark(name).high - protocol.find_mark(name).low) + 1,
        )
        for dimension in protocol.dimensions
        if dimension.weight
        for name in dimension.marks
    }
    return published(whole_index(models()), given)


def differences(grid: Grid, rng: Generator) -> Found:
    """Two subjects of the index."""
    test = whole_index(models())
    for subjects in (20, 3):
        for runs in grid.runs:
            yield from of_pairs(test, rng, grid.draws, subjects, runs)


def ranking(grid: Grid, rng: Generator) -> Found:
    """The whole leaderboard."""
    test = whole_index(models())
    for subjects in grid.ranked:
        for runs in grid.few_runs:
            for place in ("middle", "ceiling"):
                for equal in ("all", "half"):
                    yield from of_rankings(test, rng, grid.draws, subjects, runs, place, equal)


def judges(grid: Grid, rng: Generator) -> Found:
    """The index under all judges."""
    test = whole_index(models())
    for subjects in (20, 3):
        for number in grid.juries:
            jury = Jury(number, SEVERITY.severity, SEVERITY.taste, SEVERITY.slips)
            yield from of_judges(test, rng, grid.draws, subjects, 5, jury)


def incomplete_juries(grid: Grid, rng: Generator) -> Found:
    """The index under all judges, where the third of three has marked half of the transcripts."""
    test = whole_index(models())
    jury = Jury(3, SEVERITY.severity, SEVERITY.taste, SEVERITY.slips)
    for subjects in (20, 3):
        for runs in (2, 5):
            yield from of_judges(test, rng, grid.draws, subjects, runs, jury, lacking=0.5)


SECTIONS: dict[str, Callable[[Grid, Generator], Found]] = {
    "marks": marks,
    "small": small,
    "index": index,
    "published": published_subjects,
    "differences": differences,
    "ranking": ranking,
    "judges": judges,
    "incomplete-juries": incomplete_juries,
}


def simulate(grid: Grid, names: Iterable[str], seed: int) -> list[Cell | Family]:
    """The sections, each with random numbers of its own, so that one alone gives the same."""
    found: list[Cell | Family] = []
    for number, (name, section) in enumerate(SECTIONS.items()):
        if name not in names:
            continue
        start = time.monotonic()
        for one in section(grid, np.random.default_rng([seed, number])):
            found.append(one)
            if len(found) % 100 == 0:
                print(
                    f"{name}: {len(found)} cells, {time.monotonic() - start:.0f} s",
                    file=sys.stderr,
                    flush=True,
                )
        print(f"{name}: done in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    return found


def main() -> int:
    """Simulate, print, write, and say with the exit code whether every promise was kept."""
    parser = argparse.ArgumentParser(
        prog="coverage", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=2000, help="of each cell  [default: 2000]")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the draws, and fewer cells"
    )
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", type=Path, help="with the published results (aib import)")
    parser.add_argument("--write", action="store_true", help=f"docs/{PAGE.name} and the cells, too")
    chosen = parser.parse_args()
    grid = Grid(chosen.draws, store=chosen.store)
    if chosen.quick:
        draws = max(chosen.draws // 10, 10)
        grid = Grid(draws, (2, 5, 20), (2, 5), (5,), (3,), (5, 20), (1, 2), chosen.store)
    start = time.monotonic()
    found = simulate(grid, chosen.only, chosen.seed)
    cells = [one for one in found if isinstance(one, Cell)]
    families = [one for one in found if isinstance(one, Family)]
    if chosen.write:
        about: dict[str, object] = {
            "draws": grid.draws,
            "slow": grid.draws // 5,
            "seed": chosen.seed,
            "minutes": (time.monotonic() - start) / 60,
        }
        write_section(PAGE, "intervals", summary(cells, families, about))
        write_cells(cells, families)
    print(f"{grid.draws} draws a cell, {len(found)} cells\n")
    kept = promises(cells, families)
    for name, value, bound, good in kept:
        print(
            f"{'PASS' if good else 'OVER'}  {name} {100 * value:.1f}% (promised {100 * bound:.0f})"
        )
    return 0 if all(good for *_, good in kept) else 1


if __name__ == "__main__":
    sys.exit(main())
