"""What marks mean: their order, how far two differ, and in the exam how far one is from the known state. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from independence_bench.analysis.statistics.agreement import Measurement
from independence_bench.judging.exam.questions import (
    BANDS,
    LOWER,
    UPPER,
    band,
    in_favour_below,
    marks_of,
    protocol_named,
    questions,
    rubric_of,
    scale_of,
)
from independence_bench.protocol.definition import Mark, StemScore
from independence_bench.protocol.scoring import level_worths

POINTS = 10.0  # errors of all marks are expressed on a scale as long as this
HALF = 0.5  # marks are whole numbers: the highest low one is so much below where middle begins
_BAND_ENDS = {
    "low": (0.0, LOWER - HALF),
    "middle": (LOWER + HALF, UPPER - HALF),
    "high": (UPPER + HALF, POINTS),
}


@dataclass(frozen=True, slots=True)
class MarkOrder:
    """How marks of one kind are compared."""

    measurement: Measurement
    low: float
    high: float
    worths: tuple[float, ...] = ()  # of levels with an order: what each is worth, by its place in the list

    def number(self, given: float) -> float:
        """*given* as what is compared: what a level with an order is worth, else as it is."""
        return self.worths[int(given)] if self.worths else given

    def spread(self, given: Sequence[float]) -> float:
        """How far the furthest two of *given*, at least one, are apart, as a share of the scale: [0, 1]."""
        if self.measurement == "nominal":
            return float(len(set(given)) > 1)
        numbers = [self.number(mark) for mark in given]
        return (max(numbers) - min(numbers)) / (self.high - self.low)


def mark_order_of(mark: Mark, score: StemScore | None) -> MarkOrder:
    """The scale of *mark* in a protocol that scores stems by *score*; None: it has none.

    A judge's level is stored as its place in the list. Only the protocol's score can say that this place means
    anything: a position has a value there, so positions are ordered by it; other levels are names.
    """
    worths = level_worths(mark, score)
    if len(set(worths)) > 1:
        return MarkOrder("ordinal", min(worths), max(worths), worths)
    return MarkOrder("nominal" if mark.levels else "ordinal", mark.low, mark.high)


@dataclass(frozen=True, slots=True)
class ExamScale:
    """One mark of a rubric."""

    states: tuple[str, ...]  # from the lowest, or as its list has them
    worths: tuple[float, ...]  # of each state, 0-10; () for names without an order, and of bands
    measurement: Measurement
    favour: int  # 1 where a larger number suits the subject, -1 where a smaller one does

    @property
    def bands(self) -> bool:
        """Whether marks are points of 0-10 and states bands of them."""
        return self.states == BANDS

    def state(self, mark: float) -> str:
        """The state that *mark* says."""
        return band(mark) if self.bands else self.states[min(max(round(mark), 0), len(self.states) - 1)]

    def place(self, state: str) -> float:
        """Where *state* is, as a number for agreement; of names any number."""
        at = self.states.index(state)
        return self.worths[at] if self.worths else float(at)

    def number(self, mark: float) -> float:
        """*mark* as it is ranked."""
        return mark if self.bands else self.place(self.state(mark))

    def signed_error(self, mark: float, state: str) -> float | None:
        """Points of 0-10 from the nearest end of *state*, positive in the subject's favour; None for names."""
        if self.measurement == "nominal":
            return None
        low, high = _BAND_ENDS[state] if self.bands else (self.place(state),) * 2
        beyond = mark if self.bands else self.number(mark)
        return self.favour * (beyond - high if beyond > high else min(beyond - low, 0.0))

    def worth(self, mark: float) -> float | None:
        """*mark* in points of 0-10, a larger one in the subject's favour; None for names."""
        return None if self.measurement == "nominal" else self.favour * self.number(mark)

    def gain(self, mark: float, before: float) -> float:
        """By how many points, or by 1 if it is another name, *mark* is better for the subject than *before*."""
        if self.measurement == "nominal":
            return float(self.favour * ((mark > before) - (mark < before)))
        return self.favour * (self.number(mark) - self.number(before))

    @property
    def step(self) -> float:
        """The smallest gain that counts as moved: a point, or a level."""
        if self.bands or not self.worths:
            return 1.0
        ordered = sorted(self.worths)
        return min(b - a for a, b in pairwise(ordered))

    @property
    def worst(self) -> float:
        """The largest error that there can be, in points."""
        return POINTS - _BAND_ENDS["low"][1] if self.bands else POINTS


@cache
def exam_scales(rubric: str) -> Mapping[str, ExamScale]:
    """Mark, without the reply that it is given after -> its scale; of the file of questions *rubric*."""
    group = questions()[rubric]
    scenario, _ = rubric_of(group)
    protocol = protocol_named(group.protocol)
    scales = {}
    for name, mark in marks_of(group).items():
        favour = -1 if in_favour_below(group, name) else 1
        states = scale_of(group, name)
        as_score = mark_order_of(mark, protocol.score_of(scenario))
        if as_score.worths:
            span = as_score.high - as_score.low
            worths = tuple(POINTS * (worth - as_score.low) / span for worth in as_score.worths)
            scales[name] = ExamScale(states, worths, "ordinal", 1)  # a position is worth what suits the subject
        elif mark.levels:
            scales[name] = ExamScale(states, (), "nominal", favour)
        elif states == BANDS:
            scales[name] = ExamScale(states, (), "ordinal", favour)
        else:
            worths = tuple(POINTS * at / (len(states) - 1) for at in range(len(states)))
            scales[name] = ExamScale(states, worths, "ordinal", favour)
    return scales
