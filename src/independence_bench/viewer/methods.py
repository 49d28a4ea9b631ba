"""How everything was measured, in full; and what the words and numbers of the viewer mean
(glossary.yaml).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from independence_bench.protocol.definition import Configuration, Dimension, Protocol, Scenario
from independence_bench.protocol.delivery import tools
from independence_bench.viewer import fragments
from independence_bench.viewer.fragments import MarkScale, ProtocolEntry, ScriptLine, copied
from independence_bench.viewer.snapshot import Catalog, Edition, scenario_slug
from independence_bench.yaml_io import read_own


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
    # tool_role: the tool that the model speaks through, as JSON text; null: it has no tool_role
    tool: str | None
    tool_instructions: str
    configurations: tuple[Configuration, ...]  # played and pooled by default
    experiments: tuple[ExperimentMethod, ...]
    dimensions: tuple[Dimension, ...]


@dataclass(frozen=True, slots=True)
class MathElement:
    """An element of MathML; it has a *text* or *parts*."""

    name: str
    attributes: Mapping[str, str]
    text: str
    parts: tuple[MathElement, ...]


@dataclass(frozen=True, slots=True)
class Equation:
    """One equation: its TeX, to be copied, and its MathML."""

    tex: str
    shown: MathElement


@dataclass(frozen=True, slots=True)
class Letter:
    """What a letter of an equation stands for."""

    tex: str
    shown: MathElement
    means: str


@dataclass(frozen=True, slots=True)
class Term:
    """What a word or a number means, in plain words, with the equations that it is made by."""

    name: str
    text: str
    equations: tuple[Equation, ...]
    where: tuple[Letter, ...]  # the letters in them


@dataclass(frozen=True, slots=True)
class MethodsAnswer:
    """`api/methods.json`: how all this was measured."""

    protocols: tuple[ProtocolMethod, ...]
    terms: tuple[Term, ...]


def methods_answer(catalog: Catalog) -> MethodsAnswer:
    """`api/methods.json`."""
    return MethodsAnswer(
        tuple(_protocol(catalog, edition) for edition in catalog.editions.values()), read_terms()
    )


@cache
def read_terms() -> tuple[Term, ...]:
    """Every term, in the order of the page."""
    glossary, equations = (
        Path(__file__).with_name(name).read_text(encoding="utf-8")
        for name in ("glossary.yaml", "equations.json")
    )
    drawn = {tex: _element(*load) for tex, load in json.loads(equations).items()}
    return tuple(
        Term(
            one["name"],
            one["text"],
            tuple(Equation(tex, drawn[tex]) for tex in one.get("equations", ())),
            tuple(Letter(tex, drawn[tex], means) for tex, means in one.get("where", {}).items()),
        )
        for one in read_own(glossary)
    )


def _element(
    name: str, attributes: Mapping[str, str], text: str, parts: Sequence[Any]
) -> MathElement:
    return MathElement(name, attributes, text, tuple(_element(*part) for part in parts))


def _protocol(catalog: Catalog, edition: Edition) -> ProtocolMethod:
    protocol = edition.protocol
    wording = protocol.tool_role
    return copied(
        ProtocolMethod,
        protocol,
        protocol=fragments.protocol_entry(catalog, edition),
        judge=protocol.judge.model,
        systems=dict(protocol.systems),
        tool=json.dumps([tool.wire() for tool in tools("tool_role", wording)], ensure_ascii=False)
        if wording.name
        else None,
        tool_instructions=wording.instructions,
        experiments=tuple(
            ExperimentMethod(
                experiment.title,
                tuple(
                    _scenario(protocol, scenario)
                    for scenario in protocol.scenarios
                    if scenario.experiment == experiment.name
                ),
            )
            for experiment in protocol.experiments
        ),
    )


def _scenario(protocol: Protocol, scenario: Scenario) -> ScenarioMethod:
    rubrics = (
        copied(
            RubricText,
            rubric,
            marks=tuple(fragments.scale(protocol, mark) for mark in rubric.marks),
        )
        for rubric in scenario.rubrics
    )
    script = fragments.script(scenario)
    return copied(
        ScenarioMethod,
        scenario,
        id=scenario_slug(scenario.id),
        script=script,
        rubrics=tuple(rubrics),
    )
