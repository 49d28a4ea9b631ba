"""`aib judge`, `aib extract-names`, `aib exam`: judges are asked about conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import click

from independence_bench.api.chosen_names import have_judge_read_names, read_chosen_names
from independence_bench.api.commands import (
    check_judge_names_and_keys,
    plan_judging,
    run_judges_in_turn,
)
from independence_bench.api.exams import (
    choose_rubrics,
    make_exam_run_without_judge,
    read_exam_results,
    split_juries,
    sum_exam_previews,
    take_exams,
)
from independence_bench.cli import calling
from independence_bench.cli.options import (
    FILLED,
    configuration_options,
    experiments_option,
    format_recorded_command_line,
    json_option,
    legend_option,
    make_permissions_with_env_folder,
    make_remarks_console,
    print_blocks,
    print_chosen_rows,
    print_remarks,
    shown_options,
    store_option,
    stored_models_option,
    weights_option,
)
from independence_bench.cli.progress import ProgressDisplay
from independence_bench.cli.selection import add_selection_options, pop_selection
from independence_bench.engine.preview import Forecast, Preview, make_preview
from independence_bench.engine.run import Report, Run
from independence_bench.engine.session import find_roster, open_session
from independence_bench.errors import EndpointUnusable, SubjectError, WrongUse
from independence_bench.figures import format_count
from independence_bench.integrations.ray_cluster import Cluster
from independence_bench.report.estimate_view import describe_forecast
from independence_bench.report.exam_view import render_exams
from independence_bench.report.names_view import render_names
from independence_bench.report.table import RowFilter
from independence_bench.store.database import Store, open_store


@click.command(name="judge", epilog="Example: aib judge -j openai/gpt-5.4-mini --budget 2")
@calling.make_judges_option("the protocol's")
@calling.endpoint_options
@calling.limit_options
@calling.worker_options
@calling.yes_option
@add_selection_options(
    stored_models_option, experiments_option, configuration_options, weights_option
)
def judge(
    judges: tuple[str, ...],
    shard: str | None,
    job: str | None,
    on: str | None,
    yes: bool,
    **asked: Any,
) -> None:
    """Judge stored conversations: with other judges, or again where one failed.

    Judgements of several judges are kept side by side; only a failed judgement is replaced. Several
    judges are asked one after the other, and share one budget; `aib judges` compares them. --models
    and --exp judge only a part of what is stored. Without --variants and --modes the protocol's
    default configuration is judged, or, if only others were played, these.
    """
    worker, selection = calling.parse_worker(shard, job, on), pop_selection(asked)
    wanted = Run(
        models=selection.models,
        exp=selection.exp,
        variants=selection.variants,
        modes=selection.modes,
        shard=worker.shard,
        job=worker.job,
        allow=make_permissions_with_env_folder(),
        **asked,
    )
    wanted = replace(wanted, roster=find_roster(wanted))
    with selection.open_for_marking(format_recorded_command_line()) as (opened, protocol, files):
        wanted = plan_judging(wanted, opened, (protocol, files))
        named = tuple(dict.fromkeys(judges)) or (protocol.judge.model,)
        complete = judge_with_progress(wanted, named, opened, yes, worker.cluster)
    if not complete:
        raise SystemExit(1)


def judge_with_progress(
    wanted: Run,
    judges: Sequence[str],
    store: Store,
    yes: bool,
    cluster: Cluster | None,
) -> bool:
    """Have *judges* score the stored conversations that *wanted* names, one judge after the other
    on one budget, with progress on stderr; then print the leaderboards. Returns whether everything
    was judged.

    The user is asked first if the costs are high, unless *yes* or a budget is given. A wrong name
    or a missing key is reported before any call; an endpoint that fails later ends the turn of its
    own judge only. Raises WrongUse, SubjectError, EndpointUnusable or StoreError.
    """
    shared = wanted.shard is not None or cluster is not None
    if len(judges) > 1 and shared and wanted.budget is not None and wanted.job is None:
        raise WrongUse(
            "several workers, several judges and a --budget need --job NAME: they all share it"
        )
    if len(judges) == 1:
        one = replace(wanted, judge=judges[0])
        work = calling.play_with_progress(one, store, False, cluster=cluster, yes=yes)
        return calling.print_boards_and_show_command(one, store, calling.run_to_end(work))
    asyncio.run(check_judge_names_and_keys(wanted, judges, store))
    answered = calling.has_cost_answer(yes, wanted)
    if not answered and not calling.confirm_high_cost(
        asyncio.run(_forecast_all_judges(wanted, judges, store)), answered
    ):
        return False
    reports: list[Report] = []

    async def judge_and_record(of_judge: Run) -> Report | None:
        report = await calling.play_with_progress(
            of_judge, store, always_ask=False, cluster=cluster, yes=True
        )
        reports.extend([report] if report else [])
        return report

    complete = calling.run_to_end(
        run_judges_in_turn(wanted, judges, judge_and_record, print_remarks)
    )
    if complete is None:
        return False
    calling.print_wanted_boards(wanted, store, reports)
    print_remarks("compare the judges: aib judges")
    return complete


async def _forecast_all_judges(wanted: Run, judges: Sequence[str], store: Store) -> Forecast:
    """Return the forecast of the calls and dollars that all *judges* together need to judge what
    *wanted* names. A judge whose endpoint does not answer is left out.
    """
    whole = Forecast()
    for name in judges:
        with suppress(EndpointUnusable, SubjectError):
            async with open_session(replace(wanted, judge=name), store) as session:
                whole += (await make_preview(session)).forecast
    return whole


@click.command(name="extract-names", epilog="Example: aib extract-names")
@click.option(
    "-j",
    "--judge",
    type=FILLED,
    metavar="MODEL",
    help="Have this model read what is not read yet.",
)
@calling.endpoint_options
@calling.one_subject_limit_options
@calling.yes_option
@shown_options
@legend_option
@add_selection_options(stored_models_option, json_option)
def extract_names(
    judge: str | None,
    yes: bool,
    top: int | None,
    find: str | None,
    legend: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Show which name and gender each model chose for itself, and which it had at the end.

    Names and genders come from models that have read the conversations: with -j a model reads those
    that no model has read, once each, and its readings are stored. Imported data has the readings
    that were published with it. What became of a name or a gender comes from the judge's scores.
    """
    selection, complete = pop_selection(asked), True
    with selection.open_for_marking(format_recorded_command_line()) as (opened, protocol, files):
        answer = read_chosen_names(opened, protocol, selection.models)
        if judge is not None and answer.unread:
            wanted = Run(
                protocol=(protocol, files),
                judge=judge,
                judge_only=True,
                allow=make_permissions_with_env_folder(),
                **asked,
            )
            print_remarks(
                f"{format_count(len(answer.unread), 'conversation')} to be read by {judge}"
            )
            reading = partial(have_judge_read_names, wanted, opened, answer.unread)
            report = calling.ask_judge_with_progress(reading, wanted, opened, yes)
            complete = report is not None and report.complete
            answer = read_chosen_names(opened, protocol, selection.models)
    if as_json:
        click.echo(answer.json())
    elif answer.readings:
        view = render_names(protocol, answer.readings)
        print_chosen_rows(view, shown=RowFilter(top, find), legend=legend)
    else:
        print_remarks(
            f"no conversations of {protocol.name} in which the model chooses who to be are "
            "stored; `aib run` plays them"
        )
    if not complete:
        raise SystemExit(1)


# ---------------------------------------------------------------- the exam


@click.command(name="exam", epilog="Example: aib exam -j openai/gpt-5.4-mini")
@calling.make_judges_option()
@click.option(
    "--rubric",
    "rubrics",
    multiple=True,
    metavar="NAME",
    help="Only this rubric. May be repeated.  [default: all]",
)
@click.option(
    "--jury",
    "juries",
    multiple=True,
    metavar="A,B,C",
    help="These judges together, from stored answers; asks no model.",
)
@calling.endpoint_options
@calling.one_subject_limit_options
@click.option("-y", "--yes", is_flag=True, help="Do not ask before it costs money.")
@legend_option
@json_option
@store_option
def exam(
    judges: tuple[str, ...],
    rubrics: tuple[str, ...],
    juries: tuple[str, ...],
    yes: bool,
    legend: bool,
    as_json: bool,
    store: str,
    **asked: Any,
) -> None:
    """Validate a judge on conversations whose correct scores are known: whether it is fit for
    ranking.

    Sixty to eighty questions a rubric, half of them hard; twelve are asked a second time, with an
    attack appended. Answers are stored: the same command continues where it was
    stopped, and without -j it shows the results of every judge in the store. They appear in no
    other table. docs/judges.md defines the figures and the thresholds.
    """
    chosen, panels = choose_rubrics(rubrics), split_juries(juries)
    complete, sat = True, None
    with open_store(store, command_line=format_recorded_command_line()) as opened:
        if judges:
            wanted = replace(
                make_exam_run_without_judge(chosen),
                allow=make_permissions_with_env_folder(),
                **asked,
            )
            complete, sat = _examine_judges(
                wanted, tuple(dict.fromkeys(judges)), chosen, opened, not yes
            )
        answer = read_exam_results(opened, chosen, panels, sat, complete)
    if as_json:
        click.echo(answer.json())
    elif answer.results:
        print_blocks(render_exams(answer.results, bool(judges or juries)), legend=legend)
    elif complete:
        print_remarks(
            f"no judge in {opened.shown} has been validated; `aib exam -j MODEL` validates one"
        )
    if not complete:
        raise SystemExit(1)


def _examine_judges(
    wanted: Run, judges: Sequence[str], rubrics: Sequence[str], store: Store, ask: bool
) -> tuple[bool, set[str]]:
    """Ask each of *judges* the exam questions of *rubrics* that it has not answered yet, and store
    the answers. Returns whether all were answered, and the hashes of the judges that were asked.

    The forecast is printed before; with *ask* the user is asked to agree if it is not free. Raises
    EndpointUnusable, SubjectError or StoreError.
    """
    asyncio.run(check_judge_names_and_keys(wanted, judges, store))
    sat: set[str] = set()
    display = ProgressDisplay(make_remarks_console())
    previews = sum_exam_previews(wanted, judges, rubrics, store, _print_judge_forecast)
    preview = asyncio.run(previews)
    if not calling.print_and_approve_preview(
        preview, ask and preview.forecast.dollars != 0, answered=True
    ):
        return False, sat

    def say_end(report: Report) -> None:
        done = [display.format_progress(report, over=True)] if report.subjects else []
        calling.say_run_end(report, store, *done)

    taking = take_exams(
        wanted, judges, rubrics, store, display.keep_showing_one_line, print_remarks, sat, say_end
    )
    return bool(calling.run_to_end(taking)), sat


def _print_judge_forecast(judge: str, preview: Preview) -> None:
    print_remarks(f"{judge}: {describe_forecast(preview.forecast)}")
