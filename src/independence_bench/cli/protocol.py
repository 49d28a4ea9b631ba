"""`aib protocols` and `aib check`: the protocols there are, and whether a folder is one."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from independence_bench.api.named import find_protocol
from independence_bench.cli.options import out, say, store_option
from independence_bench.dataset.published_protocol import (
    NAME_OF_COPY,
    NAME_OF_PROTOCOL,
    playable,
)
from independence_bench.errors import ProtocolError, WrongUse
from independence_bench.escape import label_text
from independence_bench.figures import plural
from independence_bench.judging.embedded.judge import gives
from independence_bench.judging.embedded.weights import Weights
from independence_bench.lookup import near
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files, load, load_with_files, shipped
from independence_bench.report.format import scale
from independence_bench.report.protocol_view import protocol_view
from independence_bench.report.table import Table, columns_of
from independence_bench.report.terminal import printed
from independence_bench.store.database import open_store

MOST_MISTAKES = 50  # lines of them; the rest is counted


class _Named(click.Group):
    """A group of commands that explains its use if a protocol's name is typed in place of a
    command.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        typed = args[0]
        close = [typed] if typed in shipped() else near(typed, shipped())
        if close and typed not in self.commands and not near(typed, self.commands):
            meant = " or ".join(f"show {name}" for name in close)
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
            str(p.replies * len(p.configurations)),
            str(p.runs),
        )
        for p in map(load, shipped())
    ]
    table = Table(columns_of("name", "title", "scenarios", "replies a run", "runs", words=2), rows)
    printed(out(), iter([table]))


@protocols.command()
@click.argument("name", metavar="NAME|PATH|HASH")
@store_option
def show(name: str, store: str) -> None:
    """Print everything that a protocol says, asks and marks: one that ships with aib, your own, or
    a stored one.
    """
    protocol, _ = _found(name, store)
    printed(out(), protocol_view(protocol))


@protocols.command()
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
    protocol, files = _found(name, store)
    lacking: tuple[str, ...] = ()
    if protocol.name == NAME_OF_PROTOCOL:
        files, lacking = playable(files)
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
        say(
            *(f"write what was not imported into {at}/{file} first" for file in lacking),
            f"it is called {NAME_OF_COPY}; play it: aib run MODEL --protocol {at}",
        )
        return
    say(
        f"edit them (give protocol.yaml another name), then: aib check {at}, and aib run MODEL "
        f"--protocol {at}"
    )


def _found(name: str, store: str) -> tuple[Protocol, Files]:
    """Find the protocol of that name, in that folder, or of that name or hash in *store*. Returns
    it with its files.
    """
    try:
        return load_with_files(name)
    except ProtocolError:
        with open_store(store) as opened:
            found, files = find_protocol(name, opened)
        return found, files


@click.command(name="check")
@click.argument("path")
def check(path: str) -> None:
    """Check a protocol of your own: print every mistake (file, key, how to fix it), or a summary.

    Then run it with `aib run --protocol PATH`.
    """
    try:
        p = load(path)
    except ProtocolError as error:
        if not error.others:
            raise
        say(*(label_text(protocol_error.line) for protocol_error in error.every[:MOST_MISTAKES]))
        left = len(error.every) - MOST_MISTAKES
        more = f", of which {MOST_MISTAKES} are shown" if left > 0 else ""
        raise WrongUse(
            f"{len(error.every)} mistakes in {path}{more}; correct them and check again"
        ) from error
    marks = {mark.name for scenario in p.scenarios for mark in scenario.marks}
    dimensions = plural(len(p.dimensions), "dimension")
    click.echo(
        f"{p.name} is a protocol: {_played(p)}, {plural(p.replies, 'reply', 'replies')} "
        f"a run and configuration, {plural(len(marks), 'mark')}, {dimensions}, hash {p.hash[:16]}"
    )
    if p.name in shipped() and p.hash != load(p.name).hash:
        click.echo(
            f"it has the name of the shipped {p.name} and differs from it: give it another name"
        )
    if unused := sorted(
        marks - p.needed - {mark for dimension in p.dimensions for mark in dimension.marks}
    ):
        click.echo(f"no dimension uses {', '.join(unused)}")
    for weighting in p.weightings:
        click.echo(f"--weights {weighting.name}: {weighting.title}")
    for line in _foreign(p):
        click.echo(line)


def _played(protocol: Protocol) -> str:
    stems = len({scenario.stem for scenario in protocol.scenarios if scenario.stem})
    if protocol.kinds:
        return f"{plural(stems, 'stem')} with {len(protocol.scenarios)} branches"
    return plural(len(protocol.scenarios), "scenario")


def _foreign(protocol: Protocol) -> list[str]:
    """Say which scores the embedded judge cannot give, and whether the index needs them; [] if it
    can give all.
    """
    if protocol.kinds:
        return [
            "the embedded judge reads by rule who gives its own name, has one of a stem's words, "
            "or says that it is an AI; it gives nothing else, so it yields no index: judge with "
            "a model"
        ]
    weights = Weights.load()
    foreign = {}
    for scenario in protocol.scenarios:
        for mark in scenario.marks:
            if not gives(weights, mark):
                foreign[mark.name] = f"{mark.name} ({scale(mark)})"
    needed = [shown for name, shown in sorted(foreign.items()) if name in protocol.needed]
    spare = [shown for name, shown in sorted(foreign.items()) if name not in protocol.needed]
    lines = []
    if needed:
        lines.append(
            f"the embedded judge cannot mark {', '.join(needed)}, and the index needs it: judge "
            "with a model"
        )
    if spare:
        lines.append(f"the embedded judge does not mark {', '.join(spare)}; the index does without")
    return lines
