"""Shared by commands that call models: options, the confirmation before, the progress, the summary at the end."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from independence_bench.analysis.board import Board
from independence_bench.analysis.leaderboard import boards
from independence_bench.api.named import keep_exclusions, read_roster
from independence_bench.api.orders import lines_before
from independence_bench.api.permissions import FILE, Permissions
from independence_bench.cli.options import (
    MILLION,
    Command,
    Number,
    confirmed,
    err,
    gathering,
    models_file_option,
    say,
    together,
)
from independence_bench.cli.progress import ProgressDisplay, spread_line
from independence_bench.cli.rankings import print_boards
from independence_bench.cli.workers import say_job
from independence_bench.engine.preview import Preview
from independence_bench.engine.run import Report
from independence_bench.engine.schedule import Spread, run
from independence_bench.engine.session import Limits, RunOptions
from independence_bench.errors import STOPPED, Interrupted
from independence_bench.escape import label_text
from independence_bench.integrations.ray_cluster import Cluster, run_on_ray
from independence_bench.models.local.files import data_folder
from independence_bench.models.trust import EnvFile
from independence_bench.report.format import money, plural
from independence_bench.store import attempts
from independence_bench.store.database import Store, default_store

A = TypeVar("A")
MOST_TROUBLES = 12  # lines of what could not be completed; the rest is counted


price_option = click.option(
    "--price",
    type=(Number(0), Number(0)),
    metavar="IN OUT",
    callback=lambda _context, _option, price: price and (price[0] / MILLION, price[1] / MILLION),
    help="Dollars per million tokens (prompt, completion) for models whose price the endpoint does not list.",
)


_LIMITS = (
    click.option(
        "-pt",
        "--parallel-tasks",
        "calls_at_once",
        type=click.IntRange(1, 4096),
        help="Calls at once within one subject, at each endpoint.  [default: 8; 1 for models on this machine]",
    ),
    click.option(
        "--budget", type=Number(min=0, min_open=True), metavar="USD", help="Spend no more than this in one command."
    ),
    price_option,
)
one_subject_limit_options = gathering(Limits, "limits", *_LIMITS, at_once=1)
limit_options = gathering(
    Limits,
    "limits",
    click.option(
        "-p",
        "--parallel",
        "at_once",
        type=click.IntRange(1, 256),
        help="Subjects at once.  [default: 4; 1 for models on this machine]",
    ),
    *_LIMITS,
)
"""How much at once, and for how much: the command is given *limits*."""


def judges_option(default: str = "") -> Callable[[Command], Command]:
    """-j, which may be repeated; *default*: what is asked without it."""
    said = "A model, or `embedded`. May be repeated."
    return click.option(
        "-j",
        "--judge",
        "judges",
        multiple=True,
        metavar="MODEL",
        help=f"{said}  [default: {default}]" if default else said,
    )


def endpoint_options(command: Command) -> Command:
    """--models-file, --trust and --local-url: which endpoints there are; the command is given *roster*."""

    @wraps(command)
    def gathered(*, models_file: Path | None, local_url: str | None, **typed: Any) -> None:
        command(roster=read_roster(models_file, local_url), **typed)

    local = click.option("--local-url", metavar="URL", help="The server behind local:NAME.")
    return together(models_file_option, trust_option, local)(gathered)


def to_the_end(work: Coroutine[Any, Any, A]) -> A | None:
    """The result of *work*; None where a second Ctrl-C ended it at once."""
    try:
        return asyncio.run(work)
    except (asyncio.CancelledError, KeyboardInterrupt):
        say("stopped at once; calls in flight may have been charged. The same command continues from here.")
        click.get_current_context().meta[STOPPED] = True
        return None


def approved(preview: Preview, ask: bool, *more: str) -> bool:
    """Say what is about to be done, and with *ask* ask whether to; where calls are to be made, *more* is said too."""
    asked_for = preview.forecast.calls
    say(*lines_before(preview), *(more if asked_for else ()))
    if not ask or not asked_for or confirmed("Go ahead?"):
        return True
    say("nothing was sent")
    return False


async def carry_out(
    options: RunOptions,
    store: Store,
    ask: bool,
    check: Callable[[Preview], None] = lambda preview: None,
    spread: Spread | None = None,
    cluster: Cluster | None = None,
) -> Report | None:
    """Do what *options* ask for with progress on stderr, then say how it ended; None where a person said no.

    *check* sees what is about to be done and may raise. *spread*: how far apart runs are; None: as fast as it goes.
    *cluster*: where it is carried out; None: here.
    """
    display = ProgressDisplay(err())

    def approve(preview: Preview) -> bool:
        check(preview)
        return approved(preview, ask, *([spread_line(spread, options.runs)] if spread else []))

    if cluster is not None:
        report = await run_on_ray(options, store, cluster, approve, display.in_one_line, say)
    else:
        report = await run(options, store, approve, display, spread)
    if report is not None:
        say_end(report, store, display.line(report, over=True))
    return report


def print_outcome(options: RunOptions, store: Store, report: Report | None) -> bool:
    """Print the ranking after *report*, and how to read one of its conversations; whether all was completed."""
    if report is None:
        return False
    print_asked(options, store, [report.judge])
    played = next((progress for progress in report.subjects if progress.done), None)
    if played is not None:
        # an address is shown without its password, so it would not work as it stands
        known = store.shown == default_store() or "://" in store.shown
        at = "" if known else f" --store {shlex.quote(store.shown)}"
        protocol = options.protocol
        name = "" if protocol.name == "v2" else f" --protocol {shlex.quote(protocol.name)}"
        scenario = protocol.scenarios[-1].id
        say(f"read a conversation: aib show {shlex.quote(label_text(played.label))} {scenario}{name}{at}")
    return report.complete


def print_asked(options: RunOptions, store: Store, judges: Collection[str | None]) -> None:
    """Print `asked_boards`."""
    keep_exclusions(store, options.roster)
    if asked := asked_boards(options, store, judges):
        print_boards(asked)


def asked_boards(options: RunOptions, store: Store, judges: Collection[str | None]) -> list[Board]:
    """The rankings of what *options* asked for, by judges of those labels; by others where they rank a subject."""
    played = set(options.configurations)
    found = [board for board in boards(store, options.protocol) if played & set(board.configurations)]
    return [one for one in found if one.judge is None or one.judge in judges or one.ranked]


def say_end(report: Report, store: Store, *before: str) -> None:
    """*before*, then what could not be completed and why, what it cost, and how to go on."""
    with store.reading() as connection:
        spent = attempts.spending(connection)
    say(*before)
    if report.lost:
        say(f"an earlier process ended with {plural(report.lost, 'call')} in flight: at most these are paid for twice")
    reasons = Counter((label, trouble.why) for label, trouble in report.troubles)
    for (label, why), count in reasons.most_common(MOST_TROUBLES):
        where = [t.what for of, t in report.troubles if (of, t.why) == (label, why)]
        more = f" and {count - 1} more" if count > 1 else ""
        say(f"not completed: {label_text(label)}: {where[0]}{more}: {label_text(why)}")
    if len(reasons) > MOST_TROUBLES:
        say(f"and {len(reasons) - MOST_TROUBLES} more reasons")
    if report.stopped:
        click.get_current_context().meta[STOPPED] = isinstance(report.stopped, Interrupted)
        say(f"stopped: {report.stopped}. The same command continues from here.")
    unpriced = sum(tally.unpriced for tally in report.tallies)
    told = f" ({plural(unpriced, 'call')} without a price)" if unpriced else ""
    say(
        f"spent {'at least ' if unpriced else ''}{money(report.cost)} by this command{told}, "
        f"{money(spent.total)} in the store's life "
        f"(candidates {money(spent.replies)}, judges {money(spent.judgements)})"
    )
    say_job(report, store)


# ---------------------------------------------------------------- keys


F = TypeVar("F", bound=Callable[..., object])
_ENV_FILE, _TYPED = "aib.env-file", "aib.trusted"  # in click's meta


def trust_option(command: F) -> F:
    """--trust; `permissions` reads it"""

    def keep(context: click.Context, _option: click.Parameter, typed: tuple[str, ...]) -> None:
        context.meta[_TYPED] = typed

    return click.option(
        "--trust",
        multiple=True,
        metavar="NAME=PLACE",
        expose_value=False,
        callback=keep,
        help="Allow the key in NAME to be sent to PLACE, from now on, e.g. LAB_KEY=http://gpu-box:8000.",
    )(command)


def permissions() -> Permissions:
    """The permissions of the command that is being carried out."""
    meta = click.get_current_context().meta
    env_file: EnvFile = meta.get(_ENV_FILE, EnvFile())
    # a .env that chooses the folder could bring its own file of permissions
    outside = {name: value for name, value in os.environ.items() if name not in env_file.taken}
    return Permissions(data_folder(outside) / FILE, meta.get(_TYPED, ()), env_file, confirmed)
