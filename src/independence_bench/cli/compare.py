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


@click.command(name="compare")
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
@shown_options
@legend_option
@add_selection_options(judged_options, rules_option, configuration_options, json_option)
def compare(
    subjects: tuple[str, ...],
    by: str | None,
    against: str | None,
    top: int | None,
    find: str | None,
    legend: bool,
    as_json: bool,
    **selected: Any,
) -> None:
    """Compare two subjects, scenario by scenario: the same protocol, configuration and judge.

    By the main judge of what is stored (docs/judges.md), unless --judge or --jury says otherwise.

    Each difference, A - B, has two intervals (rerun: the same test again; new scenarios: another
    test like it), and the smallest difference that such a comparison would detect.

    A and B are labels, or parts of one that fit a single subject. With --by reasoning (or provider)
    A is a model and is compared with itself: the lowest complete effort (or the unpinned subject)
    with each of the others; without A, every model with several.

    With --by version the protocol is compared with an older version of it (--against) that has
    another system prompt, paired by scenario: how the prompts differ, what that does to the index
    and the dimensions, and how many runs would decide. Both have to be played and judged in the
    same store. Where they differ in more than the prompt, only what both ask and mark in the same
    words is compared.
    """
    answer = read_comparisons(Selection(**selected), subjects, by, against)
    print_remarks(*answer.notes)
    if as_json:
        click.echo(answer.json())
    else:
        print_chosen_rows(*answer.views(), shown=RowFilter(top, find), legend=legend)
