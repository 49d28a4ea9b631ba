"""The leaderboard: every ranking of a protocol with how sure it is, and with what its judge is fit for.

Everything that is shown is decided here and in `board`, which has the scores. Formats nothing but the reasons why a
row has another index by other rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from independence_bench.analysis.board import Board, BoardRecords, Row, read_records, scored_boards
from independence_bench.analysis.branches import branch_statistics, rule_readings
from independence_bench.analysis.exam.result import examined_judges
from independence_bench.analysis.results import Key, Results
from independence_bench.analysis.statistics.sample_means import t_interval
from independence_bench.analysis.statistics.values import Interval, RowUncertainty, Uncertainty
from independence_bench.analysis.uncertainty import measure_board
from independence_bench.judging.judge import find_jury
from independence_bench.models.spec import PYTHON
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.scoring import OWN, Rules, RunMarks
from independence_bench.store.database import Store
from independence_bench.store.registry import PublishedRow
from independence_bench.store.results import Judgement, Told, nobody


def boards(
    store: Store, protocol: Protocol, judge: str | None = None, jury: Sequence[str] = (), rules: Rules = OWN
) -> list[Board]:
    """Every ranking that the store holds for *protocol*: the default configuration first, then the others.

    In each configuration the main judge's board comes first: a judge that ranks a subject before one that ranks none,
    a model before the embedded judge and that before a person, then who ranks most subjects, then who judged first.
    *judge* keeps the boards of judges whose label contains it. *jury* (labels, or parts that fit one each) gives the
    mean of those judges in their place. *rules* say how marks become an index. An empty list: nothing was played.
    Raises WrongUse for a jury that is none.
    """
    with store.reading() as connection:
        records = read_examined(connection, protocol)
    return boards_of(records, protocol, judge, jury, rules)


def read_examined(connection: Connection, protocol: Protocol, told: Told = nobody) -> BoardRecords:
    """What the store has of *protocol*, and of its judges' exams; *told*: of what is read, and scored, and measured."""
    return replace(read_records(connection, protocol, told), examined=examined_judges(connection, protocol), told=told)


def boards_of(
    records: BoardRecords, protocol: Protocol, judge: str | None = None, jury: Sequence[str] = (), rules: Rules = OWN
) -> list[Board]:
    """The same as `boards` of what was read before."""
    made = []
    for board, results, given in scored_boards(records, protocol, judge, jury, rules):
        if records.examined is not None:
            board = replace(board, exam=records.examined.exam_of(board.judge_hashes))
        made.append(board)
        if rules.name == OWN.name:
            by_judge = [
                {subject: results.unit_marks(mine, of_judge) for subject, mine in results.by_subject.items()}
                for of_judge in (given if board.jurors else ())
            ]
            made[-1] = _with_branches(_measured(board, by_judge), results, given)
            records.told(len(results.conversations))
        else:
            made[-1] = replace(
                board, ranked=tuple(_over_runs(row, board.protocol, records.published) for row in board.ranked)
            )
    return made


def _over_runs(row: Row, protocol: Protocol, published: Mapping[str, PublishedRow]) -> Row:
    """By rules that are not ours: the row with Student's t over its runs, and the interval that was published of it.

    Runs that lack a dimension are of another quantity, so where there is one there is no interval over runs.
    """
    counted = [one.name for one in protocol.dimensions if one.weight]
    alike = all(run.dimensions.get(name) is not None for run in row.runs.values() for name in counted)
    over_runs, given = t_interval(row.whole) if alike else None, published.get(row.subject.hash)
    same = given is not None and (given.index, given.runs) == (row.score.index, row.score.runs)
    return replace(
        row,
        uncertainty=RowUncertainty(Uncertainty(over_runs and over_runs.within(0.0, 100.0))),
        as_published=Interval(given.low, given.high) if given and same else None,
    )


def _measured(board: Board, by_judge: Sequence[Mapping[str, RunMarks]]) -> Board:
    """The board with how sure its scores are. *by_judge*: of each judge of a jury, subject hash -> its marks."""
    rows = board.measured
    marks = [row.marks for row in rows]
    judged = [[mine.get(row.subject.hash, {}) for row in rows] for mine in by_judge]
    sittings = [sittings_of_marks(row) for row in rows]
    whole = measure_board(board.protocol, board.configurations, marks, judged, sittings)
    pooled = board.configurations if len(board.configurations) > 1 else ()
    alone = {of_pool: measure_board(board.protocol, (of_pool,), marks, judged, sittings) for of_pool in pooled}
    alone_sure = {of_pool: measured.of_subjects() for of_pool, measured in alone.items()}
    least = [row.score.index if row.index_if_folded is None else row.index_if_folded for row in rows]
    sure = whole.of_subjects([index or 0.0 for index in least])
    if board.demonstration:
        sure = [replace(of_row, standing=None, standing_new_scenarios=None) for of_row in sure]
    measured = {
        row.subject.hash: replace(
            row, uncertainty=of_row, uncertainty_by_configuration={of: each[n].index for of, each in alone_sure.items()}
        )
        for n, (row, of_row) in enumerate(zip(rows, sure, strict=True))
    }
    ranked = tuple(measured.get(row.subject.hash, row) for row in board.ranked)
    return replace(board, ranked=ranked, uncertainty=whole, uncertainty_by_configuration=alone)


def sittings_of_marks(row: Row) -> tuple[int, ...]:
    """The sitting of each of its runs, one and the same where that is not known; () where none can shift anything.

    What is known by a hash of its weights, as a model file is, has no provider and no other version.
    """
    if row.subject.identity and row.subject.endpoint != PYTHON:  # a function may call whatever it likes
        return ()
    times = row.made.sittings if row.made else {}
    return tuple(times[run] for run in row.marks) if row.marks.keys() <= times.keys() else (1,) * len(row.marks)


def _with_branches(board: Board, results: Results, judges: Sequence[Mapping[Key, Judgement]]) -> Board:
    """The board with what each subject did in its branches, where the protocol has stems."""
    if not results.protocol.has_stems:
        return board

    def with_branches(row: Row) -> Row:
        row = replace(row, by_rule=rule_readings(results, row.subject.hash))
        of = None if row.excluded else branch_statistics(results, row.subject.hash, judges)
        # the embedded judge begins with what the rule reads: that they agree would say nothing
        return replace(row, branches=of and replace(of, readings={}) if board.by_table and not board.jurors else of)

    ranked, incomplete = (tuple(map(with_branches, rows)) for rows in (board.ranked, board.incomplete))
    return replace(board, ranked=ranked, incomplete=incomplete)


AS_SHOWN = 1  # decimals of an index


@dataclass(frozen=True, slots=True)
class RuleDifference:
    """One subject whose index, as it is shown, differs. None: not ranked by those rules."""

    label: str
    index: float | None  # by the rules that were asked for
    own_index: float | None
    why: tuple[str, ...]


def rule_differences(own: Sequence[Board], other: Sequence[Board]) -> list[RuleDifference]:
    """Every row of the *other* boards whose index is another one by our own rules, or that we do not rank.

    In the order of the other boards; rows that neither ranks are no difference. Boards are paired by configuration
    and judge. [] where nothing differs.
    """
    ours = {(board.configurations, board.judge, row.subject.hash): row for board in own for row in board.rows}
    differences = []
    for board in other:
        for row in board.rows:
            mine = ours[board.configurations, board.judge, row.subject.hash]
            shown = [None if of.score.index is None else round(of.score.index, AS_SHOWN) for of in (mine, row)]
            if shown[0] != shown[1]:
                why = tuple(_reasons(mine, row, board.rules))
                differences.append(RuleDifference(row.label, row.score.index, mine.score.index, why))
    return differences


def _reasons(own: Row, other: Row, rules: str) -> Iterator[str]:
    """What our rules do not rank it for, and what the others leave out; rounding where it is nothing else."""
    if own.score.index is None:
        yield from (f"we do not rank it: {line}" for line in own.missing)
    left_out = [f"run {run}, {scenario}" for run, score in other.runs.items() for _, scenario in score.left_out]
    if left_out:
        yield f"left out by the {rules} rules, every mark being 0: {'; '.join(left_out)}"
    if own.score.index is not None and not left_out:
        yield "rounding: the index of rounded means, not the mean of the runs' indices"


# ---------------------------------------------------------------- boards of several judges


def panel(boards: Sequence[Board]) -> list[Board]:
    """Those of *boards*, of one configuration, whose judges are taken together.

    The embedded judge only where there is no other. A judge that ranks fewer than half of the subjects that any judge
    ranks is left out, because only subjects that all judges rank are compared. *boards* must not be empty.
    """
    judged = [board for board in boards if board.judge is not None and not board.by_table] or list(boards)
    every = {row.subject.hash for board in judged for row in board.ranked}
    return [board for board in judged if 2 * len(board.ranked) >= len(every)] if every else judged[:1]


def jury_of(boards: Sequence[Board], names: Sequence[str]) -> list[Board]:
    """The boards of the judges that *names* fit, one each. Raises WrongUse for fewer than two, or an unknown one."""
    chosen = find_jury({board.judge: board.judge for board in boards if board.judge is not None}, names)
    return [board for board in boards if board.judge in chosen]
