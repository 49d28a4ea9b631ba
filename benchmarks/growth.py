"""How each figure grows with the store: 1,000, 10,000 and 100,000 conversations, and the exponent.

    python benchmarks/growth.py
    python benchmarks/growth.py --sizes 1000 3000 10000
    python benchmarks/growth.py --without site   the longest part, whose comparisons are of pairs

An exponent of 1 grows like the store, 2 like its pairs; it is the slope of a line through the
logarithms. What a reader waits for may grow no faster than what he is answered. Stores are
generated (`viewer.py`), five runs of v2 a subject; `viewer.py` says what is fetched, `reading.py`
how commands are timed.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression, median

from reading import AIB, run
from results import Target, table, verdict
from viewer import Browser, Fetched, build, first_table, measure, most_memory, search, viewing

SIZES = (1_000, 10_000, 100_000)
# conversations for which goals are stated: of the server; of the site and commands
MANY, BOARD = 100_000, 10_000
PARTS = ("view", "site", "commands")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure, and what it should be at most."""

    title: str
    unit: str
    goal: float
    at: int  # conversations: the goal is for so many, give or take a tenth


FIGURES: Mapping[str, Figure] = {
    "ready": Figure("view: ready", "s", 2, MANY),
    "ready again": Figure("view: ready again", "s", 2, MANY),
    "table of a new store": Figure("view: table of a new store", "s", 10, MANY),
    "memory": Figure("view: memory", "MB", 300, MANY),
    "memory with search": Figure("view: memory, with search", "MB", 300, MANY),
    "first table": Figure("first table", "s", 1, MANY),
    "first table kB": Figure("first table", "kB", 300, MANY),
    "compare": Figure("compare, median", "s", 0.5, MANY),
    "compare worst": Figure("compare, worst", "s", 2, MANY),
    "scenario": Figure("scenario, median", "s", 0.3, MANY),
    "scenario kB": Figure("scenario, most", "kB", 300, MANY),
    "query": Figure("search, worst", "s", 0.3, MANY),
    "query kB": Figure("search, most", "kB", 300, MANY),
    "common kB": Figure("search, common word, most", "kB", 300, MANY),
    "common": Figure("search, common word, worst", "s", 2, MANY),
    "first query": Figure("search, the first", "s", 120, MANY),
    "transcript": Figure("transcript, worst", "s", 0.3, MANY),
    "site": Figure("site: CPU", "s", 25, BOARD),
    "site MB": Figure("site: size", "MB", 60, BOARD),
    "site files": Figure("site: files", "", 1_500, BOARD),
    "site file": Figure("site: largest pack", "kB", 300, BOARD),
    "audit": Figure("audit", "s", 2, BOARD),
    "report": Figure("generate-report", "s", 2, BOARD),
}


def viewed(store: Path, asked: int) -> dict[str, float]:
    """What a reader of `aib view` waits for and fetches."""
    with viewing(store) as (address, ready, process):
        browser = Browser(address)
        begun = ready + first_table(browser)
        fetched = measure(browser, asked)
        memory = {"memory": most_memory(process)}
        fetched |= search(browser)
        memory["memory with search"] = most_memory(process)
    with viewing(store) as (_, again, _):
        found = {"ready": ready, "ready again": again, "table of a new store": begun}
    found |= {name: most for name, most in memory.items() if most is not None}
    seconds = {kind: [one.seconds for one in each] for kind, each in fetched.items()}
    for name, kind, of in (
        ("first table", "first table", max),
        ("compare", "compare", median),
        ("compare worst", "compare", max),
        ("scenario", "scenario", median),
        ("first query", "first query", max),
        ("query", "query", max),
        ("common", "query, common word", max),
        ("transcript", "transcript", max),
    ):
        if kind in seconds:  # one subject alone is compared with none
            found[name] = of(seconds[kind])
    found["common kB"] = most_kb(fetched["query, common word"])
    return found | {
        f"{kind} kB": most_kb(fetched[kind]) for kind in ("first table", "scenario", "query")
    }


def most_kb(fetched: Sequence[Fetched]) -> float:
    """The largest of some answers."""
    return max(one.size or 0 for one in fetched) / 1e3


def sited(store: Path, folder: Path) -> dict[str, float]:
    """What `aib site` takes and leaves."""
    taken = run((sys.executable, "-c", AIB, "site", "site", "--store", str(store)), folder)
    sizes = {path: path.stat().st_size for path in (folder / "site").rglob("*") if path.is_file()}
    packs = [size for path, size in sizes.items() if path.suffix == ".gz"]
    return {
        "site": taken.cpu,
        "site MB": sum(sizes.values()) / 1e6,
        "site files": len(sizes),
        "site file": max(packs, default=0) / 1e3,
    }


def commanded(store: Path, folder: Path) -> dict[str, float]:
    """How long the slowest reading commands take; an audit may find errors."""
    commands = {"audit": ("audit",), "report": ("generate-report", "--out", str(folder / "report"))}
    return {
        name: run((sys.executable, "-c", AIB, *command, "--store", str(store)), folder, (0, 1)).wall
        for name, command in commands.items()
    }


def exponent(sizes: Sequence[int], values: Sequence[float]) -> str:
    """The slope of a line through the logarithms; a dash for fewer than two different sizes, or a
    value of 0.
    """
    if len(set(sizes)) < 2 or min(values) <= 0:
        return "–"
    return f"{linear_regression([math.log(size) for size in sizes], [math.log(value) for value in values]).slope:.2f}"  # noqa: E501


def text(value: float) -> str:
    """A number with three digits, or all of them before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main() -> int:
    """Measure, print, and say with the exit code whether every goal was met that is stated for a
    size measured.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--asked", type=int, default=200, help="transcripts that are opened")
    parser.add_argument("--without", choices=PARTS, action="append", default=[])
    chosen = parser.parse_args()
    sizes: list[int] = []
    measured: list[dict[str, float]] = []
    for size in sorted(chosen.sizes):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            store = folder / "store.db"
            sizes.append(build(store, size))
            parts = (
                ("view", lambda store=store: viewed(store, chosen.asked)),
                ("site", lambda store=store, folder=folder: sited(store, folder)),
                ("commands", lambda store=store, folder=folder: commanded(store, folder)),
            )
            measured.append({})
            for part, measure_part in parts:
                if part not in chosen.without:
                    measured[-1] |= measure_part()
    rows, targets = [], []
    for key, figure in FIGURES.items():
        values = [of_size[key] for of_size in measured if key in of_size]
        if len(values) == len(sizes):
            unit = f", {figure.unit}" if figure.unit else ""
            rows.append(
                (
                    f"{figure.title}{unit}",
                    *map(text, values),
                    exponent(sizes, values),
                    text(figure.goal),
                )
            )
            near = [
                value
                for size, value in zip(sizes, values, strict=True)
                if abs(size / figure.at - 1) <= 0.1
            ]
            targets += [
                Target(f"{figure.title}{unit}, at {figure.at:,}", value, figure.goal)
                for value in near
            ]
    print(table(("conversations", *(f"{size:,}" for size in sizes), "exponent", "goal"), rows))
    print(
        "\ngoals: the server's at 100,000 conversations, the site's and the commands' at 10,000\n"
    )
    return verdict(targets)


if __name__ == "__main__":
    sys.exit(main())
