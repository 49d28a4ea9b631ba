"""Files and folders that are made whole beside their place, and then put into it in one step.

What a process that was killed left behind is known by its lock, which the system lets go with the process: the next
command that makes something in the same place takes it away, and nothing else. Knows nothing of what is made.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows: there, leftovers stay
    fcntl = None  # type: ignore[assignment]

_ENDING = ".making"
_LOCK, _OLD = "lock", "old"
_UNLOCKED = 60.0  # seconds after which a folder without a lock is nobody's: making both takes no time
_AT_FDCWD, _EXCHANGE = -100, 2  # of Linux, for renameat2


@contextmanager
def staging(target: Path) -> Iterator[Path]:
    """A path beside *target*, where nothing is yet, to make it at; what is left there is deleted at the end.

    The folder of *target* has to exist. Raises OSError where it cannot be written.
    """
    take_away_leftovers(target)
    folder, lock = _begin(target)
    try:
        with lock:
            yield folder / target.name
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _begin(target: Path) -> tuple[Path, BinaryIO]:
    """A folder of our own, and the open file that its lock is on."""
    while True:
        folder = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}{_ENDING}")
        folder.mkdir()
        with suppress(FileNotFoundError), ExitStack() as stack:
            lock = stack.enter_context((folder / _LOCK).open("wb"))
            # somebody may have taken it for a leftover, just before it was locked
            if fcntl is None or (_locked(lock.fileno()) and (folder / _LOCK).exists()):
                stack.pop_all()
                return folder, lock


def put_in_place(fresh: Path, target: Path) -> None:
    """Move the folder *fresh*, made in `staging`, to *target*, in the place of a folder that is there.

    On Linux both change places in one step. Elsewhere there is a moment without either; who is killed in it leaves
    the old one to be put back by the next command.
    """
    if not target.exists():
        fresh.rename(target)
    elif not _exchanged(fresh, target):
        old = fresh.with_name(_OLD)
        target.rename(old)
        try:
            fresh.rename(target)
        except BaseException:
            old.rename(target)
            raise


def link_in_place(fresh: Path, target: Path) -> bool:
    """Give the file *fresh* the name *target* as well. Returns whether that was free; another file stays as it is."""
    try:
        os.link(fresh, target)
    except FileExistsError:
        return False
    except OSError:  # a disk without links
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        fresh.replace(target)
    return True


def take_away_leftovers(target: Path) -> None:
    """Delete what processes that were killed were making at *target*; put back what they had moved out of the way."""
    with suppress(OSError):
        for folder in target.parent.glob(f".{_escaped(target.name)}.????????{_ENDING}"):
            with suppress(OSError):
                _take_away(folder, target)


def _take_away(folder: Path, target: Path) -> None:
    if folder.is_symlink() or not folder.is_dir():
        return
    try:
        lock = (folder / _LOCK).open("rb")
    except FileNotFoundError:
        if time.time() - folder.stat().st_mtime > _UNLOCKED:
            shutil.rmtree(folder, ignore_errors=True)
        return
    with lock:
        if not _locked(lock.fileno()):
            return
        if (folder / _OLD).exists() and not target.exists():
            (folder / _OLD).rename(target)
        shutil.rmtree(folder, ignore_errors=True)


def _locked(file: int) -> bool:
    """Lock the open *file* until it is closed; False where another process has it, or nothing can be locked."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _exchanged(one: Path, other: Path) -> bool:
    """Let two paths change places in one step, where the system can."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    return bool(rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE) == 0)


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
