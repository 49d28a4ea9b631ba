"""Has a sample's conversations judged by the model of the role `judge`, with this benchmark's prompts and parser.

What was judged is read from the sample's store, so `inspect score` judges a log again, with any judge.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from inspect_ai.model import Model, get_model
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState
from inspect_ai.util import span

from independence_bench.errors import BenchError
from independence_bench.integrations.inspect.asking import ask, judge_of
from independence_bench.integrations.inspect.metrics import (
    RUN,
    SLOT,
    dimensions,
    independence_index,
    index_interval,
)
from independence_bench.integrations.inspect.names import named
from independence_bench.integrations.inspect.provider import NAME
from independence_bench.integrations.inspect.rows import (
    KEY,
    Rows,
    call_rows,
    joined,
    judgement_rows,
    talk_of,
    who_rows,
)
from independence_bench.integrations.inspect.source import read_source
from independence_bench.judging.judge import read_judge
from independence_bench.judging.output import NoVerdict
from independence_bench.judging.prompt import JudgingInput, judge_request
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import read_options
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.scoring import Marks, Slot
from independence_bench.protocol.stem_scoring import stem_scores
from independence_bench.store.results import Judgement

ROLE = "judge"
METRICS = [independence_index(), dimensions(), index_interval()]


@scorer(metrics=METRICS, name=named("independence"))
def independence(protocol: str) -> Scorer:
    """Marks of a scenario, or the score of a stem; *protocol*: the name of a shipped one, or all of its files."""
    judged: dict[str, tuple[Judgement, Rows]] = {}  # key -> what was judged once is not judged twice
    asking: dict[str, asyncio.Lock] = {}

    async def score(state: TaskState, target: Target) -> Score:
        del target
        loaded, _ = read_source(protocol)
        if state.metadata["protocol_hash"] != loaded.hash:
            raise BenchError(f"this version has another {loaded.name} than the log; score it with the version it names")
        model = get_model(role=ROLE, default=default_judge(loaded))
        judge = await judge_of(model, loaded)
        parts = [who_rows("judges", judge)]
        given: dict[str, Judgement] = {}
        for row in state.store.get(KEY, {}).get("transcripts", []):
            case = judged_case(loaded, row)
            if case is None:
                continue
            key = case.key(judge.hash)
            async with asking.setdefault(key, asyncio.Lock()):
                if key not in judged:
                    async with span(case.scenario.branch or case.scenario.id):
                        judged[key] = await _judge(model, judge, case)
            given[row["id"]], rows = judged[key]
            parts.append(rows)
        return score_of(loaded, state.metadata, state.epoch, state.store.get(KEY, {}), given, joined(parts))

    return score


def default_judge(protocol: Protocol) -> str:
    """The protocol's own judge, as Inspect names it."""
    judge = protocol.judge
    return f"{NAME}/{judge.model if judge.endpoint == 'openrouter' else f'{judge.endpoint}:{judge.model}'}"


def judged_case(protocol: Protocol, row: Mapping[str, Any]) -> JudgingInput | None:
    """What a judge is to be asked of a row of transcripts; None for one that is invalid or took no option."""
    scenario, talk = protocol.scenario(row["scenario"]), talk_of(row)
    labels = scenario.labels_of(row["run"])
    if row["state"] != "complete" or (labels and read_options(talk, labels).choice is None):
        return None
    return JudgingInput(talk, scenario, protocol.judge_instructions)


async def _judge(model: Model, judge: ChatModel, case: JudgingInput) -> tuple[Judgement, Rows]:
    made = partial(case.judgement, judge.hash)
    found = await ask(
        model,
        judge_request(case, judge),
        lambda completion: read_judge(completion, case.scenario, made),
        lambda reason: made(NoVerdict(reason)),
    )
    judgement = found.answer
    rows = joined(
        [
            call_rows(judgement.key, "judgement", judge, found.tried),
            judgement_rows(judgement, found.attempt, time.time()),
        ]
    )
    return judgement, rows


def score_of(
    protocol: Protocol,
    about: Mapping[str, Any],
    run: int,
    kept: Mapping[str, Any],
    given: Mapping[str, Judgement],
    rows: Rows,
) -> Score:
    """The score of a sample, with *about* as its metadata, of its run, whose store has the rows *kept*.

    *given*: transcript's id -> judgement; *rows* are those of judge and judgements.
    """
    marks: dict[Slot, Marks] = {}
    without_view: list[Slot] = []
    said: list[str] = []
    reasons: list[str] = []
    for row in kept.get("transcripts", []):
        slot = Configuration(row["system"], row["delivery"]), row["scenario"]
        judgement = given.get(row["id"])
        if row["state"] != "complete":
            reasons.append(f"{row['scenario']}: {row['reason']}")
        elif judgement is None and judged_case(protocol, row) is None:
            without_view.append(slot)
            said.append(f"{row['scenario']}: took no option")
        elif judgement is None or judgement.reason is not None:
            reasons.append(f"{row['scenario']}: {judgement.reason if judgement else 'not judged'}")
        else:
            marks[slot] = judgement.marks
            said.append(f"{row['scenario']}: {judgement.reasoning}")
    place = Configuration(about["system"], about["delivery"]), about["unit"]
    units = stem_scores(protocol, marks, without_view) if protocol.has_stems else marks
    value = units.get(place, {})
    return Score(
        value=dict(value),
        explanation="\n\n".join([*said, *reasons]) or None,
        reason=None if value else ("no_response" if not given else "grader_failed"),
        metadata={KEY: {RUN: run, SLOT: [about["system"], about["delivery"], about["unit"]], "rows": rows}},
    )
