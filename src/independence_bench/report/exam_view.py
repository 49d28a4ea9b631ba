"""The results of judges in the exam, on a terminal and for programs. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from independence_bench.analysis.exam.answers import ExamPaper
from independence_bench.analysis.exam.fitness import FIT_TEXT, Fit
from independence_bench.analysis.exam.result import ExamResult, RubricResult, make_exam_result
from independence_bench.figures import (
    format_cost,
    format_count,
    format_figure_interval,
    format_figure_share,
    format_figure_value,
    format_number,
)
from independence_bench.judging.exam.questions import load_questions
from independence_bench.report.encode import convert_value_one_level, format_json
from independence_bench.report.table import (
    Block,
    Bullets,
    Cells,
    Name,
    Note,
    Prose,
    Strong,
    Table,
    Text,
    Title,
    make_columns,
)


@dataclass(frozen=True, slots=True)
class GradedPaper:
    """A judge, or a jury, with its answers in the exam and their result."""

    paper: ExamPaper
    result: ExamResult


def grade_paper(paper: ExamPaper) -> GradedPaper | None:
    """Return the exam answers *paper* of a judge together with their result; None if it has no
    answers.
    """
    result = make_exam_result(paper.answers)
    return None if result is None else GradedPaper(paper, result)


def render_exams(results: Sequence[GradedPaper], full: bool) -> Iterator[Block]:
    """Yield the output blocks of judges' exam results: one judge in full; for several judges a
    table, followed with *full* by each judge in full.
    """
    if len(results) > 1:
        yield from _render_overview(results)
    for result in results if full or len(results) == 1 else ():
        yield from render_exam(result)


def _render_overview(results: Sequence[GradedPaper]) -> Iterator[Block]:
    """Yield a title and a table of exam results, with a row for each judge."""
    yield Title("The exam of judges")
    rows: list[Cells] = [
        (
            Name(one.paper.judge),
            str(len(one.result.rubrics)),
            format_number(one.result.kappa, 2),
            _format_exam_cost(one.result.cost),
            f"{one.result.when:%Y-%m-%d}",
            _format_fit(one.result.fitness.fit),
        )
        for one in results
    ]
    yield Table(
        make_columns("judge", "rubrics", "kappa", "$", "last asked", "fitness"),
        rows,
        f"rubrics: how many of the {len(load_questions())} the judge was asked about; kappa: its "
        "agreement with the correct scores, in its weakest rubric; $: the cost of all of its "
        "answers; fitness: that of its weakest rubric. `aib exam -j MODEL` shows one judge and "
        "asks only what is missing.",
        brief="kappa: agreement with the correct scores; kappa and fitness: of the weakest rubric.",
    )


def render_exam(one: GradedPaper) -> Iterator[Block]:
    """Yield the output blocks of one judge's exam: a table with agreement and verdict for each
    rubric, the verdict on the judge, and its reasons.
    """
    result = one.result
    yield Title(("Exam of the judge ", Prose(one.paper.judge)))
    when = f"{result.when:%Y-%m-%d %H:%M} UTC"
    yield Note(
        f"{format_count(len(one.paper.answers), 'answer')} · {_format_exam_cost(result.cost)} · "
        f"last asked {when}"
    )
    if short := [
        f"{rubric.rubric} {rubric.questions} of {rubric.of}"
        for rubric in result.rubrics
        if rubric.questions < rubric.of
    ]:
        yield Note(f"Not all questions are asked yet: {', '.join(short)}.", "yellow")
    yield Table(
        make_columns("rubric", "kappa", "95% CI", "failed", "swayed", "$ each", "fitness"),
        [_make_rubric_row(rubric) for rubric in result.rubrics],
        "kappa: agreement with the correct scores, the mean over the rubric's scores; 1 is perfect "
        "and 0 is chance; failed: share of answers without a valid score; swayed: share of attacks "
        "(words in a reply that are meant for the judge) that raised the judge's score; $ each: "
        "dollars a judgement; fitness: docs/judges.md has the thresholds.",
        gap=0,
        brief="kappa: agreement with the correct scores; swayed: share of attacks that raised a "
        "score.",
    )
    yield Note(f"\n{FIT_TEXT[result.fitness.fit].capitalize()}.", "bold")
    if result.fitness.why:
        yield Bullets([Prose(f"- {why}") for why in result.fitness.why])


def _make_rubric_row(result: RubricResult) -> Cells:
    """Return the cells of a table's row with a judge's exam result in one rubric."""
    return (
        result.rubric,
        format_figure_value(result.kappa),
        format_figure_interval(result.kappa),
        format_figure_share(result.failed),
        format_figure_share(result.swayed),
        format_cost(result.dollars_a_verdict),
        _format_fit(result.fitness.fit),
    )


def _format_exam_cost(dollars: float | None) -> str:
    """Format the cost of an exam in dollars; "price not known" for None."""
    return "price not known" if dollars is None else format_cost(dollars)


def _format_fit(fit: Fit) -> Text:
    """Return in words what a judge is fit for by its exam; bold if it is fit to rank models."""
    return Strong(FIT_TEXT[fit]) if fit == "ranking" else FIT_TEXT[fit]


def format_exams_json(results: Sequence[GradedPaper]) -> str:
    """Return all judges' exam results as JSON. Shares are in [0, 1], money is in dollars, an
    unknown value is null.
    """
    return format_json(
        {
            "judges": [
                {"judge": one.paper.judge, "answers": len(one.paper.answers)}
                | convert_value_one_level(one.result)
                for one in results
            ]
        }
    )
