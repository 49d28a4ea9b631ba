"""`aib site`: what the viewer shows, as files for any web host."""

from __future__ import annotations

from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from independence_bench.cli.options import err, find_protocol, open_results, out, store_option
from independence_bench.errors import WrongUse
from independence_bench.viewer.assets import read_page
from independence_bench.viewer.routes import Answers
from independence_bench.viewer.search_index import SearchState, build_search
from independence_bench.viewer.snapshot import read_catalog, rows_of
from independence_bench.viewer.static_site import WORKFLOW, check_place, freeze, offer


@click.command(name="site")
@click.argument("folder", type=click.Path(path_type=Path), required=False, metavar="OUT")
@click.option("--raw", is_flag=True, help="Also requests and responses as they were sent and came; twice the size.")
@click.option(
    "--protocol",
    "protocol_names",
    multiple=True,
    metavar="NAME|PATH|HASH",
    help="Only this protocol; may be given several times.  [default: all that are stored]",
)
@click.option("--workflow", is_flag=True, help="Print a workflow that publishes results on GitHub Pages, and end.")
@store_option
def command(folder: Path | None, raw: bool, protocol_names: tuple[str, ...], workflow: bool, store: str) -> None:
    """Write what `aib view` shows as a static site into the folder OUT.

    For any web host, below any path. The folder is new or empty, or holds an earlier site, which is replaced when
    the new one is whole. Asks no model and changes nothing in the store.
    """
    if workflow:
        click.echo(WORKFLOW.read_text(encoding="utf-8"), nl=False)
        return
    if folder is None:
        raise WrongUse("name the folder of the site: `aib site OUT/`")
    check_place(folder.resolve())
    page = read_page()
    with open_results(store) as opened:
        protocols = [find_protocol(name, opened)[0] for name in protocol_names]
        catalog = read_catalog(opened, protocols)
        if not catalog.entries:
            raise WrongUse(f"nothing is stored in {opened.shown} to be shown; `aib run` plays and judges")
        boards = [catalog.board(ranking) for ranking in catalog.entries.values()]
        largest = max(len(rows_of(board)) for board in boards if board is not None)
        search = SearchState(build_search(catalog))
        answers = Answers(catalog, offer(raw, largest), lambda: search)
        columns = (TextColumn("writing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=err(), transient=True) as progress:
            task = progress.add_task("files", total=None)
            count = freeze(answers, page, folder, lambda n, of: progress.update(task, completed=n, total=of))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    out().print(f"{count:,} files, {size / 1e6:,.0f} MB in {folder}; serve them with any web server", soft_wrap=True)
