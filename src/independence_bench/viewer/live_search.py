"""A server's search: the store's full-text index (`store/derived`), caught up beside the serving,
and its answers.

Each text is put in once, whichever viewer finds it lacking; what is in already can be found
meanwhile. What is found, and in which order, is what the page finds in a site's files
(`searchIndex.ts`): the database knows where each word stands, and the rest is worked out of that,
here with a number for every place:

    document << 32 | which of the judges' texts about it << 24 | place in it
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError

from independence_bench.analysis.results import Key
from independence_bench.errors import StoreError, WrongUse
from independence_bench.store import derived, results
from independence_bench.store.database import Store
from independence_bench.store.rows import Damaged, in_chunks
from independence_bench.viewer.search_index import (
    APART,
    COVERS,
    Documents,
    Search,
    SearchFacets,
    SearchFound,
    SearchIndex,
    SearchOf,
    SearchPart,
    numbers_of,
    said_texts,
    search_document,
    search_facets,
)
from independence_bench.viewer.search_words import (
    DOCUMENT,
    LONGEST,
    RULE,
    Numbers,
    ranked,
    words_of,
)
from independence_bench.viewer.snapshot import Catalog

# the name of the index, the version of the catalog, the last row
State = tuple[str | None, str, int]
# words that follow each other, each with whether it may be a beginning
Unit = Sequence[tuple[str, bool]]

SHOWN = 20  # documents that are named at once
AT_ONCE = 200  # texts that are read together
# that are put in together: other writers wait for it, so it takes a part of a second
WORDS_AT_ONCE = 50_000
REST = 0.5  # of the time that putting some in took, nothing is done
AGAIN = 10.0  # seconds after a failure
PATIENCE = 5.0  # seconds that the thread, which is told to end, is waited for
# what SQLite says of an index that lost something
UNREADABLE = "malformed|vtable|no such table|(?<!module: )fts5"
LOOKED_UP = 1 << 16  # places that are looked up together
LONGEST_QUERY, MOST_WORDS = 2_000, 100  # characters; words
TEXT = 24  # bits of a place in one text
TEXTS = 1 << DOCUMENT - TEXT  # about one document, that are told apart


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What is looked for. *together*: the same words as one phrase, if that is another query."""

    of: SearchOf
    units: tuple[Unit, ...]
    together: tuple[Unit, ...]
    subject: str
    scenario: str
    mark: str


def asked_search(given: Mapping[str, str]) -> tuple[SearchQuery, int]:
    """A query, and the page of its answer, as an address has them. Raises WrongUse for what is
    none.
    """
    of, page = given.get("of", "said"), given.get("page", "0")
    written = [given.get("words", ""), given.get("together", "")]
    if (
        of not in COVERS
        or not (page.isascii() and page.isdigit() and len(page) < 7)
        or "\0" in "".join(written)
    ):
        raise WrongUse(
            "a search is for words in what was said or judged, and its pages are numbered"
        )
    units, together = (
        tuple(_unit(unit) for unit in text.split(",") if unit.strip(" *")) for text in written
    )
    if max(map(len, written)) > LONGEST_QUERY or sum(map(len, units + together)) > 2 * MOST_WORDS:
        raise WrongUse(f"a search is for at most {MOST_WORDS} words; look for some of them")
    filters = (given.get(name, "") for name in ("subject", "scenario", "mark"))
    return SearchQuery("said" if of == "said" else "judged", units, together, *filters), int(page)


def _unit(written: str) -> Unit:
    words = written.removesuffix("*").split()
    return tuple(
        (word[:LONGEST], written.endswith("*") and place == len(words))
        for place, word in enumerate(words, 1)
    )


class LiveSearch:
    """The search in one store."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._beginning, self._reading = threading.Lock(), threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        # for the catalog of this version, all is in the index of this name
        self._complete: str | None = None
        self._index: str | None = None
        self._damaged = False  # the index could not be read
        self._not_before, self._done = 0.0, 0.0
        self._problem: str | None = None
        self._begins: dict[SearchOf, tuple[State, tuple[Numbers, ...]]] = {}  # the latest

    def catch_up(self, catalog: Catalog) -> None:
        """Begin to put in what is lacking, in a thread, unless that is done or was tried a moment
        ago.
        """
        with self._beginning:
            busy = self._closed.is_set() or (self._thread is not None and self._thread.is_alive())
            if not (busy or self._is_complete(catalog) or self._clock() < self._not_before):
                self._thread = threading.Thread(
                    target=self._work, args=(catalog,), name="search", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """End the work where it is, wait for that, and begin none any more."""
        with self._beginning:
            self._closed.set()
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def head(self, catalog: Catalog) -> Search:
        """What there is to search in *catalog*, and how far it is."""
        self.catch_up(catalog)
        parts = tuple(SearchPart(of, None, (), covers) for of, covers in COVERS.items())
        index = SearchIndex(
            catalog.version, catalog.version, len(_documents(catalog)), LONGEST, SHOWN, parts
        )
        facets = _facets(catalog)
        marks = [
            replace(mark, bands=tuple(replace(band, documents="") for band in mark.bands))
            for mark in facets.marks
        ]
        bare = replace(facets, subject=(), scenario=(), marks=tuple(marks))
        return Search(
            index,
            {"facets/0": bare},
            None if self._is_complete(catalog) else self._done,
            self._problem,
        )

    def find(self, catalog: Catalog, query: SearchQuery, page: int) -> SearchFound:
        """One page of what *query* finds in *catalog*; nothing where there is no index yet."""
        try:
            with self._store.reading() as connection:
                state, begins = self._begins_of(connection, catalog, query.of)
                if state[0] != self._index:  # another viewer makes it anew, or it was deleted
                    self._complete = None
                # its next page is likely to be asked for
                hits = catalog.latest(
                    (state, query), lambda: _find(connection, catalog, query, begins)
                )
        except StoreError as error:
            if isinstance(error, Damaged) or re.search(UNREADABLE, str(error)):
                self._damaged, self._not_before = True, 0.0  # it is made anew
            raise
        finally:
            self.catch_up(catalog)
        shown = np.concatenate((hits.first, hits.others))[page * SHOWN : (page + 1) * SHOWN]
        named = tuple(search_document(catalog, _documents(catalog)[number]) for number in shown)
        return SearchFound(hits.phrase, len(hits.first), len(hits.others), hits.any, named)

    def _begins_of(
        self, connection: Connection, catalog: Catalog, of: SearchOf
    ) -> tuple[State, tuple[Numbers, ...]]:
        """The state, and where each row begins in it; no rows where there is no index yet."""
        index = derived.made_by(connection, RULE)
        state = index, catalog.version, 0 if index is None else derived.last(connection)
        with self._reading:
            if of not in self._begins or self._begins[of][0] != state:
                self._begins[of] = (
                    state,
                    () if index is None else _begins(connection, catalog, of, state[2]),
                )
            return self._begins[of]

    def _is_complete(self, catalog: Catalog) -> bool:
        return not catalog.editions or (self._complete == catalog.version and not self._damaged)

    # ------------------------------------------------------------ in the thread

    def _work(self, catalog: Catalog) -> None:
        self._done, self._problem, self._complete = 0.0, None, None
        try:
            while not (self._closed.is_set() or self._put_in()):
                continue
            with self._store.reading() as connection:  # what the first query would wait for
                for of in COVERS:
                    self._begins_of(connection, catalog, of)
        except StoreError as error:
            self._problem = " ".join(str(error).split())
        if self._problem is None:
            self._complete = catalog.version
        else:
            self._not_before = self._clock() + AGAIN

    def _put_in(self) -> bool:
        """Put in what is lacking. Returns whether the index is still the same at the end."""
        with self._store.reading() as connection:
            index = self._usable(connection)
        if index is None:
            with self._store.writing(upgrading=False) as connection:
                index = self._usable(connection) or derived.begin(connection, RULE)
            self._damaged = False
        self._index = index
        for before, kind in enumerate(COVERS):
            with self._store.reading() as connection:
                keys = [key for key, _ in derived.lacking(connection, kind)]
            for done, chunk in enumerate(in_chunks(keys, AT_ONCE)):
                self._done = (before + done * AT_ONCE / len(keys)) / len(COVERS)
                if not self._put(index, kind, chunk):
                    return False
        return True

    def _usable(self, connection: Connection) -> str | None:
        """The name of the index, if it is by our rule and has what it should have, and nothing
        else.
        """
        index = None if self._damaged else derived.made_by(connection, RULE)
        try:
            return index if index is not None and derived.is_sound(connection) else None
        except DatabaseError as error:
            if re.search(UNREADABLE, str(error.orig)):
                return None
            raise

    def _put(self, index: str, kind: SearchOf, keys: Sequence[str]) -> bool:
        """Put in the texts of *keys*, as far as they are still lacking. Returns whether that
        *index* is there.
        """
        started = self._clock()
        try:
            with self._store.reading() as connection:
                stamps = dict(derived.lacking(connection, kind, keys))
                texts = TEXTS_OF[kind](connection, list(stamps))
        except Damaged as error:
            if len(keys) > 1:  # the others are put in
                return all(self._put(index, kind, [key]) for key in keys)
            self._problem = str(error)
            return True
        for pieces in _together(_pieces(key, stamps[key], some) for key, some in texts.items()):
            if not self._write(index, kind, pieces) or self._closed.wait(
                REST * max(0.0, self._clock() - started)
            ):
                return False
            started = self._clock()
        return True

    def _write(self, index: str, kind: SearchOf, pieces: Sequence[derived.Piece]) -> bool:
        with self._store.writing(upgrading=False) as connection:
            if derived.made_by(connection, RULE) != index:
                return False
            # it may be deleted, or put in by another viewer
            still = dict(derived.lacking(connection, kind, {piece.key for piece in pieces}))
            derived.add(
                connection, kind, [piece for piece in pieces if still.get(piece.key) == piece.stamp]
            )
        return True


def _said(connection: Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    talks = results.read_transcripts(connection, ids)
    thoughts = results.find_replies(connection, [key for _, keys in talks.values() for key in keys])
    return {id_: said_texts(talk, keys, thoughts) for id_, (talk, keys) in talks.items()}


def _judged(connection: Connection, keys: Sequence[str]) -> dict[str, list[str]]:
    return {
        key: [judgement.reasoning]
        for key, judgement in results.find_judgements(connection, keys).items()
    }


TEXTS_OF: Mapping[SearchOf, Callable[[Connection, Sequence[str]], dict[str, list[str]]]] = {
    "said": _said,
    "judged": _judged,
}


def _pieces(key: str, stamp: float, texts: Sequence[str]) -> list[derived.Piece]:
    """The words of *texts*, with the places between two; at least one piece, which says that they
    are in.
    """
    words = [word for text in texts for word in (*words_of(text), *[derived.NOWHERE] * APART)]
    starts = range(0, max(1, len(words)), derived.PIECE)
    return [
        derived.Piece(key, stamp, start, words[start : start + derived.PIECE]) for start in starts
    ]


def _together(texts: Iterable[Sequence[derived.Piece]]) -> Iterator[list[derived.Piece]]:
    """The pieces of several *texts*, each of which stays whole, as many as are put in at once."""
    pieces: list[derived.Piece] = []
    words = 0
    for some in texts:
        pieces += some
        words += sum(len(piece.words) for piece in some)
        if words >= WORDS_AT_ONCE:
            yield pieces
            pieces, words = [], 0
    if pieces:
        yield pieces


def _documents(catalog: Catalog) -> Documents:
    return catalog.kept("search documents", lambda: list(catalog.transcripts.values()))


def _facets(catalog: Catalog) -> SearchFacets:
    return catalog.kept("search facets", lambda: search_facets(catalog, _documents(catalog)))


def _begins(
    connection: Connection, catalog: Catalog, of: SearchOf, last: int
) -> tuple[Numbers, ...]:
    """Where each row begins, up to the row *last*: one array, or several where documents share a
    text.
    """
    documents, numbers = _documents(catalog), dict[str | Key, tuple[int, ...]]()
    for number, document in enumerate(documents):
        shared = document.row.id if of == "said" else document.key
        numbers[shared] = (*numbers.get(shared, ()), number)
    begins: list[Numbers] = []
    # which text of a document is the latest; of several, of the first
    texts = np.full(len(documents), -1, np.int64)
    before = ""  # the rows of one key are together
    for row, start, key, about in derived.each_row(connection, of):
        if mine := numbers.get(about):
            if key != before:
                texts[mine[0]] = min(texts[mine[0]] + 1, TEXTS - 1)
            before = key
            for depth, number in enumerate(mine):
                if depth == len(begins):
                    begins.append(np.full(last + 1, -1, np.int64))
                begins[depth][row] = (number << DOCUMENT) + (int(texts[mine[0]]) << TEXT) + start
    return tuple(begins)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """The documents of a query, as the filters leave them; the rest as in `SearchFound`."""

    phrase: bool
    any: bool
    first: Numbers
    others: Numbers


def _find(
    connection: Connection, catalog: Catalog, query: SearchQuery, begins: Sequence[Numbers]
) -> _Found:
    if not begins:
        return _Found(False, False, np.empty(0, np.int64), np.empty(0, np.int64))
    # the words of both are the same
    places = cache(lambda word, prefix: _places(connection, query.of, begins, word, prefix))
    every, together = (
        ranked([[places(*word) for word in unit] for unit in units])
        for units in (query.units, query.together)
    )
    first, others = (
        (together, every[~np.isin(every, together)]) if together.size else (every, every[:0])
    )
    left = _narrowed(catalog, query)
    return _Found(together.size > 0, first.size > 0, first[left[first]], others[left[others]])


def _places(
    connection: Connection, of: SearchOf, begins: Sequence[Numbers], word: str, prefix: bool
) -> Numbers:
    """Where a word stands, in rising order."""
    written = derived.places(connection, of, word, prefix)
    small = begins[0].size * derived.PLACES < np.iinfo(np.uint32).max
    positions = (
        np.fromstring(written, np.uint32 if small else np.int64, sep=",")
        if written
        else np.empty(0, np.int64)
    )
    del written  # a common word stands in millions of places, so little is held twice
    every, size = np.empty(positions.size * len(begins), np.int64), 0
    for first in range(0, positions.size, LOOKED_UP):
        rows, place = np.divmod(
            positions[first : first + LOOKED_UP].astype(np.int64), derived.PLACES
        )
        known = rows < begins[0].size
        for starts in (of_rows[rows[known]] for of_rows in begins):
            there = starts >= 0
            some = starts[there] + place[known][there]
            every[size : size + some.size] = some
            size += some.size
    every = every[:size]
    every.sort()
    return every


def _narrowed(catalog: Catalog, query: SearchQuery) -> NDArray[np.bool_]:
    """Which documents the filters leave; one that names nothing leaves all."""
    left = np.ones(len(_documents(catalog)), np.bool_)
    if not (query.subject or query.scenario or query.mark):
        return left
    facets = _facets(catalog)
    for wanted, names, of in (
        (query.subject, facets.subjects, facets.subject),
        (query.scenario, facets.scenarios, facets.scenario),
    ):
        if wanted in names:
            left &= np.asarray(of) == names.index(wanted)
    for mark in facets.marks:
        for band in mark.bands:
            if query.mark == f"{mark.id} {band.title}":
                left &= np.isin(np.arange(left.size), numbers_of(band.documents))
    return left
