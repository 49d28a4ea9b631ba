"""Transcripts in lists, with one board's marks: what `subjects` and `scenarios` show a line of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal

from sqlalchemy import Connection

from independence_bench.analysis.item_analysis import MarkWeight, mark_weights
from independence_bench.analysis.leaderboard import Board, Row
from independence_bench.protocol.definition import Configuration
from independence_bench.store import results
from independence_bench.viewer.encode import GivenMark, Whole
from independence_bench.viewer.fragments import copied
from independence_bench.viewer.snapshot import BoardEntry, Catalog, StoredTranscript, rows_of, scenario_slug

State = Literal["judged", "not judged", "judge failed", "invalid"]


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """A transcript in a list, with this board's marks."""

    id: str
    scenario: str  # id
    run: int
    configuration: Configuration
    state: State
    why: str | None  # for invalid and judge failed
    score: Whole | None  # share of the points to be had in it, [0, 100]; null: a mark is missing, or none counts
    marks: Mapping[str, GivenMark]  # mark -> number on its scale
    replies: int
    cut_off: int
    plain_text: int
    reasoned: int


@dataclass(frozen=True, slots=True)
class Listing:
    """What is needed to tell how each transcript of one board fared."""

    catalog: Catalog
    entry: BoardEntry
    rows: Mapping[str, Row]  # by the subject's hash
    worths: Mapping[str, Sequence[MarkWeight]]  # by the scenario's own id

    def counts(self, stored: StoredTranscript) -> bool:
        """Whether the transcript is one behind the board's rows."""
        return stored.configuration in self.entry.configurations and stored.row.subject_hash in self.rows

    def line(self, connection: Connection, stored: StoredTranscript) -> TranscriptEntry:
        """One line of a list."""
        of_subject, slot = self.rows.get(stored.row.subject_hash), (stored.configuration, stored.scenario.id)
        marks = of_subject.marks.get(stored.row.run, {}).get(slot, {}) if of_subject else {}
        state, why = ("judged", None) if marks else self._why_unmarked(connection, stored)
        worths = self.worths[stored.scenario.id]
        to_be_had = fsum(worth.points for worth in worths)
        has_all = to_be_had and all(worth.mark in marks for worth in worths)
        return copied(
            TranscriptEntry,
            stored.row,
            id=stored.id,
            scenario=scenario_slug(stored.scenario.id),
            configuration=stored.configuration,
            state=state,
            why=why,
            score=100 * fsum(worth.earned(marks[worth.mark]) for worth in worths) / to_be_had if has_all else None,
            marks=marks,
        )

    def _why_unmarked(self, connection: Connection, stored: StoredTranscript) -> tuple[State, str | None]:
        if stored.row.state == "invalid":
            return "invalid", stored.row.reason
        if self.entry.judge is not None:
            for one in results.judgements_of(connection, *stored.key):
                if self.catalog.judges.get(one.judge_hash) == self.entry.judge and one.reason is not None:
                    return "judge failed", one.reason
        return "not judged", None


def listing(catalog: Catalog, entry: BoardEntry, board: Board) -> Listing:
    """The listing of *board*."""
    worths = mark_weights(board.protocol, board.configurations)
    return Listing(catalog, entry, {row.subject.hash: row for row in rows_of(board)}, worths)
