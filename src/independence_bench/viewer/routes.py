"""Paths and answers: the one table behind the server and the static site, so that both say the same.

`Answers.get` gives the bytes of any path below ``api/``, and `Answers.paths` lists every path that a static site has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from independence_bench import __version__
from independence_bench.viewer import (
    boards,
    compare,
    fragments,
    judges,
    methods,
    scenarios,
    subjects,
    transcript,
)
from independence_bench.viewer.encode import json_bytes
from independence_bench.viewer.search_index import SearchDocuments, SearchHead, SearchOf, SearchWords, Shelved
from independence_bench.viewer.snapshot import BoardEntry, Catalog, rows_of, subject_id

A = TypeVar("A")
ID = r"([a-z0-9-]{1,80})"
NUMBER = r"(0|[1-9][0-9]{0,5})"

Given = bytes | None


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Every answer about one catalog. *search* gives the index, as far as it is there."""

    catalog: Catalog
    offer: fragments.Offer
    search: Callable[[], Shelved]

    @property
    def series(self) -> dict[str, BoardEntry]:
        """The id of every series -> one of its boards."""
        return {entry.series: entry for entry in self.catalog.entries.values()}

    def get(self, path: str) -> Given:
        """The bytes at *path*, such as ``index.json``; None where nothing is there. Any text is a path."""
        for pattern, answer in ROUTES:
            if found := pattern.fullmatch(path):
                return answer(self, *found.groups())
        return None

    def paths(self) -> Iterator[str]:
        """Every path that has an answer, each once, the cheap ones first; transcripts last."""
        yield "index.json"
        yield "methods.json"
        for edition in self.catalog.held.editions.values():
            yield from _both(f"judges/{edition.id}")
        for entry in self.catalog.entries.values():
            yield from self._of_board(entry)
        for series, entry in self.series.items():
            yield from self._of_series(series, entry)
        yield from self._of_search()
        for key in self.catalog.held.transcripts:
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


def _written(answer: object | None) -> Given:
    return None if answer is None else json_bytes(answer)


def _index(answers: Answers) -> Given:
    catalog = answers.catalog
    return json_bytes(
        fragments.IndexAnswer(
            version=catalog.version,
            project=fragments.Project(fragments.NAME, __version__),
            offer=answers.offer,
            newest=fragments.moment(catalog.held.newest),
            protocols=tuple(fragments.protocol_entry(catalog, one) for one in catalog.held.editions.values()),
            boards=tuple(catalog.entries.values()),
            citation=fragments.citation(catalog),
        )
    )


def _both_forms(
    answers: Answers, path: str, kind: str, answer: Callable[[], A | None], table: Callable[[A], bytes]
) -> Given:
    """An answer as JSON or as a table: who asks for one of them often asks for the other."""
    found = answers.catalog.latest(path, answer)
    if found is None:
        return None
    return table(found) if kind == "csv" else json_bytes(found)


def _board(answers: Answers, board: str, kind: str) -> Given:
    """A whole board, kept: it is what is looked at first, and megabytes in a large store."""
    catalog, place = answers.catalog, answers.catalog.entries.get(board)
    if place is None:
        return None

    def made() -> Given:
        return _both_forms(answers, board, kind, lambda: boards.board_answer(catalog, place), boards.board_table)

    return catalog.kept(f"{board}.{kind}", made)


def _all_scenarios(answers: Answers, board: str) -> Given:
    """What a board says of its scenarios, as a table; as JSON it is a part of the board."""
    catalog, place = answers.catalog, answers.catalog.entries.get(board)
    if place is None:
        return None
    return _both_forms(answers, board, "csv", lambda: boards.board_answer(catalog, place), boards.scenarios_table)


def _on_board(
    what: str, answer: Callable[[Catalog, BoardEntry, str], A | None], table: Callable[[A], bytes]
) -> Callable[..., Given]:
    """The answer about something on a board."""

    def answered(answers: Answers, board: str, inside: str, kind: str) -> Given:
        place = answers.catalog.entries.get(board)
        if place is None:
            return None
        path = f"{board}/{what}/{inside}"
        return _both_forms(answers, path, kind, lambda: answer(answers.catalog, place, inside), table)

    return answered


def _compared(answers: Answers, board: str, subject: str, kind: str) -> Given:
    place = answers.catalog.entries.get(board)
    found = None if place is None else answers.catalog.board(place)
    if found is None:
        return None
    if answers.offer.compared is not None:
        offered = [subject_id(row.subject) for row in rows_of(found)[: answers.offer.compared]]
        if subject not in offered:
            return None
    return _COMPARISONS(answers, board, subject, kind)


def _in_configurations(answers: Answers, series: str, subject: str, kind: str) -> Given:
    """Of one subject: the same for all boards of a series, so it is there once."""
    place = answers.series.get(series)
    if place is None:
        return None
    return _both_forms(
        answers,
        f"{series}/settings/{subject}",
        kind,
        lambda: compare.configurations_answer(answers.catalog, place, subject),
        compare.configurations_table,
    )


def _judges(answers: Answers, protocol: str, kind: str) -> Given:
    edition = answers.catalog.held.editions.get(protocol)
    if edition is None:
        return None
    return _both_forms(
        answers, protocol, kind, lambda: judges.judges_answer(answers.catalog, edition), judges.judges_table
    )


def _search(answers: Answers) -> Given:
    there = answers.search()
    index = None if there.newest is None else there.newest.index
    return json_bytes(SearchHead(index, there.preparing))


def _words(answers: Answers, build: str, of: SearchOf, number: str) -> Given:
    search = answers.search().build(build)
    return None if search is None else _numbered(search.shards[of], number)


def _documents(answers: Answers, build: str, number: str) -> Given:
    search = answers.search().build(build)
    return None if search is None else _numbered(search.blocks, number)


def _numbered(parts: Sequence[object], number: str) -> Given:
    return json_bytes(parts[int(number)]) if int(number) < len(parts) else None


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

Answer = Callable[..., Given]
_COMPARISONS = _on_board("compare", compare.comparisons_answer, compare.comparisons_table)
_SUBJECTS = _on_board("subjects", subjects.subject_answer, subjects.subject_table)
_SCENARIOS = _on_board("scenarios", scenarios.scenario_answer, scenarios.scenario_table)
KIND = r"\.(json|csv)"

ROUTES: tuple[tuple[re.Pattern[str], Answer], ...] = tuple(
    (re.compile(pattern, re.ASCII), answer)
    for pattern, answer in (
        (r"index\.json", _index),
        (r"methods\.json", lambda answers: json_bytes(methods.methods_answer(answers.catalog))),
        (
            rf"transcripts/{ID}\.json",
            lambda answers, id_: _written(transcript.transcript_answer(answers.catalog, id_)),
        ),
        (
            rf"raw/{ID}\.json",
            lambda answers, id_: _written(transcript.raw_answer(answers.catalog, id_)) if answers.offer.raw else None,
        ),
        (rf"boards/{ID}{KIND}", _board),
        (rf"boards/{ID}/scenarios\.csv", _all_scenarios),
        (rf"boards/{ID}/subjects/{ID}{KIND}", _SUBJECTS),
        (rf"boards/{ID}/scenarios/{ID}{KIND}", _SCENARIOS),
        (rf"boards/{ID}/compare/{ID}{KIND}", _compared),
        (rf"settings/{ID}/{ID}{KIND}", _in_configurations),
        (rf"judges/{ID}{KIND}", _judges),
        (r"search/index\.json", _search),
        (rf"search/{ID}/(said|judged)/{NUMBER}\.json", _words),
        (rf"search/{ID}/documents/{NUMBER}\.json", _documents),
    )
)
