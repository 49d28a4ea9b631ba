"""The keys under which `--json` has what the analysis found, where these are not the names of a
class's fields.

Names of attributes as `picked` takes them: one by itself is the key, too; `key=name.name` has
another one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from independence_bench.analysis import judge_agreement as judges
from independence_bench.analysis.audit import Finding, IndexChange, Occurrence
from independence_bench.analysis.branches import BranchStatistics
from independence_bench.analysis.compare_settings import Variant
from independence_bench.analysis.costs import IndexPrice
from independence_bench.analysis.exam.result import BoardExam
from independence_bench.analysis.health import HOUR, Health, RunTimes, time_text
from independence_bench.analysis.held_stems import HeldItem, PlayedStem
from independence_bench.analysis.judge_leniency import SelfPreference
from independence_bench.analysis.statistics.values import ScoreDifference
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.scoring import RunScore
from independence_bench.report.board_view import exam_line

# of an analysis; weighting null: the protocol's own
HEAD = "protocol weighting=protocol.weights configurations"
PLACE = (
    "subject=place.subject scenario=place.scenario.id configuration=place.configuration "
    "run=place.run"
)


def picked(value: object, names: str) -> dict[str, Any]:
    """The attributes of *value* that are called *names*, which spaces separate.

    `key=name.name` has another key, and goes on from one attribute to the next; null where one of
    them is None.
    """
    parts = {}
    for key, _, path in (name.rpartition("=") for name in names.split()):
        part = value
        for name in path.split("."):
            part = None if part is None else getattr(part, name)
        parts[key or path] = part
    return parts


def _branches(statistics: BranchStatistics) -> dict[str, Any]:
    """Values; null for a branch of which nothing was judged."""
    return picked(statistics, "runs judges folds left_out") | {
        "values": {quantity: statistics.values.get(quantity) for quantity in statistics.quantities}
    }


def _run_times(times: RunTimes) -> dict[str, Any]:
    """ISO 8601 in UTC; *span_hours* from the first run's beginning to that of the last."""
    runs = {run: time_text(at) for run, at in times.runs.items()}
    ends = {"first": time_text(times.first), "last": time_text(times.last)}
    return ends | {"days": times.days, "span_hours": round(times.span / HOUR, 2), "runs": runs}


def _exam(exam: BoardExam) -> dict[str, Any]:
    """What the exam says of the judge or jury of a board."""
    standing = exam.standing
    return {
        "line": exam_line(exam),
        "sat": standing is not None,
        "fit": standing and standing.result.fitness.fit,
        "why": standing.result.fitness.why if standing else (),
        "kappa": standing and standing.kappa,  # of the weakest rubric; null unless all were sat
        "when": standing and standing.result.when.isoformat(),
        "rubrics": [rubric.rubric for rubric in standing.result.rubrics] if standing else [],
        "not_sat": standing.missing if standing else (),
        "members_not_sat": exam.lacking if exam.jury else (),
        "no_questions": exam.no_questions,
    }


def _difference(difference: ScoreDifference) -> dict[str, Any]:
    """A difference of two subjects: its 95% intervals, the smallest that would be seen, and p for
    none at all.
    """
    return {
        "difference": difference.difference,
        "interval": difference.uncertainty,
        "smallest_seen": {
            "rerun": difference.seen_rerun,
            "new_scenarios": difference.seen_new_scenarios,
        },
        "p": {"rerun": difference.p_rerun, "new_scenarios": difference.p_new_scenarios},
    }


def _variant(variant: Variant) -> dict[str, Any]:
    """With the parts of its difference, where there is one."""
    names = ("label", "setting", "index", "runs", "difference", "served", "stands")
    values = {name: getattr(variant, name) for name in names} | {"served": dict(variant.served)}
    return values | (_difference(variant.apart) if variant.apart else {})


KEYS: Mapping[type, str | Callable[[Any], Any]] = {
    Protocol: "name hash",
    ChatModel: lambda model: model.causes() | {"hash": model.hash},
    BoardExam: _exam,
    RunTimes: _run_times,
    ScoreDifference: _difference,
    Variant: _variant,
    BranchStatistics: _branches,
    RunScore: "index dimensions means",
    IndexPrice: (
        "label index replies_per_run judging_per_run dollars_per_run free points_per_dollar"
    ),
    Health: (
        "transcripts_planned=transcripts transcripts_complete=complete transcripts_invalid=invalid "
        "transcripts_judged=judged judgements_failed=judge_failed replies replies_cut_off=cut_off "
        "replies_plain_text=plain_text replies_with_reasoning=reasoned "
        "replies_with_markup=with_markup "
        "replies_by_another_model=by_others conversations_repeated=repeated "
        "attempts attempts_failed=failed "
        "share_invalid=invalid_share share_cut_off=cut_off_share "
        "share_attempts_failed=failed_share share_with_reasoning=reasoned_share"
    ),
    judges.JudgeRow: (
        "label kind judged failed failed_share flagged leniency leniency_interval "
        "dollars_per_run=run_cost.dollars "
        "seconds_per_run=run_cost.seconds exam"
    ),
    SelfPreference: (
        "judge whom family subjects difference elsewhere elsewhere_subjects preference "
        "preference_interval=interval no_interval_because=why_no_interval"
    ),
    judges.Flagged: f"{PLACE} judge flags",
    Finding: (
        "name=kind.name severity=kind.severity title=kind.title meaning=kind.meaning count "
        "subjects biggest_change=change places without_it=effects"
    ),
    Occurrence: lambda occurrence: {
        field.name: getattr(occurrence, field.name) or None
        for field in dataclasses.fields(occurrence)
    },
    IndexChange: "label judge configurations index index_without=without runs runs_left=left",
    HeldItem: "item=stem title held stood of fold slips loss crossings runs",
    PlayedStem: "run held branches=worths voice=style fold slips loss",
}
"""Of each class: its keys, or a function that makes what is sent."""
