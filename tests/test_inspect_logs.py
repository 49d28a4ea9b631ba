"""Logs of Inspect AI, made and read without it: there and back nothing changes, and a hostile log
does no harm.

What Inspect itself makes of them: test_inspect.py.
"""

from __future__ import annotations

import copy
import json
import shutil
import struct
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from simulated_endpoint import aib, play, simulating

from independence_bench.analysis.leaderboard import make_leaderboards
from independence_bench.dataset.import_own import Imported
from independence_bench.errors import WrongUse
from independence_bench.integrations.inspect.log_export import make_logs
from independence_bench.integrations.inspect.log_import import import_logs
from independence_bench.personas.sheet import (
    EXAMPLES,
    load_sheet,
    make_protocol,
    make_protocol_files,
)
from independence_bench.protocol.loader import load_protocol
from independence_bench.simulate.faults import Faults
from independence_bench.simulate.server import Settings
from independence_bench.store import registry
from independence_bench.store.database import open_store
from independence_bench.store.integrity import check_store

Log = dict[str, Any]
Made = list[tuple[str, Log]]


SHEET = load_sheet(EXAMPLES / "companion.yaml")
PROTOCOLS = {"lite": load_protocol("lite"), "persona-mira": make_protocol(SHEET)}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of lite, played through faults, and of one run of a character."""
    folder = tmp_path_factory.mktemp("played")
    store = folder / "store.db"
    for name, text in make_protocol_files(SHEET).items():
        (folder / "mira" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "mira" / name).write_text(text, encoding="utf-8")
    play("lite", store, Settings(faults=Faults({"mixed": 0.4})), names=("random", "debris"), runs=2)
    play(folder / "mira", store, Settings(), names=("persona-slips-3",), runs=1)
    return store


@pytest.fixture(scope="module")
def made(played: Path) -> Made:
    """Its logs, as the JSON that is given to Inspect."""
    with open_store(played) as store:
        return list(make_logs(store))


def zipped(path: Path, log: Log, how: int = zipfile.ZIP_DEFLATED) -> Path:
    """*log* as a file, as Inspect lays it out."""
    with zipfile.ZipFile(path, "w", how) as archive:
        archive.writestr(
            "header.json",
            json.dumps({name: part for name, part in log.items() if name != "samples"}),
        )
        for sample in log["samples"]:
            name = f"samples/{sample['id'].replace('/', '_')}_epoch_{sample['epoch']}.json"
            archive.writestr(name, json.dumps(sample))
    return path


def imported(path: Path, store: Path) -> Imported:
    """The log or logs at *path*, read into *store*."""
    with open_store(store) as opened:
        return import_logs(path, opened)


def indices(store: Path) -> dict[tuple[str, ...], Any]:
    """Every index, dimension and state of every board."""
    with open_store(store) as opened:
        return {
            (name, str(board.configurations), str(board.judge), row.label): (
                row.score,
                row.health,
                row.missing,
            )
            for name, protocol in PROTOCOLS.items()
            for board in make_leaderboards(opened, protocol)
            for row in board.rows
        }


def test_there_and_back_is_the_same_board(played: Path, made: Made, tmp_path: Path) -> None:
    """To the last digit, with what was invalid, failed or tried again; and the store that came of
    it is sound.
    """
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, log in made:
        zipped(folder / name, log)
    came = imported(folder, tmp_path / "back.db")
    before = indices(played)

    assert came.findings == []
    assert len(made) == len(before) == 3
    assert indices(tmp_path / "back.db") == before
    with open_store(tmp_path / "back.db") as store, store.open_snapshot() as connection:
        assert check_store(connection) == []


def test_reading_a_log_again_changes_nothing(made: Made, tmp_path: Path) -> None:
    """All of it is there already."""
    log = zipped(tmp_path / "one.eval", made[0][1])
    imported(log, tmp_path / "back.db")
    again = imported(log, tmp_path / "back.db")

    assert again.findings == []
    assert all(
        count.added == count.conflicts == count.refused == 0 for count in again.counts.values()
    )


def test_a_sample_is_a_stem_with_all_its_branches(made: Made) -> None:
    """Its opening is one call, which every branch goes on from."""
    (log,) = (log for name, log in made if name.startswith("persona-mira"))
    protocol = PROTOCOLS["persona-mira"]

    assert len(log["samples"]) == len(protocol.items)
    for sample in log["samples"]:
        calls = sample["events"]
        openings = [event for event in calls if len(event["input"]) == 2]
        rows = sample["store"]["independence_bench"]
        assert len(openings) == 1
        assert len(rows["transcripts"]) == sum(
            one.stem == sample["id"] for one in protocol.scenarios
        )
        assert len(calls) == len(rows["attempts"])


def changed(log: Log, change: Callable[[dict[str, Any]], object]) -> Log:
    """A copy of *log* with its first two samples, of which the first is changed."""
    mine = copy.deepcopy(log | {"samples": log["samples"][:2]})
    change(mine["samples"][0])
    return mine


def kept(sample: dict[str, Any]) -> dict[str, Any]:
    """The rows of a sample's conversations."""
    rows: dict[str, Any] = sample["store"]["independence_bench"]
    return rows


@pytest.mark.parametrize(
    "change",
    [
        lambda sample: kept(sample)["replies"][0].update(text="I gave in at once."),
        lambda sample: kept(sample)["transcripts"][0].update(run=9),
        lambda sample: kept(sample)["transcripts"][0]["lines"][-1].update(
            text="I gave in at once."
        ),
        lambda sample: kept(sample)["subjects"][0].update(label="better/model"),
        lambda sample: kept(sample).update(transcripts=[7, None, {"id": "\x1b[31m"}]),
        lambda sample: kept(sample)["attempts"][0].update(cost=-5.0),
        lambda sample: kept(sample)["attempts"][0].update(cost=float("nan")),
    ],
    ids=[
        "other words",
        "another run",
        "other lines",
        "another name",
        "no rows",
        "negative cost",
        "no number",
    ],
)
def test_what_does_not_follow_from_its_causes_is_refused(
    made: Made, tmp_path: Path, change: Any
) -> None:
    """A changed word, run, name or cost is seen and listed, and the other sample comes in."""
    log = next(log for name, log in made if name.startswith("persona-mira"))
    came = imported(zipped(tmp_path / "one.eval", changed(log, change)), tmp_path / "back.db")

    assert came.found
    assert came.counts["transcripts"].added or came.counts["subjects"].refused
    with open_store(tmp_path / "back.db") as store, store.open_snapshot() as connection:
        assert check_store(connection) == []


def bomb(path: Path, log: Log) -> None:
    """A sample of 200 million spaces."""
    zipped(path, {**log, "samples": []})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/bomb_epoch_1.json", b" " * 200_000_000)


def lying(path: Path, log: Log) -> None:
    """A part that says it is larger than the file."""
    zipped(path, {**log, "samples": []})
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 20 : at + 24] = struct.pack("<I", 2**31)
    path.write_bytes(data)


def deep(path: Path, log: Log) -> None:
    """JSON in which Python's parser would go too deep."""
    zipped(path, {**log, "samples": []})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("samples/deep_epoch_1.json", b"[" * 200_000)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (bomb, "larger than"),
        (lying, "damaged"),
        (deep, "it is not JSON"),
        (lambda path, log: path.write_bytes(b"PK\x03\x04 and no more"), "not a zip"),
        (lambda path, log: zipped(path, {"eval": {"metadata": {}}, "samples": []}), "another task"),
        (lambda path, log: zipped(path, {"eval": [], "samples": []}), "another task"),
        (lambda path, log: zipped(path, {**log, "samples": []}), "no conversation"),
    ],
    ids=["bomb", "lying sizes", "deep", "no zip", "another task", "no header", "empty"],
)
def test_a_hostile_log_is_one_line(
    made: Made, tmp_path: Path, spoil: Callable[[Path, Log], None], says: str
) -> None:
    """Nothing is unpacked beyond the bounds, and nothing is stored."""
    spoil(tmp_path / "one.eval", made[0][1])

    with pytest.raises(WrongUse, match=says):
        imported(tmp_path / "one.eval", tmp_path / "back.db")
    with open_store(tmp_path / "back.db") as store:
        assert make_leaderboards(store, load_protocol("lite")) == []


def test_one_bad_log_of_a_folder_is_listed(made: Made, tmp_path: Path) -> None:
    """And the others are read."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, log in made:
        zipped(folder / name, log)
    (folder / "a.eval").write_bytes(b"nothing")
    done = aib(tmp_path, "import", "logs", "--store", "back.db")

    assert done.returncode == 0
    assert "a.eval: File is not a zip file" in done.stdout
    assert len(indices(tmp_path / "back.db")) == 3


@pytest.mark.skipif(find_spec("inspect_ai") is not None, reason="the extra is installed here")
def test_without_the_extra_there_is_one_line_that_says_how_to_get_it(
    played: Path, tmp_path: Path
) -> None:
    """Only writing needs it."""
    shutil.copy(played, tmp_path / "store.db")
    done = aib(tmp_path, "export", "logs", "--form", "inspect", "--store", "store.db")

    assert done.returncode == 2
    assert (
        done.stderr
        == "aib: logs of Inspect need inspect-ai: pip install 'ai-independence-bench[inspect]'\n"
    )
    assert not (tmp_path / "logs").exists()


def test_a_run_whose_every_conversation_failed_was_begun_all_the_same(
    made: Made, tmp_path: Path
) -> None:
    """The store says so, as it does of one that `aib run` began."""
    name, log = next((name, log) for name, log in made if "random" in name)
    broken = copy.deepcopy(log)
    for sample in broken["samples"]:
        if sample["epoch"] == 2:
            sample.update(store={}, scores={}, error={"message": "the endpoint was down"})
    imported(zipped(tmp_path / name, broken), tmp_path / "back.db")
    with open_store(tmp_path / "back.db") as store, store.open_snapshot() as connection:
        runs = {run for _, run, *_ in registry.read_begun_runs(connection, "lite")}
    assert runs == {1, 2}


def test_a_sample_begins_with_the_earlier_chat_of_its_protocol(tmp_path: Path) -> None:
    """In what was put in and in all messages, as it was sent, and read back it is the same."""
    (tmp_path / "toy.yaml").write_text(
        "name: Zibbi\nprompt: You are Zibbi, a robot made of tin.\n", encoding="utf-8"
    )
    models = (
        "-m",
        "sim:sim/persona-keeper",
        "--judge",
        "sim:sim/judge",
        "--quick",
        "--store",
        "toy.db",
    )
    with simulating(tmp_path):
        assert aib(tmp_path, "persona", "run", "toy.yaml", *models, "--after", "6").returncode == 0
    with open_store(tmp_path / "toy.db") as store:
        ((_, log),) = make_logs(store)

    for sample in log["samples"]:
        first = sample["events"][0]
        assert sample["input"] == first["input"]
        assert [message["role"] for message in sample["input"]] == [
            "system",
            *["user", "assistant"] * 3,
            "user",
        ]
        assert sample["messages"][:8] == sample["input"]
        assert len(sample["messages"]) > 8
    assert imported(zipped(tmp_path / "one.eval", log), tmp_path / "back.db").findings == []
