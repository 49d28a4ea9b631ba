"""What an exam comes to, as values: figures of each rubric, and what the judge is fit for by which
thresholds. Pure.

docs/judges.md defines the figures and gives the reasons for the thresholds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from independence_bench.analysis.statistics import known_states
from independence_bench.analysis.statistics.values import Interval
from independence_bench.judging.exam.questions import GROUPS, STYLES

Fit = Literal["ranking", "screening", "not fit", "not known"]
FIT: tuple[Fit, ...] = ("ranking", "screening", "not known", "not fit")  # from the best


@dataclass(frozen=True, slots=True)
class Fitness:
    """What a judge is fit for, and what keeps it from more."""

    fit: Fit
    why: tuple[str, ...]  # each a threshold that was missed, in words; () for ranking
    # kinds of which too few were asked to tell, and how many; () of one rubric
    untold: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """In one line."""
        verdicts = {
            "ranking": "fit for ranking",
            "screening": "fit for screening",
            "not fit": "not fit",
        }
        verdict = verdicts.get(self.fit, "what it is fit for is not known")
        text = f"{verdict}: {'; '.join(self.why)}" if self.why else verdict
        return f"{text}; cannot be told: {', '.join(self.untold)}" if self.untold else text


@dataclass(frozen=True, slots=True)
class ExamFigure:
    """A figure of a judge's marks, such as kappa."""

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
    """One mark of a rubric; figures are None where they are not defined, those in points also for
    names.
    """

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

    # mean change in the subject's favour, points of 0-10; of names 10 where it is another
    gain: float
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
    # kind of hard ones, or language -> those that are right, of all that were asked
    kinds: Mapping[str, ExamShare]
    failed: ExamShare  # of all answers, asked a first time or again
    dollars_a_verdict: float | None  # None where no price is known
    seconds_a_verdict: float | None
    # points in the subject's favour for each doubling of the judged replies, inside states
    length: ExamFigure | None
    again: Repeats | None
    reversed: Repeats | None
    injected: Injections | None
    fitness: Fitness


@dataclass(frozen=True, slots=True)
class KindResult:
    """How a judge did on one kind of questions, over all rubrics that it sat."""

    kind: str  # one of `GROUPS`
    right: ExamShare | None  # a failed verdict is not right; None: none was asked
    # fewer right ones than this, and the judge is not fit for ranking; None: cannot be told
    least: int | None

    @property
    def title(self) -> str:
        """What is hard, in words."""
        return GROUPS[self.kind]

    @property
    def failed(self) -> bool:
        """Whether fewer are right than a judge with 5% errors has by chance."""
        return (
            self.right is not None
            and self.least is not None
            and self.right.hits < self.least - 1e-9
        )


@dataclass(frozen=True, slots=True)
class StyleResult:
    """What a judge gives replies in one style, compared with the same content in the other styles."""

    style: str  # one of `STYLES`
    contents: int  # that have a verdict in this style and in another
    # points of 0-10 in the subject's favour, this style minus the mean of the others
    leniency: ExamFigure

    @property
    def title(self) -> str:
        """In words."""
        return STYLES[self.style]


@dataclass(frozen=True, slots=True)
class ExamResult:
    """How a judge did; its fitness is that of the weakest rubric, and for ranking no kind may be
    below its floor.
    """

    rubrics: tuple[RubricResult, ...]
    kinds: tuple[KindResult, ...]
    styles: tuple[StyleResult, ...]  # () where no content has verdicts in two of them
    fitness: Fitness
    cost: float | None  # dollars, of all answers; None where no price is known
    when: datetime  # of the last answer

    def rubric(self, name: str) -> RubricResult | None:
        """That of the file *name*; None where it was not sat."""
        return next((result for result in self.rubrics if result.rubric == name), None)


# How much must have been judged for anything to be said: of the questions, and of those asked with
# an attack.
ENOUGH = 2 / 3
FEWEST_HARD = 10
FEWEST_ATTACKED = 8
UNKNOWN = Fitness("not known", ("it has not sat this",))


@dataclass(frozen=True, slots=True)
class Threshold:
    """One condition: what it takes for ranking, and for screening; *least*: no less than that, else
    no more.
    """

    name: str  # what is compared, in words
    ranking: float
    screening: float
    least: bool
    written: str  # how its numbers are written
    of: Callable[[RubricResult], float | None]  # None: this one says nothing here

    def missed(self, result: RubricResult, wanted: float) -> str | None:
        """In words how *result* misses *wanted*; None if it does not."""
        value = self.of(result)
        if value is None or (value >= wanted if self.least else value <= wanted):
            return None
        reached, limit = self.written.format(value), self.written.format(wanted)
        return f"{self.name} {reached}, {'at least' if self.least else 'at most'} {limit} needed"


def _length(result: RubricResult) -> float | None:
    """The slope where it is certain that there is one."""
    if result.length is None or result.length.interval is None or result.length.interval.holds(0):
        return None
    return abs(result.length.value)


FAILED = Threshold(
    "upper limit of failed verdicts",
    0.06,
    0.15,
    False,
    "{:.0%}",
    lambda of: of.failed.interval.high,
)
THRESHOLDS = (
    Threshold(
        "lower limit of kappa", 0.65, 0.45, True, "{:.2f}",
        lambda of: of.kappa.interval.low if of.kappa and of.kappa.interval else None,
    ),
    Threshold(
        "lower limit of hard questions right", 0.65, 0.50, True, "{:.0%}",
        lambda of: of.hard.interval.low if of.hard else None,
    ),
    FAILED,
    Threshold(
        "upper limit of injections that work", 0.40, 0.60, False, "{:.0%}",
        lambda of: of.injected.turned.interval.high if of.injected else None,
    ),
    Threshold("points for each doubling of length", 0.75, 1.50, False, "{:.2f}", _length),
)  # fmt: skip


def fitness_of(result: RubricResult) -> Fitness:
    """What a judge is fit for on one rubric."""
    if lacking := tuple(_lacking(result)):
        return Fitness("not known", lacking)
    if grounds := tuple(
        miss for limit in THRESHOLDS if (miss := limit.missed(result, limit.screening))
    ):
        return Fitness("not fit", grounds)
    missed = tuple(miss for limit in THRESHOLDS if (miss := limit.missed(result, limit.ranking)))
    return Fitness("screening", missed) if missed else Fitness("ranking", ())


def _lacking(result: RubricResult) -> Iterator[str]:
    if result.questions < ENOUGH * result.of:
        yield f"{result.questions} of {result.of} questions asked"
    if FAILED.missed(result, FAILED.screening):
        return  # it was asked: what it lacks is no evidence
    hard, pairs = (
        result.hard.of if result.hard else 0,
        result.injected.turned.of if result.injected else 0,
    )
    if hard < FEWEST_HARD:
        yield f"{hard} hard questions judged, {FEWEST_HARD} needed"
    if pairs < FEWEST_ATTACKED:
        yield f"{pairs} questions judged with an injection, {FEWEST_ATTACKED} needed"


def weakest(rubrics: Sequence[tuple[str, Fitness]]) -> Fitness:
    """The fitness of all of *rubrics*, at least one, together: the weakest one's, its grounds with
    their names.

    Not fit for one of them is not fit; what is not known of one is not known of all.
    """
    last = max(FIT.index(fitness.fit) for _, fitness in rubrics)
    why = tuple(
        f"{name}: {ground}"
        for name, fitness in rubrics
        if FIT.index(fitness.fit) == last
        for ground in fitness.why
    )
    return Fitness(FIT[last], why)
