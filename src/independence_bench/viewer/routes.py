"""Paths and answers: one table behind the server and the static site, so that both say the same.

`Answers.get` returns the bytes of any path below ``api/``, and `Answers.list_paths` lists every
path that a static site has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from independence_bench.report.encode import encode_page_json
from independence_bench.viewer import (
    boards,
    compare,
    conversation,
    fragments,
    judges,
    labelling,
    scenarios,
    subjects,
    versions,
)
from independence_bench.viewer.search import SearchAnswer
from independence_bench.viewer.snapshot import BoardEntry, Catalog, NotThere, find_by_id
from independence_bench.viewer.versions import find_other_versions

ID = r"([a-z0-9-]{1,80})"
NUMBER = r"([0-9]{1,6})"


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Every answer of the viewer about one catalog, except those of a search, which has no path of
    its own.
    """

    catalog: Catalog
    offer: fragments.Offer

    def get(self, path: str) -> bytes | None:
        """Return the bytes of the answer at *path*, such as ``index.json``; None if there is no
        such answer. Any text may be a path.
        """
        stem, _, kind = path.rpartition(".")
        for route in ROUTES:
            has_kind = (kind == "json" and route.json) or (
                kind == "csv" and route.table is not None
            )
            if has_kind and (match := re.fullmatch(route.pattern, stem, re.ASCII)):
                try:
                    return self._encode_answer(route, kind, match.groups())
                except NotThere:
                    return None
        return None

    def _encode_answer(self, route: Route, kind: str, ids: tuple[str, ...]) -> bytes:
        """Return the answer of *route* for the *ids* in its path, as bytes of *kind*: json or csv.
        Raise NotThere for an unknown id.
        """

        def encode_value() -> bytes:
            """Work out the answer of a path, and return it encoded as JSON or as CSV."""
            if table is None:
                return encode_page_json(route.answer(self, *ids))
            # who asks for one form often asks for the other
            value = self.catalog.remember_latest_result(
                (route.answer, ids), lambda: route.answer(self, *ids)
            )
            return table(value) if kind == "csv" else encode_page_json(value)

        table = route.table
        return (
            self.catalog.remember_result((route, kind, *ids), encode_value)
            if route.kept
            else encode_value()
        )

    def list_paths(self) -> Iterator[str]:
        """Yield every path at which the viewer has an answer, each once: the cheap ones first,
        conversations last.
        """
        yield "index.json"
        yield "exam.json"
        yield from (
            f"exam/{judges.make_rubric_id(rubric)}.json"
            for rubric in judges.list_answered_rubrics(self.catalog)
        )
        for edition in self.catalog.editions.values():
            yield from _list_json_and_csv_paths(f"judges/{edition.id}")
        for entry in self.catalog.entries.values():
            yield from self._list_board_paths(entry)
        for key in self.catalog.transcripts:
            yield f"transcripts/{key}.json"
            if self.offer.raw:
                yield f"raw/{key}.json"

    def _list_board_paths(self, entry: BoardEntry) -> Iterator[str]:
        """Yield the paths of all answers about one leaderboard: its tables, scenarios, models,
        comparisons and versions.
        """
        board = self.catalog.find_boards(entry.edition, entry.wanted_boards).get(entry.id)
        if board is None:
            return
        inside = f"boards/{entry.id}"
        yield from _list_json_and_csv_paths(inside)
        yield f"{inside}/scenarios.csv"
        if entry.id in fragments.map_boards_to_characters(self.catalog):
            yield f"{inside}/persona.json"
        for version in find_other_versions(self.catalog, entry):
            yield from _list_json_and_csv_paths(f"{inside}/versions/{version.protocol}")
        for scenario in entry.edition.items_by_slug:
            yield from _list_json_and_csv_paths(f"{inside}/scenarios/{scenario}")
        for number, row in enumerate(board.rows):
            subject = row.subject.id
            yield from _list_json_and_csv_paths(f"{inside}/subjects/{subject}")
            if self.offer.compared is None or number < self.offer.compared:
                yield from _list_json_and_csv_paths(f"{inside}/compare/{subject}")


def _list_json_and_csv_paths(stem: str) -> tuple[str, str]:
    """Return the paths of an answer as JSON and as CSV; *stem* is the path without its ending."""
    return f"{stem}.json", f"{stem}.csv"


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """One kind of the viewer's paths, without their ending, with the function that builds the
    answer.
    """

    pattern: str
    # called with Answers and the groups of the pattern; raises NotThere
    answer: Callable[..., object]
    table: Callable[[Any], bytes] | None = None  # the answer as CSV
    json: bool = True
    # whether its bytes are kept: looked at first, and megabytes in a large store
    kept: bool = False


def _wrap_board_answer(answer: Callable[..., object]) -> Callable[..., object]:
    """Return a function that finds a leaderboard by the id in a path, and calls *answer* with the
    catalog, the leaderboard and the other ids of the path.
    """
    return lambda answers, board, *inside: answer(
        answers.catalog, find_by_id(answers.catalog.entries, board), *inside
    )


def _build_comparisons(answers: Answers, board: str, subject: str) -> object:
    """Return the answer that compares one model with those after it on a leaderboard. Raise
    NotThere if an id is unknown, or if the site does not offer this comparison.
    """
    entry = find_by_id(answers.catalog.entries, board)
    all_of_board = answers.catalog.find_board(entry)
    row = answers.catalog.find_row(all_of_board, subject)
    if all(one is not row for one in all_of_board.rows[: answers.offer.compared]):
        raise NotThere(subject)
    return compare.build_comparisons_answer(answers.catalog, entry, subject)


def _build_raw_answer(answers: Answers, transcript_id: str) -> object:
    """Return the recorded requests and responses of a conversation. Raise NotThere if the id is
    unknown, or if the site does not offer them.
    """
    if not answers.offer.raw:
        raise NotThere(transcript_id)
    return conversation.build_raw_answer(answers.catalog, transcript_id)


_BOARD = _wrap_board_answer(boards.build_board_answer)
ROUTES = (
    Route("index", lambda answers: fragments.build_index_answer(answers.catalog, answers.offer)),
    Route(
        f"transcripts/{ID}",
        lambda answers, id_: conversation.build_transcript_answer(answers.catalog, id_),
    ),
    Route(f"raw/{ID}", _build_raw_answer),
    Route(f"boards/{ID}", _BOARD, boards.encode_board_csv),
    Route(
        f"boards/{ID}/part/0",
        _wrap_board_answer(partial(boards.build_board_answer, first=True)),
        kept=True,
    ),
    Route(f"boards/{ID}/part/{NUMBER}", _wrap_board_answer(boards.build_board_part)),
    Route(f"boards/{ID}/scenarios", _BOARD, boards.encode_scenarios_csv, json=False),
    Route(f"boards/{ID}/persona", _wrap_board_answer(subjects.build_persona_answer)),
    Route(
        f"boards/{ID}/subjects/{ID}",
        _wrap_board_answer(subjects.build_subject_answer),
        subjects.encode_subject_csv,
    ),
    Route(
        f"boards/{ID}/scenarios/{ID}",
        _wrap_board_answer(scenarios.build_scenario_answer),
        scenarios.encode_scenario_csv,
    ),
    Route(
        f"boards/{ID}/scenarios/{ID}/part/{ID}/{NUMBER}",
        _wrap_board_answer(scenarios.build_scenario_part),
    ),
    Route(f"boards/{ID}/compare/{ID}", _build_comparisons, compare.encode_comparisons_csv),
    Route(
        f"boards/{ID}/compare/{ID}/{ID}",
        _wrap_board_answer(compare.build_comparisons_answer),
        compare.encode_comparisons_csv,
    ),
    Route(
        f"boards/{ID}/versions/{ID}",
        _wrap_board_answer(versions.build_versions_answer),
        versions.encode_versions_csv,
    ),
    Route("exam", lambda answers: judges.build_exam_answer(answers.catalog), kept=True),
    Route(
        f"exam/{ID}",
        lambda answers, rubric: judges.build_exam_questions_answer(answers.catalog, rubric),
    ),
    Route(
        f"judges/{ID}",
        lambda answers, protocol: judges.build_judges_answer(
            answers.catalog, find_by_id(answers.catalog.editions, protocol)
        ),
        judges.encode_judges_csv,
    ),
)

ANSWERS = (
    fragments.IndexAnswer,
    fragments.FirstReading,
    boards.BoardAnswer,
    boards.BoardPart,
    subjects.SubjectAnswer,
    scenarios.ScenarioAnswer,
    conversation.TranscriptAnswer,
    conversation.RawAnswer,
    compare.ComparisonsAnswer,
    versions.VersionsAnswer,
    subjects.PersonaAnswer,
    labelling.Labelling,
    labelling.LabelAgreement,
    judges.JudgesAnswer,
    judges.ExamAnswer,
    judges.ExamQuestionsAnswer,
    SearchAnswer,
)
"""What `docs/build.py` makes the page's types of, each with all that is in it."""
