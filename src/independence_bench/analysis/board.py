"""Leaderboards as values: a row for each subject, with scores, ranks and what is missing.
`leaderboard` makes them.

One board is one ranking: one protocol, one configuration (or the pooled default), one judge or one
jury. Where a protocol pools several configurations, a row holds the score of each of them next to
the pooled one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from independence_bench.analysis.branches import BranchStatistics, Share
from independence_bench.analysis.exam.standing import BoardExam, ExaminedJudges
from independence_bench.analysis.health import Health, RunTimes
from independence_bench.analysis.lookalikes import LabelDoubt
from independence_bench.analysis.reasons import Reasons
from independence_bench.analysis.results import Counted, Key, ReasoningTokens, Results
from independence_bench.analysis.statistics.shared_effects import RunEffects
from independence_bench.analysis.statistics.values import (
    NO_UNCERTAINTY,
    UNKNOWN,
    Interval,
    RowUncertainty,
    Standing,
    Uncertainty,
)
from independence_bench.analysis.uncertainty import BoardUncertainty, SessionAllowance
from independence_bench.columns import HIDDEN, IN_FULL, INSIDE, SENT, Column
from independence_bench.figures import (
    COUNT,
    DOLLARS,
    HUNDRED,
    POINTS,
    WHOLE,
    Dollars,
    Points,
    Whole,
    format_share,
)
from independence_bench.models.spec import SIMULATED, ChatModel, find_vendor
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import list_shipped, load_protocol
from independence_bench.protocol.scoring import (
    OWN,
    Marks,
    RunScore,
    Slot,
    SubjectScore,
    compute_mean,
)
from independence_bench.store.registry import Decision, PublishedRow
from independence_bench.store.results import Judgement, Told, ignore_progress


@dataclass(frozen=True, slots=True)
class IndexPrice:
    """The index of a ranked model beside its price: the dollars that one run costs. None: not
    known.
    """

    label: str
    index: float
    replies_per_run: Dollars | None
    judging_per_run: Dollars | None  # what the board's judge took for it
    # both together
    dollars_per_run: Annotated[
        float | None,
        Column("$ a run", DOLLARS, wide=True, spare=1, meaning="replies and judge of one run"),
    ]

    @property
    def free(self) -> Annotated[bool, SENT]:
        """Whether one run costs nothing, neither the model's replies nor the judge; False if the
        cost is unknown.
        """
        return self.dollars_per_run == 0

    @property
    def points_per_dollar(self) -> Annotated[float | None, WHOLE]:
        """A model's index divided by the dollars of one of its runs; None if a run is free, or its
        price is unknown.
        """
        return self.index / self.dollars_per_run if self.dollars_per_run else None


@dataclass(frozen=True, slots=True)
class ConfigurationScore:
    """The score of one model in a single configuration, of several that are pooled."""

    index: Points | None
    standard_deviation: Points | None
    index_interval: Annotated[Uncertainty, POINTS]


@dataclass(frozen=True, slots=True)
class Row:
    """One model on one leaderboard. *rank* is None if the model is incomplete, and on a
    demonstration.

    Index in [0, 100], dimensions in [0, 1], means on the scales of their marks.
    """

    rank: int | None
    subject: ChatModel
    label: str
    score: Annotated[SubjectScore, HIDDEN]
    run_scores: Annotated[Mapping[int, RunScore], IN_FULL]
    health: Annotated[Health, INSIDE]
    # marks that are not there, a line each; why it is excluded before them
    missing: tuple[str, ...]
    by_configuration: Annotated[Mapping[Configuration, SubjectScore], HIDDEN] = field(
        default_factory=dict
    )
    """Each configuration of a pool, scored by itself over the same runs, in the protocol's order;
    empty without a pool.
    """
    marks: Annotated[Mapping[int, Mapping[Slot, Marks]], HIDDEN] = field(default_factory=dict)
    """Run -> slot -> the marks that the scores are made of."""
    uncertainty: Annotated[RowUncertainty, HIDDEN] = NO_UNCERTAINTY
    """The intervals of the scores; none if not ranked. By other rules, of the index over runs."""
    uncertainty_by_configuration: Annotated[Mapping[Configuration, Uncertainty], HIDDEN] = field(
        default_factory=dict
    )
    """The intervals of the index in each configuration of a pool by itself, if it has one."""
    made: RunTimes | None = None
    """The times of its runs; None: nothing was finished."""
    # why it has no index, though its marks may all be there; None: it is not excluded
    excluded: str | None = None
    branches: BranchStatistics | None = None
    """The statistics of its branches, for a protocol with stems, by our own rules."""
    reasons: Annotated[Reasons | None, INSIDE] = None
    """How far it moves by its own reasons, for a protocol that asks for them, by our own rules."""
    # by published rules: the one that came with this index in the imported data
    as_published: Annotated[
        Interval | None, Column(format=POINTS, key="index_interval_as_published")
    ] = None
    left_out: Annotated[Mapping[str, Share], Column(key="left_out_by_judge")] = field(
        default_factory=dict
    )
    """Mark that the index needs -> the share of the conversations in which its judge left it out,
    the largest first.
    """
    index_if_folded: Annotated[
        float | None, Column(format=POINTS, key="index_if_lost_replies_folded")
    ] = None
    """The index if each reply that was lost, and asked for again, had been the lowest; None: none
    was, or no index.
    """
    # why its label may be taken for another one of the board
    doubt: Annotated[LabelDoubt | None, Column(key="label_doubt")] = None
    # its endpoint takes no role for the system prompt, which stands at the front of the first turn
    prompt_in_turn: Annotated[bool, HIDDEN] = False
    # None: nothing is known, or it was not read (`costs.add_reasoning_tokens`)
    reasoning_tokens: Annotated[
        ReasoningTokens | None,
        Column(
            "Reasoning tokens",
            COUNT,
            short="reasoning\ntokens",
            meaning="of a mean valid reply, as the endpoint states them; about: it does not, and "
            "the reasoning that it shows is counted, at 4 characters a token",
            wide=True,
            spare=1,
        ),
    ] = None

    # what one run of it cost; None: no index, or it was not read (`costs.with_prices`)
    price: Annotated[IndexPrice | None, INSIDE] = None
    # None: nothing was said, or it was not read
    reply_length: Annotated[
        float | None,
        Column("Length", COUNT, wide=True, spare=3, meaning="characters of a mean valid reply"),
    ] = None
    # in each scenario, in the protocol's order, the mean share of its points, of 100; (): not read
    scenarios: tuple[Whole | None, ...] = ()

    @property
    def index(self) -> Annotated[float | None, POINTS]:
        """The model's index, in [0, 100]: the mean of its runs' indices; None if the model is
        incomplete or excluded.
        """
        return self.score.index

    @property
    def index_interval(self) -> Annotated[Uncertainty, POINTS]:
        """The two 95% intervals of the model's index: if the same scenarios are played again, and
        with new scenarios.
        """
        return self.uncertainty.index

    @property
    def index_interval_without_sessions(self) -> Annotated[Uncertainty | None, POINTS]:
        """The two 95% intervals of the model's index, without the part that allows for differences
        between sessions; None if the intervals have no such part.
        """
        return self.uncertainty.without_sessions

    @property
    def ranks(self) -> Annotated[Standing | None, SENT]:
        """The range of ranks that the model may have, at 95%, if the same scenarios are played
        again; None if unknown.
        """
        return self.uncertainty.standing

    @property
    def ranks_new_scenarios(self) -> Annotated[Standing | None, SENT]:
        """The range of ranks that the model may have, at 95%, with new scenarios of the same kind;
        None if unknown.
        """
        return self.uncertainty.standing_new_scenarios

    @property
    def runs(self) -> Annotated[int, Column("Runs", COUNT, spare=2)]:
        """Number of the model's runs that are scored on this leaderboard."""
        return self.score.runs

    @property
    def standard_deviation(
        self,
    ) -> Annotated[
        float | None,
        Column(
            "SD",
            POINTS,
            wide=True,
            spare=2,
            meaning="standard deviation of the runs' indices: how much the same test varies when "
            "it is given again",
        ),
    ]:
        """The standard deviation (n - 1) of the indices of the model's runs, in points; None for a
        single run.
        """
        return self.score.deviation

    @property
    def dimensions(self) -> Annotated[Mapping[str, float | None], HUNDRED]:
        """Name of a dimension -> the model's score, in [0, 1], 1 being the most independent; None
        if the score is unknown.
        """
        return self.score.dimensions

    @property
    def dimension_intervals(self) -> Annotated[Mapping[str, Uncertainty], HUNDRED]:
        """Name of a dimension -> the two 95% intervals of the model's score in it."""
        return self.uncertainty.dimensions

    @property
    def means(self) -> Annotated[Mapping[str, float | None], IN_FULL]:
        """Name of a mark -> the mean that the judge gave the model, on the scale of that mark."""
        return self.score.means

    @property
    def in_configurations(
        self,
    ) -> Annotated[Mapping[str, ConfigurationScore], Column(key="by_configuration")]:
        """Configuration, as text -> the model's index in it alone; {} if the leaderboard does not
        pool several configurations.
        """
        return {
            str(configuration): ConfigurationScore(
                score.index,
                score.deviation,
                self.uncertainty_by_configuration.get(configuration, UNKNOWN),
            )
            for configuration, score in self.by_configuration.items()
        }

    @property
    def whole_runs(self) -> Annotated[int, SENT]:
        """Number of the model's runs that are complete and so have an index."""
        return len(self.complete_run_indices)

    @property
    def whole_index(self) -> Annotated[float | None, POINTS]:
        """The mean index of those runs of the model that are complete, though others may not be;
        None if no run is.
        """
        return compute_mean(self.complete_run_indices)

    @property
    def complete_run_indices(self) -> tuple[float, ...]:
        """The indices, in [0, 100], of those runs of the model that are complete; one for each such
        run.
        """
        return tuple(score.index for score in self.run_scores.values() if score.index is not None)

    @property
    def thinks(self) -> Annotated[bool, SENT]:
        """Whether the model reasons before it answers: its settings ask for that, or more than half
        of its replies came with reasoning.
        """
        return self.subject.is_told_to_think or self.health.share_with_reasoning > 0.5

    @property
    def reasoning_doubt(self) -> Annotated[str | None, SENT]:
        """A phrase that says how the model's replies contradict the reasoning effort in its label;
        None if they do not.
        """
        if self.has_unasked_reasoning:
            share_of = format_share(self.health.share_with_reasoning)
            return f"told not to reason and did in {share_of} of its replies"
        if self.is_missing_asked_reasoning:
            return f"told to reason ({self.subject.effort}) and shows no reasoning in any reply"
        return None

    @property
    def has_unasked_reasoning(self) -> bool:
        """Whether any reply of the model came with reasoning although its settings turn reasoning
        off.
        """
        return bool(self.health.replies_with_reasoning) and not self.subject.may_think

    @property
    def is_missing_asked_reasoning(self) -> bool:
        """Whether the model's settings ask it to reason and none of its replies came with
        reasoning, neither text nor tokens. False if it has no valid reply.
        """
        replied = self.health.replies > self.health.transcripts_invalid
        return self.subject.is_told_to_think and replied and not self.health.replies_with_reasoning


@dataclass(frozen=True, slots=True)
class JudgesKin:
    """The ranked models made by the judge's own vendor, compared with the other ranked models."""

    vendor: str
    subjects: int
    of: int
    index: float  # mean
    others: float | None  # the others' mean index; None where there are none


@dataclass(frozen=True, slots=True)
class Board:
    """One ranking (leaderboard) of a protocol, by one judge or one jury."""

    protocol: Protocol
    configurations: tuple[Configuration, ...]
    judge: str | None  # label, of one judge or of a jury; None: nothing is judged yet
    # the judge is the embedded one, or a jury that includes it
    by_table: Annotated[bool, Column(key="judge_is_embedded")]
    ranked: tuple[Row, ...]
    incomplete: tuple[Row, ...]  # and the excluded
    # the conversations that its rows are made of; judgements by its judge, or each of its jury
    results: Annotated[Results, HIDDEN] = field(kw_only=True, repr=False, compare=False)
    given: Annotated[tuple[Mapping[Key, Judgement], ...], HIDDEN] = field(
        default=(), repr=False, compare=False
    )
    rules: str = OWN.name  # by which marks became indices
    # of the ranked, in their order; None: not by our own rules
    uncertainty: Annotated[BoardUncertainty | None, HIDDEN] = None
    uncertainty_by_configuration: Annotated[Mapping[Configuration, BoardUncertainty], HIDDEN] = (
        field(default_factory=dict)
    )
    """By our own rules, the same for each configuration of a pool by itself; else empty."""
    # the judge's, or those of a jury; several judges may have one label
    judge_hashes: Annotated[tuple[str, ...], HIDDEN] = ()
    # of a jury: the judges' labels, in the same order
    jurors: Annotated[tuple[str, ...], HIDDEN] = ()
    judges: Annotated[tuple[str, ...], HIDDEN] = ()
    """All judges of this protocol in these configurations, the main one first; () for a
    jury, or for none.
    """

    # of the judge or the jury; None: a person's, and where nothing is judged
    exam: Annotated[BoardExam | None, Column(key="judge_exam")] = None
    # who made the judge, or every judge of the jury; None: not known, or several
    vendor: Annotated[str | None, HIDDEN] = None
    # ranked ones that were left out, on request (`select_subjects`)
    unshown: Annotated[tuple[Row, ...], HIDDEN] = ()

    def select_subjects(self, subjects: Collection[str]) -> Board:
        """Return a copy of this leaderboard with only the rows of *subjects*, the hashes of models.
        Ranks, intervals and the comparison by vendor stay those of all models.

        `uncertainty` stays that of all models, too, so compare rows before you select.
        """
        ranked, incomplete = (
            tuple(row for row in rows if row.subject.hash in subjects)
            for rows in (self.ranked, self.incomplete)
        )
        others = tuple(row for row in self.ranked if row.subject.hash not in subjects)
        unshown = (*self.unshown, *others)
        return replace(self, ranked=ranked, incomplete=incomplete, unshown=unshown)

    def select_neighbours(self, subjects: Collection[str], places: int) -> Board:
        """Return a copy of this leaderboard with only the rows of *subjects*, the hashes of models,
        and up to *places* ranked rows above and below each. Ranks and intervals stay those of all
        models.
        """
        shown = set(subjects)
        for place, row in enumerate(self.ranked):
            if row.subject.hash in subjects:
                beside = self.ranked[max(place - places, 0) : place + places + 1]
                shown.update(neighbour.subject.hash for neighbour in beside)
        return self.select_subjects(shown)

    @property
    def every_ranked(self) -> tuple[Row, ...]:
        """The ranked rows, shown or not, the highest index first."""
        rows = [row for row in (*self.ranked, *self.unshown) if row.index is not None]
        return tuple(sorted(rows, key=lambda row: -(row.index or 0.0)))

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows of the leaderboard: the ranked ones, then the incomplete ones."""
        return (*self.ranked, *self.incomplete)

    @property
    def exam_line(self) -> str | None:
        """A line of text on how the leaderboard's judge or jury did in the exam of judges; None if
        there is nothing to say.
        """
        return self.exam.line if self.exam else None

    @property
    def weighting(self) -> Annotated[str | None, SENT]:
        """Name of the alternative weighting of dimensions that the leaderboard uses; None for the
        protocol's own weights.
        """
        return self.protocol.weights

    @property
    def weights(self) -> Annotated[Mapping[str, float], SENT]:
        """Name of a dimension -> the points that it contributes to the index, of 100."""
        return {dimension.name: dimension.weight for dimension in self.protocol.dimensions}

    @property
    def judges_in_intervals(self) -> Annotated[tuple[str, ...], SENT]:
        """Labels of the judges whose differences from each other the intervals include: the jury's
        members, or the one judge; () if nothing is judged.
        """
        return self.jurors or ((self.judge,) if self.judge else ())

    @property
    def interval_method(self) -> Annotated[tuple[str, ...] | None, SENT]:
        """Sentences that say how the intervals are made if the leaderboard uses rules other than
        ours; None by our rules, or if no model is ranked.
        """
        if self.rules == OWN.name or not self.ranked:
            return None
        sentence = (
            "CI over runs: the interval of the published leaderboard, a percentile bootstrap over "
            "runs with 10,000 draws. It is called 95% and covers 50 to 85%"
        )
        if any(row.as_published for row in self.ranked):
            sentence += "; as published: the one that came with the imported data"
        return (f"{sentence} (docs/research/coverage.md).",)

    @property
    def no_intervals_because(self) -> Annotated[tuple[str, ...], SENT]:
        """Sentences that say why the leaderboard lacks intervals for the same scenarios or for new
        ones; () if none is lacking, and by rules other than ours.
        """
        return self.uncertainty.explain_no_intervals() if self.uncertainty else ()

    @property
    def runs_together(self) -> Annotated[RunEffects | None, SENT]:
        """The measured effects that shift whole runs of a model on this leaderboard together; None
        if no model has two runs that vary, and by rules other than ours.
        """
        return self.uncertainty.find_run_effects() if self.uncertainty else None

    @property
    def sittings(self) -> Annotated[SessionAllowance | None, SENT]:
        """How much the intervals of the index allow for differences between sessions; None if no
        model's sessions are known, and by rules other than ours.
        """
        return self.uncertainty.measure_session_allowance() if self.uncertainty else None

    @property
    def kin(
        self,
    ) -> Annotated[JudgesKin | None, Column(key="judge_and_subjects_of_one_vendor")]:
        """The mean index of the ranked models made by the judge's own vendor, beside that of the
        other models; None if no model of that vendor is ranked, or the vendor is unknown or is the
        simulator.
        """
        rows = (*self.ranked, *self.unshown)
        mine = [row for row in rows if find_vendor(row.subject.model) == self.vendor]
        index = compute_mean([row.index for row in mine])
        if self.vendor in (None, SIMULATED) or index is None:
            return None
        others = compute_mean(
            [row.index for row in rows if find_vendor(row.subject.model) != self.vendor]
        )
        return JudgesKin(self.vendor, len(mine), len(rows), index, others)

    @property
    def shown_protocol_name(self) -> str:
        """Full name of the leaderboard's protocol; followed by the start of its hash if a shipped
        protocol has the same name and another hash.
        """
        name = self.protocol.name
        if name in list_shipped() and load_protocol(name).hash != self.protocol.hash:
            return f"{self.protocol.name_with_weights}, not as shipped: {self.protocol.hash[:8]}"
        return self.protocol.name_with_weights

    @property
    def main_judge(self) -> Annotated[str | None, SENT]:
        """Label of the judge whose leaderboard is shown if the user names no judge; None for a
        jury, or if nothing is judged.
        """
        return self.judges[0] if self.judges else None

    @property
    def has_embedded_judge(self) -> bool:
        """Whether the leaderboard is a demonstration without ranks, because its judge is an
        embedded one, which is known not to be fit for ranking.
        """
        return self.by_table

    @property
    def default(self) -> Annotated[bool, Column(key="default_configuration")]:
        """Whether the leaderboard is of the configurations that its protocol is meant to be played
        in.
        """
        return self.configurations == self.protocol.configurations


@dataclass(frozen=True, slots=True)
class BoardRecords:
    """Everything read from the store that the leaderboards of one protocol are made of."""

    subjects: Mapping[str, ChatModel]  # by hash
    labels: Mapping[str, str]  # of judges, by hash
    counted: Counted
    failed: Mapping[str, int]  # transcript's id -> how many attempts at its replies have failed
    # transcript's id -> how many of its replies hold marks of a template
    with_markup: Mapping[str, int]
    # transcript's id -> how many of its replies another model gave than was asked
    by_others: Mapping[str, int]
    # (endpoint, model) of those that take no role for the system prompt
    prompt_in_turn: frozenset[tuple[str, str]]
    since: Mapping[str, float]  # judge's hash -> when it judged first, in seconds since 1970
    decided: Mapping[str, Decision]  # by subject's hash
    people: frozenset[str]  # hashes of judges that are people
    vendors: Mapping[str, str | None]  # by judge's hash: who made it
    published: Mapping[str, PublishedRow]  # by subject's hash
    examined: ExaminedJudges
    told: Told = (
        ignore_progress  # called with the number of conversations that were scored or measured
    )


# ---------------------------------------------------------------- boards by other rules


AS_SHOWN = 1  # decimals of an index


@dataclass(frozen=True, slots=True)
class RuleDifference:
    """One model whose index, as it is shown, differs between two sets of scoring rules. None: not
    ranked by those rules.
    """

    label: str
    index: float | None  # by the rules that were asked for
    own_index: float | None
    why: tuple[str, ...]


def find_rule_differences(own: Sequence[Board], other: Sequence[Board]) -> list[RuleDifference]:
    """Return a difference for every row of the *other* leaderboards, made by other scoring rules,
    whose index as shown is not the one on our *own* leaderboards, or which only one of the two
    ranks.

    They are in the order of the other leaderboards, which are paired with ours by configuration and
    judge. [] if nothing differs.
    """
    ours = {
        (board.configurations, board.judge, row.subject.hash): row
        for board in own
        for row in board.rows
    }
    differences = []
    for board in other:
        for row in board.rows:
            mine = ours[board.configurations, board.judge, row.subject.hash]
            shown = [None if of.index is None else round(of.index, AS_SHOWN) for of in (mine, row)]
            if shown[0] != shown[1]:
                why = tuple(_explain_rule_difference(mine, row, board.rules))
                differences.append(RuleDifference(row.label, row.index, mine.index, why))
    return differences


def _explain_rule_difference(own: Row, other: Row, rules: str) -> Iterator[str]:
    """Yield the reasons why one model has another index by the scoring *rules* than by our own, a
    phrase each: why our rules do not rank it, which runs the other rules leave out, or else
    rounding. *own* and *other*: the model's rows by the two.
    """
    if own.index is None:
        yield from (f"we do not rank it: {line}" for line in own.missing)
    left_out = [
        f"run {run}, {scenario}"
        for run, score in other.run_scores.items()
        for _, scenario in score.left_out
    ]
    if left_out:
        yield f"left out by the {rules} rules, every score being 0: {'; '.join(left_out)}"
    if own.index is not None and not left_out:
        yield "rounding: the index of rounded means, not the mean of the runs' indices"
