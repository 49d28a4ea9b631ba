"""`aib exam` as a function: how judges score conversations whose correct scores are known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from independence_bench.analysis.exam.answers import read_exam_papers
from independence_bench.analysis.exam.result import make_jury_paper
from independence_bench.api.answers import Answer
from independence_bench.api.commands import (
    Tell,
    Work,
    check_judge_names_and_keys,
    learn_secrets_and_make_permissions,
    run_judges_in_turn,
)
from independence_bench.engine.ask import Asker
from independence_bench.engine.ask_judges import preview_exam, take_exam
from independence_bench.engine.preview import Forecast, Preview
from independence_bench.engine.run import Report, Run
from independence_bench.errors import EndpointUnusable, WrongUse
from independence_bench.judging.exam.questions import load_exam_protocol, load_questions
from independence_bench.lookup import find_by_label, normalize_names, split_list, suggest_names
from independence_bench.report.exam_view import GradedPaper, format_exams_json, grade_paper
from independence_bench.store.database import Store, find_default_store, open_store


@dataclass(frozen=True, slots=True)
class ExamResults(Answer):
    """The results of judges in the exam. `rows` has a row for each rubric of each judge."""

    results: tuple[GradedPaper, ...]
    complete: bool = True  # every judge that was asked has answered every question

    def json(self) -> str:
        """Return what `aib exam --json` prints."""
        return format_exams_json(self.results)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each rubric, judge by judge."""
        return [
            {"judge": judge["judge"]} | rubric
            for judge in self.values()["judges"]
            for rubric in judge["rubrics"]
        ]


def exam(
    judges: str | Sequence[str] = (),
    *,
    rubrics: str | Sequence[str] = (),
    juries: Sequence[str] = (),
    store: str | Path | None = None,
    trust: str | Sequence[str] = (),
    tell: Tell | None = None,
    **settings: Any,
) -> ExamResults:
    """Have *judges* answer the exam questions that they have not answered yet, and return their
    results, as `aib exam` does. Without *judges* no model is asked, and the results of all judges
    in the store are returned.

    *rubrics*: only these; by default all. *juries*: several judges taken together, such as "a,b,c".
    *settings*, *trust*, *tell* and the errors are those of `run`.
    """
    asked, chosen = normalize_names(judges), choose_rubrics(normalize_names(rubrics))
    panels = split_juries(juries)
    wanted = replace(make_exam_run_without_judge(chosen), **settings)
    wanted.check_settings()
    wanted, work = replace(wanted, allow=learn_secrets_and_make_permissions(trust)), Work(tell)
    with open_store(
        str(store or find_default_store()), command_line="independence_bench.exam"
    ) as opened:
        complete, sat = True, set[str]()
        if asked:
            work.run_work(check_judge_names_and_keys(wanted, asked, opened))
            say = tell or (lambda _line: None)
            sitting = take_exams(wanted, asked, chosen, opened, work.remember_asker, say, sat)
            complete = work.run_work(sitting)
        return read_exam_results(opened, chosen, panels, sat if asked else None, complete)


def choose_rubrics(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the exam's question files among *names*, in the exam's order; all if
    *names* is empty. Raises WrongUse for an unknown name.
    """
    for name in names:
        if name not in load_questions():
            raise WrongUse(
                f"--rubric: no rubric is called {name}; "
                f"{suggest_names(name, load_questions(), 'there are')}"
            )
    return tuple(name for name in load_questions() if not names or name in names)


def split_juries(juries: Sequence[str]) -> list[list[str]]:
    """Return the judges' names in each of *juries*, which are texts such as "a,b,c". Raises
    WrongUse if a jury has fewer than two judges.
    """
    panels = [split_list(jury) for jury in juries]
    if any(len(set(names)) < 2 for names in panels):
        raise WrongUse(
            "--jury: name two judges or more, with commas; `aib exam` lists those with results"
        )
    return panels


def make_exam_run_without_judge(rubrics: Sequence[str]) -> Run:
    """Return the run in which a judge answers the exam questions of *rubrics*; which judge is not
    set yet.
    """
    return Run(
        protocol=(load_exam_protocol(load_questions()[rubrics[0]].protocol), {}), judge_only=True
    )


async def sum_exam_previews(
    wanted: Run,
    judges: Sequence[str],
    rubrics: Sequence[str],
    store: Store,
    show: Callable[[str, Preview], object],
) -> Preview:
    """Return one preview with the summed forecast of the exams of all *judges*. If there are
    several, *show* is called with each judge's name and own preview. A judge whose endpoint cannot
    be used is left out; raises EndpointUnusable if none is left.
    """
    previews = []
    for name in judges:
        try:
            preview = await preview_exam(replace(wanted, judge=name), rubrics, store)
        except EndpointUnusable:
            if len(judges) == 1:
                raise
            continue
        previews.append(preview)
        if len(judges) > 1:
            show(name, preview)
    if not previews:
        raise EndpointUnusable("none of these judges can be called")
    remarks = tuple(dict.fromkeys(remark for preview in previews for remark in preview.remarks))
    forecast = sum((preview.forecast for preview in previews), Forecast())
    # which this one makes
    return replace(previews[0], forecast=forecast, remarks=remarks, exam=None)


async def take_exams(
    wanted: Run,
    judges: Sequence[str],
    rubrics: Sequence[str],
    store: Store,
    watch: Callable[[Asker], Awaitable[None]],
    say: Callable[[str], object],
    asked_judge_hashes: set[str],
    on_report: Callable[[Report], object] = lambda _report: None,
) -> bool:
    """Ask *judges*, one after the other, the exam questions that they have not answered yet.
    Returns whether all were answered.

    *watch* runs beside each judge, *say* gets each line for the user, *on_report* the report of
    each judge. The hashes of the judges that were asked are added to *asked_judge_hashes*.
    """

    async def take_exam_and_record(of_judge: Run) -> Report:
        outcome = await take_exam(of_judge, rubrics, store, watch)
        asked_judge_hashes.update(outcome.hashes)
        on_report(outcome.report)
        return outcome.report

    return await run_judges_in_turn(wanted, judges, take_exam_and_record, say)


def read_exam_results(
    store: Store,
    rubrics: Sequence[str],
    juries: Sequence[Sequence[str]],
    judge_hashes: Set[str] | None,
    complete: bool,
) -> ExamResults:
    """Return the stored exam results, in *rubrics*, of the judges whose hashes are in
    *judge_hashes* (None: of all judges), then those of *juries*. *complete* is handed on: whether
    every question that was just asked has an answer.
    """
    with store.open_snapshot() as connection:
        papers = read_exam_papers(connection, rubrics)
    shown = [paper for paper in papers if judge_hashes is None or judge_hashes & paper.hashes]
    named = {place: paper.judge for place, paper in enumerate(papers)}
    for names in juries:
        members = [
            papers[find_by_label(named, name, "judge", "these have results:")] for name in names
        ]
        shown += [*(member for member in members if member not in shown), make_jury_paper(members)]
    graded = tuple(one for paper in shown if (one := grade_paper(paper)) is not None)
    return ExamResults(graded, complete)
