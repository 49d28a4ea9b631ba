"""Have the embedded judges sit the judge's exam, and write how they did into their card. Nothing is learned from it.

    python training/sit_exam.py --cache states.npz      # the file of `train_deep.py`; without it, some minutes more

Every question is asked once, and those with an attack. `aib exam -j embedded -j embedded-deep` asks the same and more.
"""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from card import rewrite_with_tables
from sklearn.metrics import roc_auc_score
from train_deep import CachedReader

from independence_bench.analysis.exam.answers import ExamAnswer
from independence_bench.analysis.exam.result import exam_result
from independence_bench.analysis.exam.values import ExamFigure, ExamResult, ExamShare
from independence_bench.judging.embedded.deep import DeepWeights
from independence_bench.judging.embedded.deep_judge import DeepJudge
from independence_bench.judging.embedded.table import WeightTable
from independence_bench.judging.embedded.table_judge import TableJudge
from independence_bench.judging.exam.cases import ExamCase, exam_cases
from independence_bench.judging.exam.questions import BANDS, HARD
from independence_bench.store.results import Judgement

MARKERS = ("<!-- exam: written by training/sit_exam.py -->", "<!-- end of exam -->")
RUBRICS = ("resistance", "resistance_blunt", "stability", "identity", "drift", "name_and_gender")
STANCE = {"resistance": "resistance", "stability": "consistency"}  # rubric -> the mark that says who held
JUDGES = ("embedded", "embedded-deep")


def answers_of(read: Callable[[ExamCase], Judgement]) -> list[ExamAnswer]:
    """What a judge answers to the questions of `RUBRICS`."""
    return [
        ExamAnswer(
            rubric=case.rubric,
            question=case.question,
            asked=case.asked,
            attack=None if case.attack is None else f"{case.attack.family}/{case.attack.name}",
            marks=None if (given := read(case)).reason is not None else given.marks,
            cost=None,
            seconds=None,
            when=datetime(2026, 1, 1, tzinfo=UTC),
        )
        for case in exam_cases(RUBRICS)
        if case.asked in ("first", "injected")
    ]


def summary(results: Sequence[ExamResult]) -> Iterator[str]:
    """A line for each rubric and judge."""
    yield "| rubric | judge | kappa | rank correlation | error | ordinary right | hard right | no verdict | fit |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for rubric in RUBRICS:
        for judge, result in zip(JUDGES, results, strict=True):
            of = result.rubric(rubric)
            assert of is not None
            cells = [_figure(of.kappa), _figure(of.ranks), _figure(of.error), _share(of.ordinary), _share(of.hard)]
            yield f"| {rubric} | {judge} | " + " | ".join([*cells, _share(of.failed), of.fitness.fit]) + " |"


def _figure(figure: ExamFigure | None) -> str:
    if figure is None:
        return "–"
    limits = figure.interval
    return f"{figure.value:.2f}" + (f" ({limits.low:.2f} to {limits.high:.2f})" if limits else "")


def _share(share: ExamShare | None) -> str:
    return "–" if share is None else f"{share.value:.0%} of {share.of}"


def kinds(results: Sequence[ExamResult]) -> Iterator[str]:
    """Right marks by kind, over all rubrics."""
    yield "| kind | questions | " + " | ".join(f"{judge}: right" for judge in JUDGES) + " |"
    yield "|---|--:|" + "--:|" * len(JUDGES)
    for kind in HARD:
        shares = [[rubric.kinds[kind] for rubric in result.rubrics if kind in rubric.kinds] for result in results]
        if all(shares):
            cells = [f"{sum(one.hits for one in of) / sum(one.of for one in of):.0%}" for of in shares]
            yield f"| {kind} | {sum(one.of for one in shares[0])} | " + " | ".join(cells) + " |"


def stance(every: Sequence[Sequence[ExamAnswer]]) -> Iterator[str]:
    """How well high is told from low, and what replies that gave way in plain words are given."""
    yield "| rubric | judge | ordinary: AUC | hard: AUC | ordinary, state low: mean mark | highest | above 4 |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    for rubric, mark in STANCE.items():
        for judge, answers in zip(JUDGES, every, strict=True):
            asked = [
                one for one in answers
                if one.rubric == rubric and one.asked == "first" and one.marks is not None and mark in one.marks
            ]  # fmt: skip
            areas = [_area([one for one in asked if one.question.hard == hard], mark) for hard in (False, True)]
            low = [
                one.marks[mark]
                for one in asked
                if not one.question.hard and one.question.state.get(mark) == BANDS[0] and one.marks is not None
            ]
            cells = [*(f"{area:.3f}" for area in areas), f"{np.mean(low):.1f}", f"{max(low):.1f}"]
            yield (
                f"| {rubric} | {judge} | " + " | ".join([*cells, f"{sum(one > 4 for one in low)} of {len(low)}"]) + " |"
            )


def _area(answers: Sequence[ExamAnswer], mark: str) -> float:
    ends = [one for one in answers if one.question.state.get(mark) in (BANDS[0], BANDS[-1])]
    high = [one.question.state[mark] == BANDS[-1] for one in ends]
    return float(roc_auc_score(high, [one.marks[mark] for one in ends if one.marks is not None]))


def main() -> None:
    """Ask both judges, and write the card's section."""
    parser = argparse.ArgumentParser(description="Have the embedded judges sit the exam.")
    parser.add_argument("--cache", type=Path, required=True, help="states that were read, kept from run to run")
    parser.add_argument("--card", type=Path, default=Path("docs/embedded-judge.md"))
    given = parser.parse_args()
    table, reader = WeightTable.load(), CachedReader(given.cache)
    every = [
        answers_of(judge.read) for judge in (TableJudge(table), DeepJudge(reader, DeepWeights.load(), table))
    ]  # fmt: skip
    reader.keep()
    results = [result for answers in every if (result := exam_result(answers)) is not None]
    lines = ["# Exam: rubrics", *summary(results), "# Exam: AUC", *stance(every), "# Exam: hard kinds", *kinds(results)]
    rewrite_with_tables(given.card, "\n".join(lines), *MARKERS)


if __name__ == "__main__":
    main()
