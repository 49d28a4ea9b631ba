"""`aib leaderboard`: the ranking of what is stored."""

from __future__ import annotations

import click

from independence_bench.cli.options import err, out, protocol_option, store_option
from independence_bench.errors import ProtocolError
from independence_bench.protocol import Protocol
from independence_bench.protocol_files import load, parse
from independence_bench.report.json import boards_json
from independence_bench.report.rows import Board, boards
from independence_bench.report.terminal import board_view, printed
from independence_bench.store import records
from independence_bench.store.database import Store, open_store


@click.command(name="leaderboard")
@protocol_option
@store_option
@click.option("--judge", metavar="NAME", help="Only rankings by judges whose label contains this.")
@click.option("--detailed", is_flag=True, help="Every mark, run by run, and what the numbers rest on.")
@click.option("--json", "as_json", is_flag=True, help="The same rows as JSON.")
def command(protocol_name: str, store: str, judge: str | None, detailed: bool, as_json: bool) -> None:
    """Show the ranking of everything that is stored: one table for each configuration and judge."""
    with open_store(store, create=False) as opened:
        protocol = find_protocol(protocol_name, opened)
        found = boards(opened, protocol, judge)
    if as_json:
        click.echo(boards_json(found))
    elif found:
        print_boards(found, detailed)
    else:
        by = f" by a judge called {judge}" if judge else ""
        err().print(f"nothing of protocol {protocol.name} is stored{by} in {store}; `aib run` plays it")


def find_protocol(name: str, store: Store) -> Protocol:
    """The protocol of that name or path; else the one that the store has a snapshot of (by name or hash)."""
    try:
        return load(name)
    except ProtocolError as error:
        with store.reading() as connection:
            for hash_, stored, files in records.stored_protocols(connection):
                if stored == name or (len(name) >= 8 and hash_.startswith(name)):
                    return parse(files, where=f"{store.shown}: {stored}")
        raise error from None


def print_boards(found: list[Board], detailed: bool = False) -> None:
    """Print *found*, one table after the other."""
    printed(out(), *(board_view(board, detailed) for board in found))
