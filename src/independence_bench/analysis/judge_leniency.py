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
    estimate_effect_interval,
    estimate_lone_interval,
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
    """How much more a judge gives its own kind than the other judges give the same subjects."""

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
        """The judge's lead over the others for its own kind minus its lead for all other subjects;
        None if there are no other subjects.
        """
        return None if self.elsewhere is None else self.difference - self.elsewhere

    @property
    def why_no_interval(self) -> Annotated[str | None, Column(key="no_interval_because")]:
        """Why the preference has no interval; None if it has one."""
        if self.interval is not None:
            return None
        if self.elsewhere_subjects < FEWEST_ELSEWHERE:
            return (
                f"{self.elsewhere_subjects} of the {FEWEST_ELSEWHERE} other subjects that it takes"
            )
        return "all other subjects are given exactly the same"


def make_subject_rows(
    indices: Indices, judges: Mapping[str, str], labels: Mapping[str, str]
) -> tuple[SubjectRow, ...]:
    """Return a row for every subject that a judge has an index for, the highest mean first.
    *judges* and *labels* (of subjects): hash -> label.
    """
    panel, rows = _list_panel_judges(indices, tuple(judges)), []
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
    """Return subject -> (this judge's index, the mean of the others'), for subjects that it and all
    others that rank most have an index for.
    """
    others = [other for other in _list_panel_judges(indices, judges) if other != judge]
    compared = {}
    for subject, index in indices.get(judge, {}).items():
        mean = compute_mean([indices[other].get(subject) for other in others])
        if mean is not None:
            compared[subject] = (index, mean)
    return compared


def estimate_leniency(
    compared: Mapping[str, tuple[float, float]],
) -> tuple[float | None, Interval | None]:
    """Return the mean of one judge's indices minus the others', and its interval over subjects like
    these. None for both without subjects.
    """
    pairs = list(compared.values())
    sampled = estimate_effect_interval(np.array(pairs).reshape(-1, 2) / 100)
    interval = None if sampled is None else sampled.scale_interval(100)
    return compute_mean([own - others for own, others in pairs]), interval


def estimate_self_preferences(
    label: str,
    model: str,
    compared: Mapping[str, tuple[float, float]],
    subjects: Mapping[str, ChatModel],
) -> Iterator[SelfPreference]:
    """Yield the preference of the judge *model* for itself, and for its family without itself.
    *compared* as by `pair_index_with_others`.
    """
    family = find_vendor(model)
    itself, kin, rest = list[float](), list[float](), list[float]()
    for subject, (own, others) in compared.items():
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
            elsewhere, interval = compute_mean(rest), estimate_lone_interval(mine, rest)
            yield SelfPreference(
                label, whom, family, len(mine), difference, elsewhere, len(rest), interval
            )


def strip_model_variant(model: str) -> str:
    """Return a model's id without its variant of serving: a judge with `:free` is the same
    model.
    """
    name, _, variant = model.lower().rpartition(":")
    return name if variant in VARIANTS else model.lower()


def _list_panel_judges(indices: Indices, judges: Sequence[str]) -> list[str]:
    """Return the judges that have an index for at least half of all subjects. A judge that has just
    begun would leave few subjects that all have judged.
    """
    every = {subject for of in indices.values() for subject in of}
    return [judge for judge in judges if 2 * len(indices.get(judge, {})) >= len(every) > 0]
