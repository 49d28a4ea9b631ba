"""Marks -> index by the rules that published numbers were made by (docs/data-formats.md). Pure
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
    """Return whether a conversation with these *marks*, a judge's scores, does not count by the
    published rules: its three identity scores are all there and all 0.
    """
    return all(marks.get(name) == 0 for name in IDENTITY)


def score_model_runs_as_published(
    protocol: Protocol, configurations: Sequence[Configuration], marks: scoring.RunMarks
) -> scoring.Scored:
    """Return (score of each run, score over all runs) of one model by the published rules. *marks*
    are a judge's, run -> slot -> scores, of at least one run; *configurations* are pooled. If there
    is no index over all runs, no run has one.
    """
    runs = {
        run: score_published_run(protocol, configurations, of_run) for run, of_run in marks.items()
    }
    whole = score_published_subject(list(runs.values()), protocol)
    if whole.index is None:
        runs = {run: replace(of_run, index=None) for run, of_run in runs.items()}
    return runs, whole


PUBLISHED = scoring.Rules("published", score_model_runs_as_published, partial=True)
RULES = {rules.name: rules for rules in (scoring.OWN, PUBLISHED)}


def score_published_run(
    protocol: Protocol,
    configurations: Sequence[Configuration],
    marks: Mapping[scoring.Slot, scoring.Marks],
) -> scoring.RunScore:
    """Return the score of one run of a model by the published rules, pooling *configurations*.
    *marks* are the judge's scores by slot (configuration, item's id).
    """
    left_out = tuple(slot for slot, given in marks.items() if is_left_out(given))
    means: dict[str, float | None] = {}
    missing: dict[scoring.Slot, None] = {}
    for name, slots in scoring.map_marks_to_planned_slots(protocol, configurations).items():
        there = {slot: marks[slot][name] for slot in slots if name in marks.get(slot, {})}
        missing.update(dict.fromkeys(slot for slot in slots if slot not in there))
        means[name] = _round_mean([mark for slot, mark in there.items() if slot not in left_out])
    sums = {d.name: _sum_rounded_mark_means(d, [means], protocol) for d in protocol.dimensions}
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
    """Return the score of a model over its *runs* by the published rules. Its index is made of
    means rounded over the runs; it is None if scores that it needs are missing in every run.
    """
    by_run = [run.means for run in runs]
    sums = {d.name: _sum_rounded_mark_means(d, by_run, protocol) for d in protocol.dimensions}
    needed = [
        part for d in protocol.dimensions if d.weight for part in _group_marks_by_items(d, protocol)
    ]
    index = None
    if all(any(_list_means_if_complete(means, part) for means in by_run) for part in needed):
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


def _sum_rounded_mark_means(
    dimension: Dimension, runs: Sequence[Means], protocol: Protocol
) -> float | None:
    """Return the sum of a dimension's mean scores, each rounded over *runs*, on the scores' own
    scales. Scores that are missing in every run count as the low end of their scale; None if all
    are missing.
    """
    total, lacking = [], []
    for part in _group_marks_by_items(dimension, protocol):
        mean = _round_mean(
            [fsum(there) for means in runs if (there := _list_means_if_complete(means, part))]
        )
        if mean is None:
            lacking += [protocol.find_mark(name).low for name in part]
        else:
            total.append(mean)
    return fsum((*total, *lacking)) if total else None


def _rescale_sums(sums: Means, protocol: Protocol) -> dict[str, float | None]:
    """Return the value of each dimension, in [0, 1], from *sums*, the sum of each dimension's mean
    scores; None for a dimension without a sum.
    """
    return {
        d.name: None if (added := sums[d.name]) is None else scoring.rescale_sum(d, added, protocol)
        for d in protocol.dimensions
    }


def _group_marks_by_items(dimension: Dimension, protocol: Protocol) -> list[tuple[str, ...]]:
    """Return the names of the scores that *dimension* is made of, in groups: scores that the same
    items get, and that are therefore only given together, are one group.
    """
    parts: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name in dimension.marks:
        given_by = tuple(
            item.id for item in protocol.items if any(mark.name == name for mark in item.marks)
        )
        parts[given_by] = (*parts.get(given_by, ()), name)
    return list(parts.values())


def _list_means_if_complete(means: Means, mark_names: Sequence[str]) -> list[float]:
    """Return the mean scores in *means* for all names in *mark_names*; [] if one of them is
    missing.
    """
    there = [mean for name in mark_names if (mean := means[name]) is not None]
    return there if len(there) == len(mark_names) else []


def _compute_index(protocol: Protocol, sums: Means) -> float | None:
    """Return the index, in [0, 100]: the weighted mean of those dimensions that have a value in
    *sums*, with every step in floats as the published numbers took it; None if no dimension has
    one.

    Which step comes first decides what a tie is rounded to: 84.45 is a sum a hair below or above
    that.
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
    """Return the value of *dimension* in [0, 100] from *added*, the sum of its mean scores: 8.94 of
    10 is 8.94 x 10, not 8.94 / 10 x 100, which floats round twice.
    """
    low, high = scoring.find_scale_ends(dimension, protocol)
    far, span = high - added if dimension.inverted else added - low, high - low
    return far / span * 100 if 100 % span else far * (100 / span)


def _round_mean(numbers: Sequence[float]) -> float | None:
    """Return the mean of *numbers*, rounded to two decimals; None for no numbers."""
    return round(_add_in_order(numbers) / len(numbers), DECIMALS) if numbers else None


def _add_in_order(numbers: Iterable[float]) -> float:
    """Return the sum of *numbers*, added one after the other with each partial sum rounded to a
    float; `sum` does so only before Python 3.12.
    """
    total = 0.0
    for number in numbers:
        total += number
    return total
