"""`aib validate`: the index against what others measure."""

from __future__ import annotations

from pathlib import Path

import click

from independence_bench.analysis.outside import Expected, compare_outside
from independence_bench.cli.options import configuration_options, json_option, legend_option, show
from independence_bench.cli.selection import Selection, configured_boards, judged_options, selecting, whole_runs_option
from independence_bench.dataset.outside import read_outside, shipped_boards
from independence_bench.errors import WrongUse
from independence_bench.report.encode import json_text
from independence_bench.report.outside_view import outside_values, outside_view

SIGNS: dict[str, Expected] = {"above": "above 0", "below": "below 0", "near": "near 0"}


@click.command(name="validate")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[CSV]...")
@click.option(
    "--expected",
    type=click.Choice(list(SIGNS)),
    help="Where you expect the correlation of your own figures: above 0, below 0 or near 0.",
)
@legend_option
@selecting(judged_options, whole_runs_option, configuration_options, json_option)
def validate(selection: Selection, files: tuple[Path, ...], expected: str | None, as_json: bool) -> None:
    """Show whether the index goes together with what others measure: rank correlations with outside boards.

    Those that should go with it (sycophancy, yielding) and those that should not (puzzles, writing) stand side by
    side. Intervals carry the errors of both sides, as far as they are known. The outside boards are shipped with this
    version, with their dates and sources (--json); nothing is fetched.

    CSV is a file of your own: model, value, and if known error, or low and high. A model is named by its id, with or
    without the author, or by a subject's whole label.
    """
    if expected and not files:
        raise WrongUse("--expected is of your own figures: name their CSV file, too")
    own = [read_outside(path, SIGNS[expected] if expected else None) for path in files]
    with selection.opened() as (opened, protocol):
        board = configured_boards(selection, opened, protocol)[0]
    found = compare_outside(board, [*own, *shipped_boards()])
    if as_json:
        click.echo(json_text(outside_values(board, found)))
    else:
        show(outside_view(board, found, len(own)))
