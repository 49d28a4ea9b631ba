"""Every way in which a store can be unusable: one clear line, exit code 1, nothing changed and
nothing lost.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from forked_aib import start
from postgres import PASSWORD, USER, Server, somebody
from scripted_model import Bench, ScriptedModel, once_each, steady
from simulated_endpoint import aib, audit, read_ledger, simulating, start_aib
from sqlalchemy import Connection, insert, select, text
from test_cli import CALLS, User
from test_store import add, names

from independence_bench.calls.unstored import SavedEnd
from independence_bench.errors import StoreError
from independence_bench.models.messages import Usage
from independence_bench.store import attempts, schema
from independence_bench.store.attempts import CallInfo, Ended
from independence_bench.store.database import Store, find_store_place, open_store
from independence_bench.store.group_commit import Commits
from independence_bench.store.migrations import VERSION

Benches = Callable[..., Bench]

# opens the store before anything is asked of the endpoint
RUN = (
    "run",
    "local:some-model",
    "--local-url",
    "http://127.0.0.1:9/v1",
    "--no-judge",
    "--runs",
    "1",
)


def write(store: Store, name: str = "more") -> None:
    """One write, in a transaction of its own."""
    with store.open_transaction() as connection:
        add(name, connection)


def refusal(where: str | Path, create: bool = True) -> str:
    """The one line that opening *where* comes to."""
    with pytest.raises(StoreError) as raised:
        open_store(where, create)
    said = str(raised.value)
    assert "\n" not in said
    assert said.count(";") >= 1, "a next step"
    return said


def only_line(done: subprocess.CompletedProcess[str]) -> str:
    """The one line on stderr of a command that failed as it should, with nothing on stdout."""
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("aib: ")
    return lines[0]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file in *folder*, byte for byte."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


# ---------------------------------------------------------------- files that are no store


def a_store(path: Path) -> None:
    """A good store, with something in it."""
    with open_store(path) as store:
        write(store, "kept")


def text_file(path: Path) -> None:
    """Somebody's notes."""
    path.write_text("My notes.\n" * 200, encoding="utf-8")


def empty_file(path: Path) -> None:
    """What a copy leaves that had no room at all."""
    path.touch()


def garbage_header(path: Path) -> None:
    """A store whose first bytes were overwritten."""
    a_store(path)
    path.write_bytes(os.urandom(100) + path.read_bytes()[100:])


def first_half(path: Path) -> None:
    """A copy that broke off."""
    a_store(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def first_bytes(path: Path) -> None:
    """A copy that broke off at once: the header and little more."""
    a_store(path)
    path.write_bytes(path.read_bytes()[:150])


def foreign(table: str, path: Path) -> None:
    """Another program's database."""
    with sqlite3.connect(path) as other:
        other.execute(f"create table {table}")
    other.close()


def foreign_at_work(path: Path) -> None:
    """Another program's database whose last writes are not yet in the file, as a crash leaves
    it.
    """
    code = (
        f"import os, sqlite3; c = sqlite3.connect({str(path)!r}, isolation_level=None); "
        "c.execute('pragma journal_mode=wal'); c.execute('create table songs (title)'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    path.with_name(path.name + "-shm").unlink()  # SQLite's own notes, made anew by whoever looks


def newer_version(path: Path) -> None:
    """A store of an aib to come."""
    with open_store(path) as store, store.open_transaction() as connection:
        connection.execute(text("update meta set value = '99' where name = 'version'"))


def no_version(path: Path) -> None:
    """Damaged, or somebody else's."""
    with open_store(path) as store, store.open_transaction() as connection:
        connection.execute(text("delete from meta"))


def endless_view(path: Path) -> None:
    """In the place of a table, a view that never comes to an end."""
    a_store(path)
    with sqlite3.connect(path) as connection:
        connection.execute("pragma foreign_keys = off")
        connection.execute("drop table judges")
        connection.execute(
            "create view judges(hash, label, config) as "
            "with recursive r(n) as (select 1 union all select n + 1 from r) select n, n, n from r"
        )
    connection.close()


def lost_table(path: Path) -> None:
    """A table less."""
    a_store(path)
    with sqlite3.connect(path) as connection:
        connection.execute("drop table judgements")
    connection.close()


UNUSABLE: dict[str, tuple[Callable[[Path], None], str]] = {
    "text": (text_file, "not a database; choose another file"),
    "empty": (empty_file, "is an empty file"),
    "garbage": (garbage_header, "not a database; choose another file"),
    "half": (first_half, "restore it from a copy"),
    "header": (first_bytes, "restore it from a copy"),
    "foreign": (partial(foreign, "songs (title text)"), "a database of another program"),
    "foreign, same table": (partial(foreign, "meta (k text, v text)"), "choose another file"),
    "foreign, at work": (foreign_at_work, "a database of another program"),
    "newer": (
        newer_version,
        f"written by a newer aib (version 99, this one knows {VERSION}); update aib",
    ),
    "no version": (no_version, "has no version"),
    "endless view": (endless_view, "is damaged: it has no table judges; restore it from a copy"),
    "lost table": (lost_table, "is damaged: it has no table judgements; restore it from a copy"),
    "folder": (Path.mkdir, "is a folder; name a file in it"),
    "pipe": (lambda path: os.mkfifo(path), "is a pipe or a device"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_is_no_store_is_said_in_one_line_and_left_as_it_is(tmp_path: Path, name: str) -> None:
    """A slip of the tab key must not cost anybody their files; by the real commands, reading and
    writing.
    """
    make, said = UNUSABLE[name]
    path = tmp_path / "some file.db"
    make(path)
    before = contents(tmp_path)

    found = [refusal(path), refusal(path, create=False)]
    found += [
        only_line(aib(tmp_path, *command, "--store", path.name))
        for command in (("leaderboard",), RUN)
    ]

    assert all(said in line and path.name in line for line in found), found
    after = contents(tmp_path)
    after.pop(f"{path.name}-shm", None)
    assert after == before


@pytest.mark.parametrize("where", ["/dev/null", "/dev/full"])
def test_a_device_is_no_store(where: str) -> None:
    """Nothing is read from it and nothing written to it."""
    assert "is a pipe or a device" in refusal(where)


def test_a_store_in_a_folder_that_is_missing_says_so(tmp_path: Path) -> None:
    """Nothing is made up on the way."""
    assert "check that the folder exists" in refusal(tmp_path / "no" / "aib.db")
    assert "check that the folder exists" in only_line(aib(tmp_path, *RUN, "--store", "no/aib.db"))
    assert f"there is no store at {tmp_path / 'no/aib.db'}" in only_line(
        aib(tmp_path, "leaderboard", "--store", "no/aib.db")
    )
    text_file(tmp_path / "notes.txt")
    assert "check that the folder exists" in refusal(tmp_path / "notes.txt" / "aib.db")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("name", ["x" * 300, "y/" * 3000])
def test_a_name_that_no_file_can_have_is_said_in_one_line(tmp_path: Path, name: str) -> None:
    """What the system says of it, and what to look at."""
    assert "File name too long; check its name" in refusal(tmp_path / name)


def test_a_link_to_nowhere_becomes_a_link_to_a_store(tmp_path: Path) -> None:
    """A store that lives on another disk is linked to before it is made."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "aib.db").symlink_to(tmp_path / "disk" / "real.db")

    with open_store(tmp_path / "aib.db") as store:
        write(store)

    assert (tmp_path / "aib.db").is_symlink()
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["real.db"]


def test_a_store_in_memory_is_refused() -> None:
    """It would be lost with the command that paid for it."""
    for where in ("", ":memory:", "sqlite://", "sqlite:///:memory:"):
        assert "would be lost" in refusal(where)


def test_commands_that_fail_before_they_store_anything_leave_no_store_behind(
    tmp_path: Path, unmade: str
) -> None:
    """A wrong address of a model server, a wrong name: the next command starts from nothing, as
    this one did.
    """
    done = aib(tmp_path, *RUN, "--store", unmade)
    assert done.returncode == 1
    assert "127.0.0.1:9" in only_line(done)

    assert "there is no store at" in only_line(aib(tmp_path, "leaderboard", "--store", unmade))
    assert contents(tmp_path) == {}
    with open_store(unmade) as store:
        assert not store.is_made()


# ---------------------------------------------------------------- files that may only be read


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write anything; a user may not."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def disk(size: str) -> Iterator[Path]:
    """A small disk of its own; skips the test where only an administrator could have one."""
    # not below pytest's folder, which nobody else may enter
    folder = Path(tempfile.mkdtemp(prefix="aib-disk-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0755", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    try:
        if mounted.returncode:
            pytest.skip("no disk can be mounted here")
        yield folder
    finally:
        if not mounted.returncode:
            subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


def remount(folder: Path, option: str) -> None:
    """Change a disk: another size, or only to be read."""
    subprocess.run(["mount", "-o", f"remount,{option}", str(folder)], check=True)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    with tempfile.TemporaryDirectory(prefix="aib-open-") as name:
        Path(name).chmod(0o755)
        yield Path(name)
        Path(name).chmod(0o755)


@pytest.mark.parametrize(
    ("folder_mode", "file_mode"), [(0o555, 0o444), (0o777, 0o444), (0o555, 0o666)]
)
def test_a_store_that_may_not_be_written_can_be_read(
    open_folder: Path, folder_mode: int, file_mode: int
) -> None:
    """Somebody else's results on a shared disk: no lock and no file beside it is needed. Writing is
    one line.
    """
    path = open_folder / "aib.db"
    a_store(path)
    before = contents(open_folder)
    path.chmod(file_mode)
    open_folder.chmod(folder_mode)

    with as_nobody():
        assert "check the permissions" in refusal(path)
        with open_store(path, create=False) as store:
            assert names(store) == {"kept"}
            with pytest.raises(
                StoreError,
                match="readonly database; check the permissions of the file and its folder",
            ):
                write(store)
            assert names(store) == {"kept"}

    assert contents(open_folder) == before


def test_a_store_that_may_not_be_read_says_so(open_folder: Path) -> None:
    """Neither the file nor a folder on the way to it."""
    inner = open_folder / "inner"
    inner.mkdir()
    a_store(inner / "aib.db")
    (inner / "aib.db").chmod(0o000)
    with as_nobody():
        assert "unable to open database file; check" in refusal(inner / "aib.db", create=False)
    inner.chmod(0o000)
    with as_nobody():
        assert "Permission denied; check its name and the permissions" in refusal(
            inner / "aib.db", create=False
        )


def test_a_folder_that_may_not_be_written_is_said_before_anything_is_sent(
    open_folder: Path,
) -> None:
    """Not after the first reply was paid for."""
    open_folder.chmod(0o555)
    with as_nobody():
        assert "check the permissions" in refusal(open_folder / "aib.db")
    assert contents(open_folder) == {}


def test_a_store_whose_last_part_cannot_be_read_says_what_to_copy(open_folder: Path) -> None:
    """A copy of a store at work on a disk that may only be read: half of the truth is not shown as
    all of it.
    """
    path = open_folder / "aib.db"
    with open_store(path) as store, store.open_snapshot():
        write(store, "kept")
        shutil.copy(path, open_folder / "copy.db")
        shutil.copy(f"{path}-wal", open_folder / "copy.db-wal")
    open_folder.chmod(0o555)

    with as_nobody():
        assert f"its latest part is in {open_folder}/copy.db-wal: copy both" in refusal(
            open_folder / "copy.db", False
        )


def test_a_store_that_is_written_to_while_nobody_can_lock_it_is_read_again(
    open_folder: Path,
) -> None:
    """Without a lock, a change is found out afterwards: a number out of two moments is not
    shown.
    """
    path = open_folder / "aib.db"
    a_store(path)
    path.chmod(0o444)
    open_folder.chmod(0o555)

    def read_meanwhile(store: Store) -> None:
        with store.open_snapshot(), unchecked(), open_store(path) as other:
            write(other)

    with (
        as_nobody(),
        open_store(path, create=False) as store,
        pytest.raises(StoreError, match="do it again"),
    ):
        read_meanwhile(store)
    with as_nobody(), open_store(path, create=False) as store:
        assert names(store) == {"kept", "more"}


@contextmanager
def unchecked() -> Iterator[None]:
    """Whoever may write the file after all."""
    if os.geteuid() == 65534 and os.getuid() == 0:
        os.seteuid(0)
        try:
            yield
        finally:
            os.seteuid(65534)
    else:
        pytest.skip("only an administrator can be two users")


def test_results_on_a_disk_that_can_only_be_read_are_ranked(bench: Benches, where: str) -> None:
    """`aib leaderboard` on a DVD, a snapshot, a mounted backup: the same table as at home."""
    made = bench(steady({"own_voice": 6, "drift": 3, "changed": False, "resistance": 8}))
    made.play()
    home = aib(made.folder.parent, "leaderboard", "--store", where)
    assert "acme/one" in home.stdout

    with disk("2m") as folder:
        shutil.copy(where, folder / "aib.db")
        remount(folder, "ro")
        away = aib(made.folder.parent, "leaderboard", "--store", str(folder / "aib.db"))
        refused = aib(made.folder.parent, *RUN, "--store", str(folder / "aib.db"))
        new = aib(made.folder.parent, *RUN, "--store", str(folder / "new.db"))

    assert (away.returncode, away.stderr) == (0, "")
    assert away.stdout.replace(str(folder / "aib.db"), where) == home.stdout
    assert "cannot be written; check the permissions" in only_line(refused)
    assert "cannot be written; check the permissions" in only_line(new)


# ---------------------------------------------------------------- no room


SIMULATED = (
    "run",
    "sim:sim/stubborn",
    "sim:sim/verbose",
    "--protocol",
    "lite",
    "--judge",
    "sim:sim/judge",
    "--runs",
    "2",
    "-pt",
    "4",
)


def stored(path: Path) -> dict[str, str]:
    """Every reply and judgement in the store at *path*, by its key."""
    with sqlite3.connect(path) as other:
        found = other.execute(
            "select key, text from replies where state = 'valid' "
            "union all select key, marks from judgements where state = 'valid'"
        ).fetchall()
    other.close()
    return dict(found)


def nothing_was_lost(
    folder: Path, path: Path, before: dict[str, str], done: subprocess.CompletedProcess[str]
) -> None:
    """The second command finished what the first one had begun, and bought nothing again."""
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("100.0") >= 2
    after = stored(path)
    assert before
    assert before.items() <= after.items(), "what was stored stays as it was"
    assert not audit(read_ledger(folder / "ledger.jsonl"), runs=2).again, (
        "what was in flight was saved"
    )
    with sqlite3.connect(path) as other:
        assert other.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert other.execute(
            "select count(*) from attempts where outcome is null or outcome = 'lost'"
        ).fetchone() == (0,)
    other.close()


def test_a_run_on_a_full_disk_ends_in_one_line_and_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    """A real disk without room, a real run: nothing is lost, and nothing is bought twice."""
    with (
        disk("500k") as folder,
        simulating(tmp_path, "--ledger", "ledger.jsonl", "--latency", "0.05"),
    ):
        store = folder / "aib.db"
        # what it has claimed is free when it has ended
        full = start_aib(tmp_path, *SIMULATED, "--store", str(store))
        out, errors = full.communicate()
        assert full.returncode == 1
        assert out == ""
        said = errors.splitlines()[-1]
        assert said.startswith(f"aib: the store {store} cannot be "), errors
        assert "room" in said
        assert "Traceback" not in errors
        remount(folder, "size=20m")
        before = stored(store)
        nothing_was_lost(tmp_path, store, before, aib(tmp_path, *SIMULATED, "--store", str(store)))


def test_a_run_that_may_not_write_more_ends_in_one_line_and_goes_on_when_it_may(
    tmp_path: Path,
) -> None:
    """The same where it is a quota that is reached: a limit on the size of files."""
    with simulating(tmp_path, "--ledger", "ledger.jsonl", "--latency", "0.05"):
        store = tmp_path / "aib.db"
        with start_aib(tmp_path, *SIMULATED, "--store", str(store)) as full:
            allowed = resource.prlimit(full.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(full.pid, resource.RLIMIT_FSIZE, (300 * 1024, allowed[1]))
            out, errors = full.communicate()
        assert full.returncode == 1
        assert out == ""
        assert "aib: the store" in errors.splitlines()[-1]
        assert "room" in errors.splitlines()[-1]
        assert "Traceback" not in errors
        before = stored(store)
        nothing_was_lost(tmp_path, store, before, aib(tmp_path, *SIMULATED, "--store", str(store)))


def test_replies_that_nothing_can_be_written_of_are_kept_until_it_can(
    small: Path, tmp_path: Path, serve: Callable[..., ScriptedModel]
) -> None:
    """No folder of the machine takes a byte: they stay in memory, it says so, and saves them when
    there is room.
    """
    release = threading.Event()
    user = User(tmp_path, serve(steady(until=release)))
    user.models()
    order = ("run", "scripted:acme/one", "--protocol", "small", "--runs", "1")
    with start(order, cwd=tmp_path, env=user.env, stderr=subprocess.PIPE, text=True) as child:
        user.server.wait_until(lambda server: server.in_flight == 4, 60)
        before = resource.prlimit(child.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (0, before[1]))
        release.set()
        assert child.stderr is not None
        while "kept in memory until there is room" not in (line := child.stderr.readline()):
            assert line
        resource.prlimit(child.pid, resource.RLIMIT_FSIZE, before)
        said = child.stderr.read()

    assert child.returncode == 1
    assert "what came of 4 calls since is saved in" in said
    done = user.aib(*order)
    assert done.returncode == 0, done.stderr
    assert len(user.server.asked) == CALLS
    assert once_each(user.server.asked)


DAMAGED = [
    b"[]\n",
    b"{}\n",
    b"\xff\n",
    b'{"attempt": 1e999}\n',
    b'{"ended": {"usage": {"cents": 1}}}\n',
    b"null\n",
    b"{",
]


def test_files_that_are_no_saved_replies_are_left_alone(
    small: Path, tmp_path: Path, serve: Callable[..., ScriptedModel]
) -> None:
    """By their name they could be, or they are another store's: neither read into this one nor in
    the way.
    """
    user = User(tmp_path, serve(steady()))
    user.models()
    elsewhere = SavedEnd(
        "other|1|0", "0" * 64, 1, 1.0, 0.0, Ended("answered", "", Usage(), 0.1, "{}")
    )
    contents = (*DAMAGED, json.dumps(asdict(elsewhere)).encode())
    files = {
        tmp_path / f"aib-unstored-{number}.jsonl": content
        for number, content in enumerate(contents)
    }
    for path, content in files.items():
        path.write_bytes(content)
    (tmp_path / "aib-unstored-link.jsonl").symlink_to("nowhere")

    for _ in range(2):  # the second time the store has an attempt of that number
        done = user.aib("run", "scripted:acme/one", "--protocol", "small", "--runs", "1")

        assert done.returncode == 0, done.stderr
        assert len(user.server.asked) == CALLS
        assert {path: path.read_bytes() for path in files} == files


def test_a_store_that_there_is_no_room_to_make_leaves_nothing_behind(tmp_path: Path) -> None:
    """Not even a part of one, which the next command would have to refuse."""
    with disk("60k") as folder:
        with (
            open_store(folder / "aib.db") as store,
            pytest.raises(StoreError, match=r"cannot be made: .*; make room"),
        ):
            write(store)
        assert contents(folder) == {}
        remount(folder, "size=2m")
        with open_store(folder / "aib.db") as store:
            write(store)
            assert names(store) == {"more"}


# ---------------------------------------------------------------- servers


def over_tcp(
    server: Server,
    database: str,
    user: str = USER,
    password: str = PASSWORD,
    port: int | None = None,
) -> str:
    """The address of a database with a password in it."""
    secret = quote(password, safe="")
    return f"postgresql://{user}:{secret}@127.0.0.1:{port or server.port}/{database}"


def keeps_its_password(said: str, *secrets: str) -> str:
    """*said*, which holds no password as it is or as it was written."""
    assert not any(
        part in said for secret in (*secrets, PASSWORD) for part in (secret, quote(secret, safe=""))
    )
    return said


def test_the_address_is_all_that_differs(tmp_path: Path, postgres: Server) -> None:
    """AIB_STORE=postgresql://user:password@host/database plays, judges and ranks as a file does."""
    with postgres.database() as name, simulating(tmp_path):
        # the older name of the same
        address = over_tcp(postgres, name).replace("postgresql://", "postgres://")
        (tmp_path / ".env").write_text(f"AIB_STORE={address}\n", encoding="utf-8")
        order = (
            "run",
            "sim:sim/stubborn",
            "sim:sim/agreeable",
            "--judge",
            "sim:sim/judge",
            "--runs",
            "1",
        )
        first = aib(tmp_path, *order, "--trust", f"AIB_STORE={find_store_place(address)}")
        again = aib(tmp_path, *order)
        shown = aib(tmp_path, "show", "sim/stubborn", "negotiation")
        ranked = aib(tmp_path, "leaderboard")
        filed = aib(tmp_path, *order, "--store", "file.db")

    assert (first.returncode, again.returncode, shown.returncode) == (0, 0, 0), first.stderr
    assert "0/0 calls" in again.stderr
    assert first.stdout == again.stdout == filed.stdout.replace(" --store file.db", "")
    assert ranked.stdout.splitlines()[:4] == filed.stdout.splitlines()[:4]
    assert "I stay who I am" in shown.stdout
    for done in (first, again, shown, ranked):
        keeps_its_password(done.stdout + done.stderr)


def test_a_server_that_does_not_let_us_in_is_one_line_without_a_password(
    tmp_path: Path, postgres: Server
) -> None:
    """What is wrong and what to look at, by the real command."""
    base = over_tcp(postgres, "postgres")
    wrong = {
        over_tcp(postgres, "postgres", password="not-the-secret"): "PGPASSWORD or ~/.pgpass",
        f"postgresql://{USER}@127.0.0.1:{postgres.port}/postgres?password=not-the-secret": (
            "PGPASSWORD or ~/.pgpass"
        ),
        f"postgresql://{USER}@127.0.0.1:{postgres.port}/postgres": "no password supplied; check "
        "the user",
        over_tcp(postgres, "nosuch"): "`createdb NAME` makes a database",
        over_tcp(postgres, "postgres", user="nobody"): "check the user and the password",
        f"{postgres.url('postgres')}&user=nobody": "check the names of the user and the database",
        over_tcp(postgres, "postgres", port=1): "Connection refused; check the host and the port",
        base.replace("127.0.0.1", "no.such.host.invalid"): "check the name of the host",
        "postgresql:///x?host=/nosuch": "check the folder of the socket",
        f"{base}?secret=not-the-secret": "check what the address says behind its question mark",
        f"{base}?sslmode=require": "(sslmode)",
        base.replace("@127", "@not-the-secret@127"): "write %40 for an @",
        f"postgresql://{USER}:not-the-secret@127.0.0.1:port/x": "write postgresql://host/database",
        "postgresql://[::1/x": "write postgresql://host/database",
        "mysql://u:not-the-secret@h/x": "or postgresql://host/database",
        "://": "or postgresql://host/database",
    }
    for address, said in wrong.items():
        assert said in keeps_its_password(refusal(address), "not-the-secret"), address
    for address in list(wrong)[:4]:
        for command in (("leaderboard",), RUN):
            line = only_line(aib(tmp_path, *command, "--store", address))
            assert wrong[address] in keeps_its_password(line, "not-the-secret")


def test_a_server_that_takes_the_call_and_never_answers_is_given_up(tmp_path: Path) -> None:
    """After as long as the address says; else after ten seconds."""
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        said = refusal(
            f"postgresql://u:not-the-secret@127.0.0.1:{mute.getsockname()[1]}/x?connect_timeout=2"
        )
    assert "timeout" in keeps_its_password(said, "not-the-secret")
    assert "that the server runs" in said


def test_without_the_driver_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, where only the plain package was installed."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    done = aib(tmp_path, "leaderboard", "--store", "postgresql://u:not-the-secret@127.0.0.1/x")
    said = keeps_its_password(only_line(done), "not-the-secret")
    assert "pip install 'ai-independence-bench[postgres]'" in said


def in_database(server: Server, name: str, *statements: str) -> list[tuple[Any, ...]]:
    """Carry out *statements* in a database."""
    return server.say(*statements, database=name)


def test_another_programs_database_is_left_as_it_is(tmp_path: Path, postgres: Server) -> None:
    """No table is added to it, also where one has the name of ours."""
    for table in ("songs (title text)", "meta (k text, v text)"):
        with postgres.database() as name:
            in_database(postgres, name, f"CREATE TABLE {table}")
            for command in (("leaderboard",), RUN):
                line = only_line(aib(tmp_path, *command, "--store", postgres.url(name)))
                assert "choose another" in line
            found = in_database(
                postgres, name, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            )
            assert found == [(table.split()[0],)]


def test_a_database_of_a_newer_version_is_left_as_it_is(postgres: Server, database: str) -> None:
    """An old program must not write into what it does not understand."""
    with open_store(database) as store, store.open_transaction() as connection:
        connection.execute(text("update meta set value = '99' where name = 'version'"))

    assert "newer aib (version 99" in refusal(database)


def test_a_database_that_cannot_hold_every_character_is_not_used(postgres: Server) -> None:
    """Said before the first reply is paid for, not when the first odd character comes."""
    with postgres.database(
        "ENCODING 'LATIN1' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C'"
    ) as name:
        with (
            open_store(postgres.url(name)) as store,
            pytest.raises(StoreError, match=r"encoding is LATIN1\); make a"),
        ):
            write(store)
        assert (
            in_database(
                postgres, name, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            )
            == []
        )


def test_a_user_who_may_only_read_can_rank_and_is_told_that_it_may_not_write(
    postgres: Server, database: str
) -> None:
    """By rights, by a setting of the database, and where tables may not even be made."""
    name = database.partition("@/")[2].partition("?")[0]
    guest = f"guest_{name}"
    in_database(postgres, name, f"CREATE ROLE {guest} LOGIN")
    try:
        by_guest, refused = f"{database}&user={guest}", "let the user create, read and write tables"
        with (
            open_store(by_guest) as store,
            pytest.raises(StoreError, match=refused),
        ):
            write(store)
        with open_store(database) as store:
            write(store, "kept")
        in_database(postgres, name, f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {guest}")
        with open_store(by_guest) as store:
            assert names(store) == {"kept"}
            with pytest.raises(StoreError, match=refused):
                write(store)
        with open_store(
            f"{database}&options=-cdefault_transaction_read_only%3Don", create=False
        ) as store:
            assert names(store) == {"kept"}
            with pytest.raises(StoreError, match="may only read; name another database"):
                write(store)
    finally:
        in_database(postgres, name, f"DROP OWNED BY {guest}", f"DROP ROLE {guest}")


def hang_up(server: Server) -> None:
    """End every connection of ours, as a restart of the server does."""
    server.say(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'aib'"
    )


def test_a_connection_that_is_lost_between_two_writes_is_made_anew(
    postgres: Server, database: str
) -> None:
    """A night's run outlives a restart of the server that falls into a quiet moment."""
    with open_store(database) as store:
        write(store, "before")
        hang_up(postgres)
        assert names(store) == {"before"}
        hang_up(postgres)
        write(store, "after")
        assert names(store) == {"before", "after"}


def test_a_connection_that_is_lost_in_the_middle_is_made_anew(
    postgres: Server, database: str
) -> None:
    """Nothing half-written: what was undone with the connection is carried out again, whole."""
    losses = iter([True, True])

    def lose(_connection: Connection) -> None:
        if next(losses, False):
            hang_up(postgres)

    async def write_all(store: Store) -> None:
        async with Commits(store) as commits:
            writes = [partial(add, "a"), lose, partial(add, "b"), partial(add, "c")]
            await asyncio.gather(*(commits.commit_operation(one) for one in writes))

    with open_store(database) as store:
        asyncio.run(write_all(store))
        assert names(store) == {"a", "b", "c"}
    assert not next(losses, False), "it was lost twice"


@contextmanager
def losing_an_answer(server: Server) -> Iterator[int]:
    """The port of a way to *server* on which the answer to the COMMIT behind the first attempt gets
    lost.
    """
    wrote, committing, lost = threading.Event(), threading.Event(), threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    ends: list[socket.socket] = [listener]
    threads: list[threading.Thread] = []

    def carry(source: socket.socket, target: socket.socket, upwards: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if upwards and b"INSERT INTO attempts" in data:
                    wrote.set()
                if upwards and b"COMMIT" in data and wrote.is_set():
                    committing.set()
                if not upwards and committing.is_set() and not lost.is_set():
                    lost.set()
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def listen() -> None:
        with suppress(OSError):
            while True:
                client = listener.accept()[0]
                upstream = socket.create_connection(("127.0.0.1", server.port))
                ends.extend((client, upstream))
                for way in ((client, upstream, True), (upstream, client, False)):
                    threads.append(threading.Thread(target=carry, args=way))
                    threads[-1].start()

    threads.append(threading.Thread(target=listen))
    threads[0].start()
    try:
        yield listener.getsockname()[1]
        assert lost.is_set()
    finally:
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(10)
        for end in ends:
            end.close()


def test_a_commit_whose_answer_is_lost_counts_once(postgres: Server) -> None:
    """The server has committed and could not say so: it is asked, for done again, an attempt would
    be there twice.
    """
    call = CallInfo("k", "reply", "scripted", "acme/one", "{}")

    async def begin(store: Store) -> list[int]:
        async with Commits(store) as commits:
            await commits.commit_operation(
                partial(attempts.claim_calls, wanted=[call], held={}, owner="me", now=1.0)
            )
            return await commits.commit_operation(
                partial(
                    attempts.begin_attempts, keys_and_token_limits=[("k", 100)], owner="me", now=1.0
                )
            )

    with postgres.database() as name:
        with (
            losing_an_answer(postgres) as port,
            open_store(over_tcp(postgres, name, port=port)) as store,
        ):
            begun = asyncio.run(begin(store))
        with open_store(postgres.url(name)) as store, store.open_snapshot() as connection:
            assert [attempt["id"] for attempt in attempts.read_attempts(connection, ["k"])] == begun


def test_a_statement_that_meets_a_lost_connection_is_one_line(
    postgres: Server, database: str
) -> None:
    """In a single transaction, reading or writing."""

    def lose(opened: AbstractContextManager[Connection]) -> None:
        with opened as connection:
            hang_up(postgres)
            connection.execute(select(schema.meta.c.name))

    with open_store(database) as store:
        write(store, "kept")
        for block in (store.open_snapshot, store.open_transaction):
            with pytest.raises(StoreError, match="the same command continues from there") as raised:
                lose(block())
            assert "\n" not in str(raised.value)
        assert names(store) == {"kept"}


def test_a_writer_that_falls_silent_does_not_hold_up_the_others(
    postgres: Server, database: str
) -> None:
    """A laptop that is closed in the middle of a transaction loses it."""

    def fall_silent(store: Store) -> None:
        with store.open_transaction() as connection:
            add("silent", connection)
            write(other, "other")

    with open_store(database, wait=0.3) as silent, open_store(database, wait=20) as other:
        with pytest.raises(StoreError, match="the same command continues from there"):
            fall_silent(silent)
        assert names(silent) == {"other"}


def test_a_server_told_to_forget_at_a_crash_is_told_not_to(database: str) -> None:
    """What was paid for waits for the disk, whatever the server does by default; a reader sees one
    moment.
    """
    with open_store(f"{database}&options=-csynchronous_commit%3Doff") as store:
        with store.open_transaction() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
        with store.open_snapshot() as connection:
            assert (
                connection.exec_driver_sql("SHOW transaction_isolation").scalar()
                == "repeatable read"
            )
            assert connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on"
    stricter = f"{database}&options=-csynchronous_commit%3Dremote_apply"
    with open_store(stricter) as store, store.open_transaction() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "remote_apply"


def test_a_server_without_room_keeps_what_was_stored_and_goes_on_when_there_is_some(
    postgres: Server,
) -> None:
    """A real tablespace on a real disk that is full."""
    user = somebody()
    with disk("12m") as folder:
        space = folder / "space"
        space.mkdir()
        if user:
            os.chown(space, user["user"], user["group"])
        postgres.say(f"CREATE TABLESPACE tiny LOCATION '{space}'")
        try:
            with (
                postgres.database("TABLESPACE tiny") as name,
                open_store(postgres.url(name)) as store,
            ):
                kept = fill(store)
                assert 0 < len(kept) < 100
                assert names(store) == kept
                remount(folder, "size=60m")
                write(store, "after")
                assert names(store) == kept | {"after"}
        finally:
            postgres.say("DROP TABLESPACE tiny")


def fill(store: Store) -> set[str]:
    """Write until there is no room; what was said to be stored."""
    kept: set[str] = set()

    def flood() -> None:
        for number in range(100):
            with store.open_transaction() as connection:
                value = os.urandom(150_000).hex()
                connection.execute(insert(schema.meta).values(name=f"n{number}", value=value))
            kept.add(f"n{number}")

    with pytest.raises(
        StoreError, match="make room on the server's disk; what was stored before is safe"
    ):
        flood()
    return kept
