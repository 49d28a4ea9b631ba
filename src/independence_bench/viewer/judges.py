"""The judges of one protocol beside each other, as the page is sent them."""

from __future__ import annotations

from collections.abc import Mapping

from independence_bench.analysis import judge_agreement
from independence_bench.analysis.judge_agreement import Validation
from independence_bench.viewer import fragments, shapes
from independence_bench.viewer.encode import csv_bytes
from independence_bench.viewer.snapshot import Catalog, Edition, subject_id

MOST = 300  # disputes, and verdicts to be read, that are listed

Places = Mapping[tuple[str, str, str, int], str]  # subject's hash, scenario, configuration, run -> transcript's id


def judges_answer(catalog: Catalog, edition: Edition) -> shapes.Judges:
    """`api/judges/<protocol>.json`."""
    places = catalog.kept(f"places of {edition.id}", lambda: _places(edition))
    return shapes.Judges(
        version=catalog.version,
        protocol=fragments.protocol_entry(catalog, edition),
        panels=tuple(_panel(catalog, places, one) for one in catalog.validations(edition)),
    )


def judges_table(answer: shapes.Judges) -> bytes:
    """`api/judges/<protocol>.csv`: a line for each subject and judge."""
    lines = [
        (" + ".join(panel.configurations), one.label, judge.label, index)
        for panel in answer.panels
        for one in panel.subjects
        for judge, index in zip(panel.judges, one.indices, strict=True)
    ]
    return csv_bytes(["configurations", "subject", "judge", "index"], lines)


def _places(edition: Edition) -> Places:
    return {
        (one.row.subject_hash, one.scenario.id, str(one.configuration), one.row.run): one.id
        for one in edition.transcripts
    }


def _panel(catalog: Catalog, places: Places, found: Validation) -> shapes.Panel:
    ids = {label: subject_id(catalog.held.subjects[hash_]) for hash_, label in catalog.held.labels.items()}
    return shapes.Panel(
        configurations=tuple(map(str, found.configurations)),
        conversations=found.conversations,
        judges=tuple(
            shapes.JudgeRow(
                one.label,
                one.kind,
                one.judged,
                one.failed,
                one.failed_share,
                one.flagged,
                one.leniency,
                one.run_cost.dollars,
                one.run_cost.seconds,
            )
            for one in found.judges
        ),
        main=found.main,
        subjects=tuple(
            shapes.JudgedSubject(one.label, ids.get(one.label, ""), one.indices, one.mean, one.spread)
            for one in found.subjects
        ),
        favours=tuple(
            shapes.Favour(
                one.judge, one.whom, one.family, one.subjects, one.own, one.others, one.elsewhere, one.difference
            )
            for one in found.favours
        ),
        marks=tuple(
            shapes.MarkAgreement(
                fragments.scale(found.protocol, one.mark),
                one.conversations,
                one.alpha,
                one.icc,
                one.icc_judges,
                one.icc_conversations,
                tuple(shapes.Kappa(*kappa) for kappa in one.kappas),
            )
            for one in found.marks
        ),
        pairs=tuple(
            shapes.PairAgreement(one.one, one.other, one.subjects, one.rank_correlation, one.conversations, one.kappa)
            for one in found.pairs
        ),
        disputes=tuple(
            shapes.Dispute(
                _place(places, one.place),
                one.spread,
                tuple(shapes.DisputedMark(mark, values) for mark, values in one.marks),
            )
            for one in found.disputes[:MOST]
        ),
        disputed=len(found.disputes),
        flagged=tuple(
            shapes.Flagged(
                _place(places, one.place),
                one.judge,
                tuple(shapes.Flag(flag.kind, flag.mark, flag.why) for flag in one.flags),
            )
            for one in found.flagged[:MOST]
        ),
        flagged_in_all=len(found.flagged),
    )


def _place(places: Places, place: judge_agreement.JudgedConversation) -> shapes.JudgedPlace:
    configuration = str(place.configuration)
    return shapes.JudgedPlace(
        transcript=places.get((place.subject_hash, place.scenario.id, configuration, place.run)),
        label=place.subject,
        scenario=place.scenario.title,
        configuration=configuration,
        run=place.run,
    )
