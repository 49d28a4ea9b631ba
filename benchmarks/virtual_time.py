"""An event loop whose clock jumps to the next timer, so that an hour of waiting takes a second.

Everything between two timers takes no time on this clock, storing included: while a write is with
the store's thread the clock stands still, and what a write waits for company is nothing. Only what
sleeps takes time, so nothing that talks to a network belongs here. The loop knows a write by the
future that `store.commits` makes for it; `writes` says how many it saw, so whoever uses the loop
can tell that it still sees them.
"""

from __future__ import annotations

import asyncio
import selectors
import sys
from collections.abc import Callable
from contextvars import Context
from typing import Any

from independence_bench.store import group_commit

# real seconds; who waits longer waits for something that this loop does not understand
LONGEST_WRITE = 60.0


class _Jumping(selectors.DefaultSelector):
    """Instead of waiting for a timer, moves the clock there; unless *busy* says that a thread will
    call.
    """

    def __init__(self, busy: Callable[[], bool]) -> None:
        super().__init__()
        self.now = 0.0
        self._busy = busy

    def select(self, timeout: float | None = None) -> Any:
        """What is ready; after a jump, nothing but the timer. RuntimeError where a write never
        ends.
        """
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        if not self._busy():
            self.now += timeout
            return super().select(0)
        ready = super().select(LONGEST_WRITE)
        if not ready:
            raise RuntimeError(
                "a write to the store does not end: does it wait for a timer of another module?"
            )
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop; `loop.time()` begins at 0."""

    def __init__(self) -> None:
        self.writes = 0
        self._under_way = 0
        self._jumping = _Jumping(lambda: self._under_way > 0)
        super().__init__(self._jumping)

    def time(self) -> float:
        """Virtual seconds."""
        return self._jumping.now

    def create_future(self) -> asyncio.Future[Any]:
        """A future; one that stands for a write holds the clock until it is done."""
        future = super().create_future()
        if _asked_by_store():
            self.writes += 1
            self._under_way += 1
            future.add_done_callback(self._written)
        return future

    def call_later(
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """As usual, but at once where the store gathers writes."""
        return super().call_later(
            0.0 if _asked_by_store() else delay, callback, *args, context=context
        )

    def _written(self, _future: asyncio.Future[Any]) -> None:
        self._under_way -= 1


def _asked_by_store() -> bool:
    """Whether the method that calls this was called by `store.commits`."""
    return sys._getframe(2).f_globals.get("__name__") == group_commit.__name__
