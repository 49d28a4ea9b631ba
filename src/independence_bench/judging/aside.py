"""Cases that stand beside every protocol's conversations: an injection probe's, the exam's."""

from __future__ import annotations

from dataclasses import dataclass

from independence_bench.hashing import content_hash
from independence_bench.judging.prompt import JudgingInput


@dataclass(frozen=True, slots=True)
class CaseAside(JudgingInput):
    """A case that is marked for a *purpose* of its own.

    The judge is told nothing of the purpose: its request is the one that a conversation of a protocol would get. The
    rubric's hash has it, so no table of a protocol finds the judgement, and two purposes are two judgements.
    """

    purpose: str

    @property
    def rubric_hash(self) -> str:
        """Everything that a judge is told beside the replies, and what it is told it for."""
        return content_hash([self.purpose, super(CaseAside, self).rubric_hash])
