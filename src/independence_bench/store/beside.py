"""A process that reads a store beside this one: of a large store it takes a good part of a command's time.

    begun = begin(module, file)                  # a new process, before anything heavy is imported
    with copied(work) as done:                   # a copy of this one, for what follows from what it has read
        ...                                      # whatever else there is to do
        result = done()

Knows no database. A new process is begun only for a file: the address of a server's database may hold a password, which
no command line should.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
LARGE = 40_000_000  # bytes of a file: a smaller one is read before another process has started


@dataclass(frozen=True, slots=True)
class Beside:
    """A process that reads *file* and prints what it found. End it, whatever happens."""

    file: Path
    process: subprocess.Popen[bytes]

    def found(self) -> bytes | None:
        """What it printed, once it has ended; None where it failed."""
        printed = self.process.communicate()[0]
        return printed if self.process.returncode == 0 else None

    def end(self) -> None:
        """Stop it, if it still runs."""
        with self.process:
            self.process.kill()


def begin(module: str, file: str | Path, large: int = LARGE) -> Beside | None:
    """Begin ``python -m module file``; None where *file* has less than *large* bytes, or no process can be started."""
    path = Path(os.path.realpath(os.path.expanduser(file)))
    command = (sys.executable, "-P", "-m", module, str(path))  # -P: no module of the working folder is ours
    try:
        if not path.is_file() or path.stat().st_size < large:
            return None
        process = subprocess.Popen(  # noqa: S603 - our own arguments, no shell
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None
    return Beside(path, process)


@contextmanager
def copied(work: Callable[[], T], worth: bool = True) -> Iterator[Callable[[], T]]:
    """Do *work* in a copy of this process, which ends with the block. What is yielded waits for the result.

    *work* has to open the store anew: a connection is of one process. It is done here, once it is asked for, where it
    is not *worth* a process, where processes with threads or of other systems than Linux cannot be copied, and where
    the copy failed: an error is raised here.
    """
    if not worth or sys.platform != "linux" or threading.active_count() > 1:
        yield work
        return
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_do, args=(work, sending), daemon=True)
    process.start()
    sending.close()

    def done() -> T:
        try:
            found: T = receiving.recv()
        except (EOFError, OSError):
            return work()
        return found

    try:
        yield done
    finally:
        process.kill()
        process.join()
        receiving.close()


def _do(work: Callable[[], object], sending: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends this one
    with suppress(Exception):  # it does the work itself then, and says why it cannot
        sending.send(work())
