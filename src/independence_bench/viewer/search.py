"""The search of `aib view`: it finds conversations with given words, by SQLite's full-text search.

A store keeps its texts packed, so no database can search them in place. The first search in a
catalog writes them into a temporary database (FTS5), which is deleted with the catalog. It ranks
the conversations that it finds by bm25. The store may be SQLite or PostgreSQL; nothing is written
to it.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from independence_bench.analysis.results import find_judgements_of_conversation
from independence_bench.errors import BenchError, WrongUse
from independence_bench.protocol.definition import Configuration
from independence_bench.store import results
from independence_bench.store.rows import split_chunks
from independence_bench.viewer.snapshot import Catalog, StoredTranscript

SHOWN = 20  # conversations in a page of what is found
LONGEST_QUERY, MOST_TERMS = 2_000, 100  # characters; words and phrases
SNIPPET = 30  # words in a snippet
AT_ONCE = 100  # conversations that are read together
BEGIN, END = "\ue000", "\ue001"  # around each hit in a snippet
# is a space in what is searched: those two, and what SQLite takes in no text
UNWANTED = re.compile(f"[{BEGIN}{END}\0\ud800-\udfff]")
COLUMNS = {"said": 0, "judged": 1}  # the models' words; the judges' words about them


@dataclass(frozen=True, slots=True)
class SnippetPart:
    """A part of a snippet. *hit*: it is one of the words, or one of the phrases, of the query."""

    text: str
    hit: bool


@dataclass(frozen=True, slots=True)
class FoundConversation:
    """A conversation that has all words of a query."""

    transcript: str
    label: str
    scenario: str  # title
    run: int
    configuration: Configuration
    protocol: str  # id
    snippet: tuple[SnippetPart, ...]


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """`api/search.json?...` of a server: one page of what a query finds, the best match first."""

    conversations: int  # number of conversations that can be searched
    subjects: tuple[str, ...]  # labels, to narrow a search by
    scenarios: tuple[str, ...]  # titles, to narrow a search by
    found: int  # conversations with all words, of the subject and the scenario that were named
    size: int  # conversations in a page
    page: tuple[FoundConversation, ...]


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """The words that a user looks for in conversations, and the page of results to show."""

    of: str  # one of `COLUMNS`
    match: str  # as FTS5 writes it; "": no word
    subject: str  # label; "": any
    scenario: str  # title; "": any
    page: int


def parse_query(query_parameters: Mapping[str, str]) -> SearchQuery:
    """Return the search query in the parameters of a web address. Raise WrongUse if they are not
    valid.
    """
    of, page = query_parameters.get("of", "said"), query_parameters.get("page", "0")
    words = UNWANTED.sub(" ", query_parameters.get("words", ""))
    if of not in COLUMNS or not re.fullmatch("[0-9]{1,6}", page):
        raise WrongUse("a search is for words that were said or judged, and its pages are numbered")
    terms = _make_full_text_terms(words)
    if len(words) > LONGEST_QUERY or len(terms) > MOST_TERMS:
        raise WrongUse(f"a search is for at most {MOST_TERMS} words; look for some of them")
    match = f"{{{of}}} : ({' '.join(terms)})" if terms else ""
    return SearchQuery(
        of,
        match,
        query_parameters.get("subject", ""),
        query_parameters.get("scenario", ""),
        int(page),
    )


def _make_full_text_terms(words: str) -> list[str]:
    """Return each word of *words*, and each phrase in quotation marks, as SQLite's full-text search
    (FTS5) writes it.

    The last word may be the beginning of a longer word, until something follows it.
    """
    parts = re.split('["“”„«»]', words)
    terms = []
    for number, part in enumerate(parts):
        terms += [part] if number % 2 else part.split()
    terms = [f'"{term}"' for term in terms if re.search(r"[^\W_]", term)]
    if terms and len(parts) % 2 and re.search(r"[^\W_]$", words):
        terms[-1] += "*"
    return terms


def search_catalog(catalog: Catalog, query: SearchQuery) -> SearchAnswer:
    """Return one page of the stored conversations that match *query*, the best match first, and how
    many there are. The first search of a catalog reads all texts.
    """
    index: SearchIndex = catalog.remember_result("search", lambda: SearchIndex(catalog))
    conversations = index.conversations
    found = [
        number
        for number in (index.find_conversation_places(query.match) if query.match else ())
        if query.subject in ("", catalog.labels[conversations[number].row.subject_hash])
        and query.scenario in ("", conversations[number].scenario.title)
    ]
    shown = found[query.page * SHOWN : (query.page + 1) * SHOWN]
    subjects = {catalog.labels[one.row.subject_hash] for one in conversations}
    return SearchAnswer(
        conversations=len(conversations),
        subjects=tuple(sorted(subjects, key=lambda label: (label.casefold(), label))),
        scenarios=tuple(dict.fromkeys(one.scenario.title for one in conversations)),
        found=len(found),
        size=SHOWN,
        page=tuple(
            _make_found_conversation(catalog, conversations[one], index.find_snippet(query, one))
            for one in shown
        ),
    )


def _make_found_conversation(
    catalog: Catalog, conversation: StoredTranscript, snippet: str
) -> FoundConversation:
    """Return a conversation that a search has found, with its *snippet* split at the words that
    were hit.
    """
    return FoundConversation(
        transcript=conversation.id,
        label=catalog.labels[conversation.row.subject_hash],
        scenario=conversation.scenario.title,
        run=conversation.row.run,
        configuration=conversation.configuration,
        protocol=conversation.edition.id,
        snippet=tuple(
            SnippetPart(part, number % 2 == 1)
            for number, part in enumerate(re.split(f"[{BEGIN}{END}]", snippet))
            if part
        ),
    )


class SearchIndex:
    """The texts of all conversations of a catalog, in a temporary database for full-text search."""

    def __init__(self, catalog: Catalog) -> None:
        """Read the texts into the database. Raises BenchError if this Python's SQLite has no
        FTS5.
        """
        self.conversations = list(catalog.transcripts.values())  # their places are their row ids
        self._database = sqlite3.connect("", check_same_thread=False)
        self._lock = threading.Lock()
        weakref.finalize(catalog, self._database.close)
        try:
            self._database.execute(
                "CREATE VIRTUAL TABLE texts USING "
                "fts5(said, judged, tokenize = 'unicode61 remove_diacritics 2')"
            )
        except sqlite3.OperationalError as error:
            raise BenchError(
                f"words cannot be searched: the SQLite of this Python has no FTS5 ({error})"
            ) from error
        with catalog.store.open_snapshot() as connection:
            for places in split_chunks(range(len(self.conversations)), AT_ONCE):
                some = [self.conversations[place] for place in places]
                self._database.executemany(
                    "INSERT INTO texts (rowid, said, judged) VALUES (?, ?, ?)",
                    zip(
                        places,
                        _join_replies_per_conversation(connection, some),
                        _join_reasonings_per_conversation(connection, some),
                        strict=True,
                    ),
                )

    def find_conversation_places(self, match: str) -> list[int]:
        """Return the numbers (from 0, in the order of the catalog) of the conversations that match
        a full-text query, the best match first.
        """
        wanted = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts), rowid"
        with self._lock:
            return [place for (place,) in self._database.execute(wanted, (match,))]

    def find_snippet(self, query: SearchQuery, place: int) -> str:
        """Return the passage with most of the searched words in the conversation number *place*,
        which matches *query*, with marks around each hit.
        """
        wanted = (
            "SELECT snippet(texts, ?, ?, ?, ' … ', ?) FROM texts WHERE texts MATCH ? AND rowid = ?"
        )
        given = (COLUMNS[query.of], BEGIN, END, SNIPPET, query.match, place)
        with self._lock:
            return str(self._database.execute(wanted, given).fetchone()[0])


def _join_replies_per_conversation(
    connection: Connection, some: Sequence[StoredTranscript]
) -> Iterator[str]:
    """Yield for each of the conversations in *some* the text that the model wrote: replies, private
    notes and reasoning; "" for one that was deleted meanwhile.
    """
    stored = results.read_transcripts_and_reply_keys(connection, [one.row.id for one in some])
    keys = [key for _, keys in stored.values() for key in keys]
    replies = results.find_replies(connection, keys)
    for one in some:
        if one.row.id not in stored:  # it was deleted after the catalog was read
            yield ""
            continue
        transcript, keys = stored[one.row.id]
        spoken = [
            text for line in transcript.lines if line.name for text in (line.text, line.notes)
        ]
        yield _join_texts([*spoken, *(replies[key].reasoning for key in keys if key in replies)])


def _join_reasonings_per_conversation(
    connection: Connection, some: Sequence[StoredTranscript]
) -> Iterator[str]:
    """Yield for each of the conversations in *some* the text that all judges wrote about it."""
    given = [
        [
            judgement.key
            for judgement in find_judgements_of_conversation(
                one.edition.records.counted.given, one.key
            )
        ]
        for one in some
    ]
    stored = results.find_judgements(connection, [key for keys in given for key in keys])
    for keys in given:
        yield _join_texts([stored[key].reasoning for key in keys if key in stored])


def _join_texts(texts: Sequence[str | None]) -> str:
    """Join the texts that are not empty with blank lines, without characters that the full-text
    search cannot take.
    """
    return UNWANTED.sub(" ", "\n\n".join(text for text in texts if text))
