"""Whether the gate of characters passes what did not change and fails what gives in earlier: pairs
of known truth, in the cells of item_gate_cells.py.

    python benchmarks/coverage/item_gates.py
        # prints every cell and what is required, some twenty minutes
    python benchmarks/coverage/item_gates.py --write
        # and writes the table of docs/ci.md, every cell as item_gates.csv

The exit code is 1 where a cell misses what is required of it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from statistics import median

import numpy as np
from gates import CI
from item_gate_cells import (
    CELLS,
    LEAST_FOUND,
    LEAST_NAMED,
    MOST_FALSE_FAILS,
    PUSHES,
    Cell,
    choose_fallen_items,
    draw_replays,
    draw_shifts,
    is_required,
    make_character,
)
from page import markdown, write_rows, write_section

from independence_bench.analysis.gate import ItemChange, ItemTest, choose_runs_to_add
from independence_bench.analysis.statistics.hypothesis_tests import (
    RunsNeeded,
    Verdict,
    compute_confidence_level_per_look,
)
from independence_bench.analysis.statistics.item_tests import (
    MOST_RUNS,
    compute_lower_p,
    count_replays_needed,
    estimate_lower_power,
)

CHOSEN_OF = 5
LOOK, ADDED = (1 - compute_confidence_level_per_look(looks) for looks in (1, 2))
FEWER_PAIRS = 400  # of cells in which runs are named, which take longer, and of the others


@dataclass(frozen=True, slots=True)
class Found:
    """What the gates of one cell said of unchanged builds and of drops, in shares of its pairs."""

    pairs: int
    same: Counter[str] = field(default_factory=Counter)
    drop: Counter[str] = field(default_factory=Counter)
    runs: list[int] = field(default_factory=list)  # that were named, of a build with a drop

    @property
    def false_fails(self) -> float:
        """Share of unchanged builds that fail."""
        return self.same["fail"] / self.pairs

    @property
    def named(self) -> float:
        """Share of drops with a verdict or a number of runs."""
        return 1 - self.drop["no number"] / self.pairs

    @property
    def found(self) -> float:
        """Share of those that fail."""
        return self.drop["fail"] / max(self.pairs - self.drop["no number"], 1)

    @property
    def passed_drops(self) -> float:
        """Share of drops that pass."""
        return self.drop["pass"] / self.pairs

    def keeps(self, cell: Cell) -> bool:
        """Whether the *cell* has what is required of it."""
        few = self.named < LEAST_NAMED
        return not is_required(cell) or (
            self.false_fails <= MOST_FALSE_FAILS
            and self.passed_drops <= 1 - LEAST_FOUND
            and (cell.task == "look" or few or self.found >= LEAST_FOUND)
        )


def give_verdict(before: np.ndarray, now: np.ndarray, level: float) -> Verdict:
    """Return the gate's verdict on replays, both (runs, items)."""
    old, new = before.T.tolist(), now.T.tolist()
    items = tuple(
        ItemChange("", "", tuple(was), tuple(is_)) for was, is_ in zip(old, new, strict=True)
    )
    p = compute_lower_p(old, new)
    power = (
        estimate_lower_power(_join(before, now), len(before), len(now), level) if p > level else 0.0
    )
    return ItemTest(items, (), PUSHES, p, level, power).verdict


def _join(before: np.ndarray, now: np.ndarray) -> list[list[int]]:
    return np.concatenate([before, now]).T.tolist()


def play(cell: Cell, number: int, pairs: int, seed: int) -> Found:
    """Return what the gates of *pairs* pairs of builds in a *cell* say."""
    rng = np.random.default_rng((seed, number))
    many = cell.task == "look" and is_required(cell)
    counted = Found(pairs if many else min(pairs, FEWER_PAIRS))
    runs = MOST_RUNS if cell.task in ("written", "added") else max(cell.before, cell.now)
    for _ in range(counted.pairs):
        shares = make_character(cell.kind, cell.items, rng)
        fallen = choose_fallen_items(shares, rng)
        played, again = (draw_replays(shares, draw_shifts(cell, runs, rng), rng) for _ in range(2))
        dropped = np.maximum(again - fallen, 0)
        if cell.task == "written":
            _play_written(cell, played, dropped, counted)
            continue
        if cell.task == "chosen":
            builds = [
                draw_replays(shares, draw_shifts(cell, cell.before, rng), rng)
                for _ in range(CHOSEN_OF)
            ]
            played = max(builds, key=np.sum)
        for now, said in ((again, counted.same), (dropped, counted.drop)):
            if cell.task == "added":
                verdict = _play_added(cell, played, now, counted if said is counted.drop else None)
            else:
                verdict = give_verdict(played[: cell.before], now[: cell.now], LOOK)
            said[verdict] += 1
    return counted


def _play_written(cell: Cell, played: np.ndarray, dropped: np.ndarray, counted: Found) -> None:
    """Play the runs that `aib gate --write` names, of a build with a drop."""
    needed = count_replays_needed(played[: cell.before].T.tolist(), cell.before, 0, LOOK)
    more = choose_runs_to_add(needed, cell.before, 0)
    if more is None:
        counted.drop["no number"] += 1
        return
    counted.runs.append(more[1])
    counted.drop[give_verdict(played[: cell.before + more[0]], dropped[: more[1]], LOOK)] += 1


def _play_added(cell: Cell, before: np.ndarray, now: np.ndarray, counted: Found | None) -> str:
    """Return the verdict after the runs that the first look names were added. The number goes into
    *counted*.
    """
    sizes = cell.before, cell.now
    first, new = before[: sizes[0]], now[: sizes[1]]
    verdict = give_verdict(first, new, ADDED)
    if verdict != "undecided":
        return verdict
    needed: RunsNeeded = count_replays_needed(_join(first, new), *sizes, ADDED)
    more = choose_runs_to_add(needed, *sizes)
    if more is None:
        return "no number"
    if counted:
        counted.runs.append(sizes[1] + more[1])
    return give_verdict(before[: sizes[0] + more[0]], now[: sizes[1] + more[1]], ADDED)


# ---------------------------------------------------------------- the table

COLUMNS = (
    "task", "character", "items", "runs_before", "runs_now", "run_shift_logits", "pairs",
    "unchanged_passes_percent", "unchanged_fails_percent", "drop_passes_percent",
    "drop_fails_percent", "named_percent", "named_runs_median", "required", "kept",
)  # fmt: skip
Results = Sequence[tuple[Cell, Found]]


def list_rows(results: Results) -> Iterator[tuple[str, ...]]:
    """Yield a row of item_gates.csv for each cell."""
    for cell, found in results:
        played = cell.task != "written"  # no unchanged builds
        yield (
            *(cell.task, cell.kind, str(cell.items), str(cell.before), str(cell.now or "")),
            *(f"{cell.shift:g}", str(found.pairs)),
            f"{100 * found.same['pass'] / found.pairs:.1f}" if played else "",
            f"{100 * found.false_fails:.1f}" if played else "",
            f"{100 * found.passed_drops:.1f}",
            f"{100 * found.found:.1f}",
            f"{100 * found.named:.1f}" if found.runs or found.drop["no number"] else "",
            f"{median(found.runs):g}" if found.runs else "",
            "yes" if is_required(cell) else "no",
            "yes" if found.keeps(cell) else "no",
        )


def make_table(results: Results) -> str:
    """Return the table of docs/ci.md: nine items, runs shifted by half a logit, and the worst of
    all required cells.
    """
    named = {(c.kind, c.before): f for c, f in results if c.task == "written" and c.items == 9}
    rows = [
        (
            *(cell.kind, f"{cell.before}, {cell.now}"),
            f"{100 * found.same['pass'] / found.pairs:.0f}",
            f"{100 * found.false_fails:.0f}",
            f"{100 * found.found:.0f}",
            f"{median(named[cell.kind, cell.before].runs):.0f}"
            if (cell.kind, cell.before) in named and named[cell.kind, cell.before].runs
            else "",
        )
        for cell, found in results
        if cell.task == "look" and cell.items == 9 and cell.shift == 0.5
    ]
    columns = (
        "character", "runs before, now", "unchanged passes", "unchanged fails", "drop fails",
        "runs that `--write` names",
    )  # fmt: skip
    required = [(cell, found) for cell, found in results if is_required(cell)]
    worst = max(found.false_fails for _, found in required)
    least = min(
        found.found
        for cell, found in required
        if cell.task != "look" and found.named >= LEAST_NAMED
    )
    session = max(found.false_fails for cell, found in results if cell.task == "session")
    chosen = max(found.false_fails for cell, found in results if cell.task == "chosen")
    said = (
        f"Shares in %. In all {len(required)} required cells at most {100 * worst:.1f}% of "
        f"unchanged builds fail, and at least\n{100 * least:.0f}% of drops fail with the runs that "
        "the gate names. An unchanged build fails in up to\n"
        f"{100 * session:.0f}% if all of its runs are shifted together, as another day may, and in "
        f"up to {100 * chosen:.0f}% if the\nbaseline is the best of five equal builds."
    )
    return "\n".join(markdown(columns, rows)) + f"\n{said}"


def main() -> int:
    """Simulate, print, write; exit code 1 where a cell misses what is required."""
    parser = argparse.ArgumentParser(prog="item_gates", description=__doc__)
    parser.add_argument(
        "--pairs", type=int, default=1000, help="of each cell of one look  [default: 1000]"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="processes  [default: 2]")
    parser.add_argument(
        "--write", action="store_true", help=f"the table of docs/{CI.name}, and item_gates.csv"
    )
    chosen = parser.parse_args()
    results: list[tuple[Cell, Found]] = []
    with ProcessPoolExecutor(chosen.jobs) as pool:
        one = partial(play, pairs=chosen.pairs, seed=chosen.seed)
        for cell, found in zip(CELLS, pool.map(one, CELLS, range(len(CELLS))), strict=True):
            results.append((cell, found))
            print(*next(list_rows(results[-1:])), file=sys.stderr, flush=True)
    text = make_table(results)
    print(text)
    missed = [row for row in list_rows(results) if row[-1] == "no"]
    for row in missed:
        print("missed:", *row)
    if chosen.write:
        write_section(CI, "what a gate of characters resolves", text)
        write_rows("item_gates", COLUMNS, list_rows(results))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
