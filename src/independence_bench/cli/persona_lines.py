"""`aib persona write`: what the person says to a character, written down next to its sheet."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from independence_bench.cli import calling
from independence_bench.cli.judging import have_answered
from independence_bench.cli.options import command_line, permissions, say, store_option
from independence_bench.engine.ask_writers import ROUNDS, line_asker
from independence_bench.engine.session import Limits, RunOptions
from independence_bench.errors import WrongUse, why
from independence_bench.escape import label_text
from independence_bench.models.local import NAME as LOCAL_JUDGE
from independence_bench.models.spec import Roster
from independence_bench.personas.lines import StemKey, StemLinesFile, lines_text
from independence_bench.personas.sheet import Sheet, frozen_templates, lines_file, load_sheet, protocol_of, remarks
from independence_bench.report.format import plural
from independence_bench.store.database import open_store
from independence_bench.store.staging import put_in_place, staging

HEAD = "# What the person says to the character. Edit any line: what you change is played again, and nothing else.\n"


@click.command(name="write")
@click.argument("sheet", type=click.Path(path_type=Path), metavar="SHEET")
@click.option("--writer", metavar="MODEL", help="Have a model write them.  [default: templates, which cost nothing]")
@calling.endpoint_options
@calling.one_subject_limit_options
@store_option
def write(sheet: Path, writer: str | None, roster: Roster, limits: Limits, store: str) -> None:
    """Write down what the person says, in a file next to the sheet: mira.yaml, mira.lines.yaml.

    You may edit every line; what is edited is played again, and nothing else. What is in the file stays; only items
    that are not in it are written. Delete one there, or the file, to have it written again.

    With --writer a model writes lines for this character, in its language: two calls for each item, and more where
    lines are refused by the rule or by a second call that looks for reasons and facts in them.
    """
    found, path, today = load_sheet(sheet), lines_file(sheet), datetime.now(UTC).date().isoformat()
    left = [key for key in found.lines if key not in found.frozen]
    shown = shlex.quote(label_text(str(path)))
    if not left:
        say(f"{shown} has lines for everything; delete there what is to be written again")
        return
    written: dict[StemKey, StemLinesFile] = {}
    complete = True
    if writer is None:
        for remark in remarks(found):
            say(label_text(f"note: {remark}"))
        written = frozen_templates(found, left, today)
    elif writer == LOCAL_JUDGE:
        raise WrongUse("the embedded judge cannot write; name a model with --writer")
    else:
        complete = _have_written(found, left, written, today, writer, roster, limits, store)
    if written:
        stems = {**found.frozen, **written}
        text = lines_text({key: stems[key] for key in (*found.lines, *found.frozen) if key in stems})
        try:
            with staging(path) as fresh:
                fresh.write_text(HEAD + text, encoding="utf-8", newline="\n")
                put_in_place(fresh, path)
        except (OSError, ValueError) as error:
            raise WrongUse(f"{path} cannot be written ({why(error)})") from error
        say(f"written: {shown} ({plural(len(written), 'stem')}); read the lines, and change what you like")
    for key, stem in written.items():
        if stem.from_templates:
            places = ", ".join(stem.from_templates)
            say(
                label_text(
                    f"from the templates, since the model's lines were refused: {'.'.join(filter(None, key))}: {places}"
                )
            )
    if not complete:
        raise SystemExit(1)


def _have_written(
    sheet: Sheet,
    left: list[StemKey],
    written: dict[StemKey, StemLinesFile],
    today: str,
    writer: str,
    roster: Roster,
    limits: Limits,
    store: str,
) -> bool:
    """Have *writer* write what is *left*, into *written*; whether all of it was."""
    say(f"{plural(len(left), 'stem')} to be written by {label_text(writer)}, in 2 to {2 * ROUNDS} calls each")
    options = RunOptions(protocol_of(sheet), {}, roster, writer, limits=limits, allow=permissions())
    asker_of = partial(line_asker, sheet, left, written, today)
    with open_store(store, typed=command_line()) as opened:
        report = calling.to_the_end(have_answered(options, opened, asker_of))
    return report is not None and report.complete
