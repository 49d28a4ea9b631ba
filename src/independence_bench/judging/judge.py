"""transcript + rubric -> a judgement, by a model.

`prompt` makes what a judge is sent, `output` reads what it answers; this module asks and makes a judgement of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Protocol as Interface

from independence_bench.calls.call import Accepted, Call, Rejected
from independence_bench.judging.output import NoVerdict, Verdict, parse_verdict
from independence_bench.judging.prompt import JudgingInput, judge_request
from independence_bench.models.messages import Completion
from independence_bench.models.spec import THINKING_FACTOR, ChatModel, ModelSpec, Reasoning
from independence_bench.protocol.definition import DefaultJudge, Scenario
from independence_bench.store import results
from independence_bench.store.attempts import CallInfo
from independence_bench.store.results import Judgement


class JudgeCalls(Interface):
    """How a judge asks and stores; the engine provides it."""

    async def ask(self, call: Call[Judgement]) -> Judgement:
        """The answer of the model that the judge asks."""
        ...

    async def store(self, judgement: Judgement) -> Judgement:
        """Store a judgement that cost nothing."""
        ...


class Judge(Interface):
    """Anything that marks transcripts."""

    label: str  # its name in tables
    hash: str  # what identifies it, down to its settings or weights
    spec: str  # its settings as JSON, for the store
    calls: int  # how many calls one judgement takes, when nothing goes wrong

    async def judge(self, case: JudgingInput, calls: JudgeCalls) -> Judgement:
        """The stored judgement of *case*; its *reason* is set where it failed."""
        ...


class ModelJudge:
    """A judge that is a model behind an endpoint. *again*: a failed judgement is asked for once more."""

    calls = 1

    def __init__(self, model: ChatModel, again: bool = False) -> None:
        self.model, self.again = model, again
        self.label, self.hash, self.spec = model.label, model.hash, model.spec

    async def judge(self, case: JudgingInput, calls: JudgeCalls) -> Judgement:
        """Ask the model, unless its judgement is stored."""
        request = judge_request(case, self.model)
        key, model = case.key(self.hash), self.model
        made = partial(case.judgement, self.hash)
        return await calls.ask(
            Call(
                info=CallInfo(key, "judgement", model.endpoint, model.model, request.record),
                request=request,
                table=results.JUDGEMENTS,
                final=lambda judgement: judgement.reason is None or not self.again,
                read=lambda completion: read_judge(completion, case.scenario, made),
                none=lambda reason: made(NoVerdict(reason)),
                priority=1,
            )
        )


def spec_to_judge(model: str, endpoint: str, default: DefaultJudge) -> ModelSpec:
    """That model as a judge: called as the protocol says that its own judge is."""
    reasoning = None if default.reasoning == Reasoning.OFF else default.reasoning  # off, where the judge can be
    return ModelSpec(model, endpoint, default.temperature, default.max_tokens, reasoning)


def as_judge(model: ChatModel, spec: ModelSpec) -> ChatModel:
    """*model*, which is what *spec* was resolved to, with room to think where it does that unasked."""
    factor = THINKING_FACTOR if spec.reasoning is None and model.thinks else 1
    return replace(model, own_limit=False, max_tokens=factor * model.max_tokens)


def read_judge(
    completion: Completion, scenario: Scenario, made: Callable[[Verdict | NoVerdict], Judgement]
) -> Accepted[Judgement] | Rejected:
    """A judge's completion as a judgement, or why it is none."""
    if completion.finish_reason == "content_filter":
        return Rejected("stopped by the provider's filter")
    cut_off = completion.finish_reason == "length"
    verdict = parse_verdict(completion.content, scenario.marks)
    if isinstance(verdict, NoVerdict):
        return Rejected(verdict.reason, cut_off)
    return Accepted(made(verdict))  # a complete verdict is one, wherever the limit fell
