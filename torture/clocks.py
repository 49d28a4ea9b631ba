"""Two workers on one PostgreSQL store whose clocks are minutes apart, under kill -9: nothing is
bought twice.

    PYTHONPATH=tests python torture/clocks.py [--kills 120] [--apart 300] [--seed 1]

As `kills.py`, but every second process sees a shifted clock (clocks.c, built with cc). By its own
clock each of them would take the other one's claims for expired. What is checked stands in
tests/kill_rounds.py.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kill_rounds import Found, Round, play_round
from kills import IN_A_ROUND, conclude
from postgres import running

LIBRARY = Path(__file__).with_name("clocks.c")


def main() -> int:
    """Play rounds until the kills are used up."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--kills", type=int, default=120)
    options.add_argument("--apart", type=int, default=300, metavar="SECONDS")
    options.add_argument("--seed", type=int, default=1)
    wanted = options.parse_args()
    done: list[Found] = []
    began, seed = time.monotonic(), wanted.seed
    with tempfile.TemporaryDirectory() as name, running() as server:
        library = Path(name) / "clocks.so"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-o", str(library), str(LIBRARY), "-ldl"], check=True
        )
        other = {"LD_PRELOAD": str(library), "AIB_CLOCK_SHIFT": str(wanted.apart)}
        while (left := wanted.kills - sum(found.kills for found in done)) > 0:
            with server.database() as database:
                store = server.url(database)
                kind = Round(
                    seed,
                    min(IN_A_ROUND, left),
                    processes=2,
                    subjects=1,
                    store=store,
                    every_second=other,
                )
                done.append(play_round(Path(name) / str(seed), kind))
            print(f"round {seed}, clocks {wanted.apart} s apart: {done[-1].line()}", flush=True)
            seed += 1
    return conclude(done, time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
