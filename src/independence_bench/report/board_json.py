"""Boards as values for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.compare_settings import ConfigurationComparison
from independence_bench.analysis.leaderboard import RuleDifference
from independence_bench.analysis.statistics.values import UNKNOWN, ScoreDifference
from independence_bench.analysis.uncertainty import BoardUncertainty
from independence_bench.report.branches_view import unvalidated
from independence_bench.report.encode import json_text, picked


def boards_json(
    boards: Sequence[Board],
    differing: Sequence[RuleDifference] | None = None,
    compared: Sequence[ConfigurationComparison] = (),
) -> str:
    """All *boards*, and *compared*: for each judge its configurations, where there are several.

    Indices in [0, 100], dimensions in [0, 1], means on the scales of their marks. *differing*: where our own rules say
    something else than those of the boards; left out where the boards are by our own.
    """
    shown: dict[str, Any] = {"boards": [board_values(board) for board in boards]}
    if compared:
        shown["configurations_compared"] = compared
    if differing is not None:
        shown["where_own_rules_differ"] = differing
    return json_text(shown)


def board_values(board: Board) -> dict[str, Any]:
    """One board as JSON has it."""
    uncertainty, stems = board.uncertainty, board.protocol.has_stems
    told = picked(
        board,
        "protocol configurations default_configuration=default judge main_judge judge_is_embedded=by_table "
        "judge_exam=exam rules weighting=protocol.weights",  # weighting null: the protocol's own
    )
    return told | {
        "weights": {d.name: d.weight for d in board.protocol.dimensions},
        "judges_in_intervals": judges_in_intervals(board),
        "no_intervals_because": uncertainty.why_no_interval() if uncertainty else [],
        "runs_together": _together(uncertainty),
        # of a protocol with stems: whether real models were measured with it, and how far ranks hang on the weights
        **({"unvalidated": unvalidated(board.protocol), "order_under_other_weights": board.stability} if stems else {}),
        "ranked": [_row(row) for row in board.ranked],
        "incomplete": [_row(row) for row in board.incomplete],
    }


def judges_in_intervals(board: Board) -> Sequence[str]:
    """The judges whose differences the board's intervals include."""
    return board.jurors or ([board.judge] if board.judge else [])


def _together(uncertainty: BoardUncertainty | None) -> dict[str, Any] | None:
    """The variance of runs over the sum of their conversations': 1 where runs are independent; and what follows."""
    found = uncertainty.runs_together() if uncertainty else None
    if found is None:
        return None
    values = picked(found, "variance_ratio=ratio degrees p excess_in_intervals=excess")
    return values | {"subjects": int((found.weight > 0).sum())}


def apart_values(one: ScoreDifference | None) -> dict[str, Any] | None:
    """A difference of two subjects: its 95% intervals, the smallest that would be seen, and p for none at all."""
    if one is None:
        return None
    return picked(one, "difference interval=uncertainty") | {
        "smallest_seen": picked(one, "rerun=seen_rerun new_scenarios=seen_new_scenarios"),
        "p": picked(one, "rerun=p_rerun new_scenarios=p_new_scenarios"),
    }


def _row(row: Row) -> dict[str, Any]:
    values = picked(
        row,
        "rank label subject index=score.index index_interval=uncertainty.index ranks=uncertainty.standing "
        "ranks_new_scenarios=uncertainty.standing_new_scenarios excluded runs=score.runs "
        "standard_deviation=score.deviation made dimensions=score.dimensions "
        "dimension_intervals=uncertainty.dimensions means=score.means run_scores=runs health missing",
    )
    values["left_out_by_judge"] = {mark: picked(one, "count of value") for mark, one in row.left_out.items()}
    values["by_configuration"] = {
        str(configuration): picked(score, "index standard_deviation=deviation")
        | {"index_interval": row.uncertainty_by_configuration.get(configuration, UNKNOWN)}
        for configuration, score in row.by_configuration.items()
    }
    # of a protocol with stems
    if row.by_rule:
        values["by_rule"] = row.by_rule
    if row.branches:
        values |= picked(row, "branches transcripts_without_view=health.without_view")
    return values
