"""Opens the executor of one command: commits, rate limiters, the renewal of its leases, its part of a job's budget.

Knows nothing of what is asked.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

from independence_bench.calls.budget import Budget
from independence_bench.calls.call import CallLedger
from independence_bench.calls.executor import Executor
from independence_bench.calls.limits import RateLimiter
from independence_bench.calls.retry import Clocks
from independence_bench.calls.unstored import Unstored, is_finish, take_in
from independence_bench.errors import StoreError
from independence_bench.models.client import Client
from independence_bench.models.redaction import KNOWN
from independence_bench.store import attempts, workers
from independence_bench.store.attempts import LEASE
from independence_bench.store.database import Store
from independence_bench.store.group_commit import Commits
from independence_bench.store.owners import LeaseWatch, host_of, new_owner
from independence_bench.store.usage import Command, keep_command

LOOK = 1.0  # seconds between two checks that the store is still there
LOOKS_ELSEWHERE = 5  # of those, between two checks whether another machine uses it
LISTEN = 1.0  # seconds between two looks at what other workers of the job have closed
REPLACED = "was deleted or replaced while it was in use"


@asynccontextmanager
async def open_executor(
    store: Store,
    clients: Mapping[str, Client],
    budget: Budget,
    stopping: asyncio.Event,
    most: int,
    clocks: Clocks,
    notice: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Executor]:
    """An executor that sends at most *most* calls at once to an endpoint, until *stopping* is set.

    Its claims are renewed while the block runs. Raises StoreError where the store cannot be written, and at the end of
    the block, *stopping* having been set, where it turned out not to be this machine's alone or was replaced. Replies
    that could not be stored are saved in a file; until a folder takes it they are kept, and *notice* is called.
    """
    commits = Commits(store, stopping)
    upkeep = _Upkeep(store, commits, stopping, clocks)
    try:
        async with commits:
            lost = await upkeep.begin()
            ledger = CallLedger(upkeep.owner, upkeep.now, upkeep.watch, budget.job)
            executor = Executor(commits, clients, budget, ledger, clocks, stopping, lost)
            for name, client in clients.items():
                at_once = min(most, client.endpoint.at_once or most)
                executor.limiters[name] = RateLimiter(at_once, clocks.clock, executor.pause)
            tasks = [asyncio.create_task(upkeep.renew()), asyncio.create_task(upkeep.look())]
            worker = None if budget.job is None else Worker(budget.job, ledger, commits, executor.pause)
            try:
                if worker is not None:
                    tasks.append(asyncio.create_task(worker.work(await worker.join(), executor.closed)))
                    budget.attach(worker if budget.limit is not None else None)
                yield executor
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                if worker is not None:
                    budget.attach(None)
                    with suppress(StoreError):  # where the store has failed, it is free with the lease
                        await worker.give_back()
    finally:
        await upkeep.save_unstored(notice)
    upkeep.conclude()


@dataclass(slots=True)
class Worker:
    """The process that *ledger* belongs to, as a worker of *job*: the `Purse` of its budget."""

    job: str
    ledger: CallLedger
    commits: Commits
    pause: Callable[[float], Awaitable[None]]
    kept_until: float = 0.0  # seconds since 1970: what it has drawn is its own so long

    async def join(self) -> float:
        """Become one of the job's workers. Returns when that was, on the store's clock."""
        now = self.ledger.now()
        await self.commits.do(partial(workers.join, owner=self.ledger.owner, job=self.job, now=now))
        self.kept_until = now + LEASE
        return now

    def lapsed(self) -> bool:
        """As `Purse` says."""
        return self.ledger.now() >= self.kept_until

    async def draw(self, limit: float, needed: float, held: float) -> workers.Grant:
        """As `Purse` says."""
        now, watch = self.ledger.now(), self.ledger.watch
        ask = partial(workers.draw, owner=self.ledger.owner, job=self.job, limit=limit, needed=needed, held=held)
        grant = await self.commits.do(partial(ask, now=now, watch=watch))
        self.kept_until = now + LEASE
        return grant

    async def give_back(self) -> None:
        """As `Purse` says."""
        await self.commits.do(partial(workers.give_back, owner=self.ledger.owner))

    async def work(self, since: float, closed: dict[str, str]) -> None:
        """Keep the lease, and put into *closed* what others have closed *since* then, until cancelled."""
        renewed = since
        while True:
            await asyncio.sleep(LISTEN)
            with suppress(StoreError):  # the next call that needs the store reports it
                if (now := self.ledger.now()) >= renewed + LEASE / 4:
                    await self.commits.do(partial(workers.stay, owner=self.ledger.owner, now=now))
                    # a lease that has lapsed is not revived: others may have had what was drawn, so it is drawn anew
                    renewed, self.kept_until = now, self.kept_until if self.lapsed() else now + LEASE
                closures = await self.commits.do(partial(workers.closed_since, job=self.job, since=since))
                for endpoint, reason in closures.items():
                    closed.setdefault(endpoint, f"{reason} (another worker of the job {self.job} was told)")


class _Upkeep:
    """What goes on in a store while calls are made: claims are renewed, and whether it is still ours is looked at."""

    def __init__(self, store: Store, commits: Commits, stopping: asyncio.Event, clocks: Clocks) -> None:
        self.owner = new_owner()
        self.watch: LeaseWatch | None = None
        self._store, self._commits, self._stopping, self._clocks = store, commits, stopping, clocks
        self._behind = 0.0  # seconds that the store's clock is before ours
        self._elsewhere: dict[str, float] = {}  # owners with another clock who had leases when we began
        self._trouble: str | None = None

    def now(self) -> float:
        """Seconds since 1970 on the store's clock, where it has one; else on ours."""
        return self._clocks.now() + self._behind

    async def begin(self) -> int:
        """Set the clock, and store who begins to call.

        Returns how many calls earlier processes left in flight.
        """
        if await self._set_clock() is None:
            self.watch = LeaseWatch(self._clocks.clock, LEASE)
            self._elsewhere = await self._commits.do(attempts.leases_elsewhere)
        saved = await self._commits.do(partial(take_in, store_folder=self._store.backend.folder()))
        for file in saved:
            file.unlink(missing_ok=True)
        command = Command(self._store.session, self.now(), KNOWN.redacted_text(self._store.typed))
        await self._commits.do(partial(keep_command, owner=self.owner, command=command))
        return await self._commits.do(partial(attempts.mark_lost, now=self.now(), watch=self.watch))

    async def _set_clock(self) -> float | None:
        server_time = await self._commits.do(self._store.backend.time)
        self._behind = 0.0 if server_time is None else server_time - self._clocks.now()
        return server_time

    async def renew(self) -> None:
        """Renew our claims until cancelled."""
        while True:
            await asyncio.sleep(LEASE / 4)  # so that two renewals may fail before others take our calls
            with suppress(StoreError):  # the next call that needs the store reports it
                await self._set_clock()
                await self._commits.do(partial(attempts.renew, owner=self.owner, now=self.now()))

    async def look(self) -> None:
        """Stop everything as soon as another machine uses the store, or it is gone."""
        for second in itertools.count():
            await asyncio.sleep(LOOK)
            if self._store.backend.is_replaced():
                self._trouble = REPLACED
            elif self._elsewhere and second % LOOKS_ELSEWHERE == 0:
                with suppress(StoreError):
                    await self._look_elsewhere()
            if self._trouble:
                self._stopping.set()
                return

    async def _look_elsewhere(self) -> None:
        leases = await self._commits.do(attempts.leases_elsewhere)
        for owner, until in self._elsewhere.items():
            # a lease that ends at another time than before was renewed: its owner is alive, on another machine
            if leases.get(owner, until) != until:
                self._trouble = (
                    f"another machine ({host_of(owner)}) uses the store {self._store.shown}; a file is "
                    "for the processes of one machine: wait until that one has ended, or use a PostgreSQL database"
                )

    async def save_unstored(self, notice: Callable[[str], None]) -> None:
        """Save the replies that could not be stored, and raise StoreError that says where; do nothing without such."""
        ended = [item for operation, item, _ in self._commits.failed if is_finish(operation)]
        unstored = Unstored(self.owner, ended, self.now())
        if not ended:
            return
        while (path := unstored.save(self._store.backend.folder())) is None:
            notice(f"{unstored} is kept in memory until there is room for it, Ctrl-C gives it up")
            await asyncio.sleep(LOOK)
        error = next(error for operation, _, error in self._commits.failed if is_finish(operation))
        raise StoreError(f"{error}; {unstored} is saved in {path}, and the same command takes it in") from error

    def conclude(self) -> None:
        """Raise StoreError for what `look` has found, once everything that was in flight is stored."""
        if self._trouble is REPLACED:
            copy = self._store.backend.rescue()
            saved = f"what was in it, with all that was bought since, is in {copy}" if copy else "it could not be saved"
            raise StoreError(f"the store {self._store.shown} {REPLACED}; {saved}")
        if self._trouble:
            raise StoreError(self._trouble)
