"""What a store has cost, as values: by command, subject, judge, provider and day, and where list
prices say otherwise.

Dollars are what providers reported; where one reported none and its list price was kept, they are
computed from the tokens, and kept apart. Calls that were free, of unknown price, or that brought
nothing are counted, never as $0. All sums of a kind add up to `Costs.whole`. Results that were
imported are paid by others and are summed up apart. What a row of a board cost, and how long its
replies are, is read here, too: rejected answers were paid for and count, and where the price of an
answer is not known there is no cost. Formats nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import fsum
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, TypeVar

from sqlalchemy import Connection

from independence_bench.analysis.results import (
    Key,
    Results,
    by_judge,
    judgements_at,
    judgements_of,
    results_of,
)
from independence_bench.judging.extraction import QUESTIONS
from independence_bench.models.local import JUDGES as EMBEDDED_JUDGES
from independence_bench.models.messages import Kind
from independence_bench.protocol.scoring import mean_of, sum_of
from independence_bench.store import registry, usage
from independence_bench.store import results as stored_results
from independence_bench.store.attempts import ANSWERED, CUT_OFF, LOST
from independence_bench.store.registry import unique_labels
from independence_bench.store.results import Judgement
from independence_bench.store.usage import AttemptCost, Command, ListPrice

if TYPE_CHECKING:  # what a store has cost is told without making a board
    from independence_bench.analysis.board import Board, BoardRecords, Row

ALIKE = 0.01  # of the list price: a difference that is no disagreement
# outcomes of a call that may have cost something though no cost was reported
MAY_COST = (
    ANSWERED, CUT_OFF, LOST, None, Kind.BROKEN, Kind.TOO_LARGE, Kind.WRONG_PROVIDER, Kind.TIMEOUT, Kind.CONNECTION,
    Kind.CUT_PROMPT,
)  # fmt: skip

Group = TypeVar("Group")
PaymentSort = Literal["told", "computed", "free", "unknown", "nothing"]


@dataclass(frozen=True, slots=True)
class Paid:
    """What some calls came to. The numbers of calls by sort add up to *calls*."""

    calls: int
    dollars: float  # that providers reported
    computed_dollars: float  # from list prices, where no provider reported any
    told: int  # calls with a cost that a provider reported
    computed: int  # calls whose cost is computed
    free: int  # calls that cost nothing: reported so, listed so, or at an endpoint of your own
    unknown: int  # calls that may have cost something, it is not known what; those in flight too
    nothing: int  # calls that brought nothing and reported no cost: refused, mostly


@dataclass(frozen=True, slots=True)
class CommandCost:
    """What one command spent."""

    began_at: float  # seconds since 1970
    # None: made before commands were recorded; "": by a program that uses the library
    typed: str | None
    paid: Paid


@dataclass(frozen=True, slots=True)
class NamedCost:
    """What belongs together by its *name*: a label, a provider, a day."""

    name: str
    paid: Paid


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Calls of one model, served by one provider, whose reported cost is not the list price of
    their time.
    """

    model: str
    provider: str
    calls: int
    dollars: float  # reported
    listed: float  # by list price, every token in full
    cached_tokens: int  # of the prompts; providers ask less for them

    @property
    def difference(self) -> float:
        """Reported minus listed, in dollars."""
        return self.dollars - self.listed


@dataclass(frozen=True, slots=True)
class ImportedCosts:
    """What others paid for what was imported, as the imported data says; in no sum of the store's
    own.
    """

    whole: Paid  # replies, judgements and readings of names
    subjects: tuple[NamedCost, ...]  # replies, the dearest first
    judges: tuple[NamedCost, ...]  # judgements, likewise
    names: tuple[NamedCost, ...]  # readings of names, by the model that read
    replies: Paid
    judgements: Paid
    readings: Paid


@dataclass(frozen=True, slots=True)
class Costs:
    """All that a store's own calls have cost in its whole life."""

    whole: Paid
    replies: Paid  # of the whole
    judgements: Paid  # of the whole
    commands: tuple[CommandCost, ...]  # that made a call, in the order in which they began
    subjects: tuple[NamedCost, ...]  # replies, the dearest first
    judges: tuple[NamedCost, ...]  # judgements and readings of names, likewise
    providers: tuple[NamedCost, ...]
    days: tuple[NamedCost, ...]  # UTC, in order
    disagreements: tuple[Disagreement, ...]  # the largest first
    compared: int  # calls with a reported cost and a known list price
    prompt_tokens: int  # of all calls that told
    cached_tokens: int  # of those, what providers had in their caches and ask less for
    imported: ImportedCosts | None  # None: nothing was


@dataclass(frozen=True, slots=True)
class _Item:
    """One call, and what it is counted as."""

    payment: AttemptCost
    sort: PaymentSort
    dollars: float  # reported or computed; else 0
    listed: float | None  # by list price


def read_costs(connection: Connection) -> Costs:
    """What the store has cost."""
    commands, prices = usage.kept_commands(connection), usage.kept_prices(connection)
    items = [
        _item(paid, prices.get((paid.owner, paid.endpoint, paid.model)))
        for paid in usage.payments(connection)
    ]
    names = _names(connection, [item.payment for item in items])
    compared = [item for item in items if item.payment.cost is not None and item.listed is not None]
    replies, judgements = (
        [item for item in items if item.payment.kind == kind] for kind in ("reply", "judgement")
    )
    days = _grouped(
        items, lambda payment: f"{datetime.fromtimestamp(payment.started_at, UTC):%Y-%m-%d}"
    )
    return Costs(
        whole=_paid(items),
        replies=_paid(replies),
        judgements=_paid(judgements),
        commands=_by_command(items, commands),
        subjects=_dearest(replies, lambda payment: names[payment.key]),
        judges=_dearest(judgements, lambda payment: names[payment.key]),
        providers=_dearest(items, _provider),
        days=tuple(NamedCost(day, _paid(mine)) for day, mine in sorted(days.items())),
        disagreements=_disagreements(compared),
        compared=len(compared),
        prompt_tokens=sum(item.payment.prompt_tokens or 0 for item in items),
        cached_tokens=sum(item.payment.cached_tokens or 0 for item in items),
        imported=_imported(connection),
    )


def _imported(connection: Connection) -> ImportedCosts | None:
    items = [_item(paid, None) for paid in usage.payments(connection, imported=True)]
    if not items:
        return None
    names, of_names = (
        _names(connection, [item.payment for item in items]),
        usage.judgements_by(connection, QUESTIONS),
    )
    kinds: dict[str, list[_Item]] = {"reply": [], "judgement": [], "name": []}
    for item in items:
        kinds["name" if item.payment.key in of_names else item.payment.kind].append(item)
    subjects, judges, readers = (
        _dearest(mine, lambda payment: names[payment.key]) for mine in kinds.values()
    )
    replies, judgements, readings = map(_paid, kinds.values())
    return ImportedCosts(_paid(items), subjects, judges, readers, replies, judgements, readings)


def _item(payment: AttemptCost, price: ListPrice | None) -> _Item:
    listed = None
    if (
        price is not None
        and payment.prompt_tokens is not None
        and payment.completion_tokens is not None
    ):
        listed = price.cost_of(payment.prompt_tokens, payment.completion_tokens)
    # a 0 beside a list price, of older stores, is none
    if payment.cost or (payment.cost == 0 and not listed):
        return _Item(payment, "told" if payment.cost else "free", payment.cost, listed)
    if payment.outcome not in MAY_COST and payment.status != 200:  # with 200 a reply had begun
        return _Item(payment, "nothing", 0.0, None)
    if listed is None:
        return _Item(payment, "unknown", 0.0, None)
    return _Item(payment, "computed" if listed else "free", listed, listed)


def _paid(items: Sequence[_Item]) -> Paid:
    of: dict[PaymentSort, list[float]] = {
        "told": [],
        "computed": [],
        "free": [],
        "unknown": [],
        "nothing": [],
    }
    for item in items:
        of[item.sort].append(item.dollars)
    counts = {sort: len(dollars) for sort, dollars in of.items()}
    return Paid(len(items), fsum(of["told"]), fsum(of["computed"]), **counts)


def _by_command(items: Sequence[_Item], commands: Mapping[str, Command]) -> tuple[CommandCost, ...]:
    """The cost of each command, which had one owner or more; unrecorded owners count as separate
    commands.
    """
    owners = {item.payment.owner for item in items}
    called = {owner: command for owner, command in commands.items() if owner in owners}
    sessions = {owner: command.session for owner, command in called.items()}
    latest_first = sorted(called.values(), key=lambda command: -command.began_at)
    first, costs = {command.session: command for command in latest_first}, []
    for session, mine in _grouped(
        items, lambda payment: sessions.get(payment.owner, payment.owner)
    ).items():
        known = first.get(session)
        began_at = known.began_at if known else min(item.payment.started_at for item in mine)
        costs.append(CommandCost(began_at, known.typed if known else None, _paid(mine)))
    return tuple(sorted(costs, key=lambda command: command.began_at))


def _grouped(
    items: Iterable[_Item], by: Callable[[AttemptCost], Group]
) -> dict[Group, list[_Item]]:
    groups: dict[Group, list[_Item]] = defaultdict(list)
    for item in items:
        groups[by(item.payment)].append(item)
    return groups


def _dearest(
    items: Iterable[_Item], name_of: Callable[[AttemptCost], str]
) -> tuple[NamedCost, ...]:
    costs = [NamedCost(name, _paid(mine)) for name, mine in _grouped(items, name_of).items()]
    return tuple(
        sorted(
            costs,
            key=lambda of: (-(of.paid.dollars + of.paid.computed_dollars), -of.paid.calls, of.name),
        )
    )


def _provider(payment: AttemptCost) -> str:
    return (
        payment.endpoint
        if payment.provider is None
        else f"{payment.provider} at {payment.endpoint}"
    )


def _names(connection: Connection, payments: Sequence[AttemptCost]) -> dict[str, str]:
    """Key of a call -> the label of the subject or judge that it asks; of what was cleared, by its
    request.
    """
    subjects, judges = usage.askers(connection)
    labels = unique_labels(registry.stored_subjects(connection)) | registry.stored_judges(
        connection
    )
    names = {}
    for payment in payments:
        model_hash = (subjects if payment.kind == "reply" else judges).get(payment.key)
        if model_hash in labels:
            names[payment.key] = labels[model_hash]
    cleared = {payment.key: payment for payment in payments if payment.key not in names}
    for key, model in usage.request_models(connection, list(cleared)).items():
        settings = registry.model_in(model)
        names[key] = (
            cleared[key].model if settings is None else labels.get(settings.hash, settings.label)
        )
    return names


def _disagreements(compared: Iterable[_Item]) -> tuple[Disagreement, ...]:
    disagreements = [
        Disagreement(
            model,
            provider,
            len(mine),
            fsum(item.payment.cost or 0.0 for item in mine),
            fsum(item.listed or 0.0 for item in mine),
            sum(item.payment.cached_tokens or 0 for item in mine),
        )
        for (model, provider), mine in _grouped(
            compared, lambda paid: (paid.model, _provider(paid))
        ).items()
    ]
    apart = [
        disagreement
        for disagreement in disagreements
        if abs(disagreement.difference) > ALIKE * disagreement.listed
    ]
    return tuple(sorted(apart, key=lambda of: (-abs(of.difference), of.model, of.provider)))


# ---------------------------------------------------------------- of the rows of a board


NOT_BOUGHT = ("person", *EMBEDDED_JUDGES)  # judges whose marks cost nothing
CAME = (ANSWERED, CUT_OFF)  # outcomes that a provider is paid for


@dataclass(frozen=True, slots=True)
class SubjectCost:
    """What a subject cost on one board, in dollars. None: not known, or not of all of it."""

    dollars: float | None = None  # its replies
    # the judgements of them by the board's judge, or by all of its jury
    judging: float | None = None
    served: tuple[tuple[str, int], ...] = ()  # (provider, replies), the one that served most first

    @property
    def total(self) -> float | None:
        """Replies and judgements together."""
        return None if self.dollars is None or self.judging is None else self.dollars + self.judging


def results_behind(board: Board, records: BoardRecords) -> Results:
    """The conversations that the rows of *board* are made of."""
    return next(group for group in records.every if group.configurations == board.configurations)


def subject_costs(
    connection: Connection,
    board: Board,
    records: BoardRecords | None = None,
    subjects: Collection[str] | None = None,
) -> dict[str, SubjectCost]:
    """Subject hash -> what its row cost; a reply or a judgement that several transcripts share
    counts once.

    *records*: what the board was made of, if at hand. *subjects*: of these alone; None: of all.
    """
    given_by: Mapping[str, Mapping[Key, Judgement]]
    if records is None:
        (results,) = results_of(connection, board.protocol, board.configurations)
        given_by = by_judge(judgements_of(connection, [results]), [results])
    else:
        results, given_by = results_behind(board, records), records.given
    wanted = {
        of: mine for of, mine in results.by_subject.items() if subjects is None or of in subjects
    }
    about = dict.fromkeys(played.key for mine in wanted.values() for played in mine)
    judged = [judgement for key in about for judgement in judgements_at(given_by, key)]
    keys = stored_results.reply_keys_of(
        connection, (played.row.id for mine in wanted.values() for played in mine)
    )
    called = {key for of in keys.values() for key in of} | {judgement.key for judgement in judged}
    replies, judgements = (
        usage.attempt_costs(connection, kind, None if subjects is None else called)
        for kind in ("reply", "judgement")
    )
    specs = registry.judge_specs(connection)
    # to the key of each judgement by the board's judge, or its jury
    given: dict[Key, list[str]] = defaultdict(list)
    bought = set()  # of those keys
    for judgement in judged:
        if judgement.judge_hash in board.judge_hashes:
            given[judgement.about].append(judgement.key)
            if specs.get(judgement.judge_hash, {}).get("kind") not in NOT_BOUGHT:
                bought.add(judgement.key)
    costs = {}
    for subject, mine in wanted.items():
        asked_for = dict.fromkeys(key for played in mine for key in keys.get(played.row.id, ()))
        marked = dict.fromkeys(key for played in mine for key in given.get(played.key, ()))
        attempts = [attempt for key in asked_for for attempt in replies.get(key, ())]
        served = Counter(
            attempt.provider for attempt in attempts if attempt.provider and attempt.outcome in CAME
        )
        judging = _in_all([judgements.get(key, ()) for key in marked if key in bought])
        costs[subject] = SubjectCost(
            _in_all([replies.get(key, ()) for key in asked_for]),
            None if board.judge is None else judging,
            tuple(sorted(served.items(), key=lambda item: (-item[1], item[0]))),
        )
    return costs


@dataclass(frozen=True, slots=True)
class IndexPrice:
    """What a ranked subject's index costs, in dollars of one run. None: not known."""

    label: str
    index: float
    replies_per_run: float | None
    judging_per_run: float | None  # what the board's judge took for it
    dollars_per_run: float | None  # both together

    @property
    def free(self) -> bool:
        """Whether neither its replies nor its judge cost anything."""
        return self.dollars_per_run == 0

    @property
    def points_per_dollar(self) -> float | None:
        """The index over the dollars of one run; None where it is free, or its price is not known."""
        return self.index / self.dollars_per_run if self.dollars_per_run else None


def price_indices(rows: Sequence[Row], spent: Mapping[str, SubjectCost]) -> list[IndexPrice]:
    """What one run of each subject with an index cost, in the order of *rows*."""
    prices = []
    for row in rows:
        if row.score.index is None:
            continue
        mine = spent.get(row.subject.hash, SubjectCost())
        each = (
            None if paid is None else paid / row.score.runs
            for paid in (mine.dollars, mine.judging, mine.total)
        )
        prices.append(IndexPrice(row.label, row.score.index, *each))
    return prices


@dataclass(frozen=True, slots=True)
class RunCost:
    """What one run of one subject takes a judge. None: not known of every scenario."""

    dollars: float | None = None
    seconds: float | None = None  # of its calls one after the other, without what they waited for


def judging_cost(
    by_scenario: Sequence[Sequence[Sequence[AttemptCost]]], configurations: int, bought: bool
) -> RunCost:
    """What a run takes: the mean judgement of each scenario, times *configurations*, all together.

    *by_scenario*: of every scenario, the attempts at each judgement, failed ones included; a
    judgement whose price or time is unknown is left out of the mean. *bought* False: the marks cost
    nothing, and their time is not known.
    """
    if not bought:
        return RunCost(dollars=0.0)
    totals = []
    for amount in (attrgetter("cost"), attrgetter("seconds")):
        each = [[_in_all([tries], amount) for tries in scenario] for scenario in by_scenario]
        total = sum_of([mean_of([of for of in scenario if of is not None]) for scenario in each])
        totals.append(None if total is None or not by_scenario else configurations * total)
    return RunCost(*totals)


def _in_all(
    answers: Iterable[Sequence[AttemptCost]],
    amount: Callable[[AttemptCost], float | None] = attrgetter("cost"),
) -> float | None:
    """What *answers* cost, or took, each with all its attempts; None where one has none, or came at
    unknown cost.
    """
    amounts = []
    for tries in answers:
        known = [(amount(attempt), attempt.outcome in CAME) for attempt in tries]
        if not known or (None, True) in known:
            return None
        amounts += [of_attempt or 0.0 for of_attempt, _ in known]
    return fsum(amounts)
