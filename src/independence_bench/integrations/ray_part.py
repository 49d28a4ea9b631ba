"""One part of an order, carried out in the process of a Ray worker: the same code as `aib run --shard`. Imports no Ray.

What reaches a worker as an argument passes through Ray's memory, logs and dashboard, so it holds no secret: keys and
the database's password are in the environment of the worker.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
from dataclasses import dataclass, replace

from independence_bench import __version__
from independence_bench.engine.run import Report
from independence_bench.engine.schedule import play_spread
from independence_bench.engine.session import RunOptions, resolved
from independence_bench.errors import BenchError, Interrupted, StoreError, WrongUse
from independence_bench.models.redaction import KNOWN
from independence_bench.models.spec import Endpoint
from independence_bench.models.trust import Permission, needed_permission
from independence_bench.protocol.plan import Shard
from independence_bench.store.database import Store, default_store, open_store


@dataclass(frozen=True, slots=True)
class Permissions:
    """Where keys may go: where they belong, and where a person has allowed it before the order was handed out."""

    given: frozenset[Permission] = frozenset()

    def __call__(self, endpoint: Endpoint) -> None:
        """Raises WrongUse where nobody has allowed it."""
        if (needed := needed_permission(endpoint, os.environ)) and needed not in self.given:
            raise WrongUse(f"{needed.variable} may not go to {needed.place}: it was not asked for where `aib` runs")


@dataclass(frozen=True, slots=True)
class Order:
    """What all workers are told. Never holds a secret."""

    version: str  # of this package
    options: bytes  # `RunOptions`, pickled: read where the versions are the same
    permissions: Permissions
    store: str | None  # the database's address; None: it has a password, so workers know it by themselves
    shown: str  # the same without the password
    typed: str  # the command, for the record of attempts


@dataclass(frozen=True, slots=True)
class PartEnd:
    """How a part ended, as far as the store does not say it."""

    host: str
    failure: str | None = None  # why nothing, or no more, could be done, in one line
    stopped: str | None = None  # why it ended early, in one line
    interrupted: bool = False  # by a signal
    lost: int = 0  # calls that an earlier process left in flight
    troubles: tuple[tuple[str, str, str], ...] = ()  # subject's label, what could not be completed, why


def carry_out(order: Order, number: int, parts: int) -> PartEnd:
    """Play and judge part *number* of *parts*; what is stored is not asked for again, whoever bought it."""
    host = socket.gethostname()
    if order.version != __version__:
        return PartEnd(host, f"it has version {__version__} of this package, and {order.version} handed out the work")
    KNOWN.learn_proxies(os.environ)
    try:
        # made by this package's driver and carried by Ray, which runs pickled code of whoever may reach it anyway
        read: RunOptions = pickle.loads(order.options)  # noqa: S301
        options = replace(read, allow=order.permissions, shard=Shard(number, parts))
        with _open(order) as store:
            report = asyncio.run(_play(options, store))
    except BenchError as error:
        return PartEnd(host, KNOWN.redacted_message(str(error)))
    except (KeyboardInterrupt, asyncio.CancelledError):  # before anything was sent, or for the second time
        return PartEnd(host, interrupted=True)
    stopped = None if report.stopped is None else KNOWN.redacted_message(str(report.stopped))
    troubles = tuple((label, one.what, KNOWN.redacted_message(one.why)) for label, one in report.troubles)
    return PartEnd(host, None, stopped, isinstance(report.stopped, Interrupted), report.lost, troubles)


def _open(order: Order) -> Store:
    if order.store is not None:
        return open_store(order.store, typed=order.typed)
    store = open_store(default_store(), typed=order.typed)
    if store.shown != order.shown:
        store.close()
        raise StoreError(f"AIB_STORE is {store.shown} there, not {order.shown}; set it before `ray start`")
    return store


async def _play(options: RunOptions, store: Store) -> Report:
    async with resolved(options, store) as (plan, session):
        return await play_spread(plan, session, _unwatched, None)


async def _unwatched(_: object) -> None:
    """The progress is what the store says."""
