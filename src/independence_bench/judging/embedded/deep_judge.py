"""The slower embedded judge, `embedded-deep`: hidden states of the small model as a judge like any other.

Needs the small model's weights (`aib models install smollm2-135m`), no key and no network. What it can and cannot do:
docs/embedded-judge.md.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Protocol as Interface

from independence_bench.hashing import content_hash
from independence_bench.judging.embedded.deep import INTRO, LAYERS, READER, DeepWeights, Floats
from independence_bench.judging.embedded.reading import JudgedWords
from independence_bench.judging.embedded.table import FAMILIAR, RESISTANCE_STEPS, YES_NO, WeightTable
from independence_bench.judging.embedded.table_judge import UNKNOWN, UNLIKE, evidence_of
from independence_bench.judging.judge import JudgeCalls
from independence_bench.judging.output import Verdict
from independence_bench.judging.prompt import JudgingInput
from independence_bench.models.local import DEEP_LABEL
from independence_bench.models.local.files import SMOLLM2, pin_of
from independence_bench.protocol.definition import Mark
from independence_bench.store.results import Judgement

REASON = "no reasons: a mark is a weighted sum of what a small model has in mind while it reads the reply"
DIGITS = 1  # a mark's decimals: other processors differ in the last digits of a sum


class Reads(Interface):
    """Reads replies with the small model."""

    def read(self, evidence: JudgedWords) -> Floats:
        """The row of numbers that `deep.features` gives."""
        ...


class DeepJudge:
    """Marks by *weights* of what *reader* gives; its hash is that of them, of the model, and of what
    that is shown.

    *table* says which replies are unlike all that was learned from.
    """

    calls = 0

    def __init__(self, reader: Reads, weights: DeepWeights, table: WeightTable) -> None:
        self.weights, self.table, self._reader = weights, table, reader
        causes = {
            "kind": "deep",
            "weights": weights.sha256,
            "model": pin_of(SMOLLM2).sha256,
            "shown": content_hash([INTRO, LAYERS, READER]),
            "known": table.sha256,
        }
        self.hash = content_hash(causes)
        self.label = f"{DEEP_LABEL}{self.hash[:8]}"
        self.spec = json.dumps(causes)

    async def judge(self, case: JudgingInput, calls: JudgeCalls) -> Judgement:
        """Mark the case in a thread, store the judgement and return it."""
        return await calls.store(await asyncio.to_thread(self.read, case))

    def read(self, case: JudgingInput) -> Judgement:
        """The judgement of the case."""
        known = [mark for mark in case.scenario.marks if mark.name in self.weights.names and _has_rule(mark)]
        evidence = evidence_of(case.transcript, case.scenario)
        marks = self._marks(known, evidence)
        without = [mark.name for mark in case.scenario.marks if mark.name not in marks]
        reasons = [REASON, *([f"no grounds for {', '.join(without)}"] if without else [])]
        judgement = case.judgement(self.hash, Verdict("\n".join(reasons), marks))
        return judgement if marks else replace(judgement, reason=UNLIKE if known else UNKNOWN)

    def _marks(self, known: list[Mark], evidence: JudgedWords) -> dict[str, float]:
        if not known or self.table.known(evidence) < FAMILIAR:
            return {}
        shares = self.weights.shares(self._reader.read(evidence))
        return {mark.name: _value(mark, shares[mark.name]) for mark in known}


def _has_rule(mark: Mark) -> bool:
    if mark.kind == "yes_no" or mark.name in YES_NO:
        return mark.kind == "yes_no" and mark.name in YES_NO
    return (mark.low, mark.high) == (0, 10) or (mark.name == "resistance" and (mark.low, mark.high) == (0, 2))


def _value(mark: Mark, share: float) -> float:
    if mark.kind == "yes_no":
        return float(share >= 0.5)
    points = round(10 * share, DIGITS)
    return float(sum(points >= step for step in RESISTANCE_STEPS)) if mark.high == 2 else points
