"""The leaderboard: every ranking of a protocol with how sure it is, and with what its judge is fit for.

Everything that is shown is decided here and in `board`, which has the scores; nothing is formatted here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from sqlalchemy import Connection

from independence_bench.analysis.board import Board, BoardRecords, Row, read_records, scored_boards
from independence_bench.analysis.branches import branch_statistics
from independence_bench.analysis.exam.boards import ExaminedJudges, examined_judges
from independence_bench.analysis.results import Key, Results
from independence_bench.analysis.rule_readings import rule_readings
from independence_bench.analysis.uncertainty import measure_board
from independence_bench.analysis.weight_ranks import index_by_term, rank_stability
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.scoring import OWN, Marks, Rules, RunMarks, Slot
from independence_bench.store.database import Store
from independence_bench.store.results import Judgement


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
        records = read_examined(connection, protocol)
    return boards_of(records, protocol, judge, jury, rules)


@dataclass(frozen=True, slots=True)
class ExaminedRecords(BoardRecords):
    """With what the exam says of the judges."""

    examined: ExaminedJudges


def read_examined(connection: Connection, protocol: Protocol) -> ExaminedRecords:
    """What the store has of *protocol*, and of its judges' exams."""
    records, examined = read_records(connection, protocol), examined_judges(connection, protocol)
    return ExaminedRecords(**{one.name: getattr(records, one.name) for one in fields(records)}, examined=examined)


def boards_of(
    records: ExaminedRecords, protocol: Protocol, judge: str | None = None, jury: Sequence[str] = (), rules: Rules = OWN
) -> list[Board]:
    """The same as `boards` of what was read before."""
    made = []
    for board, results, given in scored_boards(records, protocol, judge, jury, rules):
        made.append(board := replace(board, exam=records.examined.of(board.judge_hashes)))
        if rules.name == OWN.name:
            board = _measured(board, [_judged(results, one) for one in given] if board.jurors else [])
            made[-1] = _with_branches(board, results, given)
    return made


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
        sure = [replace(one, standing=None, standing_new_scenarios=None) for one in sure]
    ranked = [
        replace(row, uncertainty=of_row, uncertainty_by_configuration={one: of[n].index for one, of in apart.items()})
        for n, (row, of_row) in enumerate(zip(rows, sure, strict=True))
    ]
    return replace(board, ranked=tuple(ranked), uncertainty=whole, uncertainty_by_configuration=alone)


def _judged(results: Results, given: Mapping[Key, Judgement]) -> dict[str, dict[int, dict[Slot, Marks]]]:
    """Subject hash -> run -> slot -> the marks of one judge."""
    return {subject: results.unit_marks(mine, given) for subject, mine in results.by_subject.items()}


def _with_branches(board: Board, results: Results, judges: Sequence[Mapping[Key, Judgement]]) -> Board:
    """The board with what each subject did in its branches, where the protocol has stems."""
    if not results.protocol.has_stems:
        return board

    def found(row: Row) -> Row:
        row = replace(row, by_rule=rule_readings(results, row.subject.hash))
        of = None if row.excluded else branch_statistics(results, row.subject.hash, judges)
        # the embedded judge begins with what the rule reads: that they agree would say nothing
        return replace(row, branches=of and replace(of, readings={}) if board.by_table and not board.jurors else of)

    ranked, incomplete = (tuple(map(found, rows)) for rows in (board.ranked, board.incomplete))
    terms = {row.label: index_by_term(results, row.subject.hash, judges) for row in ranked}
    known = {label: of for label, of in terms.items() if of is not None}
    rule = results.protocol.score
    stability = rank_stability(known, [term.weight for term in rule.terms]) if rule and len(known) > 1 else None
    return replace(board, ranked=ranked, incomplete=incomplete, stability=stability)
