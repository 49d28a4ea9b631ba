"""What a person has allowed, kept in one file outside of every working folder: variables and places, never a key."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path

from pydantic import ValidationError

from independence_bench.errors import WrongUse
from independence_bench.models.trust import Permission
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
