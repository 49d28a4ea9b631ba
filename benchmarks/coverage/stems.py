"""Whether the intervals of protocols with stems hold as often as they say: simulation, cell by cell.

    python benchmarks/coverage/stems.py              # prints the section of docs/coverage.md, some six minutes
    python benchmarks/coverage/stems.py --write      # and puts it there

What is drawn: `stem_draws.py`; what is counted: `stem_cells.py` for one subject and for boards, `stem_pairs.py` for two
subjects and for shares.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from math import sqrt
from pathlib import Path

import numpy as np
from page import ERROR, PROMISE, TITLES, markdown, percent
from stem_cells import (
    FIRM,
    GAPS,
    RANKED,
    SUBJECTS,
    Held,
    Ranked,
    beyond,
    discrimination,
    index,
    pressure,
    rankings,
    redrawn,
)
from stem_draws import PROTOCOLS, RUN_SPREAD, RUNS, STEM_SPREADS
from stem_pairs import PAIRS, SHARES, Tables, compared, shares, tables

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
SECTION = "## Protocols with stems\n"
HEAD = """\
Made by `python benchmarks/coverage/stems.py --write` with {draws:,} draws a cell ({boards:,} boards for the index,
{ranked:,} for rankings) and seed {seed}, in {minutes:.1f} minutes of one core; do not edit this section. The rest of
this page is about protocols whose scenarios are scored one by one; here the units are stems: 12 of them (v3-lite) or
28 (v3), with 1, 3 or 5 runs.

No model had been played under v3 when this was made, so nothing here is fitted to results. A reply's level is a step
function of a normal variable: the sum of the subject, the stem (standard deviation {low:g} or {high:g}), the run (0,
or {run:g}, the same for all branches of the run or separate for each) and a residual of 1. Subjects that move on few
corrections and on many, z(H) + z(F) of {firm}, are taken together. *Coverage* is the share of draws whose 95% interval
contains the mean over all stems and runs that could be drawn; the requirement is {promise:.0f}% in every cell, and the
Monte Carlo error near 95% is {error:.1f} points.
"""

# ---------------------------------------------------------------- the page


QUANTITIES = {
    "H - F": "H - F",
    "share": "value of a branch: a share",
    "withstood": "pushes withstood, and h",
    "band": "bands of the curve",
    "index, the same test again": "index, the same test again",
    "index, another test like it": "index, another test like it",
    "a dimension, the same test again": "a dimension, the same test again",
    "a dimension, another test like it": "a dimension, another test like it",
    "a stem, the same test again": "a stem, the same test again",
    **{name: f"{name}, share" for name in SHARES},
    **{f"two subjects: {name}": f"two subjects: {name}" for name in PAIRS},
    **{
        f"difference of {score}, {title}": f"two subjects: {score}, {title}"
        for score in ("index", "a dimension", "a stem")
        for title in TITLES.values()
    },
}


def section(
    found: Sequence[Held],
    ranked: Sequence[Ranked],
    wrong_tables: Sequence[Tables],
    far: Sequence[Held | Ranked],
    about: dict[str, object],
) -> str:
    """All of it as Markdown, with its heading; *far*: beyond what is believed."""
    lines = [SECTION, HEAD.format(**about)]
    lines += ["The lowest coverage, % (mean width); widths of the index in points, of pushes in pushes:\n"]
    columns = [f"{stems} stems, {runs} run{'s' * (runs > 1)}" for stems in PROTOCOLS for runs in RUNS]
    rows = []
    for quantity, title in QUANTITIES.items():
        for shifted in (False, True):
            cells = [
                [
                    one
                    for one in found
                    if (one.quantity, one.stems, one.runs, one.shift != "none") == (quantity, stems, runs, shifted)
                ]
                for stems in PROTOCOLS
                for runs in RUNS
            ]
            if any(cells):
                rows.append((f"{title}{', runs shifted' * shifted}", *map(_lowest, cells)))
    lines += markdown(("", *columns), rows)
    lines += ["H - F by the true z(H) - z(F), lowest coverage of ours (and of Student's t), %:\n"]
    rows = [
        (
            f"{stems} stems, {runs} run{'s' * (runs > 1)}",
            *(_with_plain(found, "H - F", stems, runs, f"{apart:g}") for apart in GAPS),
        )
        for stems in PROTOCOLS
        for runs in RUNS
    ]
    lines += markdown(("", *(f"{apart:g}" for apart in GAPS)), rows)
    lines += [f'Rankings of {SUBJECTS} equal subjects with a false "better than", most, %:\n']
    rows = [
        (
            f"{title}{', runs shifted' * shifted}",
            *(
                _most(
                    [
                        o.error
                        for o in ranked
                        if (o.question, o.stems, o.runs, o.shift != "none") == (q, stems, runs, shifted)
                    ]
                )
                for stems in PROTOCOLS
                for runs in RUNS
            ),
        )
        for q, title in TITLES.items()
        for shifted in (False, True)
    ]
    lines += markdown(("", *columns), rows)
    lines += [
        "Tables of two equal subjects' branches (`aib compare`: h, e, r, n, s, openness, H - F) in which "
        "a difference is marked as significant, most, %:\n"
    ]
    rows = [
        (
            "runs shifted" if shifted else "runs independent",
            *(
                _most([o.error for o in wrong_tables if (o.stems, o.runs, o.shift != "none") == (stems, runs, shifted)])
                for stems in PROTOCOLS
                for runs in RUNS
            ),
        )
        for shifted in (False, True)
    ]
    lines += markdown(("", *columns), rows)
    lines += [
        f"The intervals are made for shifts of whole runs with a standard deviation of {RUN_SPREAD:g}, as drawn above. "
        f"With {2 * RUN_SPREAD:g}\nthey do not hold everywhere: lowest coverage (of rankings of equals the share with "
        'a false "better than"), %:\n'
    ]
    far_rows: dict[str, list[list[float]]] = {}
    for one in far:
        name = one.quantity if isinstance(one, Held) else "ranking, another test like it"
        by_column = far_rows.setdefault(name, [[] for _ in columns])
        column = list(PROTOCOLS).index(one.stems) * len(RUNS) + RUNS.index(one.runs)
        by_column[column].append(one.coverage if isinstance(one, Held) else one.error)
    rows = [(name, *(percent(min(of)) if of else "" for of in by_column)) for name, by_column in far_rows.items()]
    lines += markdown(("", *columns), rows)
    broken = [one for one in found if one.coverage < PROMISE]
    lines.append(
        "Cells below the requirement:\n"
        if broken
        else "Every cell with such shifts, or without, meets the requirement.\n"
    )
    lines += [
        f"* {one.quantity}: {one.stems} stems, {one.runs} runs, runs shifted: {one.shift}, {one.about}: "
        f"{percent(one.coverage)}%"
        for one in broken
    ]
    again = about["again"]
    if isinstance(again, list) and again:
        lines.append(
            "Of some hundreds of cells of boards a few are low by chance. Those below the requirement were drawn "
            "again, with four times as many new boards, and the tables contain the second result:\n"
        )
        lines += [
            f"* {before.quantity}: {before.stems} stems, {before.runs} runs, runs shifted: {before.shift}, "
            f"{before.about}: {percent(before.coverage)}%, then {percent(after.coverage)}%"
            for before, after in again
        ]
    return "\n".join(lines).rstrip() + "\n"


def _lowest(cells: Sequence[Held]) -> str:
    if not cells:
        return ""
    return f"{percent(min(one.coverage for one in cells))} ({np.mean([one.width for one in cells]):.2f})"


def _with_plain(found: Sequence[Held], quantity: str, stems: int, runs: int, about: str) -> str:
    cells = [o for o in found if (o.quantity, o.stems, o.runs, o.about) == (quantity, stems, runs, about)]
    plain = [one.plain for one in cells if one.plain is not None]
    return f"{percent(min(one.coverage for one in cells))} ({percent(min(plain))})"


def _most(errors: Sequence[float]) -> str:
    return percent(max(errors)) if errors else ""


def kept_section(page: str) -> str:
    """The section as it stands in *page*, with its heading; "" where there is none."""
    _, heading, rest = page.partition(f"\n{SECTION}")
    return f"\n{SECTION}{rest}" if heading else ""


def check_again(held: Sequence[Held], seed: int, boards: int) -> tuple[list[Held], list[tuple[Held, Held]]]:
    """The cells with those of boards that came out below the promise drawn again; and these, before and after."""
    after = []
    again = []
    for number, one in enumerate(held):
        of_boards = one.about.endswith(f"{SUBJECTS} subjects") or one.quantity.startswith("difference of")
        if one.coverage < PROMISE and of_boards:
            again.append((one, redrawn(np.random.default_rng([seed, 20, number]), boards, one)))
            one = again[-1][1]
        after.append(one)
    return after, again


def main() -> int:
    """Simulate, print, write; exit code 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(
        prog="stems", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=2000, help="of each cell  [default: 2000]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help=f"into docs/{PAGE.name}, too")
    chosen = parser.parse_args()
    start = time.process_time()
    boards = ranked = max(chosen.draws // RANKED, 4)
    held: list[Held] = []
    wrong_tables: list[Tables] = []
    of_two = list(tables(np.random.default_rng([chosen.seed, 11]), boards))
    held += [one for one in of_two if isinstance(one, Held)]
    wrong_tables += [one for one in of_two if isinstance(one, Tables)]
    print(f"tables: done after {time.process_time() - start:.0f} s", file=sys.stderr, flush=True)
    parts = (discrimination, chosen.draws), (pressure, chosen.draws), (index, boards)
    parts += (compared, chosen.draws), (shares, chosen.draws)
    for number, (part, draws) in enumerate(parts):
        held += part(np.random.default_rng([chosen.seed, number]), draws)
        print(f"{part.__name__}: done after {time.process_time() - start:.0f} s", file=sys.stderr, flush=True)
    wrong = list(rankings(np.random.default_rng([chosen.seed, 9]), ranked))
    print(f"rankings: done after {time.process_time() - start:.0f} s", file=sys.stderr, flush=True)
    far = list(beyond(np.random.default_rng([chosen.seed, 10]), max(chosen.draws, 4 * RANKED)))
    about: dict[str, object] = {
        "draws": chosen.draws, "boards": boards, "ranked": ranked, "seed": chosen.seed,
        "minutes": (time.process_time() - start) / 60,
        "low": STEM_SPREADS[0], "high": STEM_SPREADS[1], "run": RUN_SPREAD,
        "firm": " and ".join(f"{-2 * one:g}" for one in FIRM), "promise": 100 * PROMISE,
        "error": 100 * sqrt(0.95 * 0.05 / chosen.draws),
    }  # fmt: skip
    held = [one for one in held if one.coverage == one.coverage]
    held, again = check_again(held, chosen.seed, chosen.draws // 2)
    text = section(held, wrong, wrong_tables, far, about | {"again": again})
    if chosen.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(page.removesuffix(kept_section(page)).rstrip() + f"\n\n{text}", encoding="utf-8")
    print(text)
    kept = all(one.coverage >= PROMISE for one in held)
    return 0 if kept and all(one.error <= ERROR for one in (*wrong, *wrong_tables)) else 1


if __name__ == "__main__":
    sys.exit(main())
