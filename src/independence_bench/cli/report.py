"""`aib generate-report`: everything that is stored of one protocol, as files."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from independence_bench.analysis.chosen_names import list_chosen_names
from independence_bench.analysis.leaderboard import make_leaderboards, read_board_records
from independence_bench.api.named import (
    find_stored_subjects,
)
from independence_bench.api.selection import Selection
from independence_bench.cli.options import (
    experiments_option,
    make_results_console,
    print_remarks,
    stored_models_option,
)
from independence_bench.cli.selection import add_selection_options, judged_options, rules_option
from independence_bench.engine.named import choose_experiments
from independence_bench.errors import WrongUse, describe_file_error
from independence_bench.report.contents import (
    Contents,
    ReportScope,
    format_contents_json,
    read_contents,
)
from independence_bench.report.report_markdown import format_time, render_report
from independence_bench.report.svg import draw_fold_curves, draw_ranking, draw_scenario_map

STEM = "LEADERBOARD"


@click.command(name="generate-report")
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

    LEADERBOARD.md (ranking, comparisons, scenarios, data health, every subject in detail), the same
    numbers in LEADERBOARD.json, and plots. Existing files of these names are overwritten. The same
    store gives the same bytes. Asks no model and changes nothing in the store.

    --models and --exp limit what is shown: ranks, intervals and the index stay those of all models
    and experiments.
    """
    selection = Selection(**selected)
    with selection.open_for_reading() as (opened, protocol):
        chosen = (
            find_stored_subjects(opened, protocol, selection.models) if selection.models else []
        )
        only = ReportScope(
            frozenset(subject.hash for subject in chosen),
            choose_experiments(protocol, selection.exp),
        )
        with opened.open_snapshot() as connection:
            records = read_board_records(connection, protocol)
        scored = make_leaderboards(records, protocol, selection.wanted)
        if selection.judge and not scored:
            called = f"{protocol.name} by a judge called {selection.judge}"
            raise WrongUse(f"no conversations of {called} are stored in {opened.shown}")
        names = list_chosen_names(opened, protocol, every=records.counted.groups)
        contents = read_contents(opened, protocol, scored, names, only)
    stems = [STEM]
    if keep and contents.updated is not None:
        stems.append(f"{STEM}-{datetime.fromtimestamp(contents.updated, UTC):%Y%m%dT%H%M%SZ}")
    files = {
        name: text for stem in stems for name, text in make_report_files(contents, stem).items()
    }
    _write_files(folder, files)
    for name in files:
        make_results_console().print(str(folder / name), soft_wrap=True)
    if keep and contents.updated is None:
        print_remarks("no copy was kept: no record in the store has a time to name it after")


def make_report_files(contents: Contents, stem: str) -> dict[str, str]:
    """Return the files of a report as file name -> text: the Markdown text, the same numbers as
    JSON, and the plots as SVG. All names begin with *stem*, and the Markdown links to the other
    files.
    """
    pictures = {
        f"{stem}-ranking.svg": draw_ranking(contents.main),
        f"{stem}-scenarios.svg": draw_scenario_map(contents.complexity),
    }
    if any(row.branches and row.branches.folds for row in contents.main.ranked):
        pictures[f"{stem}-pushes.svg"] = draw_fold_curves(contents.main)
    data = f"{stem}.json"
    return {
        f"{stem}.md": render_report(contents, tuple(pictures), data),
        data: format_contents_json(contents, format_time(contents.updated)),
        **pictures,
    }


def _write_files(folder: Path, files: dict[str, str]) -> None:
    """Write *files* (name -> text) into *folder*, which is made if it is missing. Raises WrongUse
    if that fails.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:
        raise WrongUse(
            f"the report cannot be written to {folder} ({describe_file_error(error)}); --out names "
            "another folder"
        ) from error
