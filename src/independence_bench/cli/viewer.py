"""`aib view` and `aib site`: every conversation and every number in the browser, live or as
files.
"""

from __future__ import annotations

import os
import shlex
import sys
import webbrowser
from concurrent.futures import wait
from dataclasses import replace
from pathlib import Path

import click
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from independence_bench.api.named import find_shipped_or_stored_protocol, open_store_with_exclusions
from independence_bench.cli.options import (
    make_remarks_console,
    make_results_console,
    print_remarks,
    store_option,
    stored_protocol_option,
)
from independence_bench.errors import WrongUse
from independence_bench.judging.person import Person
from independence_bench.store.results import count_transcripts_and_judgements
from independence_bench.viewer.app import AccessTokens, make_app, read_page
from independence_bench.viewer.labelling import LabelDesk
from independence_bench.viewer.live import OFFER, Live, estimate_reading_steps
from independence_bench.viewer.routes import Answers
from independence_bench.viewer.server import LOOPBACK, Server, limit_kept_memory, open_socket
from independence_bench.viewer.snapshot import read_catalog
from independence_bench.viewer.static_site import (
    WORKFLOW,
    check_site_folder,
    make_offer,
    write_site,
)

PORT = 8484
AT_ONCE = 0.5  # seconds that the first reading is waited for before the address is printed


@click.command(name="view", epilog="Example: aib view")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="0 uses any free port.",
)
@click.option(
    "--open/--no-open",
    "open_it",
    default=True,
    help="Open the browser.  [default: where there is a screen]",
)
@click.option(
    "--label",
    "labeller",
    metavar="NAME",
    help="Score conversations in the browser, as the judge person:NAME.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --label: only N conversations, as in `aib label`.",
)
@stored_protocol_option
@store_option
def view(
    port: int,
    open_it: bool,
    labeller: str | None,
    sample: int | None,
    protocol_name: str | None,
    store: str,
) -> None:
    """Read every conversation behind the numbers, in the browser.

    It serves this machine only, and the printed address holds a new access token each time. It
    changes no result, unless --label lets you score conversations: blind, one at a time, stored as
    by `aib label`. What takes long to work out is kept in the store. New conversations and scores
    of a running command appear automatically. All protocols of the store are shown, or the one that
    is named. Ctrl-C ends it.
    """
    if sample is not None and labeller is None:
        raise WrongUse("--sample goes with --label NAME")
    person = None if labeller is None else Person(labeller)
    serve_viewer(store, port, open_it, protocol_name, person, sample)


def serve_viewer(
    store: str,
    port: int,
    open_it: bool,
    protocol_name: str | None = None,
    person: Person | None = None,
    sample: int | None = None,
) -> None:
    """Serve the viewer of *store* on this machine until Ctrl-C, and print its address. *open_it*:
    open a browser, if there is a screen. *protocol_name*: show only this protocol; None: all that
    are stored.

    *person*: who may score conversations of the protocol on the page, in its default
    configurations; None: nobody. *sample*: how many of these conversations; None: all.
    """
    page = read_page()
    limit_kept_memory()
    with open_store_with_exclusions(store) as opened, open_socket(port) as listening:
        protocols = (
            []
            if protocol_name is None
            else [find_shipped_or_stored_protocol(protocol_name, opened)[0]]
        )
        print_remarks(f"reading {opened.shown}")
        live = Live(
            opened, protocols, offer=OFFER if person is None else replace(OFFER, label=person.label)
        )
        desk = None
        if person is not None:
            marked = find_shipped_or_stored_protocol(protocol_name, opened)[0]
            desk = LabelDesk(opened, marked, marked.configurations, person, sample)
        port = listening.getsockname()[1]
        access = AccessTokens(LOOPBACK, port)

        def announce_and_open_address() -> None:
            if person is not None:
                print_remarks(f"{person.label} scores conversations on the page Label")
            click.echo(f"the viewer is at {access.lasting_token_address} (Ctrl-C ends it)")
            if open_it and has_screen():
                webbrowser.open(access.one_time_address)

        app = make_app(live, page, port, access, desk)
        server = Server(
            app,
            announce_and_open_address,
            failed=lambda: live.failure is not None,
            leave=live.stop_reading,
        )
        try:
            live.begin_reading()
            wait([live.first], AT_ONCE)  # most stores are read by then, or found to be damaged
            if live.failure is None:
                server.run(sockets=[listening])
        finally:
            live.stop_reading()
        if live.failure is not None:
            raise live.failure
        print_remarks("stopped")


def has_screen() -> bool:
    """Whether a browser would open in a window of its own, and not in this terminal."""
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )


@click.command(name="site", epilog="Example: aib site public/")
@click.argument("folder", type=click.Path(path_type=Path), required=False, metavar="OUT")
@click.option("--raw", is_flag=True, help="Include raw requests and responses; doubles the size.")
@click.option(
    "--protocol",
    "protocol_names",
    multiple=True,
    metavar="NAME|PATH|HASH",
    help="Only this protocol; may be given several times.  [default: all that are stored]",
)
@click.option(
    "--workflow",
    is_flag=True,
    help="Print a workflow that publishes results on GitHub Pages, and exit.",
)
@store_option
def site(
    folder: Path | None, raw: bool, protocol_names: tuple[str, ...], workflow: bool, store: str
) -> None:
    """Write what `aib view` shows as a static site into the folder OUT.

    It works on any web host, under any path. The folder is new or empty, or holds an earlier site,
    which is replaced when the new one is complete. Asks no model and changes nothing in the store.
    """
    if workflow:
        click.echo(WORKFLOW.read_text(encoding="utf-8"), nl=False)
        return
    if folder is None:
        raise WrongUse("name the folder of the site: `aib site OUT/`")
    check_site_folder(folder.resolve())
    page = read_page()
    with open_store_with_exclusions(store) as opened:
        protocols = [find_shipped_or_stored_protocol(name, opened)[0] for name in protocol_names]
        with opened.open_snapshot() as connection:
            steps = estimate_reading_steps(*count_transcripts_and_judgements(connection))
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=make_remarks_console(), transient=True) as progress:
            reading = progress.add_task("reading", total=steps)
            catalog = read_catalog(opened, protocols, lambda more: progress.advance(reading, more))
            if not catalog.entries:
                raise WrongUse(
                    f"nothing is stored in {opened.shown} to be shown; `aib run` plays and judges"
                )
            progress.update(reading, completed=steps)  # what is not on a board was not told
            boards = [
                catalog.find_board(ranking)
                for ranking in progress.track(catalog.entries.values(), description="scoring")
            ]
            largest = max(len(board.rows) for board in boards if board is not None)
            answers = Answers(catalog, make_offer(raw, largest))
            writing = progress.add_task("writing", total=None)
            count = write_site(
                answers, page, folder, lambda n, of: progress.update(writing, completed=n, total=of)
            )
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    make_results_console().print(
        f"{count:,} files, {size / 1e6:,.0f} MB in {folder}; serve them with any web server",
        soft_wrap=True,
    )
    at = shlex.quote(str(folder))
    print_remarks(
        f"to look at it here: python3 -m http.server --bind 127.0.0.1 8000 --directory {at}, "
        "then http://127.0.0.1:8000/"
    )
