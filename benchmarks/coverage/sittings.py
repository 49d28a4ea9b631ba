"""What sittings do to rankings and intervals of subjects that are played in one: simulation, before
and after.

    python benchmarks/coverage/sittings.py [--draws 300]
        # prints a table; --write: sittings.csv, too

Everything that a provider's day shifts is the same in all runs of a sitting, so five runs of one
evening agree with each other and not with the next evening. Boards are drawn as for coverage.md;
before: without what the intervals allow for between sittings, after: with it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from cells import covered, wrong_ranks
from draw import Boards, Days, Generator, Test, draw_boards, models, whole_index
from methods import ours
from page import markdown, percent, write_rows

from independence_bench.analysis.statistics.dispersion import Measured, measure_score_of_subjects

RUNS = 5
PLACE = "middle"
# standard deviations between sittings, of a mark's latent variable
SPREADS = (0.0, 0.05, 0.1, 0.15, 0.2)
MANY = 60  # runs, after which only the sitting is left of what varies


def points(test: Test, rng: Generator, spread: float) -> float:
    """What that *spread* is as a standard deviation of the index between sittings."""
    if not spread:
        return 0.0
    shifted, plain = (
        draw_boards(test, rng, 20, 20, MANY, (PLACE,), equal=20, days=days)
        for days in (Days(spread, serial=1.0), Days(0.0))
    )
    variances = [
        index_of(test, played).mean(axis=2).var(axis=1, ddof=1).mean()
        for played in (shifted, plain)
    ]
    return 100 * float(np.sqrt(max(variances[0] - variances[1], 0.0)))


def index_of(test: Test, played: Boards) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """[draws, subjects, runs]: the index, in [0, 1]."""
    return np.einsum("dk,njrdk->njr", test.design.weights, played.shares)


def measured(
    test: Test, played: Boards, sittings: Sequence[Sequence[int]] | None
) -> list[Measured]:
    """Every board."""
    return [
        measure_score_of_subjects(test.design, list(share), sittings) for share in played.shares
    ]


def false_rankings(boards: Sequence[Measured]) -> float:
    """In how many something false is said, all being equal: the best one may not be first, or the
    share of rows with wrong ranks.
    """
    found = [wrong_ranks(board, np.zeros(len(board.mean)), "rerun") for board in boards]
    return max(np.mean(found, axis=0).tolist()[:2])


def rows(draws: int, seed: int) -> Iterator[tuple[str, ...]]:
    """A line for each size of board and of what shifts a sitting."""
    test = whole_index(models())
    for subjects in (20, 72):
        for number, spread in enumerate(SPREADS):
            rng = np.random.default_rng([seed, subjects, number])
            shift = points(test, rng, spread)
            played = draw_boards(
                test,
                rng,
                draws,
                subjects,
                RUNS,
                (PLACE,),
                equal=subjects,
                days=Days(spread, serial=1.0),
            )
            found = []
            for sittings in (None, [[1] * RUNS] * subjects):
                boards = measured(test, played, sittings)
                limits = ours(boards, "rerun")
                assert limits is not None
                coverage, _ = covered(limits, played.truth("rerun"))
                found.append((percent(false_rankings(boards)), percent(float(coverage.mean()))))
            yield (
                f"{subjects}",
                f"{shift:.1f}",
                *(figure for pair in zip(*found, strict=True) for figure in pair),
            )
            print(f"{subjects} subjects, {shift:.1f} points: done", file=sys.stderr, flush=True)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--draws", type=int, default=300, help="boards of each cell  [default: 300]"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="sittings.csv, too")
    chosen = parser.parse_args()
    found = list(rows(chosen.draws, chosen.seed))
    if chosen.write:
        columns = [
            f"{what}{allowance}_percent"
            for what in ("false", "coverage")
            for allowance in ("", "_with_allowance")
        ]
        write_rows("sittings", ("subjects", "sd_points", *columns), found)
    head = (
        "subjects",
        "SD, points",
        "false rankings",
        "with the allowance",
        "coverage",
        "with the allowance",
    )
    print("\n".join(markdown(head, found)))


if __name__ == "__main__":
    main()
