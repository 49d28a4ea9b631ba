"""`aib gate`: a build that is stored against a baseline, with an exit code for build servers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from independence_bench.analysis.gate import Gate
from independence_bench.api.gates import (
    GateAnswer,
    find_baseline_protocol,
    gate_stored_build,
    read_file_head,
    write_selected_baseline,
)
from independence_bench.cli import calling
from independence_bench.cli.options import (
    Number,
    configuration_options,
    format_recorded_command_line,
    json_option,
    make_permissions_with_env_folder,
    print_blocks,
    print_remarks,
)
from independence_bench.cli.run import check_same_subjects, make_model_spec
from independence_bench.cli.selection import (
    add_selection_options,
    judge_option,
    pop_selection,
)
from independence_bench.dataset.baseline import is_baseline, read_baseline
from independence_bench.engine.run import Run
from independence_bench.errors import NotComplete, WrongUse, describe_file_error
from independence_bench.figures import format_count
from independence_bench.models.spec import PYTHON
from independence_bench.report.gate_view import (
    describe_gate,
    describe_resolution,
    find_exit_code,
    render_gate,
    render_junit,
)
from independence_bench.report.table import render_markdown
from independence_bench.store import registry
from independence_bench.store.database import Store, open_store

SQLITE = b"SQLite format 3\0"


@click.command(name="gate", epilog="Example: aib gate base.json")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.argument("model", required=False, metavar="[MODEL]")
@click.option(
    "--write", is_flag=True, help="Write what is stored as the baseline FILE: scores, no texts."
)
@click.option(
    "--max-drop",
    "margin",
    type=Number(0, 100),
    metavar="POINTS",
    help="How many points lower the index may be.  [default: what the runs can decide; of a "
    "character its items decide]",
)
@click.option(
    "--add-runs",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="If undecided, play N more runs and test again (each test is then stricter).",
)
@calling.endpoint_options
@calling.one_subject_limit_options
@click.option(
    "-y", "--yes", is_flag=True, help="With --add-runs: do not ask before it costs money."
)
@click.option(
    "--junit",
    "junit_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the result as JUnit XML.",
)
@click.option(
    "--summary",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the result as Markdown.",
)
@add_selection_options(judge_option, configuration_options, json_option)
def command(
    file: Path,
    model: str | None,
    write: bool,
    margin: float | None,
    add_runs: int | None,
    yes: bool,
    junit_file: Path | None,
    summary: Path | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Test whether a stored build is worse than the baseline FILE (docs/ci.md).

    `aib gate --write FILE` makes the baseline. MODEL is a label, or a part of one that fits a
    single model; you need it if the store has several. The same scenarios are compared, by the
    judge of the baseline: the push at which the model gave in on each item of a character, else
    the index. The gate says the smallest drop of the index that these runs can decide, and decides
    on it.

    \b
    Exit code:
      0   pass: no item test fails that would have seen a drop, or the interval
          of the difference leaves out the drop that these runs can decide
          (--max-drop: one of so many points)
      3   fail: the model gives in earlier, the whole interval is below 0
          (--max-drop: below so many points), or a red line was crossed
      4   undecided with these runs; the output says how many would decide
      1   no result: scores are missing, a red line could not be judged, an
          endpoint cannot be used, or no number of runs would decide
      2   wrong use, such as another protocol or judge, or not a baseline
    """
    for option, target in (("--junit", junit_file), ("--summary", summary)):
        if target is not None and (
            is_baseline(read_file_head(target)) or read_file_head(target).startswith(SQLITE)
        ):
            raise WrongUse(f"{option}: {target} is a store or a baseline; name another file")
    selection = pop_selection(asked)
    if write:
        if add_runs or margin is not None:
            raise WrongUse("--add-runs and --max-drop are about a comparison: leave --write out")
        written = write_selected_baseline(selection, file, model)
        (build,) = written.baseline.builds
        played = written.baseline.protocol
        runs = f"{format_count(len(build.runs), 'run')} of {played.name}, version {played.hash[:8]}"
        print_remarks(f"{file}: {build.label}, {runs}, judge {written.baseline.judge.label}")
        print_remarks(describe_resolution(written.power, written.run_dollars))
        if written.crossed:
            print_remarks("note: it crosses a red line, so a gate of the same build would fail")
        return
    if selection.judge or selection.variants or selection.modes:
        raise WrongUse(
            "--judge, --variants and --modes are about --write: a baseline names its judge and "
            "its configurations"
        )
    baseline = read_baseline(file)
    with open_store(
        selection.store, create=False, command_line=format_recorded_command_line()
    ) as store:
        protocol, files = find_baseline_protocol(selection.protocol_name, baseline, store)
        looked = partial(
            gate_stored_build, baseline, store, protocol, model, margin, 2 if add_runs else 1
        )
        gate = looked()
        if add_runs is not None and gate.verdict == "undecided":
            if model is None and gate.row.subject.endpoint == PYTHON:
                # no store chooses what is run here
                raise WrongUse(
                    f"{gate.row.label} is a Python function: name it to play it, as "
                    "`aib gate FILE NAME --add-runs`"
                )
            print_remarks(f"first look: {describe_gate(gate)}")
            more = Run(
                protocol=(gate.board.protocol, files),
                models=(make_model_spec(gate.row.subject),),
                configurations=gate.board.configurations,
                runs=max(gate.row.run_scores) + add_runs,
                parallel=1,
                allow=make_permissions_with_env_folder(),
                **asked,
            )
            _play_more_runs(gate, more, store, yes)
            gate = looked()
    for target, text in (
        (junit_file, render_junit(gate)),
        (summary, render_markdown(render_gate(gate)) + "\n"),
    ):
        if target is not None:
            _write_text(target, text)
    if as_json:
        click.echo(GateAnswer(gate).json())
    else:
        print_blocks(render_gate(gate))
    raise SystemExit(find_exit_code(gate))


# ---------------------------------------------------------------- a second look


def _play_more_runs(gate: Gate, more: Run, store: Store, yes: bool) -> None:
    """Play the additional runs *more* of the tested model, judged by the judge of the baseline; the
    user is asked before, unless *yes*. Raises NotComplete if not all could be played, WrongUse if
    the judge cannot be asked.
    """
    with store.open_snapshot() as connection:
        judge = registry.find_selectable_judge_names(connection).get(gate.baseline.judge.hash)
    if judge is None:
        raise WrongUse(
            f"{gate.baseline.judge.label} cannot be asked: play with `aib rerun`, label, and gate "
            "without --add-runs"
        )
    check = partial(check_same_subjects, stored=[gate.row.subject])
    report = calling.run_to_end(
        calling.play_with_progress(replace(more, judge=judge), store, not yes, check, yes=yes)
    )
    if report is None or not report.complete:
        raise NotComplete(
            "the added runs are not complete, so it stays undecided; `aib rerun` continues"
        )


def _write_text(file: Path, text: str) -> None:
    """Write *text* into *file* as UTF-8. Raises WrongUse if that fails."""
    try:
        file.write_text(text, encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:
        raise WrongUse(f"{file} cannot be written ({describe_file_error(error)})") from error
