"""`aib judge` and `aib extract-names`: models are asked about stored conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import click

from independence_bench.analysis.board import read_records, scored_boards
from independence_bench.analysis.chosen_names import NamesRead, names_of, naming_scenarios, unread, with_changes
from independence_bench.api.orders import judge_options
from independence_bench.api.turns import look_up, take_turns
from independence_bench.cli import calling, workers
from independence_bench.cli.options import (
    command_line,
    configuration_options,
    err,
    legend_option,
    say,
    show,
    show_chosen,
    shown_options,
    split,
    weights_option,
)
from independence_bench.cli.permissions import permissions
from independence_bench.cli.progress import ProgressDisplay
from independence_bench.cli.selection import Selection, json_option, selecting
from independence_bench.engine.ask_injection import probe
from independence_bench.engine.ask_names import name_asker
from independence_bench.engine.preview import Preview
from independence_bench.engine.run import Report
from independence_bench.engine.session import Limits, RunOptions, resolved
from independence_bench.errors import WrongUse
from independence_bench.integrations.ray_cluster import Cluster
from independence_bench.judging.injection import pairs
from independence_bench.judging.judge import ModelJudge
from independence_bench.models.local import DEEP, NAME
from independence_bench.models.spec import Roster
from independence_bench.protocol.loader import load_with_files
from independence_bench.protocol.plan import Shard
from independence_bench.report.format import plural
from independence_bench.report.injection_view import probe_json, probe_view
from independence_bench.report.names_view import names_json, names_view
from independence_bench.store.database import Store, open_store


@click.command(name="judge")
@calling.judges_option("the protocol's")
@calling.endpoint_options
@calling.limit_options
@workers.worker_options
@click.option(
    "--probe-injection",
    is_flag=True,
    help="Measure whether text in a conversation can sway the judge; stored conversations are not judged.",
)
@click.option("--json", "as_json", is_flag=True, help="With --probe-injection: print the result as JSON, for programs.")
@click.option("-y", "--yes", is_flag=True, help="With --probe-injection: do not ask before it costs money.")
@selecting(configuration_options, weights_option)
def judge(
    selection: Selection,
    judges: tuple[str, ...],
    roster: Roster,
    limits: Limits,
    shard: Shard | None,
    job: str | None,
    cluster: Cluster | None,
    probe_injection: bool,
    as_json: bool,
    yes: bool,
) -> None:
    """Judge stored conversations: with other judges, or again where one failed.

    Judgements of several judges are kept side by side; only a failed judgement is replaced. Several judges are asked
    one after the other, and share one budget; `aib judges` compares them. Without --variants and --modes the
    protocol's default configuration is judged, or, if only others were played, these.

    --probe-injection has the judge mark conversations of known behaviour, with and without attacks appended to the
    model's words, and reports how far its marks move. The answers are stored, and appear in no other table.
    """
    if probe_injection:
        if shard is not None or cluster is not None:
            raise WrongUse("--probe-injection is carried out by one worker: leave out --shard and --on")
        if selection != Selection(selection.store):
            raise WrongUse(
                "--probe-injection has conversations of its own: leave out --protocol, --variants, --modes, --weights"
            )
        if len(judges) > 1:
            raise WrongUse("--probe-injection is about one judge: name one with -j")
        with open_store(selection.store, typed=command_line()) as opened:
            complete = carry_out_probe(judges[0] if judges else None, roster, opened, limits, not yes, as_json)
    elif as_json or yes:
        raise WrongUse("--json and --yes belong to --probe-injection")
    else:
        with selection.stored() as (opened, protocol, files):
            chosen = split(selection.variants), split(selection.modes)
            options = judge_options(opened, protocol, files, roster, permissions(), *chosen)
            options = replace(options, limits=replace(limits, job=job), shard=shard)
            complete = judge_in_turn(options, tuple(dict.fromkeys(judges)) or (protocol.judge.model,), opened, cluster)
    if not complete:
        raise SystemExit(1)


def judge_in_turn(options: RunOptions, judges: Sequence[str], store: Store, cluster: Cluster | None = None) -> bool:
    """Have *judges* judge, one after the other, what *options* say, then print their rankings; whether all was judged.

    The budget is that of all of them. What cannot work (a name, a key) is said before anybody is asked; an endpoint
    that fails later ends its own judge's turn. Raises SubjectError, EndpointUnusable or StoreError.
    """
    limits, shared = options.limits, options.shard is not None or cluster is not None
    if len(judges) > 1 and shared and limits.budget is not None and limits.job is None:
        raise WrongUse("several workers, several judges and a --budget need --job NAME: they all share it")
    if len(judges) == 1:
        one = replace(options, judge=judges[0])
        return calling.print_outcome(
            one, store, calling.to_the_end(calling.carry_out(one, store, False, cluster=cluster))
        )
    asyncio.run(look_up(options, judges, store))
    labels: list[str | None] = []

    async def turn(name: str, limits: Limits) -> Report | None:
        now = replace(options, judge=name, limits=limits)
        report = await calling.carry_out(now, store, ask=False, cluster=cluster)
        labels.extend([report.judge] if report else [])
        return report

    complete = calling.to_the_end(take_turns(options.limits, judges, turn, say))
    if complete is None:
        return False
    calling.print_asked(options, store, labels)
    say("compare the judges: aib judges")
    return complete


def carry_out_probe(judge: str | None, roster: Roster, store: Store, limits: Limits, ask: bool, as_json: bool) -> bool:
    """Probe *judge* with progress on stderr, then print the result; whether every pair was judged.

    *ask*: before anything is sent that may cost money. Raises EndpointUnusable, SubjectError or StoreError.
    """
    protocol, files = load_with_files(pairs.PROTOCOL)
    options = RunOptions(
        protocol=protocol,
        files=files,
        roster=roster,
        judge=judge or protocol.judge.model,
        configurations=protocol.configurations,
        limits=limits,
        allow=permissions(),
    )
    display = ProgressDisplay(err())

    def approve(preview: Preview) -> bool:
        return calling.approved(preview, ask and preview.forecast.dollars != 0)

    probed = calling.to_the_end(probe(options, store, approve, display.in_one_line))
    if probed is None:
        return False
    report = probed.report
    calling.say_end(report, store, *([display.line(report, over=True)] if report.subjects else []))
    if as_json:
        click.echo(probe_json(probed))
    else:
        show(probe_view(probed))
    return report.complete


@click.command(name="extract-names")
@click.option("-j", "--judge", "asked", metavar="MODEL", help="Have this model read what is not read yet.")
@calling.endpoint_options
@calling.one_subject_limit_options
@shown_options
@legend_option
@selecting(json_option)
def extract_names(selection: Selection, asked: str | None, roster: Roster, limits: Limits, as_json: bool) -> None:
    """Show which name and gender each model chose for itself, and which it had at the end.

    Names and genders come from models that have read the conversations: with -j a model reads those that no model has
    read, once each, and its readings are stored. Imported data has the readings that were published with it. What
    became of a name or a gender comes from the judge's marks.
    """
    with selection.stored() as (opened, protocol, files):
        if not naming_scenarios(protocol):
            raise WrongUse(f"{protocol.name} has no scenario that asks for a name; v2 has (--protocol v2)")
        readings = names_of(opened, protocol)
        complete = True
        if asked is not None and unread(readings):
            options = RunOptions(protocol, files, roster, asked, limits=limits, allow=permissions())
            complete = ask(options, unread(readings), opened)
            readings = names_of(opened, protocol)
        with opened.reading() as connection:
            boards = [scored.board for scored in scored_boards(read_records(connection, protocol), protocol)]
        readings = with_changes(readings, boards)
    if as_json:
        click.echo(names_json(protocol, readings))
    elif readings:
        show_chosen(names_view(protocol, readings))
    else:
        say(
            f"no conversations of {protocol.name} in which the model chooses who to be are stored; `aib run` plays them"
        )
    if not complete:
        raise SystemExit(1)


def ask(options: RunOptions, left: list[NamesRead], store: Store) -> bool:
    """Have the judge of *options* read what is *left*, with progress on stderr; whether all of it was read."""
    if options.judge in (NAME, DEEP):
        raise WrongUse("the embedded judges cannot read names; name a model with -j")
    display = ProgressDisplay(err())
    say(f"{plural(len(left), 'conversation')} to be read by {options.judge}")

    async def read() -> Report:
        async with resolved(options, store) as (plan, session):
            assert isinstance(plan.judge, ModelJudge)  # noqa: S101 - the embedded one was turned away
            asker = name_asker(left, plan.judge, session, options.limits.calls_at_once)
            return await asker.run_watched(display.in_one_line(asker))

    report = calling.to_the_end(read())
    if report is None:
        return False
    calling.say_end(report, store, display.line(report, over=True))
    return report.complete
