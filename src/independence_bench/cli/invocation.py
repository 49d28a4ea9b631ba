"""The command line that is being carried out: values that click has no place for."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from independence_bench.escape import escape_line

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
    # " --store PATH" where the store is not the default one: printed commands have to name it
    store_option: str = ""
    stopped: bool = False  # a person stopped what it carries out


def find_current_command_line() -> Invocation:
    """Return the words and the state of the command line that is being carried out; empty ones if
    there is none.
    """
    context = click.get_current_context(silent=True)
    found = None if context is None else context.find_object(Invocation)
    return Invocation() if found is None else found


def note_store(address: str, default: str) -> None:
    """Keep that the command line that is being carried out uses the store at *address*, so that
    printed commands name it, unless it is the *default*. The address of a database is never
    printed, since it may hold a password.
    """
    named = address != default and "://" not in address
    find_current_command_line().store_option = (
        f" --store {shlex.quote(escape_line(address))}" if named else ""
    )
