"""Calls, tokens and dollars before they are spent.

A rough number for the question "shall I?": what the scripts hold is counted, what the models will say is
assumed. Pure; prices and what is left to do come in as values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from independence_bench.conversation import Words
from independence_bench.endpoint import ModelInfo
from independence_bench.judge import Case, judge_request
from independence_bench.plan import Job, opening, request
from independence_bench.protocol import Protocol
from independence_bench.subject import ChatModel

CHARACTERS_A_TOKEN = 4.0  # English prose
REPLY_TOKENS = 350  # a usual reply; published runs lie between 150 and 600
THOUGHT_TOKENS = 700  # on top, when told to think
VERDICT_TOKENS = 300


@dataclass(frozen=True, slots=True)
class Forecast:
    """What some jobs will take. *dollars* is None where a price is not known."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float | None = 0.0

    def __add__(self, other: Forecast) -> Forecast:
        known = self.dollars is not None and other.dollars is not None
        return Forecast(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            (self.dollars or 0.0) + (other.dollars or 0.0) if known else None,
        )


def forecast(
    protocol: Protocol,
    left: Iterable[Job],
    judge: ChatModel | None,
    prices: Mapping[str, ModelInfo],
    free: Mapping[str, bool],
) -> Forecast:
    """What *left* will take, judged by *judge*; nothing for no jobs.

    *prices* by the model's name (`ChatModel.name`), *free* by endpoint.
    """
    total = Forecast()
    assumed = Words("x" * int(REPLY_TOKENS * CHARACTERS_A_TOKEN))

    def cost(model: ChatModel, prompt: int, completion: int) -> Forecast:
        dollars = 0.0 if free.get(model.endpoint) else prices.get(model.name, ModelInfo("")).most(prompt, completion)
        return Forecast(1, prompt, completion, dollars)

    for job in left:
        talk = opening(protocol, job.configuration, job.scenario)
        said = min(REPLY_TOKENS + THOUGHT_TOKENS * job.subject.thinks, job.subject.max_tokens)
        while talk.awaiting:
            sent = request(talk, job.subject, job.configuration, protocol)
            total += cost(job.subject, _tokens(m.content or "" for m in sent.messages), said)
            talk = talk.answered(assumed)
        if judge is not None:
            case = Case(talk.transcript, job.scenario, protocol.judge_instructions)
            asked = judge_request(case, judge)
            total += cost(judge, _tokens(m.content or "" for m in asked.messages), VERDICT_TOKENS)
    return total


def _tokens(texts: Iterable[str]) -> int:
    return int(sum(len(text) for text in texts) / CHARACTERS_A_TOKEN)
