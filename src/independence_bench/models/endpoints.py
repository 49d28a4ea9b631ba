"""Endpoints: models.yaml, the user's and the shipped one, checked, and all in which one server
differs from another.

A dialect says under which paths an endpoint is asked, and by which headers and fields. A new one is
a class here, its line in `DIALECTS` and its name in `DialectName`. Knows no HTTP and no address.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import Field

from independence_bench.errors import SubjectError, WrongUse
from independence_bench.lookup import suggest_names
from independence_bench.models.abilities import EVERYTHING, FORMS, Abilities, Part
from independence_bench.models.messages import ChatRequest, Tool, estimate_tokens
from independence_bench.models.spec import (
    BUILT_IN,
    GGUF,
    OWN_TEMPERATURE,
    PYTHON,
    TITLED,
    ChatModel,
    Endpoint,
    ModelSpec,
    Reasoning,
    Roster,
)
from independence_bench.models.trust import BASE_URL, REFERER, TITLE, check_url
from independence_bench.yaml_io import (
    Effort,
    OneLine,
    Strict,
    read_text_file,
    read_yaml,
    read_yaml_mapping,
)

SHIPPED = Path(__file__).with_name("models.yaml")
FREE = ":free"  # ends the name of the same model at another price
Share = Annotated[float, Field(gt=0, le=100)]


class EndpointFile(Strict):
    """An endpoint of the user's own: any server that speaks chat completions.

    One with the name of a built-in one moves that, and keeps its key and dialect unless it says
    others.
    """

    url: OneLine
    key_env: OneLine | None = Field(
        None, description="environment variable with the API key, if it wants one"
    )
    dialect: DialectName = "local"
    at_once: int | None = Field(None, ge=1, description="most calls in flight that it can serve")
    free: bool = False
    referer: OneLine | None = Field(
        None, description="address of your application, sent as HTTP-Referer"
    )
    title: OneLine | None = Field(None, description="name of your application, sent as X-Title")


class SubjectFile(Strict):
    """A model to test, with the settings that are not the protocol's."""

    model: OneLine
    endpoint: OneLine = "openrouter"
    temperature: float | None = Field(None, ge=0, le=2)
    max_tokens: int | None = Field(None, ge=1, le=1_000_000)
    reasoning: Effort | None = Field(None, description="default: off, where the model can be")
    provider: OneLine | None = Field(None, description="provider slug; only it may serve the model")
    accept_cut_off: bool = Field(
        False, description="take replies cut off by the token limit as they are"
    )
    active: bool = Field(True, description="whether `aib run` without models plays it")
    exclude: OneLine | None = Field(
        None, description="why it is excluded from every ranking; it stays listed, with this reason"
    )
    notes: str = ""
    verbosity: list[Share] | None = Field(
        None,
        min_length=2,
        max_length=2,
        description="in the list that ships, for estimates: tokens of its replies, with thoughts "
        "and without, as "
        "shares of what is typical",
    )


class ModelsFile(Strict):
    """models.yaml"""

    endpoints: dict[str, EndpointFile] = Field(default_factory=dict)
    subjects: list[SubjectFile] = Field(default_factory=list)


class OriginalSubject(Strict):
    """A model in the layout of the original's models.yaml."""

    model_id: OneLine
    temperature: float | None = Field(None, ge=0, le=2)
    reasoning_effort: Effort | None = None
    active: bool = True
    # here the endpoint's list says it
    temperature_supported: bool = True
    provider: OneLine | None = None
    display_label: OneLine | None = None

    def convert_subject(self) -> SubjectFile:
        """Return this entry of the original system's models.yaml as an entry of our own
        models.yaml: an id that begins with ``local/`` is at the endpoint ``local``, any other at
        OpenRouter.
        """
        before, slash, after = self.model_id.partition("/")
        local = slash and before == "local"
        return SubjectFile(
            model=after if local else self.model_id,
            endpoint="local" if local else "openrouter",
            temperature=self.temperature,
            reasoning=self.reasoning_effort,
            provider=self.provider,
            active=self.active,
        )


class OriginalFile(Strict):
    """models.yaml, in the layout of the original."""

    models: list[OriginalSubject]


# it stands before a colon in what is typed, between commas in --models, and in every label
_ENDPOINT_NAME = re.compile(r"\w[\w.-]{0,63}")


def read_models_file(path: Path) -> Roster:
    """Return the endpoints and models that the models.yaml at *path* lists. Raises SubjectError,
    which names the file, the key and what to do, if the file cannot be read or is wrong.
    """
    try:
        text = read_text_file(path)
    except WrongUse as error:
        hint = "" if str(error).endswith("?") else "; --models-file names another"
        raise SubjectError(f"{error}{hint}") from error
    return parse_models_file(text, str(path))


@lru_cache
def load_shipped_subjects() -> tuple[ModelSpec, ...]:
    """Return the models of the models.yaml that ships with the package (docs/choose-a-model.md);
    none of their settings counts as asked for by the user. The file is read once.
    """
    return tuple(replace(spec, asked_for=frozenset()) for spec in read_models_file(SHIPPED).specs)


@lru_cache(maxsize=1024)  # asked for each scenario of a plan
def find_relative_reply_tokens(subject: ChatModel) -> tuple[float, float] | None:
    """Return how many tokens the replies of *subject* took in published runs, as shares of a
    typical model's: (with thoughts, without thoughts). None if that is not known.

    Looked up among the shipped models by id, endpoint and whether the model may reason.
    """
    name = subject.model.removesuffix(FREE)
    for spec in load_shipped_subjects():
        thinking = spec.reasoning not in (None, Reasoning.OFF)
        same = spec.model.removesuffix(FREE) == name and spec.endpoint == subject.endpoint
        if spec.verbosity and same and thinking == subject.may_think:
            return spec.verbosity
    return None


def parse_models_file(text: str, where: str) -> Roster:
    """Return the endpoints and models in *text*, a models.yaml in our own or the original system's
    layout; *where* names the file in errors. Raises SubjectError if anything in *text* is wrong.
    """

    def make_error(key: str, problem: str) -> SubjectError:
        return SubjectError(f"{where}{f', {key}' if key else ''}: {problem}")

    keys = read_yaml_mapping(text, make_error, aliases=False).keys()
    if "models" in keys and not keys & {"subjects", "endpoints"}:
        raw = _convert_original(
            read_yaml(text, OriginalFile, make_error, aliases=False), make_error
        )
    else:
        raw = read_yaml(text, ModelsFile, make_error, aliases=False)
    endpoints = dict(BUILT_IN)
    for name, endpoint in raw.endpoints.items():
        if name in (GGUF, PYTHON) or not _ENDPOINT_NAME.fullmatch(name):
            shown = (name if name.isprintable() else ascii(name))[:80]
            raise SubjectError(
                f"{where}, endpoints.{shown}: choose another name (a word that is not built in)"
            )
        here = f"{where}, endpoints.{name}"
        url = _check_value(f"{here}.url", check_url, endpoint.url)
        referer = (
            _check_value(f"{here}.referer", check_url, endpoint.referer)
            if endpoint.referer
            else None
        )
        title = _check_value(f"{here}.title", _check_header, endpoint.title or TITLED)
        stated = endpoint.model_fields_set - {"url", "referer", "title"}
        if name == "openrouter" and stated:
            raise SubjectError(
                f"{where}, endpoints.openrouter.{min(stated)}: only its url, referer and title "
                "can be others"
            )
        moved = BUILT_IN.get(name)
        dialect = endpoint.dialect if moved is None or "dialect" in stated else moved.dialect
        key = endpoint.key_env if moved is None or "key_env" in stated else moved.key_variable
        endpoints[name] = Endpoint(
            name, url, dialect, key, endpoint.at_once, endpoint.free, referer=referer, title=title
        )
    specs = []
    for number, subject in enumerate(raw.subjects):
        if subject.endpoint not in endpoints:
            raise SubjectError(
                f"{where}, subjects.{number}.endpoint: there is no endpoint called "
                f"{subject.endpoint}; {suggest_names(subject.endpoint, endpoints, 'known:')}"
            )
        if subject.endpoint == PYTHON:  # a folder from a stranger must not choose what is run here
            raise SubjectError(
                f"{where}, subjects.{number}.endpoint: a Python function is named on the command "
                "line only: `aib run python:MODULE:FUNCTION`"
            )
        verbosity = (
            None if subject.verbosity is None else (subject.verbosity[0], subject.verbosity[1])
        )
        said = {"temperature": subject.temperature, "effort": subject.reasoning}
        specs.append(
            ModelSpec(
                **subject.model_dump(exclude={"notes", "verbosity"}),
                verbosity=verbosity,
                asked_for=frozenset(name for name, value in said.items() if value is not None),
            )
        )
    return Roster(endpoints, tuple(specs))


def _convert_original(file: OriginalFile, wrong: Callable[[str, str], SubjectError]) -> ModelsFile:
    """Return *file*, a models.yaml in the original system's layout, in our own. Raises the error
    that *wrong* makes if a model has a display_label, which would be lost.
    """
    labelled = [n for n, one in enumerate(file.models) if one.display_label is not None]
    if labelled:
        count = len(labelled)
        lines = f"{count} lines" if count > 1 else "line"
        raise wrong(
            f"models.{labelled[0]}.display_label",
            "labels are made of a model's settings here, so that they always say them: delete the "
            f"{lines} with display_label",
        )
    return ModelsFile(subjects=[one.convert_subject() for one in file.models])


def apply_openrouter_variables(variables: Mapping[str, str], roster: Roster) -> Roster:
    """Return *roster* with the endpoint ``openrouter`` changed as the environment *variables* say:
    its address (OPENROUTER_BASE_URL), and the application's address and name that are sent along
    (OPENROUTER_HTTP_REFERER, OPENROUTER_TITLE). A variable that is not set changes nothing.

    Raises SubjectError if one of the values is wrong.
    """
    changes = {
        name: _check_value(variable, check, value)
        for name, (variable, check) in _OF_OPENROUTER.items()
        if (value := variables.get(variable, "").strip())
    }
    moved = replace(roster.endpoints["openrouter"], **changes)  # type: ignore[arg-type]
    return replace(roster, endpoints={**roster.endpoints, "openrouter": moved})


def _check_header(text: str) -> str:
    """Return *text* if it can be sent as an HTTP header. Raises SubjectError unless it is printable
    ASCII.
    """
    if not (text.isascii() and text.isprintable()):
        raise SubjectError(
            f"{ascii(text)[:80]} cannot be sent as a header; write it in ASCII letters"
        )
    return text


_OF_OPENROUTER = {
    "url": (BASE_URL, check_url),
    "referer": (REFERER, check_url),
    "title": (TITLE, _check_header),
}


def _check_value(where: str, check: Callable[[str], str], value: str) -> str:
    """Return what *check* makes of *value*. If *check* raises SubjectError, raises it with *where*,
    the key or variable that has the value, before its message.
    """
    try:
        return check(value)
    except SubjectError as error:
        raise SubjectError(f"{where}: {error}") from error


# tokens: most caches keep nothing shorter. Where a model's own minimum is higher, a mark does
# nothing and costs nothing
LEAST_CACHED = 1024


class Dialect:
    """Chat completions as most servers speak them; a subclass overrides what its servers do
    differently.
    """

    completions_path = "/chat/completions"
    models_path = "/models"
    limit_fields: tuple[str, str] = ("max_tokens", "max_completion_tokens")  # its own first
    carriers: tuple[Part, ...] = (Part.EFFORT,)  # the parts that say how much to think
    needs_key = True
    pins_providers = False  # whether a request can say which provider serves the model
    lists_abilities = False  # whether the list of models says what a model cannot do
    # whether it is a server that runs models itself, on the machine where it is
    runs_models = False
    # whether replies are asked for in pieces, so that silence means trouble and not work
    streams = False
    identifies_weights = False  # whether the list of models says which weights are behind a name

    def make_login_headers(self, key: str | None) -> dict[str, str]:
        """Return the HTTP headers that log a request in with the API *key*, a bearer token; {}
        without a key.
        """
        return {"Authorization": f"Bearer {key}"} if key else {}

    def build_body(
        self, request: ChatRequest, max_tokens: int, abilities: Abilities = EVERYTHING
    ) -> dict[str, Any]:
        """Return the chat completion request to send, as a JSON object: *request* with *max_tokens*
        as the limit of this attempt, without the parts that *abilities* say the model refuses.

        The temperature is sent whatever the abilities say: a model that takes none has None.
        """
        model = request.model
        body: dict[str, Any] = {
            "model": model.model,
            "messages": _build_messages(self, request, abilities),
        }
        if model.temperature is not None:
            body["temperature"] = model.temperature
        body[self.limit_fields[not abilities.can_send(Part.LIMIT)]] = max_tokens
        if request.tools:
            body["tools"] = [tool.format_tool() for tool in request.tools]
            if abilities.can_send(Part.TOOL_CHOICE):
                body["tool_choice"] = "auto"
        if request.schema and (form := make_response_format(request.schema, abilities)):
            body["response_format"] = form
        if self.streams and abilities.can_send(Part.STREAM):
            body["stream"] = True
            if abilities.can_send(Part.STREAM_USAGE):
                body["stream_options"] = {"include_usage": True}
        if model.reasoning is not Reasoning.UNSET:
            body |= self.make_effort_fields(model, abilities)
        return body | self.make_routing_fields(model)

    def encode_body(
        self, request: ChatRequest, max_tokens: int, abilities: Abilities = EVERYTHING
    ) -> bytes:
        """Return the chat completion request to send, as JSON bytes: *request* with *max_tokens* as
        the limit of this attempt, without the parts that *abilities* say the model refuses.
        """
        rest = _encode_body_rest(
            self, request.model, request.tools, request.schema, max_tokens, abilities
        )
        plain = abilities.can_send(Part.SYSTEM) and self.find_last_cached_message(request) is None
        messages = (
            request.encoded
            if plain
            else json.dumps(_build_messages(self, request, abilities), ensure_ascii=False)
        )
        return f'{{"messages":{messages},{rest}'.encode("utf-8", "backslashreplace")

    def list_sent_parts(self, request: ChatRequest, abilities: Abilities) -> frozenset[Part]:
        """Return those parts of *request*, as it is sent to a model of these *abilities*, that an
        endpoint may refuse.
        """
        body = self.build_body(request, 1, abilities)
        parts = {part for part, field in _FIELDS.items() if field in body}
        if "reasoning_effort" in body or "reasoning" in body:
            parts.add(Part.EFFORT)
        if body.get("temperature", OWN_TEMPERATURE) != OWN_TEMPERATURE:
            parts.add(Part.OTHER_TEMPERATURE)
        if self.limit_fields[0] in body:
            parts.add(Part.LIMIT)
        if body["messages"][0]["role"] == "system":
            parts.add(Part.SYSTEM)
        if (form := body.get("response_format")) is not None:
            parts.add(Part.SCHEMA if form["type"] == "json_schema" else Part.JSON_OBJECT)
            if abilities.can_send(Part.SCHEMA_LIMITS) and json.dumps(form) != json.dumps(
                make_response_format(request.schema, Abilities(frozenset({Part.SCHEMA_LIMITS})))
            ):
                parts.add(Part.SCHEMA_LIMITS)
        return frozenset(parts)

    def mark_cached_part(
        self, request: ChatRequest, sent: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Return *sent*, the messages of *request* as JSON objects, with a cache mark on the
        message up to which a cache must be told to keep the prompt. Changes *sent*; leaves it alone
        if no message needs the mark.
        """
        if (mark := self.find_last_cached_message(request)) is not None:
            part = {
                "type": "text",
                "text": sent[mark]["content"],
                "cache_control": {"type": "ephemeral"},
            }
            sent[mark] |= {"content": [part]}
        return sent

    def find_last_cached_message(self, request: ChatRequest) -> int | None:
        """Return the index of the message in *request* up to which a cache must be told to keep the
        prompt; None if no message needs such a mark. Always None unless a kind of endpoint
        overrides this.
        """
        del request
        return None

    def count_cacheable_tokens(self, request: ChatRequest, repeated: float) -> float:
        """Count the prompt tokens of *request* that an endpoint's cache may hold, if the first
        *repeated* tokens were sent before in another request: all of these, or 0 if they are fewer
        than `LEAST_CACHED`.
        """
        del request
        return repeated if repeated >= LEAST_CACHED else 0.0

    def make_effort_fields(self, model: ChatModel, abilities: Abilities) -> dict[str, Any]:
        """Return the request fields that tell *model* how much to reason; {} if *abilities* say
        that the model refuses them. Off is sent, too: without a field, the provider's default
        counts.
        """
        return {"reasoning_effort": model.effort} if abilities.can_send(Part.EFFORT) else {}

    def make_routing_fields(self, model: ChatModel) -> dict[str, Any]:
        """Return the request fields that say which provider serves *model*; {}, unless a kind of
        endpoint overrides this.
        """
        del model
        return {}

    def list_unsupported_json_parts(self, parameters: frozenset[str] | None) -> frozenset[Part]:
        """Return the parts of a request for an answer in JSON that a model does not support, by
        *parameters*, the parameters that the endpoint lists for the model; none if *parameters* is
        None (no list).
        """
        if parameters is None or "structured_outputs" in parameters:
            return frozenset()
        return frozenset(FORMS[:2] if "response_format" in parameters else FORMS)

    def find_listed_id(self, model: str) -> str:
        """Return the id under which the endpoint's list of models has *model*: *model* itself,
        unless a kind of endpoint overrides this.
        """
        return model

    def make_providers_path(self, model: str) -> str | None:
        """Return the URL path at which the endpoint lists the providers of *model*; None if it
        lists none. Always None unless a kind of endpoint overrides this.
        """
        del model
        return None


class OpenRouter(Dialect):
    """A router to many providers, which lists prices and abilities, and can be told which provider
    serves.
    """

    pins_providers = lists_abilities = True
    # whose caches keep, for five minutes after each use, what is marked; others need no mark
    TOLD = "anthropic/"
    # ways to a model that the list need not name
    ROUTES = (":nitro", ":floor", ":online", ":exacto")

    def make_effort_fields(self, model: ChatModel, abilities: Abilities) -> dict[str, Any]:
        """Return the request field that tells *model* how much to reason, in OpenRouter's form; {}
        if *abilities* say that the model refuses the field.
        """
        return {"reasoning": {"effort": model.effort}} if abilities.can_send(Part.EFFORT) else {}

    def make_routing_fields(self, model: ChatModel) -> dict[str, Any]:
        """Return the request field that lets only the provider to which *model* is pinned serve it,
        without fallbacks; {} if the model has no pinned provider.
        """
        if not model.provider:
            return {}
        return {"provider": {"only": [model.provider], "allow_fallbacks": False}}

    def find_last_cached_message(self, request: ChatRequest) -> int | None:
        """Return the index of the message in *request* up to which the cache is told to keep the
        prompt: the last message with text, but no tool result, among the first messages that other
        requests share. None unless the model is Anthropic's and the shared messages have at least
        `LEAST_CACHED` tokens.

        Writing to the cache costs a quarter more than sending, reading a tenth: it pays from the
        second request on.
        """
        if (
            not request.model.model.startswith(self.TOLD)
            or self._estimate_shared_tokens(request) < LEAST_CACHED
        ):
            return None
        texts = [
            at
            for at, message in enumerate(request.messages[: request.shared])
            if message.content and message.role != "tool"
        ]
        return texts[-1] if texts else None

    def count_cacheable_tokens(self, request: ChatRequest, repeated: float) -> float:
        """Count the prompt tokens of *request* that a provider's cache may hold, if the first
        *repeated* tokens were sent before in another request; of an Anthropic model, no more than
        the part that is marked for the cache. 0 if they are fewer than `LEAST_CACHED`.
        """
        if request.model.model.startswith(self.TOLD):
            repeated = (
                0.0
                if self.find_last_cached_message(request) is None
                else min(repeated, self._estimate_shared_tokens(request))
            )
        return super().count_cacheable_tokens(request, repeated)

    @staticmethod
    def _estimate_shared_tokens(request: ChatRequest) -> float:
        """Estimate the tokens of the first messages of *request* that other requests begin with,
        too.
        """
        return sum(
            estimate_tokens(message.content or "") for message in request.messages[: request.shared]
        )

    def find_listed_id(self, model: str) -> str:
        """Return the id under which OpenRouter lists *model*: without a route such as
        ``:nitro``.
        """
        base, _, route = model.rpartition(":")
        return base if f":{route}" in self.ROUTES else model

    def make_providers_path(self, model: str) -> str:
        """Return the URL path at which OpenRouter lists the providers of *model*."""
        return f"/models/{quote(model, safe='/:')}/endpoints"


class OpenAI(Dialect):
    """OpenAI's own endpoint."""

    limit_fields = ("max_completion_tokens", "max_tokens")
    # the older families refuse the parameter; everything newer thinks unless told otherwise
    WITHOUT_REASONING = re.compile(r"^(gpt-3|gpt-4|chatgpt-)")

    def make_effort_fields(self, model: ChatModel, abilities: Abilities) -> dict[str, Any]:
        """Return the request field that tells *model* how much to reason; {} for OpenAI's older
        families, which refuse it (gpt-3, gpt-4, chatgpt), and if *abilities* say so.
        """
        if self.WITHOUT_REASONING.match(model.model):
            return {}
        return super().make_effort_fields(model, abilities)


class Local(Dialect):
    """A server of the user's own: llama.cpp, vLLM, Ollama, LM Studio."""

    needs_key = False
    runs_models = identifies_weights = streams = True
    carriers = (Part.EFFORT, Part.SWITCH)

    def make_effort_fields(self, model: ChatModel, abilities: Abilities) -> dict[str, Any]:
        """Return the request fields that tell *model*, on a server of the user's own, how much to
        reason: the chat template's switch for llama.cpp and vLLM, and the effort for Ollama and LM
        Studio; each unless *abilities* say that the model refuses it.
        """
        switch = {"enable_thinking": model.reasoning is not Reasoning.OFF}
        said = super().make_effort_fields(model, abilities)
        return said | ({"chat_template_kwargs": switch} if abilities.can_send(Part.SWITCH) else {})


DialectName = Literal["openrouter", "openai", "local"]
DIALECTS: Mapping[str, Dialect] = {"openrouter": OpenRouter(), "openai": OpenAI(), "local": Local()}


# the field of a request that each part is
_FIELDS: Mapping[Part, str] = {
    Part.TEMPERATURE: "temperature",
    Part.SWITCH: "chat_template_kwargs",
    Part.STREAM: "stream",
    Part.STREAM_USAGE: "stream_options",
    Part.TOOL_CHOICE: "tool_choice",
}


def make_response_format(schema: str, abilities: Abilities) -> dict[str, Any] | None:
    """Return the request field that asks for an answer in JSON after *schema* (JSON Schema text),
    as strictly as the model's *abilities* allow; None if no such field may be sent, so that only
    the prompt asks for JSON.
    """
    if not abilities.can_send(Part.SCHEMA):
        return {"type": "json_object"} if abilities.can_send(Part.JSON_OBJECT) else None
    wanted = json.loads(schema)
    if not abilities.can_send(Part.SCHEMA_LIMITS):
        for value in wanted.get("properties", {}).values():
            value.pop("minimum", None)
            value.pop("maximum", None)
    return {
        "type": "json_schema",
        "json_schema": {"name": "marks", "strict": True, "schema": wanted},
    }


def _build_messages(
    dialect: Dialect, request: ChatRequest, abilities: Abilities
) -> list[dict[str, Any]]:
    """Return the messages of *request* as the JSON objects that *dialect* sends. If the model's
    *abilities* rule out the system role, the system prompt stands before the text of the first user
    message.
    """
    sent = [message.format_message() for message in request.messages]
    if abilities.can_send(Part.SYSTEM) or not sent or sent[0]["role"] != "system":
        return dialect.mark_cached_part(request, sent)
    system, *rest = sent
    if rest and rest[0]["role"] == "user":
        return [rest[0] | {"content": f"{system['content']}\n\n{rest[0]['content']}"}, *rest[1:]]
    return [system | {"role": "user"}, *rest]


# a subject is asked thousands of times with the same tools and settings: what is encoded here is
# encoded once
@lru_cache(maxsize=256)
def _encode_body_rest(
    dialect: Dialect,
    model: ChatModel,
    tools: tuple[Tool, ...],
    schema: str,
    max_tokens: int,
    abilities: Abilities,
) -> str:
    """Return the JSON text of a chat completion request from the key behind its messages to the
    closing brace. Cached, because thousands of requests differ in their messages alone.
    """
    body = dialect.build_body(ChatRequest(model, (), tools, schema), max_tokens, abilities)
    del body["messages"]
    return json.dumps(body, ensure_ascii=False)[1:]
