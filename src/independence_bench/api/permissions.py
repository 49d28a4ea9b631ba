"""Which key may go to which other address: what was allowed, and the question before it is; see docs/configuration.md.

What a person allows is stored outside the working folder, which may come from a stranger.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from independence_bench.errors import NotAllowed, WrongUse
from independence_bench.escape import label_text
from independence_bench.models.spec import Endpoint
from independence_bench.models.trust import PROVIDERS, EnvFile, Permission, needed_permission, route
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
            f"{file}: your permissions cannot be read ({error.strerror or error}); correct that, or set AIB_DATA to "
            "another folder"
        ) from error
    try:
        if len(text) > _MOST:
            raise ValueError
        found = _Document.model_validate_json(text)
    except (ValidationError, ValueError):
        raise WrongUse(f"{file}: these permissions are not valid; delete the file to be asked again") from None
    return frozenset(Permission(entry.variable, entry.place) for entry in found.allowed)


def remember(file: Path, granted: Collection[Permission]) -> None:
    """Add *granted* to what *file* holds, which only its owner can read. Raises WrongUse where that cannot be done."""
    every = sorted({*recall(file), *granted}, key=str)
    entries = [{"variable": permission.variable, "place": permission.place} for permission in every]
    text = json.dumps({"allowed": entries}, indent=2)
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
            f"{file}: your permissions cannot be saved ({error.strerror or error}); set AIB_DATA to a folder that "
            "can be written"
        ) from error


def no_terminal(question: str, flag: str) -> bool:
    """Raises WrongUse: there is no terminal to ask at."""
    raise WrongUse(f"{question} There is no terminal to answer at; use {flag}")


@dataclass
class Permissions:
    """Lets an endpoint have its key, after asking a person where the address is not the provider's own."""

    file: Path  # what was allowed
    typed: Collection[str] = ()  # NAME=PLACE, allowed now and later
    env_file: EnvFile = field(default_factory=EnvFile)
    confirmed: Callable[[str, str], bool] = no_terminal  # (question, flag that says yes)
    _passed: set[Permission] = field(default_factory=set)

    def __call__(self, endpoint: Endpoint) -> None:
        """Raises WrongUse where no person can be asked, NotAllowed where the answer is no."""
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
            self._require(permission, f"the .env of this folder would apply {permission} to everything that is sent.")
            os.environ[name] = value

    def _require(self, permission: Permission, told: str) -> None:
        if permission in self._passed:
            return
        if permission not in recall(self.file):
            word = str(permission)
            flag = f"--trust {shlex.quote(word)}"
            if word not in self.typed and not self.confirmed(label_text(f"{told} Allow that?"), flag):
                raise NotAllowed(f"nothing was sent: {permission.variable} may not go to {permission.place}")
            remember(self.file, [permission])
        self._passed.add(permission)
