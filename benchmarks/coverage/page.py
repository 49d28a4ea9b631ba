"""What the simulations came to: a page of Markdown that sums it up, every cell as CSV, a few lines for the terminal."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from cells import OURS, Cell, Family
from draw import PLACES

PROMISE = 0.93  # coverage of what is called 95%, in every cell
ERROR = 0.05  # of rankings with anything false in them
TITLES = {"again": "the same test again", "another": "another test like it"}
HEAD = """\
# How often do the intervals hold?

Made by `python benchmarks/coverage{arguments}` with {draws:,} draws a cell ({slow:,} for methods that resample) and
seed {seed}, in {minutes:.0f} minutes; do not edit. How boards are drawn, and why our method was chosen:
[the methods](statistics-methods.md#how-the-methods-were-chosen).

{short}
A *cell* is one situation: a test (one mark, or the index), the place of a subject, and the numbers of
subjects on the board, of scenarios and of runs. Places are *low*, *middle* and *ceiling*: -1.5, 0 and +1.5 standard
deviations of subjects; at the ceiling most marks are the highest. *Coverage* is the share of draws whose 95%
interval contains the true value; the requirement is {promise:.0f}% in every cell. The *oracle* is the central 95%
of the true errors, which nobody can know from the marks alone: at the ceiling a few marks look the same whether a
subject always gets a 10 or nearly always.
"""
SHORT = """\
**In short.** Of {cells:,} cells, {kept:,} meet the requirement; the lowest coverage is {lowest}%. Of rankings, at
most {wrong}% contain a false "better than"; at most 5% may. The intervals are wider than the narrowest possible
ones, by a median factor of {narrow:.2f} to {wide:.2f}. Usual methods meet the requirement in far fewer cells (*Other
methods*). Three more pages: [where assumptions fail](coverage-assumptions.md), [the errors of a
gate](coverage-gates.md), [the exam of judges](coverage-exam.md).
"""
EVERY = """\
Every cell is in [cells.csv](../benchmarks/coverage/cells.csv), every kind of ranking in
[rankings.csv](../benchmarks/coverage/rankings.csv).
"""


def percent(share: float) -> str:
    """One decimal."""
    return f"{100 * share:.1f}"


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table, its first column to the left."""
    yield "| " + " | ".join(columns) + " |"
    yield "|---" + "|--:" * (len(columns) - 1) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def page(cells: Sequence[Cell], families: Sequence[Family], about: dict[str, object]) -> str:
    """The whole page."""
    head = HEAD.format(promise=100 * PROMISE, short=_short(cells, families), **about)
    return "\n".join([head, *_summary(cells, families), EVERY])


def _short(cells: Sequence[Cell], families: Sequence[Family]) -> str:
    """The result in a paragraph; "" where a part of it was not simulated."""
    groups = [mine for _, mine in _groups(cells)]
    if not groups or not families:
        return ""
    coverages = [one.coverage for mine in groups for one in mine]
    medians = [_median(mine) for mine in groups]
    return SHORT.format(
        cells=len(coverages),
        kept=sum(one >= PROMISE for one in coverages),
        lowest=percent(min(coverages)),
        wrong=percent(max(one.error for one in families)),
        narrow=min(medians),
        wide=max(medians),
    )


def promises(cells: Sequence[Cell], families: Sequence[Family]) -> list[tuple[str, float, float, bool]]:
    """(about, value, bound, kept) of every promise, the worst cell of each; shares."""
    found = []
    for name, mine in _groups(cells):
        worst = min(one.coverage for one in mine)
        found.append((f"{name}: lowest", worst, PROMISE, worst >= PROMISE))
    for question, title in TITLES.items():
        if errors := [one.error for one in families if one.question == question]:
            found.append((f"ranking, {title}: most wrong", max(errors), ERROR, max(errors) <= ERROR))
    return found


def _groups(cells: Sequence[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    """Ours, by kind; one judge's interval does not cover other judges."""
    ours = [one for one in cells if one.method == OURS and one.judges != 1]
    kinds: dict[str, Callable[[Cell], bool]] = {
        "marks": lambda one: one.test not in ("index", "difference", "published subjects"),
        "index": lambda one: one.test == "index" and not one.judges,
        "published subjects": lambda one: one.test == "published subjects",
        "differences": lambda one: one.test == "difference",
        "several judges": lambda one: one.judges > 1 and not one.lacking,
        "incomplete juries": lambda one: one.lacking > 0,
    }
    for kind, belongs in kinds.items():
        for question, title in TITLES.items():
            if mine := [one for one in ours if belongs(one) and one.question == question]:
                yield f"{kind}, {title}", mine


def _summary(cells: Sequence[Cell], families: Sequence[Family]) -> Iterator[str]:
    yield "## Our intervals\n"
    rows = []
    for name, mine in _groups(cells):
        worst = min(mine, key=lambda one: one.coverage)
        where = f"{worst.place.replace('anybody', 'any')}, {_counted(worst)}"
        mean = float(np.mean([one.coverage for one in mine]))
        rows.append((name, str(len(mine)), percent(worst.coverage), where, percent(mean), f"{_median(mine):.2f}"))
    yield from markdown(("", "cells", "lowest coverage, %", "where", "mean, %", "median width / oracle"), rows)
    yield from _ranking(families)
    yield from _contest(cells)
    yield from _ends(cells)
    yield from _usual(cells)
    yield from _one_judge(cells)
    yield from _incomplete(cells)


def _counted(cell: Cell) -> str:
    what = "" if cell.test in ("index", "difference", "published subjects") else f"{_title(cell.test)}, "
    judges = f", judges {cell.judges}" if cell.judges else ""
    return f"{what}subjects {cell.subjects}, scenarios {cell.scenarios}, runs {cell.runs}{judges}"


def _title(mark: str) -> str:
    return mark.replace("_", " ")


def _median(cells: Sequence[Cell]) -> float:
    return float(np.nanmedian([one.ratio for one in cells]))


def _ranking(families: Sequence[Family]) -> Iterator[str]:
    if not families:
        return
    yield 'Rankings with at least one false "better than", % (at most 5 may), and pairs told apart, %:\n'
    rows = []
    for equal in ("all", "half"):
        for question, title in TITLES.items():
            mine = [one for one in families if one.equal == equal and one.question == question]
            sizes = sorted({one.subjects for one in mine})
            wrong = [max(one.error for one in mine if one.subjects == size) for size in sizes]
            apart = [np.mean([one.apart for one in mine if one.subjects == size]) for size in sizes]
            row = (f"{percent(e)} ({percent(float(a))})" for e, a in zip(wrong, apart, strict=True))
            rows.append((f"{equal} equal, {title}", *row))
    sizes = sorted({one.subjects for one in families})
    yield from markdown(("most often wrong (told apart)", *(f"{size} subjects" for size in sizes)), rows)


def _contest(cells: Sequence[Cell]) -> Iterator[str]:
    methods = _methods(cells)
    if len(methods) < 2:
        return
    yield "## Other methods\n"
    yield (
        "One mark, 20 subjects, 2 to 10 runs, 2 to 50 scenarios, all three places. *Kept*: cells of at least 93%.\n"
        "*Narrowest*: cells in which the method is the narrowest of those that reach 93% there.\n"
    )
    for question, title in TITLES.items():
        by_cell: dict[object, list[Cell]] = defaultdict(list)
        for one in _marks(cells):
            if one.question == question and one.subjects == 20 and one.runs > 1:
                by_cell[one.test, one.place, one.scenarios, one.runs].append(one)
        narrowest = [
            min(holding, key=lambda one: one.width).method
            for found in by_cell.values()
            if (holding := [one for one in found if one.coverage >= PROMISE])
        ]
        rows = []
        for method in methods:
            mine = [one for found in by_cell.values() for one in found if one.method == method]
            rows.append(
                (
                    f"**{method}**" if method == OURS else method,
                    percent(min(one.coverage for one in mine)),
                    percent(float(np.mean([one.coverage for one in mine]))),
                    f"{100 * np.mean([one.coverage >= PROMISE for one in mine]):.0f}",
                    f"{_median(mine):.2f}",
                    f"{100 * narrowest.count(method) / max(len(narrowest), 1):.0f}",
                )
            )
        columns = (title, "lowest, %", "mean, %", "kept, %", "median width / oracle", "narrowest, %")
        yield from markdown(columns, rows)


def _ends(cells: Sequence[Cell]) -> Iterator[str]:
    methods = _methods(cells)
    if len(methods) < 2:
        return
    yield "At the ceiling, where most marks are 10, mean coverage in %:\n"
    for question, by, values in (("again", "runs", (2, 3, 5, 10)), ("another", "scenarios", (2, 3, 5, 10, 20, 50))):
        rows = []
        for method in methods:
            row = []
            for value in values:
                mine = [
                    one.coverage
                    for one in _marks(cells)
                    if one.question == question
                    and one.place == "ceiling"
                    and one.subjects == 20
                    and one.runs > 1
                    and one.method == method
                    and getattr(one, by) == value
                ]
                row.append(percent(float(np.mean(mine))) if mine else "")
            rows.append((method, *row))
        yield from markdown((TITLES[question], *(f"{value} {by}" for value in values)), rows)


def _usual(cells: Sequence[Cell]) -> Iterator[str]:
    mine = [one for one in cells if one.test == "index" and one.question == "again" and one.subjects == 20]
    mine = [one for one in mine if one.runs > 1 and not one.judges]
    methods = [method for method in _methods(mine) if method != OURS]
    if not methods:
        return
    yield "The usual intervals of a benchmark's mean over runs, for the index (v2, 20 subjects): coverage in %"
    yield "(width / oracle), mean of the three places. *ours* also uses single conversations and other subjects:\n"
    runs = sorted({one.runs for one in mine})
    rows = []
    for method in (OURS, *methods):
        row = []
        for number in runs:
            some = [one for one in mine if one.method == method and one.runs == number]
            coverage, ratio = (float(np.mean([getattr(one, what) for one in some])) for what in ("coverage", "ratio"))
            row.append(f"{percent(coverage)} ({ratio:.2f})")
        rows.append((method, *row))
    yield from markdown((TITLES["again"], *(f"{number} runs" for number in runs)), rows)


def _one_judge(cells: Sequence[Cell]) -> Iterator[str]:
    mine = [one for one in cells if one.judges and not one.lacking]
    if not mine:
        return
    yield "## Judges\n"
    yield "Coverage in % of the index that the mean of all possible judges would give, five runs. The interval of one"
    yield "judge's marks does not include the differences between judges; from two judges on it does:\n"
    rows = []
    for subjects in sorted({one.subjects for one in mine}):
        for question, title in TITLES.items():
            row = []
            for judges in sorted({one.judges for one in mine}):
                some = {
                    one.place: one
                    for one in mine
                    if (one.subjects, one.question, one.judges) == (subjects, question, judges)
                }
                row.append(_three([some[place] for place in PLACES]))
            rows.append((f"{title}, {subjects} subjects", *row))
    columns = (f"{number} judge{'s' if number > 1 else ''}" for number in sorted({one.judges for one in mine}))
    yield from markdown(("low / middle / ceiling (widths / oracle)", *columns), rows)


def _incomplete(cells: Sequence[Cell]) -> Iterator[str]:
    mine = [one for one in cells if one.lacking]
    if not mine:
        return
    yield "The same where the last of three judges has marked half of the transcripts:\n"
    rows = []
    for subjects, runs in sorted({(one.subjects, one.runs) for one in mine}):
        some = [one for one in mine if (one.subjects, one.runs) == (subjects, runs)]
        row = (_three([one for one in some if one.question == question]) for question in TITLES)
        rows.append((f"{subjects} subjects, {runs} runs", *row))
    yield from markdown(("low / middle / ceiling (widths / oracle)", *TITLES.values()), rows)


def _three(cells: Sequence[Cell]) -> str:
    coverage = " / ".join(percent(one.coverage) for one in cells)
    return f"{coverage} ({' / '.join(f'{one.ratio:.2f}' for one in cells)})"


def _marks(cells: Sequence[Cell]) -> list[Cell]:
    return [one for one in cells if one.test not in ("index", "difference", "published subjects")]


def _methods(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(one.method for one in cells))


def write_cells(folder: Path, cells: Sequence[Cell], families: Sequence[Family]) -> None:
    """Every cell that the page sums up, as `cells.csv` and `rankings.csv` in *folder*; percents and ratios rounded."""
    columns = ("test", "question", "place", "subjects", "scenarios", "runs", "method")
    with (folder / "cells.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*columns, "coverage_percent", "width_over_oracle"))
        for one in cells:
            if not one.judges and (one.method == OURS or one.subjects == 20):
                ratio = "" if np.isnan(one.ratio) else f"{one.ratio:.2f}"
                writer.writerow((*(getattr(one, name) for name in columns), percent(one.coverage), ratio))
    columns = ("question", "place", "subjects", "equal", "runs")
    with (folder / "rankings.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*columns, "wrong_percent", "told_apart_percent"))
        for family in families:
            writer.writerow(
                (*(getattr(family, name) for name in columns), percent(family.error), percent(family.apart))
            )
