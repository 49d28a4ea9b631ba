"""A board corrected for its judge's known errors, for every medium. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from independence_bench.analysis.calibration import CalibratedMark, Calibration, JudgedMark
from independence_bench.escape import label_text
from independence_bench.protocol.definition import mark_words
from independence_bench.report.format import between, number, percent, percents, plural
from independence_bench.report.table import Block, Cells, Column, Name, Note, Prose, Table, Title

LABEL = "corrected for the judge's errors in its exam"


def calibration_view(of: Calibration) -> Iterator[Block]:
    """What was given beside what that is corrected to; it says so in every heading."""
    board = of.board
    yield Title(("Independence Index, protocol ", Prose(board.protocol_name), f", {LABEL}"))
    yield Note(
        f"{' + '.join(map(str, board.configurations))} · judge: {label_text(of.judge)} · sat its exam on "
        f"{of.sat:%Y-%m-%d}"
    )
    if of.no_index is None:
        yield _indices(of)
    else:
        yield Note(Prose(of.no_index))
    for mark in of.marks.values():
        yield Title((Prose(mark_words(mark.name)), f", {LABEL}"), 3)
        yield _levels(of, mark)
    if of.without:
        yield Note(f"Not corrected, for the exam has no answers: {label_text(', '.join(of.without))}.")


def _indices(of: Calibration) -> Table:
    rows: list[Cells] = [
        (Name(row.label), number(row.index, 1), number(row.corrected, 1), between(row.interval))
        for row in of.rows
        if row.index is not None
    ]
    return Table(
        [Column("Subject", words=True), Column("Index"), Column("Corrected"), Column("Re-run CI")],
        rows,
        "index: as the judge gave it. corrected: what it would be without the errors that the judge made in its exam, "
        "if it makes the same here. re-run CI: 95%, with what the exam leaves open, whichever share "
        "of the conversations up to 90% is hard. Nothing is ranked by it.",
    )


def _levels(of: Calibration, mark: JudgedMark) -> Table:
    columns = [Column("Subject", words=True), Column("Conversations", short="n")]
    if mark.worths:
        columns += [Column("Mean"), Column("Corrected"), Column("95% CI")]
    for level in mark.levels:
        columns += [Column(level, on="terminal"), Column(f"{level}, %", on="report")]
    rows: list[Cells] = []
    for row in of.rows:
        if found := row.marks.get(mark.name):
            means = (number(found.mean, 2), number(found.corrected, 2), between(found.interval, 2))
            levels = (text for place in range(len(mark.levels)) for text in _level(found, place))
            rows.append((Name(row.label), str(found.conversations), *(means if mark.worths else ()), *levels))
    counts, right = int(mark.confusion.counts.sum()), percent(mark.confusion.accuracy)
    failed = f", {mark.unanswered} more without a verdict" if mark.unanswered else ""
    legend = f"In the exam: {plural(counts, 'mark')}, {right}% right{failed}."
    if not mark.confusion.correctable:
        legend += " Not corrected: these marks cannot be told apart from guessing."
    return Table(columns, rows, f"{legend} Levels: % as given and corrected (--json: with limits).")


def _level(found: CalibratedMark, place: int) -> tuple[str, str]:
    """A level's share on a terminal, and in a report."""
    given = percent(found.shares[place])
    if found.corrected_shares is None or found.share_intervals is None:
        return given, given
    short = f"{given}→{percent(found.corrected_shares[place])}"
    return short, f"{short} ({percents(found.share_intervals[place])})"


def calibration_values(of: Calibration) -> dict[str, Any]:
    """The same as JSON has it: indices in [0, 100], shares in [0, 1], means in the unit of the mark."""
    return {
        "what": LABEL,
        "protocol": {"name": of.board.protocol.name, "hash": of.board.protocol.hash},
        "configurations": of.board.configurations,
        "judge": of.judge,
        "sat_exam": of.sat.isoformat(),
        "no_corrected_index": of.no_index,
        "not_corrected": of.without,
        "marks": {
            name: {
                "questions": mark.rubric,
                "levels": mark.levels,
                "ordinary": mark.confusion.ordinary.astype(int).tolist(),
                "hard": mark.confusion.hard.astype(int).tolist(),
                "unanswered": mark.unanswered,
                "correctable": mark.confusion.correctable,
            }
            for name, mark in of.marks.items()
        },
        "rows": of.rows,
    }
