"""One call of an endpoint as a value, what its attempts came to, and the ledger of calls.

The ledger's writes are batched: each operation takes everything that waits for it at once (`store.group_commit`), so
that many calls are looked up, claimed and ended in one commit, on a connection in whose transaction no other process
writes. Sends nothing; knows no endpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection

from independence_bench.calls.limits import AttemptCounts, GaveUp
from independence_bench.models.messages import ChatRequest, Completion, Rejected
from independence_bench.models.response import read_completion
from independence_bench.store import attempts as stored_attempts
from independence_bench.store.attempts import CUT_OFF, CallInfo, CallKind, EarlierAttempts
from independence_bench.store.owners import LeaseWatch
from independence_bench.store.results import AnswerTable
from independence_bench.store.workers import reserve, settle, spend

A = TypeVar("A")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Accepted(Generic[A]):
    """A completion that is an answer."""

    answer: A
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class Call(Generic[A]):
    """What to ask of which model, and how to read what comes."""

    key: str  # of its answer in the store
    kind: CallKind
    request: ChatRequest
    table: AnswerTable[A]  # where the answer is kept
    final: Callable[[A], bool]  # False: a stored answer like that is asked for again
    read: Callable[[Completion], Accepted[A] | Rejected]
    none: Callable[[str], A]  # the answer that there is none, and why
    priority: int  # the length of the chain that waits for it

    @property
    def endpoint(self) -> str:
        """The name of the endpoint that is asked."""
        return self.request.model.endpoint

    @property
    def info(self) -> CallInfo:
        """What is recorded of it before it is made."""
        model = self.request.model
        return CallInfo(self.key, self.kind, model.endpoint, model.model, self.request.record)


@dataclass(slots=True)
class Tally:
    """Counts of a subject's calls, updated while they are made."""

    calls: int = 0  # attempts that ended
    answered: int = 0  # calls that were asked and answered; none whose answer was found in the store
    in_flight: int = 0
    waiting: int = 0  # calls that wait to be retried
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0  # dollars
    unpriced: int = 0  # attempts with a reply, readable or not, whose cost is not known


@dataclass(slots=True)
class CallState(Generic[A]):
    """A call that is being made, and its attempts so far."""

    call: Call[A]
    tally: Tally
    counts: AttemptCounts = field(default_factory=AttemptCounts)
    spare: tuple[int, A] | None = None  # a cut-off answer and its attempt, used if the longer one fails
    ours: bool = False  # the call is claimed
    arrived: bool = False  # *spare* is its answer, which an earlier process could not store
    most: float = 0.0  # dollars that the next attempt can cost, where a budget bounds them

    @property
    def key(self) -> str:
        """The key of its answer in the store."""
        return self.call.key

    @property
    def limit(self) -> int:
        """Tokens that the next attempt may use; after a cut-off reply twice as many."""
        return self.call.request.model.max_tokens * (2 if self.counts.cut_off else 1)

    @property
    def who(self) -> tuple[str, str]:
        """The model and what it is asked for (a reply, a judgement): refusals are counted by this."""
        return self.call.request.model.hash, self.call.kind

    def recall(self, before: EarlierAttempts, answered: bool) -> None:
        """Go on where earlier attempts stopped; *answered*: with an answer that is not final."""
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
    """What one attempt leads to: an answer to keep (of which attempt), an end, or another attempt after a wait."""

    outcome: str
    message: str = ""
    answer: tuple[int, A] | None = None
    end: GaveUp | None = None
    wait: float = 0.0
    charge: float = 0.0  # dollars that the budget counts for the attempt


EndedAttempt = tuple[CallState[Any], int, stored_attempts.Ended, NextStep[Any]]
"""A call, its attempt, how that ended, and what it leads to."""


def _by_table(items: Iterable[T], table_of: Callable[[T], AnswerTable[Any]]) -> list[tuple[AnswerTable[Any], list[T]]]:
    groups: dict[AnswerTable[Any], list[T]] = {}
    for item in items:
        groups.setdefault(table_of(item), []).append(item)
    return list(groups.items())


@dataclass(slots=True)
class CallLedger:
    """The ledger of one process, which is *owner*."""

    owner: str
    now: Callable[[], float]  # seconds since 1970
    watch: LeaseWatch | None = None  # of who works on the store with another clock, where there can be such
    job: str | None = None  # that this process is a worker of
    fresh: set[str] = field(default_factory=set)  # calls answered by this command: final, whatever came of them

    def look_up(self, connection: Connection, states: Sequence[CallState[Any]]) -> list[Any]:
        """The stored answers that are final; None for the others, whose earlier attempts are taken into account."""
        stored: dict[str, Any] = {}
        for table, group in _by_table(states, lambda state: state.call.table):
            stored |= table.find(connection, [state.key for state in group])
        results: list[Any] = []
        for state in states:
            answer = stored.get(state.key)
            final = answer is not None and (state.call.final(answer) or state.key in self.fresh)
            results.append(answer if final else None)
        left = [state for state, result in zip(states, results, strict=True) if result is None]
        keys = [state.key for state in left]
        before = stored_attempts.earlier_attempts(connection, keys, set(keys) - stored.keys()) if left else {}
        for state in left:
            state.recall(before.get(state.key, EarlierAttempts()), state.key in stored)
        return results

    def start(self, connection: Connection, states: Sequence[CallState[Any]]) -> list[Any]:
        """Claim what is not ours yet and write attempts down: their ids (int), or an answer that is stored by now.

        None for what another process has claimed.
        """
        now = self.now()
        held = stored_attempts.holders(connection, {state.key for state in states})
        # a process that slept beyond its lease may have lost its claims to another: without this both would send
        kept = stored_attempts.holders(connection, {state.key for state in states if state.ours}, lock=True)
        ours = {id(c) for c in states if c.ours and c.key in kept and kept[c.key].owner == self.owner}
        # two tasks can need the same call: one asks it, the other waits
        asking: dict[str, CallState[Any]] = {}
        for state in states:
            if id(state) not in ours:
                asking.setdefault(state.key, state)
        infos = [state.call.info for state in asking.values()]
        got = stored_attempts.claim(connection, infos, held, self.owner, now, self.watch)
        # a call without a holder was never asked. Looked up after it was claimed, because until then another process
        # could still answer it: then it would be bought twice
        known = [state for state in states if id(state) not in ours and state.key in held]
        answers = dict(zip(map(id, known), self.look_up(connection, known), strict=True))
        for state in known:
            if state.arrived and state.spare is not None and asking[state.key] is state and state.key in got:
                state.call.table.keep(connection, [(state.key, *state.spare, now)])
                self.fresh.add(state.key)
                answers[id(state)] = state.spare[1]
        answered = {state.key for state in known if answers[id(state)] is not None}
        stored_attempts.release(connection, got & answered, self.owner)
        got -= answered
        begun = [c for c in states if id(c) in ours or (c.key in got and asking.get(c.key) is c)]
        numbers = stored_attempts.begin_attempts(
            connection, [(state.key, state.limit) for state in begun], self.owner, now
        )
        if self.job is not None:
            reserve(connection, self.owner, {number: c.most for number, c in zip(numbers, begun, strict=True)})
        attempts = dict(zip(map(id, begun), numbers, strict=True))
        return [attempts.get(id(state), answers.get(id(state))) for state in states]

    def finish(self, connection: Connection, finished: Sequence[EndedAttempt]) -> list[None]:
        """Write down how attempts ended, with the answers that they gave, and give those claims back."""
        now = self.now()
        stored_attempts.end_attempts(connection, [(attempt, ended) for _, attempt, ended, _ in finished], now)
        if self.job is not None:
            spend(connection, self.owner, sum((step.charge for *_, step in finished), 0.0))
            settle(connection, [attempt for _, attempt, *_ in finished])
        kept = [
            (state.call.table, (state.key, *step.answer, now))
            for state, _, _, step in finished
            if step.answer is not None and step.outcome != CUT_OFF
        ]
        for table, group in _by_table(kept, lambda row: row[0]):
            table.keep(connection, [row for _, row in group])
        # a call that is to be repeated keeps its claim: given back between two attempts, another process would take it
        if keys := [key for _, (key, *_) in kept]:
            stored_attempts.release(connection, keys, self.owner)
            self.fresh.update(keys)  # here, before another task's write can find the claims free
        return [None] * len(finished)

    def withdraw(self, connection: Connection, attempt: int) -> None:
        """Take an attempt back that was never sent."""
        stored_attempts.withdraw(connection, attempt)
        if self.job is not None:
            settle(connection, [attempt])
