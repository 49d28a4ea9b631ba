"""`aib leaderboard`, for whichever command shows rankings, and `aib scenarios`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import click

from independence_bench.analysis.board import Board, IndexPrice
from independence_bench.api.leaderboards import (
    analyse_selected_scenarios,
    compare_configurations_per_judge,
    read_leaderboard,
)
from independence_bench.api.selection import Selection
from independence_bench.cli.options import (
    configuration_options,
    json_option,
    legend_option,
    print_blocks,
    print_chosen_rows,
    shown_options,
    stored_models_option,
)
from independence_bench.cli.selection import (
    add_selection_options,
    judged_options,
    rules_option,
)
from independence_bench.errors import NotComplete, WrongUse
from independence_bench.lookup import suggest_names
from independence_bench.protocol.scoring import OWN
from independence_bench.report.leaderboard_view import (
    find_rows_by_label,
    render_board,
    render_rule_differences,
)
from independence_bench.report.scenarios_view import render_scenarios
from independence_bench.report.settings_view import render_configurations
from independence_bench.report.table import EVERYTHING, Block, RowFilter


@click.command(name="leaderboard", epilog="Example: aib leaderboard --top 10")
@click.option(
    "-d",
    "--detailed",
    is_flag=True,
    help="Every score, run by run, what it is based on, and what a run costs.",
)
@click.option(
    "--wide",
    is_flag=True,
    help="Also whole labels, how many runs and failed calls, and what a run costs.",
)
@shown_options
@legend_option
@add_selection_options(stored_models_option, judged_options, rules_option, json_option)
def leaderboard(
    detailed: bool,
    wide: bool,
    top: int | None,
    find: str | None,
    legend: bool,
    as_json: bool,
    **selected: Any,
) -> None:
    """Show the ranking of everything that is stored: one table for each configuration and judge.

    --models, --top and --find choose which models are shown, --find by a word of their labels;
    ranks and intervals stay those of all. --json heeds --models alone.

    --rules published also lists every row that our own rules rank or score differently, and why.
    """
    shown = RowFilter(top, find)
    answer = read_leaderboard(Selection(**selected), detailed or wide, detailed or wide or as_json)
    if as_json:
        click.echo(answer.json())
    if not answer.boards:
        raise NotComplete(answer.nothing)
    if not as_json:
        if shown.find and not any(find_rows_by_label(board.rows, shown) for board in answer):
            labels = dict.fromkeys(row.label for board in answer for row in board.rows)
            near = suggest_names(shown.find, labels, "there are")
            raise WrongUse(f"--find: no model has {shown.find} in its label; {near}")
        differences = (
            []
            if answer.rules == OWN.name
            else [render_rule_differences(answer.differences, answer.rules)]
        )
        print_boards(
            answer.boards,
            shown,
            answer.costs,
            differences,
            marks=detailed,
            wide=wide,
            legend=legend,
        )


def print_boards(
    shown_boards: Sequence[Board],
    shown: RowFilter = EVERYTHING,
    priced: Sequence[Sequence[IndexPrice]] = (),
    below: Sequence[Iterator[Block]] = (),
    marks: bool = True,
    wide: bool = False,
    legend: bool = False,
) -> None:
    """Print the leaderboards *shown_boards*, one after the other; then, for each judge with several
    configurations, how these differ, unless *shown* limits the rows; then the blocks *below*.

    *priced*: for each leaderboard, the costs of a run of its ranked models; empty: print no costs.
    *marks*: also print the single scores. *wide*: print all columns. *legend*: explain every
    column.
    """
    configurations = (
        []
        if shown.find or shown.top
        else [
            render_configurations(comparison)
            for comparison in compare_configurations_per_judge(shown_boards)
        ]
    )
    views = [
        render_board(board, shown, of_board, marks, wide)
        for board, of_board in zip_longest(shown_boards, priced)
    ]
    print_blocks(
        *views,
        *configurations,
        *below,
        legend=legend,
        legend_command="aib leaderboard",
    )


@click.command(name="scenarios", epilog="Example: aib scenarios")
@shown_options
@legend_option
@add_selection_options(judged_options, configuration_options, json_option)
def scenarios(
    top: int | None, find: str | None, legend: bool, as_json: bool, **selected: Any
) -> None:
    """Show how hard each scenario is, how many conversations are at an end of its scale, and how it
    goes with the others.

    Over the ranked models of one configuration, for each judge. docs/research/statistics.md
    explains the figures.
    """
    answer = analyse_selected_scenarios(Selection(**selected))
    if as_json:
        click.echo(answer.json())
    else:
        views = [render_scenarios(board, analysis) for board, analysis in answer.measured]
        print_chosen_rows(*views, shown=RowFilter(top, find), legend=legend)
