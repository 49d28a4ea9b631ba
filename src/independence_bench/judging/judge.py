"""transcript + rubric -> a judgement, by a model.

What a judge is sent is made by `prompt`, what it answers is read by `output`; here the one is exchanged for the
other, and what came of it becomes a judgement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol as Interface

from independence_bench.calls.call import Accepted, Call, Rejected
from independence_bench.judging.output import NoVerdict, Verdict, parse_verdict
from independence_bench.judging.prompt import JudgingInput, judge_request
from independence_bench.models.messages import Completion
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Scenario
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

    @property
    def label(self) -> str:
        """Its name in tables."""
        ...

    @property
    def hash(self) -> str:
        """What identifies it, down to its settings or weights."""
        ...

    @property
    def spec(self) -> str:
        """Its settings as JSON, for the store."""
        ...

    @property
    def calls(self) -> int:
        """How many calls one judgement takes, when nothing goes wrong."""
        ...

    async def judge(self, case: JudgingInput, calls: JudgeCalls) -> Judgement:
        """The stored judgement of *case*; its *reason* is set where it failed."""
        ...


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """A judge that is a model behind an endpoint. *again*: a failed judgement is asked for once more."""

    model: ChatModel
    again: bool = False

    @property
    def label(self) -> str:
        """The label of its model."""
        return self.model.label

    @property
    def hash(self) -> str:
        """The hash of its model's settings."""
        return self.model.hash

    @property
    def spec(self) -> str:
        """Its model's settings as JSON."""
        return self.model.spec

    @property
    def calls(self) -> int:
        """One."""
        return 1

    async def judge(self, case: JudgingInput, calls: JudgeCalls) -> Judgement:
        """Ask the model, unless its judgement is stored."""
        request = judge_request(case, self.model)
        key = case.key(self.hash)
        # hashes of whole texts, so they are asked for once and not when the verdict has come
        heard, rubric, judge = case.transcript.heard_hash, case.rubric_hash, self.hash

        def made(verdict: Verdict | NoVerdict) -> Judgement:
            return Judgement(
                key=key,
                heard_hash=heard,
                rubric_hash=rubric,
                judge_hash=judge,
                marks=verdict.marks if isinstance(verdict, Verdict) else {},
                reasoning=verdict.reasoning if isinstance(verdict, Verdict) else "",
                reason=verdict.reason if isinstance(verdict, NoVerdict) else None,
            )

        return await calls.ask(
            Call(
                info=CallInfo(
                    key,
                    "judgement",
                    self.model.endpoint,
                    self.model.model,
                    request.record,
                ),
                request=request,
                shelf=results.JUDGEMENTS,
                final=lambda judgement: judgement.reason is None or not self.again,
                read=lambda completion: read_judge(completion, case.scenario, made),
                none=lambda reason: made(NoVerdict(reason)),
                priority=1,
            )
        )


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
