"""`aib protocols` and `aib check`: the protocols there are, and whether a folder is one."""

from __future__ import annotations

import click

from independence_bench.cli.options import find_protocol, out, store_option
from independence_bench.errors import ProtocolError
from independence_bench.judging.embedded.table import JudgedWords, WeightTable
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import load, shipped
from independence_bench.report.format import plural, scale
from independence_bench.report.protocol_view import protocol_view
from independence_bench.report.table import Table, columns_of
from independence_bench.report.terminal import printed
from independence_bench.store.database import open_store


@click.group(name="protocols", invoke_without_command=True)
@click.pass_context
def protocols(ctx: click.Context) -> None:
    """List the protocols that ship with aib; `aib protocols show NAME` prints one."""
    if ctx.invoked_subcommand is not None:
        return
    rows = [
        (p.name, p.title, str(len(p.scenarios)), str(p.replies * len(p.configurations)), str(p.runs))
        for p in map(load, shipped())
    ]
    table = Table(columns_of("name", "title", "scenarios", "replies a run", "runs", words=2), rows)
    printed(out(), iter([table]))


@protocols.command()
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


@click.command(name="check")
@click.argument("path")
def check(path: str) -> None:
    """Check a protocol of your own: print the first mistake (file, key, how to fix it), or a summary.

    Run it with `aib run --protocol PATH` then.
    """
    p = load(path)
    marks = {mark.name for scenario in p.scenarios for mark in scenario.marks}
    dimensions = plural(len(p.dimensions), "dimension")
    click.echo(
        f"{p.name} is a protocol: {_played(p)}, {plural(p.replies, 'reply', 'replies')} "
        f"a run and configuration, {plural(len(marks), 'mark')}, {dimensions}, hash {p.hash[:16]}"
    )
    if p.name in shipped() and p.hash != load(p.name).hash:
        click.echo(f"it is called like the shipped {p.name} and is another: give it a name of its own")
    if unused := sorted(marks - p.needed - {mark for dimension in p.dimensions for mark in dimension.marks}):
        click.echo(f"no dimension uses {', '.join(unused)}")
    for weighting in p.weightings:
        click.echo(f"--weights {weighting.name}: {weighting.title}")
    for line in _foreign(p):
        click.echo(line)


def _played(protocol: Protocol) -> str:
    stems = len({scenario.stem for scenario in protocol.scenarios if scenario.stem})
    return f"{plural(stems, 'stem')} with five branches each" if stems else plural(len(protocol.scenarios), "scenario")


def _foreign(protocol: Protocol) -> list[str]:
    """What the embedded judge cannot mark, and whether the index needs it; [] where it can mark everything."""
    table, nothing = WeightTable.load(), JudgedWords("", "", "")
    foreign = {}
    for scenario in protocol.scenarios:
        for mark in scenario.marks:
            found = table.mark(mark.name, nothing, mark.low, mark.high)
            if found is None or isinstance(found.value, bool) != (mark.kind == "yes_no"):
                foreign[mark.name] = f"{mark.name} ({scale(mark)})"
    needed = [shown for name, shown in sorted(foreign.items()) if name in protocol.needed]
    spare = [shown for name, shown in sorted(foreign.items()) if name not in protocol.needed]
    lines = []
    if needed:
        lines.append(f"the embedded judge cannot mark {', '.join(needed)}, and the index needs it: judge with a model")
    if spare:
        lines.append(f"the embedded judge does not mark {', '.join(spare)}; the index does without")
    return lines
