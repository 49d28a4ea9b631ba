"""What a store has cost, as values: by command, subject, judge, provider and day, and where list prices say otherwise.

Dollars are what providers told; where one told nothing and its list price was kept, they are computed from the tokens,
and kept apart. Calls that were free, of unknown price, or that brought nothing are counted, never as $0. All sums of a
kind add up to `Costs.whole`. Results that were imported are paid by others and are in none of them. Formats nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import fsum
from typing import Literal, TypeVar

from sqlalchemy import Connection

from independence_bench.models.messages import Kind
from independence_bench.store import registry, usage
from independence_bench.store.attempts import ANSWERED, CUT_OFF, LOST
from independence_bench.store.registry import unique_labels
from independence_bench.store.usage import Command, ListPrice, Payment

ALIKE = 0.01  # of the list price: a difference that is no disagreement
# outcomes of a call that may have cost something though no cost was told
MAY_COST = (
    ANSWERED, CUT_OFF, LOST, None, Kind.BROKEN, Kind.TOO_LARGE, Kind.WRONG_PROVIDER, Kind.TIMEOUT, Kind.CONNECTION,
)  # fmt: skip

Group = TypeVar("Group")
PaymentSort = Literal["told", "computed", "free", "unknown", "nothing"]


@dataclass(frozen=True, slots=True)
class Paid:
    """What some calls came to. The numbers of calls by sort add up to *calls*."""

    calls: int
    dollars: float  # that providers told
    computed_dollars: float  # from list prices, where no provider told
    told: int  # calls with a cost that a provider told
    computed: int  # calls whose cost is computed
    free: int  # calls that cost nothing: told so, listed so, or at an endpoint of your own
    unknown: int  # calls that may have cost something, nobody knows what; those in flight too
    nothing: int  # calls that brought nothing and told no cost: refused, mostly


@dataclass(frozen=True, slots=True)
class CommandCost:
    """What one command spent."""

    began_at: float  # seconds since 1970
    typed: str | None  # None: made before commands were recorded; "": by a program that uses the library
    paid: Paid


@dataclass(frozen=True, slots=True)
class NamedCost:
    """What belongs together by its *name*: a label, a provider, a day."""

    name: str
    paid: Paid


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Calls of one model, served by one provider, that told another cost than the list price of their time."""

    model: str
    provider: str
    calls: int
    dollars: float  # told
    listed: float  # by list price, every token in full
    cached_tokens: int  # of the prompts; providers ask less for them

    @property
    def difference(self) -> float:
        """Told minus listed, in dollars."""
        return self.dollars - self.listed


@dataclass(frozen=True, slots=True)
class Costs:
    """All that a store's own calls have cost in its whole life."""

    whole: Paid
    replies: Paid  # of the whole
    judgements: Paid  # of the whole
    commands: tuple[CommandCost, ...]  # that made a call, in the order in which they began
    subjects: tuple[NamedCost, ...]  # replies, the dearest first
    judges: tuple[NamedCost, ...]  # judgements, readings of names and probes, likewise
    providers: tuple[NamedCost, ...]
    days: tuple[NamedCost, ...]  # UTC, in order
    disagreements: tuple[Disagreement, ...]  # the largest first
    compared: int  # calls that told a cost and whose list price is known
    imported_calls: int  # made and paid for elsewhere: in no sum
    imported_dollars: float


@dataclass(frozen=True, slots=True)
class _Item:
    """One call, and what it is counted as."""

    payment: Payment
    sort: PaymentSort
    dollars: float  # told or computed; else 0
    listed: float | None  # by list price


def read_costs(connection: Connection) -> Costs:
    """What the store has cost."""
    commands, prices = usage.kept_commands(connection), usage.kept_prices(connection)
    items = [_item(one, prices.get((one.owner, one.endpoint, one.model))) for one in usage.payments(connection)]
    names = _names(connection, [item.payment for item in items])
    compared = [item for item in items if item.payment.cost is not None and item.listed is not None]
    replies, judgements = ([item for item in items if item.payment.kind == kind] for kind in ("reply", "judgement"))
    days = _grouped(items, lambda one: f"{datetime.fromtimestamp(one.started_at, UTC):%Y-%m-%d}")
    imported_calls, imported_dollars = usage.imported(connection)
    return Costs(
        whole=_paid(items),
        replies=_paid(replies),
        judgements=_paid(judgements),
        commands=_by_command(items, commands),
        subjects=_dearest(replies, lambda one: names[one.key]),
        judges=_dearest(judgements, lambda one: names[one.key]),
        providers=_dearest(items, _provider),
        days=tuple(NamedCost(day, _paid(mine)) for day, mine in sorted(days.items())),
        disagreements=_disagreements(compared),
        compared=len(compared),
        imported_calls=imported_calls,
        imported_dollars=imported_dollars,
    )


def _item(payment: Payment, price: ListPrice | None) -> _Item:
    listed = None
    if price is not None and payment.prompt_tokens is not None and payment.completion_tokens is not None:
        listed = price.cost_of(payment.prompt_tokens, payment.completion_tokens)
    if payment.cost is not None:
        return _Item(payment, "told" if payment.cost else "free", payment.cost, listed)
    if payment.outcome not in MAY_COST:
        return _Item(payment, "nothing", 0.0, None)
    if listed is None:
        return _Item(payment, "unknown", 0.0, None)
    return _Item(payment, "computed" if listed else "free", listed, listed)


def _paid(items: Sequence[_Item]) -> Paid:
    of: dict[PaymentSort, list[float]] = {"told": [], "computed": [], "free": [], "unknown": [], "nothing": []}
    for item in items:
        of[item.sort].append(item.dollars)
    counts = {sort: len(dollars) for sort, dollars in of.items()}
    return Paid(len(items), fsum(of["told"]), fsum(of["computed"]), **counts)


def _by_command(items: Sequence[_Item], commands: Mapping[str, Command]) -> tuple[CommandCost, ...]:
    """An owner of which nothing is kept is a command by itself: each command had one or more."""
    owners = {item.payment.owner for item in items}
    called = {owner: command for owner, command in commands.items() if owner in owners}
    sessions = {owner: command.session for owner, command in called.items()}
    latest_first = sorted(called.values(), key=lambda one: -one.began_at)
    first, found = {command.session: command for command in latest_first}, []
    for session, mine in _grouped(items, lambda one: sessions.get(one.owner, one.owner)).items():
        known = first.get(session)
        began_at = known.began_at if known else min(item.payment.started_at for item in mine)
        found.append(CommandCost(began_at, known.typed if known else None, _paid(mine)))
    return tuple(sorted(found, key=lambda one: one.began_at))


def _grouped(items: Iterable[_Item], by: Callable[[Payment], Group]) -> dict[Group, list[_Item]]:
    groups: dict[Group, list[_Item]] = defaultdict(list)
    for item in items:
        groups[by(item.payment)].append(item)
    return groups


def _dearest(items: Iterable[_Item], name_of: Callable[[Payment], str]) -> tuple[NamedCost, ...]:
    def order(part: NamedCost) -> tuple[float, int, str]:
        return -(part.paid.dollars + part.paid.computed_dollars), -part.paid.calls, part.name

    found = [NamedCost(name, _paid(mine)) for name, mine in _grouped(items, name_of).items()]
    return tuple(sorted(found, key=order))


def _provider(payment: Payment) -> str:
    return payment.endpoint if payment.provider is None else f"{payment.provider} at {payment.endpoint}"


def _names(connection: Connection, made: Sequence[Payment]) -> dict[str, str]:
    """Key of a call -> the label of the subject or the judge that it asks; of what was cleared, its request says."""
    subjects, judges = usage.askers(connection)
    labels = unique_labels(registry.stored_subjects(connection)) | registry.stored_judges(connection)
    found = {}
    for one in made:
        asked = (subjects if one.kind == "reply" else judges).get(one.key)
        if asked in labels:
            found[one.key] = labels[asked]
    left = {one.key: one for one in made if one.key not in found}
    for key, model in usage.request_models(connection, list(left)).items():
        settings = registry.model_in(model)
        found[key] = left[key].model if settings is None else labels.get(settings.hash, settings.label)
    return found


def _disagreements(compared: Iterable[_Item]) -> tuple[Disagreement, ...]:
    found = [
        Disagreement(
            model,
            provider,
            len(mine),
            fsum(item.payment.cost or 0.0 for item in mine),
            fsum(item.listed or 0.0 for item in mine),
            sum(item.payment.cached_tokens or 0 for item in mine),
        )
        for (model, provider), mine in _grouped(compared, lambda one: (one.model, _provider(one))).items()
    ]
    apart = [one for one in found if abs(one.difference) > ALIKE * one.listed]
    return tuple(sorted(apart, key=lambda one: (-abs(one.difference), one.model, one.provider)))
