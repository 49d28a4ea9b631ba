"""Which command made which attempts, what endpoints listed as prices then, and every attempt as far as it is money.

An attempt's owner says which process made it; `commands` says what that was. A store of version 1 kept neither commands
nor prices: what it holds from then has none. Functions on a connection; opens nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, func, inspect, select

from independence_bench.store.schema import (
    IMPORTED,
    attempts,
    calls,
    commands,
    insert_once,
    judgements,
    prices,
    transcripts,
    undamaged,
    unpack,
)

BATCH = 2000  # rows that are read at once


@dataclass(frozen=True, slots=True)
class Command:
    """What a process did with the store. One command may have opened it for buying several times."""

    session: str  # the same for all that one command did
    began_at: float  # seconds since 1970
    typed: str  # without secrets; "": not a command of ours, but a program that uses the library


def keep_command(connection: Connection, owner: str, command: Command) -> None:
    """Write down what *owner* is, before its first attempt."""
    row = {"owner": owner, "session": command.session, "began_at": command.began_at, "typed": command.typed}
    insert_once(connection, commands, row)


@dataclass(frozen=True, slots=True)
class ListPrice:
    """What an endpoint lists for a model, in dollars: a token of the prompt, one of the reply, and for each call."""

    prompt: float
    completion: float
    request: float = 0.0

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Dollars of a call, every token in full."""
        return self.request + prompt_tokens * self.prompt + completion_tokens * self.completion


def keep_price(connection: Connection, owner: str, endpoint: str, model: str, price: ListPrice) -> None:
    """Write down what a model was listed at when *owner* called it first."""
    listed = {"prompt": price.prompt, "completion": price.completion, "request": price.request}
    insert_once(connection, prices, {"owner": owner, "endpoint": endpoint, "model": model} | listed)


def kept_commands(connection: Connection) -> dict[str, Command]:
    """Owner -> what it was; {} in a store that kept none."""
    if not inspect(connection).has_table(commands.name):
        return {}
    found = connection.execute(select(commands.c.owner, commands.c.session, commands.c.began_at, commands.c.typed))
    return {owner: Command(*values) for owner, *values in found}


def kept_prices(connection: Connection) -> dict[tuple[str, str, str], ListPrice]:
    """(owner, endpoint, model) -> what it was listed at; {} in a store that kept none."""
    if not inspect(connection).has_table(prices.name):
        return {}
    names = ("owner", "endpoint", "model", "prompt", "completion", "request")
    return {
        (owner, endpoint, model): ListPrice(*price)
        for owner, endpoint, model, *price in connection.execute(select(*(prices.c[name] for name in names)))
    }


@dataclass(frozen=True, slots=True)
class Payment:
    """One attempt of this store's own, as far as it is money."""

    key: str  # of the call
    kind: Literal["reply", "judgement"]
    endpoint: str
    model: str
    owner: str
    started_at: float
    outcome: str | None  # None: in flight
    cost: float | None  # dollars that were told
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    provider: str | None  # that served it, by its own word


def payments(connection: Connection) -> Iterator[Payment]:
    """Every attempt in order, whatever came of it; not what was imported: others paid it."""
    wanted = (
        select(
            *(calls.c[name] for name in ("key", "kind", "endpoint", "model")),
            *(attempts.c[name] for name in ("owner", "started_at", "outcome", "cost", "prompt_tokens")),
            *(attempts.c[name] for name in ("completion_tokens", "cached_tokens", "served_provider")),
        )
        .join(calls, calls.c.key == attempts.c.call_key)
        .where(attempts.c.owner.not_like(f"{IMPORTED}%"))
        .order_by(attempts.c.id)
    )
    for row in connection.execute(wanted.execution_options(yield_per=BATCH)):
        yield Payment(*row)


def imported(connection: Connection) -> tuple[int, float]:
    """(attempts that somebody else made and paid for, their dollars)."""
    theirs = select(func.count(), func.coalesce(func.sum(attempts.c.cost), 0.0))
    row = connection.execute(theirs.where(attempts.c.owner.like(f"{IMPORTED}%"))).one()
    return int(row[0]), float(row[1])


def askers(connection: Connection) -> tuple[dict[str, str], dict[str, str]]:
    """(key of a reply -> the hash of a subject whose conversation has it, key of a judgement -> its judge's hash)."""
    subjects = {}
    with undamaged():
        for subject, keys in connection.execute(select(transcripts.c.subject_hash, transcripts.c.reply_keys)):
            subjects.update(dict.fromkeys(json.loads(keys), subject))
    found = connection.execute(select(judgements.c.key, judgements.c.judge_hash))
    return subjects, {row[0]: row[1] for row in found}


def request_models(connection: Connection, keys: list[str]) -> dict[str, dict[str, object]]:
    """Key of a call -> the settings of the model that it asks, as its request has them; {} where it does not say."""
    found = {}
    for start in range(0, len(keys), BATCH // 4):
        wanted = select(calls.c.key, calls.c.request).where(calls.c.key.in_(keys[start : start + BATCH // 4]))
        for key, packed in connection.execute(wanted):
            with undamaged():
                asked = json.loads(unpack(packed) or "{}")
            found[key] = asked.get("model") if isinstance(asked.get("model"), dict) else {}
    return found
