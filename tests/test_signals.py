"""What ends a command from outside: Ctrl-C, `kill`, a closed terminal, Ctrl-\\. Nothing that was
paid for is lost.
"""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from conftest import write_small
from forked_aib import AIB, SHARED, start
from inprocess_aib import invoke
from scripted_model import Answer, Asked, ScriptedModel, once_each, steady
from sqlalchemy import func, select
from test_cli import CALLS, User
from test_persona import SHEET

from independence_bench.errors import handle_signals
from independence_bench.store.database import open_store
from independence_bench.store.schema import attempts

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]
MODEL = "scripted:acme/one"
RUN = ("run", MODEL, "--protocol", "small", "--runs", "1")
GATE = ("gate", "base.json", "--protocol", "small")
# command -> what is to be there before it
BEFORE: dict[tuple[str, ...], list[tuple[str, ...]]] = {
    RUN: [],
    ("judge", "--protocol", "small", "-j", "scripted:judge/two"): [RUN],
    ("exam", "-j", "scripted:judge/one", "--rubric", "resistance", "-y"): [],
    (
        "persona",
        "run",
        "mira.yaml",
        "-m",
        MODEL,
        "--judge",
        "scripted:judge/one",
        "--runs",
        "1",
    ): [],
    (*GATE, "--add-runs", "1", "--yes"): [
        (*RUN[:-1], "2"),
        ("gate", "--protocol", "small", "--write", "base.json"),
        (*RUN[:-1], "4"),
    ],
}


@pytest.fixture
def user(small: Path, tmp_path: Path, serve: Callable[..., ScriptedModel]) -> User:
    """Somebody with an endpoint that answers steadily, and a character of their own."""
    made = User(tmp_path, serve(steady()))
    made.models()
    (tmp_path / "mira.yaml").write_text(SHEET, encoding="utf-8")
    return made


def unsteady(asked: Asked) -> Answer:
    """A judge who is of another mind each time: two runs of it leave a gate undecided."""
    return steady({"resistance": asked.number % 11, "own_voice": asked.number % 8})(asked)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Callable[[tuple[str, ...]], Path]:
    """The folder in which that was done which is to be there before a command: once, for all
    signals.
    """

    @cache
    def folder_of(command: tuple[str, ...]) -> Path:
        folder = tmp_path_factory.mktemp("before")
        write_small(folder / "small")
        with ScriptedModel(unsteady) as server:
            user = User(folder, server)
            user.models()
            for arguments in BEFORE[command]:
                done = user.aib(*arguments)
                assert done.returncode == 0, done.stderr
        return folder

    return folder_of


def stored(user: User) -> dict[str, int]:
    """Outcome -> how many attempts ended so; "None" for those without an end."""
    with open_store(user.folder / "aib.db") as store, store.open_snapshot() as connection:
        counted = select(attempts.c.outcome, func.count()).group_by(attempts.c.outcome)
        return {str(outcome): count for outcome, count in connection.execute(counted)}


# a run by each; one handler serves all commands, so each other one meets a signal that is typed and
# one that is not
OF_OTHERS = {
    "judge": (signal.SIGINT, signal.SIGTERM),
    "exam": (signal.SIGQUIT, signal.SIGHUP),
    "persona": (signal.SIGINT, signal.SIGHUP),
    "gate": (signal.SIGQUIT, signal.SIGTERM),
}
ENDED = [
    pytest.param(command, number, id=f"{command[0]}-{number.name}")
    for command in BEFORE
    for number in OF_OTHERS.get(command[0], SIGNALS)
]


@pytest.mark.parametrize(("command", "number"), ENDED)
def test_whatever_ends_a_command_what_is_in_flight_is_kept(
    user: User,
    before: Callable[[tuple[str, ...]], Path],
    command: tuple[str, ...],
    number: signal.Signals,
) -> None:
    """It waits for the answers that are on their way, stores each, and exits with 130; nothing is
    bought twice.
    """
    shutil.copytree(before(command), user.folder, dirs_exist_ok=True)
    user.models()
    bought = sum(stored(user).values())
    # a character begins with one stem, to foresee what it costs
    fewest = 1 if command[0] == "persona" else 4
    release = threading.Event()
    user.server.script = steady(until=release)
    with start(
        command,
        cwd=user.folder,
        env=user.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            user.server.wait_until(lambda server: server.in_flight >= fewest, 60)
            child.send_signal(number)
            time.sleep(0.3)
            if number in (signal.SIGTERM, signal.SIGHUP):
                child.send_signal(number)  # a closing shell and the terminal itself both say so
                time.sleep(0.1)
            assert child.poll() is None, "it waits for what is in flight"
        finally:
            release.set()
        _, err = child.communicate()

    assert child.returncode == 130, err
    assert "Traceback" not in err
    assert len(user.server.asked) >= fewest
    assert stored(user) == {"answered": bought + len(user.server.asked)}
    if command is RUN:
        assert "The same command continues from here" in err
        user.server.script = steady()
        assert user.aib(*command).returncode == 0
        assert len(user.server.asked) == CALLS
        assert once_each(user.server.asked)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_whatever_ends_the_viewer_the_last_mark_is_kept(user: User, number: signal.Signals) -> None:
    """It is held back until the next one is finished, so that it can be changed; the end stores
    it.
    """
    assert user.aib(*RUN).returncode == 0
    with start(
        ["view", "--label", "anna", "--port", "0", "--no-open"], cwd=user.folder, env=user.env,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as child:  # fmt: skip
        try:
            assert child.stdout is not None
            home, token = child.stdout.readline().split()[4].split("#token=")
            headers = {
                "Authorization": f"Bearer {token}",
                "Content-Type": "application/json",
                "Origin": home[:-1],
            }

            def asked(path: str, body: object = None) -> dict[str, Any]:
                sent = None if body is None else json.dumps(body).encode()
                with urlopen(Request(f"{home}api/label/{path}", sent, headers)) as answer:
                    found: dict[str, Any] = json.load(answer)
                    return found

            case = asked("state.json")["case"]
            marks = {scale["name"]: 1 for scale in case["scales"]}
            assert (
                asked("marks", {"case": case["id"], "marks": marks, "note": "the last"})["marked"]
                == 1
            )
            child.send_signal(number)
            _, err = child.communicate()
        finally:
            child.kill()

    assert child.returncode == 0, err
    assert "person:anna: 1 of 4 conversations" in user.answering("q\n", "label", "anna")[1]


def test_the_terminal_is_closed_in_the_middle_of_a_run(user: User) -> None:
    """A line that is lost: there is nowhere to write any more, and each reply is stored all the
    same.
    """
    release = threading.Event()
    user.server.script = steady(until=release)
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [AIB, *RUN],
        cwd=user.folder,
        env=user.env | {"TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        preexec_fn=lambda: os.login_tty(os.dup(theirs)),
    )
    os.close(theirs)
    user.server.wait_until(lambda server: server.in_flight == 4, 60)

    os.close(ours)
    time.sleep(0.5)
    assert child.poll() is None
    release.set()

    assert child.wait() == 130
    assert stored(user) == {"answered": 4}
    user.server.script = steady()
    assert user.run().returncode == 0
    assert len(user.server.asked) == CALLS


@pytest.mark.parametrize("command", ["leaderboard", "clear judgements --yes"])
def test_who_waits_for_another_process_is_stopped(user: User, command: str) -> None:
    """SQLite waits for a lock in one call, a minute long; once it is free the command goes on."""
    assert invoke(user.folder, user.env, *RUN).returncode == 0
    options: dict[str, Any] = {
        "cwd": user.folder,
        "env": user.env,
        "stdout": subprocess.PIPE,
        "text": True,
    }
    with sqlite3.connect(user.folder / "aib.db", isolation_level=None) as holder:
        holder.execute("PRAGMA locking_mode=EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        stopped, patient = (
            start(command.split(), stderr=subprocess.PIPE, **options) for _ in range(2)
        )
        time.sleep(3)  # in which both have begun to wait
        begun = time.monotonic()
        stopped.send_signal(signal.SIGINT)
        said = stopped.communicate()
        waited, still = time.monotonic() - begun, patient.poll()
        holder.execute("COMMIT")
    holder.close()
    patient.communicate()

    assert (stopped.returncode, said) == (130, ("", "\naib: stopped\n"))
    assert waited < 30  # of the minute, on the busiest machine
    assert still is None
    assert patient.returncode == 0


def test_under_nohup_a_closed_terminal_ends_nothing(user: User) -> None:
    """What the process was told to ignore it goes on to ignore: an overnight run is begun so."""
    release = threading.Event()
    user.server.script = steady(until=release)
    with subprocess.Popen(
        ["nohup", AIB, *RUN],
        cwd=user.folder,
        env=user.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        user.server.wait_until(lambda server: server.in_flight == 4, 60)
        child.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        release.set()
        _, err = child.communicate()

    assert child.returncode == 0, err
    assert len(user.server.asked) == CALLS


def test_handlers_are_put_back(user: User) -> None:
    """A program that uses the library has its own again afterwards, and keeps what it ignores."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with handle_signals(lambda *_: None):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not before[signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is before[signal.SIGTERM]
    finally:
        signal.signal(signal.SIGHUP, before[signal.SIGHUP])


@pytest.mark.parametrize("command", ["--help", "leaderboard --json"])
def test_output_that_cannot_be_written_is_one_line(user: User, command: str) -> None:
    """A full disk behind `>`: exit code 1, and not a word of Python's."""
    assert invoke(user.folder, user.env, *RUN).returncode == 0
    with open("/dev/full", "w") as full:
        done = start(
            command.split(),
            cwd=user.folder,
            env=user.env,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
        _, said = done.communicate()

    assert done.returncode == 1
    assert (
        said
        == "aib: the output cannot be written: No space left on device; what was stored is safe\n"
    )


def test_remarks_that_cannot_be_written_stop_nothing(user: User) -> None:
    """A full disk behind `2>`: everything is played and judged, and the table stands on stdout."""
    with open("/dev/full", "w") as full:
        done = start(
            RUN, cwd=user.folder, env=user.env, stdout=subprocess.PIPE, stderr=full, text=True
        )
        said, _ = done.communicate()

    assert done.returncode == 0
    assert "Independence Index" in said
    assert len(user.server.asked) == CALLS


def test_streams_that_are_closed_are_not_written_to(user: User) -> None:
    """`>&-` and `2>&-`, as a service manager may begin it."""
    done = subprocess.run(
        ["sh", "-c", f"{AIB} {' '.join(RUN)} >&- 2>&-"],
        cwd=user.folder,
        env=user.env,
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(user.server.asked) == CALLS


def test_what_a_kill_left_in_flight_counts_in_the_budget_of_its_job(user: User) -> None:
    """The endpoint charged for it, though nobody heard of it: six cents are six calls, four of them
    lost.
    """
    command = (*RUN, "--no-judge", "--job", "night", "--budget", "0.061", "--price", "0", "100")
    release = threading.Event()
    # the first call goes alone
    user.server.script = lambda asked: steady(
        cost=0.01, until=release if asked.number > 1 else None
    )(asked)
    with start(command, cwd=user.folder, env=user.env, stderr=subprocess.PIPE) as child:
        user.server.wait_until(lambda server: server.in_flight == 4, 60)
        child.kill()
    release.set()
    user.server.script = steady(cost=0.01)

    done = user.aib(*command)

    assert done.returncode == 1
    assert (
        "calls that were lost in flight may have cost $0.0400, and the next call may cost"
        in done.stderr
    )
    assert (
        "job night: at least $0.02, at most $0.06 (calls in flight and lost ones included) of $0.06"
        in done.stderr
    )
    assert len(user.server.asked) == 6


BELOW_AMPERSAND = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.SIG_IGN)
from simulated_endpoint import simulating_apart
with simulating_apart(Path(sys.argv[1])):
    pass
"""


def test_the_first_forked_command_heeds_ctrl_c_below_a_shells_ampersand(tmp_path: Path) -> None:
    """There whoever starts it ignores Ctrl-C, and would wait for ever for its end."""
    around = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    around.pop(SHARED, None)  # a fork server of its own, which has forked nothing yet

    subprocess.run(
        [sys.executable, "-c", BELOW_AMPERSAND, tmp_path], env=around, timeout=600, check=True
    )
