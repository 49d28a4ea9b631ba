"""`aib leaderboard`, for whichever command shows rankings, and `aib scenarios`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import click

from independence_bench.analysis.board import Board, IndexPrice
from independence_bench.analysis.item_analysis import measure_board
from independence_bench.api.leaderboards import compared_in, read_leaderboard
from independence_bench.api.selection import Selection, configured_boards
from independence_bench.cli.options import (
    configuration_options,
    json_option,
    legend_option,
    say,
    show,
    show_chosen,
    shown_options,
    stored_models_option,
)
from independence_bench.cli.selection import (
    judged_options,
    rules_option,
    selecting,
)
from independence_bench.errors import WrongUse
from independence_bench.lookup import instead
from independence_bench.protocol.scoring import OWN
from independence_bench.report.leaderboard_view import (
    board_view,
    differences_view,
    matching,
)
from independence_bench.report.scenarios_view import scenarios_blocks, scenarios_json
from independence_bench.report.settings_view import configurations_view
from independence_bench.report.table import EVERYTHING, Block, Shown


@click.command(name="leaderboard")
@click.option(
    "-d",
    "--detailed",
    is_flag=True,
    help="Every mark, run by run, what it is based on, and what a run costs.",
)
@click.option(
    "--wide",
    is_flag=True,
    help="What each row is based on: replies, reasoning tokens, failures, and what a run costs.",
)
@shown_options
@legend_option
@selecting(stored_models_option, judged_options, rules_option, json_option)
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
    shown = Shown(top, find)
    answer = read_leaderboard(Selection(**selected), detailed or wide, detailed or wide or as_json)
    if as_json:
        click.echo(answer.json())
    elif answer.boards:
        if shown.find and not any(matching(board.rows, shown) for board in answer):
            labels = dict.fromkeys(row.label for board in answer for row in board.rows)
            near = instead(shown.find, labels, "there are")
            raise WrongUse(f"--find: no subject has {shown.find} in its label; {near}")
        differences = (
            [] if answer.rules == OWN.name else [differences_view(answer.differences, answer.rules)]
        )
        print_boards(answer.boards, shown, answer.costs, differences, marks=detailed, legend=legend)
    else:
        say(answer.nothing)


def print_boards(
    shown_boards: Sequence[Board],
    shown: Shown = EVERYTHING,
    priced: Sequence[Sequence[IndexPrice]] = (),
    below: Sequence[Iterator[Block]] = (),
    at: str = "",
    marks: bool = True,
    legend: bool = False,
) -> None:
    """Print the leaderboards *shown_boards*, one after the other, then a comparison of
    configurations for each judge that has several.

    *priced*: for each leaderboard, the cost of a run of its ranked subjects; empty: without
    details. *below*: more blocks to print. *marks*: with the single scores. *at*: the store, as a
    command names it.
    """
    configurations = (
        []
        if shown.find or shown.top
        else [configurations_view(comparison) for comparison in compared_in(shown_boards)]
    )
    views = [
        board_view(board, shown, of_board, marks)
        for board, of_board in zip_longest(shown_boards, priced)
    ]
    show(*views, *configurations, *below, legend=legend, command=f"aib leaderboard{at}")


@click.command(name="scenarios")
@shown_options
@legend_option
@selecting(judged_options, configuration_options, json_option)
def scenarios(
    top: int | None, find: str | None, legend: bool, as_json: bool, **selected: Any
) -> None:
    """Show how hard each scenario is, how many conversations are at an end of its scale, and how it
    goes with the others.

    Over the ranked subjects of one configuration, for each judge. docs/reports.md says what the
    figures are.
    """
    selection = Selection(**selected)
    with selection.opened() as (opened, protocol):
        scored = configured_boards(selection, opened, protocol)
    measured = [(board, measure_board(board)) for board in scored]
    if as_json:
        click.echo(scenarios_json(measured))
    else:
        views = [scenarios_blocks(board, analysis) for board, analysis in measured]
        show_chosen(*views, shown=Shown(top, find), legend=legend)
