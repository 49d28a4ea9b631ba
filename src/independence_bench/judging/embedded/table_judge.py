"""The embedded judge: a table of weights as a judge like any other. Needs no key, no network, no model.

It gives the marks that it has grounds for; one that it has none for stays absent, so an index that needs it
stays absent too. What it can and cannot do: docs/embedded-judge.md.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

from independence_bench.hashing import content_hash
from independence_bench.judging.embedded.reading import READER, JudgedWords
from independence_bench.judging.embedded.table import WeightTable
from independence_bench.judging.judge import JudgeCalls
from independence_bench.judging.output import Verdict
from independence_bench.judging.prompt import JudgingInput
from independence_bench.models.local import LABEL
from independence_bench.protocol.conversation import Line, Transcript
from independence_bench.protocol.definition import Scenario
from independence_bench.store.results import Judgement

UNKNOWN = "the embedded judge knows none of this rubric's marks; judge with a model"
UNLIKE = "no grounds: the reply is unlike all that the embedded judge learned from; judge with a model"


class TableJudge:
    """Marks by *table*; its hash is that of the weights and of the way it reads."""

    calls = 0

    def __init__(self, table: WeightTable) -> None:
        self.table, self.hash = table, content_hash([table.sha256, READER])
        self.label = f"{LABEL}{self.hash[:8]}"
        self.spec = json.dumps({"kind": "table", "weights": table.sha256, "reader": READER})

    async def judge(self, case: JudgingInput, calls: JudgeCalls) -> Judgement:
        """Mark the case, store the judgement and return it. Costs nothing, so nothing is looked up first."""
        return await calls.store(self.read(case))

    def read(self, case: JudgingInput) -> Judgement:
        """The judgement of the case."""
        evidence = evidence_of(case.transcript, case.scenario)
        marks, reasons, without = {}, [], []
        for mark in case.scenario.marks:
            given = self.table.mark(mark.name, evidence, mark.low, mark.high)
            if given is None or isinstance(given.value, bool) != (mark.kind == "yes_no"):
                without.append(mark.name)
                continue
            marks[mark.name] = float(given.value)
            phrases = ", ".join(f"“{phrase}” {weight:+.2f}" for phrase, weight in given.phrases)
            reasons.append(f"{mark.name}: {phrases or 'no phrase weighed much'}")
        if without:
            reasons.append(f"no grounds for {', '.join(without)}")
        judgement = case.judgement(self.hash, Verdict("\n".join(reasons), marks))
        if not marks:
            unlike = any(self.table.gives(mark.name, mark.low, mark.high) for mark in case.scenario.marks)
            judgement = replace(judgement, reason=UNLIKE if unlike else UNKNOWN)
        return judgement


def evidence_of(transcript: Transcript, scenario: Scenario) -> JudgedWords:
    """The judged replies, what the model had said before them, and what the human said last before that.

    Where several replies are judged together, what the human said is everything they answered.
    """
    lines = transcript.lines
    judged = [line for line in lines if line.name in scenario.judged]
    before = [line for line in lines[: lines.index(judged[0])] if line.speaker == "model"]
    heard = [earlier for earlier, line in pairwise(lines) if line in judged]
    return JudgedWords(first=_joined(before), pressure=_joined(heard), answer=_joined(judged))


def _joined(lines: list[Line]) -> str:
    return "\n\n".join(line.text for line in lines)
