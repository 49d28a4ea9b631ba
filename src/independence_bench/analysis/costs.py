"""The costs of a store as values: by command and by model, with list prices beside them.

Dollars are those that providers reported. If one reported none and its list price was kept, they
are computed from the tokens, and kept apart. Calls whose cost is unknown are counted, never as $0.
All sums of a kind add up to `Costs.whole`. Imported results were paid by others and are summed up
apart. The cost of a leaderboard's row, and its tokens of reasoning, are read here, too: rejected
answers were paid for and count, and if the price of an answer is not known there is no cost.
Formats nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated

from sqlalchemy import Connection

from independence_bench.analysis.results import (
    Key,
    ReasoningTokens,
    reasoning_tokens,
)
from independence_bench.columns import SENT, Column
from independence_bench.figures import DOLLARS, WHOLE, Count, Dollars
from independence_bench.models.local import JUDGES as EMBEDDED_JUDGES
from independence_bench.models.messages import Kind
from independence_bench.protocol.definition import Configuration
from independence_bench.protocol.scoring import mean_of, sum_of
from independence_bench.store import registry, usage
from independence_bench.store import results as stored_results
from independence_bench.store.attempts import ANSWERED, CUT_OFF, LOST
from independence_bench.store.registry import unique_labels
from independence_bench.store.usage import AttemptCost, Command, ListPrice

if TYPE_CHECKING:  # the cost of a store is read without making a leaderboard
    from independence_bench.analysis.board import Board, Row

# outcomes of a call that may have cost something though no cost was reported
MAY_COST = (
    ANSWERED, CUT_OFF, LOST, None, Kind.BROKEN, Kind.TOO_LARGE, Kind.WRONG_PROVIDER, Kind.TIMEOUT,
    Kind.CONNECTION, Kind.CUT_PROMPT,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Paid:
    """The total of some calls."""

    calls: int
    dollars: float  # that providers reported
    computed_dollars: float  # from list prices, where no provider reported any
    # the same calls at list prices, every token in full; None: of one with a reported cost no list
    # price was kept
    listed: float | None
    unknown: int  # calls that may have cost something, it is not known what; those in flight too


@dataclass(frozen=True, slots=True)
class CommandCost:
    """The cost of one command."""

    began_at: float  # seconds since 1970
    # None: made before commands were recorded; "": by a program that uses the library
    typed: str | None
    paid: Paid


@dataclass(frozen=True, slots=True)
class ModelCost:
    """The cost of the calls to one model."""

    name: str  # its label
    paid: Paid


@dataclass(frozen=True, slots=True)
class ImportedCosts:
    """The cost to others of imported results, as the imported data says; in no sum of the store's
    own.
    """

    whole: Paid
    subjects: tuple[ModelCost, ...]  # replies, the dearest first
    judges: tuple[ModelCost, ...]  # judgements and readings of names, likewise
    replies: Paid
    judgements: Paid


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of all of a store's own calls in its whole life."""

    whole: Paid
    replies: Paid  # of the whole
    judgements: Paid  # of the whole
    commands: tuple[CommandCost, ...]  # that made a call, in the order in which they began
    subjects: tuple[ModelCost, ...]  # replies, the dearest first
    judges: tuple[ModelCost, ...]  # judgements and readings of names, likewise
    imported: ImportedCosts | None  # None: nothing was


@dataclass(frozen=True, slots=True)
class _Item:
    """One call with its reported, computed or unknown cost."""

    payment: AttemptCost
    reported: float = 0.0
    computed: float = 0.0
    listed: float | None = 0.0  # by list price; None: it has a reported cost and no list price
    unknown: bool = False


def read_costs(connection: Connection) -> Costs:
    """Return what the calls of the store have cost."""
    prices = usage.kept_prices(connection)
    items = [
        _item(paid, prices.get((paid.owner, paid.endpoint, paid.model)))
        for paid in usage.payments(connection)
    ]
    imported = [_item(paid, None) for paid in usage.payments(connection, imported=True)]
    theirs = ImportedCosts(*_by_model(connection, imported)) if imported else None
    whole, subjects, judges, replies, judgements = _by_model(connection, items)
    commands = _by_command(items, usage.kept_commands(connection))
    return Costs(whole, replies, judgements, commands, subjects, judges, theirs)


def _by_model(
    connection: Connection, items: Sequence[_Item]
) -> tuple[Paid, tuple[ModelCost, ...], tuple[ModelCost, ...], Paid, Paid]:
    """Return the total of *items*; the costs of subjects, then of judges, the dearest first; the
    totals of replies, then of judgements.
    """
    names = _names(connection, [item.payment for item in items])
    replies, judgements = (
        [item for item in items if item.payment.kind == kind] for kind in ("reply", "judgement")
    )
    subjects, judges = (_dearest(mine, names) for mine in (replies, judgements))
    return _paid(items), subjects, judges, _paid(replies), _paid(judgements)


def _item(payment: AttemptCost, price: ListPrice | None) -> _Item:
    """Return the call with its cost: reported, else computed from the list *price*, else unknown if
    it may have cost something.
    """
    listed = None
    if (
        price is not None
        and payment.prompt_tokens is not None
        and payment.completion_tokens is not None
    ):
        listed = price.cost_of(payment.prompt_tokens, payment.completion_tokens)
    # a 0 beside a list price, of older stores, is none
    if payment.cost or (payment.cost == 0 and not listed):
        return _Item(payment, payment.cost, listed=listed if payment.cost else 0.0)
    if payment.outcome not in MAY_COST and payment.status != 200:  # with 200 a reply had begun
        return _Item(payment)
    if listed is None:
        return _Item(payment, unknown=True)
    return _Item(payment, computed=listed, listed=listed)


def _paid(items: Sequence[_Item]) -> Paid:
    """Return the total of *items*."""
    listed = [item.listed for item in items if item.listed is not None]
    return Paid(
        len(items),
        fsum(item.reported for item in items),
        fsum(item.computed for item in items),
        fsum(listed) if len(listed) == len(items) else None,
        sum(item.unknown for item in items),
    )


def _by_command(items: Sequence[_Item], commands: Mapping[str, Command]) -> tuple[CommandCost, ...]:
    """Return the cost of each command, which may have several owners. An owner without a record
    counts as a command of its own.
    """
    owners = {item.payment.owner for item in items}
    called = {owner: command for owner, command in commands.items() if owner in owners}
    sessions = {owner: command.session for owner, command in called.items()}
    latest_first = sorted(called.values(), key=lambda command: -command.began_at)
    first, costs = {command.session: command for command in latest_first}, []
    by_session: dict[str, list[_Item]] = defaultdict(list)
    for item in items:
        by_session[sessions.get(item.payment.owner, item.payment.owner)].append(item)
    for session, mine in by_session.items():
        known = first.get(session)
        began_at = known.began_at if known else min(item.payment.started_at for item in mine)
        costs.append(CommandCost(began_at, known.typed if known else None, _paid(mine)))
    return tuple(sorted(costs, key=lambda command: command.began_at))


def _dearest(items: Sequence[_Item], names: Mapping[str, str]) -> tuple[ModelCost, ...]:
    """Return the cost of each model, the dearest first. *names*: key of a call -> label of its
    model.
    """
    by_name: dict[str, list[_Item]] = defaultdict(list)
    for item in items:
        by_name[names[item.payment.key]].append(item)
    costs = [ModelCost(name, _paid(mine)) for name, mine in by_name.items()]
    return tuple(
        sorted(
            costs,
            key=lambda of: (-(of.paid.dollars + of.paid.computed_dollars), -of.paid.calls, of.name),
        )
    )


def _names(connection: Connection, payments: Sequence[AttemptCost]) -> dict[str, str]:
    """Return key of a call -> label of the subject or judge that it asks. For cleared results the
    request says which.
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


# ---------------------------------------------------------------- of the rows of a board


NOT_BOUGHT = ("person", *EMBEDDED_JUDGES)  # judges whose marks cost nothing
CAME = (ANSWERED, CUT_OFF)  # outcomes that a provider is paid for


@dataclass(frozen=True, slots=True)
class SubjectCost:
    """The cost of a subject on one leaderboard, in dollars. None: not known, or not of all of
    it.
    """

    dollars: float | None = None  # its replies
    # the judgements of them by the board's judge, or by all of its jury
    judging: float | None = None
    served: tuple[tuple[str, int], ...] = ()  # (provider, replies), the one that served most first

    @property
    def total(self) -> float | None:
        """Replies and judgements together; None if one of them is not known."""
        return None if self.dollars is None or self.judging is None else self.dollars + self.judging


def subject_costs(
    connection: Connection, board: Board, subjects: Collection[str] | None = None
) -> dict[str, SubjectCost]:
    """Return subject's hash -> the cost of its row. A reply or a judgement that several
    conversations share counts once.

    *subjects*: of these alone; None: of all.
    """
    wanted = {
        of: mine
        for of, mine in board.results.by_subject.items()
        if subjects is None or of in subjects
    }
    about = dict.fromkeys(played.key for mine in wanted.values() for played in mine)
    judged = [of_judge[key] for key in about for of_judge in board.given if key in of_judge]
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


def with_reasoning_tokens(
    connection: Connection, boards: Sequence[Board], subjects: Collection[str] | None = None
) -> list[Board]:
    """Return *boards* of one protocol with the tokens of reasoning of each row's replies.

    *subjects*: as for `read_subject_costs`.
    """
    read: dict[tuple[Configuration, ...], Mapping[str, ReasoningTokens]] = {}
    made = []
    for board in boards:
        if board.configurations not in read:
            wanted = board.results.by_subject.keys() if subjects is None else subjects
            read[board.configurations] = reasoning_tokens(connection, board.results, wanted)
        found = read[board.configurations]
        ranked, incomplete = (
            tuple(replace(row, reasoning_tokens=found.get(row.subject.hash)) for row in rows)
            for rows in (board.ranked, board.incomplete)
        )
        made.append(replace(board, ranked=ranked, incomplete=incomplete))
    return made


@dataclass(frozen=True, slots=True)
class IndexPrice:
    """The price of a ranked subject's index, in dollars of one run. None: not known."""

    label: str
    index: float
    replies_per_run: Dollars | None
    judging_per_run: Dollars | None  # what the board's judge took for it
    # both together
    dollars_per_run: Annotated[
        float | None,
        Column("$ a run", DOLLARS, wide=True, spare=1, meaning="replies and judge of one run"),
    ]

    @property
    def free(self) -> Annotated[bool, SENT]:
        """Whether neither its replies nor its judge cost anything."""
        return self.dollars_per_run == 0

    @property
    def points_per_dollar(self) -> Annotated[float | None, WHOLE]:
        """The index divided by the dollars of one run; None if it is free, or its price is not
        known.
        """
        return self.index / self.dollars_per_run if self.dollars_per_run else None


def price_indices(rows: Sequence[Row], spent: Mapping[str, SubjectCost]) -> list[IndexPrice]:
    """Return the price of one run of each subject with an index, in the order of *rows*."""
    prices = []
    for row in rows:
        if row.index is None:
            continue
        mine = spent.get(row.subject.hash, SubjectCost())
        each = (
            None if paid is None else paid / row.runs
            for paid in (mine.dollars, mine.judging, mine.total)
        )
        prices.append(IndexPrice(row.label, row.index, *each))
    return prices


@dataclass(frozen=True, slots=True)
class RunCost:
    """The cost and time of a judge for one run of one subject. None: not known of every
    scenario.
    """

    dollars: Dollars | None = None
    seconds: Count | None = None  # of its calls one after the other, without what they waited for


def judging_cost(
    by_scenario: Sequence[Sequence[Sequence[AttemptCost]]], configurations: int, bought: bool
) -> RunCost:
    """Return a judge's cost for a run: the mean judgement of each scenario, times *configurations*,
    all together.

    *by_scenario*: for every scenario, the attempts at each judgement, failed ones included. A
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
    """Return the total *amount* (cost or time) of *answers*, each with all its attempts; None if an
    answer has no attempt, or came at unknown cost.
    """
    amounts = []
    for tries in answers:
        known = [(amount(attempt), attempt.outcome in CAME) for attempt in tries]
        if not known or (None, True) in known:
            return None
        amounts += [of_attempt or 0.0 for of_attempt, _ in known]
    return fsum(amounts)
