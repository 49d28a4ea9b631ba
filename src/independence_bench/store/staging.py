"""Makes files and folders whole next to their place, and then puts them there in one step.

What a process that was killed left behind is known by its lock, which the system lets go with the
process: the next command that makes something in the same place takes it away, and nothing else.
Knows nothing of what is made.
"""

from __future__ import annotations

import ctypes
import errno
import glob
import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: there, leftovers stay
    fcntl = None  # type: ignore[assignment]

_FOLDER, _LOCK, _OLD = ".making", ".lock", "old"
_AT_FDCWD, _EXCHANGE = -100, 2  # of Linux, for renameat2


@contextmanager
def make_temporary_path(target: Path) -> Iterator[Path]:
    """Yield a path next to *target* at which the block makes a file or folder before moving it to
    *target*; the path does not exist yet. What is left at that path is deleted after the block, and
    what killed processes left at such paths is deleted before.

    The folder of *target* has to exist. Raises OSError if it cannot be written.
    """
    if not target.name:  # "", "." and "/" name a folder that is there
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    remove_leftovers(target)
    name, lock = _make_name_and_lock(target)
    folder = target.with_name(name + _FOLDER)
    try:
        folder.mkdir()
        yield folder / target.name
    finally:
        _remove_folder_and_lock(folder)
        os.close(lock)


def _make_name_and_lock(target: Path) -> tuple[str, int]:
    """Return a new name for a temporary folder next to *target*, and the descriptor of the lock
    file of that name, which is made and locked here, before the folder.
    """
    while True:
        name = f".{target.name}.{uuid.uuid4().hex[:8]}"
        path = target.with_name(name + _LOCK)
        lock = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        # another process may have taken it for a leftover, just before it was locked
        if fcntl is None or (_try_lock(lock) and path.exists()):
            return name, lock
        os.close(lock)


def _remove_folder_and_lock(folder: Path) -> None:
    """Delete the temporary *folder* with all that is in it, and then its lock file. The lock file
    stays if the folder does: a folder without a lock would never be removed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        folder.with_suffix(_LOCK).unlink(missing_ok=True)


def replace_folder(fresh: Path, target: Path) -> None:
    """Move the folder *fresh*, made in `make_temporary_path`, to *target*, replacing a folder that
    is there.

    On Linux both change places in one step. Elsewhere there is a moment without either; if the
    process is killed in it, the next command puts the old folder back.
    """
    if not target.exists():
        fresh.rename(target)
    elif not _exchange_paths(fresh, target):
        old = fresh.with_name(_OLD)
        target.rename(old)
        try:
            fresh.rename(target)
        except BaseException:
            old.rename(target)
            raise


def link_file_unless_exists(fresh: Path, target: Path) -> bool:
    """Give the file *fresh* the name *target* as well, or only that name on a disk without links.
    Returns whether it was done; if *target* exists already, it stays as it is.
    """
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


def remove_leftovers(target: Path) -> None:
    """Delete the temporary folders in which killed processes were making *target*, and put back the
    folder that such a process had moved away from *target*. Does not raise errors of the disk.
    """
    with suppress(OSError):
        for path in target.parent.glob(f".{glob.escape(target.name)}.????????{_LOCK}"):
            with suppress(OSError):
                _remove_leftover(path, target)


def _remove_leftover(lock_path: Path, target: Path) -> None:
    folder, lock = (
        lock_path.with_suffix(_FOLDER),
        os.open(lock_path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)),
    )
    try:
        if not _try_lock(lock):
            return
        old = folder / _OLD
        if not folder.is_symlink() and old.exists() and not target.exists():
            old.rename(target)
        _remove_folder_and_lock(folder)
    finally:
        os.close(lock)


def _try_lock(file: int) -> bool:
    """Lock the open *file* (a descriptor) against other processes until it is closed, and return
    whether that worked: False if another process has the lock, or if locks are not supported.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _exchange_paths(one: Path, other: Path) -> bool:
    """Let the files or folders *one* and *other* change places in one step, and return whether that
    worked: False if the system cannot do so.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    return bool(rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE) == 0)
