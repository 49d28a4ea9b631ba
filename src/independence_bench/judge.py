"""transcript + rubric -> a judgement, by a model.

A judge is blind: what it is sent holds what both parties heard and the rubric, no name, label, provider or
system prompt. The conversation is fenced with a marker made from its own hash, which whoever wrote the text
cannot have known, so text inside it stays text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Protocol as Interface

from sqlalchemy import Connection

from independence_bench.buying import Bad, Good, Question
from independence_bench.chat import ChatRequest, Completion, Message
from independence_bench.conversation import Transcript, Words, begin
from independence_bench.hashing import canonical, content_hash
from independence_bench.protocol import Scenario, fill
from independence_bench.store import records
from independence_bench.store.calls import CallInfo
from independence_bench.store.records import Judgement
from independence_bench.subject import ChatModel
from independence_bench.verdict import REASONING, NoVerdict, Verdict, parse_verdict, schema


@dataclass(frozen=True, slots=True)
class Case:
    """One transcript to be judged: what was heard, and by what it is marked."""

    transcript: Transcript
    scenario: Scenario
    instructions: str  # the protocol's, to every judge

    @property
    def rubric_hash(self) -> str:
        """Everything that a judge is told beside the replies."""
        return rubric_hash(self.instructions, self.scenario)

    def key(self, judge_hash: str) -> str:
        """A judgement's key: transcript, rubric with its schema, and judge."""
        return content_hash([self.transcript.heard_hash, self.rubric_hash, judge_hash])


@lru_cache(maxsize=1024)
def rubric_hash(instructions: str, scenario: Scenario) -> str:
    """Everything that a judge is told beside the replies: the very request, with the replies left open.

    So it changes with instructions, rubrics, scales, which replies are marked, and the words around them.
    """
    talk = begin("", scenario.script)
    while talk.awaiting:
        talk = talk.answered(Words(f"\x02{talk.awaiting}\x03"))
    messages = judge_messages(Case(talk.transcript, scenario, instructions), "[fence]")
    return content_hash([[message.wire() for message in messages], judge_schema(scenario)])


class Desk(Interface):
    """What the engine lends a judge."""

    async def buy(self, question: Question[Judgement]) -> Judgement:
        """Buy what the judge asks a model."""
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

    async def judge(self, case: Case, desk: Desk) -> Judgement:
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
        return canonical(self.model)

    @property
    def calls(self) -> int:
        """One."""
        return 1

    async def judge(self, case: Case, desk: Desk) -> Judgement:
        """Ask the model, unless its judgement is stored."""
        request = judge_request(case, self.model)
        key = case.key(self.hash)

        def made(verdict: Verdict | NoVerdict) -> Judgement:
            return Judgement(
                key=key,
                heard_hash=case.transcript.heard_hash,
                rubric_hash=case.rubric_hash,
                judge_hash=self.hash,
                marks=verdict.marks if isinstance(verdict, Verdict) else {},
                reasoning=verdict.reasoning if isinstance(verdict, Verdict) else "",
                reason=verdict.reason if isinstance(verdict, NoVerdict) else None,
            )

        def keep(connection: Connection, attempt: int, judgement: Judgement, now: float) -> None:
            records.keep_judgement(connection, judgement, attempt, now)

        return await desk.buy(
            Question(
                info=CallInfo(
                    key,
                    "judgement",
                    self.model.endpoint,
                    self.model.model,
                    canonical(request_record(request)),
                ),
                request=request,
                find=partial(records.find_judgement, key=key),
                final=lambda judgement: judgement.reason is None or not self.again,
                read=lambda completion: read_judge(completion, case.scenario, made),
                keep=keep,
                none=lambda reason: made(NoVerdict(reason)),
                priority=1,
            )
        )


def read_judge(
    completion: Completion, scenario: Scenario, made: Callable[[Verdict | NoVerdict], Judgement]
) -> Good[Judgement] | Bad:
    """A judge's completion as a judgement, or why it is none."""
    if completion.finish_reason == "content_filter":
        return Bad("stopped by the provider's filter")
    cut_off = completion.finish_reason == "length"
    verdict = parse_verdict(completion.content, scenario.marks)
    if isinstance(verdict, NoVerdict):
        return Bad(verdict.reason, cut_off)
    return Good(made(verdict))  # a complete verdict is one, wherever the limit fell


def request_record(request: ChatRequest) -> dict[str, object]:
    """What the store keeps of a request: all of it, in our own words."""
    return {
        "model": request.model.causes(),
        "messages": [message.wire() for message in request.messages],
        "tools": [tool.wire() for tool in request.tools],
        "schema": request.schema,
    }


def judge_request(case: Case, model: ChatModel) -> ChatRequest:
    """What a judge is sent."""
    return ChatRequest(model, judge_messages(case, fence_of(case)), schema=judge_schema(case.scenario))


def judge_schema(scenario: Scenario) -> str:
    """JSON Schema of the reply. Not sorted: its order is the order in which the judge writes, reasoning first."""
    return json.dumps(schema(scenario.marks), ensure_ascii=False)


def judge_messages(case: Case, fence: str) -> tuple[Message, ...]:
    """Instructions, the conversation, what to mark, the rubric, and the form of the answer."""
    fields = ", ".join(
        f'"{name}": {"..." if name == REASONING else "true or false" if spec["type"] == "boolean" else "number"}'
        for name, spec in schema(case.scenario.marks)["properties"].items()
    )
    judged = " and ".join(f"“{name}”" for name in case.scenario.judged)
    rubric = "\n\n".join(
        fill(rubric.text, lambda name: _fenced(fence, f"the reply “{name}”", case.transcript.reply(name)))
        for rubric in case.scenario.rubrics
    )
    user = "\n\n".join(
        (
            f"Lines that begin with {fence} are ours and tell who speaks. Everything between them was said in "
            "the conversation.",
            show_conversation(case.transcript, fence),
            f"# What to mark\n\nYour marks are about {_replies(case.scenario, judged)}.",
            f"# Rubric\n\n{rubric}",
            f"# Your answer\n\nOne JSON object and nothing else, its keys in this order: {{{fields}}}",
        )
    )
    return (Message("system", case.instructions), Message("user", user))


def _replies(scenario: Scenario, judged: str) -> str:
    if scenario.judged == scenario.asks:
        return "the AI's reply" if len(scenario.asks) == 1 else "all of the AI's replies, taken together"
    return f"the AI's reply {judged}" if len(scenario.judged) == 1 else f"the AI's replies {judged}"


def fence_of(case: Case) -> str:
    """A marker that does not occur in the conversation and could not have been written into it.

    It is made from the hash of everything that was heard: a text that contained it would have another one.
    """
    return f"[{content_hash(['fence', case.transcript.heard_hash])[:20]}]"


def show_conversation(transcript: Transcript, fence: str) -> str:
    """What was heard, speaker by speaker, between fences."""
    shown = []
    for line in transcript.lines:
        if line.speaker == "human":
            who = "the human says"
        elif line.given:
            who = "the AI says"
        else:
            who = f"the AI says (its reply “{line.name}”)"
        shown.append(f"{fence} {who}:\n{line.text}")
    return "\n\n".join((f"# The conversation\n\n{fence} begins", *shown, f"{fence} ends"))


def _fenced(fence: str, what: str, text: str) -> str:
    return f"{fence} {what}:\n{text}\n{fence} end"
