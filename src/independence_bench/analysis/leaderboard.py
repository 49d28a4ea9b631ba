"""The leaderboard as values: everything that is shown is decided here, nothing is formatted here.

One board is one ranking: one protocol, one configuration (or the pooled default), one judge or one jury. Numbers
of two configurations or of two judges never stand in one ranking. Where a protocol pools several configurations, a row
holds the score of each of them beside the pooled one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum

from sqlalchemy import Connection

from independence_bench.analysis.branch_values import BranchStatistics, Share
from independence_bench.analysis.branches import branch_statistics
from independence_bench.analysis.exam.boards import BoardExam, ExaminedJudges, examined_judges
from independence_bench.analysis.health import Health
from independence_bench.analysis.missing_marks import (
    FAILED_JUDGE,
    JUDGED,
    WITHOUT_VIEW,
    left_out,
    missing_lines,
    states_of,
)
from independence_bench.analysis.results import Key, Results, judgements_of, results_of
from independence_bench.analysis.rule_readings import RuleReadings, rule_readings
from independence_bench.analysis.run_times import RunTimes, run_times
from independence_bench.analysis.uncertainty import (
    NO_UNCERTAINTY,
    BoardUncertainty,
    RowUncertainty,
    Uncertainty,
    measure_board,
)
from independence_bench.analysis.weight_ranks import RankStability, index_by_term, rank_stability
from independence_bench.judging.panel import find_jury, jury_judgements, jury_label
from independence_bench.models.local import is_table_judge
from independence_bench.models.messages import UNUSABLE, Kind
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import load, shipped
from independence_bench.protocol.scoring import OWN, Marks, Rules, RunMarks, RunScore, Slot, SubjectScore
from independence_bench.store import registry, usage
from independence_bench.store.database import Store
from independence_bench.store.registry import Decision, unique_labels
from independence_bench.store.results import Judgement

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
    """Run -> slot -> the marks behind the scores."""
    uncertainty: RowUncertainty = NO_UNCERTAINTY
    """How sure the scores are; nothing is where it is not ranked, or not by our own rules."""
    uncertainty_by_configuration: Mapping[Configuration, Uncertainty] = field(default_factory=dict)
    """Of a pool: of the index in each configuration by itself, where it has one."""
    made: RunTimes | None = None
    """When its runs were; None: nothing was finished."""
    excluded: str | None = None
    """Why it is not scored, though its marks may all be there; None: it is not excluded."""
    branches: BranchStatistics | None = None
    """Of a protocol with stems, by our own rules: what it did in each branch, as far as it is judged."""
    left_out: Mapping[str, Share] = field(default_factory=dict)
    """Where its judge left out marks that the index needs: mark -> in which share of the conversations, most first."""
    by_rule: RuleReadings | None = None
    """Of a protocol with stems: what the rule reads on the last lines, whoever judges; nothing is ranked by it."""

    @property
    def thinks(self) -> bool:
        """Whether it reasons before it answers: told to, or by itself in most of its replies."""
        return self.subject.thinks or self.health.reasoned_share > 0.5


@dataclass(frozen=True, slots=True)
class Board:
    """One ranking."""

    protocol: Protocol
    configurations: tuple[Configuration, ...]
    judge: str | None  # label, of one judge or of a jury; None: nothing is judged yet
    by_table: bool  # the judge is the embedded one, or a jury that includes it
    ranked: tuple[Row, ...]
    incomplete: tuple[Row, ...]
    rules: str = OWN.name  # by which marks became indices
    uncertainty: BoardUncertainty | None = None  # of the ranked, in their order; None: not by our own rules
    uncertainty_by_configuration: Mapping[Configuration, BoardUncertainty] = field(default_factory=dict)
    """Of a pool, by our own rules: the same of each configuration by itself; else empty."""
    jurors: tuple[str, ...] = ()  # of a jury: the judges' labels
    judges: tuple[str, ...] = ()
    """All that have judged this protocol in these configurations, the main one first; () for a jury, or for none."""

    stability: RankStability | None = None
    """Of a protocol with stems, by our own rules: how far the order of the ranked (labels) hangs on the weights."""
    exam: BoardExam | None = None  # of the judge or the jury; None: a person's, and where nothing is judged

    @property
    def rows(self) -> tuple[Row, ...]:
        """All of them, the incomplete ones last."""
        return (*self.ranked, *self.incomplete)

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
        """Whether nobody has a rank: its judge is known not to be fit, as no embedded one is."""
        return self.by_table

    @property
    def default(self) -> bool:
        """Whether this is the configuration that the protocol is meant to be played in."""
        return self.configurations == self.protocol.configurations


def boards(
    store: Store, protocol: Protocol, judge: str | None = None, jury: Sequence[str] = (), rules: Rules = OWN
) -> list[Board]:
    """Every ranking that the store holds for *protocol*: the default configuration first, then the others.

    In each configuration the main judge's board comes first: a judge that ranks somebody before one that ranks nobody,
    a model before the embedded judge and that before a person, then who ranks most subjects, then who judged first.
    *judge* keeps the boards of judges whose label contains it. *jury* (labels, or parts that fit one each) gives the
    mean of those judges in their place. *rules* say how marks become an index. An empty list: nothing was played.
    Raises WrongUse for a jury that is none.
    """
    with store.reading() as connection:
        records = read_records(connection, protocol)
    return boards_of(records, protocol, judge, jury, rules)


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
    examined: ExaminedJudges


def read_records(connection: Connection, protocol: Protocol) -> BoardRecords:
    """What the store has of *protocol*."""
    every = results_of(connection, protocol)
    return BoardRecords(
        registry.stored_subjects(connection),
        registry.stored_judges(connection),
        every,
        judgements_of(connection, every),
        usage.failed_attempts(connection, FAILED, {script for of in every for script in of.slots}),
        registry.judging_since(connection),
        registry.decided(connection),
        examined_judges(connection, protocol),
    )


def boards_of(
    records: BoardRecords,
    protocol: Protocol,
    judge: str | None = None,
    jury: Sequence[str] = (),
    rules: Rules = OWN,
    measured: bool = True,
) -> list[Board]:
    """The same as `boards` of what was read before; without intervals and branches unless they are to be *measured*."""
    subjects, labels, examined = records.subjects, records.labels, records.examined
    failed, since, decided = records.failed, records.since, records.decided
    units, people = protocol.units, examined.people
    by_judge: dict[str, dict[Key, Judgement]] = defaultdict(dict)
    for judgement in records.judgements:
        by_judge[judgement.judge_hash][judgement.about] = judgement
    jurors: dict[str, Mapping[Key, Judgement]] = {}
    if jury:
        # an exam leaves judges that judged nothing here: they must not make a name mean several
        chosen = find_jury({one: labels[one] for one in by_judge} or labels, jury)
        jurors = {labels[hash_]: by_judge.get(hash_, {}) for hash_ in chosen}
        by_table = any(is_table_judge(label) for label in jurors)
        each = list(jurors.values())
        # the mean of two levels is no level, so where levels are scored each judge's scores are made first
        apart = tuple(each) if protocol.has_stems else ()
        called, exam = jury_label(list(jurors)), examined.of(chosen)
        judges = [_Judge(called, jury_judgements(each), by_table, jurors=apart, exam=exam)]
    else:
        judges = [
            _Judge(label := labels[one], given, is_table_judge(label), one in people, since.get(one, 0.0), (), exam)
            for one, given in by_judge.items()
            for exam in [examined.of([one])]
        ]
    made = []
    for results in records.every:
        found = []
        names = unique_labels({hash_: subjects[hash_] for hash_ in results.runs})
        for one in [one for one in judges if not results.keys.isdisjoint(one.given)] or [_Judge(None, {})]:
            rows = [_row(results, units, subjects[hash_], name, one, failed, rules) for hash_, name in names.items()]
            rows = [_excluded(row, decided.get(row.subject.hash), rules) for row in rows]
            found.append((one, *_in_order(rows, with_ranks=not one.by_table)))
        found.sort(key=lambda board: board[0].order(len(board[1])))
        ordered = () if jury else tuple(one.label for one, *_ in found if one.label is not None)
        for one, ranked, incomplete in found if results.transcripts else ():
            if judge is None or (one.label is not None and judge in one.label):
                board = Board(
                    units, results.configurations, one.label, one.by_table, ranked, incomplete, rules.name,
                    jurors=tuple(jurors), judges=ordered, exam=one.exam,
                )  # fmt: skip
                if measured and rules.name == OWN.name:
                    board = _measured(board, [_judged(results, given) for given in jurors.values()])
                    board = _with_branches(board, results, one.jurors or (one.given,))
                made.append(board)
    return made


@dataclass(frozen=True, slots=True)
class _Judge:
    """A judge or a jury whose boards are made."""

    label: str | None
    given: Mapping[Key, Judgement]
    by_table: bool = False
    is_person: bool = False
    since: float = 0.0  # when it judged first, in seconds since 1970
    jurors: tuple[Mapping[Key, Judgement], ...] = ()  # of a jury whose scores are averaged, not its marks
    exam: BoardExam | None = None

    def order(self, ranked: int) -> tuple[bool, bool, bool, int, float, str]:
        """What boards are sorted by, the main judge's first; *ranked*: how many subjects it ranks."""
        return not ranked, self.is_person, self.by_table, -ranked, self.since, self.label or ""


def _in_order(rows: Sequence[Row], with_ranks: bool) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """(those with an index, the best first, equal indices sharing a rank; the incomplete)."""
    ordered = sorted(rows, key=lambda row: (-(row.score.index or 0.0), row.label))
    indices = [row.score.index for row in ordered if row.score.index is not None]
    ranks = {index: 1 + sum(other > index for other in indices) for index in indices}
    ranked = tuple(replace(row, rank=ranks[row.score.index]) for row in ordered if row.score.index is not None)
    ranked = ranked if with_ranks else tuple(replace(row, rank=None) for row in ranked)
    return ranked, tuple(row for row in ordered if row.score.index is None)


def _excluded(row: Row, decision: Decision | None, rules: Rules) -> Row:
    """The row, without its scores where it is excluded. A person's decision overrides the rule.

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
    nothing = dict.fromkeys(row.score.means), dict.fromkeys(row.score.dimensions)
    score = SubjectScore(row.score.runs, *nothing, index=None, deviation=None)
    return replace(row, score=score, runs={}, by_configuration={}, missing=(why, *row.missing), excluded=why)


def _judged(results: Results, given: Mapping[Key, Judgement]) -> dict[str, dict[int, dict[Slot, Marks]]]:
    """Subject hash -> run -> slot -> the marks of one judge."""
    return {subject: results.unit_marks(mine, given) for subject, mine in results.by_subject.items()}


def _measured(board: Board, by_judge: Sequence[Mapping[str, RunMarks]]) -> Board:
    """The board with how sure its scores are. *by_judge*: of each judge of a jury, subject hash -> its marks."""
    rows = board.ranked
    marks = [row.marks for row in rows]
    judged = [[mine.get(row.subject.hash, {}) for row in rows] for mine in by_judge]
    whole = measure_board(board.protocol, board.configurations, marks, judged)
    pooled = board.configurations if len(board.configurations) > 1 else ()
    alone = {one: measure_board(board.protocol, (one,), marks, judged) for one in pooled}
    apart = {one: of.of_subjects() for one, of in alone.items()}
    sure = whole.of_subjects()
    if board.demonstration:
        sure = [replace(one, standing=None, standing_another=None) for one in sure]
    ranked = [
        replace(row, uncertainty=of_row, uncertainty_by_configuration={one: of[n].index for one, of in apart.items()})
        for n, (row, of_row) in enumerate(zip(rows, sure, strict=True))
    ]
    return replace(board, ranked=tuple(ranked), uncertainty=whole, uncertainty_by_configuration=alone)


def _with_branches(board: Board, results: Results, judges: Sequence[Mapping[Key, Judgement]]) -> Board:
    """The board with what each subject did in its branches, where the protocol has stems."""
    if not results.protocol.has_stems:
        return board

    def found(row: Row) -> BranchStatistics | None:
        of = branch_statistics(results, row.subject.hash, judges)
        # the embedded judge begins with what the rule reads: that they agree would say nothing
        return of and replace(of, readings={}) if board.by_table and not board.jurors else of

    ranked, incomplete = (
        tuple(row if row.excluded else replace(row, branches=found(row)) for row in rows)
        for rows in (board.ranked, board.incomplete)
    )
    terms = {row.label: index_by_term(results, row.subject.hash, judges) for row in ranked}
    known = {label: of for label, of in terms.items() if of is not None}
    rule = results.protocol.score
    stability = rank_stability(known, [term.weight for term in rule.terms]) if rule and len(known) > 1 else None
    return replace(board, ranked=ranked, incomplete=incomplete, stability=stability)


def _row(
    results: Results,
    units: Protocol,
    subject: ChatModel,
    label: str,
    judge: _Judge,
    attempts: Mapping[str, int],
    rules: Rules,
) -> Row:
    """*units*: what is scored as scenarios; *attempts*: transcript's id -> how many at its replies have failed."""
    protocol, group = results.protocol, results.configurations
    mine = results.by_subject[subject.hash]
    transcripts = list({one.row.id: one.row for one in mine}.values())
    judges = judge.jurors or (judge.given,)
    marks = _of_jury([results.unit_marks(mine, given, rules.partial) for given in judges])
    states = states_of(results, mine, judge.given, rules.partial)
    ended = Counter(state for of_run in states.values() for state in of_run.values())
    judged = {run: marks.get(run, {}) for run in sorted(states)}
    runs, whole = rules.score(units, group, judged)
    # a run without marks in one configuration of a pool counts as missing there
    pool = group if len(group) > 1 else ()
    return Row(
        rank=None,
        subject=subject,
        label=label,
        score=whole,
        runs=runs,
        health=Health(
            transcripts=len(runs) * len(group) * len(protocol.scenarios),
            complete=sum(row.state == "complete" for row in transcripts),
            invalid=sum(row.state == "invalid" for row in transcripts),
            judged=ended[JUDGED],
            judge_failed=sum(count for state, count in ended.items() if state.startswith(FAILED_JUDGE)),
            replies=sum(row.replies for row in transcripts),
            cut_off=sum(row.cut_off for row in transcripts),
            plain_text=sum(row.plain_text for row in transcripts),
            reasoned=sum(row.reasoned for row in transcripts),
            failed=sum(attempts.get(row.id, 0) for row in transcripts),
            without_view=ended[WITHOUT_VIEW],
        ),
        missing=missing_lines(protocol, states, runs),
        left_out=left_out(protocol, mine, judges),
        by_rule=rule_readings(results, subject.hash),
        by_configuration={one: rules.score(units, (one,), judged)[1] for one in pool},
        marks=marks,
        made=run_times((row.run, row.finished_at) for row in transcripts),
    )


def _of_jury(marks: Sequence[dict[int, dict[Slot, Marks]]]) -> dict[int, dict[Slot, Marks]]:
    """The mean of the judges' marks, of what all of them have marked."""
    first, *others = marks
    if not others:
        return first
    return {
        run: {
            slot: {mark: fsum(one[run][slot][mark] for one in marks) / len(marks) for mark in given}
            for slot, given in of_run.items()
            if all(slot in one.get(run, {}) and one[run][slot].keys() == given.keys() for one in others)
        }
        for run, of_run in first.items()
    }
