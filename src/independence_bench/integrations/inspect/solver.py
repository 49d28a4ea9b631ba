"""Plays one scenario, or one stem with all its branches, by this benchmark's own loop.

What was played goes into the sample's store as rows (`rows`), each reply once: the branches of a
stem share those that they begin with.

A call follows this benchmark's own policy: what is no answer is asked again, every attempt is kept.
Inspect waits for rate limits of its own providers itself; of `aib/` models every failure is a
value, decided here.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from inspect_ai.model import GenerateConfig, Model, ModelOutput, ResponseSchema, get_model
from inspect_ai.model._generate_config import active_generate_config
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import JSONSchema, span

from independence_bench.calls.call import Accepted
from independence_bench.calls.limits import AttemptCounts, GaveUp, Policy, Reach, next_wait
from independence_bench.engine.ask import reply_reader
from independence_bench.errors import BenchError
from independence_bench.integrations.inspect.provider import (
    OwnModel,
    chat_messages,
    configured,
    named,
    outcome_of,
    sent_hash,
    tool_infos,
)
from independence_bench.integrations.inspect.rows import (
    KEY,
    Rows,
    TriedOnce,
    call_rows,
    joined,
    played_rows,
    reply_rows,
    who_rows,
)
from independence_bench.integrations.inspect.samples import FIRST_RUN, read_source
from independence_bench.judging.judge import as_judge, spec_to_judge
from independence_bench.models.messages import (
    AttemptFacts,
    ChatRequest,
    Completion,
    Fault,
    Kind,
    Rejected,
)
from independence_bench.models.spec import ChatModel, Reasoning
from independence_bench.protocol.conversation import Transcript, Words
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.plan import Job, opening, request, script_hash, sent
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.store.results import Played, Reply

A = TypeVar("A")
POLICY = Policy()


@dataclass(frozen=True, slots=True)
class Answered(Generic[A]):
    """An answer, the number of the attempt that it came from (1, 2, ...), and all attempts."""

    answer: A
    attempt: int
    tried: tuple[TriedOnce, ...]


async def subject_of(model: Model, protocol: Protocol) -> ChatModel:
    """Who is under test, with everything about the way it is called.

    Of an `aib/` model, who `aib run` would call; of Inspect's own providers one at the endpoint
    `inspect-PROVIDER`, for what these send is theirs.
    """
    config = model.config.merge(active_generate_config())
    if isinstance(model.api, OwnModel):
        spec = configured(model.api.spec, config)
        spec = replace(spec, max_tokens=config.max_tokens) if config.max_tokens else spec
        return await model.api.settled(spec, protocol.temperature, protocol.max_tokens)
    return _foreign(model, config, protocol.temperature, protocol.max_tokens)


async def judge_of(model: Model, protocol: Protocol) -> ChatModel:
    """Who judges, called as the protocol says unless the role's own settings say otherwise."""
    default, config = protocol.judge, model.config
    if not isinstance(model.api, OwnModel):
        return _foreign(model, config, default.temperature, default.max_tokens)
    spec = configured(spec_to_judge(model.api.spec.model, model.api.spec.endpoint, default), config)
    return as_judge(await model.api.settled(spec, protocol.temperature, protocol.max_tokens), spec)


def _foreign(
    model: Model, config: GenerateConfig, temperature: float, max_tokens: int
) -> ChatModel:
    effort = "off" if config.reasoning_effort in (None, "none") else config.reasoning_effort
    provider, _, name = str(model).partition("/")
    return ChatModel(
        model=name or provider,
        endpoint=f"inspect-{provider}",
        temperature=temperature if config.temperature is None else config.temperature,
        max_tokens=config.max_tokens or max_tokens,
        reasoning=Reasoning(effort) if effort in set(Reasoning) else Reasoning.HIGH,
    )


async def ask(
    model: Model,
    request: ChatRequest,
    read: Callable[[Completion], Accepted[A] | Rejected],
    none: Callable[[str], A],
) -> Answered[A]:
    """The answer to *request*. Raises GaveUp where the call failed, and what Inspect's providers
    raise.
    """
    tries, tried = AttemptCounts(), list[TriedOnce]()
    spare: tuple[int, A] | None = None
    wanted = request.model
    schema = None
    if request.schema:
        schema = ResponseSchema(
            name="marks", json_schema=JSONSchema.model_validate_json(request.schema), strict=True
        )
    while True:
        limit = wanted.max_tokens * (2 if tries.cut_off else 1)
        config = GenerateConfig(
            temperature=wanted.temperature, max_tokens=limit, response_schema=schema
        )
        started = time.time()
        output = await model.generate(
            chat_messages(request.messages),
            tool_infos(request.tools),
            "auto" if request.tools else None,
            config,
        )
        outcome = outcome_of(output)
        told = (output.metadata or {}).get(KEY, {}).get("sent")
        if told is not None and told != sent_hash(request.messages, request.tools):
            raise BenchError(
                "Inspect sent other messages than were to be sent; update ai-independence-bench"
            )
        end: GaveUp | None = None
        wait, kind, why = 0.0, ANSWERED, None
        answer: tuple[int, A] | None = None
        number = len(tried) + 1
        fault = outcome if isinstance(outcome, Fault) else None
        if isinstance(outcome, Completion):
            given = read(outcome)
            taken = wanted.accept_cut_off and isinstance(given, Accepted)
            if given.cut_off and not tries.cut_off and not taken:
                tries.cut_off += 1
                kind = CUT_OFF
                spare = (number, given.answer) if isinstance(given, Accepted) else spare
            elif isinstance(given, Accepted):
                answer = number, given.answer
            elif given.cut_off:
                kind, why = Kind.BROKEN.value, f"{given.reason}, even with {limit} tokens"
                answer = spare or (number, none(why))
            else:
                fault = Fault(Kind.BROKEN, given.reason)
        if fault is not None:
            kind, why = fault.kind.value, fault.message
            try:
                wait = next_wait(fault, tries, POLICY, random.random, time.monotonic())
            except GaveUp as error:
                if error.reach is Reach.REPLY or (tries.cut_off and fault.kind is Kind.BAD_REQUEST):
                    answer = spare or (number, none(error.reason))
                else:
                    end = error
        status = outcome.status if isinstance(outcome, Fault) else 200
        facts = AttemptFacts(**outcome.facts())
        tried.append(TriedOnce(started, time.time(), limit, kind, why, status, facts))
        if end is not None:
            raise end
        if answer is not None:
            return Answered(answer[1], answer[0], tuple(tried))
        await asyncio.sleep(wait)


Known = dict[str, tuple[Reply, Rows]]  # key -> a reply that was given in this sample, with its rows


@solver(name=named("conversations"))
def conversations(protocol: str) -> Solver:
    """Play the conversations of a sample with the model under test; *protocol* as tasks take it."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate  # which appends to one list of messages
        loaded, _ = read_source(protocol)
        subject = await subject_of(get_model(), loaded)
        configuration = Configuration(state.metadata["system"], state.metadata["delivery"])
        run = state.metadata[FIRST_RUN] - 1 + state.epoch
        known: Known = {}
        parts = [who_rows("subjects", subject)]
        shown: Transcript | None = None
        for name in state.metadata["scenarios"]:
            scenario = loaded.scenario(name)
            script = script_hash(loaded, configuration, scenario)
            job = Job(subject, run, configuration, scenario, script)
            async with span(scenario.branch or scenario.id):
                played, rows = await _play(loaded, job, known)
            parts += [rows, played_rows(played, time.time())]
            shown = shown or played.transcript
        state.store.set(KEY, joined(parts))
        if shown is not None:
            state.messages = chat_messages(sent(shown, configuration.delivery, loaded))
            texts = [line.text for line in shown.lines if line.name]
            state.output = ModelOutput.from_content(str(get_model()), texts[-1] if texts else "")
        state.completed = True
        return state

    return solve


async def _play(protocol: Protocol, job: Job, known: Known) -> tuple[Played, Rows]:
    """One scenario to its end, or to a reply that is none; with the rows of its replies."""
    talk = opening(protocol, job.configuration, job.scenario)
    replies: list[tuple[str, Reply]] = []
    parts: list[Rows] = []
    while talk.awaiting:
        asked = request(talk, job.subject, job.configuration, protocol)
        key = asked.key(job.run)
        if key not in known:
            known[key] = await _reply(asked, key, reply_reader(protocol, job.configuration))
        reply, rows = known[key]
        parts.append(rows)
        replies.append((key, reply))
        if reply.reason is not None:
            break
        talk = talk.answered(Words(reply.text, reply.notes))
    invalid = replies[-1][1].reason
    reason = None if invalid is None else f"{talk.awaiting}: {invalid}"
    return Played(job, protocol.hash, talk.transcript, replies, reason), joined(parts)


async def _reply(
    asked: ChatRequest, key: str, read: Callable[[Completion], Accepted[Reply] | Rejected]
) -> tuple[Reply, Rows]:
    outcome = await ask(get_model(), asked, read, lambda reason: Reply("", reason=reason))
    rows = joined(
        [
            call_rows(key, "reply", asked.model, outcome.tried),
            reply_rows(key, outcome.answer, outcome.attempt, time.time()),
        ]
    )
    return outcome.answer, rows
