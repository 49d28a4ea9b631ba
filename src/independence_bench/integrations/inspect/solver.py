"""Plays one scenario, or one item with all its branches, by this benchmark's own loop.

The conversations go into the sample's store as rows (`rows`), each reply once: the branches of an
item share those that they begin with.

Inspect's providers send, wait for rate limits and fail as they do in every evaluation. A reply that
is no answer is asked again, as `aib run` does, and every attempt is kept.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from inspect_ai._util.registry import registry_name
from inspect_ai.model import (
    ChatMessage,
    ContentReasoning,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    ResponseSchema,
    get_model,
)
from inspect_ai.model._generate_config import active_generate_config
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolInfo, ToolParam, ToolParams
from inspect_ai.util import JSONSchema, span
from pydantic import TypeAdapter

from independence_bench.calls.call import Accepted
from independence_bench.calls.limits import Policy
from independence_bench.engine.ask import make_reply_reader
from independence_bench.integrations.inspect.log_sample import encode_messages
from independence_bench.integrations.inspect.rows import (
    KEY,
    Rows,
    TriedOnce,
    join_rows,
    make_call_rows,
    make_conversation_rows,
    make_model_rows,
    make_reply_rows,
)
from independence_bench.integrations.inspect.samples import PREFIX, read_protocol_source
from independence_bench.models.messages import (
    AttemptFacts,
    ChatRequest,
    Completion,
    Kind,
    Message,
    Rejected,
    Tool,
    ToolCall,
    Usage,
)
from independence_bench.models.response import replace_unstorable_characters
from independence_bench.models.spec import ChatModel, Reasoning
from independence_bench.protocol.conversation import Transcript, Words
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.plan import (
    Job,
    build_messages,
    build_request,
    hash_script,
    start_scenario,
)
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.store.results import PlayedJob, Reply

A = TypeVar("A")
_MESSAGES = TypeAdapter(list[ChatMessage])
_ENDS = {"max_tokens": "length", "model_length": "length", "unknown": None}  # Inspect's -> ours


def make_registry_name(name: str) -> str:
    """Return *name* as it has to be registered with Inspect: with the prefix `independence_bench/`
    in an editable installation, else without, because Inspect adds the prefix itself.
    """
    return name if registry_name(make_registry_name, name) != name else f"{PREFIX}/{name}"


def make_chat_messages(messages: Sequence[Message]) -> list[ChatMessage]:
    """Convert *messages* of this package to Inspect's chat messages."""
    return _MESSAGES.validate_python(encode_messages(messages))


def make_tool_infos(tools: Sequence[Tool]) -> list[ToolInfo]:
    """Convert *tools* of this package to Inspect's descriptions of tools."""
    return [
        ToolInfo(
            name=tool.name,
            description=tool.description,
            parameters=ToolParams(
                properties={
                    tool.argument: ToolParam(type="string", description=tool.argument_description)
                },
                required=[tool.argument],
            ),
        )
        for tool in tools
    ]


def convert_completion(output: ModelOutput) -> Completion:
    """Convert *output*, which a model of Inspect gave, to a completion of this package."""
    message = None if output.empty else output.message
    parts = message.content if message and isinstance(message.content, list) else []
    thoughts = [
        part.summary or part.reasoning for part in parts if isinstance(part, ContentReasoning)
    ]
    return Completion(
        content=replace_unstorable_characters(message.text if message else ""),
        tool_calls=tuple(
            ToolCall(call.id, call.function, json.dumps(call.arguments, ensure_ascii=False))
            for call in (message and message.tool_calls) or ()
        ),
        reasoning=replace_unstorable_characters("\n\n".join(text for text in thoughts if text)),
        usage=_convert_usage(output.usage),
        seconds=output.time or 0.0,
        finish_reason=None if output.empty else _ENDS.get(output.stop_reason, output.stop_reason),
        served_model=output.model or None,
        response_id=output.response_id,
    )


def _convert_usage(usage: ModelUsage | None) -> Usage:
    if usage is None:
        return Usage()
    cached = usage.input_tokens_cache_read or 0
    prompt = usage.input_tokens + cached + (usage.input_tokens_cache_write or 0)
    return Usage(
        prompt,
        usage.output_tokens,
        usage.reasoning_tokens,
        usage.input_tokens_cache_read,
        usage.total_cost,
    )


POLICY = Policy()


@dataclass(frozen=True, slots=True)
class Answered(Generic[A]):
    """An answer, the number of the attempt that it came from (1, 2, ...), and all attempts."""

    answer: A
    attempt: int
    tried: tuple[TriedOnce, ...]


def make_chat_model(
    model: Model, config: GenerateConfig, temperature: float, max_tokens: int
) -> ChatModel:
    """Return a description of Inspect's *model* as a chat model of this package, to be a model
    under test or a judge. *temperature* and *max_tokens* are used where *config* sets none; the
    endpoint is `inspect-PROVIDER`, because Inspect's providers send in their own way.
    """
    effort = "off" if config.reasoning_effort in (None, "none") else config.reasoning_effort
    provider, _, name = str(model).partition("/")
    return ChatModel(
        model=name or provider,
        endpoint=f"inspect-{provider}",
        temperature=temperature if config.temperature is None else config.temperature,
        max_tokens=config.max_tokens or max_tokens,
        reasoning=Reasoning(effort) if effort in set(Reasoning) else Reasoning.HIGH,
    )


async def ask_model(
    model: Model,
    request: ChatRequest,
    read: Callable[[Completion], Accepted[A] | Rejected],
    make_fallback_answer: Callable[[str], A],
    make_next_request: Callable[[Completion, str], ChatRequest] | None = None,
) -> Answered[A]:
    """Ask Inspect's *model* until a reply is an answer to *request*, and return the answer with all
    attempts. *read* turns a completion into an answer or rejects it; if every attempt is rejected,
    *make_fallback_answer* makes the answer from the reason.

    *make_next_request* makes the next request from a rejected completion and the reason; None: the
    same request is sent again. Raises what Inspect's providers raise.
    """
    tried: list[TriedOnce] = []
    answer: tuple[int, A] | None = None
    spare: tuple[int, A] | None = None
    wanted, broken, cut_off = request.model, 0, False
    schema = None
    if request.schema:
        schema = ResponseSchema(
            name="marks", json_schema=JSONSchema.model_validate_json(request.schema), strict=True
        )
    while answer is None:
        limit = wanted.max_tokens * (2 if cut_off else 1)
        config = GenerateConfig(
            temperature=wanted.temperature, max_tokens=limit, response_schema=schema
        )
        started = time.time()
        output = await model.generate(
            make_chat_messages(request.messages),
            make_tool_infos(request.tools),
            "auto" if request.tools else None,
            config,
        )
        completion = convert_completion(output)
        given = (
            Rejected(replace_unstorable_characters(output.error))
            if output.error
            else read(completion)
        )
        number, kind, why = len(tried) + 1, ANSWERED, None
        if given.cut_off and not cut_off:
            cut_off, kind = True, CUT_OFF
            spare = (number, given.answer) if isinstance(given, Accepted) else None
        elif isinstance(given, Accepted):
            answer = number, given.answer
        else:
            broken += 1
            kind, why = Kind.BROKEN.value, given.reason
            if make_next_request is not None and not output.error:
                request = make_next_request(completion, why)
            if given.cut_off or broken >= POLICY.broken:
                tries = f"even with {limit} tokens" if given.cut_off else f"{broken} tries"
                answer = spare or (number, make_fallback_answer(f"{why} ({tries})"))
        facts = AttemptFacts(**completion.list_facts())
        tried.append(TriedOnce(started, time.time(), limit, kind, why, 200, facts))
    return Answered(answer[1], answer[0], tuple(tried))


Known = dict[str, tuple[Reply, Rows]]  # key -> a reply of this sample, with its rows


@solver(name=make_registry_name("conversations"))
def conversations(protocol: str) -> Solver:
    """Return an Inspect solver that plays all conversations of a sample with the model under test
    and puts their rows into the sample's store. *protocol*: a shipped name, a folder, a sheet, or
    the output of `encode_protocol_source`.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate  # it appends to one list of messages, and branches need several
        loaded, _ = read_protocol_source(protocol)
        model = get_model()
        config = model.config.merge(active_generate_config())
        subject = make_chat_model(model, config, loaded.temperature, loaded.max_tokens)
        configuration = Configuration(state.metadata["system"], state.metadata["delivery"])
        known: Known = {}
        parts = [make_model_rows("subjects", subject)]
        shown: Transcript | None = None
        for name in state.metadata["scenarios"]:
            scenario = loaded.find_scenario(name)
            job = Job(
                subject,
                state.epoch,
                configuration,
                scenario,
                hash_script(loaded, configuration, scenario),
            )
            async with span(scenario.branch or scenario.id):
                played, rows = await _play_scenario(loaded, job, known)
            parts += [rows, make_conversation_rows(played, time.time())]
            shown = shown or played.transcript
        state.store.set(KEY, join_rows(parts))
        if shown is not None:
            state.messages = make_chat_messages(
                build_messages(shown, configuration.delivery, loaded)
            )
            texts = [line.text for line in shown.lines if line.name]
            state.output = ModelOutput.from_content(str(get_model()), texts[-1] if texts else "")
        state.completed = True
        return state

    return solve


async def _play_scenario(protocol: Protocol, job: Job, known: Known) -> tuple[PlayedJob, Rows]:
    """Play the conversation *job* to its end, or to a reply that is no answer, and return it with
    the rows of its replies. Replies in *known*, by key, are not asked for again; new ones are
    added.
    """
    talk = start_scenario(protocol, job.configuration, job.scenario)
    replies: list[tuple[str, Reply]] = []
    parts: list[Rows] = []
    while talk.next_reply_name:
        asked = build_request(talk, job.subject, job.configuration, protocol)
        key = asked.make_key(job.run)
        if key not in known:
            known[key] = await _ask_reply(
                asked, key, make_reply_reader(protocol, job.configuration)
            )
        reply, rows = known[key]
        parts.append(rows)
        replies.append((key, reply))
        if reply.reason is not None:
            break
        talk = talk.add_reply(Words(reply.text, reply.notes))
    invalid = replies[-1][1].reason
    reason = None if invalid is None else f"{talk.next_reply_name}: {invalid}"
    return PlayedJob(job, protocol.hash, talk.transcript, replies, reason), join_rows(parts)


async def _ask_reply(
    asked: ChatRequest, key: str, read: Callable[[Completion], Accepted[Reply] | Rejected]
) -> tuple[Reply, Rows]:
    outcome = await ask_model(get_model(), asked, read, lambda reason: Reply("", reason=reason))
    rows = join_rows(
        [
            make_call_rows(key, "reply", asked.model, outcome.tried),
            make_reply_rows(key, outcome.answer, outcome.attempt, time.time()),
        ]
    )
    return outcome.answer, rows
