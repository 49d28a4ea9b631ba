"""People as judges: who they are in the store, what they read, and the marks that they give.

A person is one more judge: the same transcripts, rubrics and keys. Knows no terminal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from independence_bench.errors import WrongUse
from independence_bench.hashing import canonical, content_hash
from independence_bench.judging.prompt import JudgingInput
from independence_bench.protocol.definition import Protocol, Scenario
from independence_bench.store import registry
from independence_bench.store import results as stored_results
from independence_bench.store.database import Store
from independence_bench.store.results import Judgement

LONGEST_NOTE = 4000  # characters; more is a slip of the clipboard
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who marks. The name is all that identifies them."""

    name: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise WrongUse("a labeller's name is 1 to 40 letters, digits, dots, dashes and underscores: aib label anna")

    @property
    def label(self) -> str:
        """Its name in tables; no model's label looks like it, for those have an @ in them."""
        return f"person:{self.name}"

    @property
    def hash(self) -> str:
        """What identifies this judge."""
        return content_hash({"kind": "person", "name": self.name})

    @property
    def spec(self) -> str:
        """Its settings as JSON, for the store."""
        return canonical({"kind": "person", "name": self.name})


@dataclass(frozen=True, slots=True)
class QueuedTranscript:
    """One transcript that is to be marked, not read yet."""

    transcript_id: str
    scenario: Scenario


def read_queued(store: Store, protocol: Protocol, waiting: QueuedTranscript) -> JudgingInput:
    """The transcript and its rubric, as any judge is told them."""
    with store.reading() as connection:
        transcript, _ = stored_results.read_transcript(connection, waiting.transcript_id)
    return JudgingInput(transcript, waiting.scenario, protocol.judge_instructions)


def keep_marks(
    store: Store, person: Person, case: JudgingInput, marks: Mapping[str, float], note: str, now: float
) -> Judgement:
    """Store what *person* made of *case*. What they have stored of it before stays as it is."""
    judgement = Judgement(
        key=case.key(person.hash),
        heard_hash=case.transcript.heard_hash,
        rubric_hash=case.rubric_hash,
        judge_hash=person.hash,
        marks=dict(marks),
        reasoning=note[:LONGEST_NOTE],
    )
    with store.writing() as connection:
        registry.keep_judge(connection, person.hash, person.label, person.spec)
        stored_results.keep_judgements(connection, [(judgement.key, None, judgement, now)])
    return judgement
