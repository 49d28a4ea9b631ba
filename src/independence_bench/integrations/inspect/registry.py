"""What Inspect finds under the prefix `independence_bench/`: the entry point that pyproject.toml names.

`inspect eval independence_bench/v2`: each protocol is a task. A sample is one scenario, or one stem with all its
branches, in one configuration; an epoch is a run.
"""

from __future__ import annotations

from inspect_ai import Epochs, Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample

from independence_bench import __version__
from independence_bench.errors import BenchError, WrongUse
from independence_bench.integrations.inspect.provider import aib, chat_messages, named
from independence_bench.integrations.inspect.samples import (
    about_sample,
    chosen,
    header,
    read_source,
    sample_id,
    written,
)
from independence_bench.integrations.inspect.scorer import dimensions, independence, independence_index, index_interval
from independence_bench.integrations.inspect.solver import conversations
from independence_bench.protocol import delivery
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.plan import opening

__all__ = [
    "aib",
    "conversations",
    "dimensions",
    "independence",
    "independence_index",
    "index_interval",
    "lite",
    "own",
    "v1",
    "v2",
    "v3",
    "v3_lite",
    "v3_lite_b",
]


Several = str | list[str] | None


@task(name=named("v1"))
def v1(variants: Several = None, modes: Several = None, first_run: int = 1) -> Task:
    """Protocol v1.

    *variants*, *modes*: system variants and deliveries, with commas; the protocol's own without. *first_run*: what
    epoch 1 is, where earlier logs of the model have runs already.
    """
    return made_task("v1", variants, modes, first_run)


@task(name=named("lite"))
def lite(variants: Several = None, modes: Several = None, first_run: int = 1) -> Task:
    """Protocol lite."""
    return made_task("lite", variants, modes, first_run)


@task(name=named("v2"))
def v2(variants: Several = None, modes: Several = None, first_run: int = 1) -> Task:
    """Protocol v2."""
    return made_task("v2", variants, modes, first_run)


@task(name=named("v3"))
def v3(variants: Several = None, modes: Several = None, first_run: int = 1) -> Task:
    """Protocol v3."""
    return made_task("v3", variants, modes, first_run)


@task(name=named("v3-lite"))
def v3_lite(variants: Several = None, modes: Several = None, first_run: int = 1) -> Task:
    """Protocol v3-lite."""
    return made_task("v3-lite", variants, modes, first_run)


@task(name=named("v3-lite-b"))
def v3_lite_b(variants: Several = None, modes: Several = None, first_run: int = 1) -> Task:
    """Protocol v3-lite-b."""
    return made_task("v3-lite-b", variants, modes, first_run)


@task(name=named("own"))
def own(protocol: str, variants: Several = None, modes: Several = None, first_run: int = 1) -> Task:
    """A protocol of the user's own: *protocol* is a folder, or the sheet of a persona (a YAML file)."""
    return made_task(protocol, variants, modes, first_run)


def made_task(source: str, variants: Several, modes: Several, first_run: int) -> Task:
    """The task that plays *source* in those configurations, epoch 1 as the run *first_run*.

    Raises PrerequisiteError, which Inspect prints as one line, for what there is not.
    """
    try:
        if first_run < 1:
            raise WrongUse(f"-T first_run={first_run}: runs are counted from 1")
        protocol, files = read_source(source)
        configurations = chosen(protocol, variants, modes)
    except BenchError as error:
        raise PrerequisiteError(str(error)) from None
    kept = written(protocol, files)
    samples = [
        sample_of(protocol, one, unit.id, configurations, first_run)
        for one in configurations
        for unit in protocol.units.scenarios
    ]
    return Task(
        dataset=MemoryDataset(samples, name=protocol.name),
        solver=conversations(kept),
        scorer=independence(kept),
        epochs=Epochs(protocol.runs),
        metadata=header(protocol, files),
        version=__version__,
    )


def sample_of(
    protocol: Protocol,
    configuration: Configuration,
    unit: str,
    configurations: tuple[Configuration, ...],
    first_run: int,
) -> Sample:
    """One scenario, or one stem with all its branches, as its first run begins."""
    about = about_sample(protocol, configuration, unit, configurations, first_run)
    begun = opening(protocol, configuration, protocol.scenario(about["scenarios"][0]), first_run)
    sent = delivery.messages(begun.transcript, configuration.delivery, protocol.tool_role)
    return Sample(id=sample_id(configuration, unit, configurations), input=chat_messages(sent), metadata=about)
