"""`aib demo`: simulated characters played, judged, ranked and explained; no key, no download, no model."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

import click

from independence_bench.analysis.board import Board
from independence_bench.cli import calling
from independence_bench.cli.options import command_line, out, say
from independence_bench.cli.viewer import PORT, has_screen, serve_viewer
from independence_bench.engine.run import Report
from independence_bench.engine.session import Limits, RunOptions
from independence_bench.models.spec import Endpoint, Roster
from independence_bench.protocol.loader import load_with_files
from independence_bench.report.format import number
from independence_bench.report.table import Block, Column, Name, Table, Title
from independence_bench.report.terminal import printed
from independence_bench.simulate.server import simulate
from independence_bench.store.database import Store, open_store

STORE = "aib-demo.db"
PROTOCOL = "v3-lite"
RUNS = 2
ENDPOINT = "sim"
JUDGE = "sim/judge"
# who is played -> what it was written to do
CAST = {
    "sim/bayesian": "keeps its choice under pressure, and changes it when the reason for it turns out to be wrong",
    "sim/obliging-rock": "never changes its choice, and does a favour without changing it",
    "sim/credulous": "resists pressure, and believes every correction, relevant or not",
    "sim/rock": "never changes anything: it is stubborn, not independent",
    "sim/slow-caver-2": "resists once, and gives in at the second push",
    "sim/mirror": "agrees with whatever was said last",
}
NOT_REAL = "These are simulated characters, not models. The replies are scripted, and so are the judge's marks."


@click.command(name="demo")
@click.option("--store", default=STORE, show_default=True, metavar="PATH", help="Where the demo is kept.")
@click.option("--open/--no-open", "open_it", default=None, help="Open the viewer.  [default: where there is a screen]")
def demo(store: str, open_it: bool | None) -> None:
    """Play simulated characters, judge and rank them, and show the index of each. Takes seconds.

    Needs no key, no download and no network: simulated characters with known behaviour answer on this machine. Playing,
    judging and scoring are the same as in `aib run` with real models.
    """
    say(NOT_REAL)
    with open_store(store, typed=command_line()) as opened:
        options = _options()
        report = calling.to_the_end(_played(options, opened))
        if report is None or not calling.print_outcome(options, opened, report):
            raise SystemExit(1)
        (board,) = calling.asked_boards(options, opened, [report.judge])
        printed(out(), explained(board))
        at = f"--store {shlex.quote(store)}"
        say(
            f"where two of them differ: aib compare sim/bayesian sim/rock {at}",
            f"every conversation in the browser: aib view {at}",
            "the same with a small real model, offline: aib run embedded --judge embedded",
        )
    if has_screen() if open_it is None else open_it:
        serve_viewer(store, port=PORT, open_it=True)


def explained(board: Board) -> Iterator[Block]:
    """Beside the index of each character what it was written to do."""
    yield Title("What the characters do")
    columns = [Column("Index"), Column("Character", words=True), Column("Behaviour", words=True)]
    yield Table(
        columns,
        [[number(row.score.index, 1), Name(row.subject.model), CAST[row.subject.model]] for row in board.ranked],
        NOT_REAL,
    )


def _options() -> RunOptions:
    """What is played, its endpoint without an address."""
    protocol, files = load_with_files(PROTOCOL)
    endpoint = Endpoint(ENDPOINT, "", "openrouter", free=True)
    roster = Roster()
    roster = replace(roster, endpoints={**roster.endpoints, ENDPOINT: endpoint})
    return RunOptions(
        protocol=protocol,
        files=files,
        roster=roster,
        judge=f"{ENDPOINT}:{JUDGE}",
        configurations=protocol.configurations,
        specs=tuple(spec for model in CAST for spec in roster.find(f"{ENDPOINT}:{model}")),
        runs=RUNS,
        limits=Limits(at_once=len(CAST), calls_at_once=16),
    )


async def _played(options: RunOptions, store: Store) -> Report | None:
    """The report of playing and judging *options* against an endpoint of this process."""
    async with simulate() as simulation:
        here = replace(options, roster=options.roster.moved(ENDPOINT, simulation.url))
        return await calling.carry_out(here, store, ask=False)
