"""Buys one answer: lease, budget, retries, and every attempt on record.

    look it up; somebody else's claim: wait for it
    claim it and write down the attempt          (one durable commit, before anything is sent)
    send it
    write down what came of it, with the answer  (one durable commit, before anything uses it)

so a reply that arrived is never lost, one that is stored is never bought again, and a kill costs at most the
calls in flight. What an answer is, and where it is stored, the `Question` says.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, TypeVar

from sqlalchemy import Connection

from independence_bench.budget import Budget, Reservation
from independence_bench.chat import ChatRequest, Completion, Fault, Kind
from independence_bench.endpoint import Client
from independence_bench.errors import BenchError, EndpointUnusable
from independence_bench.retry import GaveUp, Policy, Reach, Tries, next_wait
from independence_bench.store import records
from independence_bench.store.commits import Commits
from independence_bench.throttle import Gate, Places

A = TypeVar("A")

CHARACTERS_A_TOKEN = 2.5  # fewer than in English prose, so that a reservation is rather too large
ANSWERED, CUT_OFF = "answered", "cut off"  # outcomes of an attempt, beside the kinds of fault
UNSEEN = (Kind.CONNECTION, Kind.TIMEOUT)  # the reply may have been made, and charged, without arriving
POLL = 0.5  # seconds between two looks at what another process is buying


class Stopped(BenchError):
    """The command was asked to stop: nothing new is sent."""


@dataclass(frozen=True, slots=True)
class Good(Generic[A]):
    """A completion that is an answer."""

    answer: A
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class Bad:
    """A completion that is none, and why."""

    reason: str
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class Question(Generic[A]):
    """One thing to buy, and what to do with it."""

    info: records.CallInfo
    request: ChatRequest
    find: Callable[[Connection], A | None]  # the answer, where it is stored already
    read: Callable[[Completion], Good[A] | Bad]
    keep: Callable[[Connection, int, A, float], None]  # stores the answer that an attempt gave, and when
    none: Callable[[str], A]  # the answer that there is none, and why
    priority: int  # the length of the chain that waits for it


@dataclass(slots=True)
class Tally:
    """What a command has bought so far; read while it is being written to."""

    calls: int = 0  # attempts that ended
    in_flight: int = 0
    waiting: int = 0  # calls that wait to be asked again
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0  # dollars
    unpriced: int = 0  # answered attempts whose cost nobody told


@dataclass(frozen=True, slots=True)
class _Started:
    """The call is ours, and this attempt at it is on record."""

    attempt: int
    tries: Tries


@dataclass(frozen=True, slots=True)
class _Found(Generic[A]):
    """Somebody has bought it already."""

    answer: A


@dataclass(slots=True)
class _Step(Generic[A]):
    """What one attempt leads to: an answer to keep (of which attempt), an end, or another try after a wait."""

    outcome: str
    message: str = ""
    answer: tuple[int, A] | None = None
    end: GaveUp | None = None
    wait: float = 0.0


@dataclass(slots=True)
class Buyer:
    """Buys for one command. Clocks and random numbers are arguments, so tests choose them."""

    commits: Commits
    clients: Mapping[str, Client]
    gates: Mapping[str, Gate]
    budget: Budget
    owner: str
    now: Callable[[], float]  # seconds since 1970
    draw: Callable[[], float]  # random numbers in [0, 1)
    stopping: asyncio.Event  # set: nothing new is sent
    policy: Policy = field(default_factory=Policy)
    closed: dict[str, str] = field(default_factory=dict)  # endpoint -> why nothing more is sent to it
    refused: dict[str, str] = field(default_factory=dict)  # subject's hash -> why nothing more is sent for it
    dearest: dict[str, float] = field(default_factory=dict)  # model -> highest cost seen, in dollars

    async def buy(self, question: Question[A], places: Places, tally: Tally) -> A:
        """The answer to *question*, from the store or from its endpoint; *tally* counts along.

        Raises GaveUp (nothing is stored but the attempts; a later command may try again), Stopped,
        BudgetSpent or StoreError.
        """
        gate = self.gates[question.info.endpoint]
        tries: Tries | None = None  # None until the call is ours
        spare: tuple[int, A] | None = None  # a cut-off answer, should the longer one never come
        try:
            while True:
                async with places.place(question.priority), gate.through(question.priority):
                    self._may_send(question)
                    limit = self._limit(question, tries)
                    async with self.budget.reserve(await self._most(question.request, limit)) as reservation:
                        started = await self._start(question, tries)
                        if isinstance(started, _Found):
                            return started.answer
                        if started is not None:
                            tries = started.tries
                            step = await self._attempt(question, started, spare, reservation, tally)
                if started is None:  # another process is buying it
                    await self.pause(POLL)
                    continue
                if step.outcome == CUT_OFF and step.answer is not None:
                    spare = step.answer
                elif step.answer is not None:
                    tries = None  # the claim went with the commit that kept the answer
                    return step.answer[1]
                if step.end is not None:
                    if step.end.reach is Reach.ENDPOINT:
                        self.closed.setdefault(question.info.endpoint, step.end.reason)
                    if step.end.reach is Reach.SUBJECT and question.info.kind == "reply":
                        self.refused.setdefault(question.request.model.hash, step.end.reason)
                    raise step.end
                tally.waiting += 1
                try:
                    await self.pause(step.wait)
                finally:
                    tally.waiting -= 1
        finally:
            if tries is not None:
                give_back = partial(records.release, key=question.info.key, owner=self.owner)
                await asyncio.shield(self.commits.do(give_back))

    async def pause(self, seconds: float) -> None:
        """Sleep; raises Stopped as soon as the command is asked to stop."""
        if seconds > 0 and not self.stopping.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), seconds)
        if self.stopping.is_set():
            raise Stopped("stopped")

    def _may_send(self, question: Question[A]) -> None:
        """Raises where, since *question* began to wait, its answer has become unwanted or out of reach."""
        if self.stopping.is_set():
            raise Stopped("stopped")
        if (reason := self.closed.get(question.info.endpoint)) is not None:
            raise GaveUp(Reach.ENDPOINT, reason)
        if question.info.kind == "reply" and (reason := self.refused.get(question.request.model.hash)) is not None:
            raise GaveUp(Reach.SUBJECT, reason)

    def _limit(self, question: Question[A], tries: Tries | None) -> int:
        """Tokens that this attempt may use; after a cut-off reply twice as many."""
        return question.request.model.max_tokens * (2 if tries is not None and tries.cut_off else 1)

    async def _most(self, request: ChatRequest, limit: int) -> float:
        """Dollars that an attempt can cost at most; where prices are not known, the most it has cost so far."""
        client = self.clients[request.model.endpoint]
        if client.endpoint.free or self.budget.limit is None:
            return 0.0
        try:
            info = await client.info(request.model.model)
        except EndpointUnusable:
            info = None
        characters = sum(len(message.content or "") for message in request.messages) + len(request.schema)
        characters += sum(len(call.arguments) for message in request.messages for call in message.tool_calls)
        most = info.most(200 + characters / CHARACTERS_A_TOKEN, limit) if info else None
        return self.dearest.get(request.model.name, 0.0) if most is None else most

    async def _start(self, question: Question[A], tries: Tries | None) -> _Started | _Found[A] | None:
        """Claim the call if it is not ours yet, and write the attempt down; None while it is somebody else's."""

        def start(connection: Connection) -> _Started | _Found[A] | None:
            mine = tries
            if mine is None:
                answer = question.find(connection)
                if answer is not None:
                    return _Found(answer)
                before = records.claim(connection, question.info, self.owner, self.now())
                if before is None:
                    return None
                mine = Tries(broken=before.broken, cut_off=before.cut_off)
            tokens = self._limit(question, mine)
            attempt = records.begin_attempt(connection, question.info.key, self.owner, tokens, self.now())
            return _Started(attempt, mine)

        return await self.commits.do(start)

    async def _attempt(
        self,
        question: Question[A],
        started: _Started,
        spare: tuple[int, A] | None,
        reservation: Reservation,
        tally: Tally,
    ) -> _Step[A]:
        """Send once, decide what it means, and commit both together."""
        model = question.request.model
        client, gate = self.clients[model.endpoint], self.gates[model.endpoint]
        tally.in_flight += 1
        try:
            outcome = await client.complete(question.request, self._limit(question, started.tries))
        finally:
            tally.in_flight -= 1
        usage = outcome.usage
        if client.endpoint.free:
            usage = replace(usage, cost=0.0)
        if usage.cost is not None:
            reservation.cost = usage.cost
            self.dearest[model.name] = max(self.dearest.get(model.name, 0.0), usage.cost)
        elif isinstance(outcome, Completion) or (outcome.kind in UNSEEN and not outcome.unsent):
            # nobody told what it cost: the budget assumes the most, the books say that it is not known
            reservation.cost = await self._most(question.request, self._limit(question, started.tries))
            tally.unpriced += isinstance(outcome, Completion)
        tally.calls += 1
        tally.cost += usage.cost or 0.0
        tally.prompt_tokens += usage.prompt_tokens or 0
        tally.completion_tokens += usage.completion_tokens or 0

        if isinstance(outcome, Fault) and outcome.kind is Kind.RATE_LIMITED:
            gate.rate_limited(outcome.retry_after)
        elif isinstance(outcome, Completion):
            gate.succeeded()
        step = self._decide(question, outcome, started, spare)
        ended = records.Ended(
            outcome=step.outcome,
            message=step.message,
            usage=usage,
            seconds=outcome.seconds,
            raw=outcome.raw,
            status=outcome.status if isinstance(outcome, Fault) else 200,
            finish_reason=outcome.finish_reason,
            served_model=outcome.served_model,
            served_provider=outcome.served_provider,
            response_id=outcome.response_id,
        )

        def finish(connection: Connection) -> None:
            records.end_attempt(connection, started.attempt, ended, self.now())
            if step.answer is not None and step.outcome != CUT_OFF:
                question.keep(connection, *step.answer, self.now())
                records.release(connection, question.info.key, self.owner)

        await self.commits.do(finish)
        return step

    def _decide(
        self,
        question: Question[A],
        outcome: Completion | Fault,
        started: _Started,
        spare: tuple[int, A] | None,
    ) -> _Step[A]:
        """What one outcome leads to; counts it in the tries."""
        tries = started.tries
        if isinstance(outcome, Completion):
            read = question.read(outcome)
            # even a subject that takes cut-off replies as they are has to have said something
            taken = question.request.model.accept_cut_off and isinstance(read, Good)
            if read.cut_off and not tries.cut_off and not taken:
                tries.cut_off += 1
                return _Step(CUT_OFF, answer=(started.attempt, read.answer) if isinstance(read, Good) else None)
            if isinstance(read, Good):
                return _Step(ANSWERED, answer=(started.attempt, read.answer))
            fault = Fault(Kind.BROKEN, read.reason)
        else:
            fault = outcome
        step: _Step[A] = _Step(fault.kind.value, fault.message)
        try:
            step.wait = next_wait(fault, tries, self.policy, self.draw)
        except GaveUp as end:
            if end.reach is Reach.REPLY:
                step.answer = spare or (started.attempt, question.none(end.reason))
            else:
                step.end = end
        return step
