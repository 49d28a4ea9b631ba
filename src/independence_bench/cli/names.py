"""`aib extract-names`: which name and gender each model chose for itself."""

from __future__ import annotations

import click

from independence_bench.calls.budget import Budget
from independence_bench.calls.pool import real_clocks
from independence_bench.cli.calling import budget_option, endpoint_options, price_option, say, say_end, to_the_end
from independence_bench.cli.options import (
    command_line,
    err,
    find_protocol,
    out,
    store_option,
    stored_protocol_option,
)
from independence_bench.cli.progress import ProgressDisplay
from independence_bench.cli.trust import permissions
from independence_bench.engine.ask_names import NameAsker, NamesRead, names_of, naming_scenarios, unsure
from independence_bench.engine.run import Report
from independence_bench.engine.session import Limits, RunOptions, open_judge
from independence_bench.errors import WrongUse
from independence_bench.judging.judge import ModelJudge
from independence_bench.models.local import NAME as TABLE_JUDGE
from independence_bench.models.spec import Roster
from independence_bench.report.format import plural
from independence_bench.report.names_view import names_json, names_view
from independence_bench.report.terminal import printed
from independence_bench.store.database import Store, open_store


@click.command(name="extract-names")
@click.option("-j", "--judge", metavar="MODEL", help="Ask this model where the rule is unsure.")
@endpoint_options
@stored_protocol_option
@click.option(
    "-pt", "--parallel-tasks", type=click.IntRange(1, 4096), default=8, show_default=True, help="Calls at once."
)
@budget_option
@price_option
@click.option("--json", "as_json", is_flag=True, help="Every choice as JSON.")
@store_option
def command(
    judge: str | None,
    roster: Roster,
    protocol_name: str | None,
    parallel_tasks: int,
    budget: float | None,
    price: tuple[float, float] | None,
    as_json: bool,
    store: str,
) -> None:
    """Show which name and gender each model chose for itself, and what it went by in the end.

    Read from its words by rule, which costs nothing. What the rule is unsure of is shown as such; with -j a model
    reads those conversations, once each, and what it read is stored.
    """
    with open_store(store, create=False, typed=command_line()) as opened:
        protocol, files = find_protocol(protocol_name, opened)
        if not naming_scenarios(protocol):
            raise WrongUse(f"{protocol.name} lets nobody choose who to be; v2 does (--protocol v2)")
        readings = names_of(opened, protocol)
        complete = True
        if judge is not None and unsure(readings):
            limits = Limits(1, parallel_tasks, budget, price)
            options = RunOptions(protocol, files, roster, judge, limits=limits, allow=permissions())
            complete = ask(options, unsure(readings), opened)
            readings = names_of(opened, protocol)
    if as_json:
        click.echo(names_json(protocol, readings))
    elif readings:
        printed(out(), names_view(protocol, readings))
    else:
        err().print(f"no conversation of {protocol.name} in which somebody chooses who to be is stored; `aib run` does")
    if not complete:
        raise SystemExit(1)


def ask(options: RunOptions, left: list[NamesRead], store: Store) -> bool:
    """Have the judge of *options* read what is *left*, with progress on stderr; whether all of it was read."""
    if options.judge == TABLE_JUDGE:
        raise WrongUse("the embedded judge knows no names; -j takes a model")
    console = err()
    display = ProgressDisplay(console)
    say(console, f"{plural(len(left), 'conversation')} to be read by {options.judge}")
    report = to_the_end(_ask(options, left, store, display), console)
    if report is None:
        return False
    say_end(console, report, store, display.line(report, over=True))
    return report.complete


async def _ask(options: RunOptions, left: list[NamesRead], store: Store, display: ProgressDisplay) -> Report:
    async with open_judge(options) as (judge, clients):
        if not isinstance(judge, ModelJudge):
            raise WrongUse(f"{judge.label} cannot be asked for names; -j takes a model")
        budget = Budget(options.limits.budget)
        asker = NameAsker(left, judge, store, clients, budget, options.limits.calls_at_once, real_clocks())
        return await asker.run_watched(display.in_one_line(asker))
