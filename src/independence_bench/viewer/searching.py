"""Full text search without a server: an index in files, of which a query fetches a few.

Indexed is what the models said in every transcript, with their private notes and reasoning. How a text becomes words
is stated in `shapes.SearchIndex`, and done a second time in the page, for queries; the two have to agree.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice, pairwise
from typing import TypeVar

from sqlalchemy import Connection

from independence_bench.store import records
from independence_bench.viewer.catalog import Catalog, Edition, Stored
from independence_bench.viewer.shapes import SearchDocument, SearchDocuments, SearchIndex, SearchWords

A = TypeVar("A")
LONGEST = 24  # UTF-16 code units of a word
SHARD = 48_000  # characters of postings in a file
BLOCK = 50  # documents in a file
BATCH = 400  # transcripts whose reasoning is read at once
COVERS = (
    "What the models said in every transcript, with their private notes and their reasoning. What the person says and "
    "what is put into a model's mouth are the same in every transcript of a scenario, and stand in the methods."
)

_WORD = re.compile(r"[^\W_]+")
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])['’](?=[^\W\d_])")


@dataclass(frozen=True, slots=True)
class Search:
    """An index: its parts are the answers below api/search/."""

    index: SearchIndex
    shards: Sequence[SearchWords]
    blocks: Sequence[SearchDocuments]


def words_of(text: str) -> set[str]:
    """The different words of *text*, as `shapes.SearchIndex` says."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text).translate(_marks())
    found = _WORD.findall(_APOSTROPHE.sub("", text.lower()))
    return {word if len(word) <= LONGEST and word.isascii() else _cut(word) for word in found}


@cache
def _marks() -> dict[int, None]:
    """Everything that stands on a letter: accents, points, strokes."""
    return {code: None for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code))[0] == "M"}


def _cut(word: str) -> str:
    """At most LONGEST code units, and no half of a character."""
    return word.encode("utf-16-le", "replace")[: 2 * LONGEST].decode("utf-16-le", "ignore")


def build_search(catalog: Catalog) -> Search:
    """The index of everything in *catalog*, protocol by protocol in the order of its transcripts."""
    postings: dict[str, array[int]] = defaultdict(lambda: array("I"))
    documents: list[SearchDocument] = []
    with catalog.store.reading() as connection:
        for edition in catalog.held.editions.values():
            numbers = {one.row.id: n for n, one in enumerate(edition.transcripts, len(documents))}
            documents += [_document(catalog, edition, stored) for stored in edition.transcripts]
            for id_, words in _said(connection, {one.row.script_hash for one in edition.transcripts}):
                if id_ in numbers:
                    for word in words:
                        postings[word].append(numbers[id_])
    shards = list(_shards(postings, len(documents)))
    index = SearchIndex(
        version=catalog.version,
        build=catalog.version,
        documents=len(documents),
        words=len(postings),
        longest=LONGEST,
        shards=tuple(next(iter(shard.words)) for shard in shards),
        block=BLOCK,
        covers=COVERS,
    )
    return Search(index, shards, [SearchDocuments(tuple(block)) for block in _batches(documents, BLOCK)])


def _document(catalog: Catalog, edition: Edition, stored: Stored) -> SearchDocument:
    return SearchDocument(
        transcript=stored.id,
        label=catalog.held.labels[stored.row.subject_hash],
        scenario=stored.scenario.title,
        run=stored.row.run,
        configuration=str(stored.configuration),
        protocol=edition.id,
    )


def _said(connection: Connection, scripts: Collection[str]) -> Iterator[tuple[str, set[str]]]:
    """(a transcript's id, the words in it that the model wrote) of every transcript of *scripts*."""
    for batch in _batches(records.words_of(connection, scripts), BATCH):
        thoughts = records.find_replies(connection, [key for _, _, keys in batch for key in keys])
        for row, talk, keys in batch:
            spoken = [part for line in talk.lines if line.name for part in (line.text, line.notes)]
            thought = [thoughts[key].reasoning for key in keys if key in thoughts]
            yield row.id, words_of("\n".join((*spoken, *thought)))


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
    """The document numbers as `shapes.SearchWords` says."""
    there = sorted(numbers)
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
