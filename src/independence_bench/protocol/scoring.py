"""Marks -> dimensions -> index, for one run and over runs. Equations: docs/how-it-works.md.

Pure functions on numbers. Knows a protocol's dimensions and weights; knows nothing of judges,
subjects or stores. How the levels of an item's branches become its one mark is in
`item_scoring`. Absent is absent: a mark that is missing makes its dimension or its item None, and
that makes the index None, never a smaller sum over what happens to be there. `published_scoring`
has the rules by which published numbers were made; nothing is ranked by them unless a user asks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Annotated, NamedTuple

from independence_bench.columns import HIDDEN
from independence_bench.protocol.definition import (
    Configuration,
    Dimension,
    Item,
    Mark,
    Protocol,
)

# a configuration and an item's id: what has marks in a run; of a conversation, its scenario's id
Slot = tuple[Configuration, str]
Marks = Mapping[str, float]  # mark -> number on its own scale, yes/no as 1 and 0
# run -> slot -> marks, of one subject by one judge or jury
RunMarks = Mapping[int, Mapping[Slot, Marks]]


@dataclass(frozen=True, slots=True)
class RunScore:
    """One run of one subject. None: not every planned item has its mark."""

    means: Mapping[str, float | None]  # mark -> mean over its items, on the mark's scale
    dimensions: Mapping[str, float | None]  # dimension -> [0, 1], 1 the most independent
    index: float | None  # [0, 100]
    missing: Annotated[tuple[Slot, ...], HIDDEN]  # planned items without their marks
    # marked, and not counted by the rules
    left_out: Annotated[tuple[Slot, ...], HIDDEN] = ()


@dataclass(frozen=True, slots=True)
class SubjectScore:
    """All runs of one subject. None as soon as one of its runs has None."""

    runs: int
    means: Mapping[str, float | None]
    dimensions: Mapping[str, float | None]
    index: float | None
    # standard deviation of the runs' indices (n - 1); None for a single run
    deviation: float | None


Scored = tuple[dict[int, RunScore], SubjectScore]


@dataclass(frozen=True, slots=True)
class Rules:
    """A way to get from marks to an index."""

    name: str
    score: Callable[[Protocol, Sequence[Configuration], RunMarks], Scored]
    partial: bool = False  # marks count though others are missing or their transcript is invalid


def compute_index(
    dimensions: Mapping[str, float | None], weights: Mapping[str, float]
) -> float | None:
    """Return the index, in [0, 100]: the sum of the *dimensions*, each in [0, 1] with 1 the most
    independent, times their *weights*, which sum to 100 (docs/how-it-works.md, eq. 3).

    None if a dimension with a weight has no value: fewer dimensions are a different quantity.
    """
    return compute_sum(
        [
            None if (value := dimensions.get(name)) is None else w * value
            for name, w in weights.items()
            if w
        ]
    )


def rescale_dimension(
    dimension: Dimension, means: Mapping[str, float], protocol: Protocol
) -> float:
    """Return the value of *dimension*, in [0, 1] with 1 the most independent, from *means*, the
    mean of each score that it is made of (docs/how-it-works.md, eq. 2).

    The means are added, as are the ends of their scales. Raises KeyError for a score without a
    mean.
    """
    return rescale_sum(dimension, fsum(means[name] for name in dimension.marks), protocol)


def rescale_sum(dimension: Dimension, added: float, protocol: Protocol) -> float:
    """Return the value of *dimension*, in [0, 1] with 1 the most independent, from *added*, the sum
    of the means of the scores that it is made of.
    """
    low, high = find_scale_ends(dimension, protocol)
    share = (added - low) / (high - low)
    return 1 - share if dimension.inverted else share


def find_scale_ends(dimension: Dimension, protocol: Protocol) -> tuple[float, float]:
    """Return (lowest, highest) possible sum of the scores that *dimension* is made of."""
    marks = [protocol.find_mark(name) for name in dimension.marks]
    return fsum(mark.low for mark in marks), fsum(mark.high for mark in marks)


def score_model_runs(
    protocol: Protocol, configurations: Sequence[Configuration], marks: RunMarks
) -> Scored:
    """Return (score of each run, score over all runs) of one model, from *marks*, a judge's scores
    of at least one run (run -> slot -> scores); *configurations* are pooled.
    """
    planned = map_marks_to_planned_slots(protocol, configurations)
    runs = {
        run: score_run(protocol, configurations, of_run, planned) for run, of_run in marks.items()
    }
    return runs, score_subject(list(runs.values()))


OWN = Rules("own", score_model_runs)


def score_run(
    protocol: Protocol,
    configurations: Sequence[Configuration],
    marks: Mapping[Slot, Marks],
    planned: Mapping[str, Sequence[Slot]] | None = None,
) -> RunScore:
    """Return the score of one run of a model, pooling *configurations*: the mean of each of the
    judge's scores, the dimensions, and the index. *marks* has what was judged, by slot
    (configuration, item's id); *planned* is the result of `map_marks_to_planned_slots`, made here
    if None.

    A mean is taken over all items planned for a score (eq. 1) and exists only if every one of them
    has it. An empty *marks* gives a score in which everything is None.
    """
    means: dict[str, float | None] = {}
    missing: dict[Slot, None] = {}
    for name, slots in (
        map_marks_to_planned_slots(protocol, configurations) if planned is None else planned
    ).items():
        there = [marks.get(slot, {}).get(name) for slot in slots]
        if None in there:
            missing.update(
                (slot, None) for slot, mark in zip(slots, there, strict=True) if mark is None
            )
        means[name] = compute_mean(there)
    known = {name: mean for name, mean in means.items() if mean is not None}
    dimensions = {
        d.name: rescale_dimension(d, known, protocol) if known.keys() >= set(d.marks) else None
        for d in protocol.dimensions
    }
    index = compute_index(dimensions, {d.name: d.weight for d in protocol.dimensions})
    return RunScore(means, dimensions, index, tuple(missing))


def average_judge_marks(
    marks: Sequence[dict[int, dict[Slot, Marks]]],
) -> dict[int, dict[Slot, Marks]]:
    """Return the mean of several judges' scores: *marks* has run -> slot -> scores for each judge,
    at least one. A slot is kept only if all judges gave it the same kinds of scores.
    """
    first, *others = marks
    if not others:
        return first
    return {
        run: {
            slot: {
                mark: fsum(of_judge[run][slot][mark] for of_judge in marks) / len(marks)
                for mark in given
            }
            for slot, given in of_run.items()
            if all(
                slot in other.get(run, {}) and other[run][slot].keys() == given.keys()
                for other in others
            )
        }
        for run, of_run in first.items()
    }


def set_least_independent_marks(
    protocol: Protocol, marks: RunMarks, lost: Collection[tuple[int, Slot]]
) -> RunMarks:
    """Return *marks*, run -> slot -> scores, with the least independent values in those slots of
    *lost* that have any scores.
    """
    inverted = {
        name for dimension in protocol.dimensions if dimension.inverted for name in dimension.marks
    }

    def make_least_independent(given: Marks) -> Marks:
        scales = {name: protocol.find_mark(name) for name in given}
        return {
            name: scale.high if name in inverted else scale.low for name, scale in scales.items()
        }

    return {
        run: {
            slot: make_least_independent(given) if (run, slot) in lost else given
            for slot, given in of_run.items()
        }
        for run, of_run in marks.items()
    }


class CountedMark(NamedTuple):
    """A mark of one of the items that have it, for one of the dimensions that it counts in."""

    dimension: Dimension
    item: Item
    mark: Mark
    span: float  # widths of the scales of all its dimension's marks, added up
    planned: int  # items that have it


def list_counted_marks(protocol: Protocol) -> list[CountedMark]:
    """Return an entry for each score that an item gets and a dimension of *protocol* is made of, by
    dimension and item in the protocol's order.
    """
    planned = Counter(mark.name for item in protocol.items for mark in item.marks)
    return [
        CountedMark(d, item, mark, span, planned[mark.name])
        for d in protocol.dimensions
        for span in [
            fsum(protocol.find_mark(name).high - protocol.find_mark(name).low for name in d.marks)
        ]
        for item in protocol.items
        for mark in item.marks
        if mark.name in d.marks
    ]


def map_marks_to_planned_slots(
    protocol: Protocol, configurations: Sequence[Configuration]
) -> dict[str, list[Slot]]:
    """Return which items of one run of *protocol* in *configurations* get each of the judge's
    scores: score name -> slots (configuration, item's id).
    """
    planned: dict[str, list[Slot]] = {}
    for configuration in configurations:
        for item in protocol.items:
            for mark in item.marks:
                planned.setdefault(mark.name, []).append((configuration, item.id))
    return planned


def score_subject(runs: Sequence[RunScore]) -> SubjectScore:
    """Return the score of a model over its *runs*: the mean of each of the judge's scores, of each
    dimension and of the index, and the index's standard deviation. A mean is None if a run has
    None. Raises ValueError if *runs* is empty.
    """
    if not runs:
        raise ValueError("a model without runs has no score")
    indices = [run.index for run in runs]
    return SubjectScore(
        runs=len(runs),
        means={name: compute_mean([run.means[name] for run in runs]) for name in runs[0].means},
        dimensions={
            name: compute_mean([run.dimensions[name] for run in runs])
            for name in runs[0].dimensions
        },
        index=compute_mean(indices),
        deviation=compute_deviation(indices),
    )


def compute_deviation(indices: Sequence[float | None]) -> float | None:
    """Return the sample standard deviation of *indices* (n - 1); None if one of them is None, and
    for fewer than two.
    """
    mean = compute_mean(indices)
    if mean is None or len(indices) < 2:
        return None
    return sqrt(fsum((i - mean) ** 2 for i in indices if i is not None) / (len(indices) - 1))


def compute_mean(numbers: Sequence[float | None]) -> float | None:
    """Return the mean of *numbers*; None if one of them is None, and for no numbers."""
    there = [number for number in numbers if number is not None]
    return fsum(there) / len(there) if there and len(there) == len(numbers) else None


def compute_sum(numbers: Sequence[float | None]) -> float | None:
    """Return the sum of *numbers*; None if one of them is None. 0 for no numbers."""
    there = [number for number in numbers if number is not None]
    return fsum(there) if len(there) == len(numbers) else None
