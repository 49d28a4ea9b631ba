"""The judges of one protocol next to each other, and the scores that two of them give the same conversations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from independence_bench.analysis.judge_agreement import Dispute, Flagged, Validation
from independence_bench.protocol.definition import Configuration
from independence_bench.protocol.scoring import OWN
from independence_bench.report.board_view import exam_line
from independence_bench.report.encode import csv_bytes
from independence_bench.viewer import fragments
from independence_bench.viewer.fragments import ProtocolEntry
from independence_bench.viewer.snapshot import Catalog, Edition, subject_id
from independence_bench.viewer.transcripts import listing

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
                plots=pair_plots(catalog, edition, found),
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


MOST_DRAWN = 12  # pairs of judges

Place = tuple[str, int, Configuration, str]  # subject's hash, run, configuration, scenario's (or stem's) id in paths


@dataclass(frozen=True, slots=True)
class PairPoint:
    """Conversations with the same two scores, in whole points."""

    one: int  # [0, 100], by the first judge
    other: int  # by the second
    count: int
    transcript: str  # id of the first of them


@dataclass(frozen=True, slots=True)
class PairPlot:
    """What two judges make of the conversations that both have marked in full; of a stem, all its branches are one."""

    one: str  # label
    other: str
    points: tuple[PairPoint, ...]
    conversations: int
    one_higher: int  # how many of them the first judge scores higher, to the whole point
    other_higher: int


def pair_plots(catalog: Catalog, edition: Edition, found: Validation) -> tuple[PairPlot, ...]:
    """The plots of the pairs in *found* that have a conversation in common, those with the main judge first."""
    ordered = sorted(found.pairs, key=lambda pair: found.main not in (pair.one, pair.other))[:MOST_DRAWN]
    wanted = {label for pair in ordered for label in (pair.one, pair.other)}
    scores = {label: _scores(catalog, edition, found, label) for label in wanted}
    ids: dict[Place, str] = {}
    for stored in edition.transcripts:
        place = (stored.row.subject_hash, stored.row.run, stored.configuration, stored.unit)
        ids.setdefault(place, stored.id)
    plots = (_plot(pair.one, pair.other, scores[pair.one], scores[pair.other], ids) for pair in ordered)
    return tuple(plot for plot in plots if plot.points)


def _plot(
    one: str, other: str, first: Mapping[Place, int], second: Mapping[Place, int], ids: Mapping[Place, str]
) -> PairPlot:
    together: dict[tuple[int, int], list[str]] = defaultdict(list)
    for place, score in first.items():
        if place in second:
            together[score, second[place]].append(ids[place])
    return PairPlot(
        one,
        other,
        tuple(PairPoint(*at, len(same), same[0]) for at, same in sorted(together.items())),
        sum(map(len, together.values())),
        sum(len(same) for (mine, theirs), same in together.items() if mine > theirs),
        sum(len(same) for (mine, theirs), same in together.items() if mine < theirs),
    )


def _scores(catalog: Catalog, edition: Edition, found: Validation, judge: str) -> dict[Place, int]:
    """The score of every conversation by *judge*, in whole points; without those that have none."""
    entry = next(
        (
            one
            for one in catalog.entries.values()
            if one.edition is edition
            and (one.configurations, one.judge) == (found.configurations, judge)
            and (one.rules, one.weights) == (OWN.name, None)
        ),
        None,
    )
    if entry is None:
        return {}
    listed = listing(catalog, entry, catalog.board(entry))
    scores: dict[Place, int] = {}
    for stored in edition.transcripts:
        row = stored.row
        place = (row.subject_hash, row.run, stored.configuration, stored.unit)
        if place not in scores and listed.counts(stored):
            score = listed.score(row.subject_hash, row.run, (stored.configuration, edition.units[stored.unit].id))
            if score is not None:
                scores[place] = round(score)
    return scores
