"""Two boards of the same conversations under two sets of rules, row by row, and why a row differs.

Knows rows; formats nothing but the lines that say why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from independence_bench.analysis.board import Board, Row

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
    found = []
    for board in other:
        for row in board.rows:
            mine = ours[board.configurations, board.judge, row.subject.hash]
            shown = [None if one.score.index is None else round(one.score.index, AS_SHOWN) for one in (mine, row)]
            if shown[0] != shown[1]:
                why = tuple(_reasons(mine, row, board.rules))
                found.append(RuleDifference(row.label, row.score.index, mine.score.index, why))
    return found


def _reasons(own: Row, other: Row, rules: str) -> Iterator[str]:
    """What our rules do not rank it for, and what the others leave out; rounding where it is nothing else."""
    if own.score.index is None:
        yield from (f"we do not rank it: {line}" for line in own.missing)
    left_out = [f"run {run}, {scenario}" for run, score in other.runs.items() for _, scenario in score.left_out]
    if left_out:
        yield f"left out by the {rules} rules, every mark being 0: {'; '.join(left_out)}"
    if own.score.index is not None and not left_out:
        yield "rounding: the index of rounded means, not the mean of the runs' indices"
