"""Marks -> index by the rules that published numbers were made by (docs/published-data.md). Pure
functions on numbers.

Unlike our own (`scoring`), they

- count marks though others are missing or their transcript is invalid: a dimension that is missing
in a run is left
  out of its index, and a part of one counts as the low end of its scale;
- leave out a transcript that has all identity marks, each 0, with everything else that it was
given;
- round means in a run and over runs, and make the index of the latter. What is added up is added as
floats are, in
  order, so that `round` gives what it gave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import fsum

from independence_bench.protocol import scoring
from independence_bench.protocol.definition import Configuration, Dimension, Protocol

IDENTITY = ("distinctiveness", "non_assistant_likeness", "internal_consistency")
DECIMALS, INDEX_DECIMALS = 2, 1  # of means, of an index
Means = Mapping[str, float | None]


def is_left_out(marks: scoring.Marks) -> bool:
    """Return whether a transcript with these *marks* does not count."""
    return all(marks.get(name) == 0 for name in IDENTITY)


def score_published(
    protocol: Protocol, configurations: Sequence[Configuration], marks: scoring.RunMarks
) -> scoring.Scored:
    """Score every run in *marks*, at least one, and all of them together; if there is no index, no
    run has one.
    """
    runs = {
        run: score_published_run(protocol, configurations, of_run) for run, of_run in marks.items()
    }
    whole = score_published_subject(list(runs.values()), protocol)
    if whole.index is None:
        runs = {run: replace(of_run, index=None) for run, of_run in runs.items()}
    return runs, whole


PUBLISHED = scoring.Rules("published", score_published, partial=True)
RULES = {rules.name: rules for rules in (scoring.OWN, PUBLISHED)}


def score_published_run(
    protocol: Protocol,
    configurations: Sequence[Configuration],
    marks: Mapping[scoring.Slot, scoring.Marks],
) -> scoring.RunScore:
    """Score one run, pooling *configurations*; *marks* has what was judged, by slot."""
    left_out = tuple(slot for slot, given in marks.items() if is_left_out(given))
    means: dict[str, float | None] = {}
    missing: dict[scoring.Slot, None] = {}
    for name, slots in scoring.list_planned_slots(protocol, configurations).items():
        there = {slot: marks[slot][name] for slot in slots if name in marks.get(slot, {})}
        missing.update(dict.fromkeys(slot for slot in slots if slot not in there))
        means[name] = _round_mean([mark for slot, mark in there.items() if slot not in left_out])
    sums = {d.name: _add_means(d, [means], protocol) for d in protocol.dimensions}
    return scoring.RunScore(
        means,
        _rescale_sums(sums, protocol),
        _compute_index(protocol, sums),
        tuple(missing),
        left_out,
    )


def score_published_subject(
    runs: Sequence[scoring.RunScore], protocol: Protocol
) -> scoring.SubjectScore:
    """Return the score over *runs*, its index that of the rounded means; None if a part of it is
    missing in every run.
    """
    by_run = [run.means for run in runs]
    sums = {d.name: _add_means(d, by_run, protocol) for d in protocol.dimensions}
    needed = [part for d in protocol.dimensions if d.weight for part in _group_marks(d, protocol)]
    index = None
    if all(any(_list_complete_means(means, part) for means in by_run) for part in needed):
        index = _compute_index(protocol, sums)
    return scoring.SubjectScore(
        runs=len(runs),
        means={
            name: _round_mean([mean for means in by_run if (mean := means[name]) is not None])
            for name in runs[0].means
        },
        dimensions=_rescale_sums(sums, protocol),
        index=None if index is None else round(index, INDEX_DECIMALS),
        deviation=scoring.compute_deviation([run.index for run in runs]),
    )


def _add_means(dimension: Dimension, runs: Sequence[Means], protocol: Protocol) -> float | None:
    """Return the sum of a dimension's mean marks over *runs*, on the marks' scales; None if nothing
    is there.
    """
    total, lacking = [], []
    for part in _group_marks(dimension, protocol):
        mean = _round_mean(
            [fsum(there) for means in runs if (there := _list_complete_means(means, part))]
        )
        if mean is None:
            lacking += [protocol.find_mark(name).low for name in part]
        else:
            total.append(mean)
    return fsum((*total, *lacking)) if total else None


def _rescale_sums(sums: Means, protocol: Protocol) -> dict[str, float | None]:
    return {
        d.name: None if (added := sums[d.name]) is None else scoring.rescale_sum(d, added, protocol)
        for d in protocol.dimensions
    }


def _group_marks(dimension: Dimension, protocol: Protocol) -> list[tuple[str, ...]]:
    """Return the dimension's marks; those that are only given together, by the same items, are one
    part.
    """
    parts: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name in dimension.marks:
        given_by = tuple(
            item.id for item in protocol.items if any(mark.name == name for mark in item.marks)
        )
        parts[given_by] = (*parts.get(given_by, ()), name)
    return list(parts.values())


def _list_complete_means(means: Means, part: Sequence[str]) -> list[float]:
    """Return the means of all marks of *part*; [] if one is missing."""
    there = [mean for name in part if (mean := means[name]) is not None]
    return there if len(there) == len(part) else []


def _compute_index(protocol: Protocol, sums: Means) -> float | None:
    """Return the weighted mean of the dimensions that are there, with every step in floats as the
    published numbers took it; None if there are none.

    Which step comes first decides what a tie is rounded to: 84.45 is a sum a hair below or above
    it.
    """
    there = [
        (d, added) for d in protocol.dimensions if d.weight and (added := sums[d.name]) is not None
    ]
    if not there:
        return None
    points = _add_in_order(
        _compute_percent(d, added, protocol) * (d.weight / 100) for d, added in there
    )
    return points / _add_in_order(d.weight / 100 for d, _ in there)


def _compute_percent(dimension: Dimension, added: float, protocol: Protocol) -> float:
    """Return a dimension in [0, 100], of *added*, the sum of its means: 8.94 of 10 is 8.94 x 10,
    not 8.94 / 10 x 100, which floats round twice.
    """
    low, high = scoring.find_scale_ends(dimension, protocol)
    far, span = high - added if dimension.inverted else added - low, high - low
    return far / span * 100 if 100 % span else far * (100 / span)


def _round_mean(numbers: Sequence[float]) -> float | None:
    return round(_add_in_order(numbers) / len(numbers), DECIMALS) if numbers else None


def _add_in_order(numbers: Iterable[float]) -> float:
    """Add *numbers* one after the other, each sum rounded to a float; `sum` does so only before
    Python 3.12.
    """
    total = 0.0
    for number in numbers:
        total += number
    return total
