"""Answers that stay current while a run goes on: the store is checked when somebody asks, and read again if it has
changed. What the search lacks is put in beside that (`live_search`).

Reading takes a while with a large store, so the earlier answers are served until the new ones are there, and a store
that changes all the time is read again at most for a part of the time. What is looked at first is kept in the store if
it took long, so the next start shows it at once and reads the rest meanwhile.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path

import independence_bench
from independence_bench import __version__
from independence_bench.errors import StoreError
from independence_bench.hashing import content_hash
from independence_bench.protocol.definition import Protocol
from independence_bench.store.database import Store
from independence_bench.store.derived import cause_of, find_worked_out, keep_worked_out
from independence_bench.store.registry import state_of
from independence_bench.viewer.fragments import Offer
from independence_bench.viewer.live_search import LiveSearch, asked_search
from independence_bench.viewer.routes import Answers
from independence_bench.viewer.search_index import SearchFound
from independence_bench.viewer.snapshot import Catalog, read_catalog, subject_id

OFTEN = 2.0  # seconds between two looks at the store
SHARE = 4.0  # times as long as reading it took, it is left alone
PATIENCE = 5.0  # seconds that what is being prepared is waited for at the end

LONG = 1.0  # seconds: what takes as long to work out is kept in the store

Current = tuple[str, Callable[[str], bytes | None]]  # the state of the store, and the answers about it: path -> bytes

OFFER = Offer(
    frozen=False,
    raw=True,
    compared=None,
    says=("Served live from the store: new conversations and marks appear automatically.",),
)


class Live:
    """The answers about a store as it is now, give or take the time that it takes to read it."""

    def __init__(
        self,
        store: Store,
        protocols: Sequence[Protocol] = (),
        clock: Callable[[], float] = time.monotonic,
        offer: Offer = OFFER,
    ):
        self._store, self._protocols, self._clock, self._offer = store, protocols, clock, offer
        self._search = LiveSearch(store, clock)
        self._looking = threading.Lock()
        self._not_before = 0.0
        self._reading = threading.Lock()
        self._answers: Answers | None = None
        self._unkept: tuple[str, dict[str, str]] | None = None
        self._preparing: threading.Thread | None = None
        self._closed = threading.Event()
        state, cause = self._cause()
        kept = {path: body.encode() for path, body in find_worked_out(store, cause).items() if is_answer(body, state)}
        self.current: Current = state, lambda path: kept[path] if path in kept else self.answers.get(path)
        if not kept:
            self._read()

    @property
    def answers(self) -> Answers:
        """Those of the newest state that was read: waits for the first time that it is."""
        if self._answers is None:
            self._read()
        assert self._answers is not None  # noqa: S101 - it was read
        return self._answers

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
            if state != self.current[0]:
                self._read(again=True)
                self.keep()
                self._search.head(self.answers.catalog)
            self._not_before = self._clock() + max(OFTEN, SHARE * (self._clock() - started))
        except StoreError:
            self._not_before = self._clock() + OFTEN  # what was read before is still true of then
        finally:
            self._looking.release()

    def begin(self) -> None:
        """Prepare beside the serving what takes long."""
        self._preparing = threading.Thread(target=self._prepare, name="prepare", daemon=True)
        self._preparing.start()

    def keep(self) -> None:
        """Keep in the store what took long to work out, for the next start."""
        if self._unkept is not None:
            keep_worked_out(self._store, *self._unkept)
            self._unkept = None

    def _prepare(self) -> None:
        with suppress(StoreError):  # whoever asks is told
            self.keep()
            answers = self.answers
            self.keep()  # where what was kept was no answer
            self._search.head(answers.catalog)
            for path in first_looks(answers.catalog):
                if not self._closed.is_set():
                    answers.get(path)

    def close(self) -> None:
        """End what is being prepared, after the answer that is being worked out."""
        self._closed.set()
        self._search.close()
        if self._preparing is not None:
            self._preparing.join(PATIENCE)

    def find(self, asked: Mapping[str, str]) -> SearchFound:
        """What a search finds. Raises WrongUse for what is none."""
        query, page = asked_search(asked)
        return self._search.find(self.answers.catalog, query, page)

    def _cause(self) -> tuple[str, str]:
        """The state of the store, and the hash of all that the answers about it depend on."""
        return cause_of(self._store, program(), repr(self._offer), *(one.hash for one in self._protocols))

    def _read(self, again: bool = False) -> None:
        with self._reading:
            if self._answers is not None and not again:
                return  # another thread has done it meanwhile
            started, (state, cause) = self._clock(), self._cause()
            catalog = read_catalog(self._store, self._protocols)
            answers = Answers(catalog, self._offer, lambda: self._search.head(catalog))
            # what is looked at first: the list of boards, and the one to open with
            paths = ["index.json", *(f"boards/{first}/part/0.json" for first in list(catalog.entries)[:1])]
            bodies = {path: (answers.get(path) or b"").decode() for path in paths}
            if self._clock() - started > LONG and state == catalog.version:
                self._unkept = cause, bodies
            self._answers, self.current = answers, (catalog.version, answers.get)


def first_looks(catalog: Catalog) -> Iterator[str]:
    """A transcript, a scenario and a comparison, if there are any: the first of each finds what all others need."""
    for transcript in islice(catalog.transcripts, 1):
        yield f"transcripts/{transcript}.json"
    for entry in islice(catalog.entries.values(), 1):
        for scenario in islice(entry.edition.units, 1):
            yield f"boards/{entry.id}/scenarios/{scenario}/part/all/0.json"
        two = [subject_id(row.subject) for row in catalog.board(entry).ranked[:2]]
        if len(two) > 1:
            yield f"boards/{entry.id}/compare/{'/'.join(two)}.json"


@cache
def program() -> str:
    """The hash of this program's own files but the page: another one may give other answers about the same store."""
    folder = Path(independence_bench.__file__).parent
    files = (
        file for file in sorted(folder.rglob("*")) if file.is_file() and not {*file.parts} & {"__pycache__", "page"}
    )
    return content_hash([__version__, *(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)])


def is_answer(body: str, state: str) -> bool:
    """Whether that is an answer about a store in this *state*, and not what somebody else has written there."""
    try:
        answer = json.loads(body)
    except (ValueError, TypeError, RecursionError):
        return False
    return isinstance(answer, dict) and answer.get("version") == state
