"""People as judges: who they are in the store, what they read, and the marks that they give.

A person is one more judge: the same transcripts, rubrics and keys. Knows no terminal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from independence_bench.errors import WrongUse
from independence_bench.hashing import canonical, text_hash
from independence_bench.judging.output import Verdict
from independence_bench.judging.prompt import JudgingInput
from independence_bench.protocol.definition import Protocol, Scenario
from independence_bench.store import registry
from independence_bench.store import results as stored_results
from independence_bench.store.database import Store
from independence_bench.store.results import Judgement

LONGEST_NOTE = 4000  # characters; more is a slip of the clipboard
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


class Person:
    """Somebody who marks, as a judge: label, hash and settings. The name is all that identifies them."""

    def __init__(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise WrongUse("a labeller's name is 1 to 40 letters, digits, dots, dashes and underscores: aib label anna")
        self.name = name
        self.label = f"person:{name}"  # no model's label looks like it, for those have an @ in them
        self.spec = canonical({"kind": "person", "name": name})
        self.hash = text_hash(self.spec)


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
    judgement = case.judgement(person.hash, Verdict(note[:LONGEST_NOTE], dict(marks)))
    with store.writing() as connection:
        registry.keep_judge(connection, person.hash, person.label, person.spec)
        stored_results.keep_judgements(connection, [(judgement.key, None, judgement, now)])
    return judgement
