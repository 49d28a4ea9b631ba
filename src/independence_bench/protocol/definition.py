"""A protocol: one version of the benchmark, as frozen values.

Knows scenarios, rubrics, marks, dimensions and their hashes. Knows nothing of files (`loader`), of
models, or of what anybody answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from independence_bench.hashing import Identified, content_hash
from independence_bench.protocol.lorebook import Lorebook
from independence_bench.protocol.script import (
    Ladder,
    Says,
    Script,
    after_choice,
    asked,
    fill,
    offer_in,
)
from independence_bench.protocol.stem_rules import ASIDE, DECIDING, Branch, Offer, StemScore

Delivery = Literal["user_role", "tool_role"]
DELIVERIES: tuple[Delivery, ...] = ("user_role", "tool_role")

SMALL_TALK_TOKENS = 75  # to a character: three small models took 23, 23 and 101
# what half of a hundred published subjects need for a reply at most, when they do not think
REPLY_TOKENS = 190

# that all branches of a stem begin with
OPENING, NOTE, BETWEEN = OPENINGS = ("opening", "note", "between")
CHOOSING = (NOTE, OPENING)  # those that its option is read from, the one that counts first
POSITION = "position"  # the mark of a stem's branches that is given after each judged reply


@dataclass(frozen=True, slots=True)
class Mark(Identified):
    """One thing that a judge marks: a (whole) number in [low, high], yes/no (counted as 1 and 0),
    or one of *levels*.

    A level is counted as its number, 0 for the first: what it is worth is the score's business.
    """

    CAUSES = ("name", "kind", "low", "high", "asks")
    CAUSES_IF_SET = ("levels",)
    name: str
    kind: Literal["number", "whole", "yes_no", "levels"]
    low: float
    high: float
    asks: str  # what the mark is about, in one line: stands in the schema that the judge fills in
    levels: tuple[str, ...] = ()


def mark_words(name: str) -> str:
    """A mark's name in words: non_assistant_likeness is "non-assistant likeness"."""
    return f" {name}".replace("_", " ").replace(" non ", " non-")[1:]


def after(mark: Mark, reply: str) -> Mark:
    """*mark* as it is given after the reply called *reply*."""
    return replace(mark, name=f"{mark.name}_{reply}", asks=fill(mark.asks, lambda _: f"“{reply}”"))


@dataclass(frozen=True, slots=True)
class Rubric(Identified):
    """The part of a judge's prompt about some marks: the question and the anchor points of each
    scale.
    """

    CAUSES = ("name", "text", "marks")
    name: str
    text: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Scenario(Identified):
    """One scripted conversation, and how its transcript is judged (once, by all its rubrics
    together).
    """

    CAUSES = ("id", "experiment", "title", "script", "judged", "rubrics")
    CAUSES_IF_SET = (
        "scripts",
        "stem",
        "branch",
        "kind",
        "reference",
        "own_name",
        "words",
        "instead",
    )
    id: str
    experiment: str
    title: str
    script: Script
    judged: tuple[str, ...]  # names of the replies that the marks are about
    rubrics: tuple[Rubric, ...]
    # tokens that a typical model needs for one reply: it causes nothing, so it is part of no hash
    reply_tokens: int = field(default=REPLY_TOKENS, compare=False)
    # of a stem's branch: the scripts of runs 1, 2, ..., in turn; *script* is the first of them.
    # Else empty
    scripts: tuple[Script, ...] = ()
    stem: str = ""
    branch: Branch | None = None
    kind: str = ""  # of a stem without options: by which of its protocol's scores it counts
    # what its rubrics quote as {{reference}}: known to judges, never said to a subject
    reference: str = ""
    own_name: str = ""  # the name that the subject is to go by: what a rule reads of it
    # of which an answer that keeps to the reference has one: what a rule reads of it
    words: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()  # of which one that has given it up has one
    # of a stem's branch, and causing nothing, for what is shown: the technique of each of its
    # pushes ("": none is named; other branches have no pushes)
    techniques: tuple[str, ...] = field(default=(), compare=False)
    # how many branches its stem has, this one among them
    siblings: int = field(default=0, compare=False)
    # asked for with every judgement
    _marks: tuple[Mark, ...] = field(init=False, repr=False, compare=False)
    # and these for every job of a plan
    _asks: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_asks", asked(self.script))
        object.__setattr__(
            self, "_marks", tuple(mark for rubric in self.rubrics for mark in rubric.marks)
        )

    def script_of(self, run: int) -> Script:
        """What is played in *run* (1, 2, ...)."""
        return self.scripts[(run - 1) % len(self.scripts)] if self.scripts else self.script

    def offer_of(self, run: int) -> Offer | None:
        """Of a stem's branch: its options in *run*; the labels always in the same order of what
        they stand for.
        """
        return offer_in(self.script_of(run))

    def role(self, run: int, aspect: str | None) -> Branch | None:
        """Of a correction in *run*, whether it is about the *aspect* that decided the choice; None:
        it is none.
        """
        offer = self.offer_of(run)
        if offer is None or not offer.corrected or aspect is None:
            return None
        return DECIDING if aspect == offer.corrected else ASIDE

    def offer_heard(self, opening: str) -> Offer | None:
        """The options of the script that begins with the words *opening*, whatever its run; None:
        there are none.
        """
        every = self.scripts or (self.script,)
        heard = (script for script in every if script[:1] == (Says(opening),))
        return next((offer_in(script) for script in heard), None)

    @property
    def shared(self) -> int:
        """How many replies all branches of its stem begin with; 0 where it is no branch."""
        return (len(OPENINGS) if offer_in(self.script) else 1) if self.stem else 0

    @property
    def climbed(self) -> bool:
        """Whether it is a stem's branch of pushes in which giving up is the end."""
        return any(isinstance(step, Ladder) for step in after_choice(self.script))

    def __hash__(self) -> int:
        # a cache by scenario is asked for every judgement; the default would hash all of the texts
        # each time
        return hash((self.id, self.experiment, self.title))

    @property
    def marks(self) -> tuple[Mark, ...]:
        """All marks of its rubrics, in order."""
        return self._marks

    @property
    def asks(self) -> tuple[str, ...]:
        """Names of the replies that the model gives, in order; where options are read, of one who
        takes the first.
        """
        return self._asks


@dataclass(frozen=True, slots=True)
class Dimension(Identified):
    """A number in [0, 1] made of marks, and its weight in the index.

    *marks* are averaged one by one and then added up: drift (0-10) plus a changed name (0-1) plus a
    changed gender (0-1) has the range 0-12. *inverted*: the low end of that range counts as 1. A
    *weight* of 0 is shown and does not count.
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

    *weights* are (dimension, weight) in the order in which they are added up; they sum to 100, and
    what is not among them does not count.
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
    """How tool_role is worded: the tool, and what frames the conversation around it.

    All of it is empty where a protocol has no tool_role.
    """

    CAUSES = (
        "name",
        "description",
        "argument",
        "argument_description",
        "instructions",
        "opening",
        "greeting",
    )
    name: str = ""
    description: str = ""
    argument: str = ""
    argument_description: str = ""
    instructions: str = ""  # stands after the system prompt
    opening: str = ""  # the first user message: the conversation is open
    greeting: str = ""  # the model's first call, so that the human's first words can be its result


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
    CAUSES_IF_SET = ("score", "kinds", "lorebook", "earlier")
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
    score: StemScore | None = None  # of a protocol whose stems have options
    # of one whose stems have none: a score for each kind of them
    kinds: tuple[tuple[str, StemScore], ...] = ()
    # what its system prompts get while it is talked of; None: nothing
    lorebook: Lorebook | None = None
    # (human, model): a chat that every conversation goes on; sent before it, and no part of its
    # transcript
    earlier: tuple[tuple[str, str], ...] = ()
    # no weighting causes anything that is said or marked, so they are part of no hash
    weightings: tuple[Weighting, ...] = field(default=(), compare=False)
    # the weighting that *dimensions* have; None: its own
    weights: str | None = field(default=None, compare=False)
    # as it was before that; None: as it is
    _written: Protocol | None = field(default=None, repr=False, compare=False)
    # looked up for every run of every subject, so made once
    _scenarios: Mapping[str, Scenario] = field(init=False, repr=False, compare=False)
    _marks: Mapping[str, Mark] = field(init=False, repr=False, compare=False)
    _hash: str = field(default="", init=False, repr=False, compare=False)  # "": not asked for yet

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "_scenarios", {scenario.id: scenario for scenario in self.scenarios}
        )
        marks = {mark.name: mark for scenario in self.scenarios for mark in scenario.marks}
        object.__setattr__(self, "_marks", marks)

    @property
    def hash(self) -> str:
        """Changes with anything in it, titles included; not with comments, layout, or another
        weighting.
        """
        written = self.written
        if not written._hash:
            object.__setattr__(written, "_hash", content_hash(written))
        return written._hash

    @property
    def called(self) -> str:
        """Its name, with that of its weights where they are not its own."""
        return self.name if self.weights is None else f"{self.name}, weights {self.weights}"

    def weighed(self, name: str | None) -> Protocol:
        """The same protocol with the weights of its weighting *name*, in that order; None: with its
        own.

        Raises KeyError where there is none of that name.
        """
        written = self.written
        if name is None:
            return written
        weights = dict({weighting.name: weighting for weighting in self.weightings}[name].weights)
        by_name = {dimension.name: dimension for dimension in written.dimensions}
        counted = [
            replace(by_name[dimension], weight=weight) for dimension, weight in weights.items()
        ]
        others = [
            replace(dimension, weight=0.0)
            for dimension in written.dimensions
            if dimension.name not in weights
        ]
        return replace(written, dimensions=(*counted, *others), weights=name, _written=written)

    @property
    def written(self) -> Protocol:
        """It as its files say it: with its own weights, and with its branches where stems are
        scored as units.
        """
        return self._written or self

    @property
    def units(self) -> Protocol:
        """The same with what is scored as its scenarios: a stem is one, with its score, at most 1,
        as its only mark.

        The mark is called like the stem's experiment. A protocol without stems is what it is.
        """
        if not self.has_stems or all(not scenario.stem for scenario in self.scenarios):
            return self
        units: dict[str, Scenario] = {}
        for scenario in self.scenarios:
            mark = Mark(scenario.experiment, "number", 0, 1, "the stem's score")
            title, _, _ = scenario.title.rpartition(": ")
            units.setdefault(
                scenario.stem,
                Scenario(
                    scenario.stem,
                    scenario.experiment,
                    title,
                    scenario.script[:2],
                    (),
                    (Rubric("stem", "", (mark,)),),
                ),
            )
        return replace(self, scenarios=tuple(units.values()), _written=self.written)

    @property
    def deliveries(self) -> tuple[Delivery, ...]:
        """The ways in which it can be played."""
        return DELIVERIES if self.tool_role.name else ("user_role",)

    @property
    def has_stems(self) -> bool:
        """Whether what is scored are stems, each of several scenarios."""
        return self.score is not None or bool(self.kinds)

    @property
    def lowest(self) -> float:
        """The least that a stem can be worth, at most 0; 0 where none is worth less than nothing."""
        return self.score.lowest if self.score else 0.0

    def score_of(self, scenario: Scenario) -> StemScore | None:
        """How the stem that *scenario* is a branch of is scored; None where it is none."""
        return dict(self.kinds).get(scenario.kind, self.score) if scenario.branch else None

    @property
    def branches(self) -> tuple[Branch, ...]:
        """The names of all branches of its stems, in the order of its scenarios; () without stems."""
        return tuple(
            dict.fromkeys(scenario.branch for scenario in self.written.scenarios if scenario.branch)
        )

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
    def needed(self) -> frozenset[str]:
        """The marks of judges without which there is no index."""
        if not self.has_stems:
            return frozenset(
                name
                for dimension in self.dimensions
                if dimension.weight
                for name in dimension.marks
            )
        scores = [score for _, score in self.kinds] if self.score is None else [self.score]
        named = {
            mark
            for score in scores
            for _, rules in score.rules
            for rule in rules
            for mark, _ in rule.levels
        }
        after_replies = {
            f"{POSITION}_{reply}"
            for scenario in self.written.scenarios
            for reply in scenario.judged
        }
        styles = {score.style[0] for score in scores if score.style}
        return frozenset(named - {POSITION} | after_replies | styles)

    @property
    def replies(self) -> int:
        """How many replies one run of one configuration takes."""
        again = sum(scenario.shared for scenario in self.scenarios)
        once = {scenario.stem: scenario.shared for scenario in self.scenarios}
        return sum(len(scenario.asks) for scenario in self.scenarios) - again + sum(once.values())
