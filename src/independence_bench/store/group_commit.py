"""Many writers, one durable commit.

A commit with ``synchronous=FULL`` waits for the disk; two hundred calls that end together should
wait once. Tasks hand their writes over and are resumed when the commit that holds them is durable.
One thread owns the writing connection, so the event loop never waits for the disk. Writes of one
kind in one commit are carried out together: many rows, few statements. While a database's server is
restarted, what is to be written waits.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from independence_bench.store.database import Away, Deadlock, Store
from independence_bench.store.rows import split_chunks

I = TypeVar("I")  # noqa: E741 - item
T = TypeVar("T")

# seconds that a write waits for others to commit with: nothing next to a model that answers in
# seconds
GATHER = 0.01
LARGEST_BATCH = 500  # writes in one commit
# seconds that writes wait for a server that is being restarted: what they hold is paid for
PATIENCE = 60.0
LOOK = 0.25  # seconds between two attempts meanwhile
ATTEMPTS = 5  # at a commit which waits for another process's while that waits for this one

Operation = Callable[[Connection, list[Any]], Sequence[Any]]  # items -> as many results


@dataclass(slots=True)
class _Write:
    operation: Operation
    item: Any
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


class Commits:
    """The asynchronous side of a store: a write that was awaited here is durable."""

    def __init__(self, store: Store, stopping: asyncio.Event | None = None) -> None:
        """*stopping*: once it is set, a server that is away is not waited for."""
        # writes, complete when the block has ended
        self.failed: list[tuple[Operation, Any, BaseException]] = []
        self._store, self._stopping = store, stopping
        self._waiting: list[_Write] = []
        self._thread = ThreadPoolExecutor(1, "store")

    async def __aenter__(self) -> Commits:
        self._loop = asyncio.get_running_loop()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._hand_over_writes()
        await asyncio.to_thread(self._thread.shutdown)

    def commit_operation(self, operation: Callable[[Connection], T]) -> asyncio.Future[T]:
        """Run *operation* on a connection to the store in the next commit, and return a future of
        its result. When the future is done, what was written is durable.

        An error inside *operation* undoes that operation alone and is raised where the future is
        awaited; a failed commit raises StoreError in every task that waits for it. Operations are
        committed in the order in which they came, or together with later ones.
        """
        return self.commit_item(lambda connection, _: [operation(connection)], None)

    def commit_item(
        self, operation: Callable[[Connection, list[I]], Sequence[T]], item: I
    ) -> asyncio.Future[T]:
        """Run *operation* on a connection to the store in the next commit, with a list of *item*
        and all other items that wait for the same operation, and return a future of the item's
        result. When the future is done, what was written is durable.

        The operation returns a result for each item, in their order. If it fails it is repeated for
        each item alone, so an error is raised for the item that caused it; its effects outside the
        store must bear repeating.
        """
        write = _Write(operation, item, self._loop.create_future())
        self._waiting.append(write)
        if len(self._waiting) == 1:
            self._loop.call_later(GATHER, self._hand_over_writes)
        return write.future

    def _hand_over_writes(self) -> None:
        for batch in split_chunks(self._waiting, LARGEST_BATCH):
            self._loop.run_in_executor(
                self._thread, self._commit_with_retries, batch
            ).add_done_callback(partial(self._settle_batch, batch))
        self._waiting = []

    def _commit_with_retries(self, batch: list[_Write]) -> None:
        attempt, self._until = 1, time.monotonic() + PATIENCE
        try:
            while True:
                try:
                    self._commit_together_or_singly(batch)
                    return
                # the database has undone ours, so that the other could go on: later both fit
                except Deadlock:
                    if attempt == ATTEMPTS:
                        raise
                    time.sleep(attempt * GATHER)  # longer each time, or both would meet again
                    attempt += 1
                except Away:
                    if self._is_patience_over():
                        raise
                    time.sleep(LOOK)
        # also a bug of ours: a thread that died of it would let every task wait for ever
        except Exception as error:
            _set_batch_error(batch, error)

    def _is_patience_over(self) -> bool:
        """Whether writes have waited long enough for a database server that is away: for `PATIENCE`
        seconds, or until the command was asked to stop.
        """
        return time.monotonic() > self._until or (
            self._stopping is not None and self._stopping.is_set()
        )

    def _commit_together_or_singly(self, batch: list[_Write]) -> None:
        groups: dict[Operation, list[_Write]] = {}
        for write in batch:
            groups.setdefault(write.operation, []).append(write)

        def carry_out_groups(connection: Connection) -> None:
            for operation, writes in groups.items():
                results = operation(connection, [write.item for write in writes])
                for write, result in zip(writes, results, strict=True):
                    write.result, write.error = result, None  # an earlier attempt may have failed

        try:
            self._run_transaction(carry_out_groups, batch)
        except (Deadlock, Away):
            raise
        except Exception:  # whose fault it was shows when each is carried out alone
            self._run_transaction(partial(self._write_singly, batch), batch)

    def _run_transaction(self, work: Callable[[Connection], None], batch: list[_Write]) -> None:
        """Do *work* in a transaction of the store and commit it. Raises what *work* raises, or
        Deadlock or Away if the transaction was undone and can be repeated.

        If the commit fails and it cannot be found out whether it counts, every write of *batch* is
        marked as failed and nothing is raised.
        """
        carried_out, transaction = False, None
        try:
            with self._store.open_shared_transaction() as connection:
                work(connection)
                # asked for before the commit: should its answer be lost, the server is asked about
                # this number
                transaction = self._store.backend.read_transaction_number(connection)
                carried_out = True
        except Deadlock:
            raise
        except Exception as error:
            if not carried_out:
                raise
            # only where the connection was lost with the answer can the commit count nevertheless
            committed = None
            if transaction is not None and isinstance(error, Away):
                committed = self._wait_for_commit_outcome(transaction)
            if committed is None:
                _set_batch_error(batch, error)
            if committed is False:
                raise Away(str(error)) from error

    def _wait_for_commit_outcome(self, transaction: int) -> bool | None:
        """Whether the database server has committed the transaction with the number *transaction*,
        asked after the answer to the commit was lost. Waits for the server to come back; None if it
        does not.
        """
        while True:
            with suppress(Away), self._store.open_snapshot() as connection:
                committed = self._store.backend.is_committed(connection, transaction)
                if committed is not None:
                    return committed
            if self._is_patience_over():
                return None
            time.sleep(LOOK)

    def _write_singly(self, batch: list[_Write], connection: Connection) -> None:
        for write in batch:
            write.error = None
            try:
                with connection.begin_nested():
                    (write.result,) = write.operation(connection, [write.item])
            except SQLAlchemyError as error:
                write.error = self._store.make_error("written", _find_first_error(error))
                # a full disk: SQLite has undone the others' writes too; a server that is gone does
                # that as well
                undone = not getattr(connection.connection.dbapi_connection, "in_transaction", True)
                if undone or isinstance(write.error, Away):
                    raise write.error from error
            except Exception as error:  # handed to the task that asked
                write.error = error

    def _settle_batch(self, batch: list[_Write], _done: asyncio.Future[None]) -> None:
        for write in batch:
            if write.error is not None:
                self.failed.append((write.operation, write.item, write.error))
            if write.future.done():
                continue  # its task was cancelled meanwhile; the write stands all the same
            if write.error is not None:
                write.future.set_exception(write.error)
            else:
                write.future.set_result(write.result)


def _set_batch_error(batch: list[_Write], error: Exception) -> None:
    for write in batch:
        write.error = error


def _find_first_error(error: SQLAlchemyError) -> SQLAlchemyError:
    """Return the earliest database error in the chain of errors that ends with *error*: undoing a
    failed write may have failed as well, and hide why the write failed.
    """
    before: BaseException | None = error
    while before is not None:
        error, before = before if isinstance(before, SQLAlchemyError) else error, before.__context__
    return error
