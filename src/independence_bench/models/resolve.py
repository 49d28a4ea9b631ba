"""Who is to be called: a specification becomes a model that its endpoint offers, before anything is paid for.

Asks an endpoint for its list of models only, which costs nothing. Knows no store and no order.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

from independence_bench.errors import NotOffered, SubjectError
from independence_bench.models.client import Client
from independence_bench.models.listing import ModelInfo
from independence_bench.models.spec import AUTO, OWN_TEMPERATURE, ChatModel, ModelSpec, least, resolve_auto

NEAR = 3  # names that are suggested
SHOWN = 8  # of a short list, where nothing is near
COMPARED = 2000  # names of at most LONGEST characters: a list is foreign, and comparing is slow
LONGEST = 120


async def resolve(
    spec: ModelSpec, temperature: float, max_tokens: int, client: Client, identity: str = ""
) -> ChatModel:
    """The model to call: *spec*, the protocol's *temperature* and *max_tokens*, and what its endpoint says it can do.

    *identity* is what is known of its weights; without one, what a local server says of them.
    Raises NotOffered where the endpoint's list lacks the model, SubjectError where it cannot be called as asked for.
    """
    local = client.endpoint.dialect == "local"
    if spec.provider and client.endpoint.dialect != "openrouter":
        raise SubjectError(f"{spec.model}: only OpenRouter can be told which provider serves; leave --provider out")
    if not await client.offers(spec.model):
        instead = _instead(spec.model, sorted(await client.models()))
        raise NotOffered(spec.model, client.endpoint.name, client.endpoint.url, instead)
    info = await client.info(spec.model)
    if spec.reasoning == AUTO:
        reasoning = resolve_auto(spec.model, info.parameters)
    else:
        reasoning = least(spec.model, spec.reasoning, info.always_reasons, info.efforts)
    usual = temperature if takes_temperature(info) else OWN_TEMPERATURE
    known = identity or (info.identity if local else "")
    return spec.resolved(usual, max_tokens, reasoning, known)


def takes_temperature(info: ModelInfo) -> bool:
    """Whether a model can be given a temperature; True where nobody says."""
    return info.parameters is None or "temperature" in info.parameters


def _instead(model: str, offered: Iterable[str]) -> str:
    """What an endpoint offers that may have been meant by *model*: near names, else the first few."""
    names = list(islice((name for name in offered if len(name) <= LONGEST), COMPARED))
    spelt = {name.lower(): name for name in names}
    wanted = model[:LONGEST].lower()
    near = [spelt[name] for name in get_close_matches(wanted, spelt, NEAR)]
    # the right name behind another author, or without one
    own = wanted.rpartition("/")[2]
    near += [name for low, name in spelt.items() if low.rpartition("/")[2] == own and name not in near]
    if near:
        return f"did you mean {' or '.join(near[:NEAR])}?"
    return f"it has {', '.join(names[:SHOWN])}{', ...' if len(names) > SHOWN else ''}"
