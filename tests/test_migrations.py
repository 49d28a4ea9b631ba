"""A store of the first version becomes one of the newest: in one transaction, once, and only by who
writes.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from first_stores import restored, restored_database
from postgres import Server
from sqlalchemy import inspect, select, text, update

from independence_bench.cli.main import cli
from independence_bench.errors import StoreError
from independence_bench.store.database import open_store
from independence_bench.store.migrations import MIGRATIONS, VERSION, Migration, upgrade_tables
from independence_bench.store.schema import meta


@pytest.fixture(params=["sqlite", "postgresql"])
def first(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store of version 1 that 0.1.0 filled: once a file, once a database."""
    if request.param == "sqlite":
        return str(restored(tmp_path / "first.db"))
    server = request.getfixturevalue("postgres")
    database = request.getfixturevalue("database")
    return restored_database(server, database.partition("@/")[2].partition("?")[0])


def version(where: str) -> str:
    """What the store says that it is."""
    with open_store(where) as store, store.open_snapshot() as connection:
        return str(
            connection.execute(select(meta.c.value).where(meta.c.name == "version")).scalar_one()
        )


def structure(where: str) -> Mapping[str, Any]:
    """Every table with its columns, keys and indexes."""
    with open_store(where) as store, store.open_snapshot() as connection:
        found = inspect(connection)
        return {
            table: {
                "columns": [
                    (c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(table)
                ],
                "primary": found.get_pk_constraint(table)["constrained_columns"],
                "foreign": sorted(str(key) for key in found.get_foreign_keys(table)),
                "indexes": sorted(
                    (str(index["name"]), index["column_names"])
                    for index in found.get_indexes(table)
                ),
            }
            for table in sorted(found.get_table_names())
        }


def test_words_that_an_earlier_search_kept_are_gone(tmp_path: Path) -> None:
    """Its full-text tables, which nothing clears any more."""
    where = str(restored(tmp_path / "first.db"))
    with sqlite3.connect(where) as raw:
        raw.execute("CREATE VIRTUAL TABLE search_said USING fts5(words, content='')")
        raw.execute(
            "CREATE VIRTUAL TABLE search_said_places USING fts5vocab(search_said, instance)"
        )
        raw.execute("CREATE TABLE search_rows (number INTEGER PRIMARY KEY)")
        raw.execute("INSERT INTO search_said (rowid, words) VALUES (1, 'a secret')")
    raw.close()

    with open_store(where) as store, store.open_transaction():
        pass

    assert not [table for table in structure(where) if table.startswith("search_")]


def test_an_upgraded_store_has_the_tables_of_a_new_one(
    first: str, tmp_path: Path, postgres: Server
) -> None:
    """The steps lead from the first version to what `schema` says, column by column."""
    with open_store(first) as store, store.open_transaction():
        pass
    with postgres.database() as name:
        new = postgres.url(name) if first.startswith("postgresql") else str(tmp_path / "new.db")
        with open_store(new) as store, store.open_transaction():
            pass

        assert structure(first) == structure(new)
    assert version(first) == str(VERSION)


def test_who_only_reads_upgrades_nothing(first: str) -> None:
    """A file that is archived, or a database that may only be read, stays as it is."""
    with open_store(first) as store, store.open_snapshot():
        pass

    assert version(first) == "1"


def test_an_upgraded_store_gives_the_same_boards(tmp_path: Path) -> None:
    """Byte for byte what is printed of it before."""
    store = restored(tmp_path / "first.db")

    def boards() -> list[Any]:
        done = CliRunner().invoke(
            cli, ["leaderboard", "--json", "--protocol", "v2", "--store", str(store)]
        )
        return list(json.loads(done.stdout)["boards"])

    before = boards()
    with open_store(store) as opened, opened.open_transaction():
        pass

    assert version(str(store)) == str(VERSION)
    assert boards() == before


def test_a_step_that_fails_leaves_the_old_version(first: str) -> None:
    """The steps before it are undone with it."""
    steps = {
        **MIGRATIONS,
        VERSION + 1: Migration(("CREATE TABLE half (a TEXT)", "INSERT INTO nowhere VALUES (1)")),
    }
    before = structure(first)
    with open_store(first) as store:
        store.is_made()
        with pytest.raises(Exception, match="nowhere"), store.engine.begin() as connection:
            upgrade_tables(connection, store.shown, steps)

    assert version(first) == "1"
    assert structure(first) == before


def test_a_process_that_is_killed_while_it_upgrades_leaves_the_old_version(first: str) -> None:
    """The next one that writes does it all."""
    program = (
        "import os, signal, sys\n"
        "from independence_bench.store.database import open_store\n"
        "with open_store(sys.argv[1]) as store, store.open_transaction() as connection:\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, first], check=False, env=os.environ)
    assert ended.returncode == -signal.SIGKILL

    assert version(first) == "1"
    with open_store(first) as store, store.open_transaction():
        pass
    assert version(first) == str(VERSION)


def test_two_that_upgrade_at_once_do_it_once(first: str) -> None:
    """Each has seen the old version; the second finds the new one when it is its turn."""
    stores = [open_store(first) for _ in range(4)]

    def write(number: int) -> None:
        with stores[number] as store, store.open_transaction() as connection:
            connection.execute(meta.insert().values(name=f"writer {number}", value=""))

    assert all(store.is_made() for store in stores)
    with ThreadPoolExecutor(len(stores)) as threads:
        list(threads.map(write, range(len(stores))))

    assert version(first) == str(VERSION)
    with open_store(first) as store, store.open_snapshot() as connection:
        assert (
            connection.execute(
                text("SELECT count(*) FROM meta WHERE name LIKE 'writer%'")
            ).scalar_one()
            == 4
        )


def test_a_store_that_a_newer_version_upgraded_meanwhile_is_refused(first: str) -> None:
    """Opened as an old one, it is a newer one when it comes to writing: nothing is written."""
    with open_store(first) as late:
        assert late.is_made()
        with open_store(first) as newer, newer.open_transaction() as connection:
            connection.execute(
                update(meta).where(meta.c.name == "version").values(value=str(VERSION + 1))
            )

        refused = pytest.raises(
            StoreError, match=f"newer aib .version {VERSION + 1}, this one knows {VERSION}"
        )
        with refused, late.open_transaction():
            raise AssertionError("it must not come to this")
