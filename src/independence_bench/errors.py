"""The errors that end a command, each raised on purpose, and the signals that do.

    BenchError                known failure: one line, exit code 1
    ├── WrongUse              the command, a file or an option of the user's is wrong: exit code 2
    │   ├── ProtocolError     a protocol's file, with the key and the mend
    │   └── SubjectError      a subject, a judge, an endpoint or models.yaml
    │       └── NotOffered    a model that its endpoint's list lacks
    ├── NotComplete           marks are missing without which nothing can be said
    ├── StoreError            the store cannot be opened, read or written
    │   └── NoStore           there is none to be read
    ├── EndpointUnusable      an endpoint cannot be used at all (not reachable at start, a key that
    │   │                     is none)
    │   └── MissingKey        its API key is not in the environment
    ├── NotAllowed            a person said no to what was about to be sent where
    ├── BudgetSpent           the next call would go beyond the budget
    ├── Interrupted           Ctrl-C, or SIGTERM: exit code 130
    └── LocalModelError       the embedded model: weights, runtime or its server

Two more end a call inside a run and never leave it: `calls.limits.GaveUp` and
`calls.executor.Stopped`. Each message says what is wrong, where, and the next step, in one line. A
failure of one attempt at one call is a value (`models.messages.Fault`), not one of these: it is
stored, counted and usually asked again.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130  # the exit code after Ctrl-C, as shells have it


class BenchError(Exception):
    """A known failure: printed as one line, without a traceback."""

    exit_code = 1


class WrongUse(BenchError):
    """The command line or a file that the user wrote is wrong."""

    exit_code = 2


class NoSubject(WrongUse):
    """No model was named, and no list has one."""


class ProtocolError(WrongUse):
    """A protocol cannot be read: names the file, the key inside it, and what to do.

    *others*: other mistakes in the same protocol.
    """

    def __init__(
        self, file: str, key: str, problem: str, others: Sequence[ProtocolError] = ()
    ) -> None:
        self.file, self.key, self.problem, self.others = file, key, problem, tuple(others)
        self.line = f"{file}{f', {key}' if key else ''}: {problem}"
        more = f" (and {len(others)} more: `aib check` lists them all)" if others else ""
        super().__init__(f"{self.line}{more}")

    @property
    def all_errors(self) -> tuple[ProtocolError, ...]:
        """All mistakes found in the same protocol: this error first, then the others."""
        return (self, *self.others)

    def add_folder(self, folder: str) -> ProtocolError:
        """Return a copy of this error, and of the other mistakes attached to it, with *folder*
        before the name of the file that is wrong.
        """
        return ProtocolError(
            f"{folder}/{self.file}",
            self.key,
            self.problem,
            [other.add_folder(folder) for other in self.others],
        )


def combine_errors(problems: Sequence[ProtocolError]) -> ProtocolError:
    """Return the protocol errors *problems*, at least one, as a single error: the first, with the
    others attached.
    """
    first, *others = problems
    return ProtocolError(first.file, first.key, first.problem, others)


def describe_file_error(error: Exception) -> str:
    """Return why a file could not be read or written, from the *error* that was raised. The text
    does not name the file.
    """
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class SubjectError(WrongUse):
    """A subject, judge or endpoint was described in a way that means nothing."""


class NotOffered(SubjectError):
    """A model that its endpoint's list lacks. *instead* says what may have been meant."""

    def __init__(self, model: str, endpoint: str, url: str, instead: str) -> None:
        self.model, self.endpoint = model, endpoint
        super().__init__(f"{endpoint} ({url}) has no model {model}; {instead}")


class NotComplete(BenchError):
    """Marks are missing without which nothing can be said."""


class StoreError(BenchError):
    """The store cannot be opened, read or written."""


class NoStore(StoreError):
    """There is no store where one is to be read."""

    def __init__(self, shown: str) -> None:
        place = shown if "://" in shown else os.path.abspath(shown)
        super().__init__(
            f"there is no store at {place}; `aib run` makes one, --store or AIB_STORE names one"
        )


class EndpointUnusable(BenchError):
    """An endpoint cannot be used at all."""


class MissingKey(EndpointUnusable):
    """The API key of the endpoint called *endpoint* is not there; *variable* would hold it."""

    def __init__(self, endpoint: str, variable: str) -> None:
        self.endpoint, self.variable = endpoint, variable
        super().__init__(
            f"{endpoint} needs an API key: put {variable}=... into .env (see .env.example) or "
            "the environment; without a key, name `embedded` as the model: a small one on this "
            "machine"
        )


class NotAllowed(BenchError):
    """A key may not go where it would have gone: a person said so."""


class BudgetSpent(BenchError):
    """The next call would take this command beyond its budget."""


class Interrupted(BenchError):
    """A person stopped the command."""

    exit_code = INTERRUPTED

    def __init__(self) -> None:
        super().__init__("interrupted")


class LocalModelError(BenchError):
    """A model file, its runtime or its server cannot be used."""


# Ctrl-C, `kill`, a closed terminal or a lost line, Ctrl-\
ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
# the signals that a person types; the others may come twice and mean no more
TYPED = ("SIGINT", "SIGQUIT")


@contextmanager
def handle_signals(
    handler: Callable[[int, FrameType | None], object], *names: str
) -> Iterator[None]:
    """Have *handler* handle the named signals (all of `ENDING` if none is named) while a `with`
    block runs; restore the earlier handlers after it.

    Signals that this system lacks are left out, and so are those that the parent process has set to
    be ignored, as `nohup` does. These are not the event loop's own handlers: those do not exist on
    Windows. Outside the main thread, which alone receives signals, nothing is changed.
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
def interrupt_on_signals() -> Iterator[None]:
    """Make SIGTERM, SIGHUP and SIGQUIT raise KeyboardInterrupt in a `with` block, as Ctrl-C does.

    SIGTERM and SIGHUP, which nobody types, interrupt only as the first signal: so the last step of
    the block, such as storing a score, is not interrupted by the same signal sent twice. Python and
    asyncio handle Ctrl-C itself.
    """
    ended = False

    def raise_interrupt(number: int, _frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt for the signal *number*. A signal that no person types (SIGTERM,
        SIGHUP) is ignored if a signal was handled before it.
        """
        nonlocal ended
        before, ended = ended, True
        if is_typed_signal(number) or not before:
            raise KeyboardInterrupt

    with handle_signals(raise_interrupt, *ENDING[1:]):
        yield


def is_typed_signal(number: int) -> bool:
    """Whether the signal *number* is one that a person types at a terminal: SIGINT (Ctrl-C) or
    SIGQUIT.
    """
    return signal.Signals(number).name in TYPED
