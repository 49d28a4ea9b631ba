"""What every reading command costs beside reading the whole store once, and how soon a missing store is said.

    python benchmarks/reading.py                         # 100 subjects x 5 runs, about a minute
    python benchmarks/reading.py --store results.db      # a store of your own; nothing is written to it
    python benchmarks/reading.py --subjects 10 --runs 2

    python benchmarks/reading.py --before CHECKOUT       # in turn with another checkout of this repository

CPU seconds (user and system) of a process of its own, so that a busy machine changes little; medians of a few turns.
*x bound*: over a bare Python that reads every row of the store and unpacks every blob in it. *longest*: without what
processes of its own took at the same time, so what is waited for where a core is free for each.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rescore import build
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
AIB = """
import atexit, resource, sys
def told():
    used = resource.getrusage(resource.RUSAGE_SELF)
    open("own", "w").write(str(used.ru_utime + used.ru_stime))
atexit.register(told)
from independence_bench.cli.main import main
main()
"""
COMMANDS = (
    *(("leaderboard",), ("leaderboard", "--detailed"), ("leaderboard", "--json")),
    ("leaderboard", "--rules", "published"),
    *(("compare", "--by", "provider"), ("compare", "--by", "reasoning"), ("scenarios",), ("reliability",), ("judges",)),
    *(("exam",), ("costs",), ("exclude",), ("extract-names",), ("generate-report",), ("audit",)),
)
MOST, MOST_OF_AUDIT, MOST_OF_NOTHING = 5.0, 7.0, 4.0  # times the bound; times a bare Python


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU seconds of one process: *total* with those of the processes that it started."""

    total: float
    own: float

    @property
    def longest(self) -> float:
        """Of the process that took most, where it started one at most."""
        return max(self.own, self.total - self.own)


def cpu(command: Sequence[str], folder: Path, codes: Sequence[int] = (0,), checkout: Path = HERE) -> Cpu:
    """What *command* takes in *folder*. RuntimeError where it ends otherwise than with one of *codes*."""
    # modules are compiled once, as where a user has installed them
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False,
        env=kept | {"PYTHONPATH": str(checkout / "src")},
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode not in codes:
        raise RuntimeError(f"{' '.join(command[-4:])} ended with {ended.returncode}: {ended.stderr[-300:]}")
    total = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    own = folder / "own"
    taken = Cpu(total, float(own.read_text()) if own.exists() else total)
    own.unlink(missing_ok=True)
    return taken


def main() -> int:
    """Measure, print, and say with the exit code whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--subjects", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = chosen.store.absolute() if chosen.store else folder / "store.db"
        if not chosen.store:
            print(f"{build(store, chosen.subjects, chosen.runs):,} conversations\n")

        def measured(command: Sequence[str], codes: Sequence[int] = (0,), checkout: Path = HERE) -> Cpu:
            each = [cpu(command, folder, codes, checkout) for _ in range(chosen.times)]
            return sorted(each, key=lambda one: one.total)[len(each) // 2]

        bound = measured((sys.executable, "-c", BOUND, str(store))).total
        checkouts = [HERE, *([chosen.before.absolute()] if chosen.before else [])]
        taken: dict[str, list[Cpu]] = {}
        for command in COMMANDS:  # a comparison of one setting alone is wrong use, and an audit may find errors
            line = (sys.executable, "-c", AIB, *command, "--store", str(store))
            taken[" ".join(command)] = [measured(line, (0, 1, 2), one) for one in checkouts]
        python = measured((sys.executable, "-c", "pass")).total
        missing = (sys.executable, "-c", AIB, "leaderboard", "--store", str(folder / "none.db"))
        nothing = measured(missing, (1,)).total
    titles = ("CPU seconds", "median", "longest", "x bound", *(("before", "longest") if chosen.before else ()))
    rows = [("reading it all once", f"{bound:.2f}", f"{bound:.2f}", "1.00", *[""] * (len(titles) - 4))]
    for called, (now, *before) in taken.items():
        others = [f"{seconds:.2f}" for one in before for seconds in (one.total, one.longest)]
        rows.append((called, f"{now.total:.2f}", f"{now.longest:.2f}", f"{now.total / bound:.2f}", *others))
    print(table(titles, rows))
    print(f"\nthere is no store: {nothing:.3f} s, a bare Python {python:.3f} s\n")
    audit = taken.pop("audit")[0].longest
    slowest = max(now.total for now, *_ in taken.values())
    return verdict(
        [
            Target("the slowest but audit, x reading it all once", slowest / bound, MOST),
            Target("the longest process of aib audit, x reading it all once", audit / bound, MOST_OF_AUDIT),
            Target("saying that there is no store, x python -c pass", nothing / python, MOST_OF_NOTHING),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
