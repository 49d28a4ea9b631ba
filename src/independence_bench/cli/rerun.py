"""`aib rerun`: more runs of what is stored, every setting as it was."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from independence_bench.analysis.leaderboard import boards
from independence_bench.cli.options import (
    a_token,
    command_line,
    configuration_options,
    configurations,
    engine_options,
    err,
    find_protocol,
    models_file_option,
    read_roster,
    runs_option,
    store_option,
    stored_protocol_option,
    stored_subjects,
    weighed,
    weights_option,
)
from independence_bench.cli.run import carry_out
from independence_bench.cli.trust import gate, trust_option
from independence_bench.engine.session import Preview, RunOptions, with_local
from independence_bench.errors import SubjectError
from independence_bench.escape import label_text
from independence_bench.models.spec import ChatModel, Wish, check_url
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.store import registry
from independence_bench.store.database import Store, open_store


@click.command(name="rerun")
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@models_file_option
@trust_option
@click.option("--local-url", metavar="URL", help="The server behind local:NAME.")
@stored_protocol_option
@configuration_options
@weights_option
@runs_option
@click.option("--judge", metavar="MODEL", help="A model, or `embedded`.  [default: the main judge of what is stored]")
@engine_options
@click.option("-y", "--yes", is_flag=True, help="Do not ask before it costs money.")
@store_option
def command(
    subjects: tuple[str, ...],
    models_file: Path | None,
    local_url: str | None,
    protocol_name: str | None,
    variants: str | None,
    modes: str | None,
    weights: str | None,
    runs: int | None,
    judge: str | None,
    parallel: int,
    parallel_tasks: int,
    budget: float | None,
    price: tuple[float, float] | None,
    yes: bool,
    store: str,
) -> None:
    """Play more runs of subjects that are stored, and ask again what was invalid or failed to be judged.

    SUBJECT is a label, or a part of one that fits a single subject; without any, every subject that was played
    for the protocol. Each is called exactly as it was, and judged by the main judge of what is stored
    (docs/judges.md). A valid reply is never replaced: with as many runs as there are, only what is missing is asked
    for.
    """
    roster = read_roster(models_file)
    if local_url:
        roster = with_local(roster, check_url(local_url))
    with open_store(store, create=False, typed=command_line()) as opened:
        protocol, files = find_protocol(protocol_name, opened)
        protocol = weighed(protocol, weights)
        chosen = stored_subjects(opened, protocol, subjects)
        played = configurations(protocol, variants, modes)
        options = RunOptions(
            protocol=protocol,
            files=files,
            configurations=played,
            wishes=tuple(_wish(subject) for subject in chosen),
            roster=roster,
            runs=runs or protocol.runs,
            judge=judge or _main_judge(opened, protocol, played),
            again=True,
            at_once=parallel,
            calls_at_once=parallel_tasks,
            budget=budget,
            price=a_token(price),
            allow=gate(),
            unnamed=not subjects,
        )
        complete = carry_out(options, opened, ask=not yes, check=lambda preview: _check(preview, chosen))
    if not complete:
        raise SystemExit(1)


def _wish(subject: ChatModel) -> Wish:
    """What leads to *subject* again, as long as its endpoint has the same weights behind its name."""
    return Wish(
        subject.model,
        subject.endpoint,
        subject.temperature,
        subject.max_tokens,
        subject.reasoning.value,
        subject.provider,
        subject.accept_cut_off,
    )


def _main_judge(store: Store, protocol: Protocol, played: Sequence[Configuration]) -> str:
    """The main judge of what is *played*, as a user types it: there, else of the protocol's other configurations.

    The one that the protocol names where nobody who can be asked has judged.
    """
    found = sorted(boards(store, protocol), key=lambda board: not set(board.configurations) & set(played))
    with store.reading() as connection:
        labels = registry.stored_judges(connection)
        typed = {labels[judge]: name for judge, name in registry.judges_to_ask(connection).items()}
    asked = next((judge for board in found for judge in board.judges if judge in typed), None)
    if asked is None:
        return protocol.judge.model
    if beside := list(dict.fromkeys(judge for board in found for judge in board.judges if judge != asked)):
        err().print(
            f"judge: {label_text(asked)}, the main one; {label_text(', '.join(beside))} judged too (--judge chooses)",
            soft_wrap=True,
        )
    return typed[asked]


def _check(preview: Preview, stored: Sequence[ChatModel]) -> None:
    """Raises SubjectError where a subject would become another one."""
    known = {subject.hash for subject in stored}
    for subject in preview.plan.subjects:
        if subject.hash not in known:
            raise SubjectError(
                f"{subject.label} has other weights behind its name than when it was played; "
                "`aib run` plays it as a subject of its own"
            )
