"""200 commands with a budget, each with prices, faults and parallelism of its own: is the budget
ever exceeded?

    PYTHONPATH=tests python torture/budgets.py [--runs 200] [--seed 1]

Prints what went wrong and a sum; exit code 1 if a budget was exceeded with known prices, or by more
than the calls in flight without them. What is drawn and what is checked stands in
tests/budget_fuzz.py.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from budget_fuzz import Found, spend
from conftest import SMALL


def main() -> int:
    """Spend as often as is wanted."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--runs", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--verbose", action="store_true", help="a line for each run")
    wanted = options.parse_args()
    done: list[Found] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small"
        for name, text in SMALL.items():
            (small / name).parent.mkdir(parents=True, exist_ok=True)
            (small / name).write_text(text, encoding="utf-8")
        for seed in range(wanted.seed, wanted.seed + wanted.runs):
            done.append(spend(small, Path(folder) / f"{seed}.db", seed))
            if wanted.verbose or done[-1].findings:
                print(done[-1].line(), flush=True)
    return conclude(done, time.monotonic() - began)


def conclude(done: list[Found], seconds: float) -> int:
    """The sum; the exit code."""
    ended = ", ".join(
        f"{name} {count}" for name, count in sorted(Counter(found.ended for found in done).items())
    )
    print(
        f"{len(done)} commands ({seconds:.0f} s), {sum(found.requests for found in done)} "
        f"requests; ended: {ended}"
    )
    for listed, words in ((True, "prices known"), (False, "prices unknown")):
        some = [found for found in done if found.listed is listed]
        beyond = [found for found in some if found.beyond > 0]
        worst = max((found.beyond / found.dearest for found in beyond), default=0.0)
        paid, given = sum(found.paid for found in some), sum(found.budget for found in some)
        print(
            f"{words}: {len(some)} commands, {len(beyond)} beyond their budget, the worst by "
            f"{worst:.2f} of its dearest calls; paid ${paid:.6f} of ${given:.6f}"
        )
    wrong = sum(bool(found.findings) for found in done)
    print(f"{wrong} with findings")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
