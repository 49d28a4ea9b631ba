"""Full text search without a server: an index in files, of which a query fetches a few.

Indexed is, each for itself, what the models said in every transcript, with their private notes and reasoning, and what
the judges wrote about it. How a text becomes words is stated in `SearchIndex`, and done a second time in the
page, for queries; the two have to agree.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice, pairwise
from typing import Literal, TypeVar

from sqlalchemy import Connection

from independence_bench.store import results
from independence_bench.viewer.snapshot import Catalog, Edition, StoredTranscript

A = TypeVar("A")
SearchOf = Literal["said", "judged"]  # what the models said; what the judges wrote about it
LONGEST = 24  # UTF-16 code units of a word
SHARD = 48_000  # characters of postings in a file
BLOCK = 50  # documents in a file
BATCH = 400  # transcripts whose reasoning is read at once
COVERS: Mapping[SearchOf, str] = {
    "said": "What the models said in every transcript, with their private notes and their reasoning. What the person "
    "says and what is put into a model's mouth are the same in every transcript of a scenario, and stand in the "
    "methods.",
    "judged": "What every judge wrote about every transcript before it gave its marks. What it was told stands in the "
    "methods.",
}

Words = set[str]
Tell = Callable[[float], None]  # the share that is done, in [0, 1]; whatever it raises ends the work

_WORD = re.compile(r"[^\W_]+")
# the character first: where it is none there is nothing to look round for
_APOSTROPHE = re.compile(r"['’](?<=[^\W\d_].)(?=[^\W\d_])")
# What most texts that are not ASCII have beside it, as what stands for it: a text without it takes the short way
_TYPOGRAPHY = (("’", "'"), *((sign, " ") for sign in "‘“”—–…•→\u2011\u202f"))
# lower case; all but letters and digits is a space
_PLAIN = bytes(ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(128)) + bytes([32]) * 128


@dataclass(frozen=True, slots=True)
class SearchPart:
    """One kind of texts that can be searched.

    The words are sorted by code unit and cut into shards; *shards* has the first word of each, so a word is in the last
    shard whose first word is not above it, and the words that begin with something are in one or several in a row.
    """

    of: SearchOf
    words: int
    shards: tuple[str, ...]
    covers: str  # what was indexed, in plain words


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """What can be searched, and how.

    A word is a run of letters and digits of the text, lower case, accents taken off (NFKD without combining marks),
    an apostrophe between letters left out, cut after *longest* characters.
    """

    version: str
    build: str  # part of the paths below
    documents: int
    longest: int
    block: int  # documents in a file of documents/
    parts: tuple[SearchPart, ...]


@dataclass(frozen=True, slots=True)
class SearchHead:
    """`api/search/index.json`: the newest index that there is, and how far the next one is."""

    index: SearchIndex | None  # null: none yet
    preparing: float | None  # the share that is done, in [0, 1]; null: no newer one is needed


@dataclass(frozen=True, slots=True)
class SearchWords:
    """`api/search/<build>/<of>/<n>.json`: one shard of a part.

    Word -> the documents that have it: their numbers in rising order, each as its distance from the one before it
    (the first one from -1), in base 36, with commas; where a word is in most documents, "!" and likewise those
    documents that lack it.
    """

    words: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """One transcript that can be found. Its place in the whole list is its number."""

    transcript: str
    label: str
    scenario: str  # title
    run: int
    configuration: str
    protocol: str  # id


@dataclass(frozen=True, slots=True)
class SearchDocuments:
    """`api/search/<build>/documents/<n>.json`: documents n x block, n x block + 1, ..."""

    documents: tuple[SearchDocument, ...]


@dataclass(frozen=True, slots=True)
class Search:
    """An index: its parts are the answers below api/search/."""

    index: SearchIndex
    shards: Mapping[SearchOf, Sequence[SearchWords]]
    blocks: Sequence[SearchDocuments]


@dataclass(frozen=True, slots=True)
class SearchState:
    """What there is to search with now."""

    newest: Search | None  # None: none yet
    preparing: float | None = None  # how far the next one is, in [0, 1]; None: none is needed
    earlier: Search | None = None  # for pages that still have its head

    def build(self, name: str) -> Search | None:
        """The index that is called so; None where there is none any more."""
        return next((one for one in (self.newest, self.earlier) if one is not None and one.index.build == name), None)


def words_of(text: str) -> Words:
    """The different words of *text*, as `SearchIndex` says."""
    if not text.isascii():
        for sign, plain in _TYPOGRAPHY:
            text = text.replace(sign, plain)
        if not text.isascii():
            text = unicodedata.normalize("NFKD", text).translate(_marks())
    if "'" in text or "’" in text:
        text = _APOSTROPHE.sub("", text)
    if text.isascii():
        found = set(text.encode("ascii").translate(_PLAIN).decode("ascii").split())
        return found if max(map(len, found), default=0) <= LONGEST else {word[:LONGEST] for word in found}
    return {_cut(word) for word in _WORD.findall(text.lower())}


@cache
def _marks() -> dict[int, None]:
    """Everything that stands on a letter: accents, points, strokes."""
    return {code: None for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code))[0] == "M"}


def _cut(word: str) -> str:
    """At most LONGEST code units, and no half of a character."""
    return word.encode("utf-16-le", "replace")[: 2 * LONGEST].decode("utf-16-le", "ignore")


def build_search(catalog: Catalog, tell: Tell = lambda _: None) -> Search:
    """The index of everything in *catalog*, protocol by protocol in the order of its transcripts."""
    editions = catalog.editions.values()
    documents = [_document(catalog, edition, stored) for edition in editions for stored in edition.transcripts]
    shards: dict[SearchOf, list[SearchWords]] = {}
    with catalog.store.reading() as connection:
        for done, (of, texts) in enumerate(_TEXTS):
            postings: dict[str, array[int]] = defaultdict(lambda: array("I"))
            for read, (number, words) in enumerate(texts(connection, editions)):
                if read % BATCH == 0:
                    tell((done + min(1.0, read / len(documents))) / 2)
                for word in words:
                    postings[word].append(number)
            shards[of] = list(_shards(postings, len(documents)))
    index = SearchIndex(
        version=catalog.version,
        build=catalog.version,
        documents=len(documents),
        longest=LONGEST,
        block=BLOCK,
        parts=tuple(
            SearchPart(of, sum(len(shard.words) for shard in found), tuple(map(_first, found)), COVERS[of])
            for of, found in shards.items()
        ),
    )
    return Search(index, shards, [SearchDocuments(tuple(block)) for block in _batches(documents, BLOCK)])


def _document(catalog: Catalog, edition: Edition, stored: StoredTranscript) -> SearchDocument:
    return SearchDocument(
        transcript=stored.id,
        label=catalog.labels[stored.row.subject_hash],
        scenario=stored.scenario.title,
        run=stored.row.run,
        configuration=str(stored.configuration),
        protocol=edition.id,
    )


Editions = Collection[Edition]


def _said(connection: Connection, editions: Editions) -> Iterator[tuple[int, Words]]:
    """(a document's number, the words in it that the model wrote) of every transcript."""
    before = 0
    for edition in editions:
        numbers = {one.row.id: n for n, one in enumerate(edition.transcripts, before)}
        before += len(edition.transcripts)
        scripts = {one.row.script_hash for one in edition.transcripts}
        for batch in _batches(results.words_of(connection, scripts), BATCH):
            thoughts = results.find_replies(connection, [key for _, _, keys in batch for key in keys])
            for row, transcript, keys in batch:
                if row.id in numbers:
                    spoken = [part for line in transcript.lines if line.name for part in (line.text, line.notes)]
                    thought = [thoughts[key].reasoning for key in keys if key in thoughts]
                    yield numbers[row.id], words_of("\n".join((*spoken, *thought)))


def _judged(connection: Connection, editions: Editions) -> Iterator[tuple[int, Words]]:
    """(a document's number, the words of one judge about it) of every judgement, in no order."""
    about: dict[tuple[str, str], list[int]] = defaultdict(list)  # several where subjects said the very same
    before = 0
    for edition in editions:
        for number, one in enumerate(edition.transcripts, before):
            about[one.key].append(number)
        before += len(edition.transcripts)
    for _, heard, rubric, reasoning in results.reasonings(connection, {rubric for _, rubric in about}):
        if numbers := about.get((heard, rubric)):
            words = words_of(reasoning)
            yield from ((number, words) for number in numbers)


_TEXTS: tuple[tuple[SearchOf, Callable[[Connection, Editions], Iterator[tuple[int, Words]]]], ...] = (
    ("said", _said),
    ("judged", _judged),
)


def _first(shard: SearchWords) -> str:
    return next(iter(shard.words))


def _shards(postings: Mapping[str, array[int]], documents: int) -> Iterator[SearchWords]:
    """The words in the order in which JavaScript compares them, a file's worth at a time."""
    words: dict[str, str] = {}
    size = 0
    for word in sorted(postings, key=lambda word: word.encode("utf-16-be", "replace")):
        words[word] = _written(postings[word], documents)
        size += len(word) + len(words[word])
        if size >= SHARD:
            yield SearchWords(words)
            words, size = {}, 0
    if words:
        yield SearchWords(words)


def _written(numbers: array[int], documents: int) -> str:
    """The document numbers as `SearchWords` says."""
    there = sorted(set(numbers))  # several judges may have written it
    if 2 * len(there) > documents:
        return "!" + _distances(sorted(set(range(documents)).difference(there)))
    return _distances(there)


def _distances(numbers: Sequence[int]) -> str:
    return ",".join(map(_base36, (after - before for before, after in pairwise((-1, *numbers)))))


@lru_cache(maxsize=1 << 16)
def _base36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


def _batches(items: Iterable[A], size: int) -> Iterator[list[A]]:
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch
