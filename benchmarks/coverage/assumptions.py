"""What becomes of intervals and rankings where what they take for granted does not hold:
simulation, cell by cell.

    python benchmarks/coverage/assumptions.py
        # prints a section of docs/research/coverage.md, some ten minutes
    python benchmarks/coverage/assumptions.py --write
        # and writes it, and every cell as assumptions.csv

Runs that a day shifts together, subjects who are unlike the others, marks at two ends on tiny
boards, subjects with unequal runs. Boards are drawn as for coverage.md, from the models fitted to
published results.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from cells import ROUNDING, covered, wrong_ranks
from draw import (
    PLACES,
    Boards,
    Days,
    Floats,
    Generator,
    Test,
    draw_boards,
    models,
    one_mark,
    whole_index,
)
from methods import QUESTIONS, measured_boards, our_differences, ours
from page import ERROR, PAGE, PROMISE, TITLES, markdown, percent, write_rows, write_section

from independence_bench.analysis.statistics.dispersion import measure_score_of_subjects

DAYS = (0.0, 0.13, 0.19, 0.26)  # standard deviations of what shifts a run, of the latent variable
RANKED = 2  # boards with a ranking are drawn this many times less often
HOLDS = -0.7  # beyond it a subject holds, else it folds: three in four hold
HEAD = """\
{draws:,} boards a cell ({ranked:,} for rankings), seed {seed}. \
The standard error of a coverage near 95% is
{error:.1f} points, of a share of rankings near 3% {ranked_error:.1f} points. \
The worst cell of each part, in %:
"""

TABLES = {
    "days": "Runs that are not independent",
    "serial": "What no interval can cover",
    "unlike": "Subjects unlike the others",
    "binary": "Held or folded, on tiny boards",
    "wide": "Rankings of equals",
    "unequal": "Unequal runs",
}


@dataclass(frozen=True, slots=True)
class Checked:
    """One cell."""

    table: str
    situation: str
    asked: str  # column
    value: float  # a share
    # whether it counts rankings with something false in them; else it is a coverage
    wrong: bool = False
    draws: int = 0

    @property
    def kept(self) -> bool:
        """Whether the promise is kept, as far as so many draws can tell."""
        bound = ERROR if self.wrong else PROMISE
        error = np.sqrt(bound * (1 - bound) / self.draws)
        return self.value <= bound + error if self.wrong else self.value >= bound - error


def scores(
    table: str, situation: str, test: Test, played: Boards, runs: Sequence[int] = ()
) -> Iterator[Checked]:
    """Coverage of the first subjects' scores by each question, as many as there are places, the
    worst of them.
    """
    boards = measured_boards(test.design, played.shares, runs)
    for question in QUESTIONS:
        limits = ours(boards, question)
        if limits is not None and not np.isnan(played.truth(question)).any():
            coverage, _ = covered(limits, played.truth(question))
            yield Checked(
                table, situation, TITLES[question], float(coverage[:3].min()), draws=len(boards)
            )


def pairs(
    table: str,
    situation: str,
    test: Test,
    played: Boards,
    first: list[int],
    second: list[int],
    few: Sequence[int] = (),
) -> Iterator[Checked]:
    """Coverage of differences by each question, the worst of them."""
    boards = measured_boards(test.design, played.shares, few)
    for question in QUESTIONS:
        limits = our_differences(boards, question, first, second)
        truth = played.truth(question)[:, first] - played.truth(question)[:, second]
        if limits is not None and not np.isnan(truth).any():
            inside = ((limits[0] <= truth + ROUNDING) & (truth <= limits[1] + ROUNDING)).mean(
                axis=0
            )
            yield Checked(
                table, situation, f"difference, {question}", float(inside.min()), draws=len(boards)
            )


def ranking(table: str, situation: str, asked: str, test: Test, shares: Floats) -> Checked:
    """How often a ranking of subjects that are equal says something false, by the same test
    again.
    """
    found = [
        wrong_ranks(
            measure_score_of_subjects(test.design, list(share)), np.zeros(shares.shape[1]), "rerun"
        )
        for share in shares
    ]
    false = max(np.mean(found, axis=0).tolist()[:2])
    return Checked(table, situation, asked, false, wrong=True, draws=len(shares))


def worst(found: Sequence[Checked]) -> Iterator[Checked]:
    """Of cells of one situation the lowest coverage in each column."""
    for asked in dict.fromkeys(checked.asked for checked in found):
        yield min(
            (checked for checked in found if checked.asked == asked), key=lambda one: one.value
        )


def days(rng: Generator, draws: int) -> Iterator[Checked]:
    """A bad day or a provider shifts whole runs, of each subject separately; the worst of three
    places, or pairs.
    """
    test, table = whole_index(models()), TABLES["days"]
    for spread in DAYS:
        for subjects, runs in ((1, 2), (3, 2), (3, 5), (20, 2), (20, 5)):
            places = tuple(PLACES)[:subjects]
            played = draw_boards(test, rng, draws, subjects, runs, places, days=Days(spread))
            said = np.einsum("dk,njrdk->njrk", test.design.weights, played.shares)
            ratio = said.sum(axis=3).var(axis=2, ddof=1).sum() / said.var(axis=2, ddof=1).sum()
            situation = f"variance ratio {ratio:.1f}; {subjects} subjects, {runs} runs"
            yield from scores(table, situation, test, played)
            if subjects > 1:
                yield from pairs(table, situation, test, played, [0, 1, 0], [1, 2, 2])
            if subjects == 20:
                for place in ("low", "middle"):
                    alike = draw_boards(
                        test,
                        rng,
                        max(draws // RANKED, 1),
                        subjects,
                        runs,
                        (place,),
                        equal=subjects,
                        days=Days(spread),
                    )
                    yield ranking(table, situation, f"false ranking, {place}", test, alike.shares)


def serial(rng: Generator, draws: int) -> Iterator[Checked]:
    """Most of a run's shift remains in the next run, or all subjects have the same shift; the worst
    of three places.
    """
    test, table = whole_index(models()), TABLES["serial"]
    for name, kind in (
        ("nine tenths remain in the next run", Days(0.26, serial=0.9)),
        ("the same for all subjects", Days(0.26, common=True)),
    ):
        for runs in (2, 5):
            played = draw_boards(test, rng, draws, 20, runs, tuple(PLACES), days=kind)
            yield from scores(table, f"{name}; 20 subjects, {runs} runs", test, played)


def unlike(rng: Generator, draws: int) -> Iterator[Checked]:
    """One or two that vary, among others that never do; the difference of the first two; the worst
    of two places.
    """
    test, table = whole_index(models()), TABLES["unlike"]
    for noisy, still in ((1, 18), (2, 18), (1, 2), (2, 1)):
        for runs in (2, 3, 5):
            found: list[Checked] = []
            for place in ("low", "middle"):
                played = draw_boards(
                    test, rng, draws, noisy + still, runs, (place,) * min(noisy, 2)
                )
                shares, rerun = played.shares.copy(), played.rerun.copy()
                shares[:, noisy:] = shares[:, noisy:, :1]
                rerun[:, noisy:] = np.einsum(
                    "dk,njdk->nj", test.design.weights, shares[:, noisy:, 0]
                )
                fixed = Boards(shares, rerun, np.full_like(rerun, np.nan))
                situation = f"{noisy} that vary, {still} that never do; {runs} runs"
                found += [
                    *scores(table, situation, test, fixed),
                    *pairs(table, situation, test, fixed, [0], [1]),
                ]
            yield from worst(found)


def binary(rng: Generator, draws: int) -> Iterator[Checked]:
    """Marks at the two ends only, boards of one to three subjects, the worst of three places;
    rankings of equals.
    """
    held = {name: replace(model, thresholds=np.array([HOLDS])) for name, model in models().items()}
    table = TABLES["binary"]
    for number in (1, 2, 3, 15):
        test = one_mark(held["resistance"], number) if number < 15 else whole_index(held)
        for subjects in (1, 2, 3):
            for runs in (2, 3, 5):
                situation = (
                    f"{number} scenario{'s' * (number > 1)}, {subjects} subjects, {runs} runs"
                )
                found = [
                    one
                    for place in PLACES
                    for one in scores(
                        table,
                        situation,
                        test,
                        draw_boards(test, rng, draws, subjects, runs, (place,) * subjects),
                    )
                ]
                yield from worst(found)
                if subjects > 1:
                    alike = draw_boards(test, rng, draws, subjects, runs, ("low",), equal=subjects)
                    yield ranking(table, situation, "false ranking", test, alike.shares)


def wide(rng: Generator, draws: int) -> Iterator[Checked]:
    """Rankings of equal subjects, low ones, because these vary most: v2's marks, and the same held
    or folded.
    """
    held = {name: replace(model, thresholds=np.array([HOLDS])) for name, model in models().items()}
    for name, of in (("v2's marks", models()), ("hold or fold", held)):
        test = whole_index(of)
        for subjects in (5, 20, 60, 130):
            for runs in (2, 5):
                alike = draw_boards(
                    test, rng, max(draws // RANKED, 1), subjects, runs, ("low",), equal=subjects
                )
                yield ranking(
                    TABLES["wide"],
                    f"{name}, {subjects} subjects",
                    f"{runs} runs",
                    test,
                    alike.shares,
                )


def unequal(rng: Generator, draws: int) -> Iterator[Checked]:
    """One subject with fewer runs than the others, and its differences from them; the worst of
    three places.
    """
    table = TABLES["unequal"]
    for name in ("resistance", "internal_consistency"):
        for subjects, number in ((5, 20), (10, 50)):
            for few, runs in ((1, 10), (2, 10), (1, 3)):
                test = one_mark(models()[name], number)
                situation = f"{number} scenarios, {subjects} subjects: {few} against {runs}, {name}"
                found = [
                    one
                    for place in PLACES
                    for one in pairs(
                        table,
                        situation,
                        test,
                        draw_boards(test, rng, draws, subjects, runs, (place, "low", "ceiling")),
                        [0, 0],
                        [1, 2],
                        [few],
                    )
                ]
                yield from worst(found)


PARTS = (days, serial, unlike, binary, wide, unequal)


def section(found: Sequence[Checked], about: dict[str, float]) -> str:
    """What docs/research/coverage.md says of these cells: the worst of each part, and every one
    below the requirement.
    """
    columns = ("the same test again", "another test like it", "a difference", "false ranking")
    rows = []
    for table in dict.fromkeys(checked.table for checked in found):
        mine = [checked for checked in found if checked.table == table]
        by_column = [[one for one in mine if _column(one) == name] for name in columns]
        rows.append((table, *map(_worst, by_column)))
    broken = [
        f"- {checked.table}: {checked.situation}: {checked.asked} {percent(checked.value)}%"
        for checked in found
        if not checked.kept
    ]
    return "\n".join(
        [
            HEAD.format(**about),
            *markdown(("", *columns), rows),
            "Cells that miss the requirement by more than a standard error:\n",
            *(broken or ["None."]),
        ]
    )


def _column(one: Checked) -> str:
    if one.wrong:
        return "false ranking"
    return "a difference" if one.asked.startswith("difference") else one.asked


def _worst(found: Sequence[Checked]) -> str:
    worst_of = max if any(checked.wrong for checked in found) else min
    return percent(worst_of(checked.value for checked in found)) if found else ""


def main() -> int:
    """Simulate and print; exit code 1 where a promise is not kept that could be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--draws", type=int, default=1000, help="boards of each cell  [default: 1000]"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument(
        "--write", action="store_true", help=f"docs/{PAGE.name} and assumptions.csv, too"
    )
    chosen = parser.parse_args()
    found: list[Checked] = []
    for number, part in enumerate(PARTS):
        if part.__name__ in chosen.only:
            found += part(np.random.default_rng([chosen.seed, number]), chosen.draws)
            print(f"{part.__name__}: done", file=sys.stderr, flush=True)
    ranked = max(chosen.draws // RANKED, 1)
    about = {
        "draws": chosen.draws,
        "ranked": ranked,
        "seed": chosen.seed,
        "error": 100 * np.sqrt(0.95 * 0.05 / chosen.draws),
        "ranked_error": 100 * np.sqrt(0.03 * 0.97 / ranked),
    }
    text = section(found, about)
    if chosen.write:
        write_section(PAGE, "assumptions", text)
        write_rows(
            "assumptions",
            ("table", "situation", "figure", "percent", "meets_requirement"),
            (
                (o.table, o.situation, o.asked, percent(o.value), "yes" if o.kept else "no")
                for o in found
            ),
        )
    print(text)
    return 0 if all(checked.kept for checked in found if checked.table != TABLES["serial"]) else 1


if __name__ == "__main__":
    sys.exit(main())
