"""Stores as they are in the middle of a run, read by every command and by every page of the viewer.

    PYTHONPATH=tests python torture/snapshots.py [--snapshots 200] [--seed 1]

A store is filled by seven commands (three protocols, two judges, an exam, faults) and copied at
random moments; tests/store_moments.py has what is asked of each copy. Exit code 1 if a command
ended with a traceback, a path had no answer, or an answer was no strict JSON and no table.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from store_moments import COMMANDS, ORDERS, PROTOCOLS, read_all, take

IN_A_RUN = 25  # copies of one store: then another is filled
SITES = 5  # `aib site` writes what the paths answer: it is asked for of each so many copies


def main() -> int:
    """Fill stores, copy them meanwhile, read the copies; say what went wrong, once for each way."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--snapshots", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    wanted = options.parse_args()
    began, read, answered, refused, bad = time.monotonic(), 0, 0, 0, 0
    ways: set[str] = set()
    seed = wanted.seed
    while read < wanted.snapshots:
        draw = random.Random(seed)
        with tempfile.TemporaryDirectory() as name:
            for copy in take(Path(name), draw, ORDERS, min(IN_A_RUN, wanted.snapshots - read)):
                out = Path(name) / f"of-{copy.stem}"
                out.mkdir()
                asked = [one for one in COMMANDS if read % SITES == 0 or not one.startswith("site")]
                found = read_all(copy, out, draw.choice(PROTOCOLS), asked)
                read, answered, refused = (
                    read + 1,
                    answered + found.answered,
                    refused + found.refused,
                )
                bad += bool(found.wrong)
                for wrong in found.wrong:
                    way = wrong.partition(": ")[2]
                    if way not in ways:
                        ways.add(way)
                        print(f"seed {seed}, copy {copy.stem}: {wrong}", flush=True)
        print(
            f"{read} of {wanted.snapshots} read ({time.monotonic() - began:.0f} s)",
            file=sys.stderr,
            flush=True,
        )
        seed += 1
    print(
        f"{read} snapshots, {len(COMMANDS)} commands and every path of each "
        f"({time.monotonic() - began:.0f} s): {answered:,} answers, {refused:,} times a reason "
        f"why there is none; {bad} snapshots with something wrong, in {len(ways)} ways"
    )
    return 1 if ways else 0


if __name__ == "__main__":
    sys.exit(main())
