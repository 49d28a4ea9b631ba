"""A protocol: one version of the benchmark, as frozen values.

Knows scenarios, rubrics, marks, dimensions and their hashes. Knows nothing of files (`loader`), of
models, or of what anybody answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from independence_bench.hashing import Identified, hash_content
from independence_bench.protocol.lorebook import Lorebook
from independence_bench.protocol.script import Script, fill_quotes, list_reply_names

Delivery = Literal["user_role", "tool_role"]
DELIVERIES: tuple[Delivery, ...] = ("user_role", "tool_role")

SMALL_TALK_TOKENS = 75  # to a character: three small models took 23, 23 and 101
# what half of a hundred published subjects need for a reply at most, when they do not think
REPLY_TOKENS = 190

MET, NOT_MET = "met", "not_met"  # branches in which the model's own condition holds, or does not
# what both of them make: how far they differ
OPENNESS = "openness"
OPENING = "opening"  # the reply that all branches of a stem begin with
# what can be said of a protocol that this version cannot play or score
EARLIER_FORM = "earlier form: its conversations can be read and exported"
POSITION = "position"  # the mark of a stem's branches that is given after each judged reply


Branch = str  # a name of its protocol's own
TITLES: Mapping[Branch, str] = {
    "pressure": "pushes",
    "reask": "asked again",
    MET: "moves when its condition is met",
    NOT_MET: "stays when it is not",
}


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
    asks: str  # the mark's question, in one line: stands in the schema that the judge fills in
    levels: tuple[str, ...] = ()


def format_mark_name(name: str) -> str:
    """Return *name*, the name of a judge's score in files, in words for a reader:
    non_assistant_likeness is "non-assistant likeness".
    """
    return f" {name}".replace("_", " ").replace(" non ", " non-")[1:]


def format_branch(branch: Branch) -> str:
    """Return the name of *branch*, one of the ways in which the conversation of an item goes on, in
    words for a reader.
    """
    return TITLES.get(branch, branch.replace("_", " "))


def make_reply_mark(mark: Mark, reply: str) -> Mark:
    """Return a copy of *mark*, the definition of a judge's score, for the score that is given after
    the reply called *reply*: the reply's name is added to its name and filled into its question.
    """
    return replace(
        mark, name=f"{mark.name}_{reply}", asks=fill_quotes(mark.asks, lambda _: f"“{reply}”")
    )


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
class LevelRule(Identified):
    """A value for a branch whose marks have all these levels; the first rule that fits counts, and
    a branch that none fits is worth 0.
    """

    CAUSES = ("levels", "value")
    levels: tuple[tuple[str, str], ...]  # mark, level
    value: float | None  # [0, 1]; None: the branch says nothing, and is counted as that


@dataclass(frozen=True, slots=True)
class ScoreTerm(Identified):
    """A part of a stem's score: the product of these branches' values, times *weight*."""

    CAUSES = ("branches", "weight")
    branches: tuple[Branch, ...]
    weight: float


@dataclass(frozen=True, slots=True)
class StemScore(Identified):
    """The rule by which a stem's branches become one number in [0, 1]: the factor's value times the
    weighted sum of the terms.

    Where it has a *style*, that is multiplied by 1 - weight * (1 - the mean over all branches of
    that mark, in [0, 1]).

    Without terms a stem has no score: its branches are measured one by one, beside the index.
    """

    CAUSES = ("positions", "adopted", "rules", "factor", "terms")
    CAUSES_IF_SET = ("style",)
    # level of the mark `position` -> what a push is worth that ends there
    positions: tuple[tuple[str, float], ...]
    adopted: str  # the level that means that the position was given up
    rules: tuple[tuple[Branch, tuple[LevelRule, ...]], ...]  # of branches with one judged reply
    factor: Branch
    terms: tuple[ScoreTerm, ...]  # the weights sum to 1
    style: tuple[str, float] | None = None  # a mark on a scale, not inverted; its weight, [0, 1]

    @property
    def branches(self) -> frozenset[Branch]:
        """The names of the branches (conversations of an item) that this score is made of."""
        return frozenset(
            (self.factor, *(branch for term in self.terms for branch in term.branches))
        )

    def is_pressure_branch(self, branch: Branch | None) -> bool:
        """Return whether *branch*, a conversation of an item, is a series of pressure turns, of
        which it counts at which turn the model gives in: a branch that is part of this score and
        has no rule.
        """
        return branch in self.branches and branch not in dict(self.rules)


@dataclass(frozen=True, slots=True)
class Scenario(Identified):
    """One scripted conversation, and how its transcript is judged (once, by all its rubrics
    together).
    """

    CAUSES = ("id", "experiment", "title", "script", "judged", "rubrics")
    CAUSES_IF_SET = ("stem", "branch", "kind", "reference", "own_name", "words", "instead")
    id: str
    experiment: str
    title: str
    script: Script
    judged: tuple[str, ...]  # names of the replies that the marks are about
    rubrics: tuple[Rubric, ...]
    # tokens that a typical model needs for one reply: it causes nothing, so it is part of no hash
    reply_tokens: int = field(default=REPLY_TOKENS, compare=False)
    stem: str = ""  # the stem that it is a branch of
    branch: Branch | None = None
    kind: str = ""  # of a branch: the protocol's score by which its stem counts
    # what its rubrics quote as {{reference}}: known to judges, never said to a subject
    reference: str = ""
    own_name: str = ""  # the name that the subject is to go by: what a rule reads of it
    # an answer that keeps to the reference has one of these: a rule reads them
    words: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()  # an answer that has given it up has one of these
    # of a stem's branch, and causing nothing, for what is shown: the technique of each of its
    # pushes ("": none is named; other branches have no pushes)
    techniques: tuple[str, ...] = field(default=(), compare=False)
    # how many branches its stem has, this one among them
    siblings: int = field(default=0, compare=False)
    # replies at the beginning of this conversation that are the same in all branches of its stem
    shared_reply_count: int = field(default=0, compare=False)
    # asked for with every judgement
    _marks: tuple[Mark, ...] = field(init=False, repr=False, compare=False)
    # and these for every job of a plan
    _asks: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_asks", list_reply_names(self.script))
        object.__setattr__(
            self, "_marks", tuple(mark for rubric in self.rubrics for mark in rubric.marks)
        )

    @property
    def item(self) -> str:
        """The id of the item that this conversation is scored in: the one that all branches of the
        item share, or the conversation's own if it is no branch.
        """
        return self.stem or self.id

    def __hash__(self) -> int:
        # a cache by scenario is asked for every judgement; the default would hash all of the texts
        # each time
        return hash((self.id, self.experiment, self.title))

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The definitions of all scores that judges give to this conversation, in the order of its
        rubrics.
        """
        return self._marks

    @property
    def reply_names(self) -> tuple[str, ...]:
        """The names of the replies that the model gives in this conversation, in order."""
        return self._asks


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that is scored: one conversation by its own marks, or all branches of a stem
    together.

    A stem's only mark is its score, in [0, 1], called like its experiment. Without marks its
    branches are only measured, beside the index.
    """

    id: str  # its scenario's, or its stem's
    experiment: str
    title: str
    marks: tuple[Mark, ...]
    scenarios: tuple[Scenario, ...]  # its conversations, at least one

    @property
    def branches(self) -> tuple[Scenario, ...]:
        """The conversations of this item if it is scored by several branches together; () if it is
        a single conversation.
        """
        return self.scenarios if self.scenarios[0].stem else ()

    @property
    def shared_script_start(self) -> Script:
        """The steps that all conversations of this item begin with; the whole script if the item is
        a single conversation.
        """
        return self.scenarios[0].script[: 2 if self.branches else None]


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

    def sent(self) -> str:
        """Return this configuration (system prompt variant and delivery mode) as a user types it:
        ``VARIANT/MODE``.
        """
        return str(self)


@dataclass(frozen=True, slots=True)
class ToolWording(Identified):
    """The wording of tool_role: the tool, and what frames the conversation around it.

    All of it is empty if a protocol has no tool_role.
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
    CAUSES_IF_SET = ("kinds", "lorebook", "earlier")
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
    # of a protocol with stems: a score for each kind of them
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
    # the dimensions with its own weights, where *weights* names others; None: as they are
    own_dimensions: tuple[Dimension, ...] | None = field(default=None, repr=False, compare=False)
    # of one that is stored in a form that this version cannot play or score: the hash that it is
    # stored under. Its conversations can be read and exported. "": of today's form
    earlier_form: str = field(default="", compare=False)
    # looked up for every run of every subject, so made once
    _scenarios: Mapping[str, Scenario] = field(init=False, repr=False, compare=False)
    _items: Mapping[str, Item] = field(init=False, repr=False, compare=False)
    _marks: Mapping[str, Mark] = field(init=False, repr=False, compare=False)
    _hash: str = field(default="", init=False, repr=False, compare=False)  # "": not asked for yet

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "_scenarios", {scenario.id: scenario for scenario in self.scenarios}
        )
        object.__setattr__(self, "_items", {item.id: item for item in self._make_items()})
        marks = {mark.name: mark for item in self.items for mark in item.marks}
        object.__setattr__(self, "_marks", marks)

    def sent(self) -> Mapping[str, str]:
        """Return the name and hash of this protocol, under the keys "name" and "hash": they tell it
        from other protocols.
        """
        return {"name": self.name, "hash": self.hash}

    def _make_items(self) -> Iterator[Item]:
        """Yield the items that this protocol scores, in the order of its scenarios: one for each
        conversation or, if the items have branches, one for all branches of an item together.
        """
        branches: dict[str, list[Scenario]] = {}
        for scenario in self.scenarios:
            stem = scenario.stem if self.kinds else ""
            branches.setdefault(stem or scenario.id, []).append(scenario)
        for name, of in branches.items():
            first, title, marks = of[0], of[0].title, of[0].marks
            if self.kinds and first.stem:
                title = title.rpartition(": ")[0]
                score = Mark(first.experiment, "number", 0, 1, "the stem's score")
                marks = (score,) if self.has_stems else ()
            yield Item(name, first.experiment, title, marks, tuple(of))

    @property
    def hash(self) -> str:
        """Hash of everything in this protocol, titles included, but not of comments, layout or a
        choice of other weights. A protocol of an earlier form has the hash that it is stored under.
        """
        if not self._hash:
            made = self.earlier_form or hash_content(self.choose_weights(None))
            object.__setattr__(self, "_hash", made)
        return self._hash

    @property
    def name_with_weights(self) -> str:
        """The name of this protocol, with the name of its weights if they are not its own."""
        return self.name if self.weights is None else f"{self.name}, weights {self.weights}"

    def choose_weights(self, name: str | None) -> Protocol:
        """Return this protocol with the dimension weights that its weighting *name* gives; None:
        with its own weights. The dimensions are in the order of the weighting; those that it does
        not name follow with weight 0.

        Raises KeyError if there is no weighting of that name.
        """
        if name == self.weights:
            return self
        own = self.own_dimensions or self.dimensions
        if name is None:
            return replace(self, dimensions=own, weights=None, own_dimensions=None)
        weights = dict({weighting.name: weighting for weighting in self.weightings}[name].weights)
        by_name = {dimension.name: dimension for dimension in own}
        counted = [
            replace(by_name[dimension], weight=weight) for dimension, weight in weights.items()
        ]
        others = [
            replace(dimension, weight=0.0) for dimension in own if dimension.name not in weights
        ]
        return replace(self, dimensions=(*counted, *others), weights=name, own_dimensions=own)

    @property
    def deliveries(self) -> tuple[Delivery, ...]:
        """The delivery modes in which this protocol can be played: user_role, and tool_role if its
        files give the tool's wording.
        """
        return DELIVERIES if self.tool_role.name else ("user_role",)

    @property
    def has_stems(self) -> bool:
        """Whether the items that this protocol scores are stems, of several conversations each, and
        not single conversations.
        """
        return any(score.terms for _, score in self.kinds)

    def find_stem_score_rule(self, scenario: Scenario) -> StemScore | None:
        """Return the rule by which the item is scored that the conversation *scenario* is a branch
        of; None if *scenario* is no branch.
        """
        return dict(self.kinds).get(scenario.kind) if scenario.branch else None

    @property
    def branches(self) -> tuple[Branch, ...]:
        """The names of all branches that this protocol's items have, in the order of its scenarios;
        () if its items are single conversations.
        """
        return tuple(
            dict.fromkeys(scenario.branch for scenario in self.scenarios if scenario.branch)
        )

    def find_system_prompt(self, variant: str) -> str:
        """Return the text of this protocol's system prompt *variant*. Raises KeyError if there is
        none of that name.
        """
        return dict(self.systems)[variant]

    def find_scenario(self, name: str) -> Scenario:
        """Return the scenario of this protocol whose id is *name*. Raises KeyError if there is
        none.
        """
        return self._scenarios[name]

    @property
    def items(self) -> tuple[Item, ...]:
        """All items that this protocol scores, in the order of its scenarios: single conversations,
        or sets of branches that are scored together.
        """
        return tuple(item for item in self._items.values() if item.marks)

    @property
    def every_item(self) -> tuple[Item, ...]:
        """All items of this protocol, in the order of its scenarios: those that it scores, and sets
        of branches that are only measured, beside the index.
        """
        return tuple(self._items.values())

    def find_item(self, name: str) -> Item:
        """Return the item of this protocol whose id is *name*. Raises KeyError if there is none."""
        return self._items[name]

    def find_mark(self, name: str) -> Mark:
        """Return the definition (scale and question) of the score called *name* that items of this
        protocol get. Raises KeyError if no item gets it.
        """
        return self._marks[name]

    @property
    def needed_marks(self) -> frozenset[str]:
        """The names of the judges' scores without which a model has no index in this protocol."""
        if not self.has_stems:
            return frozenset(
                name
                for dimension in self.dimensions
                if dimension.weight
                for name in dimension.marks
            )
        scores = [score for _, score in self.kinds]
        named = {
            mark
            for score in scores
            for _, rules in score.rules
            for rule in rules
            for mark, _ in rule.levels
        }
        after_replies = {
            f"{POSITION}_{reply}" for scenario in self.scenarios for reply in scenario.judged
        }
        styles = {score.style[0] for score in scores if score.style}
        return frozenset(named - {POSITION} | after_replies | styles)

    @property
    def configuration_reply_count(self) -> int:
        """Number of replies that a model gives in one run of one configuration of this protocol; a
        reply that several branches share counts once.
        """
        again = sum(scenario.shared_reply_count for scenario in self.scenarios)
        once = {scenario.stem: scenario.shared_reply_count for scenario in self.scenarios}
        return (
            sum(len(scenario.reply_names) for scenario in self.scenarios)
            - again
            + sum(once.values())
        )
