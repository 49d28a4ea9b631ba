"""Kills at exact points: before and after every rename, link, unlink, mkdir, truncate and fsync
that a command makes.

    PYTHONPATH=tests python torture/points.py [--every 1] [COMMAND]...

A preloaded library (points.c, built with cc) kills the process at its nth such call. Then the same
command is given again and has to end well: with the same output as an undisturbed one, nothing left
beside it, a store that its own check finds sound, and no call bought twice but for those in flight
at the kill. Exit code 1 where that was not so.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from simulated_endpoint import audit, environment, read_ledger, simulating_apart

from independence_bench.store.database import open_store
from independence_bench.store.integrity import check_store

AIB = Path(sys.executable).with_name("aib")
LIBRARY = Path(__file__).with_name("points.c")
AT_ONCE = 8  # calls in flight
RUN = (
    *(
        "run",
        "sim:sim/stubborn",
        "--judge",
        "sim:sim/judge",
        "--protocol",
        "lite",
        "--runs",
        "1",
        "--store",
        "aib.db",
    ),
    *("-p", "1", "-pt", str(AT_ONCE)),
)
STORE = ("aib.db", "aib.db-wal", "aib.db-shm")
KILLED = -9


@dataclass(frozen=True, slots=True)
class Case:
    """A command, what it makes in its folder, and whether it needs the store that `RUN` makes."""

    command: Sequence[str]
    makes: str
    on_store: bool = True
    done: Callable[[Path], bool] = lambda _: False  # whether a second one may rightly refuse


CASES = {
    "run": Case(RUN, "aib.db", on_store=False),
    "export": Case(
        ("export", "out", "--licence", "unknown", "--store", "aib.db"),
        "out",
        done=lambda folder: (folder / "out").is_dir(),
    ),
    "import": Case(("import", "export", "--store", "new.db"), "new.db"),
    "site": Case(("site", "out", "--store", "aib.db"), "out"),
    "site again": Case(("site", "old", "--store", "aib.db"), "old"),
    "report": Case(("generate-report", "--out", "out", "--store", "aib.db"), "out"),
    "clear": Case(
        ("clear", "judgements", "stubborn", "--yes", "--store", "aib.db"),
        "aib.db",
        done=lambda _: True,
    ),
}


def build(folder: Path) -> Path:
    """The library, compiled."""
    library = folder / "points.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(LIBRARY), "-ldl"], check=True)
    return library


def start(
    command: Sequence[str], folder: Path, library: Path, at: int | None
) -> tuple[int, int, str]:
    """(exit code, how many points there were, what it said on stderr); killed at the point *at*,
    where that is one.
    """
    count = folder / "count"
    count.unlink(missing_ok=True)
    preloaded = {"LD_PRELOAD": str(library), "AIB_KILL_COUNT": str(count)}
    preloaded |= {} if at is None else {"AIB_KILL_AT": str(at)}
    ended = subprocess.run(
        [AIB, *command],
        cwd=folder,
        env=environment(folder) | preloaded,
        capture_output=True,
        text=True,
        check=False,
    )
    points = int(count.read_text()) if count.exists() else 0
    count.unlink(missing_ok=True)
    return ended.returncode, points, ended.stderr


def prepared(folder: Path) -> None:
    """A folder with a store, an export of it and a site of it."""
    with simulating_apart(folder):
        for command in (
            RUN,
            ("export", "export", "--licence", "unknown", "--store", "aib.db"),
            ("site", "old", "--store", "aib.db"),
        ):
            subprocess.run(
                [AIB, *command],
                cwd=folder,
                env=environment(folder),
                capture_output=True,
                check=True,
            )


def made(path: Path) -> object:
    """What stands at *path*, so that two of it can be compared: for a store how much is in it, else
    every file.
    """
    if path.suffix == ".db":
        tables = ("replies", "transcripts", "judgements", "subjects", "judges")
        with open_store(path, create=False) as store, store.open_snapshot() as connection:
            counts = {
                name: connection.exec_driver_sql(f"select count(*) from {name}").scalar_one()
                for name in tables
            }
            return counts | {"findings": check_store(connection)}
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {
        str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


def killed_at(
    name: str, at: int | None, place: Path, base: Path, library: Path, whole: object
) -> tuple[int, list[str]]:
    """Kill the command at *at*, give it again, and look. (Points of the first one, what is
    wrong.)
    """
    case, folder = CASES[name], place / "work"
    shutil.rmtree(folder, ignore_errors=True)
    if case.on_store:
        shutil.copytree(base, folder)
    else:
        folder.mkdir()
    wrong: list[str] = []
    before = set(os.listdir(folder))
    with simulating_apart(folder, "--ledger", "ledger.jsonl"):
        code, points, said = start(case.command, folder, library, at)
        if at is not None and code != KILLED:
            return points, []
        if code == KILLED:
            code, _, said = start(case.command, folder, library, None)
            refused = code != 0 and case.done(folder)
            if code != 0 and not refused:
                wrong.append(f"the same command again ends with {code}: {said.strip()[-200:]}")
    if not wrong and whole is not None and (found := made(folder / case.makes)) != whole:
        wrong.append(f"what it made is not what an undisturbed one makes: {str(found)[:300]}")
    left = (
        set(os.listdir(folder))
        - before
        - {case.makes, *STORE, "new.db-wal", "new.db-shm", "models.yaml", "ledger.jsonl"}
    )
    wrong += [f"left behind: {one}" for one in sorted(left)]
    if not case.on_store:
        bought = audit(read_ledger(folder / "ledger.jsonl"))
        if bought.requests - bought.distinct > AT_ONCE:
            wrong.append(
                f"{bought.requests - bought.distinct} calls were made twice, {AT_ONCE} could be "
                "in flight"
            )
    return points, wrong


def main() -> int:
    """Kill each command at each of its points."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument(
        "commands", nargs="*", metavar="COMMAND", help=f"of {', '.join(CASES)} (default: all)"
    )
    options.add_argument(
        "--every", type=int, default=1, metavar="N", help="only every nth point (default: all)"
    )
    wanted = options.parse_args()
    kills = failures = 0
    with tempfile.TemporaryDirectory() as name:
        place, base = Path(name), Path(name) / "base"
        base.mkdir()
        library = build(place)
        prepared(base)
        for command in wanted.commands or CASES:
            points, wrong = killed_at(command, None, place, base, library, None)
            whole = made(place / "work" / CASES[command].makes)
            bad = len(wrong)
            for problem in wrong:
                print(f"{command}, not killed: {problem}", flush=True)
            for at in range(0, points, wanted.every):
                _, wrong = killed_at(command, at, place, base, library, whole)
                kills += 1
                bad += bool(wrong)
                for problem in wrong:
                    print(f"{command}, killed at point {at} of {points}: {problem}", flush=True)
            failures += bad
            print(f"{command}: {points} points, {bad} wrong", flush=True)
    print(f"{kills} kills at exact points, {failures} with something wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
