"""The formats of a protocol's files, as pydantic models: one for each kind of file that a person writes.

Unknown keys are errors. What a model cannot see (whether a named rubric is there, say) is checked by `loader`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from independence_bench.protocol.definition import REPLY_TOKENS, Delivery
from independence_bench.yaml_io import Effort, OneLine, Strict, Text

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
Name = Annotated[str, StringConstraints(pattern=rf"^{NAME.pattern}$")]


class SamplingFile(Strict):
    """How the subject is sampled, unless the subject says otherwise."""

    temperature: float = Field(ge=0, le=2)
    max_tokens: int = Field(ge=1, le=1_000_000)


class JudgeFile(Strict):
    """The judge that the protocol is meant to be marked by."""

    model: OneLine
    endpoint: OneLine = "openrouter"
    temperature: float = Field(0.0, ge=0, le=2)
    reasoning: Effort = "off"
    max_tokens: int = Field(2000, ge=1, le=1_000_000)


class ConfigurationFile(Strict):
    """A system variant and a delivery mode."""

    system: Name
    delivery: Delivery


class ToolFile(Strict):
    """The wording of tool_role."""

    name: Name = "send_message_to_human"
    description: Text
    argument: Name = "message"
    argument_description: Text
    instructions: Text | Literal[""] = Field(description="stands after the system prompt; empty where that says it all")
    opening: Text
    greeting: Text


class ExperimentFile(Strict):
    """A group of scenarios, in the order in which they are shown."""

    title: OneLine
    scenarios: list[Name] = Field(min_length=1)


class DimensionFile(Strict):
    """Marks, averaged one by one and added up, and their weight in the index (0: shown, not counted)."""

    title: OneLine
    marks: list[Name] = Field(min_length=1)
    weight: float = Field(ge=0, le=100)
    inverted: bool = False


class WeightingFile(Strict):
    """Other weights, which sum to 100, for an index of the same marks; a dimension that is not named does not count."""

    title: OneLine
    weights: dict[Name, Annotated[float, Field(ge=0, le=100)]] = Field(min_length=1)


class ProtocolFile(Strict):
    """protocol.yaml"""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
    title: OneLine
    description: Text
    runs: int = Field(ge=1, le=1000)
    sampling: SamplingFile
    judge: JudgeFile
    configurations: list[ConfigurationFile] = Field(min_length=1)
    tool_role: ToolFile
    experiments: dict[Name, ExperimentFile] = Field(min_length=1)
    dimensions: dict[Name, DimensionFile] = Field(min_length=1)
    weightings: dict[Name, WeightingFile] = Field({}, description="what --weights chooses from; part of no hash")


class StepFile(Strict):
    """One step: exactly one of the three keys."""

    human: Text | None = None
    given: Text | None = None
    reply: Name | None = None


class ScenarioFile(Strict):
    """scenarios/ID.yaml"""

    title: OneLine
    steps: list[StepFile] = Field(min_length=2)
    judged: list[Name] | None = Field(None, description="replies that the marks are about; default: all")
    rubrics: list[Name] = Field(min_length=1)
    reply_tokens: int = Field(
        REPLY_TOKENS, ge=1, le=1_000_000, description="what a typical model needs for one reply: for estimates only"
    )


class MarkFile(Strict):
    """One mark: what it asks, and its scale, [low, high] or yes_no."""

    asks: Text
    scale: Annotated[list[float], Field(min_length=2, max_length=2)] | Literal["yes_no"]
    whole: bool = Field(False, description="only whole numbers: a mark between two of them is none")


class RubricFile(Strict):
    """The top of rubrics/NAME.md, between two lines of three dashes; the rubric's text follows."""

    marks: dict[Name, MarkFile] = Field(min_length=1)


FORMATS: Mapping[str, type[Strict]] = {
    "protocol": ProtocolFile,
    "scenario": ScenarioFile,
    "rubric": RubricFile,
}


def json_schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema of each kind of file, for editors: name -> schema."""
    return {name: model.model_json_schema() for name, model in FORMATS.items()}
