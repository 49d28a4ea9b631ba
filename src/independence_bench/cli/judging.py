"""`aib judge` and `aib extract-names`: models are asked about stored conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import click

from independence_bench.analysis.board import read_records, scored_boards
from independence_bench.analysis.chosen_names import NamesRead, names_of, naming_scenarios, unread, with_changes
from independence_bench.api.commands import look_up, take_turns
from independence_bench.api.orders import judge_options
from independence_bench.cli import calling, workers
from independence_bench.cli.options import (
    configuration_options,
    err,
    legend_option,
    say,
    show_chosen,
    shown_options,
    weights_option,
)
from independence_bench.cli.permissions import permissions
from independence_bench.cli.progress import ProgressDisplay
from independence_bench.cli.selection import Selection, json_option, selecting
from independence_bench.cli.workers import Worker
from independence_bench.engine.ask_names import name_asker
from independence_bench.engine.run import Report
from independence_bench.engine.session import Limits, RunOptions, resolved
from independence_bench.errors import WrongUse
from independence_bench.integrations.ray_cluster import Cluster
from independence_bench.judging.judge import ModelJudge
from independence_bench.models.local import DEEP, NAME
from independence_bench.models.spec import Roster
from independence_bench.report.format import plural
from independence_bench.report.names_view import names_json, names_view
from independence_bench.store.database import Store


@click.command(name="judge")
@calling.judges_option("the protocol's")
@calling.endpoint_options
@calling.limit_options
@workers.worker_options
@selecting(configuration_options, weights_option)
def judge(
    selection: Selection,
    judges: tuple[str, ...],
    roster: Roster,
    limits: Limits,
    worker: Worker,
) -> None:
    """Judge stored conversations: with other judges, or again where one failed.

    Judgements of several judges are kept side by side; only a failed judgement is replaced. Several judges are asked
    one after the other, and share one budget; `aib judges` compares them. Without --variants and --delivery the
    protocol's default configuration is judged, or, if only others were played, these.
    """
    with selection.stored() as (opened, protocol, files):
        options = judge_options(
            opened, protocol, files, roster, permissions(), replace(limits, job=worker.job),
            selection.variants, selection.delivery, worker.shard,
        )  # fmt: skip
        asked = tuple(dict.fromkeys(judges)) or (protocol.judge.model,)
        complete = judge_in_turn(options, asked, opened, worker.cluster)
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
            asker = name_asker(left, plan.judge, session, plan.calls_at_once)
            return await asker.run_watched(display.in_one_line(asker))

    report = calling.to_the_end(read())
    if report is None:
        return False
    calling.say_end(report, store, display.line(report, over=True))
    return report.complete
