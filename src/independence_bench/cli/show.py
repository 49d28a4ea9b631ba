"""`aib show`: one stored conversation with all its marks."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import click

from independence_bench.analysis.conversations import (
    find_label_and_conversations,
    find_label_and_stored_runs,
)
from independence_bench.api.selection import Selection
from independence_bench.cli import invocation
from independence_bench.cli.options import (
    FILLED,
    configuration_options,
    format_recorded_command_line,
    make_results_console,
    print_remarks,
)
from independence_bench.cli.selection import add_selection_options
from independence_bench.errors import WrongUse
from independence_bench.escape import escape_text
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.plan import list_possible_configurations
from independence_bench.report.conversation_view import render_conversation, render_stored_scenarios
from independence_bench.report.terminal import print_views


@click.command(name="show", epilog="Example: aib show qwen3-8b name_and_gender --run 2")
@click.argument("subject", metavar="MODEL")
@click.argument("scenario", required=False, type=FILLED)
@click.option("--run", type=click.IntRange(min=1), help="Which run.  [default: the first]")
@add_selection_options(configuration_options)
def show_(subject: str, scenario: str | None, run: int | None, **selected: Any) -> None:
    """Print one conversation with all its scores.

    MODEL is a label, or a part of one that fits a single model; SCENARIO is an id such as
    negotiation. Without SCENARIO, the model's stored scenarios are listed.
    """
    selection = Selection(**selected)
    with selection.open_for_marking(format_recorded_command_line(), allow_earlier_form=True) as (
        opened,
        protocol,
        _,
    ):
        chosen = list_possible_configurations(protocol)
        if selection.variants or selection.modes:
            chosen = selection.find_configurations(protocol)
        if scenario is None:
            _print_stored_scenarios(
                *find_label_and_stored_runs(opened, protocol, chosen, subject, run), protocol
            )
            return
        label, conversations = find_label_and_conversations(
            opened, protocol, chosen, subject, scenario, run
        )
        played = (
            []
            if conversations or run is None
            else find_label_and_conversations(opened, protocol, chosen, subject, scenario)[1]
        )
    if played:
        runs = ", ".join(
            str(number) for number in sorted({conversation.row.run for conversation in played})
        )
        raise WrongUse(f"--run: {label} has no run {run} of {scenario}; it has {runs}")
    if not conversations:
        raise WrongUse(
            f"{scenario} of {label} is not stored in {', '.join(map(str, chosen))}; `aib run` "
            "plays it"
        )
    others: dict[str, list[str]] = defaultdict(list)
    for conversation in conversations[1:]:
        others[str(conversation.configuration)].append(str(conversation.row.run))
    if others:
        listed = "; ".join(f"{place} · run {', '.join(runs)}" for place, runs in others.items())
        print_remarks(f"also stored: {listed} (--run, --variants, --modes choose)")
    print_views(make_results_console(), render_conversation(label, conversations[0], protocol))


def _print_stored_scenarios(
    label: str, stored: Mapping[tuple[str, Configuration], Sequence[int]], protocol: Protocol
) -> None:
    """Print which scenarios are stored of the model *label*, with their configurations and runs
    (*stored*), and a command that shows one of them. Raises WrongUse if *stored* is empty.
    """
    if not stored:
        raise WrongUse(
            f"no such conversation of {label} with {protocol.name} is stored; --protocol, --run, "
            "--variants and --modes choose others"
        )
    print_views(make_results_console(), render_stored_scenarios(label, stored))
    typed = invocation.find_current_command_line().typed
    print_remarks(
        escape_text(f"show one of them: {shlex.join(('aib', *typed, next(iter(stored))[0]))}")
    )
