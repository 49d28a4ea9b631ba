"""`aib persona compare`: what is stored of a character, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import click

from independence_bench.analysis.board import Board
from independence_bench.analysis.held_stems import held
from independence_bench.analysis.leaderboard import boards
from independence_bench.cli.options import json_option, legend_option, say, show, store_option
from independence_bench.errors import WrongUse
from independence_bench.escape import label_text
from independence_bench.lookup import fit
from independence_bench.personas.sheet import load_sheet, protocol_of
from independence_bench.protocol.loader import parse_stored
from independence_bench.report.persona_view import Side, persona_json, persona_view, sides_of
from independence_bench.store import registry
from independence_bench.store.database import open_store


@click.command()
@click.argument("sheets", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SHEET...")
@click.option("--model", "-m", "models", multiple=True, metavar="MODEL", help="Only this one. May be repeated.")
@click.option("--judge", "-j", metavar="MODEL", help="By this judge.  [default: who judged the most of it]")
@click.option("--versions", is_flag=True, help="Also every earlier version of a SHEET in the store.")
@legend_option
@store_option
@json_option
def compare(
    sheets: tuple[Path, ...], models: tuple[str, ...], judge: str | None, versions: bool, store: str, as_json: bool
) -> None:
    """Show side by side what was played: models, sheets, or versions of a sheet. Asks nobody.

    One column for each model and SHEET, one row for each item.
    """
    found = [load_sheet(path) for path in sheets]
    with open_store(store, create=False) as opened:
        played = {str(path): protocol_of(sheet) for path, sheet in zip(sheets, found, strict=True)}
        if versions:
            names, hashes = {one.name for one in played.values()}, {one.hash for one in played.values()}
            with opened.reading() as connection:
                earlier = [one for one in registry.stored_protocols(connection) if one[1] in names]
            played |= {hash_[:8]: parse_stored(files, name) for hash_, name, files in earlier if hash_ not in hashes}
        sides: list[Side] = []
        first: Board | None = None
        ranked = {called: boards(opened, protocol) for called, protocol in played.items()}
        by = _judge(judge, ranked.values())
        for called, protocol in played.items():
            board = next((one for one in ranked[called] if one.judge == by), None)
            first = first or board
            stems = held(opened, protocol, by)
            if stems and ranked[called] and board is None:
                say(
                    label_text(
                        f"note: {called} was not judged by {by}: persona run with --judge, or aib judge, does it"
                    )
                )
            named = {label: f"{label} · {called}" if len(played) > 1 else label for label in stems}
            sides += [
                replace(side, label=named[side.label])
                for side in sides_of(board, stems)
                if not models or any(model in side.label for model in models)
            ]
        if not sides:
            raise WrongUse(f"nothing of {', '.join(map(str, sheets))} was played into {opened.shown}; aib persona run")
        if as_json:
            click.echo(persona_json(found[0].name, first, sides, first.judge if first else None))
        else:
            show(persona_view(found[0].name, sides, first))


def _judge(typed: str | None, ranked: Collection[Sequence[Board]]) -> str | None:
    """The one judge by whom everything is compared: *typed*, else who judged the most, the first main judge of those.

    None where nothing is judged. Raises WrongUse where no judge fits *typed*, or several do.
    """
    found = Counter(
        board.judge for boards_of in ranked for board in boards_of if board.judge and len(board.judge_hashes) == 1
    )
    if typed is not None:
        return fit({judge: judge for judge in found}, typed, "judge", "judges here:")
    return max(found, key=found.__getitem__, default=None)
