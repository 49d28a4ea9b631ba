"""How many calls go out at once: a rate limiter for each endpoint, and slots for each subject at each endpoint.

The rate limiter follows the endpoint: after a 429 it cuts the number of calls in flight to 0.8 of what it was and
pauses, with every success it lets a little more through (additive increase, multiplicative decrease). Slots
follow the user's -pt. Both go to the longest remaining chain first, since that is what a run has to wait for.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

CUT = 0.8
MANY = 16  # slots of one subject from which on further calls are prepared
PAUSE = 15.0  # seconds after a 429 that does not say how long


class _Gate(ABC):
    """Lets a number of calls through at once; of those waiting, by highest priority, then by order of arrival."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def hold(self, priority: int) -> Hold:
        """Wait to be let through, then hold a slot while the block runs."""
        return Hold(self, priority)

    @abstractmethod
    def acquire_now(self) -> bool:
        """Take a slot where that needs no waiting."""

    @abstractmethod
    async def acquire(self, priority: int) -> None:
        """Wait for a slot, and take it."""

    @abstractmethod
    def release(self) -> None:
        """Give a slot back, and let waiting calls go on."""

    async def _turn(self, priority: int) -> None:
        """Wait to be called up."""
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
        """A task was cancelled after it had been called up: what it was called up for is free again."""

    def _call_up(self) -> bool:
        """Let the next waiting call go on; False where none waits."""
        while self._waiting:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return True
        return False


class Hold:
    """A block of code that holds a slot of *gate*.

    Not `asynccontextmanager`: every call passes several of these, and a generator costs five times as much.
    """

    __slots__ = ("_gate", "_priority")

    def __init__(self, gate: _Gate, priority: int) -> None:
        self._gate, self._priority = gate, priority

    async def __aenter__(self) -> None:
        if not self._gate.acquire_now():
            await self._gate.acquire(self._priority)

    async def __aexit__(self, *exc: object) -> None:
        self._gate.release()


class Slots(_Gate):
    """*limit* slots; a released one goes straight to the next waiting call."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._free = limit

    def acquire_now(self) -> bool:
        """Take a slot where one is free."""
        if self._free > 0:
            self._free -= 1
            return True
        return False

    async def acquire(self, priority: int) -> None:
        """Wait for a slot to be handed over."""
        await self._turn(priority)

    def release(self) -> None:
        """Hand the slot to the next waiting call, or free it."""
        if not self._call_up():
            self._free += 1

    _pass_on = release


class CallSlots:
    """One subject's slots at one endpoint, *limit* to send in; from `MANY` on, half as many more to prepare in.

    Writing a call down takes a hundredth of a second before it is sent and after it has come: without the second kind,
    calls of 0.2 s, 200 at once, take a quarter more time. With few slots that is nothing next to the model's own time,
    and what is prepared is lost with a kill like what is in flight.
    """

    def __init__(self, limit: int) -> None:
        self.sending = Slots(limit)
        self.preparing = Slots(limit + (limit // 2 if limit >= MANY else 0))


class RateLimiter(_Gate):
    """Lets calls to one endpoint through, at most *most* at once. *sleep* may raise to end the waiting."""

    def __init__(self, most: int, clock: Callable[[], float], sleep: Callable[[float], Awaitable[None]]) -> None:
        super().__init__()
        self.limit = float(most)  # calls in flight that the endpoint seems to accept
        self.in_flight = 0
        self._most, self._clock, self._sleep = most, clock, sleep
        self._open_at = 0.0
        self.served_at = clock()  # when a call was last served; at first, when the rate limiter was made

    def acquire_now(self) -> bool:
        """Enter where a slot is free and there is no pause."""
        if self.in_flight < int(self.limit) and self._open_at <= self._clock():
            self.in_flight += 1
            return True
        return False

    async def acquire(self, priority: int) -> None:
        """Wait for the pause to end and for a free slot, and enter."""
        while True:
            if (pause := self._open_at - self._clock()) > 0:
                try:
                    await self._sleep(pause)
                except BaseException:
                    self._wake()  # it may have been called up for a slot that it now leaves to the others
                    raise
            elif self.in_flight < int(self.limit):
                break
            else:
                await self._turn(priority)
        self.in_flight += 1

    def release(self) -> None:
        """Leave, and let waiting calls go on."""
        self.in_flight -= 1
        self._wake()

    def rate_limited(self, retry_after: float | None) -> None:
        """The endpoint said 429: nothing goes out until its pause is over, and then fewer at once."""
        now = self._clock()
        if now >= self._open_at:  # the calls that were in flight at the same 429 count once
            self.limit = max(1.0, self.limit * CUT)
        self._open_at = max(self._open_at, now + (PAUSE if retry_after is None else retry_after))

    def succeeded(self) -> None:
        """One call was served: a little more may go out at once."""
        self.limit = min(float(self._most), self.limit + 1 / self.limit)
        self.served_at = self._clock()

    def _wake(self) -> None:
        for _ in range(int(self.limit) - self.in_flight):
            if not self._call_up():
                return

    _pass_on = _wake
