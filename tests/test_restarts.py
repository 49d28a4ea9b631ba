"""A database server that is restarted beside a run, as an update of it does."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from postgres import running
from scripted import ScriptedModel, once_each, steady
from test_cli import AIB, CALLS, User

RUNS = 8


@pytest.mark.parametrize("workers", [1, 3])
def test_a_run_goes_on_after_restarts_of_its_database(
    workers: int, small: Path, tmp_path: Path, serve: Callable[..., ScriptedModel]
) -> None:
    """Replies that arrive meanwhile are kept in memory and written when it is back; nothing is bought twice."""
    user = User(tmp_path, serve(steady(delay=0.2)))
    user.models()
    with running() as server:
        server.say("CREATE DATABASE night")
        command = [AIB, "run", "scripted:acme/one", "--protocol", "small", "--runs", str(RUNS)]
        beside = [
            subprocess.Popen(
                [*command, "--store", server.url("night"), "--job", "night"], cwd=user.folder, env=user.env,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )
            for _ in range(workers)
        ]  # fmt: skip
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
