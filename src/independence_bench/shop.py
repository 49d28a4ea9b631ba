"""Opens a store for buying: commits, gates, the lease's renewal, and the one buyer in the middle of them.

For whoever asks judges or subjects something outside a protocol's play. Knows nothing of what is bought.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from independence_bench.books import Books
from independence_bench.budget import Budget
from independence_bench.buying import Buyer
from independence_bench.endpoint import Client
from independence_bench.errors import StoreError
from independence_bench.retry import Policy
from independence_bench.store import calls
from independence_bench.store.commits import Commits
from independence_bench.store.database import Store
from independence_bench.throttle import Gate


@dataclass(frozen=True, slots=True)
class Clocks:
    """Time and chance, so that tests choose them."""

    now: Callable[[], float]  # seconds since 1970
    clock: Callable[[], float]  # monotonic seconds
    draw: Callable[[], float]  # random numbers in [0, 1)
    policy: Policy


def real_clocks() -> Clocks:
    """Those of a command."""
    return Clocks(time.time, time.monotonic, random.Random().random, Policy())  # noqa: S311 - jitter, not secrets


@dataclass(frozen=True, slots=True)
class Shop:
    """An open shop. *lost*: calls that an earlier process left in flight."""

    buyer: Buyer
    lost: int


@asynccontextmanager
async def open_shop(
    store: Store, clients: Mapping[str, Client], budget: Budget, stopping: asyncio.Event, most: int, clocks: Clocks
) -> AsyncIterator[Shop]:
    """A buyer that sends at most *most* calls at once to an endpoint, until *stopping* is set.

    Its claims are renewed while the block runs. Raises StoreError where the store cannot be written.
    """
    async with Commits(store) as commits:
        owner = calls.new_owner()
        lost = await commits.do(partial(calls.mark_lost, now=clocks.now()))

        async def pause(seconds: float) -> None:
            await buyer.pause(seconds)

        gates = {
            name: Gate(min(most, client.endpoint.at_once or most), clocks.clock, pause)
            for name, client in clients.items()
        }
        buyer = Buyer(
            commits=commits,
            clients=clients,
            gates=gates,
            budget=budget,
            books=Books(owner, clocks.now),
            clock=clocks.clock,
            draw=clocks.draw,
            stopping=stopping,
            policy=clocks.policy,
        )
        renewing = asyncio.create_task(_renew(commits, owner, clocks.now))
        try:
            yield Shop(buyer, lost)
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)


async def _renew(commits: Commits, owner: str, now: Callable[[], float]) -> None:
    while True:
        await asyncio.sleep(calls.LEASE / 4)
        with contextlib.suppress(StoreError):  # whoever needs the store next will say it
            await commits.do(partial(calls.renew, owner=owner, now=now()))
