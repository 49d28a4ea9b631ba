"""Whether corrections for a judge's errors come near the truth, and their intervals hold it: simulation, cell by cell.

    python benchmarks/coverage/calibration.py                  # everything, some minutes of one core
    python benchmarks/coverage/calibration.py --quick          # a twentieth of the draws
    python benchmarks/coverage/calibration.py --only marks index --write  # and those tables of docs/exam-correction.md

A judge sits the exam (as many ordinary and hard questions of each level as there are) and marks conversations of which
another share is hard. Marks of an index are drawn from the models that were fitted to published results; stems from
stated chances, for nobody has played them. What is drawn, and what goes wrong beside it: `calibration_cells.py`.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from calibration_cells import Corrected, Generator, index, marks
from calibration_stems import stems
from page import PROMISE, markdown, percent

PAGE = Path(__file__).parents[2] / "docs" / "exam-correction.md"
DRAWS = {"marks": 200, "index": 20, "stems": 40}
SECTIONS: dict[str, Callable[[int, Generator], Iterator[Corrected]]] = {"marks": marks, "index": index, "stems": stems}
NEAR = 5.0  # points: a corrected index is given where its mean error is within these in every cell


def main() -> int:
    """Simulate, print, write, and say with the exit code whether every promise was kept."""
    parser = argparse.ArgumentParser(
        prog="calibration", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a twentieth of the draws")
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help=f"the tables of docs/{PAGE.name}, too")
    chosen = parser.parse_args()
    lines = []
    kept = []
    for number, name in enumerate(SECTIONS):
        if name not in chosen.only:
            continue
        start, draws = time.monotonic(), max(DRAWS[name] // (20 if chosen.quick else 1), 2)
        found = list(SECTIONS[name](draws, np.random.default_rng([chosen.seed, number])))
        print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        table = list(summary(found, draws))
        lines += table
        if chosen.write:
            _write(name, table)
        if name != "stems":
            lowest, most = min(one.coverage for one in found), max(abs(one.corrected) for one in found)
            kept.append((f"{name}: lowest coverage {percent(lowest)}%", lowest >= PROMISE))
            if name == "index":
                kept.append((f"index: most error {most:.1f} points", most <= NEAR))
    print("\n".join(lines))
    for said, good in kept:
        print(f"{'PASS' if good else 'OVER'}  {said}")
    return 0 if all(good for _, good in kept) else 1


def summary(found: Sequence[Corrected], draws: int) -> Iterator[str]:
    """A row for each thing that was drawn by each judge: the worst of its cells."""
    rows = []
    for what, judge in dict.fromkeys((one.what, one.judge) for one in found):
        mine = [one for one in found if (one.what, one.judge) == (what, judge)]
        rows.append(
            (
                what,
                judge,
                str(len(mine)),
                percent(min(one.coverage for one in mine)),
                percent(float(np.mean([one.coverage for one in mine]))),
                f"{max(one.width for one in mine):.0f}",
                *(f"{max((getattr(one, error) for one in mine), key=abs):+.1f}" for error in ("given", "corrected")),
                str(sum(one.refused for one in mine)),
            )
        )
    yield f"{draws} draws a cell, over shares of hard cases of 5 to 90%; errors and widths in points of 100.\n"
    titles = ("lowest coverage, %", "mean, %", "widest", "most error as given", "corrected", "refused")
    lines = markdown(("", "cells", *titles), [(f"{what}; {judge}", *others) for what, judge, *others in rows])
    yield from lines


def _write(name: str, lines: Sequence[str]) -> None:
    begin, end = f"<!-- {name}: made by benchmarks/coverage/calibration.py -->", f"<!-- end of {name} -->"
    page, body = PAGE.read_text(encoding="utf-8"), "\n".join(lines).rstrip()
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(page):
        sys.exit(f"{PAGE} has no place for {name}")
    PAGE.write_text(pattern.sub(lambda _: f"{begin}\n\n{body}\n\n{end}", page), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
