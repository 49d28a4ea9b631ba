"""Values that pass through the engine: what is asked for (`Run`), what is left of it (`Session`),
how far it is (`Progress`), and what became of it (`Report`).

Knows protocols, subjects and judges, and that a signal stops a command; knows nothing of how a run
is carried out or shown.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from independence_bench.calls.budget import Budget
from independence_bench.calls.call import Tally
from independence_bench.calls.limits import Clocks
from independence_bench.errors import BenchError, Interrupted, WrongUse, handling, is_typed
from independence_bench.judging.judge import Judge, ModelJudge
from independence_bench.models.abilities import Setting
from independence_bench.models.client import Client
from independence_bench.models.spec import AUTO, ChatModel, ModelSpec, Reasoning, Roster
from independence_bench.models.trust import Allow, known_only
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import Files
from independence_bench.protocol.plan import Shard
from independence_bench.store.database import Store

NO_EFFORT = "none"  # the published labels' word for off
EFFORTS = (
    *(effort.value for effort in Reasoning if effort is not Reasoning.UNSET),
    NO_EFFORT,
    AUTO,
)
LEAST, MOST = 1e-6, 1e9  # dollars that a budget may be


@dataclass(frozen=True, slots=True)
class Run:
    """What is asked for, by the names of the options of `aib run`; what is left open is None or ().

    A value may stand where users write a name: a protocol with its files, a model with its
    settings, a stored model. `engine.session.find` puts values in place of all names.
    """

    models: str | Sequence[str | ModelSpec | ChatModel] = ()
    all: bool = False  # without *models*: those of our list, where models.yaml names none
    models_file: str | Path | None = None
    local_url: str | None = None
    local_model: str | Sequence[str] = ()
    roster: Roster | None = (
        None  # the endpoints and models that those three mean; None: still to read
    )
    protocol: str | Path | tuple[Protocol, Files] = "v2"
    weights: str | None = None
    exp: str | Sequence[str] = ()  # only these experiments
    variants: str | Sequence[str] = ()
    modes: str | Sequence[str] = ()
    configurations: tuple[Configuration, ...] = ()  # what *variants* and *modes* mean
    runs: int | None = None  # stored ones included; None: as many as the protocol says
    temperature: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None  # one of EFFORTS
    provider: str | None = None
    judge: str | None = None  # None: the protocol's; the embedded one where that alone is played
    no_judge: bool = False
    judge_only: bool = False  # play nothing
    again: bool = False  # what was invalid, or failed to be judged, is asked for once more
    parallel: int | None = None  # models at once; None: 4, and 1 where one runs on this machine
    # calls at once of one model, at each endpoint; None: 8, and 1 on this machine
    parallel_tasks: int | None = None
    budget: float | None = None  # dollars that one command may spend, or all workers of its job
    # dollars per million tokens, sent and received, where an endpoint lists no price
    price: tuple[float, float] | None = None
    shard: Shard | None = None  # only this part of it
    job: str | None = None  # what this command is a worker of, with others
    # not named by the user: models that are no longer offered are left out, with a remark
    unnamed: bool = False
    allow: Allow = known_only  # asked before a key is read

    def check(self) -> None:
        """Raise WrongUse for a setting that cannot be, as the command line does by its options."""
        _within("runs", self.runs, 1, 1000)
        _within("temperature", self.temperature, 0, 2)
        _within("max_tokens", self.max_tokens, 1, 1_000_000)
        _within("parallel", self.parallel, 1, 256)
        _within("parallel_tasks", self.parallel_tasks, 1, 4096)
        _within("budget", self.budget, LEAST, MOST)
        for dollars in self.price or ():
            _within("price", dollars, 0, MOST)
        if self.reasoning_effort not in (None, *EFFORTS):
            raise WrongUse(
                f"reasoning_effort is {self.reasoning_effort!r}; it should be "
                f"{', '.join(EFFORTS)} or None"
            )


def _within(name: str, value: float | None, least: float, most: float) -> None:
    """Raises WrongUse unless *value* is None or a number in that range, which NaN is not."""
    if value is not None and not (isinstance(value, int | float) and least <= value <= most):
        raise WrongUse(f"{name} is {value!r}; it should be a number from {least:g} to {most:g}")


@dataclass(frozen=True, slots=True)
class Session:
    """What is left of a run when its names, models and judge are looked up: what is to do, and what
    it is done with. *runs* 0: play nothing, judge what is stored.
    """

    protocol: Protocol
    files: Files  # the protocol's, for the snapshot
    configurations: tuple[Configuration, ...]
    subjects: tuple[ChatModel, ...]
    runs: int
    judge: Judge | None
    store: Store
    clients: Mapping[str, Client]
    budget: Budget = field(default_factory=Budget)
    again: bool = False
    at_once: int = 4  # subjects
    calls_at_once: int = 8  # within one subject, at each endpoint
    experiments: tuple[str, ...] = ()  # only these; none named: all
    shard: Shard | None = None  # only this part of it; None: all
    # which models have another name at their endpoint, and why subjects of a list are not played
    notes: tuple[str, ...] = ()
    clocks: Clocks = field(default_factory=Clocks)
    # settings of a model that a user asked for, by name or in models.yaml
    asked_for: Mapping[ChatModel, frozenset[Setting]] = field(default_factory=dict)
    # looks up the subjects and the judge of a session again, by what was learned of them since
    settle: Callable[[Session], Awaitable[Session]] | None = None

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
        match how:
            case "done":
                self.done += 1
            case "invalid":
                self.invalid += 1
                self.to_judge = max(self.to_judge - 1, 0)
            case "judged":
                self.judged += 1
            case "unjudged":
                self.unjudged += 1
            case "failed":
                self.failed += 1
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
