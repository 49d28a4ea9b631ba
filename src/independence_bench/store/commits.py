"""Many writers, one durable commit.

A commit with ``synchronous=FULL`` waits for the disk; two hundred calls that end together should wait once.
Tasks hand their writes over and are resumed when the commit that holds them is durable. One thread owns the
writing connection, so the event loop never waits for the disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar, cast

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from independence_bench.store.database import Store

T = TypeVar("T")

LARGEST_BATCH = 500  # writes in one commit


@dataclass(slots=True)
class _Write:
    operation: Callable[[Connection], Any]
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None

    def settle(self) -> None:
        if self.future.done():
            return  # its task was cancelled meanwhile; the write stands all the same
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Commits:
    """The async side of a store: ``await commits.do(operation)`` returns once it is durable."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="store", daemon=True)

    async def __aenter__(self) -> Commits:
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    async def do(self, operation: Callable[[Connection], T]) -> T:
        """Run *operation* in the next commit and return its result when that is durable.

        An error inside *operation* undoes it alone and is raised here; a failed commit raises StoreError in
        every task that waited for it.
        """
        write = _Write(operation, self._loop.create_future())
        self._queue.put(write)
        return cast("T", await write.future)

    def _work(self) -> None:
        while (first := self._queue.get()) is not None:
            batch, last = [first], False
            with contextlib.suppress(queue.Empty):
                while len(batch) < LARGEST_BATCH:
                    following = self._queue.get_nowait()
                    if following is None:
                        last = True
                        break
                    batch.append(following)
            self._commit(batch)
            if last:
                return

    def _commit(self, batch: list[_Write]) -> None:
        try:
            with self._store.writing() as connection:
                for write in batch:
                    try:
                        with connection.begin_nested():
                            write.result = write.operation(connection)
                    except SQLAlchemyError as error:
                        write.error = self._store.failed("written", _first(error))
                        if not getattr(connection.connection.dbapi_connection, "in_transaction", True):
                            raise write.error from error  # a full disk: SQLite has undone the others' writes too
                    except Exception as error:  # handed to the task that asked
                        write.error = error
        except Exception as error:  # also a bug of ours: a thread that died of it would let every task wait for ever
            for write in batch:
                write.error = error
        with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits any more
            self._loop.call_soon_threadsafe(_settle, batch)


def _first(error: SQLAlchemyError) -> SQLAlchemyError:
    """What went wrong first, where undoing it went wrong as well."""
    before: BaseException | None = error
    while before is not None:
        error, before = before if isinstance(before, SQLAlchemyError) else error, before.__context__
    return error


def _settle(batch: list[_Write]) -> None:
    for write in batch:
        write.settle()
