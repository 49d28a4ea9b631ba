"""`aib show`: one conversation with its marks."""

from __future__ import annotations

import click

from independence_bench.cli.options import (
    configuration_options,
    configurations,
    err,
    find_protocol,
    out,
    store_option,
    stored_protocol_option,
)
from independence_bench.errors import WrongUse
from independence_bench.protocol.plan import every_configuration
from independence_bench.report.terminal import printed
from independence_bench.report.transcripts import find_transcripts, transcript_view
from independence_bench.store.database import open_store


@click.command(name="show")
@click.argument("subject")
@click.argument("scenario")
@click.option("--run", type=click.IntRange(min=1), help="Which run.  [default: the first]")
@stored_protocol_option
@configuration_options
@store_option
def command(
    subject: str,
    scenario: str,
    run: int | None,
    protocol_name: str | None,
    variants: str | None,
    modes: str | None,
    store: str,
) -> None:
    """Print one conversation with all its marks.

    SUBJECT is a label, or a part of one that fits a single subject; SCENARIO is an id such as negotiation
    (`aib protocols show v2` lists them).
    """
    with open_store(store, create=False) as opened:
        protocol, _ = find_protocol(protocol_name, opened)
        chosen = configurations(protocol, variants, modes) if variants or modes else every_configuration(protocol)
        label, found = find_transcripts(opened, protocol, chosen, subject, scenario, run)
    if not found:
        which = f"run {run} of " if run else ""
        raise WrongUse(
            f"{which}{scenario} is not stored for {subject} in {', '.join(map(str, chosen))}; `aib run` plays it"
        )
    if others := [f"{one.configuration} · run {one.row.run}" for one in found[1:]]:
        err().print(f"also stored: {'; '.join(others)} (--run, --variants, --modes choose)", soft_wrap=True)
    printed(out(), transcript_view(label, found[0], protocol))
