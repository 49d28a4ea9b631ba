"""Carries out one call: lease, budget, retries, and every attempt on record.

    look it up; another process's claim: wait for it
    claim it and write down the attempt          (one durable commit, before anything is sent)
    send it, when a slot is free and the rate limiter lets it through
    write down what came of it, with the answer  (one durable commit, before anything uses it)

so a reply that arrived is never lost, one that is stored is never paid for again, and a kill costs at most the
calls in flight. What an answer is, and where it is stored, the `Call` says.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection

from independence_bench.calls.budget import Budget, Prices, Reservation
from independence_bench.calls.call import Accepted, Call, CallLedger, CallState, NextStep, Tally
from independence_bench.calls.limits import (
    FIRST_REFUSED,
    CallSlots,
    Clocks,
    GaveUp,
    RateLimiter,
    Reach,
    next_wait,
    unfit,
)
from independence_bench.errors import BenchError
from independence_bench.hashing import drawing_seed
from independence_bench.models.client import Client
from independence_bench.models.messages import Completion, Fault, Kind
from independence_bench.store import attempts
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.store.group_commit import Commits
from independence_bench.store.workers import close

A = TypeVar("A")

_FREELY = contextlib.nullcontext()
SAID_OF_ALL = (Kind.UNAUTHORIZED, Kind.NO_CREDITS)  # faults that every worker of a job would meet
POLL = 0.5  # seconds between two looks at a call that another process has claimed


class Stopped(BenchError):
    """The command was asked to stop: nothing new is sent."""


@dataclass(slots=True)
class Executor:
    """Carries out the calls of one command. Clocks and random numbers are arguments, so tests choose them."""

    commits: Commits
    clients: Mapping[str, Client]
    budget: Budget
    ledger: CallLedger
    clocks: Clocks
    stopping: asyncio.Event  # set: nothing new is sent
    lost: int = 0  # calls that an earlier process left in flight
    limiters: dict[str, RateLimiter] = field(default_factory=dict)  # by endpoint
    closed: dict[str, str] = field(default_factory=dict)  # endpoint -> why nothing more is sent to it
    refused: dict[tuple[str, str], str] = field(default_factory=dict)  # who -> why nothing more is asked of it
    served: set[tuple[str, str]] = field(default_factory=set)  # who has answered, now or in an earlier command
    refusals: dict[tuple[str, str], list[int | None]] = field(default_factory=dict)  # who -> statuses of refused calls
    prices: Prices = field(init=False)

    def __post_init__(self) -> None:
        self.prices = Prices(self.commits, self.clients, self.budget, self.ledger.owner)

    async def execute(self, call: Call[A], slots: CallSlots, tally: Tally, new: bool = False) -> A:
        """The answer to *call*, from the store or from its endpoint; *tally* counts along.

        *new*: it follows from an answer that came just now, so it is hardly stored yet, and is looked up only
        when it is about to be asked.
        Raises GaveUp (nothing is stored but the attempts; a later command may try again), Stopped,
        BudgetSpent or StoreError.
        """
        state = CallState(call, tally)
        # looked up before anything is waited for: what is paid already needs no slot and no budget
        stored: A | None = None if new else await self.commits.add(self.ledger.look_up, state)
        if stored is not None:
            self.served.add(state.who)
            return stored
        try:
            while True:
                step = None
                alone = _FREELY if self.budget.limit is None else self.prices.one_at_a_time(call.request.model)
                async with slots.preparing.hold(call.priority), alone:
                    self._may_send(state)
                    free = self.budget.limit is None or state.arrived
                    state.most = 0.0 if free else await self.prices.most(call.request, state.limit)
                    async with self.budget.reserve(state.most) as reservation:
                        self._may_send(state)  # the budget may have been waited for
                        started: int | A | None = await self.commits.add(self.ledger.start, state)
                        if isinstance(started, int):  # the attempt is on disk, so a kill from here on is counted
                            state.ours = True
                            await self.prices.keep(call.request.model)
                            outcome = await self._send(state, started, slots)
                            step = await self._finish(state, started, outcome, reservation)
                        elif started is not None:
                            self.served.add(state.who)
                            return started
                if step is None:  # another process has claimed it
                    await self.pause(POLL)
                    continue
                if step.outcome == CUT_OFF:  # asked once more with twice the limit; if that fails, this is the answer
                    state.spare = step.answer or state.spare
                    continue
                if step.answer is not None:
                    state.ours = False  # the claim went with the commit that kept the answer
                    tally.answered += 1
                    return step.answer[1]
                if (end := step.end) is not None:
                    if end.reach is Reach.ENDPOINT:
                        self.closed.setdefault(call.endpoint, end.reason)
                    if end.reach is Reach.MODEL:
                        self.refused.setdefault(state.who, end.reason)
                    raise end
                tally.waiting += 1
                try:
                    await self.pause(step.wait)
                finally:
                    tally.waiting -= 1
        finally:
            if state.ours:
                await self._surely(partial(attempts.release, keys=[call.key], owner=self.ledger.owner))

    async def _surely(self, operation: Callable[[Connection], None]) -> None:
        """Carry *operation* out, even if this task is being cancelled."""
        doing = asyncio.ensure_future(self.commits.do(operation))
        # if this task is cancelled while it waits, the error is dropped here: a failed store is reported elsewhere
        doing.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.shield(doing)

    async def pause(self, seconds: float) -> None:
        """Sleep; raises Stopped as soon as the command is asked to stop."""
        if seconds > 0 and not self.stopping.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), seconds)
        if self.stopping.is_set():
            raise Stopped("stopped")

    def _may_send(self, state: CallState[A]) -> None:
        """Raises where, since the call began to wait, its answer has become unwanted or out of reach."""
        if self.stopping.is_set():
            raise Stopped("stopped")
        if (reason := self.closed.get(state.call.endpoint)) is not None:
            raise GaveUp(Reach.ENDPOINT, reason)
        if self.refused and (reason := self.refused.get(state.who)) is not None:
            raise GaveUp(Reach.MODEL, reason)

    async def _send(self, state: CallState[A], attempt: int, slots: CallSlots) -> Completion | Fault:
        """Send once, when a slot is free and the rate limiter lets it through. What is not sent was no attempt."""
        call, tally, limit = state.call, state.tally, state.limit
        limiter, client = self.limiters[call.endpoint], self.clients[call.endpoint]
        sent = False
        try:
            async with slots.sending.hold(call.priority), limiter.hold(call.priority):
                self._may_send(state)
                sent = True
                tally.in_flight += 1
                try:
                    outcome = await client.complete(
                        call.request, limit, drawing_seed(call.key, state.counts.broken) if client.endpoint.ours else 0
                    )
                finally:
                    tally.in_flight -= 1
                # what kept the call waiting while others were served was the queue, not the endpoint
                state.counts.served(limiter.served_at)
                if isinstance(outcome, Completion):
                    limiter.succeeded()
                elif outcome.kind is Kind.RATE_LIMITED and (outcome.retry_after or 0.0) <= self.clocks.policy.patience:
                    limiter.rate_limited(outcome.retry_after)
                return outcome
        except BaseException:
            if not sent:
                await self._surely(partial(self.ledger.withdraw, attempt=attempt))
            raise

    async def _finish(
        self, state: CallState[A], attempt: int, outcome: Completion | Fault, reservation: Reservation
    ) -> NextStep[A]:
        """Decide what an outcome means, and commit both together."""
        call, tally = state.call, state.tally
        model = call.request.model
        client = self.clients[model.endpoint]
        usage = replace(outcome.usage, cost=0.0) if client.endpoint.free else outcome.usage
        reservation.cost = await self.prices.charge(state, outcome, usage, self.closed)
        tally.calls += 1
        tally.cost += usage.cost or 0.0
        tally.prompt_tokens += usage.prompt_tokens or 0
        tally.completion_tokens += usage.completion_tokens or 0
        step = self._decide(state, outcome, attempt)
        step.charge = reservation.cost
        if isinstance(outcome, Fault) and outcome.kind in SAID_OF_ALL and step.end is not None:
            endpoint, reason = call.endpoint, step.end.reason
            job = self.ledger.job
            if job is not None and endpoint not in self.closed:  # once, for the job's other workers
                self.closed[endpoint] = reason
                await self.commits.do(partial(close, job=job, endpoint=endpoint, reason=reason, now=self.ledger.now()))
        status = outcome.status if isinstance(outcome, Fault) else 200
        ended = attempts.Ended(step.outcome, step.message, status=status, **outcome.facts() | {"usage": usage})
        await self.commits.add(self.ledger.finish, (state, attempt, ended, step))
        return step

    def _decide(self, state: CallState[A], outcome: Completion | Fault, attempt: int) -> NextStep[A]:
        """What one outcome leads to; counts it among the attempts."""
        call, counts = state.call, state.counts
        if isinstance(outcome, Completion):
            self.served.add(state.who)
            read = call.read(outcome)
            # even a subject that takes cut-off replies as they are has to have said something
            taken = call.request.model.accept_cut_off and isinstance(read, Accepted)
            if read.cut_off and not counts.cut_off and not taken:
                counts.cut_off += 1
                return NextStep(CUT_OFF, answer=(attempt, read.answer) if isinstance(read, Accepted) else None)
            if isinstance(read, Accepted):
                return NextStep(ANSWERED, answer=(attempt, read.answer))
            fault = Fault(Kind.BROKEN, read.reason)
            if read.cut_off:
                why = f"{read.reason}, even with {state.limit} tokens"
                return NextStep(fault.kind.value, why, state.spare or (attempt, call.none(why)))
        else:
            fault = outcome
        step: NextStep[A] = NextStep(fault.kind.value, fault.message)
        if isinstance(outcome, Fault) and outcome.unsent and self.clients[call.endpoint].endpoint.ours:
            step.end = GaveUp(Reach.ENDPOINT, "the embedded model's server has ended; the same command starts it again")
            return step
        try:
            step.wait = next_wait(fault, counts, self.clocks.policy, self.clocks.draw, self.clocks.clock())
        except GaveUp as end:
            step.end = self._end(state, fault, end)
            if step.end.reach is Reach.REPLY:
                step.end, step.answer = None, state.spare or (attempt, call.none(end.reason))
        return step

    def _end(self, state: CallState[A], fault: Fault, end: GaveUp) -> GaveUp:
        """How far the end of one call reaches where its circumstances say more than the policy."""
        if fault.kind is not Kind.BAD_REQUEST:
            return end
        if state.counts.cut_off:
            return GaveUp(Reach.REPLY, end.reason)  # the doubled limit was too much, not the subject
        if state.who in self.served:
            return end  # this conversation, too long perhaps; there were others that it could do
        if state.call.kind == "reply" and (instead := unfit(fault, state.call.request.model)) is not None:
            return GaveUp(Reach.MODEL, f"{end.reason}; {instead}")
        refused = self.refusals.setdefault(state.who, [])
        refused.append(fault.status)
        if len(refused) >= FIRST_REFUSED and len(set(refused)) == 1:
            return GaveUp(Reach.MODEL, end.reason)
        return end
