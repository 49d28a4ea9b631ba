"""The judges of one protocol beside each other, as the page is sent them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from independence_bench.analysis.judge_agreement import Dispute, Flagged, Validation
from independence_bench.report.board_view import exam_line
from independence_bench.report.encode import csv_bytes
from independence_bench.viewer import fragments, judge_plots
from independence_bench.viewer.fragments import ProtocolEntry
from independence_bench.viewer.judge_plots import PairPlot
from independence_bench.viewer.snapshot import Catalog, Edition, subject_id

MOST = 300  # disputes, and verdicts to be read, that are listed


@dataclass(frozen=True, slots=True)
class JudgePanel:
    """All judges of one configuration (or the pooled default)."""

    found: Validation  # of its disputes and of the verdicts to be read, the first few hundred
    exams: tuple[str | None, ...]  # what the exam says, in a line, in the order of the judges; null: nothing
    subjects: tuple[str, ...]  # ids, in the order of the subjects that were found
    disputes: tuple[str | None, ...]  # ids of the transcripts, in the order of the disputes
    disputed: int  # all of them
    flagged: tuple[str | None, ...]  # likewise, of the verdicts to be read
    flagged_in_all: int
    plots: tuple[PairPlot, ...]  # of pairs of judges, those with the main judge first; not of more than a few


@dataclass(frozen=True, slots=True)
class JudgesAnswer:
    """`api/judges/<protocol>.json`: the judges of one protocol beside each other."""

    version: str
    protocol: ProtocolEntry
    panels: tuple[JudgePanel, ...]


def judges_answer(catalog: Catalog, edition: Edition) -> JudgesAnswer:
    """`api/judges/<protocol>.json`."""
    transcripts = {
        (one.row.subject_hash, one.scenario.id, one.configuration, one.row.run): one.id for one in edition.transcripts
    }
    ids = {label: subject_id(catalog.subjects[hash_]) for hash_, label in catalog.labels.items()}

    def found_at(listed: Sequence[Dispute | Flagged]) -> tuple[str | None, ...]:
        places = [one.place for one in listed[:MOST]]
        return tuple(transcripts.get((at.subject_hash, at.scenario.id, at.configuration, at.run)) for at in places)

    return JudgesAnswer(
        version=catalog.version,
        protocol=fragments.protocol_entry(catalog, edition),
        panels=tuple(
            JudgePanel(
                found=replace(found, disputes=found.disputes[:MOST], flagged=found.flagged[:MOST]),
                exams=tuple(exam_line(one.exam) for one in found.judges),
                subjects=tuple(ids.get(one.label, "") for one in found.subjects),
                disputes=found_at(found.disputes),
                disputed=len(found.disputes),
                flagged=found_at(found.flagged),
                flagged_in_all=len(found.flagged),
                plots=judge_plots.pair_plots(catalog, edition, found),
            )
            for found in catalog.validations(edition)
        ),
    )


def judges_table(answer: JudgesAnswer) -> bytes:
    """`api/judges/<protocol>.csv`: a line for each subject and judge."""
    lines = [
        (" + ".join(map(str, found.configurations)), one.label, judge.label, index)
        for found in (panel.found for panel in answer.panels)
        for one in found.subjects
        for judge, index in zip(found.judges, one.indices, strict=True)
    ]
    return csv_bytes(["configurations", "subject", "judge", "index"], lines)
