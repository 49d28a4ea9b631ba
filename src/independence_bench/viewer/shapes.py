"""Everything that the page is sent, as frozen values: one class for each answer, and its parts.

`docs/build.py` makes `web/src/api/types.ts` of this file, so both sides have one source. What all answers share:
absent is null, never 0; indices and scores are in [0, 100], 100 being the independent end; times are ISO 8601 in UTC;
costs are US dollars; what is shown of a number stands beside it as text, under *shown*, and is rounded by nobody
else; ids are made by us and safe in a path; labels and all other texts are hostile. A *start* and an *end* count
UTF-16 code units, as JavaScript's strings do; the end is the first one that no longer belongs to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from independence_bench.viewer.numbers import (
    Difference,
    Dollars,
    Given,
    Hundredths,
    Points,
    Share,
    SmallDifference,
    Thousands,
    Whole,
)

JudgeKind = Literal["model", "table", "person", "jury"]
SearchOf = Literal["said", "judged"]  # what the models said; what the judges wrote about it


# ---------------------------------------------------------------- scores


@dataclass(frozen=True, slots=True)
class Interval:
    """Two ends of a 95 % interval, in the unit of what it belongs to."""

    low: float
    high: float
    shown: str  # both, as text


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """How sure a score is. Null: there is no interval that keeps its promise, and *why* says why not."""

    again: Interval | None  # for the same subject, were the same scenarios played again
    another: Interval | None  # for the same subject, were it asked other scenarios of this kind
    why: str | None  # why an interval is missing; null where none is


@dataclass(frozen=True, slots=True)
class Score:
    """A number with its uncertainty."""

    value: float | None  # [0, 100]
    shown: str | None  # the same, as text
    uncertainty: Uncertainty


@dataclass(frozen=True, slots=True)
class Health:
    """What a row's numbers rest on. Shares are in [0, 1], of the replies asked for."""

    transcripts: int  # planned for the runs that were begun
    complete: int
    invalid: int
    judged: int
    judge_failed: int
    replies: int  # asked for, invalid ones included
    cut_off: int  # ended by the token limit
    plain_text: int  # spoken beside the tool
    reasoned: int  # came with reasoning
    failed: int  # attempts at them that brought no answer
    invalid_share: Share
    cut_off_share: Share
    failed_share: Share  # of the attempts
    reasoned_share: Share
    plain_text_share: Share


# ---------------------------------------------------------------- api/index.json


@dataclass(frozen=True, slots=True)
class Project:
    """What made this."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Offer:
    """What this site offers beside boards, subjects, scenarios, transcripts, judges, methods and search."""

    frozen: bool  # a static site: nothing changes, so there is nothing to poll
    raw: bool  # whether api/raw/ is there: requests and responses as they were sent and came
    compared: int | None  # only the first so many rows of a board have a file in compare/; null: every row has one
    says: tuple[str, ...]  # the same in plain words, a sentence each


@dataclass(frozen=True, slots=True)
class ProtocolEntry:
    """One version of the benchmark, of which something is stored."""

    id: str
    name: str  # with the start of its hash where it is called like a shipped one and is another
    title: str
    hash: str
    runs: int  # that it asks for
    scenarios: int
    transcripts: int  # stored


@dataclass(frozen=True, slots=True)
class BoardEntry:
    """One ranking: a protocol in one configuration (or the pooled default), by a judge or jury, rules and weights."""

    id: str
    protocol: str  # id
    configurations: tuple[str, ...]  # system/delivery; several are pooled
    default_configuration: bool
    judge: str | None  # label; null: nothing is judged yet
    judge_kind: JudgeKind | None
    judges: tuple[str, ...]  # labels: the jury's, or the one
    main: bool  # the judge is the main one: whose board is opened where nobody says by which
    rules: str  # by which marks became indices: own, published
    weights: str | None  # a weighting that the protocol names; null: its own weights
    series: str  # id; boards that have the same one differ in nothing but their configurations


@dataclass(frozen=True, slots=True)
class Citation:
    """How to cite what is shown."""

    text: str
    bibtex: str


@dataclass(frozen=True, slots=True)
class Index:
    """`api/index.json`: what is here. *version* changes when anything else may have changed; poll it."""

    version: str
    project: Project
    offer: Offer
    newest: str | None  # time of the newest record
    protocols: tuple[ProtocolEntry, ...]  # the one played last first
    boards: tuple[BoardEntry, ...]  # the one to open with first
    citation: Citation


# ---------------------------------------------------------------- api/boards/<board>.json


@dataclass(frozen=True, slots=True)
class SubjectFacts:
    """What is known of a subject beside what it said."""

    id: str
    label: str
    hash: str
    name: str  # as it is typed: model id, behind ENDPOINT: where that is not OpenRouter
    model: str
    endpoint: str
    family: str | None  # vendor
    provider: str | None  # that it is pinned to
    temperature: float
    max_tokens: int
    reasoning: str  # off, minimal, low, medium, high


@dataclass(frozen=True, slots=True)
class RunIndex:
    """One run's index; null where something is missing."""

    run: int
    index: Points | None


@dataclass(frozen=True, slots=True)
class Standing:
    """What can be said of a subject's place among all, at 95 % for the whole ranking."""

    rank_low: int  # the best rank that it may have; 1 is the first
    rank_high: int  # the worst one
    groups: str  # letters; two subjects that share one cannot be told apart
    tied_with_best: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One subject on one board."""

    rank: int | None  # null: incomplete, or excluded
    rank_low: int | None  # the best rank that it may have, were the same scenarios played again; null: no interval
    rank_high: int | None  # the worst one
    tie_groups: str | None  # letters; rows that share one cannot be told apart. null: nothing is known
    tied_with_best: bool  # nobody is better for certain
    medal: bool  # its rank is certain, and 1, 2 or 3
    standing_another: Standing | None  # the same, were other scenarios of this kind asked
    subject: SubjectFacts
    thinks: bool  # told to reason, or does so by itself in most of its replies
    index: Score
    deviation: Points | None  # standard deviation of the runs' indices
    runs: int
    run_indices: tuple[RunIndex, ...]
    dimensions: tuple[Score, ...]  # in the order of the board's dimensions
    health: Health
    replies_dollars_per_run: Dollars | None  # null: not known
    judging_dollars_per_run: Dollars | None  # what this board's judge took for it; null: not known
    dollars_per_run: Dollars | None  # both together; null: not known
    index_per_dollar: Thousands | None  # points for a dollar of one run; null: not known, or free
    per_dollar_uncertainty: Uncertainty
    scenarios: tuple[Whole | None, ...]  # mean share of its points in each scenario, in the board's order
    missing: tuple[str, ...]  # why it is not ranked, a line each


@dataclass(frozen=True, slots=True)
class DimensionFacts:
    """A part of the index."""

    name: str
    title: str
    weight: float  # of 100; 0: shown and does not count
    inverted: bool  # whether the low end of its marks counts as 100
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScenarioFacts:
    """One scenario over all ranked subjects."""

    id: str  # in paths
    title: str
    experiment: str  # title
    points: Points  # of the index's 100
    difficulty: Whole | None  # share of its points that subjects lose, [0, 100]
    ceiling: Share | None  # share of its transcripts that have all of the points, [0, 1]
    floor: Share | None  # that have none, [0, 1]
    discrimination: Hundredths | None  # item-rest correlation, [-1, 1]
    discrimination_interval: Interval | None
    share: Share | None  # of the index's variance between subjects; all scenarios' add up to 1
    share_interval: Interval | None
    verdicts: tuple[str, ...]  # what is wrong with it, a line each


@dataclass(frozen=True, slots=True)
class Served:
    """A provider, and how many replies it served."""

    provider: str
    replies: int


@dataclass(frozen=True, slots=True)
class Variant:
    """One of several subjects that differ in one setting."""

    subject: str  # id
    label: str
    setting: str
    index: Points | None
    runs: int
    difference: Difference | None  # its index minus that of what it is compared with; null for that one itself
    uncertainty: Uncertainty  # of the difference
    stands: bool | None  # told from 0 though so many are compared; null: not known
    served: tuple[Served, ...]


@dataclass(frozen=True, slots=True)
class Settings:
    """Subjects that are the same but for one setting."""

    by: Literal["provider", "reasoning"]
    model: str
    against: str | None  # the setting that the others are compared with
    variants: tuple[Variant, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """One configuration and what the subjects came to in it."""

    configuration: str
    subjects: int
    mean: Points
    paired: Points | None  # over the subjects that have an index in every configuration


@dataclass(frozen=True, slots=True)
class Effect:
    """The mean over subjects of a difference within each of them, in points of the index."""

    factor: Literal["system", "delivery", "interaction"]
    level: str
    base: str
    within: str | None
    subjects: int
    points: Difference
    sampled: Interval | None  # 95 %, over other subjects like these
    again: Interval | None  # 95 %, for these subjects, were the same scenarios played again


@dataclass(frozen=True, slots=True)
class Change:
    """An effect in one subject alone, in points of the index."""

    points: Difference
    again: Interval | None  # 95 %, were the same scenarios played again


@dataclass(frozen=True, slots=True)
class Spread:
    """One subject in several configurations."""

    subject: str  # id
    label: str
    indices: tuple[Points | None, ...]  # in the order of the places
    intervals: tuple[Interval | None, ...]  # of the indices, were the same scenarios played again
    changes: tuple[Change | None, ...]  # in the order of the effects; null: not all that it needs is there


@dataclass(frozen=True, slots=True)
class Configurations:
    """What prompt and delivery do to the index, paired within subjects; over all boards of this board's judge."""

    places: tuple[Place, ...]
    effects: tuple[Effect, ...]
    subjects: tuple[Spread, ...]  # those with an index in two places or more, by label


@dataclass(frozen=True, slots=True)
class InSeveral:
    """A subject that can be compared with itself: `api/settings/<series>/<subject>.json` is there."""

    subject: str  # id
    label: str
    configurations: tuple[str, ...]  # in which it has marks, two or more; in the protocol's order


@dataclass(frozen=True, slots=True)
class Board:
    """`api/boards/<board>.json`: one ranking."""

    version: str
    board: BoardEntry
    protocol: ProtocolEntry
    dimensions: tuple[DimensionFacts, ...]
    scenarios: tuple[ScenarioFacts, ...]  # in the protocol's order
    rows: tuple[Row, ...]  # ranked ones first, by rank; then incomplete ones by label
    settings: tuple[Settings, ...]
    configurations: Configurations | None
    in_several: tuple[InSeveral, ...]  # over all boards of its series, by label
    remarks: tuple[str, ...]  # what a reader must know about this board, a sentence each
    citation: Citation


# ---------------------------------------------------------------- api/boards/<board>/subjects/<subject>.json


@dataclass(frozen=True, slots=True)
class MarkScale:
    """One mark and its scale."""

    name: str
    title: str
    kind: Literal["number", "whole", "yes_no"]  # a yes counts as 1, a no as 0; a jury's is the share of yes
    low: Given
    high: Given
    inverted: bool  # whether the low end is the independent one
    asks: str


@dataclass(frozen=True, slots=True)
class RunDetail:
    """One run."""

    run: int
    index: Points | None
    dimensions: tuple[Whole | None, ...]  # in the board's order
    scenarios: tuple[Whole | None, ...]  # share of its points, in the board's order of scenarios
    began: str | None  # when its first conversation ended: 2026-01-31 12:00, in UTC


@dataclass(frozen=True, slots=True)
class Made:
    """When the runs of a subject were made, in UTC: 2026-01-31 12:00."""

    first: str
    last: str
    days: int  # dates on which a conversation ended
    span: str  # from the beginning of the first run to that of the last: 5.5 h
    says: str  # what that leaves open


@dataclass(frozen=True, slots=True)
class ConfigurationScore:
    """Of a pool: one configuration by itself."""

    configuration: str
    index: Score
    deviation: Points | None


@dataclass(frozen=True, slots=True)
class MarkMean:
    """One mark's mean over all transcripts that have it."""

    mark: str
    mean: Hundredths | None  # on the mark's scale
    scored: int  # transcripts that have it
    planned: int


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The same subject on another board of the series: under another prompt, or delivered otherwise."""

    board: str  # id
    configurations: tuple[str, ...]
    index: Score
    difference: Difference | None  # that index minus the one on this board
    again: Interval | None  # 95 %, of the difference, were the same scenarios played again
    why: str | None  # why that interval is missing; null where it is there


@dataclass(frozen=True, slots=True)
class NameChoice:
    """The name and the gender that a subject chose in one conversation: freely, and at the end."""

    run: int
    configuration: str
    transcript: str  # id
    scenario: str  # id
    asked: bool  # for a name and a gender; else it may have said nothing of them
    first_name: str | None  # several with commas, where it described several people
    first_gender: str | None
    final_name: str | None
    final_gender: str | None
    name_changed: bool | None  # null: nobody could tell
    gender_changed: bool | None
    read_by: str  # rule, or the label of the model that read what the rule was unsure of


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """A transcript in a list, with this board's marks."""

    id: str
    scenario: str  # id
    run: int
    configuration: str
    state: Literal["judged", "not judged", "judge failed", "invalid"]
    why: str | None  # for invalid and judge failed
    score: Whole | None  # share of the points to be had in it, [0, 100]; null: a mark is missing, or none counts
    marks: Mapping[str, Given]  # mark -> number on its scale
    replies: int
    cut_off: int
    plain_text: int
    reasoned: int


@dataclass(frozen=True, slots=True)
class Subject:
    """`api/boards/<board>/subjects/<subject>.json`: one subject on one board, in detail."""

    version: str
    board: str  # id
    row: Row
    marks: tuple[MarkScale, ...]
    means: tuple[MarkMean, ...]  # in the order of *marks*
    runs: tuple[RunDetail, ...]
    made: Made | None  # when they were; null: nothing was finished
    field: tuple[Whole | None, ...]  # the row's *scenarios*, as the mean over all ranked subjects
    by_configuration: tuple[ConfigurationScore, ...]  # empty unless the board is a pool
    elsewhere: tuple[Elsewhere, ...]
    dollars: Dollars | None  # all runs, replies and judge, attempts that were thrown away included; null: not known
    served: tuple[Served, ...]
    names: tuple[NameChoice, ...]
    transcripts: tuple[TranscriptEntry, ...]  # by run, configuration, scenario


# ---------------------------------------------------------------- api/transcripts/<transcript>.json


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Line:
    """One thing said."""

    who: Literal["human", "given", "model"]  # given: put into the model's mouth
    text: str
    notes: str  # the model's, unseen by the human and by the judges; "": none
    reasoning: str  # likewise: what it thought before it
    reply: str  # the reply's name where the model itself said it, else ""
    judged: bool  # whether the marks are about it


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a call."""

    outcome: str  # answered, cut off, lost, in flight, or what went wrong
    accepted: bool  # whether its answer is the one that is stored
    why: str | None  # what was wrong with it, in the words of whoever said so
    status: int | None  # HTTP
    finish_reason: str | None
    started: str
    seconds: Points | None
    max_tokens: int
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    dollars: Dollars | None
    model: str | None  # that served it, by its own word
    provider: str | None


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply that the script asks for."""

    name: str
    line: int | None  # place in *lines*; null: there is none
    invalid: str | None  # why there is none
    cut_off: bool
    plain_text: bool
    reasoned: bool
    attempts: tuple[Attempt, ...]  # empty: nothing is known of them


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of the tool. *arguments* is JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation as it is sent to the model."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None
    calls: tuple[ToolCall, ...]
    answers: str | None  # the id of the call that this is the result of


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of the transcript that a judge's reasoning quotes."""

    reasoning: Span
    line: int
    text: Span  # in the line's text


@dataclass(frozen=True, slots=True)
class Flag:
    """A reason to read a verdict."""

    kind: Literal["reasoning", "embedded"]
    mark: str
    why: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one judge made of the transcript."""

    judge: str  # label
    kind: JudgeKind
    marks: Mapping[str, Given]
    reasoning: str
    failed: str | None  # why there is no verdict
    flags: tuple[Flag, ...]
    quotes: tuple[Quote, ...]  # in the order of the reasoning; may overlap in the lines, never in the reasoning
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class PhrasePlace:
    """Where a phrase stands."""

    line: int
    text: Span


@dataclass(frozen=True, slots=True)
class Phrase:
    """What weighed in the embedded judge's mark."""

    text: str
    weight: SmallDifference  # change of the mark against the same reply without it, in its points; above 0: raised it
    places: tuple[PhrasePlace, ...]  # empty: something counted, not a phrase


@dataclass(frozen=True, slots=True)
class PhraseMark:
    """One mark of the embedded judge, and the five phrases that weighed most in it."""

    mark: str
    value: Given
    phrases: tuple[Phrase, ...]


@dataclass(frozen=True, slots=True)
class Embedded:
    """How the embedded judge reads the transcript."""

    stored: bool  # whether its judgement is in the store; else it was worked out for this page and counts nowhere
    marks: tuple[PhraseMark, ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """Words that two texts share."""

    first: Span
    second: Span


@dataclass(frozen=True, slots=True)
class Turns:
    """Two answers of the model side by side; what is not shared is new in the second, or gone from the first."""

    first: int  # place in *lines*
    second: int
    shared: tuple[Shared, ...]  # in the order of the second, where they do not overlap; in the first they may


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another transcript of the same protocol and configuration."""

    id: str
    label: str  # the subject's
    scenario: str  # title
    run: int


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Where the arrow keys lead: the same but for one thing; null at the end. Subjects are in order of label."""

    previous_run: Neighbour | None
    next_run: Neighbour | None
    previous_subject: Neighbour | None
    next_subject: Neighbour | None
    previous_scenario: Neighbour | None
    next_scenario: Neighbour | None


@dataclass(frozen=True, slots=True)
class TranscriptPlace:
    """Where on a board a transcript counts."""

    board: str
    subject: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """`api/transcripts/<transcript>.json`: one conversation with everything that belongs to it."""

    id: str
    key: str  # the store's
    protocol: ProtocolEntry
    subject: SubjectFacts
    scenario: str  # id
    scenario_title: str
    experiment: str  # title
    run: int
    configuration: str
    delivery: Literal["user_role", "tool_role"]
    state: Literal["complete", "invalid"]
    invalid: str | None  # why
    system: str  # system prompt, without what tool_role adds to it
    lines: tuple[Line, ...]
    replies: tuple[Reply, ...]
    messages: tuple[Message, ...]  # the same conversation as it is sent; tool_role: with the tool protocol
    tools: str  # the tools that the model is offered, as JSON text; "[]": none
    scales: tuple[MarkScale, ...]  # marks that its rubrics ask for, in their order
    rubrics: tuple[str, ...]  # texts
    judgements: tuple[Judgement, ...]  # of all judges, by label
    embedded: Embedded | None
    turns: Turns | None  # for scenarios with two answers
    neighbours: Neighbours
    boards: tuple[TranscriptPlace, ...]


# ---------------------------------------------------------------- api/raw/<transcript>.json


@dataclass(frozen=True, slots=True)
class RawAttempt:
    """One try as it came."""

    outcome: str
    status: int | None
    response: str  # the body; "": nothing came, or nothing was kept


@dataclass(frozen=True, slots=True)
class RawCall:
    """One call as it was recorded. *request* is JSON text: messages, tools and settings, without address and key."""

    kind: Literal["reply", "judgement"]
    name: str  # the reply's name, or the judge's label
    request: str
    attempts: tuple[RawAttempt, ...]


@dataclass(frozen=True, slots=True)
class Raw:
    """`api/raw/<transcript>.json`: what was sent and what came back. Only where the offer says raw."""

    transcript: str
    calls: tuple[RawCall, ...]


# ---------------------------------------------------------------- api/boards/<board>/scenarios/<scenario>.json


@dataclass(frozen=True, slots=True)
class Answer:
    """One subject's answer in one run."""

    transcript: str  # id
    subject: str  # id
    label: str
    run: int
    configuration: str
    state: Literal["judged", "not judged", "judge failed", "invalid"]
    score: Whole | None
    marks: Mapping[str, Given]
    text: str  # of the judged reply, its beginning; several are joined by a blank line
    whole: bool  # whether *text* is all of it
    cut_off: bool


@dataclass(frozen=True, slots=True)
class Said:
    """One line of a script; {{name}} stands for what the model said there."""

    who: Literal["human", "given", "model"]
    text: str  # for the model: the reply's name


@dataclass(frozen=True, slots=True)
class Scenario:
    """`api/boards/<board>/scenarios/<scenario>.json`: one scenario over all subjects."""

    version: str
    board: str
    facts: ScenarioFacts
    script: tuple[Said, ...]
    scales: tuple[MarkScale, ...]
    rubrics: tuple[str, ...]
    answers: tuple[Answer, ...]  # highest score first; those without one last


# ---------------------------------------------------------------- api/boards/<board>/compare/<subject>.json


@dataclass(frozen=True, slots=True)
class Compared:
    """What is compared: one dimension over all scenarios (*scenario* null), or in one."""

    scenario: str | None  # id
    dimension: str | None  # name; null: the index itself


@dataclass(frozen=True, slots=True)
class Differences:
    """The second minus the first, of two subjects or of one in two configurations; in the order of *compared*."""

    points: tuple[float | None, ...]  # null: one of the two has no mark of it
    shown: tuple[str | None, ...]  # the same, as text
    between: tuple[str | None, ...]  # *lows* and *highs*, as text
    lows: tuple[float | None, ...]  # of the differences' 95 % intervals, were the same scenarios played again
    highs: tuple[float | None, ...]
    another: tuple[Interval | None, ...]  # of the index and the dimensions of two subjects: were other scenarios asked
    why: str | None  # why intervals are missing; null: nothing is missing, or it is not known
    flipped: tuple[int, ...]  # places in *compared*: one of the two is above 50 and the other below; largest first
    order: tuple[int, ...]  # places of every other dimension in a scenario that both have, largest difference first
    stand: tuple[int, ...]  # places told from 0 though so many are looked at (Holm's procedure): of the dimensions, by
    # the same test given again, and of what is compared in scenarios; the index is one question by itself
    stand_another: tuple[int, ...]  # of the dimensions, were other scenarios asked


@dataclass(frozen=True, slots=True)
class Comparison:
    """One other subject beside the first."""

    subject: str  # id
    label: str
    values: tuple[float | None, ...]  # [0, 100], in the order of *compared*
    shown: tuple[str | None, ...]  # the same, as text
    apart: Differences


@dataclass(frozen=True, slots=True)
class Comparisons:
    """`api/boards/<board>/compare/<subject>.json`: one subject beside every other one of the board."""

    version: str
    board: str
    subject: str  # id
    label: str
    compared: tuple[Compared, ...]  # the index, each dimension, each dimension in each scenario
    values: tuple[float | None, ...]  # the first subject's
    shown: tuple[str | None, ...]  # the same, as text
    others: tuple[Comparison, ...]  # in the board's order


# ---------------------------------------------------------------- api/settings/<series>/<subject>.json


@dataclass(frozen=True, slots=True)
class OtherConfiguration:
    """One of the subject's configurations beside another one, which is the first."""

    configuration: str
    apart: Differences


@dataclass(frozen=True, slots=True)
class InConfiguration:
    """A subject in one configuration, and every other one of its beside it."""

    configuration: str
    board: str  # id of the board that it is on, alone or in a pool
    values: tuple[float | None, ...]  # [0, 100], in the order of *compared*
    shown: tuple[str | None, ...]  # the same, as text
    others: tuple[OtherConfiguration, ...]


@dataclass(frozen=True, slots=True)
class InConfigurations:
    """`api/settings/<series>/<subject>.json`: one subject in each configuration that it has marks in."""

    version: str
    series: str
    subject: str  # id
    label: str
    compared: tuple[Compared, ...]
    configurations: tuple[InConfiguration, ...]  # two or more, in the protocol's order


# ---------------------------------------------------------------- api/judges/<protocol>.json


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """One judge."""

    label: str
    kind: JudgeKind
    judged: int
    failed: int
    failed_share: Share | None  # [0, 1]
    flagged: int
    leniency: Difference | None  # its index minus the mean of the others'
    dollars_per_run: Dollars | None  # of one subject; null: not known
    seconds_per_run: Thousands | None  # likewise, of its calls one after the other


@dataclass(frozen=True, slots=True)
class JudgedSubject:
    """One subject under each judge, in the judges' order."""

    label: str
    subject: str  # id
    indices: tuple[Points | None, ...]
    mean: Points | None
    spread: Points | None


@dataclass(frozen=True, slots=True)
class Favour:
    """What a judge gives its own kind, beside what the others give the same subjects."""

    judge: str
    whom: Literal["itself", "its family"]
    family: str | None
    subjects: int
    own: Points
    others: Points
    elsewhere: Difference | None
    difference: Difference


@dataclass(frozen=True, slots=True)
class Kappa:
    """Quadratic kappa of two judges."""

    one: str
    other: str
    kappa: Hundredths | None


@dataclass(frozen=True, slots=True)
class MarkAgreement:
    """How far the judges agree on one mark."""

    mark: MarkScale
    conversations: int
    alpha: Hundredths | None  # Krippendorff's, ordinal
    icc: Hundredths | None  # ICC(2,k)
    icc_judges: int
    icc_conversations: int
    kappas: tuple[Kappa, ...]


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """How far two judges agree."""

    one: str
    other: str
    subjects: int
    rank_correlation: Hundredths | None
    conversations: int
    kappa: Hundredths | None


@dataclass(frozen=True, slots=True)
class JudgedPlace:
    """A conversation that was marked."""

    transcript: str | None  # id
    label: str
    scenario: str  # title
    configuration: str
    run: int


@dataclass(frozen=True, slots=True)
class DisputedMark:
    """What each judge gave, in the judges' order."""

    mark: str
    values: tuple[Given | None, ...]


@dataclass(frozen=True, slots=True)
class Dispute:
    """One conversation that the judges mark differently."""

    place: JudgedPlace
    spread: Share  # [0, 1]
    marks: tuple[DisputedMark, ...]


@dataclass(frozen=True, slots=True)
class Flagged:
    """One verdict that a person should read."""

    place: JudgedPlace
    judge: str
    flags: tuple[Flag, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """All judges of one configuration (or the pooled default)."""

    configurations: tuple[str, ...]
    conversations: int
    judges: tuple[JudgeRow, ...]
    main: str | None  # label of the main judge; null: there is none
    subjects: tuple[JudgedSubject, ...]
    favours: tuple[Favour, ...]
    marks: tuple[MarkAgreement, ...]
    pairs: tuple[PairAgreement, ...]
    disputes: tuple[Dispute, ...]  # the worst, at most a few hundred
    disputed: int  # all of them
    flagged: tuple[Flagged, ...]  # likewise
    flagged_in_all: int


@dataclass(frozen=True, slots=True)
class Judges:
    """`api/judges/<protocol>.json`: the judges of one protocol beside each other."""

    version: str
    protocol: ProtocolEntry
    panels: tuple[Panel, ...]


# ---------------------------------------------------------------- api/methods.json


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
    script: tuple[Said, ...]
    judged: tuple[str, ...]  # names of the replies that the marks are about
    rubrics: tuple[RubricText, ...]


@dataclass(frozen=True, slots=True)
class ExperimentMethod:
    """Scenarios that measure one thing."""

    title: str
    scenarios: tuple[ScenarioMethod, ...]


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """One system variant."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ProtocolMethod:
    """One protocol in full."""

    protocol: ProtocolEntry
    description: str
    temperature: float
    max_tokens: int
    judge: str  # that it is meant to be marked by
    judge_instructions: str
    systems: tuple[SystemPrompt, ...]
    tool: str  # tool_role: the tool that the model speaks through, as JSON text
    tool_instructions: str
    configurations: tuple[str, ...]  # played and pooled by default
    experiments: tuple[ExperimentMethod, ...]
    dimensions: tuple[DimensionFacts, ...]


@dataclass(frozen=True, slots=True)
class Expression:
    """A piece of an equation. What a *kind* has as *parts*, in this order; what has no parts has a *text*.

    name, words, number, sign: a text. row: what stands side by side. fraction: above, below. root: inside.
    power: base, exponent. index: base, index. mean: what has a line above it. sum: what is added up, what over (or from
    where), and up to where.
    """

    kind: Literal["name", "words", "number", "sign", "row", "fraction", "root", "power", "index", "mean", "sum"]
    text: str
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Equation:
    """One equation: to be read out or copied, and to be drawn."""

    text: str
    shown: Expression


@dataclass(frozen=True, slots=True)
class Letter:
    """What a letter of an equation stands for."""

    text: str
    shown: Expression
    means: str


@dataclass(frozen=True, slots=True)
class Term:
    """What a word or a number means, in plain words, with the equations that it is made by."""

    name: str
    text: str
    equations: tuple[Equation, ...] = ()
    where: tuple[Letter, ...] = ()  # the letters in them


@dataclass(frozen=True, slots=True)
class Methods:
    """`api/methods.json`: how all this was measured."""

    protocols: tuple[ProtocolMethod, ...]
    terms: tuple[Term, ...]


# ---------------------------------------------------------------- api/search/


@dataclass(frozen=True, slots=True)
class SearchPart:
    """One kind of texts that can be searched.

    The words are sorted by code unit and cut into shards; *shards* has the first word of each, so a word is in the last
    shard whose first word is not above it, and the words that begin with something are in one or several in a row.
    """

    of: SearchOf
    words: int
    shards: tuple[str, ...]
    covers: str  # what was indexed, in plain words


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """What can be searched, and how.

    A word is a run of letters and digits of the text, lower case, accents taken off (NFKD without combining marks),
    an apostrophe between letters left out, cut after *longest* characters.
    """

    version: str
    build: str  # part of the paths below
    documents: int
    longest: int
    block: int  # documents in a file of documents/
    parts: tuple[SearchPart, ...]


@dataclass(frozen=True, slots=True)
class SearchHead:
    """`api/search/index.json`: the newest index that there is, and how far the next one is."""

    index: SearchIndex | None  # null: none yet
    preparing: float | None  # the share that is done, in [0, 1]; null: no newer one is needed


@dataclass(frozen=True, slots=True)
class SearchWords:
    """`api/search/<build>/<of>/<n>.json`: one shard of a part.

    Word -> the documents that have it: their numbers in rising order, each as its distance from the one before it
    (the first one from -1), in base 36, with commas; where a word is in most documents, "!" and likewise those
    documents that lack it.
    """

    words: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """One transcript that can be found. Its place in the whole list is its number."""

    transcript: str
    label: str
    scenario: str  # title
    run: int
    configuration: str
    protocol: str  # id


@dataclass(frozen=True, slots=True)
class SearchDocuments:
    """`api/search/<build>/documents/<n>.json`: documents n x block, n x block + 1, ..."""

    documents: tuple[SearchDocument, ...]
