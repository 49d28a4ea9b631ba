"""How a judge did on groups of questions over all rubrics: kinds with their floors, and styles of writing. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from independence_bench.analysis.exam.answers import POINTS, ExamAnswer, exam_scales
from independence_bench.analysis.exam.values import (
    ExamFigure,
    ExamShare,
    Fit,
    Fitness,
    KindResult,
    RubricResult,
    StyleResult,
)
from independence_bench.analysis.statistics.exact_binomial import fewest_successes
from independence_bench.analysis.statistics.sample_means import effect_interval
from independence_bench.judging.exam.questions import GROUPS, HARD, STYLES, stem_of

ERRORS = 0.05  # of a judge that may fail by the floor of any kind in `RISK` of its exams, and no more
RISK = 0.05


def kind_results(rubrics: Sequence[RubricResult], there: Collection[str]) -> tuple[KindResult, ...]:
    """Each kind of those *there* are questions of, over *rubrics*; in the order of `GROUPS`."""
    names = [name for name in GROUPS if name in there]
    parts = [[of.kinds[name] for of in rubrics if name in of.kinds] for name in names]
    rights = [ExamShare(sum(one.hits for one in of), sum(one.of for one in of)) if of else None for of in parts]
    least = fewest_successes([right.of if right else 0 for right in rights], 1 - ERRORS, RISK)
    return tuple(map(KindResult, names, rights, least))


def fitness_with(kinds: Sequence[KindResult], fitness: Fitness) -> Fitness:
    """*fitness*, which rubrics have shown, and what *kinds* keep it from; it names those that cannot be told."""
    told = fitness.fit in ("ranking", "screening")  # otherwise it is not for these that it is fit for nothing
    below = tuple(
        f"{of.title}: {of.right.hits:.3g} of {of.right.of} right, at least {of.least} needed"
        for of in kinds
        if told and of.failed and of.right
    )
    fit: Fit = "screening" if below and fitness.fit == "ranking" else fitness.fit
    untold = tuple(
        f"{of.kind.replace('_', ' ') if of.kind in HARD else of.title} ({of.right.of if of.right else 0})"
        for of in kinds
        if of.least is None
    )
    return Fitness(fit, (*fitness.why, *below), untold)


def style_results(answers: Collection[ExamAnswer]) -> Iterator[StyleResult]:
    """Each style that *answers*, of one judge, have verdicts in; the contents are a sample of what might be said."""
    contents: dict[str, dict[str, float]] = defaultdict(dict)  # content -> style -> worth of its marks, in [0, 1]
    for answer in answers:
        question = answer.question
        if answer.asked == "first" and answer.marks and question.style and question.content:
            scales = exam_scales(answer.rubric)
            worths = [
                (worth if scale.favour > 0 else POINTS + worth) / POINTS
                for name, mark in answer.marks.items()
                if name in question.state
                and (worth := (scale := scales[stem_of(name, question.judged)]).worth(mark)) is not None
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
