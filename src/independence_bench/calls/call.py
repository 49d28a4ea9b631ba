"""One call of an endpoint as a value, and what its attempts came to. Sends and stores nothing;
knows no endpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from independence_bench.calls.limits import AttemptCounts, GaveUp
from independence_bench.models.messages import ChatRequest, Completion, Rejected
from independence_bench.models.response import read_completion
from independence_bench.store.attempts import CallInfo, CallKind, EarlierAttempts
from independence_bench.store.results import AnswerTable

A = TypeVar("A")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Accepted(Generic[A]):
    """A completion that is an answer."""

    answer: A
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class Call(Generic[A]):
    """One question to one model, and how its answer is read and stored."""

    key: str  # the key of its answer in the store
    kind: CallKind
    request: ChatRequest
    table: AnswerTable[A]  # where the answer is kept
    final: Callable[[A], bool]  # False: a stored answer like that is asked for again
    read: Callable[[Completion], Accepted[A] | Rejected]
    none: Callable[[str], A]  # the answer that there is none, and why
    priority: int  # the length of the chain that waits for it
    # what to send after a completion that was rejected, and why it was; None: the same once more.
    # Set for judges: who fails ten calls like that in a row is stopped
    again: Callable[[Completion, str], ChatRequest] | None = None

    @property
    def endpoint(self) -> str:
        """Name of the endpoint that this call is sent to."""
        return self.request.model.endpoint

    @property
    def info(self) -> CallInfo:
        """What is stored of this call before it is made: its key, kind, endpoint, model and
        request.
        """
        model = self.request.model
        return CallInfo(self.key, self.kind, model.endpoint, model.model, self.request.record)


@dataclass(frozen=True, slots=True)
class Wait:
    """The reason for which a call waits before it goes out again."""

    model: str  # its name at its endpoint
    cause: str  # why it waits, in a few words
    until: float  # seconds on the executor's clock


@dataclass(slots=True)
class Tally:
    """The counts of a subject's calls, updated while they are made."""

    calls: int = 0  # attempts that ended
    # calls that were asked and answered; none whose answer was found in the store
    answered: int = 0
    in_flight: int = 0
    # calls that wait to be retried, or for the end of their model's pause, by their keys
    waits: dict[str, Wait] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0  # dollars
    # attempts whose cost is not known: with a reply, readable or not, or one that may have been
    # made
    unpriced: int = 0

    def add_counts(self, other: Tally) -> None:
        """Add the numbers of calls, attempts and tokens and the dollars of *other*, a tally of
        calls that have all ended, to this tally.
        """
        self.calls += other.calls
        self.answered += other.answered
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.cost += other.cost
        self.unpriced += other.unpriced


@dataclass(frozen=True, slots=True)
class KnownPrices:
    """The models, as (endpoint, name there), that a reply has shown the cost of."""

    shown: Container[tuple[str, str]]
    looked: int  # the store's attempts up to this one are known


@dataclass(slots=True)
class CallState(Generic[A]):
    """A call that is being made, and its attempts so far."""

    call: Call[A]
    tally: Tally
    request: ChatRequest = field(init=False)  # what the next attempt sends
    counts: AttemptCounts = field(default_factory=AttemptCounts)
    # a cut-off answer and its attempt, used if the longer one fails
    spare: tuple[int, A] | None = None
    ours: bool = False  # the call is claimed
    arrived: bool = False  # *spare* is its answer, which an earlier process could not store
    most: float = 0.0  # dollars that the next attempt can cost, where a budget bounds them
    # what was known of prices when *most* was found, if the model's own is not; None: it is
    unproven: KnownPrices | None = None

    def __post_init__(self) -> None:
        self.request = self.call.request

    @property
    def key(self) -> str:
        """Key under which the answer to this call is stored."""
        return self.call.key

    @property
    def token_limit(self) -> int:
        """Most tokens that the model may generate in the next attempt at this call: the model's
        usual limit, or twice that after a reply that was cut off.
        """
        return self.call.request.model.max_tokens * (2 if self.counts.cut_off else 1)

    @property
    def priority(self) -> int:
        """Priority of the next attempt at this call; the highest goes first. A judgement that was
        tried before comes before those that were not, so that few are tried by the time that their
        judge is stopped.
        """
        tried = self.counts.broken + self.counts.cut_off if self.call.again else 0
        return self.call.priority + tried

    @property
    def model_hash_and_kind(self) -> tuple[str, str]:
        """Hash of the model that this call asks, and the kind of call ("reply" or "judgement").
        Refusals are counted for each such pair.
        """
        return self.call.request.model.hash, self.call.kind

    def load_earlier_attempts(self, before: EarlierAttempts, answered: bool) -> None:
        """Make this call go on where its earlier attempts stopped: take over from *before* how
        often they failed or were cut off, and the last answer that was cut off or could not be
        stored. *answered*: they ended with an answer that is asked for again, so the count of
        failures begins anew.
        """
        # a call that is repeated after an invalid answer starts its counts anew
        self.counts = AttemptCounts(broken=0 if answered else before.broken, cut_off=before.cut_off)
        if before.spare is not None:
            attempt, raw = before.spare
            completion = read_completion(raw.encode("utf-8", "surrogatepass"), 200, None)
            read = self.call.read(completion) if isinstance(completion, Completion) else None
            self.spare = (attempt, read.answer) if isinstance(read, Accepted) else None
            self.arrived = before.arrived and self.spare is not None


@dataclass(slots=True)
class NextStep(Generic[A]):
    """The consequence of one attempt: an answer to keep (of which attempt), an end, or another
    attempt after a wait.
    """

    outcome: str
    message: str = ""
    answer: tuple[int, A] | None = None
    end: GaveUp | None = None
    wait: float = 0.0
    charge: float = 0.0  # dollars that the budget counts for the attempt
