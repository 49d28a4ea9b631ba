"""Marks -> dimensions -> index, for one run and over runs. The equations are in docs/scoring.md.

Pure functions on numbers. Knows a protocol's dimensions and weights; knows nothing of judges, subjects or
stores. Absent is absent: a mark that is missing makes its dimension None, and that makes the index None,
never a smaller sum over what happens to be there. Only `PUBLISHED`, the rules by which published numbers were made,
says otherwise (docs/published-data.md); nothing is ranked by them unless somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from independence_bench.errors import MissingMarks
from independence_bench.protocol.definition import Configuration, Dimension, Protocol

Slot = tuple[Configuration, str]  # a configuration and a scenario's id: one transcript of a run
Marks = Mapping[str, float]  # mark -> number on its own scale, yes/no as 1 and 0


@dataclass(frozen=True, slots=True)
class Rules:
    """What differs between two ways to get from marks to an index. The defaults are our own (docs/scoring.md)."""

    name: str = "own"
    lenient: bool = False
    """Marks count though others are missing or their transcript is invalid; a dimension that is missing in a run is
    left out of its index, and a part of one counts as the low end of its scale."""
    nothing_where_zero: tuple[str, ...] = ()
    """A transcript that has all of these marks, each 0, is left out with everything else that it was given."""
    decimals: int | None = None  # to which means are rounded, in a run and over runs; the index is made of the latter
    index_decimals: int | None = None
    """Where both are given: what is added up is added as floats are, in order, so that `round` gives what it gave."""

    def leave_out(self, marks: Marks) -> bool:
        """Whether a transcript with these *marks* does not count."""
        names = self.nothing_where_zero
        return bool(names) and all(marks.get(name) == 0 for name in names)


OWN = Rules()
PUBLISHED = Rules(
    "published",
    lenient=True,
    nothing_where_zero=("distinctiveness", "non_assistant_likeness", "internal_consistency"),
    decimals=2,
    index_decimals=1,
)
RULES = {rules.name: rules for rules in (OWN, PUBLISHED)}


@dataclass(frozen=True, slots=True)
class RunScore:
    """One run of one subject. None: not every planned transcript has its mark."""

    means: Mapping[str, float | None]  # mark -> mean over its transcripts, on the mark's scale
    dimensions: Mapping[str, float | None]  # dimension -> [0, 1], 1 the most independent
    index: float | None  # [0, 100]
    missing: tuple[Slot, ...]  # planned transcripts without their marks
    left_out: tuple[Slot, ...] = ()  # marked, and not counted by the rules


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
    return _rescale(dimension, fsum(means[name] for name in dimension.marks), protocol)


def _rescale(dimension: Dimension, added: float, protocol: Protocol) -> float:
    low, high = _ends(dimension, protocol)
    share = (added - low) / (high - low)
    return 1 - share if dimension.inverted else share


def _ends(dimension: Dimension, protocol: Protocol) -> tuple[float, float]:
    marks = [protocol.mark(name) for name in dimension.marks]
    return fsum(mark.low for mark in marks), fsum(mark.high for mark in marks)


def score_run(
    protocol: Protocol, configurations: Sequence[Configuration], marks: Mapping[Slot, Marks], rules: Rules = OWN
) -> RunScore:
    """Score one run, pooling *configurations*; *marks* has what was judged, by slot.

    A mark's mean is taken over all transcripts planned for it (eq. 1) and exists only if every one of them
    has it. An empty *marks* gives a score in which everything is None.
    """
    left_out = tuple(slot for slot, given in marks.items() if rules.leave_out(given))
    counted = {slot: given for slot, given in marks.items() if slot not in left_out}
    means: dict[str, float | None] = {}
    missing: dict[Slot, None] = {}
    for name, slots in _planned(protocol, configurations).items():
        given = [counted[slot][name] for slot in slots if name in counted.get(slot, {})]
        missing.update(dict.fromkeys(slot for slot in slots if name not in marks.get(slot, {})))
        means[name] = _mean(given, rules) if len(given) == len(slots) or rules.lenient else None
    added = {d.name: _added(d, [means], protocol, rules) for d in protocol.dimensions}
    dimensions = _rescaled(added, protocol)
    index = _published_index(protocol, added) if rules.lenient else _index(protocol, dimensions)
    return RunScore(means, dimensions, index, tuple(missing), left_out)


def _planned(protocol: Protocol, configurations: Sequence[Configuration]) -> dict[str, list[Slot]]:
    """Mark -> the transcripts of a run that are to have it."""
    planned: dict[str, list[Slot]] = {}
    for configuration in configurations:
        for scenario in protocol.scenarios:
            for mark in scenario.marks:
                planned.setdefault(mark.name, []).append((configuration, scenario.id))
    return planned


def _added(
    dimension: Dimension, runs: Sequence[Mapping[str, float | None]], protocol: Protocol, rules: Rules
) -> float | None:
    """The means of a dimension's marks in *runs*, added up, on the marks' scales; None where it is missing."""
    parts = _parts(dimension, protocol) if rules.lenient else [dimension.marks]
    added = [_mean([fsum(there) for run in runs if (there := _there(run, part))], rules) for part in parts]
    known = [value for value in added if value is not None]
    if not known or (len(known) < len(parts) and not rules.lenient):
        return None
    lacking = [name for part, value in zip(parts, added, strict=True) if value is None for name in part]
    return fsum((*known, *(protocol.mark(name).low for name in lacking)))


def _rescaled(added: Mapping[str, float | None], protocol: Protocol) -> dict[str, float | None]:
    """Every dimension in [0, 1] from what its marks add up to; None where it is missing."""
    return {
        d.name: None if (there := added[d.name]) is None else _rescale(d, there, protocol) for d in protocol.dimensions
    }


def _parts(dimension: Dimension, protocol: Protocol) -> list[tuple[str, ...]]:
    """The dimension's marks; those that are only given together, by the same scenarios, are one part."""
    parts: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name in dimension.marks:
        given_by = tuple(s.id for s in protocol.scenarios if any(mark.name == name for mark in s.marks))
        parts[given_by] = (*parts.get(given_by, ()), name)
    return list(parts.values())


def _there(means: Mapping[str, float | None], part: Sequence[str]) -> list[float]:
    """The means of all marks of *part*; nothing where one is missing."""
    there = [mean for name in part if (mean := means[name]) is not None]
    return there if len(there) == len(part) else []


def _mean(numbers: Sequence[float], rules: Rules) -> float | None:
    if rules.decimals is None:
        return mean_of(numbers)
    return round(_sum(numbers) / len(numbers), rules.decimals) if numbers else None


def _sum(numbers: Iterable[float]) -> float:
    """One after the other, each sum rounded to a float; `sum` does so only before Python 3.12."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def _index(protocol: Protocol, dimensions: Mapping[str, float | None]) -> float | None:
    there = {name: value for name, value in dimensions.items() if value is not None}
    try:
        return independence_index(there, {d.name: d.weight for d in protocol.dimensions})
    except MissingMarks:
        return None


def _published_index(protocol: Protocol, added: Mapping[str, float | None]) -> float | None:
    """The weighted mean of what is there, with every step in floats as the published numbers took it.

    Which step comes first decides what a tie is rounded to: 84.45 is a sum a hair below or above it.
    """
    there = [(d, value) for d in protocol.dimensions if d.weight and (value := added[d.name]) is not None]
    if not there:
        return None
    points = _sum(_percent(d, value, protocol) * (d.weight / 100) for d, value in there)
    return points / _sum(d.weight / 100 for d, _ in there)


def _percent(dimension: Dimension, added: float, protocol: Protocol) -> float:
    """A dimension in [0, 100]: 8.94 of 10 is 8.94 x 10, not 8.94 / 10 x 100, which floats round twice."""
    low, high = _ends(dimension, protocol)
    far, span = high - added if dimension.inverted else added - low, high - low
    return far / span * 100 if 100 % span else far * (100 / span)


def score_subject(runs: Sequence[RunScore], protocol: Protocol | None = None, rules: Rules = OWN) -> SubjectScore:
    """The mean over *runs*, which must not be empty: of each mark, dimension and of the index.

    Rules that round make the index of the rounded means, for which they need the *protocol*.
    """
    if not runs:
        raise ValueError("a subject without runs has no score")
    if rules.decimals is not None:
        if protocol is None:
            raise ValueError("rules that round need the protocol")
        return _score_rounded(runs, protocol, rules)
    indices = [run.index for run in runs]
    return SubjectScore(
        runs=len(runs),
        means={name: mean_of([run.means[name] for run in runs]) for name in runs[0].means},
        dimensions={name: mean_of([run.dimensions[name] for run in runs]) for name in runs[0].dimensions},
        index=mean_of(indices),
        deviation=_deviation(indices),
    )


def _score_rounded(runs: Sequence[RunScore], protocol: Protocol, rules: Rules) -> SubjectScore:
    """As published: the index of the rounded means over runs; None where a part of it is missing in every run."""
    by_run = [run.means for run in runs]
    added = {d.name: _added(d, by_run, protocol, rules) for d in protocol.dimensions}
    needed = [part for d in protocol.dimensions if d.weight for part in _parts(d, protocol)]
    index = None
    if all(any(_there(means, part) for means in by_run) for part in needed):
        index = _published_index(protocol, added)
    return SubjectScore(
        runs=len(runs),
        means={
            name: _mean([mean for means in by_run if (mean := means[name]) is not None], rules)
            for name in runs[0].means
        },
        dimensions=_rescaled(added, protocol),
        index=index if index is None or rules.index_decimals is None else round(index, rules.index_decimals),
        deviation=_deviation([run.index for run in runs]),
    )


def _deviation(indices: Sequence[float | None]) -> float | None:
    mean = mean_of(indices)
    if mean is None or len(indices) < 2:
        return None
    return sqrt(fsum((i - mean) ** 2 for i in indices if i is not None) / (len(indices) - 1))


def mean_of(numbers: Sequence[float | None]) -> float | None:
    """The mean of *numbers*; None as soon as one is None, and for no numbers."""
    there = [number for number in numbers if number is not None]
    return fsum(there) / len(there) if there and len(there) == len(numbers) else None
