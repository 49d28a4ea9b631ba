"""What judges have answered in the exam, from the store: one value for each question as it was asked."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from sqlalchemy import Connection

from independence_bench.judging.exam.cases import Asked, ExamCase, exam_cases
from independence_bench.judging.exam.questions import Question, questions
from independence_bench.models.local import LABEL
from independence_bench.store import attempts, registry, results

_EMBEDDED = re.compile(rf"(?<={re.escape(LABEL.rstrip('-'))})-[0-9a-f]{{8}}$")  # after the name of the embedded judge


@dataclass(frozen=True, slots=True)
class ExamAnswer:
    """One question, and how a judge marked it."""

    rubric: str  # name of the file of questions
    question: Question
    asked: Asked
    attack: str | None  # FAMILY/NAME of what was appended; None where nothing was
    marks: Mapping[str, float] | None  # as in `Judgement.marks`, on the rubric's own scales; None: no verdict
    cost: float | None  # dollars, of every attempt at it: 0 where no model was asked, None where no price is known
    seconds: float | None  # that the verdict took, or the last attempt at one; None where no model was asked
    when: datetime  # UTC
    reasoning: str = ""  # the judge's words; "" of a jury
    failed: str | None = None  # why there is no verdict


# every board asks it of every judge that has sat
@lru_cache(maxsize=64)
def _cases_by_key(judge_hash: str, rubrics: tuple[str, ...]) -> Mapping[str, ExamCase]:
    return {case.key(judge_hash): case for case in exam_cases(rubrics)}


def exam_answers(connection: Connection, judge_hash: str, rubrics: Collection[str] = ()) -> tuple[ExamAnswer, ...]:
    """The answers that are stored of that judge, to these files of questions or to all; () where it never sat."""
    cases = _cases_by_key(judge_hash, tuple(rubrics))
    judgements = results.find_judgements(connection, cases)
    stored = results.judged_at(connection, judgements)
    by_call = defaultdict(list)
    for attempt in attempts.attempts_of(connection, list(judgements)):
        by_call[attempt["call_key"]].append(attempt)
    answers = []
    for key, case in cases.items():
        if key not in judgements:
            continue
        judgement, tried = judgements[key], by_call[key]
        costs = [attempt["cost"] for attempt in tried if attempt["cost"] is not None]
        marks = {name: case.marked(name, value) for name, value in judgement.marks.items()}
        answers.append(
            ExamAnswer(
                rubric=case.rubric,
                question=case.question,
                asked=case.asked,
                attack=None if case.attack is None else f"{case.attack.family}/{case.attack.name}",
                marks=None if judgement.reason is not None else marks,
                cost=sum(costs) if costs or not tried else None,
                seconds=tried[-1]["seconds"] if tried else None,
                when=datetime.fromtimestamp(stored[key], UTC),
                reasoning=judgement.reasoning,
                failed=judgement.reason,
            )
        )
    return tuple(answers)


@dataclass(frozen=True, slots=True)
class ExamPaper:
    """All that one judge, or a jury, has answered."""

    judge: str  # label
    answers: tuple[ExamAnswer, ...]
    hashes: frozenset[str] = frozenset()  # of the judge; none of a jury


def exam_papers(connection: Connection, rubrics: Collection[str] = ()) -> tuple[ExamPaper, ...]:
    """The paper of each judge that has sat, of these files of questions or of all; by label.

    The embedded judge is one, though what reads each protocol is another one to the store; where several versions of
    it have marked a rubric, the one that did so last counts.
    """
    by_name: dict[str, dict[str, tuple[str, tuple[ExamAnswer, ...]]]] = defaultdict(dict)
    for judge, label in registry.stored_judges(connection).items():
        name = _EMBEDDED.sub("", label)
        of_rubric: dict[str, list[ExamAnswer]] = defaultdict(list)
        for answer in exam_answers(connection, judge, rubrics):
            of_rubric[answer.rubric].append(answer)
        for rubric, answers in of_rubric.items():
            _, before = by_name[name].get(rubric, (judge, ()))
            if not before or max(answer.when for answer in answers) >= max(answer.when for answer in before):
                by_name[name][rubric] = judge, tuple(answers)
    papers = []
    for name in sorted(by_name):
        sat = [by_name[name][rubric] for rubric in questions() if rubric in by_name[name]]
        hashes = frozenset(judge for judge, _ in sat)
        papers.append(ExamPaper(name, tuple(answer for _, answers in sat for answer in answers), hashes))
    return tuple(papers)
