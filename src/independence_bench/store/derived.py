"""Stores values of `aib view` that took long to compute, by the hash of their causes.

The same store is computed once. The values follow from the rest of the store and can be deleted
at any time.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import delete, func, select
from sqlalchemy.exc import SQLAlchemyError

from independence_bench.errors import StoreError
from independence_bench.hashing import content_hash
from independence_bench.store.database import Store
from independence_bench.store.registry import state_of
from independence_bench.store.rows import insert_rows, rows_of
from independence_bench.store.schema import attempts, worked_out


def cause_of(store: Store, *more: str) -> tuple[str, str]:
    """Return the state of *store* (`hash_store_state`), and a hash of that state, its attempts so
    far and *more*.
    """
    with store.reading() as connection:
        state = state_of(connection)
        made = func.max(attempts.c.id), func.count(attempts.c.outcome), func.sum(attempts.c.cost)
        ended = connection.execute(select(*made)).one()
    return state, content_hash([state, *map(str, ended), *more])


def find_worked_out(store: Store, cause: str) -> dict[str, str]:
    """Return name -> value of the values stored with that *cause*. {} in an older store, which has
    none, or if they are damaged: they can be computed again.
    """
    try:
        with store.reading() as connection:
            return {
                name: value for name, its, value in rows_of(connection, worked_out) if its == cause
            }
    except (StoreError, SQLAlchemyError):
        return {}


def keep_worked_out(store: Store, cause: str, values: Mapping[str, str]) -> None:
    """Store *values* in place of all earlier ones. Does nothing if the store is an older one or
    cannot be written just now.
    """
    if not store.is_newest:
        return
    try:
        with store.writing() as connection:
            connection.execute(delete(worked_out))
            insert_rows(
                connection,
                worked_out,
                [{"name": name, "cause": cause, "value": value} for name, value in values.items()],
            )
    except StoreError:
        return  # they are worked out the next time, too
