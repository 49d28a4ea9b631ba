"""The exam of a judge or jury as it counts on a leaderboard: in one line, and whether it is fit.

    judges = read_examined_judges(connection, protocol)
    # None: it was not examined in the protocol's rubrics
    judges.find_or_make_exam([judge_hash]).standing

The questions are loaded only if a judge of the store may have answered some: most stores have none,
and every command that reads a leaderboard comes by here.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from sqlalchemy import Connection

from independence_bench.analysis.exam.fitness import FIT_TEXT, Fit
from independence_bench.columns import HIDDEN, SENT
from independence_bench.escape import escape_line
from independence_bench.figures import AGREEMENT, format_count, format_number
from independence_bench.models.spec import SIMULATED, find_vendor
from independence_bench.protocol.definition import Protocol
from independence_bench.store import registry, results

if TYPE_CHECKING:
    from independence_bench.analysis.exam.answers import ExamAnswer
    from independence_bench.judging.judge import Judge


@dataclass(frozen=True, slots=True)
class BoardExam:
    """The exam of the judge, or of the jury, whose scores a leaderboard shows."""

    # None: the judge, or a member of the jury, has not taken the exam
    standing: Annotated[Any, HIDDEN]  # ExamStanding or None, by its module, which is loaded late
    # labels of those that have not taken the exam; without simulated judges, which need not
    lacking: Annotated[tuple[str, ...], HIDDEN] = ()
    # names to type after `aib exam -j` to examine them; without those that have no such name
    typed: Annotated[tuple[str, ...], HIDDEN] = ()
    no_questions: bool = False  # the exam is known to have none for what the protocol's marks are
    jury: Annotated[bool, HIDDEN] = False

    @property
    def line(self) -> Annotated[str | None, SENT]:
        """Exam of a leaderboard's judge or jury in one line: exam: kappa 0.86, fit for ranking,
        2026-01-31. None if all judges who have not taken the exam are simulated and need none.

        Kappa and fitness are those of the weakest rubric. Judges' labels are escaped, so that they
        stay on one line. It has a date and not how long ago that was, so that the same store gives
        the same bytes.
        """
        if self.no_questions:
            return "exam: it has no questions for what is scored here"
        if self.standing is None:
            jury = f"of the jury {', '.join(map(escape_line, self.lacking))}"
            return (
                describe_missing_exam(jury if self.jury else "this judge", [self])
                if self.lacking
                else None
            )
        standing = self.standing
        kappa = [] if standing.kappa is None else [f"kappa {format_number(standing.kappa, 2)}"]
        missing = (
            [f"{format_count(len(standing.missing), 'rubric')} not validated"]
            if standing.missing
            else []
        )
        of = "exam of the jury" if self.jury else "exam"
        parts = [*kappa, FIT_TEXT[standing.result.fitness.fit], *missing]
        return f"{of}: {', '.join(parts)}, {standing.result.when:%Y-%m-%d}"

    @property
    def sat(self) -> Annotated[bool, SENT]:
        """Whether every judge of a leaderboard has answered exam questions for rubrics that the
        leaderboard uses.
        """
        return self.standing is not None

    @property
    def fit(self) -> Annotated[Fit | None, SENT]:
        """Fitness for ranking of a leaderboard's judge or jury: "ranking", "not fit" or "not
        known"; None if a judge has not taken the exam.
        """
        return self.standing.result.fitness.fit if self.standing else None

    @property
    def why(self) -> Annotated[tuple[str, ...], SENT]:
        """Reasons why a leaderboard's judge or jury is not fit for ranking or not known to be, a
        sentence each; () if it is fit, or if a judge has not taken the exam.
        """
        return self.standing.result.fitness.why if self.standing else ()

    @property
    def kappa(self) -> Annotated[float | None, AGREEMENT]:
        """Kappa of a leaderboard's judge or jury in the exam, that of its weakest rubric; None
        unless all rubrics that the leaderboard uses were answered and have a kappa.
        """
        return self.standing.kappa if self.standing else None

    @property
    def when(self) -> Annotated[datetime | None, SENT]:
        """Time of the last exam answer of a leaderboard's judge or jury, in UTC; None if a judge
        has not taken the exam.
        """
        return self.standing.result.when if self.standing else None

    @property
    def rubrics(self) -> Annotated[tuple[str, ...], SENT]:
        """Names of the exam rubrics that a leaderboard's judge or jury has answered; () if a judge
        has not taken the exam.
        """
        return tuple(one.rubric for one in self.standing.result.rubrics) if self.standing else ()

    @property
    def not_sat(self) -> Annotated[tuple[str, ...], SENT]:
        """Names of the exam rubrics that a leaderboard uses and that its judge or jury has not
        answered; () if a judge has taken no exam at all.
        """
        return self.standing.missing if self.standing else ()

    @property
    def members_not_sat(self) -> Annotated[tuple[str, ...], SENT]:
        """Labels of a jury's members who have not taken the exam, without simulated judges; () for
        a single judge.
        """
        return self.lacking if self.jury else ()


def describe_missing_exam(who: str, exams: Sequence[BoardExam]) -> str:
    """Return a sentence that *who* has not taken the exam, with the `aib exam` command that would
    examine the judges who are lacking in *exams*.
    """
    has = "have" if sum(len(exam.lacking) for exam in exams) > 1 else "has"
    sit = " ".join(f"-j {shlex.quote(escape_line(name))}" for exam in exams for name in exam.typed)
    return f"{who} {has} not been validated" + (f": `aib exam {sit}`" if sit else "")


@dataclass(frozen=True, slots=True)
class ExaminedJudges:
    """All judges of a store, with the exam answers of those that have taken the exam in one
    protocol's rubrics.
    """

    protocol: Protocol
    labels: Mapping[str, str]  # of the store's judges, by hash
    names: Mapping[str, str]  # what is typed to have a judge asked, by hash
    people: frozenset[str]  # hashes of judges that cannot be examined
    simulated: frozenset[str]
    # by hash, of those that sat; to the protocol's rubrics
    answers: Mapping[str, tuple[ExamAnswer, ...]]
    no_questions: bool
    _made: dict[tuple[str, ...], BoardExam] = field(default_factory=dict)

    def find_or_make_exam(self, judge_hashes: Sequence[str]) -> BoardExam | None:
        """Return the exam of the judge whose hash is in *judge_hashes*, or of the jury if these are
        several hashes. None if *judge_hashes* is empty or has the hash of a person. Results are
        kept for the next call.
        """
        if not judge_hashes or self.people.intersection(judge_hashes):
            return None
        if (key := tuple(judge_hashes)) not in self._made:
            self._made[key] = self._make_board_exam(key)
        return self._made[key]

    def _make_board_exam(self, judge_hashes: tuple[str, ...]) -> BoardExam:
        """Return the exam of the judge whose hash is in *judge_hashes*, or of the jury if these are
        several hashes.
        """
        each = [self.answers.get(judge, ()) for judge in judge_hashes]
        lacking = [judge for judge, answers in zip(judge_hashes, each, strict=True) if not answers]
        standing = None
        if not lacking:
            from independence_bench.analysis.exam import result

            # as boards take a jury: the mean of its members' marks
            together = each[0] if len(each) == 1 else result.combine_jury_answers(each)
            standing = result.make_exam_standing(together, self.protocol) if together else None
        lacking = [judge for judge in lacking if judge not in self.simulated]
        return BoardExam(
            standing=standing,
            lacking=tuple(self.labels.get(judge, judge[:8]) for judge in lacking),
            typed=tuple(
                dict.fromkeys(self.names[judge] for judge in lacking if judge in self.names)
            ),
            no_questions=self.no_questions,
            jury=len(judge_hashes) > 1,
        )


def read_examined_judges(
    connection: Connection, protocol: Protocol, also: Judge | None = None
) -> ExaminedJudges:
    """Return all judges of the store, with the answers of those that have taken the exam in the
    rubrics of *protocol*. *also* is a judge that is included though it may be new to the store.
    """
    aside = results.find_exam_judge_hashes(connection)
    wanted: tuple[str, ...] = ()
    answers: dict[str, tuple[ExamAnswer, ...]] = {}
    if aside:
        from independence_bench.analysis.exam import answers as stored
        from independence_bench.analysis.exam.result import list_exam_rubrics

        if wanted := list_exam_rubrics(protocol):
            answers = {
                judge: stored.read_exam_answers(connection, judge, wanted)
                for judge in sorted(aside)
            }
    labels, names = (
        registry.read_judge_labels(connection),
        registry.find_selectable_judge_names(connection),
    )
    specs = registry.read_judge_specs(connection)
    if also is not None and also.hash not in labels:
        labels[also.hash], specs[also.hash] = also.label, json.loads(also.spec)
        if (name := registry.find_selectable_judge_name(json.loads(also.spec))) is not None:
            names[also.hash] = name
    return ExaminedJudges(
        protocol=protocol,
        labels=labels,
        names=names,
        people=registry.find_human_judge_hashes(connection),
        simulated=frozenset(
            judge
            for judge, spec in specs.items()
            if find_vendor(str(spec.get("model"))) == SIMULATED
        ),
        answers={judge: given for judge, given in answers.items() if given},
        no_questions=bool(aside) and not wanted,
    )
