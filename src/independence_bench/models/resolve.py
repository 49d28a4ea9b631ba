"""Who is to be called: a specification becomes a model that its endpoint offers, before anything is paid for.

Asks an endpoint for its list of models only, which costs nothing. Knows no store and no order.
"""

from __future__ import annotations

from independence_bench.errors import NotOffered, SubjectError
from independence_bench.lookup import instead
from independence_bench.models.client import Client
from independence_bench.models.functions import FunctionClient
from independence_bench.models.listing import ModelInfo
from independence_bench.models.spec import AUTO, OWN_TEMPERATURE, ChatModel, ModelSpec, least, resolve_auto


async def resolve(
    spec: ModelSpec, temperature: float, max_tokens: int, client: Client, identity: str = ""
) -> ChatModel:
    """The model to call: *spec*, the protocol's *temperature* and *max_tokens*, and what its endpoint says it can do.

    *identity* is what is known of its weights; without one, what a local server says of them.
    Raises NotOffered where the endpoint's list lacks the model, SubjectError where it cannot be called as asked for.
    """
    if isinstance(client, FunctionClient):
        return client.resolve(spec)
    local = client.endpoint.dialect == "local"
    if spec.provider and client.endpoint.dialect != "openrouter":
        raise SubjectError(f"{spec.model}: only OpenRouter can be told which provider serves; leave --provider out")
    if not await client.offers(spec.model):
        meant = instead(spec.model, sorted(await client.models()))
        raise NotOffered(spec.model, client.endpoint.name, client.endpoint.url, meant)
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
