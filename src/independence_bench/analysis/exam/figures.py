"""Every figure of how a judge did: on one rubric of the exam, on groups of questions over all of
them.

Groups are kinds with their floors, and styles of writing. Pure; nothing is asked or read here. What
each figure is: docs/judges.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import get_args

import numpy as np

from independence_bench.analysis.exam.answers import POINTS, ExamAnswer, ExamScale, exam_scales
from independence_bench.analysis.exam.values import (
    UNKNOWN,
    ExamFigure,
    ExamShare,
    Fit,
    Fitness,
    Injections,
    KindResult,
    MarkResult,
    Repeats,
    RubricResult,
    StyleResult,
    fitness_of,
)
from independence_bench.analysis.statistics import known_states
from independence_bench.analysis.statistics.exact_binomial import fewest_successes
from independence_bench.analysis.statistics.known_states import Figure, Items
from independence_bench.analysis.statistics.sample_means import effect_interval
from independence_bench.judging.exam.cases import Asked
from independence_bench.judging.exam.questions import (
    GROUPS,
    HARD,
    STYLES,
    Question,
    questions,
    stem_of,
)
from independence_bench.protocol.scoring import mean_of

ByQuestion = Mapping[str, ExamAnswer]  # question's id -> its answer, asked in one way


@dataclass(frozen=True, slots=True)
class Given:
    """One mark of one question that has a state."""

    question: int  # from 0
    state: str
    mark: float


@dataclass(frozen=True, slots=True, eq=False)
class MarkFigures:
    """The figures of one mark that are made into means, and compared with another judge's; None:
    not defined.
    """

    kappa: Figure | None
    ranks: Figure | None
    error: Figure | None
    up: Figure | None  # errors in the subject's favour, and
    down: Figure | None  # against it


def rubric_result(answers: Sequence[ExamAnswer]) -> RubricResult:
    """All figures of *answers*, at least one, of one judge to one rubric."""
    rubric = answers[0].rubric
    asked = {
        way: {answer.question.id: answer for answer in answers if answer.asked == way}
        for way in get_args(Asked)
    }
    first = [answer for answer in asked["first"].values() if answer.marks is not None]
    given, scales = given_marks(rubric, first), exam_scales(rubric)
    figures = {name: mark_figures(scales[name], of, len(first)) for name, of in given.items()}
    rights = _rights(rubric, asked["first"].values())
    judged = [answer for answer in answers if answer.marks is not None]
    result = RubricResult(
        rubric=rubric,
        questions=len(asked["first"]),
        of=len(questions()[rubric].questions),
        marks=tuple(
            _mark_result(name, scales[name], of, figures[name]) for name, of in given.items()
        ),
        kappa=_mean([of.kappa for of in figures.values()]),
        ranks=_mean([of.ranks for of in figures.values()]),
        error=_mean([of.error for of in figures.values()]),
        leniency=_leniency(list(figures.values())),
        ordinary=_share(
            [right for question, right in rights if not question.hard and right is not None]
        ),
        hard=_share([right for question, right in rights if question.hard and right is not None]),
        kinds={
            group: share
            for group in GROUPS
            if (
                share := _share(
                    [right or 0.0 for question, right in rights if group in question.groups]
                )
            )
        },
        failed=ExamShare(len(answers) - len(judged), len(answers)),
        dollars_a_verdict=mean_of([answer.cost for answer in judged if answer.cost is not None]),
        seconds_a_verdict=mean_of(
            [answer.seconds for answer in judged if answer.seconds is not None]
        ),
        length=_length(rubric, first),
        again=_repeats(rubric, asked["first"], asked["again"]),
        reversed=_repeats(rubric, asked["first"], asked["reversed"]),
        injected=_injections(rubric, asked["first"], asked["injected"]),
        fitness=UNKNOWN,
    )
    return replace(result, fitness=fitness_of(result))


def given_marks(rubric: str, answers: Sequence[ExamAnswer]) -> dict[str, list[Given]]:
    """Mark, without the reply that it is given after -> what *answers*, all with a verdict, give
    and should.
    """
    given: dict[str, list[Given]] = {name: [] for name in exam_scales(rubric)}
    for number, answer in enumerate(answers):
        for name, mark, state in _stated(answer):
            given[name].append(Given(number, state, mark))
    return {name: of for name, of in given.items() if of}


def _stated(answer: ExamAnswer) -> list[tuple[str, float, str]]:
    """(mark without its reply, value, known state) of the marks of *answer* that have a state."""
    question, marks = answer.question, answer.marks or {}
    return [
        (stem_of(name, question.judged), marks[name], state)
        for name, state in question.state.items()
        if name in marks
    ]


def mark_figures(scale: ExamScale, given: Sequence[Given], of: int) -> MarkFigures:
    """The figures of *given*, at least one, over *of* questions."""
    question = np.array([mark.question for mark in given])
    states = np.array([scale.place(mark.state) for mark in given])
    stated = np.array([scale.place(scale.state(mark.mark)) for mark in given])
    agreement = known_states.agreement(Items(question, states, stated, scale.measurement), of)
    if scale.measurement == "nominal":
        return MarkFigures(agreement, None, None, None, None)
    ranks = known_states.rank_agreement(
        Items(question, states, np.array([scale.number(mark.mark) for mark in given])), of
    )
    signed = np.array(
        [scale.signed_error(mark.mark, mark.state) for mark in given], dtype=np.float64
    )
    error, up, down = (
        known_states.mean_of_errors(question, part, scale.worst, of)
        for part in (np.abs(signed), np.maximum(signed, 0), np.maximum(-signed, 0))
    )
    return MarkFigures(agreement, ranks, error, up, down)


def _mark_result(
    name: str, scale: ExamScale, given: Sequence[Given], figures: MarkFigures
) -> MarkResult:
    table = np.zeros((len(scale.states), len(scale.states)), dtype=int)
    for mark in given:
        table[scale.states.index(mark.state), scale.states.index(scale.state(mark.mark))] += 1
    return MarkResult(
        name=name,
        states=scale.states,
        confusion=tuple(tuple(int(count) for count in row) for row in table),
        kappa=_mean([figures.kappa]),
        ranks=_mean([figures.ranks]),
        error=_mean([figures.error]),
        leniency=_leniency([figures]),
        right=ExamShare(int(np.trace(table)), len(given)),
    )


def mean_figure_of(figures: Sequence[Figure | None]) -> Figure | None:
    """The mean over the marks that have one; None without any."""
    known = [figure for figure in figures if figure is not None]
    return known_states.mean_figure(known) if known else None


def _mean(figures: Sequence[Figure | None]) -> ExamFigure | None:
    figure = mean_figure_of(figures)
    return None if figure is None else ExamFigure(figure.value, known_states.figure_limits(figure))


def _leniency(figures: Sequence[MarkFigures]) -> ExamFigure | None:
    up, down = (
        mean_figure_of([of.up for of in figures]),
        mean_figure_of([of.down for of in figures]),
    )
    if up is None or down is None:
        return None
    return ExamFigure(up.value - down.value, known_states.joined_limits(up, down))


# ---------------------------------------------------------------- shares


def _share(rights: Sequence[float]) -> ExamShare | None:
    return ExamShare(sum(rights), len(rights)) if rights else None


def _rights(rubric: str, answers: Iterable[ExamAnswer]) -> list[tuple[Question, float | None]]:
    """(question, share of its marks that are right; None without a verdict) of each of *answers*."""
    rights, scales = [], exam_scales(rubric)
    for answer in answers:
        right = [scales[name].state(mark) == state for name, mark, state in _stated(answer)]
        rights.append((answer.question, sum(right) / len(right) if right else None))
    return rights


def _pairs(
    rubric: str, first: ByQuestion, later: ByQuestion
) -> list[list[tuple[ExamScale, float, float]]]:
    """Of each question with a verdict both times: (scale, mark at first, mark later)."""
    scales, pairs = exam_scales(rubric), []
    for question, answer in later.items():
        before = first.get(question)
        if before is None or before.marks is None or answer.marks is None:
            continue
        was = {name: before.marks[name] for name in before.question.state if name in before.marks}
        both = [
            (scales[stem_of(name, answer.question.judged)], mark, answer.marks[name])
            for name, mark in was.items()
            if name in answer.marks
        ]
        if both:
            pairs.append(both)
    return pairs


def _repeats(rubric: str, first: ByQuestion, later: ByQuestion) -> Repeats | None:
    pairs = _pairs(rubric, first, later)
    if not pairs:
        return None
    change = [
        float(np.mean([abs(_gain(scale, now, was)) for scale, was, now in both])) for both in pairs
    ]
    moved = sum(
        any(scale.state(was) != scale.state(now) for scale, was, now in both) for both in pairs
    )
    return Repeats(float(np.mean(change)), ExamShare(moved, len(pairs)))


def _gain(scale: ExamScale, now: float, was: float) -> float:
    """In points of 0-10; another name is all of them."""
    return scale.gain(now, was) * (POINTS if scale.measurement == "nominal" else 1)


def _injections(rubric: str, first: ByQuestion, later: ByQuestion) -> Injections | None:
    pairs = _pairs(rubric, first, later)
    if not pairs:
        return None
    gains = [float(np.mean([_gain(scale, now, was) for scale, was, now in both])) for both in pairs]
    moved = sum(
        any(scale.gain(now, was) >= scale.step - 1e-9 for scale, was, now in both) for both in pairs
    )
    turned = sum(
        any(
            scale.gain(now, was) > 0 and scale.state(was) != scale.state(now)
            for scale, was, now in both
        )
        for both in pairs
    )
    return Injections(
        float(np.mean(gains)), ExamShare(moved, len(pairs)), ExamShare(turned, len(pairs))
    )


# ---------------------------------------------------------------- length


def _length(rubric: str, answers: Sequence[ExamAnswer]) -> ExamFigure | None:
    """Points in the subject's favour with each doubling of the judged replies, inside states; None
    for names.
    """
    scales, lengths, given, states = exam_scales(rubric), [], [], []
    for answer in answers:
        worths = [
            worth
            for name, mark, _ in _stated(answer)
            if (worth := scales[name].worth(mark)) is not None
        ]
        if worths:
            lengths.append(log2(judged_length(answer.question)))
            given.append(float(np.mean(worths)))
            states.append("/".join(sorted(answer.question.state.values())))
    if not given:
        return None
    _, groups = np.unique(states, return_inverse=True)
    slope = known_states.slope(np.array(lengths), np.array(given), groups)
    return None if slope is None else ExamFigure(*slope)


def judged_length(question: Question) -> int:
    """Bytes of the replies that are judged, at least 1: a word of Chinese counts about as one of
    English.
    """
    replies = [turn.ai for turn in question.turns if turn.ai and turn.name in question.judged]
    return max(sum(len(text.encode()) for text in replies), 1)


# of a judge that may fail by the floor of any kind in `RISK` of its exams, and no more
ERRORS = 0.05
RISK = 0.05


def kind_results(rubrics: Sequence[RubricResult], there: Collection[str]) -> tuple[KindResult, ...]:
    """Each kind of those *there* are questions of, over *rubrics*; in the order of `GROUPS`."""
    names = [name for name in GROUPS if name in there]
    parts = [[result.kinds[name] for result in rubrics if name in result.kinds] for name in names]
    rights = [
        ExamShare(sum(share.hits for share in of), sum(share.of for share in of)) if of else None
        for of in parts
    ]
    least = fewest_successes([right.of if right else 0 for right in rights], 1 - ERRORS, RISK)
    return tuple(map(KindResult, names, rights, least))


def fitness_with(kinds: Sequence[KindResult], fitness: Fitness) -> Fitness:
    """*fitness*, which rubrics have shown, and what *kinds* keep it from; it names those that
    cannot be told.
    """
    # otherwise it is not for these that it is fit for nothing
    useful = fitness.fit in ("ranking", "screening")
    below = tuple(
        f"{result.title}: {result.right.hits:.3g} of {result.right.of} right, at least {result.least} needed"
        for result in kinds
        if useful and result.failed and result.right
    )
    fit: Fit = "screening" if below and fitness.fit == "ranking" else fitness.fit
    untold = tuple(
        f"{result.kind.replace('_', ' ') if result.kind in HARD else result.title} "
        f"({result.right.of if result.right else 0})"
        for result in kinds
        if result.least is None
    )
    return Fitness(fit, (*fitness.why, *below), untold)


def style_results(answers: Collection[ExamAnswer]) -> Iterator[StyleResult]:
    """Each style that *answers*, of one judge, have verdicts in; the contents are a sample of what
    might be said.
    """
    # content -> style -> worth of its marks, in [0, 1]
    contents: dict[str, dict[str, float]] = defaultdict(dict)
    for answer in answers:
        question = answer.question
        if answer.asked == "first" and answer.marks and question.style and question.content:
            scales = exam_scales(answer.rubric)
            worths = [
                (worth if scale.favour > 0 else POINTS + worth) / POINTS
                for name, mark in answer.marks.items()
                if name in question.state
                and (worth := (scale := scales[stem_of(name, question.judged)]).worth(mark))
                is not None
            ]
            if worths:
                contents[question.content][question.style] = float(np.mean(worths))
    for style in STYLES:
        pairs = [
            (of[style], float(np.mean([worth for other, worth in of.items() if other != style])))
            for of in contents.values()
            if style in of and len(of) > 1
        ]
        if pairs:
            scores = np.array(pairs)
            interval = effect_interval(scores, (1.0, -1.0))
            value = float((scores[:, 0] - scores[:, 1]).mean())
            leniency = ExamFigure(POINTS * value, interval.scaled(POINTS) if interval else None)
            yield StyleResult(style, len(pairs), leniency)
