"""The search index of a store that may change: made beside the serving, given when it is there.

One is made at a time, in a thread of its own. What came before it serves meanwhile, and one that took long to make
serves for a while after the store has changed. Whoever asks is told what went wrong.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from independence_bench.viewer.search_index import Search, SearchState, build_search
from independence_bench.viewer.snapshot import Catalog

QUIET = 2.0  # seconds that belong to the first table, unless somebody searches at once
SHARE = 4.0  # times as long as making it took, an index serves although the store has changed
PATIENCE = 5.0  # seconds that work which is to end is waited for

Newest = Callable[[], Catalog]


class Halted(Exception):
    """Nobody wants the index any more. Leaves no thread but the one that makes it."""


class SearchCache:
    """The newest index that there is."""

    def __init__(self, clock: Callable[[], float], quiet: float = QUIET) -> None:
        self._clock, self._quiet = clock, quiet
        self._asking = threading.Lock()
        self._work: SearchBuild | None = None
        self._there = SearchState(None)
        self._good_until = 0.0
        self._closed = False

    def prepare(self, newest: Newest) -> None:
        """Begin in a while, or when somebody asks."""
        with self._asking:
            if self._work is None and not self._closed:
                self._work = SearchBuild(newest, self._clock, self._quiet)

    def of(self, newest: Newest) -> SearchState:
        """What there is now; whatever is lacking is begun. Raises what the work on it raised, once."""
        with self._asking:
            self._take()
            there = self._there.newest
            if there is not None and there.index.version == newest().version:
                return self._there
            too_soon = there is not None and self._clock() < self._good_until
            if self._work is None and not too_soon and not self._closed:
                self._work = SearchBuild(newest, self._clock, 0.0)
            if self._work is not None:
                self._work.wanted.set()
            return SearchState(there, 0.0 if self._work is None else self._work.done, self._there.earlier)

    def close(self) -> None:
        """End the work, and begin none any more."""
        with self._asking:
            self._closed = True
            if self._work is not None:
                self._work.end()
            self._work = None

    def _take(self) -> None:
        """Put what has been made where it is found."""
        work = self._work
        if work is None or not work.made.done():
            return
        self._work = None  # even if it failed: who asks again has it tried again
        self._there = SearchState(work.made.result(), earlier=self._there.newest)
        self._good_until = self._clock() + SHARE * work.seconds


class SearchBuild:
    """An index in the making."""

    def __init__(self, newest: Newest, clock: Callable[[], float], quiet: float) -> None:
        self.wanted = threading.Event()  # somebody waits for it
        self.made: Future[Search] = Future()
        self.done = 0.0  # the share, in [0, 1]
        self.seconds = 0.0  # that it took
        self._newest, self._clock, self._quiet = newest, clock, quiet
        self._halted = threading.Event()
        self._thread = threading.Thread(target=self._make, name="search", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop where it is, and wait for that."""
        self._halted.set()
        self.wanted.set()
        self._thread.join(PATIENCE)

    def _make(self) -> None:
        self.wanted.wait(self._quiet)
        started = self._clock()
        try:
            made = build_search(self._newest(), self._tell)
        except Exception as error:  # whoever asks for the index is told, in another thread
            self.made.set_exception(error)
        else:
            self.seconds = self._clock() - started
            self.made.set_result(made)

    def _tell(self, done: float) -> None:
        if self._halted.is_set():
            raise Halted
        self.done = done
