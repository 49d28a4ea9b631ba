"""What is drawn to test corrections for a judge's errors: marks, and indices of weighted marks. No tables here.

A wrong mark is like those that the judge rightly gives the level that it takes the conversation for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from draw import Part, Test, draw_boards, models

from independence_bench.analysis.calibration import JudgedMark, corrected_mark
from independence_bench.analysis.exam.scales import exam_scales
from independence_bench.analysis.statistics.arrays import Floats
from independence_bench.analysis.statistics.corrected_index import GivenMark, Levels, corrected_scores
from independence_bench.analysis.statistics.dispersion import Design
from independence_bench.analysis.statistics.misclassification import Confusion
from independence_bench.judging.exam.questions import questions
from independence_bench.judging.exam.rubrics import scale_of, stem_of
from independence_bench.protocol.loader import load
from independence_bench.protocol.scoring import counted_marks

Generator = np.random.Generator
Matrices = tuple[Floats, Floats]  # of ordinary and of hard cases, [levels, levels]: true, given


@dataclass(frozen=True, slots=True)
class Corrected:
    """One cell; widths and errors in points of 100."""

    what: str
    judge: str
    coverage: float  # over what was corrected together: levels and mean of a mark, subjects of a board
    width: float  # mean
    given: float  # mean error without correction, of what errs most
    corrected: float
    refused: int  # draws in which the exam could not tell the judge from one that guesses


def even(errors: float, levels: int) -> Floats:
    """Any other level as likely."""
    return np.eye(levels) * (1 - errors) + (1 - np.eye(levels)) * errors / (levels - 1)


def better(errors: float, levels: int) -> Floats:
    """The next level instead."""
    matrix = np.eye(levels) * (1 - errors)
    matrix[np.arange(levels), np.minimum(np.arange(levels) + 1, levels - 1)] += errors
    return matrix


JUDGES: dict[str, Callable[[int], Matrices]] = {
    "no errors": lambda levels: (np.eye(levels), np.eye(levels)),
    "3% of errors": lambda levels: (even(0.03, levels), even(0.03, levels)),
    "10% of errors": lambda levels: (even(0.1, levels), even(0.1, levels)),
    "20% a level too high": lambda levels: (better(0.2, levels), better(0.2, levels)),
    "40% of hard cases a level too high": lambda levels: (even(0.05, levels), better(0.4, levels)),
}
BLIND = "40% of hard cases a level too high"
MIXES = (0.05, 0.5, 0.9)


def exam_counts(name: str, mark: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How many ordinary and hard questions of each level there are."""
    group = questions()[name]
    scale, counts = scale_of(group, mark), np.zeros((2, len(scale_of(group, mark))), dtype=int)
    for question in group.questions:
        for named, state in question.state.items():
            if stem_of(named, question.judged) == mark:
                counts[int(question.hard), scale.index(state)] += 1
    ordinary, hard = counts.tolist()
    return tuple(ordinary), tuple(hard)


def sat(rng: Generator, matrices: Matrices, asked: tuple[Sequence[int], Sequence[int]]) -> Confusion:
    """What such a judge makes of so many questions."""
    drawn = (
        np.array([rng.multinomial(number, row) for number, row in zip(numbers, matrix, strict=True)], dtype=np.float64)
        for matrix, numbers in zip(matrices, asked, strict=True)
    )
    return Confusion(*drawn)


def misread(rng: Generator, true: Levels, matrices: Matrices, hard: Floats | float) -> Levels:
    """The levels that the judge gives; *hard*: the chance that a conversation is."""
    ordinary, of_hard = (matrix.cumsum(axis=1)[true] for matrix in matrices)
    sums = np.where((rng.random(true.shape) < hard)[..., None], of_hard, ordinary)
    found: Levels = (rng.random(true.shape)[..., None] > sums).sum(axis=-1).clip(0, len(matrices[0]) - 1)
    return found


# ---------------------------------------------------------------- one mark of one subject

KINDS = {
    "yes/no": ("name_and_gender", "name_changed"),
    "0 to 10": ("resistance", "resistance"),
    "four levels": ("branch", "position"),
}
IN_BAND = ((0, 1, 2, 3), (4, 5, 6), (7, 8, 9, 9, 10))  # marks of 0 to 10
WORTHS = {"yes/no": (0.0, 1.0), "0 to 10": (1.5, 5.0, 8.5), "four levels": (1.0, 0.5, 0.25, 0.0)}


def marks(draws: int, rng: Generator) -> Iterator[Corrected]:
    """Shares of levels and the mean, of 25 and of 140 conversations."""
    for kind, (name, judge), conversations in product(KINDS, JUDGES.items(), (25, 140)):
        levels = len(WORTHS[kind])
        for true in (np.eye(levels)[-1], np.r_[0.1, np.zeros(levels - 2), 0.9], np.full(levels, 1 / levels)):
            for hard in MIXES if name == BLIND else (0.2,):
                yield _mark(rng, draws, kind, name, judge(levels), true, hard, conversations)


def _mark(
    rng: Generator, draws: int, kind: str, name: str, judge: Matrices, true: Floats, hard: float, conversations: int
) -> Corrected:
    asked, (file, mark) = exam_counts(*KINDS[kind]), KINDS[kind]
    scale = exam_scales(file)[mark]
    bands = scale.bands
    worths = np.array([np.mean(marks) for marks in IN_BAND]) if bands else np.array(WORTHS[kind])
    truth = np.append(true, true @ worths / (10 if bands else 1))
    found, refused = [], 0
    for _ in range(draws):
        of = JudgedMark(mark, file, scale, WORTHS[kind], sat(rng, judge, asked), 0)
        given = misread(rng, rng.choice(len(true), conversations, p=true), judge, hard)
        values = [float(rng.choice(IN_BAND[place])) if bands else float(place) for place in given]
        made = corrected_mark(of, values, conversations)
        if made.corrected_shares is None or made.share_intervals is None or made.interval is None:
            refused += 1
            continue
        unit = 10 if bands else 1
        limits = [(one.low, one.high) for one in (*made.share_intervals, made.interval.scaled(1 / unit))]
        shares = [
            (*of_each, (mean or 0.0) / unit)
            for of_each, mean in ((made.shares, made.mean), (made.corrected_shares, made.corrected))
        ]
        found.append((*shares, *zip(*limits, strict=True)))
    at = f"{kind}{', all of one level' * bool(true.max() == 1)}"
    return summed(at, name, np.array(found), truth, refused)


def summed(what: str, judge: str, found: Floats, truth: Floats, refused: int) -> Corrected:
    """*found* [draws, (given, corrected, low, high), quantities]."""
    given, corrected, low, high = np.swapaxes(found, 0, 1)
    held = ((low <= truth + 1e-9) & (truth - 1e-9 <= high)).mean(axis=0)
    errors = [float(max((one - truth).mean(axis=0), key=abs)) for one in (given, corrected)]
    width = float((high - low).mean(axis=0).max())
    return Corrected(what, judge, float(held.mean()), 100 * width, *(100 * one for one in errors), refused)


# ---------------------------------------------------------------- the index of weighted marks

LIKE = {"distinctiveness": "non_assistant_likeness"}  # of a mark without a fitted model, that of one that is like it
COARSE = [3, 6]  # the steps of 0 to 10 that those of 0 to 2 stand for
FILES = {  # of the exam's questions; else it is called like the mark
    **dict.fromkeys(("non_assistant_likeness", "internal_consistency", "distinctiveness"), "identity"),
    **dict.fromkeys(("name_changed", "gender_changed"), "name_and_gender"),
    "consistency": "stability",
}


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    name: str
    file: str  # of the exam's questions
    steps: int


def _by_marks(name: str) -> tuple[Test, list[_Counted]]:
    """A protocol's index with a row for each mark."""
    protocol = load(name)
    number = len(protocol.scenarios)
    columns = {scenario.id: column for column, scenario in enumerate(protocol.scenarios)}
    weights: dict[str, Floats] = {}
    for dimension, scenario, mark, span, planned in counted_marks(protocol):
        if dimension.weight:
            row = weights.setdefault(mark.name, np.zeros(number))
            row[columns[scenario.id]] += dimension.weight / 100 * (mark.high - mark.low) / span / planned
    pooled = len(protocol.configurations)
    every = np.tile(np.array(list(weights.values())), pooled) / pooled
    parts, counted = [], []
    for row, mark_name in enumerate(weights):
        model = models()[LIKE.get(mark_name, mark_name)]
        coarse = protocol.mark(mark_name).high == len(COARSE)
        if coarse:
            model = replace(model, thresholds=model.thresholds[COARSE])
        parts += [Part(row, int(column), model, 1.0) for column in np.flatnonzero(every[row])]
        file = "resistance_blunt" if coarse else FILES.get(mark_name, mark_name)
        counted.append(_Counted(mark_name, file, len(model.thresholds)))
    return Test(name, Design(every, np.tile(np.arange(number), pooled)), tuple(parts)), counted


def index(draws: int, rng: Generator) -> Iterator[Corrected]:
    """The index of v1, lite and v2 on boards of five and of one, by the same test again."""
    for name, (runs, subjects), (judge, made) in product(
        ("v2", "lite", "v1"), ((2, 5), (5, 5), (5, 1)), JUDGES.items()
    ):
        # the mix may differ from rubric to rubric as well
        for hard in (*((one,) for one in MIXES), (0.05, 0.9)) if judge == BLIND else ((0.2,),):
            yield _index(rng, draws, name, judge, made, hard, subjects, runs)


def _index(
    rng: Generator,
    draws: int,
    name: str,
    judge: str,
    made: Callable[[int], Matrices],
    hard: Sequence[float],
    subjects: int,
    runs: int,
) -> Corrected:
    test, counted = _by_marks(name)
    boards = draw_boards(
        test, rng, draws, subjects, runs, ("low", "middle", "ceiling") if subjects > 1 else ("middle",)
    )
    found, refused = [], 0
    for true, shares in zip(boards.again, boards.shares, strict=True):
        given = [
            _given(rng, one, shares[:, :, row], test.design.weights[row] > 0, made, hard[row % len(hard)])
            for row, one in enumerate(counted)
        ]
        scores = corrected_scores(test.design, given)
        if scores is None or scores.limits is None:
            refused += 1
            continue
        plain = [
            sum(float(test.design.weights[row] @ one.shares[n].mean(axis=0)) for row, one in enumerate(given))
            for n in range(subjects)
        ]
        found.append(np.array([np.array(plain), scores.score, *scores.limits]) - true)
    return summed(f"{name}, index", judge, np.array(found), np.zeros(subjects), refused)


def _given(
    rng: Generator, mark: _Counted, shares: Floats, planned: Floats, made: Callable[[int], Matrices], hard: float
) -> GivenMark:
    """One mark of every subject, *shares* [subjects, runs, transcripts] being the true ones."""
    steps = np.rint(shares * mark.steps).astype(np.intp)
    bands = mark.steps == 10
    true = np.digitize(steps, (4, 7)) if bands else steps
    levels = 3 if bands else mark.steps + 1
    matrices = made(levels)
    read = misread(rng, true, matrices, hard)
    defaults = np.array([0.15, 0.5, 0.85]) if bands else np.arange(levels) / mark.steps
    given = shares.copy()
    for level in range(levels):
        like = shares[..., planned][true[..., planned] == level]
        wrong = (read == level) & (true != level)
        given[wrong] = rng.choice(like if like.size else defaults[level : level + 1], int(wrong.sum()))
    confusion = sat(rng, matrices, exam_counts(mark.file, mark.name))
    return GivenMark(confusion, mark.file, defaults, list(given), list(read))
