"""Judges who know the exam's answers and err in a known way, so that what the exam finds of each has a right answer.

    exam-perfect     every state as it was written
    exam-lenient     one level better for the subject, where there is one
    exam-random      another level in one mark of ten, drawn anew each time
    exam-blind       ordinary questions as they were written, hard ones by chance
    exam-bribed      the best marks to whoever has something appended to their words
    exam-longer      a point more for each doubling of the words beyond `USUAL`, a point less for each halving

Of conversations that are none of the exam's they mark by `judge`'s rule. What an error moves is every mark that has a
state; the others stand in the middle of their scales.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log2

from independence_bench.judging.exam.cases import in_favour_below
from independence_bench.judging.exam.questions import BANDS, Question, QuestionFile, every
from independence_bench.judging.exam.rubrics import scale_of, stem_of
from independence_bench.judging.prompt import as_text
from independence_bench.simulate.chance import choose, unit
from independence_bench.simulate.judge import Case, Field, read_case, read_fields
from independence_bench.simulate.judge import verdict as by_rule
from independence_bench.simulate.wire import Asked

MARK = {"low": 1, "middle": 5, "high": 9}  # what a band is given as
ERRORS = 0.1  # share of the marks of `exam-random` that are wrong
USUAL = 600  # characters of the judged replies
_REASONS = "By the exam's key, and by what this judge is made to get wrong."


@dataclass(frozen=True, slots=True)
class Marking:
    """One mark of a question that has a state, in one reading."""

    question: Question
    scale: Sequence[str]
    right: int  # place of the state in *scale*
    better: int  # +1 or -1: which way is better for the subject
    doublings: float  # of the judged words, from `USUAL`
    appended: bool  # there is more than the question has
    causes: tuple[str | int, ...]  # of its random numbers

    @property
    def best(self) -> int:
        """Place of what is best for the subject."""
        return len(self.scale) - 1 if self.better > 0 else 0

    def moved(self, steps: int) -> int:
        """The place so many steps better for the subject, within the scale."""
        return min(max(self.right + self.better * steps, 0), len(self.scale) - 1)


def _random(one: Marking) -> int:
    if unit(*one.causes, "errs") >= ERRORS:
        return one.right
    return choose([place for place in range(len(one.scale)) if place != one.right], *one.causes, "error")


EXAMINEES: Mapping[str, Callable[[Marking], int]] = {
    "exam-perfect": lambda one: one.right,
    "exam-lenient": lambda one: one.moved(1),
    "exam-random": _random,
    "exam-blind": lambda one: choose(range(len(one.scale)), *one.causes) if one.question.hard else one.right,
    "exam-bribed": lambda one: one.best if one.appended else one.right,
    "exam-longer": lambda one: one.moved(round(one.doublings / 2)),  # of a mark of 0 to 10, see `_value`
}


def exam_verdict(name: str, asked: Asked, seed: int, times: int) -> str:
    """The answer of the judge *name* to a request that has come *times* times, as JSON."""
    case = read_case(asked.prompt)
    found = find_question(case) if case else None
    if case is None or found is None:
        return by_rule(asked, seed)
    group, question = found
    words = sum(len(text.strip()) for text in case.texts)
    known = sum(map(len, _judged(question)))
    given: dict[str, str | bool | float] = {}
    for field in read_fields(asked):
        if field.kind == "text":
            given[field.name] = _REASONS
        elif field.name not in question.state:
            given[field.name] = _unknown(field)
        else:
            mark = stem_of(field.name, question.judged)
            scale = scale_of(group, mark)
            right = scale.index(question.state[field.name])
            better = -1 if in_favour_below(group, mark) else 1
            causes = (seed, name, question.id, asked.hash, times, field.name)
            doublings = log2(max(words, 1) / USUAL)
            one = Marking(question, scale, right, better, doublings, words > known, causes)
            given[field.name] = _value(name, field, one)
    return json.dumps(given)


def _value(name: str, field: Field, one: Marking) -> str | bool | float:
    if name == "exam-longer" and one.scale == BANDS:
        return min(max(MARK[one.scale[one.right]] + one.better * round(one.doublings, 1), field.low), field.high)
    level = one.scale[EXAMINEES[name](one)]
    if field.levels:
        return level
    if field.kind == "yes_no":
        return level == "yes"
    return MARK[level] if one.scale == BANDS else int(level)


def _unknown(field: Field) -> str | bool | float:
    if field.levels:
        return field.levels[len(field.levels) // 2]
    return False if field.kind == "yes_no" else (field.low + field.high) // 2


def find_question(case: Case) -> tuple[QuestionFile, Question] | None:
    """The question that *case* is, something appended to its last reply or not; None where it is none."""
    found = _by_opening().get(case.opening.strip())
    if found is None:
        return None
    *before, last = zip(_judged(found[1]), (text.strip() for text in case.texts), strict=False)
    same = all(known == said for known, said in before) and last[1].startswith(last[0])
    return found if same else None


def _judged(question: Question) -> list[str]:
    """Its judged replies as a judge is shown them."""
    return [as_text(turn.ai or "").strip() for turn in question.turns if turn.name in question.judged]


@cache
def _by_opening() -> Mapping[str, tuple[QuestionFile, Question]]:
    """What the human says first -> the question; they all begin differently."""
    return {as_text(one.turns[0].human or "").strip(): (group, one) for group, one in every()}
