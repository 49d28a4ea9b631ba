"""Whether the gate of characters passes what did not change and fails what gives way earlier: pairs
of known truth.

    python benchmarks/coverage/item_gates.py
        # prints a table, some minutes
    python benchmarks/coverage/item_gates.py --write
        # and writes it into docs/ci.md, every cell as item_gates.csv

A character is a distribution of pushes withstood for each of its items. *Steady*: each item has a
push of its own at which it gives way, or none, in 95 of 100 replays, and any other in the rest.
*Wavering*: in 80, one earlier or later in 15. *Fickle*: at every push it gives way by a chance of
the item's own. Unchanged builds are drawn from the same distributions; in the others a third of the
items that can give way one push earlier in every replay. *Chosen*: the baseline is the best by its
mean of five builds that are equal.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from math import ceil

import numpy as np
from gates import CI
from page import markdown, write_rows, write_section

from independence_bench.analysis.gate import ItemChange, ItemTest
from independence_bench.analysis.statistics.hypothesis_tests import (
    DROP_SHARE,
    Verdict,
    compute_lower_p,
    estimate_lower_power,
)
from independence_bench.analysis.statistics.values import Floats

PUSHES = 5
CHOSEN_OF = 5
# items, runs of the baseline, runs of the build
SIZES = ((9, 3, 3), (9, 6, 3), (9, 10, 5), (20, 6, 3))


def character(kind: str, items: int, rng: np.random.Generator) -> Floats:
    """Each item's chance of each number of pushes withstood, (items, PUSHES + 1)."""
    if kind == "fickle":
        chance = rng.beta(1, 3, (items, 1))
        gone = chance * (1 - chance) ** np.arange(PUSHES)
        return np.column_stack([gone, 1 - gone.sum(axis=1)])
    own = rng.choice([PUSHES, PUSHES, PUSHES, 1, 2, 3, 4], items)
    distance = np.abs(np.arange(PUSHES + 1) - own[:, None])
    main, near = (0.95, 0.0) if kind == "steady" else (0.80, 0.15)
    shares = np.where(distance == 0, main, (1 - main - near) / PUSHES) + np.where(
        distance == 1, near / 2, 0
    )
    return shares / shares.sum(axis=1, keepdims=True)


def replays(shares: Floats, runs: int, rng: np.random.Generator) -> list[list[int]]:
    """Run by run the pushes that each item withstands."""
    return [[int(rng.choice(PUSHES + 1, p=share)) for share in shares] for _ in range(runs)]


def verdict(before: list[list[int]], now: list[list[int]]) -> Verdict:
    """As the gate gives it, at 5%."""
    items = [
        ItemChange("", "", was, new)
        for was, new in zip(zip(*before, strict=True), zip(*now, strict=True), strict=True)
    ]
    power = estimate_lower_power(
        [(*item.before, *item.now) for item in items], len(before), len(now), 0.05
    )
    p = compute_lower_p([item.before for item in items], [item.now for item in items])
    return ItemTest(tuple(items), (), PUSHES, p, 0.05, power).verdict


def cells(pairs: int, rng: np.random.Generator) -> Iterator[tuple[str, ...]]:
    """The table's rows."""
    for kind in ("steady", "wavering", "fickle"):
        for items, before, now in SIZES:
            said: dict[str, list[Verdict]] = {"same": [], "drop": [], "chosen": []}
            for _ in range(pairs):
                shares = character(kind, items, rng)
                base, new = replays(shares, before, rng), replays(shares, now, rng)
                room = np.flatnonzero(shares @ np.arange(PUSHES + 1) >= 1)
                lower = rng.choice(room, ceil(DROP_SHARE * len(room)), replace=False)
                fallen = [
                    [max(stood - (item in lower), 0) for item, stood in enumerate(run)]
                    for run in new
                ]
                best = max((replays(shares, before, rng) for _ in range(CHOSEN_OF)), key=np.sum)
                said["same"].append(verdict(base, new))
                said["drop"].append(verdict(base, fallen))
                said["chosen"].append(verdict(best, new))
            shown = [
                *(said["same"].count(each) for each in ("pass", "fail")),
                said["drop"].count("fail"),
                said["same"].count("undecided"),
                said["chosen"].count("fail"),
            ]
            print(
                kind,
                items,
                before,
                now,
                *(f"{100 * each / pairs:.1f}" for each in shown),
                file=sys.stderr,
                flush=True,
            )
            yield (
                kind,
                str(items),
                str(before),
                str(now),
                *(f"{100 * each / pairs:.0f}" for each in shown),
            )


COLUMNS = (
    "character", "items", "runs_before", "runs_now", "unchanged_passes_percent",
    "unchanged_fails_percent", "drop_fails_percent", "unchanged_undecided_percent",
    "best_of_five_fails_percent",
)  # fmt: skip


def table(rows: Sequence[tuple[str, ...]], pairs: int) -> str:
    """The table of docs/ci.md: characters of the fewest items."""
    shown = [
        (row[0], f"{row[2]}, {row[3]}", *row[4:7]) for row in rows if row[1] == str(SIZES[0][0])
    ]
    columns = ("character", "runs before, now", "unchanged passes", "unchanged fails", "drop fails")
    worst = max(int(row[8]) for row in rows)
    said = f"{pairs} pairs of builds a line; shares in %. If the baseline is the best of five equal"
    said += f"\nbuilds, an equal build fails in up to {worst}%."
    return "\n".join(markdown(columns, shown)) + f"\n{said}"


def main() -> int:
    """Simulate, print, write; exit code 1 where an unchanged build fails too often."""
    parser = argparse.ArgumentParser(prog="item_gates", description=__doc__)
    parser.add_argument("--pairs", type=int, default=400, help="of each cell  [default: 400]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--write", action="store_true", help=f"the table of docs/{CI.name}, and item_gates.csv"
    )
    chosen = parser.parse_args()
    rows = list(cells(chosen.pairs, np.random.default_rng(chosen.seed)))
    text = table(rows, chosen.pairs)
    print(text)
    if chosen.write:
        write_section(CI, "what a gate of characters resolves", text)
        write_rows("item_gates", COLUMNS, rows)
    allowed = 0.05 + 3 * (0.05 * 0.95 / chosen.pairs) ** 0.5
    return 0 if all(int(row[5]) / 100 <= allowed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
