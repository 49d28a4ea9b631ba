"""Runs apart in time: when the next one is due, and the wait for it. Run k of all subjects is played together.

Knows orders and the store; prints nothing. There is no memory but the store: a run is due so many seconds after its
predecessor was begun there, so whoever starts again goes on in step, and who was away for a day does not play what was
missed in one go. Clock and sleep are arguments.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from independence_bench.calls.budget import Budget
from independence_bench.engine.pending import take_stock
from independence_bench.engine.player import Engine
from independence_bench.engine.run import Order, Report
from independence_bench.engine.session import Outlook, Wanted, carry_out, interruptible, outlook_of, settled
from independence_bench.errors import WrongUse
from independence_bench.models.client import Client
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.plan import jobs
from independence_bench.store import results
from independence_bench.store.database import Store

HOUR = 3600.0
LONGEST_SLEEP = 60.0  # seconds: the clock goes on while a laptop sleeps, and a timer does not


@dataclass(slots=True)
class Pause:
    """What waits, and until when; Ctrl-C ends it."""

    run: int
    runs: int  # of the order
    subjects: int  # whose turn it is
    until: float  # seconds since 1970
    report: Report
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self, why: str) -> None:
        """Wait no longer, and begin nothing."""
        self.report.stopped = self.report.stopped or why
        self.stopping.set()


@dataclass(frozen=True, slots=True)
class Spread:
    """How far apart runs are, and what that is measured with."""

    gap: float  # seconds from the beginning of one run to that of the next
    tell: Callable[[Pause], None]  # called when a wait begins
    now: Callable[[], float] = time.time  # seconds since 1970
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


def gap_of(hours: float, runs: int) -> float:
    """Seconds from run to run, where the first of *runs* begins at once and the last one *hours* later.

    Raises WrongUse for a single run.
    """
    if runs < 2:
        raise WrongUse("--spread-over needs two runs or more: say how many with --runs")
    return hours * HOUR / (runs - 1)


async def conduct_spread(
    wanted: Wanted,
    store: Store,
    approve: Callable[[Outlook], bool],
    watch: Callable[[Engine], Awaitable[None]],
    spread: Spread,
) -> Report | None:
    """Carry out what is wanted run by run, each at its time; None where *approve* said no. Else as `conduct`."""
    async with settled(wanted) as (order, clients):
        if not approve(await outlook_of(order, store, clients, wanted.budget)):
            return None
        return await carry_out_spread(order, store, clients, Budget(wanted.budget), watch, spread)


async def carry_out_spread(
    order: Order,
    store: Store,
    clients: Mapping[str, Client],
    budget: Budget,
    watch: Callable[[Engine], Awaitable[None]],
    spread: Spread,
) -> Report:
    """Play and judge *order* run by run, each when it is due; a run that was begun goes on at once.

    What a run could not complete is left for the same command later on: the next run does not ask for it.
    """
    whole = Report([], budget)
    began: dict[str, float] = {}  # subject's hash -> when this command began its last run
    for run in range(order.first, order.runs + 1):
        wave = replace(order, first=run, runs=run)
        waiting, due = _due(wave, store, spread.gap, began)
        if due is not None and due > spread.now():
            pause = Pause(run, order.runs, len(waiting), due, whole)
            spread.tell(pause)
            await _wait(pause, spread)
            if whole.stopped is not None:
                break
        began |= dict.fromkeys(waiting, spread.now())
        report = await carry_out(wave, store, clients, budget, watch, spread.now)
        whole.subjects += report.subjects
        whole.lost += report.lost
        whole.stopped = report.stopped
        if whole.stopped is not None:
            break
    return whole


def _due(wave: Order, store: Store, gap: float, began: Mapping[str, float]) -> tuple[list[str], float | None]:
    """(hashes of the subjects that have something to play in this run, when the first of it may be sent).

    None: at once, because it is their first run, or each of them has begun it.
    """
    run, waiting, due = wave.runs, [], []
    with store.reading() as connection:
        for subject in wave.subjects:
            if not take_stock(connection, wave, subject).to_play:
                continue
            waiting.append(subject.hash)
            begun = results.begun_at(connection, _scripts(wave, subject), subject.hash)
            before = begun.get(run - 1, began.get(subject.hash))
            if run not in begun and before is not None:
                due.append(before + gap)
    return waiting, max(due, default=None)


def _scripts(order: Order, subject: ChatModel) -> set[str]:
    of_one_run = jobs(order.protocol, order.configurations, subject, [1], experiments=order.experiments)
    return {job.script_hash for job in of_one_run}


async def _wait(pause: Pause, spread: Spread) -> None:
    """Until it is time, or Ctrl-C."""
    with interruptible(pause):
        stopped = asyncio.ensure_future(pause.stopping.wait())
        try:
            while not stopped.done() and (left := pause.until - spread.now()) > 0:
                nap = asyncio.ensure_future(spread.sleep(min(left, LONGEST_SLEEP)))
                await asyncio.wait((nap, stopped), return_when=asyncio.FIRST_COMPLETED)
                nap.cancel()
                with suppress(asyncio.CancelledError):
                    await nap
        finally:
            stopped.cancel()
