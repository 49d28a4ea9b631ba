"""`aib audit`: every number computed again from its records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from independence_bench.analysis.audit import SEVERITIES, Severity
from independence_bench.api.audits import audit_selected_results
from independence_bench.api.selection import Selection
from independence_bench.cli.options import (
    json_option,
    legend_option,
    print_blocks,
    weights_option,
)
from independence_bench.cli.selection import add_selection_options, rules_option
from independence_bench.errors import WrongUse
from independence_bench.report.stored_view import SHOWN, render_audit


@click.command(name="audit", epilog="Example: aib audit")
@click.argument("path", required=False, metavar="[STORE]")
@click.option(
    "--severity",
    "lowest",
    type=click.Choice(SEVERITIES),
    default="note",
    show_default=True,
    help="The lowest severity to show.",
)
@click.option(
    "--top", type=click.IntRange(min=1), default=SHOWN, show_default=True, metavar="N",
    help="The first N places of each finding.",
)  # fmt: skip
@legend_option
@add_selection_options(rules_option, weights_option, json_option)
def audit(
    path: str | None, lowest: Severity, top: int, legend: bool, as_json: bool, **selected: Any
) -> None:
    """Recompute every number from its records, and list what is missing or damaged.

    STORE is a file or a database URL, as for --store. Nothing is changed, and nothing is sent. The
    exit code is 0 where nothing of severity error was found, whatever is shown, else 1.
    """
    context = click.get_current_context()
    if path and context.get_parameter_source("store") is click.core.ParameterSource.COMMANDLINE:
        raise WrongUse("the store is named twice: leave --store out, or the argument")
    selection = Selection(**selected)
    if path:
        selection = replace(selection, store=path)
    answer = audit_selected_results(selection, lowest)
    if as_json:
        click.echo(answer.json())
    else:
        print_blocks(render_audit(answer.report, lowest, top), legend=legend)
    if answer.error_count:
        context.exit(1)
