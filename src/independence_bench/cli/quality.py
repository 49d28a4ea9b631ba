"""How reliable the numbers are, and all of them as files.

`aib judges`, `aib scenarios`, `aib compare`, `aib generate-report`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from independence_bench.analysis.chosen_names import names_of
from independence_bench.analysis.item_analysis import measure_board
from independence_bench.analysis.judge_agreement import validations
from independence_bench.analysis.leaderboard import read_examined
from independence_bench.api.comparisons import BY, read_comparisons
from independence_bench.api.named import (
    stored_subjects,
)
from independence_bench.api.selection import Selection, boards_of, configured_boards
from independence_bench.cli.options import (
    FILLED,
    configuration_options,
    experiments_option,
    json_option,
    legend_option,
    out,
    say,
    show_chosen,
    shown_options,
    stored_models_option,
    weights_option,
)
from independence_bench.cli.selection import judged_options, rules_option, selecting
from independence_bench.engine.named import experiments_of
from independence_bench.errors import WrongUse, why
from independence_bench.report.contents import Contents, Only, contents_json, read_contents
from independence_bench.report.judges_view import validation_view, validations_json
from independence_bench.report.report_markdown import moment, report_markdown
from independence_bench.report.scenarios_view import scenarios_blocks, scenarios_json
from independence_bench.report.svg import fold_picture, ranking_plot, scenario_map
from independence_bench.report.table import Shown

STEM = "LEADERBOARD"


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


@click.command(name="scenarios")
@shown_options
@legend_option
@selecting(judged_options, configuration_options, json_option)
def scenarios(
    top: int | None, find: str | None, legend: bool, as_json: bool, **selected: Any
) -> None:
    """Show how hard each scenario is, how many conversations are at an end of its scale, and how it
    goes with the others.

    Over the ranked subjects of one configuration, for each judge. docs/reports.md says what the
    figures are.
    """
    selection = Selection(**selected)
    with selection.opened() as (opened, protocol):
        scored = configured_boards(selection, opened, protocol)
    measured = [(board, measure_board(board)) for board in scored]
    if as_json:
        click.echo(scenarios_json(measured))
    else:
        views = [scenarios_blocks(board, analysis) for board, analysis in measured]
        show_chosen(*views, shown=Shown(top, find), legend=legend)


# --------------------------------------------------------- subjects, settings and versions compared


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
@selecting(judged_options, rules_option, configuration_options, json_option)
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

    Each difference has two intervals (rerun: the same test again; new scenarios: another test like
    it), and the smallest difference that such a comparison would detect.

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
    say(*answer.notes)
    if as_json:
        click.echo(answer.json())
    else:
        show_chosen(*answer.views(), shown=Shown(top, find), legend=legend)


# ---------------------------------------------------------------- all of it as files


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
@selecting(stored_models_option, experiments_option, judged_options, rules_option)
def generate_report(folder: Path, keep: bool, **selected: Any) -> None:
    """Write a report on everything that is stored of one protocol.

    LEADERBOARD.md (ranking, comparisons, scenarios, data health, every subject in detail), the same
    numbers in LEADERBOARD.json, and plots. Existing files of these names are overwritten. The same
    store gives the same bytes. Asks no model and changes nothing in the store.

    --models and --exp limit what is shown: ranks, intervals and the index stay those of all models
    and experiments.
    """
    selection = Selection(**selected)
    with selection.opened() as (opened, protocol):
        chosen = stored_subjects(opened, protocol, selection.models) if selection.models else []
        only = Only(
            frozenset(subject.hash for subject in chosen),
            experiments_of(protocol, selection.exp),
        )
        with opened.reading() as connection:
            records = read_examined(connection, protocol)
        scored = boards_of(selection, records, protocol)
        if selection.judge and not scored:
            called = f"{protocol.name} by a judge called {selection.judge}"
            raise WrongUse(f"no conversations of {called} are stored in {opened.shown}")
        names = names_of(opened, protocol, every=records.every)
        contents = read_contents(opened, protocol, scored, names, records, only)
    stems = [STEM]
    if keep and contents.updated is not None:
        stems.append(f"{STEM}-{datetime.fromtimestamp(contents.updated, UTC):%Y%m%dT%H%M%SZ}")
    files = {name: text for stem in stems for name, text in report_files(contents, stem).items()}
    _write(folder, files)
    for name in files:
        out().print(str(folder / name), soft_wrap=True)
    if keep and contents.updated is None:
        say("no copy was kept: no record in the store has a time to name it after")


def report_files(contents: Contents, stem: str) -> dict[str, str]:
    """The report's files, name -> text; those next to the Markdown are linked in it by name."""
    pictures = {
        f"{stem}-ranking.svg": ranking_plot(contents.main),
        f"{stem}-scenarios.svg": scenario_map(contents.complexity),
    }
    if any(row.branches and row.branches.folds for row in contents.main.ranked):
        pictures[f"{stem}-pushes.svg"] = fold_picture(contents.main)
    data = f"{stem}.json"
    return {
        f"{stem}.md": report_markdown(contents, tuple(pictures), data),
        data: contents_json(contents, moment(contents.updated)),
        **pictures,
    }


def _write(folder: Path, files: dict[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:
        raise WrongUse(
            f"the report cannot be written to {folder} ({why(error)}); --out names another folder"
        ) from error
