"""`aib exam`: is a judge good enough? It marks conversations of known state, once, and what it did is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import click

from independence_bench.analysis.exam.answers import exam_papers
from independence_bench.analysis.exam.result import cheapest_jury, jury_papers
from independence_bench.api.commands import look_up, take_turns
from independence_bench.api.orders import forecast_line
from independence_bench.cli import calling
from independence_bench.cli.options import command_line, err, legend_option, say, show, split, store_option
from independence_bench.cli.permissions import permissions
from independence_bench.cli.progress import ProgressDisplay
from independence_bench.cli.selection import json_option
from independence_bench.engine.ask_judges import PROTOCOL, foresee, take_exam
from independence_bench.engine.preview import Forecast, Preview
from independence_bench.engine.run import Report
from independence_bench.engine.session import Limits, RunOptions
from independence_bench.errors import EndpointUnusable, WrongUse
from independence_bench.judging.exam.questions import questions
from independence_bench.lookup import fit, instead
from independence_bench.models.spec import Roster
from independence_bench.protocol.loader import load_with_files
from independence_bench.report.exam_view import examined, exams_json, exams_view
from independence_bench.store.database import Store, open_store


@click.command(name="exam")
@calling.judges_option()
@click.option(
    "--rubric", "rubrics", multiple=True, metavar="NAME", help="Only this rubric. May be repeated.  [default: all nine]"
)
@click.option(
    "--jury",
    "juries",
    multiple=True,
    metavar="A,B,C",
    help="These judges together, from stored answers; asks no model.",
)
@click.option(
    "--cheapest-jury",
    "cheapest",
    is_flag=True,
    help="The cheapest three of the store that together are fit for ranking.",
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
    cheapest: bool,
    roster: Roster,
    limits: Limits,
    yes: bool,
    as_json: bool,
    store: str,
) -> None:
    """Have a judge mark conversations whose correct marks are known, and say whether it is fit for ranking.

    Sixty questions a rubric, half of them hard; some are asked a second time, in reverse order, and with an attack
    appended. Answers are stored: the same command continues where it was stopped, and without -j it shows the results
    of every judge in the store. They appear in no other table. docs/judges.md defines the figures and the
    thresholds.
    """
    chosen = _chosen(rubrics)
    panels = [split(jury) for jury in juries]
    if any(len(set(names)) < 2 for names in panels):
        raise WrongUse("--jury: name two judges or more, with commas; `aib exam` lists those that have sat")
    complete, sat = True, None
    with open_store(store, typed=command_line()) as opened:
        if judges:
            options = RunOptions(*load_with_files(PROTOCOL), roster, None, limits=limits, allow=permissions())
            complete, sat = _have_sit(options, tuple(dict.fromkeys(judges)), chosen, opened, not yes)
        with opened.reading() as connection:
            papers = exam_papers(connection, chosen)
    shown = [paper for paper in papers if sat is None or paper.hashes & sat]
    for names in panels:
        named = {place: paper.judge for place, paper in enumerate(papers)}
        members = [papers[fit(named, name, "judge", "these have sat it:")] for name in names]
        shown += [*(member for member in members if member not in shown), *jury_papers(members)]
    found = [one for paper in shown if (one := examined(paper)) is not None]
    jury = cheapest_jury(papers, chosen) if cheapest else None
    if as_json:
        click.echo(exams_json(found, cheapest, jury))
    elif found:
        show(exams_view(found, bool(judges or juries), cheapest, jury))
    elif complete:
        say(f"no judge has sat the exam in {opened.shown}; `aib exam -j MODEL` examines one")
    if not complete:
        raise SystemExit(1)


def _chosen(rubrics: Sequence[str]) -> tuple[str, ...]:
    """The files of questions of those names, in their order; all for none. Raises WrongUse for another."""
    for name in rubrics:
        if name not in questions():
            raise WrongUse(f"--rubric: no rubric is called {name}; {instead(name, questions(), 'there are')}")
    return tuple(name for name in questions() if not rubrics or name in rubrics)


def _have_sit(
    options: RunOptions, judges: Sequence[str], rubrics: Sequence[str], store: Store, ask: bool
) -> tuple[bool, set[str]]:
    """Ask *judges* what they have not answered yet: whether all of it was, and the hashes of those that were asked.

    What it takes is said before, and with *ask* asked about. Raises EndpointUnusable, SubjectError or StoreError.
    """
    asyncio.run(look_up(options, judges, store))
    sat: set[str] = set()
    display = ProgressDisplay(err())
    if not calling.approved(asyncio.run(_foresee(options, judges, rubrics, store)), ask):
        return False, sat

    async def turn(name: str, limits: Limits) -> Report:
        sitting = await take_exam(replace(options, judge=name, limits=limits), rubrics, store, display.in_one_line)
        report = sitting.report
        sat.update(sitting.hashes)
        calling.say_end(report, store, *([display.line(report, over=True)] if report.subjects else []))
        return report

    return bool(calling.to_the_end(take_turns(options.limits, judges, turn, say))), sat


async def _foresee(options: RunOptions, judges: Sequence[str], rubrics: Sequence[str], store: Store) -> Preview:
    """What all *judges* will take, said of each where they are several; one that does not answer is left out."""
    found = []
    for name in judges:
        try:
            preview = await foresee(replace(options, judge=name), rubrics, store)
        except EndpointUnusable:
            if len(judges) == 1:
                raise
            continue
        found.append(preview)
        if len(judges) > 1:
            say(f"{name}: {forecast_line(preview.forecast)}")
    if not found:
        raise EndpointUnusable("none of these judges can be called")
    remarks = tuple(dict.fromkeys(remark for one in found for remark in one.remarks))
    forecast = sum((one.forecast for one in found), Forecast())
    return replace(found[0], forecast=forecast, remarks=remarks, exam=None)  # which this one makes
