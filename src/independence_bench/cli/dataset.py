"""`aib import` and `aib export`: data sets into the store, and the store as a data set."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Literal

import click
from rich.console import Console

from independence_bench.api.tables import LICENCE, export
from independence_bench.cli.options import (
    ask_question,
    make_remarks_console,
    make_results_console,
    print_remarks,
    store_option,
)
from independence_bench.dataset.export import Exported, Form
from independence_bench.dataset.import_own import Imported, import_export, is_export
from independence_bench.dataset.import_published import PublishedImport, import_published
from independence_bench.dataset.published_format import ROWS_FILE
from independence_bench.escape import escape_line
from independence_bench.figures import format_count, format_dollars
from independence_bench.integrations.inspect.log_export import WrittenLogs
from independence_bench.integrations.inspect.log_import import import_logs, is_log_or_log_folder
from independence_bench.store.database import open_store

LICENCE_QUESTION = (
    "Under which licence may others use this (cc-by-4.0, mit ...; unknown if that is open)?"
)
FEW = 3  # of each kind, unless all are asked for


@click.command(name="import", epilog="Example: aib import cache/")
@click.argument("path", type=click.Path(path_type=Path))
@store_option
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="List everything that was skipped or is unusual, not only examples.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON, with everything listed."
)
def import_(path: Path, store: str, every: bool, as_json: bool) -> None:
    """Import results from elsewhere into the store.

    PATH is a folder that `aib export` wrote, a log (LOG.eval) of our tasks in Inspect AI or a
    folder of such logs, or a folder or tar in the published layout. Reading the same again changes
    nothing; what is damaged or of another kind is counted and listed, and the rest is imported.
    """
    with open_store(store) as opened, _show_progress(make_remarks_console()) as tell:
        if is_export(path) or is_log_or_log_folder(path):
            came = import_export(path, opened) if is_export(path) else import_logs(path, opened)
            counts = {name: asdict(count) for name, count in came.counts.items()}
            shown: dict[str, Any] = {
                "rows": counts,
                "findings": came.findings,
                "found": came.found,
                "untraced": came.untraced,
            }
            show = partial(_print_own_import, came=came)
        else:
            outcome = import_published(opened, path, tell)
            shown, show = (
                _make_json_values(outcome),
                partial(_print_published_import, outcome=outcome),
            )
    if as_json:
        click.echo(json.dumps(shown, indent=2))
    else:
        show(make_results_console(), every=every)


@contextmanager
def _show_progress(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """Show the progress of an import on stderr: one line that changes on a terminal, nothing in a
    pipe. Yields the function that updates it, of (what is read, files done, files in all).
    """
    if not console.is_terminal:
        yield lambda what, done, of: None
        return
    with console.status("reading") as status:
        yield lambda what, done, of: status.update(f"{what}: {done:,} of {of:,} files")


def _print_published_import(console: Console, *, outcome: PublishedImport, every: bool) -> None:
    """Print what came into the store from a published data set: counts of conversations and
    judgements, the costs, and what was skipped or does not count. *every*: list all of these, not
    only examples.
    """
    subjects = format_count(len(outcome.subjects), "model")
    console.print(
        f"{format_count(outcome.new, 'conversation')} and "
        f"{format_count(outcome.judgements, 'judgement')} "
        f"imported of {subjects}, from {format_count(outcome.files, 'file')}; {outcome.known:,} "
        "and "
        f"{outcome.judgements_known:,} were there already."
    )
    if outcome.names:
        console.print(
            f"The names in {format_count(outcome.names, 'conversation')} as they were published: "
            "aib "
            "extract-names"
        )
    if outcome.rows:
        console.print(
            f"{format_count(outcome.rows, 'published row')} with intervals read from {ROWS_FILE} "
            "next "
            "to it."
        )
    if outcome.dollars:
        console.print(
            f"The new results cost {format_dollars(outcome.dollars)} where they were made."
        )
    if outcome.cut:
        console.print(f"The source was not read to its end: {outcome.cut}.")
    _print_reasons(console, "Skipped", outcome.skipped, every)
    _print_reasons(console, "Imported, and not counted by our own rules", outcome.unusual, every)
    print_remarks("next: aib leaderboard --protocol published-v2")


def _print_reasons(console: Console, title: str, rows: list[tuple[str, str]], every: bool) -> None:
    """Print *title* with the number of *rows*, which are (thing, reason), then each reason with its
    number and its first three things; with *every*, all things. Prints nothing if there are no
    rows.
    """
    if not rows:
        return
    console.print(f"\n{title}: {len(rows):,}")
    for reason, count in Counter(reason for _, reason in rows).most_common():
        console.print(f"  {count:,} × {escape_line(reason)}", soft_wrap=True)
        of_kind = [what for what, why in rows if why == reason]
        for what in of_kind if every else of_kind[:FEW]:
            console.print(f"      {escape_line(what)}", soft_wrap=True)
        if not every and count > FEW:
            console.print(f"      and {count - FEW:,} more (--all)")


def _make_json_values(outcome: PublishedImport) -> dict[str, Any]:
    """Return what an import of published data did as a dictionary for JSON: counts, dollars, and
    what was skipped or does not count, each with the reason.
    """
    return {
        "subjects": sorted(outcome.subjects),
        "files": outcome.files,
        "conversations": {"imported": outcome.new, "already_there": outcome.known},
        "judgements": {"imported": outcome.judgements, "already_there": outcome.judgements_known},
        "names": outcome.names,
        "published_rows": outcome.rows,
        "cost": outcome.dollars,
        "not_read_to_its_end": outcome.cut or None,
        "skipped": [{"what": what, "why": why} for what, why in outcome.skipped],
        "not_counted": [{"what": what, "why": why} for what, why in outcome.unusual],
    }


def _print_own_import(console: Console, *, came: Imported, every: bool) -> None:
    """Print, for each table of an imported export or log, how many rows were imported, were there
    already, conflict with stored ones or were refused; then the findings. *every*: print all
    findings, not only three.
    """
    for name, count in came.counts.items():
        parts = (
            *((count.added, "imported"), (count.there, "there already")),
            *((count.conflicts, "stored with other content"), (count.refused, "refused")),
        )
        console.print(
            f"{name}: {', '.join(f'{rows:,} {what}' for rows, what in parts if rows) or 'none'}"
        )
    shown = came.findings if every else came.findings[:FEW]
    for finding in shown:
        console.print(f"  {escape_line(finding)}", soft_wrap=True)
    if came.found > len(shown):
        console.print(f"  and {came.found - len(shown):,} more{'' if every else ' (--all)'}")


def _normalize_licence(
    _context: click.Context, _option: click.Parameter, typed: str | None
) -> str | None:
    """Return the licence identifier *typed* in lower case; None if none was typed. Raises
    click.BadParameter if it has anything but letters, digits, dots and hyphens.
    """
    if typed is None:
        return None
    if not re.fullmatch(LICENCE, named := typed.lower()):
        raise click.BadParameter(
            f"{typed!r} is not a licence identifier, such as mit or cc-by-4.0."
        )
    return named


@click.command(name="export", epilog="Example: aib export results --licence cc-by-4.0")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "--form",
    "form",
    type=click.Choice(["jsonl", "parquet", "inspect"]),
    default="jsonl",
    show_default=True,
    help="JSON Lines, Parquet (needs pyarrow), or logs of Inspect AI (needs inspect-ai).",
)
@click.option("--raw", is_flag=True, help="Include requests and raw response bodies.")
@click.option(
    "--licence", "--license", "licence", callback=_normalize_licence, metavar="ID",
    help="Under which licence others may use it, e.g. cc-by-4.0, or `unknown`. You are asked if "
        "it is missing.",
)  # fmt: skip
@store_option
def export_(
    folder: Path,
    form: Form | Literal["inspect"],
    raw: bool,
    licence: str | None,
    store: str,
) -> None:
    """Write everything that is stored into FOLDER: conversations, attempts, judgements, scores, a
    dataset card.

    The same store gives the same bytes, and `aib import FOLDER` reads them back. Columns:
    docs/data-formats.md. With `--form inspect` one log for each model and configuration, for
    Inspect's own tools: docs/integrations.md.
    """
    if form != "inspect" and licence is None:
        licence = ask_question(LICENCE_QUESTION, "--licence ID").strip()
    exported = export(folder, licence=licence, form=form, raw=raw, store=store)
    if isinstance(exported, WrittenLogs):
        counts = (
            f"{format_count(exported.logs, 'log')} with {format_count(exported.samples, 'sample')}"
        )
    else:
        counts = ", ".join(f"{name} {count:,}" for name, count in exported.rows.items())
    make_results_console().print(f"{exported.folder}: {counts}", soft_wrap=True)
    if isinstance(exported, Exported) and exported.in_flight:
        print_remarks(f"left out: {format_count(exported.in_flight, 'attempt')} that had not ended")
