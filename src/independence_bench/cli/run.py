"""`aib run`: play, judge, rank."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from independence_bench.analysis.leaderboard import boards
from independence_bench.cli.leaderboard import print_boards
from independence_bench.cli.options import (
    LEFT_AT_ONCE,
    F,
    Number,
    a_token,
    again_option,
    command_line,
    configuration_options,
    configurations,
    confirmed,
    engine_options,
    err,
    experiments_of,
    experiments_option,
    keep_exclusions,
    models_file_option,
    out,
    protocol_option,
    read_roster,
    runs_option,
    split,
    store_option,
    weighed,
    weights_option,
)
from independence_bench.cli.progress import Watch, duration
from independence_bench.cli.spread import spread_line, spread_of, spread_option
from independence_bench.cli.trust import gate, trust_option
from independence_bench.cli.until import outcome_view, round_line, target_line, target_of, until_options
from independence_bench.engine.adaptive import AdaptiveRun, Target, run_adaptive
from independence_bench.engine.run import Report
from independence_bench.engine.schedule import Spread, run
from independence_bench.engine.session import EMBEDDED, Preview, RunOptions, with_local
from independence_bench.errors import WrongUse
from independence_bench.escape import label_text
from independence_bench.models.spec import AUTO, Reasoning, Roster, Wish, check_url, shipped_subjects
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import load_with_files
from independence_bench.report.format import money, plural
from independence_bench.report.terminal import printed
from independence_bench.store import attempts
from independence_bench.store.database import Store, default_store, open_store

NO_EFFORT = "none"  # what published labels call off
EFFORTS = (*(effort.value for effort in Reasoning), NO_EFFORT, AUTO)
GO_AHEAD = "Go ahead?"
MOST_TROUBLES = 12  # lines of what could not be completed; the rest is counted


def order_options(command: F) -> F:
    """Everything that says what is to be played and judged: of `aib run`, and of what tells its cost beforehand."""
    for option in reversed(
        (
            click.argument("models", nargs=-1, metavar="[MODEL]..."),
            click.option("--models", "listed", metavar="A,B", help="The same as MODEL..., with commas."),
            click.option(
                "--all",
                "every",
                is_flag=True,
                help="All active subjects of models.yaml; without one, of the list that ships.",
            ),
            models_file_option,
            trust_option,
            click.option(
                "--local-url", metavar="URL", help="A server on this machine or near it, e.g. http://localhost:8080/v1"
            ),
            click.option(
                "--local-model", multiple=True, metavar="NAME", help="A model on that server. May be repeated."
            ),
            protocol_option,
            experiments_option,
            configuration_options,
            runs_option,
            click.option("--temperature", type=Number(0, 2), help="For every subject.  [default: the protocol's]"),
            click.option(
                "--max-tokens",
                type=click.IntRange(1, 1_000_000),
                help="Limit of one reply; twice that, once, where it cut one off.",
            ),
            click.option(
                "--reasoning-effort",
                type=click.Choice(EFFORTS),
                help="For every subject; none is off.  [default: off, where it can be]",
            ),
            click.option("--provider", metavar="SLUG", help="Only this provider may serve the models (OpenRouter)."),
            click.option("--judge", metavar="MODEL", help="A model, or `embedded`.  [default: the protocol's]"),
            click.option("--no-judge", is_flag=True, help="Play only; `aib judge` can judge later."),
            again_option,
        )
    ):
        command = option(command)
    return command


@click.command(name="run")
@order_options
@weights_option
@until_options
@spread_option
@engine_options
@click.option("-y", "--yes", is_flag=True, help="Play the subjects of a list without asking first.")
@store_option
def command(
    weights: str | None,
    parallel: int,
    parallel_tasks: int,
    budget: float | None,
    price: tuple[float, float] | None,
    until_width: float | None,
    until_ranked: bool,
    hours: float | None,
    yes: bool,
    store: str,
    **typed: Any,
) -> None:
    """Play a protocol against models, judge every conversation, show the ranking.

    MODEL is a model on OpenRouter (qwen/qwen3-8b), ENDPOINT:MODEL for another endpoint (openai:gpt-4o-mini,
    local:NAME, or one of models.yaml), or `embedded` for the small local one. It is called as models.yaml says,
    else as the list of models worth testing says (docs/models.md), else as the protocol says. Without any, the
    active subjects of models.yaml are played, after showing what that will cost.

    What is stored is not asked again: running the same command twice does nothing the second time, and after
    Ctrl-C it goes on where it stopped.

    With --until-width or --until-ranked whole runs are played in rounds, two of each subject first; after each
    round the next run goes where it settles most, until nothing more can be settled.

    With --spread-over run k of all subjects is played together, each run as long after the one before it, counted
    from when that was begun: what only today's model or provider does is then not in all of them. Stored runs count;
    stopped and started again it goes on in step. Runs of one evening say nothing of tomorrow.
    """
    target = target_of(until_width, until_ranked, typed["runs"])
    options = replace(
        read_order(**typed), at_once=parallel, calls_at_once=parallel_tasks, budget=budget, price=a_token(price)
    )
    options = replace(options, protocol=weighed(options.protocol, weights))
    named = typed["models"] or split(typed["listed"]) or typed["local_model"]
    with open_store(store, typed=command_line()) as opened:
        ask = not named and not yes
        if target is None:
            complete = carry_out(options, opened, ask, spread=spread_of(hours, options.runs, err()))
        else:
            complete = carry_out_rounds(options, target, opened, ask, spread_of(hours, target.most, err()))
    if not complete:
        raise SystemExit(1)


def read_order(
    *,
    models: tuple[str, ...],
    listed: str | None,
    every: bool,
    models_file: Path | None,
    local_url: str | None,
    local_model: tuple[str, ...],
    protocol_name: str,
    experiments: str | None,
    variants: str | None,
    modes: str | None,
    runs: int | None,
    temperature: float | None,
    max_tokens: int | None,
    reasoning_effort: str | None,
    provider: str | None,
    judge: str | None,
    no_judge: bool,
    again: bool,
) -> RunOptions:
    """What `order_options` were given, as it is options. Raises WrongUse and what the files are wrong by."""
    protocol, files = load_with_files(protocol_name)
    roster = read_roster(models_file)
    if local_url:
        roster = with_local(roster, check_url(local_url))
    if local_model and not local_url:
        raise WrongUse("--local-model needs --local-url, e.g. --local-url http://localhost:8080/v1")
    typed = [*split(",".join(models)), *split(listed), *(f"local:{name}" for name in local_model)]
    overrides = {
        "temperature": temperature,
        "max_tokens": max_tokens,
        "reasoning": Reasoning.OFF.value if reasoning_effort == NO_EFFORT else reasoning_effort,
        "provider": provider,
    }
    changes = {name: value for name, value in overrides.items() if value is not None}
    return RunOptions(
        protocol=protocol,
        files=files,
        configurations=configurations(protocol, variants, modes),
        wishes=tuple(replace(wish, **changes) for wish in _wished(typed, every, roster)),  # type: ignore[arg-type]
        subjects=(),
        roster=roster,
        runs=runs or protocol.runs,
        judge=None if no_judge else judge or protocol.judge.model,
        again=again,
        experiments=experiments_of(protocol, experiments),
        allow=gate(),
        unnamed=not typed and not roster.wishes,
    )


def _wished(typed: Sequence[str], every: bool, roster: Roster) -> list[Wish]:
    """The subjects that were named; without a name those of models.yaml, or with --all else those of our list."""
    if typed and every:
        raise WrongUse("--all means every subject: leave out the models, or --all")
    if typed:
        return [wish for name in typed for wish in _wishes(name, roster)]
    listed = roster.wishes or (shipped_subjects() if every else ())
    wishes = [wish for wish in listed if wish.active]
    if not wishes:
        raise WrongUse("no subject: name a model (`aib run embedded`), list some in models.yaml, or say --all")
    return wishes


def _wishes(typed: str, roster: Roster) -> tuple[Wish, ...]:
    if typed in ("embedded", f"embedded:{EMBEDDED.model}"):
        return (EMBEDDED,)
    wishes = roster.find(typed, shipped_subjects())
    if wishes[0].endpoint == "embedded":
        raise WrongUse(f"the embedded endpoint has one model, {EMBEDDED.model}; write `embedded`")
    return wishes


def carry_out(
    options: RunOptions,
    store: Store,
    ask: bool,
    check: Callable[[Preview], None] = lambda preview: None,
    spread: Spread | None = None,
) -> bool:
    """Do what is options with progress on stderr, then print the ranking; whether everything was completed.

    *check* sees what is about to be done and may raise. *spread*: how far apart runs are; None: as fast as it goes.
    """
    console = err()
    watch = Watch(console)

    def approve(preview: Preview) -> bool:
        check(preview)
        for line in preview_lines(preview):
            console.print(line, soft_wrap=True)
        if spread is not None and preview.forecast.calls:
            console.print(spread_line(spread, options.runs), soft_wrap=True)
        return not ask or not preview.forecast.calls or confirmed(GO_AHEAD)

    try:
        report = asyncio.run(run(options, store, approve, watch, spread))
    except (asyncio.CancelledError, KeyboardInterrupt):
        console.print(LEFT_AT_ONCE, soft_wrap=True)
        return False
    if report is None:
        console.print("nothing was sent")
        return False
    console.print(watch.line(report, over=True), soft_wrap=True)
    _close(options, store, report, console)
    return report.complete


def carry_out_rounds(
    options: RunOptions, target: Target, store: Store, ask: bool, spread: Spread | None = None
) -> bool:
    """The same in rounds, as many as *target* takes, with a table of what was settled at the end."""
    console = err()
    watch = Watch(console)
    started = time.monotonic()

    def approve(preview: Preview) -> bool:
        console.print(target_line(target), soft_wrap=True)
        for line in preview_lines(preview):
            console.print(line, soft_wrap=True)
        if spread is not None and preview.forecast.calls:
            console.print(spread_line(spread, target.most), soft_wrap=True)
        return not ask or not preview.forecast.calls or confirmed(GO_AHEAD)

    def tell(adaptive: AdaptiveRun) -> None:
        console.print(round_line(adaptive), soft_wrap=True)

    try:
        adaptive = asyncio.run(run_adaptive(options, target, store, approve, watch, tell, spread))
    except (asyncio.CancelledError, KeyboardInterrupt):
        console.print(LEFT_AT_ONCE, soft_wrap=True)
        return False
    if adaptive is None:
        console.print("nothing was sent")
        return False
    console.print(f"{plural(adaptive.round, 'round')} in {duration(time.monotonic() - started)}")
    _close(options, store, adaptive.report, console)
    printed(out(), outcome_view(adaptive))
    return adaptive.report.complete


def _close(options: RunOptions, store: Store, report: Report, console: Console) -> None:
    """What could not be completed, what it cost, the ranking, how to read on."""
    with store.reading() as connection:
        spent = attempts.spending(connection)
    for line in closing_lines(report, spent):
        console.print(line, soft_wrap=True)
    print_asked(options, store, [report.judge])
    say_where_to_read(console, options.protocol, report, store)


def print_asked(options: RunOptions, store: Store, judges: Collection[str | None]) -> None:
    """The rankings of what was *options*, by judges of those labels; by others where they rank somebody."""
    keep_exclusions(store, options.roster)
    played = set(options.configurations)
    found = [board for board in boards(store, options.protocol) if played & set(board.configurations)]
    if asked := [one for one in found if one.judge is None or one.judge in judges or one.ranked]:
        print_boards(asked)


def preview_lines(preview: Preview) -> list[str]:
    """What is about to be done and what it may cost."""
    plan, forecast = preview.plan, preview.forecast
    count = len(plan.subjects)
    lines = []
    if plan.runs:
        who = label_text(plan.subjects[0].label) if count == 1 else f"{count} subjects"
        where = " + ".join(str(configuration) for configuration in plan.configurations)
        only = f" · only {', '.join(plan.experiments)}" if plan.experiments else ""
        lines.append(f"{plan.protocol.name} · {who} · {plural(plan.runs, 'run')} · {where}{only}")
    if forecast.calls:
        dollars = forecast.dollars
        cost = "price not known" if dollars is None else "free" if dollars == 0 else f"about {money(dollars)}"
        tokens = forecast.prompt_tokens + forecast.completion_tokens
        lines.append(f"{plural(forecast.calls, 'call')}, about {tokens:,} tokens, {cost}")
    before = preview.spent_before
    if before.attempts:
        lost = f", {before.lost} of them lost in flight" if before.lost else ""
        lines.append(f"the store has cost {money(before.total)} so far in {plural(before.attempts, 'call')}{lost}")
    lines += [f"note: {label_text(remark)}" for remark in preview.remarks]
    return lines


def closing_lines(report: Report, spent: attempts.Spending) -> list[str]:
    """What could not be completed and why, what it cost, and how to go on."""
    lines = []
    if report.lost:
        lines.append(
            f"an earlier process ended with {plural(report.lost, 'call')} in flight: at most that was paid for twice"
        )
    reasons = Counter((label, trouble.why) for label, trouble in report.troubles)
    for (label, why), count in reasons.most_common(MOST_TROUBLES):
        where = [t.what for of, t in report.troubles if (of, t.why) == (label, why)]
        more = f" and {count - 1} more" if count > 1 else ""
        lines.append(f"not completed: {label_text(label)}: {where[0]}{more}: {label_text(why)}")
    if len(reasons) > MOST_TROUBLES:
        lines.append(f"and {len(reasons) - MOST_TROUBLES} more reasons")
    if report.stopped:
        lines.append(f"stopped: {report.stopped}. The same command goes on from here.")
    unpriced = sum(progress.tally.unpriced for progress in report.subjects)
    told = f" ({plural(unpriced, 'call')} without a price)" if unpriced else ""
    lines.append(
        f"spent {'at least ' if unpriced else ''}{money(report.cost)} by this command{told}, "
        f"{money(spent.total)} in the store's life "
        f"(candidates {money(spent.replies)}, judges {money(spent.judgements)})"
    )
    return lines


def say_where_to_read(console: Console, protocol: Protocol, report: Report, store: Store) -> None:
    """How to read a conversation behind the numbers."""
    played = next((progress for progress in report.subjects if progress.done), None)
    if played is not None:
        # an address is shown without its password, so it would not work as it stands
        known = store.shown == default_store() or "://" in store.shown
        at = "" if known else f" --store {shlex.quote(store.shown)}"
        name = "" if protocol.name == "v2" else f" --protocol {shlex.quote(protocol.name)}"
        scenario = protocol.scenarios[-1].id
        console.print(
            f"read a conversation: aib show {shlex.quote(label_text(played.label))} {scenario}{name}{at}",
            soft_wrap=True,
        )
