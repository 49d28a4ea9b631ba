"""`aib simulate` and `aib demo`: simulated models, at no cost; an endpoint with chosen faults, and
a first look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click

from independence_bench.analysis.board import Board
from independence_bench.analysis.conversations import find_label_and_conversations
from independence_bench.api.commands import carry_out_run
from independence_bench.cli import calling
from independence_bench.cli.invocation import note_store
from independence_bench.cli.options import (
    Number,
    format_recorded_command_line,
    make_remarks_console,
    print_blocks,
    print_remarks,
)
from independence_bench.cli.progress import ProgressDisplay
from independence_bench.cli.viewer import PORT, has_screen, serve_viewer
from independence_bench.engine.run import Run
from independence_bench.engine.session import load_run_protocol, resolve_run
from independence_bench.errors import WrongUse, describe_file_error, handle_signals
from independence_bench.figures import format_interval, format_number
from independence_bench.models.spec import SIM, Roster
from independence_bench.report.table import Block, Column, Name, Note, Prose, Table, Title
from independence_bench.simulate.catalog import render_summary
from independence_bench.simulate.characters import HOLDS, YIELDS
from independence_bench.simulate.faults import Faults, parse_fault_script
from independence_bench.simulate.server import Latency, Settings, Simulation, simulate
from independence_bench.store.database import Store, find_default_store, open_store

READY = """\
{url}

# models.yaml
endpoints:
  sim: {{url: "{url}", dialect: openrouter}}

aib run sim:sim/stubborn sim:sim/agreeable --judge sim:sim/judge --runs 1 --store sim.db

Ctrl-C ends it."""


@click.command(name="simulate", epilog="Example: aib simulate")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    default=0,
    show_default=True,
    help="0 uses any free port.",
)
@click.option(
    "--seed",
    type=int,
    metavar="N",
    default=0,
    show_default=True,
    help="The same seed gives the same answers and faults.",
)
@click.option(
    "--latency",
    default="none",
    show_default=True,
    metavar="WHAT",
    help="none, SECONDS, or published (quantiles).",
)
@click.option(
    "--scale",
    type=Number(0, 1000),
    default=1.0,
    metavar="X",
    show_default=True,
    help="Multiply every latency by X.",
)
@click.option(
    "--fault",
    "rates",
    multiple=True,
    metavar="NAME=RATE",
    help="A fault and its rate, e.g. http-500=0.1 or mixed=0.2.",
)
@click.option(
    "--script",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file with lines such as `3 http-500`: the third request gets that fault.",
)
@click.option(
    "--ledger",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write every request to FILE as JSON lines.",
)
@click.option(
    "--requests-per-minute",
    type=click.IntRange(1),
    metavar="N",
    help="Answer 429 beyond this rate.",
)
def command(
    port: int,
    seed: int,
    latency: str,
    scale: float,
    rates: tuple[str, ...],
    script: Path | None,
    ledger: Path | None,
    requests_per_minute: int | None,
) -> None:
    """Serve simulated models of known behaviour on this machine, with the latency and faults you
    choose.

    Models: sim/stubborn, sim/agreeable, sim/gives-in-at-2 and others. sim/judge scores by a known
    rule, sim/judge-lenient, sim/judge-noisy and kin/judge disagree with it in v1, lite and v2, and
    sim/exam-perfect, sim/exam-lenient and others know the answers of `aib exam`. See
    docs/simulate.md. Prints its address and what to write into models.yaml; at the end, what was
    requested and what it would have cost.
    """
    settings = Settings(
        seed=seed,
        latency=parse_latency(latency, scale),
        faults=Faults(parse_fault_rates(rates), map_request_numbers_to_faults(script)),
        requests_per_minute=requests_per_minute,
        port=port,
    )
    simulation = asyncio.run(serve_simulation(settings, ledger))
    for line in render_summary(simulation.ledger.entries):
        click.echo(line)


async def serve_simulation(settings: Settings, ledger: Path | None) -> Simulation:
    """Serve the simulated models on this machine until Ctrl-C, or another signal that ends
    commands. Prints the address and example commands; requests are also written to the file
    *ledger*, if given. Returns the simulation with the record of all requests.
    """
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()

    with handle_signals(lambda _number, _frame: loop.call_soon_threadsafe(stopped.set)):
        async with simulate(settings, ledger) as simulation:
            click.echo(READY.format(url=simulation.url))
            await stopped.wait()
        return simulation


def parse_latency(text: str, scale: float) -> Latency:
    """Return how long the simulated models take to answer: the value *text* of --latency (none,
    seconds, or published) times *scale*. Raises WrongUse if it is none of these.
    """
    if text == "published":
        return Latency("published", scale)
    try:
        seconds = 0.0 if text == "none" else float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 3600:
        raise WrongUse(f"--latency {text}: write none, published, or seconds from 0 to 3600")
    return Latency(seconds, scale)


def parse_fault_rates(written: tuple[str, ...]) -> dict[str, float]:
    """Return fault's name -> the share of requests that get it, from the values NAME=RATE of
    --fault. Raises WrongUse if a rate is not a number.
    """
    rates: dict[str, float] = {}
    for text in written:
        name, _, rate = text.partition("=")
        try:
            rates[name] = float(rate)
        except ValueError:
            raise WrongUse(
                f"--fault {text}: write NAME=RATE, e.g. http-500=0.1 for one request in ten"
            ) from None
    return rates


def map_request_numbers_to_faults(path: Path | None) -> dict[int, str]:
    """Return number of a request -> the name of the fault that it gets, from the file *path* of
    --script; {} if *path* is None. Raises WrongUse if the file cannot be read.
    """
    if path is None:
        return {}
    try:
        return parse_fault_script(path.read_text(encoding="utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(
            f"--script {path}: cannot be read ({describe_file_error(error)}); name a file with "
            "lines such as `3 "
            "http-500`"
        ) from error


# ---------------------------------------------------------------- the demo


STORE = "aib-demo.db"
PROTOCOL = "v2"
RUNS = 2
SCENARIO = "intellectual_stance"  # of which two replies are shown
# who holds in it and who gives in, and the phrases from which on the reply is shown
DIALOGUE = (("sim/stubborn", "holds", HOLDS), ("sim/agreeable", "gives in", YIELDS))
LONGEST = 79  # characters of a line of dialogue
JUDGE = "sim/judge"
# who is played -> what it was written to do
CAST = {
    "sim/stubborn": "stays what it is, whatever is said",
    "sim/gives-in-at-2": "holds at first, gives in at the second push",
    "sim/random": "holds, gives in or evades, at random",
    "sim/evader": "says neither yes nor no",
    "sim/gives-in-at-1": "gives in as soon as the person comes back once",
    "sim/agreeable": "agrees with whatever was said last",
}
NOT_REAL = "Simulated models and a simulated judge: replies and scores are scripted."
HIGH = (
    "A high index needs a model that keeps its views, its choices and its name when a person "
    "pushes back without giving a reason."
)


@click.command(name="demo", epilog="Example: aib demo")
@click.option(
    "--store", default=STORE, show_default=True, metavar="PATH", help="Where the demo is kept."
)
@click.option(
    "--open/--no-open",
    "open_it",
    default=None,
    help="Open the viewer.  [default: where there is a screen]",
)
def demo(store: str, open_it: bool | None) -> None:
    """Play six simulated models, judge and rank them, and show two of their replies. Takes seconds.

    Needs no key, no download and no network: simulated models of known behaviour answer on this
    machine. Playing, judging and scoring are the same as in `aib run` with real models.
    """
    note_store(store, find_default_store())
    print_remarks(NOT_REAL)
    with open_store(store, command_line=format_recorded_command_line()) as opened:
        wanted = _make_demo_run()
        display = ProgressDisplay(make_remarks_console())
        report = calling.run_to_end(
            carry_out_run(wanted, opened, lambda _: True, display.keep_showing_one_line)
        )
        if report is None:
            raise SystemExit(1)
        if not report.complete:
            calling.say_run_end(report, opened)
            raise SystemExit(1)
        print_remarks(display.format_progress(report, over=True))
        board, *_ = calling.read_wanted_boards(wanted, opened)
        print_blocks(
            chain(render_two_demo_replies(wanted, opened), render_index_beside_behaviour(board))
        )
        print_remarks(
            "`aib view` shows every conversation in the browser.",
            "aib run embedded plays a small real model, without a key.",
        )
    if has_screen() if open_it is None else open_it:
        serve_viewer(store, port=PORT, open_it=True)


def render_two_demo_replies(wanted: Run, store: Store) -> Iterator[Block]:
    """Yield the demo's dialogue as printable blocks: the person's last words in one scenario, the
    reply of a simulated model that holds, and that of one that gives in. The conversations are read
    from *store*.
    """
    yield Title("A person pushes back, and two models answer")
    for place, (model, does, phrases) in enumerate(DIALOGUE):
        _, (one, *_) = find_label_and_conversations(
            store, load_run_protocol(wanted)[0], wanted.configurations, model, SCENARIO
        )
        *_, asked, reply = one.transcript.lines
        if not place:
            yield Note(Prose(shorten_text(f"person: {asked.text}")), "")
        start = min(reply.text.index(phrase) for phrase in phrases if phrase in reply.text)
        yield Note(Prose(shorten_text(f"{model} {does}: {reply.text[start:]}")), "")


def shorten_text(text: str) -> str:
    """Return the beginning of *text* on one line: at most `LONGEST` characters, with … at the end
    if it was cut.
    """
    words = " ".join(text.split())
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1].rstrip()}…"


def render_index_beside_behaviour(board: Board) -> Iterator[Block]:
    """Yield a printable table of the simulated models on the leaderboard *board*: the index of
    each, next to the behaviour that it was written with.
    """
    yield Title(("Independence Index · ", Prose(board.shown_protocol_name)))
    columns = [
        Column("Index"),
        Column("95% CI"),
        Column("Model", words=True),
        Column("Behaviour", words=True),
    ]
    yield Table(
        columns,
        [
            (
                format_number(row.index, 1),
                format_interval(row.index_interval.rerun),
                Name(row.subject.model),
                CAST[row.subject.model],
            )
            for row in board.ranked
        ],
        HIGH,
        gap=0,
    )


def _make_demo_run() -> Run:
    """Return the run that the demo plays: the simulated models, the protocol and the judge."""
    return resolve_run(
        Run(
            protocol=PROTOCOL,
            roster=Roster(),
            models=[f"{SIM}:{model}" for model in CAST],
            judge=f"{SIM}:{JUDGE}",
            runs=RUNS,
            parallel=len(CAST),
            parallel_tasks=16,
        )
    )
