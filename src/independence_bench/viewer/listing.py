"""Lists of conversations, a line each, with one leaderboard's scores, for `subjects` and
`scenarios`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.item_analysis import MarkWeight, list_mark_weights_by_item
from independence_bench.analysis.results import find_judgements_of_conversation
from independence_bench.figures import GivenMark, Whole
from independence_bench.protocol.definition import Branch, Configuration
from independence_bench.protocol.item_scoring import compute_branch_worth
from independence_bench.protocol.scoring import Marks, Slot, compute_mean
from independence_bench.store.results import Judgement
from independence_bench.viewer.fragments import copy_fields
from independence_bench.viewer.snapshot import BoardEntry, Catalog, StoredTranscript

State = Literal[
    "judged",
    "not judged",
    "judge failed",
    "invalid",
    "not played",
]


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """A conversation in a list, with this leaderboard's scores.

    The score of an item's branch is the branch's own; a jury's is the mean of its judges', with
    those levels that all of them gave.
    """

    id: str
    scenario: str  # id; of a branch that of its stem
    branch: Branch | None
    run: int
    configuration: Configuration
    state: State
    why: str | None  # the reason, if it is invalid or the judge failed
    # share of the points to be had in it, [0, 100]; null: a mark is missing, or none counts
    score: Whole | None
    marks: Mapping[str, GivenMark]  # mark -> number on its scale
    replies: int
    cut_off: int
    plain_text: int
    reasoned: int


@dataclass(frozen=True, slots=True)
class StemEntry:
    """An item in one run of one subject, scored from its branches."""

    id: str  # id of the first branch's transcript
    scenario: str  # id
    run: int
    configuration: Configuration
    # judged, or why it is not scored; else that of the first branch that is not judged
    state: State
    why: str | None
    score: Whole | None  # [0, 100]; null: a mark is missing
    branches: tuple[TranscriptEntry, ...]  # in the protocol's order, as far as they are played


@dataclass(frozen=True, slots=True)
class Listing:
    """The data from which the state and the score of each conversation of one leaderboard are
    found.
    """

    catalog: Catalog
    entry: BoardEntry
    rows: Mapping[str, Row]  # by the subject's hash
    worths: Mapping[str, Sequence[MarkWeight]]  # by the scenario's own id; none of a case of v3

    def is_on_board(self, stored: StoredTranscript) -> bool:
        """Whether the stored conversation is one of those behind the rows of this leaderboard."""
        return (
            stored.configuration in self.entry.configurations
            and stored.row.subject_hash in self.rows
        )

    def make_entry(self, stored: StoredTranscript) -> TranscriptEntry:
        """Return a stored conversation as one line of a list, with its state and this leaderboard's
        scores.
        """
        if stored.scenario.branch is not None:
            return self._make_branch_entry(stored)
        subject, run, slot = (
            stored.row.subject_hash,
            stored.row.run,
            (stored.configuration, stored.scenario.id),
        )
        marks = self.find_marks(subject, run, slot)
        state, why = ("judged", None) if marks else self._explain_missing_marks(stored)
        return _make_entry(
            stored, state, why, self.compute_score_percent(subject, run, slot), marks
        )

    def find_marks(self, subject_hash: str, run: int, slot: Slot) -> Marks:
        """Return the leaderboard's scores, by name, of a model (its hash) in one configuration and
        item of a run; {} if there are none.
        """
        row = self.rows.get(subject_hash)
        return row.marks.get(run, {}).get(slot, {}) if row else {}

    def compute_score_percent(self, subject_hash: str, run: int, slot: Slot) -> float | None:
        """Return the share, 0 to 100, of the available points that a model (its hash) has in one
        configuration and item of a run; None if a score is missing, or no score counts.
        """
        marks, worths = self.find_marks(subject_hash, run, slot), self.worths.get(slot[1], ())
        to_be_had = fsum(worth.points for worth in worths)
        has_all = to_be_had and all(worth.mark in marks for worth in worths)
        return (
            100 * fsum(worth.compute_points(marks[worth.mark]) for worth in worths) / to_be_had
            if has_all
            else None
        )

    def group_stems(
        self, subject_hash: str, entries: Sequence[TranscriptEntry]
    ) -> tuple[StemEntry, ...]:
        """Return the items whose branches (conversations that begin alike) are among *entries*,
        which all belong to one model (its hash), each with the item's score; () without any.
        """
        together: dict[tuple[int, Configuration, str], list[TranscriptEntry]] = defaultdict(list)
        for entry in entries:
            if entry.branch is not None:
                together[entry.run, entry.configuration, entry.scenario].append(entry)
        found = []
        for (run, configuration, scenario), branches in together.items():
            open_ = next((branch for branch in branches if branch.state != "judged"), None)
            state: State = branches[0].state if open_ is None else open_.state
            item = self.entry.edition.items_by_slug[scenario]
            place = (configuration, item.id)
            if open_ is None and len(branches) < len(item.branches):
                state = "not played"
            why, score = (
                open_.why if open_ else None,
                self.compute_score_percent(subject_hash, run, place),
            )
            of = (branches[0].id, scenario, run, configuration, state, why)
            found.append(StemEntry(*of, score, tuple(branches)))
        return tuple(found)

    def _make_branch_entry(self, stored: StoredTranscript) -> TranscriptEntry:
        """Return the conversation of an item's branch as one line of a list, with the scores of the
        leaderboard's judge or jury: the leaderboard itself has only the item's score.
        """
        given = [
            judgement
            for judgement in self._find_judgements_by_anyone(stored)
            if self.catalog.judges.get(judgement.judge_hash) in self.entry.judges
            and judgement.reason is None
        ]
        if not given or len(given) < len(self.entry.judges) or stored.row.state == "invalid":
            return _make_entry(stored, *self._explain_missing_marks(stored), None, {})
        levels = {mark.name for mark in stored.scenario.marks if mark.levels}
        marks = {
            name: fsum(judgement.marks[name] for judgement in given) / len(given)
            for name in given[0].marks
            if all(
                name in judgement.marks
                and (name not in levels or judgement.marks[name] == given[0].marks[name])
                for judgement in given
            )
        }
        worths = [
            compute_branch_worth(stored.scenario, judgement.marks, self.entry.edition.protocol)
            for judgement in given
        ]
        mean = compute_mean(worths)
        return _make_entry(stored, "judged", None, None if mean is None else 100 * mean, marks)

    def _find_judgements_by_anyone(self, stored: StoredTranscript) -> Sequence[Judgement]:
        """Return all stored judgements of a conversation, by whatever judge."""
        return find_judgements_of_conversation(stored.edition.records.counted.given, stored.key)

    def _explain_missing_marks(self, stored: StoredTranscript) -> tuple[State, str | None]:
        """Return why a conversation has no scores: a state ("invalid", "judge failed" or "not
        judged"), and the reason or None.
        """
        if stored.row.state == "invalid":
            return "invalid", stored.row.reason
        for judgement in self._find_judgements_by_anyone(stored):
            judge = self.catalog.judges.get(judgement.judge_hash)
            if (
                judgement.reason is not None
                and judge is not None
                and judge in (self.entry.judge, *self.entry.judges)
            ):
                return "judge failed", judgement.reason
        return "not judged", None


def _make_entry(
    stored: StoredTranscript, state: State, why: str | None, score: float | None, marks: Marks
) -> TranscriptEntry:
    """Return a stored conversation as one line of a list with the given *state*, its reason *why*,
    *score* and *marks*.
    """
    return copy_fields(
        TranscriptEntry,
        stored.row,
        id=stored.id,
        scenario=stored.item_slug,
        branch=stored.scenario.branch,
        configuration=stored.configuration,
        state=state,
        why=why,
        score=score,
        marks=marks,
    )


def make_conversation_lookup(catalog: Catalog, entry: BoardEntry, board: Board) -> Listing:
    """Return the object that finds the state and the score of each conversation of the leaderboard
    *board*.
    """
    worths = list_mark_weights_by_item(board.protocol, board.configurations)
    return Listing(catalog, entry, {row.subject.hash: row for row in board.rows}, worths)
