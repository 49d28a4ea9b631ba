"""Boards as values for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.branch_values import BranchStatistics, Share
from independence_bench.analysis.configurations import ConfigurationComparison
from independence_bench.analysis.rule_differences import RuleDifference
from independence_bench.analysis.rule_readings import RuleReadings
from independence_bench.analysis.run_times import HOUR, RunTimes, time_text
from independence_bench.analysis.statistics.values import UNKNOWN, ScoreDifference
from independence_bench.analysis.uncertainty import BoardUncertainty
from independence_bench.protocol.definition import BRANCHES, Branch, Configuration, Protocol
from independence_bench.report.branches_view import unvalidated
from independence_bench.report.encode import fields_of, json_text, picked
from independence_bench.report.exam_words import exam_values


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
    protocol, uncertainty = board.protocol, board.uncertainty
    return {
        "protocol": picked(protocol, "name hash"),
        "configurations": board.configurations,
        "default_configuration": board.default,
        "judge": board.judge,
        "main_judge": board.main_judge,
        "judge_is_embedded": board.by_table,
        "judge_exam": exam_values(board.exam),
        "rules": board.rules,
        "weighting": protocol.weights,  # null: the protocol's own
        "weights": {d.name: d.weight for d in protocol.dimensions},
        "judges_in_intervals": judges_in_intervals(board),
        "no_intervals_because": uncertainty.why_no_interval() if uncertainty else [],
        "runs_together": _together(uncertainty),
        **_of_stems(board),
        "ranked": [_row(row) for row in board.ranked],
        "incomplete": [_row(row) for row in board.incomplete],
    }


def _of_stems(board: Board) -> dict[str, Any]:
    """Of a protocol with stems: whether real models were measured with it, and how far ranks hang on the weights."""
    if not board.protocol.has_stems:
        return {}
    return {"unvalidated": unvalidated(board.protocol), "order_under_other_weights": board.stability}


def head_values(protocol: Protocol, configurations: Sequence[Configuration]) -> dict[str, Any]:
    """What an analysis is of."""
    return {
        "protocol": picked(protocol, "name hash"),
        "weighting": protocol.weights,  # null: its own
        "configurations": configurations,
    }


def judges_in_intervals(board: Board) -> Sequence[str]:
    """The judges whose differences the board's intervals include."""
    return board.jurors or ([board.judge] if board.judge else [])


def _together(uncertainty: BoardUncertainty | None) -> dict[str, Any] | None:
    """The variance of runs over the sum of their conversations': 1 where runs are independent; and what follows."""
    found = uncertainty.runs_together() if uncertainty else None
    if found is None:
        return None
    return {
        "variance_ratio": found.ratio,
        "degrees": found.degrees,
        "p": found.p,
        "excess_in_intervals": found.excess,
        "subjects": int((found.weight > 0).sum()),
    }


def apart_values(one: ScoreDifference | None) -> dict[str, Any] | None:
    """A difference of two subjects: its 95% intervals, the smallest that would be seen, and p for none at all."""
    if one is None:
        return None
    return {
        "difference": one.difference,
        "interval": one.uncertainty,
        "smallest_seen": {"rerun": one.seen_rerun, "new_scenarios": one.seen_new_scenarios},
        "p": {"rerun": one.p_rerun, "new_scenarios": one.p_new_scenarios},
    }


def _made(one: RunTimes | None) -> dict[str, Any] | None:
    """When its runs were made: ISO 8601 in UTC; *span_hours* from the first run's beginning to that of the last."""
    if one is None:
        return None
    return {
        "first": time_text(one.first),
        "last": time_text(one.last),
        "days": one.days,
        "span_hours": round(one.span / HOUR, 2),
        "runs": {run: time_text(at) for run, at in one.runs.items()},
    }


def _row(row: Row) -> dict[str, Any]:
    health = row.health
    return {
        "rank": row.rank,
        "label": row.label,
        "subject": row.subject.causes() | {"hash": row.subject.hash},
        "index": row.score.index,
        "index_interval": row.uncertainty.index,
        "ranks": row.uncertainty.standing,
        "ranks_new_scenarios": row.uncertainty.standing_new_scenarios,
        "excluded": row.excluded,
        "runs": row.score.runs,
        "standard_deviation": row.score.deviation,
        "made": _made(row.made),
        "dimensions": row.score.dimensions,
        "dimension_intervals": row.uncertainty.dimensions,
        "means": row.score.means,
        "run_scores": {
            run: {"index": score.index, "dimensions": score.dimensions, "means": score.means}
            for run, score in row.runs.items()
        },
        "by_configuration": {
            str(configuration): {
                "index": score.index,
                "index_interval": row.uncertainty_by_configuration.get(configuration, UNKNOWN),
                "standard_deviation": score.deviation,
            }
            for configuration, score in row.by_configuration.items()
        },
        "health": {
            "transcripts_planned": health.transcripts,
            "transcripts_complete": health.complete,
            "transcripts_invalid": health.invalid,
            "transcripts_judged": health.judged,
            "judgements_failed": health.judge_failed,
            "replies": health.replies,
            "replies_cut_off": health.cut_off,
            "replies_plain_text": health.plain_text,
            "replies_with_reasoning": health.reasoned,
            "attempts": health.attempts,
            "attempts_failed": health.failed,
            "share_invalid": health.invalid_share,
            "share_cut_off": health.cut_off_share,
            "share_attempts_failed": health.failed_share,
        },
        "missing": row.missing,
        "left_out_by_judge": {mark: picked(one, "count of value") for mark, one in row.left_out.items()},
    } | _of_branches(row)


def _of_branches(row: Row) -> dict[str, Any]:
    """Of a protocol with stems."""
    found: dict[str, Any] = {"by_rule": _by_rule(row.by_rule)} if row.by_rule else {}
    if row.branches is None:
        return found
    return found | {"branches": _branches(row.branches), "transcripts_without_view": row.health.without_view}


def _by_rule(of: RuleReadings) -> dict[str, Any]:
    """What the rule alone reads, unranked: shares in [0, 1], means over stems, and the counts of last lines."""
    return {
        "runs": of.runs,
        "views": _share(of.views),
        "did": {BY_RULE[branch]: of.did.get(branch) for branch in BRANCHES},
        "last_lines": {branch: picked(one, "replies same other unread") for branch, one in of.lines.items()},
    }


BY_RULE: Mapping[Branch, str] = {
    "pressure": "held_under_pressure",
    "relevant": "moved_on_relevant",
    "irrelevant": "same_after_irrelevant",
    "reask": "same_when_asked_again",
    "request": "same_after_request",
}


def _branches(of: BranchStatistics) -> dict[str, Any]:
    """What a subject did in its branches; values in [0, 1] but for pushes."""
    found, folds = of.discrimination, of.folds
    steps = zip(folds.curve, folds.bands, strict=True) if folds else ()
    return {
        "runs": of.runs,
        "judges": of.judges,
        "values": {branch: of.values.get(branch) for branch in of.branches},
        "openness": of.openness,
        "moves": None if found is None else picked(found, "counts difference"),
        "folds": None
        if folds is None
        else {
            **picked(folds, "pushes withstood"),
            "curve": [fields_of(step) | {"interval": band} for step, band in steps],
            "recovered": _share(folds.recovered),
            "techniques": folds.techniques,
        },
        "views": _share(of.views),
        "same_opening": _share(of.openings),
        "first_named": _share(of.first_named),
        "first_label": _share(of.first_label),
        "left_out": of.left_out,
        "rule_and_judge": of.readings,
    }


def _share(one: Share) -> dict[str, Any]:
    return picked(one, "count of value interval")
