"""A database server that is restarted beside a run, as an update of it does."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from forked_aib import start
from postgres import Server, running
from scripted_model import ScriptedModel, once_each, steady
from test_cli import CALLS, User

from independence_bench.errors import StoreError
from independence_bench.store.database import Store, open_store

RUNS = 8


@pytest.mark.parametrize("workers", [1, 3])
def test_a_run_goes_on_after_restarts_of_its_database(
    workers: int, small: Path, tmp_path: Path, serve: Callable[..., ScriptedModel]
) -> None:
    """Replies that arrive meanwhile are kept in memory and written when it is back; nothing is
    bought twice.
    """
    planned = threading.Event()
    user = User(tmp_path, serve(steady(until=planned, delay=0.2)))
    user.models()
    with running() as server:
        server.say("CREATE DATABASE night")
        command = ["run", "scripted:acme/one", "--protocol", "small", "--runs", str(RUNS)]
        beside = [
            start(
                [*command, "--store", server.url("night"), "--job", "night"],
                cwd=user.folder,
                env=user.env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(workers)
        ]
        # a worker that has yet to plan ends in one line where the server is away: each has 8 calls
        # in flight by then
        user.server.wait_until(lambda model: model.in_flight == 8 * workers)
        planned.set()
        for restart in range(1, 3):
            user.server.wait_until(lambda model, least=30 * restart: len(model.asked) >= least, 60)  # type: ignore[misc]
            server.stop()
            time.sleep(1.5)
            server.start()
        ended = [(child, child.communicate()[1]) for child in beside]

    for child, said in ended:
        assert child.returncode == 0, said
        assert "psycopg" not in said
    assert len(user.server.asked) == RUNS * CALLS
    assert once_each(user.server.asked, runs=RUNS)


def test_replies_for_a_database_that_stays_away_are_saved(
    small: Path, tmp_path: Path, serve: Callable[..., ScriptedModel]
) -> None:
    """Ctrl-C does not wait for it: one line says where they are, and the next command asks for none
    of them again.
    """
    release = threading.Event()
    # on a budget the first call goes alone
    user = User(
        tmp_path, serve(lambda asked: steady(until=release if asked.number > 1 else None)(asked))
    )
    user.models()
    with running() as server:
        server.say("CREATE DATABASE night")
        command = (
            "run",
            "scripted:acme/one",
            "--protocol",
            "small",
            "--runs",
            "2",
            "--store",
            server.url("night"),
        )
        job = ("--job", "night", "--budget", "1", "--price", "1", "1")
        with start(
            [*command, *job],
            cwd=user.folder,
            env=user.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as child:
            user.server.wait_until(lambda model: model.in_flight == 8, 60)
            server.stop()
            release.set()
            user.server.wait_until(lambda model: model.in_flight == 0, 60)
            child.send_signal(signal.SIGINT)
            said = child.communicate(timeout=30)[1].splitlines()[-1]
        server.start()
        resumed = user.aib(*command, *job)

    assert child.returncode == 1
    assert "what came of 8 calls since is saved in" in said
    assert "psycopg" not in said
    assert resumed.returncode == 0, resumed.stderr
    assert len(user.server.asked) == 2 * CALLS
    assert once_each(user.server.asked, runs=2)
    assert "lost" not in resumed.stderr
    assert not list(tmp_path.rglob("aib-unstored-*"))


def test_a_connection_that_is_stuck_is_dropped_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As where the server ends amid a command: the pool's ROLLBACK would fail and print the
    driver's traceback.
    """

    def stick(store: Store) -> None:
        with store.open_shared_transaction() as connection:
            pipeline = connection.connection.dbapi_connection.pgconn  # type: ignore[union-attr]
            pipeline.enter_pipeline_mode()
            pipeline.send_query_params(b"SELECT pg_sleep(1)", None)
            connection.exec_driver_sql("SELECT 1")

    with running() as server:
        server.say("CREATE DATABASE night")
        with open_store(server.url("night")) as store:
            with store.open_transaction():
                pass
            with pytest.raises(StoreError, match="cannot be written"):
                stick(store)
            with store.open_snapshot() as connection:
                assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1
        assert not caplog.records


def test_a_server_that_ended_is_known_behind_the_errors_of_the_driver(postgres: Server) -> None:
    """The driver's own error, raised while it closes what the server has ended, may hide the
    server's.
    """

    def end() -> None:
        try:
            postgres.say("SELECT pg_terminate_backend(pg_backend_pid())")
        finally:
            raise psycopg.OperationalError("cannot exit pipeline mode while busy")

    with pytest.raises(psycopg.OperationalError) as hidden:
        end()
    with open_store(postgres.url("postgres")) as store:
        assert store.backend.is_server_away(hidden.value, str(hidden.value))
        assert not store.backend.is_server_away(psycopg.OperationalError("busy"), "busy")


def test_what_came_before_hides_no_server_that_is_away(postgres: Server) -> None:
    """A write that failed is tried once more: what the server said of it is nothing that it says
    now.
    """

    def end() -> None:
        try:
            postgres.say("SELECT 1 / 0")
        finally:
            raise psycopg.OperationalError("connection refused")

    with pytest.raises(psycopg.OperationalError) as after:
        end()
    around = psycopg.OperationalError("busy")
    around.__cause__ = around
    with open_store(postgres.url("postgres")) as store:
        assert store.backend.is_server_away(after.value, str(after.value))
        assert "check the host and the port" in (
            store.backend.suggest_step(after.value, str(after.value)) or ""
        )
        assert not store.backend.is_server_away(around, "busy")
