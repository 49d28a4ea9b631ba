"""What an index is made of, as small JSON that every sample carries: a metric sees samples and nothing else.

So a log can be scored again, or have its metrics made again, without the files of its protocol. Knows no Inspect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from independence_bench.protocol.definition import (
    Configuration,
    DefaultJudge,
    Dimension,
    Mark,
    Protocol,
    Rubric,
    Scenario,
    ToolWording,
)

Plan = Mapping[str, Any]


def plan_of(protocol: Protocol, configurations: Sequence[Configuration]) -> dict[str, Any]:
    """The plan of *protocol*, whose *configurations* are pooled."""
    units = protocol.units
    marks = {mark.name: mark for scenario in units.scenarios for mark in scenario.marks}
    return {
        "configurations": [[one.system, one.delivery] for one in configurations],
        "marks": [[mark.name, mark.kind, mark.low, mark.high] for mark in marks.values()],
        "scenarios": [[one.id, one.experiment, [mark.name for mark in one.marks]] for one in units.scenarios],
        "dimensions": [[one.name, one.title, list(one.marks), one.weight, one.inverted] for one in units.dimensions],
    }


def read_plan(plan: Plan) -> tuple[Protocol, tuple[Configuration, ...]]:
    """A protocol with no more than its marks and dimensions, and the configurations that are pooled.

    Raises KeyError, TypeError or ValueError for what `plan_of` did not make.
    """
    marks = {name: Mark(name, kind, low, high, "") for name, kind, low, high in plan["marks"]}
    scenarios = tuple(
        Scenario(name, experiment, "", (), (), (Rubric("", "", tuple(marks[one] for one in given)),))
        for name, experiment, given in plan["scenarios"]
    )
    dimensions = tuple(
        Dimension(name, title, tuple(given), weight, inverted)
        for name, title, given, weight, inverted in plan["dimensions"]
    )
    configurations = tuple(Configuration(system, delivery) for system, delivery in plan["configurations"])
    nobody = DefaultJudge("", "", 0.0, "", 0)
    protocol = Protocol(
        name="",
        title="",
        description="",
        runs=1,
        temperature=0.0,
        max_tokens=0,
        judge=nobody,
        judge_instructions="",
        systems=(),
        tool_role=ToolWording(),
        configurations=configurations,
        experiments=(),
        scenarios=scenarios,
        dimensions=dimensions,
    )
    return protocol, configurations
