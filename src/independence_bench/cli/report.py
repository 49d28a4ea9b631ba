"""`aib generate-report`: everything that is stored of one protocol, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from independence_bench.api.reports import make_report
from independence_bench.api.selection import Selection
from independence_bench.cli.options import (
    experiments_option,
    make_results_console,
    print_remarks,
    stored_models_option,
)
from independence_bench.cli.selection import add_selection_options, judged_options, rules_option


@click.command(name="generate-report", epilog="Example: aib generate-report --out report")
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    default=".",
    show_default=True,
    metavar="DIR",
    help="Where the files go; created if it is missing.",
)
@click.option(
    "--keep", is_flag=True, help="Also keep a copy, named after the time of the newest record."
)
@add_selection_options(stored_models_option, experiments_option, judged_options, rules_option)
def generate_report(folder: Path, keep: bool, **selected: Any) -> None:
    """Write a report on everything that is stored of one protocol.

    LEADERBOARD.md (ranking, comparisons, scenarios, data health, every model in detail), the same
    numbers in LEADERBOARD.json, and plots. Existing files of these names are overwritten. The same
    store gives the same bytes. Asks no model and changes nothing in the store.

    --models and --exp limit what is shown: ranks, intervals and the index stay those of all models
    and experiments.
    """
    report = make_report(Selection(**selected), keep)
    for path in report.write(folder):
        make_results_console().print(str(path), soft_wrap=True)
    if keep and not report.kept:
        print_remarks("no copy was kept: no record in the store has a time to name it after")
