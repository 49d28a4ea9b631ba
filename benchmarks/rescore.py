"""How long scoring takes: 130 subjects x 5 runs of v2, and `aib leaderboard` on the same store.

    python benchmarks/rescore.py
    python benchmarks/rescore.py --subjects 10 --runs 2

The store is generated: its conversations and marks are drawn, their number and size are real.
*rows* is everything from stored marks to ranked rows, in a process that has the store open;
*leaderboard* is the whole command, from starting Python to the printed table. Both are medians.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from filling import Filling, subject
from results import Target, table, verdict

from independence_bench.analysis.leaderboard import make_leaderboards
from independence_bench.protocol.loader import load_protocol_and_files
from independence_bench.store.database import open_store

ROWS, COMMAND = 1.0, 1.5  # seconds


def build(path: Path, subjects: int, runs: int) -> int:
    """Fill the store at *path*; how many conversations it then holds."""
    protocol, files = load_protocol_and_files("v2")
    with open_store(path) as store:
        every = [subject(number, protocol) for number in range(subjects)]
        return Filling(protocol, files).fill(store, every, range(1, runs + 1))


def score(path: Path, subjects: int, runs: int, times: int) -> list[float]:
    """Seconds of each of *times* scorings. RuntimeError unless every subject is ranked over all its
    runs.
    """
    protocol, _ = load_protocol_and_files("v2")
    taken = []
    with open_store(path) as store:
        for _ in range(times):
            started = time.perf_counter()
            (board,) = make_leaderboards(store, protocol)
            taken.append(time.perf_counter() - started)
            if len(board.ranked) != subjects or any(row.runs != runs for row in board.ranked):
                raise RuntimeError(f"{len(board.ranked)} subjects of {subjects} were ranked")
    return taken


def show(path: Path, subjects: int, times: int) -> list[float]:
    """Seconds of each of *times* commands. RuntimeError unless each printed every subject."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        ran = subprocess.run(
            [sys.executable, "-m", "independence_bench", "leaderboard", "--store", str(path)],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        taken.append(time.perf_counter() - started)
        if (shown := ran.stdout.count("canned/subject-")) != subjects:
            raise RuntimeError(f"the leaderboard shows {shown} subjects of {subjects}")
    return taken


def main() -> int:
    """Measure, print, and say with the exit code whether every target was met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--subjects", type=int, default=130)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--times", type=int, default=7)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        started = time.perf_counter()
        count = build(path, chosen.subjects, chosen.runs)
        print(
            f"{chosen.subjects} subjects x {chosen.runs} runs: {count:,} judged conversations, "
            f"{path.stat().st_size / 1e6:.0f} MB, made in {time.perf_counter() - started:.0f} s\n"
        )
        rows = score(path, chosen.subjects, chosen.runs, chosen.times)
        command = show(path, chosen.subjects, chosen.times)
    measured = (("rows", rows, ROWS), ("aib leaderboard", command, COMMAND))
    print(
        table(
            ("seconds", "median", "fastest", "slowest", "at most"),
            [
                (n, f"{median(t):.2f}", f"{min(t):.2f}", f"{max(t):.2f}", f"{most:g}")
                for n, t, most in measured
            ],
        )
    )
    print(f"all {chosen.subjects} subjects were ranked, {chosen.times} times each way\n")
    return verdict(
        [Target(f"{name}, median", median(taken), most, "s") for name, taken, most in measured]
    )


if __name__ == "__main__":
    sys.exit(main())
