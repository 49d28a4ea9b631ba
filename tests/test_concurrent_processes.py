"""Several processes on one store, and processes that are killed: nothing twice, nothing lost,
nobody hangs.

Real commands against `aib simulate` in a process of its own; what was asked and paid is read from
its ledger. On SQLite and on PostgreSQL alike. Kills at random moments are torture, a few here,
hundreds in torture/kills.py.
"""

from __future__ import annotations

import json
import socket
import subprocess
import time
from pathlib import Path

import pytest
from kill_rounds import Round, play_round
from simulated_endpoint import Audit, aib, audit, read_ledger, simulating, start_aib
from sqlalchemy import func, select, update
from test_store_check import findings

from independence_bench.store import attempts as stored_attempts
from independence_bench.store import schema
from independence_bench.store.database import open_store
from independence_bench.store.schema import attempts, replies, transcripts

NAMES = ("stubborn", "agreeable", "evader", "terse")
REPLIES, JUDGEMENTS = 7, 4  # of one run of the small protocol
CALLS = len(NAMES) * (REPLIES + JUDGEMENTS)
MIDDLE = 20 * 0.5 + 30 * 6 / 11 + 50 * 0.5
INDICES = [100.0, 100.0, MIDDLE, 0.0]


@pytest.fixture
def small(small: Path) -> Path:
    """The small protocol with room for what the simulated characters say: what is cut off is asked
    for twice.
    """
    protocol = small / "protocol.yaml"
    text = protocol.read_text(encoding="utf-8")
    protocol.write_text(text.replace("max_tokens: 100}", "max_tokens: 1000}"), encoding="utf-8")
    return small


def order(small: Path, store: str, *more: str) -> tuple[str, ...]:
    """The work: four subjects, judged."""
    subjects = [f"sim:sim/{name}" for name in NAMES]
    command = (
        "run",
        *subjects,
        "--protocol",
        str(small),
        "--judge",
        "sim:sim/judge",
        "--runs",
        "1",
    )
    return (*command, "--store", store, "-p", "4", "-pt", "2", *more)


def ended(children: list[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    """(exit code, stdout, stderr) of each."""
    said = [child.communicate() for child in children]
    return [(child.returncode, out, err) for child, (out, err) in zip(children, said, strict=True)]


def indices(folder: Path, small: Path, store: str) -> list[float]:
    """Of the ranked subjects, the best first."""
    printed = aib(
        folder, "leaderboard", "--json", "--protocol", str(small), "--store", store
    ).stdout
    return [row["index"] for board in json.loads(printed)["boards"] for row in board["ranked"]]


def outcomes(store: str) -> dict[str, int]:
    """How many attempts came to what."""
    query = "select coalesce(outcome, 'in flight'), count(*) from attempts group by outcome"
    with open_store(store) as opened, opened.open_snapshot() as connection:
        return {str(name): int(count) for name, count in connection.exec_driver_sql(query)}


def bought(folder: Path) -> Audit:
    """The endpoint's ledger, audited."""
    return audit(read_ledger(folder / "ledger.jsonl"))


on_each = pytest.mark.parametrize(
    ("processes", "either"), [(3, "sqlite"), (2, "postgresql")], indirect=["either"]
)


def wait_for_answers(folder: Path, count: int) -> None:
    """Until the endpoint has answered so often."""
    until, ledger = time.monotonic() + 600, folder / "ledger.jsonl"
    while ledger.read_bytes().count(b"\n") < count:
        assert time.monotonic() < until, "nothing is asked"
        time.sleep(0.01)


@on_each
def test_processes_on_one_store_share_the_work(
    processes: int, either: str, small: Path, tmp_path: Path
) -> None:
    """Started at once on a store that is not there yet: all end well, with one ranking, and nothing
    is asked twice.
    """
    with simulating(tmp_path, "--latency", "0.3", "--ledger", "ledger.jsonl"):
        children = [start_aib(tmp_path, *order(small, either)) for _ in range(processes)]
        results = ended(children)

    assert [code for code, _, _ in results] == [0] * processes, results
    (ranking,) = {out for _, out, _ in results}
    assert all(f"sim:sim/{name} " in ranking for name in NAMES)
    for _, _, said in results:
        assert "lock" not in said
        assert "Traceback" not in said
    found = bought(tmp_path)
    assert found.requests == found.distinct == found.answered == CALLS
    assert outcomes(either) == {"answered": CALLS}
    assert findings(either) == []
    assert indices(tmp_path, small, either) == pytest.approx(INDICES)


@on_each
def test_a_killed_process_is_replaced_by_the_others(
    processes: int, either: str, small: Path, tmp_path: Path
) -> None:
    """Its claims are free at once on this machine; only what it had in flight may be asked
    twice.
    """
    at_once = len(NAMES) * 2
    with simulating(tmp_path, "--latency", "0.4", "--ledger", "ledger.jsonl"):
        children = [start_aib(tmp_path, *order(small, either)) for _ in range(processes)]
        wait_for_answers(tmp_path, 4)
        children[0].kill()
        results = ended(children)
        # counts as lost what the dead one had in flight
        last = aib(tmp_path, *order(small, either))

    assert [code for code, _, _ in results[1:]] == [0] * (processes - 1), results
    assert all("lock" not in said for _, _, said in results)
    assert last.returncode == 0
    assert "0/0 calls" in last.stderr
    lost = outcomes(either).get("lost", 0)
    assert outcomes(either) == {"answered": CALLS} | ({"lost": lost} if lost else {})
    assert lost <= at_once
    found = bought(tmp_path)
    assert found.distinct == CALLS
    assert found.requests - CALLS <= lost, "only what was in flight at the kill was asked again"
    assert findings(either) == []
    assert indices(tmp_path, small, either) == pytest.approx(INDICES)


def test_the_claims_of_a_dead_process_elsewhere_expire(
    either: str, small: Path, tmp_path: Path
) -> None:
    """Nobody here can know whether it lives, so its lease is waited for."""
    elsewhere, lease = "another-host pid:[4026531836]|4711|0123456789ab", 2.0
    with simulating(tmp_path, "--ledger", "ledger.jsonl"):
        first = aib(tmp_path, *order(small, either))
        claimed = time.time()
        key = forget_one_reply(either, elsewhere, claimed, lease)
        second = aib(tmp_path, *order(small, either))
        third = aib(tmp_path, *order(small, either))

    assert (first.returncode, second.returncode, third.returncode) == (0, 0, 0), second.stderr
    assert bought(tmp_path).requests == CALLS + 1
    with open_store(either) as store, store.open_snapshot() as connection:
        ((started,),) = connection.exec_driver_sql(
            f"select started_at from attempts where call_key = '{key}' and outcome = 'answered'"
        ).all()
    assert started - claimed >= lease
    assert outcomes(either) == {"answered": CALLS, "lost": 1}
    assert findings(either) == []
    assert indices(tmp_path, small, either) == pytest.approx(INDICES)


def forget_one_reply(store: str, owner: str, now: float, lease: float) -> str:
    """Leave the store as if *owner* had died with one reply in flight; that reply's key."""
    with open_store(store) as opened, opened.open_transaction() as connection:
        key = str(connection.execute(select(func.max(replies.c.key))).scalar_one())
        connection.execute(transcripts.delete().where(transcripts.c.reply_keys.contains(key)))
        connection.execute(replies.delete().where(replies.c.key == key))
        connection.execute(attempts.delete().where(attempts.c.call_key == key))
        leased = {"owner": owner, "lease_until": now + lease}
        connection.execute(update(schema.calls).where(schema.calls.c.key == key).values(**leased))
        stored_attempts.begin_attempts(connection, [(key, 100)], owner, now)
    return key


def test_a_file_that_another_machine_works_on_is_left_to_it(small: Path, tmp_path: Path) -> None:
    """It is another machine's by its boot, whatever it is called and whatever its clock says:
    nothing is bought.
    """
    store, elsewhere = (
        str(tmp_path / "aib.db"),
        f"{socket.gethostname()}|0123456789abcdef|pid:[4026531836]|1|1|abc",
    )
    with simulating(tmp_path, "--ledger", "ledger.jsonl"):
        first = aib(tmp_path, *order(small, store))
        forget_one_reply(store, elsewhere, time.time() - 300, 0.0)
        child = start_aib(tmp_path, *order(small, store))
        until = time.monotonic() + 600
        while child.poll() is None and time.monotonic() < until:
            with open_store(store) as opened, opened.open_transaction() as connection:
                stored_attempts.renew_claims(
                    connection, elsewhere, time.time() - 300 + time.monotonic() % 60
                )
            time.sleep(0.5)
        ((code, _, said),) = ended([child])

    assert (first.returncode, code) == (0, 1)
    assert f"another machine ({socket.gethostname()}) uses the store" in said
    assert "use a PostgreSQL database" in said
    assert bought(tmp_path).requests == CALLS


@pytest.mark.parametrize("how", ["deleted", "replaced", "replaced beside its log"])
def test_a_store_that_is_taken_away_stops_the_run_and_is_saved(
    how: str, small: Path, tmp_path: Path
) -> None:
    """Within seconds, with everything that was bought, in a file from which the same command goes
    on. The file that is there now is not touched, and no log of the old one is left beside it.
    """
    store, other = tmp_path / "aib.db", tmp_path / "other.db"
    with open_store(other) as opened, opened.open_transaction():
        pass
    kept = other.read_bytes()
    with simulating(tmp_path, "--latency", "0.6", "--ledger", "ledger.jsonl"):
        child = start_aib(tmp_path, *order(small, str(store)))
        wait_for_answers(tmp_path, 3)
        if how != "replaced beside its log":
            for ending in ("", "-wal", "-shm"):
                Path(f"{store}{ending}").unlink()
        if how != "deleted":
            other.replace(store)
        ((code, _, said),) = ended([child])
        (saved,) = tmp_path.glob("aib.db.saved-*")
        before = bought(tmp_path).requests
        again = aib(tmp_path, *order(small, str(saved)))

    assert code == 1
    assert f"the store {store} was deleted or replaced while it was in use; " in said
    assert str(saved) in said
    assert "Traceback" not in said
    assert before < CALLS, "it stopped"
    assert again.returncode == 0
    found = bought(tmp_path)
    assert found.requests == found.distinct == CALLS, "nothing was bought twice"
    assert findings(str(saved)) == []
    assert not [*tmp_path.glob("aib.db-*")]
    assert (store.read_bytes() if store.exists() else kept) == kept


def test_a_store_that_is_put_in_the_place_of_another_can_be_read_at_once(
    small: Path, tmp_path: Path
) -> None:
    """While the run still waits for its calls: what it wrote is no part of the new file."""
    store, other = tmp_path / "aib.db", tmp_path / "other.db"
    with simulating(tmp_path, "--ledger", "ledger.jsonl"):
        aib(tmp_path, *order(small, str(other)))
    shown = aib(tmp_path, "leaderboard", "--store", str(other)).stdout
    with simulating(tmp_path, "--latency", "8", "--ledger", "ledger.jsonl"):
        child = start_aib(tmp_path, *order(small, str(store)))
        wait_for_answers(tmp_path, CALLS + 1)
        other.replace(store)
        log, until = Path(f"{store}-wal"), time.monotonic() + 60
        while log.exists() and time.monotonic() < until:
            time.sleep(0.05)
        waits = not [*tmp_path.glob("aib.db.saved-*")]
        read = aib(tmp_path, "leaderboard", "--store", str(store))
        ((code, _, said),) = ended([child])
    (saved,) = tmp_path.glob("aib.db.saved-*")

    assert waits
    assert read.stdout.replace("aib.db", "other.db") == shown
    assert code == 1
    assert str(saved) in said
    assert findings(str(saved)) == findings(str(store)) == []
    assert sorted(path.name for path in tmp_path.glob("aib.db*")) == ["aib.db", saved.name]


@pytest.mark.torture
def test_killed_at_random_moments_it_loses_nothing(tmp_path: Path) -> None:
    """Every reply is there once, nothing was bought again but what was in flight, and the index is
    the known one.
    """
    found = play_round(
        tmp_path / "round", Round(seed=101, kills=6, names=("stubborn", "agreeable"))
    )

    assert found.findings == [], found.line()
    assert found.kills >= 2, found.line()
    assert found.bought_again <= found.lost <= found.bound


@pytest.mark.torture
@pytest.mark.parametrize(
    ("either", "names"),
    [("sqlite", ("stubborn", "evader")), ("postgresql", ("stubborn",))],
    indirect=["either"],
)
def test_two_processes_killed_at_random_moments_lose_nothing(
    either: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    """The same, where each finds what the other one left."""
    wanted = Round(102, kills=3, names=names, processes=2, subjects=1, store=either)

    found = play_round(tmp_path / "round", wanted)

    assert found.findings == [], found.line()
    assert found.kills >= 2, found.line()
    assert found.bought_again <= found.lost <= found.bound
