"""Options that several commands share, and the reading of what was typed into them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from dotenv import load_dotenv
from rich.console import Console

from independence_bench.errors import WrongUse
from independence_bench.protocol import DELIVERIES, Configuration, Protocol
from independence_bench.store.database import default_store
from independence_bench.subject import Roster, read_models

F = TypeVar("F", bound=Callable[..., object])
MODELS_FILE = "models.yaml"


class Number(click.FloatRange):
    """A number in a range. NaN is in none, though no comparison says so."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """*value* as a number; click's usage error where it is none."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


def store_option(command: F) -> F:
    """--store"""
    return click.option(
        "--store",
        default=default_store,
        metavar="PATH",
        help="Where everything is kept: a file, or a database URL.  [default: $AIB_STORE, else aib.db]",
    )(command)


def protocol_option(command: F) -> F:
    """--protocol"""
    return click.option(
        "--protocol",
        "protocol_name",
        default="v2",
        show_default=True,
        metavar="NAME|PATH",
        help="A shipped protocol, or the folder of your own.",
    )(command)


def configuration_options(command: F) -> F:
    """--variants and --modes"""
    command = click.option(
        "--modes", metavar="LIST", help="Delivery modes: user_role, tool_role.  [default: the protocol's]"
    )(command)
    return click.option("--variants", metavar="LIST", help="System variants, e.g. neutral.  [default: the protocol's]")(
        command
    )


def engine_options(command: F) -> F:
    """-p, -pt and --budget: how much at once, and for how much"""
    command = click.option(
        "--budget", type=Number(min=0, min_open=True), metavar="USD", help="Spend no more than this."
    )(command)
    command = click.option(
        "-pt",
        "--parallel-tasks",
        type=click.IntRange(1, 4096),
        default=8,
        show_default=True,
        help="Calls at once within one subject.",
    )(command)
    return click.option(
        "-p", "--parallel", type=click.IntRange(1, 256), default=4, show_default=True, help="Subjects at once."
    )(command)


def models_file_option(command: F) -> F:
    """--models-file"""
    return click.option(
        "--models-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"Subjects and endpoints of your own.  [default: {MODELS_FILE}, where it exists]",
    )(command)


def read_environment() -> None:
    """Take keys from .env in the working folder; what the environment has already stays."""
    load_dotenv(Path(".env"))


def read_roster(models_file: Path | None) -> Roster:
    """Endpoints and subjects: those built in, and those of models.yaml."""
    if models_file is None and not Path(MODELS_FILE).is_file():
        return Roster()
    return read_models(models_file or Path(MODELS_FILE))


def configurations(protocol: Protocol, variants: str | None, modes: str | None) -> tuple[Configuration, ...]:
    """The configurations that were asked for, each variant in each mode. Raises WrongUse for unknown ones."""
    if variants is None and modes is None:
        return protocol.configurations
    known = [name for name, _ in protocol.systems]
    wanted = split(variants) or list(dict.fromkeys(c.system for c in protocol.configurations))
    ways = split(modes) or list(dict.fromkeys(c.delivery for c in protocol.configurations))
    for name in wanted:
        if name not in known:
            raise WrongUse(f"--variants: {protocol.name} has no variant {name}; it has {', '.join(known)}")
    for way in ways:
        if way not in DELIVERIES:
            raise WrongUse(f"--modes: there is no mode {way}; there are {', '.join(DELIVERIES)}")
    return tuple(Configuration(name, way) for name in wanted for way in DELIVERIES if way in ways)


def split(listed: str | None) -> list[str]:
    """The parts of a list with commas, without empty ones and repetitions."""
    return list(dict.fromkeys(part.strip() for part in (listed or "").split(",") if part.strip()))


def out() -> Console:
    """Where results go: stdout, 80 columns wide in a pipe."""
    console = Console(highlight=False, emoji=False, markup=False)
    return console if console.is_terminal else Console(highlight=False, emoji=False, markup=False, width=80)


def err() -> Console:
    """Where progress and remarks go: stderr."""
    return Console(stderr=True, highlight=False, emoji=False, markup=False)
