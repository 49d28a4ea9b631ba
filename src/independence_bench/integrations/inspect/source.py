"""Which protocol a task plays: one that ships, a folder, a persona's sheet, or the files themselves in a log."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from independence_bench.errors import WrongUse
from independence_bench.hashing import canonical
from independence_bench.personas.generate import protocol_files
from independence_bench.personas.sheet import load_sheet
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.file_formats import TOP
from independence_bench.protocol.loader import Files, load, load_with_files, parse, shipped
from independence_bench.protocol.plan import every_configuration

INSIDE = "{"  # what the files of a protocol begin with, where they stand in the place of its name


@lru_cache(maxsize=16)
def read_source(source: str) -> tuple[Protocol, Files]:
    """The protocol behind *source*: a shipped name, a folder, a sheet (a YAML file), or `written`. Raises WrongUse."""
    if source.startswith(INSIDE):
        try:
            inside = {str(path): str(text) for path, text in json.loads(source).items()}
        except (ValueError, RecursionError):
            raise WrongUse("the files of the protocol cannot be read; the log was changed") from None
        return parse(inside, where="the log"), inside
    path = Path(source)
    if source not in shipped() and path.suffix in (".yaml", ".yml") and path.name != TOP:
        files = protocol_files(load_sheet(path))
        return parse(files, where=source), files
    return load_with_files(source)


def written(protocol: Protocol, files: Files) -> str:
    """A source that leads to *protocol* on every machine: its name where it ships like that, else all of its files."""
    if protocol.name in shipped() and load(protocol.name).hash == protocol.hash:
        return protocol.name
    return canonical(dict(files))


def chosen(
    protocol: Protocol, variants: str | list[str] | None, modes: str | list[str] | None
) -> tuple[Configuration, ...]:
    """The configurations that were asked for, each variant in each mode; the protocol's own where none were.

    Raises WrongUse for unknown ones.
    """
    own = protocol.configurations
    systems = _listed(variants) or list(dict.fromkeys(one.system for one in own))
    deliveries = _listed(modes) or list(dict.fromkeys(one.delivery for one in own))
    if variants is None and modes is None:
        return own
    known = every_configuration(protocol)
    for name, given, there in (
        ("variants", systems, sorted({one.system for one in known})),
        ("modes", deliveries, sorted({one.delivery for one in known})),
    ):
        if unknown := [one for one in given if one not in there]:
            raise WrongUse(f"-T {name}: {protocol.name} has no {unknown[0]}; there are {', '.join(there)}")
    return tuple(one for one in known if one.system in systems and one.delivery in deliveries)


def _listed(typed: str | list[str] | None) -> list[str]:
    given = typed.split(",") if isinstance(typed, str) else typed or []
    return [str(one).strip() for one in given if str(one).strip()]
