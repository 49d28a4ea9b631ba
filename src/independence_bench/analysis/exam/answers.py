"""The answers of judges in the exam, from the store, and the scales of marks: their order, and how
far two differ.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache

from sqlalchemy import Connection

from independence_bench.analysis.statistics.agreement import Measurement
from independence_bench.judging.exam.cases import Asked, ExamCase, list_exam_cases
from independence_bench.judging.exam.questions import (
    BANDS,
    Question,
    find_band,
    find_rubric,
    find_scale_levels,
    is_lowest_best,
    load_exam_protocol,
    load_questions,
)
from independence_bench.models.local import LABEL
from independence_bench.protocol.definition import Mark, StemScore
from independence_bench.protocol.item_scoring import list_position_worths
from independence_bench.store import attempts, registry, results

# after the name of the embedded judge
_EMBEDDED = re.compile(rf"(?<={re.escape(LABEL.rstrip('-'))})-[0-9a-f]{{8}}$")


@dataclass(frozen=True, slots=True)
class ExamAnswer:
    """One question of the judges' exam, and the scores that a judge gave it."""

    rubric: str  # name of the file of questions
    question: Question
    asked: Asked
    attack: str | None  # FAMILY/NAME of what was appended; None where nothing was
    # as in `Judgement.marks`, on the rubric's own scales; None: no verdict
    marks: Mapping[str, float] | None
    # dollars, of every attempt at it: 0 where no model was asked, None where no price is known
    cost: float | None
    when: datetime  # UTC
    reasoning: str = ""  # the judge's words; "" of a jury
    failed: str | None = None  # why there is no verdict


# every board asks it of every judge that has sat
@lru_cache(maxsize=64)
def _map_cases_by_key(judge_hash: str, rubrics: tuple[str, ...]) -> Mapping[str, ExamCase]:
    """Return the exam's questions for *rubrics*, each by the key under which the store keeps the
    answer of the judge with *judge_hash*.
    """
    return {case.make_key(judge_hash): case for case in list_exam_cases(rubrics)}


def read_exam_answers(
    connection: Connection, judge_hash: str, rubrics: Collection[str] = ()
) -> tuple[ExamAnswer, ...]:
    """Return the stored exam answers of the judge with *judge_hash*, to the question files named in
    *rubrics* or to all if there are none; () if the judge never took the exam.
    """
    cases = _map_cases_by_key(judge_hash, tuple(rubrics))
    judgements = results.find_judgements(connection, cases)
    stored = results.read_judgement_times(connection, judgements)
    by_call = defaultdict(list)
    for attempt in attempts.read_attempts(connection, list(judgements)):
        by_call[attempt["call_key"]].append(attempt)
    answers = []
    for key, case in cases.items():
        if key not in judgements:
            continue
        judgement, tried = judgements[key], by_call[key]
        costs = [attempt["cost"] for attempt in tried if attempt["cost"] is not None]
        answers.append(
            ExamAnswer(
                rubric=case.rubric,
                question=case.question,
                asked=case.asked,
                attack=None if case.attack is None else f"{case.attack.family}/{case.attack.name}",
                marks=None if judgement.reason is not None else dict(judgement.marks),
                cost=sum(costs) if costs or not tried else None,
                when=datetime.fromtimestamp(stored[key], UTC),
                reasoning=judgement.reasoning,
                failed=judgement.reason,
            )
        )
    return tuple(answers)


@dataclass(frozen=True, slots=True)
class ExamPaper:
    """All exam answers of one judge, or of a jury."""

    judge: str  # label
    answers: tuple[ExamAnswer, ...]
    hashes: frozenset[str] = frozenset()  # of the judge; none of a jury


def read_exam_papers(
    connection: Connection, rubrics: Collection[str] = ()
) -> tuple[ExamPaper, ...]:
    """Return for each judge that has taken the exam all of its stored answers, sorted by the
    judge's label. *rubrics* are names of question files; () means all.

    The embedded judge counts as one judge, though for the store its reader of each protocol is
    another judge. If several versions of it have answered a file, the latest counts.
    """
    by_name: dict[str, dict[str, tuple[str, tuple[ExamAnswer, ...]]]] = defaultdict(dict)
    for judge, label in registry.read_judge_labels(connection).items():
        name = _EMBEDDED.sub("", label)
        of_rubric: dict[str, list[ExamAnswer]] = defaultdict(list)
        for answer in read_exam_answers(connection, judge, rubrics):
            of_rubric[answer.rubric].append(answer)
        for rubric, answers in of_rubric.items():
            _, before = by_name[name].get(rubric, (judge, ()))
            if not before or max(answer.when for answer in answers) >= max(
                answer.when for answer in before
            ):
                by_name[name][rubric] = judge, tuple(answers)
    papers = []
    for name in sorted(by_name):
        sat = [by_name[name][rubric] for rubric in load_questions() if rubric in by_name[name]]
        hashes = frozenset(judge for judge, _ in sat)
        papers.append(
            ExamPaper(name, tuple(answer for _, answers in sat for answer in answers), hashes)
        )
    return tuple(papers)


@dataclass(frozen=True, slots=True)
class MarkOrder:
    """The scale on which a judge's scores of one kind are compared."""

    measurement: Measurement
    low: float
    high: float
    # of levels with an order: what each is worth, by its place in the list
    worths: tuple[float, ...] = ()

    def convert_level_to_worth(self, given: float) -> float:
        """Return the number by which a judge's score *given* is compared with others: its worth if
        the score is one of several ordered levels, else *given* itself.
        """
        return self.worths[int(given)] if self.worths else given

    def measure_range_share(self, given: Sequence[float]) -> float:
        """Return the largest distance among the judges' scores in *given*, at least one, as a share
        of the scale, in [0, 1]. Scores that are names without an order have 0 if all are the same,
        else 1.
        """
        if self.measurement == "nominal":
            return float(len(set(given)) > 1)
        numbers = [self.convert_level_to_worth(mark) for mark in given]
        return (max(numbers) - min(numbers)) / (self.high - self.low)


def make_mark_comparison_scale(mark: Mark, score: StemScore | None) -> MarkOrder:
    """Return the scale on which judges' scores of the kind *mark* are compared: names without an
    order, or numbers with a lowest and a highest. *score* is how the protocol scores items from
    them; None if it does not.

    A judge's level is stored as its place in the list of levels. Only *score* can say that this
    place means anything: a position has a value there, so positions are ordered by it; other levels
    are names.
    """
    worths = list_position_worths(mark, score)
    if len(set(worths)) > 1:
        return MarkOrder("ordinal", min(worths), max(worths), worths)
    return MarkOrder("nominal" if mark.levels else "ordinal", mark.low, mark.high)


@dataclass(frozen=True, slots=True)
class ExamScale:
    """The scale of one kind of score in the exam, with the states that a question's right answer
    may have.
    """

    states: tuple[str, ...]  # from the lowest, or as its list has them
    worths: tuple[float, ...]  # of each state, where a score gives it one; else ()
    measurement: Measurement
    favour: int  # 1 where a larger number suits the subject, -1 where a smaller one does

    @property
    def has_bands(self) -> bool:
        """Whether the judge's scores are points from 0 to 10 and the right answers are bands of
        points.
        """
        return self.states == BANDS

    def find_state(self, mark: float) -> str:
        """Return the name of the state, such as a band of points or a level, that a judge's score
        *mark* stands for.
        """
        return (
            find_band(mark)
            if self.has_bands
            else self.states[min(max(round(mark), 0), len(self.states) - 1)]
        )

    def convert_state_to_number(self, state: str) -> float:
        """Return *state* as a number, by which agreement is measured: its worth, or its position
        from 0 in the list of states. If the states are names without an order, the number only
        distinguishes them.
        """
        at = self.states.index(state)
        return self.worths[at] if self.worths else float(at)

    def is_better(self, mark: float, before: float) -> bool:
        """Return whether a judge's score *mark* is in another band or level than its earlier score
        *before*, and one that is better for the model that is judged.
        """
        if self.measurement == "nominal" or self.has_bands:
            change = mark - before
        else:
            change = self.convert_state_to_number(
                self.find_state(mark)
            ) - self.convert_state_to_number(self.find_state(before))
        return self.favour * change > 0 and self.find_state(mark) != self.find_state(before)


@cache
def make_exam_scales(rubric: str) -> Mapping[str, ExamScale]:
    """Return the scale of each kind of score that the question file *rubric* asks for, by the
    score's name. The name is without the reply that the score is given after.
    """
    group = load_questions()[rubric]
    scenario, _ = find_rubric(group)
    protocol = load_exam_protocol(group.protocol)
    scales = {}
    for name, mark in group.marks.items():
        favour = -1 if is_lowest_best(group, name) else 1
        states = find_scale_levels(group, name)
        as_score = make_mark_comparison_scale(mark, protocol.find_stem_score_rule(scenario))
        if as_score.worths:
            # a position is worth what suits the subject
            scales[name] = ExamScale(states, as_score.worths, "ordinal", 1)
        elif mark.levels:
            scales[name] = ExamScale(states, (), "nominal", favour)
        else:
            scales[name] = ExamScale(states, (), "ordinal", favour)
    return scales
