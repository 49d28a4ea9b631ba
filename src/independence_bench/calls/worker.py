"""One of several workers of a job: draws on the job's budget, and hears which endpoints others have found closed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from independence_bench.calls.ledger import CallLedger
from independence_bench.errors import StoreError
from independence_bench.store import workers
from independence_bench.store.attempts import LEASE
from independence_bench.store.group_commit import Commits

LISTEN = 1.0  # seconds between two looks at what others have closed


@dataclass(slots=True)
class Worker:
    """The process that *ledger* belongs to, as a worker of *job*. *pause* sleeps until the command is to stop."""

    job: str
    ledger: CallLedger
    commits: Commits
    pause_or_stop: Callable[[float], Awaitable[None]]
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

    async def draw(self, limit: float, needed: float, held: float) -> workers.Drawn:
        """As `Purse` says."""
        now, watch = self.ledger.now(), self.ledger.watch
        ask = partial(workers.draw, owner=self.ledger.owner, job=self.job, limit=limit, needed=needed, held=held)
        drawn = await self.commits.do(partial(ask, now=now, watch=watch))
        self.kept_until = now + LEASE
        return drawn

    async def give_back(self) -> None:
        """As `Purse` says."""
        await self.commits.do(partial(workers.give_back, owner=self.ledger.owner))

    async def pause(self, seconds: float) -> None:
        """As `Purse` says."""
        await self.pause_or_stop(seconds)

    async def leave(self) -> None:
        """Leave to others what is not spent; where the store has failed, that is free with the lease."""
        with contextlib.suppress(StoreError):
            await self.give_back()

    async def work(self, since: float, closed: dict[str, str]) -> None:
        """Keep the lease, and put into *closed* what others have closed *since* then, until cancelled."""
        renewed = since
        while True:
            await asyncio.sleep(LISTEN)
            with contextlib.suppress(StoreError):  # the next call that needs the store reports it
                if (now := self.ledger.now()) >= renewed + LEASE / 4:
                    await self.commits.do(partial(workers.stay, owner=self.ledger.owner, now=now))
                    renewed, self.kept_until = now, self.kept_until if self.lapsed() else now + LEASE
                told = await self.commits.do(partial(workers.closed_since, job=self.job, since=since))
                for endpoint, reason in told.items():
                    closed.setdefault(endpoint, f"{reason} (another worker of the job {self.job} was told)")
