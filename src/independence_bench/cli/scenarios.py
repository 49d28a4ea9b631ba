"""`aib scenarios`: what each scenario does in the ranking."""

from __future__ import annotations

import click

from independence_bench.analysis.item_analysis import measure_board
from independence_bench.cli.options import (
    configuration_options,
    jury_option,
    out,
    store_option,
    stored_protocol_option,
    weights_option,
)
from independence_bench.cli.selection import Selection, selecting
from independence_bench.report.scenarios_view import scenarios_blocks, scenarios_json
from independence_bench.report.terminal import printed


@click.command(name="scenarios")
@stored_protocol_option
@configuration_options
@weights_option
@click.option("--judge", metavar="NAME", help="By judges whose label contains this.")
@jury_option
@click.option("--json", "as_json", is_flag=True, help="The same as JSON, with every subject's index without each.")
@store_option
@selecting
def command(selection: Selection, as_json: bool) -> None:
    """Show how hard each scenario is, whom it tells apart, and what the ranking would be without it.

    Over the ranked subjects of one configuration, for each judge. It names the scenarios that carry their dimension
    alone, tell nobody apart or point the other way; docs/statistics.md has the equations and the limits.
    """
    with selection.opened() as (opened, protocol):
        found = selection.configured_boards(opened, protocol)
    measured = [(board, measure_board(board)) for board in found]
    if as_json:
        click.echo(scenarios_json(measured))
    else:
        printed(out(), *(scenarios_blocks(board, one) for board, one in measured))
