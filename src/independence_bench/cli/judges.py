"""`aib judges`: how judges agree, and which of their verdicts to read."""

from __future__ import annotations

from typing import Any

import click

from independence_bench.api.judges import compare_selected_judges
from independence_bench.api.selection import Selection
from independence_bench.cli.options import (
    FILLED,
    json_option,
    legend_option,
    print_chosen_rows,
    print_remarks,
    shown_options,
    weights_option,
)
from independence_bench.cli.selection import add_selection_options
from independence_bench.report.judges_view import render_validation
from independence_bench.report.table import RowFilter


@click.command(name="judges", epilog="Example: aib judges")
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
@add_selection_options(weights_option, json_option)
def judges(
    names: tuple[str, ...],
    top: int | None,
    find: str | None,
    legend: bool,
    as_json: bool,
    **selected: Any,
) -> None:
    """Compare the judges: their indices for each model, how far they agree, which judgements to
    read.

    NAME is a judge's label, or a part of one that fits a single judge. `aib judge -j MODEL` adds a
    judge, `aib label` a person; the embedded judge is included like any other.
    """
    answer = compare_selected_judges(Selection(**selected), names)
    if as_json:
        click.echo(answer.json())
    elif answer.validations:
        views = [render_validation(validation) for validation in answer.validations]
        print_chosen_rows(*views, shown=RowFilter(top, find), legend=legend)
    else:
        print_remarks(answer.nothing)
