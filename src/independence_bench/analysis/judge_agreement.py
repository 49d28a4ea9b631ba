"""Judges beside each other, as values: what each gives whom, how far they agree, and what a person should read.

Knows the store's judgements and the boards' indices; formats nothing. Every figure is absent (None) where what it needs
is not there. What each one means: docs/judges.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from sqlalchemy import Connection

from independence_bench.analysis.leaderboard import Board, boards
from independence_bench.analysis.results import Key, Results, results_of
from independence_bench.analysis.spending import RunCost, judging_cost, judging_tries
from independence_bench.analysis.statistics.agreement import (
    icc_2k,
    krippendorff_alpha,
    quadratic_kappa,
    rank_correlation,
)
from independence_bench.analysis.statistics.intervals import Interval
from independence_bench.analysis.statistics.jackknife import alpha_interval, rank_correlation_interval
from independence_bench.analysis.statistics.paired import FEWEST_ELSEWHERE, effect_interval, lone_interval
from independence_bench.judging.panel import find_judge
from independence_bench.judging.prompt import rubric_hash
from independence_bench.judging.review_flags import Flag, flags_of
from independence_bench.models.local import is_table_judge
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Mark, Protocol, Scenario
from independence_bench.protocol.scoring import mean_of
from independence_bench.store import registry
from independence_bench.store import results as stored_results
from independence_bench.store.database import Store
from independence_bench.store.registry import unique_labels
from independence_bench.store.results import Judgement
from independence_bench.store.usage import Try

Indices = Mapping[str, Mapping[str, float]]  # judge -> subject (hashes) -> index
STEPS = 20  # of a scale, for alpha: half points of 0-10
FEWEST = 10  # conversations behind a figure of agreement; one of two or three says nothing
VARIANTS = ("free", "nitro", "floor", "extended", "online", "exacto")  # of one model on OpenRouter


@dataclass(frozen=True, slots=True)
class JudgedConversation:
    """Where a conversation that was marked is found."""

    subject: str  # label
    subject_hash: str
    scenario: Scenario
    configuration: Configuration
    run: int


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """One judge."""

    label: str
    kind: Literal["model", "table", "person"]
    judged: int  # conversations with a verdict
    failed: int  # those that it has no verdict on although it was asked
    flagged: int  # verdicts that a person should read
    leniency: float | None  # its index minus the mean of the others', over the subjects that all have one for
    leniency_interval: Interval | None  # 95 %, over subjects like these; None: fewer than three
    run_cost: RunCost  # of one subject

    @property
    def failed_share(self) -> float | None:
        """Failed judgements of all that it was asked for, [0, 1]; None where it was asked for none."""
        asked = self.judged + self.failed
        return self.failed / asked if asked else None


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """One subject under each judge."""

    label: str
    indices: tuple[float | None, ...]  # in the judges' order
    mean: float | None  # over the judges that have an index for most subjects; None where one of them lacks this one
    spread: float | None  # the highest minus the lowest of the same


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """What a judge gives its own kind, beside what the others give the same subjects."""

    judge: str  # label
    whom: Literal["itself", "its family"]
    family: str | None  # vendor
    subjects: int
    own: float  # mean index
    others: float
    elsewhere: float | None  # own minus others, over the subjects that are not of its family
    elsewhere_subjects: int
    interval: Interval | None  # 95 %, of the preference, over subjects like these; None: `unsaid` says why

    @property
    def difference(self) -> float:
        """What it gives more than the others do, in points of the index."""
        return self.own - self.others

    @property
    def preference(self) -> float | None:
        """What it gives its own kind more than it gives anybody more; None where there is nobody else."""
        return None if self.elsewhere is None else self.difference - self.elsewhere

    @property
    def unsaid(self) -> str | None:
        """Why the preference has no interval."""
        if self.interval is not None:
            return None
        if self.elsewhere_subjects < FEWEST_ELSEWHERE:
            return f"{self.elsewhere_subjects} other subjects, and it takes {FEWEST_ELSEWHERE}"
        return "all other subjects are given exactly the same"


@dataclass(frozen=True, slots=True)
class MarkAgreement:
    """How far the judges agree on one mark; None where it does not vary, or fewer than FEWEST conversations tell."""

    mark: Mark
    conversations: int  # marked by two judges or more
    alpha: float | None  # Krippendorff's, ordinal
    alpha_interval: Interval | None  # 95 %, over subjects like these; None: too few of them, or no alpha
    icc: float | None  # ICC(2,k)
    icc_judges: int  # k: those who marked most of these conversations
    icc_conversations: int  # marked by all of them
    kappas: tuple[tuple[str, str, float | None], ...]  # (label, label, quadratic kappa) of each pair


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """How far two judges agree."""

    one: str
    other: str
    subjects: int  # with an index under both
    rank_correlation: float | None  # of those indices
    rank_interval: Interval | None  # 95 %, over subjects like these; None: too few of them
    conversations: int  # marked by both
    kappa: float | None  # mean over marks


@dataclass(frozen=True, slots=True)
class Dispute:
    """One conversation that the judges mark differently."""

    place: JudgedConversation
    spread: float  # [0, 1]: mean over marks of highest minus lowest, as a share of the scale
    marks: tuple[tuple[str, tuple[float | None, ...]], ...]  # mark -> what each judge gave, in the judges' order


@dataclass(frozen=True, slots=True)
class Flagged:
    """One verdict that a person should read."""

    place: JudgedConversation
    judge: str
    flags: tuple[Flag, ...]


@dataclass(frozen=True, slots=True)
class Validation:
    """All judges of one protocol in one configuration (or the pooled default)."""

    protocol: Protocol
    configurations: tuple[Configuration, ...]
    judges: tuple[JudgeRow, ...]
    main: str | None  # label of the main judge, whether it is among those compared or not; None: nobody judged a run
    conversations: int  # different ones that somebody has judged
    subjects: tuple[SubjectRow, ...]
    favours: tuple[SelfPreference, ...]
    marks: tuple[MarkAgreement, ...]
    pairs: tuple[PairAgreement, ...]
    disputes: tuple[Dispute, ...]  # the worst first; none where all agree
    flagged: tuple[Flagged, ...]


@dataclass(frozen=True, slots=True)
class _Ledger:
    """What is read from the store once, for all configurations."""

    labels: Mapping[str, str]  # every judge by hash
    chosen: frozenset[str]  # those that are compared
    specs: Mapping[str, Mapping[str, Any]]
    subjects: Mapping[str, ChatModel]
    judgements: Sequence[Judgement]
    tries: Mapping[str, Sequence[Try]]  # judgement's key -> its attempts


@dataclass(frozen=True, slots=True)
class _Material:
    """What there is of one group of configurations."""

    labels: Mapping[str, str]  # judges by hash, in the order of their labels
    specs: Mapping[str, Mapping[str, Any]]
    subjects: Mapping[str, ChatModel]
    places: Mapping[Key, JudgedConversation]
    given: Mapping[str, Mapping[Key, Judgement]]  # judge -> its judgements
    embedded: Mapping[Key, Judgement]  # whether it is among the judges chosen or not
    indices: Indices
    tries: Mapping[str, Sequence[Try]]  # judgement's key -> its attempts


def validations(store: Store, protocol: Protocol, names: Sequence[str] = ()) -> list[Validation]:
    """The judges of *protocol* beside each other, for every configuration that somebody has judged.

    *names* are labels, or parts that fit one each; none means all judges. Raises WrongUse for a name that fits none.
    """
    found = boards(store, protocol)
    made = []
    with store.reading() as connection:
        ledger = _read(connection, protocol, names)
        for results in results_of(connection, protocol):
            mine = [board for board in found if board.configurations == results.configurations]
            material = _material(results, ledger, _indices(mine, ledger))
            if material.labels:
                made.append(_validate(connection, mine[0], material))
    return made


def _read(connection: Connection, protocol: Protocol, names: Sequence[str]) -> _Ledger:
    labels = registry.stored_judges(connection)
    chosen = frozenset(find_judge(labels, name) for name in names) or frozenset(labels)
    rubrics = {rubric_hash(protocol.judge_instructions, scenario) for scenario in protocol.scenarios}
    judgements = stored_results.judgement_rows(connection, rubrics)
    subjects = registry.stored_subjects(connection)
    tries = judging_tries(connection)
    return _Ledger(labels, chosen, registry.judge_specs(connection), subjects, judgements, tries)


def _indices(found: Sequence[Board], ledger: _Ledger) -> Indices:
    """Every index that a chosen judge gives on the boards *found*."""
    by_label = {ledger.labels[judge]: judge for judge in ledger.chosen}
    indices: dict[str, dict[str, float]] = defaultdict(dict)
    for board in found:
        if board.judge in by_label:
            for row in board.ranked:
                if row.score.index is not None:
                    indices[by_label[board.judge]][row.subject.hash] = row.score.index
    return indices


def _material(results: Results, ledger: _Ledger, indices: Indices) -> _Material:
    """Everything that was judged of *results*; judges without any judgement there are left out."""
    names = unique_labels(ledger.subjects)
    places: dict[Key, JudgedConversation] = {}
    for one in results.conversations:
        subject = one.row.subject_hash
        if one.row.state == "complete":
            places.setdefault(
                one.key, JudgedConversation(names[subject], subject, one.scenario, one.configuration, one.row.run)
            )
    given: dict[str, dict[Key, Judgement]] = defaultdict(dict)
    embedded = {}
    for judgement in ledger.judgements:
        key = (judgement.heard_hash, judgement.rubric_hash)
        if key in places and judgement.judge_hash in ledger.chosen:
            given[judgement.judge_hash][key] = judgement
        if key in places and is_table_judge(ledger.labels[judgement.judge_hash]):
            embedded[key] = judgement
    there = dict(sorted(((judge, ledger.labels[judge]) for judge in given), key=lambda one: one[1]))
    judged = {key: place for key, place in places.items() if any(key in of for of in given.values())}
    return _Material(there, ledger.specs, ledger.subjects, judged, given, embedded, indices, ledger.tries)


def _validate(connection: Connection, board: Board, material: _Material) -> Validation:
    """*board*: one of those that the judges give."""
    protocol, group = board.protocol, board.configurations
    flagged = _flagged(connection, material)
    marks = _agreement_by_mark(protocol, material)
    return Validation(
        protocol=protocol,
        configurations=group,
        judges=tuple(_judge_row(judge, protocol, group, material, flagged) for judge in material.labels),
        main=board.main_judge,
        conversations=len(material.places),
        subjects=_subject_rows(material),
        favours=tuple(favour for judge in material.labels for favour in _favours(judge, material)),
        marks=marks,
        pairs=_pairs(material, marks),
        disputes=_disputes(material),
        flagged=flagged,
    )


# ---------------------------------------------------------------- indices


def _panel(counts: Mapping[str, int], of: int) -> list[str]:
    """The judges that have at least half of what there is; a judge that has just begun would empty every comparison."""
    return [judge for judge, count in counts.items() if count and 2 * count >= of]


def _index_panel(material: _Material) -> list[str]:
    every = {subject for of in material.indices.values() for subject in of}
    return _panel({judge: len(material.indices.get(judge, {})) for judge in material.labels}, len(every))


def _subject_rows(material: _Material) -> tuple[SubjectRow, ...]:
    names = unique_labels(material.subjects)
    panel, rows = _index_panel(material), []
    for subject in {subject: None for of in material.indices.values() for subject in of}:
        indices = {judge: material.indices.get(judge, {}).get(subject) for judge in material.labels}
        counted = [indices[judge] for judge in panel]
        there = [index for index in counted if index is not None]
        whole = len(there) == len(counted) > 1
        spread = max(there) - min(there) if whole else None
        mean = mean_of(there) if whole else None
        rows.append(SubjectRow(names[subject], tuple(indices.values()), mean, spread))
    return tuple(sorted(rows, key=lambda row: (-(row.mean if row.mean is not None else -1.0), row.label)))


def _differences(judge: str, material: _Material) -> dict[str, tuple[float, float]]:
    """Subject -> (this judge's index, the mean of the others'), where it and all of the panel's others have one."""
    others = [other for other in _index_panel(material) if other != judge]
    found = {}
    for subject, index in material.indices.get(judge, {}).items():
        given = [material.indices[other].get(subject) for other in others]
        mean = mean_of(given)
        if mean is not None:
            found[subject] = (index, mean)
    return found


def _judge_row(
    judge: str, protocol: Protocol, group: Sequence[Configuration], material: _Material, flagged: Sequence[Flagged]
) -> JudgeRow:
    label, given = material.labels[judge], material.given[judge].values()
    kind: Literal["model", "table", "person"] = "table" if is_table_judge(label) else "model"
    if material.specs.get(judge, {}).get("kind") == "person":
        kind = "person"
    failed = sum(judgement.reason is not None for judgement in given)
    compared = list(_differences(judge, material).values())
    leniency = mean_of([own - others for own, others in compared])
    scores = np.array(compared).reshape(-1, 2) / 100
    sampled = effect_interval(scores, (1.0, -1.0))
    mine = sum(one.judge == label for one in flagged)
    tries: dict[str, list[Sequence[Try]]] = {scenario.id: [] for scenario in protocol.scenarios}
    for key, judgement in material.given[judge].items():
        tries[material.places[key].scenario.id].append(material.tries.get(judgement.key, ()))
    return JudgeRow(
        label=label,
        kind=kind,
        judged=len(given) - failed,
        failed=failed,
        flagged=mine,
        leniency=leniency,
        leniency_interval=sampled.scaled(100) if sampled else None,
        run_cost=judging_cost(list(tries.values()), len(group), kind == "model"),
    )


def _favours(judge: str, material: _Material) -> Iterator[SelfPreference]:
    """What *judge* gives itself, and its family without itself; nothing for a judge that is no model."""
    model = material.specs.get(judge, {}).get("model")
    if not isinstance(model, str):
        return
    family = family_of(model)
    compared = _differences(judge, material)
    itself = [s for s in compared if base_model(material.subjects[s].model) == base_model(model)]
    kin = [s for s in compared if family is not None and family_of(material.subjects[s].model) == family]
    rest = [own - others for s, (own, others) in compared.items() if s not in itself and s not in kin]
    groups_of: tuple[tuple[Literal["itself", "its family"], list[str]], ...] = (
        ("itself", itself),
        ("its family", [s for s in kin if s not in itself]),
    )
    for whom, chosen in groups_of:
        own, others = mean_of([compared[s][0] for s in chosen]), mean_of([compared[s][1] for s in chosen])
        if own is not None and others is not None:
            interval = lone_interval([compared[s][0] - compared[s][1] for s in chosen], rest)
            elsewhere = mean_of(rest)
            yield SelfPreference(
                material.labels[judge], whom, family, len(chosen), own, others, elsewhere, len(rest), interval
            )


def base_model(model: str) -> str:
    """A model's id without the way it is served: a judge behind `:free` is the same model."""
    name, _, variant = model.lower().rpartition(":")
    return name if variant in VARIANTS else model.lower()


def family_of(model: str) -> str | None:
    """The vendor in front of a model's id; None where there is none."""
    vendor, slash, _ = model.lower().partition("/")
    return vendor if slash and vendor else None


# ---------------------------------------------------------------- marks


def _agreement_by_mark(protocol: Protocol, material: _Material) -> tuple[MarkAgreement, ...]:
    every = {mark.name: mark for scenario in protocol.scenarios for mark in scenario.marks}
    return tuple(_agreement_on(mark, material) for mark in every.values())


def _agreement_on(mark: Mark, material: _Material) -> MarkAgreement:
    given = {
        judge: {key: judgement.marks[mark.name] for key, judgement in of.items() if mark.name in judgement.marks}
        for judge, of in material.given.items()
    }
    keys = [key for key in material.places if sum(key in of for of in given.values()) >= 2]
    steps = STEPS / (mark.high - mark.low)
    table = [
        [None if key not in given[judge] else float(round((given[judge][key] - mark.low) * steps)) for key in keys]
        for judge in material.labels
    ]
    panel = _panel({judge: sum(key in given[judge] for key in keys) for judge in material.labels}, len(keys))
    whole = [key for key in keys if all(key in given[judge] for judge in panel)]
    alpha = krippendorff_alpha(table) if len(keys) >= FEWEST else None
    return MarkAgreement(
        mark=mark,
        conversations=len(keys),
        alpha=alpha,
        alpha_interval=alpha_interval(table, [material.places[key].subject_hash for key in keys], alpha),
        icc=icc_2k([[given[judge][key] for key in whole] for judge in panel]) if len(whole) >= FEWEST else None,
        icc_judges=len(panel),
        icc_conversations=len(whole),
        kappas=tuple(
            (material.labels[a], material.labels[b], _kappa(given[a], given[b]))
            for a, b in combinations(material.labels, 2)
        ),
    )


def _kappa(one: Mapping[Key, float], other: Mapping[Key, float]) -> float | None:
    both = [key for key in one if key in other]
    if len(both) < FEWEST:
        return None
    return quadratic_kappa([one[key] for key in both], [other[key] for key in both])


def _pairs(material: _Material, marks: Sequence[MarkAgreement]) -> tuple[PairAgreement, ...]:
    found = []
    for a, b in combinations(material.labels, 2):
        one, other = material.indices.get(a, {}), material.indices.get(b, {})
        both = [subject for subject in one if subject in other]
        indices = ([one[s] for s in both], [other[s] for s in both])
        labels = (material.labels[a], material.labels[b])
        kappas = [kappa for mark in marks for *pair, kappa in mark.kappas if tuple(pair) == labels]
        found.append(
            PairAgreement(
                one=labels[0],
                other=labels[1],
                subjects=len(both),
                rank_correlation=rank_correlation(*indices),
                rank_interval=rank_correlation_interval(*indices),
                conversations=sum(_valid(material, a, key) and _valid(material, b, key) for key in material.places),
                kappa=mean_of([kappa for kappa in kappas if kappa is not None]),
            )
        )
    return tuple(found)


def _valid(material: _Material, judge: str, key: Key) -> bool:
    judgement = material.given[judge].get(key)
    return judgement is not None and judgement.reason is None


# ---------------------------------------------------------------- what to read


def _disputes(material: _Material) -> tuple[Dispute, ...]:
    """The conversations that two judges or more have marked, and not alike: the furthest apart first."""
    found = []
    for key, place in material.places.items():
        marks, spreads = [], []
        for mark in place.scenario.marks:
            values = [
                None if (one := of.get(key)) is None else one.marks.get(mark.name)
                for of in (material.given[judge] for judge in material.labels)
            ]
            there = [value for value in values if value is not None]
            if len(there) > 1:
                marks.append((mark.name, tuple(values)))
                spreads.append((max(there) - min(there)) / (mark.high - mark.low))
        if (spread := mean_of(spreads)) is not None and spread > 0:
            found.append(Dispute(place, spread, tuple(marks)))
    return tuple(sorted(found, key=lambda one: (-one.spread, one.place.subject, one.place.scenario.id, one.place.run)))


def _flagged(connection: Connection, material: _Material) -> tuple[Flagged, ...]:
    """The verdicts that contradict themselves or the embedded judge."""
    rubrics = {rubric for _, rubric in material.places}
    by_key = {one.key: one for of in material.given.values() for one in of.values()}
    found = []
    for key, _, _, reasoning in stored_results.reasonings(connection, rubrics):
        if key in by_key:
            judgement = replace(by_key[key], reasoning=reasoning)
            where = (judgement.heard_hash, judgement.rubric_hash)
            label, place = material.labels[judgement.judge_hash], material.places[where]
            if flags := flags_of(label, judgement, material.embedded.get(where), place.scenario):
                found.append(Flagged(place, label, flags))
    return tuple(sorted(found, key=_first_to_read))


def _first_to_read(flagged: Flagged) -> tuple[bool, float, str, str, int, str]:
    """A verdict that contradicts itself before one that only the embedded judge doubts; the furthest first."""
    place = flagged.place
    own = any(flag.kind == "reasoning" for flag in flagged.flags)
    furthest = max(flag.distance for flag in flagged.flags)
    return (not own, -furthest, place.subject, place.scenario.id, place.run, flagged.judge)
