"""`aib check`: is this folder a protocol?"""

from __future__ import annotations

import click

from independence_bench.embedded.table import Table
from independence_bench.protocol_files import load, shipped
from independence_bench.report.terminal import plural


@click.command(name="check")
@click.argument("path")
def command(path: str) -> None:
    """Check a protocol of your own: the first mistake, with file, key and mend, or what it amounts to.

    Run it with `aib run --protocol PATH` then.
    """
    p = load(path)
    marks = {mark.name for scenario in p.scenarios for mark in scenario.marks}
    dimensions = plural(len(p.dimensions), "dimension")
    click.echo(
        f"{p.name} is a protocol: {plural(len(p.scenarios), 'scenario')}, {plural(p.replies, 'reply', 'replies')} "
        f"a run and configuration, {plural(len(marks), 'mark')}, {dimensions}, hash {p.hash[:16]}"
    )
    if p.name in shipped() and p.hash != load(p.name).hash:
        click.echo(f"it is called like the shipped {p.name} and is another: give it a name of its own")
    if unused := sorted(marks - {mark for dimension in p.dimensions for mark in dimension.marks}):
        click.echo(f"no dimension uses {', '.join(unused)}")
    if foreign := sorted(marks - Table.load().names):
        click.echo(f"the embedded judge cannot mark {', '.join(foreign)}: judge with a model")
