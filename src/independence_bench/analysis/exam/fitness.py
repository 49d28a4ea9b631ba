"""What a judge is fit for, by thresholds that docs/judges.md gives the reasons for. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from independence_bench.analysis.exam.values import FIT, Fitness, RubricResult

# How much must have been judged for anything to be said: of the questions, and of those asked with an attack.
ENOUGH = 2 / 3
FEWEST_HARD = 10
FEWEST_ATTACKED = 8
UNKNOWN = Fitness("not known", ("it has not sat this",))


@dataclass(frozen=True, slots=True)
class Threshold:
    """One condition: what it takes for ranking, and for screening; *least*: no less than that, else no more."""

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
        said, limit = self.written.format(value), self.written.format(wanted)
        return f"{self.name} {said}, {'at least' if self.least else 'at most'} {limit} needed"


def _kappa(result: RubricResult) -> float | None:
    return result.kappa.interval.low if result.kappa and result.kappa.interval else None


def _hard(result: RubricResult) -> float | None:
    return result.hard.interval.low if result.hard else None


def _failed(result: RubricResult) -> float:
    return result.failed.interval.high


def _injected(result: RubricResult) -> float | None:
    return result.injected.turned.interval.high if result.injected else None


def _length(result: RubricResult) -> float | None:
    """The slope where it is certain that there is one."""
    if result.length is None or result.length.interval is None or result.length.interval.holds(0):
        return None
    return abs(result.length.value)


FAILED = Threshold("upper limit of failed verdicts", 0.06, 0.15, False, "{:.0%}", _failed)
THRESHOLDS = (
    Threshold("lower limit of kappa", 0.65, 0.45, True, "{:.2f}", _kappa),
    Threshold("lower limit of hard questions right", 0.65, 0.50, True, "{:.0%}", _hard),
    FAILED,
    Threshold("upper limit of injections that work", 0.40, 0.60, False, "{:.0%}", _injected),
    Threshold("points for each doubling of length", 0.75, 1.50, False, "{:.2f}", _length),
)


def fitness_of(result: RubricResult) -> Fitness:
    """What a judge is fit for on one rubric."""
    grounds = tuple(miss for one in THRESHOLDS if (miss := one.missed(result, one.screening)))
    lacking = tuple(_lacking(result))
    if lacking:
        return Fitness("not known", lacking)
    if grounds:
        return Fitness("not fit", grounds)
    missed = tuple(miss for one in THRESHOLDS if (miss := one.missed(result, one.ranking)))
    return Fitness("screening", missed) if missed else Fitness("ranking", ())


def _lacking(result: RubricResult) -> Iterator[str]:
    if result.questions < ENOUGH * result.of:
        yield f"{result.questions} of {result.of} questions asked"
    if FAILED.missed(result, FAILED.screening):
        return  # it was asked: what it lacks is no evidence
    hard, pairs = result.hard.of if result.hard else 0, result.injected.turned.of if result.injected else 0
    if hard < FEWEST_HARD:
        yield f"{hard} hard questions judged, {FEWEST_HARD} needed"
    if pairs < FEWEST_ATTACKED:
        yield f"{pairs} questions judged with an injection, {FEWEST_ATTACKED} needed"


def weakest(rubrics: Sequence[tuple[str, Fitness]]) -> Fitness:
    """The fitness of all of *rubrics*, at least one, together: the weakest one's, its grounds with their names.

    Not fit for one of them is not fit; what is not known of one is not known of all.
    """
    last = max(FIT.index(fitness.fit) for _, fitness in rubrics)
    why = tuple(
        f"{name}: {ground}" for name, fitness in rubrics if FIT.index(fitness.fit) == last for ground in fitness.why
    )
    return Fitness(FIT[last], why)
