"""How a judge did in the exam: all rubrics together, two judges, a judge on a board, and juries.

    result = exam_result(exam_answers(connection, judge_hash))
    result.fitness.sentence  # "fit for screening: drift: lower limit of kappa .62, ..."
    judges = examined_judges(connection, protocol)
    judges.exam_of([judge_hash]).standing  # None: it has not sat what the protocol is marked by

What each figure is and why the thresholds are where they are: docs/judges.md. Juries are made of
what their members have answered; no judge is asked. A store in which no judge has sat anything
costs one query.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import fmean, median
from typing import Literal

import numpy as np
from sqlalchemy import Connection

from independence_bench.analysis.exam.answers import (
    ExamAnswer,
    ExamPaper,
    exam_answers,
    exam_scales,
)
from independence_bench.analysis.exam.figures import (
    MarkFigures,
    fitness_with,
    given_marks,
    kind_results,
    mark_figures,
    mean_figure_of,
    rubric_result,
    style_results,
)
from independence_bench.analysis.exam.values import UNKNOWN, ExamFigure, ExamResult, weakest
from independence_bench.analysis.statistics import known_states
from independence_bench.analysis.statistics.known_states import Figure
from independence_bench.judging.exam.questions import questions, stem_of
from independence_bench.judging.judge import Judge
from independence_bench.models.spec import SIMULATED, vendor_of
from independence_bench.protocol.definition import Protocol
from independence_bench.store import registry, results


@dataclass(frozen=True, slots=True)
class JudgeDifference:
    """One judge less another on the questions of a rubric that both gave a verdict on."""

    rubric: str
    questions: int
    kappa: ExamFigure | None
    ranks: ExamFigure | None
    error: ExamFigure | None
    right: ExamFigure  # share of marks, [-1, 1]


@dataclass(frozen=True, slots=True)
class ExamStanding:
    """What a judge's exam says of it on a board: the rubrics that the board's scenarios are marked
    by.
    """

    result: ExamResult  # of these rubrics alone; the fitness counts those that were not sat, too
    missing: tuple[str, ...]  # rubrics that it has not sat
    kappa: float | None  # of the weakest rubric


def exam_result(answers: Iterable[ExamAnswer]) -> ExamResult | None:
    """All rubrics that *answers*, of one judge, are to; None without any."""
    every = list(answers)
    if not every:
        return None
    rubrics = tuple(rubric_result(of) for of in by_rubric(every).values())
    costs = [answer.cost for answer in every if answer.cost is not None]
    there = {
        group
        for of in rubrics
        for question in questions()[of.rubric].questions
        for group in question.groups
    }
    kinds = kind_results(rubrics, there)
    return ExamResult(
        rubrics=rubrics,
        kinds=kinds,
        styles=tuple(style_results(every)),
        fitness=fitness_with(
            kinds, weakest([(result.rubric, result.fitness) for result in rubrics])
        ),
        cost=sum(costs) if costs else None,
        when=max(answer.when for answer in every),
    )


def by_rubric(answers: Iterable[ExamAnswer]) -> Mapping[str, list[ExamAnswer]]:
    """Rubric -> its answers."""
    rubrics = defaultdict(list)
    for answer in answers:
        rubrics[answer.rubric].append(answer)
    return rubrics


# ---------------------------------------------------------------- two judges


def judge_differences(
    first: Iterable[ExamAnswer], second: Iterable[ExamAnswer]
) -> tuple[JudgeDifference, ...]:
    """The first judge less the second, by rubric, on the questions that both answered; () where
    there is none.
    """
    mine, others = by_rubric(first), by_rubric(second)
    differences = (
        _difference(rubric, mine[rubric], others[rubric]) for rubric in mine if rubric in others
    )
    return tuple(difference for difference in differences if difference is not None)


def _difference(
    rubric: str, first: Sequence[ExamAnswer], second: Sequence[ExamAnswer]
) -> JudgeDifference | None:
    judged = [
        {
            answer.question.id: answer
            for answer in of
            if answer.asked == "first" and answer.marks is not None
        }
        for of in (first, second)
    ]
    both = [question for question in judged[0] if question in judged[1]]
    if not both:
        return None
    scales = exam_scales(rubric)
    figures: list[list[MarkFigures]] = []
    wrong: list[Figure] = []
    for answers in judged:
        given = given_marks(rubric, [answers[question] for question in both])
        figures.append([mark_figures(scales[name], of, len(both)) for name, of in given.items()])
        at = np.array([mark.question for of in given.values() for mark in of])
        errors = np.array(
            [
                scales[name].state(mark.mark) != mark.state
                for name, of in given.items()
                for mark in of
            ]
        )
        figure = known_states.mean_of_errors(at, errors.astype(np.float64), 1.0, len(both))
        if figure is None:
            return None
        wrong.append(figure)
    missed = known_states.joined_limits(*wrong)
    return JudgeDifference(
        rubric=rubric,
        questions=len(both),
        kappa=_apart(*([mark.kappa for mark in of] for of in figures)),
        ranks=_apart(*([mark.ranks for mark in of] for of in figures)),
        error=_apart(*([mark.error for mark in of] for of in figures)),
        right=ExamFigure(
            wrong[1].value - wrong[0].value, None if missed is None else missed.scaled(-1)
        ),
    )


def _apart(first: Sequence[Figure | None], second: Sequence[Figure | None]) -> ExamFigure | None:
    """None unless the same marks have the figure under both."""
    same = [both for both in zip(first, second, strict=False) if None not in both]
    one, other = mean_figure_of([a for a, _ in same]), mean_figure_of([b for _, b in same])
    if one is None or other is None:
        return None
    return ExamFigure(one.value - other.value, known_states.joined_limits(one, other))


# ---------------------------------------------------------------- on a board


def rubrics_of(protocol: Protocol) -> tuple[str, ...]:
    """The files of questions that ask for what *protocol*'s scenarios are marked by.

    By the rubrics' names, and the marks that have a known state and their scales: v1's resistance
    is not v2's. A rubric that asks for other marks is not in the exam.
    """
    used = {
        (rubric.name, stem_of(mark.name, scenario.judged), mark.kind, mark.high)
        for scenario in protocol.scenarios
        for rubric in scenario.rubrics
        for mark in rubric.marks
    }
    # to look up the marks of others would load their protocols
    rubrics = {rubric for rubric, *_ in used}
    return tuple(
        name
        for name, group in questions().items()
        if group.rubric in rubrics
        and any(
            (group.rubric, stem, mark.kind, mark.high) in used for stem, mark in group.marks.items()
        )
    )


def exam_standing(answers: Collection[ExamAnswer], protocol: Protocol) -> ExamStanding | None:
    """What *answers*, of one judge, say of it on *protocol*'s boards; None where it sat none of
    their rubrics.
    """
    wanted = rubrics_of(protocol)
    result = exam_result([answer for answer in answers if answer.rubric in wanted])
    if result is None:
        return None
    missing = tuple(name for name in wanted if result.rubric(name) is None)
    known = [(rubric.rubric, rubric.fitness) for rubric in result.rubrics]
    fitness = fitness_with(result.kinds, weakest([*known, *((name, UNKNOWN) for name in missing)]))
    kappas = [rubric.kappa.value if rubric.kappa else None for rubric in result.rubrics]
    there = [kappa for kappa in kappas if kappa is not None]
    return ExamStanding(
        replace(result, fitness=fitness),
        missing,
        min(there) if there and not missing and len(there) == len(kappas) else None,
    )


@dataclass(frozen=True, slots=True)
class BoardExam:
    """What is known of the judge, or the jury, whose marks a board shows."""

    standing: ExamStanding | None  # None: not sat, or of a jury not by all of its members
    # labels of those who have not sat; without simulated ones, which need not
    lacking: tuple[str, ...] = ()
    # what has them sit, after `aib exam -j`; without those that no name leads to
    typed: tuple[str, ...] = ()
    no_questions: bool = False  # the exam is known to have none for what the protocol's marks are
    jury: bool = False


@dataclass(frozen=True, slots=True)
class ExaminedJudges:
    """All that have sat, of one protocol."""

    protocol: Protocol
    labels: Mapping[str, str]  # of the store's judges, by hash
    names: Mapping[str, str]  # what is typed to have a judge asked, by hash
    people: frozenset[str]  # hashes of judges that cannot be examined
    simulated: frozenset[str]
    # by hash, of those that sat; to the protocol's rubrics
    answers: Mapping[str, tuple[ExamAnswer, ...]]
    no_questions: bool
    _made: dict[tuple[str, ...], BoardExam] = field(default_factory=dict)

    def exam_of(self, judges: Sequence[str]) -> BoardExam | None:
        """Of the judge, or of the jury, with those hashes; None for people, and for no judge."""
        if not judges or self.people.intersection(judges):
            return None
        if (key := tuple(judges)) not in self._made:
            self._made[key] = self._examine(key)
        return self._made[key]

    def _examine(self, judges: tuple[str, ...]) -> BoardExam:
        each = [self.answers.get(judge, ()) for judge in judges]
        lacking = [judge for judge, answers in zip(judges, each, strict=True) if not answers]
        # as boards take a jury: the mean of its members' marks
        together = each[0] if len(each) == 1 else () if lacking else jury_answers(each, "mean")
        lacking = [judge for judge in lacking if judge not in self.simulated]
        return BoardExam(
            standing=exam_standing(together, self.protocol) if together else None,
            lacking=tuple(self.labels.get(judge, judge[:8]) for judge in lacking),
            typed=tuple(
                dict.fromkeys(self.names[judge] for judge in lacking if judge in self.names)
            ),
            no_questions=self.no_questions,
            jury=len(judges) > 1,
        )


def examined_judges(
    connection: Connection, protocol: Protocol, also: Judge | None = None
) -> ExaminedJudges:
    """Who has sat the exam in what *protocol*'s conversations are marked by. *also*: a judge that
    may be new.
    """
    aside = results.judges_aside(connection)
    # the questions are read only where a judge may have answered some
    wanted = rubrics_of(protocol) if aside else ()
    answers = (
        {judge: exam_answers(connection, judge, wanted) for judge in sorted(aside)}
        if wanted
        else {}
    )
    labels, names = registry.stored_judges(connection), registry.judges_to_ask(connection)
    specs = registry.judge_specs(connection)
    if also is not None and also.hash not in labels:
        labels[also.hash], specs[also.hash] = also.label, json.loads(also.spec)
        if (name := registry.judge_to_ask(json.loads(also.spec))) is not None:
            names[also.hash] = name
    return ExaminedJudges(
        protocol=protocol,
        labels=labels,
        names=names,
        people=registry.people_judging(connection),
        simulated=frozenset(
            judge for judge, spec in specs.items() if vendor_of(str(spec.get("model"))) == SIMULATED
        ),
        answers={judge: given for judge, given in answers.items() if given},
        no_questions=bool(aside) and not wanted,
    )


# ---------------------------------------------------------------- juries

# A jury's mark is the median, or the mean, of its members' marks; of names and levels that have no
# middle, what more than half of the jury gave. Where a mark with a known state gets none, the jury
# has failed at that question. Its cost is its members' together.
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
    """What *members*, two or more, answer together: by the median, and by the mean, as a board's
    `--jury` takes it.
    """
    names = " + ".join(member.judge for member in members)
    answers = [member.answers for member in members]
    return tuple(ExamPaper(f"{by} of {names}", jury_answers(answers, by)) for by in BYS)


def jury_answers(
    members: Sequence[Sequence[ExamAnswer]], by: By = "median"
) -> tuple[ExamAnswer, ...]:
    """What *members*, each one's answers, answer together, of what all of them were asked."""
    asked: dict[tuple[str, str, str], list[ExamAnswer]] = defaultdict(list)
    for answers in members:
        for answer in answers:
            asked[answer.rubric, answer.question.id, answer.asked].append(answer)
    return tuple(_together(of, by) for of in asked.values() if len(of) == len(members))


def _together(answers: Sequence[ExamAnswer], by: By) -> ExamAnswer:
    first = answers[0]
    marks: dict[str, float] | None = {}
    for name in first.question.state:
        given = [
            answer.marks[name]
            for answer in answers
            if answer.marks is not None and name in answer.marks
        ]
        mark = _joined(first, name, given, len(answers), by)
        marks = None if mark is None or marks is None else marks | {name: mark}
    return ExamAnswer(
        rubric=first.rubric,
        question=first.question,
        asked=first.asked,
        attack=first.attack,
        marks=marks,
        cost=_sum([answer.cost for answer in answers]),
        seconds=_sum([answer.seconds or 0.0 for answer in answers]),
        when=max(answer.when for answer in answers),
    )


def _joined(
    answer: ExamAnswer, name: str, given: Sequence[float], jurors: int, by: By
) -> float | None:
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
    """Of all threes of judges that have sat *rubrics*, by the median, the cheapest that is fit for
    ranking.

    None where none is. A judge without a known price is in none of them.
    """
    costs: dict[str, float] = {}
    sat = {
        paper.judge: paper for paper in papers if set(rubrics) <= by_rubric(paper.answers).keys()
    }
    for name, paper in sat.items():
        if (cost := _sum([answer.cost for answer in paper.answers])) is not None:
            costs[name] = cost / len(paper.answers)
    for names in sorted(
        combinations(costs, JURORS), key=lambda names: (sum(costs[name] for name in names), names)
    ):
        result = exam_result(jury_answers([sat[name].answers for name in names]))
        if result is not None and result.fitness.fit == "ranking":
            return ExamJury(names, result, sum(costs[name] for name in names))
    return None
