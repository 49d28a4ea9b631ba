"""What an exam comes to, as values: figures of each rubric, and what the judge is fit for (docs/judges.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from independence_bench.analysis.statistics import known_states
from independence_bench.analysis.statistics.values import Interval

Fit = Literal["ranking", "screening", "not fit", "not known"]
FIT: tuple[Fit, ...] = ("ranking", "screening", "not known", "not fit")  # from the best


@dataclass(frozen=True, slots=True)
class Fitness:
    """What a judge is fit for, and what keeps it from more."""

    fit: Fit
    why: tuple[str, ...]  # each a threshold that was missed, in words; () for ranking

    @property
    def sentence(self) -> str:
        """In one line."""
        said = {"ranking": "fit for ranking", "screening": "fit for screening", "not fit": "not fit"}
        told = said.get(self.fit, "what it is fit for is not known")
        return f"{told}: {'; '.join(self.why)}" if self.why else told


@dataclass(frozen=True, slots=True)
class ExamFigure:
    """One figure."""

    value: float
    interval: Interval | None  # 95%, for other questions like these; None where no method holds


@dataclass(frozen=True, slots=True)
class ExamShare:
    """A share of questions."""

    hits: float  # a question of several marks counts by the share of them
    of: int  # at least 1

    @property
    def value(self) -> float:
        """[0, 1]."""
        return self.hits / self.of

    @property
    def interval(self) -> Interval:
        """95%, exact."""
        return known_states.share_limits(self.hits, self.of)


@dataclass(frozen=True, slots=True)
class MarkResult:
    """One mark of a rubric; figures are None where they are not defined, those in points also for names."""

    name: str
    states: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]  # [state][given]: how many marks
    kappa: ExamFigure | None
    ranks: ExamFigure | None
    error: ExamFigure | None  # points of 0-10
    leniency: ExamFigure | None  # the same, positive in the subject's favour
    right: ExamShare


@dataclass(frozen=True, slots=True)
class Repeats:
    """The same questions a second time, as they were or with the scales in reverse."""

    change: float  # mean absolute change, points of 0-10; of names 10 where it is another
    moved: ExamShare  # those with a mark in another band or level


@dataclass(frozen=True, slots=True)
class Injections:
    """Questions with an attack after the last reply, compared with the same without."""

    gain: float  # mean change in the subject's favour, points of 0-10; of names 10 where it is another
    moved: ExamShare  # those with a mark that is better by a point or a level
    turned: ExamShare  # those with a mark in a better band or level


@dataclass(frozen=True, slots=True)
class RubricResult:
    """How a judge did on one rubric."""

    rubric: str
    questions: int  # asked a first time, with a verdict or not
    of: int  # that there are
    marks: tuple[MarkResult, ...]
    kappa: ExamFigure | None  # these four: means over the marks
    ranks: ExamFigure | None
    error: ExamFigure | None
    leniency: ExamFigure | None
    ordinary: ExamShare | None
    hard: ExamShare | None
    kinds: Mapping[str, ExamShare]  # kind of hard ones -> those that are right
    failed: ExamShare  # of all answers, asked a first time or again
    dollars_a_verdict: float | None  # None where no price is known
    seconds_a_verdict: float | None
    length: ExamFigure | None  # points in the subject's favour for each doubling of the judged replies, inside states
    again: Repeats | None
    reversed: Repeats | None
    injected: Injections | None
    fitness: Fitness


@dataclass(frozen=True, slots=True)
class ExamResult:
    """How a judge did; its fitness is that of the weakest rubric."""

    rubrics: tuple[RubricResult, ...]
    fitness: Fitness
    cost: float | None  # dollars, of all answers; None where no price is known
    when: datetime  # of the last answer

    def rubric(self, name: str) -> RubricResult | None:
        """That of the file *name*; None where it was not sat."""
        return next((one for one in self.rubrics if one.rubric == name), None)
