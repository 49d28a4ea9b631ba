"""Judges that are models: a judge's interface, and the model that is asked.

`prompt` makes what a judge is sent, `output` reads what it answers; this module asks a model, and
makes its judgement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Protocol as Interface

from independence_bench.calls.call import Accepted, Call
from independence_bench.judging.output import NoVerdict, Verdict, read_verdict
from independence_bench.judging.prompt import JudgingInput, make_judge_request, make_retry_request
from independence_bench.models.messages import Completion, Rejected
from independence_bench.models.spec import THINKING_FACTOR, ChatModel, ModelSpec, Reasoning
from independence_bench.protocol.definition import DefaultJudge
from independence_bench.store import results
from independence_bench.store.results import Judgement


class JudgeCalls(Interface):
    """The way in which a judge asks and stores; the engine provides it."""

    async def ask(self, call: Call[Judgement]) -> Judgement:
        """Make the model call *call* of a judge and return the judgement that it gives."""
        ...

    async def store_free_judgement(self, judgement: Judgement) -> Judgement:
        """Store *judgement*, which cost nothing, and return it."""
        ...


class Judge(Interface):
    """Anything that marks transcripts: a model, or rules."""

    label: str  # its name in tables
    hash: str  # identifies it, down to its settings or weights
    spec: str  # its settings as JSON, for the store
    calls: int  # how many calls one judgement takes, when nothing goes wrong

    async def judge(self, case: JudgingInput, calls: JudgeCalls) -> Judgement:
        """Judge the conversation in *case* and return the judgement once it is stored; its *reason*
        is set if judging failed.
        """
        ...


class ModelJudge:
    """A judge that is a model at an endpoint. *again*: a failed judgement is asked for once
    more.
    """

    calls = 1

    def __init__(self, model: ChatModel, again: bool = False) -> None:
        self.model, self.again = model, again
        self.label, self.hash, self.spec = model.label, model.hash, model.settings_json

    async def judge(self, case: JudgingInput, calls: JudgeCalls) -> Judgement:
        """Return the model's judgement of the conversation in *case*: the stored one, or else the
        answer to a new call. Its *reason* is set if judging failed.
        """
        request = make_judge_request(case, self.model)
        # the keys in it are hashes: made once, not for each answer
        failed = case.make_judgement(self.hash, NoVerdict(""))

        def make_judgement(verdict: Verdict | NoVerdict) -> Judgement:
            if isinstance(verdict, NoVerdict):
                return failed._replace(reason=verdict.reason)
            return failed._replace(marks=verdict.marks, reasoning=verdict.reasoning, reason=None)

        return await calls.ask(
            Call(
                key=failed.key,
                kind="judgement",
                request=request,
                table=results.JUDGEMENTS,
                final=lambda judgement: judgement.reason is None or not self.again,
                read=lambda completion: read_judge_reply(completion, case, make_judgement),
                none=lambda reason: make_judgement(NoVerdict(reason)),
                priority=1,
                again=partial(make_retry_request, case, request),
            )
        )


def make_judge_spec(model: str, endpoint: str, default: DefaultJudge) -> ModelSpec:
    """Return the settings with which *model* at *endpoint* is called as a judge: temperature, token
    limit and reasoning are those of the protocol's own judge, *default*.
    """
    # off, where the judge can be
    reasoning = None if default.reasoning == Reasoning.OFF else default.reasoning
    return ModelSpec(model, endpoint, default.temperature, default.max_tokens, reasoning)


def set_judge_token_limit(model: ChatModel, spec: ModelSpec) -> ChatModel:
    """Return *model*, which *spec* was resolved to, with a judge's token limit: larger by
    `THINKING_FACTOR` if the model may reason without being asked to.
    """
    factor = THINKING_FACTOR if spec.reasoning is None and model.may_think else 1
    return replace(model, own_limit=False, max_tokens=factor * model.max_tokens)


def read_judge_reply(
    completion: Completion,
    case: JudgingInput,
    make_judgement: Callable[[Verdict | NoVerdict], Judgement],
) -> Accepted[Judgement] | Rejected:
    """Return the judgement that *make_judgement* makes of the verdict in *completion*, a judge's
    reply about *case*; Rejected, with the reason, if the reply has no valid verdict.
    """
    if completion.filtered:
        return Rejected("stopped by the provider's filter")
    verdict = read_verdict(completion, case.scenario.marks, case.quotable_text)
    if isinstance(verdict, NoVerdict):
        return Rejected(verdict.reason, completion.cut_off)
    return Accepted(make_judgement(verdict))  # a complete verdict is one, wherever the limit fell
