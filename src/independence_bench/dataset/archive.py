"""Reads a folder or a tar of files that come from somewhere else, and trusts nothing in it.

    with open_files(path) as files:
        for file in files:  # every regular file: its path, and its bytes on demand
            file.parts, file.read()
        files.refused       # what was not read, and why

The module writes nothing under a name that comes from outside, follows no link, and unpacks nothing
beyond the limits below. It does not know what the files say.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from independence_bench.errors import WrongUse
from independence_bench.store.blobs import LARGEST_TOTAL, Allowance, TooLarge

LARGEST_FILE = 4_000_000  # bytes; a conversation is a few thousand
MOST_FILES = 200_000
NOT_A_FILE = "a link, a device or a sparse file, not read"
UNREADABLE = "cannot be read"
MOST_NAMED = 3  # tars in a folder that holds nothing else to read
_UNREADABLE_TAR = (tarfile.TarError, OSError, EOFError, lzma.LZMAError, ValueError, OverflowError)


@dataclass(frozen=True, slots=True)
class File:
    """One regular file. *parts* is its path and may hold anything that a name can."""

    parts: tuple[str, ...]
    read: Callable[[], bytes]  # raises OSError

    @property
    def path(self) -> str:
        """The path of this file as messages show it, with slashes."""
        return "/".join(self.parts)


@dataclass(slots=True)
class Files:
    """The files of a folder or a tar in a fixed order, and those that were refused: (path, why)."""

    found: list[File] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    cut: str = ""  # why the source was not read to its end; "": it was

    def __iter__(self) -> Iterator[File]:
        return iter(self.found)

    def refuse_unfit_file(self, path: str, is_regular_file: bool, size: int) -> bool:
        """Return whether a file of that *size* in bytes is refused, as too large or as no regular
        file, and list it as refused if so. *is_regular_file*: it is a regular file.
        """
        if not is_regular_file:
            self.refused.append((path, NOT_A_FILE))
        elif size > LARGEST_FILE:
            self.refused.append((path, "too large"))
        return not is_regular_file or size > LARGEST_FILE


@contextmanager
def open_files(path: Path) -> Iterator[Files]:
    """Yield the regular files under *path*, a folder or a tar (plain, gz, bz2, xz), and what was
    refused. Raises WrongUse if *path* is neither.
    """
    if path.is_dir():
        yield _read_folder(path)
    elif path.is_file():
        with tempfile.TemporaryFile() as kept:
            yield _read_tar(path, kept)
    else:
        raise WrongUse(f"{path} is neither a folder nor a file; name a folder or a tar")


def find_first_tars(folder: Path) -> list[Path]:
    """Return the first `MOST_NAMED` files directly in *folder* that can be read as a tar; [] if
    there are none or *folder* is no folder.
    """
    try:
        named = sorted(folder.iterdir())
    except OSError:
        return []
    return list(islice((path for path in named if path.is_file() and _is_tar(path)), MOST_NAMED))


def _is_tar(path: Path) -> bool:
    try:
        with _open_tar(path) as tar:
            return tar.next() is not None
    except _UNREADABLE_TAR:
        return False


def _read_folder(root: Path) -> Files:
    files = Files()
    # the name of the given folder may itself say what it holds (a subject, a run)
    above = Path(os.path.abspath(root)).parts[1:]

    def note_unreadable(error: OSError) -> None:
        files.refused.append((str(error.filename), UNREADABLE))

    for folder, folders, names in os.walk(root, onerror=note_unreadable):
        folders.sort()
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for path in (Path(folder, name) for name in sorted(names) + links):
            if len(files.found) >= MOST_FILES:
                files.cut = f"it holds more than {MOST_FILES:,} files"
                return files
            inside = path.relative_to(root)
            try:
                about = path.lstat()
            except OSError:
                files.refused.append((str(inside), UNREADABLE))
                continue
            if not files.refuse_unfit_file(str(inside), stat.S_ISREG(about.st_mode), about.st_size):
                files.found.append(File((*above, *inside.parts), path.read_bytes))
    return files


def _read_tar(path: Path, unpacked_file: IO[bytes]) -> Files:
    """Return the regular files of the tar *path*, after unpacking them one after the other into
    *unpacked_file*, a temporary file without a name. Raises WrongUse if nothing of the tar can be
    read.
    """
    files, allowance = Files(), Allowance()
    try:
        with _open_tar(path) as tar:
            for number, member in enumerate(tar):
                if number >= MOST_FILES:
                    files.cut = f"it holds more than {MOST_FILES:,} files"
                    break
                # a sparse file claims any size in a few bytes
                plain = member.isreg() and not member.issparse()
                if member.isdir() or files.refuse_unfit_file(member.name, plain, member.size):
                    continue
                allowance.take_bytes(member.size)
                start = unpacked_file.tell()
                size = unpacked_file.write(tar.extractfile(member).read())  # type: ignore[union-attr]
                parts = PurePosixPath(member.name).parts
                files.found.append(File(parts, partial(_read_piece, unpacked_file, start, size)))
    except _UNREADABLE_TAR as error:
        said = " ".join(str(error).split())[:100] or type(error).__name__
        if not files.found:
            raise WrongUse(
                f"{path} is not a tar that can be read ({said}); name a folder or a tar"
            ) from error
        files.cut = f"it is damaged from there on ({said})"
    files.found.sort(key=lambda file: file.parts)
    return files


def _read_piece(unpacked_file: IO[bytes], start: int, size: int) -> bytes:
    unpacked_file.seek(start)
    return unpacked_file.read(size)


@contextmanager
def _open_tar(path: Path) -> Iterator[tarfile.TarFile]:
    with path.open("rb") as file:
        begin = file.read(6)
    packed = {b"\xfd7zXZ\x00": lzma.open, b"\x1f\x8b": gzip.open, b"BZh": bz2.open}
    opener: Any = next((packed[magic] for magic in packed if begin.startswith(magic)), open)
    with opener(path, "rb") as stream:
        bounded = cast(IO[bytes], _Bounded(stream))
        with tarfile.open(fileobj=bounded, mode="r:") as tar:
            yield tar


class _Bounded:
    """A stream from which a tar is read: a decompression bomb is an error before it is in memory.

    tarfile goes to the end of each member with `seek`, so all that is unpacked passes there.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= LARGEST_FILE:
            raise tarfile.ReadError("a part of it is too large")
        return self.stream.read(size)

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        if place > LARGEST_TOTAL:
            raise TooLarge(LARGEST_TOTAL)
        return self.stream.seek(place, whence)

    def tell(self) -> int:
        return self.stream.tell()
