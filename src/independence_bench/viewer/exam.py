"""The judge's exam as the page is sent it: who has sat, their figures, two side by side, and every question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Literal

from independence_bench.analysis.exam.answers import ExamAnswer as Answered
from independence_bench.analysis.exam.answers import ExamPaper, exam_papers, exam_scales
from independence_bench.analysis.exam.result import JudgeDifference, judge_differences
from independence_bench.analysis.exam.values import ExamResult, ExamShare
from independence_bench.hashing import text_hash
from independence_bench.judging.exam.questions import HARD, Question, questions, stem_of
from independence_bench.protocol.definition import mark_words
from independence_bench.report.encode import AGREEMENT, SHARE
from independence_bench.report.exam_view import TOLD, Examined, examined, kinds_together
from independence_bench.report.format import given
from independence_bench.store.results import judges_aside
from independence_bench.viewer.snapshot import Catalog, NotThere, slug

MOST_PAIRED = 12  # judges of which each two are compared


@dataclass(frozen=True, slots=True)
class ExamJudge:
    """A judge that has sat the exam, or a part of it."""

    id: str
    label: str
    answers: int
    kappa: Annotated[float | None, AGREEMENT]  # of the weakest rubric
    sentence: str  # what it is fit for
    result: ExamResult
    kinds: Annotated[Mapping[str, ExamShare], SHARE]  # what is hard, in words -> marks that are right, over all rubrics


@dataclass(frozen=True, slots=True)
class ExamPair:
    """Two judges on the same questions: the first less the second."""

    first: str  # id
    second: str
    rubrics: tuple[JudgeDifference, ...]


@dataclass(frozen=True, slots=True)
class RubricName:
    """A file of questions that somebody has answered some of."""

    id: str  # `api/exam/<id>.json` has them
    name: str


@dataclass(frozen=True, slots=True)
class ExamAnswer:
    """`api/exam.json`: the judges that have sat."""

    version: str
    questions: int  # that there are
    judges: tuple[ExamJudge, ...]  # by label
    pairs: tuple[ExamPair, ...]
    rubrics: tuple[RubricName, ...]


@dataclass(frozen=True, slots=True)
class ExamLine:
    """One line of a question."""

    who: Literal["human", "model"]
    text: str
    judged: bool  # whether it is what the marks are about


@dataclass(frozen=True, slots=True)
class ExamReading:
    """What one judge made of a question."""

    judge: str  # id
    asked: Literal["first", "again", "reversed", "injected"]
    attack: str | None  # what was appended
    marks: Mapping[str, str]  # mark -> what was given
    right: bool | None  # whether all marks that it gave say the state; null: it gave none
    reasoning: str
    failed: str | None  # why there is no verdict


@dataclass(frozen=True, slots=True)
class ExamQuestion:
    """A conversation of known state."""

    id: str
    kind: str  # why it is hard, in words; "" where it is not
    language: str
    voice: str
    reference: str | None  # what the judge is told that the model is meant to be
    lines: tuple[ExamLine, ...]
    state: Mapping[str, str]  # mark -> what it was written to be
    why: str
    readings: tuple[ExamReading, ...]  # by judge, the first answer first


@dataclass(frozen=True, slots=True)
class ExamQuestionsAnswer:
    """`api/exam/<rubric>.json`: the questions of a rubric and how each judge marked them."""

    version: str
    rubric: str
    canary: str  # whoever finds it in a model's training data knows that the exam was in it
    questions: tuple[ExamQuestion, ...]


def exam_answer(catalog: Catalog) -> ExamAnswer:
    """`api/exam.json`."""
    found = [one for paper in papers_of(catalog) if (one := examined(paper)) is not None]
    return ExamAnswer(
        version=catalog.version,
        questions=sum(len(group.questions) for group in questions().values()),
        judges=tuple(map(_judge, found)),
        pairs=tuple(
            ExamPair(judge_id(one), judge_id(other), judge_differences(one.answers, other.answers))
            for one, other in combinations([one.paper for one in found[:MOST_PAIRED]], 2)
        ),
        rubrics=tuple(RubricName(rubric_id(name), name) for name in rubrics_sat(catalog)),
    )


def questions_answer(catalog: Catalog, rubric: str) -> ExamQuestionsAnswer:
    """`api/exam/<rubric>.json`. Raises NotThere where nobody has sat it."""
    name = next((one for one in rubrics_sat(catalog) if rubric_id(one) == rubric), None)
    if name is None:
        raise NotThere(rubric)
    readings: dict[str, list[ExamReading]] = {}
    for paper in papers_of(catalog):
        for answer in paper.answers:
            if answer.rubric == name:
                readings.setdefault(answer.question.id, []).append(_reading(judge_id(paper), answer))
    group = questions()[name]
    return ExamQuestionsAnswer(
        version=catalog.version,
        rubric=name,
        canary=group.canary,
        questions=tuple(_question(one, readings.get(one.id, ())) for one in group.questions),
    )


def papers_of(catalog: Catalog) -> Sequence[ExamPaper]:
    """What every judge has answered; the questions are read only where somebody may have answered some."""

    def read() -> Sequence[ExamPaper]:
        with catalog.store.reading() as connection:
            return exam_papers(connection) if judges_aside(connection) else ()

    return catalog.kept("exam papers", read)


def rubrics_sat(catalog: Catalog) -> tuple[str, ...]:
    """The files of questions of which some have been answered."""
    asked = {answer.rubric for paper in papers_of(catalog) for answer in paper.answers}
    return tuple(name for name in questions() if name in asked) if asked else ()


def rubric_id(name: str) -> str:
    """*name* as it is written in a path."""
    return name.replace("_", "-")


def judge_id(paper: ExamPaper) -> str:
    """A judge's id."""
    return slug(paper.judge, text_hash(paper.judge))


# ---------------------------------------------------------------- figures


def _judge(one: Examined) -> ExamJudge:
    kappas = [rubric.kappa.value for rubric in one.result.rubrics if rubric.kappa]
    return ExamJudge(
        id=judge_id(one.paper),
        label=one.paper.judge,
        answers=len(one.paper.answers),
        kappa=min(kappas, default=None),
        sentence=TOLD[one.result.fitness.fit],
        result=one.result,
        kinds={HARD[kind]: of for kind, of in kinds_together(one.result).items()},
    )


# ---------------------------------------------------------------- questions


def _question(one: Question, readings: Sequence[ExamReading]) -> ExamQuestion:
    return ExamQuestion(
        id=one.id,
        kind=HARD.get(one.kind, ""),
        language=one.language,
        voice=one.voice,
        reference=one.reference,
        lines=tuple(
            ExamLine("human" if turn.human else "model", turn.human or turn.ai or "", turn.name in one.judged)
            for turn in one.turns
        ),
        state={mark_words(name): state for name, state in one.state.items()},
        why=one.why,
        readings=tuple(readings),
    )


def _reading(judge: str, answer: Answered) -> ExamReading:
    scales, asked = exam_scales(answer.rubric), answer.question
    marks: dict[str, str] = {}
    right: bool | None = None  # of the marks that it gave
    for name, state in asked.state.items():
        if answer.marks is None or name not in answer.marks:
            continue
        scale, mark = scales[stem_of(name, asked.judged)], answer.marks[name]
        marks[mark_words(name)] = given(mark) if scale.bands else scale.state(mark)
        right = right is not False and scale.state(mark) == state
    return ExamReading(judge, answer.asked, answer.attack, marks, right, answer.reasoning, answer.failed)
