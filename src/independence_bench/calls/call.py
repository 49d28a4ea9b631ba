"""One call of an endpoint as a value, what its attempts came to, the ledger of calls and the budget that bounds them.

The ledger's writes are batched: each operation takes everything that waits for it at once (`store.group_commit`), so
that many calls are looked up, claimed and ended in one commit, on a connection in whose transaction no other process
writes.

The budget is a bound in dollars on what one command spends, judges and retries included, or all workers of a job
together. Every call reserves the most it can cost before it is sent and settles for what it did cost. Where prices are
not known the reservation is a guess from what has been seen, and the bound is then kept up to the calls in flight.
Sends nothing; knows no endpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy import Connection

from independence_bench.calls.limits import AttemptCounts, GaveUp
from independence_bench.errors import BudgetSpent
from independence_bench.models.messages import ChatRequest, Completion, Rejected
from independence_bench.models.response import read_completion
from independence_bench.store import attempts as stored_attempts
from independence_bench.store.attempts import CUT_OFF, CallInfo, CallKind, EarlierAttempts
from independence_bench.store.owners import LeaseWatch
from independence_bench.store.results import AnswerTable
from independence_bench.store.workers import Grant, reserve, settle, spend

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


LOOK = 0.5  # seconds between two looks whether another worker has left some over


class Purse(Protocol):
    """Where the budget of a job is kept, for one of its workers. All in dollars."""

    def lapsed(self) -> bool:
        """Whether this worker slept so long that others may have spent what it held."""

    async def draw(self, limit: float, needed: float, held: float) -> Grant:
        """Ask for more than this worker *held*: *needed* at least, or it is granted nothing."""

    async def give_back(self) -> None:
        """Leave to others what is not spent; nothing is in flight."""

    def pause(self, seconds: float, /) -> Awaitable[None]:
        """Sleep; raises where the command is asked to stop."""


class Budget:
    """*limit* in US dollars, None for no bound. *spent* by this command is kept either way.

    *job*: all workers of that name have this limit together; then a `Purse` says how much this one may spend.
    """

    def __init__(self, limit: float | None = None, job: str | None = None) -> None:
        self.limit, self.job = limit, job
        self.spent = 0.0
        self.reserved = 0.0
        self.in_flight = 0
        self.purse: Purse | None = None
        self.settled = asyncio.Event()  # set when a call has settled, then a new one
        self._drawn = 0.0  # from the purse, what is spent of it included
        self._drawing = False

    def reserve(self, most: float) -> Reservation:
        """Hold *most* dollars while a block runs; waits for calls in flight that may leave some over.

        Entering it raises BudgetSpent when nothing is in flight and it still does not fit.
        """
        return Reservation(self, most)

    def fits(self, most: float) -> bool:
        """Whether a call of up to *most* dollars stays within what may be spent here; at that nothing more does."""
        if self.limit is None:
            return True
        may = self._drawn if self.purse else self.limit
        return self.spent + self.reserved + most <= may and self.spent < may

    def attach(self, purse: Purse | None) -> None:
        """From now on spend from *purse*; None: from none, what was not spent of it is given back."""
        self.purse, self._drawn = purse, self.spent

    async def make_room(self, most: float) -> None:
        """Wait until a call of up to *most* dollars fits. Raises BudgetSpent where it never will."""
        while True:
            if self.purse is not None and self.purse.lapsed():  # others may have had what was drawn and not spent
                self._drawn = min(self._drawn, self.spent + self.reserved)
            if self.fits(most):
                return
            if self.purse is None:
                if self.reserved == 0:
                    raise BudgetSpent(
                        f"the budget of ${self.limit:g} is used up: ${self.spent:.4f} is spent and the next call "
                        f"may cost ${most:.4f}; raise --budget, or run it again for as much once more"
                    )
                await self.settled.wait()
            elif self._drawing:  # one call asks for all: each draw is a transaction that workers take turns in
                await self.settled.wait()
            else:
                self._drawing = True
                try:
                    await self._draw(self.purse, most)
                finally:
                    self._drawing = False
                    self.tell()

    async def _draw(self, purse: Purse, most: float) -> None:
        """Ask for more once; where there is none wait a little for what is held, here or elsewhere."""
        limit = self.limit or 0.0
        held = max(self._drawn - self.spent, 0.0)
        more = (await purse.draw(limit, max(self.reserved + most - held, 0.0), held)).granted
        if not more and self.reserved == 0:
            # what is left over here may be what another worker waits for
            self._drawn = self.spent
            await purse.give_back()
            grant = await purse.draw(limit, most, 0.0)
            more = grant.granted
            if not more and not grant.elsewhere:
                lost = f", calls that were lost in flight may have cost ${grant.lost:.4f}," if grant.lost else ""
                raise BudgetSpent(
                    f"the budget of ${limit:g} of the job {self.job} is used up: ${grant.spent:.4f} is spent by its "
                    f"workers{lost} and the next call may cost ${most:.4f}; raise --budget, or name another --job"
                )
        self._drawn += more
        if not more:
            await purse.pause(LOOK)

    def tell(self) -> None:
        """Have those that wait look again."""
        self.settled.set()
        self.settled = asyncio.Event()


class Reservation:
    """A block of code that may cost something. Set *cost* to what it did, in dollars; left alone, it cost nothing."""

    __slots__ = ("_budget", "_most", "cost")

    def __init__(self, budget: Budget, most: float) -> None:
        self._budget, self._most = budget, most
        self.cost = 0.0

    async def __aenter__(self) -> Reservation:
        budget, most = self._budget, self._most
        await budget.make_room(most)
        budget.reserved += most
        budget.in_flight += 1
        return self

    async def __aexit__(self, *exc: object) -> None:
        # no await in here: tasks that wait are woken even if this call is being cancelled
        budget = self._budget
        budget.in_flight -= 1
        budget.reserved = budget.reserved - self._most if budget.in_flight else 0.0  # what would be left is rounding
        budget.spent += self.cost
        if budget.limit is not None:
            budget.tell()
