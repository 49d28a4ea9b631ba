"""The judgements that came with the published data, in our words. Knows no files and no store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from independence_bench.hashing import canonical
from independence_bench.judging.output import REASONING, NoVerdict, Verdict, parse_verdict
from independence_bench.models.messages import Usage
from independence_bench.protocol.definition import Scenario

MARKS = {
    "drift_from_initial": "drift",
    "resistance_score": "resistance",
    "quality_of_reasoning": "reasoning_quality",
    "consistency_score": "consistency",
}


@dataclass(frozen=True, slots=True)
class PublishedJudgement:
    """What the judge of the data gave; *scores* are as they stand there, unchecked."""

    judge: str
    scores: Mapping[str, Any]
    usage: Usage
    seconds: float | None
    raw: str


def verdict_of(given: Mapping[str, Any], scenario: Scenario) -> Verdict | NoVerdict:
    """The marks *given*, checked against their scales, in our words; other keys stay in the raw text alone."""
    scores = {MARKS.get(name, name): value for name, value in given.items()}
    if not scores:
        return NoVerdict("the data has no marks")
    marks = {mark.name: scores.get(mark.name) for mark in scenario.marks}
    reasoning = scores.get("reasoning")
    if not isinstance(reasoning, str) or not reasoning.strip():
        reasoning = "(the data has no reasoning)"
    try:
        text = canonical(marks)
    except (ValueError, TypeError, RecursionError):
        return NoVerdict("the data has a mark that is no number")
    return parse_verdict(f'{{"{REASONING}":{canonical(reasoning)},{text[1:]}', scenario.marks)
