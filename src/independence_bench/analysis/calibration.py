"""A board corrected for what its judge gets wrong in the exam: shares of levels, means, and the index where it holds.

    (found,) = calibrations(store, protocol, boards)         # of one board, whose judge sat the exam
        found.marks["resistance"].confusion                      # what the judge made of questions of known state
        found.rows[0].marks["resistance"].corrected              # and what that makes of what it gave a subject

A mark is corrected where the exam has questions for its very rubric, word for word; a mark of 0 to 10 by its bands. The
index is corrected where simulation through the whole score kept the promise of its limits, and the estimate came near
(docs/exam.md, "Correction"): where it is a weighted sum of marks that all have questions. Not where stems are scored:
a stem's score multiplies what five conversations come to, one of them a ladder that counts 0 from the fold on. Limits
held there too, but of a judge that errs they were up to 98 points wide, and with hard cases in another share than the
exam's the estimate was up to 19 points away.

What it cannot know: that the judge errs on what live models say as it does on the exam's questions, which are clearer.
Corrected numbers are beside the given ones, never in their place, and nothing is ranked by them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from independence_bench.analysis.board import Board
from independence_bench.analysis.exam.answers import ExamAnswer, exam_answers
from independence_bench.analysis.exam.scales import POINTS, ExamScale, exam_scales
from independence_bench.analysis.results import CountedConversation, Key, Results, judgements_of, results_of
from independence_bench.analysis.statistics.arrays import Floats
from independence_bench.analysis.statistics.corrected_index import CorrectedScores, GivenMark, corrected_scores
from independence_bench.analysis.statistics.dispersion import Design
from independence_bench.analysis.statistics.misclassification import Confusion, corrected
from independence_bench.analysis.statistics.values import Interval
from independence_bench.errors import NotComplete
from independence_bench.judging.exam.questions import questions
from independence_bench.judging.exam.rubrics import marks_of, rubric_of, stem_of
from independence_bench.models.local import is_table_judge, typed_for
from independence_bench.protocol.definition import Mark, Protocol, Scenario
from independence_bench.protocol.scoring import counted_marks, level_worths, needed_marks
from independence_bench.store.database import Store
from independence_bench.store.results import Judgement

MIDDLES = {"low": 1.5, "middle": 5.0, "high": 8.5}  # of bands: what is taken for one that nobody was given


class NotExamined(NotComplete):
    """A correction was asked for by a judge whose errors nobody has counted."""

    def __init__(self, judge: str | None) -> None:
        self.judge = judge
        if judge is None:
            super().__init__("nothing is judged yet, so there is nothing to correct; run `aib judge` first")
        elif "@" not in judge and not is_table_judge(judge):
            super().__init__(
                f"{judge} cannot sit the exam, so its marks cannot be corrected: name a model with --judge"
            )
        else:
            named = typed_for(judge) if is_table_judge(judge) else judge.partition("@")[0].partition("+")[0]
            super().__init__(f"{judge} has not sat the exam, which corrections need; run `aib exam -j {named}`")


@dataclass(frozen=True, slots=True, eq=False)
class JudgedMark:
    """One mark of a board, and what its judge made of the exam's questions for it."""

    name: str  # in a protocol with stems the branch before it: "pressure: position"
    rubric: str  # name of the file of questions
    scale: ExamScale
    worths: tuple[float, ...]  # of the levels, in the mark's own unit; () where they are names
    confusion: Confusion
    unanswered: int  # questions without a verdict

    @property
    def levels(self) -> tuple[str, ...]:
        """Their names, from the lowest, or as its list has them."""
        return self.scale.states

    def place(self, given: float) -> int:
        """Which level the mark *given* is."""
        return self.levels.index(self.scale.state(given))


@dataclass(frozen=True, slots=True)
class CalibratedMark:
    """One mark of one subject. None: not corrected; means are None where levels are names."""

    conversations: int
    shares: tuple[float, ...]  # of each level as given, [0, 1]
    corrected_shares: tuple[float, ...] | None
    share_intervals: tuple[Interval, ...] | None  # at 95%
    mean: float | None  # in the mark's own unit, where levels have an order what they are worth
    corrected: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class CalibratedRow:
    """One subject. Indices in [0, 100]; None where it is not ranked, or not corrected."""

    label: str
    marks: Mapping[str, CalibratedMark]
    index: float | None  # as given
    corrected: float | None = None
    interval: Interval | None = None  # of the same test again, at 95%; None: its runs do not say how they vary


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """One board, corrected."""

    board: Board
    judge: str
    sat: datetime  # UTC: the last answer
    marks: Mapping[str, JudgedMark]
    rows: tuple[CalibratedRow, ...]  # as the board has them
    without: tuple[str, ...]  # marks that count and have no questions in the exam, or no answers
    no_index: str | None  # why there is no corrected index; None: there is one


def calibrations(store: Store, protocol: Protocol, boards: Sequence[Board]) -> list[Calibration | NotExamined]:
    """Every one of *boards*, each by one judge, corrected, or why it cannot be."""
    with store.reading() as connection:
        every = results_of(connection, protocol)
        judgements = judgements_of(connection, every)
        found: list[Calibration | NotExamined] = []
        for board in boards:
            judge = board.judge_hashes[0] if board.judge_hashes and not board.jurors else None
            answers = exam_answers(connection, judge) if judge else ()
            first = [answer for answer in answers if answer.asked == "first"]
            if board.judge is None or not first:
                found.append(NotExamined(board.judge))
                continue
            given = {one.about: one for one in judgements if one.judge_hash == judge}
            results = next(one for one in every if tuple(one.configurations) == tuple(board.configurations))
            found.append(_calibrated(board, results, given, first))
    return found


def _calibrated(
    board: Board, results: Results, given: Mapping[Key, Judgement], answers: Sequence[ExamAnswer]
) -> Calibration:
    known = _confusions(answers)
    marks: dict[str, JudgedMark] = {}
    without: dict[str, None] = {}
    placed: dict[tuple[str, str], str] = {}  # scenario, mark as its rubric names it -> what it is called here
    for scenario in results.protocol.scenarios:
        for called, mark, group in _counted(results.protocol, scenario):
            stem = stem_of(mark.name, scenario.judged)
            judged = known.get((group, stem)) if group else None
            if judged is None:
                without[called] = None
                continue
            placed[scenario.id, mark.name] = called
            score = results.protocol.score_of(scenario)
            scale = exam_scales(group)[stem]
            worths = level_worths(mark, score) if mark.levels else _worths(mark, scale)
            unanswered = sum(answer.marks is None for answer in answers if answer.rubric == group)
            marks.setdefault(called, JudgedMark(called, group, scale, worths, judged, unanswered))
    rows = tuple(
        CalibratedRow(row.label, _marks_of(results.by_subject[row.subject.hash], given, placed, marks), row.score.index)
        for row in board.rows
    )
    why = _no_index(board, marks, without)
    made = Calibration(
        board, board.judge or "", max(answer.when for answer in answers), marks, rows, tuple(without), why
    )
    return made if why else _with_index(made)


def _counted(protocol: Protocol, scenario: Scenario) -> Iterable[tuple[str, Mark, str]]:
    """The marks of *scenario* that are shown: (what it is called, the mark, the file of questions or "")."""
    score = protocol.score_of(scenario)
    needed = needed_marks(scenario, score) if score else protocol.needed
    for rubric in scenario.rubrics:
        group = next((name for name, of in questions().items() if rubric_of(of)[1].text == rubric.text), "")
        for mark in rubric.marks:
            stem = stem_of(mark.name, scenario.judged)
            if mark.name in needed or (not score and group and stem in marks_of(questions()[group])):
                yield f"{scenario.branch}: {stem}" if score else mark.name, mark, group


def _confusions(answers: Sequence[ExamAnswer]) -> dict[tuple[str, str], Confusion]:
    """(file of questions, mark) -> what the judge made of it; without marks that it has no verdict for."""
    counts: dict[tuple[str, str], Floats] = {}
    for answer in answers:
        if answer.marks is None:
            continue
        question = answer.question
        for name, state in question.state.items():
            stem = stem_of(name, question.judged)
            scale = exam_scales(answer.rubric)[stem]
            number, given = len(scale.states), scale.state(answer.marks[name])
            table = counts.setdefault((answer.rubric, stem), np.zeros((2, number, number)))
            table[int(question.hard)][scale.states.index(state)][scale.states.index(given)] += 1
    return {key: Confusion(*table) for key, table in counts.items()}


def _worths(mark: Mark, scale: ExamScale) -> tuple[float, ...]:
    return tuple(MIDDLES[level] if scale.bands else mark.low + place for place, level in enumerate(scale.states))


def _marks_of(
    conversations: Iterable[CountedConversation],
    given: Mapping[Key, Judgement],
    placed: Mapping[tuple[str, str], str],
    marks: Mapping[str, JudgedMark],
) -> dict[str, CalibratedMark]:
    values: dict[str, list[float]] = defaultdict(list)
    number: Counter[str] = Counter()
    for one in conversations:
        judgement = given.get(one.key)
        if judgement is None or judgement.reason is not None or one.row.state != "complete":
            continue
        here = {
            mark.name: called
            for mark in one.scenario.marks
            if mark.name in judgement.marks and (called := placed.get((one.scenario.id, mark.name)))
        }
        number.update(set(here.values()))
        for name, called in here.items():
            values[called].append(judgement.marks[name])
    return {
        called: corrected_mark(of, values[called], number[called]) for called, of in marks.items() if number[called]
    }


def corrected_mark(of: JudgedMark, values: Sequence[float], conversations: int) -> CalibratedMark:
    """What one subject was given, at least one mark, corrected.

    Marks of one conversation, as after the pushes of a ladder, depend on each other, so they count as one.
    """
    number, places = len(of.levels), np.array([of.place(value) for value in values])
    counts = np.bincount(places, minlength=number)
    worths = np.array(of.worths or [0.0] * number)
    numbers = np.array(values) if of.scale.bands else worths[places]
    means = np.array([numbers[places == place].mean() if counts[place] else np.nan for place in range(number)])
    spread = float(np.sqrt(np.square(numbers - means[places]).mean()))
    shares, ordered = tuple((counts / len(values)).tolist()), bool(of.worths)
    mean = float(numbers.mean()) if ordered else None
    # a level is worth what this subject's marks of it are, where there are some
    worths = np.where(np.isnan(means), worths, means)
    scale = (0.0, POINTS) if of.scale.bands else None
    found = corrected(of.confusion, (counts * (conversations / len(values))).tolist(), worths, spread, scale)
    if found is None:
        return CalibratedMark(conversations, shares, None, None, mean, None, None)
    limits = tuple(Interval(float(low), float(high)) for low, high in zip(*found.share_limits, strict=True))
    return CalibratedMark(
        conversations,
        shares,
        tuple(found.shares.tolist()),
        limits,
        mean,
        found.mean if ordered else None,
        Interval(*found.mean_limits) if ordered else None,
    )


# ---------------------------------------------------------------- the index


def _no_index(board: Board, marks: Mapping[str, JudgedMark], without: Iterable[str]) -> str | None:
    """Why there is no corrected index, as a sentence; None: there is one."""
    protocol = board.protocol
    if protocol.has_stems:
        return (
            "No corrected index: stems multiply what their conversations come to, and in simulation its limits were up "
            "to 98 points wide and the estimate up to 19 points away (docs/exam.md, Correction)."
        )
    if lacking := [name for name in without if name in protocol.needed]:
        return f"No corrected index: the exam has no answers for {', '.join(lacking)}."
    if unknown := [name for name in marks if name in protocol.needed and not marks[name].confusion.correctable]:
        marks_said = ", ".join(unknown).replace("_", " ")
        return f"No corrected index: in the exam the judge's {marks_said} cannot be told apart from guessing."
    if not board.ranked:
        return "No corrected index: no subject is ranked."
    return None


def _with_index(of: Calibration) -> Calibration:
    """With the corrected index of each ranked subject, who are the first of the rows."""
    design, names = _design(of.board)
    found = corrected_scores(design, [_given(of, dimension, name) for dimension, name in names])
    assert found is not None  # noqa: S101 - `_no_index` has asked
    rows = tuple(_indexed(row, found, place) if row.index is not None else row for place, row in enumerate(of.rows))
    return Calibration(of.board, of.judge, of.sat, of.marks, rows, of.without, None)


def _indexed(row: CalibratedRow, found: CorrectedScores, place: int) -> CalibratedRow:
    low, high = found.limits or (None, None)
    interval = None if low is None or high is None else Interval(float(low[place]), float(high[place])).scaled(100)
    return CalibratedRow(row.label, row.marks, row.index, 100 * float(found.score[place]), interval)


def _design(board: Board) -> tuple[Design, list[tuple[str, str]]]:
    """How shares make up the index, and (dimension, mark) of each row of its weights."""
    protocol, number = board.protocol, len(board.protocol.scenarios)
    columns = {scenario.id: column for column, scenario in enumerate(protocol.scenarios)}
    weights: dict[tuple[str, str], Floats] = {}
    for dimension, scenario, mark, span, planned in counted_marks(protocol):
        if dimension.weight:
            row = weights.setdefault((dimension.name, mark.name), np.zeros(number))
            row[columns[scenario.id]] += dimension.weight / 100 * (mark.high - mark.low) / span / planned
    pooled = len(board.configurations)
    every = np.tile(np.array(list(weights.values())), pooled) / pooled
    return Design(every, np.tile(np.arange(number), pooled)), list(weights)


def _given(of: Calibration, dimension: str, name: str) -> GivenMark:
    """One mark as every ranked subject was given it."""
    board, judged = of.board, of.marks[name]
    mark = board.protocol.mark(name)
    inverted = next(one.inverted for one in board.protocol.dimensions if one.name == dimension)
    slots = [(where, scenario.id) for where in board.configurations for scenario in board.protocol.scenarios]

    def shares(given: Floats) -> Floats:
        share = (given - mark.low) / (mark.high - mark.low)
        return 1 - share if inverted else share

    values = [
        np.array([[marks.get(slot, {}).get(name, mark.low) for slot in slots] for marks in row.marks.values()])
        for row in board.ranked
    ]
    places = [np.array([[judged.place(value) for value in run] for run in one]) for one in values]
    return GivenMark(
        judged.confusion, judged.rubric, shares(np.array(judged.worths)), [shares(one) for one in values], places
    )
