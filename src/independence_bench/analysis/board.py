"""Rankings as values, from what is stored: scores, ranks, and what is missing. How sure they are: `leaderboard`.

One board is one ranking: one protocol, one configuration (or the pooled default), one judge or one jury. Numbers
of two configurations or of two judges never stand in one ranking. Where a protocol pools several configurations, a row
holds the score of each of them next to the pooled one. Knows no statistics: whoever audits the scores needs none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection

from independence_bench.analysis.branch_values import BranchStatistics, Share
from independence_bench.analysis.health import (
    Health,
    RunTimes,
    health_of,
    left_out,
    missing_lines,
    run_times,
    states_of,
)
from independence_bench.analysis.results import Key, Results, asked_elsewhere, has_a_run, judgements_of, results_of
from independence_bench.analysis.statistics.values import NO_UNCERTAINTY, Interval, RowUncertainty, Uncertainty
from independence_bench.judging.judge import find_jury, jury_judgements, jury_label
from independence_bench.models.local import is_table_judge
from independence_bench.models.messages import UNUSABLE, Kind
from independence_bench.models.spec import SIMULATED, ChatModel, vendor_of
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import load, shipped
from independence_bench.protocol.scoring import (
    OWN,
    Marks,
    Rules,
    RunScore,
    Slot,
    SubjectScore,
    mean_marks,
    mean_of,
    with_lowest,
)
from independence_bench.store import registry, usage
from independence_bench.store.registry import Decision, PublishedRow, unique_labels
from independence_bench.store.results import Judgement, Told, nobody

if TYPE_CHECKING:  # what `leaderboard` fills in, from the statistics
    from independence_bench.analysis.branch_values import RuleReadings
    from independence_bench.analysis.exam.result import BoardExam, ExaminedJudges
    from independence_bench.analysis.uncertainty import BoardUncertainty

FAILED = UNUSABLE | {Kind.REFUSED_PROMPT, Kind.BAD_REQUEST}  # outcomes of an attempt that are no answer
MOST_UNANSWERED = 0.2  # of a subject's conversations; beyond that it is excluded


@dataclass(frozen=True, slots=True)
class Row:
    """One subject on one board. *rank* is None where the subject is incomplete, and on a demonstration."""

    rank: int | None
    subject: ChatModel
    label: str
    score: SubjectScore
    runs: Mapping[int, RunScore]
    health: Health
    missing: tuple[str, ...]  # marks that are not there, a line each; why it is excluded before them
    by_configuration: Mapping[Configuration, SubjectScore] = field(default_factory=dict)
    """Of a pool: each configuration scored by itself over the same runs, in the protocol's order; else empty."""
    marks: Mapping[int, Mapping[Slot, Marks]] = field(default_factory=dict)
    """Run -> slot -> the marks that the scores are made of."""
    uncertainty: RowUncertainty = NO_UNCERTAINTY
    """How sure the scores are; nothing is where it is not ranked. By other rules, the index over runs."""
    uncertainty_by_configuration: Mapping[Configuration, Uncertainty] = field(default_factory=dict)
    """Of a pool: of the index in each configuration by itself, where it has one."""
    made: RunTimes | None = None
    """When its runs were; None: nothing was finished."""
    excluded: str | None = None  # why it has no index, though its marks may all be there; None: it is not excluded
    branches: BranchStatistics | None = None
    """Of a protocol with stems, by our own rules: what it did in each branch, as far as it is judged."""
    dropped_runs: tuple[int, ...] = ()
    """Runs that lack a mark and were left out, because whole runs alone were asked for."""
    as_published: Interval | None = None  # by published rules: the one that came with this index in the imported data
    left_out: Mapping[str, Share] = field(default_factory=dict)
    """Where its judge left out marks that the index needs: mark -> in which share of the conversations, most first."""
    index_if_folded: float | None = None
    """The index if each reply that was lost, and asked for again, had been the lowest; None: none was, or no index."""
    by_rule: RuleReadings | None = None
    """Of a protocol with stems: what the rule reads on the last lines, whoever judges; nothing is ranked by it."""

    @property
    def whole(self) -> tuple[float, ...]:
        """The indices of the runs that have one."""
        return tuple(score.index for score in self.runs.values() if score.index is not None)

    @property
    def thinks(self) -> bool:
        """Whether it reasons before it answers: as it is set, or by itself in most of its replies."""
        return self.subject.thinks or self.health.reasoned_share > 0.5


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
    rules: str = OWN.name  # by which marks became indices
    uncertainty: BoardUncertainty | None = None  # of the measured, in their order; None: not by our own rules
    uncertainty_by_configuration: Mapping[Configuration, BoardUncertainty] = field(default_factory=dict)
    """Of a pool, by our own rules: the same of each configuration by itself; else empty."""
    judge_hashes: tuple[str, ...] = ()  # the judge's, or those of a jury; several judges may have one label
    jurors: tuple[str, ...] = ()  # of a jury: the judges' labels, in the same order
    judges: tuple[str, ...] = ()
    """All that have judged this protocol in these configurations, the main one first; () for a jury, or for none."""

    exam: BoardExam | None = None  # of the judge or the jury; None: a person's, and where nothing is judged
    vendor: str | None = None  # who made the judge, or every judge of the jury; None: not known, or several

    @property
    def rows(self) -> tuple[Row, ...]:
        """The incomplete ones last."""
        return (*self.ranked, *self.incomplete)

    @property
    def measured(self) -> tuple[Row, ...]:
        """The ranked ones that `uncertainty` is about, in its order: those of whom all is scored.

        Of who has stems that are not scored no interval is known to hold.
        """
        return tuple(row for row in self.ranked if row.score.coverage is None or row.score.coverage.whole)

    @property
    def kin(self) -> JudgesKin | None:
        """What the judge gives subjects of its own vendor; None where none is ranked, or all are simulated."""
        mine = [row for row in self.ranked if vendor_of(row.subject.model) == self.vendor]
        index = mean_of([row.score.index for row in mine])
        if self.vendor in (None, SIMULATED) or index is None:
            return None
        others = mean_of([row.score.index for row in self.ranked if vendor_of(row.subject.model) != self.vendor])
        return JudgesKin(self.vendor, len(mine), len(self.ranked), index, others)

    @property
    def protocol_name(self) -> str:
        """Its name; with the start of its hash where a shipped protocol has the same name and another hash."""
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
        """Whether no subject has a rank: its judge is known not to be fit, as no embedded one is."""
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
    every: Sequence[Results]
    judgements: Sequence[Judgement]  # that count
    failed: Mapping[str, int]  # transcript's id -> how many attempts at its replies have failed
    since: Mapping[str, float]  # judge's hash -> when it judged first, in seconds since 1970
    decided: Mapping[str, Decision]  # by subject's hash
    people: frozenset[str]  # hashes of judges that are people
    vendors: Mapping[str, str | None]  # by judge's hash: who made it
    elsewhere: frozenset[str]  # those that were asked of other protocols alone (`asked_elsewhere`)
    published: Mapping[str, PublishedRow] = field(default_factory=dict)  # by subject's hash
    examined: ExaminedJudges | None = None  # None: the exams were not read
    told: Told = nobody  # how many conversations were scored or measured since it was told last


def read_records(connection: Connection, protocol: Protocol, told: Told = nobody) -> BoardRecords:
    """What the store has of *protocol*; *told*: how many transcripts or judgements were read since it was told last."""
    every = results_of(connection, protocol, told=told)
    judgements = judgements_of(connection, every, told)
    return BoardRecords(
        subjects=registry.stored_subjects(connection),
        labels=registry.stored_judges(connection),
        every=every,
        judgements=judgements,
        failed=usage.failed_attempts(connection, FAILED, {script for of in every for script in of.slots}),
        # of a single judge nobody asks
        since=registry.judging_since(connection) if len({one.judge_hash for one in judgements}) > 1 else {},
        decided=registry.decided(connection),
        people=registry.people_judging(connection),
        vendors={judge: vendor_of(str(spec.get("model"))) for judge, spec in registry.judge_specs(connection).items()},
        elsewhere=asked_elsewhere(connection, protocol, every, judgements),
        published=registry.published_rows(connection),
    )


class ScoredBoard(NamedTuple):
    """A board before it is known how sure its scores are, and what they were made of."""

    board: Board
    results: Results
    given: tuple[Mapping[Key, Judgement], ...]  # by its judge, or by each judge of its jury


def scored_boards(
    records: BoardRecords, protocol: Protocol, judge: str | None = None, jury: Sequence[str] = (), rules: Rules = OWN
) -> Iterator[ScoredBoard]:
    """Every ranking of *protocol* that the records hold; its order, *judge*, *jury* and *rules* as in `boards`.

    Raises WrongUse for a jury that is none.
    """
    units = protocol.units
    judges = [_jury(records, jury, apart=protocol.has_stems)] if jury else _judges(records)
    for results in records.every:
        marked = [own for own in judges if not results.keys.isdisjoint(own.given)]
        if not jury:
            marked = [
                own for own in marked if records.elsewhere.isdisjoint(own.hashes) or has_a_run(results, own.given)
            ]
        ranked_by = []
        for own in marked or [_Judge(None, each=({},))]:
            rows = [
                _excluded(_row(records, results, units, hash_, name, own, rules), records.decided.get(hash_), rules)
                for hash_, name in unique_labels({one: records.subjects[one] for one in results.runs}).items()
            ]
            ranked_by.append((own, *_in_order(rows, with_ranks=not own.by_table)))
        ranked_by.sort(key=lambda ranking: ranking[0].order(len(ranking[1])))
        ordered = () if jury else tuple(own.label for own, *_ in ranked_by if own.label is not None)
        for own, ranked, incomplete in ranked_by if results.transcripts else ():
            if judge is None or (own.label is not None and judge in own.label):
                vendors = {records.vendors.get(judge) for judge in own.hashes}
                board = Board(
                    units, results.configurations, own.label, own.by_table, ranked, incomplete, rules.name,
                    judge_hashes=own.hashes, jurors=own.jurors, judges=ordered,
                    vendor=vendors.pop() if len(vendors) == 1 else None,
                )  # fmt: skip
                yield ScoredBoard(board, results, own.each)


@dataclass(frozen=True, slots=True)
class _Judge:
    """A judge or a jury whose boards are made."""

    label: str | None
    hashes: tuple[str, ...] = ()
    given: Mapping[Key, Judgement] = field(default_factory=dict)  # of a jury the mean of its judges
    each: tuple[Mapping[Key, Judgement], ...] = ()  # of those hashes
    jurors: tuple[str, ...] = ()  # of a jury: the labels of its judges
    apart: bool = False  # a jury's scores are averaged, not its marks
    by_table: bool = False
    is_person: bool = False
    since: float = 0.0  # when it judged first, in seconds since 1970

    @property
    def marking(self) -> tuple[Mapping[Key, Judgement], ...]:
        """What scores are made of, and then averaged."""
        return self.each if self.apart else (self.given,)

    def order(self, ranked: int) -> tuple[bool, bool, bool, int, float, str]:
        """What boards are sorted by, the main judge's first; *ranked*: how many subjects it ranks."""
        return not ranked, self.is_person, self.by_table, -ranked, self.since, self.label or ""


def _by_judge(records: BoardRecords) -> dict[str, dict[Key, Judgement]]:
    """Hash of a judge -> its judgements; judges that only sat the exam are not among them."""
    given: dict[str, dict[Key, Judgement]] = defaultdict(dict)
    for judgement in records.judgements:
        given[judgement.judge_hash][judgement.about] = judgement
    return given


def _judges(records: BoardRecords) -> list[_Judge]:
    """Each judge by itself."""
    return [
        _Judge(
            label := records.labels[judge],
            hashes=(judge,),
            given=given,
            each=(given,),
            by_table=is_table_judge(label),
            is_person=judge in records.people,
            since=records.since.get(judge, 0.0),
        )
        for judge, given in _by_judge(records).items()
    ]


def _jury(records: BoardRecords, named: Sequence[str], apart: bool) -> _Judge:
    """The judges that are *named*, together; *apart*: the mean of two levels is no level."""
    by_judge, labels = _by_judge(records), records.labels
    # an exam leaves judges that judged nothing here: they must not make a name mean several
    chosen = tuple(find_jury({judge: labels[judge] for judge in by_judge} or labels, named))
    jurors, each = tuple(labels[judge] for judge in chosen), tuple(by_judge.get(judge, {}) for judge in chosen)
    by_table = any(is_table_judge(label) for label in jurors)
    return _Judge(jury_label(list(jurors)), chosen, jury_judgements(list(each)), each, jurors, apart, by_table)


def _in_order(rows: Sequence[Row], with_ranks: bool) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """(those with an index, the best first, equal indices sharing a rank; the incomplete)."""
    ordered = sorted(rows, key=lambda row: (-(row.score.index or 0.0), row.label))
    indices = [row.score.index for row in ordered if row.score.index is not None]
    ranks = {index: rank for rank, index in reversed(list(enumerate(indices, start=1))) if with_ranks}
    ranked = tuple(replace(row, rank=ranks.get(row.score.index)) for row in ordered if row.score.index is not None)
    return ranked, tuple(row for row in ordered if row.score.index is None)


def _excluded(row: Row, decision: Decision | None, rules: Rules) -> Row:
    """The row, without an index where it is excluded; the rest of its numbers stays. A person overrides the rule.

    The rule: of who gave no valid reply in too many conversations, what is left would be a choice of its best.
    """
    why, health = None, row.health
    ended = health.complete + health.invalid
    if decision is not None and decision.verdict == "exclude":
        why = f"excluded by a person: {decision.reason}"
    elif rules.name == OWN.name and health.invalid > MOST_UNANSWERED * ended:
        share = f"{health.invalid} of {ended} conversations have no valid reply"
        why = f"excluded: {share}, over {MOST_UNANSWERED:.0%}"
        if decision is not None:
            return replace(row, missing=(f"would be {why}; kept by a person: {decision.reason}", *row.missing))
    if why is None:
        return row
    score = replace(row.score, index=None, deviation=None)
    return replace(
        row, index_if_folded=None, score=score, by_configuration={}, missing=(why, *row.missing), excluded=why
    )


def _row(
    records: BoardRecords, results: Results, units: Protocol, subject: str, label: str, judge: _Judge, rules: Rules
) -> Row:
    """Of *subject* (its hash), which still has an index if it is excluded; *units*: what is scored as scenarios."""
    protocol, group = results.protocol, results.configurations
    mine = results.by_subject[subject]
    records.told(len(mine))
    transcripts = list({conversation.row.id: conversation.row for conversation in mine}.values())
    marks = mean_marks([results.unit_marks(mine, given, rules.partial) for given in judge.marking])
    states = states_of(results, mine, judge.given, rules.partial)
    judged = {run: marks.get(run, {}) for run in sorted(states)}
    runs, whole = rules.score(units, group, judged)
    dropped: tuple[int, ...] = ()
    kept = {run: judged[run] for run, score in runs.items() if score.index is not None}
    if rules.whole_runs and whole.index is None and kept:
        dropped = tuple(run for run in runs if run not in kept)
        marks = judged = kept
        runs, whole = rules.score(units, group, judged)
    # by other rules a mark at its lowest may not count at all
    lost = rules.name == OWN.name and {
        (played.row.run, (played.configuration, played.scenario.stem or played.scenario.id))
        for played in mine
        if played.row.id in records.failed
    }
    # a run without marks in one configuration of a pool counts as missing there
    pool = group if len(group) > 1 else ()
    return Row(
        rank=None,
        subject=records.subjects[subject],
        label=label,
        score=whole,
        runs=runs,
        health=health_of(
            len(states) * len(group) * len(protocol.scenarios),
            transcripts,
            states,
            sum(records.failed.get(row.id, 0) for row in transcripts),
        ),
        missing=missing_lines(protocol, states, runs, whole.coverage),
        left_out=left_out(results, mine, judge.marking),
        by_configuration={of_pool: rules.score(units, (of_pool,), judged)[1] for of_pool in pool},
        marks=marks,
        made=run_times((row.run, row.finished_at) for row in transcripts),
        dropped_runs=dropped,
        index_if_folded=rules.score(units, group, with_lowest(units, judged, lost))[1].index if lost else None,
    )
