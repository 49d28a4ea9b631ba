"""`aib costs`: what the store has cost, and whom it was paid to."""

from __future__ import annotations

import click

from independence_bench.analysis.costs import read_costs
from independence_bench.cli.options import out, store_option
from independence_bench.report.costs_view import costs_json, costs_view
from independence_bench.report.terminal import printed
from independence_bench.store.database import open_store


@click.command(name="costs")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON.")
@store_option
def command(as_json: bool, store: str) -> None:
    """Show what each command has spent, and what that was by day, provider, judge and subject.

    Of the store's whole life, all protocols in it, with what was thrown away or cleared since. Dollars are those that
    providers told; where one told none, they are computed from its list price and shown apart. Where both are known and
    differ, that is listed too.
    """
    with open_store(store, create=False) as opened:
        with opened.reading() as connection:
            found = read_costs(connection)
        if as_json:
            click.echo(costs_json(found))
        else:
            printed(out(), costs_view(found, opened.shown))
