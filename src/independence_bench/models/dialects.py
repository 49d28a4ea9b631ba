"""The dialects of endpoints: all in which one server of chat completions differs from another.

A dialect says under which paths an endpoint is asked, and by which headers and fields. A new one is a class here, its
line in `DIALECTS` and its name in `DialectName`. Knows no HTTP and no address.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import quote

from independence_bench.models.messages import ChatRequest, Structure, Tool
from independence_bench.models.spec import ChatModel, Reasoning


class Dialect:
    """Chat completions as most servers speak them; a dialect overrides what it says in another way."""

    completions_path = "/chat/completions"
    models_path = "/models"
    limit_field = "max_tokens"
    needs_key = True
    pins_providers = False  # whether a request can say which provider serves the model
    lists_abilities = False  # whether the list of models says what a model cannot do
    runs_models = False  # whether it is a server that runs models itself, on the machine where it is
    streams = False  # whether replies are asked for in pieces, so that silence means trouble and not work
    identifies_weights = False  # whether the list of models says which weights are behind a name

    def login(self, key: str | None) -> dict[str, str]:
        """The headers of a request that show *key*; none without one."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, request: ChatRequest, max_tokens: int, structure: Structure = Structure.SCHEMA) -> dict[str, Any]:
        """What to send, with *max_tokens* as the limit of this attempt."""
        model = request.model
        body: dict[str, Any] = {
            "model": model.model,
            "messages": [message.wire() for message in request.messages],
            "temperature": model.temperature,
            self.limit_field: max_tokens,
        }
        if request.tools:
            body["tools"] = [tool.wire() for tool in request.tools]
            body["tool_choice"] = "auto"
        if request.schema and structure is Structure.SCHEMA:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "marks", "strict": True, "schema": json.loads(request.schema)},
            }
        elif request.schema and structure is Structure.OBJECT:
            body["response_format"] = {"type": "json_object"}
        if self.streams:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body | self.settings(model)

    def encoded(self, request: ChatRequest, max_tokens: int, structure: Structure = Structure.SCHEMA) -> bytes:
        """`body` as JSON."""
        rest = _around_messages(self, request.model, request.tools, request.schema, max_tokens, structure)
        return f'{{"messages":{request.encoded},{rest}'.encode("utf-8", "backslashreplace")

    def settings(self, model: ChatModel) -> dict[str, Any]:
        """The fields for reasoning and for what else only this dialect has. Off is always said: left out, it means the
        provider's default."""
        return {"reasoning_effort": effort(model)}

    def structure(self, parameters: frozenset[str] | None) -> Structure:
        """How a model with these *parameters* is made to answer in JSON; None: the endpoint does not list them."""
        if parameters is None or "structured_outputs" in parameters:
            return Structure.SCHEMA
        return Structure.OBJECT if "response_format" in parameters else Structure.PROMPT

    def listed_id(self, model: str) -> str:
        """The id under which the list of models has *model*."""
        return model

    def providers_path(self, model: str) -> str | None:
        """Where the endpoint says who serves *model*; None: it does not say."""
        del model
        return None


class OpenRouter(Dialect):
    """A router to many providers, which lists prices and abilities, and can be told which provider serves."""

    pins_providers = lists_abilities = True
    ROUTES = (":nitro", ":floor", ":online", ":exacto")  # ways to a model that the list need not name

    def settings(self, model: ChatModel) -> dict[str, Any]:
        """Reasoning, and the pin of a provider."""
        pin = {"provider": {"only": [model.provider], "allow_fallbacks": False}} if model.provider else {}
        return {"reasoning": {"effort": effort(model)}, **pin}

    def listed_id(self, model: str) -> str:
        """The id without its route."""
        base, _, route = model.rpartition(":")
        return base if f":{route}" in self.ROUTES else model

    def providers_path(self, model: str) -> str:
        """The endpoints of one model."""
        return f"/models/{quote(model, safe='/:')}/endpoints"


class OpenAI(Dialect):
    """OpenAI's own endpoint."""

    limit_field = "max_completion_tokens"
    # the older families refuse the parameter; everything newer thinks unless told otherwise
    WITHOUT_REASONING = re.compile(r"^(gpt-3|gpt-4|chatgpt-)")

    def settings(self, model: ChatModel) -> dict[str, Any]:
        """The effort, of models that know it."""
        return {} if self.WITHOUT_REASONING.match(model.model) else super().settings(model)


class Local(Dialect):
    """A server of the user's own: llama.cpp, vLLM, Ollama, LM Studio."""

    needs_key = False
    runs_models = identifies_weights = streams = True

    def settings(self, model: ChatModel) -> dict[str, Any]:
        """Reasoning in two ways: llama.cpp and vLLM read the template's switch, Ollama and LM Studio the effort."""
        switch = {"enable_thinking": model.reasoning is not Reasoning.OFF}
        return {**super().settings(model), "chat_template_kwargs": switch}


DialectName = Literal["openrouter", "openai", "local"]
DIALECTS: Mapping[str, Dialect] = {"openrouter": OpenRouter(), "openai": OpenAI(), "local": Local()}


def effort(model: ChatModel) -> str:
    """How much *model* is to think, in the word that all dialects share."""
    return "none" if model.reasoning is Reasoning.OFF else model.reasoning.value


# a subject is asked thousands of times with the same tools and settings: what is encoded here is encoded once
@lru_cache(maxsize=256)
def _around_messages(
    dialect: Dialect, model: ChatModel, tools: tuple[Tool, ...], schema: str, max_tokens: int, structure: Structure
) -> str:
    """The body after its messages, from the next key to the closing brace."""
    body = dialect.body(ChatRequest(model, (), tools, schema), max_tokens, structure)
    del body["messages"]
    return json.dumps(body, ensure_ascii=False)[1:]
