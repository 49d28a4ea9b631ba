"""Shared by commands that call models: options, the confirmation before, the progress, the summary
at the end.

--shard, --job and --on among them: one run carried out by several workers, by hand or on a
cluster.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from independence_bench.analysis.board import Board
from independence_bench.analysis.leaderboard import Wanted, make_leaderboards
from independence_bench.api import commands
from independence_bench.api.named import update_stored_exclusions
from independence_bench.cli import invocation
from independence_bench.cli.options import (
    FILLED,
    Command,
    Number,
    WithSynonyms,
    ask_confirmation,
    combine_options,
    make_remarks_console,
    models_file_option,
    print_blocks,
    print_remarks,
)
from independence_bench.cli.progress import ProgressDisplay
from independence_bench.cli.rankings import print_boards
from independence_bench.engine.ask import Asker
from independence_bench.engine.preview import Forecast, Preview
from independence_bench.engine.run import Report, Run
from independence_bench.engine.session import find_roster, load_run_protocol
from independence_bench.errors import Interrupted, WrongUse
from independence_bench.escape import escape_line, escape_name
from independence_bench.figures import format_count, format_dollars
from independence_bench.integrations.ray_cluster import Cluster
from independence_bench.protocol.plan import Shard
from independence_bench.report.estimate_view import describe_forecast, describe_preview
from independence_bench.report.leaderboard_view import render_board
from independence_bench.report.table import Note, Prose
from independence_bench.store import attempts
from independence_bench.store.database import Store
from independence_bench.store.workers import sum_job_spending

A = TypeVar("A")
Watch = Callable[[Asker], Awaitable[None]]  # runs beside the asking
Approve = Callable[[Forecast], bool]  # whether the cost is accepted
SHORT = 10  # rows of a leaderboard that is shown whole after a command
NEIGHBOURS = 2  # rows above, and below, each of its subjects on a longer one
MOST_TROUBLES = 12  # lines of what could not be completed; the rest is counted
MOST_SHARDS = 10_000
LONGEST_JOB = 100  # characters of a name
SLURM, KUBERNETES = "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"


# What a command asks about before it pays. Three subjects of v1 are 576 calls and some dollars; a
# hundred times as much is mostly a mistake, or a stranger's protocol.
MUCH_MONEY = 20.0  # dollars of the forecast
MANY_CALLS = 5_000  # paid ones: a list price may be wrong, or not known

yes_option = click.option(
    "-y", "--yes", is_flag=True, help="Do not ask before it costs much (docs/configuration.md)."
)
price_option = click.option(
    "--price",
    type=(Number(0), Number(0)),
    metavar="IN OUT",
    help="Dollars per million tokens (prompt, completion) for models whose price the endpoint "
    "does not list.",
)


one_subject_limit_options = combine_options(
    click.option(
        "-pt",
        "--parallel-tasks",
        type=click.IntRange(1, 4096),
        help="Calls at once within one model, at each endpoint.  [default: 8; 1 for models on "
        "this machine]",
    ),
    click.option(
        "--budget",
        type=Number(min=0, min_open=True),
        metavar="USD",
        help="Spend no more than this in one command.",
    ),
    price_option,
)
limit_options = combine_options(
    click.option(
        "-p",
        "--parallel",
        type=click.IntRange(1, 256),
        help="Models at once.  [default: 4; 1 for models on this machine]",
    ),
    one_subject_limit_options,
)
"""How much at once, and for how much."""


def make_judges_option(default: str = "") -> Callable[[Command], Command]:
    """Return a decorator that adds the option -j (--judge) to a command. The option may be
    repeated; *default* is what its help names as the judge without it.
    """
    help_text = "A model, or `embedded`. May be repeated."
    return click.option(
        "-j",
        "--judge",
        "judges",
        cls=WithSynonyms,
        synonyms=("--judge-model",),
        type=FILLED,
        multiple=True,
        metavar="MODEL",
        help=f"{help_text}  [default: {default}]" if default else help_text,
    )


endpoint_options = combine_options(
    models_file_option,
    click.option(
        "--local-url", metavar="URL", help="The address of the server that local:NAME is on."
    ),
)
"""Which endpoints there are."""


def run_to_end(work: Coroutine[Any, Any, A]) -> A | None:
    """Run the coroutine *work* in a new event loop and return its result. None if a second Ctrl-C
    ended it at once; a line on stderr then says so, and the command line is marked as stopped.
    """
    try:
        return asyncio.run(work)
    except (asyncio.CancelledError, KeyboardInterrupt):
        print_remarks(
            "stopped at once; calls in flight may have been charged. The same command continues "
            "from here."
        )
        invocation.find_current_command_line().stopped = True
        return None


def print_and_approve_preview(preview: Preview, ask: bool, answered: bool) -> bool:
    """Print the forecast of the calls and costs of a run on stderr, and return whether to go on. If
    *ask*, the user is asked whenever a call may cost something; else only if the costs are high and
    not *answered* by an option.
    """
    print_remarks(*describe_preview(preview))
    if ask and preview.forecast.calls and preview.forecast.dollars != 0.0:
        return _ask_agreement("Go ahead?")
    return confirm_high_cost(preview.forecast, answered)


def has_cost_answer(yes: bool, wanted: Run) -> bool:
    """Whether the command line says how much a run may cost: by --yes (*yes*), or by a budget,
    which limits the costs.
    """
    return yes or wanted.budget is not None


def confirm_high_cost(forecast: Forecast, answered: bool) -> bool:
    """Return whether to go on with calls of the forecast cost. The user is asked only if the cost
    is high and not *answered* by an option.

    Raises WrongUse, which names the options that answer, if there is no terminal to ask at.
    """
    if answered or not is_costly(forecast):
        return True
    return _ask_agreement(
        f"That is {describe_forecast(forecast)}. Go ahead?", "--yes or --budget USD"
    )


def is_costly(forecast: Forecast) -> bool:
    """Whether the forecast is above what a command may spend without asking: 20 dollars, or 5,000
    paid calls.
    """
    return (forecast.dollars or 0.0) > MUCH_MONEY or forecast.paid_calls > MANY_CALLS


def _ask_agreement(question: str, flag: str = "--yes") -> bool:
    """Ask the user *question* and return whether the answer is yes. A no prints a line that nothing
    was sent. *flag* is the option that answers without a terminal.
    """
    if ask_confirmation(question, flag):
        return True
    print_remarks("nothing was sent")
    return False


async def play_with_progress(
    wanted: Run,
    store: Store,
    always_ask: bool,
    check: Callable[[Preview], None] = lambda preview: None,
    cluster: Cluster | None = None,
    yes: bool = False,
) -> Report | None:
    """Play and judge the run *wanted* with progress on stderr, then print how it ended and what it
    cost. Returns the report; None if the user said no.

    *always_ask*: ask the user whenever a call may cost something; else only if the costs are high,
    and neither *yes* nor a budget is given. *check* gets the preview before and may raise.
    *cluster*: where the run is carried out; None: in this process.
    """
    display = ProgressDisplay(make_remarks_console())

    def check_and_approve(preview: Preview) -> bool:
        check(preview)
        return print_and_approve_preview(preview, always_ask, has_cost_answer(yes, wanted))

    watch = display if cluster is None else display.keep_showing_one_line
    report = await commands.carry_out_run(
        wanted, store, check_and_approve, watch, cluster, print_remarks
    )
    if report is not None:
        say_run_end(report, store, display.format_progress(report, over=True))
    return report


def ask_judge_with_progress(
    ask: Callable[[Watch, Approve], Coroutine[Any, Any, Report | None]],
    wanted: Run,
    store: Store,
    yes: bool,
) -> Report | None:
    """Have the judge of *wanted* answer what *ask* asks, with progress on stderr, and print how it
    ended. *ask* gets what runs beside it, and what approves its cost.

    None if a person said no to the cost; nobody is asked if *yes* or a budget is given, or if it is
    cheap.
    """
    display = ProgressDisplay(make_remarks_console())
    answered = has_cost_answer(yes, wanted)
    report = run_to_end(
        ask(display.keep_showing_one_line, lambda forecast: confirm_high_cost(forecast, answered))
    )
    if report is not None:
        say_run_end(report, store, display.format_progress(report, over=True))
    return report


def print_boards_and_show_command(wanted: Run, store: Store, report: Report | None) -> bool:
    """Print the leaderboards of the run *wanted* after *report*, and the command that shows one of
    its conversations. Returns whether everything was completed; False if *report* is None.
    """
    if report is None:
        return False
    print_wanted_boards(wanted, store, [report])
    played = next((progress for progress in report.subjects if progress.done), None)
    if played is not None:
        protocol, _ = load_run_protocol(wanted)
        name = "" if protocol.name == "v2" else f" --protocol {shlex.quote(protocol.name)}"
        scenario = protocol.scenarios[-1].id
        print_remarks(
            f"read a conversation: aib show {shlex.quote(escape_name(played.label))} "
            f"{scenario}{name}"
        )
    return report.complete


def print_wanted_boards(wanted: Run, store: Store, reports: Sequence[Report]) -> None:
    """Print the leaderboards of the run *wanted* by the judges of *reports*, and by other judges
    that rank one of its models.

    Of a leaderboard with more than ten rows, only the models of *reports* and their neighbours are
    printed, with the command that shows the rest.
    """
    update_stored_exclusions(store, find_roster(wanted))
    judges = {None, *(report.judge for report in reports)}
    played = {progress.label for report in reports for progress in report.subjects}
    whole, shown = True, []
    for board in read_wanted_boards(wanted, store):
        ranked = board.ranked
        if len(board.rows) > SHORT:
            whole = False
            mine = {row.subject.hash for row in board.rows if row.subject.label in played}
            ranked = tuple(row for row in ranked if row.subject.hash in mine)
            board = board.select_neighbours(mine, NEIGHBOURS)
        if ranked or (board.judge in judges and board.rows):
            shown.append(board)
    if whole and shown:
        print_boards(shown)
    elif not whole:
        protocol, _ = load_run_protocol(wanted)
        name = f"aib leaderboard --protocol {shlex.quote(protocol.name)}"
        if protocol.weights is not None:
            name += f" --weights {shlex.quote(protocol.weights)}"
        rest = Note(Prose(f"The whole leaderboard: `{name}`"))
        views = [render_board(board) for board in shown]
        print_blocks(*views, [rest], legend=False, legend_command=name)


def read_wanted_boards(wanted: Run, store: Store) -> list[Board]:
    """Return the leaderboards in *store* that have the protocol and the configurations of the run
    *wanted*.
    """
    protocol, _ = load_run_protocol(wanted)
    return make_leaderboards(store, protocol, Wanted(configurations=wanted.configurations))


def say_run_end(report: Report, store: Store, *before: str) -> None:
    """Print, on stderr, the lines *before*, then how the run of *report* ended: what could not be
    completed and why, what it cost in dollars, and how to continue.
    """
    with store.open_snapshot() as connection:
        spent = attempts.sum_spending(connection)
    print_remarks(*before)
    if report.lost:
        print_remarks(
            f"an earlier process ended with {format_count(report.lost, 'call')} in flight: at most "
            "these are paid for twice"
        )
    print_remarks(*(f"note: {escape_line(remark)}" for remark in report.remarks))
    for warning, count in report.warnings.most_common(MOST_TROUBLES):
        print_remarks(f"{escape_line(warning)}: {format_count(count, 'reply', 'replies')}")
    reasons = Counter((label, trouble.why) for label, trouble in report.troubles)
    for (label, why), count in reasons.most_common(MOST_TROUBLES):
        where = [t.what for of, t in report.troubles if (of, t.why) == (label, why)]
        more = f" and {count - 1} more" if count > 1 else ""
        print_remarks(f"not completed: {escape_name(label)}: {where[0]}{more}: {escape_line(why)}")
    if len(reasons) > MOST_TROUBLES:
        print_remarks(f"and {len(reasons) - MOST_TROUBLES} more reasons")
    if report.stopped:
        invocation.find_current_command_line().stopped = isinstance(report.stopped, Interrupted)
        print_remarks(f"stopped: {report.stopped}. The same command continues from here.")
    unpriced = sum(tally.unpriced for tally in report.tallies)
    unknown = f" ({format_count(unpriced, 'call')} without a price)" if unpriced else ""
    print_remarks(
        f"spent {'at least ' if unpriced else ''}{format_dollars(report.cost)} by this "
        f"command{unknown}, "
        f"{format_dollars(spent.total)} in the store's life "
        f"(models {format_dollars(spent.replies)}, judges {format_dollars(spent.judgements)})"
    )
    print_whole_job_dollars(report, store)


# ---------------------------------------------------------------- several workers


def parse_shard(typed: str | None, environ: Mapping[str, str]) -> Shard | None:
    """Return the part of a run that this worker carries out, from the value *typed* of --shard:
    I/N, or `auto` or auto/N, for which the variables of Slurm or Kubernetes in *environ* give I.
    None without --shard: all parts.

    Raises WrongUse if *typed* is none of these, or if *environ* lacks the numbers.
    """
    if typed is None:
        return None
    which, divided, of = typed.partition("/")
    if (divided and not re.fullmatch("[0-9]{1,5}", of)) or not re.fullmatch(
        "auto|[0-9]{1,5}", which
    ):
        raise WrongUse(f"--shard: {escape_line(typed)} is not a shard; write 3/8, auto/8 or auto")
    if which == "auto":
        number, count = _read_worker_number_and_count(environ, bool(divided))
    elif divided:
        number, count = int(which), None
    else:
        raise WrongUse(f"--shard: {which} of how many? Write {which}/8, for example")
    parts = int(of) if divided else count
    if parts is None:
        raise WrongUse(
            f"--shard auto: {KUBERNETES} does not say how many there are; write auto/N, N as "
            "`completions`"
        )
    if not 1 <= number <= parts <= MOST_SHARDS:
        hint = (
            "; a Slurm array needs no gaps: --array=1-N"
            if which == "auto" and SLURM in environ
            else ""
        )
        raise WrongUse(
            f"--shard: there is no part {number} of {parts}; parts are 1 to N, at most "
            f"{MOST_SHARDS}{hint}"
        )
    return Shard(number, parts)


def _read_worker_number_and_count(
    environ: Mapping[str, str], has_count: bool
) -> tuple[int, int | None]:
    """Return (the number of this worker, from 1; the number of workers) from the variables of Slurm
    or Kubernetes in *environ*. The second is None if they do not say it, or if the user did
    (*has_count*).

    Slurm keeps the numbers of tasks that are submitted again, so if the user said how many workers
    there are, its numbers count from 1. Raises WrongUse if neither has set its variables.
    """
    if SLURM in environ:
        first = 1 if has_count else _read_environment_number(environ, "SLURM_ARRAY_TASK_MIN", 1)
        step = (
            1
            if has_count
            else max(_read_environment_number(environ, "SLURM_ARRAY_TASK_STEP", 1), 1)
        )
        count = None if has_count else _read_environment_number(environ, "SLURM_ARRAY_TASK_COUNT")
        return (_read_environment_number(environ, SLURM) - first) // step + 1, count
    if KUBERNETES in environ:
        return _read_environment_number(environ, KUBERNETES) + 1, None
    raise WrongUse(
        f"--shard auto: neither {SLURM} nor {KUBERNETES} is set, so this is not an array job or "
        "an indexed one; write 3/8"
    )


def _read_environment_number(
    environ: Mapping[str, str], name: str, default: int | None = None
) -> int:
    """Return the whole number in the variable *name* of *environ*; *default* if it is not set.
    Raises WrongUse if it is no number, or not set without a default.
    """
    value = environ.get(name, "" if default is None else str(default))
    if not re.fullmatch("[0-9]{1,9}", value):
        raise WrongUse(
            f"--shard auto: {name} is {escape_line(value) or 'not set'}, which is not a number; "
            "write 3/8"
        )
    return int(value)


def parse_job(typed: str | None, environ: Mapping[str, str]) -> str | None:
    """Return the name of the job that a worker belongs to: the value *typed* of --job, else one
    made of the id of its Slurm array; None if there is neither. Raises WrongUse for an invalid
    name.
    """
    if typed is None:
        array = environ.get("SLURM_ARRAY_JOB_ID")
        return f"slurm-{array}" if array else None
    if not typed.strip() or len(typed) > LONGEST_JOB or not typed.isprintable():
        raise WrongUse(f"--job: a name has 1 to {LONGEST_JOB} printable characters")
    return typed


def parse_cluster(typed: str | None, shard: str | None) -> Cluster | None:
    """Return the Ray cluster that the value *typed* of --on names, with as many parts as the value
    *shard* of --shard says (auto/N); None without --on. Raises WrongUse if either is invalid.
    """
    if typed is None:
        return None
    name, divided, where = typed.partition("://")
    if name != "ray" or (divided and not re.fullmatch(r"[A-Za-z0-9.\-_:\[\]]+", where)):
        raise WrongUse(
            f"--on: {escape_line(typed)} is not a cluster; write ray, or ray://HOST:10001"
        )
    parts = re.fullmatch("auto/([0-9]{1,5})", shard or "auto/1")
    if not parts or not 1 <= int(parts[1]) <= MOST_SHARDS:
        raise WrongUse(
            f"--on hands out all parts itself: write --shard auto/N, N from 1 to {MOST_SHARDS}, "
            "or leave it"
        )
    return Cluster(typed if divided else None, int(parts[1]) if shard else None)


@dataclass(frozen=True, slots=True)
class Worker:
    """What this process carries out of a run: one part, or, if there is a cluster, all parts on the
    cluster.
    """

    shard: Shard | None  # None: all of it
    job: str | None
    cluster: Cluster | None  # None: this process


def parse_worker(shard: str | None, job: str | None, on: str | None) -> Worker:
    """Return what this process carries out of a run, by the values of --shard, --job and --on.
    Raises WrongUse if one of them is invalid.
    """
    cluster = parse_cluster(on, shard)
    part = None if cluster else parse_shard(shard, os.environ)
    return Worker(part, parse_job(job, os.environ), cluster)


worker_options = combine_options(
    click.option(
        "--shard",
        metavar="I/N",
        help="Only part I of N; `auto` for I asks Slurm or Kubernetes (docs/scale.md).  "
        "[default: all]",
    ),
    click.option(
        "--job",
        metavar="NAME",
        help="All workers of this name share --budget, and stop where an endpoint refuses "
        "one of them.  "
        "[default: with --shard or --on, the same name for the same command]",
    ),
    click.option(
        "--on",
        metavar="ray[://ADDRESS]",
        help="Run on a Ray cluster, one part for each node; with --shard auto/N in N parts "
        "(docs/scale.md).",
    ),
)


def print_whole_job_dollars(report: Report, store: Store) -> None:
    """Print, on stderr, how many dollars all workers of the job of *report* have spent together.
    Prints nothing if *report* belongs to no job.
    """
    if (job := report.budget.job) is not None:
        with store.open_snapshot() as connection:
            spending = sum_job_spending(connection, job)
        spent = format_dollars(spending.spent)
        if spending.open:
            most = format_dollars(spending.spent + spending.open)
            spent = f"at least {spent}, at most {most} (calls in flight and lost ones included)"
        limit = "" if report.budget.limit is None else f" of {format_dollars(report.budget.limit)}"
        print_remarks(
            f"job {escape_line(job)}: {spent}{limit} spent by "
            f"{format_count(spending.workers, 'worker')}, ever"
        )
