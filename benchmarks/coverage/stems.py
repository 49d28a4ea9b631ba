"""Whether the intervals of protocols with stems hold as often as they say: simulation, cell by cell.

    python benchmarks/coverage/stems.py  # prints a section of docs/research/coverage.md, some six minutes
    python benchmarks/coverage/stems.py --write  # and writes it, and every figure as stems.csv

What is drawn: `stem_draws.py`; what is counted: `stem_cells.py` for one subject and for boards,
`stem_pairs.py` for two subjects and for shares.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
from page import ERROR, PAGE, PROMISE, TITLES, markdown, percent, write_rows, write_section
from stem_cells import (
    RANKED,
    Held,
    Ranked,
    beyond,
    corrections,
    index,
    pressure,
    rankings,
    redrawn,
)
from stem_draws import RUNS, STEMS
from stem_pairs import PAIRS, SHARES, Tables, compared, shares, tables

HEAD = """\
{draws:,} draws a cell ({boards:,} boards for the index, {ranked:,} for rankings), seed {seed}, {minutes:.1f} minutes
of one core. Lowest coverage over 12 and 28 stems and 1, 2, 3 and 5 runs, in %:
"""
RANKINGS = 'Most rankings of ten equal subjects with a false "better than", and tables with a false mark, in %:\n'
COLUMNS = ("figure", "of", "runs_shifted", "stems", "runs", "percent", "mean_width")
SHIFTS = ("no", "yes", "twice as much")
Row = tuple[str, str, str, int, int, float, float | None]  # COLUMNS; the percent as a share

Drawn = TypeVar("Drawn", Held, Ranked, Tables)

# ---------------------------------------------------------------- what is written


QUANTITIES = {
    "J": "J",
    "J, stems not scored": "J, a quarter of the stems not scored",
    "share": "value of a branch, moved on either correction",
    "share, stems not scored": "the same, a quarter of the stems not scored",
    "value of a branch": "value of a branch, moved on either correction",
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


def rows_of(
    found: Sequence[Held],
    ranked: Sequence[Ranked],
    marked: Sequence[Tables],
    far: Sequence[Held | Ranked],
) -> Iterator[Row]:
    """The worst cell of each figure: by what is measured, whether runs are shifted, stems and runs."""
    for shift, held in (
        ("no", found),
        ("yes", found),
        ("twice as much", [o for o in far if isinstance(o, Held)]),
    ):
        mine = [
            one
            for one in held
            if shift == "twice as much" or (one.shift != "none") == (shift == "yes")
        ]
        for quantity, title in QUANTITIES.items():
            for stems, runs, cells in _by_size([one for one in mine if one.quantity == quantity]):
                width = (
                    None
                    if shift == "twice as much"
                    else float(np.mean([cell.width for cell in cells]))
                )
                yield (
                    "lowest coverage",
                    title,
                    shift,
                    stems,
                    runs,
                    min(cell.coverage for cell in cells),
                    width,
                )
    beyond = [one for one in far if isinstance(one, Ranked)]
    for shift, boards in (("no", ranked), ("yes", ranked), ("twice as much", beyond)):
        mine = [
            board
            for board in boards
            if shift == "twice as much" or (board.shift != "none") == (shift == "yes")
        ]
        for question, title in TITLES.items():
            for stems, runs, cells in _by_size([one for one in mine if one.question == question]):
                yield (
                    "false ranking",
                    title,
                    shift,
                    stems,
                    runs,
                    max(cell.error for cell in cells),
                    None,
                )
    for shift in ("no", "yes"):
        mine = [one for one in marked if (one.shift != "none") == (shift == "yes")]
        for stems, runs, cells in _by_size(mine):
            worst = max(cell.error for cell in cells)
            yield "false mark in a table", "two equal subjects", shift, stems, runs, worst, None


def _by_size(found: Sequence[Drawn]) -> Iterator[tuple[int, int, list[Drawn]]]:
    for stems in STEMS:
        for runs in RUNS:
            if cells := [drawn for drawn in found if (drawn.stems, drawn.runs) == (stems, runs)]:
                yield stems, runs, cells


def section(rows: Sequence[Row], about: dict[str, object], below: Sequence[str] = ()) -> str:
    """What docs/research/coverage.md says of these rows; *below*: the cells that miss the requirement."""
    rows = [
        (row[0], _group(row[1]) if row[0] == "lowest coverage" else row[1], *row[2:])
        for row in rows
    ]
    lines = [HEAD.format(**about)]
    for heading, figures, worst_of in (
        ("", ("lowest coverage",), min),
        (RANKINGS, ("false ranking", "false mark in a table"), max),
    ):
        mine = [row for row in rows if row[0] in figures]
        table = [
            (of, *(percent(worst_of(shares)) if shares else "" for shares in by_shift))
            for of in dict.fromkeys(row[1] for row in mine)
            for by_shift in [
                [[row[5] for row in mine if row[1:3] == (of, shift)] for shift in SHIFTS]
            ]
        ]
        lines += [heading] * bool(heading)
        lines += markdown(("", "runs independent", "shifted", "shifted twice as much"), table)
    lines += (
        ["Cells that miss the requirement:\n", *below]
        if below
        else ["With the shifts that the intervals are made for, every cell meets the requirement."]
    )
    return "\n".join(lines)


def _group(of: str) -> str:
    """The row of docs/research/coverage.md that a quantity belongs to."""
    if of.startswith("two subjects: "):
        return "two subjects: index" if ": index" in of else "two subjects: anything else"
    if of.endswith(", share"):
        return "shares of replies"
    return "a dimension or a stem" if of.startswith(("a dimension", "a stem")) else of


def check_again(held: Sequence[Held], seed: int, boards: int) -> list[Held]:
    """The cells; those of boards that came out below the requirement are drawn again, with four
    times as many boards.

    Of some hundreds of such cells a few are low by chance.
    """
    after = []
    for number, one in enumerate(held):
        if one.coverage < PROMISE and one.quantity.endswith(tuple(TITLES.values())):
            one = redrawn(np.random.default_rng([seed, 20, number]), boards, one)
        after.append(one)
    return after


def _written(row: Row) -> tuple[object, ...]:
    *named, share, width = row
    return (*named, percent(share), "" if width is None else f"{width:.2f}")


def main() -> int:
    """Simulate, print, write; exit code 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(
        prog="stems", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=2000, help="of each cell  [default: 2000]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help=f"docs/{PAGE.name} and stems.csv, too")
    chosen = parser.parse_args()
    start = time.process_time()
    boards = max(chosen.draws // RANKED, 4)
    ranked = max(boards // RANKED, 4)
    held: list[Held] = []
    wrong_tables: list[Tables] = []
    of_two = list(tables(np.random.default_rng([chosen.seed, 11]), boards))
    held += [one for one in of_two if isinstance(one, Held)]
    wrong_tables += [one for one in of_two if isinstance(one, Tables)]
    print(f"tables: done after {time.process_time() - start:.0f} s", file=sys.stderr, flush=True)
    parts = (corrections, chosen.draws), (pressure, chosen.draws), (index, boards)
    parts += (compared, chosen.draws), (shares, chosen.draws)
    for number, (part, draws) in enumerate(parts):
        held += part(np.random.default_rng([chosen.seed, number]), draws)
        print(
            f"{part.__name__}: done after {time.process_time() - start:.0f} s",
            file=sys.stderr,
            flush=True,
        )
    wrong = list(rankings(np.random.default_rng([chosen.seed, 9]), ranked))
    print(f"rankings: done after {time.process_time() - start:.0f} s", file=sys.stderr, flush=True)
    far = list(beyond(np.random.default_rng([chosen.seed, 10]), max(chosen.draws, 4 * RANKED)))
    about: dict[str, object] = {
        "draws": chosen.draws, "boards": boards, "ranked": ranked, "seed": chosen.seed,
        "minutes": (time.process_time() - start) / 60,
    }  # fmt: skip
    held = [one for one in held if one.coverage == one.coverage]
    held = check_again(held, chosen.seed, chosen.draws // 2)
    rows = list(rows_of(held, wrong, wrong_tables, far))
    below = [
        f"- {one.quantity}: {one.stems} stems, {one.runs} runs, runs shifted: {one.shift}, {one.about}: "
        f"{percent(one.coverage)}%"
        for one in held
        if one.coverage < PROMISE
    ]
    text = section(rows, about, below)
    if chosen.write:
        write_section(PAGE, "stems", text)
        write_rows("stems", COLUMNS, map(_written, rows))
    print(text)
    kept = all(one.coverage >= PROMISE for one in held)
    return 0 if kept and all(one.error <= ERROR for one in (*wrong, *wrong_tables)) else 1


if __name__ == "__main__":
    sys.exit(main())
