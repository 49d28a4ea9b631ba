"""`aib judges`: the judges beside each other."""

from __future__ import annotations

import click

from independence_bench.analysis.judge_agreement import validations
from independence_bench.cli.options import (
    err,
    out,
    store_option,
    stored_protocol_option,
    weights_option,
)
from independence_bench.cli.selection import Selection, selecting
from independence_bench.report.judges_view import validation_view, validations_json
from independence_bench.report.terminal import printed


@click.command(name="judges")
@click.option("-j", "--judge", "names", multiple=True, metavar="NAME", help="Only these judges. May be repeated.")
@stored_protocol_option
@weights_option
@store_option
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON, every pair and every conversation.")
@selecting
def command(selection: Selection, names: tuple[str, ...], as_json: bool) -> None:
    """Compare the judges: what each gives whom, how far they agree, which verdicts to read.

    NAME is a judge's label, or a part of one that fits a single judge. `aib judge -j MODEL` adds a judge, `aib label`
    a person; the embedded judge takes part like any other.
    """
    with selection.opened() as (opened, protocol):
        found = validations(opened, protocol, names)
    if as_json:
        click.echo(validations_json(found))
    elif found:
        printed(out(), *(validation_view(one) for one in found))
    else:
        err().print(f"nothing of {protocol.name} is judged in {opened.shown}; `aib judge -j MODEL` does it")
