"""`aib persona run` and `compare`: a character played, judged and read, also after an earlier chat;
what is stored.
"""

from __future__ import annotations

import re
import shlex
from base64 import b64encode
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from independence_bench.analysis.board import Board
from independence_bench.analysis.held_stems import Depth, held
from independence_bench.analysis.leaderboard import boards
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
    split,
    store_option,
)
from independence_bench.cli.progress import ProgressDisplay
from independence_bench.engine.preview import Forecast, Preview
from independence_bench.engine.run import EFFORTS, Report, Run
from independence_bench.engine.schedule import run_each
from independence_bench.engine.session import find, find_roster
from independence_bench.errors import WrongUse
from independence_bench.escape import label_text, name_text
from independence_bench.lookup import fit
from independence_bench.personas.cards import read_picture
from independence_bench.personas.earlier import at_depth, everyday_chat, read_chat, whole_turns
from independence_bench.personas.sheet import (
    load_sheet,
    picture_file,
    protocol_files,
    protocol_of,
    remarks,
)
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files, parse_stored
from independence_bench.report.estimate_view import (
    forecast_line,
    forecast_of_all,
    lines_before,
)
from independence_bench.report.persona_view import (
    Side,
    depths_json,
    depths_view,
    persona_json,
    persona_view,
    sides_of,
)
from independence_bench.store import registry
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
    quick: bool,
    after: str,
    chat: Path | None,
    yes: bool,
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
    loaded = load_sheet(sheet)
    for remark in remarks(loaded):
        say(label_text(f"note: {remark}"))
    turns = _turns(after)
    earlier = everyday_chat(loaded.language) if chat is None else read_chat(chat, loaded.name)
    if chat is not None and not any(turns):
        raise WrongUse("--chat is played with --after, which says after how many of its turns")
    for note in earlier.notes:
        say(label_text(f"note: {note}"))
    played_files = [at_depth(protocol_files(loaded, quick), earlier, depth) for depth in turns]
    protocols = [protocol_of(loaded, files) for files in played_files]
    protocol = protocols[0]
    wanted = find(
        Run(
            protocol=(protocol, played_files[0]),
            models=split(",".join(models)),
            allow=permissions(),
            **asked,
        )
    )
    picture = _picture(picture_file(sheet))
    with open_store(store, typed=command_line()) as opened:
        work = _carry_out(wanted, list(zip(protocols, played_files, strict=True)), opened, yes)
        report = calling.to_the_end(work)
        if report is None:
            raise SystemExit(1)
        _keep_picture(opened, [protocol.name for protocol in protocols], picture)
        keep_exclusions(opened, find_roster(wanted))
        played = {name_text(progress.label) for progress in report.subjects}
        depths = [
            _read(opened, depth, of, report.judge, played)
            for depth, of in zip(turns, protocols, strict=True)
        ]
        if any(turns):
            shown = (
                depths_json(loaded.name, depths, report.judge)
                if as_json
                else depths_view(loaded.name, depths)
            )
        else:
            board, sides = depths[0].board, sides_of(depths[0].board, depths[0].stems)
            shown = (
                persona_json(loaded.name, board, sides, report.judge)
                if as_json
                else persona_view(loaded.name, sides, board)
            )
        if isinstance(shown, str):
            click.echo(shown)
        else:
            show(shown)
        say(*_next(depths, protocols, opened))
    if not report.complete:
        raise SystemExit(1)
    if any(mine.crossings for depth in depths for mine in depth.stems.values()):
        raise SystemExit(CROSSED)


def _picture(path: Path) -> str | None:
    """The picture at *path*, in base64; None where there is none to show."""
    if not path.exists():
        return None
    try:
        return b64encode(read_picture(path)).decode("ascii")
    except WrongUse as error:
        say(label_text(f"note: it is shown without its picture: {error}"))
        return None


def _keep_picture(store: Store, protocols: Sequence[str], picture: str | None) -> None:
    with store.reading() as connection:
        changed = [
            protocol
            for protocol in protocols
            if registry.stored_picture(connection, protocol) != picture
        ]
    if changed:
        with store.writing() as connection:
            for one in changed:
                registry.keep_picture(connection, one, picture)


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


def _read(
    store: Store, turns: int, protocol: Protocol, judge: str | None, played: Collection[str]
) -> Depth:
    """What is stored of the subjects that were *played* at one depth."""
    board = next((ranking for ranking in boards(store, protocol) if ranking.judge == judge), None)
    stems = held(store, protocol, judge)
    return Depth(
        turns,
        board,
        {label: mine for label, mine in stems.items() if label.partition("#")[0] in played},
    )


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
    store: str,
    as_json: bool,
) -> None:
    """Show side by side what was played: models, sheets, or versions of a sheet. Asks no model.

    One column for each model and SHEET, one row for each item.
    """
    loaded = [load_sheet(path) for path in sheets]
    with open_store(store, create=False) as opened:
        played = {str(path): protocol_of(sheet) for path, sheet in zip(sheets, loaded, strict=True)}
        if versions:
            names, hashes = (
                {protocol.name for protocol in played.values()},
                {protocol.hash for protocol in played.values()},
            )
            with opened.reading() as connection:
                earlier = [row for row in registry.stored_protocols(connection) if row[1] in names]
            played |= {
                hash_[:8]: parse_stored(hash_, files, name)
                for hash_, name, files in earlier
                if hash_ not in hashes
            }
        sides: list[Side] = []
        first: Board | None = None
        ranked = {called: boards(opened, protocol) for called, protocol in played.items()}
        by = _judge(judge, ranked.values())
        for called, protocol in played.items():
            board = next((board for board in ranked[called] if board.judge == by), None)
            first = first or board
            stems = held(opened, protocol, by)
            if stems and ranked[called] and board is None:
                say(
                    label_text(
                        f"note: {called} was not judged by {by}: persona run with --judge, or "
                        "aib judge, does it"
                    )
                )
            named = {label: f"{label} · {called}" if len(played) > 1 else label for label in stems}
            sides += [
                replace(side, label=named[side.label])
                for side in sides_of(board, stems)
                if not models or any(model in side.label for model in models)
            ]
        if not sides:
            by = f" by {' or '.join(models)}" if models else ""
            raise WrongUse(
                f"nothing of {', '.join(map(str, sheets))} was played{by} into {opened.shown}; "
                "aib persona run"
            )
        if as_json:
            click.echo(persona_json(loaded[0].name, first, sides, first.judge if first else None))
        else:
            show(persona_view(loaded[0].name, sides, first))


def _judge(typed: str | None, ranked: Collection[Sequence[Board]]) -> str | None:
    """The one judge by whom everything is compared: *typed*, else who judged the most, the first
    main judge of those.

    None where nothing is judged. Raises WrongUse where no judge fits *typed*, or several do.
    """
    counts = Counter(
        board.judge
        for boards_of in ranked
        for board in boards_of
        if board.judge and len(board.judge_hashes) == 1
    )
    if typed is not None:
        return fit({judge: judge for judge in counts}, typed, "judge", "judges here:")
    return max(counts, key=counts.__getitem__, default=None)
