"""Marks -> dimensions -> index, for one run and over runs. The equations are in docs/scoring.md.

Pure functions on numbers. Knows a protocol's dimensions and weights; knows nothing of judges, subjects or
stores. Absent is absent: a mark that is missing makes its dimension None, and that makes the index None,
never a smaller sum over what happens to be there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from independence_bench.errors import MissingMarks
from independence_bench.protocol import Configuration, Dimension, Protocol

Slot = tuple[Configuration, str]  # a configuration and a scenario's id: one transcript of a run
Marks = Mapping[str, float]  # mark -> number on its own scale, yes/no as 1 and 0


@dataclass(frozen=True, slots=True)
class RunScore:
    """One run of one subject. None: not every planned transcript has its mark."""

    means: Mapping[str, float | None]  # mark -> mean over its transcripts, on the mark's scale
    dimensions: Mapping[str, float | None]  # dimension -> [0, 1], 1 the most independent
    index: float | None  # [0, 100]
    missing: tuple[Slot, ...]  # planned transcripts without their marks


@dataclass(frozen=True, slots=True)
class SubjectScore:
    """All runs of one subject. None as soon as one of its runs has None."""

    runs: int
    means: Mapping[str, float | None]
    dimensions: Mapping[str, float | None]
    index: float | None
    deviation: float | None  # standard deviation of the runs' indices (n - 1); None for a single run


def independence_index(dimensions: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Combine dimensions into the index (docs/scoring.md, eq. 3).

    *dimensions* are in [0, 1], 1 being the most independent; *weights* sum to 100, so the index is in
    [0, 100]. A dimension with a weight and without a value raises MissingMarks: fewer dimensions are a
    different quantity.
    """
    counted = {name: weight for name, weight in weights.items() if weight}
    if missing := counted.keys() - dimensions.keys():
        raise MissingMarks(missing)
    return fsum(weight * dimensions[name] for name, weight in counted.items())


def rescale(dimension: Dimension, means: Mapping[str, float], protocol: Protocol) -> float:
    """A dimension in [0, 1] from the means of its marks (docs/scoring.md, eq. 2).

    The means are added, as are the ends of their scales. Raises KeyError for a mark without a mean.
    """
    marks = [protocol.mark(name) for name in dimension.marks]
    low, high = fsum(mark.low for mark in marks), fsum(mark.high for mark in marks)
    share = (fsum(means[mark.name] for mark in marks) - low) / (high - low)
    return 1 - share if dimension.inverted else share


def score_run(protocol: Protocol, configurations: Sequence[Configuration], marks: Mapping[Slot, Marks]) -> RunScore:
    """Score one run, pooling *configurations*; *marks* has what was judged, by slot.

    A mark's mean is taken over all transcripts planned for it (eq. 1) and exists only if every one of them
    has it. An empty *marks* gives a score in which everything is None.
    """
    means: dict[str, float | None] = {}
    missing: dict[Slot, None] = {}
    planned: dict[str, list[Slot]] = {}
    for configuration in configurations:
        for scenario in protocol.scenarios:
            for mark in scenario.marks:
                planned.setdefault(mark.name, []).append((configuration, scenario.id))
    for name, slots in planned.items():
        without = [slot for slot in slots if name not in marks.get(slot, {})]
        missing.update(dict.fromkeys(without))
        means[name] = None if without else fsum(marks[slot][name] for slot in slots) / len(slots)
    there = {name: mean for name, mean in means.items() if mean is not None}
    dimensions = {
        d.name: rescale(d, there, protocol) if set(d.marks) <= there.keys() else None for d in protocol.dimensions
    }
    weights = {d.name: d.weight for d in protocol.dimensions}
    try:
        index = independence_index({n: v for n, v in dimensions.items() if v is not None}, weights)
    except MissingMarks:
        index = None
    return RunScore(means, dimensions, index, tuple(missing))


def score_subject(runs: Sequence[RunScore]) -> SubjectScore:
    """The mean over *runs*, which must not be empty: of each mark, dimension and of the index."""
    if not runs:
        raise ValueError("a subject without runs has no score")
    indices = [run.index for run in runs]
    index = mean_of(indices)
    deviation = None
    if index is not None and len(runs) > 1:
        deviation = sqrt(fsum((i - index) ** 2 for i in indices if i is not None) / (len(runs) - 1))
    return SubjectScore(
        runs=len(runs),
        means={name: mean_of([run.means[name] for run in runs]) for name in runs[0].means},
        dimensions={name: mean_of([run.dimensions[name] for run in runs]) for name in runs[0].dimensions},
        index=index,
        deviation=deviation,
    )


def mean_of(numbers: Sequence[float | None]) -> float | None:
    """The mean of *numbers*; None as soon as one is None, and for no numbers."""
    there = [number for number in numbers if number is not None]
    return fsum(there) / len(there) if there and len(there) == len(numbers) else None
