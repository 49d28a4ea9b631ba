"""What is made whole and put in its place in one step, and what a kill at the worst moment leaves
of it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from independence_bench.dataset.export import write_export
from independence_bench.errors import WrongUse
from independence_bench.store.database import open_store
from independence_bench.store.staging import (
    link_file_unless_exists,
    make_temporary_path,
    remove_leftovers,
    replace_folder,
)

KILLED = """
import os, signal, sys
from pathlib import Path
from independence_bench.store.staging import make_temporary_path

with make_temporary_path(Path(sys.argv[1])) as fresh:
    fresh.mkdir()
    (fresh / "new").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(target: Path) -> None:
    """Let a process be killed while it makes *target*."""
    ended = subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    assert ended.returncode == -9


def names(folder: Path) -> list[str]:
    """What is in *folder*, sorted."""
    return sorted(path.name for path in folder.iterdir())


def make(target: Path, name: str) -> None:
    """A folder with one file in it, at *target*."""
    with make_temporary_path(target) as fresh:
        fresh.mkdir()
        (fresh / name).touch()
        replace_folder(fresh, target)


def test_what_is_made_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    """And nothing else is left, neither of it nor of what fails."""
    make(tmp_path / "site", "one")
    assert names(tmp_path / "site") == ["one"]
    make(tmp_path / "site", "two")
    assert names(tmp_path / "site") == ["two"]
    with pytest.raises(FileNotFoundError), make_temporary_path(tmp_path / "site") as fresh:
        (fresh / "nowhere").touch()
    assert names(tmp_path) == ["site"]
    assert names(tmp_path / "site") == ["two"]


def test_what_a_killed_process_was_making_is_taken_away_by_the_next(tmp_path: Path) -> None:
    """Only that: what others make at the same place is theirs, and so are files that are called
    alike.
    """
    target = tmp_path / "si[t]e"
    (tmp_path / ".si[t]e.mine").mkdir()
    (tmp_path / ".other.01234567.lock").touch()
    killed(target)
    assert len(names(tmp_path)) == 4
    with make_temporary_path(target) as fresh:
        fresh.mkdir()
        remove_leftovers(target)
        assert fresh.is_dir(), "it is being made"
        assert len(names(tmp_path)) == 4
    assert names(tmp_path) == [".other.01234567.lock", ".si[t]e.mine"]


def test_a_kill_before_there_is_anything_leaves_a_lock_that_is_taken_away(tmp_path: Path) -> None:
    """The lock comes first and goes last, so at no moment there is something that nobody can tell
    from work.
    """
    (tmp_path / ".site.01234567.lock").touch()
    remove_leftovers(tmp_path / "site")
    assert names(tmp_path) == []


def test_a_kill_between_two_moves_leaves_the_old_one_to_be_put_back(tmp_path: Path) -> None:
    """Where two folders cannot change places in one step."""
    left = tmp_path / ".site.01234567.making"
    (left / "old").mkdir(parents=True)
    (left / "old" / "old").touch()
    left.with_suffix(".lock").touch()

    remove_leftovers(tmp_path / "site")

    assert names(tmp_path) == ["site"]
    assert names(tmp_path / "site") == ["old"]


def test_links_that_are_called_like_leftovers_are_not_followed(tmp_path: Path) -> None:
    """Whoever may write beside a site must not have other folders deleted by it, or moved."""
    (tmp_path / "mine" / "old").mkdir(parents=True)
    (tmp_path / ".site.01234567.making").symlink_to("mine")
    (tmp_path / ".site.01234567.lock").touch()
    (tmp_path / "empty").touch()
    (tmp_path / ".site.76543210.lock").symlink_to("empty")
    (tmp_path / ".site.76543210.making").mkdir()
    remove_leftovers(tmp_path / "site")
    assert names(tmp_path / "mine") == ["old"]
    assert (tmp_path / ".site.76543210.making").is_dir()
    assert not (tmp_path / "site").exists()


def test_a_file_is_put_where_none_is(tmp_path: Path) -> None:
    """And never over another one, an empty one included."""
    with make_temporary_path(tmp_path / "file") as fresh:
        fresh.write_text("mine")
        assert link_file_unless_exists(fresh, tmp_path / "file")
        assert not link_file_unless_exists(fresh, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"
    assert names(tmp_path) == ["file"]


def test_a_store_that_a_killed_process_was_making_is_made_by_the_next(tmp_path: Path) -> None:
    """No moment leaves an empty file; what was begun goes with the next command that opens the
    store.
    """
    store = tmp_path / "aib.db"
    killed(store)
    assert not store.exists()
    with open_store(store) as opened:
        assert names(tmp_path) == []
        with opened.open_transaction():
            pass
    assert names(tmp_path) == ["aib.db"]


def test_a_refused_export_takes_away_what_a_killed_one_left(tmp_path: Path) -> None:
    """Killed after the folder was put in its place: the next command makes nothing, and cleans up
    all the same.
    """
    target = tmp_path / "out"
    killed(target)
    make(target.with_name("elsewhere"), "kept")
    target.with_name("elsewhere").rename(target)

    with open_store(tmp_path / "aib.db") as store, pytest.raises(WrongUse, match="not empty"):
        write_export(store, target, "mit", "jsonl", True)

    assert names(tmp_path) == ["out"]
