"""Carries out one call: lease, budget, retries, and every attempt on record.

    look it up; another process's claim: wait for it
    claim it and write down the attempt          (one durable commit, before anything is sent)
    send it, when a slot is free and the rate limiter lets it through
    write down what came of it, with the answer  (one durable commit, before anything uses it)

so a reply that arrived is never lost, one that is stored is never paid for again, and a kill costs
at most the calls in flight. What an answer is, and where it is stored, the `Call` says. What the
ledger writes is batched: each of its operations takes everything that waits for it at once
(`store.group_commit`), so that many calls are looked up, claimed and ended in one commit.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection

from independence_bench.calls.budget import Budget, Prices, Reservation
from independence_bench.calls.call import Accepted, Call, CallState, NextStep, Tally, Wait
from independence_bench.calls.limits import (
    FIRST_REFUSED,
    UNREAD_IN_A_ROW,
    CallSlots,
    Clocks,
    EndpointLimiter,
    GaveUp,
    Reach,
    count_fault_and_compute_wait,
    describe_fault,
    describe_setting_remedy,
    describe_tools_remedy,
)
from independence_bench.errors import BenchError
from independence_bench.hashing import make_sampling_seed
from independence_bench.models.abilities import Abilities, Setting
from independence_bench.models.arrival import list_reply_warnings
from independence_bench.models.client import Client
from independence_bench.models.messages import Completion, Fault, Kind
from independence_bench.models.response import shorten_line
from independence_bench.models.spec import ChatModel
from independence_bench.store import attempts, registry
from independence_bench.store.attempts import ANSWERED, CUT_OFF, EarlierAttempts
from independence_bench.store.group_commit import Commits
from independence_bench.store.owners import LeaseWatch
from independence_bench.store.results import AnswerTable
from independence_bench.store.usage import read_seen_costs
from independence_bench.store.workers import (
    close_endpoint,
    delete_reservations,
    find_others_models_in_flight,
    record_spending,
    store_reservations,
)

A = TypeVar("A")
T = TypeVar("T")

_FREELY = contextlib.nullcontext()
SAID_OF_ALL = (Kind.UNAUTHORIZED, Kind.NO_CREDITS)  # faults that every worker of a job would meet
POLL = 0.5  # seconds between two looks at a call that another process has claimed


class Stopped(BenchError):
    """The command was asked to stop: nothing new is sent."""


# ------------------------------------------------------------ what stands in the store of each call


EndedAttempt = tuple[CallState[Any], int, attempts.Ended, NextStep[Any]]
"""A call, its attempt, how that ended, and what it leads to."""


def _group_by_table(
    items: Iterable[T], table_of: Callable[[T], AnswerTable[Any]]
) -> list[tuple[AnswerTable[Any], list[T]]]:
    groups: dict[AnswerTable[Any], list[T]] = {}
    for item in items:
        groups.setdefault(table_of(item), []).append(item)
    return list(groups.items())


@dataclass(slots=True)
class CallLedger:
    """The ledger of one process, which is *owner*."""

    owner: str
    now: Callable[[], float]  # seconds since 1970
    # of who else works on the store, where no server's clock is everybody's
    watch: LeaseWatch | None = None
    job: str | None = None  # the job that this process works for
    # calls answered by this command: final, whatever came of them
    fresh: set[str] = field(default_factory=set)

    def find_answers_or_load_attempts(
        self, connection: Connection, states: Sequence[CallState[Any]]
    ) -> list[Any]:
        """Return for each call of *states*, in order, the stored answer if it is final, else None.
        A call without a final answer takes over the results of its earlier attempts from the store.
        """
        stored: dict[str, Any] = {}
        for table, group in _group_by_table(states, lambda state: state.call.table):
            stored |= table.find(connection, [state.key for state in group])
        results: list[Any] = []
        for state in states:
            answer = stored.get(state.key)
            final = answer is not None and (state.call.final(answer) or state.key in self.fresh)
            results.append(answer if final else None)
        left = [state for state, result in zip(states, results, strict=True) if result is None]
        keys = [state.key for state in left]
        before = (
            attempts.find_earlier_attempts(connection, keys, set(keys) - stored.keys())
            if left
            else {}
        )
        for state in left:
            state.load_earlier_attempts(
                before.get(state.key, EarlierAttempts()), state.key in stored
            )
        return results

    def start_attempts_or_find_answers(
        self, connection: Connection, states: Sequence[CallState[Any]]
    ) -> list[Any]:
        """Claim the calls of *states* that this process has not claimed yet, and record that an
        attempt at each is about to be sent.

        Returns for each call, in order, the id of its attempt (int); or its answer, if one is
        stored by now; or None, if another process has claimed it or it has to wait for another
        worker's first call of a model.
        """
        now = self.now()
        states, every = self._select_startable(connection, states, now), states
        held = attempts.find_holders(connection, {state.key for state in states})
        # a process that slept beyond its lease may have lost its claims to another: without this
        # both would send
        kept = attempts.find_holders(
            connection, {state.key for state in states if state.ours}, lock=True
        )
        ours = {
            id(c) for c in states if c.ours and c.key in kept and kept[c.key].owner == self.owner
        }
        # two tasks can need the same call: one asks it, the other waits
        asking: dict[str, CallState[Any]] = {}
        for state in states:
            if id(state) not in ours:
                asking.setdefault(state.key, state)
        infos = [state.call.info for state in asking.values()]
        got = attempts.claim_calls(connection, infos, held, self.owner, now, self.watch)
        # a call without a holder was never asked. Looked up after it was claimed, because until
        # then another process could still answer it: then it would be bought twice
        known = [state for state in states if id(state) not in ours and state.key in held]
        limits = [state.token_limit for state in known]
        answers = dict(
            zip(map(id, known), self.find_answers_or_load_attempts(connection, known), strict=True)
        )
        for state in known:
            if (
                state.arrived
                and state.spare is not None
                and asking[state.key] is state
                and state.key in got
            ):
                state.call.table.keep(connection, [(state.key, *state.spare, now)])
                self.fresh.add(state.key)
                answers[id(state)] = state.spare[1]
        answered = {state.key for state in known if answers[id(state)] is not None}
        # what was cut off meanwhile is asked with a larger limit, for which too little is reserved
        larger = {
            state.key
            for state, limit in zip(known, limits, strict=True)
            if state.token_limit > limit
        }
        attempts.release_claims(connection, got & (answered | larger), self.owner)
        got -= answered | larger
        begun = [c for c in states if id(c) in ours or (c.key in got and asking.get(c.key) is c)]
        numbers = attempts.begin_attempts(
            connection, [(state.key, state.token_limit) for state in begun], self.owner, now
        )
        if self.job is not None:
            store_reservations(
                connection,
                self.owner,
                {number: c.most for number, c in zip(numbers, begun, strict=True)},
            )
        by_state = dict(zip(map(id, begun), numbers, strict=True))
        return [by_state.get(id(state), answers.get(id(state))) for state in every]

    def _select_startable(
        self, connection: Connection, states: Sequence[CallState[Any]], now: float
    ) -> Sequence[CallState[Any]]:
        """Return those of *states* whose calls need not wait for other workers of the job. A call
        waits if the cost of its model is not known and, at the same endpoint, another worker has a
        call of a model of unknown cost in flight or has learned such a cost since the state looked.
        """
        unproven = [state.unproven for state in states if state.unproven is not None]
        if self.job is None or not unproven:
            return states
        busy = find_others_models_in_flight(connection, self.owner, self.job, now, self.watch)
        looked = min(known.looked for known in unproven)
        met = busy | read_seen_costs(connection, looked, self.job).shown

        def is_startable(state: CallState[Any]) -> bool:
            return state.unproven is None or all(
                who in state.unproven.shown for who in met if who[0] == state.call.endpoint
            )

        return [state for state in states if is_startable(state)]

    def finish_attempts(
        self, connection: Connection, finished: Sequence[EndedAttempt]
    ) -> list[None]:
        """Record in the store how attempts at calls ended and what they cost, store the answers
        that they gave, and give back the claims on the answered calls; a call that is to be
        repeated keeps its claim. Returns a None for each.
        """
        now = self.now()
        attempts.record_attempt_ends(
            connection, [(attempt, ended) for _, attempt, ended, _ in finished], now
        )
        if self.job is not None:
            record_spending(
                connection, self.owner, sum((step.charge for *_, step in finished), 0.0)
            )
            delete_reservations(connection, [attempt for _, attempt, *_ in finished])
        kept = [
            (state.call.table, (state.key, *step.answer, now))
            for state, _, _, step in finished
            if step.answer is not None and step.outcome != CUT_OFF
        ]
        for table, group in _group_by_table(kept, lambda row: row[0]):
            table.keep(connection, [row for _, row in group])
        # a call that is to be repeated keeps its claim: given back between two attempts, another
        # process would take it
        if keys := [key for _, (key, *_) in kept]:
            attempts.release_claims(connection, keys, self.owner)
            self.fresh.update(keys)  # here, before another task's write can find the claims free
        return [None] * len(finished)

    def delete_unsent_attempt(self, connection: Connection, attempt: int) -> None:
        """Delete the record of the attempt with the id *attempt*, which was never sent, and the
        dollars that were reserved for it.
        """
        attempts.delete_unsent_attempt(connection, attempt)
        if self.job is not None:
            delete_reservations(connection, [attempt])


# ---------------------------------------------------------------- carrying calls out


@dataclass(slots=True)
class Executor:
    """The executor of one command's calls. Clocks and random numbers are arguments, so tests choose
    them.
    """

    commits: Commits
    clients: Mapping[str, Client]
    budget: Budget
    ledger: CallLedger
    clocks: Clocks
    stopping: asyncio.Event  # set: nothing new is sent
    lost: int = 0  # calls that an earlier process left in flight
    # told of each reply that may not be what was asked for
    warn: Callable[[str], None] = lambda _: None
    limiters: dict[str, EndpointLimiter] = field(default_factory=dict)  # endpoint -> its limiter
    # endpoint -> why nothing more is sent to it
    closed: dict[str, str] = field(default_factory=dict)
    # who -> why nothing more is asked of it
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    # who has answered, now or in an earlier command
    served: set[tuple[str, str]] = field(default_factory=set)
    # who -> statuses of refused calls
    refusals: dict[tuple[str, str], list[int | None]] = field(default_factory=dict)
    # settings that a user asked for: a model that cannot have them is stopped
    asked_for: Callable[[ChatModel], Container[Setting]] = lambda _: tuple(Setting)
    # told what has been learned of a model, as soon as it has answered
    learned: Callable[[ChatModel, Abilities], None] = lambda _model, _abilities: None
    stop_to_settle: Callable[[], None] = lambda: None  # lets nothing new begin
    # models that cannot be called as they are, and why: they have to be resolved again
    unsettled: dict[ChatModel, str] = field(default_factory=dict)
    # judge -> its calls that ended in a row with replies that could not be read
    unread: dict[tuple[str, str], int] = field(default_factory=dict)
    # endpoint -> how often it was tried where no chat completions are, and when last
    astray: dict[str, tuple[int, float]] = field(default_factory=dict)
    prices: Prices = field(init=False)

    def __post_init__(self) -> None:
        self.prices = Prices(self.commits, self.clients, self.budget, self.ledger.owner)

    async def execute_call(
        self,
        call: Call[A],
        slots: CallSlots,
        tally: Tally,
        skip_first_lookup: bool = False,
        admit: Callable[[], Awaitable[None]] | None = None,
    ) -> A:
        """Return the answer to *call*, from the store if it is there, else from the model's
        endpoint, with retries. Counts attempts, tokens and dollars in *tally*. *slots* bound how
        many calls of one tested model go out at once.

        *skip_first_lookup*: the call follows from an answer that came just now, so its own answer
        is hardly stored yet, and is looked up only when it is about to be asked. *admit* is awaited
        before a call whose answer is not stored. Raises GaveUp (nothing is stored but the attempts;
        a later command may try again), Stopped, BudgetSpent, StoreError, or what *admit* raises.
        """
        state = CallState(call, tally)
        # looked up before anything is waited for: what is paid already needs no slot and no budget
        stored: A | None = (
            None
            if skip_first_lookup
            else await self.commits.commit_item(self.ledger.find_answers_or_load_attempts, state)
        )
        if stored is not None:
            self.served.add(state.model_hash_and_kind)
            return stored
        if admit is not None:
            await admit()
        limiter = self.limiters[call.endpoint].find_or_make_limiter(call.request.model)
        try:
            while True:
                step = None
                if (
                    limiter.remaining_pause_seconds
                ):  # a call that cannot go out yet takes no slot from its neighbours
                    await self._sleep_before_retry(
                        state, limiter.why, limiter.remaining_pause_seconds
                    )
                alone = (
                    _FREELY
                    if self.budget.limit is None
                    else self.prices.hold_turn_if_unpriced(call.request.model)
                )
                async with slots.preparing.hold_slot(state.priority), alone as state.unproven:
                    if limiter.remaining_pause_seconds:
                        continue
                    self._check_sendable(state)
                    free = self.budget.limit is None or state.arrived
                    state.most = (
                        0.0
                        if free
                        else await self.prices.find_highest_cost(state.request, state.token_limit)
                    )
                    async with self.budget.reserve(state.most) as reservation:
                        self._check_sendable(state)  # the budget may have been waited for
                        started: int | A | None = await self.commits.commit_item(
                            self.ledger.start_attempts_or_find_answers, state
                        )
                        # the attempt is on disk, so a kill from here on is counted
                        if isinstance(started, int):
                            state.ours = True
                            await self.prices.store_list_price(call.request.model)
                            outcome = await self._send_attempt(state, started, slots)
                            step = await self._finish_attempt(state, started, outcome, reservation)
                        elif started is not None:
                            self.served.add(state.model_hash_and_kind)
                            return started
                if step is None:  # another process has claimed it
                    await self.sleep_unless_stopped(POLL)
                    continue
                # asked once more with twice the limit; if that fails, this is the answer
                if step.outcome == CUT_OFF:
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
                        self.refused.setdefault(state.model_hash_and_kind, end.reason)
                    raise end
                await self._sleep_before_retry(
                    state, step.outcome, max(step.wait, limiter.remaining_pause_seconds)
                )
        finally:
            if state.ours:
                await self._commit_despite_cancellation(
                    partial(attempts.release_claims, keys=[call.key], owner=self.ledger.owner)
                )

    async def _commit_despite_cancellation(self, operation: Callable[[Connection], None]) -> None:
        """Run *operation* on the store and wait until it is durable, even if this task is cancelled
        meanwhile.
        """
        doing = asyncio.ensure_future(self.commits.commit_operation(operation))
        # if this task is cancelled while it waits, the error is dropped here: a failed store is
        # reported elsewhere
        doing.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.shield(doing)

    async def _sleep_before_retry(self, state: CallState[A], cause: str, seconds: float) -> None:
        """Sleep for so many *seconds* before the call *state* goes out again, and meanwhile show in
        its tally that it waits, until when, and the *cause*. Raises Stopped if the command is asked
        to stop.
        """
        waits, until = state.tally.waits, self.clocks.clock() + seconds
        if seconds > 0:
            waits[state.key] = Wait(state.call.request.model.model, cause, until)
        try:
            await self.sleep_unless_stopped(seconds)
        finally:
            waits.pop(state.key, None)

    async def sleep_unless_stopped(self, seconds: float) -> None:
        """Sleep for so many *seconds*; raises Stopped as soon as the command is asked to stop."""
        if seconds > 0 and not self.stopping.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), seconds)
        if self.stopping.is_set():
            raise Stopped("stopped")

    def _check_sendable(self, state: CallState[A]) -> None:
        """Raise Stopped if the command was asked to stop, or GaveUp if nothing more is sent to the
        endpoint, or asked of the model, of the call *state*.
        """
        if self.stopping.is_set():
            raise Stopped("stopped")
        if (reason := self.closed.get(state.call.endpoint)) is not None:
            raise GaveUp(Reach.ENDPOINT, reason)
        if self.refused and (reason := self.refused.get(state.model_hash_and_kind)) is not None:
            raise GaveUp(Reach.MODEL, reason)

    async def _send_attempt(
        self, state: CallState[A], attempt: int, slots: CallSlots
    ) -> Completion | Fault:
        """Send the attempt with the id *attempt* at the call *state*, as soon as a slot is free and
        the rate limiter lets it through, and return the model's completion or what went wrong. If
        it cannot be sent any more, delete its record and raise the error.
        """
        call, tally, limit = state.call, state.tally, state.token_limit
        limiter = self.limiters[call.endpoint].find_or_make_limiter(call.request.model)
        client, sent = self.clients[call.endpoint], False
        try:
            async with slots.sending.hold_slot(state.priority), limiter.hold_slot(state.priority):
                self._check_sendable(state)
                sent = True
                tally.in_flight += 1
                try:
                    outcome = await client.complete(
                        state.request,
                        limit,
                        make_sampling_seed(call.key, state.counts.broken)
                        if client.endpoint.ours
                        else 0,
                    )
                finally:
                    tally.in_flight -= 1
                # what kept the call waiting while others of its model were served was the queue
                state.counts.record_other_call_served(limiter.served_at)
                if isinstance(outcome, Completion):
                    limiter.record_success()
                elif (
                    outcome.kind is Kind.RATE_LIMITED
                    and (outcome.retry_after or 0.0) <= self.clocks.policy.patience
                ):
                    limiter.record_rate_limit(outcome.retry_after)
                return outcome
        except BaseException:
            if not sent:
                await self._commit_despite_cancellation(
                    partial(self.ledger.delete_unsent_attempt, attempt=attempt)
                )
            raise

    async def _finish_attempt(
        self,
        state: CallState[A],
        attempt: int,
        outcome: Completion | Fault,
        reservation: Reservation,
    ) -> NextStep[A]:
        """Decide what follows from the *outcome* of an attempt at the call *state*, store both in
        one commit, and return what follows: an answer, an end, or another attempt. Counts the
        attempt's tokens and dollars in the call's tally, and sets the cost of *reservation*.
        """
        call, tally = state.call, state.tally
        usage = await self.prices.correct_usage(call.request.model, outcome.usage)
        reservation.cost = await self.prices.compute_and_note_charge(
            state, outcome, usage, self.closed
        )
        tally.calls += 1
        tally.cost += usage.cost or 0.0
        tally.prompt_tokens += usage.prompt_tokens or 0
        tally.completion_tokens += usage.completion_tokens or 0
        if isinstance(outcome, Completion):
            client = self.clients[call.endpoint]
            for warning in list_reply_warnings(
                state.request, outcome, client.arrivals, client.endpoint.free
            ):
                self.warn(warning)
            model = call.request.model.model
            if (news := client.pop_learned_abilities(model)) is not None:
                keep = partial(
                    registry.store_abilities, endpoint=call.endpoint, model=model, abilities=news
                )
                await self.commits.commit_operation(partial(keep, now=self.ledger.now()))
                self.learned(call.request.model, news)
        step = self._decide_next_step(state, outcome, attempt)
        step.charge = reservation.cost
        if isinstance(outcome, Fault) and outcome.kind in SAID_OF_ALL and step.end is not None:
            endpoint, reason = call.endpoint, step.end.reason
            job = self.ledger.job
            if job is not None and endpoint not in self.closed:  # once, for the job's other workers
                self.closed[endpoint] = reason
                await self.commits.commit_operation(
                    partial(
                        close_endpoint,
                        job=job,
                        endpoint=endpoint,
                        reason=reason,
                        now=self.ledger.now(),
                    )
                )
        status = outcome.status if isinstance(outcome, Fault) else 200
        ended = attempts.Ended(
            step.outcome, step.message, status=status, **outcome.list_facts() | {"usage": usage}
        )
        await self.commits.commit_item(self.ledger.finish_attempts, (state, attempt, ended, step))
        return step

    def _decide_next_step(
        self, state: CallState[A], outcome: Completion | Fault, attempt: int
    ) -> NextStep[A]:
        """Return what follows from the *outcome* of one attempt at the call *state*: an answer to
        keep, an end, or another attempt after a wait. Counts the outcome among the call's failed
        and cut-off attempts.
        """
        call, counts = state.call, state.counts
        if isinstance(outcome, Completion):
            self.served.add(state.model_hash_and_kind)
            read = call.read(outcome)
            # even a subject that takes cut-off replies as they are has to have said something
            taken = call.request.model.accept_cut_off and isinstance(read, Accepted)
            if read.cut_off and not counts.cut_off and not taken:
                counts.cut_off += 1
                return NextStep(
                    CUT_OFF, answer=(attempt, read.answer) if isinstance(read, Accepted) else None
                )
            if isinstance(read, Accepted):
                self.unread.pop(state.model_hash_and_kind, None)
                return NextStep(ANSWERED, answer=(attempt, read.answer))
            fault = Fault(Kind.BROKEN, read.reason)
            if read.cut_off:
                why = f"{read.reason}, even with {state.token_limit} tokens"
                self._count_unread_judgement(state, outcome, why)
                return NextStep(fault.kind.value, why, state.spare or (attempt, call.none(why)))
            if call.again is not None:
                state.request = call.again(outcome, read.reason)
        else:
            fault = outcome
        if fault.kind is Kind.WRONG_ADDRESS and state.model_hash_and_kind in self.served:
            fault = replace(fault, kind=Kind.UNAVAILABLE)  # a page that says so of an outage
        step: NextStep[A] = NextStep(fault.kind.value, fault.message)
        if (
            isinstance(outcome, Fault)
            and outcome.unsent
            and self.clients[call.endpoint].endpoint.ours
        ):
            step.end = GaveUp(
                Reach.ENDPOINT,
                "the embedded model's server has ended; the same command starts it again",
            )
            return step
        try:
            step.wait = count_fault_and_compute_wait(
                fault, counts, self.clocks.policy, self.clocks.draw, self.clocks.clock()
            )
            if fault.kind is Kind.WRONG_ADDRESS:
                self._count_wrong_address(state, fault, step.wait)
        except GaveUp as end:
            step.end = self._determine_reach(state, fault, end)
            if step.end.reach is Reach.REPLY:
                step.end, step.answer = None, state.spare or (attempt, call.none(end.reason))
                if isinstance(outcome, Completion):
                    self._count_unread_judgement(state, outcome, end.reason)
        if call.again is not None and isinstance(outcome, Completion) and not outcome.filtered:
            step.wait = 0.0  # the endpoint is well, and what is asked next is something else
        return step

    def _count_unread_judgement(self, state: CallState[A], last: Completion, why: str) -> None:
        """Count a call to a judge that ended without an answer that could be read. *last*: its last
        completion; *why*: what was wrong. After ten such calls in a row nothing more is asked of
        that judge. Does nothing if the call is not a judge's.
        """
        if state.call.again is None or state.spare is not None:
            return
        self.unread[state.model_hash_and_kind] = self.unread.get(state.model_hash_and_kind, 0) + 1
        if self.unread[state.model_hash_and_kind] >= UNREAD_IN_A_ROW:
            said = last.content or "".join(call.arguments for call in last.tool_calls)
            example = f"“{shorten_line(said, 100)}”" if said.strip() else "no text at all"
            larger = (
                f", or raise max_tokens of its judge ({state.request.model.max_tokens}) in a copy "
                "of the protocol"
                if last.cut_off
                else ""
            )
            self.refused.setdefault(
                state.model_hash_and_kind,
                f"{state.request.model.name} is stopped, for {UNREAD_IN_A_ROW} of its judgements "
                f"in a row could not be read: {why}; its last answer: {example}; use another judge "
                f"(-j MODEL){larger}",
            )

    def _count_wrong_address(self, state: CallState[A], fault: Fault, wait: float) -> None:
        """Count that the endpoint answered with *fault*, something other than chat completions, and
        hold the calls of the model back for *wait* seconds. Calls that were sent together count
        once. Raises GaveUp, which ends all calls to the endpoint, once it was tried often enough.
        """
        endpoint, now = state.call.endpoint, self.clocks.clock()
        tries, last = self.astray.get(endpoint, (0, -math.inf))
        if now - fault.seconds >= last:
            tries, last = tries + 1, now
        self.astray[endpoint] = tries, last
        if tries >= self.clocks.policy.broken:
            raise GaveUp(Reach.ENDPOINT, f"{describe_fault(fault)} ({tries} tries)")
        self.limiters[endpoint].find_or_make_limiter(state.call.request.model).delay_calls(
            wait, fault.kind.value
        )

    def _determine_reach(self, state: CallState[A], fault: Fault, end: GaveUp) -> GaveUp:
        """Return *end*, the error that ends the call *state* after *fault*, with the reach that
        this command's other calls show: all calls of the model if a setting or tools are refused or
        its first calls all were, only this reply if a doubled token limit was refused; else *end*
        as it is.
        """
        variable = self.clients[state.call.endpoint].endpoint.key_variable
        if fault.kind is Kind.UNAUTHORIZED and variable is not None:
            return GaveUp(end.reach, f"{end.reason}; its key is read from {variable}")
        if fault.kind is not Kind.BAD_REQUEST:
            return end
        if state.counts.cut_off and end.reach is Reach.CALL:
            # the doubled limit was too much, not the subject
            return GaveUp(Reach.REPLY, end.reason)
        if state.model_hash_and_kind in self.served:
            return end  # this conversation, too long perhaps; there were others that it could do
        if fault.unset is not None:
            model = state.call.request.model
            if fault.unset in self.asked_for(model):
                abilities = self.clients[model.endpoint].find_abilities(model.model)
                instead = describe_setting_remedy(fault.unset, abilities.efforts)
                return GaveUp(Reach.MODEL, f"{end.reason}; {instead}")
            self.unsettled.setdefault(model, end.reason)
            self.stop_to_settle()  # what is in flight is stored; then all of it is planned anew
            return GaveUp(Reach.MODEL, end.reason)
        if state.call.request.tools and (way := describe_tools_remedy(fault.message)) is not None:
            return GaveUp(Reach.MODEL, f"{end.reason}; {way}")
        refused = self.refusals.setdefault(state.model_hash_and_kind, [])
        refused.append(fault.status)
        if len(refused) >= FIRST_REFUSED and len(set(refused)) == 1:
            return GaveUp(Reach.MODEL, end.reason)
        return end
