"""What of an audit a second process can read: the store's own check, and the requests that it unpacks for it.

    with reading_beside(store) as second_reading:
        ...                                      # whatever else there is to read
        second = second_reading(connection)

Few imports: the process begins with them. Decides nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection

from independence_bench.analysis.audit.history import model_lines
from independence_bench.store.beside import LARGE, Beside, begin
from independence_bench.store.database import Store, open_store
from independence_bench.store.integrity import check
from independence_bench.store.sqlite import SqliteFile

MODULE = "independence_bench.analysis.audit.second_reader"  # __name__ where it is not the process itself
MAPPED = 2**32  # bytes of the file that are mapped into memory, at most


@dataclass(frozen=True, slots=True)
class SecondReading:
    """What was found."""

    contradictions: Sequence[str]  # as the store's own check gives them
    histories: Mapping[str, Sequence[str]]
    """Key of a reply in a transcript -> what the model had said by the history in its request; without damaged ones."""


def read(connection: Connection) -> SecondReading:
    """All of it. Raises StoreError for what the check cannot read."""
    histories: dict[str, Sequence[str]] = {}

    def see(request: str | None, keys: Sequence[str]) -> None:
        if request is not None:
            histories.update(dict.fromkeys(keys, model_lines(request)[0]))

    return SecondReading(check(connection, see), histories)


@contextmanager
def reading_beside(
    store: Store, begun: Beside | None = None, large: int = LARGE
) -> Iterator[Callable[[Connection], SecondReading]]:
    """Begin to read *store* in a process where it is a file of *large* bytes or more, unless that is *begun* already.

    What is yielded waits for that process. Where there is none, or it failed, it reads on the connection: an error is
    raised there.
    """
    file = store.backend.path if isinstance(store.backend, SqliteFile) else None
    beside = begun if begun and begun.file == file else begin(MODULE, file, large) if file else None

    def reading(connection: Connection) -> SecondReading:
        found = beside.found() if beside else None
        return read(connection) if found is None else SecondReading(**json.loads(found))

    try:
        yield reading
    finally:
        if beside:
            beside.end()


if __name__ == "__main__":
    with open_store(sys.argv[1], create=False) as opened, opened.reading() as reader:
        # a tenth faster than by read(); an unreadable disk ends this process, and the other one looks itself
        reader.exec_driver_sql(f"PRAGMA mmap_size={MAPPED}")
        second = read(reader)
        json.dump({"contradictions": second.contradictions, "histories": second.histories}, sys.stdout)
