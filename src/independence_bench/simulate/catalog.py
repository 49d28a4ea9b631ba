"""What the endpoint offers: model ids, prices, supported parameters and providers, as OpenRouter lists them.

Knows the characters by name. Pure values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from independence_bench.simulate.characters import CHARACTERS, PERSONAS, Character, of_family
from independence_bench.simulate.judge import EXAMINEES
from independence_bench.simulate.organisms import ORGANISMS, find_organism
from independence_bench.simulate.wire import Price, Prices

AUTHOR = "sim"
KIN = "kin"  # a second vendor, of some of the same characters and of a judge that favours them

# the same judge, made to answer in JSON in each of the three ways; and those who know the exam's answers
JUDGES: Mapping[str, tuple[str, ...]] = {
    "judge": ("response_format", "structured_outputs"),
    "judge-object": ("response_format",),
    "judge-plain": (),
    **dict.fromkeys(("judge-3", "judge-lenient", "judge-noisy"), ("response_format", "structured_outputs")),
    **dict.fromkeys(EXAMINEES, ("response_format", "structured_outputs")),
}
ERRORS: Mapping[str, float] = {"judge-3": 0.03}  # share of the levels that a judge gives wrongly
MIXED_WITH = ("rock", "alternator", "credulous")
SELVES = 8  # reasonable ones that are listed
PROVIDERS: Mapping[str, str] = {"sim-one": "Sim One", "sim-two/int4": "Sim Two"}  # tag -> display name

_SAMPLING = ("max_tokens", "temperature", "top_p", "seed", "stop")
_TALKING = ("tools", "tool_choice", "reasoning", "include_reasoning")


def is_judge(model: str) -> bool:
    """Whether *model* is one of the judges."""
    author, _, name = model.partition("/")
    return (author == AUTHOR and name in JUDGES) or model == f"{KIN}/judge"


def character_of(model: str) -> Character | None:
    """Who answers as *model*; None for judges and unknown ones."""
    author, _, name = model.partition("/")
    if author == KIN and name in CHARACTERS:
        return of_family(find_organism(name) or CHARACTERS[name])
    return (PERSONAS.get(name) or find_organism(name)) if author == AUTHOR else None


def knows(model: str) -> bool:
    """Whether there is a model of that id."""
    return is_judge(model) or character_of(model) is not None


def subjects() -> tuple[str, ...]:
    """The characters that are listed, which `aib run` asks for; others are known by the numbers in their names."""
    mixtures = (f"mix-bayesian-{share}-{other}" for other in MIXED_WITH for share in range(10, 100, 10))
    reasonable = (f"reasonable-{number}" for number in range(1, SELVES + 1))
    every = (*CHARACTERS, *ORGANISMS, "slow-caver-4", "slow-caver-5", *reasonable, *mixtures, *PERSONAS)
    return tuple(dict.fromkeys(every))


def price_of(model: str, prices: Prices) -> Price:
    """Dollars a token of *model*."""
    return prices.judge if is_judge(model) else prices.subject


def models(prices: Prices) -> dict[str, Any]:
    """The answer of /models."""
    ids = [f"{AUTHOR}/{name}" for name in (*subjects(), *JUDGES)] + [f"{KIN}/{name}" for name in (*CHARACTERS, "judge")]
    return {"data": [_entry(model, prices) for model in ids]}


def endpoints(model: str, prices: Prices) -> dict[str, Any]:
    """The answer of /models/{author}/{slug}/endpoints."""
    entry = _entry(model, prices)
    served = [
        {key: entry[key] for key in ("context_length", "pricing", "supported_parameters") if key in entry}
        | {"name": f"{name} | {model}", "provider_name": name, "tag": tag}
        for tag, name in PROVIDERS.items()
    ]
    return {"data": {"id": model, "name": entry["name"], "endpoints": served}}


def provider_for(pin: str | None) -> str | None:
    """The display name of who serves a request with that *pin*; None where no provider fits it."""
    if pin is None:
        return next(iter(PROVIDERS.values()))
    fitting = [name for tag, name in PROVIDERS.items() if pin in (tag, tag.split("/")[0])]
    return fitting[0] if fitting else None


def _entry(model: str, prices: Prices) -> dict[str, Any]:
    _, _, name = model.partition("/")
    entry: dict[str, Any] = {
        "id": model,
        "name": f"Simulated: {model.removeprefix(f'{AUTHOR}/')}",
        "created": 1767225600,
        "context_length": 128_000,
        "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
        "supported_parameters": [*_SAMPLING, *JUDGES.get(name, _TALKING)],
        "top_provider": {"context_length": 128_000, "max_completion_tokens": None, "is_moderated": False},
    }
    if prices.listed:
        price, free = price_of(model, prices), {"request": "0", "image": "0", "internal_reasoning": "0"}
        entry["pricing"] = {"prompt": f"{price.prompt:.12f}", "completion": f"{price.completion:.12f}", **free}
    return entry
