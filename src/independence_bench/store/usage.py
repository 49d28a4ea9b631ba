"""Reads what attempts cost, which commands made them, and which prices endpoints listed then.

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

from independence_bench.store.attempts import ANSWERED, CUT_OFF, select_attempt_columns
from independence_bench.store.blobs import report_damage, unpack_text
from independence_bench.store.rows import (
    KEYS,
    insert_missing_row,
    read_all_rows,
    read_fields,
    split_chunks,
)
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
    """A command that used the store. It may have opened the store for calls several times."""

    session: str  # the same for all that one command did
    began_at: float  # seconds since 1970
    typed: str  # without secrets; "": not a command of ours, but a program that uses the library


def store_command(connection: Connection, owner: str, command: Command) -> None:
    """Store the *command* that the process named *owner* carries out, before its first attempt at a
    model call.
    """
    insert_missing_row(connection, commands, {"owner": owner} | read_fields(command))


@dataclass(frozen=True, slots=True)
class ListPrice:
    """An endpoint's list price of a model, in dollars: for a token of the prompt, for one of the
    reply, and for each call.
    """

    prompt: float
    completion: float
    request: float = 0.0

    def compute_cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the US dollars of one call of the model at this list price, every token at its
        full price.
        """
        return self.request + prompt_tokens * self.prompt + completion_tokens * self.completion


def store_price(
    connection: Connection, owner: str, endpoint: str, model: str, price: ListPrice
) -> None:
    """Store the list *price* of *model* at *endpoint*, as the process named *owner* found it,
    unless a price is stored for that process.
    """
    insert_missing_row(
        connection,
        prices,
        {"owner": owner, "endpoint": endpoint, "model": model} | read_fields(price),
    )


def find_last_price(
    connection: Connection, endpoint: str, model: str
) -> tuple[ListPrice, float] | None:
    """Return (list price, Unix time in seconds) of *model* at *endpoint*, from the latest command
    that called the model; the time is when that command began. None if the model was never called.
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
    """The prices that attempts have shown, by (endpoint, model)."""

    shown: frozenset[tuple[str, str]]  # with a reported cost above 0
    # dollars of the dearest that cost more than its tokens were listed at
    dearest: Mapping[tuple[str, str], float]
    looked: int  # every attempt up to this one has ended and was looked at


def read_seen_costs(connection: Connection, after: int = 0, job: str | None = None) -> SeenCosts:
    """Return what the store's own attempts with an id above *after* have shown of the costs of
    models: which models stated a cost, the dollars of the dearest attempt beyond the list price,
    and the id up to which all attempts have ended.

    *job*: in attempts of this job's workers, an answer is enough to have shown a model's cost,
    whether or not one was stated. A cost of 0 shows nothing: if a price is listed, 0 is not a price
    (older stores have such rows), and if none is listed, it may change.
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


def read_commands(connection: Connection) -> dict[str, Command]:
    """Return process name -> the command that this process carried out; {} in a store of an older
    version.
    """
    return {owner: Command(*command) for owner, *command in read_all_rows(connection, commands)}


def read_prices(connection: Connection) -> dict[tuple[str, str, str], ListPrice]:
    """Return (process name, endpoint, model) -> the list price that this process found; {} in a
    store of an older version.
    """
    rows = read_all_rows(connection, prices)
    return {
        (owner, endpoint, model): ListPrice(*listed) for owner, endpoint, model, *listed in rows
    }


# ---------------------------------------------------------------- dollars


@dataclass(frozen=True, slots=True)
class AttemptCost:
    """An attempt with the data that its cost depends on."""

    key: str  # the call's key
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


_ENDED = select_attempt_columns(*AttemptCost.__dataclass_fields__).where(
    calls.c.kind == bindparam("kind"), attempts.c.outcome.is_not(None)
)
_ENDED_OF = _ENDED.where(calls.c.key.in_(KEYS))


def read_attempt_costs(
    connection: Connection, kind: Literal["reply", "judgement"], keys: Collection[str] | None = None
) -> Mapping[str, Sequence[AttemptCost]]:
    """Return call's key -> the attempts at that model call that have ended, with their tokens and
    costs, by attempt id. *kind*: "reply" or "judgement"; *keys*: the only calls to look at, None
    for all. Calls without an ended attempt are left out.
    """
    by_call: dict[str, list[AttemptCost]] = defaultdict(list)
    for some in [None] if keys is None else split_chunks(keys):
        wanted, given = (_ENDED, {}) if some is None else (_ENDED_OF, {"keys": some})
        for row in connection.execute(wanted, {"kind": kind, **given}).all():
            by_call[row.key].append(AttemptCost(*row))
    return by_call


def read_payments(connection: Connection, only_imported: bool = False) -> Iterator[AttemptCost]:
    """Yield every attempt at a model call with its tokens and cost, by attempt id, whether or not
    it has ended: the store's own attempts or, with *only_imported*, the imported ones, which others
    paid for.
    """
    theirs = attempts.c.owner.like(f"{IMPORTED}%")
    wanted = select_attempt_columns(*AttemptCost.__dataclass_fields__).where(
        theirs if only_imported else ~theirs
    )
    for row in connection.execute(wanted.execution_options(yield_per=BATCH)):
        yield AttemptCost(*row)


def sum_imported_attempts(connection: Connection) -> tuple[int, float]:
    """Return (number of imported attempts, their cost in US dollars), which others made and paid
    for.
    """
    theirs = select(func.count(), func.coalesce(func.sum(attempts.c.cost), 0.0))
    row = connection.execute(theirs.where(attempts.c.owner.like(f"{IMPORTED}%"))).one()
    return int(row[0]), float(row[1])


def map_answers_to_models(connection: Connection) -> tuple[dict[str, str], dict[str, str]]:
    """Return two mappings: reply's key -> hash of a tested model in whose conversation the reply
    is, and judgement's key -> hash of its judge.
    """
    subjects = {}
    with report_damage():
        for subject, keys in connection.execute(
            select(transcripts.c.subject_hash, transcripts.c.reply_keys)
        ):
            subjects.update(dict.fromkeys(json.loads(keys), subject))
    rows = connection.execute(select(judgements.c.key, judgements.c.judge_hash))
    return subjects, {row[0]: row[1] for row in rows}


def read_request_models(connection: Connection, keys: list[str]) -> dict[str, dict[str, object]]:
    """Return call's key -> settings of the model that the call's stored request is for, for the
    model calls *keys*; {} if the request names no model.
    """
    settings = {}
    for some in split_chunks(keys):
        for key, packed in connection.execute(
            select(calls.c.key, calls.c.request).where(calls.c.key.in_(some))
        ):
            with report_damage():
                asked = json.loads(unpack_text(packed) or "{}")
            settings[key] = asked.get("model") if isinstance(asked.get("model"), dict) else {}
    return settings
