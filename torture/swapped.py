"""A store that is replaced, moved or removed while a run fills it, that has the log of another
store beside it, or that an earlier version of the program fills at the same time.

    PYTHONPATH=tests python torture/swapped.py [--rounds 20] [--seed 1] [--before CHECKOUT]

Each command has to end with its answer or with one line, never with a traceback. Whatever a file
held is there afterwards and read without a fault; the run, given again, completes it. CHECKOUT is
one of an earlier version, such as `git worktree add ../before COMMIT`; without it that part is left
out. Exit code 1 where something was wrong.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from independence_bench.errors import BenchError
from independence_bench.store.database import open_store
from independence_bench.store.integrity import check_store

PLAY = (
    *("run", "sim:sim/stubborn", "sim:sim/random", "sim:sim/gives-in-at-2"),
    *("--judge", "sim:sim/judge", "--protocol", "lite", "--runs", "6", "-pt", "2"),
)
WHOLE = 3 * 6 * 14  # conversations of PLAY
READING = ("leaderboard", "costs", "audit", "show stubborn direct", "scenarios")
SOURCES = str(Path(__file__).parents[1] / "src")


def start(folder: Path, *words: str, sources: str = SOURCES) -> subprocess.Popen[str]:
    """Begin `aib` with *words* in *folder*, by the code in *sources*."""
    return subprocess.Popen(
        [sys.executable, "-m", "independence_bench", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": sources, "AIB_STORE": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code and what was said; "hangs" after two minutes."""
    try:
        _, said = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return -1, "hangs"
    return process.returncode, said


def judge(what: str, code: int, said: str) -> list[str]:
    """What is wrong with how a command ended; [] if nothing is."""
    if "Traceback" in said or code not in (0, 1, 2):
        return [f"{what}: exit {code}: {' / '.join(said.strip().splitlines()[-2:])[:300]}"]
    return []


def complete(folder: Path, name: str, other_log: bool = False) -> list[str]:
    """Give the run again on the store called *name*; what is wrong with that, or with the store.
    *other_log*: the log of another store was laid beside it, so that it may be unreadable.
    """
    code, said = ended(start(folder, *PLAY, "--store", name))
    wrong = judge(f"{name}, given again", code, said)
    try:
        with (
            open_store(folder / name, create=False) as store,
            store.open_snapshot() as connection,
        ):
            wrong += [f"{name}: {problem}" for problem in check_store(connection)[:3]]
            count = connection.exec_driver_sql(
                "SELECT count(*) FROM transcripts WHERE state = 'complete'"
            ).scalar()
    except BenchError as error:
        if code and other_log:
            return wrong
        return [*wrong, f"{name}: exit {code}, and it cannot be read: {error}"]
    return wrong + ([] if count == WHOLE else [f"{name}: {count} of {WHOLE} conversations"])


def replace(folder: Path, other: Path) -> None:
    """Another store takes the name."""
    shutil.copy(other, folder / "other.tmp")
    os.replace(folder / "a.db", folder / "moved.db")
    os.replace(folder / "other.tmp", folder / "a.db")


def move(folder: Path, _: Path) -> None:
    """The file gets another name."""
    os.replace(folder / "a.db", folder / "moved.db")


def remove(folder: Path, _: Path) -> None:
    """The file is gone."""
    (folder / "a.db").unlink()


SWAPS: Mapping[str, Callable[[Path, Path], None]] = {
    "replaced": replace,
    "moved": move,
    "removed": remove,
}


def swap_during_a_run(name: str, other: Path, draw: random.Random) -> list[str]:
    """Do that to a store at a random moment of a run."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        running = start(folder, *PLAY, "--store", "a.db")
        while not (folder / "a.db").exists() and running.poll() is None:
            time.sleep(0.01)
        time.sleep(draw.uniform(0.0, 3.0))
        SWAPS[name](folder, other)
        wrong = judge(f"run, {name}", *ended(running))
        for words in READING:
            wrong += judge(
                f"{words}, {name}", *ended(start(folder, *words.split(), "--store", "a.db"))
            )
        for file in (*folder.glob("moved.db"), *folder.glob("a.db"), *folder.glob("a.db.saved-*")):
            wrong += complete(folder, file.name)
        return wrong


def leave_a_log(other: Path, draw: random.Random) -> list[str]:
    """Beside a store lies the -wal of another one, or one that is cut short or random."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        running = start(folder, *PLAY, "--store", "a.db")
        time.sleep(draw.uniform(1.0, 3.0))
        running.kill()
        running.communicate()
        log = folder / "a.db-wal"
        left = log.read_bytes() if log.exists() else b""
        shutil.copy(other, folder / "b.db")
        cut = left[: draw.randrange(len(left))] if left else b""
        (folder / "b.db-wal").write_bytes(draw.choice((left, cut, draw.randbytes(5000))))
        wrong = []
        for words in READING:
            wrong += judge(
                f"{words}, a log left behind",
                *ended(start(folder, *words.split(), "--store", "b.db")),
            )
        return wrong + complete(folder, "b.db", other_log=True) + complete(folder, "a.db")


def fill_by_two_versions(before: Path) -> list[str]:
    """An earlier version and this one begin the same run on one store, in both orders."""
    wrong: list[str] = []
    for first, second in ((str(before / "src"), SOURCES), (SOURCES, str(before / "src"))):
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            one = start(folder, *PLAY, "--store", "a.db", sources=first)
            time.sleep(1.5)
            two = start(folder, *PLAY, "--store", "a.db", sources=second)
            wrong += judge("first version", *ended(one)) + judge("second version", *ended(two))
            wrong += complete(folder, "a.db")
    return wrong


def main() -> int:
    """Carry out all rounds and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--before", type=Path)
    asked = parser.parse_args()
    draw, found = random.Random(asked.seed), dict[str, list[str]]()
    with tempfile.TemporaryDirectory() as made:
        other = Path(made) / "other.db"
        code, said = ended(start(Path(made), *PLAY, "--store", "other.db"))
        assert code == 0, said
        for number in range(asked.rounds):
            name = list(SWAPS)[number % len(SWAPS)]
            found.setdefault(name, []).extend(swap_during_a_run(name, other, draw))
            found.setdefault("log left behind", []).extend(leave_a_log(other, draw))
    if asked.before:
        found["two versions"] = fill_by_two_versions(asked.before.resolve())
    for name, wrong in found.items():
        print(f"{name}: {len(wrong)} wrong")
        for line in wrong:
            print(f"  {line}")
    return int(any(found.values()))


if __name__ == "__main__":
    sys.exit(main())
