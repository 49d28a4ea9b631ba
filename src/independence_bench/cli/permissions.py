"""--trust, and the question before a key is sent to another address."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

import click

from independence_bench.api.permissions import FILE, Permissions
from independence_bench.cli.options import confirmed
from independence_bench.models.local.files import data_folder
from independence_bench.models.trust import EnvFile

F = TypeVar("F", bound=Callable[..., object])
_ENV_FILE, _TYPED = "aib.env-file", "aib.trusted"  # in click's meta


def trust_option(command: F) -> F:
    """--trust; `permissions` reads it"""

    def keep(context: click.Context, _option: click.Parameter, typed: tuple[str, ...]) -> None:
        context.meta[_TYPED] = typed

    return click.option(
        "--trust",
        multiple=True,
        metavar="NAME=PLACE",
        expose_value=False,
        callback=keep,
        help="Allow the key in NAME to be sent to PLACE, from now on, e.g. LAB_KEY=http://gpu-box:8000.",
    )(command)


def permissions() -> Permissions:
    """The permissions of the command that is being carried out."""
    meta = click.get_current_context().meta
    env_file: EnvFile = meta.get(_ENV_FILE, EnvFile())
    # a .env that chooses the folder could bring its own file of permissions
    outside = {name: value for name, value in os.environ.items() if name not in env_file.taken}
    return Permissions(data_folder(outside) / FILE, meta.get(_TYPED, ()), env_file, confirmed)
