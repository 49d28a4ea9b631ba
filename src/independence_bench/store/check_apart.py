"""The store's own check in a process of its own: of a large store it takes as long as what is done beside it.

    with checking(store) as contradictions:
        ...                                      # whatever else there is to read
        findings = contradictions(connection)    # as `integrity.check` gives them

Only of a file: the address of a server's database may hold a password, which no command line should.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection

from independence_bench.store.database import Store, open_store
from independence_bench.store.integrity import check
from independence_bench.store.sqlite import SqliteFile

LARGE = 40_000_000  # bytes of a store: a smaller one is checked before another process has started
MAPPED = 2**32  # bytes of the file that are mapped into memory, at most


@contextmanager
def checking(store: Store, large: int = LARGE) -> Iterator[Callable[[Connection], list[str]]]:
    """Begin to check *store* where it is a file of *large* bytes or more; what is yielded returns the findings.

    Where that process cannot be started, or ends without findings, they are looked for on the connection: an error
    that the check raises is raised here.
    """
    file = store.backend.path if isinstance(store.backend, SqliteFile) else None
    child = _begin(file) if file and file.exists() and file.stat().st_size >= large else None

    def findings(connection: Connection) -> list[str]:
        said = child.communicate()[0] if child else b""
        if child and child.returncode == 0:
            return [str(line) for line in json.loads(said)]
        return check(connection)

    try:
        yield findings
    finally:
        if child:
            with child:
                child.kill()


def _begin(file: Path) -> subprocess.Popen[bytes] | None:
    """The process that checks the store in *file*; None where none can be started."""
    command = (sys.executable, "-P", "-m", __name__, str(file))  # -P: no module of the working folder is ours
    try:
        return subprocess.Popen(  # noqa: S603 - our own arguments, no shell
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None


if __name__ == "__main__":
    with open_store(sys.argv[1], create=False) as opened, opened.reading() as reader:
        # a tenth faster than by read(); an unreadable disk ends this process, and the other one looks itself
        reader.exec_driver_sql(f"PRAGMA mmap_size={MAPPED}")
        sys.stdout.write(json.dumps(check(reader)))
