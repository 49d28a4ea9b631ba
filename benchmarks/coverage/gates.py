"""Whether `aib gate` errs as seldom as it says, and what it can see: pairs of builds of known
truth, cell by cell.

    python benchmarks/coverage/gates.py
        # prints a section of docs/research/coverage.md, some twenty minutes
    python benchmarks/coverage/gates.py --write
        # and writes it, a table of docs/ci.md, and gates.csv

The pairs: gate_pairs.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import sqrt
from pathlib import Path
from typing import get_args

import numpy as np
from draw import PLACES, Generator
from gate_pairs import Pairs, of_v2
from page import PAGE, markdown, percent, write_rows, write_section

from independence_bench.analysis.statistics.dispersion import measure_score_of_subjects
from independence_bench.analysis.statistics.hypothesis_tests import (
    MarginTest,
    Verdict,
    compute_confidence_level_per_look,
    make_margin_test,
)
from independence_bench.analysis.statistics.values import Floats

CI = PAGE.parents[1] / "ci.md"
PROTOCOL = "v2"  # the one with published results
ERROR = 0.05
MARGIN = 3.0  # points
MARGINS = (1.0, 3.0, 5.0, 10.0)
RUNS = (1, 3, 5, 10)
PRINTED = 200  # pairs whose printed drops those of a cell are drawn from
# of the pairs of a cell, those that can be as low as that: a selection of fewer is none
REACHED = 0.7
ADDED = 2  # a second look has so many times the runs
# standard deviation of what shifts a whole run, of the latent variable's 1
SHIFTS = {"none": 0.0, "shifted": 0.2}


@dataclass(slots=True)
class Cell:
    """One situation, and what a gate said there; shares of the pairs."""

    structure: str
    place: str
    shift: str
    kind: str
    before: int  # runs
    after: int
    drop: float  # true, in points
    margin: float
    looks: int
    pairs: int
    worse: float
    passed: float
    about: str = ""  # none, at the margin, or what was printed to be found in 80 of 100
    later: float = 0.0  # of the pairs, those that took a second look
    # of the pairs, those without an interval: their runs are shifted too far, and that is said
    silent: float = 0.0
    passes: dict[float, float] = field(default_factory=dict)  # margin -> share that passes
    # points: the mean of the smallest drops that can be decided
    passable: float = 0.0
    # of the pairs with an interval, those that pass at such a margin, of another pair's gate
    at_passable: float = 0.0
    # verdict -> of the pairs with an interval, those that get it without a margin
    decided: dict[str, float] = field(default_factory=dict)

    @property
    def power(self) -> float:
        """Of the pairs with an interval, those that fail."""
        return self.worse / max(1 - self.silent, 1e-9)


def test_of(pairs: Pairs, pair: int, runs: int, level: float) -> MarginTest | None:
    """As the package tests it: the two builds measured together, and nobody else."""
    return make_margin_test(
        measure_score_of_subjects(pairs.design, [pairs.after[pair, :runs], pairs.before[pair]]),
        0,
        1,
        level,
    )


def said(test: MarginTest | None, margin: float) -> Verdict:
    """In points; without an interval nothing can be told."""
    return "undecided" if test is None else test.decide_verdict(margin / 100, None)


def printed_drops(pairs: Pairs, runs: int, margin: float | None, level: float) -> Floats:
    """The drops that gates say they find in 80 of 100, in [0, 1]; without those that print none."""
    tests = (test_of(pairs, pair, runs, level) for pair in range(min(PRINTED, len(pairs.drop))))
    share = None if margin is None else margin / 100
    drops = (test.find_smallest_drop(share) for test in tests if test)
    return np.array([drop for drop in drops if drop is not None])


def looked(cell: Cell, pairs: Pairs) -> Cell:
    """What one look, or two of them, say of *pairs*."""
    level = compute_confidence_level_per_look(cell.looks)
    firsts = [test_of(pairs, pair, cell.after, level) for pair in range(len(pairs.drop))]
    lasts = list(firsts)
    for pair, first in enumerate(firsts):
        if cell.looks == 2 and said(first, cell.margin) == "undecided":
            cell.later += 1 / len(firsts)
            lasts[pair] = test_of(pairs, pair, pairs.after.shape[1], level)
    verdicts = [said(test, cell.margin) for test in lasts]
    number = len(firsts)
    cell.pairs, cell.silent = number, sum(test is None for test in lasts) / number
    cell.worse, cell.passed = verdicts.count("fail") / number, verdicts.count("pass") / number
    cell.passes = {m: sum(said(test, m) == "pass" for test in firsts) / number for m in MARGINS}
    known = [test for test in firsts if test]
    if cell.about not in ("none", "decidable"):
        return cell
    every = [test.find_smallest_drop(None) for test in known]
    decided = [test.decide_verdict(None, drop) for test, drop in zip(known, every, strict=True)]
    cell.decided = {one: decided.count(one) / max(len(known), 1) for one in get_args(Verdict)}
    drops = [drop for drop in every if drop is not None]
    if cell.about == "none" and drops:
        margins = np.roll(drops, 1)  # another pair's
        passing = [
            test.decide_verdict(margin, None) == "pass"
            for test, margin in zip(known, margins, strict=False)
        ]
        cell.passable, cell.at_passable = 100 * float(margins.mean()), float(np.mean(passing))
    return cell


def situations() -> Iterator[tuple[str, str, str, int, int, int]]:
    """(place, shift, kind, runs before, runs after, looks)."""
    for place in PLACES:
        for shift in SHIFTS:
            for runs in RUNS:
                yield place, shift, "unlike", runs, runs, 1
        yield place, "none", "unlike", 10, 3, 1
        for runs in (1, 3):
            yield place, "none", "unlike", runs, runs, 2
        yield place, "shifted", "unlike", 3, 3, 2
    yield "middle", "none", "alike", 3, 3, 1
    yield "middle", "none", "unlike, in one dimension", 3, 3, 1
    yield "middle", "none", "unlike", 5, 1, 1
    yield "middle", "none", "unlike", 5, 5, 2


def simulate(rng: Generator, draws: int) -> Iterator[Cell]:
    """Every situation with no drop, with one of exactly the margin, and with those that are said to
    be found: of more than the margin, and of any.
    """
    for place, shift, kind, before, after, looks in situations():
        draw = of_v2(place, SHIFTS[shift])
        most = after * (1 + ADDED) if looks == 2 else after
        at = (PROTOCOL, place, shift, kind, before, after)
        same = draw(rng, draws, before, most, 0.0, kind)
        yield looked(Cell(*at, 0.0, MARGIN, looks, 0, 0, 0, "none"), same)
        worse = draw(rng, draws, before, most, MARGIN / 100, kind)
        yield looked(Cell(*at, MARGIN, MARGIN, looks, 0, 0, 0, "the margin"), worse)
        for about, margin in (("printed", MARGIN), ("decidable", None)):
            drops = printed_drops(worse, after, margin, compute_confidence_level_per_look(looks))
            if len(drops) < PRINTED // 4 or (margin is None and looks == 2):
                continue
            lower = draw(rng, draws, before, most, rng.choice(drops, draws), kind)
            if len(lower.drop) >= REACHED * draws:
                mean = 100 * float(np.mean(lower.drop))
                yield looked(Cell(*at, mean, MARGIN, looks, 0, 0, 0, about), lower)


# ---------------------------------------------------------------- what is written

HEAD = """\
{draws:,} pairs of builds a cell, seed {seed}; \
the standard error of a share near 5% is {error:.1f} points. The worst
of all cells, in %:
"""
COLUMNS = (
    "looks", "protocol", "place", "runs_are", "builds", "runs_before", "runs_now",
    "no_drop_worse_percent", "no_drop_passes_percent", "margin_worse_percent",
    "margin_passes_percent", "printed_drop", "printed_drop_worse_percent", "no_interval_percent",
    "printed_margin", "printed_margin_passes_percent", "decided_no_drop_fails_percent",
    "decided_no_drop_passes_percent", "decided_drop", "decided_drop_fails_percent",
    "decided_drop_passes_percent",
)  # fmt: skip


def by_drop(found: Sequence[Cell]) -> dict[str, list[Cell]]:
    """The cells without a drop, with one of the margin, and with one that a gate printed."""
    return {
        about: [one for one in found if one.about == about]
        for about in ("none", "the margin", "printed", "decidable")
    }


def section(found: Sequence[Cell], about: dict[str, object]) -> str:
    """What docs/research/coverage.md says of these cells."""
    by = by_drop(found)
    worst = (
        (
            "a build that is not worse fails (at most 5%)",
            max((one.worse for one in by["none"]), default=0),
        ),
        (
            "one that is worse by the margin fails (at most 5%)",
            max((o.worse for o in by["the margin"]), default=0),
        ),
        (
            "one that is worse by the margin passes (at most 5%)",
            max((o.passed for o in by["the margin"]), default=0),
        ),
        *(
            (
                f"one that is worse by the printed drop fails (80%), {name}",
                figure([one.power for one in mine] or [0]),
            )
            for runs, mine in (
                (
                    "two runs or more of one of them",
                    [one for one in by["printed"] if one.before > 1],
                ),
                ("single runs", [one for one in by["printed"] if one.before == 1]),
            )
            for name, figure in (
                (f"{runs}: lowest", min),
                (f"{runs}: mean of cells", lambda of: float(np.mean(of))),
            )
        ),
        *(
            (
                f"one that is not worse passes at the printed margin (80%), {name}",
                figure([1.0, *shares]),
            )
            for shares in [[one.at_passable for one in by["none"] if one.looks == 1]]
            for name, figure in (
                ("lowest", min),
                ("mean of cells", lambda of: float(np.mean(of[1:] or of))),
            )
        ),
        (
            "one that is worse by the printed drop passes",
            max((one.passed for one in by["printed"]), default=0),
        ),
        *(
            (
                f"without a margin, {name} {said}, {what}",
                figure([one.decided[said] for one in mine]),
            )
            for name, mine in (
                ("one that is not worse", by["none"]),
                ("one that is worse by the smallest drop that can be decided", by["decidable"]),
            )
            for said in ("pass", "fail")
            for what, figure in (("lowest", min), ("highest", max))
            if mine
        ),
    )
    return "\n".join(
        [
            HEAD.format(**about),
            *markdown(("", "%"), [(name, percent(share)) for name, share in worst]),
        ]
    )


def cell_rows(found: Sequence[Cell]) -> Iterator[Sequence[object]]:
    """Each situation with its three drops, as a row of gates.csv."""
    by = by_drop(found)
    for none in by["none"]:
        at, printed, lower = (
            _same(none, by[about]) for about in ("the margin", "printed", "decidable")
        )
        yield (
            none.looks, none.structure, none.place, none.shift, none.kind, none.before, none.after,
            percent(none.worse), percent(none.passed),
            *(("", "") if at is None else (percent(at.worse), percent(at.passed))),
            *(
                ("", "", "")
                if printed is None
                else (f"{printed.drop:.1f}", percent(printed.power), percent(printed.silent))
            ),
            f"{none.passable:.1f}", percent(none.at_passable),
            percent(none.decided["fail"]), percent(none.decided["pass"]),
            *(
                ("", "", "")
                if lower is None
                else (
                    f"{lower.drop:.1f}",
                    percent(lower.decided["fail"]),
                    percent(lower.decided["pass"]),
                )
            ),
        )  # fmt: skip


def _same(one: Cell, others: Sequence[Cell]) -> Cell | None:
    def key(cell: Cell) -> tuple[object, ...]:
        return (
            cell.structure,
            cell.place,
            cell.shift,
            cell.kind,
            cell.before,
            cell.after,
            cell.looks,
        )

    return next((other for other in others if key(other) == key(one)), None)


def resolution(found: Sequence[Cell]) -> str:
    """The table of docs/ci.md."""
    rows = []
    for none in found:
        if none.about != "none" or none.looks != 1 or none.shift != "none" or none.kind != "unlike":
            continue
        if none.before != none.after or none.place == "low":
            continue
        lower = _same(none, [one for one in found if one.about == "decidable"])
        rows.append(
            (
                f"{none.structure}, {none.place}",
                str(none.after),
                "–" if lower is None else f"{lower.drop:.1f}",
                f"{100 * none.decided['pass']:.0f}",
                "–" if lower is None else f"{100 * lower.decided['fail']:.0f}",
                *(f"{100 * none.passes[margin]:.0f}" for margin in MARGINS),
            )
        )
    columns = (
        "protocol, place",
        "runs of each",
        "smallest drop that is decided",
        "an equal build passes",
        "such a drop fails",
        *(f"passes, margin {margin:g}" for margin in MARGINS),
    )
    failed = max((one.worse for one in found if one.about == "none"), default=0.0)
    passed = max((one.passed for one in found if one.about == "the margin"), default=0.0)
    said = (
        f"Of builds that are not worse, at most {percent(failed)}% failed in any cell; of those "
        "that are worse by\n"
        f"the margin, at most {percent(passed)}% passed.\n"
    )
    return "\n".join([*markdown(columns, rows), said])


def main() -> int:
    """Simulate, print, write; exit code 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(prog="gates", description=__doc__)
    parser.add_argument(
        "--draws", type=int, default=1000, help="pairs of each cell  [default: 1000]"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--cells",
        type=Path,
        metavar="FILE",
        help="keep the cells there; where there are some, simulate none",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help=f"docs/{PAGE.name}, the table in docs/{CI.name}, and gates.csv, too",
    )
    chosen = parser.parse_args()
    start, found = time.monotonic(), []
    if chosen.cells and chosen.cells.exists():
        for kept in json.loads(chosen.cells.read_text(encoding="utf-8")):
            passes = {float(margin): share for margin, share in kept.pop("passes").items()}
            found.append(Cell(**kept, passes=passes))
    for cell in (
        simulate(np.random.default_rng([chosen.seed, 0]), chosen.draws) if not found else ()
    ):
        found.append(cell)
        print(
            f"{time.monotonic() - start:5.0f} s  {cell.structure} {cell.place} {cell.shift} "
            f"{cell.kind} {cell.before},{cell.after} looks {cell.looks} {cell.about} "
            f"{cell.drop:.1f}: {cell.pairs} pairs worse {percent(cell.worse)} passes "
            f"{percent(cell.passed)} no interval {percent(cell.silent)}",
            file=sys.stderr, flush=True,
        )  # fmt: skip
        if chosen.cells:
            chosen.cells.write_text(json.dumps([asdict(one) for one in found]), encoding="utf-8")
    about: dict[str, object] = {
        "draws": chosen.draws, "seed": chosen.seed, "error": 100 * sqrt(0.05 * 0.95 / chosen.draws),
    }  # fmt: skip
    text, table = section(found, about), resolution(found)
    if chosen.write:
        write_section(PAGE, "gates", text)
        write_section(CI, "what a gate resolves", table)
        write_rows("gates", COLUMNS, cell_rows(found))
    print(text, table, sep="\n")
    kept = all(
        (one.worse <= ERROR or one.about in ("printed", "decidable"))
        and (one.passed <= ERROR or one.about == "none")
        for one in found
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
