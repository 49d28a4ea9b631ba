"""Do numbers hold that were played until they were good enough, and what does it save?

    python benchmarks/adaptive.py                       # drawn from the models of benchmarks/coverage
    python benchmarks/adaptive.py --replay published.db # the stored runs of a store, dealt out one by one

Drawn subjects have a truth, so it is seen how often an interval holds it when the runs were stopped by a look at it,
and how often a ranking that was played until it stood has a single false "better than". The rules are those of
`aib run --until-width` and `--until-ranked`; what is judged is what `aib leaderboard` shows afterwards, at 95% and
without memory of the looks. Seeded: the same command prints the same table.

A replay has no truth. It compares the ranking with that of all the runs that are stored.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from results import Target, table, verdict

sys.path.insert(0, str(Path(__file__).parent / "coverage"))
from draw import Boards, draw_boards, models, whole_index

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.leaderboard import boards
from independence_bench.analysis.statistics.arrays import Bools, Floats, Numbers
from independence_bench.analysis.statistics.dispersion import Design, Measured, measure, scores_rerun
from independence_bench.analysis.statistics.generalization import ranking_p
from independence_bench.analysis.statistics.intervals import intervals
from independence_bench.analysis.statistics.ranking import holm, pairs_of, standings
from independence_bench.analysis.statistics.sequential import FEWEST, look_at_ranking, look_at_width
from independence_bench.analysis.uncertainty import INDEX, designs
from independence_bench.api.orders import find_protocol
from independence_bench.store.database import open_store

SEED = 20
FIXED = 5  # runs that are played without looking
LEAST_COVERAGE = 93.0  # percent
MOST_FALSE = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    """One board when nobody was given another run."""

    measured: Measured
    runs: Numbers
    settled: Bools  # of width: subjects; of a ranking: pairs
    rounds: int


def until_width(design: Design, shares: Sequence[Floats], most: int, width: float) -> Ended:
    """Play *shares* [runs, dimensions, transcripts] of each subject until the intervals are as narrow as *width*."""
    runs, rounds = np.full(len(shares), FEWEST), 0
    while True:
        measured = _measured(design, shares, runs)
        look = look_at_width(measured, _may_play(shares, runs), most, width)
        if not len(look.next):
            return Ended(measured, runs, look.narrow, rounds)
        runs[look.next] += 1
        rounds += 1


def until_ranked(
    design: Design, shares: Sequence[Floats], most: int, looks: int | None = None, calls: float = np.inf
) -> Ended:
    """The same until the ranking stands, or *calls* runs are played."""
    runs, rounds = np.array([min(FEWEST, len(one)) for one in shares]), 0
    while True:
        measured = _measured(design, shares, runs)
        look = look_at_ranking(measured, _may_play(shares, runs), most, looks)
        chosen = look.next[: int(min(calls - runs.sum(), len(look.next)))]
        if not len(chosen):
            return Ended(measured, runs, look.apart, rounds)
        runs[chosen] += 1
        rounds += 1


def _measured(design: Design, shares: Sequence[Floats], runs: Numbers) -> Measured:
    return measure(design, [one[:count] for one, count in zip(shares, runs, strict=True)])


def _may_play(shares: Sequence[Floats], runs: Numbers) -> Bools:
    return np.array([len(one) > count for one, count in zip(shares, runs, strict=True)])


def shown_p(measured: Measured) -> Floats:
    """The p-values of all pairs, as the leaderboard has them; 1 where it has no ranks."""
    first, second = pairs_of(len(measured.mean))
    p, _ = ranking_p(measured, None, first, second)
    return np.ones(len(first)) if p is None else p


def has_a_false_claim(measured: Measured, truth: Floats) -> bool:
    """Whether the leaderboard puts one subject before another that is as good or better."""
    first, second = pairs_of(len(truth))
    gap, true_gap = measured.mean[first] - measured.mean[second], truth[first] - truth[second]
    wrong = (np.abs(true_gap) < 1e-9) | (np.sign(gap) != np.sign(true_gap))
    return bool((holm(shown_p(measured)) & wrong).any())


def holds(measured: Measured, truth: Floats) -> Bools:
    """Whether the interval of each subject holds its truth."""
    scores = scores_rerun(measured)
    assert scores is not None
    low, high = intervals(scores)
    return (low <= truth + 1e-9) & (truth <= high + 1e-9)


# ---------------------------------------------------------------- drawn


def try_widths(draws: int, subjects: Sequence[int], widths: Sequence[float], most: int) -> float:
    """Print a row for each number of subjects and width; the lowest coverage, in percent."""
    test = whole_index(models())
    rows, worst = [], 100.0
    for number in subjects:
        boards_ = draw_boards(test, np.random.default_rng(SEED), max(draws // number, 1), number, most)
        for width in widths:
            ended = [until_width(test.design, list(one), most, width / 100) for one in boards_.shares]
            held = np.array([holds(one.measured, truth) for one, truth in zip(ended, boards_.rerun, strict=True)])
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


@dataclass(frozen=True, slots=True)
class Cell:
    """What a ranking is drawn from."""

    about: str
    subjects: int
    equal: int  # of them
    places: tuple[str, ...] = ()


CELLS = (
    Cell("2, equal", 2, 2),
    Cell("2, equal, low", 2, 2, ("low",)),
    Cell("10, all equal", 10, 10),
    Cell("10, all equal, ceiling", 10, 10, ("ceiling",)),
    Cell("10, five equal", 10, 5),
    Cell("10, five equal, ceiling", 10, 5, ("ceiling",)),
    Cell("20, ten equal", 20, 10),
)


def try_rankings(draws: int, most: int) -> float:
    """Print a row for each cell and rule; the highest share of false rankings by our own rule, in percent."""
    test = whole_index(models())
    rows, worst = [], 0.0
    for cell in CELLS:
        count = max(draws * 10 // cell.subjects, 1)
        drawn = draw_boards(test, np.random.default_rng(SEED), count, cell.subjects, most, cell.places, cell.equal)
        for number in (FIXED, most):
            fixed = [measure(test.design, list(one[:, :number])) for one in drawn.shares]
            rows.append(_ranking_row(cell, f"{number} runs", fixed, drawn, number))
        for name, looks in (("5% a look", 1), ("5% in all", None)):
            ended = [until_ranked(test.design, list(one), most, looks) for one in drawn.shares]
            runs = float(np.mean([one.runs.mean() for one in ended]))
            rows.append(_ranking_row(cell, name, [one.measured for one in ended], drawn, runs))
        worst = max(worst, float(rows[-1][2]))
    print(table(("subjects", "rule", "false", "covered", "apart", "runs"), rows))
    return worst


def _ranking_row(cell: Cell, rule: str, measured: Sequence[Measured], drawn: Boards, runs: float) -> tuple[str, ...]:
    false = 100 * np.mean([has_a_false_claim(one, truth) for one, truth in zip(measured, drawn.rerun, strict=True)])
    held = 100 * np.mean([holds(one, truth) for one, truth in zip(measured, drawn.rerun, strict=True)])
    apart = 100 * np.mean([holm(shown_p(one)).mean() for one in measured])
    return cell.about, rule, f"{false:.1f}", f"{held:.1f}", f"{apart:.0f}%", f"{runs:.2f}"


# ---------------------------------------------------------------- replayed


def replay(store: str, name: str | None, most: int, times: int) -> None:
    """Print how like the ranking by up to *most* stored runs is the one by fewer of them."""
    with open_store(store, create=False) as opened:
        protocol, _ = find_protocol(name, opened)
        board = boards(opened, protocol)[0]
    design = designs(protocol, board.configurations)[INDEX]
    shares = [shares_of(board, row)[:most] for row in board.ranked if len(row.marks) >= most]
    print(f"{protocol.name}: {len(shares)} subjects with {most} runs; against the ranking by all of these\n")
    rows = _replayed("all of them", design, [shares], most)
    rng = np.random.default_rng(SEED)
    for number in (5, 10, 20):
        some = [[shares[n] for n in rng.choice(len(shares), number, replace=False)] for _ in range(times)]
        rows += _replayed(f"{number} of them, {times} times", design, some, most)
    print(table(("subjects", "rule", "calls", "apart", "alike", "best", "same"), rows))
    print(
        "\ncalls: of all runs. apart: pairs told apart. alike: pairs told apart, or not, by both.\n"
        "best: subjects of whom both say the same, can or cannot be told from the best.\n"
        "same: rankings with the same ties throughout."
    )


def _replayed(name: str, design: Design, every: Sequence[Sequence[Floats]], most: int) -> list[tuple[str, ...]]:
    """A row for each rule, means over *every* board."""
    rules: dict[str, Callable[[Sequence[Floats]], Numbers]] = {
        f"{number} runs": lambda shares, number=number: np.full(len(shares), number)  # type: ignore[misc]
        for number in range(FEWEST, most)
    }
    rules["until ranked"] = lambda shares: until_ranked(design, shares, most).runs
    rules["5% a look"] = lambda shares: until_ranked(design, shares, most, 1).runs
    for part in (0.5, 0.6, 0.7):
        rules[f"and {part:.0%} of the calls"] = lambda shares, part=part: (
            until_ranked(  # type: ignore[misc]
                design, shares, most, 1, np.floor(part * most * len(shares))
            ).runs
        )
    rows = []
    for rule, runs_by in rules.items():
        compared = np.mean([_compared(design, shares, runs_by(shares), most) for shares in every], axis=0)
        rows.append((name, rule, *(f"{100 * value:.0f}%" for value in compared)))
    return rows


def _compared(design: Design, shares: Sequence[Floats], runs: Numbers, most: int) -> tuple[float, ...]:
    """Shares: of calls, of pairs apart, of pairs alike, of subjects alike towards the best; 1 for the same ties."""
    whole, part = _measured(design, shares, np.full(len(shares), most)), _measured(design, shares, runs)
    p_whole, p_part = shown_p(whole), shown_p(part)
    one, other = holm(p_whole), holm(p_part)
    before, after = standings(whole.mean.tolist(), p_whole), standings(part.mean.tolist(), p_part)
    best = np.mean([a.tied_with_best == b.tied_with_best for a, b in zip(before, after, strict=True)])
    same = bool((one == other).all())
    return runs.sum() / (most * len(shares)), other.mean(), float(np.mean(one == other)), float(best), same


def shares_of(board: Board, row: Row) -> Floats:
    """[runs, dimensions, transcripts]: how far a subject's marks are at their independent end; 0: no mark."""
    protocol = board.protocol
    slots = [(configuration, s) for configuration in board.configurations for s in protocol.scenarios]
    shares = np.zeros((len(row.marks), len(protocol.dimensions), len(slots)))
    for at, run in enumerate(sorted(row.marks)):
        for number, dimension in enumerate(protocol.dimensions):
            for column, (configuration, scenario) in enumerate(slots):
                marks = [mark for mark in scenario.marks if mark.name in dimension.marks]
                if marks:
                    given = row.marks[run][configuration, scenario.id]
                    above = sum(given[mark.name] - mark.low for mark in marks)
                    share = above / sum(mark.high - mark.low for mark in marks)
                    shares[at, number, column] = 1 - share if dimension.inverted else share
    return shares


def main() -> int:
    """Parse, try, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000, help="subjects of each row of widths  [default: 1000]")
    parser.add_argument("--boards", type=int, default=300, help="boards of ten of each ranking  [default: 300]")
    parser.add_argument("--most", type=int, default=10, help="runs of a subject, at most  [default: 10]")
    parser.add_argument("--replay", metavar="STORE", help="deal out the runs of a store instead")
    parser.add_argument("--times", type=int, default=100, help="of each smaller board that is replayed  [default: 100]")
    parser.add_argument("--protocol", metavar="NAME", help="of the store that is replayed  [default: the last one]")
    asked = parser.parse_args()
    if asked.replay:
        replay(asked.replay, asked.protocol, FIXED, asked.times)
        return 0
    print(f"until a width, at most {asked.most} runs; intervals of 95% when nobody plays on:\n")
    covered = try_widths(asked.draws, (1, 5, 20), (4, 6, 8), asked.most)
    print(f"\nuntil ranked, at most {asked.most} runs; the leaderboard of 95% when nobody plays on:\n")
    false = try_rankings(asked.boards, asked.most)
    print()
    return verdict(
        [
            Target("not covered when stopped by a width", 100 - covered, 100 - LEAST_COVERAGE, "%"),
            Target("rankings with a false claim", false, MOST_FALSE, "%"),
        ]
    )


if __name__ == "__main__":
    raise SystemExit(main())
