"""The costs of a store as values: by command and by model, with list prices beside them.

Dollars are those that providers reported. If one reported none and its list price was kept, they
are computed from the tokens, and kept apart. Calls whose cost is unknown are counted, never as $0.
All sums of a kind add up to `Costs.whole`. Imported results were paid by others and are summed up
apart. Formats nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from sqlalchemy import Connection

from independence_bench.models.messages import Kind
from independence_bench.store import registry, usage
from independence_bench.store.attempts import ANSWERED, CUT_OFF, LOST
from independence_bench.store.registry import make_unique_labels
from independence_bench.store.usage import AttemptCost, Command, ListPrice

# outcomes of a call that may have cost something though no cost was reported
MAY_COST = (
    ANSWERED, CUT_OFF, LOST, None, Kind.BROKEN, Kind.TOO_LARGE, Kind.WRONG_PROVIDER, Kind.TIMEOUT,
    Kind.CONNECTION, Kind.CUT_PROMPT,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Paid:
    """The number of calls in a group, and what they cost together in dollars."""

    calls: int
    dollars: float  # that providers reported
    computed_dollars: float  # from list prices, where no provider reported any
    # the same calls at list prices, every token in full; None: of one with a reported cost no list
    # price was kept
    listed: float | None
    unknown: int  # calls that may have cost something, it is not known what; those in flight too


@dataclass(frozen=True, slots=True)
class CommandCost:
    """The cost of the calls that one `aib` command made."""

    began_at: float  # seconds since 1970
    # None: made before commands were recorded; "": by a program that uses the library
    typed: str | None
    paid: Paid


@dataclass(frozen=True, slots=True)
class ModelCost:
    """The cost of the calls to one model or judge."""

    name: str  # its label
    paid: Paid


@dataclass(frozen=True, slots=True)
class ImportedCosts:
    """What imported results cost those who made them, as the imported data says. No sum of the
    store's own costs includes it.
    """

    whole: Paid
    subjects: tuple[ModelCost, ...]  # replies, the dearest first
    judges: tuple[ModelCost, ...]  # judgements and readings of names, likewise
    replies: Paid
    judgements: Paid


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of all calls that were made for this store, since its beginning; without imported
    results.
    """

    whole: Paid
    replies: Paid  # of the whole
    judgements: Paid  # of the whole
    commands: tuple[CommandCost, ...]  # that made a call, in the order in which they began
    subjects: tuple[ModelCost, ...]  # replies, the dearest first
    judges: tuple[ModelCost, ...]  # judgements and readings of names, likewise
    imported: ImportedCosts | None  # None: nothing was


@dataclass(frozen=True, slots=True)
class _PricedCall:
    """One call with its reported, computed or unknown cost."""

    payment: AttemptCost
    reported: float = 0.0
    computed: float = 0.0
    listed: float | None = 0.0  # by list price; None: it has a reported cost and no list price
    unknown: bool = False


def read_costs(connection: Connection) -> Costs:
    """Return what all calls recorded in the store have cost, in dollars: in all, by command, by
    model and by judge; imported results apart.
    """
    prices = usage.read_prices(connection)
    items = [
        _price_call(paid, prices.get((paid.owner, paid.endpoint, paid.model)))
        for paid in usage.read_payments(connection)
    ]
    imported = [
        _price_call(paid, None) for paid in usage.read_payments(connection, only_imported=True)
    ]
    theirs = ImportedCosts(*_sum_by_model_and_kind(connection, imported)) if imported else None
    whole, subjects, judges, replies, judgements = _sum_by_model_and_kind(connection, items)
    commands = _sum_by_command(items, usage.read_commands(connection))
    return Costs(whole, replies, judgements, commands, subjects, judges, theirs)


def _sum_by_model_and_kind(
    connection: Connection, items: Sequence[_PricedCall]
) -> tuple[Paid, tuple[ModelCost, ...], tuple[ModelCost, ...], Paid, Paid]:
    """Return five costs of the calls *items*: the total, the cost of each model that replied, the
    cost of each judge (both the dearest first), the total of replies, and the total of judgements.
    """
    names = _map_calls_to_labels(connection, [item.payment for item in items])
    replies, judgements = (
        [item for item in items if item.payment.kind == kind] for kind in ("reply", "judgement")
    )
    subjects, judges = (_rank_model_costs(mine, names) for mine in (replies, judgements))
    return _sum_payments(items), subjects, judges, _sum_payments(replies), _sum_payments(judgements)


def _price_call(payment: AttemptCost, price: ListPrice | None) -> _PricedCall:
    """Return one call with its cost in dollars: the cost that the provider reported, else computed
    from its tokens and the list *price*, else unknown if the call may have cost something.
    """
    listed = None
    if (
        price is not None
        and payment.prompt_tokens is not None
        and payment.completion_tokens is not None
    ):
        listed = price.compute_cost(payment.prompt_tokens, payment.completion_tokens)
    # a 0 beside a list price, of older stores, is none
    if payment.cost or (payment.cost == 0 and not listed):
        return _PricedCall(payment, payment.cost, listed=listed if payment.cost else 0.0)
    if payment.outcome not in MAY_COST and payment.status != 200:  # with 200 a reply had begun
        return _PricedCall(payment)
    if listed is None:
        return _PricedCall(payment, unknown=True)
    return _PricedCall(payment, computed=listed, listed=listed)


def _sum_payments(items: Sequence[_PricedCall]) -> Paid:
    """Return the number of calls in *items* and their total cost in dollars: reported, computed,
    and at list prices; and how many calls have an unknown cost.
    """
    listed = [item.listed for item in items if item.listed is not None]
    return Paid(
        len(items),
        fsum(item.reported for item in items),
        fsum(item.computed for item in items),
        fsum(listed) if len(listed) == len(items) else None,
        sum(item.unknown for item in items),
    )


def _sum_by_command(
    items: Sequence[_PricedCall], commands_by_owner: Mapping[str, Command]
) -> tuple[CommandCost, ...]:
    """Return the cost of the calls of each command, in the order in which the commands began.
    *commands_by_owner*: owner of calls -> its command. Several owners may belong to one command,
    and an owner without a record counts as a command of its own.
    """
    owners = {item.payment.owner for item in items}
    called = {owner: command for owner, command in commands_by_owner.items() if owner in owners}
    sessions = {owner: command.session for owner, command in called.items()}
    latest_first = sorted(called.values(), key=lambda command: -command.began_at)
    first, costs = {command.session: command for command in latest_first}, []
    by_session: dict[str, list[_PricedCall]] = defaultdict(list)
    for item in items:
        by_session[sessions.get(item.payment.owner, item.payment.owner)].append(item)
    for session, mine in by_session.items():
        known = first.get(session)
        began_at = known.began_at if known else min(item.payment.started_at for item in mine)
        costs.append(CommandCost(began_at, known.typed if known else None, _sum_payments(mine)))
    return tuple(sorted(costs, key=lambda command: command.began_at))


def _rank_model_costs(
    items: Sequence[_PricedCall], labels_by_call_key: Mapping[str, str]
) -> tuple[ModelCost, ...]:
    """Return the cost of the calls to each model, the dearest model first. *labels_by_call_key*:
    key of a call -> label of the model that is called.
    """
    by_name: dict[str, list[_PricedCall]] = defaultdict(list)
    for item in items:
        by_name[labels_by_call_key[item.payment.key]].append(item)
    costs = [ModelCost(name, _sum_payments(mine)) for name, mine in by_name.items()]
    return tuple(
        sorted(
            costs,
            key=lambda of: (-(of.paid.dollars + of.paid.computed_dollars), -of.paid.calls, of.name),
        )
    )


def _map_calls_to_labels(connection: Connection, payments: Sequence[AttemptCost]) -> dict[str, str]:
    """Return key of a call -> label of the model or the judge that is called. If the result of a
    call was deleted from the store, the stored request says which model it was.
    """
    subjects, judges = usage.map_answers_to_models(connection)
    labels = make_unique_labels(registry.read_subjects(connection)) | registry.read_judge_labels(
        connection
    )
    names = {}
    for payment in payments:
        model_hash = (subjects if payment.kind == "reply" else judges).get(payment.key)
        if model_hash in labels:
            names[payment.key] = labels[model_hash]
    cleared = {payment.key: payment for payment in payments if payment.key not in names}
    for key, model in usage.read_request_models(connection, list(cleared)).items():
        settings = registry.parse_model(model)
        names[key] = (
            cleared[key].model if settings is None else labels.get(settings.hash, settings.label)
        )
    return names
