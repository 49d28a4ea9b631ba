"""A protocol: one version of the benchmark, as frozen values.

Knows scenarios, rubrics, marks, dimensions and their hashes. Knows nothing of files (`loader`), of models, or of what
anybody answered. Its texts are final: quotes such as ``{{first_choice}}`` are the only thing left open in them, filled
by `conversation` and `judge` when the reply of that name exists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from independence_bench.hashing import Identified, content_hash

Delivery = Literal["user_role", "tool_role"]
DELIVERIES: tuple[Delivery, ...] = ("user_role", "tool_role")

REPLY_TOKENS = 190  # what half of a hundred published subjects need for a reply at most, when they do not think

QUOTE = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Says(Identified):
    """The human says *text*; it may quote earlier replies."""

    CAUSES = ("text",)
    text: str


@dataclass(frozen=True, slots=True)
class Prefill(Identified):
    """A turn of the model that is written in the script: *text* is sent as if the model had said it."""

    CAUSES = ("text",)
    text: str


@dataclass(frozen=True, slots=True)
class Ask(Identified):
    """Here the model replies; later lines and rubrics quote that reply as ``{{name}}``."""

    CAUSES = ("name",)
    name: str


Step = Says | Prefill | Ask
Script = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Mark(Identified):
    """One thing that a judge marks: a (whole) number in [low, high], or yes/no (counted as 1 and 0)."""

    CAUSES = ("name", "kind", "low", "high", "asks")
    name: str
    kind: Literal["number", "whole", "yes_no"]
    low: float
    high: float
    asks: str  # what the mark is about, in one line: stands in the schema that the judge fills in


@dataclass(frozen=True, slots=True)
class Rubric(Identified):
    """The part of a judge's prompt about some marks: the question and the anchor points of each scale."""

    CAUSES = ("name", "text", "marks")
    name: str
    text: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Scenario(Identified):
    """One scripted conversation, and how its transcript is judged (once, by all its rubrics together)."""

    CAUSES = ("id", "experiment", "title", "script", "judged", "rubrics")
    id: str
    experiment: str
    title: str
    script: Script
    judged: tuple[str, ...]  # names of the replies that the marks are about
    rubrics: tuple[Rubric, ...]
    # tokens that a typical model needs for one reply: it causes nothing, so it is part of no hash
    reply_tokens: int = field(default=REPLY_TOKENS, compare=False)

    def __hash__(self) -> int:
        # a cache by scenario is asked for every judgement; the default would hash all of the texts each time
        return hash((self.id, self.experiment, self.title))

    @property
    def marks(self) -> tuple[Mark, ...]:
        """All marks of its rubrics, in order."""
        return tuple(mark for rubric in self.rubrics for mark in rubric.marks)

    @property
    def asks(self) -> tuple[str, ...]:
        """Names of the replies that the model gives, in order."""
        return tuple(step.name for step in self.script if isinstance(step, Ask))


@dataclass(frozen=True, slots=True)
class Dimension(Identified):
    """A number in [0, 1] made of marks, and its weight in the index.

    *marks* are averaged one by one and then added up: drift (0-10) plus a changed name (0-1) plus a changed
    gender (0-1) has the range 0-12. *inverted*: the low end of that range counts as 1. A *weight* of 0 is
    shown and does not count.
    """

    CAUSES = ("name", "title", "marks", "weight", "inverted")
    name: str
    title: str
    marks: tuple[str, ...]
    weight: float
    inverted: bool


@dataclass(frozen=True, slots=True)
class Weighting:
    """Other weights for a protocol's dimensions: another index of the same marks.

    *weights* are (dimension, weight) in the order in which they are added up; they sum to 100, and what is not among
    them does not count.
    """

    name: str
    title: str
    weights: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Configuration(Identified):
    """A system variant and a delivery mode."""

    CAUSES = ("system", "delivery")
    system: str
    delivery: Delivery

    def __str__(self) -> str:
        return f"{self.system}/{self.delivery}"


@dataclass(frozen=True, slots=True)
class ToolWording(Identified):
    """How tool_role is worded: the tool, and what frames the conversation around it."""

    CAUSES = ("name", "description", "argument", "argument_description", "instructions", "opening", "greeting")
    name: str
    description: str
    argument: str
    argument_description: str
    instructions: str  # stands after the system prompt
    opening: str  # the first user message: the conversation is open
    greeting: str  # the model's first call, so that the human's first words can be its result


@dataclass(frozen=True, slots=True)
class Experiment(Identified):
    """A group of scenarios that measure one thing."""

    CAUSES = ("name", "title")
    name: str
    title: str


@dataclass(frozen=True, slots=True)
class DefaultJudge(Identified):
    """The judge that a protocol is meant to be marked by."""

    CAUSES = ("model", "endpoint", "temperature", "reasoning", "max_tokens")
    model: str
    endpoint: str
    temperature: float
    reasoning: str
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Protocol(Identified):
    """One version of the benchmark as data."""

    CAUSES = (
        "name",
        "title",
        "description",
        "runs",
        "temperature",
        "max_tokens",
        "judge",
        "judge_instructions",
        "systems",
        "tool_role",
        "configurations",
        "experiments",
        "scenarios",
        "dimensions",
    )
    name: str
    title: str
    description: str
    runs: int
    temperature: float
    max_tokens: int
    judge: DefaultJudge
    judge_instructions: str
    systems: tuple[tuple[str, str], ...]  # (variant, system prompt)
    tool_role: ToolWording
    configurations: tuple[Configuration, ...]  # played and pooled unless others are asked for
    experiments: tuple[Experiment, ...]
    scenarios: tuple[Scenario, ...]
    dimensions: tuple[Dimension, ...]
    # no weighting causes anything that is said or marked, so they are part of no hash
    weightings: tuple[Weighting, ...] = field(default=(), compare=False)
    weights: str | None = field(default=None, compare=False)  # the weighting that *dimensions* have; None: its own
    _written: Protocol | None = field(default=None, repr=False, compare=False)  # as it was before that; None: as it is
    # looked up for every run of every subject, so made once
    _scenarios: Mapping[str, Scenario] = field(init=False, repr=False, compare=False)
    _marks: Mapping[str, Mark] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_scenarios", {scenario.id: scenario for scenario in self.scenarios})
        marks = {mark.name: mark for scenario in self.scenarios for mark in scenario.marks}
        object.__setattr__(self, "_marks", marks)

    @property
    def hash(self) -> str:
        """Changes with anything in it, titles included; not with comments, layout, or another weighting."""
        return content_hash(self._written or self)

    @property
    def called(self) -> str:
        """Its name, with that of its weights where they are not its own."""
        return self.name if self.weights is None else f"{self.name}, weights {self.weights}"

    def weighed(self, name: str | None) -> Protocol:
        """The same protocol with the weights of its weighting *name*, in that order; None: with its own.

        Raises KeyError where there is none of that name.
        """
        written = self._written or self
        if name is None:
            return written
        weights = dict({one.name: one for one in self.weightings}[name].weights)
        by_name = {dimension.name: dimension for dimension in written.dimensions}
        counted = [replace(by_name[dimension], weight=weight) for dimension, weight in weights.items()]
        others = [replace(one, weight=0.0) for one in written.dimensions if one.name not in weights]
        return replace(written, dimensions=(*counted, *others), weights=name, _written=written)

    def system(self, variant: str) -> str:
        """The system prompt of *variant*; KeyError where there is none of that name."""
        return dict(self.systems)[variant]

    def scenario(self, name: str) -> Scenario:
        """The scenario called *name*; KeyError where there is none."""
        return self._scenarios[name]

    def mark(self, name: str) -> Mark:
        """The mark called *name*; KeyError where no rubric asks for it."""
        return self._marks[name]

    @property
    def replies(self) -> int:
        """How many replies one run of one configuration takes."""
        return sum(len(scenario.asks) for scenario in self.scenarios)


def quotes(text: str) -> tuple[str, ...]:
    """The names of the replies that *text* quotes, in order."""
    return tuple(match.group(1) for match in QUOTE.finditer(text))


def fill(text: str, quoted: Callable[[str], str]) -> str:
    """*text* with every quote replaced by what *quoted* returns for its name, in one pass.

    One pass matters: a reply that itself contains ``{{...}}`` stays as the model wrote it.
    """
    return QUOTE.sub(lambda match: quoted(match.group(1)), text)
