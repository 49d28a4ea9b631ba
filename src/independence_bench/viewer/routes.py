"""Paths and answers: the one table behind the server and the static site, so that both say the same.

`Answers.get` gives the bytes of any path below ``api/``, and `Answers.paths` lists every path that a static site has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from independence_bench.viewer import boards, compare, fragments, judges, methods, scenarios, subjects, transcript
from independence_bench.viewer.encode import json_bytes
from independence_bench.viewer.search_index import SearchDocuments, SearchHead, SearchOf, SearchState, SearchWords
from independence_bench.viewer.snapshot import BoardEntry, Catalog, rows_of, subject_id

ID = r"([a-z0-9-]{1,80})"
NUMBER = r"(0|[1-9][0-9]{0,5})"


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Every answer about one catalog. *search* gives the index, as far as it is there."""

    catalog: Catalog
    offer: fragments.Offer
    search: Callable[[], SearchState]

    @property
    def series(self) -> dict[str, BoardEntry]:
        """The id of every series -> one of its boards."""
        return {entry.series: entry for entry in self.catalog.entries.values()}

    def get(self, path: str) -> bytes | None:
        """The bytes at *path*, such as ``index.json``; None where nothing is there. Any text is a path."""
        stem, _, kind = path.rpartition(".")
        for route in ROUTES:
            if (found := re.fullmatch(route.pattern, stem, re.ASCII)) and route.has(kind):
                return self._written(route, kind, found.groups())
        return None

    def _written(self, route: Route, kind: str, ids: tuple[str, ...]) -> bytes | None:
        def written() -> bytes | None:
            # who asks for one form often asks for the other
            asked = (route.answer, ids)
            found = self.catalog.latest(asked, lambda: route.answer(self, *ids)) if table else route.answer(self, *ids)
            if found is None:
                return None
            return table(found) if table and kind == "csv" else json_bytes(found)

        table = route.table
        return self.catalog.kept((route, kind, *ids), written) if route.kept else written()

    def paths(self) -> Iterator[str]:
        """Every path that has an answer, each once, the cheap ones first; transcripts last."""
        yield "index.json"
        yield "methods.json"
        for edition in self.catalog.editions.values():
            yield from _both(f"judges/{edition.id}")
        for entry in self.catalog.entries.values():
            yield from self._of_board(entry)
        for series, entry in self.series.items():
            yield from self._of_series(series, entry)
        yield from self._of_search()
        for key in self.catalog.transcripts:
            yield f"transcripts/{key}.json"
            if self.offer.raw:
                yield f"raw/{key}.json"

    def _of_series(self, series: str, entry: BoardEntry) -> Iterator[str]:
        for one in boards.in_several(self.catalog, entry):
            yield from _both(f"settings/{series}/{subject_id(one.row.subject)}")

    def _of_search(self) -> Iterator[str]:
        yield "search/index.json"
        if search := self.search().newest:
            inside = f"search/{search.index.build}"
            for of, shards in search.shards.items():
                yield from (f"{inside}/{of}/{n}.json" for n in range(len(shards)))
            yield from (f"{inside}/documents/{n}.json" for n in range(len(search.blocks)))

    def _of_board(self, entry: BoardEntry) -> Iterator[str]:
        board = self.catalog.board(entry)
        if board is None:
            return
        inside = f"boards/{entry.id}"
        yield from _both(inside)
        yield f"{inside}/scenarios.csv"
        for scenario in entry.edition.by_scenario:
            yield from _both(f"{inside}/scenarios/{scenario}")
        for number, row in enumerate(rows_of(board)):
            subject = subject_id(row.subject)
            yield from _both(f"{inside}/subjects/{subject}")
            if self.offer.compared is None or number < self.offer.compared:
                yield from _both(f"{inside}/compare/{subject}")


def _both(stem: str) -> tuple[str, str]:
    return f"{stem}.json", f"{stem}.csv"


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """One kind of paths, without what they end in."""

    pattern: str
    answer: Callable[..., object | None]  # of Answers and the groups of the pattern
    table: Callable[[Any], bytes] | None = None  # the answer as CSV
    json: bool = True
    kept: bool = False  # in bytes: what is looked at first, and takes megabytes in a large store

    def has(self, kind: str) -> bool:
        """Whether there are paths of the pattern that end in it."""
        return (kind == "json" and self.json) or (kind == "csv" and self.table is not None)


def _on_board(answer: Callable[..., object | None]) -> Callable[..., object | None]:
    """The answer about something on a board, or about all of it."""

    def answered(answers: Answers, board: str, *inside: str) -> object | None:
        entry = answers.catalog.entries.get(board)
        return None if entry is None else answer(answers.catalog, entry, *inside)

    return answered


def _compared(answers: Answers, board: str, subject: str) -> object | None:
    entry = answers.catalog.entries.get(board)
    found = None if entry is None else answers.catalog.board(entry)
    if entry is None or found is None:
        return None
    offered = [subject_id(row.subject) for row in rows_of(found)[: answers.offer.compared]]
    return compare.comparisons_answer(answers.catalog, entry, subject) if subject in offered else None


def _settings(answers: Answers, series: str, subject: str) -> object | None:
    """Of one subject: the same for all boards of a series, so it is there once."""
    entry = answers.series.get(series)
    return None if entry is None else compare.configurations_answer(answers.catalog, entry, subject)


def _judges(answers: Answers, protocol: str) -> object | None:
    edition = answers.catalog.editions.get(protocol)
    return None if edition is None else judges.judges_answer(answers.catalog, edition)


def _search(answers: Answers) -> SearchHead:
    there = answers.search()
    return SearchHead(None if there.newest is None else there.newest.index, there.preparing)


def _words(answers: Answers, build: str, of: SearchOf, number: str) -> object | None:
    search = answers.search().build(build)
    return None if search is None else _numbered(search.shards[of], number)


def _documents(answers: Answers, build: str, number: str) -> object | None:
    search = answers.search().build(build)
    return None if search is None else _numbered(search.blocks, number)


def _numbered(parts: Sequence[object], number: str) -> object | None:
    return parts[int(number)] if int(number) < len(parts) else None


_BOARD = _on_board(boards.board_answer)
ROUTES = (
    Route("index", lambda answers: fragments.index_answer(answers.catalog, answers.offer)),
    Route("methods", lambda answers: methods.methods_answer(answers.catalog)),
    Route(f"transcripts/{ID}", lambda answers, id_: transcript.transcript_answer(answers.catalog, id_)),
    Route(f"raw/{ID}", lambda answers, id_: transcript.raw_answer(answers.catalog, id_) if answers.offer.raw else None),
    Route(f"boards/{ID}", _BOARD, boards.board_table, kept=True),
    Route(f"boards/{ID}/scenarios", _BOARD, boards.scenarios_table, json=False),
    Route(f"boards/{ID}/subjects/{ID}", _on_board(subjects.subject_answer), subjects.subject_table),
    Route(f"boards/{ID}/scenarios/{ID}", _on_board(scenarios.scenario_answer), scenarios.scenario_table),
    Route(f"boards/{ID}/compare/{ID}", _compared, compare.comparisons_table),
    Route(f"settings/{ID}/{ID}", _settings, compare.configurations_table),
    Route(f"judges/{ID}", _judges, judges.judges_table),
    Route("search/index", _search),
    Route(f"search/{ID}/(said|judged)/{NUMBER}", _words),
    Route(f"search/{ID}/documents/{NUMBER}", _documents),
)

ANSWERS = (
    fragments.IndexAnswer,
    boards.BoardAnswer,
    subjects.SubjectAnswer,
    scenarios.ScenarioAnswer,
    transcript.TranscriptAnswer,
    transcript.RawAnswer,
    compare.ComparisonsAnswer,
    compare.SubjectSettingsAnswer,
    judges.JudgesAnswer,
    methods.MethodsAnswer,
    SearchHead,
    SearchWords,
    SearchDocuments,
)
"""What `docs/build.py` makes the page's types of, each with all that is in it."""
