"""Whether the limits of the exam's kappa hold as often as they say: judges of known confusion,
sixty questions.

    python benchmarks/coverage/exam.py               # prints a table, some fifteen minutes
    python benchmarks/coverage/exam.py --write       # and writes it as exam_limits.csv

Half of the questions are hard. A judge errs in stated shares of ordinary and of hard ones, towards
the next state, the other end, any state, up, down, the highest or the lowest; its marks of 0-10
pile up at the ends. The truth is its figure over very many questions of the same states. Shown is
how often the limits hold it, and on which side they fail.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from draw import Floats, Generator
from page import markdown, write_rows

from independence_bench.analysis.statistics.known_states import (
    Figure,
    Items,
    estimate_figure_limits,
    measure_kappa_with_states,
)
from independence_bench.analysis.statistics.values import Interval, Numbers

MANY = 60000  # questions for the truth
SHARES = (0.0, 0.005, 0.01, 0.02, 0.04, 0.07, 0.1, 0.2, 0.3, 0.5, 0.8)
# first mark of a band, and chances
ENDS = ((0, 0.6, 0.2, 0.15, 0.05), (4, 0.3, 0.4, 0.3), (7, 0.1, 0.15, 0.25, 0.5))
PROMISED = 0.93


@dataclass(frozen=True, slots=True)
class Scale:
    """What is marked: worths of its states; bands have marks of 0-10 besides."""

    name: str
    worths: tuple[float, ...]
    measurement: str = "ordinal"
    questions: int = 60

    @property
    def bands(self) -> bool:
        """Whether it is one of 0-10."""
        return self.name.startswith("bands")


SCALES = (
    Scale("bands", (0, 1, 2)),
    Scale("bands, 24 questions", (0, 1, 2), questions=24),
    Scale("position", (0, 2.5, 5, 10)),
    Scale("yes or no", (0, 10)),
    Scale("names", (0, 1, 2), "nominal"),
)


@dataclass(frozen=True, slots=True)
class Confused:
    """A judge: which errors, and in what share of ordinary and of hard questions."""

    kind: str
    ordinary: float
    hard: float
    per_doubling: float = 0.0

    def table(self, states: int) -> tuple[Floats, Floats]:
        """[state, given] of ordinary questions, and of hard ones."""
        right, at = np.eye(states), np.arange(states)
        wrong = {
            "next": (np.eye(states, k=1) + np.eye(states, k=-1)),
            "other end": np.where((at[:, None] * 2 < states - 1), at == states - 1, at == 0) * 1.0,
            "any": np.ones((states, states)),
            "up": np.eye(states)[np.minimum(at + 1, states - 1)],
            "down": np.eye(states)[np.maximum(at - 1, 0)],
            "highest": np.eye(states)[np.full(states, states - 1)],
            "lowest": np.eye(states)[np.zeros(states, dtype=int)],
        }[self.kind]
        wrong = wrong / wrong.sum(axis=1, keepdims=True)
        return (1 - self.ordinary) * right + self.ordinary * wrong, (
            1 - self.hard
        ) * right + self.hard * wrong


def judges() -> Iterator[Confused]:
    """All."""
    for kind in ("next", "other end", "any", "up", "down", "highest", "lowest"):
        yield from (Confused(kind, share, share) for share in SHARES if share or kind == "next")
    for kind in ("other end", "highest"):
        yield from (Confused(kind, 0.0, share) for share in (0.02, 0.05, 0.1, 0.2, 0.4, 0.8))
    yield from (Confused("next", 0.02, 0.02, each) for each in (0.5, 1.0, 2.0))


@dataclass(frozen=True, slots=True, eq=False)
class Paper:
    """The questions of one exam, and what a judge gives."""

    scale: Scale
    state: Numbers
    length: Floats
    given: Numbers
    mark: Floats


def questions(rng: Generator, scale: Scale, number: int) -> tuple[Numbers, Numbers, Floats]:
    """(states in equal numbers, whether hard, lengths in doublings)."""
    states = len(scale.worths)
    return (
        np.arange(number) % states,
        np.arange(number) // states % 2,
        1.5 * rng.normal(size=number),
    )


def mark(
    rng: Generator, judge: Confused, scale: Scale, asked: tuple[Numbers, Numbers, Floats]
) -> Paper:
    """What *judge* gives."""
    state, hard, length = asked
    rows = np.stack(judge.table(len(scale.worths)))[hard, state]
    given = (rng.random(len(state))[:, None] > rows.cumsum(axis=1)[:, :-1]).sum(axis=1)
    if not scale.bands:
        return Paper(scale, state, length, given, np.array(scale.worths)[given])
    marks = np.zeros(len(state))
    for number, (first, *chances) in enumerate(ENDS):
        at = given == number
        marks[at] = first + rng.choice(len(chances), size=int(at.sum()), p=chances)
    if judge.per_doubling:
        marks = np.clip(np.rint(marks + judge.per_doubling * length), 0, 10)
        given = np.digitize(marks, (3.5, 6.5))
    return Paper(scale, state, length, given, marks)


def kappa_of(paper: Paper) -> Figure | None:
    """The exam's figure."""
    number, worths, scale = len(paper.state), np.array(paper.scale.worths), paper.scale
    named = scale.measurement == "nominal"
    if number >= MANY and named:
        return _large_kappa(paper)
    items = Items(
        np.arange(number),
        worths[paper.state],
        worths[paper.given],
        "nominal" if named else "ordinal",
    )
    return measure_kappa_with_states(items, number)


def _large_kappa(paper: Paper) -> Figure:
    """Of names, without the table of all pairs."""
    of_states, of_marks = (
        np.bincount(one, minlength=3) / len(one) for one in (paper.state, paper.given)
    )
    chance = float(of_states @ of_marks)
    value = (float((paper.state == paper.given).mean()) - chance) / (1 - chance)
    return Figure(value, 1.0, np.zeros(1), 0, MANY)


@dataclass(slots=True)
class Held:
    """One judge, scale and figure."""

    truth: float
    draws: int = 0
    below: int = 0  # the truth lies below the limits
    above: int = 0
    none: int = 0
    width: float = 0.0

    def count(self, limits: Interval | None) -> None:
        """One exam more."""
        self.draws += 1
        if limits is None:
            self.none += 1
            return
        self.below += self.truth < limits.low - 1e-9
        self.above += self.truth > limits.high + 1e-9
        self.width += limits.width

    @property
    def share(self) -> float:
        """Of those with limits."""
        return 1 - (self.below + self.above) / max(self.draws - self.none, 1)


def covered(rng: Generator, judge: Confused, scale: Scale, draws: int) -> Held | None:
    """Kappa of one judge; None where it has none."""
    truth = kappa_of(mark(rng, judge, scale, questions(rng, scale, MANY)))
    if truth is None:
        return None
    held = Held(truth.value)
    for _ in range(draws):
        found = kappa_of(mark(rng, judge, scale, questions(rng, scale, scale.questions)))
        if found is not None:
            held.count(estimate_figure_limits(found))
    return held


COLUMNS = (
    "scale", "figure", "judges", "mean_percent", "worst_percent", "worst_judge", "mean_width",
    "no_limits_percent",
)  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="one scale")
    parser.add_argument("--cells", action="store_true", help="every cell, too")
    parser.add_argument("--write", action="store_true", help="exam_limits.csv, too")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    every: dict[tuple[str, str], list[tuple[str, Held]]] = defaultdict(list)
    for scale in SCALES:
        if given.only and scale.name != given.only:
            continue
        for judge in judges():
            if judge.per_doubling and not scale.bands:
                continue
            if (held := covered(rng, judge, scale, given.draws)) is not None:
                what = f"{judge.kind} {judge.ordinary:g}/{judge.hard:g} {judge.per_doubling:g}"
                every[scale.name, "kappa"].append((what, held))
    rows = []
    for (scale_name, name), cells in every.items():
        known = [(what, held) for what, held in cells if held.none < held.draws / 2]
        if not known:
            continue
        worst, least = min(known, key=lambda one: one[1].share)
        there = sum(held.draws - held.none for _, held in cells)
        silent = sum(h.none for _, h in cells) / sum(h.draws for _, h in cells)
        mean, width = (
            np.mean([h.share for _, h in known]),
            sum(h.width for _, h in cells) / max(there, 1),
        )
        counted = (
            f"{100 * mean:.1f}",
            f"{100 * least.share:.1f}",
            worst,
            f"{width:.2f}",
            f"{100 * silent:.0f}",
        )
        rows.append((scale_name, name, str(len(known)), *counted))
    print("\n".join(markdown(COLUMNS, rows)))
    if given.write:
        write_rows("exam_limits", COLUMNS, rows)
    if given.cells:
        for (scale_name, name), cells in every.items():
            for what, held in cells:
                mark_of = "  <" if held.share < PROMISED else ""
                print(
                    f"{scale_name:20} {name:18} {what:28} {held.truth:7.3f} "
                    f"{100 * held.share:5.1f} below {held.below} above {held.above} none "
                    f"{held.none}{mark_of}",
                    file=sys.stderr,
                )


if __name__ == "__main__":
    main()
