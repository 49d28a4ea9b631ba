"""The values that pass through the engine: what is asked for (`Run`), what is left of it
(`Session`), how far it is (`Progress`), and the result (`Report`).

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
from independence_bench.errors import (
    BenchError,
    Interrupted,
    WrongUse,
    handle_signals,
    is_typed_signal,
)
from independence_bench.judging.judge import Judge, ModelJudge
from independence_bench.models.abilities import Setting
from independence_bench.models.client import Client
from independence_bench.models.spec import AUTO, ChatModel, ModelSpec, Reasoning, Roster
from independence_bench.models.trust import Allow, check_key_permission
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
    """The settings of a run, by the names of the options of `aib run`. A setting that is left open
    is None or ().

    A value may replace a name that users write: a protocol with its files, a model with its
    settings, a stored model. `engine.session.resolve_run` replaces all names by values.
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
    configurations: tuple[Configuration, ...] = ()  # the same as *variants* x *modes*
    runs: int | None = None  # stored ones included; None: as many as the protocol says
    temperature: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None  # one of EFFORTS
    provider: str | None = None
    judge: str | None = None  # None: the protocol's; the embedded one where that alone is played
    no_judge: bool = False
    judge_only: bool = False  # play nothing
    again: bool = False  # retry invalid replies and failed judgements
    parallel: int | None = None  # models at once; None: 4, and 1 where one runs on this machine
    # calls at once of one model, at each endpoint; None: 8, and 1 on this machine
    parallel_tasks: int | None = None
    budget: float | None = None  # dollars that one command may spend, or all workers of its job
    # dollars per million tokens, sent and received, where an endpoint lists no price
    price: tuple[float, float] | None = None
    shard: Shard | None = None  # only this part of it
    job: str | None = None  # the job that this command is a worker of
    # not named by the user: models that are no longer offered are left out, with a remark
    unnamed: bool = False
    allow: Allow = check_key_permission  # asked before a key is read

    def check_settings(self) -> None:
        """Raise WrongUse if a number or the reasoning effort in the settings of this run is
        impossible, as the command line does for its options.
        """
        _check_range("runs", self.runs, 1, 1000)
        _check_range("temperature", self.temperature, 0, 2)
        _check_range("max_tokens", self.max_tokens, 1, 1_000_000)
        _check_range("parallel", self.parallel, 1, 256)
        _check_range("parallel_tasks", self.parallel_tasks, 1, 4096)
        _check_range("budget", self.budget, LEAST, MOST)
        for dollars in self.price or ():
            _check_range("price", dollars, 0, MOST)
        if self.reasoning_effort not in (None, *EFFORTS):
            raise WrongUse(
                f"reasoning_effort is {self.reasoning_effort!r}; it should be "
                f"{', '.join(EFFORTS)} or None"
            )


def _check_range(name: str, value: float | None, least: float, most: float) -> None:
    """Raise WrongUse unless *value* is None or a number from *least* to *most*. NaN is refused,
    too.
    """
    if value is not None and not (isinstance(value, int | float) and least <= value <= most):
        raise WrongUse(f"{name} is {value!r}; it should be a number from {least:g} to {most:g}")


@dataclass(frozen=True, slots=True)
class Session:
    """Everything that is needed to carry out a run, after its names, models and judge were looked
    up. *runs* 0: play nothing, judge what is stored.
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
    # models with another name at their endpoint, and reasons why subjects are left out
    notes: tuple[str, ...] = ()
    clocks: Clocks = field(default_factory=Clocks)
    # settings of a model that a user asked for, by name or in models.yaml
    asked_for: Mapping[ChatModel, frozenset[Setting]] = field(default_factory=dict)
    # looks up the subjects and the judge of a session again, by what was learned of them since
    settle: Callable[[Session], Awaitable[Session]] | None = None

    @property
    def subject_and_judge_models(self) -> list[ChatModel]:
        """All models that this session calls: those under test, and the judge if it is a model."""
        return [*self.subjects, *([self.judge.model] if isinstance(self.judge, ModelJudge) else [])]


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that could not be completed: *what* it is, and *why*."""

    what: str
    why: str


Ending = Literal["done", "invalid", "judged", "unjudged", "failed"]


@dataclass(slots=True)
class Progress:
    """The progress of one model under test, stored results included; updated while the model is
    played and judged.
    """

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
    def total_calls(self) -> int:
        """The number of calls that this command makes for one model: those that were answered and
        those that are left.
        """
        return self.tally.answered + self.calls_left

    def record_ending(self, how: Ending, trouble: Trouble | None = None) -> None:
        """Count one more conversation or judgement that ended as *how* says (done, invalid, judged,
        unjudged or failed), and keep *trouble*, the reason for a failure, if it is given.
        """
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
    """What a command has done, spent and failed to do; updated while it runs."""

    subjects: list[Progress]
    budget: Budget
    lost: int = 0  # calls that an earlier process left in flight
    stopped: BenchError | None = None  # why it ended early: Interrupted, BudgetSpent, or StoreError
    notice: str = ""  # what the command waits for at its end
    # warning -> number of replies that may not be what was asked for
    warnings: Counter[str] = field(default_factory=Counter)
    # its label in the store; None: nothing was to be judged, or nothing was begun
    judge: str | None = None
    # calls of other workers that play the same subjects, and of earlier reports of this command
    others: Tally = field(default_factory=Tally)
    # models that turned out to be called in another way -> why: they have to be resolved again
    unsettled: Mapping[ChatModel, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)  # facts learned about models, a line each

    def add_part(self, other: Report) -> None:
        """Add the progress, counts, warnings and remarks of *other*, the report of another part of
        the same command, to this report.
        """
        self.subjects += other.subjects
        self.lost += other.lost
        self.warnings += other.warnings
        self.stopped = other.stopped
        self.judge = other.judge
        self.others.add_counts(other.others)
        self.remarks += other.remarks

    def add_earlier_report(self, earlier: Report) -> None:
        """Add the calls, costs, warnings and remarks of *earlier* to this report of the same
        command, which has planned the work of *earlier* anew.
        """
        self.lost += earlier.lost
        self.warnings += earlier.warnings
        self.remarks[:0] = earlier.remarks
        for tally in earlier.tallies:
            self.others.add_counts(tally)

    @property
    def troubles(self) -> list[tuple[str, Trouble]]:
        """Everything that this command could not complete, as pairs (label of the model, trouble),
        model by model.
        """
        return [
            (progress.label, trouble) for progress in self.subjects for trouble in progress.troubles
        ]

    @property
    def cost(self) -> float:
        """Dollars that this command has cost as the endpoints state it, including rejected
        attempts.
        """
        return sum(tally.cost for tally in self.tallies)

    @property
    def tallies(self) -> list[Tally]:
        """The counts of this command's calls: one tally for each model under test, and one for
        other workers and earlier reports of the command. Each call is in one of them.
        """
        return [*(progress.tally for progress in self.subjects), self.others]

    @property
    def complete(self) -> bool:
        """Whether everything that this command planned is stored and judged."""
        return self.stopped is None and not self.troubles


def describe_invalid_conversation(reason: str | None) -> str:
    """Return one line that says why a conversation is invalid and how to have it played again."""
    return f"invalid: {reason}; the same command with --again asks once more"


def describe_failed_judgement(reason: str, judge_calls: int) -> str:
    """Return one line that says why a judgement failed and, if *judge_calls* is not 0, how to ask
    the judge again. *judge_calls*: the number of calls that the judge makes for a judgement.
    """
    return f"the judge failed: {reason}" + ("; `aib judge` asks it again" if judge_calls else "")


@contextmanager
def stop_on_signals(report: Report, stop: Callable[[BenchError], None]) -> Iterator[None]:
    """Within the block, let the first signal of `ENDING` (Ctrl-C, SIGTERM, SIGHUP, SIGQUIT) call
    *stop* with Interrupted, which sets `report.stopped`; Ctrl-C after that cancels the current
    task.

    A second SIGTERM or SIGHUP changes nothing: service managers and closing shells send theirs
    twice, and calls in flight are paid for. Only the main thread receives signals.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def handle_interrupt(is_keyboard_signal: bool) -> None:
        if report.stopped is None:
            stop(Interrupted())
        elif is_keyboard_signal and task is not None:
            task.cancel()

    def handle_signal(number: int, _frame: object) -> None:
        loop.call_soon_threadsafe(handle_interrupt, is_typed_signal(number))

    with handle_signals(handle_signal):
        yield
