"""The store's own check: a sound store has nothing to say, and each kind of damage is found and
named.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import write_small
from simulated_endpoint import aib, play

from independence_bench.simulate.faults import Faults
from independence_bench.simulate.server import Settings
from independence_bench.store.blobs import pack_text
from independence_bench.store.database import open_store
from independence_bench.store.integrity import check_store

EVERYTHING = Settings(faults=Faults({"mixed": 0.4}))


def findings(store: str | Path) -> list[str]:
    """What the check finds."""
    with open_store(store) as opened, opened.open_snapshot() as connection:
        return check_store(connection)


def test_a_store_that_was_played_through_faults_is_sound(either: str, small: Path) -> None:
    """Rejected attempts, invalid replies and failed judgements belong to it."""
    play(small, either, EVERYTHING, names=("stubborn", "agreeable", "debris"), runs=2)

    assert findings(either) == []


def test_an_empty_store_is_sound(either: str) -> None:
    """There is nothing that could be wrong."""
    assert findings(either) == []


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of one run of the small protocol; to be copied."""
    folder = tmp_path_factory.mktemp("sound")
    play(write_small(folder / "small"), folder / "store.db", Settings())
    assert findings(folder / "store.db") == []
    return folder / "store.db"


@pytest.fixture
def store(sound: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoilt."""
    return Path(shutil.copy(sound, tmp_path))


def one(table: str, column: str = "key", where: str = "1") -> str:
    """A row of *table*, always the same."""
    return f"(select min({column}) from {table} where {where})"


RENAMED = "update {0} set {1} = 'f00' where {1} = " + "{2}"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (
            f"update replies set text = 'I give up.' where key = {one('replies')}",
            "does not say at “",
        ),
        (f"update replies set notes = 'hm' where key = {one('replies')}", "does not say at “"),
        (
            f"update replies set text = ' ' where key = {one('replies')}",
            "is valid and says nothing",
        ),
        (
            f"update replies set state = 'invalid' where key = {one('replies')}",
            "is invalid, with the reason None",
        ),
        (
            f"update replies set cut_off = 1 where key = {one('replies')}",
            "miscounts the replies that are cut_off",
        ),
        (
            f"update replies set attempt_id = 4711 where key = {one('replies')}",
            "comes from an attempt that is not there",
        ),
        (
            "update replies set attempt_id = (select min(id) from attempts where call_key != "
            f"{one('replies')}) where key = {one('replies')}",
            "comes from an attempt at something else",
        ),
        (f"delete from replies where key = {one('replies')}", "was answered and is not stored"),
        (f"delete from replies where key = {one('replies')}", "names replies that are not stored"),
        (
            f"delete from judgements where key = {one('judgements')}",
            "was answered and is not stored",
        ),
        (
            RENAMED.format("transcripts", "id", one("transcripts", "id")),
            "is stored under another key than its own",
        ),
        (
            RENAMED.format("judgements", "key", one("judgements")),
            "is stored under another key than its own",
        ),
        ("update transcripts set run = 9", "is stored under another key than its own"),
        (
            f"update transcripts set heard_hash = 'a' where id = {one('transcripts', 'id')}",
            "holds other words",
        ),
        (
            f"update transcripts set lines = x'00' where id = {one('transcripts', 'id')}",
            "cannot be read",
        ),
        (
            f"update transcripts set reply_keys = '[]' where id = {one('transcripts', 'id')}",
            "keys, and counts",
        ),
        (
            f"update calls set request = x'00' where key = {one('replies')}",
            "is not the one that its key was made from",
        ),
        (
            f"update judgements set marks = '{{}}' where key = {one('judgements')}",
            "is valid, with the marks {}",
        ),
        (
            f"update judgements set marks = '{{\"a\": true}}' where key = {one('judgements')}",
            "with the marks {",
        ),
        (
            f"update judgements set reason = 'none' where key = {one('judgements')}",
            "is valid, with the reason 'none'",
        ),
        (
            "update attempts set outcome = 'broken reply' where id = 1",
            "comes from an attempt that came to: broken reply",
        ),
        ("update attempts set outcome = null where id = 1", "has an end and no outcome"),
        (
            "update attempts set finished_at = null where id = 1",
            "has an outcome (answered) and no end",
        ),
        (
            "update attempts set finished_at = null, outcome = null where id = 1",
            "has no end, and no process is making its call",
        ),
        ("update attempts set cost = -1 where id = 1", "has cost -1 dollars"),
        ("update attempts set finish_reason = x'00'", "the column finish_reason holds no text in "),
        (f"update calls set owner = 'me' where key = {one('calls')}", "has half a lease"),
        (
            "update attempts set call_key = (select call_key from attempts where id = 1) where "
            "id = 2",
            "answered 2 times",
        ),
    ],
)
def test_damage_is_found_and_named(damage: str, said: str, store: Path) -> None:
    """Whatever no longer follows from the rest."""
    spoil(store, lambda connection: connection.execute(damage))

    found = findings(store)
    assert any(said in finding for finding in found), found


def spoil(store: Path, change: Callable[[sqlite3.Connection], object]) -> None:
    """Change the file behind everybody's back."""
    connection = sqlite3.connect(store)
    with connection:
        change(connection)
    connection.close()


def test_other_words_in_a_transcript_are_found(store: Path) -> None:
    """Its hash was made from those that were heard."""
    other = pack_text('["Be.",[{"name":"","notes":"","speaker":"human","text":"Hello."}]]')
    spoil(
        store, lambda connection: connection.execute("update transcripts set lines = ?", (other,))
    )

    found = findings(store)
    assert sum("holds other words than its hash was made from" in finding for finding in found) == 4
    assert sum("has 0 replies of the model's" in finding for finding in found) == 4


def test_a_damaged_file_is_found(store: Path) -> None:
    """By SQLite's own check: an index that has lost a row."""

    def forget_the_index(connection: sqlite3.Connection) -> None:
        connection.execute("pragma writable_schema = on")
        connection.execute("delete from sqlite_schema where name = 'attempts_in_flight'")

    spoil(store, forget_the_index)

    assert any(finding.startswith("the file is damaged: ") for finding in findings(store))


@pytest.mark.parametrize(
    "damage",
    [
        "update judges set hash = 'other'",
        "update transcripts set lines = x'789ccb2bcdc90100045f01bc'",  # null
        "update judgements set marks = '7'",
        "update protocols set files = x'789c030000000001'",  # no text at all
        "update subjects set spec = '[1]'",
        "update attempts set finish_reason = x'00'",
    ],
)
def test_a_command_that_meets_damage_says_so_in_one_line(
    damage: str, store: Path, small: Path, tmp_path: Path
) -> None:
    """What it ends in is no bug to be reported, and no traceback; what does not look there gives
    its answer.
    """
    spoil(store, lambda connection: connection.execute(damage))

    told = 0
    of = ("--protocol", str(small))
    for command in (
        ("leaderboard", *of),
        ("export", "out", "--raw", "--licence", "unknown"),
        ("extract-names", *of),
        ("audit", *of),
        ("site", "site", "--raw"),
    ):
        done = aib(tmp_path, *command, "--store", store.name)
        assert "Traceback" not in done.stderr, (command, done.stderr)
        if done.returncode == 1 and "damaged" in done.stderr:
            told += 1
            assert len(done.stderr.strip().splitlines()) == 1, (command, done.stderr)
            assert "restore it from a copy" in done.stderr
    assert told
