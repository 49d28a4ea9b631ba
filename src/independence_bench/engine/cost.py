"""Forecasts of calls, tokens and dollars.

What the scripts hold is counted; what the models will say is what the same or similar subjects have taken in this
store, and else what the protocol says that a typical model needs. Pure; prices, what is left to do and what was
taken come in as values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from independence_bench.judging.prompt import JudgingInput, judge_request, told_hash
from independence_bench.models.response import ModelInfo
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import Words
from independence_bench.protocol.definition import Protocol, Scenario
from independence_bench.protocol.plan import Job, is_shared, opening, request, shared_openings
from independence_bench.store.usage import Used

# From a hundred published subjects (half of them thinking, at low effort) and their 5,307 judgements. What a typical
# one needs for a reply the scenarios say; between the tenth of subjects that takes the least and the tenth that takes
# the most lies the range.
CHARACTERS_A_TOKEN = 4.0  # of a whole request as JSON
THOUGHT_TOKENS = 160  # on top of a reply, when told to think
VERDICT_TOKENS = 150
RANGE = (0.7, 2.0)  # a subject's completions, as a share of what is expected
RANGE_THINKING = (0.45, 1.55)
RANGE_AGAIN = (0.9, 1.1)  # a run's, as a share of its own subject's mean
RANGE_VERDICT = (0.8, 1.25)


@dataclass(frozen=True, slots=True)
class Forecast:
    """Calls, tokens and dollars of some jobs. *dollars* is None where a price is not known."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float | None = 0.0
    at_most: bool = False  # some of the calls may turn out not to be needed

    def __add__(self, other: Forecast) -> Forecast:
        return Forecast(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            added(self.dollars, other.dollars),
            self.at_most or other.at_most,
        )

    def times(self, number: int) -> Forecast:
        """The same, *number* times."""
        dollars = None if self.dollars is None else number * self.dollars
        tokens = number * self.prompt_tokens, number * self.completion_tokens
        return Forecast(number * self.calls, *tokens, dollars, self.at_most)


@dataclass(frozen=True, slots=True)
class UsualReplies:
    """What a subject's replies are expected to take, from what was stored; empty where nothing was."""

    by_script: Mapping[str, Sequence[Used]] = field(default_factory=dict)  # the means, reply by reply
    own: bool = False  # taken from this subject's own replies
    subjects: int = 0  # whose replies they are taken from


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one subject's part of a plan will take, or several' together, the judge apart. None: no price is known."""

    label: str = "all"
    candidate: Forecast = Forecast()
    judge: Forecast = Forecast()
    low: float | None = 0.0  # dollars of both
    high: float | None = 0.0
    usual: UsualReplies = UsualReplies()

    @property
    def whole(self) -> Forecast:
        """Candidate and judge together."""
        return self.candidate + self.judge

    def __add__(self, other: Estimate) -> Estimate:
        candidate, judge = self.candidate + other.candidate, self.judge + other.judge
        return Estimate("all", candidate, judge, added(self.low, other.low), added(self.high, other.high))


def estimate(
    protocol: Protocol,
    subject: ChatModel,
    to_play: Sequence[Job],
    to_judge: Sequence[Job],
    judge: ChatModel | None,
    usual: UsualReplies,
    verdicts: Mapping[str, float],
    prices: Mapping[ChatModel, ModelInfo],
) -> Estimate:
    """What it takes to play some jobs of *subject* and to judge those and some others; nothing for no jobs.

    *judge* None: no model is asked for judging.
    *verdicts*: rubric hash -> what this judge's verdicts by it have taken, in completion tokens.
    """
    # what is sent in one script is the same in every run that plays it
    alike = Counter((job.script_hash, False) for job in to_play)
    alike.update((job.script_hash, True) for job in to_judge)
    one_of = {job.script_hash: job for job in (*to_play, *to_judge)}
    shared = shared_openings(to_play)
    bought = Counter(job.script_hash for job in to_play if job.place not in shared)
    seen = [
        (_typical(subject, one_of[script].scenario), used)
        for script, _ in alike
        for used in usual.by_script.get(script, ())
    ]
    # who takes no option is asked nothing more and not judged; what was heard in another run, too, is judged once
    routed = any(job.scenario.labels_of(job.run) for job in to_play)
    twice = judge is not None and any(job.run > 1 for job in (*to_play, *to_judge))
    played, judged = Forecast(at_most=routed), Forecast(at_most=twice)
    without_view = Forecast()
    for (script, stored), number in alike.items():
        configuration, scenario = one_of[script].configuration, one_of[script].scenario
        known = usual.by_script.get(script)
        expected = _scaled(_typical(subject, scenario), seen, subject.most_tokens)
        talk = opening(protocol, configuration, scenario, one_of[script].run)
        for turn in range(len(scenario.asks)):
            took = known[turn] if known else expected
            if not stored:
                prompt = took.prompt or _tokens(request(talk, subject, configuration, protocol).record)
                call = _call(prompt, took.completion, prices[subject])
                played += call.times(bought[script] if is_shared(scenario, talk) else number)
                without_view += call.times(2 * bought[script] if talk.options else 0)
            said = "x" * int(took.said * CHARACTERS_A_TOKEN)
            talk = talk.answered(Words(f"{said}\n{talk.options[0]}" if talk.options else said))
        if judge is not None:
            asked = judge_request(JudgingInput(talk.transcript, scenario, protocol.judge_instructions), judge)
            written = verdicts.get(told_hash(protocol, configuration, scenario), VERDICT_TOKENS)
            judged += _call(_tokens(asked.record), written, prices[judge]).times(number)
    spread = RANGE_AGAIN if usual.own else RANGE_THINKING if subject.thinks else RANGE
    low, high = (
        added(_moved(played, share, subject, prices), _moved(judged, of_verdict, judge, prices))
        for share, of_verdict in zip(spread, RANGE_AGAIN if verdicts else RANGE_VERDICT, strict=True)
    )
    if without_view.calls and not usual.own:  # who takes no option is asked once more, and nothing else
        low = _moved(without_view, spread[0], subject, prices)
    return Estimate(subject.label, played, judged, low, high, usual)


def _typical(subject: ChatModel, scenario: Scenario) -> Used:
    """A reply in *scenario* as a typical model gives it."""
    said = scenario.reply_tokens
    return Used(0, min(said + THOUGHT_TOKENS * subject.thinks, subject.most_tokens), min(said, subject.most_tokens))


def _scaled(typical: Used, seen: Sequence[tuple[Used, Used]], most: float) -> Used:
    """*typical*, in the proportion in which replies to other scenarios stood to what is typical there.

    *seen*: (what is typical, what was taken); where there is none, *typical* it is. *most*: the token limit.
    """
    if not seen:
        return typical
    completion = sum(used.completion for _, used in seen) / sum(usual.completion for usual, _ in seen)
    said = sum(used.said for _, used in seen) / sum(usual.said for usual, _ in seen)
    return Used(0, min(typical.completion * completion, most), min(typical.said * said, most))


def _call(prompt: float, completion: float, prices: ModelInfo) -> Forecast:
    return Forecast(1, round(prompt), round(completion), prices.most(prompt, completion))


def _moved(
    forecast: Forecast, share: float, model: ChatModel | None, prices: Mapping[ChatModel, ModelInfo]
) -> float | None:
    """Dollars, if completions took that share of what is expected. A model that gets no calls needs no price."""
    if model is None or not forecast.calls or forecast.dollars is None:
        return forecast.dollars
    price = prices[model].completion_price or 0.0
    return forecast.dollars + (share - 1) * forecast.completion_tokens * price


def added(one: float | None, other: float | None) -> float | None:
    """Their sum; None where one of them is not known."""
    return None if one is None or other is None else one + other


def _tokens(sent: str) -> float:
    return len(sent) / CHARACTERS_A_TOKEN
