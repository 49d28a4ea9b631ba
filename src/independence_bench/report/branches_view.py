"""The results of subjects in the branches of their items, for the tables of a leaderboard. Computes
nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.branches import (
    BranchDifference,
    BranchStatistics,
    Share,
    StemMean,
)
from independence_bench.escape import label_text
from independence_bench.figures import (
    between,
    from_to,
    interval_text,
    number,
    share,
    share_text,
    signed,
    value_text,
)
from independence_bench.protocol.definition import Branch, branch_title
from independence_bench.report.table import (
    Block,
    Cells,
    Column,
    Name,
    Note,
    Prose,
    Table,
    columns_of,
)

PUSHES_PICTURE = (
    "For each of the first six ranked subjects the share of its positions that still stand after "
    "each push"
)
RECOVERED = "Recovered: of the positions given up, those taken again after the last push."


def branch_blocks(statistics: BranchStatistics, explained: bool) -> Iterator[Block]:
    """Render one subject's branches, and the other figures besides the index. *explained*: with a
    legend.
    """
    rows: list[Cells] = [
        (quantity_title(branch), value_text(value), interval_text(value))
        for branch in statistics.quantities
        for value in [statistics.values.get(branch)]
    ]
    legend = "What each branch is worth, 0 to 1, and 95% intervals over stems of the kind."
    columns = [Column("Branch", words=True), Column("Value"), Column("95% CI")]
    yield Table(columns, rows, legend if explained else "", gap=2)
    folds = statistics.folds
    pushes = f"pushes withstood, of {folds.pushes}" if folds else "pushes withstood"
    withstood, recovered = (folds.withstood, folds.recovered) if folds else (None, None)
    yield Table(
        [Column("Other figures", words=True), Column("Value"), Column("95% CI")],
        [
            (pushes, value_text(withstood), interval_text(withstood)),
            ("recovered", _counted(recovered), _percents(recovered)),
        ],
        RECOVERED if explained else "",
        gap=2,
    )
    if folds is not None and folds.techniques:
        parts = [
            f"{met.technique.replace('_', ' ') or 'none named'} {number(met.folded, 0)} of "
            f"{number(met.pushed, 0)}"
            for met in folds.techniques
        ]
        yield Note(
            Prose(
                "Folded at a push, by its technique, of the positions that met it: "
                f"{', '.join(parts)}."
            )
        )


def field_table(rows: Sequence[Row]) -> Table:
    """Build a table of branches with a line for each subject, for a leaderboard whose protocol has
    items.
    """
    known = [(row.label, row.branches) for row in rows if row.branches]
    quantities = known[0][1].quantities if known else ()
    cells: list[Cells] = [
        (
            Name(label),
            *(value_text(statistics.values.get(branch)) for branch in quantities),
            share_text(statistics.folds.recovered if statistics.folds else None),
            value_text(statistics.folds.withstood if statistics.folds else None),
        )
        for label, statistics in known
    ]
    folds = next((statistics.folds for _, statistics in known if statistics.folds), None)
    of_pushes = f"Pushes: withstood before it gives way{f', of {folds.pushes}' if folds else ''}."
    columns = [
        Column("Subject", words=True, labels=True),
        *(Column(quantity_title(branch).capitalize()) for branch in quantities),
        Column("Recovered"),
        Column("Pushes", spare=1),
    ]
    legend = f"The branches from 0 to 1, 1 being the independent end. {of_pushes} {RECOVERED}"
    return Table(columns, cells, legend, gap=0, brief=legend)


def quantity_title(branch: Branch) -> str:
    """Return the title of a branch's score; "hold" for the pressure branch."""
    return "hold" if branch == "pressure" else branch_title(branch)


def no_index(board: Board) -> list[str]:
    """Explain in one sentence why subjects have no index by a judge that leaves out some scores; []
    if no scores are left out.
    """
    gone: dict[str, list[Share]] = defaultdict(list)
    for row in board.incomplete:
        for mark, of_row in row.left_out.items():
            gone[mark].append(of_row)
    if not gone or board.judge is None:
        return []
    name = "the embedded judge" if board.by_table and not board.jurors else label_text(board.judge)
    marks: list[str] = []
    for mark, shares in gone.items():
        count, of = (sum(getattr(share, field) for share in shares) for field in ("count", "of"))
        if not count:
            continue
        where = "" if count == of else f" in {number(count, 0)} of {number(of, 0)} conversations"
        marks.append(f"no {label_text(mark.replace('_', ' '))}{where}")
    return [f"{name[0].upper()}{name[1:]} gives {', '.join(marks)}: no index."]


def branches_compared(
    differences: Sequence[BranchDifference],
    headings: Sequence[str],
    factor: int,
    stands: str,
    none_stands: str,
) -> Table:
    """Build the table of two sides under these *headings*, branch by branch, with their
    differences: the second minus the first, times *factor*.

    *stands*: the sign of a difference that is significant among all of the table. *none_stands*:
    the sentence if none is.
    """
    rows: list[Cells] = [
        (
            *(
                quantity_title(difference.quantity),
                number(difference.first, 2),
                number(difference.second, 2),
                signed(factor * difference.difference, 2),
            ),
            from_to(difference.interval and difference.interval.scaled(factor), 2)
            + (stands if difference.stands else ""),
            *(number(difference.seen, 2), str(difference.stems)),
        )
        for difference in differences
    ]
    titles = "; ".join(
        quantity_title(difference.quantity) for difference in differences if difference.stands
    )
    sentence = none_stands
    if titles:
        sentence = f"{stands} significant among all {len(differences)} (Holm): {titles}."
    legend = (
        "Branch by branch, each stem with itself, over the stems in which both were judged; 95% "
        f"intervals of the difference with other stems of the kind, each by itself. {sentence} "
        "detects: the smallest true difference that is detected in 80 of 100 repetitions. "
        "Branches from 0 to 1."
    )
    return Table(
        columns_of("branch", *headings, "95% CI", "detects", "stems"),
        rows,
        legend,
        brief=sentence,
    )


# ---------------------------------------------------------------- cells


def _percents(one: Share | StemMean | None) -> str:
    """Format the interval of a share in percent; a dash if it is absent."""
    interval = one.interval if one and one.value is not None else None
    return "–" if interval is None else f"{between(interval.scaled(100), 0)}%"


def _counted(one: Share | None) -> str:
    """Format a share with its counts, "3 of 5 (60%)"; a dash if it is absent."""
    if one is None or one.value is None:
        return "–"
    return f"{number(one.count, 0)} of {number(one.of, 0)} ({share(one.value)})"
