"""`aib judge --probe-injection`: does this judge let itself be talked round?"""

from __future__ import annotations

import asyncio

import click

from independence_bench.cli.options import LEFT_AT_ONCE, confirmed, err, out
from independence_bench.cli.progress import Watch
from independence_bench.cli.run import GO_AHEAD, closing_lines, preview_lines
from independence_bench.cli.trust import gate
from independence_bench.engine.ask_injection import Probed, probe
from independence_bench.engine.session import Preview, RunOptions
from independence_bench.judging.injection import talks
from independence_bench.models.spec import Roster
from independence_bench.protocol.loader import load_with_files
from independence_bench.report.injection_view import probe_json, probe_view
from independence_bench.report.terminal import printed
from independence_bench.store import attempts
from independence_bench.store.database import Store


def carry_out_probe(
    judge: str | None,
    roster: Roster,
    store: Store,
    *,
    calls_at_once: int,
    budget: float | None,
    price: tuple[float, float] | None,
    ask: bool,
    as_json: bool,
) -> bool:
    """Probe *judge* with progress on stderr, then print what it came to; whether every pair was judged.

    *ask*: before anything is sent that may cost money. Raises EndpointUnusable, SubjectError or StoreError.
    """
    protocol, files = load_with_files(talks.PROTOCOL)
    options = RunOptions(
        protocol=protocol,
        files=files,
        configurations=protocol.configurations,
        roster=roster,
        judge=judge or protocol.judge.model,
        calls_at_once=calls_at_once,
        budget=budget,
        price=price,
        allow=gate(),
    )
    console = err()
    watch = Watch(console)

    def approve(preview: Preview) -> bool:
        for line in preview_lines(preview):
            console.print(line, soft_wrap=True)
        paid = bool(preview.forecast.calls) and preview.forecast.dollars != 0
        return not (ask and paid) or confirmed(GO_AHEAD)

    try:
        probed = asyncio.run(probe(options, store, approve, watch.in_one_line))
    except (asyncio.CancelledError, KeyboardInterrupt):
        console.print(LEFT_AT_ONCE, soft_wrap=True)
        return False
    if probed is None:
        console.print("nothing was sent")
        return False
    _say_end(probed, store, watch)
    if as_json:
        click.echo(probe_json(probed))
    else:
        printed(out(), probe_view(probed))
    return probed.report.complete


def _say_end(probed: Probed, store: Store, watch: Watch) -> None:
    with store.reading() as connection:
        spent = attempts.spending(connection)
    lines = [watch.line(probed.report, over=True)] if probed.report.subjects else []
    for line in (*lines, *closing_lines(probed.report, spent)):
        watch.console.print(line, soft_wrap=True)
