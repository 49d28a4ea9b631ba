"""The one loop that asks models: for replies, judgements, names, and cases aside. Concurrency lives here.

Conversations are tasks side by side; the calls of one of them are awaits in order. A failure ends no more than it has
to (`calls.limits`) and becomes a line of the report, which can be read at any time.
"""

from __future__ import annotations

import asyncio
import gc
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from independence_bench.calls.call import Call
from independence_bench.calls.executor import Executor, Stopped
from independence_bench.calls.limits import CallSlots, GaveUp, Reach
from independence_bench.calls.upkeep import open_executor
from independence_bench.engine.run import Progress, Report, Session, Trouble
from independence_bench.errors import BenchError, BudgetSpent, Interrupted, StoreError, handling, is_typed
from independence_bench.store import results
from independence_bench.store.results import Judgement

A = TypeVar("A")
FEWEST_WORKERS = 256  # conversations of one subject under way or waiting for a slot: enough to choose the longest from

COLLECTED = 20_000  # new objects before Python looks for cycles among them; some megabytes


@dataclass(frozen=True, slots=True)
class ConversationTask:
    """One conversation to carry out."""

    title: str
    calls: int  # when no call has to be repeated
    work: Callable[[ConversationCalls], Awaitable[None]]
    rank: int = 0  # added to the priority of each of its calls
    fresh: bool = False  # nothing of it can be stored, so its first call is not looked up


@dataclass(slots=True)
class ConversationCalls:
    """Makes the calls of one conversation and of its judge."""

    executor: Executor
    slots: Mapping[str, CallSlots]  # of the subject and its judge, by endpoint: who waits at one fills no other
    progress: Progress
    left: int  # calls of the conversation that are not made yet
    rank: int
    fresh: bool  # what is asked next follows from an answer that came just now

    async def ask(self, call: Call[A], counted: bool = True) -> A:
        """The answer to *call*, stored or new; *counted*: it is one of *left*. Raises what `Executor.execute` does."""
        ranked = replace(call, priority=call.priority + self.rank) if self.rank else call
        slots = self.slots[call.info.endpoint]
        answer = await self.executor.execute(ranked, slots, self.progress.tally, self.fresh)
        if counted:
            self.left -= 1
            self.progress.calls_left -= 1
        self.fresh = call.info.key in self.executor.ledger.fresh
        return answer

    async def store(self, judgement: Judgement) -> Judgement:
        """Store a judgement that cost nothing."""
        row = (judgement.key, None, judgement, self.executor.clocks.now())
        await self.executor.commits.add(results.keep_judgements, row)
        return judgement


class Asker(ABC):
    """Makes the calls of one command. `report` can be read at any time while `run` runs."""

    def __init__(self, session: Session, subjects: list[Progress], calls_at_once: int, most: int) -> None:
        """*calls_at_once* are those of one subject at one endpoint, *most* all of them at one endpoint."""
        self.report, self.calls_at_once = Report(subjects, session.budget), calls_at_once
        self._session, self._most = session, most
        self._stopping = asyncio.Event()

    @abstractmethod
    async def ask_all(self, executor: Executor) -> None:
        """Ask for everything that is missing."""

    def stop(self, why: BenchError) -> None:
        """Send nothing new; what is in flight is waited for and stored."""
        self.report.stopped = self.report.stopped or why
        self._stopping.set()

    async def run(self) -> Report:
        """Ask until everything is done or stopped. Raises StoreError; all else is in the report."""
        session = self._session

        def notice(text: str) -> None:
            self.report.notice = text

        async with open_executor(
            session.store, session.clients, session.budget, self._stopping, self._most, session.clocks, notice
        ) as executor:
            self.report.lost = executor.lost
            try:
                with _rare_collection():
                    await self.ask_all(executor)
            except BaseExceptionGroup as errors:
                # all tasks share the store and fail with it: one error is enough
                failure: BaseException | None = errors.subgroup(StoreError)
                while isinstance(failure, BaseExceptionGroup):
                    failure = failure.exceptions[0]
                if failure is not None:
                    raise failure from None
                raise
        if isinstance(self.report.stopped, StoreError):
            raise self.report.stopped
        return self.report

    async def run_watched(self, watching: Awaitable[None]) -> Report:
        """`run`, together with *watching*, which is cancelled at the end. Signals as `interruptible` has them."""
        watcher = asyncio.ensure_future(watching)
        try:
            with interruptible(self.report, self.stop):
                return await self.run()
        finally:
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)

    async def converse(
        self,
        executor: Executor,
        progress: Progress,
        conversations: Iterable[ConversationTask],
        at_once: int | None = None,
    ) -> None:
        """Carry out *conversations* of one subject, begun in their order. Raises StoreError in a group.

        *at_once*: so many conversations; None: as many as it takes to keep the slots full.
        """
        slots: dict[str, CallSlots] = defaultdict(lambda: CallSlots(self.calls_at_once))
        left = iter(conversations)
        progress.state = "playing"
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once or max(FEWEST_WORKERS, 8 * self.calls_at_once)):
                group.create_task(self._work_off(executor, progress, slots, left))
        if progress.state == "playing":
            progress.state = "stopped" if self.report.stopped else "done"

    async def _work_off(
        self, executor: Executor, progress: Progress, slots: Mapping[str, CallSlots], left: Iterator[ConversationTask]
    ) -> None:
        """One conversation after the other; other tasks take theirs from *left*, too."""
        for conversation in left:
            if self._stopping.is_set():
                break
            calls = ConversationCalls(
                executor, slots, progress, conversation.calls, conversation.rank, conversation.fresh
            )
            try:
                await conversation.work(calls)
            except Stopped:
                break
            except (BudgetSpent, StoreError) as error:  # what else is in flight is paid for: it is waited for
                self.stop(error)
                break
            except GaveUp as error:
                quotes = error.reach is not Reach.ENDPOINT
                progress.ended("failed", Trouble(conversation.title, error.reason, quotes))
                if error.reach in (Reach.MODEL, Reach.ENDPOINT):
                    progress.state = "stopped"
            progress.calls_left -= calls.left  # they will not be made


@contextmanager
def _rare_collection() -> Iterator[None]:
    """Collect garbage rarely: scanning the live objects of thousands of calls in flight takes 10% of our CPU."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECTED, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def interruptible(report: Report, stop: Callable[[BenchError], None]) -> Iterator[None]:
    """The first signal of `ENDING` calls *stop*, which is to set `report.stopped`; Ctrl-C after it cancels the task.

    A second SIGTERM or SIGHUP changes nothing: service managers and closing shells send theirs twice, and what is in
    flight is paid for. Only the main thread hears of signals.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def interrupted(typed: bool) -> None:
        if report.stopped is None:
            stop(Interrupted())
        elif typed and task is not None:
            task.cancel()

    def on_signal(number: int, _frame: object) -> None:
        loop.call_soon_threadsafe(interrupted, is_typed(number))

    with handling(on_signal):
        yield
