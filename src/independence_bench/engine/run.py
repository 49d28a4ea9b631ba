"""What a command is to do, how far it is, and what it came to: values that pass through the engine.

Knows protocols, subjects and judges; knows nothing of how the plan is carried out or shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from independence_bench.calls.budget import Budget
from independence_bench.calls.ledger import Tally
from independence_bench.errors import BenchError
from independence_bench.judging.judge import Judge
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Protocol


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What one command is to do. *runs* 0: play nothing, judge what is stored."""

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
    first: int = 1  # the runs before it are left as they are
    left_out: tuple[str, ...] = ()  # why a subject of a list is none of these, in a line each


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that could not be completed."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class AtStart:
    """How far a subject was when the command began, and how many calls were to be made then."""

    planned: int = 0  # transcripts, stored ones included
    done: int = 0  # complete
    invalid: int = 0  # ended by an invalid reply
    to_judge: int = 0  # transcripts that are or will be judged
    judged: int = 0
    unjudged: int = 0  # the judge failed
    calls: int = 0  # replies and judgements that the command has to get


class Event(Enum):
    """What became of a conversation."""

    PLAYED = auto()
    INVALID = auto()  # ended by an invalid reply
    JUDGED = auto()
    UNJUDGED = auto()  # the judge failed
    FAILED = auto()  # not completed by this command


@dataclass(slots=True)
class Progress:
    """One subject's state: how it began, and what has happened since. Read while it is being written to."""

    label: str
    start: AtStart = AtStart()
    events: Counter[Event] = field(default_factory=Counter)
    answered: int = 0  # calls that have their answer, stored or bought
    dropped: int = 0  # calls that will not be made any more
    state: str = "waiting"  # waiting, playing, done, stopped
    tally: Tally = field(default_factory=Tally)
    troubles: list[Trouble] = field(default_factory=list)

    @property
    def planned(self) -> int:
        """Transcripts, stored ones included."""
        return self.start.planned

    @property
    def done(self) -> int:
        """Complete ones, stored ones included."""
        return self.start.done + self.events[Event.PLAYED]

    @property
    def invalid(self) -> int:
        """Those that an invalid reply ended, stored ones included."""
        return self.start.invalid + self.events[Event.INVALID]

    @property
    def failed(self) -> int:
        """Those that this command did not complete."""
        return self.events[Event.FAILED]

    @property
    def to_judge(self) -> int:
        """Transcripts that are or will be judged."""
        return max(self.start.to_judge - self.events[Event.INVALID], 0)

    @property
    def judged(self) -> int:
        """Those that are, stored ones included."""
        return self.start.judged + self.events[Event.JUDGED]

    @property
    def unjudged(self) -> int:
        """Those that the judge failed at, stored ones included."""
        return self.start.unjudged + self.events[Event.UNJUDGED]

    @property
    def calls(self) -> int:
        """Replies and judgements that this command has to get."""
        return self.start.calls - self.dropped

    @property
    def calls_left(self) -> int:
        """Those of them that it has not got."""
        return self.calls - self.answered


@dataclass(slots=True)
class Report:
    """What a command came to."""

    subjects: list[Progress]
    budget: Budget
    lost: int = 0  # calls that an earlier process left in flight
    stopped: BenchError | None = None  # why it ended early: Interrupted, or BudgetSpent
    judge: str | None = None  # label of who was to judge; None: nobody

    @property
    def troubles(self) -> list[tuple[str, Trouble]]:
        """Everything that could not be completed, with the subject's label, subject by subject."""
        return [(progress.label, trouble) for progress in self.subjects for trouble in progress.troubles]

    @property
    def cost(self) -> float:
        """Dollars that the endpoints said this command has cost, rejected attempts included."""
        return sum(progress.tally.cost for progress in self.subjects)

    @property
    def complete(self) -> bool:
        """Whether everything that was planned is stored and judged."""
        return self.stopped is None and not self.troubles
