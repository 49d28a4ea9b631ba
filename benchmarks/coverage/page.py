"""What the simulations came to: a section of docs/research/coverage.md, every cell as CSV, a few
lines for the terminal.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import fill

import numpy as np
from cells import OURS, Cell, Family

PROMISE = 0.93  # coverage of what is called 95%, in every cell
ERROR = 0.05  # of rankings with anything false in them
MEASURED = ("coverage_percent", "width_over_oracle")
TITLES = {"rerun": "the same test again", "new_scenarios": "another test like it"}
HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "research" / "coverage.md"
HEAD = """\
{draws:,} draws a cell ({slow:,} for methods that resample), seed {seed}, {minutes:.0f} minutes. \
{kept:,} of {cells:,}
cells meet the requirement; the lowest coverage is {lowest}%. \
In at most {wrong}% of rankings the best subject is
not among those that may be first, or a row has wrong possible ranks; \
in at most {error:.0f}% it may be so.
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


def summary(cells: Sequence[Cell], families: Sequence[Family], about: dict[str, object]) -> str:
    """What docs/research/coverage.md says of these cells."""
    coverages = [one.coverage for _, mine in _groups(cells) for one in mine]
    head = HEAD.format(
        cells=len(coverages),
        kept=sum(coverage >= PROMISE for coverage in coverages),
        lowest=percent(min(coverages)),
        wrong=percent(max(family.error for family in families)),
        error=100 * ERROR,
        **about,
    )
    return "\n".join([head, *_summary(cells)])


def write_section(page: Path, name: str, text: str) -> None:
    """Put *text* between the markers of *name* in *page*, in place of what is there."""
    begin, end = f"<!-- {name}: written by benchmarks/coverage -->\n", f"<!-- end of {name} -->\n"
    before, rest = page.read_text(encoding="utf-8").split(begin)
    page.write_text(
        f"{before}{begin}\n{text.strip()}\n\n{end}{rest.split(end)[1]}", encoding="utf-8"
    )


def write_rows(name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write every cell of a table as NAME.csv beside this file."""
    with (HERE / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def promises(
    cells: Sequence[Cell], families: Sequence[Family]
) -> list[tuple[str, float, float, bool]]:
    """(about, value, bound, kept) of every promise, the worst cell of each; shares."""
    found = []
    for name, mine in _groups(cells):
        worst = min(one.coverage for one in mine)
        found.append((f"{name}: lowest", worst, PROMISE, worst >= PROMISE))
    for question, title in TITLES.items():
        if errors := [family.error for family in families if family.question == question]:
            found.append(
                (f"ranking, {title}: most wrong", max(errors), ERROR, max(errors) <= ERROR)
            )
    return found


def _groups(cells: Sequence[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    """Ours, by kind; one judge's interval does not cover other judges."""
    ours = [cell for cell in cells if cell.method == OURS and cell.judges != 1]
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


def _summary(cells: Sequence[Cell]) -> Iterator[str]:
    """The worst cell of each kind; the lowest coverage of other methods, and under other judges."""
    rows: dict[str, list[str]] = {}
    for name, mine in _groups(cells):
        kind, _, _ = name.partition(", ")
        rows.setdefault(kind, []).extend(
            (percent(min(one.coverage for one in mine)), f"{_median(mine):.2f}")
        )
    columns = [
        f"{title}: {what}" for title in TITLES.values() for what in ("lowest, %", "width / oracle")
    ]
    yield from markdown(
        ("", *columns), ((kind, *row, *("",) * (4 - len(row))) for kind, row in rows.items())
    )
    yield from _contest(cells)
    yield from _of_judges(cells)


def _median(cells: Sequence[Cell]) -> float:
    return float(np.nanmedian([cell.ratio for cell in cells]))


def _contest(cells: Sequence[Cell]) -> Iterator[str]:
    mine = [mark for mark in _marks(cells) if mark.subjects == 20 and mark.runs > 1]
    methods = list(dict.fromkeys(one.method for one in mine))
    if len(methods) < 2:
        return
    lowest = (
        " and ".join(
            percent(
                min(
                    one.coverage for one in mine if (one.method, one.question) == (method, question)
                )
            )
            for question in TITLES
        )
        for method in methods
    )
    said = (f"{method} {of}" for method, of in zip(methods, lowest, strict=True))
    yield (
        fill(
            f"Other methods, one mark: lowest coverage, both questions, in %: {'; '.join(said)}.",
            120,
        )
        + "\n"
    )


def _of_judges(cells: Sequence[Cell]) -> Iterator[str]:
    mine = [cell for cell in cells if cell.judges and not cell.lacking and cell.question == "rerun"]
    lowest = (
        f"{judges} judge{'s' * (judges > 1)} "
        f"{percent(min(one.coverage for one in mine if one.judges == judges))}"
        for judges in sorted({one.judges for one in mine})
    )
    if mine:
        yield f"Of the index by the mean of all possible judges, five runs: {', '.join(lowest)}.\n"


def _marks(cells: Sequence[Cell]) -> list[Cell]:
    return [
        cell for cell in cells if cell.test not in ("index", "difference", "published subjects")
    ]


def write_cells(cells: Sequence[Cell], families: Sequence[Family]) -> None:
    """Every cell that the page sums up: percents and ratios, rounded."""
    columns = ("test", "question", "place", "subjects", "scenarios", "runs", "method")
    mine = [
        cell for cell in cells if not cell.judges and (cell.method == OURS or cell.subjects == 20)
    ]
    write_rows(
        "cells", (*columns, *MEASURED), ((*_named(one, columns), *_measured(one)) for one in mine)
    )
    columns = ("question", "place", "subjects", "runs", "judges", "lacking")
    mine = [cell for cell in cells if cell.judges]
    write_rows(
        "judges", (*columns, *MEASURED), ((*_named(one, columns), *_measured(one)) for one in mine)
    )
    columns = ("question", "place", "subjects", "equal", "runs")
    rows = (
        (
            *_named(family, columns),
            *map(percent, (family.error, family.left_out, family.rows_wrong, family.may_be_first)),
        )
        for family in families
    )
    found = ("wrong", "best_left_out", "rows_wrong", "may_be_first")
    write_rows("rankings", (*columns, *(f"{name}_percent" for name in found)), rows)


def _named(one: Cell | Family, columns: Sequence[str]) -> Iterator[object]:
    return (getattr(one, name) for name in columns)


def _measured(one: Cell) -> tuple[str, str]:
    return percent(one.coverage), "" if np.isnan(one.ratio) else f"{one.ratio:.2f}"
