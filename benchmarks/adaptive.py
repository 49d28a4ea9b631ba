"""Do intervals hold that were played until they were narrow enough, and what does it save?

    python benchmarks/adaptive.py  # drawn from the models of benchmarks/coverage

Drawn subjects have a truth, so it is seen how often an interval holds it when the runs were stopped
by a look at it. The rules are those of `aib run --until-width`; what is judged is what `aib
leaderboard` shows afterwards, at 95% and without memory of the looks. Seeded: the same command
prints the same table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from results import Target, table, verdict

sys.path.insert(0, str(Path(__file__).parent / "coverage"))
from draw import draw_boards, models, whole_index

from independence_bench.analysis.statistics.dispersion import (
    Design,
    Measured,
    measure,
    scores_rerun,
)
from independence_bench.analysis.statistics.intervals import intervals
from independence_bench.analysis.statistics.planning import FEWEST, look_at_width
from independence_bench.analysis.statistics.values import Bools, Floats, Numbers

SEED = 20
FIXED = 5  # runs that are played without looking
LEAST_COVERAGE = 93.0  # percent


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    """One board when nobody was given another run."""

    measured: Measured
    runs: Numbers
    settled: Bools  # of subjects
    rounds: int


def until_width(design: Design, shares: Sequence[Floats], most: int, width: float) -> Ended:
    """Play *shares* [runs, dimensions, transcripts] of each subject until the intervals are as
    narrow as *width*.
    """
    runs, rounds = np.full(len(shares), FEWEST), 0
    while True:
        measured = _measured(design, shares, runs)
        look = look_at_width(measured, _may_play(shares, runs), most, width)
        if not len(look.next):
            return Ended(measured, runs, look.narrow, rounds)
        runs[look.next] += 1
        rounds += 1


def _measured(design: Design, shares: Sequence[Floats], runs: Numbers) -> Measured:
    return measure(design, [one[:count] for one, count in zip(shares, runs, strict=True)])


def _may_play(shares: Sequence[Floats], runs: Numbers) -> Bools:
    return np.array([len(one) > count for one, count in zip(shares, runs, strict=True)])


def holds(measured: Measured, truth: Floats) -> Bools:
    """Whether the interval of each subject holds its truth."""
    scores = scores_rerun(measured)
    assert scores is not None
    low, high = intervals(scores)
    return (low <= truth + 1e-9) & (truth <= high + 1e-9)


def try_widths(draws: int, subjects: Sequence[int], widths: Sequence[float], most: int) -> float:
    """Print a row for each number of subjects and width; the lowest coverage, in percent."""
    test = whole_index(models())
    rows, worst = [], 100.0
    for number in subjects:
        boards_ = draw_boards(
            test, np.random.default_rng(SEED), max(draws // number, 1), number, most
        )
        for width in widths:
            ended = [
                until_width(test.design, list(share), most, width / 100) for share in boards_.shares
            ]
            held = np.array(
                [
                    holds(one.measured, truth)
                    for one, truth in zip(ended, boards_.rerun, strict=True)
                ]
            )
            settled = np.array([one.settled for one in ended])
            coverage = 100 * held.mean()
            worst = min(worst, coverage)
            of_settled = f"{100 * held[settled].mean():.1f}" if settled.any() else "-"
            mean_runs = np.mean([one.runs.mean() for one in ended])
            rows.append(
                (
                    f"{number}, width {width:g}",
                    f"{coverage:.1f}",
                    of_settled,
                    f"{100 * settled.mean():.0f}%",
                    f"{mean_runs:.2f}",
                    f"{mean_runs / FIXED:.2f}",
                )
            )
    print(table(("subjects", "covered", "if settled", "settled", "runs", f"of {FIXED} runs"), rows))
    return float(worst)


def main() -> int:
    """Parse, try, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--draws", type=int, default=1000, help="subjects of each row of widths  [default: 1000]"
    )
    parser.add_argument(
        "--most", type=int, default=10, help="runs of a subject, at most  [default: 10]"
    )
    asked = parser.parse_args()
    print(f"until a width, at most {asked.most} runs; intervals of 95% when nobody plays on:\n")
    covered = try_widths(asked.draws, (1, 5, 20), (4, 6, 8), asked.most)
    print()
    return verdict(
        [Target("not covered when stopped by a width", 100 - covered, 100 - LEAST_COVERAGE, "%")]
    )


if __name__ == "__main__":
    raise SystemExit(main())
