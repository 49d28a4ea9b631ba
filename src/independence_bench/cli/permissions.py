"""--trust, and the confirmation before a key is sent to another address: asked once, stored outside the folder."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import click
from pydantic import ValidationError

from independence_bench.cli.options import confirmed
from independence_bench.errors import NotAllowed, WrongUse
from independence_bench.escape import label_text
from independence_bench.models.env_file import EnvFile
from independence_bench.models.local.weights import data_folder
from independence_bench.models.spec import Endpoint
from independence_bench.models.trust import PROVIDERS, Permission, needed_permission, route
from independence_bench.store.staging import staging
from independence_bench.yaml_io import OneLine, Strict

FILE = "allowed.json"
_MOST = 1_000_000  # bytes


class _Entry(Strict):
    variable: OneLine
    place: OneLine


class _Document(Strict):
    allowed: tuple[_Entry, ...]


def recall(file: Path) -> frozenset[Permission]:
    """What was allowed; nothing where *file* is not there. Raises WrongUse where it cannot be read or understood."""
    try:
        with file.open("rb") as opened:
            text = opened.read(_MOST + 1)
    except FileNotFoundError:
        return frozenset()
    except OSError as error:
        raise WrongUse(
            f"{file}: what you have allowed cannot be read ({error.strerror or error}); mend that, or set AIB_DATA to "
            "another folder"
        ) from error
    try:
        if len(text) > _MOST:
            raise ValueError
        found = _Document.model_validate_json(text)
    except (ValidationError, ValueError):
        raise WrongUse(
            f"{file}: what you have allowed cannot be understood; delete the file to be asked again"
        ) from None
    return frozenset(Permission(entry.variable, entry.place) for entry in found.allowed)


def remember(file: Path, granted: Collection[Permission]) -> None:
    """Add *granted* to what *file* holds, which only its owner can read. Raises WrongUse where that cannot be done."""
    every = sorted({*recall(file), *granted}, key=str)
    text = json.dumps({"allowed": [{"variable": one.variable, "place": one.place} for one in every]}, indent=2)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with staging(file) as fresh:
            with open(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as opened:
                opened.write(text + "\n")
                opened.flush()
                os.fsync(opened.fileno())
            fresh.replace(file)
    except OSError as error:
        raise WrongUse(
            f"{file}: what you allow cannot be written down ({error.strerror or error}); set AIB_DATA to a folder that "
            "can be written"
        ) from error


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
        help="Let the key in NAME be sent to PLACE, now and later, e.g. LAB_KEY=http://gpu-box:8000.",
    )(command)


def permissions() -> Permissions:
    """The permissions of the command that is being carried out."""
    meta = click.get_current_context().meta
    env_file: EnvFile = meta.get(_ENV_FILE, EnvFile())
    # a .env that chooses the folder could bring its own file of permissions
    outside = {name: value for name, value in os.environ.items() if name not in env_file.taken}
    return Permissions(data_folder(outside) / FILE, meta.get(_TYPED, ()), env_file)


@dataclass
class Permissions:
    """Lets an endpoint have its key, after asking a person where the address is not the provider's own."""

    file: Path  # what was allowed
    typed: Collection[str]  # with --trust
    env_file: EnvFile
    _passed: set[Permission] = field(default_factory=set)

    def __call__(self, endpoint: Endpoint) -> None:
        """Raises WrongUse where nobody can be asked, NotAllowed where the answer is no."""
        if endpoint.ours:
            return
        self.routes()
        if permission := needed_permission(endpoint, os.environ):
            home = PROVIDERS.get(permission.variable)
            own = f", and it belongs to {home}" if home else ""
            self._require(
                permission, f"{permission.variable} would be sent to {permission.place} ({endpoint.name}){own}."
            )

    def routes(self) -> None:
        """Take the proxies and certificates of `.env` into the environment; raises as above."""
        for name, value in self.env_file.held.items():
            permission = route(name, value)
            self._require(permission, f"the .env of this folder would have everything sent by {permission}.")
            os.environ[name] = value

    def _require(self, permission: Permission, told: str) -> None:
        if permission in self._passed:
            return
        if permission not in recall(self.file):
            word = str(permission)
            flag = f"--trust {shlex.quote(word)}"
            if word not in self.typed and not confirmed(label_text(f"{told} Allow that?"), flag):
                raise NotAllowed(f"nothing was sent: {permission.variable} may not go to {permission.place}")
            remember(self.file, [permission])
        self._passed.add(permission)
