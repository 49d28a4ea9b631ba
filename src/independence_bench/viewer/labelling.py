"""One person scoring conversations in the browser: the only part of the viewer that writes.

`LabelDesk` holds the queue of `aib label` and shows one conversation at a time, blind. As there, a
stored judgement is never replaced: the last finished one is held back until the next is finished
too, and until then it can be undone. It is stored when the server ends, for whatever reason. Knows
no HTTP.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from independence_bench.analysis.judge_agreement import PairAgreement, compare_judges
from independence_bench.analysis.results import make_labelling_queue
from independence_bench.errors import WrongUse
from independence_bench.judging.output import describe_scale, is_within_scale
from independence_bench.judging.person import (
    LONGEST_NOTE,
    Person,
    QueuedTranscript,
    read_judging_input,
    store_marks,
)
from independence_bench.judging.prompt import (
    JudgingInput,
    describe_marked_replies,
    render_rubrics_for_person,
)
from independence_bench.models.response import replace_unstorable_characters
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.store.database import Store
from independence_bench.viewer import fragments
from independence_bench.viewer.fragments import MarkScale


@dataclass(frozen=True, slots=True)
class LabelLine:
    """One line of a conversation that a person scores."""

    who: str  # the human; the AI
    reply: str  # the name of the AI's own reply; "" for what the script wrote
    text: str


@dataclass(frozen=True, slots=True)
class LabelCase:
    """A conversation as any judge sees it: nothing reveals which model spoke."""

    id: str  # the judgement's key
    instructions: str
    lines: tuple[LabelLine, ...]
    about: str  # the replies that are to be scored, in words
    rubrics: tuple[str, ...]  # Markdown
    scales: tuple[MarkScale, ...]
    marks: Mapping[str, float]  # the scores before they were undone; else {}
    note: str


@dataclass(frozen=True, slots=True)
class Labelling:
    """`api/label/state.json`: the person's progress, and the conversation to score now."""

    person: str  # the judge's label
    protocol: str  # name
    planned: int
    marked: int  # the one that is held back included
    skipped: int
    undo: bool  # whether the last one can still be changed
    case: LabelCase | None  # null: nothing is left, but for what was skipped


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """`api/label/agreement.json`: the agreement of the other judges with the person who scores, by
    what is stored.
    """

    person: str
    pairs: tuple[PairAgreement, ...]


@dataclass(slots=True)
class Draft:
    """A conversation with the scores that a person has given, not stored yet."""

    waiting: QueuedTranscript
    case: JudgingInput
    marks: Mapping[str, float]
    note: str


class Stale(Exception):
    """The conversation that a person has scored is not the one that is shown: another tab was
    faster.
    """


class LabelDesk:
    """The queue of conversations that one person scores in the browser. Several threads may use it;
    each change is atomic.
    """

    def __init__(
        self,
        store: Store,
        protocol: Protocol,
        configurations: Sequence[Configuration],
        person: Person,
        sample: int | None = None,
    ) -> None:
        self._store, self._protocol, self.person = store, protocol, person
        # read when it is first asked for: of a hundred thousand conversations it takes seconds
        self._queue = lambda: make_labelling_queue(store, protocol, configurations, person, sample)
        self._planned = -1  # not read yet
        self._left: list[QueuedTranscript] = []
        self._skipped: list[QueuedTranscript] = []
        self._held: Draft | None = None
        self._changing: Draft | None = None  # the judgement that was undone, shown with its scores
        self._lock = threading.Lock()

    def read_state(self) -> Labelling:
        """Return how many conversations the person has scored and skipped, and the conversation to
        score now.
        """
        with self._lock:
            return self._make_state()

    def hold_marks_and_store_previous(
        self, case_key: str, marks: Mapping[str, float], note: str
    ) -> Labelling:
        """Take the person's scores for the conversation that is shown, store those of the
        conversation before, and return the progress with the next conversation. Raise Stale if
        *case_key* is not the conversation that is shown, and WrongUse for bad scores.
        """
        with self._lock:
            now = self._find_shown_case(case_key)
            self._check_marks(now, marks)
            self._store_pending_marks()
            self._held = Draft(
                self._left.pop(0),
                now,
                dict(marks),
                replace_unstorable_characters(note)[:LONGEST_NOTE],
            )
            self._changing = None
            return self._make_state()

    def move_case_to_end(self, case_key: str) -> Labelling:
        """Put the conversation that a person is to score at the end of the queue, and return the
        progress with the next one. Raise Stale if *case_key* is not the conversation that is shown.
        """
        with self._lock:
            self._find_shown_case(case_key)
            self._skipped.append(self._left.pop(0))
            self._changing = None
            return self._make_state()

    def reopen_last_marked_case(self) -> Labelling:
        """Show the conversation that the person scored last again, to change its scores, and return
        the progress; show the same as before if no conversation can be changed.
        """
        with self._lock:
            if self._held is not None:
                self._changing, self._held = self._held, None
                self._left.insert(0, self._changing.waiting)
            return self._make_state()

    def read_agreement(self) -> LabelAgreement:
        """Return the agreement of the person who scores with each other judge of the protocol. The
        person's last judgement, which is not stored yet, does not count.
        """
        label = self.person.label
        validated = compare_judges(self._store, self._protocol)
        pairs = tuple(
            pair for validation in validated for pair in validation.pairs if label in pair.judges
        )
        return LabelAgreement(label, pairs)

    def close(self) -> None:
        """Store the person's last judgement, which could be undone until now. A judgement that was
        undone and not finished again is stored as it was.
        """
        with self._lock:
            self._held = self._held or self._changing
            self._changing = None
            self._store_pending_marks()

    def _store_pending_marks(self) -> None:
        """Store the person's last judgement, which could be undone until now; do nothing if there
        is none.
        """
        if self._held is not None:
            store_marks(
                self._store,
                self.person,
                self._held.case,
                self._held.marks,
                self._held.note,
                time.time(),
            )
            self._held = None

    def _find_shown_case(self, key: str) -> JudgingInput:
        """Return the conversation that the person is to score now. Raise Stale if its key is not
        *key*.
        """
        case = self._read_current_case()
        if case is None or case.make_key(self.person.hash) != key:
            raise Stale
        return case

    def _read_current_case(self) -> JudgingInput | None:
        """Return the conversation that the person is to score now, and read the queue from the
        store the first time; None if no conversation is left.
        """
        if self._planned < 0:
            queue = self._queue()
            self._planned, self._left = queue.planned, list(queue.waiting)
        if not self._left and self._skipped:
            self._left, self._skipped = self._skipped, []
        if not self._left:
            return None
        return read_judging_input(self._store, self._protocol, self._left[0])

    def _check_marks(self, case: JudgingInput, marks: Mapping[str, float]) -> None:
        """Raise WrongUse unless *marks* has every score that the conversation's rubrics ask for,
        each on its scale, and no other.
        """
        scales = {mark.name: mark for mark in case.scenario.marks}
        if marks.keys() != scales.keys():
            raise WrongUse(f"wanted are marks for {', '.join(scales)}, all of them and no other")
        for name, value in marks.items():
            if not is_within_scale(value, scales[name]):
                raise WrongUse(f"{name} is {describe_scale(scales[name])}")

    def _make_state(self) -> Labelling:
        """Return how many conversations the person has scored and skipped, and the conversation to
        score now. The caller holds the lock.
        """
        case = self._read_current_case()
        before = self._changing
        left = len(self._left) + len(self._skipped)
        return Labelling(
            person=self.person.label,
            protocol=self._protocol.name,
            planned=self._planned,
            marked=self._planned - left,
            skipped=len(self._skipped),
            undo=self._held is not None,
            case=None if case is None else self._make_case(case, before),
        )

    def _make_case(self, case: JudgingInput, undone_draft: Draft | None) -> LabelCase:
        """Return a conversation in the form in which the page shows it to the person who scores,
        with the scores and the note of *undone_draft* if these were undone.
        """
        return LabelCase(
            id=case.make_key(self.person.hash),
            instructions=case.instructions,
            lines=tuple(
                LabelLine(
                    "the human" if line.speaker == "human" else "the AI", line.name, line.text
                )
                for line in case.transcript.lines
            ),
            about=describe_marked_replies(case.scenario),
            rubrics=render_rubrics_for_person(case),
            scales=tuple(
                fragments.make_mark_scale(self._protocol, mark) for mark in case.scenario.marks
            ),
            marks={} if undone_draft is None else undone_draft.marks,
            note="" if undone_draft is None else undone_draft.note,
        )


def parse_case_marks_note(request_json: Any) -> tuple[str, dict[str, float], str]:
    """Return the conversation's key, its scores by name and the note from the JSON of a person's
    request. Raise WrongUse if *request_json* is anything else.
    """
    if not isinstance(request_json, dict) or request_json.keys() != {"case", "marks", "note"}:
        raise WrongUse("wanted is a JSON object with case, marks and note")
    case, marks, note = request_json["case"], request_json["marks"], request_json["note"]
    numbers = isinstance(marks, dict) and all(type(value) is float for value in marks.values())
    if not isinstance(case, str) or not isinstance(note, str) or not numbers:
        raise WrongUse("case and note are texts, marks are numbers by their names")
    return case, marks, note


def parse_case_key(request_json: Any) -> str:
    """Return the key of the conversation that the JSON of a person's request names. Raise WrongUse
    if *request_json* is anything else.
    """
    if (
        not isinstance(request_json, dict)
        or request_json.keys() != {"case"}
        or not isinstance(request_json["case"], str)
    ):
        raise WrongUse("wanted is a JSON object with case")
    return str(request_json["case"])
