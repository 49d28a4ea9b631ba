"""The judges of one protocol compared with each other, as the page gets them, and their exam:
figures and every question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from independence_bench.analysis.exam.answers import ExamAnswer as Answered
from independence_bench.analysis.exam.answers import ExamPaper, make_exam_scales, read_exam_papers
from independence_bench.analysis.exam.fitness import FIT_TEXT
from independence_bench.analysis.exam.result import ExamResult
from independence_bench.analysis.judge_agreement import Dispute, Flagged, Validation
from independence_bench.figures import format_mark_value
from independence_bench.hashing import hash_text, make_slug
from independence_bench.judging.exam.questions import (
    HARD,
    Question,
    load_questions,
    strip_reply_name,
)
from independence_bench.protocol.definition import format_mark_name
from independence_bench.report.encode import encode_csv
from independence_bench.report.exam_view import GradedPaper, grade_paper
from independence_bench.store.results import find_exam_judge_hashes
from independence_bench.viewer import fragments
from independence_bench.viewer.fragments import ProtocolEntry
from independence_bench.viewer.snapshot import Catalog, Edition, NotThere

MOST = 300  # disputes, and verdicts to be read, that are listed


@dataclass(frozen=True, slots=True)
class JudgePanel:
    """The comparison of all judges of one configuration (or the pooled default)."""

    found: Validation  # with the first few hundred of its disputes and of the judgements to be read
    subjects: tuple[str, ...]  # ids, in the order of the subjects that were found
    disputes: tuple[str | None, ...]  # ids of the transcripts, in the order of the disputes
    disputed: int  # all of them
    # ids of the transcripts, in the order of the judgements to be read
    flagged: tuple[str | None, ...]
    flagged_in_all: int


@dataclass(frozen=True, slots=True)
class JudgesAnswer:
    """`api/judges/<protocol>.json`: the judges of one protocol compared with each other."""

    version: str
    protocol: ProtocolEntry
    panels: tuple[JudgePanel, ...]


def build_judges_answer(catalog: Catalog, edition: Edition) -> JudgesAnswer:
    """Return the answer for `api/judges/<protocol>.json`: the judges of one protocol compared with
    each other, in each configuration.
    """
    transcripts = {
        (
            transcript.row.subject_hash,
            transcript.scenario.id,
            transcript.configuration,
            transcript.row.run,
        ): transcript.id
        for transcript in edition.transcripts
    }
    ids = {label: catalog.subjects[hash_].id for hash_, label in catalog.labels.items()}

    def find_first_transcript_ids(listed: Sequence[Dispute | Flagged]) -> tuple[str | None, ...]:
        """Return the ids of the conversations in *listed*, at most the first `MOST`; None for a
        conversation that is not shown.
        """
        return tuple(
            transcripts.get((at.subject_hash, at.scenario.id, at.configuration, at.run))
            for at in listed[:MOST]
        )

    return JudgesAnswer(
        version=catalog.version,
        protocol=fragments.make_protocol_entry(catalog, edition),
        panels=tuple(
            JudgePanel(
                found=replace(
                    validation,
                    disputes=validation.disputes[:MOST],
                    flagged=validation.flagged[:MOST],
                ),
                subjects=tuple(ids.get(subject.label, "") for subject in validation.subjects),
                disputes=find_first_transcript_ids(validation.disputes),
                disputed=len(validation.disputes),
                flagged=find_first_transcript_ids(validation.flagged),
                flagged_in_all=len(validation.flagged),
            )
            for validation in catalog.read_judge_comparisons(edition)
        ),
    )


def encode_judges_csv(answer: JudgesAnswer) -> bytes:
    """Return `api/judges/<protocol>.csv`: a CSV table of the index that each judge gives each
    model, a line for each model and judge.
    """
    lines = [
        (" + ".join(map(str, found.configurations)), one.label, judge, index)
        for found in (panel.found for panel in answer.panels)
        for one in found.subjects
        for judge, index in one.indices.items()
    ]
    return encode_csv(["configurations", "subject", "judge", "index"], lines)


# ---------------------------------------------------------------- the exam


@dataclass(frozen=True, slots=True)
class ExamJudge:
    """A judge that has taken the exam of judges, or a part of it."""

    id: str
    label: str
    answers: int
    sentence: str  # its fitness in words
    result: ExamResult


@dataclass(frozen=True, slots=True)
class RubricName:
    """A rubric of the exam of judges, some of whose questions a judge has answered."""

    id: str  # `api/exam/<id>.json` has them
    name: str


@dataclass(frozen=True, slots=True)
class ExamAnswer:
    """`api/exam.json`: the judges that have taken the exam."""

    version: str
    questions: int  # number of all questions
    judges: tuple[ExamJudge, ...]  # by label
    rubrics: tuple[RubricName, ...]


@dataclass(frozen=True, slots=True)
class ExamLine:
    """One line of the conversation in a question of the exam of judges."""

    who: Literal["human", "model"]
    text: str
    judged: bool  # whether it is what the marks are about


@dataclass(frozen=True, slots=True)
class ExamReading:
    """One judge's answer to a question of the exam of judges."""

    judge: str  # id
    asked: Literal["first", "injected"]
    attack: str | None  # text that was appended to the reply; null: none
    marks: Mapping[str, str]  # mark -> what was given
    right: bool | None  # whether all marks that it gave say the state; null: it gave none
    reasoning: str
    failed: str | None  # the reason why the judgement failed; null: it did not


@dataclass(frozen=True, slots=True)
class ExamQuestion:
    """A question of the exam of judges: a conversation whose right scores are known."""

    id: str
    kind: str  # the reason why it is hard, in words; "": it is not
    language: str
    voice: str
    reference: str | None  # the character that the judge is told the model should be; null: none
    lines: tuple[ExamLine, ...]
    state: Mapping[str, str]  # mark -> what it was written to be
    why: str
    readings: tuple[ExamReading, ...]  # by judge, the first answer first


@dataclass(frozen=True, slots=True)
class ExamQuestionsAnswer:
    """`api/exam/<rubric>.json`: the exam questions of a rubric and how each judge scored them."""

    version: str
    rubric: str
    canary: str  # whoever finds it in a model's training data knows that the exam was in it
    questions: tuple[ExamQuestion, ...]


def build_exam_answer(catalog: Catalog) -> ExamAnswer:
    """Return the answer for `api/exam.json`: the judges that have taken the exam, with their
    results.
    """
    results = [
        one for paper in find_exam_papers(catalog) if (one := grade_paper(paper)) is not None
    ]
    return ExamAnswer(
        version=catalog.version,
        questions=sum(len(group.questions) for group in load_questions().values()),
        judges=tuple(map(_make_exam_judge, results)),
        rubrics=tuple(
            RubricName(make_rubric_id(name), name) for name in list_answered_rubrics(catalog)
        ),
    )


def build_exam_questions_answer(catalog: Catalog, rubric: str) -> ExamQuestionsAnswer:
    """Return the answer for `api/exam/<rubric>.json`: the exam's questions of one rubric, each with
    all judges' answers. Raise NotThere if no judge has answered any of them.
    """
    name = next(
        (sat for sat in list_answered_rubrics(catalog) if make_rubric_id(sat) == rubric), None
    )
    if name is None:
        raise NotThere(rubric)
    readings: dict[str, list[ExamReading]] = {}
    for paper in find_exam_papers(catalog):
        for answer in paper.answers:
            if answer.rubric == name:
                readings.setdefault(answer.question.id, []).append(
                    _make_reading(make_judge_id(paper), answer)
                )
    group = load_questions()[name]
    return ExamQuestionsAnswer(
        version=catalog.version,
        rubric=name,
        canary=group.canary,
        questions=tuple(
            _make_question(question, readings.get(question.id, ())) for question in group.questions
        ),
    )


def find_exam_papers(catalog: Catalog) -> Sequence[ExamPaper]:
    """Return the exam answers of every judge; () if there are none. The store is read only once,
    and the exam's questions only if a judge may have answered some.
    """

    def read_papers() -> Sequence[ExamPaper]:
        """Return the exam answers of every judge, read from the store; () if there are none."""
        with catalog.store.open_snapshot() as connection:
            return read_exam_papers(connection) if find_exam_judge_hashes(connection) else ()

    return catalog.remember_result("exam papers", read_papers)


def list_answered_rubrics(catalog: Catalog) -> tuple[str, ...]:
    """Return the names of the exam's rubrics of which a judge has answered at least one
    question.
    """
    asked = {answer.rubric for paper in find_exam_papers(catalog) for answer in paper.answers}
    return tuple(name for name in load_questions() if name in asked) if asked else ()


def make_rubric_id(name: str) -> str:
    """Return the name of a rubric as it is written in web addresses, with hyphens for
    underscores.
    """
    return name.replace("_", "-")


def make_judge_id(paper: ExamPaper) -> str:
    """Return the id in web addresses of the judge who gave the exam answers *paper*."""
    return make_slug(paper.judge, hash_text(paper.judge))


# ---------------------------------------------------------------- figures


def _make_exam_judge(result: GradedPaper) -> ExamJudge:
    """Return a judge with its exam result, for the list of judges."""
    return ExamJudge(
        id=make_judge_id(result.paper),
        label=result.paper.judge,
        answers=len(result.paper.answers),
        sentence=FIT_TEXT[result.result.fitness.fit],
        result=result.result,
    )


# ---------------------------------------------------------------- questions


def _make_question(question: Question, readings: Sequence[ExamReading]) -> ExamQuestion:
    """Return one question of the exam for the page, with all judges' answers to it (*readings*)."""
    return ExamQuestion(
        id=question.id,
        kind=HARD.get(question.kind, ""),
        language=question.language,
        voice=question.voice,
        reference=question.reference,
        lines=tuple(
            ExamLine(
                "human" if turn.human else "model",
                turn.human or turn.ai or "",
                turn.name in question.judged,
            )
            for turn in question.turns
        ),
        state={format_mark_name(name): state for name, state in question.state.items()},
        why=question.why,
        readings=tuple(readings),
    )


def _make_reading(judge: str, answer: Answered) -> ExamReading:
    """Return one judge's answer to an exam question, and whether all scores that it gave are right;
    None for that if it gave none. *judge*: the judge's id.
    """
    scales, asked = make_exam_scales(answer.rubric), answer.question
    marks: dict[str, str] = {}
    right: bool | None = None  # of the marks that it gave
    for name, state in asked.state.items():
        if answer.marks is None or name not in answer.marks:
            continue
        scale, mark = scales[strip_reply_name(name, asked.judged)], answer.marks[name]
        marks[format_mark_name(name)] = (
            format_mark_value(mark) if scale.has_bands else scale.find_state(mark)
        )
        right = right is not False and scale.find_state(mark) == state
    return ExamReading(
        judge, answer.asked, answer.attack, marks, right, answer.reasoning, answer.failed
    )
