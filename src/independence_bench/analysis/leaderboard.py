"""The leaderboard as values: everything that is shown is decided here, nothing is formatted here.

One board is one ranking: one protocol, one configuration (or the pooled default), one judge or one jury. Numbers
of two configurations or of two judges never stand in one ranking. Where a protocol pools several configurations, a row
holds the score of each of them beside the pooled one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from independence_bench.analysis.results import Key, Results, judgements_of, results_of
from independence_bench.analysis.run_times import RunTimes, run_times
from independence_bench.analysis.uncertainty import (
    NO_UNCERTAINTY,
    BoardUncertainty,
    RowUncertainty,
    RunMarks,
    Uncertainty,
    measure_board,
)
from independence_bench.judging.panel import find_jury, jury_judgements, jury_label
from independence_bench.models.local import is_table_judge
from independence_bench.models.messages import UNUSABLE, Kind
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import load, shipped
from independence_bench.protocol.scoring import (
    OWN,
    Marks,
    Rules,
    RunScore,
    Slot,
    SubjectScore,
    score_run,
    score_subject,
)
from independence_bench.store import exclusions, registry, usage
from independence_bench.store.database import Store
from independence_bench.store.exclusions import Decision
from independence_bench.store.registry import unique_labels
from independence_bench.store.results import Judgement, TranscriptRow

FAILED = UNUSABLE | {Kind.REFUSED_PROMPT, Kind.BAD_REQUEST}  # what came of an attempt, and is no answer
MOST_UNANSWERED = 0.2  # of a subject's conversations; beyond that it is excluded
JURY = "jury"  # in the place of a judge's hash


@dataclass(frozen=True, slots=True)
class Health:
    """What a row's numbers rest on."""

    transcripts: int  # planned for the runs that were begun
    complete: int
    invalid: int
    judged: int
    judge_failed: int
    replies: int  # that were asked for, invalid ones included
    cut_off: int  # of those: ended by the token limit
    plain_text: int  # of those: spoken beside the tool
    reasoned: int  # of those: came with reasoning, whether it was asked for or not
    failed: int = 0  # attempts at them that brought no answer, of which each but the last was made again

    @property
    def invalid_share(self) -> float:
        """Invalid replies of all replies asked for, [0, 1]; 0 where none was."""
        return self.invalid / self.replies if self.replies else 0.0

    @property
    def cut_off_share(self) -> float:
        """Replies cut off of all replies asked for, [0, 1]; 0 where none was."""
        return self.cut_off / self.replies if self.replies else 0.0

    @property
    def attempts(self) -> int:
        """Attempts that brought something, an answer or none; not those that an endpoint put off."""
        return self.replies - self.invalid + self.failed

    @property
    def failed_share(self) -> float:
        """Attempts that brought no answer of all attempts, [0, 1]; 0 where there was none."""
        return self.failed / self.attempts if self.attempts else 0.0

    @property
    def plain_text_share(self) -> float:
        """Replies spoken beside the tool of all replies asked for, [0, 1]; 0 where none was."""
        return self.plain_text / self.replies if self.replies else 0.0

    @property
    def reasoned_share(self) -> float:
        """Replies that came with reasoning of all replies asked for, [0, 1]; 0 where none was."""
        return self.reasoned / self.replies if self.replies else 0.0


@dataclass(frozen=True, slots=True)
class Row:
    """One subject on one board. *rank* is None where the subject is incomplete."""

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
    certainty: RowUncertainty = NO_UNCERTAINTY
    """How sure the scores are; nothing is where it is not ranked, or not by our own rules."""
    certainty_by_configuration: Mapping[Configuration, Uncertainty] = field(default_factory=dict)
    """Of a pool: of the index in each configuration by itself, where it has one."""
    made: RunTimes | None = None
    """When its runs were; None: nothing was finished."""
    excluded: str | None = None
    """Why it is not scored, though its marks may all be there; None: it is not excluded."""

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
    by_table: bool  # the judge is the embedded one, or a jury that it sits on
    ranked: tuple[Row, ...]
    incomplete: tuple[Row, ...]
    rules: str = OWN.name  # by which marks became indices
    sureness: BoardUncertainty | None = None  # of the ranked, in their order; None: not by our own rules
    sureness_by_configuration: Mapping[Configuration, BoardUncertainty] = field(default_factory=dict)
    """Of a pool, by our own rules: the same of each configuration by itself; else empty."""
    jurors: tuple[str, ...] = ()  # of a jury: the judges' labels
    judges: tuple[str, ...] = ()
    """All that have judged this protocol in these configurations, the main one first; () for a jury, or for none."""

    @property
    def protocol_name(self) -> str:
        """What it is called; with the start of its hash where it is called like a shipped one and is another."""
        name = self.protocol.name
        if name in shipped() and load(name).hash != self.protocol.hash:
            return f"{self.protocol.called}, not as shipped: {self.protocol.hash[:8]}"
        return self.protocol.called

    @property
    def main_judge(self) -> str | None:
        """The judge whose board answers where nobody says by which; of a jury None."""
        return self.judges[0] if self.judges else None

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
        subjects = registry.stored_subjects(connection)
        labels = registry.stored_judges(connection)
        every = results_of(connection, protocol)
        judgements = judgements_of(connection, every)
        scripts = {script for of in every for script in of.slots}
        failed = usage.failed_attempts(connection, FAILED, scripts)
        since = registry.judging_since(connection)
        specs = registry.judge_specs(connection)
        decided = exclusions.decided(connection)
    by_judge: dict[str, dict[Key, Judgement]] = defaultdict(dict)
    for judgement in judgements:
        by_judge[judgement.judge_hash][judgement.about] = judgement
    tables = {hash_ for hash_, label in labels.items() if is_table_judge(label)}
    jurors: dict[str, dict[Key, Judgement]] = {}
    if jury:
        chosen = find_jury(labels, jury)
        jurors = {labels[hash_]: by_judge.get(hash_, {}) for hash_ in chosen}
        by_judge = {JURY: jury_judgements(list(jurors.values()))}
        tables = {JURY} if tables & set(chosen) else set()
        labels = {JURY: jury_label(list(jurors))}
    people = {hash_ for hash_, spec in specs.items() if spec.get("kind") == "person"}
    made = []
    for results in every:
        found: list[tuple[str | None, Board]] = []
        judging: list[str | None] = [h for h, given in by_judge.items() if not results.keys.isdisjoint(given)]
        for judge_hash in judging or [None]:
            given = {} if judge_hash is None else by_judge[judge_hash]
            board = _board(results, None if judge_hash is None else labels[judge_hash], given, subjects, rules)
            board = replace(board, by_table=judge_hash in tables, jurors=tuple(jurors))
            board = _with_attempts(board, results.transcripts, failed)
            board = _without_excluded(board, decided, rules)
            found.append((judge_hash, board))
        found.sort(
            key=lambda one: (
                not one[1].ranked,
                one[0] in people,
                one[1].by_table,
                -len(one[1].ranked),
                since.get(one[0] or "", 0.0),
                one[1].judge or "",
            )
        )
        ordered = () if jury else tuple(board.judge for _, board in found if board.judge is not None)
        for _, board in found if results.transcripts else ():
            if judge is None or (board.judge is not None and judge in board.judge):
                board = replace(board, judges=ordered)
                if rules.name == OWN.name:
                    board = _with_certainty(board, [_judged(results, given) for given in jurors.values()])
                made.append(board)
    return made


def _board(
    results: Results,
    judge: str | None,
    given: Mapping[Key, Judgement],
    subjects: Mapping[str, ChatModel],
    rules: Rules,
) -> Board:
    by_subject: dict[str, list[TranscriptRow]] = defaultdict(list)
    for row in results.transcripts:
        by_subject[row.subject_hash].append(row)
    names = unique_labels({hash_: subjects[hash_] for hash_ in by_subject})
    rows = [_row(results, subjects[hash_], names[hash_], mine, given, rules) for hash_, mine in by_subject.items()]
    complete = sorted(
        (row for row in rows if row.score.index is not None),
        key=lambda row: (-(row.score.index or 0.0), row.label),
    )
    ranked = [_with_rank(row, complete) for row in complete]
    incomplete = sorted((row for row in rows if row.score.index is None), key=lambda row: row.label)
    return Board(results.protocol, results.configurations, judge, False, tuple(ranked), tuple(incomplete), rules.name)


def _with_attempts(board: Board, transcripts: Sequence[TranscriptRow], failed: Mapping[str, int]) -> Board:
    """The board with how many attempts at each subject's replies have failed."""
    counts: Counter[str] = Counter()
    for one in transcripts:
        counts[one.subject_hash] += failed.get(one.id, 0)

    def told(row: Row) -> Row:
        return replace(row, health=replace(row.health, failed=counts[row.subject.hash]))

    return replace(board, ranked=tuple(map(told, board.ranked)), incomplete=tuple(map(told, board.incomplete)))


def _without_excluded(board: Board, decided: Mapping[str, Decision], rules: Rules) -> Board:
    """Without the scores of who is excluded: by a person, or by our own rules."""
    told = [_placed(row, decided.get(row.subject.hash), rules) for row in (*board.ranked, *board.incomplete)]
    left = [row for row in told if row.score.index is not None]
    out = [row for row in told if row.score.index is None]
    return replace(
        board,
        ranked=tuple(_with_rank(row, left) for row in left),
        incomplete=tuple(sorted(out, key=lambda row: row.label)),
    )


def _placed(row: Row, decision: Decision | None, rules: Rules) -> Row:
    """The row, without its scores where it is excluded. A person's word comes before the rule.

    The rule: of who gave no valid reply in too many conversations, what is left would be a choice of its best.
    """
    if decision is not None and decision.verdict == "exclude":
        return _without_scores(row, f"excluded by a person: {decision.reason}")
    health = row.health
    ended = health.complete + health.invalid
    if rules.name != OWN.name or health.invalid <= MOST_UNANSWERED * ended:
        return row
    share = f"{health.invalid} of {ended} conversations have no valid reply in the end"
    why = f"excluded: {share}, over {MOST_UNANSWERED:.0%}"
    if decision is not None:
        return replace(row, missing=(f"would be {why}; a person keeps it: {decision.reason}", *row.missing))
    return _without_scores(row, why)


def _without_scores(row: Row, why: str) -> Row:
    score = SubjectScore(
        row.score.runs, dict.fromkeys(row.score.means), dict.fromkeys(row.score.dimensions), None, None
    )
    missing = (why, *row.missing)
    return replace(row, rank=None, score=score, runs={}, by_configuration={}, missing=missing, excluded=why)


def _judged(results: Results, given: Mapping[Key, Judgement]) -> dict[str, dict[int, dict[Slot, Marks]]]:
    """Subject hash -> run -> slot -> the marks of one judge."""
    found: dict[str, dict[int, dict[Slot, Marks]]] = defaultdict(lambda: defaultdict(dict))
    for one in results.conversations:
        judgement = given.get(one.key)
        if judgement is not None and judgement.reason is None:
            found[one.row.subject_hash][one.row.run][one.configuration, one.scenario.id] = judgement.marks
    return found


def _with_certainty(board: Board, by_judge: Sequence[Mapping[str, RunMarks]]) -> Board:
    """The board with how sure its scores are. *by_judge*: of each judge of a jury, subject hash -> its marks."""
    rows = board.ranked
    marks = [row.marks for row in rows]
    judged = [[mine.get(row.subject.hash, {}) for row in rows] for mine in by_judge]
    sureness = measure_board(board.protocol, board.configurations, marks, judged)
    pooled = board.configurations if len(board.configurations) > 1 else ()
    by_configuration = {one: measure_board(board.protocol, (one,), marks, judged) for one in pooled}
    apart = {one: of.certainties() for one, of in by_configuration.items()}
    sure = [
        replace(row, certainty=certainty, certainty_by_configuration={one: of[n].index for one, of in apart.items()})
        for n, (row, certainty) in enumerate(zip(rows, sureness.certainties(), strict=True))
    ]
    return replace(board, ranked=tuple(sure), sureness=sureness, sureness_by_configuration=by_configuration)


def _with_rank(row: Row, rows: Sequence[Row]) -> Row:
    """Equal indices share a rank."""
    better = sum((other.score.index or 0.0) > (row.score.index or 0.0) for other in rows)
    return replace(row, rank=better + 1)


def _row(
    results: Results,
    subject: ChatModel,
    label: str,
    transcripts: Sequence[TranscriptRow],
    given: Mapping[Key, Judgement],
    rules: Rules,
) -> Row:
    protocol, group = results.protocol, results.configurations
    marks: dict[int, dict[Slot, Marks]] = defaultdict(dict)
    states: dict[int, dict[Slot, str]] = defaultdict(dict)
    failed = 0
    for row in transcripts:
        for slot in results.slots[row.script_hash]:
            judgement = given.get((row.heard_hash, results.rubrics[slot[1]]))
            if row.state == "invalid" and not (rules.lenient and judgement and judgement.reason is None):
                states[row.run][slot] = f"invalid ({row.reason})"
            elif judgement is None:
                states[row.run][slot] = "not judged"
            elif judgement.reason is not None:
                states[row.run][slot] = f"the judge failed ({judgement.reason})"
                failed += 1
            else:
                states[row.run][slot] = "judged"
                marks[row.run][slot] = judgement.marks
    runs = {run: score_run(protocol, group, marks[run], rules) for run in sorted(states)}
    missing = []
    for run, score in runs.items():
        why = Counter(_why(states[run], slot) for slot in score.missing)
        missing += [f"run {run}: {count} × {reason}" for reason, count in sorted(why.items())]
    health = Health(
        transcripts=len(runs) * len(group) * len(protocol.scenarios),
        complete=sum(row.state == "complete" for row in transcripts),
        invalid=sum(row.state == "invalid" for row in transcripts),
        judged=sum(len(of_run) for of_run in marks.values()),
        judge_failed=failed,
        replies=sum(row.replies for row in transcripts),
        cut_off=sum(row.cut_off for row in transcripts),
        plain_text=sum(row.plain_text for row in transcripts),
        reasoned=sum(row.reasoned for row in transcripts),
    )
    whole = score_subject(list(runs.values()), protocol, rules)
    if rules.lenient and whole.index is None:  # what is left of its runs is no index either
        runs = {run: replace(score, index=None) for run, score in runs.items()}
    apart = _apart(protocol, group, marks, list(runs), rules)
    made = run_times((row.run, row.finished_at) for row in transcripts)
    return Row(None, subject, label, whole, runs, health, tuple(missing), apart, marks, made=made)


def _apart(
    protocol: Protocol,
    group: Sequence[Configuration],
    marks: Mapping[int, Mapping[Slot, Marks]],
    runs: Sequence[int],
    rules: Rules,
) -> dict[Configuration, SubjectScore]:
    """Each configuration of a pool by itself; empty where there is only one. A run without marks counts as missing."""
    if len(group) == 1:
        return {}
    of_run = {one: [score_run(protocol, (one,), marks.get(run, {}), rules) for run in runs] for one in group}
    return {one: score_subject(scores, protocol, rules) for one, scores in of_run.items()}


def _why(states: Mapping[Slot, str], slot: Slot) -> str:
    state = states.get(slot, "not played")
    return "a mark that this judge has no grounds for" if state == "judged" else state
