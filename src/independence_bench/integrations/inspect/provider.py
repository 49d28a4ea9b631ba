"""Models of this benchmark for Inspect: `--model aib/NAME`, called by our own client, byte for byte
as `aib run` calls.

NAME is what `aib run` takes (`qwen/qwen3-8b`, `sim:sim/rock`); models.yaml in the working folder
says which endpoints there are, keys come from the environment. Nothing is asked again here: that is
the asker's business.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from inspect_ai._util.error import PrerequisiteError
from inspect_ai._util.registry import registry_name
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelAPI,
    ModelCall,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolCall as CalledTool
from inspect_ai.tool import ToolChoice, ToolInfo, ToolParam, ToolParams

from independence_bench.errors import BenchError, SubjectError
from independence_bench.hashing import canonical, text_hash
from independence_bench.integrations.inspect.rows import KEY, arguments_of, usage_of
from independence_bench.integrations.inspect.samples import PREFIX, PROVIDER
from independence_bench.models.client import Client, read_key
from independence_bench.models.endpoints import moved_by, read_models
from independence_bench.models.messages import (
    ChatRequest,
    Completion,
    Fault,
    Kind,
    Message,
    Tool,
    ToolCall,
    Usage,
)
from independence_bench.models.response import clean_text
from independence_bench.models.spec import PYTHON, ChatModel, ModelSpec, Reasoning, Roster
from independence_bench.models.trust import known_only

MODELS_FILE = Path("models.yaml")
_TO_INSPECT = {
    "length": "max_tokens",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
}


# ---------------------------------------------------------------- messages and tools in Inspect's words and back


def named(name: str) -> str:
    """*name* as it has to be registered: Inspect adds the prefix by itself, but not in an editable
    installation.
    """
    return name if registry_name(named, name) != name else f"{PREFIX}/{name}"


_FROM_INSPECT = {
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "unknown": None,
}


def chat_messages(messages: Sequence[Message]) -> list[ChatMessage]:
    """*messages* as Inspect has them."""
    functions = {call.id: call.name for message in messages for call in message.tool_calls}
    made: list[ChatMessage] = []
    for message in messages:
        text = message.content or ""
        match message.role:
            case "system":
                made.append(ChatMessageSystem(content=text))
            case "user":
                made.append(ChatMessageUser(content=text))
            case "assistant":
                calls = [
                    CalledTool(call.id, call.name, arguments_of(call))
                    for call in message.tool_calls
                ]
                made.append(ChatMessageAssistant(content=text, tool_calls=calls or None))
            case "tool":
                called = message.tool_call_id or ""
                made.append(
                    ChatMessageTool(
                        content=text, tool_call_id=called, function=functions.get(called)
                    )
                )
    return made


def own_messages(messages: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """*messages* of Inspect as ours."""
    made = []
    for message in messages:
        calls = tuple(
            ToolCall(call.id, call.function, json.dumps(call.arguments, ensure_ascii=False))
            for call in getattr(message, "tool_calls", None) or ()
        )
        text: str | None = message.text
        made.append(
            Message(
                message.role,
                text or None if calls else text,
                calls,
                getattr(message, "tool_call_id", None),
            )
        )
    return tuple(made)


def tool_infos(tools: Sequence[Tool]) -> list[ToolInfo]:
    """*tools* as Inspect has them."""
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


def own_tools(tools: Sequence[ToolInfo]) -> tuple[Tool, ...]:
    """*tools* of Inspect as ours. Raises ValueError for one that takes anything but one text."""
    made = []
    for tool in tools:
        given = list(tool.parameters.properties.items())
        if len(given) != 1 or given[0][1].type != "string":
            raise ValueError(
                f"aib/ models take only tools with one text argument; {tool.name} is not one"
            )
        (name, about), *_ = given
        made.append(Tool(tool.name, tool.description, name, about.description or ""))
    return tuple(made)


def sent_hash(messages: Sequence[Message], tools: Sequence[Tool]) -> str:
    """What tells one question from another."""
    return text_hash(
        canonical([[message.wire() for message in messages], [tool.wire() for tool in tools]])
    )


def kept(outcome: Completion | Fault) -> dict[str, Any]:
    """*outcome* without its body as plain JSON, for an output's metadata; `outcome_of` undoes it."""
    made = asdict(outcome) | {"raw": ""}
    if isinstance(outcome, Fault):
        made |= {"kind": outcome.kind.value, "refused": sorted(outcome.refused)}
    return made


def outcome_of(output: ModelOutput) -> Completion | Fault:
    """What a model answered, or why that is nothing that can be read."""
    told = (output.metadata or {}).get(KEY)
    if told is not None:
        about = dict(told["outcome"]) | {"usage": Usage(**told["outcome"]["usage"])}
        if "kind" in about:
            return Fault(
                **about | {"kind": Kind(about["kind"]), "refused": frozenset(about["refused"])}
            )
        return Completion(
            **about | {"tool_calls": tuple(ToolCall(**call) for call in about["tool_calls"])}
        )
    about = {
        "usage": _usage(output.usage),
        "seconds": output.time or 0.0,
        "served_model": output.model or None,
    }
    if output.empty:
        return Fault(
            Kind.BROKEN, clean_text(output.error or "no choices in the reply"), 200, **about
        )
    message = output.message
    parts = message.content if isinstance(message.content, list) else []
    thoughts = [
        part.summary or part.reasoning for part in parts if isinstance(part, ContentReasoning)
    ]
    calls = [
        ToolCall(call.id, call.function, json.dumps(call.arguments, ensure_ascii=False))
        for call in message.tool_calls or ()
    ]
    return Completion(
        content=clean_text(message.text),
        tool_calls=tuple(calls),
        reasoning=clean_text("\n\n".join(text for text in thoughts if text)),
        finish_reason=_FROM_INSPECT.get(output.stop_reason, output.stop_reason),
        response_id=output.response_id,
        **about,
    )


def _usage(usage: ModelUsage | None) -> Usage:
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


# ---------------------------------------------------------------- a model


@modelapi(name=named(PROVIDER))
def aib() -> type[ModelAPI]:
    """What `--model aib/...` means."""
    return OwnModel


class OwnModel(ModelAPI):
    """One model of one of our endpoints."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        models_file: str | None = None,
        provider: str | None = None,
        **others: Any,
    ) -> None:
        """*models_file*, *provider*: of `aib run` (`-M models_file=...`, `-M provider=...`).

        Raises PrerequisiteError, which Inspect prints as one line.
        """
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        try:
            self._begin(model_name, models_file, provider, base_url, api_key, others)
        except BenchError as error:
            raise PrerequisiteError(str(error)) from None

    def _begin(
        self,
        model_name: str,
        models_file: str | None,
        provider: str | None,
        base_url: str | None,
        api_key: str | None,
        others: dict[str, Any],
    ) -> None:
        if others or base_url or api_key:
            wrong = ", ".join(
                [*others, *(["base_url"] if base_url else []), *(["api_key"] if api_key else [])]
            )
            raise SubjectError(
                f"aib/{model_name} does not take {wrong}; endpoints and keys are those of models.yaml"
            )
        path = Path(models_file) if models_file else MODELS_FILE
        listed = models_file is not None or path.is_file()
        self.roster = moved_by(os.environ, read_models(path) if listed else Roster())
        spec = self.roster.find(model_name)[0]
        self.spec = replace(spec, provider=provider) if provider else spec
        self._client: Client | None = None
        self._users = 0
        self._settled: dict[tuple[ModelSpec, float, int], ChatModel] = {}

    async def settled(self, spec: ModelSpec, temperature: float, max_tokens: int) -> ChatModel:
        """The model that *spec* means, with a protocol's *temperature* and *max_tokens*, as `aib
        run` would call it.
        """
        wanted = (spec, temperature, max_tokens)
        if wanted not in self._settled:
            async with self._connected() as client:
                self._settled[wanted] = await client.resolve(spec, temperature, max_tokens)
        return self._settled[wanted]

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> tuple[ModelOutput, ModelCall]:
        """Ask once. What went wrong is the output's `error`; its metadata has all that is known of
        the call.
        """
        del tool_choice  # always auto, as in `aib run`
        limit = config.max_tokens or 1024
        model = await self.settled(configured(self.spec, config), 1.0, limit)
        schema = config.response_schema
        wanted = (
            json.dumps(schema.json_schema.model_dump(exclude_none=True), ensure_ascii=False)
            if schema
            else ""
        )
        request = ChatRequest(model, own_messages(input), own_tools(tools), wanted)
        async with self._connected() as client:
            body = client.dialect.body(request, limit)
            outcome = await client.complete(request, limit)
            told = replace(outcome.usage, cost=0.0) if client.endpoint.free else outcome.usage
        outcome = replace(outcome, usage=told)
        output = ModelOutput(
            model=outcome.served_model or self.model_name,
            usage=ModelUsage(**usage_of(told)),
            time=outcome.seconds,
            response_id=outcome.response_id,
            metadata={
                KEY: {"sent": sent_hash(request.messages, request.tools), "outcome": kept(outcome)}
            },
        )
        answered = {"body": outcome.raw}
        if isinstance(outcome, Fault):
            output.error = outcome.message
        else:
            output.choices = [_choice(outcome, self.model_name)]
            output.completion = output.choices[0].message.text
        return output, ModelCall.create(body, answered)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        """A client that is open while it is used: a provider is not told when an evaluation has
        ended.
        """
        if self._client is None:
            endpoint = self.roster.endpoint(self.spec.endpoint)
            if endpoint.ours or endpoint.name == PYTHON or not endpoint.url:
                raise SubjectError(
                    f"{self.spec.endpoint}: models is not called by Inspect; `aib run` plays it"
                )
            self._client = Client(endpoint, read_key(endpoint, known_only))
        self._users += 1
        try:
            if self._users == 1:
                await self._client.__aenter__()
            yield self._client
        finally:
            self._users -= 1
            if self._users == 0:
                await self._client.__aexit__()


def configured(spec: ModelSpec, config: GenerateConfig) -> ModelSpec:
    """*spec* with what Inspect's options say of temperature and reasoning. Raises SubjectError."""
    if config.temperature is not None:
        spec = replace(spec, temperature=config.temperature)
    if config.reasoning_effort is not None:
        effort = "off" if config.reasoning_effort == "none" else config.reasoning_effort
        if effort not in set(Reasoning):
            raise SubjectError(
                f"{spec.model}: there is no effort {effort}; one of {', '.join(Reasoning)}"
            )
        spec = replace(spec, reasoning=effort)
    return spec


def _choice(completion: Completion, model: str) -> ChatCompletionChoice:
    thoughts = [ContentReasoning(reasoning=completion.reasoning)] if completion.reasoning else []
    calls = [CalledTool(call.id, call.name, arguments_of(call)) for call in completion.tool_calls]
    content = [*thoughts, ContentText(text=completion.content)] if thoughts else completion.content
    message = ChatMessageAssistant(
        content=content, tool_calls=calls or None, model=model, source="generate"
    )
    return ChatCompletionChoice(
        message=message, stop_reason=_TO_INSPECT.get(completion.finish_reason or "", "stop")
    )
