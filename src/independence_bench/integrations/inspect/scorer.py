"""Has a sample's conversations judged by the model of the role `judge`, with this benchmark's prompts and parser.

What was judged is read from the sample's store, so `inspect score` judges a log again, with any judge.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial

from inspect_ai._util.registry import RegistryInfo, registry_add, registry_info
from inspect_ai.model import Model, get_model
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState
from inspect_ai.util import span

from independence_bench.errors import BenchError
from independence_bench.integrations.inspect.asking import ask, judge_of
from independence_bench.integrations.inspect.metrics import dimensions, independence_index, index_interval
from independence_bench.integrations.inspect.names import named
from independence_bench.integrations.inspect.rows import (
    KEY,
    Rows,
    call_rows,
    joined,
    judgement_rows,
    who_rows,
)
from independence_bench.integrations.inspect.samples import (
    FIRST_RUN,
    PROVIDER,
    ROLE,
    SCORER,
    judged_case,
    sample_marks,
)
from independence_bench.integrations.inspect.source import read_source
from independence_bench.judging.judge import read_judge
from independence_bench.judging.output import NoVerdict
from independence_bench.judging.prompt import JudgingInput, judge_request
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Protocol
from independence_bench.store.results import Judgement


@scorer(metrics=[independence_index(), dimensions(), index_interval()], name=named(SCORER))
def independence(protocol: str | None = None) -> Scorer:
    """Marks of a scenario, or the score of a stem.

    *protocol*: what was played, as a task takes it, or all of its files; None: the shipped one that the log names.
    """
    judged: dict[str, tuple[Judgement, Rows]] = {}  # key -> what was judged once is not judged twice
    asking: dict[str, asyncio.Lock] = {}

    async def score(state: TaskState, target: Target) -> Score:
        del target
        loaded, _ = read_source(protocol or state.metadata["protocol"])
        if state.metadata["protocol_hash"] != loaded.hash:
            raise BenchError(f"{loaded.name} is not what was played; say -S protocol=FOLDER with what was")
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
        run = state.metadata[FIRST_RUN] - 1 + state.epoch
        found = sample_marks(loaded, state.metadata, run, state.store.get(KEY, {}), given, joined(parts))
        return Score(value=found.value, explanation=found.explanation, reason=found.reason, metadata=found.metadata)

    return score


# a log names a scorer without its prefix, and `inspect score` looks for that
registry_add(independence, RegistryInfo(type="scorer", name=SCORER, metadata=registry_info(independence).metadata))


def default_judge(protocol: Protocol) -> str:
    """The protocol's own judge, as Inspect names it."""
    judge = protocol.judge
    return f"{PROVIDER}/{judge.model if judge.endpoint == 'openrouter' else f'{judge.endpoint}:{judge.model}'}"


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
