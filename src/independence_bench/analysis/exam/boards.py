"""What the exam says of the judges of one protocol's boards, from the store. Formats nothing.

    judges = examined_judges(connection, protocol)
    judges.exam_of([judge_hash]).standing        # None: it has not sat what the protocol is marked by

A store in which no judge has sat anything costs one query.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from independence_bench.analysis.exam.answers import ExamAnswer, exam_answers
from independence_bench.analysis.exam.result import ExamStanding, exam_standing, jury_answers, rubrics_of
from independence_bench.judging.judge import Judge
from independence_bench.protocol.definition import Protocol
from independence_bench.store import registry, results


@dataclass(frozen=True, slots=True)
class BoardExam:
    """What is known of the judge, or the jury, whose marks a board shows."""

    standing: ExamStanding | None  # None: not sat, or of a jury not by all of its members
    lacking: tuple[str, ...] = ()  # labels of those who have not sat
    typed: tuple[str, ...] = ()  # what has them sit, after `aib exam -j`; without those that no name leads to
    no_questions: bool = False  # the exam is known to have none for what the protocol's marks are
    jury: bool = False


@dataclass(frozen=True, slots=True)
class ExaminedJudges:
    """All that have sat, of one protocol."""

    protocol: Protocol
    labels: Mapping[str, str]  # of the store's judges, by hash
    names: Mapping[str, str]  # what is typed to have a judge asked, by hash
    people: frozenset[str]  # hashes of judges that cannot be examined
    answers: Mapping[str, tuple[ExamAnswer, ...]]  # by hash, of those that sat; to the protocol's rubrics
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
        return BoardExam(
            standing=exam_standing(together, self.protocol) if together else None,
            lacking=tuple(self.labels.get(judge, judge[:8]) for judge in lacking),
            typed=tuple(dict.fromkeys(self.names[judge] for judge in lacking if judge in self.names)),
            no_questions=self.no_questions,
            jury=len(judges) > 1,
        )


def examined_judges(connection: Connection, protocol: Protocol, also: Judge | None = None) -> ExaminedJudges:
    """Who has sat the exam in what *protocol*'s conversations are marked by. *also*: a judge that may be new."""
    aside = results.judges_aside(connection)
    # the questions are read only where a judge may have answered some
    wanted = rubrics_of(protocol) if aside else ()
    answers = {judge: exam_answers(connection, judge, wanted) for judge in sorted(aside)} if wanted else {}
    labels, names = registry.stored_judges(connection), registry.judges_to_ask(connection)
    if also is not None and also.hash not in labels:
        labels[also.hash] = also.label
        if (name := registry.judge_to_ask(json.loads(also.spec))) is not None:
            names[also.hash] = name
    return ExaminedJudges(
        protocol=protocol,
        labels=labels,
        names=names,
        people=registry.people_judging(connection),
        answers={judge: given for judge, given in answers.items() if given},
        no_questions=bool(aside) and not wanted,
    )
