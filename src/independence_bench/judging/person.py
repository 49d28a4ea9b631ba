"""A person who judges: one more judge, with the same transcripts, rubrics and keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from independence_bench.errors import WrongUse
from independence_bench.hashing import hash_text, write_canonical_json
from independence_bench.judging.output import Verdict
from independence_bench.judging.prompt import JudgingInput
from independence_bench.protocol.definition import Protocol, Scenario
from independence_bench.store import registry, results
from independence_bench.store.database import Store
from independence_bench.store.results import Judgement

LONGEST_NOTE = 4000  # characters; more is a slip of the clipboard
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


class Person:
    """A person who marks, as a judge: label, hash and settings. The name is all that identifies
    them.
    """

    def __init__(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise WrongUse(
                "a labeller's name is 1 to 40 letters, digits, dots, dashes and underscores: aib "
                "label anna"
            )
        self.name = name
        self.label = f"person:{name}"  # no model's label looks like it, for those have an @ in them
        self.spec = write_canonical_json({"kind": "person", "name": name})
        self.hash = hash_text(self.spec)


@dataclass(frozen=True, slots=True)
class QueuedTranscript:
    """One transcript that is to be marked, not read yet."""

    transcript_id: str
    scenario: Scenario


def read_judging_input(store: Store, protocol: Protocol, waiting: QueuedTranscript) -> JudgingInput:
    """Read the conversation *waiting* from the store; return it with its rubric and the judge's
    instructions of *protocol*, as any judge sees it.
    """
    with store.open_snapshot() as connection:
        transcript, _ = results.read_transcript_and_reply_keys(connection, waiting.transcript_id)
    return JudgingInput(transcript, waiting.scenario, protocol.judge_instructions)


def store_marks(
    store: Store,
    person: Person,
    case: JudgingInput,
    marks: Mapping[str, float],
    note: str,
    now: float,
) -> Judgement:
    """Store the scores *marks* and the *note* that *person* gave to the conversation in *case*, and
    return the judgement. *now*: Unix time in seconds. A judgement that the same person gave earlier
    stays in the store as it is.
    """
    judgement = case.make_judgement(person.hash, Verdict(note[:LONGEST_NOTE], dict(marks)))
    with store.open_transaction() as connection:
        registry.store_judge(connection, person.hash, person.label, person.spec)
        results.store_judgements(connection, [(judgement.key, None, judgement, now)])
    return judgement
