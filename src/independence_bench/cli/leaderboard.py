"""`aib leaderboard`: the ranking of what is stored."""

from __future__ import annotations

import click

from independence_bench.analysis.configurations import compare_configurations
from independence_bench.analysis.leaderboard import Board, boards
from independence_bench.analysis.rule_differences import rule_differences
from independence_bench.cli.options import (
    err,
    find_protocol,
    jurors,
    jury_option,
    open_results,
    out,
    rules_option,
    store_option,
    stored_protocol_option,
    weighed,
    weights_option,
)
from independence_bench.protocol.published_scoring import RULES
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
def command(
    protocol_name: str | None,
    store: str,
    judge: str | None,
    jury: str | None,
    rules: str,
    weights: str | None,
    detailed: bool,
    as_json: bool,
) -> None:
    """Show the ranking of everything that is stored: one table for each configuration and judge.

    --rules published also lists every row for which our own rules say something else, and why.
    """
    names = jurors(judge, jury)
    with open_results(store) as opened:
        protocol = weighed(find_protocol(protocol_name, opened)[0], weights)
        found = boards(opened, protocol, judge, names, RULES[rules])
        own = found if rules == OWN.name else boards(opened, protocol, judge, names)
        with opened.reading() as connection:
            stored = [f"{name} {hash_[:12]}" for hash_, name, _ in registry.stored_protocols(connection)]
    if as_json:
        click.echo(boards_json(found, None if rules == OWN.name else rule_differences(own, found)))
    elif found:
        print_boards(found, detailed)
        if rules != OWN.name:
            printed(out(), differences_view(rule_differences(own, found), rules))
    else:
        by = f" by a judge called {judge}" if judge else ""
        known = f"; it holds {', '.join(stored)} (--protocol takes a name or a hash)" if stored else ""
        err().print(f"nothing of {protocol.name} {protocol.hash[:12]} is stored{by} in {opened.shown}{known}")


def print_boards(found: list[Board], detailed: bool = False) -> None:
    """Print *found*, one table after the other; then for each judge its configurations, if there are several."""
    judges = dict.fromkeys(board.judge for board in found)
    compared = [one for one in (compare_configurations(found, judge) for judge in judges) if one is not None]
    boards_first = [board_view(board, detailed) for board in found]
    printed(out(), *boards_first, *(configurations_view(one) for one in compared))
