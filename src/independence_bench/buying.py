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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection

from independence_bench.budget import Budget, Reservation
from independence_bench.chat import ChatRequest, Completion, Fault, Kind, Usage
from independence_bench.completion import read_completion
from independence_bench.endpoint import Client
from independence_bench.errors import BenchError
from independence_bench.retry import GaveUp, Policy, Reach, Tries, next_wait
from independence_bench.store import calls
from independence_bench.store.calls import ANSWERED, CUT_OFF, CallInfo, Tried
from independence_bench.store.commits import Commits
from independence_bench.store.records import Shelf
from independence_bench.subject import ChatModel
from independence_bench.throttle import Gate, Places

A = TypeVar("A")
T = TypeVar("T")

CHARACTERS_A_TOKEN = 2.5  # fewer than in English prose, so that a reservation is rather too large
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
    """One thing to buy, and what to make of what comes."""

    info: CallInfo
    request: ChatRequest
    shelf: Shelf[A]  # where the answer is kept
    final: Callable[[A], bool]  # False: a stored answer like that is asked for again
    read: Callable[[Completion], Good[A] | Bad]
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
class _Found(Generic[A]):
    """Somebody has bought it already."""

    answer: A


@dataclass(slots=True)
class _Case(Generic[A]):
    """One question at work."""

    question: Question[A]
    tally: Tally
    tries: Tries = field(default_factory=Tries)
    spare: tuple[int, A] | None = None  # a cut-off answer and its attempt, should the longer one never come
    ours: bool = False  # the call is claimed

    @property
    def key(self) -> str:
        """What the question is stored under."""
        return self.question.info.key

    @property
    def limit(self) -> int:
        """Tokens that the next attempt may use; after a cut-off reply twice as many."""
        return self.question.request.model.max_tokens * (2 if self.tries.cut_off else 1)

    @property
    def who(self) -> tuple[str, str]:
        """The model and what it is wanted for: what a refusal is remembered by."""
        return self.question.request.model.hash, self.question.info.kind

    def recall(self, before: Tried, answered: bool) -> None:
        """Go on where earlier attempts stopped; *answered*: with an answer that is not final."""
        # what is asked for again after a final no starts from the beginning
        self.tries = Tries(broken=0 if answered else before.broken, cut_off=before.cut_off)
        if before.spare is not None:
            attempt, raw = before.spare
            completion = read_completion(raw.encode("utf-8", "surrogatepass"), 200, None)
            read = self.question.read(completion) if isinstance(completion, Completion) else None
            self.spare = (attempt, read.answer) if isinstance(read, Good) else None


@dataclass(slots=True)
class _Step(Generic[A]):
    """What one attempt leads to: an answer to keep (of which attempt), an end, or another try after a wait."""

    outcome: str
    message: str = ""
    answer: tuple[int, A] | None = None
    end: GaveUp | None = None
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class _Finished(Generic[A]):
    """An attempt that has ended, and what it led to."""

    case: _Case[A]
    attempt: int
    ended: calls.Ended
    step: _Step[A]


def _by_shelf(items: Iterable[T], shelf_of: Callable[[T], Shelf[Any]]) -> list[tuple[Shelf[Any], list[T]]]:
    groups: dict[Shelf[Any], list[T]] = {}
    for item in items:
        groups.setdefault(shelf_of(item), []).append(item)
    return list(groups.items())


@dataclass(slots=True)
class Buyer:
    """Buys for one command. Clocks and random numbers are arguments, so tests choose them."""

    commits: Commits
    clients: Mapping[str, Client]
    gates: Mapping[str, Gate]
    budget: Budget
    owner: str
    now: Callable[[], float]  # seconds since 1970
    clock: Callable[[], float]  # monotonic seconds
    draw: Callable[[], float]  # random numbers in [0, 1)
    stopping: asyncio.Event  # set: nothing new is sent
    policy: Policy = field(default_factory=Policy)
    closed: dict[str, str] = field(default_factory=dict)  # endpoint -> why nothing more is sent to it
    refused: dict[tuple[str, str], str] = field(default_factory=dict)  # who -> why nothing more is asked of it
    dearest: dict[str, float] = field(default_factory=dict)  # model -> highest cost seen, in dollars
    fresh: set[str] = field(default_factory=set)  # calls answered by this command: final, whatever came of them

    async def buy(self, question: Question[A], places: Places, tally: Tally) -> A:
        """The answer to *question*, from the store or from its endpoint; *tally* counts along.

        Raises GaveUp (nothing is stored but the attempts; a later command may try again), Stopped,
        BudgetSpent or StoreError.
        """
        case = _Case(question, tally)
        gate = self.gates[question.info.endpoint]
        # looked up before anything is waited for: what is paid already needs no place and no budget
        found: _Found[A] | None = await self.commits.add(self._look_up, case)
        if found is not None:
            return found.answer
        try:
            while True:
                step = None
                async with places.place(question.priority), gate.through(question.priority):
                    self._may_send(case)
                    async with self.budget.reserve(await self._most(question.request, case.limit)) as reservation:
                        self._may_send(case)  # the budget may have been waited for
                        started: int | _Found[A] | None = await self.commits.add(self._start, case)
                        if isinstance(started, _Found):
                            return started.answer
                        if started is not None:
                            case.ours = True
                            step = await self._attempt(case, started, reservation)
                if step is None:  # another process is buying it
                    await self.pause(POLL)
                    continue
                if step.outcome == CUT_OFF:
                    case.spare = step.answer or case.spare
                    continue
                if step.answer is not None:
                    case.ours = False  # the claim went with the commit that kept the answer
                    return step.answer[1]
                if step.end is not None:
                    self._remember(case, step.end)
                    raise step.end
                tally.waiting += 1
                try:
                    await self.pause(step.wait)
                finally:
                    tally.waiting -= 1
        finally:
            if case.ours:
                give_back = partial(calls.release, keys=[question.info.key], owner=self.owner)
                giving_back = asyncio.ensure_future(self.commits.do(give_back))
                # cancelled while it waits, nobody would hear that it failed: the store's failure is said elsewhere
                giving_back.add_done_callback(lambda done: done.cancelled() or done.exception())
                await asyncio.shield(giving_back)

    async def pause(self, seconds: float) -> None:
        """Sleep; raises Stopped as soon as the command is asked to stop."""
        if seconds > 0 and not self.stopping.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), seconds)
        if self.stopping.is_set():
            raise Stopped("stopped")

    def _may_send(self, case: _Case[A]) -> None:
        """Raises where, since the question began to wait, its answer has become unwanted or out of reach."""
        if self.stopping.is_set():
            raise Stopped("stopped")
        if (reason := self.closed.get(case.question.info.endpoint)) is not None:
            raise GaveUp(Reach.ENDPOINT, reason)
        if (reason := self.refused.get(case.who)) is not None:
            raise GaveUp(Reach.MODEL, reason)

    def _remember(self, case: _Case[A], end: GaveUp) -> None:
        """What *end* puts an end to, beyond this call."""
        if end.reach is Reach.ENDPOINT:
            self.closed.setdefault(case.question.info.endpoint, end.reason)
        if end.reach is Reach.MODEL:
            self.refused.setdefault(case.who, end.reason)

    async def _most(self, request: ChatRequest, limit: int) -> float:
        """Dollars that an attempt can cost at most; where prices are not known, the most it has cost so far."""
        client = self.clients[request.model.endpoint]
        if client.endpoint.free or self.budget.limit is None:
            return 0.0
        info = await client.info(request.model.model)
        characters = sum(len(message.content or "") for message in request.messages) + len(request.schema)
        characters += sum(len(call.arguments) for message in request.messages for call in message.tool_calls)
        most = info.most(200 + characters / CHARACTERS_A_TOKEN, limit)
        return self.dearest.get(request.model.name, 0.0) if most is None else most

    # ------------------------------------------------ what is done for many questions at once, in one commit

    def _look_up(self, connection: Connection, cases: Sequence[_Case[Any]]) -> list[_Found[Any] | None]:
        """The stored answers that are final; for the others, what was tried before is taken into account."""
        found: dict[str, Any] = {}
        for shelf, group in _by_shelf(cases, lambda case: case.question.shelf):
            found |= shelf.find(connection, [case.key for case in group])
        results = [self._final(case, found.get(case.key)) for case in cases]
        left = [case for case, result in zip(cases, results, strict=True) if result is None]
        before = calls.tried(connection, [case.key for case in left]) if left else {}
        for case in left:
            case.recall(before.get(case.key, Tried()), case.key in found)
        return results

    def _final(self, case: _Case[A], answer: A | None) -> _Found[A] | None:
        final = answer is not None and (case.question.final(answer) or case.key in self.fresh)
        return _Found(answer) if final and answer is not None else None

    def _start(self, connection: Connection, cases: Sequence[_Case[Any]]) -> list[int | _Found[Any] | None]:
        """Claim the calls that are not ours yet, and write attempts down; None for what somebody else is at."""
        unclaimed = [case for case in cases if not case.ours]
        answers = dict(zip(map(id, unclaimed), self._look_up(connection, unclaimed), strict=True))
        # two tasks can have the same question: one asks it, the other waits
        asking: dict[str, _Case[Any]] = {}
        for case in unclaimed:
            if answers[id(case)] is None:
                asking.setdefault(case.key, case)
        got = calls.claim(connection, [case.question.info for case in asking.values()], self.owner, self.now())
        begun = [case for case in cases if case.ours or (case.key in got and asking.get(case.key) is case)]
        numbers = calls.begin_attempts(connection, [(c.key, c.limit) for c in begun], self.owner, self.now())
        attempts = dict(zip(map(id, begun), numbers, strict=True))
        return [attempts.get(id(case), answers.get(id(case))) for case in cases]

    def _finish(self, connection: Connection, finished: Sequence[_Finished[Any]]) -> list[None]:
        """Write down how attempts ended, with the answers that they gave, and give those claims back."""
        now = self.now()
        calls.end_attempts(connection, [(one.attempt, one.ended) for one in finished], now)
        kept = [
            (one.case.question.shelf, (one.case.key, *one.step.answer, now))
            for one in finished
            if one.step.answer is not None and one.step.outcome != CUT_OFF
        ]
        for shelf, group in _by_shelf(kept, lambda one: one[0]):
            shelf.keep(connection, [row for _, row in group])
        if keys := [key for _, (key, *_) in kept]:
            calls.release(connection, keys, self.owner)
            self.fresh.update(keys)  # here, before another task's write can find the claims free
        return [None] * len(finished)

    async def _attempt(self, case: _Case[A], attempt: int, reservation: Reservation) -> _Step[A]:
        """Send once, decide what it means, and commit both together."""
        question, tally = case.question, case.tally
        model, limit = question.request.model, case.limit
        client, gate = self.clients[model.endpoint], self.gates[model.endpoint]
        tally.in_flight += 1
        try:
            outcome = await client.complete(question.request, limit)
        finally:
            tally.in_flight -= 1
        usage = replace(outcome.usage, cost=0.0) if client.endpoint.free else outcome.usage
        reservation.cost = await self._charge(case, outcome, usage, limit)
        tally.calls += 1
        tally.cost += usage.cost or 0.0
        tally.prompt_tokens += usage.prompt_tokens or 0
        tally.completion_tokens += usage.completion_tokens or 0
        step = self._decide(case, outcome, attempt)
        if isinstance(outcome, Completion):
            gate.succeeded()
        elif outcome.kind is Kind.RATE_LIMITED and step.end is None:
            gate.rate_limited(outcome.retry_after)
        ended = calls.Ended(
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

        await self.commits.add(self._finish, _Finished(case, attempt, ended, step))
        return step

    async def _charge(self, case: _Case[A], outcome: Completion | Fault, usage: Usage, limit: int) -> float:
        """What the budget counts for an attempt, in dollars: what it cost, or the most where nobody told.

        The books (`Usage.cost`, the tally) keep to what was told.
        """
        model = case.question.request.model
        if usage.cost is not None:
            self.dearest[model.name] = max(self.dearest.get(model.name, 0.0), usage.cost)
            return usage.cost
        answered = isinstance(outcome, Completion)
        if isinstance(outcome, Fault) and not _may_be_charged(outcome):
            return 0.0
        case.tally.unpriced += answered
        most = await self._most(case.question.request, limit)
        served = answered or (isinstance(outcome, Fault) and outcome.status == 200)
        if served and self.budget.limit is not None and most == 0.0 and not await self._priced(model):
            self.closed.setdefault(
                model.endpoint,
                f"{model.name} tells neither prices nor costs, so --budget cannot bound it; leave --budget out, or "
                "say `free: true` for its endpoint in models.yaml",
            )
        return most

    async def _priced(self, model: ChatModel) -> bool:
        """Whether the endpoint tells what *model* costs, be it nothing."""
        info = await self.clients[model.endpoint].info(model.model)
        return info.most(1, 1) is not None

    def _decide(self, case: _Case[A], outcome: Completion | Fault, attempt: int) -> _Step[A]:
        """What one outcome leads to; counts it in the tries."""
        question, tries = case.question, case.tries
        if isinstance(outcome, Completion):
            read = question.read(outcome)
            # even a subject that takes cut-off replies as they are has to have said something
            taken = question.request.model.accept_cut_off and isinstance(read, Good)
            if read.cut_off and not tries.cut_off and not taken:
                tries.cut_off += 1
                return _Step(CUT_OFF, answer=(attempt, read.answer) if isinstance(read, Good) else None)
            if isinstance(read, Good):
                return _Step(ANSWERED, answer=(attempt, read.answer))
            fault = Fault(Kind.BROKEN, read.reason)
            if read.cut_off:
                why = f"{read.reason}, even with {case.limit} tokens"
                return _Step(fault.kind.value, why, case.spare or (attempt, question.none(why)))
        else:
            fault = outcome
        step: _Step[A] = _Step(fault.kind.value, fault.message)
        if isinstance(outcome, Fault) and outcome.unsent and self.clients[question.info.endpoint].endpoint.ours:
            step.end = GaveUp(Reach.ENDPOINT, "the embedded model's server has ended; the same command starts it again")
            return step
        try:
            step.wait = next_wait(fault, tries, self.policy, self.draw, self.clock())
        except GaveUp as end:
            step.end = self._end(case, fault, end)
            if step.end.reach is Reach.REPLY:
                step.end, step.answer = None, case.spare or (attempt, question.none(end.reason))
        return step

    def _end(self, case: _Case[A], fault: Fault, end: GaveUp) -> GaveUp:
        """How far the end of one call reaches where its circumstances say more than the policy."""
        if fault.kind is Kind.BAD_REQUEST and case.tries.cut_off:
            return GaveUp(Reach.REPLY, end.reason)  # the doubled limit was too much, not the subject
        if fault.kind is Kind.BAD_REQUEST and case.question.info.kind == "judgement" and fault.status != 404:
            return GaveUp(Reach.CALL, end.reason)  # this transcript, too long perhaps; the judge can do others
        return end


def _may_be_charged(fault: Fault) -> bool:
    """Whether a reply may have been made, and charged, although it did not arrive or could not be read."""
    unseen = fault.kind in (Kind.CONNECTION, Kind.TIMEOUT) and not fault.unsent
    return unseen or fault.status == 200
