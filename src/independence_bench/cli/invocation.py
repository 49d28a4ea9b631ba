"""The command line that is being carried out: values that click has no place for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from independence_bench.models.trust import EnvFile


@dataclass(slots=True)
class Invocation:
    """One typed command line of `aib`, and its state. Click hands the value down as its context's
    object.
    """

    typed: tuple[str, ...] = ()
    env_file: EnvFile | None = None  # what .env holds; None: there is none
    # what --trust was given: the default of --store may have to ask for it, before a command has
    # any value
    trusted: tuple[str, ...] = ()
    stopped: bool = False  # a person stopped what it carries out


def find_current_command_line() -> Invocation:
    """Return the words and the state of the command line that is being carried out; empty ones if
    there is none.
    """
    found = click.get_current_context().find_object(Invocation)
    return Invocation() if found is None else found
