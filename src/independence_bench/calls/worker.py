"""A process as one of the workers of a job, who share its budget: what it draws and gives back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from independence_bench.calls.executor import CallLedger
from independence_bench.errors import StoreError
from independence_bench.store import workers
from independence_bench.store.attempts import LEASE
from independence_bench.store.group_commit import Commits
from independence_bench.store.workers import Grant

LISTEN = 1.0  # seconds between two looks at what other workers of the job have closed


@dataclass(slots=True)
class Worker:
    """The process that *ledger* belongs to, as a worker of *job*: the `Purse` of its budget."""

    job: str
    ledger: CallLedger
    commits: Commits
    pause: Callable[[float], Awaitable[None]]
    kept_until: float = 0.0  # seconds since 1970: what it has drawn is its own so long

    async def join_job(self) -> float:
        """Record this process in the store as a worker of its job. Returns when that was, in
        seconds since 1970 on the store's clock.
        """
        now = self.ledger.now()
        await self.commits.commit_operation(
            partial(workers.join_job, owner=self.ledger.owner, job=self.job, now=now)
        )
        self.kept_until = now + LEASE
        return now

    def has_lapsed(self) -> bool:
        """Return whether this worker slept so long that its claim on the dollars that it reserved
        has ended.
        """
        return self.ledger.now() >= self.kept_until

    async def draw(self, limit: float, needed: float, held: float) -> Grant:
        """Reserve more dollars of the job's budget of *limit* dollars for this worker in the store:
        *needed* at least, or none. *held*: the dollars that this worker has reserved and not spent.
        Returns what was granted and the state of the budget.
        """
        now, watch = self.ledger.now(), self.ledger.watch
        ask = partial(
            workers.reserve_budget,
            owner=self.ledger.owner,
            job=self.job,
            limit=limit,
            needed=needed,
            held=held,
        )
        grant = await self.commits.commit_operation(partial(ask, now=now, watch=watch))
        self.kept_until = now + LEASE
        return grant

    async def give_back(self) -> None:
        """Leave the dollars that this worker has reserved and not spent to the job's other
        workers.
        """
        await self.commits.commit_operation(partial(workers.free_budget, owner=self.ledger.owner))

    async def follow_job(self, since: float, closed_endpoints: dict[str, str]) -> None:
        """Renew this worker's lease, and put the endpoints that other workers of the job have
        closed *since* then (seconds since 1970) into *closed_endpoints* (endpoint -> why), until
        cancelled.
        """
        clock = asyncio.get_running_loop().time  # the other one may be set
        renewed = clock()
        while True:
            await asyncio.sleep(LISTEN)
            with suppress(StoreError):  # the next call that needs the store reports it
                if clock() >= renewed + LEASE / 4:
                    now = self.ledger.now()
                    await self.commits.commit_operation(
                        partial(workers.renew_worker, owner=self.ledger.owner, now=now)
                    )
                    # a lease that has lapsed is not revived: others may have had what was drawn, so
                    # it is drawn anew
                    renewed, self.kept_until = (
                        clock(),
                        self.kept_until if self.has_lapsed() else now + LEASE,
                    )
                closures = await self.commits.commit_operation(
                    partial(workers.find_closed_endpoints, job=self.job, since=since)
                )
                for endpoint, reason in closures.items():
                    closed_endpoints.setdefault(
                        endpoint, f"{reason} (another worker of the job {self.job} was told)"
                    )
