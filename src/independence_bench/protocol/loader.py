"""A protocol's folder -> a `Protocol`. The only place that knows how protocols are written down.

    protocol.yaml           name, runs, sampling, judge, experiments, dimensions and weights
    judge.md                what every judge is told before the rubric
    system/VARIANT.md       one system prompt a file
    scenarios/ID.yaml       one scenario a file
    stems/ID.yaml           or one stem a file: an opening with several branches
    rubrics/NAME.md         one rubric a file: its marks and their scales on top, then its text

The text of these files is the snapshot that the store keeps, so an old result can be read with the
protocol it was played with. Everything unknown is an error: a misspelt key that is silently ignored
is a different benchmark under the same name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path, PurePosixPath

from independence_bench.errors import ProtocolError
from independence_bench.lookup import (
    YAML,
    describe_similar_files,
    find_similar_files,
    find_similar_names,
    join_by_or,
)
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.file_formats import TOP, Files
from independence_bench.protocol.reader import read_earlier_form, read_protocol
from independence_bench.yaml_io import Unknown

SHIPPED = Path(__file__).parent / "shipped"
LARGEST_FILE = 1_000_000  # bytes; a protocol is a few pages of text

__all__ = [
    "Files",
    "list_shipped",
    "load_protocol",
    "load_protocol_and_files",
    "parse_protocol",
    "parse_stored_protocol",
]


def list_shipped() -> tuple[str, ...]:
    """Return the names of the protocols that come with the package, sorted."""
    return tuple(sorted(path.parent.name for path in SHIPPED.glob("*/protocol.yaml")))


def load_protocol(name_or_path: str | Path) -> Protocol:
    """Return the protocol *name_or_path*: the name of one that comes with the package, or the
    folder of one. Raises ProtocolError if there is none, or anything in its files is wrong.
    """
    protocol, _ = load_protocol_and_files(name_or_path)
    return protocol


def load_protocol_and_files(name_or_path: str | Path) -> tuple[Protocol, Files]:
    """Return (protocol, texts of its files by path) of *name_or_path*: the name of a protocol that
    comes with the package, or a protocol's folder. The store keeps these texts as a snapshot.
    Raises ProtocolError if there is no such protocol, or anything in its files is wrong.
    """
    name = str(name_or_path)
    name = name if os.path.exists(name) else name.strip()
    folder = SHIPPED / name if name in list_shipped() else Path(name)
    if folder.name in (TOP, Path(TOP).with_suffix(".yml").name):
        folder = folder.parent
    # not Path.is_file, which fails for a name of 300 characters
    if not os.path.isfile(folder / TOP):
        raise ProtocolError(
            name,
            "",
            f"no protocol of that name ({', '.join(list_shipped())} ship with aib) and no folder "
            "with a "
            f"protocol.yaml{_suggest_protocol(name if folder == Path(name) else str(folder))}",
        )
    files, broken = _read_folder(folder)
    try:
        protocol = (
            read_protocol(files, broken) if broken else parse_protocol(files, where=str(folder))
        )
    except ProtocolError as error:
        raise (error.add_folder(str(folder)) if broken else error) from error.__cause__
    return protocol, files


def _suggest_protocol(name: str) -> str:
    """Return the end of an error message for *name*, under which there is no protocol: the shipped
    protocol or the folder that may have been meant, else the command that lists protocols.
    """
    folder = Path(name)
    if os.path.isdir(folder) and (close := find_similar_files(folder / TOP)):
        return f"; {folder / close[0]} is not read: call it {TOP}"
    if meant := describe_similar_files(folder) if folder.suffix in YAML else "":
        return meant
    with suppress(OSError, ValueError):
        siblings = {path.parent.name: str(path.parent) for path in folder.parent.glob(f"*/{TOP}")}
        # by the last names: what stands before them is the same in all paths
        known = {shipped: shipped for shipped in list_shipped()} | siblings
        if close := find_similar_names(folder.name, known):
            return f"; did you mean {join_by_or([known[each] for each in close])}?"
    return "; `aib protocols` lists what there is"


def parse_protocol(files: Files, where: str) -> Protocol:
    """Return the protocol that the texts in *files*, path -> text, describe; *where* names their
    folder in errors. Raises ProtocolError, which has all that is wrong.
    """
    try:
        return _parse_cached(tuple(sorted(files.items())), "forbid")
    except ProtocolError as error:
        raise error.add_folder(where) from error.__cause__


# what is stored is mostly the shipped protocol, and a server reads the same again whenever its
# store changes
@lru_cache(maxsize=16)
def _parse_cached(files: tuple[tuple[str, str], ...], unknown: Unknown) -> Protocol:
    """Return the protocol that *files*, (path, text) each, describe, from a cache if they were read
    before; *unknown*: what becomes of keys that no format has. Raises ProtocolError.
    """
    return read_protocol(dict(files), {}, unknown)


def parse_stored_protocol(hash_: str, files: Files, where: str) -> Protocol:
    """Return the protocol that a store keeps under the hash *hash_* as *files*, path -> text;
    *where* names the store's copy in errors. Keys that this version does not know are passed over.
    Raises ProtocolError if the protocol cannot be read.

    A shipped protocol gets the weightings that it has today: they are part of no hash, so it may
    have got them after it was played. If *files* no longer give *hash_*, the protocol is of an
    earlier form and comes without scenarios (`Protocol.earlier_form`).
    """
    try:
        protocol = _parse_cached(tuple(sorted(files.items())), "ignore")
    except ProtocolError:
        protocol = None
    if protocol is None or protocol.hash != hash_:
        try:
            return read_earlier_form(files, hash_)
        except ProtocolError as error:
            raise error.add_folder(where) from error.__cause__
    today = load_protocol(protocol.name) if protocol.name in list_shipped() else protocol
    return today if today.hash == hash_ else protocol


def _read_folder(folder: Path) -> tuple[Files, Mapping[str, ProtocolError]]:
    """Return (texts, errors) of the protocol's files in *folder*, both by path: the texts of the
    files that can be read, and what is wrong with the others.

    A link that leads out of *folder* is not followed: a folder from a stranger may point anywhere.
    """
    files, broken = {}, {}
    home = folder.resolve()
    for path in sorted([*folder.glob("*.*"), *folder.glob("*/*.*")]):
        if (
            path.suffix not in {".yaml", ".yml", ".md"}
            or path.name.startswith(".")
            or path.name == "README.md"
        ):
            continue
        relative = PurePosixPath(path.relative_to(folder)).as_posix()
        try:
            files[relative] = _read_file(path, home)
        except (OSError, RuntimeError, UnicodeError) as error:  # RuntimeError: links in a circle
            broken[relative] = ProtocolError(
                relative, "", f"cannot be read as UTF-8 text ({error})"
            )
        except ValueError as error:
            broken[relative] = ProtocolError(relative, "", str(error))
    return files, broken


def _read_file(path: Path, home: Path) -> str:
    """Return the text of the protocol's file at *path*; *home* is the protocol's folder, without
    links.

    Raises ValueError if *path* is not a text of that folder (wrong suffix, link out of it, no file,
    too large), and OSError, RuntimeError or UnicodeError if the file cannot be read.
    """
    if path.suffix == ".yml":
        raise ValueError("is not read; name it .yaml")
    if not path.resolve().is_relative_to(home):
        raise ValueError("is a link out of the protocol's folder; put a copy in its place")
    if not path.is_file():
        raise ValueError("is a folder, a pipe or a device; put a file in its place")
    if path.stat().st_size > LARGEST_FILE:
        raise ValueError(f"is larger than {LARGEST_FILE:,} bytes; split the text")
    return path.read_text(encoding="utf-8-sig")  # Windows editors put a mark in front
