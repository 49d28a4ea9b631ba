"""`aib judge`: judge what is stored."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace

import click
from rich.console import Console

from independence_bench.cli.calling import (
    approved,
    carry_out,
    endpoint_options,
    limit_options,
    print_asked,
    say,
    say_end,
    to_the_end,
)
from independence_bench.cli.options import (
    command_line,
    configuration_options,
    configurations,
    err,
    find_protocol,
    store_option,
    stored_protocol_option,
    weighed,
    weights_option,
)
from independence_bench.cli.probe import carry_out_probe
from independence_bench.cli.progress import ProgressDisplay
from independence_bench.cli.trust import permissions
from independence_bench.engine.run import Report
from independence_bench.engine.schedule import run
from independence_bench.engine.session import Limits, RunOptions, judge_of, open_judge
from independence_bench.errors import EndpointUnusable, Interrupted, SubjectError, WrongUse
from independence_bench.models.client import read_key
from independence_bench.models.local import NAME as TABLE_JUDGE
from independence_bench.models.spec import Roster
from independence_bench.report.format import money
from independence_bench.store import registry
from independence_bench.store.database import Store, open_store


@click.command(name="judge")
@click.option(
    "-j",
    "--judge",
    "judges",
    multiple=True,
    metavar="MODEL",
    help="A model, or `embedded`. May be repeated.  [default: the protocol's]",
)
@endpoint_options
@stored_protocol_option
@configuration_options
@weights_option
@limit_options
@click.option(
    "--probe-injection",
    is_flag=True,
    help="Measure whether the judge lets itself be talked round; judges nothing that is stored.",
)
@click.option("--json", "as_json", is_flag=True, help="With --probe-injection: for programs.")
@click.option("-y", "--yes", is_flag=True, help="With --probe-injection: do not ask before it costs money.")
@store_option
def command(
    judges: tuple[str, ...],
    roster: Roster,
    protocol_name: str | None,
    variants: str | None,
    modes: str | None,
    weights: str | None,
    limits: Limits,
    probe_injection: bool,
    as_json: bool,
    yes: bool,
    store: str,
) -> None:
    """Judge stored conversations: with other judges, or again where one failed.

    Judgements stand beside each other; nothing that is stored is replaced but a failure. Several judges are asked one
    after the other, and share one budget; `aib judges` compares them.

    --probe-injection asks the judge about conversations of known behaviour, without and with attacks appended
    to the model's words, and says how far its marks move. What was asked once is stored; it stands in no table.
    """
    if probe_injection:
        if protocol_name or variants or modes or weights:
            raise WrongUse(
                "--probe-injection has conversations of its own: leave out --protocol, --variants, --modes, --weights"
            )
        if len(judges) > 1:
            raise WrongUse("--probe-injection is about one judge: name one with -j")
        with open_store(store, typed=command_line()) as opened:
            complete = carry_out_probe(judges[0] if judges else None, roster, opened, limits, not yes, as_json)
    elif as_json or yes:
        raise WrongUse("--json and --yes belong to --probe-injection")
    else:
        with open_store(store, create=False, typed=command_line()) as opened:
            protocol, files = find_protocol(protocol_name, opened)
            with opened.reading() as connection:
                subjects = tuple(registry.stored_subjects(connection).values())
            options = RunOptions(
                protocol=weighed(protocol, weights),
                files=files,
                roster=roster,
                judge=None,
                configurations=configurations(protocol, variants, modes),
                subjects=subjects,
                again=True,
                limits=limits,
                allow=permissions(),
            )
            complete = judge_in_turn(options, tuple(dict.fromkeys(judges)) or (protocol.judge.model,), opened)
    if not complete:
        raise SystemExit(1)


def judge_in_turn(options: RunOptions, judges: Sequence[str], store: Store) -> bool:
    """Have *judges* judge, one after the other, what *options* say, then print their rankings; whether all was judged.

    The budget is that of all of them. What cannot work (a name, a key) is said before anybody is asked; an endpoint
    that fails later ends its own judge's turn. Raises SubjectError, EndpointUnusable or StoreError.
    """
    if len(judges) == 1:
        return carry_out(replace(options, judge=judges[0]), store, ask=False)
    asyncio.run(_look_up(options, judges))
    console = err()
    labels: list[str | None] = []
    complete = to_the_end(_take_turns(options, judges, store, console, labels.append), console)
    if complete is None:
        return False
    print_asked(options, store, labels)
    say(console, "compare the judges: aib judges")
    return complete


async def _look_up(options: RunOptions, judges: Sequence[str]) -> None:
    """Raises SubjectError for a judge that there is not, EndpointUnusable where a key is missing."""
    for name in judges:
        if name != TABLE_JUDGE:
            one = replace(options, judge=name)
            read_key(options.roster.endpoint(judge_of(one).endpoint), one.allow)
            with contextlib.suppress(EndpointUnusable):  # nothing answers there just now: its own turn will say so
                async with open_judge(one):
                    pass


async def _take_turns(
    options: RunOptions, judges: Sequence[str], store: Store, console: Console, tell: Callable[[str | None], None]
) -> bool:
    """Each judge's turn, on what is left of the budget; whether all of them judged everything.

    *tell* is given the label of each that was asked.
    """
    complete, spent, limits = True, 0.0, options.limits
    for number, name in enumerate(judges, start=1):
        left = None if limits.budget is None else limits.budget - spent
        of_budget = "" if left is None else f", {money(max(left, 0.0))} of the budget left"
        say(console, f"judge {number} of {len(judges)}: {name}{of_budget}")
        if left is not None and left <= 0:
            say(console, "stopped: the budget is used up. The same command goes on from here.")
            return False
        report = await _take_turn(replace(options, judge=name, limits=replace(limits, budget=left)), store, console)
        complete = complete and report is not None and report.complete
        if report is not None:
            tell(report.judge)
            spent += report.budget.spent
            if isinstance(report.stopped, Interrupted):
                return False
    return complete


async def _take_turn(options: RunOptions, store: Store, console: Console) -> Report | None:
    """One judge's turn, with progress on *console*; None where that judge could not be asked at all."""
    display = ProgressDisplay(console)
    try:
        report = await run(options, store, lambda preview: approved(preview, console, ask=False), display)
    except (EndpointUnusable, SubjectError) as error:
        say(console, f"not judged: {error}")
        return None
    if report is not None:
        say_end(console, report, store, display.line(report, over=True))
    return report
