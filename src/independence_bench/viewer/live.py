"""Answers that stay current during a run: the store is checked at each request, and read again if
it has changed.

Reading takes a while with a large store. The first time every answer waits for it, and the page
shows the progress. Later, the earlier answers are served until the new ones are there, and a store
that changes all the time is read again at most for a part of the time. The answers that are looked
at first are stored if they took long, so the next start shows them at once and reads the rest
meanwhile.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path

import independence_bench
from independence_bench import __version__
from independence_bench.errors import BenchError, StoreError
from independence_bench.hashing import hash_content
from independence_bench.protocol.definition import Protocol
from independence_bench.store.database import Store
from independence_bench.store.derived import (
    find_derived_values,
    hash_results_and_attempts,
    replace_derived_values,
)
from independence_bench.store.registry import hash_store_state
from independence_bench.store.results import count_transcripts_and_judgements
from independence_bench.viewer.fragments import FirstReading, Offer
from independence_bench.viewer.routes import Answers
from independence_bench.viewer.search import SearchAnswer, parse_query, search_catalog
from independence_bench.viewer.snapshot import Catalog, read_catalog

OFTEN = 2.0  # seconds between two looks at the store
SHARE = 4.0  # times as long as reading it took, it is left alone
PATIENCE = 5.0  # seconds that what is being prepared is waited for at the end

LONG = 1.0  # seconds: what takes as long to work out is kept in the store
UNFINISHED = 0.99  # the largest share that is reported before the end

# the state of the store, and the answers about it: path -> bytes
Current = tuple[str, Callable[[str], bytes | None]]

OFFER = Offer(
    frozen=False,
    raw=True,
    compared=None,
)


class Stopped(BenchError):
    """The server ends, so nobody waits for an answer that is being read or scored."""

    def __init__(self) -> None:
        super().__init__("the viewer ends; start it again with `aib view`")


class Live:
    """The viewer's answers about a store as it is now, delayed by the time that it takes to read
    the store.

    Nothing is read before `begin_reading`, or before the first request.
    """

    def __init__(
        self,
        store: Store,
        protocols: Sequence[Protocol] = (),
        clock: Callable[[], float] = time.monotonic,
        offer: Offer = OFFER,
    ):
        self._store, self._protocols, self._clock, self._offer = store, protocols, clock, offer
        self._looking = threading.Lock()
        self._not_before = 0.0
        self._reading, self._letting_go = threading.Lock(), threading.Lock()
        self._answers: Answers | None = None
        self._unkept: tuple[str, dict[str, str]] | None = None
        self._preparing: threading.Thread | None = None
        self._closed = threading.Event()
        self._conversations: int | None = None
        self._steps, self._of = 0, 1
        # done as soon as nobody has to wait: it was read, it failed, or it ends
        self.first: Future[None] = Future()
        self.failure: Exception | None = None  # the error because of which there are no answers
        state, cause = self._compute_state_and_input_hashes()
        kept = {
            path: body.encode()
            for path, body in find_derived_values(store, cause).items()
            if is_answer_about_state(body, state)
        }
        self.kept = frozenset(kept)  # the paths that are answered before the store was read
        self.current: Current = (
            state,
            lambda path: kept[path] if path in kept else self.answers.get(path),
        )

    @property
    def answers(self) -> Answers:
        """The viewer's answers about the newest state of the store that was read. The first use
        reads the whole store, and takes as long.
        """
        if self._answers is None:
            self._read_store(self._record_progress_or_stop)
        assert self._answers is not None  # noqa: S101 - it was read
        return self._answers

    @property
    def first_reading_progress(self) -> FirstReading:
        """Number of conversations in the store, and the share, in [0, 1], of its first reading that
        is done; no share if nobody waits for the reading.
        """
        share = None if self.first.done() or self.kept else min(self._steps / self._of, UNFINISHED)
        return FirstReading(self._conversations, share)

    def raise_reading_failure(self) -> None:
        """Raise BenchError if the store could not be read, or if its reading was stopped because
        the viewer ends; else do nothing.
        """
        if isinstance(self.failure, BenchError):
            raise self.failure
        # whoever serves raises it: damage is then one line, a bug one traceback
        if self.failure is not None:
            raise BenchError("what is stored cannot be read; the viewer's output says why")
        if self._answers is None and self._closed.is_set():
            raise Stopped

    def refresh_answers(self) -> None:
        """Read the store again if it has changed, unless the last check was only a moment ago or
        another thread is reading now. If the store cannot be reached, the answers stay as they
        were.
        """
        being_read = self._answers is None and not self.first.done()
        if being_read or not self._looking.acquire(blocking=False):
            return
        try:
            if self._clock() < self._not_before:
                return
            started = self._clock()
            with self._store.open_snapshot() as connection:
                state = hash_store_state(connection)
            if state != self.current[0]:
                self._read_store(again=True)
                self.store_first_answers()
            self._not_before = self._clock() + max(OFTEN, SHARE * (self._clock() - started))
        except StoreError:
            self._not_before = self._clock() + OFTEN  # what was read before is still true of then
        finally:
            self._looking.release()

    def begin_reading(self) -> None:
        """Start a thread that reads the store and prepares the slow answers, unless it was started
        before.
        """
        if self._preparing is None:
            self._preparing = threading.Thread(
                target=self._prepare_answers, name="prepare", daemon=True
            )
            self._preparing.start()

    def store_first_answers(self) -> None:
        """Write the viewer's first answers to the store, if they took long to work out, for the
        next start; else do nothing.
        """
        if self._unkept is not None:
            replace_derived_values(self._store, *self._unkept)
            self._unkept = None

    def _prepare_answers(self) -> None:
        """Read the store and work out the slow answers in advance; meant for a thread of its own.
        An error is kept in `failure` if there is nothing else to show.
        """
        try:
            answers = self.answers
        except Exception as error:  # whoever serves raises it
            if not (self.kept or self._closed.is_set()):
                self.failure = error
            return  # of a store with something to show, whoever asks is told
        finally:
            self._release_waiters()
        with suppress(StoreError, Stopped):
            self.store_first_answers()
            for path in list_paths_to_prepare(answers.catalog):
                if not self._closed.is_set():
                    answers.get(path)

    def stop_reading(self) -> None:
        """Stop the reading of the store, and release all requests that wait for it."""
        self._closed.set()
        self._release_waiters()

    def close(self) -> None:
        """Stop reading the store, and wait at most `PATIENCE` seconds for the answer that is being
        prepared.
        """
        self.stop_reading()
        if self._preparing is not None and self._answers is not None:
            self._preparing.join(PATIENCE)

    def search_conversations(self, query_parameters: Mapping[str, str]) -> SearchAnswer:
        """Return the conversations that contain the words in *query_parameters*, the parameters of
        a search's web address. Raise WrongUse if they are not valid.
        """
        return search_catalog(self.answers.catalog, parse_query(query_parameters))

    def _compute_state_and_input_hashes(self) -> tuple[str, str]:
        """Return the state of the store, and a hash of everything on which the viewer's answers
        about it depend: state, program, protocols and options.
        """
        return hash_results_and_attempts(
            self._store,
            hash_program(),
            repr(self._offer),
            *(protocol.hash for protocol in self._protocols),
        )

    def _release_waiters(self) -> None:
        """Release all requests that wait for the first reading of the store."""
        with self._letting_go:
            if not self.first.done():
                self.first.set_result(None)

    def _record_progress_or_stop(self, steps: int) -> None:
        """Add *steps* to the number of steps that reading the store has done. Raise Stopped if the
        viewer ends.
        """
        if self._closed.is_set():
            raise Stopped
        self._steps += steps

    def _read_store(
        self, report_steps: Callable[[int], None] = lambda _: None, again: bool = False
    ) -> None:
        """Read the store, and replace the viewer's answers and its current state. *report_steps*:
        called with each number of steps done; *again*: read the store even if it was read before.
        """
        with self._reading:
            if self._answers is not None and not again:
                return  # another thread has done it meanwhile
            started, (state, cause) = self._clock(), self._compute_state_and_input_hashes()
            if self._conversations is None:
                with self._store.open_snapshot() as connection:
                    self._conversations, judged = count_transcripts_and_judgements(connection)
                self._of = estimate_reading_steps(self._conversations, judged)
            catalog = read_catalog(self._store, self._protocols, report_steps)
            answers = Answers(catalog, self._offer)
            # looked at first: the list of boards, and the board to open with
            paths = [
                "index.json",
                *(f"boards/{first}/part/0.json" for first in list(catalog.entries)[:1]),
            ]
            bodies = {path: (answers.get(path) or b"").decode() for path in paths}
            if self._clock() - started > LONG and state == catalog.version:
                self._unkept = cause, bodies
            self._answers, self.current = answers, (catalog.version, answers.get)


def estimate_reading_steps(conversations: int, judged: int) -> int:
    """Estimate how many steps the reading of a store reports: one for each conversation, three for
    each judgement; at least 1.
    """
    return max(1, conversations + 3 * max(judged, conversations))


def list_paths_to_prepare(catalog: Catalog) -> Iterator[str]:
    """Yield the paths of a conversation, a scenario and a comparison, if there are any, to be
    prepared in advance: the first answer of each kind works out what all others need.
    """
    for transcript in islice(catalog.transcripts, 1):
        yield f"transcripts/{transcript}.json"
    for entry in islice(catalog.entries.values(), 1):
        for scenario in islice(entry.edition.items_by_slug, 1):
            yield f"boards/{entry.id}/scenarios/{scenario}/part/all/0.json"
        two = [row.subject.id for row in catalog.find_board(entry).ranked[:2]]
        if len(two) > 1:
            yield f"boards/{entry.id}/compare/{'/'.join(two)}.json"


@cache
def hash_program() -> str:
    """Return a hash of this program's version and files without the viewer's page: another version
    may give other answers about the same store.
    """
    folder = Path(independence_bench.__file__).parent
    files = (
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not {*file.parts} & {"__pycache__", "page"}
    )
    return hash_content(
        [__version__, *(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)]
    )


def is_answer_about_state(body: str, state: str) -> bool:
    """Whether *body* is the JSON of an answer about a store in this *state*, and not something that
    another program has stored.
    """
    try:
        answer = json.loads(body)
    except (ValueError, TypeError, RecursionError):
        return False
    return isinstance(answer, dict) and answer.get("version") == state
