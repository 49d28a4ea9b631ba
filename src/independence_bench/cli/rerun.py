"""`aib rerun`: more runs of what is stored, every setting as it was."""

from __future__ import annotations

from collections.abc import Sequence

import click

from independence_bench.analysis.leaderboard import boards
from independence_bench.cli.calling import carry_out, endpoint_options, limit_options, say
from independence_bench.cli.options import (
    command_line,
    configuration_options,
    configurations,
    err,
    find_protocol,
    runs_option,
    store_option,
    stored_protocol_option,
    stored_subjects,
    weighed,
    weights_option,
)
from independence_bench.cli.trust import permissions
from independence_bench.engine.session import Limits, Preview, RunOptions
from independence_bench.errors import SubjectError
from independence_bench.escape import label_text
from independence_bench.models.spec import ChatModel, ModelSpec, Roster
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.store import registry
from independence_bench.store.database import Store, open_store


@click.command(name="rerun")
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@endpoint_options
@stored_protocol_option
@configuration_options
@weights_option
@runs_option
@click.option("--judge", metavar="MODEL", help="A model, or `embedded`.  [default: the main judge of what is stored]")
@limit_options
@click.option("-y", "--yes", is_flag=True, help="Do not ask before it costs money.")
@store_option
def command(
    subjects: tuple[str, ...],
    roster: Roster,
    protocol_name: str | None,
    variants: str | None,
    modes: str | None,
    weights: str | None,
    runs: int | None,
    judge: str | None,
    limits: Limits,
    yes: bool,
    store: str,
) -> None:
    """Play more runs of subjects that are stored, and ask again what was invalid or failed to be judged.

    SUBJECT is a label, or a part of one that fits a single subject; without any, every subject that was played
    for the protocol. Each is called exactly as it was, and judged by the main judge of what is stored
    (docs/judges.md). A valid reply is never replaced: with as many runs as there are, only what is missing is asked
    for.
    """
    with open_store(store, create=False, typed=command_line()) as opened:
        protocol, files = find_protocol(protocol_name, opened)
        protocol = weighed(protocol, weights)
        chosen = stored_subjects(opened, protocol, subjects)
        played = configurations(protocol, variants, modes)
        options = RunOptions(
            protocol=protocol,
            files=files,
            roster=roster,
            judge=judge or _main_judge(opened, protocol, played),
            configurations=played,
            specs=tuple(_spec(subject) for subject in chosen),
            runs=runs or protocol.runs,
            again=True,
            limits=limits,
            allow=permissions(),
            unnamed=not subjects,
        )
        complete = carry_out(options, opened, ask=not yes, check=lambda preview: _check(preview, chosen))
    if not complete:
        raise SystemExit(1)


def _spec(subject: ChatModel) -> ModelSpec:
    """What leads to *subject* again, as long as its endpoint has the same weights behind its name."""
    return ModelSpec(
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
        others = label_text(", ".join(beside))
        say(err(), f"judge: {label_text(asked)}, the main one; {others} judged too (--judge chooses)")
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
