"""`aib check`: is this folder a protocol?"""

from __future__ import annotations

import click

from independence_bench.judging.embedded.table import JudgedWords, WeightTable
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import load, shipped
from independence_bench.report.format import plural, scale


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
    for weighting in p.weightings:
        click.echo(f"--weights {weighting.name}: {weighting.title}")
    for line in _foreign(p):
        click.echo(line)


def _foreign(protocol: Protocol) -> list[str]:
    """What the embedded judge cannot mark, and whether the index needs it; [] where it can mark everything."""
    table, nothing = WeightTable.load(), JudgedWords("", "", "")
    foreign = {}
    for scenario in protocol.scenarios:
        for mark in scenario.marks:
            given = table.mark(mark.name, nothing, mark.low, mark.high)
            if given is None or isinstance(given.value, bool) != (mark.kind == "yes_no"):
                foreign[mark.name] = f"{mark.name} ({scale(mark)})"
    weighed = {name for dimension in protocol.dimensions if dimension.weight for name in dimension.marks}
    needed = [shown for name, shown in sorted(foreign.items()) if name in weighed]
    spare = [shown for name, shown in sorted(foreign.items()) if name not in weighed]
    lines = []
    if needed:
        lines.append(f"the embedded judge cannot mark {', '.join(needed)}, and the index needs it: judge with a model")
    if spare:
        lines.append(f"the embedded judge does not mark {', '.join(spare)}; the index does without")
    return lines
