"""An order on a real Ray cluster of three nodes on this machine: interrupted, gone on with, and one
node killed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from kill_rounds import Found, Round, command, look
from postgres import PASSWORD, USER, Server
from simulated_endpoint import aib, environment, simulating, start_aib

from independence_bench.store.database import open_store

pytestmark = pytest.mark.integration
pytest.importorskip("ray")

KEY = "a-key-that-is-nobodys-0123456789"
WANTED = Round(
    seed=1, kills=1, names=("stubborn", "terse", "agreeable", "evader"), subjects=2, calls=2
)
AT_WORK = 4  # attempts of each worker, at least, before it is disturbed
LOOK, PATIENCE = 0.05, 240.0  # seconds

# in a process of its own: Ray starts threads that are none of this suite's
CLUSTER = """
import sys
from ray.cluster_utils import Cluster
small = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
quick = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 500, \
"health_check_failure_threshold": 4}
head = {**small, "include_dashboard": False, "temp_dir": sys.argv[1], "_system_config": quick}
cluster = Cluster(initialize_head=True, head_node_args=head)
nodes = [cluster.head_node, cluster.add_node(**small), cluster.add_node(**small)]
raylets = [node.all_processes["raylet"][0].process.pid for node in nodes]
print("READY", cluster.address, *raylets, flush=True)
sys.stdin.read()
cluster.shutdown()
"""


@contextmanager
def three_nodes(folder: Path, variables: dict[str, str]) -> Iterator[tuple[str, list[int]]]:
    """(address, process ids of the nodes, the head's first) of a cluster whose nodes see
    *variables*.
    """
    program = [sys.executable, "-W", "ignore", "-c", CLUSTER, str(folder / "ray")]
    with (
        (folder / "cluster.log").open("wb") as log,
        subprocess.Popen(
            program,
            cwd=folder,
            # also where Ray notes which cluster is the last one, in a folder that it expects to be
            # there
            env=environment(folder) | variables | {"RAY_TMPDIR": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        said = next((line.split() for line in process.stdout if line.startswith("READY ")), None)
        assert said, (folder / "cluster.log").read_text(encoding="utf-8")
        try:
            yield said[1], list(map(int, said[2:]))
        finally:
            process.stdin.close()
            process.stdout.read()


def test_an_order_survives_ctrl_c_and_a_killed_node(postgres: Server) -> None:
    """Every request is bought once, or was in flight at the kill; no secret is in what Ray
    keeps.
    """
    folder = Path(tempfile.mkdtemp(prefix="aib-ray-"))  # a short path: Ray's sockets are in it
    try:
        with postgres.database() as database:
            _play(folder, postgres, database)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_an_order_of_which_all_is_stored_needs_no_cluster_and_is_on_its_board(
    tmp_path: Path, database: str
) -> None:
    """Two runs of v2 and one of v1 hold all of lite: nothing is handed out, and it was asked for
    all the same.
    """
    order = ("run", "sim:sim/stubborn", "--judge", "sim:sim/judge", "--store", database)
    with simulating(tmp_path):
        for protocol, runs in (("v2", "2"), ("v1", "1")):
            assert aib(tmp_path, *order, "--protocol", protocol, "--runs", runs).returncode == 0

        done = aib(tmp_path, *order, "--protocol", "lite", "--on", "ray")

    assert done.returncode == 0, done.stderr
    assert "0/0 calls" in done.stderr
    assert "sim:sim/stubborn" in done.stdout


def _play(folder: Path, server: Server, database: str) -> None:
    with open_store(server.url(database)) as store, store.open_transaction():
        pass  # its tables
    where = {"AIB_STORE": _with_password(server, database), "LAB_KEY": KEY}
    with (
        simulating(
            folder,
            "--seed",
            "1",
            "--ledger",
            "ledger.jsonl",
            "--latency",
            "published",
            "--scale",
            "0.05",
        ),
        three_nodes(folder, where) as (address, raylets),
    ):
        models = folder / "models.yaml"
        told = models.read_text(encoding="utf-8")
        models.write_text(
            told.replace("dialect: openrouter", "dialect: openrouter, key_env: LAB_KEY"), "utf-8"
        )
        at = told[told.index("http://") : told.index("/v1")]
        order = [*command(WANTED), "--on", "ray", "--job", "night", "--trust", f"LAB_KEY={at}"]
        order[order.index("--store") : order.index("--store") + 2] = []

        def start() -> subprocess.Popen[str]:
            return start_aib(folder, *order, more=where | {"RAY_ADDRESS": address})

        def owners() -> list[str]:
            """The workers that are at work, by the store; first who has most left to do."""
            asked = (
                "select owner from attempts group by owner having count(*) >= {} and count(*) > "
                "count(finished_at) order by count(*)"
            )
            return [row[0] for row in server.say(asked.format(AT_WORK), database=database)]

        def buyers() -> set[str]:
            """All workers that have asked for anything, ever."""
            return {
                row[0]
                for row in server.say("select distinct owner from attempts", database=database)
            }

        first = start()
        _until(lambda: len(owners()) == 3, first)
        first.send_signal(signal.SIGINT)
        _, said = first.communicate(timeout=PATIENCE)
        assert first.returncode == 130, said
        assert server.say(
            "select count(*) from attempts where finished_at is null", database=database
        ) == [(0,)]
        assert server.say(
            "select count(*) from attempts where outcome = 'lost'", database=database
        ) == [(0,)]

        # one that had only begun to ask when it was told to end has bought nothing, and is not
        # among them
        before = buyers()
        second = start()
        _until(lambda: len(owners()) == 3, second)
        _kill_node(owners(), raylets[1:])
        _, said = second.communicate(timeout=PATIENCE)
        assert second.returncode == 0, said
        assert "it continues elsewhere from what is stored" in said
        assert len(buyers() - before) >= 3 + 1

    found = Found(kills=1, bound=WANTED.at_once)
    look(folder, replace(WANTED, store=server.url(database)), found)
    assert found.findings == [], found.line()
    assert 0 < found.lost <= WANTED.at_once
    kept = b"".join(path.read_bytes() for path in (folder / "ray").rglob("*") if path.is_file())
    assert b"aib part 1 of 3" in kept or b"ray_part" in kept, "it is the right folder"
    assert KEY.encode() not in kept
    assert PASSWORD.encode() not in kept


def _with_password(server: Server, database: str) -> str:
    escaped = (
        PASSWORD.replace(" ", "%20").replace(":", "%3A").replace("/", "%2F").replace("?", "%3F")
    )
    return f"postgresql://{USER}:{escaped.replace('#', '%23')}@127.0.0.1:{server.port}/{database}"


def _until(there: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    began = time.monotonic()
    while not there():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() - began < PATIENCE
        time.sleep(LOOK)


def _kill_node(owners: list[str], raylets: list[int]) -> None:
    """Kill a node that has a worker at work, with all its processes, as a machine without power
    would.
    """
    workers = [int(owner.split("|")[3]) for owner in owners]
    raylet = next(parent for parent in map(_parent, workers) if parent in raylets)
    processes = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    for one in [raylet, *(process for process in processes if _parent(process) == raylet)]:
        os.kill(one, signal.SIGKILL)


def _parent(process: int) -> int | None:
    try:
        return int(
            Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1]
        )
    except OSError:
        return None
