"""The indices that several judges give the same subjects: who is lenient, and who to its own kind.
Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from independence_bench.analysis.results import Key
from independence_bench.analysis.statistics.sample_means import (
    FEWEST_ELSEWHERE,
    effect_interval,
    lone_interval,
)
from independence_bench.analysis.statistics.values import Interval
from independence_bench.models.spec import ChatModel, vendor_of
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.scoring import mean_of
from independence_bench.store.results import Judgement

Indices = Mapping[str, Mapping[str, float]]  # judge -> subject (hashes) -> index
POINTS = 10.0  # a scale's length, as differences of marks are told
VARIANTS = ("free", "nitro", "floor", "extended", "online", "exacto")  # of one model on OpenRouter


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """One subject under each judge."""

    label: str
    indices: tuple[float | None, ...]  # in the judges' order
    # over the judges that have an index for most subjects; None where one of them lacks this one
    mean: float | None
    spread: float | None  # the highest minus the lowest of the same


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """What a judge gives its own kind, compared with what the others give the same subjects."""

    judge: str  # label
    whom: Literal["itself", "its family"]
    family: str | None  # vendor
    subjects: int
    own: float  # mean index
    others: float
    elsewhere: float | None  # own minus others, over the subjects that are not of its family
    elsewhere_subjects: int
    # 95%, of the preference, over subjects like these; None: `why_no_interval` says why
    interval: Interval | None

    @property
    def difference(self) -> float:
        """What it gives more than the others do, in points of the index."""
        return self.own - self.others

    @property
    def preference(self) -> float | None:
        """What it gives its own kind more than it gives others more; None where there are no
        others.
        """
        return None if self.elsewhere is None else self.difference - self.elsewhere

    @property
    def why_no_interval(self) -> str | None:
        """Why the preference has no interval; None: it has one."""
        if self.interval is not None:
            return None
        if self.elsewhere_subjects < FEWEST_ELSEWHERE:
            return (
                f"{self.elsewhere_subjects} of the {FEWEST_ELSEWHERE} other subjects that it takes"
            )
        return "all other subjects are given exactly the same"


@dataclass(frozen=True, slots=True)
class VendorLeniency:
    """What a judge gives one vendor's subjects, compared with what the others give for the same
    conversations.
    """

    judge: str  # label
    vendor: str
    own: bool  # the judge is by this vendor, too
    subjects: int
    conversations: int  # that it and another judge have marked
    # points of 0-10 in the subjects' favour: its mean mark minus the mean of the others'
    difference: float
    interval: Interval  # 95%, over subjects like these


def judging_half(counts: Mapping[str, int], of: int) -> list[str]:
    """The judges that have at least half of all; one that has just begun would leave little that
    all have judged.
    """
    return [judge for judge, count in counts.items() if count and 2 * count >= of]


def subject_rows(
    indices: Indices, judges: Sequence[str], labels: Mapping[str, str]
) -> tuple[SubjectRow, ...]:
    """Every subject that a judge has an index for, the highest mean first; *labels* of subjects by
    hash.
    """
    panel, rows = _panel(indices, judges), []
    for subject in {subject: None for of in indices.values() for subject in of}:
        given = {judge: indices.get(judge, {}).get(subject) for judge in judges}
        there = [index for judge in panel if (index := given[judge]) is not None]
        both = (
            (mean_of(there), max(there) - min(there))
            if len(there) == len(panel) > 1
            else (None, None)
        )
        rows.append(SubjectRow(labels[subject], tuple(given.values()), *both))
    return tuple(
        sorted(rows, key=lambda row: (-(row.mean if row.mean is not None else -1.0), row.label))
    )


def index_and_others(
    judge: str, indices: Indices, judges: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """Subject -> (this judge's index, the mean of the others'), where it and all others that rank
    most have one.
    """
    others = [other for other in _panel(indices, judges) if other != judge]
    compared = {}
    for subject, index in indices.get(judge, {}).items():
        mean = mean_of([indices[other].get(subject) for other in others])
        if mean is not None:
            compared[subject] = (index, mean)
    return compared


def leniency(compared: Mapping[str, tuple[float, float]]) -> tuple[float | None, Interval | None]:
    """The mean of one judge's indices minus the others', and its interval over subjects like these."""
    pairs = list(compared.values())
    sampled = effect_interval(np.array(pairs).reshape(-1, 2) / 100, (1.0, -1.0))
    return mean_of([own - others for own, others in pairs]), sampled.scaled(
        100
    ) if sampled else None


def self_preferences(
    label: str,
    model: str,
    compared: Mapping[str, tuple[float, float]],
    subjects: Mapping[str, ChatModel],
) -> Iterator[SelfPreference]:
    """What the judge *model* gives itself, and its family without itself; *compared* as by
    `index_and_others`.
    """
    family = vendor_of(model)
    itself = [s for s in compared if base_model(subjects[s].model) == base_model(model)]
    kin = [
        s
        for s in compared
        if s not in itself and family is not None and vendor_of(subjects[s].model) == family
    ]
    rest = [
        own - others for s, (own, others) in compared.items() if s not in itself and s not in kin
    ]
    chosen: Literal["itself", "its family"]
    for chosen, mine in (("itself", itself), ("its family", kin)):
        own, others = (
            mean_of([compared[s][0] for s in mine]),
            mean_of([compared[s][1] for s in mine]),
        )
        if own is not None and others is not None:
            interval = lone_interval([compared[s][0] - compared[s][1] for s in mine], rest)
            yield SelfPreference(
                label, chosen, family, len(mine), own, others, mean_of(rest), len(rest), interval
            )


def vendor_leniencies(
    protocol: Protocol,
    labels: Mapping[str, str],
    models: Mapping[str, str],
    given: Mapping[str, Mapping[Key, Judgement]],
    subjects: Mapping[Key, ChatModel],
) -> Iterator[VendorLeniency]:
    """Each judge on each vendor that has enough subjects, its own first, by difference.

    *labels*, *models* (of judges that are no people) and what was *given* are by judge, *subjects*
    by conversation. A conversation's marks are those that a dimension counts, as shares of their
    scales, in the subject's favour. They are made into means over conversations and then over
    subjects, so that a subject counts once.
    """
    shares = {
        judge: {key: _shares(protocol, judgement.marks) for key, judgement in of.items()}
        for judge, of in given.items()
    }
    for judge, label in labels.items():
        pairs: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for key, mine in shares.get(judge, {}).items():
            others = [of[key] for other, of in shares.items() if other != judge and key in of]
            both = [
                (mine[name], mean_of([of[name] for of in others if name in of])) for name in mine
            ]
            known = [(own, mean) for own, mean in both if mean is not None]
            if known and (vendor := vendor_of(subjects[key].model)) is not None:
                own, mean = np.mean(known, axis=0)
                pairs[vendor][subjects[key].hash].append((float(own), float(mean)))
        family, leniencies = vendor_of(models.get(judge, "")), []
        for vendor, of_subject in pairs.items():
            scores = np.array([np.mean(of, axis=0) for of in of_subject.values()])
            if (interval := effect_interval(scores, (1.0, -1.0))) is not None:
                difference = POINTS * float((scores[:, 0] - scores[:, 1]).mean())
                count = sum(map(len, of_subject.values()))
                ends = interval.scaled(POINTS)
                leniencies.append(
                    VendorLeniency(
                        label, vendor, vendor == family, len(scores), count, difference, ends
                    )
                )
        yield from sorted(
            leniencies,
            key=lambda leniency: (not leniency.own, -leniency.difference, leniency.vendor),
        )


def _shares(protocol: Protocol, marks: Mapping[str, float]) -> dict[str, float]:
    """The marks that a dimension counts, in [0, 1], 1 being best for the subject."""
    shares = {}
    for dimension in protocol.dimensions:
        for name in dimension.marks:
            if name in marks:
                mark = protocol.mark(name)
                share = (marks[name] - mark.low) / (mark.high - mark.low)
                shares[name] = 1 - share if dimension.inverted else share
    return shares


def base_model(model: str) -> str:
    """A model's id without the way it is served: a judge with `:free` is the same model."""
    name, _, variant = model.lower().rpartition(":")
    return name if variant in VARIANTS else model.lower()


def _panel(indices: Indices, judges: Sequence[str]) -> list[str]:
    every = {subject for of in indices.values() for subject in of}
    return judging_half({judge: len(indices.get(judge, {})) for judge in judges}, len(every))
