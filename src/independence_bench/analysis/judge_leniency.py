"""The indices that several judges give the same subjects: which judge is lenient, and which prefers
its own kind. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from independence_bench.analysis.statistics.sample_means import (
    FEWEST_ELSEWHERE,
    estimate_mean_difference_interval,
    estimate_paired_difference_interval,
)
from independence_bench.analysis.statistics.values import Interval
from independence_bench.columns import Column
from independence_bench.figures import DIFFERENCE, Difference, Points
from independence_bench.models.spec import ChatModel, find_vendor
from independence_bench.protocol.scoring import compute_mean

Indices = Mapping[str, Mapping[str, float]]  # judge -> subject (hashes) -> index
VARIANTS = ("free", "nitro", "floor", "extended", "online", "exacto")  # of one model on OpenRouter


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """The indices of one subject by each judge."""

    label: str
    indices: Mapping[str, Points | None]  # judge's label -> index, in the judges' order
    # over the judges that have an index for most subjects; None where one of them lacks this one
    mean: Points | None
    spread: Points | None  # the highest minus the lowest of the same


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """How much more a judge gives its own kind of model than the other judges give the same
    models.
    """

    judge: str  # label
    whom: Literal["itself", "its family"]
    family: str | None  # vendor
    subjects: int
    difference: Difference  # its index minus the mean of the others', over these subjects
    elsewhere: Difference | None  # the same over the subjects that are not of its family
    elsewhere_subjects: int
    # 95%, of the preference, over subjects like these; None: `why_no_interval` says why
    interval: Annotated[Interval | None, Column(format=DIFFERENCE, key="preference_interval")]

    @property
    def preference(self) -> Annotated[float | None, DIFFERENCE]:
        """Points by which a judge's index exceeds the other judges' for its own kind of model,
        minus the same excess for all other models; None if there are no other models.
        """
        return None if self.elsewhere is None else self.difference - self.elsewhere

    @property
    def why_no_interval(self) -> Annotated[str | None, Column(key="no_interval_because")]:
        """Reason why a judge's preference for its own kind has no interval; None if it has one."""
        if self.interval is not None:
            return None
        if self.elsewhere_subjects < FEWEST_ELSEWHERE:
            return (
                f"{FEWEST_ELSEWHERE} other models are needed, and there are "
                f"{self.elsewhere_subjects}"
            )
        return "all other models are given exactly the same"


def make_subject_rows(
    indices: Indices, judges: Mapping[str, str], labels: Mapping[str, str]
) -> tuple[SubjectRow, ...]:
    """Return a row for every model that a judge has an index for, with the index by each judge,
    their mean and their spread; the highest mean first.

    *judges* and *labels* (of models) are labels by hash. Mean and spread are None unless all judges
    that rank at least half of the models, two or more, rank this one.
    """
    panel, rows = _list_judges_of_most_subjects(indices, tuple(judges)), []
    for subject in {subject: None for of in indices.values() for subject in of}:
        given = {judge: indices.get(judge, {}).get(subject) for judge in judges}
        there = [index for judge in panel if (index := given[judge]) is not None]
        both = (
            (compute_mean(there), max(there) - min(there))
            if len(there) == len(panel) > 1
            else (None, None)
        )
        by_label = {judges[judge]: index for judge, index in given.items()}
        rows.append(SubjectRow(labels[subject], by_label, *both))
    return tuple(
        sorted(rows, key=lambda row: (-(row.mean if row.mean is not None else -1.0), row.label))
    )


def pair_index_with_others(
    judge: str, indices: Indices, judges: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """Return model's hash -> (index by *judge*, mean index by the other judges), for models that
    this judge and all other judges of the panel have an index for.

    The panel are the judges that have an index for at least half of the models.
    """
    others = [other for other in _list_judges_of_most_subjects(indices, judges) if other != judge]
    compared = {}
    for subject, index in indices.get(judge, {}).items():
        mean = compute_mean([indices[other].get(subject) for other in others])
        if mean is not None:
            compared[subject] = (index, mean)
    return compared


def estimate_leniency(
    own_and_others_index: Mapping[str, tuple[float, float]],
) -> tuple[float | None, Interval | None]:
    """Return a judge's leniency in points, the mean over models of its index minus the other
    judges' mean index, and the 95% interval of this for other models like these. Both are None
    without models; the interval is None for fewer than three.

    *own_and_others_index*: model -> (index by the judge, mean index by the others).
    """
    pairs = list(own_and_others_index.values())
    sampled = estimate_paired_difference_interval(np.array(pairs).reshape(-1, 2) / 100)
    interval = None if sampled is None else sampled.scale_interval(100)
    return compute_mean([own - others for own, others in pairs]), interval


def estimate_self_and_family_preference(
    label: str,
    model: str,
    own_and_others_index: Mapping[str, tuple[float, float]],
    subjects: Mapping[str, ChatModel],
) -> Iterator[SelfPreference]:
    """Yield how much the judge *model* prefers itself, and how much it prefers the other models of
    its vendor; neither is yielded if no such model was judged.

    *own_and_others_index*: model's hash -> (index by this judge, mean index by the other judges),
    as from `pair_index_with_others`. *label* is the judge's and *subjects* are the models, by hash.
    """
    family = find_vendor(model)
    itself, kin, rest = list[float](), list[float](), list[float]()
    for subject, (own, others) in own_and_others_index.items():
        name = subjects[subject].model
        same = strip_model_variant(name) == strip_model_variant(model)
        related = family is not None and find_vendor(name) == family
        (itself if same else kin if related else rest).append(own - others)
    groups: tuple[tuple[Literal["itself", "its family"], list[float]], ...] = (
        ("itself", itself),
        ("its family", kin),
    )
    for whom, mine in groups:
        if (difference := compute_mean(mine)) is not None:
            elsewhere, interval = compute_mean(rest), estimate_mean_difference_interval(mine, rest)
            yield SelfPreference(
                label, whom, family, len(mine), difference, elsewhere, len(rest), interval
            )


def strip_model_variant(model: str) -> str:
    """Return a model's id in lower case and without the variant under which OpenRouter serves it,
    such as `:free`: with it, it is the same model.
    """
    name, _, variant = model.lower().rpartition(":")
    return name if variant in VARIANTS else model.lower()


def _list_judges_of_most_subjects(indices: Indices, judges: Sequence[str]) -> list[str]:
    """Return those of *judges* that have an index for at least half of all models. A judge that has
    just begun would leave few models that all judges have scored.
    """
    every = {subject for of in indices.values() for subject in of}
    return [judge for judge in judges if 2 * len(indices.get(judge, {})) >= len(every) > 0]
