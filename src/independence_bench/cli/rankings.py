"""`aib leaderboard`, for whichever command shows rankings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import click

from independence_bench.analysis.board import Board, rule_differences
from independence_bench.analysis.compare_settings import (
    ConfigurationComparison,
    compare_configurations,
)
from independence_bench.analysis.costs import (
    IndexPrice,
    price_indices,
    subject_costs,
    with_reasoning_tokens,
)
from independence_bench.analysis.leaderboard import read_examined
from independence_bench.api.named import stored_subjects
from independence_bench.cli.options import (
    json_option,
    legend_option,
    say,
    show,
    shown_options,
    shown_rows,
    stored_models_option,
)
from independence_bench.cli.selection import (
    Selection,
    boards_of,
    judged_options,
    rules_option,
    selecting,
)
from independence_bench.errors import WrongUse
from independence_bench.lookup import instead
from independence_bench.protocol.definition import EARLIER_FORM
from independence_bench.protocol.scoring import OWN
from independence_bench.report.leaderboard_view import (
    board_view,
    boards_json,
    differences_view,
    matching,
)
from independence_bench.report.settings_view import configurations_view
from independence_bench.report.table import EVERYTHING, Block, Shown
from independence_bench.store import registry


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
def leaderboard(detailed: bool, wide: bool, as_json: bool, **selected: Any) -> None:
    """Show the ranking of everything that is stored: one table for each configuration and judge.

    --models, --top and --find choose which models are shown, --find by a word of their labels;
    ranks and intervals stay those of all. --json heeds --models alone.

    --rules published also lists every row that our own rules rank or score differently, and why.
    """
    selection, shown = Selection(**selected), shown_rows()
    own_rules = selection.rules == OWN.name
    with selection.opened(earlier=True) as (opened, protocol):
        with opened.reading() as connection:
            records = read_examined(connection, protocol)
            stored = [
                f"{name} {hash_[:12]}" for hash_, name, _ in registry.stored_protocols(connection)
            ]
        scored = boards_of(selection, records, protocol)
        own = (
            scored
            if own_rules
            else boards_of(replace(selection, rules=OWN.name), records, protocol)
        )
        if selection.models:
            chosen = {one.hash for one in stored_subjects(opened, protocol, selection.models)}
            scored, own = (
                [board for whole in every if (board := whole.only(chosen)).rows]
                for every in (scored, own)
            )
        with opened.reading() as connection:
            more = detailed or wide
            costs = [subject_costs(connection, board, records) for board in scored if more]
            if more or as_json:
                scored = with_reasoning_tokens(connection, scored, records)
        priced = [
            price_indices(board.ranked, spent) for board, spent in zip(scored, costs, strict=False)
        ]
    if as_json:
        differing = None if own_rules else rule_differences(own, scored)
        click.echo(boards_json(scored, differing, compared_in(scored), priced))
    elif scored:
        if shown.find and not any(matching(board.rows, shown) for board in scored):
            labels = dict.fromkeys(row.label for board in scored for row in board.rows)
            near = instead(shown.find, labels, "there are")
            raise WrongUse(f"--find: no subject has {shown.find} in its label; {near}")
        differences = (
            [] if own_rules else [differences_view(rule_differences(own, scored), selection.rules)]
        )
        print_boards(scored, shown, priced, differences, marks=detailed)
    elif protocol.earlier_form:
        say(f"{protocol.name}, {EARLIER_FORM} (aib show, aib export)")
    else:
        by = f" by a judge called {selection.judge}" if selection.judge else ""
        asked = f"{protocol.name} {protocol.hash[:12]}"
        others = [name for name in stored if name != asked]
        known = (
            f"it holds {', '.join(others)} (--protocol chooses)"
            if others
            else "`aib run` plays and judges"
        )
        say(f"no conversations of {asked}{by} are stored in {opened.shown}; {known}")


def print_boards(
    shown_boards: list[Board],
    shown: Shown = EVERYTHING,
    priced: Sequence[Sequence[IndexPrice]] = (),
    below: Sequence[Iterator[Block]] = (),
    at: str = "",
    marks: bool = True,
) -> None:
    """Print *shown_boards*, one table after the other; then for each judge its configurations, if
    there are several.

    *priced*: of each board, what a run of its ranked subjects costs; empty: without details, and
    without *marks*. *at*: the store, as a command names it.
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
    show(*views, *configurations, *below, command=f"aib leaderboard{at}")


def compared_in(every: list[Board]) -> list[ConfigurationComparison]:
    """For each judge of *every* board its configurations, if there are several."""
    judges = dict.fromkeys(board.judge for board in every)
    return [
        comparison
        for comparison in (compare_configurations(every, judge) for judge in judges)
        if comparison is not None
    ]
