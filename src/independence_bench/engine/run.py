"""Values that pass through the engine: the plan of a command, its session, progress and report.

Knows protocols, subjects and judges, and that a signal stops a command; knows nothing of how the
plan is carried out or shown.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from independence_bench.calls.budget import Budget
from independence_bench.calls.call import Tally
from independence_bench.calls.limits import Clocks
from independence_bench.errors import BenchError, Interrupted, handling, is_typed
from independence_bench.judging.judge import Judge, ModelJudge
from independence_bench.models.abilities import Setting
from independence_bench.models.client import Client
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.plan import Shard
from independence_bench.store.database import Store


@dataclass(frozen=True, slots=True)
class Session:
    """What a command works with: its store, the open clients, what it may spend, time and
    chance.
    """

    store: Store
    clients: Mapping[str, Client]
    budget: Budget = field(default_factory=Budget)
    clocks: Clocks = field(default_factory=Clocks)
    # settings of a model that a user asked for, by name or in models.yaml
    asked_for: Mapping[ChatModel, frozenset[Setting]] = field(default_factory=dict)
    # looks up the subjects and the judge of a plan again, by what was learned of them since
    settle: Callable[[RunPlan], Awaitable[RunPlan]] | None = None


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The plan of one command. *runs* 0: play nothing, judge what is stored."""

    protocol: Protocol
    files: Mapping[str, str]  # the protocol's, for the snapshot
    configurations: tuple[Configuration, ...]
    subjects: tuple[ChatModel, ...]
    runs: int
    judge: Judge | None
    again: bool = False  # what was invalid, or failed to be judged, is asked for once more
    at_once: int = 4  # subjects
    calls_at_once: int = 8  # within one subject, at each endpoint
    experiments: tuple[str, ...] = ()  # only these; none named: all
    shard: Shard | None = None  # only this part of it; None: all
    # which models have another name at their endpoint, and why subjects of a list are not played
    notes: tuple[str, ...] = ()

    @property
    def models(self) -> list[ChatModel]:
        """All that are called: the subjects, and the judge where it is a model."""
        return [*self.subjects, *([self.judge.model] if isinstance(self.judge, ModelJudge) else [])]


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that could not be completed."""

    what: str
    why: str


Ending = Literal["done", "invalid", "judged", "unjudged", "failed"]


@dataclass(slots=True)
class Progress:
    """One subject's progress, from what is stored; updated while it is played and judged."""

    label: str
    planned: int = 0  # transcripts, stored ones included
    done: int = 0  # complete, stored ones included
    invalid: int = 0  # ended by an invalid reply, stored ones included
    failed: int = 0  # not completed by this command
    to_judge: int = 0  # transcripts that are or will be judged
    judged: int = 0  # stored ones included
    unjudged: int = 0  # the judge failed
    # replies and judgements that are still to be asked for; some may turn out to be stored
    calls_left: int = 0
    state: str = "waiting"  # waiting, playing, done, stopped
    tally: Tally = field(default_factory=Tally)
    troubles: list[Trouble] = field(default_factory=list)

    @property
    def calls(self) -> int:
        """Calls that this command asks for: those that it was given an answer to, and those that
        are left.
        """
        return self.tally.answered + self.calls_left

    def ended(self, how: Ending, trouble: Trouble | None = None) -> None:
        """Count how a conversation or its judgement ended."""
        setattr(self, how, getattr(self, how) + 1)
        if how == "invalid" and self.to_judge:
            self.to_judge -= 1
        if trouble is not None:
            self.troubles.append(trouble)


@dataclass(slots=True)
class Report:
    """The result of a command, updated while it runs."""

    subjects: list[Progress]
    budget: Budget
    lost: int = 0  # calls that an earlier process left in flight
    stopped: BenchError | None = None  # why it ended early: Interrupted, BudgetSpent, or StoreError
    notice: str = ""  # what is waited for at the end
    # what replies are that may not be what was asked for
    warnings: Counter[str] = field(default_factory=Counter)
    # as the store's tables call it; None: nothing was to be judged, or nothing was begun
    judge: str | None = None
    # of workers in other processes, who play the same subjects, and of what was begun anew
    others: Tally = field(default_factory=Tally)
    # models that turned out to be called in another way -> why: they have to be resolved again
    unsettled: Mapping[ChatModel, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)  # what was learned of models, a line each

    def add(self, other: Report) -> None:
        """Add the report of another part of the same command."""
        self.subjects += other.subjects
        self.lost += other.lost
        self.warnings += other.warnings
        self.stopped = other.stopped
        self.judge = other.judge
        self.others.add(other.others)
        self.remarks += other.remarks

    def begin_from(self, earlier: Report) -> None:
        """Count what *earlier* has cost, of which everything was planned anew for this one."""
        self.lost += earlier.lost
        self.warnings += earlier.warnings
        self.remarks[:0] = earlier.remarks
        for tally in earlier.tallies:
            self.others.add(tally)

    @property
    def troubles(self) -> list[tuple[str, Trouble]]:
        """Everything that could not be completed, with the subject's label, subject by subject."""
        return [
            (progress.label, trouble) for progress in self.subjects for trouble in progress.troubles
        ]

    @property
    def cost(self) -> float:
        """Dollars that the endpoints said this command has cost, rejected attempts included."""
        return sum(tally.cost for tally in self.tallies)

    @property
    def tallies(self) -> list[Tally]:
        """The counts of all calls, each in one of them."""
        return [*(progress.tally for progress in self.subjects), self.others]

    @property
    def complete(self) -> bool:
        """Whether everything that was planned is stored and judged."""
        return self.stopped is None and not self.troubles


def invalid_trouble(reason: str | None) -> str:
    """Why a conversation is invalid, and what to do, in one line."""
    return f"invalid: {reason}; the same command with --again asks once more"


def judge_trouble(reason: str, judge_calls: int) -> str:
    """Why a judgement failed, in one line; and how to ask again, where the judge takes calls."""
    return f"the judge failed: {reason}" + ("; `aib judge` asks it again" if judge_calls else "")


@contextmanager
def interruptible(report: Report, stop: Callable[[BenchError], None]) -> Iterator[None]:
    """The first signal of `ENDING` calls *stop*, which is to set `report.stopped`; Ctrl-C after it
    cancels the task.

    A second SIGTERM or SIGHUP changes nothing: service managers and closing shells send theirs
    twice, and what is in flight is paid for. Only the main thread hears of signals.
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
