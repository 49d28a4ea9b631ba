"""Full text search without a server: an index in files, of which a query fetches a few.

Indexed is, each for itself, what the models said in every transcript, with their private notes and
reasoning, and what the judges wrote about it: every word with its places, so that phrases can be
found. A server looks words up in its store instead (`live_search`), and its answers are of the
classes here, too.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from typing import Literal, TypeVar

import numpy as np
from numpy import base_repr
from numpy.typing import NDArray
from sqlalchemy import Connection

from independence_bench.analysis.results import judgements_at
from independence_bench.protocol.conversation import Transcript
from independence_bench.protocol.definition import Mark
from independence_bench.store import results
from independence_bench.viewer.search_words import LONGEST, words_of
from independence_bench.viewer.snapshot import Catalog, Edition, StoredTranscript

A = TypeVar("A")
SearchOf = Literal["said", "judged"]  # what the models said; what the judges wrote about it
SHARD = 48_000  # characters of postings in a file
BLOCK = 100  # documents in a file
BATCH = 400  # transcripts whose reasoning is read at once
# places between two texts of one document, so that no phrase runs from one into the other
APART = 4
PLACES = 1 << 32  # more than a document has
TOGETHER = 1000  # words whose places are written at once
COVERS: Mapping[SearchOf, str] = {
    "said": "What the models said in every transcript, with their private notes and their reasoning. What the person "
    "says and what is put into a model's mouth are the same in every transcript of a scenario; the page Methods has "
    "them.",
    "judged": "What every judge wrote about every transcript before it gave its marks. What it was told stands in the "
    "methods.",
}

Documents = Sequence[StoredTranscript]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SearchPart:
    """One kind of texts that can be searched.

    The words are sorted by code unit and cut into shards; *shards* has the first word of each, so a
    word is in the last shard whose first word is not above it, and the words that begin with
    something are in one or several in a row.
    """

    of: SearchOf
    words: int | None  # different ones; None: not counted
    shards: tuple[str, ...]  # none where a server looks words up
    covers: str  # what was indexed, in plain words


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """What can be searched, and how.

    A word is a run of letters and digits of the text, lower case, accents taken off (NFKD without
    combining marks), an apostrophe between letters left out, cut after *longest* characters. Of
    what is written without spaces between words (`DENSE`), each character is a word together with
    the one after it, so that a row of them finds any part.
    """

    version: str
    build: str  # part of the paths below
    documents: int
    longest: int
    block: int  # documents in a file of documents/, or that a server names at once
    parts: tuple[SearchPart, ...]


@dataclass(frozen=True, slots=True)
class SearchHead:
    """`api/search/index.json`: what there is to search, and how far a server is with what is not
    found yet.
    """

    index: SearchIndex
    preparing: float | None  # the share that can be found, in [0, 1]; null: all
    problem: str | None  # why the rest cannot be found, in one line


@dataclass(frozen=True, slots=True)
class SearchWords:
    """`api/search/<build>/<of>/<n>.json`: one shard of a part.

    Word -> where it stands: for each document that has it, in rising order, the distance of the
    document's number from the one before it (the first one from -1) and those of the word's places
    in it, in base 36; points inside a document, commas between two. Places count words, over all
    texts of a document, with a gap between two texts.
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
class SearchBand:
    """The documents whose mark lies in one part of its scale: their numbers' distances, as in
    `SearchWords`.
    """

    title: str
    documents: str


@dataclass(frozen=True, slots=True)
class SearchMark:
    """A mark by the main judge of its protocol, the parts of its scale from low to high."""

    id: str
    name: str
    protocol: str  # name
    bands: tuple[SearchBand, ...]


@dataclass(frozen=True, slots=True)
class SearchFacets:
    """`api/search/<build>/facets/0.json`: what to narrow a search to."""

    subjects: tuple[str, ...]  # labels
    # of each document: the place of its subject's label; of a server, which narrows, none
    subject: tuple[int, ...]
    scenarios: tuple[str, ...]  # titles
    scenario: tuple[int, ...]
    marks: tuple[SearchMark, ...]


@dataclass(frozen=True, slots=True)
class SearchFound:
    """`api/search/found.json?...`: what a server found, in the order in which the page ranks what
    it finds itself.

    Where the words stand together somewhere, those documents are first; the filters have narrowed
    both counts.
    """

    phrase: bool  # in some documents they stand together
    first: int
    others: int  # documents in which they stand apart
    any: bool  # there are some of the first without the filters
    documents: tuple[SearchDocument, ...]  # one page of the first and the others


SearchFile = SearchWords | SearchDocuments | SearchFacets


@dataclass(frozen=True, slots=True)
class Search:
    """What can be searched, and its files: path below api/search/<build>/, without its ending ->
    what is in it.
    """

    index: SearchIndex
    files: Mapping[str, SearchFile]
    preparing: float | None = None  # as in `SearchHead`
    problem: str | None = None


def stored_documents(catalog: Catalog) -> Documents:
    """All that can be found, protocol by protocol in the order of its transcripts; its places are
    their numbers.
    """
    return [one for edition in catalog.editions.values() for one in edition.transcripts]


def search_document(catalog: Catalog, transcript: StoredTranscript) -> SearchDocument:
    """What a transcript is called in a list of what was found."""
    return SearchDocument(
        transcript=transcript.id,
        label=catalog.labels[transcript.row.subject_hash],
        scenario=transcript.scenario.title,
        run=transcript.row.run,
        configuration=str(transcript.configuration),
        protocol=transcript.edition.id,
    )


def build_search(catalog: Catalog) -> Search:
    """The index of everything in *catalog*, in files."""
    stored = stored_documents(catalog)
    documents = [search_document(catalog, transcript) for transcript in stored]
    files: dict[str, SearchFile] = {}
    parts = []
    with catalog.store.reading() as connection:
        for of, texts in TEXTS.items():
            postings = _postings(texts(connection, stored), len(documents))
            shards = list(_shards(postings))
            files |= {f"{of}/{number}": shard for number, shard in enumerate(shards)}
            firsts = tuple(next(iter(shard.words)) for shard in shards)
            parts.append(SearchPart(of, len(postings), firsts, COVERS[of]))
        if documents:
            files["facets/0"] = search_facets(catalog, stored)
    blocks = enumerate(_batches(documents, BLOCK))
    files |= {f"documents/{number}": SearchDocuments(tuple(block)) for number, block in blocks}
    return Search(
        SearchIndex(catalog.version, catalog.version, len(documents), LONGEST, BLOCK, tuple(parts)),
        files,
    )


def _postings(texts: Iterable[Found], documents: int) -> dict[str, Places]:
    """Of each word of *texts*, where it stands: document x PLACES + place, rising in a text."""
    number_of: defaultdict[str, int] = defaultdict()
    number_of.default_factory = number_of.__len__
    said, begins, lengths, ends = array("i"), array("q"), array("q"), [0] * documents
    for numbers, text in texts:
        words = array("i", map(number_of.__getitem__, words_of(text)))
        for number in numbers:
            said.extend(words)
            begins.append(number * PLACES + ends[number])
            lengths.append(len(words))
            ends[number] += len(words) + APART
    if not number_of:
        return {}
    word, length = np.array(said), np.array(lengths)
    places = np.arange(len(word)) + np.repeat(np.array(begins) - np.cumsum(length) + length, length)
    of_words = np.cumsum(np.bincount(word, minlength=len(number_of)))
    return dict(
        zip(
            number_of, np.split(places[np.argsort(word, kind="stable")], of_words[:-1]), strict=True
        )
    )


def _said(connection: Connection, stored: Sequence[StoredTranscript]) -> Iterator[Found]:
    """What the model wrote, text by text."""
    # several where two protocols share a transcript
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, transcript in enumerate(stored):
        numbers[transcript.row.id].append(number)
    for batch in _batches(
        results.words_of(connection, {transcript.row.script_hash for transcript in stored}), BATCH
    ):
        thoughts = results.find_replies(connection, [key for _, _, keys in batch for key in keys])
        for row_id, transcript, keys in batch:
            if row_id in numbers:
                for text in said_texts(transcript, keys, thoughts):
                    yield numbers[row_id], text


def said_texts(
    transcript: Transcript, keys: Sequence[str], thoughts: Mapping[str, results.Reply]
) -> list[str]:
    """What the model wrote in *transcript*: replies and notes, then the reasoning of the replies of
    those *keys*.
    """
    spoken = [part for line in transcript.lines if line.name for part in (line.text, line.notes)]
    return [
        text
        for text in (*spoken, *(thoughts[key].reasoning for key in keys if key in thoughts))
        if text
    ]


def _judged(connection: Connection, stored: Sequence[StoredTranscript]) -> Iterator[Found]:
    """What a judge wrote, judgement by judgement, in no order."""
    # several where subjects said the very same
    numbers: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, transcript in enumerate(stored):
        numbers[transcript.key].append(number)
    for _, heard, rubric, reasoning in results.reasonings(
        connection, {rubric for _, rubric in numbers}
    ):
        if (heard, rubric) in numbers:
            yield numbers[heard, rubric], reasoning


Found = tuple[Sequence[int], str]  # (the numbers of documents, one text in them)
TEXTS: Mapping[SearchOf, Callable[[Connection, Sequence[StoredTranscript]], Iterator[Found]]] = {
    "said": _said,
    "judged": _judged,
}


def _shards(postings: Mapping[str, Places]) -> Iterator[SearchWords]:
    """The words in the order in which JavaScript compares them, a file's worth at a time."""
    words: dict[str, str] = {}
    size = 0
    for some in _batches(
        sorted(postings, key=lambda word: word.encode("utf-16-be", "replace")), TOGETHER
    ):
        for word, written in zip(some, places([postings[word] for word in some]), strict=True):
            words[word] = written
            size += len(word) + len(written)
            if size >= SHARD:
                yield SearchWords(words)
                words, size = {}, 0
    if words:
        yield SearchWords(words)


def _batches(items: Iterable[A], size: int) -> Iterator[list[A]]:
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch


# ---------------------------------------------------------------- rising numbers as short text

_SHORT = [base_repr(number, 36).lower() for number in range(1 << 12)]
_BEHIND = np.array([f".{number}" for number in _SHORT], dtype=object)


def distances(numbers: Sequence[int]) -> str:
    """*numbers*, rising, each as its distance from the one before it (the first one from -1), in
    base 36.
    """
    return ",".join([base36(after - before) for before, after in pairwise((-1, *numbers))])


def numbers_of(written: str) -> list[int]:
    """The numbers whose `distances` are *written*."""
    return [
        number - 1
        for number in accumulate(int(digits, 36) for digits in written.split(",") if digits)
    ]


def places(every: Sequence[Places]) -> Iterator[str]:
    """Of each word, found at document x PLACES + place in any order: each document's distance and
    behind it those of its places, all with points, between documents commas. So ``1.3.2,4.1`` is
    document 0 at 2 and 4, document 4 at 0.
    """
    ends = np.cumsum([len(positions) for positions in every])
    of_word = np.repeat(np.arange(len(every)), np.diff(ends, prepend=0))
    positions = np.concatenate(every)
    document, place = np.divmod(positions[np.lexsort((positions, of_word))], PLACES)
    of_other = np.diff(of_word, prepend=-1) != 0  # than the one before it
    first = of_other | (np.diff(document, prepend=-1) != 0)
    apart = np.where(first, place + 1, np.diff(place, prepend=0))
    written = _BEHIND[np.minimum(apart, len(_BEHIND) - 1)].tolist()
    for number in np.flatnonzero(apart >= len(_BEHIND)).tolist():
        written[number] = f".{base36(apart[number])}"
    at = np.flatnonzero(first)
    documents = np.where(of_other[at], document[at] + 1, np.diff(document[at], prepend=0))
    for number, distance in zip(at.tolist(), documents.tolist(), strict=True):
        written[number] = f",{base36(distance)}{written[number]}"
    for begin, end in pairwise((0, *ends.tolist())):
        yield "".join(written[begin:end])[1:]


def base36(number: int) -> str:
    """*number*, not negative, in digits and lower-case letters."""
    return _SHORT[number] if number < len(_SHORT) else base_repr(number, 36).lower()


# ---------------------------------------------------------------- what a search can be narrowed to

FEW = 3  # a scale that is no longer has each of its numbers by itself
BANDS = 3  # parts of a longer one


def search_facets(catalog: Catalog, stored: Documents) -> SearchFacets:
    """The facets of the documents *stored*, whose places are their numbers."""
    labels = [catalog.labels[transcript.row.subject_hash] for transcript in stored]
    titles = [transcript.scenario.title for transcript in stored]
    subjects, scenarios = sorted(sorted(set(labels)), key=str.casefold), list(dict.fromkeys(titles))
    of_subject = {label: number for number, label in enumerate(subjects)}
    of_scenario = {title: number for number, title in enumerate(scenarios)}
    return SearchFacets(
        subjects=tuple(subjects),
        subject=tuple(of_subject[label] for label in labels),
        scenarios=tuple(scenarios),
        scenario=tuple(of_scenario[title] for title in titles),
        marks=tuple(
            mark
            for edition in catalog.editions.values()
            for mark in _search_marks(catalog, edition, stored)
        ),
    )


def band_of(mark: Mark, value: float) -> tuple[int, str]:
    """The part of the mark's scale that *value* lies in: its number from the low end, and its name."""
    if mark.kind == "yes_no":
        return (1, "yes") if value >= 0.5 else (0, "no")
    number = round(value)
    if mark.levels:
        return number, mark.levels[number]
    low, length = round(mark.low), round(mark.high) - round(mark.low)
    if length <= FEW:
        return number - low, str(number)
    edges = [low + (length + 1) * part // BANDS for part in range(BANDS + 1)]
    part = next((part for part in range(BANDS) if number < edges[part + 1]), BANDS - 1)
    return part, f"{edges[part]} to {edges[part + 1] - 1}"


def _search_marks(catalog: Catalog, edition: Edition, stored: Documents) -> list[SearchMark]:
    """The marks that the edition's main judge gave, in the order of its scenarios; none where
    nobody judged.
    """
    main = next((board.main_judge for board in catalog.boards(edition).values()), None)
    found: dict[str, dict[tuple[int, str], list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, transcript in enumerate(stored):
        if transcript.edition is not edition or transcript.row.state == "invalid":
            continue
        for given in judgements_at(edition.records.given, transcript.key):
            if given.reason is None and catalog.judges.get(given.judge_hash) == main:
                for mark in transcript.scenario.marks:
                    if (value := given.marks.get(mark.name)) is not None:
                        found[mark.name][band_of(mark, value)].append(number)
    return [
        SearchMark(
            id=f"{edition.id}.{name}",
            name=name,
            protocol=edition.protocol.name,
            bands=tuple(
                SearchBand(title, distances(numbers))
                for (_, title), numbers in sorted(bands.items())
            ),
        )
        for name, bands in found.items()
    ]
