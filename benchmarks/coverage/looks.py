"""How often somebody who looks after every run calls two equal versions different: simulation,
before and after.

    python benchmarks/coverage/looks.py                # prints a section of docs/coverage.md, some five minutes
    python benchmarks/coverage/looks.py --write        # and writes it, and every cell as looks.csv

`aib compare --by version` measures two versions of a subject together and nobody else. Both are
played run after run; the user looks after each, and stops at the first "is ahead". Before: the
interval of one look. After: that of `look_level`; *beyond sittings*: and what that says holds with
what a board allows for one sitting, too, without which the sentence names days and not the
versions. Other rules were tried on the same draws. Boards: the same of two subjects and of
rankings.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import log, sqrt

import numpy as np
from cells import _pairs_p
from draw import Days, Floats, Generator, draw_boards, models, whole_index
from gate_pairs import of_v2
from methods import measured_boards, stacked
from page import PAGE, markdown, percent, write_rows, write_section

from independence_bench.analysis.statistics.dispersion import Design, pairs_rerun
from independence_bench.analysis.statistics.generalization import holm, pairs_of
from independence_bench.analysis.statistics.hypothesis_tests import look_level
from independence_bench.analysis.statistics.intervals import NORMAL, p_values, tail
from independence_bench.analysis.statistics.shared_effects import SittingEffects

MOST = 20  # runs
SHOWN = (5, 10, MOST)
DROP = 0.08  # of the worse version, where power is counted: points over 100
LIMIT = 0.05
RANKED = 4  # rankings are drawn this many times less often
DAYS = {
    "independent": Days(0.0),
    "shifted": Days(0.19),
    "shifted, half of it lasts": Days(0.19, serial=0.5),
}


def _mixture(runs: float) -> float:
    """The p of a normal mixture's bound (H. Robbins, Annals of Mathematical Statistics 41, 1970),
    at its best at 8.
    """
    known = runs / 8 * 5
    return float(tail(sqrt((1 + 1 / known) * (log(1 + known) - 2 * log(LIMIT))), NORMAL))


OURS, BEYOND = "p x (runs + 2)", "and beyond sittings"
RULES: dict[str, Callable[[int], float]] = {  # runs -> p up to which it is said that one is ahead
    "one look": lambda runs: LIMIT,
    OURS: lambda runs: 1 - look_level(runs),
    "5% spent as 1/(k (k - 1))": lambda runs: LIMIT / (runs * (runs - 1)),
    "mixture": _mixture,
}
SHOWN_RULES = ("one look", OURS, BEYOND)  # on the page; the CSV file has all


def one_sitting(subjects: int) -> SittingEffects:
    """What is believed of that many subjects that were played in one sitting each."""
    nothing = np.zeros(subjects)
    return SittingEffects(nothing, nothing, nothing, nothing + 1)


def looked(
    design: Design, first: Sequence[Floats], second: Sequence[Floats], start: int = 2
) -> Floats:
    """[2, draws, looks]: the p of a rerun after *start*, ... `MOST` runs of each version; and with
    the allowance.
    """
    found, both = [], np.stack([np.array(first), np.array(second)], axis=1)
    for runs in range(start, MOST + 1):
        plain = measured_boards(design, both[:, :, :runs])
        shown = np.array([not board.run_effects.beyond for board in plain])
        for boards in (plain, [replace(board, sittings=one_sitting(2)) for board in plain]):
            sides = [pairs_rerun(board, np.array([1]), np.array([0])) for board in boards]
            known = [side for side in sides if side is not None]
            p = p_values(*(stacked([side[n] for side in known]) for n in (0, 1)))
            found.append(np.where(shown, p.ravel(), 1.0))
    return np.stack([np.stack(found[way::2], axis=1) for way in (0, 1)])


def stopped(p: Floats, rule: Callable[[int], float]) -> Floats:
    """[runs of `SHOWN`]: share of draws in which it was said up to then that one is ahead."""
    said = np.logical_or.accumulate(p <= [rule(runs) for runs in range(2, MOST + 1)], axis=1)
    return np.array([said[:, runs - 2].mean() for runs in SHOWN])


def equal(rng: Generator, draws: int) -> Iterator[tuple[str, Floats]]:
    """(situation, p of looks) of versions that are equal in every scenario."""
    test = whole_index(models())
    for days, of_day in DAYS.items():
        for place in ("low", "middle", "ceiling"):
            if place == "ceiling" and of_day.spread:
                continue
            played = draw_boards(test, rng, draws, 2, MOST, (place,), equal=2, days=of_day).shares
            yield (
                f"v2, {place}; runs {days}",
                looked(test.design, list(played[:, 0]), list(played[:, 1])),
            )


def different(rng: Generator, draws: int) -> Iterator[tuple[str, Floats]]:
    """The same of versions of which the later one is worse by `DROP`."""
    for place in ("middle", "ceiling"):
        drawn = of_v2(place, 0.0)(rng, draws, MOST, MOST, DROP, "alike")
        yield f"v2, {place}", looked(drawn.design, list(drawn.before), list(drawn.after))


def boards(rng: Generator, draws: int) -> Iterator[tuple[str, str, str]]:
    """On a board of 20 equal subjects: a pair that was chosen beforehand, and the ranking, at looks
    2 to 10.
    """
    test, subjects = whole_index(models()), 20
    first, second = pairs_of(subjects)
    played = draw_boards(test, rng, draws, subjects, 10, ("middle",), equal=subjects).shares
    # [pair or ranking, with an allowance or without, boards, looks]
    said = np.zeros((2, 2, draws, 9), dtype=bool)
    for runs in range(2, 11):
        plain = measured_boards(test.design, played[:, :, :runs])
        for allowed, boards in enumerate(
            (plain, [replace(one, sittings=one_sitting(subjects)) for one in plain])
        ):
            pairs = [
                side
                for board in boards
                if (side := pairs_rerun(board, np.array([0]), np.array([1])))
            ]
            p = p_values(*(stacked([side[n] for side in pairs]) for n in (0, 1))).ravel()
            said[0, allowed, :, runs - 2] = p <= LIMIT
            said[1, allowed, :, runs - 2] = [
                holm(p).any() for p in _pairs_p(boards, "rerun", first, second)
            ]
    for name, of in zip(("`aib compare A B`", "a ranking"), said, strict=True):
        for allowance, mine in zip(
            ("without an allowance for sittings", "with it"), of, strict=True
        ):
            yield (
                f"{name}, {allowance}",
                percent(mine[:, 3].mean()),
                percent(mine.any(axis=1).mean()),
            )


# versions, situation, rule, and the percent called different by 5, 10 and 20 runs
Row = tuple[str, ...]


def simulate(rng: Generator, draws: int) -> Iterator[Row]:
    """Every cell."""
    for kind, situations in (
        ("equal", equal(rng, draws)),
        ("worse by 8 points", different(rng, draws)),
    ):
        for situation, p in situations:
            for name, rule in RULES.items():
                yield (kind, situation, name, *map(percent, stopped(p[0], rule)))
            yield (kind, situation, BEYOND, *map(percent, stopped(p[1], RULES[OURS])))
            print(f"{kind}: {situation}: done", file=sys.stderr, flush=True)


def section(cells: Sequence[Row], of_boards: Iterable[Row], draws: int) -> str:
    """What docs/coverage.md says of it: of equal versions the most, of others the least, by how
    runs depend.
    """
    rows = []
    for kind, worst_of in (("equal", max), ("worse by 8 points", min)):
        mine = [cell for cell in cells if cell[0] == kind]
        for runs in dict.fromkeys(one[1].partition("; ")[2] for one in mine):
            some = [one for one in mine if one[1].partition("; ")[2] == runs]
            worst = (
                "/".join(
                    worst_of((one[n] for one in some if one[2] == rule), key=float)
                    for n in (3, 4, 5)
                )
                for rule in SHOWN_RULES
            )
            rows.append((", ".join(filter(None, (kind, runs))), *worst))
    return "\n".join(
        [
            f"{draws:,} pairs of versions a cell; the standard error of a share near 5% is "
            f"{100 * sqrt(0.05 * 0.95 / draws):.1f} points.",
            f"Called different by 5, 10 and {MOST} runs in the worst cell, in %:\n",
            *markdown(("versions", *SHOWN_RULES), rows),
            f'A false "ahead" or "better than" on {draws // RANKED:,} boards of 20 equal subjects, in %:\n',
            *markdown(("", "one look at 5 runs", "looks at 2 to 10 runs"), of_boards),
        ]
    )


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=500, help="pairs of each cell  [default: 500]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help=f"docs/{PAGE.name}, too")
    chosen = parser.parse_args()
    rng = np.random.default_rng(chosen.seed)
    cells = list(simulate(rng, chosen.draws))
    text = section(cells, boards(rng, chosen.draws // RANKED), chosen.draws)
    if chosen.write:
        columns = (
            "versions",
            "situation",
            "rule",
            *(f"said_by_{runs}_runs_percent" for runs in SHOWN),
        )
        write_rows("looks", columns, cells)
        write_section(PAGE, "looks", text)
    print(text)


if __name__ == "__main__":
    main()
