"""The audit's second process: it finds what one process would find, and nothing of it stays behind."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import click
import pytest
from invoked import invoke
from simulated import play

from independence_bench.analysis.audit.second_reader import MODULE, SecondReading, read, reading_beside
from independence_bench.cli.main import cli
from independence_bench.simulate.server import Settings
from independence_bench.store.beside import LARGE, Beside, begin
from independence_bench.store.blobs import Damaged
from independence_bench.store.database import Store, open_store
from independence_bench.store.integrity import check


@pytest.fixture
def store(small: Path, tmp_path: Path) -> Path:
    """A small store whose transcripts stand under other keys than their own."""
    path = tmp_path / "store.db"
    play(small, path, Settings())
    spoil(path, "update transcripts set run = 9")
    return path


def spoil(store: Path, change: str) -> None:
    """Change the file behind everybody's back."""
    connection = sqlite3.connect(store)
    with connection:
        connection.execute(change)
    connection.close()


def beside(opened: Store, begun: Beside | None = None) -> SecondReading:
    """What a process finds: the connection is closed by then, so nothing is read on it."""
    with reading_beside(opened, begun, large=0) as second_reading:
        with opened.reading() as connection:
            pass
        return second_reading(connection)


def test_a_process_finds_what_would_be_found_here(store: Path) -> None:
    """The contradictions of the store's own check, and what had been said when each reply was asked for."""
    with open_store(store) as opened:
        with opened.reading() as connection:
            here = read(connection)
            assert here.contradictions == check(connection) != []
        found = beside(opened)

    assert found.contradictions == here.contradictions
    assert {key: tuple(said) for key, said in found.histories.items()} == here.histories
    assert any(here.histories.values())


def test_a_process_that_was_begun_before_is_taken_for_its_own_store_only(store: Path, tmp_path: Path) -> None:
    """Of two names for one file either will do; what another file's process found says nothing."""
    other = tmp_path / "other.db"
    other.write_bytes(store.read_bytes())
    spoil(other, "delete from transcripts")
    link = tmp_path / "link.db"
    link.symlink_to(store)
    with open_store(store) as opened:
        with opened.reading() as connection:
            here = read(connection)
        for name in (link, other):
            begun = begin(MODULE, name, large=0)
            assert begun is not None
            assert begun.process.stdout is not None
            try:
                assert beside(opened, begun).contradictions == here.contradictions
                assert begun.process.stdout.closed == (name == link)  # read to its end
            finally:
                begun.end()


def test_where_the_process_fails_the_error_is_raised_here(store: Path) -> None:
    """It is one that the check cannot read past."""
    spoil(store, "update attempts set started_at = 'noon' where id = 1")
    with (
        open_store(store) as opened,
        reading_beside(opened, large=0) as second_reading,
        opened.reading() as connection,
        pytest.raises(Damaged, match="restore it from a copy"),
    ):
        second_reading(connection)


def test_a_small_file_and_none_are_read_without_a_process(store: Path) -> None:
    """So are an address, a folder, and what is no regular file."""
    for file in (store, store.parent, store / "none.db", "postgresql://host/name", "/dev/null"):
        assert begin(MODULE, file) is None


def test_the_command_finds_the_same_in_a_large_store(store: Path, small: Path, tmp_path: Path) -> None:
    """And ends the process whatever was typed."""
    typed = ("audit", "--protocol", str(small), "--json", "--store", str(store))
    before = invoke(tmp_path, os.environ, *typed)
    spoil(store, f"insert into meta values ('large', printf('%{LARGE}s', ''))")
    assert store.stat().st_size > LARGE

    after = invoke(tmp_path, os.environ, *typed)
    misused = invoke(tmp_path, os.environ, "audit", "--nonsense", "--store", str(store))

    assert (after.returncode, after.stdout) == (before.returncode, before.stdout)
    assert before.returncode == 1
    assert misused.returncode == 2
    assert not still_reading(store)


def test_the_command_begins_the_process_before_its_imports(store: Path) -> None:
    """As soon as it is known what was typed; the process ends with the command."""
    spoil(store, f"insert into meta values ('large', printf('%{LARGE}s', ''))")
    typed = ["audit", "--store", str(store)]
    assert isinstance(cli, click.Group)
    with cli.make_context("aib", list(typed)) as context:
        cli.resolve_command(context, typed)
        begun = context.meta["aib.helper"]
        assert isinstance(begun, Beside)
        assert begun.file == store.resolve()

    assert begun.process.returncode is not None


def still_reading(store: Path) -> list[str]:
    """The command lines of processes that name the *store*; none is known where the system does not list them so."""
    lines = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(process.read_text(errors="replace"))
        except OSError:
            continue
    return [line for line in lines if MODULE in line and str(store) in line]
