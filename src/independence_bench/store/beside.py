"""A process that reads a store's file beside this one: of a large store it halves the time of a command.

Knows no database, so that it can be begun before anything heavy is imported. Only for a file: the address of a server's
database may hold a password, which no command line should.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

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
