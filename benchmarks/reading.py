"""What every reading command costs beside reading the whole store once, and how soon a missing store is said.

    python benchmarks/reading.py                         # 100 subjects x 5 runs, about a minute
    python benchmarks/reading.py --store results.db      # a store of your own; nothing is written to it
    python benchmarks/reading.py --subjects 10 --runs 2

CPU seconds (user and system) of a process of its own, so that a busy machine changes little; medians of a few turns.
*x bound*: over a bare Python that reads every row of the store and unpacks every blob in it.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from rescore import build
from results import Target, table, verdict

BOUND = """
import sqlite3, sys, zlib
connection = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
    for row in connection.execute(f'SELECT * FROM "{name}"'):
        for value in row:
            if isinstance(value, bytes) and value[:1] == b"x":
                zlib.decompress(value)
"""
AIB = str(Path(sys.executable).with_name("aib"))
COMMANDS = (
    *(("leaderboard",), ("leaderboard", "--detailed"), ("compare", "--by", "provider"), ("scenarios",)),
    *(("reliability",), ("judges",), ("costs",), ("extract-names",), ("generate-report",), ("audit",)),
)
MOST, MOST_OF_AUDIT, MOST_OF_NOTHING = 5.0, 7.0, 4.0  # times the bound; times a bare Python


def cpu(command: Sequence[str], folder: Path, codes: Sequence[int] = (0,)) -> float:
    """CPU seconds of *command* in *folder*. RuntimeError where it ends otherwise than with one of *codes*."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode not in codes:
        raise RuntimeError(f"{' '.join(command)} ended with {ended.returncode}: {ended.stderr[-300:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Measure, print, and say with the exit code whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--subjects", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--times", type=int, default=3)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = chosen.store.absolute() if chosen.store else folder / "store.db"
        if not chosen.store:
            print(f"{build(store, chosen.subjects, chosen.runs):,} conversations\n")

        def measured(command: Sequence[str], codes: Sequence[int] = (0,)) -> float:
            return median(cpu(command, folder, codes) for _ in range(chosen.times))

        bound = measured((sys.executable, "-c", BOUND, str(store)))
        taken = {}
        for command in COMMANDS:  # a comparison of one setting alone is wrong use, and an audit may find errors
            taken[" ".join(command)] = measured((AIB, *command, "--store", str(store)), (0, 1, 2))
        python = measured((sys.executable, "-c", "pass"))
        nothing = measured((AIB, "leaderboard", "--store", str(folder / "none.db")), (1,))
    rows = [("reading it all once", f"{bound:.2f}", "1.00")]
    rows += [(command, f"{seconds:.2f}", f"{seconds / bound:.2f}") for command, seconds in taken.items()]
    print(table(("CPU seconds", "median", "x bound"), rows))
    print(f"\nthere is no store: {nothing:.3f} s, a bare Python {python:.3f} s\n")
    audit = taken.pop("audit")
    return verdict(
        [
            Target("the slowest but audit, x reading it all once", max(taken.values()) / bound, MOST),
            Target("aib audit, x reading it all once", audit / bound, MOST_OF_AUDIT),
            Target("saying that there is no store, x python -c pass", nothing / python, MOST_OF_NOTHING),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
