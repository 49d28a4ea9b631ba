"""Ctrl-C and SIGTERM: who hears of them while a block runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def handling(handler: Callable[[int, FrameType | None], object], *names: str) -> Iterator[None]:
    """Have *handler* handle the signals of those names while a block runs; those that this system lacks are left out.

    Not the event loop's own handlers: those do not exist on Windows. In another thread than the main one, which alone
    hears of signals, it does nothing.
    """
    heard = threading.current_thread() is threading.main_thread()
    numbers = [getattr(signal, name) for name in names if heard and hasattr(signal, name)]
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, handled in before.items():
            signal.signal(number, handled)
