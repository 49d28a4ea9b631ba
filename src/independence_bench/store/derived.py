"""Stores values of `aib view` that took long to compute, by the hash of their causes.

The same store is computed once. The values follow from the rest of the store and can be deleted
at any time.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import delete, func, select
from sqlalchemy.exc import SQLAlchemyError

from independence_bench.errors import StoreError
from independence_bench.hashing import hash_content
from independence_bench.store.database import Store
from independence_bench.store.registry import hash_store_state
from independence_bench.store.rows import insert_rows, read_all_rows
from independence_bench.store.schema import attempts, worked_out


def hash_results_and_attempts(store: Store, *more: str) -> tuple[str, str]:
    """Return two hashes for finding values computed from *store*: one of its results
    (`hash_store_state`), and one of these results, its attempts so far and the texts *more*.
    """
    with store.open_snapshot() as connection:
        state = hash_store_state(connection)
        made = func.max(attempts.c.id), func.count(attempts.c.outcome), func.sum(attempts.c.cost)
        ended = connection.execute(select(*made)).one()
    return state, hash_content([state, *map(str, ended), *more])


def find_derived_values(store: Store, cause_hash: str) -> dict[str, str]:
    """Return name -> value of the computed values that are stored with the hash *cause_hash*. {} if
    there are none, if a store of an older version has no place for them, or if they are damaged:
    they can be computed again.
    """
    try:
        with store.open_snapshot() as connection:
            return {
                name: value
                for name, its, value in read_all_rows(connection, worked_out)
                if its == cause_hash
            }
    except (StoreError, SQLAlchemyError):
        return {}


def replace_derived_values(store: Store, cause_hash: str, values: Mapping[str, str]) -> None:
    """Store the computed *values* (name -> text) with the hash *cause_hash*, in place of all
    earlier ones. Does nothing if the store is of an older version or cannot be written just now.
    """
    if not store.is_newest:
        return
    try:
        with store.open_transaction() as connection:
            connection.execute(delete(worked_out))
            insert_rows(
                connection,
                worked_out,
                [
                    {"name": name, "cause": cause_hash, "value": value}
                    for name, value in values.items()
                ],
            )
    except StoreError:
        return  # they are worked out the next time, too
