"""What attempts cost, which commands made them, and what endpoints listed as prices then.

An attempt's owner says which process made it; `commands` says what that was. A store of version 1
kept neither commands nor prices: what it holds from then has none.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, and_, bindparam, case, func, or_, select

from independence_bench.store.attempts import ANSWERED, CUT_OFF, select_attempts
from independence_bench.store.blobs import undamaged, unpack
from independence_bench.store.rows import KEYS, fields_of, in_chunks, insert_once, rows_of
from independence_bench.store.schema import (
    IMPORTED,
    attempts,
    calls,
    commands,
    judgements,
    prices,
    transcripts,
    workers,
)

BATCH = 2000  # rows that are read at once
ROUNDED = 1.01  # times the list price: a reported cost up to that is what is listed


# ---------------------------------------------------------------- commands and prices


@dataclass(frozen=True, slots=True)
class Command:
    """What a process did with the store. One command may have opened it for calls several times."""

    session: str  # the same for all that one command did
    began_at: float  # seconds since 1970
    typed: str  # without secrets; "": not a command of ours, but a program that uses the library


def keep_command(connection: Connection, owner: str, command: Command) -> None:
    """Write down what *owner* is, before its first attempt."""
    insert_once(connection, commands, {"owner": owner} | fields_of(command))


@dataclass(frozen=True, slots=True)
class ListPrice:
    """What an endpoint lists for a model, in dollars: a token of the prompt, one of the reply, and
    for each call.
    """

    prompt: float
    completion: float
    request: float = 0.0

    def cost_of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Dollars of a call, every token in full."""
        return self.request + prompt_tokens * self.prompt + completion_tokens * self.completion


def keep_price(
    connection: Connection, owner: str, endpoint: str, model: str, price: ListPrice
) -> None:
    """Write down what a model was listed at when *owner* called it first."""
    insert_once(
        connection,
        prices,
        {"owner": owner, "endpoint": endpoint, "model": model} | fields_of(price),
    )


def last_price(connection: Connection, endpoint: str, model: str) -> tuple[ListPrice, float] | None:
    """What *model* was listed at when it was called last, and when that was; None where it was
    never.
    """
    columns = (prices.c.prompt, prices.c.completion, prices.c.request, commands.c.began_at)
    listed = select(*columns).join_from(prices, commands, prices.c.owner == commands.c.owner)
    wanted = listed.where(prices.c.endpoint == endpoint, prices.c.model == model).order_by(
        commands.c.began_at.desc()
    )
    row = connection.execute(wanted.limit(1)).first()
    return None if row is None else (ListPrice(*row[:3]), row[3])


@dataclass(frozen=True, slots=True)
class SeenCosts:
    """What attempts have shown of prices, by (endpoint, model)."""

    shown: frozenset[tuple[str, str]]  # with a reported cost above 0
    # dollars of the dearest that cost more than its tokens were listed at
    dearest: Mapping[tuple[str, str], float]
    looked: int  # every attempt up to this one has ended and was looked at


def seen_costs(connection: Connection, after: int = 0, job: str | None = None) -> SeenCosts:
    """What the store's own attempts *after* that one have cost.

    *job*: of its workers' attempts an answer is enough to have shown a model, whether or not it
    told its cost. A cost of 0 shows nothing: where something is listed, it is no price (older
    stores have such rows), and where nothing is listed, it may change.
    """
    listed = prices.c.request + attempts.c.prompt_tokens * prices.c.prompt
    listed += attempts.c.completion_tokens * prices.c.completion
    dearer = or_(listed.is_(None), attempts.c.cost > listed * ROUNDED)
    of_job = attempts.c.owner.in_(select(workers.c.owner).where(workers.c.job == job))
    shows = or_(attempts.c.cost > 0, and_(of_job, attempts.c.outcome.in_((ANSWERED, CUT_OFF))))
    same = and_(
        prices.c.owner == attempts.c.owner,
        prices.c.endpoint == calls.c.endpoint,
        prices.c.model == calls.c.model,
    )
    found = connection.execute(
        select(
            calls.c.endpoint,
            calls.c.model,
            func.count(case((shows, 1))),
            func.max(case((dearer, attempts.c.cost))),
        )
        .select_from(attempts.join(calls).outerjoin(prices, same))
        .where(
            attempts.c.id > after,
            attempts.c.finished_at.is_not(None),
            ~attempts.c.owner.like(f"{IMPORTED}%"),
        )
        .group_by(calls.c.endpoint, calls.c.model)
    ).all()
    unended = connection.execute(
        select(func.min(attempts.c.id)).where(attempts.c.finished_at.is_(None))
    ).scalar()
    latest = connection.execute(select(func.max(attempts.c.id))).scalar() or 0
    return SeenCosts(
        frozenset((endpoint, model) for endpoint, model, shown, _ in found if shown),
        {(endpoint, model): float(most) for endpoint, model, _, most in found if most},
        latest if unended is None else unended - 1,
    )


def kept_commands(connection: Connection) -> dict[str, Command]:
    """Owner -> what it was; {} in a store that kept none."""
    return {owner: Command(*command) for owner, *command in rows_of(connection, commands)}


def kept_prices(connection: Connection) -> dict[tuple[str, str, str], ListPrice]:
    """(owner, endpoint, model) -> what it was listed at; {} in a store that kept none."""
    rows = rows_of(connection, prices)
    return {
        (owner, endpoint, model): ListPrice(*listed) for owner, endpoint, model, *listed in rows
    }


# ---------------------------------------------------------------- dollars


@dataclass(frozen=True, slots=True)
class AttemptCost:
    """An attempt, as far as it is money."""

    key: str  # of the call
    kind: Literal["reply", "judgement"]
    endpoint: str
    model: str
    owner: str
    started_at: float
    outcome: str | None  # None: in flight
    cost: float | None  # dollars; None: not known
    prompt_tokens: int | None
    completion_tokens: int | None
    provider: str | None  # that served it, by its own word
    seconds: float | None  # from sending to the end; None: not known
    status: int | None = None  # HTTP; None: nothing came


_ENDED = select_attempts(*AttemptCost.__dataclass_fields__).where(
    calls.c.kind == bindparam("kind"), attempts.c.outcome.is_not(None)
)
_ENDED_OF = _ENDED.where(calls.c.key.in_(KEYS))


def attempt_costs(
    connection: Connection, kind: Literal["reply", "judgement"], keys: Collection[str] | None = None
) -> Mapping[str, Sequence[AttemptCost]]:
    """Key of each call of that kind, or of those of these *keys* -> its attempts that have ended,
    in order.
    """
    by_call: dict[str, list[AttemptCost]] = defaultdict(list)
    for some in [None] if keys is None else in_chunks(keys):
        wanted, given = (_ENDED, {}) if some is None else (_ENDED_OF, {"keys": some})
        for row in connection.execute(wanted, {"kind": kind, **given}).all():
            by_call[row.key].append(AttemptCost(*row))
    return by_call


def payments(connection: Connection, imported: bool = False) -> Iterator[AttemptCost]:
    """Every attempt in order, whatever came of it: the store's own, or those *imported*, which
    others paid.
    """
    theirs = attempts.c.owner.like(f"{IMPORTED}%")
    wanted = select_attempts(*AttemptCost.__dataclass_fields__).where(
        theirs if imported else ~theirs
    )
    for row in connection.execute(wanted.execution_options(yield_per=BATCH)):
        yield AttemptCost(*row)


def imported(connection: Connection) -> tuple[int, float]:
    """(imported attempts, which others made and paid for, their dollars)."""
    theirs = select(func.count(), func.coalesce(func.sum(attempts.c.cost), 0.0))
    row = connection.execute(theirs.where(attempts.c.owner.like(f"{IMPORTED}%"))).one()
    return int(row[0]), float(row[1])


def askers(connection: Connection) -> tuple[dict[str, str], dict[str, str]]:
    """(key of a reply -> the hash of a subject whose conversation has it, key of a judgement -> its
    judge's hash).
    """
    subjects = {}
    with undamaged():
        for subject, keys in connection.execute(
            select(transcripts.c.subject_hash, transcripts.c.reply_keys)
        ):
            subjects.update(dict.fromkeys(json.loads(keys), subject))
    rows = connection.execute(select(judgements.c.key, judgements.c.judge_hash))
    return subjects, {row[0]: row[1] for row in rows}


def request_models(connection: Connection, keys: list[str]) -> dict[str, dict[str, object]]:
    """Key of a call -> the settings of the model that it asks, as its request has them; {} where it
    does not say.
    """
    settings = {}
    for some in in_chunks(keys):
        for key, packed in connection.execute(
            select(calls.c.key, calls.c.request).where(calls.c.key.in_(some))
        ):
            with undamaged():
                asked = json.loads(unpack(packed) or "{}")
            settings[key] = asked.get("model") if isinstance(asked.get("model"), dict) else {}
    return settings
