"""`aib leaderboard`: the ranking of what is stored."""

from __future__ import annotations

from dataclasses import replace

import click

from independence_bench.analysis.configurations import compare_configurations
from independence_bench.analysis.leaderboard import Board
from independence_bench.analysis.rule_differences import rule_differences
from independence_bench.cli.options import (
    err,
    jury_option,
    out,
    rules_option,
    store_option,
    stored_protocol_option,
    weights_option,
)
from independence_bench.cli.selection import Selection, selecting
from independence_bench.protocol.scoring import OWN
from independence_bench.report.board_json import boards_json
from independence_bench.report.board_view import board_view, differences_view
from independence_bench.report.configurations_view import configurations_view
from independence_bench.report.terminal import printed
from independence_bench.store import registry


@click.command(name="leaderboard")
@stored_protocol_option
@store_option
@click.option("--judge", metavar="NAME", help="Only rankings by judges whose label contains this.")
@jury_option
@rules_option
@weights_option
@click.option("--detailed", is_flag=True, help="Every mark, run by run, and what the numbers rest on.")
@click.option("--json", "as_json", is_flag=True, help="The same rows as JSON.")
@selecting
def command(selection: Selection, detailed: bool, as_json: bool) -> None:
    """Show the ranking of everything that is stored: one table for each configuration and judge.

    --rules published also lists every row for which our own rules say something else, and why.
    """
    own_rules = selection.rules == OWN.name
    with selection.opened() as (opened, protocol):
        found = selection.boards(opened, protocol)
        own = found if own_rules else replace(selection, rules=OWN.name).boards(opened, protocol)
        with opened.reading() as connection:
            stored = [f"{name} {hash_[:12]}" for hash_, name, _ in registry.stored_protocols(connection)]
    if as_json:
        click.echo(boards_json(found, None if own_rules else rule_differences(own, found)))
    elif found:
        print_boards(found, detailed)
        if not own_rules:
            printed(out(), differences_view(rule_differences(own, found), selection.rules))
    else:
        by = f" by a judge called {selection.judge}" if selection.judge else ""
        known = f"; it holds {', '.join(stored)} (--protocol takes a name or a hash)" if stored else ""
        err().print(f"nothing of {protocol.name} {protocol.hash[:12]} is stored{by} in {opened.shown}{known}")


def print_boards(found: list[Board], detailed: bool = False) -> None:
    """Print *found*, one table after the other; then for each judge its configurations, if there are several."""
    judges = dict.fromkeys(board.judge for board in found)
    compared = [one for one in (compare_configurations(found, judge) for judge in judges) if one is not None]
    boards_first = [board_view(board, detailed) for board in found]
    printed(out(), *boards_first, *(configurations_view(one) for one in compared))
