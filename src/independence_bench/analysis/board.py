"""Rankings as values: a row for each subject, with scores, ranks and what is missing. `leaderboard`
makes them.

One board is one ranking: one protocol, one configuration (or the pooled default), one judge or one
jury. Where a protocol pools several configurations, a row holds the score of each of them next to
the pooled one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from independence_bench.analysis.branches import BranchStatistics, Share
from independence_bench.analysis.health import (
    Health,
    RunTimes,
)
from independence_bench.analysis.lookalikes import LabelDoubt
from independence_bench.analysis.results import Counted, Key, ReasoningTokens, Results
from independence_bench.analysis.statistics.values import (
    NO_UNCERTAINTY,
    Interval,
    RowUncertainty,
    Uncertainty,
)
from independence_bench.models.spec import SIMULATED, ChatModel, vendor_of
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import load, shipped
from independence_bench.protocol.scoring import (
    OWN,
    Marks,
    RunScore,
    Slot,
    SubjectScore,
    mean_of,
)
from independence_bench.store.registry import Decision, PublishedRow
from independence_bench.store.results import Judgement, Told, nobody

if TYPE_CHECKING:  # what `leaderboard` fills in, from the statistics
    from independence_bench.analysis.exam.result import BoardExam, ExaminedJudges
    from independence_bench.analysis.uncertainty import BoardUncertainty


@dataclass(frozen=True, slots=True)
class Row:
    """One subject on one board. *rank* is None where the subject is incomplete, and on a
    demonstration.
    """

    rank: int | None
    subject: ChatModel
    label: str
    score: SubjectScore
    runs: Mapping[int, RunScore]
    health: Health
    # marks that are not there, a line each; why it is excluded before them
    missing: tuple[str, ...]
    by_configuration: Mapping[Configuration, SubjectScore] = field(default_factory=dict)
    """Of a pool: each configuration scored by itself over the same runs, in the protocol's order;
    else empty.
    """
    marks: Mapping[int, Mapping[Slot, Marks]] = field(default_factory=dict)
    """Run -> slot -> the marks that the scores are made of."""
    uncertainty: RowUncertainty = NO_UNCERTAINTY
    """How sure the scores are; nothing is where it is not ranked. By other rules, the index over
    runs.
    """
    uncertainty_by_configuration: Mapping[Configuration, Uncertainty] = field(default_factory=dict)
    """Of a pool: of the index in each configuration by itself, where it has one."""
    made: RunTimes | None = None
    """When its runs were; None: nothing was finished."""
    # why it has no index, though its marks may all be there; None: it is not excluded
    excluded: str | None = None
    branches: BranchStatistics | None = None
    """Of a protocol with stems, by our own rules: what it did in each branch, as far as it is
    judged.
    """
    # by published rules: the one that came with this index in the imported data
    as_published: Interval | None = None
    left_out: Mapping[str, Share] = field(default_factory=dict)
    """Where its judge left out marks that the index needs: mark -> in which share of the
    conversations, most first.
    """
    index_if_folded: float | None = None
    """The index if each reply that was lost, and asked for again, had been the lowest; None: none
    was, or no index.
    """
    doubt: LabelDoubt | None = None  # why its label may be taken for another one of the board
    # its endpoint takes no role for the system prompt, which stands at the front of the first turn
    prompt_in_turn: bool = False
    # of its replies; None: nothing is known, or it was not read (`costs.with_reasoning_tokens`)
    reasoning_tokens: ReasoningTokens | None = None

    @property
    def whole(self) -> tuple[float, ...]:
        """The indices of the runs that have one."""
        return tuple(score.index for score in self.runs.values() if score.index is not None)

    @property
    def thinks(self) -> bool:
        """Whether it reasons before it answers: as it is set, or by itself in most of its
        replies.
        """
        return self.subject.thinks or self.health.reasoned_share > 0.5

    @property
    def reasons_unasked(self) -> bool:
        """Whether a reply came with reasoning although it was told not to reason."""
        return bool(self.health.reasoned) and not self.subject.may_think

    @property
    def shows_no_reasoning(self) -> bool:
        """Whether it was told to reason and no reply came with reasoning: neither text nor
        tokens.
        """
        replied = self.health.replies > self.health.invalid
        return self.subject.thinks and replied and not self.health.reasoned


@dataclass(frozen=True, slots=True)
class JudgesKin:
    """The ranked subjects that the judge's own vendor made, next to the others."""

    vendor: str
    subjects: int
    of: int
    index: float  # mean
    others: float | None  # the others' mean index; None where there are none


@dataclass(frozen=True, slots=True)
class Board:
    """One ranking."""

    protocol: Protocol
    configurations: tuple[Configuration, ...]
    judge: str | None  # label, of one judge or of a jury; None: nothing is judged yet
    by_table: bool  # the judge is the embedded one, or a jury that includes it
    ranked: tuple[Row, ...]
    incomplete: tuple[Row, ...]  # and the excluded
    # the conversations that its rows are made of; judgements by its judge, or each of its jury
    results: Results = field(kw_only=True, repr=False, compare=False)
    given: tuple[Mapping[Key, Judgement], ...] = field(default=(), repr=False, compare=False)
    rules: str = OWN.name  # by which marks became indices
    # of the ranked, in their order; None: not by our own rules
    uncertainty: BoardUncertainty | None = None
    uncertainty_by_configuration: Mapping[Configuration, BoardUncertainty] = field(
        default_factory=dict
    )
    """Of a pool, by our own rules: the same of each configuration by itself; else empty."""
    # the judge's, or those of a jury; several judges may have one label
    judge_hashes: tuple[str, ...] = ()
    jurors: tuple[str, ...] = ()  # of a jury: the judges' labels, in the same order
    judges: tuple[str, ...] = ()
    """All that have judged this protocol in these configurations, the main one first; () for a
    jury, or for none.
    """

    # of the judge or the jury; None: a person's, and where nothing is judged
    exam: BoardExam | None = None
    # who made the judge, or every judge of the jury; None: not known, or several
    vendor: str | None = None
    unshown: tuple[Row, ...] = ()  # ranked ones that were left out, on request (`only`)

    def only(self, subjects: Collection[str]) -> Board:
        """This board with the rows of *subjects*, by hash: ranks, intervals and `kin` stay those of
        all.

        `uncertainty` stays that of all, too, so compare rows before.
        """
        ranked, incomplete = (
            tuple(row for row in rows if row.subject.hash in subjects)
            for rows in (self.ranked, self.incomplete)
        )
        others = tuple(row for row in self.ranked if row.subject.hash not in subjects)
        unshown = (*self.unshown, *others)
        return replace(self, ranked=ranked, incomplete=incomplete, unshown=unshown)

    def near(self, subjects: Collection[str], places: int) -> Board:
        """This board with the rows of *subjects*, by hash, and of so many ranked ones above and
        below each, as `only` has them.
        """
        shown = set(subjects)
        for place, row in enumerate(self.ranked):
            if row.subject.hash in subjects:
                beside = self.ranked[max(place - places, 0) : place + places + 1]
                shown.update(neighbour.subject.hash for neighbour in beside)
        return self.only(shown)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The incomplete ones last."""
        return (*self.ranked, *self.incomplete)

    @property
    def kin(self) -> JudgesKin | None:
        """What the judge gives subjects of its own vendor; None where none is ranked, or all are
        simulated.
        """
        rows = (*self.ranked, *self.unshown)
        mine = [row for row in rows if vendor_of(row.subject.model) == self.vendor]
        index = mean_of([row.score.index for row in mine])
        if self.vendor in (None, SIMULATED) or index is None:
            return None
        others = mean_of(
            [row.score.index for row in rows if vendor_of(row.subject.model) != self.vendor]
        )
        return JudgesKin(self.vendor, len(mine), len(rows), index, others)

    @property
    def protocol_name(self) -> str:
        """Its name; with the start of its hash where a shipped protocol has the same name and
        another hash.
        """
        name = self.protocol.name
        if name in shipped() and load(name).hash != self.protocol.hash:
            return f"{self.protocol.called}, not as shipped: {self.protocol.hash[:8]}"
        return self.protocol.called

    @property
    def main_judge(self) -> str | None:
        """The judge whose board is shown where none is named; None for a jury."""
        return self.judges[0] if self.judges else None

    @property
    def demonstration(self) -> bool:
        """Whether no subject has a rank: its judge is known not to be fit, as no embedded one
        is.
        """
        return self.by_table

    @property
    def default(self) -> bool:
        """Whether this is the configuration that the protocol is meant to be played in."""
        return self.configurations == self.protocol.configurations


@dataclass(frozen=True, slots=True)
class BoardRecords:
    """Everything of a protocol that its boards are made of."""

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
    told: Told = nobody  # how many conversations were scored or measured since it was told last


# ---------------------------------------------------------------- boards by other rules


AS_SHOWN = 1  # decimals of an index


@dataclass(frozen=True, slots=True)
class RuleDifference:
    """One subject whose index, as it is shown, differs. None: not ranked by those rules."""

    label: str
    index: float | None  # by the rules that were asked for
    own_index: float | None
    why: tuple[str, ...]


def rule_differences(own: Sequence[Board], other: Sequence[Board]) -> list[RuleDifference]:
    """Every row of the *other* boards whose index is another one by our own rules, or that we do
    not rank.

    In the order of the other boards; rows that neither ranks are no difference. Boards are paired
    by configuration and judge. [] where nothing differs.
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
            shown = [
                None if of.score.index is None else round(of.score.index, AS_SHOWN)
                for of in (mine, row)
            ]
            if shown[0] != shown[1]:
                why = tuple(_reasons(mine, row, board.rules))
                differences.append(
                    RuleDifference(row.label, row.score.index, mine.score.index, why)
                )
    return differences


def _reasons(own: Row, other: Row, rules: str) -> Iterator[str]:
    """What our rules do not rank it for, and what the others leave out; rounding where it is
    nothing else.
    """
    if own.score.index is None:
        yield from (f"we do not rank it: {line}" for line in own.missing)
    left_out = [
        f"run {run}, {scenario}"
        for run, score in other.runs.items()
        for _, scenario in score.left_out
    ]
    if left_out:
        yield f"left out by the {rules} rules, every mark being 0: {'; '.join(left_out)}"
    if own.score.index is not None and not left_out:
        yield "rounding: the index of rounded means, not the mean of the runs' indices"
