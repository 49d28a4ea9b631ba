"""`aib reliability`: where the noise comes from, and the cheapest test that is reliable enough."""

from __future__ import annotations

import click

from independence_bench.analysis.leaderboard import boards
from independence_bench.analysis.reliability import TARGET, jury_of, measure_reliability, panel, read_prices
from independence_bench.cli.options import (
    Number,
    configuration_options,
    configurations,
    find_protocol,
    jurors,
    open_results,
    out,
    store_option,
    stored_protocol_option,
    weighed,
    weights_option,
)
from independence_bench.errors import WrongUse
from independence_bench.report.reliability_view import reliability_json, reliability_view
from independence_bench.report.terminal import printed


@click.command(name="reliability")
@click.option("--judge", metavar="NAME", help="By judges whose label contains this.")
@click.option("--jury", metavar="A,B,C", help="By these judges, as one more source of noise.")
@stored_protocol_option
@configuration_options
@weights_option
@click.option(
    "--target",
    type=Number(min=0, max=1, min_open=True, max_open=True),
    default=TARGET,
    show_default=True,
    metavar="X",
    help="How reliable the ranking is to be.",
)
@click.option("--json", "as_json", is_flag=True, help="For programs: every variance, with its standard error.")
@store_option
def command(
    judge: str | None,
    jury: str | None,
    protocol_name: str | None,
    variants: str | None,
    modes: str | None,
    weights: str | None,
    target: float,
    as_json: bool,
    store: str,
) -> None:
    """Say where the differences between marks come from: subjects, scenarios, runs, judges.

    And what more scenarios, runs or judges would bring, and the cheapest test whose ranking is reliable enough
    (generalizability theory; docs/statistics.md). Over the subjects that are ranked. Several judges of the same
    conversations are taken together; without --judge and --jury those that rank at least half of the subjects, and
    the embedded one only where it is alone.
    """
    panel_names = jurors(judge, jury)
    with open_results(store) as opened:
        protocol = weighed(find_protocol(protocol_name, opened)[0], weights)
        chosen = configurations(protocol, variants, modes)
        found = [board for board in boards(opened, protocol, judge) if board.configurations == chosen]
        if not found:
            where = " + ".join(map(str, chosen))
            raise WrongUse(f"nothing of {protocol.name} in {where}{f' by {judge}' if judge else ''} is stored")
        together = panel(found) if jury is None else jury_of(found, panel_names)
        with opened.reading() as connection:
            prices = read_prices(connection, together)
    measured = measure_reliability(together, prices, target)
    if as_json:
        click.echo(reliability_json([measured]))
    else:
        printed(out(), reliability_view(measured))
