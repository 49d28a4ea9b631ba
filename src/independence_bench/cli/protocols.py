"""`aib protocols`: list them, or print one."""

from __future__ import annotations

import click
from rich import box
from rich.table import Table

from independence_bench.cli.options import out
from independence_bench.protocol_files import load, shipped
from independence_bench.report.terminal import printed, protocol_view


@click.group(name="protocols", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """List the protocols that ship with aib; `aib protocols show NAME` prints one."""
    if ctx.invoked_subcommand is not None:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in ("name", "title"):
        table.add_column(heading)
    for heading in ("scenarios", "replies a run", "runs"):
        table.add_column(heading, justify="right")
    for name in shipped():
        p = load(name)
        table.add_row(p.name, p.title, str(len(p.scenarios)), str(p.replies * len(p.configurations)), str(p.runs))
    printed(out(), table)


@command.command()
@click.argument("name", metavar="NAME|PATH")
def show(name: str) -> None:
    """Print everything that a protocol says, asks and marks."""
    printed(out(), protocol_view(load(name)))
