"""The contents of a store at one moment, by the ids that the page uses.

A catalog is read once and never changes: the server reads another one when the store has changed.
Slow results (leaderboards by other rules, juries, agreement of judges) are worked out once, when
they are first asked for.

Ids are safe in a path and readable in an address: each is made of a name and a hash that makes it
unique. A name comes from outside; only its lower-case letters, digits and single hyphens remain, so
no id leaves its folder, and no two ids differ in case alone.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, cast

from independence_bench.analysis.board import Board, BoardRecords, Row
from independence_bench.analysis.exam.standing import ExaminedJudges
from independence_bench.analysis.item_analysis import ItemAnalysis, analyse_items
from independence_bench.analysis.judge_agreement import Validation, compare_judges
from independence_bench.analysis.leaderboard import (
    ALL,
    Wanted,
    make_leaderboards,
    read_board_records,
)
from independence_bench.analysis.results import Key, read_stored_protocol
from independence_bench.columns import HIDDEN, SENT
from independence_bench.hashing import hash_content, hash_text, make_slug
from independence_bench.models.local import is_embedded_judge
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Item, Protocol, Scenario
from independence_bench.protocol.plan import list_possible_configurations
from independence_bench.protocol.published_scoring import RULES
from independence_bench.protocol.scoring import OWN
from independence_bench.store import registry
from independence_bench.store.database import Store
from independence_bench.store.registry import hash_store_state, make_unique_labels
from independence_bench.store.results import Told, TranscriptRow, find_newest_time, ignore_progress

A = TypeVar("A")
JudgeKind = Literal["model", "table", "person", "jury"]
TRANSCRIPT = 16  # digits of a transcript's id: there may be a hundred thousand


def make_scenario_slug(name: str) -> str:
    """Return the id of a scenario, or of an item's branch, in web addresses, with hyphens for `_`
    and points. *name* has only lower-case letters, digits, `_` and a point.
    """
    return name.replace("_", "-").replace(".", "-")


def make_transcript_slug(protocol_hash: str, transcript_id: str) -> str:
    """Return the id in web addresses of a conversation under one protocol. It is a hash of both,
    because two protocols may share a conversation and judge it by different rubrics.
    """
    return hash_text(protocol_hash + transcript_id)[:TRANSCRIPT]


class NotThere(Exception):
    """Nothing has the id that a path names: it never existed, or was deleted from the store."""


def find_by_id(things: Mapping[str, A], id_: str) -> A:
    """Return the value in *things* with the key *id_*. Raise NotThere if there is none."""
    try:
        return things[id_]
    except KeyError:
        raise NotThere(id_) from None


class StoredTranscript(NamedTuple):
    """One conversation that counts, and its place in a protocol."""

    id: str
    edition: Edition
    row: TranscriptRow
    configuration: Configuration
    scenario: Scenario
    key: Key  # what judges read and the rubric's hash, by which it is judged

    @property
    def item_slug(self) -> str:
        """The id, in web addresses, of the item to which this conversation belongs: of its branched
        item, or of its own scenario.
        """
        return make_scenario_slug(self.scenario.item)


@dataclass(frozen=True, eq=False)
class Edition:
    """One protocol of which something that counts is stored."""

    id: str
    protocol: Protocol
    hash: str  # the protocol's, which takes milliseconds to make
    records: BoardRecords  # records from which its boards are made
    labels: Mapping[str, str]  # labels of all subjects, by hash

    @cached_property
    def transcripts(self) -> tuple[StoredTranscript, ...]:
        """All stored conversations that count under this protocol, sorted by the model's label,
        run, configuration and scenario. They are read lazily, because no leaderboard needs them.
        """
        places = product(list_possible_configurations(self.protocol), self.protocol.scenarios)
        order = {
            (configuration, scenario.id): number
            for number, (configuration, scenario) in enumerate(places)
        }
        by_id: dict[str, StoredTranscript] = {}
        for results in self.records.counted.groups:
            # the first of the places that it fills
            for row, configuration, scenario, key, _ in results.conversations:
                if row.id not in by_id:
                    place = configuration, scenario, key
                    by_id[row.id] = StoredTranscript(
                        make_transcript_slug(self.hash, row.id), self, row, *place
                    )
        return tuple(
            sorted(
                by_id.values(),
                key=lambda transcript: (
                    self.labels[transcript.row.subject_hash],
                    transcript.row.subject_hash,
                    transcript.row.run,
                    order[transcript.configuration, transcript.scenario.id],
                ),
            )
        )

    @cached_property
    def transcript_count(self) -> int:
        """Number of stored conversations that count under this protocol."""
        groups = self.records.counted.groups
        return len({row.id for results in groups for row in results.transcripts})

    @cached_property
    def items_by_slug(self) -> Mapping[str, Item]:
        """Every item of this protocol, by its id in web addresses."""
        return {make_scenario_slug(item.id): item for item in self.protocol.every_item}

    @cached_property
    def transcripts_by_model_hash(self) -> Mapping[str, Sequence[StoredTranscript]]:
        """The stored conversations of this protocol, by the hash of the model."""
        return self._group_transcripts(lambda transcript: transcript.row.subject_hash)

    def list_run_transcripts(self, stored: StoredTranscript) -> Sequence[StoredTranscript]:
        """Return the conversations of the same model, run and configuration as *stored*, which is
        among them.
        """
        place = stored.row.run, stored.configuration
        return [
            one
            for one in self.transcripts_by_model_hash[stored.row.subject_hash]
            if (one.row.run, one.configuration) == place
        ]

    @cached_property
    def transcripts_by_item_slug(self) -> Mapping[str, Sequence[StoredTranscript]]:
        """The stored conversations of this protocol, by the id of their item in web addresses."""
        return self._group_transcripts(lambda transcript: transcript.item_slug)

    def _group_transcripts(
        self, key: Callable[[StoredTranscript], A]
    ) -> Mapping[A, Sequence[StoredTranscript]]:
        """Return the stored conversations of this protocol in lists, by the value that *key* gives
        for each.
        """
        grouped: dict[A, list[StoredTranscript]] = defaultdict(list)
        for transcript in self.transcripts:
            grouped[key(transcript)].append(transcript)
        return grouped

    @cached_property
    def transcripts_by_place_and_model(
        self,
    ) -> Mapping[tuple[Configuration, str], Mapping[str, Sequence[StoredTranscript]]]:
        """The stored conversations of this protocol by configuration and scenario, and within these
        by the hash of the model, in the order of labels.
        """
        grouped: dict[tuple[Configuration, str], dict[str, list[StoredTranscript]]] = defaultdict(
            dict
        )
        for transcript in self.transcripts:
            grouped[transcript.configuration, transcript.scenario.id].setdefault(
                transcript.row.subject_hash, []
            ).append(transcript)
        return grouped


@dataclass(frozen=True, slots=True)
class BoardEntry:
    """A leaderboard without its rows, so that it can be listed before they are worked out."""

    id: str
    edition: Annotated[Edition, HIDDEN]
    configurations: tuple[Configuration, ...]  # several are pooled
    judge: str | None  # label; None: nothing is judged yet
    judge_kind: Annotated[JudgeKind | None, HIDDEN]
    judges: tuple[str, ...]  # labels: the jury's, or the one
    rules: str  # rules by which scores became indices: own, published
    # the judge is the main one: whose board is opened where nobody says by which
    main: bool = False
    weights: str | None = None  # a weighting that the protocol names; None: its own weights
    exam: str | None = None  # exam result of judge or jury, in a line; None: nothing

    @property
    def protocol(self) -> Annotated[str, SENT]:
        """The id of the protocol that this leaderboard ranks models by."""
        return self.edition.id

    @property
    def series(self) -> str:
        """An id that this leaderboard shares with all leaderboards that differ from it only in
        their configurations.
        """
        return make_board_id(self.edition, None, self.judge, self.rules, self.weights)

    @property
    def wanted_boards(self) -> Wanted:
        """The rules, weights and jury with which the leaderboards of a protocol are made, this one
        among them.
        """
        jury = self.judges if self.judge_kind == "jury" else ()
        return Wanted(jury=jury, rules=RULES[self.rules], weights=self.weights)


@dataclass(frozen=True, eq=False)
class Catalog:
    """Everything that can be shown, by id."""

    store: Store
    version: str  # changes when anything in it may have changed
    newest: float | None  # seconds since 1970
    subjects: Mapping[str, ChatModel]  # by hash
    labels: Mapping[str, str]  # labels of subjects, unique, by hash
    judges: Mapping[str, str]  # labels, by hash
    kinds: Mapping[str, JudgeKind]  # kinds of judges, by label
    editions: Mapping[str, Edition]  # the protocol played last first
    _kept: dict[object, Any] = field(init=False, default_factory=dict)
    _locks: dict[object, threading.Lock] = field(
        init=False, default_factory=lambda: defaultdict(threading.Lock)
    )
    _latest: list[tuple[object, Any]] = field(init=False, default_factory=list)

    @cached_property
    def transcripts(self) -> Mapping[str, StoredTranscript]:
        """Every stored conversation in this catalog, by its id."""
        return {one.id: one for edition in self.editions.values() for one in edition.transcripts}

    @cached_property
    def entries(self) -> Mapping[str, BoardEntry]:
        """Every leaderboard of this catalog without its rows, by its id; the one to open with comes
        first.
        """
        listed = [
            entry for edition in self.editions.values() for entry in self._make_entries(edition)
        ]
        listed.sort(key=lambda entry: (entry.weights is not None, entry.rules != OWN.name))
        return {entry.id: entry for entry in listed}

    def find_board(self, entry: BoardEntry) -> Board:
        """Return the leaderboard, with its rows, that *entry* names; worked out once. Raise
        NotThere if the leaderboard is gone, because the store has changed.
        """
        return find_by_id(self.find_boards(entry.edition, entry.wanted_boards), entry.id)

    def find_boards(self, edition: Edition, wanted: Wanted = ALL) -> Mapping[str, Board]:
        """Return the leaderboards of the protocol *edition* that *wanted* asks for, by their ids;
        worked out once.
        """

        def work_out_boards() -> dict[str, Board]:
            """Return the leaderboards of the protocol, by their ids, computed from the records."""
            by = wanted.rules.name, wanted.weights
            return {
                make_board_id(edition, board.configurations, board.judge, *by): board
                for board in make_leaderboards(edition.records, edition.protocol, wanted)
            }

        return self.remember_result(("boards", edition.id, wanted), work_out_boards)

    def choose_jury_labels(self, edition: Edition) -> tuple[str, ...]:
        """Return the labels of a protocol's judges that rank enough models to form a jury, without
        the embedded judge; () for fewer than two.

        A judge that ranks less than half as many models as the busiest judge would leave the jury's
        leaderboard with hardly any row.
        """
        ranks: dict[str, int] = defaultdict(int)
        for board in self.find_boards(edition).values():
            if board.judge is not None and not board.by_table:
                ranks[board.judge] = max(ranks[board.judge], len(board.ranked))
        most = max(ranks.values(), default=0)
        panel = tuple(
            sorted(judge for judge, ranked in ranks.items() if ranked and 2 * ranked >= most)
        )
        return panel if len(panel) > 1 else ()

    def find_exam_results(self, edition: Edition) -> ExaminedJudges:
        """Return the exam results of the judges on the leaderboards of the protocol *edition*."""
        return edition.records.examined

    def measure_items(self, entry: BoardEntry) -> ItemAnalysis:
        """Return the difficulty of each scenario of the leaderboard that *entry* names, and each
        model's scores in the scenarios; worked out once.
        """
        return self.remember_result(
            ("items", entry.id), lambda: analyse_items(self.find_board(entry))
        )

    def read_judge_comparisons(self, edition: Edition) -> Sequence[Validation]:
        """Return the comparisons of a protocol's judges with each other, one for each
        configuration; read from the store once.
        """
        return self.remember_result(
            ("judges", edition.id), lambda: compare_judges(self.store, edition.protocol)
        )

    def remember_result(self, key: object, work_out: Callable[[], A]) -> A:
        """Return the result of *work_out*, which is called once for each *key*; the result is kept.
        Other threads that ask for the same *key* wait for it.
        """
        if key not in self._kept:
            with self._locks[key]:
                if key not in self._kept:
                    self._kept[key] = work_out()
        return cast(A, self._kept[key])

    def remember_latest_result(self, key: object, work_out: Callable[[], A]) -> A:
        """Return the result of *work_out*, which is called only if the last call of this method had
        another *key*; only the latest result is kept.
        """
        last = self._latest[-1:]
        if not last or last[0][0] != key:
            last = self._latest[:] = [(key, work_out())]
        return cast(A, last[0][1])

    def find_row(self, board: Board, subject: str) -> Row:
        """Return the row of a leaderboard with the model whose id is *subject*. Raise NotThere if
        there is none.
        """
        _, rows = self.remember_result(
            ("rows", id(board)),
            lambda: (board, {row.subject.id: row for row in board.rows}),
        )
        return find_by_id(rows, subject)

    def _make_entries(self, edition: Edition) -> list[BoardEntry]:
        """Return the entries of all leaderboards of a protocol: by each judge and by the jury, with
        all rules and weights.
        """
        entries = [
            BoardEntry(
                id_,
                edition,
                board.configurations,
                board.judge,
                None if board.judge is None else self.kinds.get(board.judge, "model"),
                () if board.judge is None else (board.judge,),
                OWN.name,
                board.judge == board.main_judge,
                exam=board.exam_line,
            )
            for id_, board in self.find_boards(edition).items()
        ]
        if jury := self.choose_jury_labels(edition):
            entries += [
                BoardEntry(
                    id_,
                    edition,
                    board.configurations,
                    board.judge,
                    "jury",
                    jury,
                    OWN.name,
                    exam=board.exam_line,
                )
                for id_, board in self.find_boards(edition, Wanted(jury=jury)).items()
            ]
        # by other rules and weights there are the same boards; which rows they have is worked out
        # when somebody asks
        return [
            replace(
                one,
                id=make_board_id(edition, one.configurations, one.judge, rules, weights),
                rules=rules,
                weights=weights,
            )
            for weights in (None, *(weighting.name for weighting in edition.protocol.weightings))
            for rules in RULES
            for one in entries
        ]


def make_board_id(
    edition: Edition,
    configurations: Sequence[Configuration] | None,
    judge: str | None,
    rules: str,
    weights: str | None,
) -> str:
    """Return the id of a leaderboard in web addresses: its description in words, and a hash of the
    same in full. If *configurations* (its configurations) is None, return the id that all
    leaderboards share that differ only in their configurations.
    """
    words = [edition.protocol.name]
    words += [] if rules == OWN.name else [rules, "rules"]
    words += [] if weights is None else [weights, "weights"]
    parts: list[Any] = [edition.hash]
    if configurations is not None:
        words += (
            [configurations[0].system, configurations[0].delivery]
            if len(configurations) == 1
            else ["pooled"]
        )
        parts.append([str(configuration) for configuration in configurations])
    parts += [judge, rules] if weights is None else [judge, rules, weights]
    return make_slug(" ".join([*words, judge or "not judged"]), hash_content(parts))


def read_catalog(
    store: Store, wanted_protocols: Sequence[Protocol] = (), on_progress: Told = ignore_progress
) -> Catalog:
    """Read everything in *store* that the viewer shows: of the protocols *wanted_protocols*, or of
    all that are stored, the one played last first.

    A protocol of which nothing is stored is left out. *on_progress* is called with each number of
    steps done.
    """
    with store.open_snapshot() as connection:
        subjects = registry.read_subjects(connection)
        labels = make_unique_labels(subjects)
        played = registry.read_protocols(connection)
        protocols = list(wanted_protocols) or [
            read_stored_protocol(connection, hash_, files, where=f"{store.shown}: {name}")
            for hash_, name, files in played
        ]
        editions = {}
        for hash_, protocol in {p.hash: p for p in protocols}.items():
            records = read_board_records(connection, protocol, on_progress)
            id_ = make_slug(protocol.name, hash_)
            edition = Edition(id_, protocol, hash_, records, labels)
            if edition.transcript_count:
                editions[id_] = edition
        judges = registry.read_judge_labels(connection)
        people = registry.find_human_judge_hashes(connection)
        return Catalog(
            store=store,
            version=hash_store_state(connection),
            newest=find_newest_time(connection),
            subjects=subjects,
            labels=labels,
            judges=judges,
            kinds={
                label: "table"
                if is_embedded_judge(label)
                else "person"
                if hash_ in people
                else "model"
                for hash_, label in judges.items()
            },
            editions=editions,
        )
