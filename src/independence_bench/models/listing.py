"""What an endpoint's lists say: its models with their prices and abilities, and who serves one of them.

Lists are foreign: nothing in them is trusted to have the right type. Knows no HTTP.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from independence_bench.hashing import content_hash
from independence_bench.models.response import dig
from independence_bench.models.spec import Reasoning


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What an endpoint's list says about a model; prices in dollars a token, None where it says nothing."""

    id: str
    prompt_price: float | None = None
    completion_price: float | None = None
    request_price: float = 0.0
    parameters: frozenset[str] | None = None  # those that it supports
    efforts: tuple[Reasoning, ...] | None = None  # that it takes, where the list says so; OFF is none of them
    always_reasons: bool = False  # it cannot be told not to
    identity: str = ""  # what a local server says about the weights behind the name

    def most(self, prompt_tokens: float, completion_tokens: float) -> float | None:
        """Dollars of a call with so many tokens; None where the prices are not known."""
        if self.prompt_price is None or self.completion_price is None:
            return None
        return self.request_price + prompt_tokens * self.prompt_price + completion_tokens * self.completion_price


def read_models(value: Any) -> list[ModelInfo]:
    """The models of an answer of /models; what makes no sense in it is left out."""
    return [
        ModelInfo(
            id=entry["id"],
            prompt_price=_price(dig(entry, "pricing", "prompt")),
            completion_price=_price(dig(entry, "pricing", "completion")),
            request_price=_price(dig(entry, "pricing", "request")) or 0.0,
            parameters=frozenset(p for p in supported if isinstance(p, str)) if isinstance(supported, list) else None,
            # those that we know, the lowest first
            efforts=tuple(effort for effort in Reasoning if effort.value in efforts)
            if isinstance(efforts, list)
            else None,
            always_reasons=dig(entry, "reasoning", "mandatory") is True,
            identity=_identity(entry),
        )
        for entry in _entries(dig(value, "data"))
        if isinstance(entry.get("id"), str)
        for supported, efforts in [(entry.get("supported_parameters"), dig(entry, "reasoning", "supported_efforts"))]
    ]


def _entries(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _identity(entry: dict[str, Any]) -> str:
    """What an entry of a local server's list says about the weights themselves; "" where it is only a name.

    llama.cpp: `meta` (parameters, size, vocabulary); vLLM: `root`; a digest where a server gives one. Not
    `created`, which some servers fill with the time of the question.
    """
    said = {name: entry[name] for name in ("meta", "root", "digest") if entry.get(name)}
    if isinstance(said.get("meta"), dict):
        said["meta"] = {name: value for name, value in said["meta"].items() if name != "n_ctx"}
    try:
        return content_hash(said)[:16] if said else ""
    except (TypeError, ValueError, RecursionError):
        return ""


def read_providers(value: Any) -> dict[str, str]:
    """Provider tag (slug) -> display name of one model."""
    return {
        entry["tag"]: entry["provider_name"]
        for entry in _entries(dig(value, "data", "endpoints"))
        if isinstance(entry.get("tag"), str) and isinstance(entry.get("provider_name"), str)
    }


def _price(value: Any) -> float | None:
    try:
        price = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return price if 0 <= price < 1e6 else None  # -1 stands for "it depends"; NaN fails both
