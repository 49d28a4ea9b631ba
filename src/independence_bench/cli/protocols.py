"""`aib protocols`: list them, or print one."""

from __future__ import annotations

import click

from independence_bench.cli.options import find_protocol, out, store_option
from independence_bench.errors import ProtocolError
from independence_bench.protocol.loader import load, shipped
from independence_bench.report.protocol_view import protocol_view
from independence_bench.report.table import Table, columns_of
from independence_bench.report.terminal import printed
from independence_bench.store.database import open_store


@click.group(name="protocols", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """List the protocols that ship with aib; `aib protocols show NAME` prints one."""
    if ctx.invoked_subcommand is not None:
        return
    rows = [
        (p.name, p.title, str(len(p.scenarios)), str(p.replies * len(p.configurations)), str(p.runs))
        for p in map(load, shipped())
    ]
    table = Table(columns_of("name", "title", "scenarios", "replies a run", "runs", words=2), rows)
    printed(out(), iter([table]))


@command.command()
@click.argument("name", metavar="NAME|PATH|HASH")
@store_option
def show(name: str, store: str) -> None:
    """Print everything that a protocol says, asks and marks: one that ships with aib, your own, or a stored one."""
    try:
        protocol = load(name)
    except ProtocolError:
        with open_store(store) as opened:
            protocol, _ = find_protocol(name, opened)
    printed(out(), protocol_view(protocol))
