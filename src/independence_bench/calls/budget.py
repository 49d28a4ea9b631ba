"""A bound in dollars on what one command spends, judges and retries included, or all workers of a job together.

Every call reserves the most it can cost before it is sent and settles for what it did cost. Where prices are
not known the reservation is a guess from what has been seen, and the bound is then kept up to the calls in
flight. Knows no endpoint and no model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from independence_bench.calls.call import CallLedger
from independence_bench.errors import BudgetSpent, StoreError
from independence_bench.store import workers
from independence_bench.store.attempts import LEASE
from independence_bench.store.group_commit import Commits
from independence_bench.store.workers import Grant

LOOK = 0.5  # seconds between two looks whether another worker has left some over
LISTEN = 1.0  # seconds between two looks at what other workers of the job have closed


class Purse(Protocol):
    """Where the budget of a job is kept, for one of its workers. All in dollars."""

    def lapsed(self) -> bool:
        """Whether this worker slept so long that others may have spent what it held."""

    async def draw(self, limit: float, needed: float, held: float) -> Grant:
        """Ask for more than this worker *held*: *needed* at least, or it is granted nothing."""

    async def give_back(self) -> None:
        """Leave to others what is not spent; nothing is in flight."""

    def pause(self, seconds: float, /) -> Awaitable[None]:
        """Sleep; raises where the command is asked to stop."""


class Budget:
    """*limit* in US dollars, None for no bound. *spent* by this command is kept either way.

    *job*: all workers of that name have this limit together; then a `Purse` says how much this one may spend.
    """

    def __init__(self, limit: float | None = None, job: str | None = None) -> None:
        self.limit, self.job = limit, job
        self.spent = 0.0
        self.reserved = 0.0
        self.in_flight = 0
        self.purse: Purse | None = None
        self.settled = asyncio.Event()  # set when a call has settled, then a new one
        self._drawn = 0.0  # from the purse, what is spent of it included
        self._drawing = False

    def reserve(self, most: float) -> Reservation:
        """Hold *most* dollars while a block runs; waits for calls in flight that may leave some over.

        Entering it raises BudgetSpent when nothing is in flight and it still does not fit.
        """
        return Reservation(self, most)

    def fits(self, most: float) -> bool:
        """Whether a call of up to *most* dollars stays within what may be spent here; at that nothing more does."""
        if self.limit is None:
            return True
        may = self._drawn if self.purse else self.limit
        return self.spent + self.reserved + most <= may and self.spent < may

    def attach(self, purse: Purse | None) -> None:
        """From now on spend from *purse*; None: from none, what was not spent of it is given back."""
        self.purse, self._drawn = purse, self.spent

    async def make_room(self, most: float) -> None:
        """Wait until a call of up to *most* dollars fits. Raises BudgetSpent where it never will."""
        while True:
            if self.purse is not None and self.purse.lapsed():  # others may have had what was drawn and not spent
                self._drawn = min(self._drawn, self.spent + self.reserved)
            if self.fits(most):
                return
            if self.purse is None:
                if self.reserved == 0:
                    raise BudgetSpent(
                        f"the budget of ${self.limit:g} is used up: ${self.spent:.4f} is spent and the next call "
                        f"may cost ${most:.4f}; raise --budget, or run it again for as much once more"
                    )
                await self.settled.wait()
            elif self._drawing:  # one call asks for all: each draw is a transaction that workers take turns in
                await self.settled.wait()
            else:
                self._drawing = True
                try:
                    await self._draw(self.purse, most)
                finally:
                    self._drawing = False
                    self.tell()

    async def _draw(self, purse: Purse, most: float) -> None:
        """Ask for more once; where there is none wait a little for what is held, here or elsewhere."""
        limit = self.limit or 0.0
        held = max(self._drawn - self.spent, 0.0)
        more = (await purse.draw(limit, max(self.reserved + most - held, 0.0), held)).granted
        if not more and self.reserved == 0:
            # what is left over here may be what another worker waits for
            self._drawn = self.spent
            await purse.give_back()
            grant = await purse.draw(limit, most, 0.0)
            more = grant.granted
            if not more and not grant.elsewhere:
                lost = f", calls that were lost in flight may have cost ${grant.lost:.4f}," if grant.lost else ""
                raise BudgetSpent(
                    f"the budget of ${limit:g} of the job {self.job} is used up: ${grant.spent:.4f} is spent by its "
                    f"workers{lost} and the next call may cost ${most:.4f}; raise --budget, or name another --job"
                )
        self._drawn += more
        if not more:
            await purse.pause(LOOK)

    def tell(self) -> None:
        """Have those that wait look again."""
        self.settled.set()
        self.settled = asyncio.Event()


class Reservation:
    """A block of code that may cost something. Set *cost* to what it did, in dollars; left alone, it cost nothing."""

    __slots__ = ("_budget", "_most", "cost")

    def __init__(self, budget: Budget, most: float) -> None:
        self._budget, self._most = budget, most
        self.cost = 0.0

    async def __aenter__(self) -> Reservation:
        budget, most = self._budget, self._most
        await budget.make_room(most)
        budget.reserved += most
        budget.in_flight += 1
        return self

    async def __aexit__(self, *exc: object) -> None:
        # no await in here: tasks that wait are woken even if this call is being cancelled
        budget = self._budget
        budget.in_flight -= 1
        budget.reserved = budget.reserved - self._most if budget.in_flight else 0.0  # what would be left is rounding
        budget.spent += self.cost
        if budget.limit is not None:
            budget.tell()


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
        """Whether it slept so long that its lease has ended."""
        return self.ledger.now() >= self.kept_until

    async def draw(self, limit: float, needed: float, held: float) -> Grant:
        """Ask the store for more."""
        now, watch = self.ledger.now(), self.ledger.watch
        ask = partial(workers.draw, owner=self.ledger.owner, job=self.job, limit=limit, needed=needed, held=held)
        grant = await self.commits.do(partial(ask, now=now, watch=watch))
        self.kept_until = now + LEASE
        return grant

    async def give_back(self) -> None:
        """Leave to the job's other workers what is not spent."""
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
