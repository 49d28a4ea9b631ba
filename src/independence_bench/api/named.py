"""Finds what a user names in a store, and decides which key may go where, for the command line and
for Python.

A store, its protocols and its subjects are found, or an error says what there is. Which key may go
to which other address is asked once (docs/configuration.md); what a person allows is stored outside
the working folder, which may come from a stranger. Imports no client, so that a command that only
reads does not.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from independence_bench.analysis.results import read_stored_protocol
from independence_bench.engine.named import MODELS_FILE, find_models_file_and_note
from independence_bench.errors import NotAllowed, ProtocolError, StoreError, WrongUse
from independence_bench.escape import check_one_line, escape_line, escape_text
from independence_bench.lookup import find_by_label, find_similar_names
from independence_bench.models.endpoints import read_models_file
from independence_bench.models.spec import ChatModel, Endpoint, Roster
from independence_bench.models.trust import (
    DATABASE_PASSWORD,
    PROVIDERS,
    STORE,
    EnvFile,
    Permission,
    find_needed_permission,
    is_proxy_or_certificate,
    merge_environment_and_env_file,
    parse_proxy_or_certificate,
)
from independence_bench.protocol.definition import EARLIER_FORM, Configuration, Protocol
from independence_bench.protocol.loader import Files, list_shipped, load_protocol_and_files
from independence_bench.store import registry
from independence_bench.store.database import Store, find_store_place, open_store
from independence_bench.store.registry import Decision, make_unique_labels
from independence_bench.store.staging import make_temporary_path
from independence_bench.yaml_io import OneLine, Strict


def find_shipped_or_stored_protocol(name: str | None, store: Store) -> tuple[Protocol, Files]:
    """Return a protocol with its files: the one that ships as *name* or is in the folder *name*,
    else the one in *store* with that name or hash; None: the stored one that was played last.

    Raises ProtocolError if there is none of that name, WrongUse if *name* is None and nothing was
    played yet.
    """
    with store.open_snapshot() as connection:
        played = registry.read_protocols(connection)
    if name is None:
        if not played:
            raise WrongUse(f"nothing is stored in {store.shown}; `aib run` plays and judges")
        hash_, stored, files = played[0]
        return _parse_stored_protocol(store, hash_, stored, files), files
    try:
        loaded = load_protocol_and_files(name)
        return _find_earlier_form(name, loaded[0], played, store) or loaded
    except ProtocolError as error:
        name = name.strip()
        for hash_, stored, files in played:
            if stored == name or (len(name) >= 8 and hash_.startswith(name)):
                return _parse_stored_protocol(store, hash_, stored, files), files
        close = (
            []
            if os.path.exists(name)
            else find_similar_names(name, dict.fromkeys(stored for _, stored, _ in played))
        )
        if close:
            stored_too = f"{store.shown} has {' and '.join(close)}"
            joint = " " if error.problem.endswith("?") else "; "
            raise ProtocolError(
                error.file, error.key, f"{error.problem}{joint}{stored_too}"
            ) from None
        raise error from None


def _find_earlier_form(
    name: str, shipped: Protocol, played: Sequence[tuple[str, str, Files]], store: Store
) -> tuple[Protocol, Files] | None:
    """Return the stored protocol called *name*, with its files, if it is of an earlier form and the
    *shipped* one of that name was not *played* into *store*; else None. So whoever has played it
    reads it under the name that it had.
    """
    hashes = [hash_ for hash_, *_ in played]
    same = [one for one in played if one[1] == name]
    if name not in list_shipped() or not same or shipped.hash in hashes:
        return None
    hash_, stored, files = same[0]
    found = _parse_stored_protocol(store, hash_, stored, files)
    return (found, files) if found.earlier_form else None


def check_current_form(protocol: Protocol) -> None:
    """Raise WrongUse if *protocol* is of an earlier form, whose conversations have no scores."""
    if protocol.earlier_form:
        raise WrongUse(
            f"{protocol.name} {protocol.hash[:8]}, {EARLIER_FORM} (aib show, aib export)"
        )


def _parse_stored_protocol(store: Store, hash_: str, name: str, files: Files) -> Protocol:
    """Return the protocol whose *files* are stored in *store* under the hash *hash_*. *name* is its
    name, for error messages.
    """
    with store.open_snapshot() as connection:
        return read_stored_protocol(connection, hash_, files, where=f"{store.shown}: {name}")


def find_stored_subjects(
    store: Store, protocol: Protocol | None, typed: Sequence[str]
) -> list[ChatModel]:
    """Return the stored models whose labels the texts *typed* mean, among those that have begun a
    run of *protocol* (None: among all). If *typed* is empty, return all of them.

    Raises WrongUse if a text fits no label or several, or if there is no model.
    """
    with store.open_snapshot() as connection:
        stored = registry.read_subjects(connection)
        if protocol is not None:
            begun = {subject for subject, *_ in registry.read_begun_runs(connection, protocol.name)}
            stored = {hash_: subject for hash_, subject in stored.items() if hash_ in begun}
    labels = make_unique_labels(stored)
    if not labels:
        of = f" of {protocol.name}" if protocol else ""
        raise WrongUse(f"no conversations{of} are stored in {store.shown}; `aib run` plays them")
    return [
        stored[subject] for subject in dict.fromkeys(find_by_label(labels, name) for name in typed)
    ] or list(stored.values())


@contextmanager
def open_store_with_exclusions(store: str) -> Iterator[Store]:
    """Open the existing store at the address *store*, and yield it. First, the models that
    models.yaml in the working folder excludes are marked in the store as excluded from
    leaderboards.
    """
    with open_store(store, create=False) as opened:
        own, _ = find_models_file_and_note()
        update_stored_exclusions(opened, Roster() if own is None else read_models_file(own))
        yield opened


def update_stored_exclusions(store: Store, roster: Roster) -> None:
    """Store which models models.yaml (*roster*) excludes from the leaderboards, and delete earlier
    exclusions by models.yaml that it no longer has.

    Decisions made by `aib exclude` stay. If the store cannot be written, a line on stderr says so.
    """
    with store.open_snapshot() as connection:
        subjects, known = registry.read_subjects(connection), registry.read_decisions(connection)
    changes: dict[str, Decision | None] = {}
    for hash_, subject in subjects.items():
        listed = [spec for spec in roster.specs if spec.matches_model(subject)]
        reason = next((spec.exclude for spec in listed if spec.exclude), None)
        wanted = Decision("exclude", reason, MODELS_FILE) if reason else None
        before = known.get(hash_)
        if listed and wanted != before and (before is None or before.origin == MODELS_FILE):
            changes[hash_] = wanted
    if not changes:
        return
    try:
        with store.open_transaction() as connection:
            for hash_, decision in changes.items():
                if decision is None:
                    registry.delete_decision(connection, hash_)
                else:
                    registry.store_decision(connection, hash_, decision, time.time())
    except StoreError as error:
        sys.stderr.write(escape_text(f"models.yaml's `exclude` is not applied: {error}\n"))


def describe_missing_conversations(
    protocol: Protocol,
    wanted: Sequence[Configuration],
    played: Sequence[Configuration],
    judge_label: str | None = None,
) -> str:
    """Return a message that no conversation of *protocol* is stored in the configurations *wanted*,
    and that some are in the configurations *played*. *judge_label*: the judge whose scores were
    asked for; None: any.
    """
    there = (
        f"; there are some in {', '.join(map(str, played))} (--variants, --modes)" if played else ""
    )
    judged = f" by {judge_label}" if judge_label else ""
    return (
        f"no conversations of {protocol.name} in {' + '.join(map(str, wanted))}{judged} are "
        f"stored{there}"
    )


ALLOWED_FILE = "allowed.json"
_MOST = 1_000_000  # bytes


class _Entry(Strict):
    variable: OneLine
    place: OneLine


class _Document(Strict):
    allowed: tuple[_Entry, ...]


def read_permissions(file: Path) -> frozenset[Permission]:
    """Return the permissions to send keys that the user gave earlier, as stored in *file*; empty if
    the file does not exist. Raises WrongUse if it cannot be read or understood.
    """
    try:
        with file.open("rb") as opened:
            text = opened.read(_MOST + 1)
    except FileNotFoundError:
        return frozenset()
    except OSError as error:
        raise WrongUse(
            f"{file}: your permissions cannot be read ({error.strerror or error}); correct that, "
            "or set AIB_DATA to another folder"
        ) from error
    try:
        if len(text) > _MOST:
            raise ValueError
        document = _Document.model_validate_json(text)
    except (ValidationError, ValueError):
        raise WrongUse(
            f"{file}: these permissions are not valid; delete the file to be asked again"
        ) from None
    return frozenset(Permission(entry.variable, entry.place) for entry in document.allowed)


def add_stored_permissions(file: Path, granted: Collection[Permission]) -> None:
    """Add the permissions *granted* to those in *file*, which is made readable by its owner only.
    Raises WrongUse if that fails.
    """
    every = sorted({*read_permissions(file), *granted}, key=str)
    entries = [{"variable": permission.variable, "place": permission.place} for permission in every]
    text = json.dumps({"allowed": entries}, indent=2)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with make_temporary_path(file) as fresh:
            with open(
                os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8"
            ) as opened:
                opened.write(text + "\n")
                opened.flush()
                os.fsync(opened.fileno())
            fresh.replace(file)
    except OSError as error:
        raise WrongUse(
            f"{file}: your permissions cannot be saved ({error.strerror or error}); set AIB_DATA "
            "to a folder that can be written"
        ) from error


def raise_no_terminal(question: str, flag: str) -> bool:
    """Always raise WrongUse: there is no terminal to ask the user *question* at. The message names
    *flag*, the option that answers it.
    """
    raise WrongUse(f"{question} There is no terminal to answer at; use {flag}")


@dataclass
class Permissions:
    """Decides whether an API key may be sent to an endpoint, and whether `.env` may set certain
    variables. Asks the user at the terminal if the address is not the provider's own and was not
    allowed before.
    """

    file: Path  # what was allowed
    typed: Collection[str] = ()  # NAME=PLACE, allowed now and later
    env_file: EnvFile = field(default_factory=EnvFile)
    confirmed: Callable[[str, str], bool] = raise_no_terminal  # (question, flag that says yes)
    _passed: set[Permission] = field(default_factory=set)

    def __call__(self, endpoint: Endpoint) -> None:
        """Check that the endpoint's API key may be sent to its address; the user is asked if the
        address is not the provider's own and was not allowed before. Proxies and certificates of
        `.env` are applied first. Raises WrongUse if nobody can be asked, NotAllowed if the answer
        is no.
        """
        if endpoint.ours:
            return
        self.apply_env_proxies_and_certificates()
        if permission := find_needed_permission(endpoint, merge_environment_and_env_file()):
            home = PROVIDERS.get(permission.variable)
            own = f", and it belongs to {home}" if home else ""
            told = (
                f"{permission.variable} would be sent to {permission.place} ({endpoint.name}){own}."
            )
            self._require_permission(permission, told, f"may not go to {permission.place}")

    def apply_env_proxies_and_certificates(self) -> None:
        """Set the proxies and certificates that `.env` names in the environment of this process,
        after the user has allowed each. Raises WrongUse if nobody can be asked, NotAllowed if the
        answer is no.
        """
        for name, value in self.env_file.held.items():
            if is_proxy_or_certificate(name):
                told = "the .env of this folder would apply {} to everything that is sent."
                self._set_env_after_permission(
                    name, value, parse_proxy_or_certificate(name, value), told
                )

    def apply_env_store_or_folder(self, name: str) -> None:
        """Set the variable *name* in the environment of this process if `.env` sets it, after the
        user has allowed it: the store's address (`STORE`) or the folder of user data (`DATA`).
        Raises WrongUse if nobody can be asked, NotAllowed if the answer is no.
        """
        if (value := self.env_file.held.get(name)) is None:
            return
        if name == STORE:
            password = (
                ", which your PGPASSWORD would be sent to"
                if os.environ.get(DATABASE_PASSWORD)
                else ""
            )
            told = (
                "the .env of this folder would have results kept in "
                f"{{}}{password if '://' in value else ''}."
            )
            place = find_store_place(value)
        else:
            told, place = (
                "the .env of this folder would have models and user data kept in {}.",
                os.path.abspath(os.path.expanduser(value)),
            )
        self._set_env_after_permission(name, value, Permission(name, place), told)

    def _set_env_after_permission(
        self, name: str, value: str, permission: Permission, explanation: str
    ) -> None:
        """Set the variable *name* to *value* in the environment of this process, after the user has
        given *permission*. *explanation* is the sentence that the user is shown. Raises WrongUse if
        the value is not one line or nobody can be asked, NotAllowed if the answer is no.
        """
        try:
            check_one_line(permission.place)  # what is remembered is read again
        except ValueError as error:
            raise WrongUse(f".env: {name} {error}") from None
        self._require_permission(
            permission, explanation.format(permission), "may not be set by .env; delete it there"
        )
        os.environ[name] = value

    def _require_permission(self, permission: Permission, explanation: str, refusal: str) -> None:
        """Ask the user for *permission*, unless it was given before, and store it. *explanation* is
        the sentence that the user is shown; *refusal* ends the message of NotAllowed, which is
        raised if the answer is no.
        """
        if permission in self._passed:
            return
        if permission not in read_permissions(self.file):
            word = str(permission)
            flag = f"--trust {shlex.quote(word)}"
            if word not in self.typed and not self.confirmed(
                escape_line(f"{explanation} Allow that?"), flag
            ):
                raise NotAllowed(f"nothing was sent: {permission.variable} {refusal}")
            add_stored_permissions(self.file, [permission])
        self._passed.add(permission)
