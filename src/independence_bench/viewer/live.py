"""Answers that stay current while a run goes on: the store is looked at when somebody asks, and read again if it has
changed.

Reading takes a while with a large store, so the answers of before are given until the new ones are there, and a store
that changes all the time is read again at most for a part of the time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from independence_bench.errors import StoreError
from independence_bench.protocol.definition import Protocol
from independence_bench.store.database import Store
from independence_bench.store.registry import state_of
from independence_bench.viewer.fragments import Offer
from independence_bench.viewer.routes import Answers
from independence_bench.viewer.search_cache import SearchCache
from independence_bench.viewer.snapshot import Catalog, read_catalog

OFTEN = 2.0  # seconds between two looks at the store
SHARE = 4.0  # times as long as reading it took, it is left alone

OFFER = Offer(
    frozen=False,
    raw=True,
    compared=None,
    says=("Served from the store itself: what is played and judged meanwhile appears by itself.",),
)


class Live:
    """The answers about a store as it is now, give or take the time that it takes to read it."""

    def __init__(self, store: Store, protocols: Sequence[Protocol] = (), clock: Callable[[], float] = time.monotonic):
        self._store, self._protocols, self._clock = store, protocols, clock
        self._search = SearchCache(clock)
        self._looking = threading.Lock()
        self._not_before = 0.0
        self.answers = self._read()

    def look(self) -> None:
        """Read the store again if it has changed, unless that was done a moment ago or is being done now."""
        if not self._looking.acquire(blocking=False):
            return
        try:
            if self._clock() < self._not_before:
                return
            started = self._clock()
            with self._store.reading() as connection:
                state = state_of(connection)
            if state != self.answers.catalog.version:
                self.answers = self._read()
            self._not_before = self._clock() + max(OFTEN, SHARE * (self._clock() - started))
        except StoreError:
            self._not_before = self._clock() + OFTEN  # what was read before is still true of then
        finally:
            self._looking.release()

    def begin(self) -> None:
        """Prepare beside the serving what takes long."""
        self._search.prepare(self._newest)

    def close(self) -> None:
        """End what is being prepared."""
        self._search.close()

    def _newest(self) -> Catalog:
        return self.answers.catalog

    def _read(self) -> Answers:
        catalog = read_catalog(self._store, self._protocols)
        answers = Answers(catalog, OFFER, lambda: self._search.of(self._newest))
        warm(answers)
        return answers


def warm(answers: Answers) -> None:
    """Work out what is looked at first: the list of boards, and the one to open with."""
    first = next(iter(answers.catalog.entries), None)
    if first is not None:
        answers.get(f"boards/{first}.json")
