"""How everything was measured, in full and in plain words."""

from __future__ import annotations

import json

from independence_bench.protocol.delivery import tools
from independence_bench.viewer import fragments, shapes
from independence_bench.viewer.glossary import TERMS
from independence_bench.viewer.slugs import scenario_slug
from independence_bench.viewer.snapshot import Catalog, Edition


def methods_answer(catalog: Catalog) -> shapes.Methods:
    """`api/methods.json`."""
    return shapes.Methods(tuple(_protocol(catalog, one) for one in catalog.held.editions.values()), TERMS)


def _protocol(catalog: Catalog, edition: Edition) -> shapes.ProtocolMethod:
    protocol = edition.protocol
    wording = protocol.tool_role
    return shapes.ProtocolMethod(
        protocol=fragments.protocol_entry(catalog, edition),
        description=protocol.description,
        temperature=protocol.temperature,
        max_tokens=protocol.max_tokens,
        judge=protocol.judge.model,
        judge_instructions=protocol.judge_instructions,
        systems=tuple(shapes.SystemPrompt(name, text) for name, text in protocol.systems),
        tool=json.dumps([tool.wire() for tool in tools("tool_role", wording)], ensure_ascii=False),
        tool_instructions=wording.instructions,
        configurations=tuple(map(str, protocol.configurations)),
        experiments=tuple(
            shapes.ExperimentMethod(
                experiment.title,
                tuple(
                    shapes.ScenarioMethod(
                        id=scenario_slug(one.id),
                        title=one.title,
                        script=fragments.script(one),
                        judged=one.judged,
                        rubrics=tuple(
                            shapes.RubricText(
                                rubric.name,
                                rubric.text,
                                tuple(fragments.scale(protocol, mark) for mark in rubric.marks),
                            )
                            for rubric in one.rubrics
                        ),
                    )
                    for one in protocol.scenarios
                    if one.experiment == experiment.name
                ),
            )
            for experiment in protocol.experiments
        ),
        dimensions=tuple(map(fragments.dimension_facts, protocol.dimensions)),
    )
