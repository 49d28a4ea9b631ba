"""Judges compared, as values: their leniency and cost, how far they agree, and which verdicts a
person should read.

Knows the store's judgements and the leaderboards' indices; formats nothing. Every figure is absent
(None) if what it needs is not there. docs/judges.md explains each one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, Literal

from sqlalchemy import Connection

from independence_bench.analysis.board import Board
from independence_bench.analysis.exam.answers import MarkOrder, make_mark_comparison_scale
from independence_bench.analysis.exam.standing import BoardExam
from independence_bench.analysis.judge_leniency import (
    Indices,
    SelfPreference,
    SubjectRow,
    estimate_leniency,
    estimate_self_and_family_preference,
    make_subject_rows,
    pair_index_with_others,
)
from independence_bench.analysis.leaderboard import make_leaderboards, read_board_records
from independence_bench.analysis.results import Key, Results
from independence_bench.analysis.row_costs import RunCost, estimate_judging_cost_per_run
from independence_bench.analysis.statistics.agreement import (
    Measurement,
    compute_krippendorff_alpha,
    compute_quadratic_kappa,
    estimate_alpha_interval,
)
from independence_bench.analysis.statistics.values import Interval
from independence_bench.columns import HIDDEN, SENT, Column
from independence_bench.figures import (
    AGREEMENT,
    COUNT,
    DIFFERENCE,
    DOLLARS,
    SHARE,
    Agreement,
    Difference,
    GivenMark,
    Share,
)
from independence_bench.judging.flags import Flag, find_embedded_judgement, list_flags
from independence_bench.judging.jury import find_judge_hash
from independence_bench.models.local import is_embedded_judge
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Mark, Protocol, Scenario
from independence_bench.protocol.scoring import compute_mean
from independence_bench.store import registry, usage
from independence_bench.store import results as stored_results
from independence_bench.store.database import Store
from independence_bench.store.registry import make_unique_labels
from independence_bench.store.results import Judgement
from independence_bench.store.usage import AttemptCost

STEPS = 20  # of a scale, for alpha: half points of 0-10
# conversations that a figure of agreement is based on; one of two or three says nothing
FEWEST = 10


@dataclass(frozen=True, slots=True)
class JudgedConversation:
    """Which conversation judges scored: of which model, scenario, configuration and run."""

    subject: str  # label
    subject_hash: Annotated[str, HIDDEN]
    scenario: Annotated[Scenario, HIDDEN]
    configuration: Configuration
    run: int

    @property
    def identifying_fields(self) -> tuple[str, str, Scenario, Configuration, int]:
        """All fields of the conversation's description (label and hash of the model, scenario,
        configuration, run), as a tuple that distinguishes it from others.
        """
        return self.subject, self.subject_hash, self.scenario, self.configuration, self.run

    @property
    def scenario_id(self) -> Annotated[str, Column(key="scenario")]:
        """Id, in the protocol, of the conversation's scenario."""
        return self.scenario.id

    @property
    def title(self) -> Annotated[str, SENT]:
        """Title of the conversation's scenario."""
        return self.scenario.title


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """One judge: how many conversations it scored, how leniently, and at what cost."""

    label: str
    kind: Literal["model", "table", "person"]
    judged: int  # conversations with a verdict
    failed: int  # those that it has no verdict on although it was asked
    flagged: int  # verdicts that a person should read
    # its index minus the mean of the others', over the subjects that all have one for
    leniency: Difference | None
    # 95%, over subjects like these; None: fewer than three
    leniency_interval: Annotated[Interval | None, DIFFERENCE]
    run_cost: Annotated[RunCost, HIDDEN]  # of one subject
    exam: BoardExam | None = None  # what the exam says of it; None for a person

    @property
    def failed_share(self) -> Annotated[float | None, SHARE]:
        """Share of a judge's judgements that failed, in [0, 1]; None if the judge was never
        asked.
        """
        asked = self.judged + self.failed
        return self.failed / asked if asked else None

    @property
    def dollars_per_run(self) -> Annotated[float | None, DOLLARS]:
        """Cost in dollars of the judge's calls for one run of one model; None if it is not
        known.
        """
        return self.run_cost.dollars

    @property
    def seconds_per_run(self) -> Annotated[float | None, COUNT]:
        """Total seconds of a judge's calls for one run of one model, one after the other and
        without waiting between them; None if they are not known.
        """
        return self.run_cost.seconds


@dataclass(frozen=True, slots=True)
class PairKappa:
    """The agreement of two judges on one kind of score: Cohen's kappa with quadratic weights.
    Scores that are names have none.
    """

    judges: tuple[str, str]
    kappa: Agreement | None


@dataclass(frozen=True, slots=True)
class MarkAgreement:
    """The agreement of the judges on one kind of score. None if it does not vary, or if fewer than
    FEWEST conversations have it from two judges.
    """

    mark: Annotated[Mark, HIDDEN]
    measurement: Measurement
    conversations: int  # marked by two judges or more
    alpha: Agreement | None  # Krippendorff's
    # 95%, over subjects like these; None: too few of them, or no alpha
    alpha_interval: Annotated[Interval | None, AGREEMENT]
    kappas: tuple[PairKappa, ...]  # of each pair

    @property
    def name(self) -> Annotated[str, Column(key="mark")]:
        """Name of the kind of score on which judges are compared."""
        return self.mark.name

    @property
    def levels(self) -> Annotated[tuple[str, ...], SENT]:
        """Names of the levels from which judges choose this kind of score; () if it is a number."""
        return self.mark.levels

    @property
    def asks(self) -> Annotated[str, SENT]:
        """Question that this kind of score asks judges."""
        return self.mark.asks


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """The agreement of two judges over all kinds of score."""

    judges: tuple[str, str]
    conversations: int  # marked by both
    kappa: Agreement | None  # mean over the marks that have one


@dataclass(frozen=True, slots=True)
class Dispute(JudgedConversation):
    """One conversation to which judges give different scores."""

    # [0, 1]: mean over marks of highest minus lowest, as a share of the scale; names: same 0, else
    # 1
    spread: Share
    # mark -> what each judge gave, by label, in the judges' order
    marks: Mapping[str, Mapping[str, GivenMark | None]]


@dataclass(frozen=True, slots=True)
class Flagged(JudgedConversation):
    """One judgement that a person should read."""

    judge: str
    flags: tuple[Flag, ...]


@dataclass(frozen=True, slots=True)
class Validation:
    """All judges of one protocol compared, in one configuration (or the pooled default)."""

    protocol: Protocol
    configurations: tuple[Configuration, ...]
    judges: tuple[JudgeRow, ...]
    # label of the main judge, whether it is among those compared or not; None: no run is judged
    main: Annotated[str | None, Column(key="main_judge")]
    conversations: int  # with a verdict of any judge
    subjects: tuple[SubjectRow, ...]
    favours: Annotated[tuple[SelfPreference, ...], Column(key="self_preference")]
    marks: tuple[MarkAgreement, ...]
    pairs: tuple[PairAgreement, ...]
    disputes: tuple[Dispute, ...]  # the worst first; none where all agree
    flagged: tuple[Flagged, ...]

    @property
    def weighting(self) -> Annotated[str | None, SENT]:
        """Name of the weighting of dimensions that was chosen from the protocol; None for the
        protocol's own.
        """
        return self.protocol.weights


@dataclass(frozen=True, slots=True)
class _Material:
    """The conversations, judges and judgements of one group of configurations."""

    labels: Mapping[str, str]  # judges by hash, in the order of their labels
    specs: Mapping[str, Mapping[str, Any]]
    subjects: Mapping[str, ChatModel]
    places: Mapping[Key, JudgedConversation]
    # conversations that are the same word for word, so that one judgement is of them all
    times: Mapping[Key, int]
    given: Mapping[str, Mapping[Key, Judgement]]  # judge -> its judgements
    # of `embedded_of`, whether that judge is among those chosen or not
    embedded: Mapping[Key, Judgement]
    indices: Indices
    tries: Mapping[str, Sequence[AttemptCost]]  # judgement's key -> its attempts
    scales: Mapping[str, MarkOrder]  # by mark
    exams: Mapping[str, BoardExam | None]  # by label

    def count_conversations(self, keys: Iterable[Key]) -> int:
        """Return how many conversations have one of *keys* (what was said and the rubric). Several
        conversations have the same key if they are the same word for word.
        """
        return sum(self.times[key] for key in keys)


def compare_judges(store: Store, protocol: Protocol, names: Sequence[str] = ()) -> list[Validation]:
    """Return a comparison of the judges of *protocol* (leniency, cost, agreement, disputed
    conversations) for every group of configurations that is judged. Reads the store.

    *names* are judges' labels, or parts that fit one label each; without names all judges are
    compared. Raises WrongUse for a name that fits no judge.
    """
    compared_in = []
    with store.open_snapshot() as connection:
        records = read_board_records(connection, protocol)
        every_board = make_leaderboards(records, protocol)
        labels = records.labels
        chosen = {find_judge_hash(labels, name) for name in names} or labels.keys()
        compared = {judge: labels[judge] for judge in sorted(chosen, key=labels.__getitem__)}
        specs, subjects = registry.read_judge_specs(connection), records.subjects
        tries = usage.read_attempt_costs(connection, "judgement")
        scales = {
            mark.name: make_mark_comparison_scale(mark, protocol.find_stem_score_rule(scenario))
            for scenario in protocol.scenarios
            for mark in scenario.marks
        }
        for results in records.counted.groups:
            places = _map_complete_conversations(results, make_unique_labels(subjects))
            given: dict[str, dict[Key, Judgement]] = defaultdict(dict)
            by_anybody: dict[Key, list[tuple[str, Judgement]]] = defaultdict(list)
            for judge, of_judge in records.counted.given.items():
                for about, judgement in of_judge.items():
                    if about in places:
                        by_anybody[about].append((labels[judge], judgement))
                        if judge in compared:
                            given[judge][about] = judgement
            if not given:
                continue
            mine = [
                board for board in every_board if board.configurations == results.configurations
            ]
            judged = {key for of in given.values() for key in of}
            material = _Material(
                labels={judge: label for judge, label in compared.items() if judge in given},
                specs=specs,
                subjects=subjects,
                places={key: place for key, place in places.items() if key in judged},
                times=Counter(
                    played.key
                    for played in results.conversations
                    if played.row.state == "complete" and played.key in judged
                ),
                given=given,
                embedded={
                    about: found
                    for about, by in by_anybody.items()
                    if (found := find_embedded_judgement(by)) is not None
                },
                indices={
                    board.judge_hashes[0]: {
                        row.subject.hash: row.index for row in board.ranked if row.index is not None
                    }
                    for board in mine
                    if len(board.judge_hashes) == 1 and board.judge_hashes[0] in compared
                },
                tries=tries,
                scales=scales,
                exams={board.judge: board.exam for board in mine if board.judge is not None},
            )
            compared_in.append(_make_validation(connection, mine[0], material))
    return compared_in


def _map_complete_conversations(
    results: Results, subject_labels: Mapping[str, str]
) -> dict[Key, JudgedConversation]:
    """Return the complete conversations among *results* by their key (what was said and the
    rubric): of which model, scenario, configuration and run each is. Of conversations that are the
    same word for word, the first is taken. *subject_labels* are the models' labels by hash.
    """
    places: dict[Key, JudgedConversation] = {}
    for played in results.conversations:
        if played.row.state == "complete":
            subject, run = played.row.subject_hash, played.row.run
            place = JudgedConversation(
                subject_labels[subject], subject, played.scenario, played.configuration, run
            )
            places.setdefault(played.key, place)
    return places


def _make_validation(connection: Connection, board: Board, material: _Material) -> Validation:
    """Return the comparison of all judges in *material*, for one group of configurations. *board*
    is a leaderboard of this group, which has the protocol and the main judge.
    """
    flagged = _find_flagged_verdicts(connection, material)
    every = {mark.name: mark for scenario in board.protocol.scenarios for mark in scenario.marks}
    marks = tuple(_measure_mark_agreement(mark, material) for mark in every.values())
    judges = list(material.labels)
    compared = {judge: pair_index_with_others(judge, material.indices, judges) for judge in judges}
    models = {
        judge: model
        for judge in judges
        if isinstance(model := material.specs.get(judge, {}).get("model"), str)
    }
    return Validation(
        protocol=board.protocol,
        configurations=board.configurations,
        judges=tuple(
            _make_judge_row(judge, board, material, flagged, compared[judge]) for judge in judges
        ),
        main=board.main_judge,
        conversations=material.count_conversations(
            {
                key
                for of in material.given.values()
                for key, judgement in of.items()
                if judgement.reason is None
            }
        ),
        subjects=make_subject_rows(
            material.indices, material.labels, make_unique_labels(material.subjects)
        ),
        favours=tuple(
            favour
            for judge, model in models.items()
            for favour in estimate_self_and_family_preference(
                material.labels[judge], model, compared[judge], material.subjects
            )
        ),
        marks=marks,
        pairs=_measure_pair_agreements(material, marks),
        disputes=_find_disputes(material),
        flagged=flagged,
    )


def _make_judge_row(
    judge_hash: str,
    board: Board,
    material: _Material,
    flagged: Sequence[Flagged],
    own_and_others_index: Mapping[str, tuple[float, float]],
) -> JudgeRow:
    """Return how many conversations the judge with the hash *judge_hash* scored, how leniently and
    at what cost. *own_and_others_index* has for each model the index by this judge and the mean
    index by the other judges.
    """
    label, given = material.labels[judge_hash], material.given[judge_hash]
    person = material.specs.get(judge_hash, {}).get("kind") == "person"
    kind: Literal["model", "table", "person"] = (
        "person" if person else "table" if is_embedded_judge(label) else "model"
    )
    verdicts = material.count_conversations(
        key for key, judgement in given.items() if judgement.reason is None
    )
    failed = material.count_conversations(
        key for key, judgement in given.items() if judgement.reason is not None
    )
    tries: dict[str, list[Sequence[AttemptCost]]] = {
        scenario.id: [] for scenario in board.protocol.scenarios
    }
    for key, judgement in given.items():
        tries[material.places[key].scenario.id].append(material.tries.get(judgement.key, ()))
    cost = estimate_judging_cost_per_run(
        list(tries.values()), len(board.configurations), kind == "model"
    )
    to_read = sum(verdict.judge == label for verdict in flagged)
    return JudgeRow(
        label,
        kind,
        verdicts,
        failed,
        to_read,
        *estimate_leniency(own_and_others_index),
        cost,
        material.exams.get(label),
    )


def _measure_mark_agreement(mark: Mark, material: _Material) -> MarkAgreement:
    """Return the agreement of all judges on one kind of score, *mark*: Krippendorff's alpha over
    all judges and kappa of each pair.
    """
    scale = material.scales[mark.name]
    given = {
        judge: {
            key: scale.convert_level_to_worth(judgement.marks[mark.name])
            for key, judgement in of.items()
            if mark.name in judgement.marks
        }
        for judge, of in material.given.items()
    }
    keys = [key for key in material.places if sum(key in of for of in given.values()) >= 2]
    # levels are few; other marks may have any decimals
    steps = 0.0 if mark.levels else STEPS / (mark.high - mark.low)
    table = [
        [
            None
            if (of := given[judge].get(key)) is None
            else float(round((of - mark.low) * steps))
            if steps
            else of
            for key in keys
        ]
        for judge in material.labels
    ]
    alpha = compute_krippendorff_alpha(table, scale.measurement) if len(keys) >= FEWEST else None
    return MarkAgreement(
        mark=mark,
        measurement=scale.measurement,
        conversations=len(keys),
        alpha=alpha,
        alpha_interval=estimate_alpha_interval(
            table, [material.places[key].subject_hash for key in keys], alpha, scale.measurement
        ),
        kappas=tuple(
            PairKappa(
                (material.labels[a], material.labels[b]),
                _compute_kappa(given[a], given[b]) if scale.measurement == "ordinal" else None,
            )
            for a, b in combinations(material.labels, 2)
        ),
    )


def _compute_kappa(one: Mapping[Key, float], other: Mapping[Key, float]) -> float | None:
    """Return Cohen's quadratic kappa of two judges over the conversations that both scored; None
    for fewer than `FEWEST`. *one* and *other* have each judge's scores by conversation.
    """
    both = [key for key in one if key in other]
    if len(both) < FEWEST:
        return None
    return compute_quadratic_kappa([one[key] for key in both], [other[key] for key in both])


def _measure_pair_agreements(
    material: _Material, marks: Sequence[MarkAgreement]
) -> tuple[PairAgreement, ...]:
    """Return the agreement of each pair of judges: the number of conversations that both scored,
    and the mean of their kappas over the kinds of score in *marks*.
    """
    pairs = []
    for pair in combinations(material.labels, 2):
        valid = [
            {key for key, given in material.given[judge].items() if given.reason is None}
            for judge in pair
        ]
        judges = (material.labels[pair[0]], material.labels[pair[1]])
        kappas = [one.kappa for mark in marks for one in mark.kappas if one.judges == judges]
        known = [kappa for kappa in kappas if kappa is not None]
        pairs.append(PairAgreement(judges, len(set.intersection(*valid)), compute_mean(known)))
    return tuple(pairs)


def _find_disputes(material: _Material) -> tuple[Dispute, ...]:
    """Return the conversations to which two judges or more gave different scores, sorted from the
    largest difference to the smallest.
    """
    disputes = []
    for key, place in material.places.items():
        marks, spreads = dict[str, dict[str, float | None]](), list[float]()
        given = {label: material.given[judge].get(key) for judge, label in material.labels.items()}
        for mark in place.scenario.marks:
            values = {
                label: None if judgement is None else judgement.marks.get(mark.name)
                for label, judgement in given.items()
            }
            there = [value for value in values.values() if value is not None]
            if len(there) > 1:
                marks[mark.name] = values
                spreads.append(material.scales[mark.name].measure_range_share(there))
        if (spread := compute_mean(spreads)) is not None and spread > 0:
            disputes.append(Dispute(*place.identifying_fields, spread, marks))
    return tuple(
        sorted(
            disputes,
            key=lambda of: (-of.spread, of.subject, of.scenario.id, of.run),
        )
    )


def _find_flagged_verdicts(connection: Connection, material: _Material) -> tuple[Flagged, ...]:
    """Return the judgements that a person should read, because they contradict their own reasoning
    or the embedded judge; sorted in the order of reading.
    """
    rubrics = {rubric for _, rubric in material.places}
    by_key = {
        judgement.key: judgement for of in material.given.values() for judgement in of.values()
    }
    flagged = []
    for key, _, _, reasoning in stored_results.read_keys_hashes_and_reasonings(connection, rubrics):
        if (judgement := by_key.get(key)) is not None:
            label, place = (
                material.labels[judgement.judge_hash],
                material.places[judgement.text_and_rubric_hashes],
            )
            read = judgement._replace(reasoning=reasoning)
            if flags := list_flags(
                label, read, material.embedded.get(judgement.text_and_rubric_hashes), place.scenario
            ):
                flagged.append(Flagged(*place.identifying_fields, label, flags))
    return tuple(sorted(flagged, key=_make_flagged_sort_key))


def _make_flagged_sort_key(flagged: Flagged) -> tuple[bool, float, str, str, int, str]:
    """Return the key by which judgements that a person should read are sorted: those that
    contradict their own reasoning come before those that only the embedded judge doubts, and large
    contradictions before small ones.
    """
    furthest = max(flag.distance for flag in flagged.flags)
    own = any(flag.kind == "reasoning" for flag in flagged.flags)
    at = flagged.subject, flagged.scenario.id, flagged.run, flagged.judge
    return (not own, -furthest, *at)
