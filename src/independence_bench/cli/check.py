"""`aib check`: is this folder a protocol?"""

from __future__ import annotations

import click

from independence_bench.protocol_files import load


@click.command(name="check")
@click.argument("path")
def command(path: str) -> None:
    """Check a protocol of your own: the first mistake, with file, key and mend, or what it amounts to.

    Run it with `aib run --protocol PATH` then.
    """
    p = load(path)
    marks = {mark.name for scenario in p.scenarios for mark in scenario.marks}
    click.echo(
        f"{p.name} is a protocol: {len(p.scenarios)} scenarios, {p.replies} replies a run and configuration, "
        f"{len(marks)} marks, {len(p.dimensions)} dimensions, hash {p.hash[:16]}"
    )
