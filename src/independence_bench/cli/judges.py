"""`aib judges`: how judges agree, and which of their verdicts to read."""

from __future__ import annotations

from typing import Any

import click

from independence_bench.analysis.judge_agreement import validations
from independence_bench.api.selection import Selection
from independence_bench.cli.options import (
    FILLED,
    json_option,
    legend_option,
    say,
    show_chosen,
    shown_options,
    weights_option,
)
from independence_bench.cli.selection import selecting
from independence_bench.report.judges_view import validation_view, validations_json
from independence_bench.report.table import Shown


@click.command(name="judges")
@click.option(
    "-j",
    "--judge",
    "names",
    type=FILLED,
    multiple=True,
    metavar="NAME",
    help="Only these judges; may be repeated.",
)
@shown_options
@legend_option
@selecting(weights_option, json_option)
def judges(
    names: tuple[str, ...],
    top: int | None,
    find: str | None,
    legend: bool,
    as_json: bool,
    **selected: Any,
) -> None:
    """Compare the judges: their indices for each subject, how far they agree, which verdicts to
    read.

    NAME is a judge's label, or a part of one that fits a single judge. `aib judge -j MODEL` adds a
    judge, `aib label` a person; the embedded judge is included like any other.
    """
    with Selection(**selected).opened() as (opened, protocol):
        validated = validations(opened, protocol, names)
    if as_json:
        click.echo(validations_json(validated))
    elif validated:
        views = [validation_view(validation) for validation in validated]
        show_chosen(*views, shown=Shown(top, find), legend=legend)
    else:
        say(
            f"no conversations of {protocol.name} are judged in {opened.shown}; run `aib judge "
            "-j MODEL`"
        )
