"""Have the embedded judge sit the judge's exam, as tables for its card. Nothing is learned from it.

Every question is asked once, and those with an attack. `aib exam -j embedded` asks the same and
more.
"""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

import numpy as np
from cached import CachedReader
from sklearn.metrics import roc_auc_score

from independence_bench.analysis.exam.answers import ExamAnswer
from independence_bench.analysis.exam.result import exam_result
from independence_bench.analysis.exam.values import ExamFigure, ExamResult, ExamShare
from independence_bench.judging.embedded.judge import EmbeddedJudge
from independence_bench.judging.embedded.weights import Weights
from independence_bench.judging.exam.cases import ExamCase, exam_cases
from independence_bench.judging.exam.questions import BANDS, HARD

# rubric -> the mark that says who held
STANCE = {"resistance": "resistance", "stability": "consistency"}


def sat(weights: Weights, reader: CachedReader) -> list[str]:
    """The lines of the tables."""
    judge = EmbeddedJudge(reader, weights)
    answers = answers_of(
        judge, [case for case in exam_cases() if case.asked in ("first", "injected")]
    )
    result = exam_result(answers)
    assert result is not None
    return [
        "# Exam: rubrics",
        *rubrics(result),
        "# Exam: AUC",
        *stance(answers),
        "# Exam: kinds",
        *kinds(result),
    ]


def answers_of(judge: EmbeddedJudge, cases: Iterable[ExamCase]) -> list[ExamAnswer]:
    """What *judge* answers to *cases*."""
    return [
        ExamAnswer(
            rubric=case.rubric,
            question=case.question,
            asked=case.asked,
            attack=None if case.attack is None else f"{case.attack.family}/{case.attack.name}",
            marks=None if (given := judge.read(case)).reason is not None else given.marks,
            cost=None,
            seconds=None,
            when=datetime(2026, 1, 1, tzinfo=UTC),
        )
        for case in cases
    ]


def rubrics(result: ExamResult) -> Iterator[str]:
    """A line for each rubric."""
    yield "| rubric | kappa | rank correlation | error | ordinary right | hard right | no verdict | fit |"
    yield "|---|---|---|---|---|---|---|---|"
    for of in result.rubrics:
        cells = [
            _figure(of.kappa),
            _figure(of.ranks),
            _figure(of.error),
            _share(of.ordinary),
            _share(of.hard),
        ]
        yield f"| {of.rubric} | " + " | ".join([*cells, _share(of.failed), of.fitness.fit]) + " |"


def _figure(figure: ExamFigure | None) -> str:
    if figure is None:
        return "–"
    limits = figure.interval
    return f"{figure.value:.2f}" + (f" ({limits.low:.2f} to {limits.high:.2f})" if limits else "")


def _share(share: ExamShare | None) -> str:
    return "–" if share is None else f"{share.value:.0%} of {share.of}"


def kinds(result: ExamResult) -> Iterator[str]:
    """Right marks by rubric and kind of hard question."""
    names = [of.rubric for of in result.rubrics]
    yield "| kind | " + " | ".join(names) + " |"
    yield "|---|" + "---|" * len(names)
    for kind in HARD:
        cells = [_share(of.kinds.get(kind)) for of in result.rubrics]
        yield f"| {kind} | " + " | ".join(cells) + " |"


def stance(answers: Sequence[ExamAnswer]) -> Iterator[str]:
    """How well high is told from low, and what replies that gave way in plain words are given."""
    yield "| rubric | ordinary: AUC | hard: AUC | ordinary, state low: mean mark | highest | above 4 |"
    yield "|---|--:|--:|--:|--:|--:|"
    for rubric, mark in STANCE.items():
        asked = [
            answer for answer in answers
            if answer.rubric == rubric and answer.asked == "first" and answer.marks is not None and mark in answer.marks
        ]  # fmt: skip
        areas = [
            _area([one for one in asked if one.question.hard == hard], mark)
            for hard in (False, True)
        ]
        low = [
            one.marks[mark]
            for one in asked
            if not one.question.hard
            and one.question.state.get(mark) == BANDS[0]
            and one.marks is not None
        ]
        cells = [*(f"{area:.3f}" for area in areas), f"{np.mean(low):.1f}", f"{max(low):.1f}"]
        yield (
            f"| {rubric} | "
            + " | ".join([*cells, f"{sum(one > 4 for one in low)} of {len(low)}"])
            + " |"
        )


def _area(answers: Sequence[ExamAnswer], mark: str) -> float:
    ends = [
        answer for answer in answers if answer.question.state.get(mark) in (BANDS[0], BANDS[-1])
    ]
    high = [end.question.state[mark] == BANDS[-1] for end in ends]
    return float(roc_auc_score(high, [end.marks[mark] for end in ends if end.marks is not None]))
