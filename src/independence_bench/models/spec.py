"""Who is called and how: models with their settings, endpoints, labels, and what a user's name for
one leads to.

A subject and a judge are the same kind of thing, a model called in one particular way: `ChatModel`.
Knows nothing of HTTP and of files (`endpoints`), and holds no key, only the name of the environment
variable that has it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from independence_bench.columns import HIDDEN, SENT
from independence_bench.errors import SubjectError
from independence_bench.escape import check_one_line
from independence_bench.hashing import hash_content, make_slug, write_canonical_json
from independence_bench.lookup import describe_similar_names, find_similar_names, suggest_names


class Reasoning(StrEnum):
    """The amount of thinking that a model is told to do before it answers."""

    OFF = "off"
    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    UNSET = "unset"  # nothing is said of it: the model does what it does by itself


THINKING_FACTOR = 4
OWN_TEMPERATURE = 1.0  # of a model that takes no other
TITLED = "AI Independence Bench"
GGUF = "gguf"  # the endpoint whose models are files, which are run here: see `local`
SIM = "sim"  # the endpoint whose models are simulated here: see `simulate`
PYTHON = "python"  # the endpoint whose models are Python functions of the user's: see `functions`
LATEST = ":latest"  # the tag that a server such as Ollama adds to a name without one
AUTO = "auto"  # how a user asks for `Reasoning.UNSET`
UNSET = "unset"  # in a label: what could not be set, or was not to be


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A place where chat completions are asked for. Its *name* is part of every key, its address of
    none.
    """

    name: str
    url: str  # base, without a slash at the end; "" for what is served here until it is
    dialect: str  # a name in `endpoints.DIALECTS`
    key_variable: str | None = None  # environment variable that holds the API key
    at_once: int | None = None  # most calls in flight that it can serve, where that is known
    free: bool = False  # nothing that it serves costs money
    # its models run on this machine, so that calls at once share its cores; set where it is opened
    here: bool = False
    ours: bool = False  # started by us: where nothing answers any more, nothing will
    # sent as HTTP-Referer: whose application asks, for the endpoint's own statistics
    referer: str | None = None
    title: str = TITLED  # sent as X-Title, for the same


BUILT_IN: Mapping[str, Endpoint] = {
    endpoint.name: endpoint
    for endpoint in (
        Endpoint("openrouter", "https://openrouter.ai/api/v1", "openrouter", "OPENROUTER_API_KEY"),
        Endpoint("openai", "https://api.openai.com/v1", "openai", "OPENAI_API_KEY"),
        Endpoint("local", "", "local", "AIB_LOCAL_API_KEY", free=True),
        Endpoint(GGUF, "", "local", free=True, ours=True),
        Endpoint(PYTHON, "", "local", free=True, ours=True),
        Endpoint(SIM, "", "openrouter", free=True, ours=True),
    )
}


@dataclass(frozen=True, slots=True)
class ChatModel:
    """A model, and everything about the way it is called that could change what it says."""

    model: str
    endpoint: str
    temperature: float | None  # None: none is sent, the endpoint takes none
    max_tokens: int  # limit of one reply, reasoning included; 0: not known (results of others)
    reasoning: Reasoning = Reasoning.OFF
    provider: str | None = None  # pin: only this provider may serve it
    # a reply cut off by the limit is taken as it is, not asked for again
    accept_cut_off: bool = False
    identity: str = ""  # tells a local model apart beyond its name (hash of its weights, say)
    # max_tokens was chosen for this subject, so the label says it
    own_limit: Annotated[bool, HIDDEN] = False
    # it remembers more than it is shown, so no two conversations share a reply of it
    stateful: bool = False

    CAUSES_IF_SET: ClassVar[tuple[str, ...]] = ("stateful",)

    @property
    def id(self) -> Annotated[str, SENT]:
        """The model's name in web addresses, made of its label and hash alone: it does not depend
        on which other models are played.
        """
        return make_slug(self.label, self.hash)

    @property
    def vendor(self) -> Annotated[str | None, SENT]:
        """The maker of this model, in lower case; None if the model's id names none."""
        return find_vendor(self.model)

    @property
    def name(self) -> Annotated[str, SENT]:
        """The text that a user types for this model: its id, after ``ENDPOINT:`` if the endpoint is
        not OpenRouter.
        """
        return self.model if self.endpoint == "openrouter" else f"{self.endpoint}:{self.model}"

    @property
    def label(self) -> str:
        """The label of this model with its settings, ``name+provider@reasoning-tTEMP``, as in
        published tables: reasoning that is off is "none", a temperature has a decimal, and a
        setting that is not sent is "unset".

        A Python function, which is told no settings, has the label
        ``python:MODULE:FUNCTION@VERSION``.
        """
        if self.endpoint == PYTHON:
            return f"{self.name}@{self.identity}"
        pin = f"+{self.provider}" if self.provider else ""
        limit = f"-m{self.max_tokens}" if self.own_limit else ""
        number = UNSET if self.temperature is None else f"{self.temperature:g}"
        temperature = f"{number}.0" if number.isdigit() else number
        return f"{self.name}{pin}@{self.effort}-t{temperature}{limit}"

    @property
    def effort(self) -> str:
        """The effort with which this model is told to reason, as labels say it: off is "none"."""
        return "none" if self.reasoning is Reasoning.OFF else self.reasoning.value

    @property
    def hash(self) -> Annotated[str, SENT]:
        """Hash of all settings of this model that can change its replies: two models with the same
        hash are the same.
        """
        return _hash_model(self)

    def causes(self) -> dict[str, object]:
        """Return the settings of this model that can change its replies, by name, for hashes."""
        return {
            "model": self.model,
            "endpoint": self.endpoint,
            "identity": self.identity,
            "temperature": None if self.temperature is None else float(self.temperature),
            "max_tokens": self.max_tokens,
            "reasoning": self.reasoning.value,
            "provider": self.provider,
            "accept_cut_off": self.accept_cut_off,
        } | self._list_settings_added_later()

    @property
    def settings_json(self) -> str:
        """All settings of this model as JSON text, for the store; `read_chat_model` makes the model
        of them again.
        """
        known = {
            setting.name: getattr(self, setting.name)
            for setting in fields(self)
            if setting.name not in self.CAUSES_IF_SET
        }
        return write_canonical_json(known | self._list_settings_added_later())

    def _list_settings_added_later(self) -> dict[str, object]:
        """Return those settings of this model that were added in later versions and are set, by
        name.
        """
        return {name: value for name in self.CAUSES_IF_SET if (value := getattr(self, name))}

    @property
    def most_tokens(self) -> float:
        """The most tokens that one reply of this model can take, reasoning included; infinite if no
        limit is known.
        """
        return self.max_tokens or math.inf

    @property
    def is_told_to_think(self) -> bool:
        """Whether this model's settings ask it to reason before it answers."""
        return self.reasoning not in (Reasoning.OFF, Reasoning.UNSET)

    @property
    def may_think(self) -> bool:
        """Whether this model may reason before it answers: its settings do not turn reasoning
        off.
        """
        return self.reasoning is not Reasoning.OFF


SIMULATED = "sim"  # the vendor of what `aib simulate` plays, judges included


def find_vendor(model: str) -> str | None:
    """Return the maker of the model with the id *model*: what stands before its first slash, in
    lower case; None if there is none.
    """
    vendor, slash, _ = model.lower().partition("/")
    return vendor if slash and vendor else None


def read_chat_model(settings: Mapping[str, Any]) -> ChatModel:
    """Return the model with these *settings*, by name, as a store or a request has them. Raises
    TypeError, KeyError or ValueError if they describe no model.
    """
    values: dict[str, Any] = {**settings, "reasoning": Reasoning(settings["reasoning"])}
    return ChatModel(**values)


@lru_cache(maxsize=4096)
def _hash_model(model: ChatModel) -> str:
    return hash_content(model.causes())


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as it was asked for; what is None comes from the protocol."""

    model: str
    endpoint: str = "openrouter"
    temperature: float | None = None
    max_tokens: int | None = None
    # None: off, where that is possible; AUTO: as it is by itself
    reasoning: str | None = None
    provider: str | None = None
    accept_cut_off: bool = False
    active: bool = True
    exclude: str | None = None  # why it is on no ranking
    # tokens that its replies took, and without thoughts, as shares of a typical model's; None: not
    # known
    verbosity: tuple[float, float] | None = None
    # what a user said of it (temperature, effort), which is not left out without a word
    asked_for: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Raise SubjectError if the name of the provider has characters that a label cannot
        hold.
        """
        try:
            check_one_line(self.provider or "")
        except ValueError as error:
            raise SubjectError(f"the provider {self.provider!r} {error}") from None

    def matches_model(self, subject: ChatModel) -> bool:
        """Return whether *subject*, a model with its settings, may have been made of this entry:
        the model's id is the same (or the same with ``:latest``), and so is every setting that the
        entry names.
        """
        settings = {
            name: getattr(self, name) for name in ("endpoint", "provider", "accept_cut_off")
        }
        for name in ("temperature", "max_tokens", "reasoning"):
            if (wanted := getattr(self, name)) is not None:
                settings[name] = Reasoning.UNSET if wanted == AUTO else wanted
        return subject.model in (self.model, self.model + LATEST) and all(
            getattr(subject, name) == wanted for name, wanted in settings.items()
        )

    def make_model(
        self, temperature: float | None, max_tokens: int, reasoning: Reasoning, identity: str = ""
    ) -> ChatModel:
        """Return the model to call for this entry, with this *reasoning* effort and *identity* of
        its weights. The protocol's *temperature* (None: the endpoint takes none) and *max_tokens*
        count if the entry sets none.

        Reasoning counts against the token limit, so a model that may reason gets `THINKING_FACTOR`
        times the protocol's.
        """
        if reasoning is not Reasoning.OFF:
            max_tokens *= THINKING_FACTOR
        return ChatModel(
            model=self.model,
            endpoint=self.endpoint,
            temperature=temperature if self.temperature is None else self.temperature,
            max_tokens=self.max_tokens or max_tokens,
            reasoning=reasoning,
            provider=self.provider,
            accept_cut_off=self.accept_cut_off,
            identity=identity,
            own_limit=self.max_tokens is not None and self.max_tokens != max_tokens,
        )


@dataclass(frozen=True, slots=True)
class Roster:
    """The known endpoints, and the subjects that models.yaml lists."""

    endpoints: Mapping[str, Endpoint] = field(default_factory=lambda: dict(BUILT_IN))
    specs: tuple[ModelSpec, ...] = ()

    def find_endpoint(self, name: str) -> Endpoint:
        """Return the known endpoint called *name*. Raises SubjectError, which suggests names, if
        there is none.
        """
        if name not in self.endpoints:
            raise SubjectError(
                f"there is no endpoint called {name}; "
                f"{suggest_names(name, self.endpoints, 'known:')} "
                "(add your own under `endpoints:` in models.yaml)"
            )
        return self.endpoints[name]

    def move_endpoint(self, name: str, url: str) -> Roster:
        """Return a copy of this roster in which the endpoint *name* has the address *url*."""
        return replace(
            self, endpoints={**self.endpoints, name: replace(self.endpoints[name], url=url)}
        )

    def find_or_make_specs(
        self, typed: str, shipped: tuple[ModelSpec, ...] = ()
    ) -> tuple[ModelSpec, ...]:
        """Return the model entries that *typed*, a user's text for a model, means: all entries of
        models.yaml for that model, else the first of *shipped* for it (active ones before others),
        else a new plain entry. Raises SubjectError if *typed* is no model id.

        ``ENDPOINT:MODEL`` names an endpoint; a colon inside a model id (``:free``) does not. Spaces
        around the endpoint and the model do not matter.
        """
        typed = typed.strip()
        before, colon, after = (part.strip() for part in typed.partition(":"))
        endpoint, model = (
            (before, after) if colon and before in self.endpoints else ("openrouter", typed)
        )
        if not model or any(not c.isprintable() for c in model):
            raise SubjectError(f"{typed!r} is not a model id; write author/model or ENDPOINT:MODEL")
        if (
            colon
            and "/" not in before
            and ("/" in after or find_similar_names(before, self.endpoints))
        ):
            # which raises where there is none: ids of OpenRouter have a colon only at their end
            self.find_endpoint(before)
        if endpoint == "openrouter" and model.startswith(("sim/", "kin/")):
            raise SubjectError(f"{typed!r} is a simulated model; write {SIM}:{model}")
        if endpoint == "openrouter" and "/" not in model:
            names = [
                *(spec.model for spec in (*self.specs, *shipped) if spec.endpoint == endpoint),
                "embedded",
            ]
            meant = describe_similar_names(typed, names)
            raise SubjectError(
                f"{typed!r} is not an OpenRouter model "
                f"(author/model){meant or '; write ENDPOINT:MODEL, or gguf:FILE'}"
            )
        listed = tuple(
            spec for spec in self.specs if (spec.model, spec.endpoint) == (model, endpoint)
        )
        known = [spec for spec in shipped if (spec.model, spec.endpoint) == (model, endpoint)]
        known.sort(key=lambda spec: not spec.active)
        return listed or tuple(known[:1]) or (ModelSpec(model, endpoint),)
