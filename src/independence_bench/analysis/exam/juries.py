"""Juries in the exam, made of what their members have answered. Pure: nobody is asked.

A jury's mark is the median, or the mean, of its members' marks; of names and levels that have no middle, what more than
half of the jury gave. Where a mark with a known state gets none, the jury has failed at that question. Its cost is
its members' together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median
from typing import Literal

from independence_bench.analysis.exam.answers import ExamAnswer, ExamPaper
from independence_bench.analysis.exam.result import by_rubric, exam_result
from independence_bench.analysis.exam.scales import exam_scales
from independence_bench.analysis.exam.values import ExamResult
from independence_bench.judging.exam.rubrics import stem_of

By = Literal["median", "mean"]
BYS: tuple[By, ...] = ("median", "mean")
JURORS = 3  # of the juries that are looked through


@dataclass(frozen=True, slots=True)
class ExamJury:
    """Some judges together."""

    members: tuple[str, ...]
    result: ExamResult
    cost: float  # dollars a verdict, of all members


def jury_papers(members: Sequence[ExamPaper]) -> tuple[ExamPaper, ...]:
    """What *members*, two or more, answer together: by the median, and by the mean, as a board's `--jury` takes it."""
    names = " + ".join(member.judge for member in members)
    answers = [member.answers for member in members]
    return tuple(ExamPaper(f"{by} of {names}", jury_answers(answers, by)) for by in BYS)


def jury_answers(members: Sequence[Sequence[ExamAnswer]], by: By = "median") -> tuple[ExamAnswer, ...]:
    """What *members*, each one's answers, answer together, of what all of them were asked."""
    asked: dict[tuple[str, str, str], list[ExamAnswer]] = defaultdict(list)
    for answers in members:
        for one in answers:
            asked[one.rubric, one.question.id, one.asked].append(one)
    return tuple(_together(of, by) for of in asked.values() if len(of) == len(members))


def _together(of: Sequence[ExamAnswer], by: By) -> ExamAnswer:
    one = of[0]
    marks: dict[str, float] | None = {}
    for name in one.question.state:
        given = [each.marks[name] for each in of if each.marks is not None and name in each.marks]
        mark = _joined(one, name, given, len(of), by)
        marks = None if mark is None or marks is None else marks | {name: mark}
    return ExamAnswer(
        rubric=one.rubric,
        question=one.question,
        asked=one.asked,
        attack=one.attack,
        marks=marks,
        cost=_sum([each.cost for each in of]),
        seconds=_sum([each.seconds or 0.0 for each in of]),
        when=max(each.when for each in of),
    )


def _joined(answer: ExamAnswer, name: str, given: Sequence[float], jurors: int, by: By) -> float | None:
    if 2 * len(given) <= jurors:
        return None
    scale = exam_scales(answer.rubric)[stem_of(name, answer.question.judged)]
    if scale.bands:
        return median(given) if by == "median" else fmean(given)
    middle = median(given)  # the mean of two levels is no level
    if scale.measurement != "nominal" and middle.is_integer():
        return middle
    mark, count = Counter(given).most_common(1)[0]
    return mark if 2 * count > jurors else None


def _sum(parts: Sequence[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def cheapest_jury(papers: Sequence[ExamPaper], rubrics: Sequence[str]) -> ExamJury | None:
    """Of all threes of judges that have sat *rubrics*, by the median, the cheapest that is fit for ranking.

    None where none is. A judge without a known price is in none of them.
    """
    costs: dict[str, float] = {}
    sat = {paper.judge: paper for paper in papers if set(rubrics) <= by_rubric(paper.answers).keys()}
    for name, paper in sat.items():
        if (cost := _sum([answer.cost for answer in paper.answers])) is not None:
            costs[name] = cost / len(paper.answers)
    for names in sorted(combinations(costs, JURORS), key=lambda names: (sum(costs[name] for name in names), names)):
        result = exam_result(jury_answers([sat[name].answers for name in names]))
        if result is not None and result.fitness.fit == "ranking":
            return ExamJury(names, result, sum(costs[name] for name in names))
    return None
