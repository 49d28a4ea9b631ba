"""`aib judge --probe-injection`: does this judge let itself be talked round?"""

from __future__ import annotations

import click

from independence_bench.cli.calling import approved, say_end, to_the_end
from independence_bench.cli.options import err, out
from independence_bench.cli.progress import ProgressDisplay
from independence_bench.cli.trust import permissions
from independence_bench.engine.ask_injection import probe
from independence_bench.engine.session import Limits, Preview, RunOptions
from independence_bench.judging.injection import conversations
from independence_bench.models.spec import Roster
from independence_bench.protocol.loader import load_with_files
from independence_bench.report.injection_view import probe_json, probe_view
from independence_bench.report.terminal import printed
from independence_bench.store.database import Store


def carry_out_probe(
    judge: str | None,
    roster: Roster,
    store: Store,
    limits: Limits,
    ask: bool,
    as_json: bool,
) -> bool:
    """Probe *judge* with progress on stderr, then print what it came to; whether every pair was judged.

    *ask*: before anything is sent that may cost money. Raises EndpointUnusable, SubjectError or StoreError.
    """
    protocol, files = load_with_files(conversations.PROTOCOL)
    options = RunOptions(
        protocol=protocol,
        files=files,
        roster=roster,
        judge=judge or protocol.judge.model,
        configurations=protocol.configurations,
        limits=limits,
        allow=permissions(),
    )
    console = err()
    display = ProgressDisplay(console)

    def approve(preview: Preview) -> bool:
        return approved(preview, console, ask and preview.forecast.dollars != 0)

    probed = to_the_end(probe(options, store, approve, display.in_one_line), console)
    if probed is None:
        return False
    report = probed.report
    say_end(console, report, store, *([display.line(report, over=True)] if report.subjects else []))
    if as_json:
        click.echo(probe_json(probed))
    else:
        printed(out(), probe_view(probed))
    return report.complete
