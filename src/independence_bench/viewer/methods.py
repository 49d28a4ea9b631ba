"""How everything was measured, in full and in plain words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from independence_bench.protocol.definition import Configuration, Dimension, Protocol, Scenario
from independence_bench.protocol.delivery import tools
from independence_bench.viewer import fragments
from independence_bench.viewer.fragments import MarkScale, ProtocolEntry, ScriptLine, copied
from independence_bench.viewer.glossary import Term, read_terms
from independence_bench.viewer.slugs import scenario_slug
from independence_bench.viewer.snapshot import Catalog, Edition


@dataclass(frozen=True, slots=True)
class RubricText:
    """What a judge is told about some marks."""

    name: str
    text: str
    marks: tuple[MarkScale, ...]


@dataclass(frozen=True, slots=True)
class ScenarioMethod:
    """One scenario as it is played and judged."""

    id: str
    title: str
    script: tuple[ScriptLine, ...]
    judged: tuple[str, ...]  # names of the replies that the marks are about
    rubrics: tuple[RubricText, ...]


@dataclass(frozen=True, slots=True)
class ExperimentMethod:
    """Scenarios that measure one thing."""

    title: str
    scenarios: tuple[ScenarioMethod, ...]


@dataclass(frozen=True, slots=True)
class ProtocolMethod:
    """One protocol in full."""

    protocol: ProtocolEntry
    description: str
    temperature: float
    max_tokens: int
    judge: str  # that it is meant to be marked by
    judge_instructions: str
    systems: Mapping[str, str]  # variant -> system prompt
    tool: str  # tool_role: the tool that the model speaks through, as JSON text
    tool_instructions: str
    configurations: tuple[Configuration, ...]  # played and pooled by default
    experiments: tuple[ExperimentMethod, ...]
    dimensions: tuple[Dimension, ...]


@dataclass(frozen=True, slots=True)
class MethodsAnswer:
    """`api/methods.json`: how all this was measured."""

    protocols: tuple[ProtocolMethod, ...]
    terms: tuple[Term, ...]


def methods_answer(catalog: Catalog) -> MethodsAnswer:
    """`api/methods.json`."""
    return MethodsAnswer(tuple(_protocol(catalog, one) for one in catalog.editions.values()), read_terms())


def _protocol(catalog: Catalog, edition: Edition) -> ProtocolMethod:
    protocol = edition.protocol
    wording = protocol.tool_role
    return copied(
        ProtocolMethod,
        protocol,
        protocol=fragments.protocol_entry(catalog, edition),
        judge=protocol.judge.model,
        systems=dict(protocol.systems),
        tool=json.dumps([tool.wire() for tool in tools("tool_role", wording)], ensure_ascii=False),
        tool_instructions=wording.instructions,
        experiments=tuple(
            ExperimentMethod(
                experiment.title,
                tuple(_scenario(protocol, one) for one in protocol.scenarios if one.experiment == experiment.name),
            )
            for experiment in protocol.experiments
        ),
    )


def _scenario(protocol: Protocol, scenario: Scenario) -> ScenarioMethod:
    rubrics = (
        copied(RubricText, one, marks=tuple(fragments.scale(protocol, mark) for mark in one.marks))
        for one in scenario.rubrics
    )
    script = fragments.script(scenario)
    return copied(ScenarioMethod, scenario, id=scenario_slug(scenario.id), script=script, rubrics=tuple(rubrics))
