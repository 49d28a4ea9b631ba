"""How many calls go out at once, and when one that failed goes out again: the one retry policy.

Each model has a rate limiter at its endpoint, and each subject slots at each endpoint. The limiter
follows the model: after a 429 it cuts the number of its calls in flight to 0.8 of what it was and
pauses, with every success it lets a little more through (additive increase, multiplicative
decrease). A neighbour on the same endpoint goes on as before, since most limits are of one model;
under a limit of the whole account each model meets its own 429, and so all of them slow down. What
the endpoint takes at once bounds them together. Slots follow the user's -pt. All go to the longest
remaining chain first, since that is what a run has to wait for.

What is asked again, how often, how long, and how far a failure reaches:

    kind of failure                        asked again            in the end
    rate limited (429, 402 + Retry-After)  for 15 minutes in      the call fails; the next run
                                           which no call of the   tries it again
                                           model is served
    the same, asking to wait longer        never                  the subject (or judge) is stopped,
                                                                  for now
    unavailable (408, 409, 424, 425, 498,  6 tries in all         the call fails; the next run
      499, 5xx, no choices, an error                              tries it again
      inside a 200, a busy server's 4xx)
    timed out                              6 tries in all         the call fails; the next run
                                                                  tries it again
    connection failed                      for 15 minutes         the endpoint is left alone
    broken reply, reply too large, a       3 tries in all; a      the reply is invalid, with the
      reply that the server could not      judge is told what     reason; after 10 judgements in a
      read                                 was wrong with its     row whose replies cannot be read
                                           reply                  the judge is stopped
    cut off by the token limit             once, twice the limit  it is the answer, flagged; invalid
                                                                  if nothing was said by then
    wrong provider                         3 tries in all         the subject (or judge) is stopped
    prompt cut by the server               never                  the subject (or judge) is stopped
    prompt refused by moderation (403)     never                  the reply is invalid, with the
                                                                  reason
    request refused (400, 413, 422, ...,   never                  the call fails; the subject (or
      a template that cannot show it)                             judge) is stopped when its first
                                                                  3 all fail with one status
    part refused (of the request)          at once, without it    as above, once nothing is left to
                                                                  take away
    the same, and it is a setting of the   never                  the model is looked up again
      model (temperature, effort)                                 without it; where a user asked for
                                                                  it, the model is stopped, with
                                                                  what to say
    no such model or address (404, 405,    never                  the subject (or judge) is stopped
      501, redirected)
    no quota for this model (429, a limit  never                  the subject (or judge) is stopped
      of 0)
    no chat completions there (a web       3 tries of whatever    the endpoint is left alone
      page, another interface)             calls, those sent
                                           together are one
    the same, of a model that was served   6 tries in all         the call fails; the next run
                                                                  tries it again
    key refused (401), no credits (402,    never                  the endpoint is left alone
      429 or 400 of an empty account)

Waits double from 1 s up to 60 s, each drawn between half and all of that (so that calls that failed
together do not come back together); Retry-After is honoured where it is longer. A judge whose reply
could not be read is asked again at once. An invalid reply is final until a user asks for it again
(`aib run --again`).

Sleeps nowhere; the clock and the random numbers are the caller's.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

from independence_bench.errors import BenchError
from independence_bench.models.abilities import Setting, find_least_effort_above_off
from independence_bench.models.messages import Fault, Kind
from independence_bench.models.spec import AUTO, ChatModel, Reasoning

CUT = 0.8
MANY = 16  # slots of one subject from which on further calls are prepared
PAUSE = 15.0  # seconds after a 429 that does not say how long


class _Gate(ABC):
    """A gate that lets a number of calls through at once; of the waiting calls the one of highest
    priority is next, then by order of arrival.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def hold_slot(self, priority: int) -> Hold:
        """Return an asynchronous context manager that waits for a free slot for a call, by its
        *priority* (highest first), and holds the slot while its block runs.
        """
        return Hold(self, priority)

    @abstractmethod
    def try_acquire(self) -> bool:
        """Take a slot for a call if that needs no waiting, and return whether it was taken."""

    @abstractmethod
    async def acquire(self, priority: int) -> None:
        """Wait for a free slot for a call, by its *priority* (highest first), and take it."""

    @abstractmethod
    def release(self) -> None:
        """Give the slot of a call that has ended back, and let waiting calls go on."""

    async def _wait_for_turn(self, priority: int) -> None:
        """Put a call into the queue for a slot, by its *priority* (highest first), and wait until
        it is woken.
        """
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (-priority, next(self._order), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._pass_on()
            raise

    @abstractmethod
    def _pass_on(self) -> None:
        """Give the slot for which a waiting call was woken to others, because that call was
        cancelled.
        """

    def _wake_next(self) -> bool:
        """Wake the first call in the queue for a slot, and return whether there was one."""
        while self._waiting:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return True
        return False


class Hold:
    """A block of code that holds a slot of *gate*.

    Not `asynccontextmanager`: every call passes several of these, and a generator costs five times
    as much.
    """

    __slots__ = ("_gate", "_priority")

    def __init__(self, gate: _Gate, priority: int) -> None:
        self._gate, self._priority = gate, priority

    async def __aenter__(self) -> None:
        if not self._gate.try_acquire():
            await self._gate.acquire(self._priority)

    async def __aexit__(self, *exc: object) -> None:
        self._gate.release()


class Slots(_Gate):
    """A gate of *limit* slots; a released one goes straight to the next waiting call."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._free = limit

    def try_acquire(self) -> bool:
        """Take a slot for a call if one is free, and return whether one was."""
        if self._free > 0:
            self._free -= 1
            return True
        return False

    async def acquire(self, priority: int) -> None:
        """Wait until another call hands its slot over to this one, by *priority* (highest
        first).
        """
        await self._wait_for_turn(priority)

    def release(self) -> None:
        """Hand the slot of a call that has ended to the next waiting call, or free it if none
        waits.
        """
        if not self._wake_next():
            self._free += 1

    _pass_on = release


class CallSlots:
    """One subject's slots at one endpoint, *limit* to send in; from `MANY` on, half as many more to
    prepare in.

    Writing a call down takes a hundredth of a second before it is sent and after it has come:
    without the second kind, calls of 0.2 s, 200 at once, take a quarter more time. With few slots
    that is nothing next to the model's own time, and what is prepared is lost with a kill like what
    is in flight.
    """

    def __init__(self, limit: int) -> None:
        self.sending = Slots(limit)
        self.preparing = Slots(limit + (limit // 2 if limit >= MANY else 0))


class RateLimiter(_Gate):
    """A gate that lets calls to one model through, at most *most* at once, each with a place of its
    *endpoint*. *sleep* may raise to end the waiting.
    """

    def __init__(
        self,
        most: int,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        endpoint: Slots | None = None,
    ) -> None:
        super().__init__()
        self.limit = float(most)  # calls in flight that the model's provider seems to accept
        self.in_flight = 0
        self._reached = 0  # the most in flight since the last cut
        self._most, self._clock, self._sleep = most, clock, sleep
        self._endpoint = Slots(most) if endpoint is None else endpoint
        self._open_at = 0.0
        self.why = ""  # what the last pause was for
        # when a call was last served; at first, when the rate limiter was made
        self.served_at = clock()

    @property
    def remaining_pause_seconds(self) -> float:
        """Seconds until calls of this model may go out again; 0 if they may now."""
        return max(self._open_at - self._clock(), 0.0)

    def try_acquire(self) -> bool:
        """Take a slot for a call if this model and its endpoint both have one free and the model's
        calls are not paused, and return whether it was taken.
        """
        if (
            self.in_flight < int(self.limit)
            and not self.remaining_pause_seconds
            and self._endpoint.try_acquire()
        ):
            self.in_flight += 1
            self._reached = max(self._reached, self.in_flight)
            return True
        return False

    async def acquire(self, priority: int) -> None:
        """Wait, by *priority* (highest first), until the model's calls are not paused and the model
        and its endpoint both have a free slot, and take both slots.
        """
        while True:
            if pause := self.remaining_pause_seconds:
                try:
                    await self._sleep(pause)
                except BaseException:
                    # it may have been called up for a slot that it now leaves to the others
                    self._wake_waiting()
                    raise
            elif self.in_flight < int(self.limit):
                if await self._take_both_slots(priority):
                    return
            else:
                await self._wait_for_turn(priority)

    async def _take_both_slots(self, priority: int) -> bool:
        """Take the model's free slot, wait for one of its endpoint by *priority* (highest first),
        and return whether both were taken. If the model's calls were paused meanwhile, both slots
        are given back, so that the endpoint's other models can use them.
        """
        self.in_flight += 1
        self._reached = max(self._reached, self.in_flight)
        entered = False
        try:
            if not self._endpoint.try_acquire():
                await self._endpoint.acquire(priority)
            entered = not self.remaining_pause_seconds
            if not entered:
                self._endpoint.release()
            return entered
        finally:
            if not entered:
                self.in_flight -= 1
                self._wake_waiting()

    def release(self) -> None:
        """Give back the slots of the model and of its endpoint that a call held, and let waiting
        calls go on.
        """
        self.in_flight -= 1
        self._endpoint.release()
        self._wake_waiting()

    def record_rate_limit(self, retry_after: float | None) -> None:
        """Record that the endpoint answered 429 for this model: none of the model's calls goes out
        for *retry_after* seconds (None: for `PAUSE` seconds), and then fewer at once.
        """
        now = self._clock()
        if now >= self._open_at:  # the calls that were in flight at the same 429 count once
            # of what was tried: a model of one subject never has as many in flight as all may have
            self.limit = max(1.0, min(self.limit, self._reached or self.limit) * CUT)
            self._reached = self.in_flight
        self.delay_calls(PAUSE if retry_after is None else retry_after, Kind.RATE_LIMITED.value)

    def delay_calls(self, seconds: float, why: str) -> None:
        """Let no call of this model go out for so many *seconds*, or until an earlier, longer delay
        is over, and keep the reason *why*.
        """
        self._open_at, self.why = max(self._open_at, self._clock() + seconds), why

    def record_success(self) -> None:
        """Record that a call of this model was served just now, and let a fraction of a call more
        go out at once, up to the most that is allowed.
        """
        self.limit = min(float(self._most), self.limit + 1 / self.limit)
        self.served_at = self._clock()

    def _wake_waiting(self) -> None:
        for _ in range(int(self.limit) - self.in_flight):
            if not self._wake_next():
                return

    _pass_on = _wake_waiting


class EndpointLimiter:
    """The rate limiters of one endpoint, which takes *most* calls at once: one for each model, and
    for each provider that it is pinned to.
    """

    def __init__(
        self, most: int, clock: Callable[[], float], sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        self._places, self._made = Slots(most), partial(RateLimiter, most, clock, sleep)
        self._by_model: dict[tuple[str, str | None], RateLimiter] = {}

    def find_or_make_limiter(self, model: ChatModel) -> RateLimiter:
        """Return the rate limiter for calls of *model* (by its name and the provider that it is
        pinned to) at this endpoint; it is made when it is first asked for.
        """
        who = (model.model, model.provider)
        if who not in self._by_model:
            self._by_model[who] = self._made(self._places)
        return self._by_model[who]


# calls of one model, none of which was served: what is refused is no single conversation
FIRST_REFUSED = 3
UNREAD_IN_A_ROW = 10  # calls of one judge: what cannot be read is no single reply
# statuses that say so of a model or an address, whatever is asked
NOT_THERE = frozenset({404, 405, 501})


class Reach(Enum):
    """The calls that a failure puts an end to."""

    CALL = "this call, for now"
    REPLY = "this reply, for good: it is invalid"
    MODEL = "this model, or this judge"
    ENDPOINT = "everything on this endpoint"


class GaveUp(BenchError):
    """A call that will not be asked again in this command."""

    def __init__(self, reach: Reach, reason: str) -> None:
        self.reach, self.reason = reach, reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Policy:
    """The numbers of the table above; waits in seconds."""

    broken: int = 3
    failures: int = 6
    patience: float = 900.0
    first_wait: float = 1.0
    longest_wait: float = 60.0


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks and random numbers, so that tests choose them."""

    now: Callable[[], float] = time.time  # seconds since 1970
    clock: Callable[[], float] = time.monotonic  # seconds
    draw: Callable[[], float] = random.random  # in [0, 1)
    policy: Policy = Policy()


@dataclass(slots=True)
class AttemptCounts:
    """The failed attempts at one call, counted by how they failed."""

    broken: int = 0
    failures: int = 0
    wrong_provider: int = 0
    astray: int = 0  # nothing that speaks chat completions was there
    held_up: int = 0  # rate limited, or not connected
    held_up_since: float | None = None  # seconds on the caller's clock
    cut_off: int = 0

    def record_other_call_served(self, at: float) -> None:
        """Record that another call of the same model was served at *at* (seconds on the caller's
        clock): if this call is held up by rate limits, the time that it may be held up counts from
        then on.
        """
        if self.held_up_since is not None:
            self.held_up_since = max(self.held_up_since, at)


def count_fault_and_compute_wait(
    fault: Fault, counts: AttemptCounts, policy: Policy, draw: Callable[[], float], now: float
) -> float:
    """Count *fault*, which ended an attempt at a call, in *counts*, and return the seconds until
    the call is sent again. Raises GaveUp if it is not sent again, which says what else is not.

    *draw* gives random numbers in [0, 1); *now* is seconds on a clock that never goes back.
    """
    match fault.kind:
        case Kind.UNAUTHORIZED | Kind.NO_CREDITS:
            raise GaveUp(Reach.ENDPOINT, describe_fault(fault))
        case Kind.BAD_REQUEST:
            status = fault.status or 0
            whole = 300 <= status < 400 or status in NOT_THERE
            raise GaveUp(Reach.MODEL if whole else Reach.CALL, describe_fault(fault))
        case Kind.PART_REFUSED:
            return 0.0
        case Kind.CUT_PROMPT | Kind.NO_QUOTA:
            raise GaveUp(Reach.MODEL, describe_fault(fault))
        case Kind.REFUSED_PROMPT:
            raise GaveUp(Reach.REPLY, describe_fault(fault))
        case Kind.BROKEN | Kind.TOO_LARGE:
            counts.broken += 1
            if counts.broken >= policy.broken:
                raise GaveUp(Reach.REPLY, f"{describe_fault(fault)} ({counts.broken} tries)")
            return _draw_backoff(counts.broken, policy, draw, fault.retry_after)
        case Kind.WRONG_PROVIDER:
            counts.wrong_provider += 1
            if counts.wrong_provider >= policy.broken:
                raise GaveUp(
                    Reach.MODEL, f"{describe_fault(fault)} ({counts.wrong_provider} tries)"
                )
            return _draw_backoff(counts.wrong_provider, policy, draw, fault.retry_after)
        case Kind.WRONG_ADDRESS:
            counts.astray += 1
            if counts.astray >= policy.broken:
                raise GaveUp(Reach.ENDPOINT, f"{describe_fault(fault)} ({counts.astray} tries)")
            return _draw_backoff(counts.astray, policy, draw, fault.retry_after)
        case Kind.RATE_LIMITED | Kind.CONNECTION:
            if fault.retry_after is not None and fault.retry_after > policy.patience:
                raise GaveUp(
                    Reach.MODEL,
                    (
                        f"{describe_fault(fault)} (it asks to wait "
                        f"{_format_duration(fault.retry_after)})"
                    ),
                )
            counts.held_up += 1
            counts.held_up_since = now if counts.held_up_since is None else counts.held_up_since
            if now - counts.held_up_since >= policy.patience:
                reach = Reach.CALL if fault.kind is Kind.RATE_LIMITED else Reach.ENDPOINT
                raise GaveUp(
                    reach,
                    (
                        f"{describe_fault(fault)} ({counts.held_up} tries in "
                        f"{_format_duration(policy.patience)})"
                    ),
                )
            return _draw_backoff(counts.held_up, policy, draw, fault.retry_after)
        case Kind.UNAVAILABLE | Kind.TIMEOUT:
            counts.failures += 1
            if counts.failures >= policy.failures:
                raise GaveUp(Reach.CALL, f"{describe_fault(fault)} ({counts.failures} tries)")
            wait = _draw_backoff(counts.failures, policy, draw, fault.retry_after)
            if wait > policy.patience:
                raise GaveUp(
                    Reach.CALL,
                    f"{describe_fault(fault)} (it asks to wait {_format_duration(wait)})",
                )
            return wait


def describe_setting_remedy(setting: Setting, efforts: Sequence[Reasoning] | None) -> str:
    """Return what a user can do, in words, who asked for a *setting* (temperature or reasoning
    effort) that the endpoint does not let them set. *efforts*: the reasoning efforts that it
    accepts; None if they are not known.
    """
    if setting is Setting.TEMPERATURE:
        return "leave its temperature out (--temperature, or temperature: in models.yaml)"
    effort = AUTO if efforts is None else find_least_effort_above_off(efforts)
    return f"say --reasoning-effort {effort} (or reasoning: {effort} in models.yaml)"


USER_ROLE = "--modes user_role, whose result is another row of the leaderboard"


def describe_tools_remedy(error_text: str) -> str | None:
    """Return what a user can do, in words, about an endpoint whose error text *error_text* means
    that it refuses tools; None if the text does not mean that.
    """
    if "--enable-auto-tool-choice" in error_text:
        parser = "--enable-auto-tool-choice --tool-call-parser NAME"
        return f"start vLLM with {parser} (docs/local-models.md), or add {USER_ROLE}"
    if _NO_TOOLS.search(error_text):
        return f"take a model with tools, or add {USER_ROLE}"
    return None


_NO_TOOLS = re.compile(
    r"not support (?:tool|function)|support tool use|(?:function|tool) calling"
    r"|tools? (?:param|is|are) .{0,30}(?:requires|not)|unsupported param: tools",
    re.IGNORECASE,
)


def _format_duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def describe_fault(fault: Fault) -> str:
    """Return one line of text about *fault*, what went wrong in an attempt at a call: its kind, the
    HTTP status, and what the endpoint said.
    """
    status = f" (HTTP {fault.status})" if fault.status and fault.status != 200 else ""
    return f"{fault.kind.value}{status}: {fault.message}"


def _draw_backoff(
    number: int, policy: Policy, draw: Callable[[], float], retry_after: float | None
) -> float:
    wait = min(policy.first_wait * 2.0 ** min(number - 1, 30), policy.longest_wait) * (
        0.5 + 0.5 * draw()
    )
    if retry_after is None:
        return wait
    # a little later than asked, and not all at once
    return max(wait, retry_after + policy.first_wait * draw())
