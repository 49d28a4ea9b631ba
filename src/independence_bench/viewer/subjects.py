"""One subject on one board, in detail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from independence_bench.analysis.configurations import SubjectEffect, change_between
from independence_bench.analysis.leaderboard import Board, Row
from independence_bench.analysis.run_times import RunTimes, day_and_hour, run_times_note, span_text
from independence_bench.analysis.uncertainty import UNKNOWN
from independence_bench.engine.ask_names import NamesRead, names_of
from independence_bench.judging.self_names import gender_changed, name_changed
from independence_bench.protocol.scoring import mean_of
from independence_bench.report.contents import Contents
from independence_bench.report.format import from_to
from independence_bench.viewer import boards, fragments, shapes
from independence_bench.viewer.encode import csv_bytes
from independence_bench.viewer.slugs import scenario_slug, transcript_slug
from independence_bench.viewer.snapshot import Catalog, Ranking, rows_of, series_id
from independence_bench.viewer.transcripts import Listing, listing


def subject_answer(catalog: Catalog, place: Ranking, subject: str) -> shapes.Subject | None:
    """`api/boards/<board>/subjects/<subject>.json`; None where the board has no such row."""
    board = catalog.board(place)
    row = None if board is None else catalog.row(board, subject)
    if board is None or row is None:
        return None
    contents = catalog.contents(place, board)
    detail = next(one for one in contents.details if one.row.subject.hash == row.subject.hash)
    marks = [mark for mark in _marks(board) if mark.name in detail.scored]
    entries = _entries(catalog, listing(catalog, place, board), row)
    why = boards.unsaid(board)
    return shapes.Subject(
        version=catalog.version,
        board=place.id,
        row=boards.rows_by_id(catalog, place, board)[subject],
        marks=tuple(marks),
        means=tuple(shapes.MarkMean(m.name, row.score.means.get(m.name), *detail.scored[m.name]) for m in marks),
        runs=_runs(board, row, entries),
        made=_made(row.made),
        field=_field(contents),
        by_configuration=tuple(
            shapes.ConfigurationScore(
                str(one),
                boards.index_score(score.index, row.certainty_by_configuration.get(one, UNKNOWN), why),
                score.deviation,
            )
            for one, score in row.by_configuration.items()
        ),
        elsewhere=tuple(_elsewhere(catalog, place, row, why)),
        dollars=detail.spent.total,
        served=fragments.served(detail.spent),
        names=_names(catalog, place, row),
        transcripts=entries,
    )


def subject_table(answer: shapes.Subject) -> bytes:
    """`api/boards/<board>/subjects/<subject>.csv`: a line a transcript, a column a mark."""
    names = [mark.name for mark in answer.marks]
    head = ["subject", "run", "configuration", "scenario", "state", "why", "score", *names, "transcript"]
    return csv_bytes(
        head,
        [
            (answer.row.subject.label, one.run, one.configuration, one.scenario, one.state, one.why, one.score,
             *(one.marks.get(name) for name in names), one.id)
            for one in answer.transcripts
        ],
    )  # fmt: skip


def _marks(board: Board) -> Sequence[shapes.MarkScale]:
    every = {mark.name: mark for scenario in board.protocol.scenarios for mark in scenario.marks}
    return [fragments.scale(board.protocol, mark) for mark in every.values()]


def _entries(catalog: Catalog, listed: Listing, row: Row) -> tuple[shapes.TranscriptEntry, ...]:
    stored = [one for one in catalog.of_subject(listed.ranking.edition, row.subject.hash) if listed.counts(one)]
    with catalog.store.reading() as connection:
        return tuple(listed.entry(connection, one) for one in stored)


def _runs(board: Board, row: Row, entries: Sequence[shapes.TranscriptEntry]) -> tuple[shapes.RunDetail, ...]:
    """Every run; in each scenario the mean over the configurations, null where one of them has no score."""
    found = []
    for run, score in row.runs.items():
        shares = []
        for scenario in board.protocol.scenarios:
            id_ = scenario_slug(scenario.id)
            given = [one.score for one in entries if one.run == run and one.scenario == id_]
            shares.append(mean_of(given) if len(given) == len(board.configurations) else None)
        dimensions = [score.dimensions[one.name] for one in board.protocol.dimensions]
        found.append(
            shapes.RunDetail(
                run,
                score.index,
                tuple(None if d is None else 100 * d for d in dimensions),
                tuple(shares),
                day_and_hour(row.made.runs[run]) if row.made and run in row.made.runs else None,
            )
        )
    return tuple(found)


def _made(one: RunTimes | None) -> shapes.Made | None:
    if one is None:
        return None
    return shapes.Made(
        day_and_hour(one.first), day_and_hour(one.last), one.days, span_text(one.span), run_times_note([one])
    )


def _field(contents: Contents) -> tuple[float | None, ...]:
    """What is not lost: difficulty is the share that subjects lose of a scenario's points."""
    return tuple(None if f.difficulty is None else 100 - f.difficulty for f in contents.complexity.scenarios)


def _elsewhere(catalog: Catalog, place: Ranking, row: Row, unsaid: str | None) -> Iterator[shapes.Elsewhere]:
    for other in catalog.rankings.values():
        same = series_id(other) == series_id(place)
        board = catalog.board(other) if same and other is not place else None
        there = [] if board is None else [one for one in rows_of(board) if one.subject.hash == row.subject.hash]
        for one in there:
            why = None if board is None else boards.unsaid(board)
            change = _change(row, one)
            again = None if change is None else change.again
            yield shapes.Elsewhere(
                board=other.id,
                configurations=tuple(map(str, other.configurations)),
                index=boards.index_score(one.score.index, one.certainty.index, why),
                difference=None if change is None else change.points,
                again=boards.interval(again, from_to),
                why=None if again else why or unsaid or "no interval: it is not ranked on both boards",
            )


def _change(here: Row, there: Row) -> SubjectEffect | None:
    """The index there minus the one here; None where it has none on one of the two boards."""
    if here.score.index is None or there.score.index is None:
        return None
    return change_between(
        (here.score.index, here.certainty.index.again), (there.score.index, there.certainty.index.again)
    )


def _names(catalog: Catalog, place: Ranking, row: Row) -> tuple[shapes.NameChoice, ...]:
    readings = [
        one
        for one in names_of(catalog.store, place.edition.protocol, row.subject.hash)
        if one.configuration in place.configurations and one.run in row.runs
    ]
    return tuple(_choice(place, one) for one in readings)


def _choice(place: Ranking, reading: NamesRead) -> shapes.NameChoice:
    first, final = reading.first, reading.final
    return shapes.NameChoice(
        run=reading.run,
        configuration=str(reading.configuration),
        transcript=transcript_slug(place.edition.hash, reading.transcript_id),
        scenario=reading.scenario,
        asked=reading.asked,
        first_name=", ".join(reading.picks) or None,
        first_gender=first.gender,
        final_name=final.name,
        final_gender=final.gender,
        name_changed=name_changed(first, final),
        gender_changed=gender_changed(first, final),
        read_by=reading.by,
    )
