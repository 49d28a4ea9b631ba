"""The signals that end a command, and who hears of them while a block runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")  # Ctrl-C, `kill`, a closed terminal or a lost line, Ctrl-\
TYPED = ("SIGINT", "SIGQUIT")  # of them, those that a person types: the others may come twice without more being meant


@contextmanager
def handling(handler: Callable[[int, FrameType | None], object], *names: str) -> Iterator[None]:
    """Have *handler* handle the signals of those names (`ENDING` without any) while a block runs.

    Those that this system lacks are left out, and so are those that whoever began the process has it ignore, as `nohup`
    does. Not the event loop's own handlers: those do not exist on Windows. In another thread than the main one, which
    alone hears of signals, it does nothing.
    """
    heard = threading.current_thread() is threading.main_thread()
    numbers = [getattr(signal, name) for name in names or ENDING if heard and hasattr(signal, name)]
    kept = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in kept}
    try:
        yield
    finally:
        for number, handled in before.items():
            signal.signal(number, handled)


@contextmanager
def interrupting() -> Iterator[None]:
    """Have every signal of `ENDING` end a block as Ctrl-C does: by KeyboardInterrupt.

    Of those that are not typed only the first: what the block does last, such as storing a mark, is not interrupted by
    the same signal sent twice. Ctrl-C itself is Python's and asyncio's.
    """
    ended = False

    def interrupt(number: int, _frame: FrameType | None) -> None:
        nonlocal ended
        before, ended = ended, True
        if is_typed(number) or not before:
            raise KeyboardInterrupt

    with handling(interrupt, *ENDING[1:]):
        yield


def is_typed(number: int) -> bool:
    """Whether a person at the terminal sends that signal."""
    return signal.Signals(number).name in TYPED
