"""What a store holds at one moment, found by the ids that the page uses.

A catalog is read once and never changes: the server reads another one when the store has changed. What takes long
(boards of other rules, juries, names, agreement of judges) is worked out when it is first asked for, once.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, TypeVar, cast

from sqlalchemy import Connection

from independence_bench.analysis.judge_agreement import Validation, validations
from independence_bench.analysis.leaderboard import Board, Row, boards
from independence_bench.analysis.results import Key, results_of
from independence_bench.hashing import content_hash
from independence_bench.models.local import is_table_judge
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.protocol.loader import parse_stored
from independence_bench.protocol.plan import every_configuration
from independence_bench.protocol.scoring import OWN, RULES
from independence_bench.report.contents import Contents, read_contents
from independence_bench.store import registry, usage
from independence_bench.store.database import Store
from independence_bench.store.fingerprint import state_of
from independence_bench.store.registry import unique_labels
from independence_bench.store.results import TranscriptRow
from independence_bench.viewer.shapes import JudgeKind
from independence_bench.viewer.slugs import scenario_slug, slug, transcript_slug

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Stored:
    """One transcript that counts, and its place in a protocol."""

    id: str
    row: TranscriptRow
    configuration: Configuration
    scenario: Scenario
    key: Key  # what a judgement of it is of


@dataclass(frozen=True, slots=True)
class Edition:
    """One protocol of which something that counts is stored."""

    id: str
    protocol: Protocol
    hash: str  # the protocol's, which takes milliseconds to make
    transcripts: tuple[Stored, ...]  # by label, run, configuration, scenario
    by_scenario: Mapping[str, Scenario]  # by the scenario's id in paths


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a board is, without its rows: it can be listed before they are worked out."""

    id: str
    edition: Edition
    configurations: tuple[Configuration, ...]
    judge: str | None  # label
    kind: JudgeKind | None
    judges: tuple[str, ...]  # labels: the jury's, or the one
    rules: str
    main: bool = False  # its judge is the main one
    weights: str | None = None  # a weighting of the protocol's; None: its own weights

    @property
    def protocol(self) -> Protocol:
        """The edition's, with this ranking's weights."""
        return self.edition.protocol.weighed(self.weights)


@dataclass(frozen=True, slots=True)
class Holdings:
    """What is read from a store in one go."""

    version: str
    newest: float | None  # seconds since 1970
    subjects: Mapping[str, ChatModel]  # by hash
    labels: Mapping[str, str]  # of subjects, unique, by hash
    judges: Mapping[str, str]  # labels, by hash
    kinds: Mapping[str, JudgeKind]  # of judges, by label
    editions: Mapping[str, Edition]  # the protocol played last first
    transcripts: Mapping[str, tuple[Edition, int]]  # id -> its place in the edition's list


class Catalog:
    """Everything that can be shown, by id."""

    def __init__(self, store: Store, holdings: Holdings) -> None:
        self.store, self.held = store, holdings
        self._worked_out: dict[tuple[str, ...], Any] = {}
        self._latest: tuple[str, Any] | None = None
        self._locks: dict[tuple[str, ...], threading.Lock] = defaultdict(threading.Lock)

    @property
    def version(self) -> str:
        """Changes when anything in it may have changed."""
        return self.held.version

    @cached_property
    def rankings(self) -> Mapping[str, Ranking]:
        """Every board there is, the one to open with first."""
        found = [ranking for edition in self.held.editions.values() for ranking in self._rankings(edition)]
        return {
            ranking.id: ranking
            for ranking in sorted(found, key=lambda one: (one.weights is not None, one.rules != OWN.name))
        }

    def board(self, ranking: Ranking) -> Board | None:
        """The board behind *ranking*; None where the store has changed so that there is none any more."""
        jury = self.jury(ranking.edition) if ranking.kind == "jury" else ()
        return self.boards(ranking.edition, ranking.rules, jury, ranking.weights).get(ranking.id)

    def boards(
        self, edition: Edition, rules: str = OWN.name, jury: tuple[str, ...] = (), weights: str | None = None
    ) -> Mapping[str, Board]:
        """Every board of *edition* by *rules* and *weights*, of each of its judges or of one *jury*: by its id."""

        def work_out() -> dict[str, Board]:
            made = boards(self.store, edition.protocol.weighed(weights), jury=jury, rules=RULES[rules])
            return {ranking_id(edition, board.configurations, board.judge, rules, weights): board for board in made}

        return self._once(("boards", edition.id, rules, weights or "", *jury), work_out)

    def series(self, ranking: Ranking) -> Sequence[Board]:
        """Every board by the judge or jury, the rules and the weights of *ranking*, in whatever configuration."""
        jury = ranking.judges if ranking.kind == "jury" else ()
        every = self.boards(ranking.edition, ranking.rules, jury, ranking.weights).values()
        return [board for board in every if board.judge == ranking.judge]

    def jury(self, edition: Edition) -> tuple[str, ...]:
        """The labels of the edition's judges that rank enough subjects, the embedded one apart; () for fewer than two.

        Who ranks less than half as many as the busiest one would leave the jury's board with hardly any row.
        """
        ranks: dict[str, int] = defaultdict(int)
        for board in self.boards(edition).values():
            if board.judge is not None and not board.by_table:
                ranks[board.judge] = max(ranks[board.judge], len(board.ranked))
        most = max(ranks.values(), default=0)
        panel = tuple(sorted(judge for judge, ranked in ranks.items() if ranked and 2 * ranked >= most))
        return panel if len(panel) > 1 else ()

    def contents(self, ranking: Ranking, board: Board) -> Contents:
        """The report on *board* alone."""
        protocol = ranking.protocol
        return self._once(("contents", ranking.id), lambda: read_contents(self.store, protocol, [board]))

    def validations(self, edition: Edition) -> Sequence[Validation]:
        """The edition's judges beside each other."""
        return self._once(("judges", edition.id), lambda: validations(self.store, edition.protocol))

    def kept(self, name: str, work_out: Callable[[], A]) -> A:
        """What *work_out* returns, kept under *name* for whoever else asks for it."""
        return self._once(("kept", name), work_out)

    def latest(self, name: str, work_out: Callable[[], A]) -> A:
        """What *work_out* returns, kept until something else is asked for in this way."""
        last = self._latest
        if last is None or last[0] != name:
            last = self._latest = (name, work_out())
        return cast(A, last[1])

    def of_subject(self, edition: Edition, subject: str) -> Sequence[Stored]:
        """The transcripts of the subject with that hash, by run, configuration, scenario; () for an unknown one."""

        def work_out() -> dict[str, list[Stored]]:
            found: dict[str, list[Stored]] = defaultdict(list)
            for one in edition.transcripts:
                found[one.row.subject_hash].append(one)
            return dict(found)

        return self._once(("of subjects", edition.id), work_out).get(subject, ())

    def subjects_in(
        self, edition: Edition, configuration: Configuration, scenario: Scenario
    ) -> Mapping[str, Sequence[Stored]]:
        """The transcripts of one scenario in one configuration: subject's hash (by label) -> by run; {}: none."""

        def work_out() -> dict[tuple[Configuration, str], dict[str, list[Stored]]]:
            found: dict[tuple[Configuration, str], dict[str, list[Stored]]] = defaultdict(dict)
            for one in edition.transcripts:
                of_scenario = found[one.configuration, one.scenario.id]
                of_scenario.setdefault(one.row.subject_hash, []).append(one)
            return dict(found)

        return self._once(("of scenarios", edition.id), work_out).get((configuration, scenario.id), {})

    def row(self, board: Board, subject: str) -> Row | None:
        """The row of the subject with that id."""
        return next((row for row in rows_of(board) if subject_id(row.subject) == subject), None)

    def _rankings(self, edition: Edition) -> list[Ranking]:
        own = self.boards(edition)
        placed = [
            Ranking(
                id_, edition, board.configurations, board.judge, self._kind(board.judge), _one(board.judge), OWN.name,
                board.judge == board.main_judge,
            )
            for id_, board in own.items()
        ]  # fmt: skip
        if jury := self.jury(edition):
            together = self.boards(edition, OWN.name, jury)
            placed += [
                Ranking(id_, edition, board.configurations, board.judge, "jury", jury, OWN.name)
                for id_, board in together.items()
            ]
        # by other rules and weights there are the same boards; which rows they have is worked out when somebody asks
        others = [
            replace(
                one,
                id=ranking_id(edition, one.configurations, one.judge, rules, weights),
                rules=rules,
                weights=weights,
            )
            for weights in (None, *(weighting.name for weighting in edition.protocol.weightings))
            for rules in RULES
            if (rules, weights) != (OWN.name, None)
            for one in placed
        ]
        return placed + others

    def _kind(self, judge: str | None) -> JudgeKind | None:
        return None if judge is None else self.held.kinds.get(judge, "model")

    def _once(self, key: tuple[str, ...], work_out: Callable[[], A]) -> A:
        """What *work_out* returns, worked out for the first who asks; others wait for it."""
        if key not in self._worked_out:
            with self._locks[key]:
                if key not in self._worked_out:
                    self._worked_out[key] = work_out()
        return cast(A, self._worked_out[key])


def subject_id(subject: ChatModel) -> str:
    """A subject's id: from its own label, so that it stays the same whoever else is played."""
    return slug(subject.label, subject.hash)


def _one(judge: str | None) -> tuple[str, ...]:
    return () if judge is None else (judge,)


def rows_of(board: Board) -> tuple[Row, ...]:
    """All rows, ranked ones first."""
    return (*board.ranked, *board.incomplete)


def ranking_id(
    edition: Edition, group: Sequence[Configuration], judge: str | None, rules: str, weights: str | None
) -> str:
    """A board's id: what it is, in words, and the hash of the same in full."""
    where = f"{group[0].system} {group[0].delivery}" if len(group) == 1 else "pooled"
    name = f"{edition.protocol.name}{_by(rules, weights)} {where} {judge or 'not judged'}"
    weighed = [] if weights is None else [weights]
    return slug(name, content_hash([edition.hash, [str(one) for one in group], judge, rules, *weighed]))


def series_id(ranking: Ranking) -> str:
    """The id of all boards that differ from this one in nothing but their configurations: made as a board's is."""
    edition, judge, rules = ranking.edition, ranking.judge, ranking.rules
    name = f"{edition.protocol.name}{_by(rules, ranking.weights)} {judge or 'not judged'}"
    weighed = [] if ranking.weights is None else [ranking.weights]
    return slug(name, content_hash([edition.hash, judge, rules, *weighed]))


def _by(rules: str, weights: str | None) -> str:
    by_rules = "" if rules == OWN.name else f" {rules} rules"
    return by_rules if weights is None else f"{by_rules} {weights} weights"


def read_catalog(store: Store, wanted: Sequence[Protocol] = ()) -> Catalog:
    """The catalog of *store*: of the protocols *wanted*, or of all that are stored, the one played last first.

    Protocols of which nothing is stored are left out. A store that holds nothing gives an empty catalog.
    """
    with store.reading() as connection:
        subjects = registry.stored_subjects(connection)
        labels = unique_labels(subjects)
        played = registry.stored_protocols(connection)
        protocols = list(wanted) or [parse_stored(files, where=f"{store.shown}: {name}") for _, name, files in played]
        editions = {}
        for hash_, protocol in {one.hash: one for one in protocols}.items():
            if transcripts := _transcripts(connection, protocol, hash_, labels):
                id_ = slug(protocol.name, hash_)
                editions[id_] = Edition(
                    id=id_,
                    protocol=protocol,
                    hash=hash_,
                    transcripts=transcripts,
                    by_scenario={scenario_slug(one.id): one for one in protocol.scenarios},
                )
        judges = registry.stored_judges(connection)
        specs = registry.judge_specs(connection)
        holdings = Holdings(
            version=state_of(connection),
            newest=usage.newest(connection),
            subjects=subjects,
            labels=labels,
            judges=judges,
            kinds={label: _kind(label, specs.get(hash_, {})) for hash_, label in judges.items()},
            editions=editions,
            transcripts={
                one.id: (edition, place)
                for edition in editions.values()
                for place, one in enumerate(edition.transcripts)
            },
        )
    return Catalog(store, holdings)


def _transcripts(
    connection: Connection, protocol: Protocol, hash_: str, labels: Mapping[str, str]
) -> tuple[Stored, ...]:
    """Every transcript that counts for *protocol*, in the first of the places that it fills."""
    order = {place: number for number, place in enumerate(product(every_configuration(protocol), protocol.scenarios))}
    found: dict[str, Stored] = {}
    for one in (one for results in results_of(connection, protocol) for one in results.conversations):
        stored = Stored(transcript_slug(hash_, one.row.id), one.row, one.configuration, one.scenario, one.key)
        found.setdefault(one.row.id, stored)
    return tuple(
        sorted(
            found.values(),
            key=lambda one: (
                labels[one.row.subject_hash],
                one.row.subject_hash,
                one.row.run,
                order[one.configuration, one.scenario],
            ),
        )
    )


def _kind(label: str, spec: Mapping[str, Any]) -> JudgeKind:
    if is_table_judge(label):
        return "table"
    return "person" if spec.get("kind") == "person" else "model"
