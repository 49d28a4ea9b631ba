"""What every reading command costs beside reading the whole store once, and how soon a missing
store is said.

    python benchmarks/reading.py                     # 100 subjects x 5 runs, about a minute
    python benchmarks/reading.py --store results.db  # a store of your own; nothing is written to it
    python benchmarks/reading.py --subjects 10 --runs 2

    python benchmarks/reading.py --before CHECKOUT
        # in turn with another checkout, each with a store of its own

Medians of a few turns. *seconds*: from start to end, what a user waits on an idle machine. *CPU*:
user and system seconds of all its processes, which a busy machine changes little. *x bound*: *CPU*
over that of a bare Python that reads every row of the store and unpacks every blob in it.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from results import Target, table, verdict

HERE = Path(__file__).resolve().parents[1]
BOUND = """
import sqlite3, sys, zlib
connection = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
    for row in connection.execute(f'SELECT * FROM "{name}"'):
        for value in row:
            if isinstance(value, bytes) and value[:1] == b"x":
                zlib.decompress(value)
"""
BUILD = "import sys; from pathlib import Path; from rescore import build; "
BUILD += "print(build(Path(sys.argv[1]), *map(int, sys.argv[2:])))"
AIB = "from independence_bench.cli.main import main; main()"
COMMANDS = (
    *(("leaderboard",), ("leaderboard", "--detailed"), ("leaderboard", "--json")),
    ("leaderboard", "--rules", "published"),
    *(
        ("compare", "--by", "provider"),
        ("compare", "--by", "reasoning"),
        ("scenarios",),
        ("judges",),
    ),
    *(("exam",), ("costs",), ("exclude",), ("extract-names",), ("generate-report",), ("audit",)),
)
MOST, MOST_OF_NOTHING = 2.0, 4.0  # seconds; times the CPU seconds of a bare Python


@dataclass(frozen=True, slots=True)
class Taken:
    """What one command took, with the processes that it started, in seconds."""

    wall: float
    cpu: float


def environment(checkout: Path) -> dict[str, str]:
    """That of a process which has the modules of *checkout*, compiled once, as where a user has
    installed them.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout / 'benchmarks'}"}


def built(store: Path, subjects: int, runs: int, checkout: Path) -> int:
    """Fill *store* as *checkout* does, which may know no later tables; how many conversations it
    holds.
    """
    line = (sys.executable, "-c", BUILD, str(store), str(subjects), str(runs))
    filled = subprocess.run(
        line, stdout=subprocess.PIPE, text=True, check=True, env=environment(checkout)
    )
    return int(filled.stdout)


def run(
    command: Sequence[str], folder: Path, codes: Sequence[int] = (0,), checkout: Path = HERE
) -> Taken:
    """What *command* takes in *folder*. RuntimeError where it ends otherwise than with one of
    *codes*.
    """
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ended = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=environment(checkout)
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode not in codes:
        raise RuntimeError(
            f"{' '.join(command[-4:])} ended with {ended.returncode}: {ended.stderr[-300:]}"
        )
    return Taken(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> int:
    """Measure, print, and say with the exit code whether every target was met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", type=Path)
    parser.add_argument("--subjects", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checkouts = [HERE, *([chosen.before.absolute()] if chosen.before else [])]
        stores = [
            chosen.store.absolute() if chosen.store else folder / f"{number}.db"
            for number in range(2)
        ]
        if not chosen.store:
            held = {
                built(store, chosen.subjects, chosen.runs, of)
                for store, of in zip(stores, checkouts, strict=False)
            }
            print(f"{' and '.join(map('{:,}'.format, held))} conversations\n")

        def measured(
            command: Sequence[str], codes: Sequence[int] = (0,), checkout: Path = HERE
        ) -> Taken:
            each = [run(command, folder, codes, checkout) for _ in range(chosen.times)]
            return Taken(median(one.wall for one in each), median(one.cpu for one in each))

        bound = measured((sys.executable, "-c", BOUND, str(stores[0])))
        taken: dict[str, list[Taken]] = {}
        # a comparison of one setting alone is wrong use, and an audit may find errors
        for command in COMMANDS:
            codes = {"audit": (0, 1), "compare": (0, 2)}.get(command[0], (0,))
            taken[" ".join(command)] = [
                measured((sys.executable, "-c", AIB, *command, "--store", str(store)), codes, of)
                for store, of in zip(stores, checkouts, strict=False)
            ]
        python = measured((sys.executable, "-c", "pass")).cpu
        nothing = measured(
            (sys.executable, "-c", AIB, "leaderboard", "--store", str(folder / "none.db")), (1,)
        ).cpu
    titles = ("median", "seconds", "CPU", "x bound", *(("before", "CPU") if chosen.before else ()))
    rows = [
        (
            "reading it all once",
            f"{bound.wall:.2f}",
            f"{bound.cpu:.2f}",
            "1.00",
            *[""] * (len(titles) - 4),
        )
    ]
    for called, (now, *before) in taken.items():
        others = [f"{seconds:.2f}" for one in before for seconds in (one.wall, one.cpu)]
        rows.append(
            (called, f"{now.wall:.2f}", f"{now.cpu:.2f}", f"{now.cpu / bound.cpu:.2f}", *others)
        )
    print(table(titles, rows))
    print(f"\nthere is no store: {nothing:.3f} s of CPU, a bare Python {python:.3f} s\n")
    slowest, called = max((now.wall, called) for called, (now, *_) in taken.items())
    return verdict(
        [
            Target(f"the slowest, {called}", slowest, MOST, "s"),
            Target(
                "saying that there is no store, x python -c pass", nothing / python, MOST_OF_NOTHING
            ),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
