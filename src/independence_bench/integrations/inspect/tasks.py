"""`inspect eval independence_bench/v2`: each protocol as a task of Inspect.

A sample is one scenario, or one stem with all its branches, in one configuration; an epoch is a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample

from independence_bench import __version__
from independence_bench.integrations.inspect.metrics import PLAN
from independence_bench.integrations.inspect.names import named
from independence_bench.integrations.inspect.plan import plan_of
from independence_bench.integrations.inspect.rows import KEY
from independence_bench.integrations.inspect.scorer import independence
from independence_bench.integrations.inspect.solver import conversations
from independence_bench.integrations.inspect.source import chosen, read_source, written
from independence_bench.integrations.inspect.wire import chat_messages
from independence_bench.protocol import delivery
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import Files
from independence_bench.protocol.plan import opening

Several = str | list[str] | None


@task(name=named("v1"))
def v1(variants: Several = None, modes: Several = None) -> Task:
    """Protocol v1. *variants*, *modes*: system variants and deliveries, with commas; the protocol's own without."""
    return made_task("v1", variants, modes)


@task(name=named("lite"))
def lite(variants: Several = None, modes: Several = None) -> Task:
    """Protocol lite."""
    return made_task("lite", variants, modes)


@task(name=named("v2"))
def v2(variants: Several = None, modes: Several = None) -> Task:
    """Protocol v2."""
    return made_task("v2", variants, modes)


@task(name=named("v3"))
def v3(variants: Several = None, modes: Several = None) -> Task:
    """Protocol v3: independent and not stubborn."""
    return made_task("v3", variants, modes)


@task(name=named("v3-lite"))
def v3_lite(variants: Several = None, modes: Several = None) -> Task:
    """Protocol v3-lite."""
    return made_task("v3-lite", variants, modes)


@task(name=named("own"))
def own(protocol: str, variants: Several = None, modes: Several = None) -> Task:
    """A protocol of the user's own: *protocol* is a folder, or the sheet of a persona (a YAML file)."""
    return made_task(protocol, variants, modes)


def made_task(source: str, variants: Several, modes: Several) -> Task:
    """The task that plays *source* in those configurations. Raises WrongUse for what there is not."""
    protocol, files = read_source(source)
    configurations = chosen(protocol, variants, modes)
    kept = written(protocol, files)
    samples = [
        sample_of(protocol, one, unit.id, configurations) for one in configurations for unit in protocol.units.scenarios
    ]
    return Task(
        dataset=MemoryDataset(samples, name=protocol.name),
        solver=conversations(kept),
        scorer=independence(kept),
        epochs=Epochs(protocol.runs),
        metadata=header(protocol, files),
        version=__version__,
    )


def header(protocol: Protocol, files: Files) -> dict[str, Any]:
    """What a log says of what was played: so much that it can be read without it."""
    return {KEY: {"protocol": protocol.name, "protocol_hash": protocol.hash, "files": dict(files)}}


def sample_of(
    protocol: Protocol, configuration: Configuration, unit: str, configurations: tuple[Configuration, ...]
) -> Sample:
    """One scenario, or one stem with all its branches."""
    about = about_sample(protocol, configuration, unit, configurations)
    begun = opening(protocol, configuration, protocol.scenario(about["scenarios"][0]), 1)
    sent = delivery.messages(begun.transcript, configuration.delivery, protocol.tool_role)
    return Sample(id=sample_id(configuration, unit, configurations), input=chat_messages(sent), metadata=about)


def sample_id(configuration: Configuration, unit: str, configurations: tuple[Configuration, ...]) -> str:
    """What a sample is called: its configuration stands in it only where there are several."""
    return unit if len(configurations) == 1 else f"{configuration}/{unit}"


def about_sample(
    protocol: Protocol, configuration: Configuration, unit: str, configurations: tuple[Configuration, ...]
) -> Mapping[str, Any]:
    """A sample's metadata."""
    scenario = protocol.units.scenario(unit)
    return {
        "protocol": protocol.name,
        "protocol_hash": protocol.hash,
        "experiment": scenario.experiment,
        "title": scenario.title,
        "system": configuration.system,
        "delivery": configuration.delivery,
        "unit": unit,
        "scenarios": [one.id for one in protocol.scenarios if unit in (one.stem, one.id)],
        PLAN: plan_of(protocol, configurations),
    }
