"""`aib scenarios`: what each scenario does in the ranking."""

from __future__ import annotations

import click

from independence_bench.analysis.item_analysis import measure_board
from independence_bench.analysis.leaderboard import boards
from independence_bench.cli.options import (
    configuration_options,
    configurations,
    find_protocol,
    jurors,
    jury_option,
    open_results,
    out,
    store_option,
    stored_protocol_option,
    weighed,
    weights_option,
)
from independence_bench.errors import WrongUse
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
def command(
    protocol_name: str | None,
    variants: str | None,
    modes: str | None,
    weights: str | None,
    judge: str | None,
    jury: str | None,
    as_json: bool,
    store: str,
) -> None:
    """Show how hard each scenario is, whom it tells apart, and what the ranking would be without it.

    Over the ranked subjects of one configuration, for each judge. It names the scenarios that carry their dimension
    alone, tell nobody apart or point the other way; docs/statistics.md has the equations and the limits.
    """
    names = jurors(judge, jury)
    with open_results(store) as opened:
        protocol = weighed(find_protocol(protocol_name, opened)[0], weights)
        chosen = configurations(protocol, variants, modes)
        found = [board for board in boards(opened, protocol, judge, names) if board.configurations == chosen]
    if not found:
        where = " + ".join(map(str, chosen))
        raise WrongUse(f"nothing of {protocol.name} in {where}{f' by {judge}' if judge else ''} is stored")
    measured = [(board, measure_board(board)) for board in found]
    if as_json:
        click.echo(scenarios_json(measured))
    else:
        printed(out(), *(scenarios_blocks(board, one) for board, one in measured))
