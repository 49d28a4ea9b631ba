"""Calls, tokens and dollars before they are spent.

A rough number for the question "shall I?": what the scripts hold is counted, what the models will say is
assumed. Pure; prices and what is left to do come in as values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from independence_bench.brief import Case, judge_request
from independence_bench.chat import Message
from independence_bench.conversation import Words
from independence_bench.endpoint import ModelInfo
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

    def times(self, number: int) -> Forecast:
        """The same, *number* times."""
        dollars = None if self.dollars is None else number * self.dollars
        return Forecast(number * self.calls, number * self.prompt_tokens, number * self.completion_tokens, dollars)


def forecast(
    protocol: Protocol,
    to_play: Iterable[Job],
    to_judge: Iterable[Job],
    judge: ChatModel | None,
    infos: Mapping[ChatModel, ModelInfo],
    free: Collection[str],
) -> Forecast:
    """What it takes to play some jobs and to judge those and some others; nothing for no jobs.

    *infos* has the prices, *free* the endpoints that cost nothing; *judge* None: nothing is bought for judging.
    """
    total = Forecast()
    # whatever the run, one scenario asks for the same
    alike = Counter((job.subject, job.configuration, job.scenario, False) for job in to_play)
    alike.update((job.subject, job.configuration, job.scenario, True) for job in to_judge)
    for (subject, configuration, scenario, played), number in alike.items():
        one = Forecast()
        said = min(REPLY_TOKENS + THOUGHT_TOKENS * subject.thinks, subject.max_tokens)
        talk = opening(protocol, configuration, scenario)
        while talk.awaiting:
            if not played:
                sent = request(talk, subject, configuration, protocol).messages
                one += _call(sent, said, None if subject.endpoint in free else infos[subject])
            talk = talk.answered(_ASSUMED)
        if judge is not None:
            asked = judge_request(Case(talk.transcript, scenario, protocol.judge_instructions), judge)
            one += _call(asked.messages, VERDICT_TOKENS, None if judge.endpoint in free else infos[judge])
        total += one.times(number)
    return total


_ASSUMED = Words("x" * int(REPLY_TOKENS * CHARACTERS_A_TOKEN))


def _call(sent: Iterable[Message], completion: int, prices: ModelInfo | None) -> Forecast:
    """One call; *prices* None: it costs nothing."""
    prompt = int(sum(len(message.content or "") for message in sent) / CHARACTERS_A_TOKEN)
    return Forecast(1, prompt, completion, 0.0 if prices is None else prices.most(prompt, completion))
