"""Runs a plan, at once or with its runs apart in time: when the next run is due, and the wait for it.

With a `Spread`, run k of all subjects is played together. There is no memory but the store: a run is due so many
seconds after its predecessor was begun there, so whoever starts again goes on in step, and who was away for a day does
not play what was missed in one go. Prints nothing. Clock and sleep are arguments.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from independence_bench.engine.ask import interruptible
from independence_bench.engine.player import Engine
from independence_bench.engine.preview import Preview, preview_of
from independence_bench.engine.run import Report, RunPlan, Session, find_pending
from independence_bench.engine.session import RunOptions, resolved
from independence_bench.errors import BenchError, WrongUse
from independence_bench.protocol.plan import jobs
from independence_bench.store import results
from independence_bench.store.database import Store

HOUR = 3600.0
LONGEST_SLEEP = 60.0  # seconds: the clock goes on while a laptop sleeps, and a timer does not


@dataclass(slots=True)
class Wait:
    """A run that is not due yet, and when it is; Ctrl-C ends the wait."""

    run: int
    runs: int  # of the plan
    subjects: int  # that have something to play in this run
    until: float  # seconds since 1970
    report: Report
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self, why: BenchError) -> None:
        """End the wait, and begin no run."""
        self.report.stopped = self.report.stopped or why
        self.stopping.set()


@dataclass(frozen=True, slots=True)
class Spread:
    """How far apart runs are, with the clock and the sleep that measure it."""

    gap: float  # seconds from the beginning of one run to that of the next
    tell: Callable[[Wait], None]  # called when a wait begins
    now: Callable[[], float] = time.time  # seconds since 1970
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


def gap_of(hours: float, runs: int) -> float:
    """Seconds from run to run, where the first of *runs* begins at once and the last one *hours* later.

    Raises WrongUse for a single run.
    """
    if runs < 2:
        raise WrongUse("--spread-over needs two runs or more: say how many with --runs")
    return hours * HOUR / (runs - 1)


async def run(
    options: RunOptions,
    store: Store,
    approve: Callable[[Preview], bool],
    watch: Callable[[Engine], Awaitable[None]],
    spread: Spread | None = None,
) -> Report | None:
    """Play and judge what *options* ask for; None where *approve* said no.

    *watch* runs together with the engine and is cancelled at its end. Ctrl-C once: what is in flight is waited for and
    stored; twice: it is left.
    """
    async with resolved(options, store) as (plan, session):
        if not approve(await preview_of(plan, session)):
            return None
        return await play_spread(plan, session, watch, spread)


async def play_spread(
    plan: RunPlan, session: Session, watch: Callable[[Engine], Awaitable[None]], spread: Spread | None
) -> Report:
    """Play and judge *plan* run by run, each when it is due, or for None all at once; a begun run goes on at once.

    What a run could not complete is left for the same command later on: the next run does not ask for it.
    """
    if spread is None:
        engine = Engine(plan, session)
        return await engine.run_watched(watch(engine))
    session = replace(session, clocks=replace(session.clocks, now=spread.now))
    whole = Report([], session.budget)
    began: dict[str, float] = {}  # subject's hash -> when this command began its last run
    for number in range(plan.first, plan.runs + 1):
        one = replace(plan, first=number, runs=number)
        waiting, due = _due(one, session.store, spread.gap, began)
        if due is not None and due > spread.now():
            wait = Wait(number, plan.runs, len(waiting), due, whole)
            spread.tell(wait)
            await _wait(wait, spread)
            if whole.stopped is not None:
                break
        began |= dict.fromkeys(waiting, spread.now())
        whole.add(await play_spread(one, session, watch, None))
        if whole.stopped is not None:
            break
    return whole


def _due(plan: RunPlan, store: Store, gap: float, began: Mapping[str, float]) -> tuple[list[str], float | None]:
    """(hashes of the subjects that have something to play in this run, when the first of it may be sent).

    None: at once, because it is their first run, or each of them has begun it.
    """
    number, waiting, due = plan.runs, [], []
    with store.reading() as connection:
        for subject in plan.subjects:
            if not find_pending(connection, plan, subject).to_play:
                continue
            waiting.append(subject.hash)
            of_one_run = jobs(plan.protocol, plan.configurations, subject, [1], experiments=plan.experiments)
            begun = results.begun_at(connection, {job.script_hash for job in of_one_run}, subject.hash)
            before = begun.get(number - 1, began.get(subject.hash))
            if number not in begun and before is not None:
                due.append(before + gap)
    return waiting, max(due, default=None)


async def _wait(wait: Wait, spread: Spread) -> None:
    """Wait until the run is due, or until Ctrl-C."""
    with interruptible(wait.report, wait.stop):
        stopped = asyncio.ensure_future(wait.stopping.wait())
        try:
            while not stopped.done() and (left := wait.until - spread.now()) > 0:
                nap = asyncio.ensure_future(spread.sleep(min(left, LONGEST_SLEEP)))
                await asyncio.wait((nap, stopped), return_when=asyncio.FIRST_COMPLETED)
                nap.cancel()
                with suppress(asyncio.CancelledError):
                    await nap
        finally:
            stopped.cancel()
