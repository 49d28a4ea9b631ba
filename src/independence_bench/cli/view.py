"""`aib view`: every conversation and every number, in the browser, live."""

from __future__ import annotations

import os
import sys
import webbrowser

import click

from independence_bench.cli.options import err, find_protocol, open_results, store_option, stored_protocol_option
from independence_bench.viewer.access import AccessTokens
from independence_bench.viewer.app import make_app
from independence_bench.viewer.assets import read_page
from independence_bench.viewer.live import Live
from independence_bench.viewer.server import LOOPBACK, Server, listen

PORT = 8484


@click.command(name="view")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 takes any that is free."
)
@click.option("--open/--no-open", "open_it", default=True, help="Open the browser.  [default: where there is a screen]")
@stored_protocol_option
@store_option
def command(port: int, open_it: bool, protocol_name: str | None, store: str) -> None:
    """Read every conversation behind the numbers, in the browser.

    Serves this machine only, and there whoever has the address that is printed: its token is another one each time.
    Changes nothing in the store. What a run plays and judges meanwhile appears by itself. All protocols of the store
    are shown, or the one that is named. Ends with Ctrl-C.
    """
    page = read_page()
    with open_results(store) as opened, listen(port) as listening:
        protocols = [] if protocol_name is None else [find_protocol(protocol_name, opened)[0]]
        err().print(f"reading {opened.shown}")
        live = Live(opened, protocols)
        port = listening.getsockname()[1]
        access = AccessTokens(LOOPBACK, port)

        def ready() -> None:
            click.echo(f"the viewer is at {access.address} (Ctrl-C ends it)")
            if open_it and has_screen():
                webbrowser.open(access.opened)

        try:
            Server(make_app(live, page, port, access), ready).run(sockets=[listening])
        except KeyboardInterrupt:
            err().print("stopped")


def has_screen() -> bool:
    """Whether a browser would open in a window, and not in this very terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
