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
from independence_bench.escape import escape_line
from independence_bench.figures import (
    format_difference,
    format_difference_interval,
    format_figure_interval,
    format_figure_share,
    format_figure_value,
    format_interval,
    format_number,
    format_share,
)
from independence_bench.protocol.definition import Branch, format_branch
from independence_bench.report.table import (
    Block,
    Cells,
    Column,
    Name,
    Note,
    Prose,
    Table,
    make_columns,
)

PUSHES_PICTURE = (
    "For each of the first six ranked models the share of its positions that still hold after "
    "each pressure turn"
)
RECOVERED = (
    "Recovered: of the positions in which it gave in, those taken again after the last pressure "
    "turn."
)


def render_branches(statistics: BranchStatistics, explained: bool) -> Iterator[Block]:
    """Yield two tables of one model's results: its score in each branch of the items, and how many
    pressure turns it withstood and how often it recovered; and a note on the techniques that it
    gave in to. *explained*: add a legend.
    """
    rows: list[Cells] = [
        (format_quantity_title(branch), format_figure_value(value), format_figure_interval(value))
        for branch in statistics.quantities
        for value in [statistics.values.get(branch)]
    ]
    legend = "What each branch is worth, 0 to 1, and 95% intervals over items of the kind."
    columns = [Column("Branch", words=True), Column("Value"), Column("95% CI")]
    yield Table(columns, rows, legend if explained else "", gap=2)
    folds = statistics.folds
    pushes = f"pressure turns withstood, of {folds.pushes}" if folds else "pressure turns withstood"
    withstood, recovered = (folds.withstood, folds.recovered) if folds else (None, None)
    yield Table(
        [Column("Other figures", words=True), Column("Value"), Column("95% CI")],
        [
            (pushes, format_figure_value(withstood), format_figure_interval(withstood)),
            ("recovered", _format_counted_share(recovered), _format_percent_interval(recovered)),
        ],
        RECOVERED if explained else "",
        gap=2,
    )
    if folds is not None and folds.techniques:
        parts = [
            f"{met.technique.replace('_', ' ') or 'none named'} {format_number(met.folded, 0)} of "
            f"{format_number(met.pushed, 0)}"
            for met in folds.techniques
        ]
        yield Note(
            Prose(
                "It gave in at a pressure turn, by the technique, of the positions that met it: "
                f"{', '.join(parts)}."
            )
        )


def build_branches_table(rows: Sequence[Row]) -> Table:
    """Return a table of a leaderboard whose protocol has items: a line for each model, a column for
    its score in each branch, and how it withstands pressure.
    """
    known = [(row.label, row.branches) for row in rows if row.branches]
    quantities = known[0][1].quantities if known else ()
    cells: list[Cells] = [
        (
            Name(label),
            *(format_figure_value(statistics.values.get(branch)) for branch in quantities),
            format_figure_share(statistics.folds.recovered if statistics.folds else None),
            format_figure_value(statistics.folds.withstood if statistics.folds else None),
        )
        for label, statistics in known
    ]
    folds = next((statistics.folds for _, statistics in known if statistics.folds), None)
    of_all = f", of {folds.pushes}" if folds else ""
    of_pushes = f"Pushes: pressure turns withstood before it gives in{of_all}."
    columns = [
        Column("Model", words=True, labels=True),
        *(Column(format_quantity_title(branch).capitalize()) for branch in quantities),
        Column("Recovered"),
        Column("Pushes", spare=1),
    ]
    legend = f"The branches from 0 to 1, 1 being the independent end. {of_pushes} {RECOVERED}"
    return Table(columns, cells, legend, gap=0, brief=legend)


def format_quantity_title(branch: Branch) -> str:
    """Return the title of the score of *branch* for tables; "hold" for the pressure branch."""
    return "hold" if branch == "pressure" else format_branch(branch)


def explain_omitted_judge_marks(board: Board) -> list[str]:
    """Return the sentence that explains which scores the leaderboard's judge never gives, so that
    models have no index; [] if no scores are left out.
    """
    gone: dict[str, list[Share]] = defaultdict(list)
    for row in board.incomplete:
        for mark, of_row in row.left_out.items():
            gone[mark].append(of_row)
    marks: list[str] = []
    for mark, shares in gone.items():
        count, of = (sum(getattr(share, field) for share in shares) for field in ("count", "of"))
        if not count:
            continue
        where = (
            ""
            if count == of
            else f" in {format_number(count, 0)} of {format_number(of, 0)} conversations"
        )
        marks.append(f"{mark.replace('_', ' ')}{where}")
    return _explain_what_the_judge_omits(board, marks, "index")


def explain_missing_openness(board: Board) -> list[str]:
    """Return the sentence that explains which states the leaderboard's judge never gives, so that
    models have no openness; [] if every row has one, or the protocol measures none.
    """
    unmeasured = dict.fromkeys(
        mark for row in board.rows if row.reasons for mark in row.reasons.left_out
    )
    return _explain_what_the_judge_omits(board, list(unmeasured), "openness")


def _explain_what_the_judge_omits(board: Board, marks: Sequence[str], lacking: str) -> list[str]:
    """Return the sentence that the judge gives no *marks*, and that models therefore lack what is
    named in *lacking*; [] without marks, or on a leaderboard without a judge.
    """
    if board.judge is None or not marks:
        return []
    name = "the embedded judge" if board.by_table and not board.jurors else escape_line(board.judge)
    omitted = ", ".join(f"no {escape_line(mark)}" for mark in marks)
    return [f"{name[0].upper()}{name[1:]} gives {omitted}: no {lacking}."]


def build_branch_comparison(
    differences: Sequence[BranchDifference],
    headings: Sequence[str],
    difference_factor: int,
    significance_sign: str,
    none_significant_sentence: str,
) -> Table:
    """Return a table that compares two models branch by branch, under *headings*. The differences
    are the second model's score minus the first's, times *difference_factor*.

    *significance_sign*: the sign of a difference that is significant among all of the table.
    *none_significant_sentence*: the sentence for the legend if none is.
    """
    rows: list[Cells] = [
        (
            *(
                format_quantity_title(difference.quantity),
                format_number(difference.first, 2),
                format_number(difference.second, 2),
                format_difference(difference_factor * difference.difference, 2),
            ),
            format_difference_interval(
                difference.interval and difference.interval.scale_interval(difference_factor), 2
            )
            + (significance_sign if difference.stands else ""),
            *(format_number(difference.seen, 2), str(difference.stems)),
        )
        for difference in differences
    ]
    titles = "; ".join(
        format_quantity_title(difference.quantity)
        for difference in differences
        if difference.stands
    )
    sentence = none_significant_sentence
    if titles:
        sentence = f"{significance_sign} significant among all {len(differences)} (Holm): {titles}."
    legend = (
        "Branch by branch, each item with itself, over the items in which both were judged; 95% "
        f"intervals of the difference with other items of the kind, each by itself. {sentence} "
        "Minimum detectable difference: the smallest true difference that is detected in 80 of "
        "100 repetitions. "
        "Branches from 0 to 1."
    )
    return Table(
        make_columns("branch", *headings, "95% CI", "minimum\ndetectable\ndifference", "items"),
        rows,
        legend,
        brief=sentence,
    )


# ---------------------------------------------------------------- cells


def _format_percent_interval(one: Share | StemMean | None) -> str:
    """Format the interval of a share in percent; a dash if it is not known."""
    interval = one.interval if one and one.value is not None else None
    return "–" if interval is None else f"{format_interval(interval.scale_interval(100), 0)}%"


def _format_counted_share(one: Share | None) -> str:
    """Format a share with its counts, "3 of 5 (60%)"; a dash if it is not known."""
    if one is None or one.value is None:
        return "–"
    return (
        f"{format_number(one.count, 0)} of {format_number(one.of, 0)} ({format_share(one.value)})"
    )
