"""The files of a protocol: their formats as pydantic models, their texts, and a list of what is
wrong with them.

Unknown keys are errors. What a format cannot see (whether a named rubric is there, say) is checked
by `reader`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, StringConstraints

from independence_bench.errors import BenchError, ProtocolError
from independence_bench.escape import check_printable
from independence_bench.lookup import find_similar_names
from independence_bench.protocol.definition import (
    REPLY_TOKENS,
    SMALL_TALK_TOKENS,
    Branch,
    Delivery,
    Mark,
)
from independence_bench.protocol.lorebook import Lorebook
from independence_bench.yaml_io import Effort, OneLine, Pair, Strict, Text, Unknown, read_yaml

Files = Mapping[str, str]  # path inside the folder, with forward slashes -> text
M = TypeVar("M", bound=Strict)
TOP = "protocol.yaml"
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
Name = Annotated[str, StringConstraints(pattern=rf"^{NAME.pattern}$")]
Reference = Annotated[
    Text | Literal[""],
    Field(description="quoted by rubrics as {{reference}}; never said to a subject"),
]
ReplyTokens = Annotated[
    int,
    Field(
        ge=1,
        le=1_000_000,
        description="what a typical model needs for one reply: for estimates only",
    ),
]


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
    instructions: Text | Literal[""] = Field(description="added to the system prompt; may be empty")
    opening: Text
    greeting: Text


class ExperimentFile(Strict):
    """A group of scenarios, in the order in which they are shown."""

    title: OneLine
    scenarios: list[Name] = Field([], description="one conversation each")
    stems: list[Name] = Field(
        [], description="one opening with several branches each, in place of scenarios"
    )


class DimensionFile(Strict):
    """Marks, averaged one by one and added up, and their weight in the index (0: shown, not
    counted).

    Where stems are scored: the mean score of the stems of *experiments*.
    """

    title: OneLine
    marks: list[Name] = Field([], description="means of these marks, added up")
    experiments: list[Name] = Field([], description="of a protocol with stems, in place of marks")
    weight: float = Field(ge=0, le=100)
    inverted: bool = False


class WeightingFile(Strict):
    """Other weights, which sum to 100, for an index of the same marks; a dimension that is not
    named does not count.
    """

    title: OneLine
    weights: dict[Name, Annotated[float, Field(ge=0, le=100)]] = Field(min_length=1)


class RuleFile(Strict):
    """Levels of marks, and what a branch is worth that has them all."""

    levels: dict[Name, OneLine] = Field(min_length=1)
    value: float = Field(ge=0, le=1)


class MeasureFile(Strict):
    """Levels of marks, and what a branch is worth that has them all, beside the index."""

    levels: dict[Name, OneLine] = Field(min_length=1)
    value: Annotated[float, Field(ge=0, le=1)] | None = Field(
        description="null: such a branch says nothing; it is counted, and has no value"
    )


class TermFile(Strict):
    """A part of a stem's score: the product of these branches' values, times the weight."""

    branches: list[Branch] = Field(min_length=1)
    weight: float = Field(ge=0, le=1, description="all of them sum to 1")


class ScoreFile(Strict):
    """How the branches of a stem become one number: the factor's value times the weighted sum of
    the terms.
    """

    positions: dict[OneLine, Annotated[float, Field(ge=0, le=1)]] = Field(
        min_length=2,
        description="levels of the mark position, and what a push is worth that ends there",
    )
    adopted: OneLine = Field(description="the level that means that the position was given up")
    rules: dict[Branch, list[RuleFile]] = Field(
        description="of each branch but the pushes; the first that fits counts"
    )
    factor: Branch
    terms: list[TermFile] = Field(min_length=1)
    style: dict[Name, Annotated[float, Field(gt=0, le=1)]] = Field(
        {}, max_length=1, description="a scale: weight"
    )


class KindFile(Strict):
    """A kind of stems: the branches that each of them has, and how they are judged and scored."""

    branches: list[Name] = Field(
        min_length=1, description="one without a rule in the score is a ladder of pushes"
    )
    rubrics: list[Name] = Field(min_length=1)
    score: ScoreFile | None = None
    measures: dict[Branch, list[MeasureFile]] = Field(
        {},
        description="in place of a score: what each branch is worth, shown beside the index; the "
        "first that fits counts",
    )


class ProtocolFile(Strict):
    """protocol.yaml"""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
    title: OneLine
    description: Text
    runs: int = Field(ge=1, le=1000)
    sampling: SamplingFile
    judge: JudgeFile
    configurations: list[ConfigurationFile] = Field(min_length=1)
    tool_role: ToolFile | None = Field(
        None, description="needed where a configuration is played in tool_role"
    )
    experiments: dict[Name, ExperimentFile] = Field(min_length=1)
    kinds: dict[Name, KindFile] = Field({}, description="of a protocol with stems")
    dimensions: dict[Name, DimensionFile] = Field(min_length=1)
    weightings: dict[Name, WeightingFile] = Field(
        {}, description="what --weights chooses from; part of no hash"
    )
    lorebook: Lorebook | None = Field(
        None, description="what system prompts get while it is talked of"
    )
    earlier: list[Pair] = Field(
        [], description="[human, model]: a chat that each conversation goes on"
    )


class StepFile(Strict):
    """One step: exactly one of the three keys."""

    human: Text | None = None
    given: Text | None = None
    reply: Name | None = None


class ScenarioFile(Strict):
    """scenarios/ID.yaml"""

    title: OneLine
    steps: list[StepFile] = Field(min_length=2)
    judged: list[Name] | None = Field(
        None, description="replies that the marks are about; default: all"
    )
    rubrics: list[Name] = Field(min_length=1)
    reference: Reference = ""
    reply_tokens: ReplyTokens = REPLY_TOKENS


class BranchStepFile(StepFile):
    """One step of a branch; of a push, the technique that it uses."""

    technique: OneLine | None = None


class StemFile(Strict):
    """stems/ID.yaml: one opening, and the branches of its kind."""

    title: OneLine
    kind: Name
    reference: Reference = ""
    own_name: OneLine | None = Field(
        None, description="the name that the subject goes by, for what a rule can read"
    )
    words: list[OneLine] = Field(
        [], description="an answer that keeps to the reference has one of them; for a rule"
    )
    instead: list[OneLine] = Field(
        [], description="one that has given it up has one of these; for a rule"
    )
    opening: Text
    branches: dict[Name, list[BranchStepFile]] = Field(
        description="what follows the reply `opening`; a branch without steps marks that reply "
        "itself"
    )
    reply_tokens: ReplyTokens = SMALL_TALK_TOKENS


class MarkFile(Strict):
    """One mark: what it asks, and its scale ([low, high] or yes_no) or its levels."""

    asks: Text = Field(
        description="of a mark that is given after each reply, {{reply}} stands for the reply's "
        "name"
    )
    scale: Annotated[list[float], Field(min_length=2, max_length=2)] | Literal["yes_no"] | None = (
        None
    )
    whole: bool = Field(False, description="only whole numbers are accepted as marks")
    levels: list[Name] = Field(
        [], description="in place of a scale: the names of which a judge gives one"
    )
    each_reply: bool = Field(False, description="given once for each judged reply, as NAME_REPLY")


class RubricFile(Strict):
    """The top of rubrics/NAME.md, between two lines of three dashes; the rubric's text follows."""

    marks: dict[Name, MarkFile] = Field(min_length=1)


FORMATS: Mapping[str, type[Strict]] = {
    "protocol": ProtocolFile,
    "scenario": ScenarioFile,
    "stem": StemFile,
    "rubric": RubricFile,
}


def make_json_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of each kind of protocol file, for editors: kind (protocol, scenario,
    stem, rubric) -> schema.
    """
    return {name: model.model_json_schema() for name, model in FORMATS.items()}


# (true, file, key, otherwise what is wrong): raises unless true
Need = Callable[[object, str, str, str], None]


def read_mark(file: str, name: str, spec: MarkFile, need: Need) -> Mark:
    """Return the definition of the judge's score *name*, which the rubric in *file* describes by
    *spec*. *need*, which is called with each condition, raises if one is not met.
    """
    key = f"marks.{name}"
    need(name != "analysis", file, key, "is the judge's own text; call the mark something else")
    need(
        spec.scale or spec.levels,
        file,
        f"{key}.scale",
        "is missing; add it: [low, high] or yes_no, or levels in its place",
    )
    need(
        not (spec.scale and spec.levels),
        file,
        f"{key}.levels",
        "stand in place of a scale; delete one",
    )
    if spec.scale is None or spec.scale == "yes_no":
        need(
            not spec.whole,
            file,
            f"{key}.whole",
            f"is for numbers; {spec.scale or 'a level'} has none",
        )
    if spec.scale is None:
        distinct = len(set(spec.levels)) == len(spec.levels) > 1
        need(distinct, file, f"{key}.levels", "should be two or more names, none of them twice")
        return Mark(name, "levels", 0, len(spec.levels) - 1, spec.asks, tuple(spec.levels))
    if spec.scale == "yes_no":
        return Mark(name, "yes_no", 0, 1, spec.asks)
    low, high = spec.scale
    need(low < high, file, f"{key}.scale", f"goes from {low:g} to {high:g}; write [low, high]")
    whole = low.is_integer() and high.is_integer()
    need(
        whole or not spec.whole, file, f"{key}.scale", "has whole: true; write whole numbers there"
    )
    return Mark(name, "whole" if spec.whole else "number", low, high, spec.asks)


class ProtocolTexts:
    """The texts of one protocol's files: which of them were used, and everything that is wrong with
    them.

    *broken*: of files that could not be read, why. A part that is wrong is noted, and the others
    are read on. *unknown*: what becomes of keys that no format has.
    """

    def __init__(
        self,
        files: Files,
        broken: Mapping[str, ProtocolError],
        unknown: Unknown = "forbid",
    ) -> None:
        self.files, self.broken, self.used = files, broken, set[str]()
        self.unknown: Unknown = unknown
        self.problems: list[ProtocolError] = [*broken.values()]
        self.noted = {problem.line for problem in self.problems}

    @contextmanager
    def note_errors(self) -> Iterator[None]:
        """Context manager that adds a ProtocolError raised in its block to `problems` and ends the
        block there; each mistake is added once.
        """
        try:
            yield
        except ProtocolError as error:
            for problem in error.all_errors:
                if problem.line not in self.noted:
                    self.noted.add(problem.line)
                    self.problems.append(problem)

    def parse_text(self, text: str, model: type[M], file: str) -> M:
        """Return *text*, YAML that stands in *file*, as a value of the class *model*. Raises
        ProtocolError with all mistakes in *text*.
        """
        others: list[BenchError] = []
        try:
            wrong = partial(ProtocolError, file)
            return read_yaml(text, model, wrong, others.append, unknown=self.unknown)
        except ProtocolError as error:
            raise ProtocolError(
                error.file,
                error.key,
                error.problem,
                [other for other in others if isinstance(other, ProtocolError)],
            ) from error.__cause__

    def require_true(self, true: object, file: str, key: str, otherwise: str) -> None:
        """Raise ProtocolError for the key *key* of the protocol's *file* unless *true*; *otherwise*
        says what is wrong.
        """
        if not true:
            raise ProtocolError(file, key, otherwise)

    def read_file(self, file: str, wanted_by: str) -> str:
        """Return the text of the protocol's file *file* and count the file as used; *wanted_by*
        says in errors what needs it. Raises ProtocolError if the file is missing or cannot be read.
        """
        if file in self.broken:
            raise self.broken[file]
        if file not in self.files:
            path = PurePosixPath(file)
            siblings = [
                other for other in map(PurePosixPath, self.files) if other.parent == path.parent
            ]
            close = find_similar_names(
                path.stem, [other.stem for other in siblings if str(other) not in self.used]
            )
            meant = (
                f"; did you mean {' or '.join(str(path.with_stem(stem)) for stem in close)}?"
                if close
                else ""
            )
            raise ProtocolError(file, "", f"is missing; {wanted_by} asks for it{meant}")
        self.used.add(file)
        try:
            return check_printable(self.files[file].replace("\r\n", "\n"))
        except ValueError as error:
            raise ProtocolError(file, "", str(error)) from error

    def note_unless_true(self, true: object, file: str, key: str, otherwise: str) -> None:
        """Add a ProtocolError for the key *key* of the protocol's *file* to `problems` unless
        *true*; *otherwise* says what is wrong. Raises nothing.
        """
        with self.note_errors():
            self.require_true(true, file, key, otherwise)
