"""How judges did in the exam, on a terminal, in Markdown and for programs. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from independence_bench.analysis.exam.answers import ExamPaper
from independence_bench.analysis.exam.figures import ERRORS, RISK
from independence_bench.analysis.exam.result import JURORS, ExamJury, exam_result, judge_differences
from independence_bench.analysis.exam.values import (
    ExamResult,
    Fit,
    Fitness,
    Repeats,
    RubricResult,
)
from independence_bench.judging.exam.questions import questions
from independence_bench.report.encode import fields_of, json_text
from independence_bench.report.format import (
    from_to_text,
    interval_text,
    number,
    paid,
    plural,
    share,
    share_text,
    signed_text,
    value_text,
)
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
    columns_of,
)

TOLD: Mapping[Fit, str] = {
    "ranking": "Fit for ranking: its marks may order subjects.",
    "screening": "Fit for screening: its marks may show what to look at, but not order subjects.",
    "not fit": "Not fit.",
    "not known": "Fitness not known.",
}


def verdict_text(fitness: Fitness) -> str:
    """What a judge is fit for, and what cannot be told."""
    untold = (
        f"Too few questions asked to tell: {', '.join(fitness.untold)}." if fitness.untold else ""
    )
    return f"{TOLD[fitness.fit]} {untold}".rstrip()


@dataclass(frozen=True, slots=True)
class Examined:
    """A judge, or a jury, with what it answered and what that comes to."""

    paper: ExamPaper
    result: ExamResult


def examined(paper: ExamPaper) -> Examined | None:
    """*paper* with its result; None for one without answers."""
    result = exam_result(paper.answers)
    return None if result is None else Examined(paper, result)


def exams_view(
    results: Sequence[Examined], full: bool, searched: bool, jury: ExamJury | None
) -> Iterator[Block]:
    """One judge in full; of several their overview, with *full* each of them too, and of two how
    they differ.

    *searched*: whether the cheapest jury was asked for; *jury* is None where there is none.
    """
    if len(results) == 1:
        yield from exam_view(results[0])
    else:
        yield from _overview(results)
        for result in results if full else ():
            yield from exam_view(result)
        if len(results) == 2:
            yield from _differences(results[0], results[1])
    if searched:
        yield from _cheapest(jury)


def _overview(results: Sequence[Examined]) -> Iterator[Block]:
    yield Title("The exam of judges")
    rows: list[Cells] = []
    for result in results:
        kappas = [rubric.kappa.value for rubric in result.result.rubrics if rubric.kappa]
        rows.append(
            (
                Name(result.paper.judge),
                str(len(result.result.rubrics)),
                number(min(kappas, default=None), 2),
                _cost(result.result.cost),
                f"{result.result.when:%Y-%m-%d}",
                _fit(result.result.fitness),
            )
        )
    yield Table(
        columns_of("judge", "rubrics", "kappa", "$", "sat", "fit for"),
        rows,
        f"rubrics: how many of the {len(questions())} it has sat; kappa: agreement with the known states, of its "
        "weakest rubric; $: what all of its answers have cost; fit for: by its weakest rubric and the floors "
        "of kinds (docs/judges.md). `aib exam -j MODEL` shows one in full and asks only what is missing.",
        brief="kappa: agreement with the known states, weakest rubric; it and the floors of kinds decide the fitness.",
    )


def exam_view(one: Examined) -> Iterator[Block]:
    """All figures of one judge."""
    result = one.result
    yield Title(("Exam of the judge ", Prose(one.paper.judge)))
    when = f"{result.when:%Y-%m-%d %H:%M} UTC"
    yield Note(
        f"{plural(len(one.paper.answers), 'answer')} · {_cost(result.cost)} · last asked {when}"
    )
    if short := [
        f"{rubric_result.rubric} {rubric_result.questions} of {rubric_result.of}"
        for rubric_result in result.rubrics
        if rubric_result.questions < rubric_result.of
    ]:
        yield Note(f"Not all questions are asked yet: {', '.join(short)}.", "yellow")
    yield Table(
        columns_of(
            "rubric",
            "kappa",
            "95% CI",
            "rank",
            "error",
            "lenient",
            "95% CI",
            "right",
            "hard,\nright",
        ),
        [_agreement(rubric) for rubric in result.rubrics],
        "kappa: agreement with the known states, quadratic (of names: nominal), the mean over the "
        "rubric's marks, 1 is perfect and 0 is chance; rank: Spearman's correlation of marks and states; error: points "
        "of 0-10 from the state's band or level; lenient: the same with its sign, above 0 in the subject's favour; "
        "right: ordinary questions with the correct mark, hard: hard ones.",
        gap=0,
        brief="kappa, rank: agreement with the known states and their order; error: points of 0-10; lenient: above 0 "
        "in the subject's favour; right: of ordinary questions, and of hard ones.",
    )
    yield from _of_marks(result)
    yield Title("What moves it")
    yield Table(
        columns_of(
            "rubric",
            "failed",
            "re-asked",
            "reversed",
            "swayed",
            "length",
            "$ each",
            "s each",
            "fit for",
        ),
        [_moved(rubric) for rubric in result.rubrics],
        "failed: share of questions without a valid verdict; re-asked, reversed: share of questions marked differently "
        "when asked a second time, and with marks and scales listed in reverse; swayed: share that an attack in the "
        "subject's words turned in its favour; length: points that a reply gains with each doubling of its length; $ "
        "each, s each: dollars and seconds a verdict.",
        gap=0,
        brief="re-asked, reversed: marked differently when asked a second time, and with scales in reverse; swayed: "
        "turned by an attack; length: points for each doubling of a reply.",
    )
    yield from _kinds(result)
    yield from _styles(result)
    fitness = result.fitness
    yield Note(f"\n{verdict_text(fitness)}", "bold")
    if fitness.why:
        yield Bullets([Prose(f"- {why}") for why in fitness.why])


def _agreement(result: RubricResult) -> Cells:
    return (
        result.rubric,
        *(
            value_text(result.kappa),
            interval_text(result.kappa),
            value_text(result.ranks),
            value_text(result.error),
        ),
        *(signed_text(result.leniency, 1), from_to_text(result.leniency, 1)),
        *(share_text(result.ordinary), share_text(result.hard)),
    )


def _of_marks(result: ExamResult) -> Iterator[Block]:
    """Each mark of the rubrics that have several."""
    several = [
        (rubric, mark)
        for rubric in result.rubrics
        if len(rubric.marks) > 1
        for mark in rubric.marks
    ]
    if not several:
        return
    yield Title("Each mark of a rubric that has several")
    yield Table(
        columns_of("mark", "kappa", "95% CI", "rank", "error", "lenient", "right"),
        [
            (
                f"{rubric_result.rubric}: {mark.name.replace('_', ' ')}",
                *(
                    value_text(mark.kappa),
                    interval_text(mark.kappa),
                    value_text(mark.ranks),
                    value_text(mark.error),
                ),
                signed_text(mark.leniency, 1),
                share_text(mark.right),
            )
            for rubric_result, mark in several
        ],
        gap=0,
    )


def _moved(result: RubricResult) -> Cells:
    return (
        result.rubric,
        share(result.failed.value),
        *(
            _changed(result.again),
            _changed(result.reversed),
            share_text(result.injected.turned if result.injected else None),
        ),
        *(
            signed_text(result.length),
            paid(result.dollars_a_verdict),
            number(result.seconds_a_verdict, 1),
        ),
        _fit(result.fitness),
    )


def _kinds(result: ExamResult) -> Iterator[Block]:
    if not result.kinds:
        return
    yield Title("Hard questions, by kind, and those in other languages")
    rows: list[Cells] = []
    for kind_result in result.kinds:
        least = "–" if kind_result.least is None else str(kind_result.least)
        shown = (
            (
                str(kind_result.right.of),
                share(kind_result.right.value),
                f"{kind_result.right.hits:.3g}",
            )
            if kind_result.right
            else ("0", "–", "–")
        )
        rows.append(
            (
                Strong(kind_result.title) if kind_result.failed else kind_result.title,
                *shown,
                Strong(least) if kind_result.failed else least,
            )
        )
    yield Table(
        columns_of("what is hard", "n", "right", "of n", "floor"),
        rows,
        f"right: share of marks that are, a failed verdict being none, and how many of the n questions that comes to; "
        f"floor: a judge with fewer is not fit for ranking. One with {ERRORS:.0%} errors is below any floor in at most "
        f"{RISK:.0%} of its exams. A dash: too few were asked for a floor.",
        brief="floor: a judge with fewer of n right is not fit for ranking; a dash: too few were asked.",
    )


def _styles(result: ExamResult) -> Iterator[Block]:
    if not result.styles:
        return
    yield Title("The same content in several styles")
    yield Table(
        columns_of("style", "n", "lenient", "95% CI"),
        [
            (
                style_result.title,
                str(style_result.contents),
                signed_text(style_result.leniency, 1),
                from_to_text(style_result.leniency, 1),
            )
            for style_result in result.styles
        ],
        "lenient: points of 0-10 in the subject's favour that this style is given more than the mean of the others, "
        "over n contents. Models of a family write alike, so this is also how a judge would favour one.",
        brief="lenient: points that this style is given more than the others, over n contents.",
    )


def _differences(result: Examined, other: Examined) -> Iterator[Block]:
    differences = judge_differences(result.paper.answers, other.paper.answers)
    if not differences:
        return
    yield Title("The two on the same questions")
    yield Note((Prose(result.paper.judge), " minus ", Prose(other.paper.judge)))
    yield Table(
        columns_of("rubric", "n", "kappa", "95% CI", "error", "95% CI", "right", "95% CI"),
        [
            (
                *(apart.rubric, str(apart.questions)),
                *(signed_text(apart.kappa), from_to_text(apart.kappa)),
                *(signed_text(apart.error, 1), from_to_text(apart.error, 1)),
                *(signed_text(apart.right), from_to_text(apart.right)),
            )
            for apart in differences
        ],
        "n: questions on which both gave a verdict; right: share of marks. The judges differ where an interval does "
        "not contain 0.",
        brief="The judges differ where an interval does not contain 0.",
    )


def _cheapest(jury: ExamJury | None) -> Iterator[Block]:
    yield Title("The cheapest jury that is fit for ranking")
    if jury is None:
        yield Note(
            f"No {JURORS} of the judges that have sat are fit for ranking by the median of their marks.",
            "",
        )
        return
    yield Note(
        (
            Prose(" + ".join(jury.members)),
            f": {paid(jury.cost)} a verdict, by the median of their marks.",
        ),
        "bold",
    )


# ---------------------------------------------------------------- figures as text


def _changed(repeats: Repeats | None) -> str:
    return share_text(repeats.moved if repeats else None)


def _cost(dollars: float | None) -> str:
    return "price not known" if dollars is None else paid(dollars)


def _fit(fitness: Fitness) -> Text:
    return Strong(fitness.fit) if fitness.fit == "ranking" else fitness.fit


# ---------------------------------------------------------------- for programs


def exams_json(results: Sequence[Examined], searched: bool, jury: ExamJury | None) -> str:
    """All of it. Shares in [0, 1], errors in points of 0-10, money in dollars, and what is not
    known null.
    """
    shown: dict[str, Any] = {
        "judges": [
            {"judge": result.paper.judge, "answers": len(result.paper.answers)}
            | fields_of(result.result)
            for result in results
        ],
        "differences": [
            {
                "first": result.paper.judge,
                "second": other.paper.judge,
                "rubrics": judge_differences(result.paper.answers, other.paper.answers),
            }
            for result, other in combinations(results, 2)
        ],
    }
    if searched:
        jury_values = jury and {
            "members": jury.members,
            "cost_a_verdict": jury.cost,
            "fitness": jury.result.fitness,
        }
        shown["cheapest_jury"] = jury_values
    return json_text(shown)
