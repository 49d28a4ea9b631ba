"""The version of a store's tables, and the numbered steps from the tables of one version to those
of the next.

A step is SQL that SQLite and PostgreSQL both understand (or PostgreSQL alone, where it says so),
and says how the tables were to be then: it is never edited, and does not look at `schema`, which
has them as they are now. All missing steps are carried out in the transaction of the command that
writes first, while no other process can write: together or not at all, and only once. A command
that only reads leaves an older store as it is, so what reads a later table or column first asks
whether it is there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy import Connection, Dialect, insert, inspect, select, update
from sqlalchemy.schema import CreateIndex, CreateSequence, CreateTable, ExecutableDDLElement

from independence_bench.errors import StoreError
from independence_bench.store.schema import ATTEMPT_IDS, PARTIAL_INDEXES, meta, metadata


@dataclass(frozen=True, slots=True)
class Migration:
    """One step. *makes*: the tables that a store of the version before lacks. *postgres*: SQL for
    PostgreSQL alone.
    """

    sql: tuple[str, ...]
    makes: tuple[str, ...] = ()
    postgres: tuple[str, ...] = ()


EARLIER_SEARCH = ("said_places", "judged_places", "said", "judged", "rows")

MIGRATIONS: Mapping[int, Migration] = {  # by the version that they lead to
    2: Migration(
        (
            "CREATE TABLE commands (owner VARCHAR NOT NULL, session VARCHAR NOT NULL, began_at "
            "FLOAT NOT NULL, typed TEXT NOT NULL, PRIMARY KEY (owner))",
            "CREATE TABLE prices (owner VARCHAR NOT NULL, endpoint VARCHAR NOT NULL, model "
            "VARCHAR NOT NULL, prompt FLOAT NOT NULL, completion FLOAT NOT NULL, request FLOAT "
            "NOT NULL, PRIMARY KEY (owner, endpoint, model))",
        ),
        makes=("commands", "prices"),
    ),
    3: Migration(
        (
            "CREATE TABLE decisions (subject_hash VARCHAR(64) NOT NULL, verdict VARCHAR NOT "
            "NULL, reason TEXT NOT NULL, origin VARCHAR NOT NULL, decided_at FLOAT NOT NULL, "
            "PRIMARY KEY (subject_hash), FOREIGN KEY(subject_hash) REFERENCES subjects (hash))",
        ),
        makes=("decisions",),
    ),
    4: Migration(
        (
            "CREATE TABLE readings (transcript VARCHAR(64) NOT NULL, rule VARCHAR(64) NOT NULL, "
            "options TEXT NOT NULL, PRIMARY KEY (transcript), FOREIGN KEY(transcript) REFERENCES "
            "transcripts (id))",
        ),
        makes=("readings",),
    ),
    5: Migration(
        (),
        postgres=(
            "CREATE SEQUENCE attempt_ids",
            "SELECT setval('attempt_ids', coalesce(max(id), 0) + 1, false) FROM attempts",
        ),
    ),
    6: Migration(
        (
            "CREATE TABLE jobs (name VARCHAR NOT NULL, began_at FLOAT NOT NULL, PRIMARY KEY "
            "(name))",
            "CREATE TABLE workers (owner VARCHAR NOT NULL, job VARCHAR NOT NULL, reserved FLOAT "
            "NOT NULL, spent FLOAT NOT NULL, lease_until FLOAT NOT NULL, PRIMARY KEY (owner), "
            "FOREIGN KEY(job) REFERENCES jobs (name))",
            "CREATE INDEX ix_workers_job ON workers (job)",
            "CREATE TABLE closures (job VARCHAR NOT NULL, endpoint VARCHAR NOT NULL, reason TEXT "
            "NOT NULL, closed_at FLOAT NOT NULL, PRIMARY KEY (job, endpoint), FOREIGN KEY(job) "
            "REFERENCES jobs (name))",
        ),
        makes=("jobs", "workers", "closures"),
    ),
    7: Migration(
        (
            "CREATE TABLE reservations (attempt_id INTEGER NOT NULL, owner VARCHAR NOT NULL, "
            "dollars FLOAT NOT NULL, PRIMARY KEY (attempt_id))",
            "CREATE INDEX ix_reservations_owner ON reservations (owner)",
        ),
        makes=("reservations",),
    ),
    8: Migration(
        (
            "CREATE TABLE worked_out (name VARCHAR NOT NULL, cause VARCHAR(64) NOT NULL, value "
            "TEXT NOT NULL, PRIMARY KEY (name))",
            "CREATE INDEX IF NOT EXISTS ix_transcripts_finished_at ON transcripts (finished_at)",
            "CREATE INDEX IF NOT EXISTS ix_judgements_stored_at ON judgements (stored_at)",
        ),
        makes=("worked_out",),
    ),
    9: Migration(
        (
            "ALTER TABLE judgements ADD COLUMN checksum BIGINT",
            # an earlier `aib view` kept words of conversations there, which `aib clear` has to
            # forget
            *(f"DROP TABLE IF EXISTS search_{name}" for name in EARLIER_SEARCH),
        )
    ),
    10: Migration(
        (
            "CREATE TABLE abilities (endpoint VARCHAR NOT NULL, model VARCHAR NOT NULL, known "
            "TEXT NOT NULL, learned_at FLOAT NOT NULL, PRIMARY KEY (endpoint, model))",
        ),
        makes=("abilities",),
    ),
}
VERSION = max(MIGRATIONS)


def find_version(connection: Connection, store_name: str) -> int | None:
    """Return the version number of the store's tables in a database; None if the database of a
    server is empty. *store_name*: the store's name in errors.

    Raises StoreError if the tables are another program's, damaged, or a newer version's.
    """
    tables = inspect(connection).get_table_names()
    if "meta" not in tables:
        if tables or connection.dialect.name == "sqlite":
            raise StoreError(
                f"the store {store_name} is a database of another program, or half-written; choose "
                "another with --store"
            )
        return None
    version_there = _read_version(connection, store_name)
    later = {
        table
        for version, step in MIGRATIONS.items()
        if version > version_there
        for table in step.makes
    }
    if missing := sorted(metadata.tables.keys() - later - set(tables)):
        raise StoreError(
            f"the store {store_name} is damaged: it has no table {missing[0]}; restore it from a "
            "copy"
        )
    return version_there


def _read_version(connection: Connection, store_name: str) -> int:
    written = connection.execute(select(meta.c.value).where(meta.c.name == "version")).scalar()
    if written is None or not re.fullmatch("[0-9]{1,9}", str(written)):
        raise StoreError(
            f"the store {store_name} has no version; it is not one of ours, or damaged"
        )
    if int(written) > VERSION:
        raise StoreError(
            f"the store {store_name} was written by a newer aib (version {written}, this one knows "
            f"{VERSION}); update aib, nothing was changed"
        )
    return int(written)


def upgrade_tables(
    connection: Connection, store_name: str, steps: Mapping[int, Migration] = MIGRATIONS
) -> None:
    """Carry out those *steps* (version -> SQL) that the store's tables lack, one version after the
    other, and record the new version. Does nothing if another process has just done so. Raises
    StoreError if the tables are a newer program's. *store_name*: the store's name in errors.
    """
    version_there = _read_version(connection, store_name)
    for version in range(version_there + 1, max(steps) + 1):
        only = steps[version].postgres if connection.dialect.name == "postgresql" else ()
        for statement in (*steps[version].sql, *only):
            connection.exec_driver_sql(statement)
        connection.execute(update(meta).where(meta.c.name == "version").values(value=str(version)))


def make_tables(connection: Connection) -> None:
    """Make the store's tables in their newest version in a database, and record that version.
    Tables that another process has just made stay.
    """
    for statement in _make_statements(type(connection.dialect)):  # type: ignore[arg-type] # a class has a hash
        connection.exec_driver_sql(statement)
    if connection.execute(select(meta.c.value).where(meta.c.name == "version")).scalar() is None:
        connection.execute(insert(meta).values(name="version", value=str(VERSION)))


@lru_cache(maxsize=2)
def _make_statements(kind: type[Dialect]) -> tuple[str, ...]:
    """Return the SQL statements that make all tables and indexes of a store, in order, for a
    database of the *kind*. They are kept from call to call, because SQLAlchemy's `create_all` would
    write them anew for every store and look each table up.
    """
    dialect, parts = kind(), list[ExecutableDDLElement]()
    if dialect.supports_sequences:
        parts.append(CreateSequence(ATTEMPT_IDS, if_not_exists=True))
    for table in metadata.sorted_tables:
        parts.append(CreateTable(table, if_not_exists=True))
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        parts += [CreateIndex(index, if_not_exists=True) for index in indexes]
    return (*(str(part.compile(dialect=dialect)).strip() for part in parts), *PARTIAL_INDEXES)
