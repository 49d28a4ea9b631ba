"""The index against outside boards: a table, and what may be concluded. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from independence_bench.analysis.board import Board
from independence_bench.analysis.outside import OutsideCorrelation
from independence_bench.report.board_view import examined_by, judged_by
from independence_bench.report.encode import picked
from independence_bench.report.format import number, plural, span
from independence_bench.report.table import Block, Cells, Column, Group, Name, Note, Prose, Remark, Table, Title

LEGEND = (
    "rho: Spearman's rank correlation with the index over the models that both boards have, one unit a model (the mean "
    "of its subjects). Corrected: without what the known errors of measurement take off; CI: its 95% interval, for "
    "other models like these, each board by itself: one in twenty misses. Errors: whose are known and carried; where "
    "theirs are not stated, the correlation is with their figures as they stand, and may be too near 0. Ours are those "
    "of the same test again: scenarios and judge are taken as they are. Not decided: the interval includes 0."
)
BRIEF = (
    "rho: Spearman's, one unit a model; corrected: without the errors that are known; CI: 95%, of the corrected one. "
    "Not decided: the interval includes 0. One interval in twenty misses."
)
SHOWN = 8  # names of a user's own that fit nothing
GROUPS = {None: "your own", False: "should go with the index", True: "should not"}


def outside_view(board: Board, found: Sequence[OutsideCorrelation], own: int) -> Iterator[Block]:
    """One table; *own*: how many of them, the first ones, are the user's, of which names that fit nothing are told."""
    yield Title(("What others measure · ", Prose(board.protocol_name)))
    where = " + ".join(map(str, board.configurations))
    yield Note(Prose(f"{where} · judge: {judged_by(board)} · {plural(len(board.ranked), 'ranked subject')}"))
    yield from examined_by(board)
    yield Note(("\n", Prose(outside_statement(found)), "\n"), "bold")
    shown = [*found[:own], *(one for one in found[own:] if one.matched)]
    rows: list[Cells | Group | Remark] = []
    for kind, title in GROUPS.items():
        of = [one for place, one in enumerate(shown) if kind == (None if place < own else _discriminant(one))]
        if of:
            rows.append(Group(title))
        for one in of:
            rows += [_cells(one), Remark(Prose(remark(one)))]
    columns = [
        *(Column("Outside board", words=True), Column("Expected", words=True), Column("Models"), Column("rho")),
        *(Column("Corrected", short="cor-\nrected"), Column("CI"), Column("Verdict", words=True)),
    ]
    if rows:
        yield Table(columns, rows, LEGEND, gap=0, brief=BRIEF)
    if left := [one.board.name for one in found[own:] if not one.matched]:
        yield Note(f"No model in common: {', '.join(left)}.")
    for one in found[:own]:
        for names, why in ((one.unmatched, "fit no ranked subject"), (one.ambiguous, "fit several models: left out")):
            if names:
                more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
                yield Note(Prose(f"{one.board.name}: {', '.join(names[:SHOWN])}{more} {why}."))


def _discriminant(one: OutsideCorrelation) -> bool:
    return one.board.expected == "near 0"


def _cells(one: OutsideCorrelation) -> Cells:
    correlation = one.correlation
    return (
        *(Name(one.board.name), one.board.expected or "–", str(len(one.matched)), number(correlation.observed, 2)),
        *(number(correlation.corrected, 2), span(correlation.interval), one.verdict or "–"),
    )


def remark(one: OutsideCorrelation) -> str:
    """What it measures, when, and whose errors are known; why there is no interval."""
    ours, theirs = one.errors_known
    errors = "both" if ours and theirs else "ours" if ours else "theirs" if theirs else "none"
    why = one.correlation.why_no_interval
    said = f"no interval: {why}" if why else f"errors known: {errors}"
    return " · ".join(part for part in (one.board.measures, one.board.as_of, said) if part)


def outside_statement(found: Sequence[OutsideCorrelation]) -> str:
    """What may be concluded, in words."""
    read = [one for one in found if one.verdict]
    if not read:
        return "No outside board has enough models in common with this one to say anything."
    convergent, discriminant = ([one for one in read if _discriminant(one) is kind] for kind in (False, True))
    contrary = _named(convergent, "contrary")
    parts = [
        f"{plural(len(boards), 'outside board')} that {should} be related to the index, {_named(boards, verdict)} is"
        for boards, should, verdict in (
            (convergent, "should", "as expected"),
            (discriminant, "should not", "goes together"),
        )
        if boards
    ]
    said = f"Of {'; of '.join(parts)}, as far as 95% intervals can tell."
    if contrary != "none":
        said += f" Contrary to what was expected: {contrary}."
    if convergent and all(one.verdict != "as expected" for one in convergent):
        said += " So it is not shown that the index measures what they measure."
    return said


def _named(of: Sequence[OutsideCorrelation], verdict: str) -> str:
    names = [one.board.name for one in of if one.verdict == verdict]
    return f"{len(names)} ({', '.join(names)})" if names else "none"


def outside_values(board: Board, found: Sequence[OutsideCorrelation]) -> dict[str, Any]:
    """All of it, for `json_text`."""
    return {
        "protocol": picked(board.protocol, "name hash"),
        **picked(board, "configurations judge judge_exam=exam"),
        "statement": outside_statement(found),
        "boards": [_values(one) for one in found],
    }


def _values(one: OutsideCorrelation) -> dict[str, Any]:
    return {
        **picked(one.board, "name measures source as_of expected"),
        "models": len(one.matched),
        **picked(one.correlation, "rank_correlation=observed corrected interval why_no_interval"),
        "errors_known": dict(zip(("ours", "theirs"), one.errors_known, strict=True)),
        **picked(one, "verdict matched unmatched ambiguous"),
    }
