"""`aib leaderboard` on a terminal and as JSON: rankings, incomplete subjects, every score run by
run.

Computes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from independence_bench.analysis.board import Board, IndexPrice, Row, RuleDifference
from independence_bench.analysis.compare_settings import ConfigurationComparison
from independence_bench.figures import format_count, format_interval, format_number
from independence_bench.protocol.definition import Configuration
from independence_bench.report.board_notes import (
    build_board_legend,
    describe_delivery_problems,
    describe_leader,
    describe_reasoning_mismatches,
)
from independence_bench.report.board_view import (
    NEW,
    SAME,
    build_health_table,
    build_marks_table,
    build_ranking_table,
    build_unranked_table,
    describe_foreign_rules,
    describe_judge,
    describe_unranked_counts,
    make_exam_legend,
    split_incomplete_and_excluded,
)
from independence_bench.report.branches_view import (
    explain_missing_openness,
    explain_omitted_judge_marks,
    render_branches,
)
from independence_bench.report.encode import convert_value_one_level, format_json
from independence_bench.report.settings_view import render_prices
from independence_bench.report.table import (
    EVERYTHING,
    Block,
    Cells,
    Column,
    Entries,
    Name,
    Note,
    Prose,
    RowFilter,
    Strong,
    Table,
    Title,
)


def find_rows_by_label(rows: Sequence[Row], shown: RowFilter) -> list[Row]:
    """Return the leaderboard rows whose labels contain the word that the user searches for; all of
    them if there is no such word.
    """
    return [row for row in rows if shown.has_word(row.label)]


def render_board(
    board: Board,
    shown: RowFilter = EVERYTHING,
    priced: Sequence[IndexPrice] | None = None,
    marks: bool = True,
    wide: bool = False,
) -> Iterator[Block]:
    """Yield the output blocks of one leaderboard for a terminal: the ranking and the models that
    are not ranked, as far as *shown* chooses them.

    *priced*: the cost of a run of each ranked model; None: it is not shown. *marks*: also show
    every score, run by run, and what each row is based on. *wide*: the ranking has all columns.
    """
    configuration = " + ".join(str(c) for c in board.configurations)
    rows = find_rows_by_label(board.ranked, shown)[: shown.top]
    yield Title(
        ("Independence Index · ", Prose(board.shown_protocol_name)),
        aside=(" (", Prose(board.protocol.title), ")"),
    )
    yield Note(Prose(describe_leader(board)), style="")
    yield Note(
        " · ".join(
            [configuration, f"judge: {describe_judge(board)}", *describe_foreign_rules(board)]
        )
    )
    yield from make_exam_legend(board)
    if rows:
        yield build_ranking_table(board, rows, wide=wide)
        if len(rows) < (of := len(board.ranked) + len(board.unshown)):
            yield Note(f"Shown: {len(rows)} of {format_count(of, 'ranked model')}.")
        yield build_board_legend(board)
        yield from (Note(Prose(line)) for line in explain_missing_openness(board))
        if len(board.configurations) > 1:
            yield Title("Index by configuration")
            yield _build_configuration_indices(board, rows)
    missing = find_rows_by_label(board.incomplete, shown)
    listing = shown.top is None or not board.ranked
    if priced is not None:
        judged = [row for row in (missing if listing else ()) if row.health.transcripts_judged]
        for place, row in enumerate([*rows, *judged] if marks else ()):
            yield from render_subject(board, row, explained=not place)
        if marks and (rows or judged):
            yield Title("Behind the numbers")
            yield build_health_table([*rows, *judged])
        if rows:
            yield Title("What a run costs")
            yield from render_prices(
                [price for price in priced if price.label in {row.label for row in rows}], board
            )
    if missing and listing:
        lacking, excluded = split_incomplete_and_excluded(missing)
        if lacking:
            yield Title("Incomplete, not ranked")
            yield from (
                Note(Prose(line))
                for line in (
                    *explain_omitted_judge_marks(board),
                    *describe_reasoning_mismatches(lacking),
                    *describe_delivery_problems(lacking),
                )
            )
            yield build_unranked_table(board.protocol, lacking)
        if excluded:
            yield Title("Excluded, not ranked")
            yield build_unranked_table(board.protocol, excluded, "Why")
    elif missing:
        yield Note(f"Not ranked: {describe_unranked_counts(missing)}")
    if shown.find and not rows and not missing:
        yield Note(Prose(f"No model here has {shown.find} in its label."))


def _build_configuration_indices(board: Board, rows: Sequence[Row]) -> Table:
    """Return a table with a row for each of the ranked *rows*, a column for each configuration of a
    pooled leaderboard, and the model's index in that configuration.
    """

    def format_index(row: Row, configuration: Configuration) -> str:
        """Format the index of a leaderboard row in one configuration, with its 95% CI (same
        scenarios) in brackets.
        """
        sure = row.uncertainty_by_configuration.get(configuration)
        interval = f" ({format_interval(sure.rerun, 0)})" if sure and sure.rerun else ""
        return f"{format_number(row.by_configuration[configuration].index, 1)}{interval}"

    letters = [chr(ord("A") + number) for number in range(len(board.configurations))]
    named = ", ".join(
        f"{letter} {c}" for letter, c in zip(letters, board.configurations, strict=True)
    )
    return Table(
        [Column("Model", words=True, labels=True), *map(Column, letters)],
        [(Name(row.label), *(format_index(row, c) for c in board.configurations)) for row in rows],
        brief := f"{named}. In brackets: {SAME}. The ranking is by all of them together.",
        brief=brief,
    )


# ---------------------------------------------------------------- in detail


def render_subject(board: Board, row: Row, explained: bool) -> Iterator[Block]:
    """Yield the output blocks of one model on a leaderboard: its scores run by run, its dimensions
    with intervals, and its branches. *explained*: explain what the branches mean.
    """
    yield Title(Name(row.label))
    yield build_marks_table(board.protocol, row)
    sure = row.uncertainty
    if sure.dimensions:
        cells: list[Cells] = [
            (
                Prose(d.title),
                format_number(
                    None if (value := row.dimensions.get(d.name)) is None else 100 * value, 1
                ),
                *(format_interval(one.rerun), format_interval(one.new_scenarios)),
            )
            for d in board.protocol.dimensions
            if (
                one := sure.dimensions[d.name].scale_intervals(100)
                if d.name in sure.dimensions
                else None
            )
        ]
        whole = (
            format_number(row.index, 1),
            format_interval(sure.index.rerun),
            format_interval(sure.index.new_scenarios),
        )
        cells.append(tuple(Strong(cell) for cell in ("index", *whole)))
        yield Note("")
        yield Table(
            [
                Column("Dimension", words=True),
                *map(Column, ("Value", SAME, NEW)),
            ],
            cells,
        )
    if row.branches:
        yield Note("")
        yield from render_branches(row.branches, explained)


# ---------------------------------------------------------------- for programs


def format_boards_json(
    boards: Sequence[Board],
    differing: Sequence[RuleDifference] | None = None,
    compared: Sequence[ConfigurationComparison] = (),
    detailed: Sequence[Sequence[IndexPrice]] = (),
) -> str:
    """Return all leaderboards *boards* as JSON. *compared*: for each judge the comparison of its
    configurations, if there are several.

    Indices are in [0, 100], dimensions in [0, 1], means on the scales of their scores. *differing*:
    the rows in which our own rules differ from those of the leaderboards; None if the leaderboards
    are by our own rules. *detailed*: for each leaderboard the cost of a run of its ranked models.
    """
    every = [convert_value_one_level(board) for board in boards]
    for values, priced in zip(every, detailed, strict=False):
        values["dollars_a_run"] = priced
    shown: dict[str, Any] = {"boards": every}
    if compared:
        shown["configurations_compared"] = compared
    if differing is not None:
        shown["where_own_rules_differ"] = differing
    return format_json(shown)


def build_board_values(board: Board) -> dict[str, Any]:
    """Return one leaderboard as a dictionary of values for JSON."""
    values: dict[str, Any] = convert_value_one_level(board)
    return values


def render_rule_differences(differences: Sequence[RuleDifference], rules: str) -> Iterator[Block]:
    """Yield a title and a list of the models whose index differs between the scoring rules named
    *rules* and our own rules, with the reasons.
    """
    yield Title(f"Where our own rules differ from the {rules} ones")
    if not differences:
        yield Note("In no row.")
    yield Entries(
        [
            (
                (
                    Name(difference.label),
                    (
                        f": {format_number(difference.index, 1)}, ours "
                        f"{format_number(difference.own_index, 1)}"
                    ),
                ),
                [Prose(why) for why in difference.why],
            )
            for difference in differences
        ]
    )
