"""`aib protocols` and `aib check`: the protocols there are, and whether a folder is one."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from independence_bench.api.named import find_shipped_or_stored_protocol
from independence_bench.cli.options import make_results_console, print_remarks, store_option
from independence_bench.dataset.published_protocol import (
    NAME_OF_COPY,
    NAME_OF_PROTOCOL,
    make_playable_and_list_incomplete,
)
from independence_bench.errors import ProtocolError, WrongUse
from independence_bench.escape import escape_line
from independence_bench.figures import format_count
from independence_bench.judging.embedded.judge import has_weights
from independence_bench.judging.embedded.weights import Weights
from independence_bench.lookup import find_similar_names, join_by_or
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import (
    Files,
    list_shipped,
    load_protocol,
    load_protocol_and_files,
)
from independence_bench.report.format import format_scale
from independence_bench.report.protocol_view import render_protocol
from independence_bench.report.table import Table, make_columns
from independence_bench.report.terminal import print_views
from independence_bench.store.database import open_store

MOST_MISTAKES = 50  # lines of them; the rest is counted


class _Named(click.Group):
    """The group of commands `aib protocols`. If a protocol's name is typed in place of a command,
    its error says which command to type.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name, the command and the remaining words of a command line of `aib
        protocols`. Raises click.UsageError, which names the command to type, if the first word is a
        protocol's name.
        """
        typed = args[0]
        close = [typed] if typed in list_shipped() else find_similar_names(typed, list_shipped())
        if close and typed not in self.commands and not find_similar_names(typed, self.commands):
            meant = join_by_or([f"show {name}" for name in close])
            raise click.UsageError(f"there is no command {typed}; did you mean {meant}?", ctx)
        return super().resolve_command(ctx, args)


@click.group(name="protocols", cls=_Named, invoke_without_command=True)
@click.pass_context
def protocols(ctx: click.Context) -> None:
    """List the protocols that ship with aib; `show NAME` prints one, `copy NAME FOLDER` makes it
    yours.
    """
    if ctx.invoked_subcommand is not None:
        return
    rows = [
        (
            p.name,
            p.title,
            str(len(p.scenarios)),
            str(p.configuration_reply_count * len(p.configurations)),
            str(p.runs),
        )
        for p in map(load_protocol, list_shipped())
    ]
    table = Table(
        make_columns("name", "title", "scenarios", "replies a run", "runs", word_column_count=2),
        rows,
    )
    print_views(make_results_console(), iter([table]))


@protocols.command(epilog="Example: aib protocols show v3")
@click.argument("name", metavar="NAME|PATH|HASH")
@store_option
def show(name: str, store: str) -> None:
    """Print everything that a protocol says, asks and scores: one that ships with aib, your own, or
    a stored one.
    """
    protocol, _ = _find_any_protocol(name, store)
    print_views(make_results_console(), render_protocol(protocol))


@protocols.command(epilog="Example: aib protocols copy v2 my-protocol")
@click.argument("name", metavar="NAME|PATH|HASH")
@click.argument("folder", type=click.Path(path_type=Path))
@store_option
def copy(name: str, folder: Path, store: str) -> None:
    """Copy a protocol's files into FOLDER, to be edited: one that ships with aib, your own, or a
    stored one.

    FOLDER is new or empty: nothing is overwritten. As long as nothing but comments is edited it is
    the same protocol. A copy of published-v2 is another one, made to be played: its token limit and
    the description of its tool, which were not published, are those of v2.
    """
    protocol, files = _find_any_protocol(name, store)
    lacking: tuple[str, ...] = ()
    if protocol.name == NAME_OF_PROTOCOL:
        files, lacking = make_playable_and_list_incomplete(files)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise WrongUse(f"{folder} is not empty; name a new folder (nothing is overwritten)")
        for file, text in files.items():  # names that the protocol's reader has checked
            (folder / file).parent.mkdir(exist_ok=True)
            with open(folder / file, "x", encoding="utf-8", newline="") as written:
                written.write(text)
    except OSError as error:
        raise WrongUse(
            f"{folder} cannot be written ({error.strerror}); name another folder"
        ) from error
    at = shlex.quote(os.fspath(folder))
    click.echo(f"{len(files)} files of {protocol.name} are in {folder}")
    if protocol.name == NAME_OF_PROTOCOL:
        print_remarks(
            *(f"write what was not imported into {at}/{file} first" for file in lacking),
            f"it is called {NAME_OF_COPY}; play it: aib run MODEL --protocol {at}",
        )
        return
    print_remarks(
        f"edit them (give protocol.yaml another name), then: `aib check {at}`, and `aib run MODEL "
        f"--protocol {at}`"
    )


def _find_any_protocol(name: str, store: str) -> tuple[Protocol, Files]:
    """Return a protocol with its files: the one that ships as *name* or is in the folder *name*,
    else the one with that name or hash in *store*. Raises ProtocolError if there is none.
    """
    try:
        return load_protocol_and_files(name)
    except ProtocolError:
        with open_store(store) as opened:
            found, files = find_shipped_or_stored_protocol(name, opened)
        return found, files


@click.command(name="check", epilog="Example: aib check my-protocol")
@click.argument("path")
def check(path: str) -> None:
    """Check a protocol of your own: print every mistake (file, key, how to fix it), or a summary.

    Then run it with `aib run --protocol PATH`.
    """
    try:
        p = load_protocol(path)
    except ProtocolError as error:
        if not error.others:
            raise
        print_remarks(
            *(
                escape_line(protocol_error.line)
                for protocol_error in error.all_errors[:MOST_MISTAKES]
            )
        )
        left = len(error.all_errors) - MOST_MISTAKES
        more = f", of which {MOST_MISTAKES} are shown" if left > 0 else ""
        raise WrongUse(
            f"{len(error.all_errors)} mistakes in {path}{more}; correct them and check again"
        ) from error
    marks = {mark.name for scenario in p.scenarios for mark in scenario.marks}
    dimensions = format_count(len(p.dimensions), "dimension")
    click.echo(
        f"{p.name} is a protocol: {_describe_scenario_counts(p)}, "
        f"{format_count(p.configuration_reply_count, 'reply', 'replies')} "
        f"a run and configuration, {format_count(len(marks), 'score')}, {dimensions}, hash "
        f"{p.hash[:16]}"
    )
    if p.name in list_shipped() and p.hash != load_protocol(p.name).hash:
        click.echo(
            f"it has the name of the shipped {p.name} and differs from it: give it another name"
        )
    measured = {
        mark
        for _, score in p.kinds
        for _, rules in score.rules
        for rule in rules
        for mark, _ in rule.levels
    }
    counted = {mark for dimension in p.dimensions for mark in dimension.marks}
    if unused := sorted(marks - p.needed_marks - counted - measured):
        click.echo(f"no dimension uses {', '.join(unused)}")
    for weighting in p.weightings:
        click.echo(f"--weights {weighting.name}: {weighting.title}")
    for line in _describe_embedded_judge_limits(p):
        click.echo(line)


def _describe_scenario_counts(protocol: Protocol) -> str:
    """Return a text with the number of scenarios of *protocol*, or of its items and their branches
    if it has these.
    """
    branches = [scenario for scenario in protocol.scenarios if scenario.stem]
    stems = format_count(len({scenario.stem for scenario in branches}), "stem")
    of_stems = f"{stems} with {len(branches)} branches"
    if single := len(protocol.scenarios) - len(branches):
        scenarios = format_count(single, "scenario")
        return f"{scenarios} and {of_stems}" if branches else scenarios
    return of_stems


def _describe_embedded_judge_limits(protocol: Protocol) -> list[str]:
    """Return up to two sentences that say which of the protocol's scores the embedded judge (the
    small offline one) cannot give, and whether the index needs them; [] if it can give all.
    """
    if protocol.has_stems:
        return [
            "the embedded judge reads by rule who gives its own name, has one of an item's words, "
            "or says that it is an AI; it gives nothing else, so it yields no index: judge with "
            "a model"
        ]
    weights = Weights.load_shipped()
    foreign = {}
    for scenario in protocol.scenarios:
        for mark in scenario.marks:
            if not has_weights(weights, mark):
                foreign[mark.name] = f"{mark.name} ({format_scale(mark)})"
    needed = [shown for name, shown in sorted(foreign.items()) if name in protocol.needed_marks]
    spare = [shown for name, shown in sorted(foreign.items()) if name not in protocol.needed_marks]
    lines = []
    if needed:
        lines.append(
            f"the embedded judge cannot score {', '.join(needed)}, and the index needs it: judge "
            "with a model"
        )
    if spare:
        lines.append(
            f"the embedded judge does not score {', '.join(spare)}; the index does without"
        )
    return lines
