"""`aib export`: everything in a store as a data set."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from independence_bench.cli.options import err, open_results, out, store_option
from independence_bench.dataset.export import Form, export
from independence_bench.report.format import plural


class Licence(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """An identifier of a licence, as data-set cards have it."""

    name = "licence"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """*value*, if it is one word of small letters, digits, dots and hyphens."""
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,63}", str(value)):
            self.fail(f"{value!r} is no identifier of a licence, such as mit or cc-by-4.0.", param, ctx)
        return str(value)


@click.command(name="export")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "parquet"]), default="jsonl", show_default=True,
    help="JSON Lines, or Parquet (needs pyarrow).",
)  # fmt: skip
@click.option("--raw", is_flag=True, help="With the requests and the raw bodies of the responses.")
@click.option(
    "--license", "licence", type=Licence(), default="unknown", show_default=True, metavar="ID",
    help="What the dataset card says, e.g. cc-by-4.0.",
)  # fmt: skip
@store_option
def command(folder: Path, form: Form, raw: bool, licence: str, store: str) -> None:
    """Write everything that is stored into FOLDER: conversations, attempts, judgements, scores, a dataset card.

    The same store gives the same bytes, and `aib import FOLDER` reads them back. Columns: docs/export.md.
    """
    with open_results(store) as opened:
        exported = export(opened, folder, form, raw, licence)
    counts = ", ".join(f"{name} {count:,}" for name, count in exported.rows.items())
    out().print(f"{exported.folder}: {counts}", soft_wrap=True)
    if exported.in_flight:
        err().print(f"left out: {plural(exported.in_flight, 'attempt')} that had not ended", soft_wrap=True)
