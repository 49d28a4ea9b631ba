"""One scenario over all subjects of a board: every answer, the highest mark first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from independence_bench.analysis.item_analysis import ScenarioFacts
from independence_bench.protocol.definition import Configuration
from independence_bench.store import results
from independence_bench.viewer import boards, fragments
from independence_bench.viewer.encode import GivenMark, Whole, csv_bytes
from independence_bench.viewer.fragments import MarkScale, ScriptLine, copied
from independence_bench.viewer.snapshot import BoardEntry, Catalog, at, scenario_slug, subject_id
from independence_bench.viewer.transcripts import State, listing

BEGINNING = 400  # characters of an answer: all of it is in its transcript


@dataclass(frozen=True, slots=True)
class SubjectReply:
    """One subject's answer in one run."""

    transcript: str  # id
    subject: str  # id
    label: str
    run: int
    configuration: Configuration
    state: State
    score: Whole | None
    marks: Mapping[str, GivenMark]
    text: str  # of the judged reply, its beginning; several are joined by a blank line
    whole: bool  # whether *text* is all of it
    cut_off: bool


@dataclass(frozen=True, slots=True)
class ScenarioAnswer:
    """`api/boards/<board>/scenarios/<scenario>.json`: one scenario over all subjects."""

    version: str
    board: str
    facts: ScenarioFacts
    script: tuple[ScriptLine, ...]
    scales: tuple[MarkScale, ...]
    rubrics: tuple[str, ...]
    answers: tuple[SubjectReply, ...]  # highest score first; those without one last


def scenario_answer(catalog: Catalog, entry: BoardEntry, scenario: str) -> ScenarioAnswer:
    """`api/boards/<board>/scenarios/<scenario>.json`."""
    board, meant = catalog.board(entry), at(entry.edition.by_scenario, scenario)
    contents = catalog.contents(entry, board)
    listed = listing(catalog, entry, board)
    answers = []
    with catalog.store.reading() as connection:
        stored = {
            one.row.id: one
            for configuration in entry.configurations
            for of_subject in entry.edition.by_place.get((configuration, meant.id), {}).values()
            for one in of_subject
            if listed.counts(one)
        }
        scripts = {one.row.script_hash for one in stored.values()}
        for row, transcript, _ in results.words_of(connection, scripts):
            if row.id in stored:
                one = stored[row.id]
                text = "\n\n".join(line.text for line in transcript.lines if line.name in meant.judged)
                answers.append(
                    copied(
                        SubjectReply,
                        listed.line(connection, one),
                        transcript=one.id,
                        subject=subject_id(catalog.subjects[row.subject_hash]),
                        label=catalog.labels[row.subject_hash],
                        text=text[:BEGINNING],
                        whole=len(text) <= BEGINNING,
                        cut_off=bool(row.cut_off),
                    )
                )
    return ScenarioAnswer(
        version=catalog.version,
        board=entry.id,
        facts=next(one for one in boards.scenarios(entry, contents) if one.id == scenario_slug(meant.id)),
        script=fragments.script(meant),
        scales=tuple(fragments.scale(board.protocol, mark) for mark in meant.marks),
        rubrics=tuple(rubric.text for rubric in meant.rubrics),
        answers=tuple(sorted(answers, key=_best_first)),
    )


def scenario_table(answer: ScenarioAnswer) -> bytes:
    """`api/boards/<board>/scenarios/<scenario>.csv`: a line an answer."""
    names = [one.name for one in answer.scales]
    head = ["subject", "run", "configuration", "state", "score", *names, "cut_off", "transcript", "beginning"]
    return csv_bytes(
        head,
        [
            (one.label, one.run, str(one.configuration), one.state, one.score,
             *(one.marks.get(name) for name in names), one.cut_off, one.transcript, one.text)
            for one in answer.answers
        ],
    )  # fmt: skip


def _best_first(answer: SubjectReply) -> tuple[bool, float, str, int, str]:
    return answer.score is None, -(answer.score or 0.0), answer.label, answer.run, str(answer.configuration)
