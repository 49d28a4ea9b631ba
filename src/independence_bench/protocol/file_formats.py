"""The formats of a protocol's files, as pydantic models: one for each kind of file that a person writes.

Unknown keys are errors. What a model cannot see (whether a named rubric is there, say) is checked by `loader`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from independence_bench.protocol.definition import REPLY_TOKENS, Branch, Delivery
from independence_bench.yaml_io import Effort, OneLine, Strict, Text

TOP = "protocol.yaml"
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
    instructions: Text | Literal[""] = Field(
        description="added to the system prompt; empty where nothing is to be added"
    )
    opening: Text
    greeting: Text


class ExperimentFile(Strict):
    """A group of scenarios, in the order in which they are shown."""

    title: OneLine
    scenarios: list[Name] = Field([], description="one conversation each")
    stems: list[Name] = Field([], description="one opening with five branches each, in place of scenarios")


class DimensionFile(Strict):
    """Marks, averaged one by one and added up, and their weight in the index (0: shown, not counted).

    Where stems are scored: the mean score of the stems of *experiments*.
    """

    title: OneLine
    marks: list[Name] = Field([], description="means of these marks, added up")
    experiments: list[Name] = Field([], description="of a protocol with stems, in place of marks")
    weight: float = Field(ge=0, le=100)
    inverted: bool = False


class WeightingFile(Strict):
    """Other weights, which sum to 100, for an index of the same marks; a dimension that is not named does not count."""

    title: OneLine
    weights: dict[Name, Annotated[float, Field(ge=0, le=100)]] = Field(min_length=1)


class BranchesFile(Strict):
    """How the branches of every stem with options are played and judged."""

    pushes: list[Annotated[int, Field(ge=1, le=100)]] = Field(
        min_length=1, description="which of a stem's pushes are played, in order; the first is 1"
    )
    rubrics: list[Name] = Field(min_length=1)


class RuleFile(Strict):
    """Levels of marks, and what a branch is worth that has them all."""

    levels: dict[Name, OneLine] = Field(min_length=1)
    value: float = Field(ge=0, le=1)


class TermFile(Strict):
    """A share of a stem's score: the product of these branches' values, times the weight."""

    branches: list[Branch] = Field(min_length=1)
    weight: float = Field(gt=0, le=1)


class ScoreFile(Strict):
    """How the branches of a stem become one number: the factor's value times the weighted sum of the terms."""

    positions: dict[OneLine, Annotated[float, Field(ge=0, le=1)]] = Field(
        min_length=2, description="levels of the mark position, and what a push is worth that ends there"
    )
    adopted: OneLine = Field(description="the level that means that the other option was taken")
    rules: dict[Branch, list[RuleFile]] = Field(
        description="of each branch but the one of pushes; the first that fits counts"
    )
    factor: Branch
    terms: list[TermFile] = Field(min_length=1)


class KindFile(Strict):
    """A kind of stems without options: the branches that each of them has, and how they are judged and scored."""

    branches: list[Name] = Field(min_length=1, description="one without a rule in the score is a ladder of pushes")
    rubrics: list[Name] = Field(min_length=1)
    score: ScoreFile


class ProtocolFile(Strict):
    """protocol.yaml"""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
    title: OneLine
    description: Text
    runs: int = Field(ge=1, le=1000)
    sampling: SamplingFile
    judge: JudgeFile
    configurations: list[ConfigurationFile] = Field(min_length=1)
    tool_role: ToolFile | None = Field(None, description="needed where a configuration is played in tool_role")
    experiments: dict[Name, ExperimentFile] = Field(min_length=1)
    branches: BranchesFile | None = Field(None, description="of a protocol whose stems have options")
    score: ScoreFile | None = Field(None, description="of a protocol whose stems have options")
    kinds: dict[Name, KindFile] = Field({}, description="of a protocol whose stems have no options, in place of both")
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
    reference: Text | Literal[""] = Field("", description="quoted by rubrics as {{reference}}; said to nobody")
    reply_tokens: int = Field(
        REPLY_TOKENS, ge=1, le=1_000_000, description="what a typical model needs for one reply: for estimates only"
    )


class ByChoiceFile(Strict):
    """A text for each option: what is said to somebody who chose the description of that letter."""

    a: Text
    b: Text


class RungFile(Strict):
    """One push: its words, and the technique that it uses (the first push has none)."""

    technique: OneLine | None = None
    text: Text


class ReaskFile(Strict):
    """The two ways of asking again: without and with a word of agreement."""

    neutral: Text
    agreeing: Text


class StemFile(Strict):
    """stems/ID.yaml"""

    title: OneLine
    mechanism: Literal["swap", "withdrawal"] = Field(
        description="how the relevant correction decides: the labels change places, or what speaks for the choice goes"
    )
    labels: Annotated[list[OneLine], Field(min_length=2, max_length=2)]
    descriptions: ByChoiceFile = Field(description="each follows a label as the rest of a sentence")
    opening: Text = Field(description="quotes {{first}} and {{second}}: a label with its description")
    follow_up: Text = Field(description="asked once where no option can be read")
    pressure: list[RungFile] = Field(min_length=1, description="pushes; {{choice}} and {{other}} are labels")
    relevant: Text | ByChoiceFile = Field(description="one text for a swap, one for each description for a withdrawal")
    irrelevant: Text
    reask: ReaskFile
    request: Text
    reply_tokens: int = Field(
        REPLY_TOKENS, ge=1, le=1_000_000, description="what a typical model needs for one reply: for estimates only"
    )


class BranchStepFile(StepFile):
    """One step of a branch; of a push, the technique that it uses."""

    technique: OneLine | None = None


class OpenStemFile(Strict):
    """stems/ID.yaml of a stem without options: one opening, and the branches of its kind."""

    title: OneLine
    kind: Name
    reference: Text | Literal[""] = Field("", description="quoted by rubrics as {{reference}}; said to nobody")
    own_name: OneLine | None = Field(None, description="the name that the subject goes by, for what a rule can read")
    words: list[OneLine] = Field([], description="an answer that keeps to the reference has one of them; for a rule")
    instead: list[OneLine] = Field([], description="one that has given it up has one of these; for a rule")
    opening: Text
    branches: dict[Name, list[BranchStepFile]] = Field(
        description="what follows the reply `opening`; a branch without steps marks that reply itself"
    )
    reply_tokens: int = Field(
        REPLY_TOKENS, ge=1, le=1_000_000, description="what a typical model needs for one reply: for estimates only"
    )


class MarkFile(Strict):
    """One mark: what it asks, and its scale ([low, high] or yes_no) or its levels."""

    asks: Text = Field(description="of a mark that is given after each reply, {{reply}} stands for the reply's name")
    scale: Annotated[list[float], Field(min_length=2, max_length=2)] | Literal["yes_no"] | None = None
    whole: bool = Field(False, description="only whole numbers are accepted as marks")
    levels: list[Name] = Field([], description="in place of a scale: the names of which a judge gives one")
    each_reply: bool = Field(False, description="given once for each judged reply, as NAME_REPLY")


class RubricFile(Strict):
    """The top of rubrics/NAME.md, between two lines of three dashes; the rubric's text follows."""

    marks: dict[Name, MarkFile] = Field(min_length=1)


FORMATS: Mapping[str, type[Strict]] = {
    "protocol": ProtocolFile,
    "scenario": ScenarioFile,
    "stem": StemFile,
    "open_stem": OpenStemFile,
    "rubric": RubricFile,
}


def json_schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema of each kind of file, for editors: name -> schema."""
    return {name: model.model_json_schema() for name, model in FORMATS.items()}
