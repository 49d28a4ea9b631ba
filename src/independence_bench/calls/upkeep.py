"""Opens the executor of one command and keeps up what it works with: its leases, the store, and
replies not stored yet (`unstored`).

Its claims are renewed, and whether the store is still there and ours alone is looked at. Knows
nothing of what is asked.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial

from independence_bench.calls.budget import Budget
from independence_bench.calls.executor import CallLedger, Executor
from independence_bench.calls.limits import Clocks, EndpointLimiter
from independence_bench.calls.unstored import (
    is_attempt_end,
    make_saved_end,
    restore_attempt_ends,
    save_attempt_ends,
)
from independence_bench.calls.worker import Worker
from independence_bench.errors import StoreError
from independence_bench.escape import KNOWN
from independence_bench.models.client import Client
from independence_bench.store import attempts
from independence_bench.store.attempts import LEASE
from independence_bench.store.database import Store
from independence_bench.store.group_commit import Commits
from independence_bench.store.owners import LeaseWatch, find_host, make_owner_name
from independence_bench.store.rows import read_server_time
from independence_bench.store.usage import Command, store_command

LOOK = 1.0  # seconds between two checks that the store is still there
LOOKS_ELSEWHERE = 5  # of those, between two checks whether another machine uses it
# new objects before Python looks for cycles among them; our calls leave none behind
COLLECTED = 100_000
REPLACED = "was deleted or replaced while it was in use"


@asynccontextmanager
async def open_executor(
    store: Store,
    clients: Mapping[str, Client],
    budget: Budget,
    stopping: asyncio.Event,
    most_at_once: int,
    clocks: Clocks,
    notice: Callable[[str], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Executor]:
    """Open an executor for the model calls of one command, which sends at most *most_at_once* calls
    at once to an endpoint, until *stopping* is set. The claims of this process on calls are renewed
    while the block runs.

    Raises StoreError if the store cannot be written; and after the block, with *stopping* set, if
    another machine was found to use the store's file or the file was replaced. Replies that could
    not be stored are saved in a file; while no folder takes it they stay in memory, and *notice* is
    called with a message. *warn* is called with a message for each reply that may not be what was
    asked for.
    """
    commits = Commits(store, stopping)
    upkeep = _Upkeep(store, commits, stopping, clocks)
    try:
        async with commits:
            lost = await upkeep.begin_upkeep()
            ledger = CallLedger(upkeep.owner, upkeep.read_store_time, upkeep.watch, budget.job)
            executor = Executor(commits, clients, budget, ledger, clocks, stopping, lost, warn)
            for name, client in clients.items():
                at_once = min(most_at_once, client.endpoint.at_once or most_at_once)
                executor.limiters[name] = EndpointLimiter(
                    at_once, clocks.clock, executor.sleep_unless_stopped
                )
            tasks = [
                asyncio.create_task(upkeep.renew_leases()),
                asyncio.create_task(upkeep.watch_store()),
            ]
            worker = (
                None
                if budget.job is None
                else Worker(budget.job, ledger, commits, executor.sleep_unless_stopped)
            )
            try:
                if worker is not None:
                    tasks.append(
                        asyncio.create_task(
                            worker.follow_job(await worker.join_job(), executor.closed)
                        )
                    )
                    budget.attach_purse(worker if budget.limit is not None else None)
                with _collect_garbage_rarely():
                    yield executor
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                if worker is not None:
                    budget.attach_purse(None)
                    # where the store has failed, it is free with the lease
                    with suppress(StoreError):
                        await worker.give_back()
    finally:
        await upkeep.save_unstored_replies_and_raise(notice)
    upkeep.raise_trouble()


@contextmanager
def _collect_garbage_rarely() -> Iterator[None]:
    """Make Python collect garbage rarely while the block runs: scanning the live objects of
    thousands of calls in flight takes 10% of our CPU.

    If several such blocks run at the same time, the last one to end restores the setting that the
    first one found.
    """
    _THRESHOLDS.append(gc.get_threshold())
    gc.set_threshold(COLLECTED, 20, 50)
    try:
        yield
    finally:
        before = _THRESHOLDS[0]
        _THRESHOLDS.pop()
        if not _THRESHOLDS:
            gc.set_threshold(*before)


_THRESHOLDS: list[tuple[int, int, int]] = []  # as each that goes on has found them


class _Upkeep:
    """The upkeep of a store while calls are made: claims are renewed, and whether the store is
    still ours is looked at.
    """

    def __init__(
        self, store: Store, commits: Commits, stopping: asyncio.Event, clocks: Clocks
    ) -> None:
        self.owner = make_owner_name()
        self.watch: LeaseWatch | None = None
        self._store, self._commits, self._stopping, self._clocks = store, commits, stopping, clocks
        # a server's time, and our clocks when it was read
        self._read: tuple[float, float, float] | None = None
        # owners with another clock who had leases when we began
        self._elsewhere: dict[str, float] = {}
        self._trouble: str | None = None

    def read_store_time(self) -> float:
        """Return the present time in seconds since 1970: on the database server's clock if the
        store has one, else on this machine's.
        """
        if self._read is None:
            return self._clocks.now()
        server_time, now, clock = self._read
        # our clock may be set back and our monotonic one stands still while the machine sleeps: who
        # is behind errs
        return server_time + max(self._clocks.now() - now, self._clocks.clock() - clock)

    async def begin_upkeep(self) -> int:
        """Read the store's clock, store what earlier commands could only save in files, record the
        command that begins, and mark attempts that ended processes left in flight as lost. Returns
        how many those attempts were.
        """
        if await self._synchronize_with_server_clock() is None:
            self.watch = LeaseWatch(self._clocks.clock, LEASE)
            self._elsewhere = await self._commits.commit_operation(
                attempts.find_other_machines_lease_ends
            )
        saved = await self._commits.commit_operation(
            partial(restore_attempt_ends, store_folder=self._store.backend.find_folder())
        )
        for file in saved:
            file.unlink(missing_ok=True)
        command = Command(
            self._store.session, self.read_store_time(), KNOWN.redact_text(self._store.typed)
        )
        await self._commits.commit_operation(
            partial(store_command, owner=self.owner, command=command)
        )
        return await self._commits.commit_operation(
            partial(attempts.close_lost_attempts, now=self.read_store_time(), watch=self.watch)
        )

    async def _synchronize_with_server_clock(self) -> float | None:
        server_time = await self._commits.commit_operation(read_server_time)
        if server_time is not None:
            self._read = server_time, self._clocks.now(), self._clocks.clock()
        return server_time

    async def renew_leases(self) -> None:
        """Renew this process's claims on model calls in the store, every quarter of the time that
        they last, until cancelled. Errors of the store are ignored.
        """
        while True:
            # so that two renewals may fail before others take our calls
            await asyncio.sleep(LEASE / 4)
            with suppress(StoreError):  # the next call that needs the store reports it
                await self._synchronize_with_server_clock()
                await self._commits.commit_operation(
                    partial(attempts.renew_claims, owner=self.owner, now=self.read_store_time())
                )

    async def watch_store(self) -> None:
        """Look at the store every second, and stop the command as soon as another machine uses the
        store's file, or the file was deleted or replaced.
        """
        for second in itertools.count():
            await asyncio.sleep(LOOK)
            if self._store.backend.is_replaced():
                self._trouble = REPLACED
                # calls in flight may take minutes, and somebody may read the new file meanwhile
                self._store.backend.set_log_aside()
            elif self._elsewhere and second % LOOKS_ELSEWHERE == 0:
                with suppress(StoreError):
                    await self._check_other_machines()
            if self._trouble:
                self._stopping.set()
                return

    async def _check_other_machines(self) -> None:
        leases = await self._commits.commit_operation(attempts.find_other_machines_lease_ends)
        for owner, until in self._elsewhere.items():
            # a lease that ends at another time than before was renewed: its owner is alive, on
            # another machine
            if leases.get(owner, until) != until:
                self._trouble = (
                    f"another machine ({find_host(owner)}) uses the store {self._store.shown}; a "
                    "file is for the processes of one machine: wait until that one has ended, or "
                    "use a PostgreSQL database"
                )

    async def save_unstored_replies_and_raise(self, notice: Callable[[str], None]) -> None:
        """Save the replies that could not be stored in a file, and raise a StoreError that names
        the file. Do nothing if there are none. Until some folder takes the file, try again every
        second and call *notice* with a message.
        """
        failed = [
            (item, error)
            for operation, item, error in self._commits.failed
            if is_attempt_end(operation)
        ]
        if not failed:
            return
        now = self.read_store_time()
        ends = [make_saved_end(self.owner, ended, now) for ended, _ in failed]
        unstored = f"what came of {len(ends)} call{'' if len(ends) == 1 else 's'} since"
        while (path := save_attempt_ends(ends, self._store.backend.find_folder())) is None:
            notice(f"{unstored} is kept in memory until there is room for it, Ctrl-C gives it up")
            await asyncio.sleep(LOOK)
        error = failed[0][1]
        raise StoreError(
            f"{error}; {unstored} is saved in {path}, and the same command takes it in"
        ) from error

    def raise_trouble(self) -> None:
        """Raise StoreError if the store's file was deleted or replaced while calls were made, or
        another machine used it. The contents of a file that was deleted or replaced are saved in a
        copy first, if that is possible.
        """
        if self._trouble is REPLACED or self._store.backend.is_replaced():
            copy = self._store.backend.rescue_copy()
            saved = (
                f"what was in it, with all that was bought since, is in {copy}"
                if copy
                else "it could not be saved"
            )
            raise StoreError(f"the store {self._store.shown} {REPLACED}; {saved}")
        if self._trouble:
            raise StoreError(self._trouble)
