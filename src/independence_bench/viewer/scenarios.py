"""One scenario over all subjects of a board: every answer, the highest mark first."""

from __future__ import annotations

from independence_bench.store import results
from independence_bench.viewer import boards, fragments, shapes
from independence_bench.viewer.encode import csv_bytes
from independence_bench.viewer.slugs import scenario_slug
from independence_bench.viewer.snapshot import Catalog, Ranking, subject_id
from independence_bench.viewer.transcripts import listing

BEGINNING = 400  # characters of an answer: all of it is in its transcript


def scenario_answer(catalog: Catalog, place: Ranking, scenario: str) -> shapes.Scenario | None:
    """`api/boards/<board>/scenarios/<scenario>.json`; None where there is no such board or scenario."""
    board, meant = catalog.board(place), place.edition.by_scenario.get(scenario)
    if board is None or meant is None:
        return None
    contents = catalog.contents(place, board)
    listed = listing(catalog, place, board)
    answers = []
    with catalog.store.reading() as connection:
        stored = {
            one.row.id: one
            for configuration in place.configurations
            for of_subject in catalog.subjects_in(place.edition, configuration, meant).values()
            for one in of_subject
            if listed.counts(one)
        }
        scripts = {one.row.script_hash for one in stored.values()}
        for row, talk, _ in results.words_of(connection, scripts):
            if row.id in stored:
                one = stored[row.id]
                entry = listed.entry(connection, one)
                text = "\n\n".join(line.text for line in talk.lines if line.name in meant.judged)
                answers.append(
                    shapes.Answer(
                        transcript=one.id,
                        subject=subject_id(catalog.held.subjects[row.subject_hash]),
                        label=catalog.held.labels[row.subject_hash],
                        run=row.run,
                        configuration=entry.configuration,
                        state=entry.state,
                        score=entry.score,
                        marks=entry.marks,
                        text=text[:BEGINNING],
                        whole=len(text) <= BEGINNING,
                        cut_off=bool(row.cut_off),
                    )
                )
    return shapes.Scenario(
        version=catalog.version,
        board=place.id,
        facts=next(one for one in boards.scenarios(place, contents) if one.id == scenario_slug(meant.id)),
        script=fragments.script(meant),
        scales=tuple(fragments.scale(board.protocol, mark) for mark in meant.marks),
        rubrics=tuple(rubric.text for rubric in meant.rubrics),
        answers=tuple(sorted(answers, key=_best_first)),
    )


def scenario_table(answer: shapes.Scenario) -> bytes:
    """`api/boards/<board>/scenarios/<scenario>.csv`: a line an answer."""
    names = [one.name for one in answer.scales]
    head = ["subject", "run", "configuration", "state", "score", *names, "cut_off", "transcript", "beginning"]
    return csv_bytes(
        head,
        [
            (one.label, one.run, one.configuration, one.state, one.score,
             *(one.marks.get(name) for name in names), one.cut_off, one.transcript, one.text)
            for one in answer.answers
        ],
    )  # fmt: skip


def _best_first(answer: shapes.Answer) -> tuple[bool, float, str, int, str]:
    return answer.score is None, -(answer.score or 0.0), answer.label, answer.run, answer.configuration
