"""300 kills: rounds of `aib run` under kill -9, alone and two at once, with and without faults.

    PYTHONPATH=tests python torture/kills.py [--kills 300] [--seed 1] [--side-by-side 2]

Prints a line for each round and a sum; exit code 1 if anything was lost, bought twice beyond what
was in flight at a kill, or wrong at the end. What is checked stands in tests/kill_rounds.py.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from kill_rounds import STEADY, Found, Round, play_round

IN_A_ROUND = 30  # kills, at most: what there is to do may come to an end before
KINDS = (
    Round(0, IN_A_ROUND),
    Round(0, IN_A_ROUND, faults=0.2, names=STEADY),
    Round(0, IN_A_ROUND, processes=2, subjects=1),
    Round(0, IN_A_ROUND, processes=2, subjects=1, faults=0.2, names=STEADY),
)


def main() -> int:
    """Play rounds until the kills are used up."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--kills", type=int, default=300)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--side-by-side", type=int, default=2, metavar="N", help="rounds at once")
    wanted = options.parse_args()
    done: list[Found] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(wanted.side_by_side) as pool:
        seed = wanted.seed
        while (left := wanted.kills - sum(found.kills for found in done)) > 0:
            batch = []
            for number in range(wanted.side_by_side):
                kind = KINDS[(seed - wanted.seed) % len(KINDS)]
                share = min(kind.kills, -(-left // wanted.side_by_side))
                batch.append(replace(kind, seed=seed, kills=share))
                seed += 1
                left -= share if number else 0
            for round_, found in zip(
                batch,
                pool.map(lambda r: play_round(Path(folder) / str(r.seed), r), batch),
                strict=True,
            ):
                done.append(found)
                kind = f"{round_.processes} at once, faults {round_.faults:.0%}"
                print(f"round {round_.seed}, {kind}: {found.line()}", flush=True)
    return conclude(done, time.monotonic() - began)


def conclude(done: list[Found], seconds: float) -> int:
    """The sum in two lines; the exit code."""
    total = {
        name: sum(getattr(found, name) for found in done)
        for name in (
            "kills",
            "before_answers",
            "requests",
            "lost",
            "lost_and_sent",
            "bought_again",
            "bound",
        )
    }
    findings = [finding for found in done for finding in found.findings]
    print(
        f"{total['kills']} kills in {len(done)} rounds ({seconds:.0f} s), "
        f"{total['before_answers']} of them before an "
        f"answer; {total['requests']} requests; {total['lost']} calls in flight at a kill, "
        f"{total['lost_and_sent']} of them sent; {total['bought_again']} replies bought again "
        f"(at most {total['bound']} could have been)"
    )
    print(f"{len(findings)} findings" + "".join(f"\n  {finding}" for finding in findings))
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
