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
from independence_bench.judging.review_flags import flags_of
from independence_bench.models.local import is_table_judge
from independence_bench.protocol.plan import every_configuration
from independence_bench.report.protocol_view import transcript_view
from independence_bench.report.terminal import printed
from independence_bench.report.transcripts import Reading, find_transcripts
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
        found = find_transcripts(opened, protocol, chosen, subject, scenario, run)
    if not found:
        which = f"run {run} of " if run else ""
        raise WrongUse(
            f"{which}{scenario} is not stored for {subject} in {', '.join(map(str, chosen))}; `aib run` plays it"
        )
    first = found[0]
    if others := [reading.title.split(" · ", 2)[2] for reading in found[1:]]:
        err().print(f"also stored: {'; '.join(others)} (--run, --variants, --modes choose)", soft_wrap=True)
    printed(out(), transcript_view(first, flag_lines(first)))


def flag_lines(reading: Reading) -> list[str]:
    """What there is to look at in the verdicts, a line each; docs/judges.md says how far to trust it."""
    embedded = next((judgement for label, judgement in reading.judgements if is_table_judge(label)), None)
    return [
        f"verdict of {label} to be read: {flag.why}"
        for label, judgement in reading.judgements
        for flag in flags_of(label, judgement, embedded, reading.scenario)
    ]
