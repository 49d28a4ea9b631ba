"""How reliable the numbers are, and all of them as files.

`aib judges`, `aib reliability`, `aib scenarios`, `aib audit`, `aib generate-report`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from independence_bench.analysis.audit.audit import SEVERITIES, Severity
from independence_bench.analysis.audit.audit import audit as audit_of
from independence_bench.analysis.chosen_names import names_of
from independence_bench.analysis.item_analysis import measure_board
from independence_bench.analysis.judge_agreement import validations
from independence_bench.analysis.leaderboard import read_examined
from independence_bench.analysis.reliability import jury_of, measure_reliability, panel
from independence_bench.cli.options import (
    configuration_options,
    json_option,
    legend_option,
    out,
    say,
    show,
    show_chosen,
    shown_options,
    weights_option,
)
from independence_bench.cli.selection import (
    Selection,
    boards_of,
    configured_boards,
    judge_option,
    judged_options,
    jurors,
    rules_option,
    selecting,
)
from independence_bench.errors import WrongUse, why
from independence_bench.protocol.published_scoring import RULES
from independence_bench.report.audit_view import SHOWN, audit_json, audit_view, chosen, with_word
from independence_bench.report.contents import Contents, contents_json, read_contents
from independence_bench.report.judges_view import validation_view, validations_json
from independence_bench.report.reliability_view import reliability_json, reliability_view
from independence_bench.report.report_markdown import moment, report_markdown
from independence_bench.report.scenarios_view import scenarios_blocks, scenarios_json
from independence_bench.report.svg import field_picture, fold_picture, ranking_plot, scenario_map

STEM = "LEADERBOARD"


@click.command(name="judges")
@click.option("-j", "--judge", "names", multiple=True, metavar="NAME", help="Only these judges; may be repeated.")
@shown_options
@legend_option
@selecting(weights_option, json_option)
def judges(selection: Selection, names: tuple[str, ...], as_json: bool) -> None:
    """Compare the judges: their indices for each subject, how far they agree, which verdicts to read.

    NAME is a judge's label, or a part of one that fits a single judge. `aib judge -j MODEL` adds a judge, `aib label`
    a person; the embedded judge is included like any other.
    """
    with selection.opened() as (opened, protocol):
        found = validations(opened, protocol, names)
    if as_json:
        click.echo(validations_json(found))
    elif found:
        show_chosen(*(validation_view(one) for one in found))
    else:
        say(f"no conversations of {protocol.name} are judged in {opened.shown}; run `aib judge -j MODEL`")


@click.command(name="reliability")
@legend_option
@selecting(
    click.option("--jury", metavar="A,B,C", help="Use these judges, and count them as a source of noise."),
    judge_option,
    configuration_options,
    weights_option,
    json_option,
)
def reliability(selection: Selection, as_json: bool) -> None:
    """Show where differences between marks come from: subjects, scenarios, runs, judges.

    It also shows what more scenarios or runs would bring (generalizability theory; docs/statistics-methods.md). Only
    ranked subjects are included. Several judges of the same conversations are analysed together: without --judge and
    --jury those that rank at least half of the subjects, and the embedded one only if there is no other.
    """
    jury = selection.jury
    with selection.opened() as (opened, protocol):
        found = configured_boards(replace(selection, jury=None), opened, protocol)
        together = panel(found) if jury is None else jury_of(found, jurors(None, jury))
    measured = measure_reliability(together)
    if as_json:
        click.echo(reliability_json([measured]))
    else:
        show(reliability_view(measured))


@click.command(name="scenarios")
@shown_options
@legend_option
@selecting(judged_options, configuration_options, json_option)
def scenarios(selection: Selection, as_json: bool) -> None:
    """Show how hard each scenario is, which subjects it separates, and the ranking without it.

    Over the ranked subjects of one configuration, for each judge. It names the scenarios that decide their dimension
    alone, do not tell subjects apart or point the other way; docs/statistics-methods.md has the equations and the
    limits.
    """
    with selection.opened() as (opened, protocol):
        found = configured_boards(selection, opened, protocol)
    measured = [(board, measure_board(board)) for board in found]
    if as_json:
        click.echo(scenarios_json(measured))
    else:
        show_chosen(*(scenarios_blocks(board, one) for board, one in measured))


# ---------------------------------------------------------------- the numbers computed again


@click.command(name="audit")
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
@click.option("--find", metavar="WORD", help="Only findings and places with this in them, such as a part of a label.")
@legend_option
@selecting(rules_option, weights_option, json_option)
def audit(selection: Selection, path: str | None, lowest: Severity, top: int, find: str | None, as_json: bool) -> None:
    """Recompute every number from its records, and list problems that a reader should know about.

    STORE is a file or a database URL, as for --store. Nothing is changed, and nothing is sent. The exit code is 0
    where nothing of severity error was found, whatever is shown, else 1.
    """
    context = click.get_current_context()
    if path and context.get_parameter_source("store") is click.core.ParameterSource.COMMANDLINE:
        raise WrongUse("the store is named twice: leave --store out, or the argument")
    with replace(selection, store=path or selection.store).opened() as (opened, protocol):
        found = audit_of(opened, protocol, RULES[selection.rules])
        if not found.conversations and not found.findings:
            raise WrongUse(f"no conversations of {protocol.name} {protocol.hash[:12]} are stored in {opened.shown}")
    if as_json:
        click.echo(audit_json(found, lowest))
    else:
        if find is not None and not with_word(chosen(found, lowest), find):
            raise WrongUse(f"--find: no finding has {find} in it")
        show(audit_view(found, lowest, top, find))
    if found.errors:
        context.exit(1)


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
@click.option("--keep", is_flag=True, help="Also keep a copy, named after the time of the newest record.")
@selecting(judged_options, rules_option)
def generate_report(selection: Selection, folder: Path, keep: bool) -> None:
    """Write a report on everything that is stored of one protocol.

    LEADERBOARD.md (ranking, comparisons, scenarios, data health, every subject in detail), the same numbers in
    LEADERBOARD.json, and plots beside them. Existing files of these names are overwritten. The same store gives the
    same bytes. Asks no model and changes nothing in the store.
    """
    with selection.opened() as (opened, protocol):
        with opened.reading() as connection:
            records = read_examined(connection, protocol)
        found = boards_of(selection, records, protocol)
        if selection.judge and not found:
            called = f"{protocol.name} by a judge called {selection.judge}"
            raise WrongUse(f"no conversations of {called} are stored in {opened.shown}")
        contents = read_contents(opened, protocol, found, names_of(opened, protocol, every=records.every), records)
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
        # without options there is no J to draw against
        if contents.protocol.score is not None:
            pictures[f"{stem}-field.svg"] = field_picture(contents.main)
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
