"""`aib reliability`: where the noise comes from, and the cheapest test that is reliable enough."""

from __future__ import annotations

from dataclasses import replace

import click

from independence_bench.analysis.reliability import TARGET, jury_of, measure_reliability, panel, read_prices
from independence_bench.cli.options import (
    Number,
    configuration_options,
    jurors,
    out,
    store_option,
    stored_protocol_option,
    weights_option,
)
from independence_bench.cli.selection import Selection, selecting
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
@selecting
def command(selection: Selection, target: float, as_json: bool) -> None:
    """Say where the differences between marks come from: subjects, scenarios, runs, judges.

    And what more scenarios, runs or judges would bring, and the cheapest test whose ranking is reliable enough
    (generalizability theory; docs/statistics.md). Over the subjects that are ranked. Several judges of the same
    conversations are taken together; without --judge and --jury those that rank at least half of the subjects, and
    the embedded one only where it is alone.
    """
    jury = selection.jury
    with selection.opened() as (opened, protocol):
        found = replace(selection, jury=None).configured_boards(opened, protocol)
        together = panel(found) if jury is None else jury_of(found, jurors(None, jury))
        with opened.reading() as connection:
            prices = read_prices(connection, together)
    measured = measure_reliability(together, prices, target)
    if as_json:
        click.echo(reliability_json([measured]))
    else:
        printed(out(), reliability_view(measured))
