"""`aib judge`, `aib extract-names`, `aib exam`: judges are asked about conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import click

from independence_bench.analysis.chosen_names import (
    NamesRead,
    add_name_changes,
    list_chosen_names,
    list_naming_scenarios,
    list_unread_conversations,
)
from independence_bench.analysis.exam.answers import read_exam_papers
from independence_bench.analysis.exam.result import make_jury_paper
from independence_bench.analysis.leaderboard import make_leaderboards
from independence_bench.api.commands import check_judges, plan_judging, run_judges_in_turn
from independence_bench.api.named import find_stored_subjects
from independence_bench.cli import calling
from independence_bench.cli.options import (
    FILLED,
    configuration_options,
    experiments_option,
    find_permissions,
    format_command_line,
    format_store_option,
    json_option,
    legend_option,
    make_remarks_console,
    print_blocks,
    print_chosen_views,
    print_remarks,
    shown_options,
    store_option,
    stored_models_option,
    weights_option,
)
from independence_bench.cli.progress import ProgressDisplay
from independence_bench.cli.selection import add_selection_options, take_selection
from independence_bench.engine.ask import Asker, ask_until_settled
from independence_bench.engine.ask_judges import (
    JudgeAsker,
    make_name_asker,
    preview_exam,
    take_exam,
)
from independence_bench.engine.preview import Forecast, Preview, make_preview
from independence_bench.engine.run import Report, Run, Session
from independence_bench.engine.session import find_roster, open_session
from independence_bench.errors import EndpointUnusable, SubjectError, WrongUse
from independence_bench.figures import format_count
from independence_bench.integrations.ray_cluster import Cluster
from independence_bench.judging.exam.questions import load_exam_protocol, load_questions
from independence_bench.judging.judge import ModelJudge
from independence_bench.lookup import find_by_label, split_list, suggest_names
from independence_bench.models.local import NAME
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Protocol
from independence_bench.report.estimate_view import describe_forecast
from independence_bench.report.exam_view import format_exams_json, grade_paper, render_exams
from independence_bench.report.names_view import format_names_json, render_names
from independence_bench.report.table import RowFilter
from independence_bench.store.database import Store, open_store


@click.command(name="judge")
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
    and --exp judge only a part of what is stored. Without --variants and --delivery the protocol's
    default configuration is judged, or, if only others were played, these.
    """
    worker, selection = calling.parse_worker(shard, job, on), take_selection(asked)
    wanted = Run(
        models=selection.models,
        exp=selection.exp,
        variants=selection.variants,
        modes=selection.modes,
        shard=worker.shard,
        job=worker.job,
        allow=find_permissions(),
        **asked,
    )
    wanted = replace(wanted, roster=find_roster(wanted))
    with selection.open_for_marking(format_command_line()) as (opened, protocol, files):
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
        return calling.print_outcome(one, store, calling.run_to_end(work))
    asyncio.run(check_judges(wanted, judges, store))
    answered = calling.has_cost_answer(yes, wanted)
    if not answered and not calling.confirm_cost(
        asyncio.run(_forecast_judging(wanted, judges, store)), answered
    ):
        return False
    reports: list[Report] = []

    async def run_turn(of_judge: Run) -> Report | None:
        report = await calling.play_with_progress(
            of_judge, store, ask=False, cluster=cluster, yes=True
        )
        reports.extend([report] if report else [])
        return report

    complete = calling.run_to_end(run_judges_in_turn(wanted, judges, run_turn, print_remarks))
    if complete is None:
        return False
    calling.print_wanted_boards(wanted, store, reports)
    print_remarks(f"compare the judges: aib judges{format_store_option(store)}")
    return complete


async def _forecast_judging(wanted: Run, judges: Sequence[str], store: Store) -> Forecast:
    """Return the forecast of the calls and dollars that all *judges* together need to judge what
    *wanted* names. A judge whose endpoint does not answer is left out.
    """
    whole = Forecast()
    for name in judges:
        with suppress(EndpointUnusable, SubjectError):
            async with open_session(replace(wanted, judge=name), store) as session:
                whole += (await make_preview(session)).forecast
    return whole


@click.command(name="extract-names")
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
    that were published with it. What became of a name or a gender comes from the judge's marks.
    """
    selection = take_selection(asked)
    with selection.open_for_marking(format_command_line()) as (opened, protocol, files):
        if not list_naming_scenarios(protocol):
            raise WrongUse(
                f"{protocol.name} has no scenario that asks for a name; v2 has (--protocol v2)"
            )
        chosen = (
            find_stored_subjects(opened, protocol, selection.models) if selection.models else None
        )
        readings = read_chosen_names(opened, protocol, chosen)
        complete = True
        if judge is not None and list_unread_conversations(readings):
            wanted = Run(
                protocol=(protocol, files),
                judge=judge,
                judge_only=True,
                allow=find_permissions(),
                **asked,
            )
            complete = have_names_read(wanted, list_unread_conversations(readings), opened, yes)
            readings = read_chosen_names(opened, protocol, chosen)
        readings = add_name_changes(readings, make_leaderboards(opened, protocol))
    if as_json:
        click.echo(format_names_json(protocol, readings))
    elif readings:
        view = render_names(protocol, readings)
        print_chosen_views(view, shown=RowFilter(top, find), legend=legend)
    else:
        print_remarks(
            f"no conversations of {protocol.name} in which the model chooses who to be are "
            "stored; `aib run` plays them"
        )
    if not complete:
        raise SystemExit(1)


def read_chosen_names(
    store: Store, protocol: Protocol, chosen: Sequence[ChatModel] | None
) -> list[NamesRead]:
    """Return what is known about the names that the models *chosen* chose for themselves in stored
    conversations of *protocol*, one value for each conversation; None: of all models.
    """
    hashes = None if chosen is None else {subject.hash for subject in chosen}
    return [
        reading
        for reading in list_chosen_names(store, protocol)
        if hashes is None or reading.subject_hash in hashes
    ]


def have_names_read(wanted: Run, left: list[NamesRead], store: Store, yes: bool) -> bool:
    """Have the judge that *wanted* names read which name the model chose in each of the *unread*
    conversations, with progress on stderr, and store what it read. Returns whether all were read.
    The user is asked first if the costs are high, unless *yes* or a budget is given. Raises
    WrongUse for the embedded judge.
    """
    if wanted.judge == NAME:
        raise WrongUse("the embedded judge cannot read names; name a model with -j")
    print_remarks(f"{format_count(len(left), 'conversation')} to be read by {wanted.judge}")
    answered = calling.has_cost_answer(yes, wanted)
    report = calling.run_to_end(
        ask_with_progress(wanted, store, partial(make_name_asker, left), len(left), answered)
    )
    return report is not None and report.complete


async def ask_with_progress(
    wanted: Run,
    store: Store,
    asker_of: Callable[[ModelJudge, Session, int], JudgeAsker],
    calls: int,
    answered: bool,
) -> Report | None:
    """Have the judge that *wanted* names answer the questions of the asker that *asker_of* makes,
    with progress on stderr; then print how it ended and what it cost. Returns the report; None if
    the user said no to the cost.

    *calls*: the most calls that it may take; *answered*: an option has said how much it may cost,
    so the user is not asked.
    """
    display = ProgressDisplay(make_remarks_console())
    async with open_session(wanted, store) as session:
        assert isinstance(session.judge, ModelJudge)  # noqa: S101 - the embedded one was turned away
        free = session.clients[session.judge.model.endpoint].endpoint.free
        if not free and not calling.confirm_cost(
            Forecast(calls, dollars=None, paid_calls=calls), answered
        ):
            return None

        async def make_asker(session: Session) -> Asker:
            assert isinstance(session.judge, ModelJudge)  # noqa: S101 - as above
            return asker_of(session.judge, session, session.calls_at_once)

        report = await ask_until_settled(session, make_asker, display.show_one_line)
    calling.say_run_end(report, store, display.format_progress(report, over=True))
    return report


# ---------------------------------------------------------------- the exam


@click.command(name="exam")
@calling.make_judges_option()
@click.option(
    "--rubric",
    "rubrics",
    multiple=True,
    metavar="NAME",
    help="Only this rubric. May be repeated.  [default: all eight]",
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
    """Have a judge mark conversations whose correct marks are known, and say whether it is fit for
    ranking.

    Sixty to eighty questions a rubric, half of them hard; twelve are asked a second time, with an
    attack appended. Answers are stored: the same command continues where it was
    stopped, and without -j it shows the results of every judge in the store. They appear in no
    other table. docs/judges.md defines the figures and the thresholds.
    """
    chosen = _choose_rubrics(rubrics)
    panels = [split_list(jury) for jury in juries]
    if any(len(set(names)) < 2 for names in panels):
        raise WrongUse(
            "--jury: name two judges or more, with commas; `aib exam` lists those that have sat"
        )
    complete, sat = True, None
    with open_store(store, typed=format_command_line()) as opened:
        if judges:
            wanted = Run(
                protocol=(load_exam_protocol(load_questions()[chosen[0]].protocol), {}),
                judge_only=True,
                allow=find_permissions(),
                **asked,
            )
            complete, sat = _examine_judges(
                wanted, tuple(dict.fromkeys(judges)), chosen, opened, not yes
            )
        with opened.open_snapshot() as connection:
            papers = read_exam_papers(connection, chosen)
    shown = [paper for paper in papers if sat is None or paper.hashes & sat]
    for names in panels:
        named = {place: paper.judge for place, paper in enumerate(papers)}
        members = [
            papers[find_by_label(named, name, "judge", "these have sat it:")] for name in names
        ]
        shown += [*(member for member in members if member not in shown), make_jury_paper(members)]
    results = [one for paper in shown if (one := grade_paper(paper)) is not None]
    if as_json:
        click.echo(format_exams_json(results))
    elif results:
        print_blocks(render_exams(results, bool(judges or juries)), legend=legend)
    elif complete:
        print_remarks(
            f"no judge has sat the exam in {opened.shown}; `aib exam -j MODEL` examines one"
        )
    if not complete:
        raise SystemExit(1)


def _choose_rubrics(rubrics: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the exam's question files among *rubrics*, in the exam's order; all if
    *rubrics* is empty. Raises WrongUse for an unknown name.
    """
    for name in rubrics:
        if name not in load_questions():
            raise WrongUse(
                f"--rubric: no rubric is called {name}; "
                f"{suggest_names(name, load_questions(), 'there are')}"
            )
    return tuple(name for name in load_questions() if not rubrics or name in rubrics)


def _examine_judges(
    wanted: Run, judges: Sequence[str], rubrics: Sequence[str], store: Store, ask: bool
) -> tuple[bool, set[str]]:
    """Ask each of *judges* the exam questions of *rubrics* that it has not answered yet, and store
    the answers. Returns whether all were answered, and the hashes of the judges that were asked.

    The forecast is printed before; with *ask* the user is asked to agree if it is not free. Raises
    EndpointUnusable, SubjectError or StoreError.
    """
    asyncio.run(check_judges(wanted, judges, store))
    sat: set[str] = set()
    display = ProgressDisplay(make_remarks_console())
    preview = asyncio.run(_preview_exams(wanted, judges, rubrics, store))
    if not calling.approve_preview(preview, ask and preview.forecast.dollars != 0, answered=True):
        return False, sat

    async def run_turn(of_judge: Run) -> Report:
        sitting = await take_exam(of_judge, rubrics, store, display.show_one_line)
        report = sitting.report
        sat.update(sitting.hashes)
        calling.say_run_end(
            report,
            store,
            *([display.format_progress(report, over=True)] if report.subjects else []),
        )
        return report

    return bool(
        calling.run_to_end(run_judges_in_turn(wanted, judges, run_turn, print_remarks))
    ), sat


async def _preview_exams(
    wanted: Run, judges: Sequence[str], rubrics: Sequence[str], store: Store
) -> Preview:
    """Return one preview with the summed forecast of the exams of all *judges*; print each judge's
    own forecast if there are several. A judge whose endpoint cannot be used is left out. Raises
    EndpointUnusable if none is left.
    """
    previews = []
    for name in judges:
        try:
            preview = await preview_exam(replace(wanted, judge=name), rubrics, store)
        except EndpointUnusable:
            if len(judges) == 1:
                raise
            continue
        previews.append(preview)
        if len(judges) > 1:
            print_remarks(f"{name}: {describe_forecast(preview.forecast)}")
    if not previews:
        raise EndpointUnusable("none of these judges can be called")
    remarks = tuple(dict.fromkeys(remark for preview in previews for remark in preview.remarks))
    forecast = sum((preview.forecast for preview in previews), Forecast())
    # which this one makes
    return replace(previews[0], forecast=forecast, remarks=remarks, exam=None)
