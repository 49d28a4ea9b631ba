"""`aib compare`: two models, the settings of one, or two versions of a prompt."""

from __future__ import annotations

from typing import Any

import click

from independence_bench.api.comparisons import BY, read_comparisons
from independence_bench.api.selection import Selection
from independence_bench.cli.options import (
    configuration_options,
    json_option,
    legend_option,
    print_chosen_rows,
    print_remarks,
    shown_options,
)
from independence_bench.cli.selection import add_selection_options, judged_options, rules_option
from independence_bench.report.table import RowFilter


@click.command(name="compare", epilog="Example: aib compare qwen3-8b mistral-small")
@click.argument("subjects", nargs=-1, metavar="[A] [B]")
@click.option(
    "--by",
    type=click.Choice(BY),
    help="Compare a model with itself: its settings, or versions of a prompt.",
)
@click.option(
    "--against",
    metavar="NAME|PATH|HASH",
    help="With --by version: the old version.  [default: the one of that name played before]",
)
@click.option(
    "--scenarios",
    is_flag=True,
    help="Also the differences in each scenario, and dimensions that have no weight.",
)
@shown_options
@legend_option
@add_selection_options(judged_options, rules_option, configuration_options, json_option)
def compare(
    subjects: tuple[str, ...],
    by: str | None,
    against: str | None,
    scenarios: bool,
    top: int | None,
    find: str | None,
    legend: bool,
    as_json: bool,
    **selected: Any,
) -> None:
    """Compare two models: which one is ahead, by how much, and how sure that is.

    A and B are labels, or parts of one that fit a single model. Both are compared on the same
    protocol, configuration and judge: the main judge of what is stored (docs/judges.md), unless
    --judge or --jury says otherwise.

    A difference is that of the model that is ahead minus the other. It has a 95% CI for the same
    scenarios, one for new scenarios, and the minimum detectable difference.

    With --by reasoning (or provider) A is a model and is compared with itself: the lowest complete
    effort (or the model without a provider) with each of the others; without A, every model with
    several.

    With --by version the protocol is compared with an older version of it (--against) that has
    another system prompt, paired by scenario. Both have to be played and judged in the same store.
    If they differ in more than the prompt, only what both ask and score in the same words is
    compared.
    """
    answer = read_comparisons(Selection(**selected), subjects, by, against)
    print_remarks(*answer.notes)
    if as_json:
        click.echo(answer.json())
    else:
        print_chosen_rows(*answer.views(scenarios), shown=RowFilter(top, find), legend=legend)
