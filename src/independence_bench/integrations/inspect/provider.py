"""Models of this benchmark for Inspect: `--model aib/NAME`, called by our own client, byte for byte as `aib run` calls.

NAME is what `aib run` takes (`qwen/qwen3-8b`, `sim:sim/rock`); models.yaml in the working folder says which endpoints
there are, keys come from the environment. Nothing is asked again here: that is the asker's business.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
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
from inspect_ai.tool import ToolChoice, ToolInfo

from independence_bench.errors import BenchError, SubjectError
from independence_bench.integrations.inspect.rows import KEY, arguments_of, usage_of
from independence_bench.integrations.inspect.samples import PROVIDER
from independence_bench.integrations.inspect.wire import kept, named, own_messages, own_tools, sent_hash
from independence_bench.models.client import Client, read_key
from independence_bench.models.messages import ChatRequest, Completion, Fault
from independence_bench.models.models_file import moved_by, read_models
from independence_bench.models.spec import PYTHON, ChatModel, ModelSpec, Reasoning, Roster
from independence_bench.models.trust import known_only

MODELS_FILE = Path("models.yaml")
_ENDS = {"length": "max_tokens", "content_filter": "content_filter", "tool_calls": "tool_calls"}


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
            wrong = ", ".join([*others, *(["base_url"] if base_url else []), *(["api_key"] if api_key else [])])
            raise SubjectError(f"aib/{model_name} does not take {wrong}; endpoints and keys are those of models.yaml")
        path = Path(models_file) if models_file else MODELS_FILE
        listed = models_file is not None or path.is_file()
        self.roster = moved_by(os.environ, read_models(path) if listed else Roster())
        found = self.roster.find(model_name)[0]
        self.spec = replace(found, provider=provider) if provider else found
        self._client: Client | None = None
        self._users = 0
        self._settled: dict[tuple[ModelSpec, float, int], ChatModel] = {}

    async def settled(self, spec: ModelSpec, temperature: float, max_tokens: int) -> ChatModel:
        """The model that *spec* means, with a protocol's *temperature* and *max_tokens*, as `aib run` would call it."""
        wanted = (spec, temperature, max_tokens)
        if wanted not in self._settled:
            async with self._connected() as client:
                self._settled[wanted] = await client.resolve(spec, temperature, max_tokens)
        return self._settled[wanted]

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> tuple[ModelOutput, ModelCall]:
        """Ask once. What went wrong is the output's `error`; its metadata has all that is known of the call."""
        del tool_choice  # always auto, as in `aib run`
        limit = config.max_tokens or 1024
        model = await self.settled(configured(self.spec, config), 1.0, limit)
        schema = config.response_schema
        wanted = json.dumps(schema.json_schema.model_dump(exclude_none=True), ensure_ascii=False) if schema else ""
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
            metadata={KEY: {"sent": sent_hash(request.messages, request.tools), "outcome": kept(outcome)}},
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
        """A client that is open while it is used: a provider is not told when an evaluation has ended."""
        if self._client is None:
            endpoint = self.roster.endpoint(self.spec.endpoint)
            if endpoint.ours or endpoint.name == PYTHON or not endpoint.url:
                raise SubjectError(f"{self.spec.endpoint}: models is not called by Inspect; `aib run` plays it")
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
            raise SubjectError(f"{spec.model}: there is no effort {effort}; one of {', '.join(Reasoning)}")
        spec = replace(spec, reasoning=effort)
    return spec


def _choice(completion: Completion, model: str) -> ChatCompletionChoice:
    thoughts = [ContentReasoning(reasoning=completion.reasoning)] if completion.reasoning else []
    calls = [CalledTool(call.id, call.name, arguments_of(call)) for call in completion.tool_calls]
    content = [*thoughts, ContentText(text=completion.content)] if thoughts else completion.content
    message = ChatMessageAssistant(content=content, tool_calls=calls or None, model=model, source="generate")
    return ChatCompletionChoice(message=message, stop_reason=_ENDS.get(completion.finish_reason or "", "stop"))
