"""Who is to be called: a specification becomes a model that its endpoint offers, before anything is paid for.

Asks an endpoint for its list of models only, which costs nothing. Knows no store and no order.
"""

from __future__ import annotations

from independence_bench.errors import NotOffered, SubjectError
from independence_bench.lookup import instead
from independence_bench.models.client import Client
from independence_bench.models.functions import FunctionClient
from independence_bench.models.response import ModelInfo
from independence_bench.models.spec import AUTO, OWN_TEMPERATURE, ChatModel, ModelSpec, Reasoning


async def resolve(
    spec: ModelSpec, temperature: float, max_tokens: int, client: Client, identity: str = ""
) -> ChatModel:
    """The model to call: *spec*, the protocol's *temperature* and *max_tokens*, and what its endpoint says it can do.

    *identity* is what is known of its weights; without one, what a local server says of them.
    Raises NotOffered where the endpoint's list lacks the model, SubjectError where it cannot be called as asked for.
    """
    if isinstance(client, FunctionClient):
        return client.resolve(spec)
    if spec.provider and not client.dialect.pins_providers:
        raise SubjectError(f"{spec.model}: only OpenRouter can be told which provider serves; leave --provider out")
    if not await client.offers(spec.model):
        meant = instead(spec.model, sorted(await client.models()))
        raise NotOffered(spec.model, client.endpoint.name, client.endpoint.url, meant)
    info = await client.info(spec.model)
    if spec.reasoning == AUTO:
        reasoning = resolve_auto(spec.model, info.parameters)
    else:
        reasoning = _least(spec.model, spec.reasoning, info.always_reasons, info.efforts)
    usual = temperature if takes_temperature(info) else OWN_TEMPERATURE
    known = identity or (info.identity if client.dialect.identifies_weights else "")
    return spec.resolved(usual, max_tokens, reasoning, known)


def takes_temperature(info: ModelInfo) -> bool:
    """Whether a model can be given a temperature; True where its endpoint does not say."""
    return info.parameters is None or "temperature" in info.parameters


def _least(model: str, asked: str | None, always: bool, efforts: tuple[Reasoning, ...] | None) -> Reasoning:
    """The effort that *asked* means (None: off, if that can be), where *always* says that *model* cannot be off.

    Where it cannot and none was asked for, it is low, or the lowest of *efforts* that it takes (None: all).
    Raises SubjectError where off was asked for.
    """
    if asked != Reasoning.OFF and asked is not None:
        return Reasoning(asked)
    if not always:
        return Reasoning.OFF
    able = [effort for effort in efforts or tuple(Reasoning) if effort is not Reasoning.OFF] or [Reasoning.LOW]
    effort = Reasoning.LOW if Reasoning.LOW in able else able[0]
    if asked is not None:
        raise SubjectError(f"{model} cannot be told not to reason; --reasoning-effort {effort} is the least")
    return effort


def resolve_auto(model: str, parameters: frozenset[str] | None) -> Reasoning:
    """What ``auto`` means for *model*: think (medium) where its endpoint lists reasoning, else off.

    *parameters* are those that the endpoint's model list says it supports; None where it lists none.
    Raises SubjectError then: a guess would be written into the label as a fact.
    """
    if parameters is None:
        raise SubjectError(
            f"{model}: its endpoint does not say whether it can reason, so --reasoning-effort auto has no "
            "answer; say off, minimal, low, medium or high"
        )
    return Reasoning.MEDIUM if "reasoning" in parameters else Reasoning.OFF
