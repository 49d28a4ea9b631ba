"""`aib judge`: judge what is stored."""

from __future__ import annotations

from pathlib import Path

import click

from independence_bench.cli.options import (
    configuration_options,
    configurations,
    engine_options,
    find_protocol,
    models_file_option,
    read_roster,
    store_option,
    stored_protocol_option,
)
from independence_bench.cli.probe import carry_out_probe
from independence_bench.cli.run import carry_out
from independence_bench.conduct import Wanted, with_local
from independence_bench.errors import WrongUse
from independence_bench.store import records
from independence_bench.store.database import open_store
from independence_bench.subject import check_url


@click.command(name="judge")
@click.option("-j", "--judge", metavar="MODEL", help="A model, or `embedded`.  [default: the protocol's]")
@models_file_option
@click.option("--local-url", metavar="URL", help="The server behind local:NAME.")
@stored_protocol_option
@configuration_options
@engine_options
@click.option(
    "--probe-injection",
    is_flag=True,
    help="Measure whether the judge lets itself be talked round; judges nothing that is stored.",
)
@click.option("--json", "as_json", is_flag=True, help="With --probe-injection: for programs.")
@click.option("-y", "--yes", is_flag=True, help="With --probe-injection: do not ask before it costs money.")
@store_option
def command(
    judge: str | None,
    models_file: Path | None,
    local_url: str | None,
    protocol_name: str | None,
    variants: str | None,
    modes: str | None,
    parallel: int,
    parallel_tasks: int,
    budget: float | None,
    probe_injection: bool,
    as_json: bool,
    yes: bool,
    store: str,
) -> None:
    """Judge stored conversations: with another judge, or again where this one failed.

    Judgements stand beside each other; nothing that is stored is replaced but a failure.

    --probe-injection asks the judge about conversations of known behaviour, without and with attacks appended
    to the model's words, and says how far its marks move. What was asked once is stored; it stands in no table.
    """
    roster = read_roster(models_file)
    if local_url:
        roster = with_local(roster, check_url(local_url))
    if probe_injection:
        if protocol_name or variants or modes:
            raise WrongUse(
                "--probe-injection has conversations of its own: leave out --protocol, --variants and --modes"
            )
        with open_store(store) as opened:
            complete = carry_out_probe(
                judge, roster, opened, calls_at_once=parallel_tasks, budget=budget, ask=not yes, as_json=as_json
            )
        if not complete:
            raise SystemExit(1)
        return
    if as_json or yes:
        raise WrongUse("--json and --yes belong to --probe-injection")
    with open_store(store, create=False) as opened:
        protocol, files = find_protocol(protocol_name, opened)
        with opened.reading() as connection:
            subjects = tuple(records.stored_subjects(connection).values())
        wanted = Wanted(
            protocol=protocol,
            files=files,
            configurations=configurations(protocol, variants, modes),
            wishes=(),
            subjects=subjects,
            roster=roster,
            runs=0,
            judge=judge or protocol.judge.model,
            again=True,
            at_once=parallel,
            calls_at_once=parallel_tasks,
            budget=budget,
        )
        complete = carry_out(wanted, opened, ask=False)
    if not complete:
        raise SystemExit(1)
