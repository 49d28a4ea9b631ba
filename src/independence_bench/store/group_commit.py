"""Many writers, one durable commit.

A commit with ``synchronous=FULL`` waits for the disk; two hundred calls that end together should wait once.
Tasks hand their writes over and are resumed when the commit that holds them is durable. One thread owns the
writing connection, so the event loop never waits for the disk. Writes of one kind in one commit are carried
out together: many rows, few statements.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from independence_bench.store.database import Deadlock, Store
from independence_bench.store.rows import in_chunks

I = TypeVar("I")  # noqa: E741 - item
T = TypeVar("T")

GATHER = 0.01  # seconds that a write waits for company: nothing beside a model that answers in seconds
LARGEST_BATCH = 500  # writes in one commit
TURNS = 5  # that a commit is tried, where it and another process's waited for each other

Operation = Callable[[Connection, list[Any]], Sequence[Any]]  # items -> as many results


@dataclass(slots=True)
class _Write:
    operation: Operation
    item: Any
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


class Commits:
    """The async side of a store: what was awaited here is durable."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[_Write] = []
        self._thread = ThreadPoolExecutor(1, "store")

    async def __aenter__(self) -> Commits:
        self._loop = asyncio.get_running_loop()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hand_over()
        await asyncio.to_thread(self._thread.shutdown)

    def do(self, operation: Callable[[Connection], T]) -> asyncio.Future[T]:
        """Run *operation* in the next commit; to be awaited: its result, when that is durable.

        An error inside *operation* undoes it alone and is raised there; a failed commit raises StoreError in
        every task that waited for it. What is handed over first is committed first, or together with what follows.
        """
        return self.add(lambda connection, _: [operation(connection)], None)

    def add(self, operation: Callable[[Connection, list[I]], Sequence[T]], item: I) -> asyncio.Future[T]:
        """Like `do`, for an *operation* that takes all items that wait for it at once.

        It returns a result for each, in their order. Where it fails it is repeated for each item alone, so an
        error is raised for the item that caused it; what it does outside the store has to bear repeating.
        """
        write = _Write(operation, item, self._loop.create_future())
        self._waiting.append(write)
        if len(self._waiting) == 1:
            self._loop.call_later(GATHER, self._hand_over)
        return write.future

    def _hand_over(self) -> None:
        for batch in in_chunks(self._waiting, LARGEST_BATCH):
            self._loop.run_in_executor(self._thread, self._commit, batch).add_done_callback(partial(_settle, batch))
        self._waiting = []

    def _commit(self, batch: list[_Write]) -> None:
        try:
            for turn in range(1, TURNS + 1):
                try:
                    self._commit_together(batch)
                    return
                except Deadlock:
                    if turn == TURNS:
                        raise
                    time.sleep(turn * GATHER)
        except Exception as error:  # also a bug of ours: a thread that died of it would let every task wait for ever
            for write in batch:
                write.error = error

    def _commit_together(self, batch: list[_Write]) -> None:
        carried_out = False
        groups: dict[Operation, list[_Write]] = {}
        for write in batch:
            groups.setdefault(write.operation, []).append(write)
        try:
            with self._store.sharing() as connection:
                for operation, writes in groups.items():
                    results = operation(connection, [write.item for write in writes])
                    for write, result in zip(writes, results, strict=True):
                        write.result = result
                carried_out = True
        except Deadlock:
            raise
        except Exception:  # whose fault it was shows when each is carried out alone
            if carried_out:
                raise  # the commit failed, and whether it counts nobody knows: it is not done again
            self._commit_singly(batch)

    def _commit_singly(self, batch: list[_Write]) -> None:
        with self._store.sharing() as connection:
            for write in batch:
                try:
                    with connection.begin_nested():
                        (write.result,) = write.operation(connection, [write.item])
                except SQLAlchemyError as error:
                    write.error = self._store.failed("written", _first(error))
                    if not getattr(connection.connection.dbapi_connection, "in_transaction", True):
                        raise write.error from error  # a full disk: SQLite has undone the others' writes too
                except Exception as error:  # handed to the task that asked
                    write.error = error


def _first(error: SQLAlchemyError) -> SQLAlchemyError:
    """What went wrong first, where undoing it went wrong as well."""
    before: BaseException | None = error
    while before is not None:
        error, before = before if isinstance(before, SQLAlchemyError) else error, before.__context__
    return error


def _settle(batch: list[_Write], _done: asyncio.Future[None]) -> None:
    for write in batch:
        if write.future.done():
            continue  # its task was cancelled meanwhile; the write stands all the same
        if write.error is not None:
            write.future.set_exception(write.error)
        else:
            write.future.set_result(write.result)
