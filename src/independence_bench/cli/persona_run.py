"""`aib persona run` and `compare`: a character played, judged and read, also after an earlier chat;
what is stored.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from independence_bench.analysis.held_stems import Depth
from independence_bench.api.characters import play_of, read_played, read_sides
from independence_bench.api.named import keep_exclusions
from independence_bench.cli import calling
from independence_bench.cli.options import (
    FILLED,
    Number,
    at_store,
    command_line,
    err,
    json_option,
    legend_option,
    models_file_option,
    permissions,
    say,
    show,
    store_option,
)
from independence_bench.cli.progress import ProgressDisplay
from independence_bench.engine.preview import Forecast, Preview
from independence_bench.engine.run import EFFORTS, Report, Run
from independence_bench.engine.schedule import run_each
from independence_bench.engine.session import find, find_roster
from independence_bench.errors import WrongUse
from independence_bench.escape import label_text
from independence_bench.lookup import split
from independence_bench.personas.earlier import whole_turns
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files
from independence_bench.report.estimate_view import (
    forecast_line,
    forecast_of_all,
    lines_before,
)
from independence_bench.store.database import Store, open_store

CROSSED = 3  # exit code, as of `aib gate` for what is worse


@click.command()
@click.argument("sheet", type=click.Path(path_type=Path), metavar="SHEET")
@click.option(
    "--model",
    "-m",
    "models",
    type=FILLED,
    multiple=True,
    required=True,
    metavar="MODEL",
    help="May be repeated.",
)
@click.option(
    "--runs",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Number of runs, stored ones included.",
)
@click.option(
    "--judge",
    "-j",
    type=FILLED,
    metavar="MODEL",
    help="A model, or `embedded`.  [default: the protocol's]",
)
@click.option("--temperature", type=Number(0, 2), help="For every model.  [default: 0.7]")
@click.option("--max-tokens", type=click.IntRange(1, 1_000_000), help="Limit of one reply.")
@click.option(
    "--reasoning-effort",
    type=click.Choice(EFFORTS),
    help="For every model.  [default: off, where it can be]",
)
@click.option("--again", is_flag=True, help="Retry what was invalid or could not be judged.")
@click.option(
    "--quick", is_flag=True, help="A first look: three pushes, no favour or slip, honesty once."
)
@click.option(
    "--after", metavar="N,...", default="0", help="Also after N turns of an earlier chat: 0,25,100."
)
@click.option(
    "--chat",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Your own earlier chat.  [default: ours]",
)
@models_file_option
@click.option("--local-url", metavar="URL", help="The address of the server that local:NAME is on.")
@calling.limit_options
@calling.yes_option
@legend_option
@store_option
@json_option
def run(
    sheet: Path,
    models: tuple[str, ...],
    judge: str | None,
    quick: bool,
    after: str,
    chat: Path | None,
    yes: bool,
    legend: bool,
    store: str,
    as_json: bool,
    **asked: Any,
) -> None:
    """Play a character, judge it, and say what it kept.

    MODEL is what `aib run` takes; several are compared. What is stored is not asked for again: the
    same command does nothing the second time, goes on after Ctrl-C, and buys only what an edit of
    the sheet has changed.

    --after plays the same items at each depth: after so many turns of an everyday chat in the
    character's language, or of --chat, a SillyTavern chat (.jsonl) or a text with lines of `NAME:
    message`. Judges do not read it.

    Exit code 3 where a red line was crossed, 1 where something is missing.
    """
    played = play_of(sheet, _turns(after), quick, chat)
    for note in played.notes:
        say(label_text(f"note: {note}"))
    wanted = find(
        Run(
            protocol=played.parts[0],
            models=split(",".join(models)),
            judge=judge or played.parts[0][0].judge.model,
            allow=permissions(),
            **asked,
        )
    )
    with open_store(store, typed=command_line()) as opened:
        report = calling.to_the_end(_carry_out(wanted, played.parts, opened, yes))
        if report is None:
            raise SystemExit(1)
        answer = read_played(played, opened, report)
        keep_exclusions(opened, find_roster(wanted))
        for note in answer.notes:
            say(label_text(f"note: {note}"))
        if as_json:
            click.echo(answer.json())
        else:
            show(answer.view(), legend=legend)
        say(*_next(answer.depths, [protocol for protocol, _ in played.parts], opened))
    if not report.complete:
        raise SystemExit(1)
    if answer.crossed:
        raise SystemExit(CROSSED)


def _turns(typed: str) -> list[int]:
    """The depths that --after names, the least first, each up to the reply to its last turn. Raises
    WrongUse.
    """
    named = split(typed)
    if not named or not all(re.fullmatch(r"\d{1,6}", one) for one in named):
        raise WrongUse(f"--after: {label_text(typed)} is no list of turns; write 0,25,100")
    turns = sorted({whole_turns(int(turn)) for turn in named})
    if odd := [turn for turn in named if int(turn) % 2]:
        say(
            f"note: --after {', '.join(odd)}: a turn of the person is sent with its reply, so "
            "one more"
        )
    return turns


async def _carry_out(
    wanted: Run, protocols: Sequence[tuple[Protocol, Files]], store: Store, yes: bool
) -> Report | None:
    """Play and judge each of *protocols* after all of them were foreseen; what it takes and how it
    ends is said.

    Where it costs much a person is asked, unless *yes* was said, or a budget; None for a no.
    """
    display = ProgressDisplay(err())
    answered = calling.is_answered(yes, wanted)
    lines: list[str] = []

    def approve(previews: Sequence[Preview]) -> bool:
        nonlocal answered
        (first, *others), takes = previews, forecast_of_all(previews)
        if lines:
            say(f"after the first conversations: still {takes}")
        else:
            say(*lines_before(first, "" if others else takes))
            say(
                *(
                    f"{other.session.protocol.name} · {forecast_line(other.forecast)}"
                    for other in others
                )
            )
            say(
                *(
                    [f"in all {takes}"]
                    if others and any(preview.forecast.calls for preview in previews)
                    else ()
                )
            )
        lines.append(takes)
        whole = sum((preview.forecast for preview in previews), Forecast())
        if not calling.agreed(whole, answered):
            return False
        answered = answered or calling.is_much(whole)  # nobody is asked twice
        return True

    report = await run_each(wanted, protocols, store, approve, display)
    if report is None:
        return None
    calling.say_end(report, store, display.line(report, over=True))
    return report


def _next(depths: Sequence[Depth], protocols: Sequence[Protocol], store: Store) -> list[str]:
    """How to read a conversation: the first in which a red line was crossed or something given up,
    else the last.
    """
    at = at_store(store)
    lines: list[str] = []
    for depth, protocol in zip(depths, protocols, strict=True):
        for label, mine in depth.stems.items():
            shown = [*mine.crossings, *(item.loss for item in mine.items if item.loss)]
            if lines and not shown:
                continue
            scenario = shown[0].scenario if shown else protocol.scenarios[-1].id
            words = shlex.join(
                ["aib", "show", label_text(label), scenario, "--protocol", protocol.name]
            )
            lines = [
                f"read a conversation: {words}{at}",
                f"read them all: aib view --protocol {protocol.name}{at}",
            ]
            if shown:
                return lines
    return lines


@click.command()
@click.argument(
    "sheets", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SHEET..."
)
@click.option(
    "--model",
    "-m",
    "models",
    type=FILLED,
    multiple=True,
    metavar="MODEL",
    help="Only this one. May be repeated.",
)
@click.option(
    "--judge",
    "-j",
    type=FILLED,
    metavar="MODEL",
    help="By this judge.  [default: who judged the most of it]",
)
@click.option(
    "--versions", is_flag=True, help="Also every earlier version of a SHEET in the store."
)
@legend_option
@store_option
@json_option
def compare(
    sheets: tuple[Path, ...],
    models: tuple[str, ...],
    judge: str | None,
    versions: bool,
    legend: bool,
    store: str,
    as_json: bool,
) -> None:
    """Show side by side what was played: models, sheets, or versions of a sheet. Asks no model.

    One column for each model and SHEET, one row for each item.
    """
    answer = read_sides(store, sheets, models, judge, versions)
    for note in answer.notes:
        say(label_text(f"note: {note}"))
    if as_json:
        click.echo(answer.json())
    else:
        show(answer.view(), legend=legend)
