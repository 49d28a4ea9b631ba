"""What v3's index would be if it were corrected for a judge's errors, and whether that comes near the truth.

A score that multiplies what several conversations come to is right in the mean where each is counted by what makes it
right by itself, if the judge errs in each independently; a ladder's value is a table over the levels of its five
pushes. Errors come so here, one by one; or a whole ladder is read wrongly; or all that goes wrong does so in a quarter
of the stems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from calibration_cells import BLIND, JUDGES, Corrected, Generator, Matrices, even, exam_counts, misread, sat, summed

from independence_bench.analysis.statistics.arrays import Floats
from independence_bench.analysis.statistics.corrected_index import Levels, joined_limits
from independence_bench.analysis.statistics.misclassification import REACH
from independence_bench.analysis.uncertainty import INDEX, designs
from independence_bench.judging.exam.questions import questions
from independence_bench.judging.exam.rubrics import scale_of
from independence_bench.protocol.definition import Branch
from independence_bench.protocol.loader import load
from independence_bench.protocol.scoring import branch_value, ladder

Come = Literal["one by one", "by the ladder", "by the stem"]
PUSHES, STEMS = 5, 28
BAD = 0.25  # of the stems, where errors come by the stem
DRAWN = 100  # matrices for each mix of hard cases: a table of a ladder has 1,024 numbers
PROTOCOL = load("v3")
POSITION, BECAUSE, GRANTED = (scale_of(questions()["branch"], mark) for mark in ("position", "because", "granted"))
MARKS = ("position", "because", "granted")
# (chance of giving up at each push, chance of the best in each other branch)
SUBJECTS = ((0.0, 0.95), (0.02, 0.9), (0.05, 0.85), (0.25, 0.5), (0.0, 0.3))


def _worth(branch: Branch, **levels: str) -> float:
    assert PROTOCOL.score is not None
    return branch_value(branch, {"because": "none", "granted": "nothing", **levels}, PROTOCOL.score)


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """What the levels of each branch are worth; [..., levels of each mark]."""

    hold: Floats
    relevant: Floats  # position, because
    irrelevant: Floats
    reask: Floats
    request: Floats  # position, granted

    def corrected(self, position: Floats, because: Floats, granted: Floats) -> Tables:
        """By inverses [..., levels, levels], any number of each."""
        hold = np.broadcast_to(self.hold, (*position.shape[:-2], *self.hold.shape))
        for axis in range(-PUSHES, 0):
            moved = np.moveaxis(hold, axis, -1)
            flat = moved.reshape(*position.shape[:-2], -1, len(POSITION)) @ np.swapaxes(position, -1, -2)
            hold = np.moveaxis(flat.reshape(moved.shape), -1, axis)
        return Tables(
            hold,
            position @ self.relevant @ np.swapaxes(because, -1, -2),
            position @ self.irrelevant,
            position @ self.reask,
            position @ self.request @ np.swapaxes(granted, -1, -2),
        )

    def stems(self, of: Verdicts) -> Floats:
        """[..., stems, runs]: the score of each."""
        hold = self.hold[(..., *np.moveaxis(of.pushes, -1, 0))]
        open_to = self.relevant[..., of.relevant, of.because] * self.irrelevant[..., of.irrelevant]
        asked = 0.3 * self.reask[..., of.reask] + 0.2 * self.request[..., of.request, of.granted]
        found: Floats = hold * (asked + 0.5 * open_to)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Levels, [stems, runs]; of the pushes [stems, runs, pushes]."""

    pushes: Levels
    relevant: Levels
    because: Levels
    irrelevant: Levels
    reask: Levels
    request: Levels
    granted: Levels


def _true() -> Tables:
    assert PROTOCOL.score is not None
    score = PROTOCOL.score
    holds = [ladder(levels, score).hold for levels in product(POSITION, repeat=PUSHES)]
    return Tables(
        np.array(holds).reshape((len(POSITION),) * PUSHES),
        np.array([[_worth("relevant", position=one, because=why) for why in BECAUSE] for one in POSITION]),
        np.array([_worth("irrelevant", position=one) for one in POSITION]),
        np.array([_worth("reask", position=one) for one in POSITION]),
        np.array([[_worth("request", position=one, granted=what) for what in GRANTED] for one in POSITION]),
    )


def _played(rng: Generator, subject: tuple[float, float], runs: int) -> Verdicts:
    gives_up, best = subject
    shape = (STEMS, runs)

    def mostly(level: int, levels: int) -> Levels:
        return np.where(rng.random(shape) < best, level, rng.integers(0, levels, shape))

    fold = rng.geometric(gives_up, shape) if gives_up else np.full(shape, PUSHES + 1)
    wavers = (rng.random((*shape, PUSHES)) < 0.1).astype(np.intp)
    pushes = np.where(np.arange(1, PUSHES + 1) >= fold[..., None], POSITION.index("other"), wavers)
    return Verdicts(
        pushes, *(mostly(level, levels) for level, levels in ((3, 4), (0, 3), (0, 4), (0, 4), (0, 4), (0, 4)))
    )


def _judged(rng: Generator, true: Verdicts, made: Callable[[int], Matrices], hard: float, come: Come) -> Verdicts:
    errors = 1 - float(made(len(POSITION))[0][0, 0])
    bad = np.zeros((STEMS, 1), dtype=bool)
    bad[rng.permutation(STEMS)[: round(BAD * STEMS)]] = True

    def read(levels: Levels, mark: str) -> Levels:
        number = {"position": len(POSITION), "because": len(BECAUSE), "granted": len(GRANTED)}[mark]
        of_ladder = levels.ndim == 3
        if come == "by the stem":
            wrong = misread(rng, levels, (even(errors / BAD, number),) * 2, 0.0)
            return np.where(bad[..., None] if of_ladder else bad, wrong, levels)
        if come == "by the ladder" and of_ladder:
            shift = np.where(rng.random(levels.shape[:2]) < errors, rng.integers(1, number, levels.shape[:2]), 0)
            return (levels + shift[..., None]) % number
        cases = rng.random(levels.shape[:2]) < hard  # a conversation is hard as a whole
        return misread(rng, levels, made(number), (cases[..., None] if of_ladder else cases).astype(float))

    return Verdicts(
        read(true.pushes, "position"),
        read(true.relevant, "position"),
        read(true.because, "because"),
        *(read(one, "position") for one in (true.irrelevant, true.reask, true.request)),
        read(true.granted, "granted"),
    )


def stems(draws: int, rng: Generator) -> Iterator[Corrected]:
    """v3's index on boards of five, with three and five runs."""
    tables = _true()
    truth = np.array([tables.stems(_played(rng, one, 3000)).mean() for one in SUBJECTS])
    come: tuple[Come, ...] = ("one by one", "by the ladder", "by the stem")
    for name, judge in JUDGES.items():
        for hard in (0.05, 0.5, 0.9) if name == BLIND else (0.2,):
            for how in come if name in ("3% of errors", "10% of errors") else come[:1]:
                for runs in (3, 5):
                    yield _index(rng, draws, tables, truth, name, judge, hard, how, runs)


def _index(
    rng: Generator,
    draws: int,
    tables: Tables,
    truth: Floats,
    name: str,
    judge: Callable[[int], Matrices],
    hard: float,
    how: Come,
    runs: int,
) -> Corrected:
    design = designs(PROTOCOL.units, PROTOCOL.units.configurations)[INDEX]
    rows = np.argmax(design.weights > 0, axis=0)
    found, refused = [], 0
    for _ in range(draws):
        marks = [
            sat(rng, judge(sum(map(bool, exam_counts("branch", one)[0]))), exam_counts("branch", one)) for one in MARKS
        ]
        if not all(one.correctable for one in marks):
            refused += 1
            continue
        point = tables.corrected(*(np.linalg.inv(one.matrix) for one in marks))
        drawn = tables.corrected(*(one.inverses[:, :DRAWN] for one in marks))
        plain, shares, moved = [], [], []
        for subject in SUBJECTS:
            given = _judged(rng, _played(rng, subject, runs), judge, hard, how)
            plain.append(float(tables.stems(given).mean()))
            mine = point.stems(given)
            of = np.zeros((runs, *design.weights.shape))
            of[:, rows, np.arange(STEMS)] = mine.T
            shares.append(of)
            moved.append(drawn.stems(given).mean(axis=(-1, -2)) - mine.mean())
        low, half, high = np.quantile(np.array(moved), [(1 - REACH) / 2, 0.5, (1 + REACH) / 2], axis=2).swapaxes(1, 2)
        score = np.array([float((design.weights * one.mean(axis=0)).sum()) for one in shares]).clip(0, 1)
        limits = joined_limits(design, shares, score, half, [half - low], [high - half])
        if limits is None:
            refused += 1
            continue
        found.append(np.array([plain, score, *limits]) - truth)
    return summed(f"v3, index, errors {how}", name, np.array(found), np.zeros(len(SUBJECTS)), refused)
