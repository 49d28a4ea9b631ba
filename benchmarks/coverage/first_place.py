"""How much luck the first of a board has: its index, its interval, and what empirical Bayes makes
of it.

    python benchmarks/coverage/first_place.py [--draws 300]  # prints the table of docs/statistics-methods.md

Readers look at the first row, so what counts is whether that row's interval holds its truth, and
how far its index is from it. Boards are drawn as for coverage.md; sittings shift what is believed,
or nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from draw import Boards, Days, Test, draw_boards, models, whole_index
from page import markdown, percent

from independence_bench.analysis.statistics.dispersion import measure, scores_rerun
from independence_bench.analysis.statistics.generalization import shrunken
from independence_bench.analysis.statistics.intervals import intervals

RUNS = 5
# standard deviation of a mark's latent variable: about what sittings are believed to shift
# (sittings.py)
SHIFT = 0.1


def rows(draws: int, seed: int) -> Iterator[tuple[str, ...]]:
    """A line for each kind of board."""
    test = whole_index(models())
    for subjects in (20, 72):
        for name, equal in (("equal", subjects), ("as published", 0)):
            for number, spread in enumerate((0.0, SHIFT)):
                rng = np.random.default_rng([seed, subjects, equal, number])
                places = ("middle",) if equal else ()
                days = Days(spread, serial=1.0)
                played = draw_boards(
                    test, rng, draws, subjects, RUNS, places, equal=equal, days=days
                )
                yield (
                    f"{subjects}, {name}",
                    "as believed" if spread else "nothing",
                    *_figures(test, played),
                )


def _figures(test: Test, played: Boards) -> tuple[str, ...]:
    held, errors = [], []
    for shares, truth in zip(played.shares, played.truth("rerun"), strict=True):
        measured = measure(test.design, list(shares), [[1] * RUNS] * len(shares))
        scores = scores_rerun(measured)
        assert scores is not None
        first = int(measured.mean.argmax())
        low, high = intervals(scores)
        held.append(low[first] <= truth[first] <= high[first])
        errors.append((measured.mean[first] - truth[first], shrunken(scores)[first] - truth[first]))
    plain, drawn = 100 * np.array(errors).T
    figures = [f"{plain.mean():+.1f}", f"{drawn.mean():+.1f}"]
    figures += [f"{np.sqrt(np.square(each).mean()):.1f}" for each in (plain, drawn)]
    return percent(float(np.mean(held))), *figures


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--draws", type=int, default=300, help="boards of each cell  [default: 300]"
    )
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    head = (
        "board",
        "sittings shift",
        "first's CI covers, %",
        "index too high by",
        "drawn",
        "RMSE of the index",
        "drawn",
    )
    print("\n".join(markdown(head, rows(chosen.draws, chosen.seed))))


if __name__ == "__main__":
    main()
