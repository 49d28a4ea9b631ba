"""`aib run --until-width`: real commands, a simulated endpoint, and its ledger."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from simulated import aib, simulating, start_aib

from independence_bench.simulate.catalog import Entry, read_ledger

LEDGER = "ledger.jsonl"
REPLIES, JUDGED = 7, 4  # of a run of the small protocol
# One never moves; the other holds, gives in or evades, each run like the one before, and has room
# enough not to be cut off. What was said before in these words is not judged again.
SUBJECTS = ("sim:sim/rock", "sim:sim/random", "--max-tokens", "1000", "--judge", "sim:sim/judge")


@pytest.fixture
def folder(small: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder with the small protocol and a models.yaml that leads to an endpoint with a ledger."""
    with simulating(tmp_path, "--ledger", LEDGER):
        yield tmp_path


def until(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`aib run` of the two subjects, played until something."""
    return aib(folder, "run", *SUBJECTS, "--protocol", "small", *arguments)


def ranked(folder: Path) -> dict[str, dict[str, Any]]:
    """The leaderboard's complete subjects by name, as JSON."""
    done = aib(folder, "leaderboard", "--json")
    (board,) = json.loads(done.stdout)["boards"]
    assert board["incomplete"] == []
    return {"rock" if "rock" in row["label"] else "random": row for row in board["ranked"]}


def width(row: dict[str, Any]) -> float:
    """Of the index's interval."""
    again = row["index_interval"]["rerun"]
    return float(again["high"] - again["low"])


def needed(found: dict[str, dict[str, Any]]) -> int:
    """The answers that these subjects' runs need."""
    return sum(REPLIES * row["runs"] + JUDGED for row in found.values())


def answered(folder: Path) -> list[Entry]:
    """The answers that the endpoint has given and charged for."""
    return [entry for entry in read_ledger(folder / LEDGER) if entry.completed and entry.answer]


def test_it_stops_when_each_interval_is_narrow_enough(folder: Path) -> None:
    """The one that never moves needs two runs, the other one more; nothing is asked that no run
    needs, nor twice.
    """
    done = until(folder, "--until-width", "24")

    assert done.returncode == 0, done.stderr
    found = ranked(folder)
    assert found["rock"]["runs"] == 2
    assert 2 < found["random"]["runs"] <= 10
    assert max(map(width, found.values())) <= 24
    assert "2 of 2 subjects settled" in " ".join(done.stdout.split())
    assert "round 2 · " in done.stderr
    assert len(answered(folder)) == needed(found)

    again = until(folder, "--until-width", "24")

    assert again.returncode == 0
    assert len(answered(folder)) == needed(found)
    assert ranked(folder) == found


def test_a_width_out_of_reach_is_said_after_two_runs(folder: Path) -> None:
    """Rather than paying for runs that cannot bring it; with how many would."""
    done = until(folder, "--until-width", "5", "--runs", "3")

    found = ranked(folder)
    assert done.returncode == 0
    assert found["random"]["runs"] == 2
    said = " ".join(done.stdout.split())
    assert "runs needed" in said or "more runs than is practical" in said


def test_another_judge_of_the_same_label_changes_nothing(small: Path, folder: Path) -> None:
    """Judges that differ in their token limit alone have one label: each still reads its own marks."""
    whole = (small / "protocol.yaml").read_text(encoding="utf-8")
    (small / "protocol.yaml").write_text(
        whole.replace("max_tokens: 500", "max_tokens: 2000"), encoding="utf-8"
    )
    before = aib(folder, "run", *SUBJECTS, "--protocol", "small")
    (small / "protocol.yaml").write_text(whole, encoding="utf-8")
    assert before.returncode == 0, before.stderr

    done = until(folder, "--until-width", "40")

    assert done.returncode == 0, done.stderr
    assert "2 of 2 subjects settled" in " ".join(done.stdout.split())


def test_the_budget_is_kept_and_leaves_no_run_half_played(folder: Path) -> None:
    """It stops before a run that it does not hold, says so, and goes on with another budget."""
    until(folder, "--until-width", "40", "--runs", "2")
    spent = sum(entry.charged for entry in read_ledger(folder / LEDGER))
    # two runs of each have cost that; the next is of the one, and so is the one after
    budget = spent * 0.36

    stopped = until(folder, "--until-width", "24", "--budget", f"{budget:.6f}")

    charged = sum(entry.charged for entry in read_ledger(folder / LEDGER)) - spent
    assert charged <= budget
    assert stopped.returncode == 1
    assert "the budget is too small for another whole run" in stopped.stderr
    assert "stopped by the budget" in " ".join(stopped.stdout.split())
    assert len(answered(folder)) == needed(ranked(folder)), "whole runs only"
    on = until(folder, "--until-width", "24")
    assert on.returncode == 0
    assert width(ranked(folder)["random"]) <= 24


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_it_goes_on_where_it_was_interrupted(
    small: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """After Ctrl-C nothing is asked twice, after a kill at most what was in flight; and the end is
    that of one go.
    """
    with simulating(tmp_path, "--ledger", LEDGER, "--latency", "0.05"):
        command = (
            "run",
            *SUBJECTS,
            "--protocol",
            "small",
            "--until-width",
            "24",
            "-p",
            "1",
            "-pt",
            "2",
        )
        with start_aib(tmp_path, *command) as child:
            # in the second round
            _wait_for(tmp_path / LEDGER, lines=2 * (2 * REPLIES + JUDGED) + 3)
            child.send_signal(number)
            child.communicate()
        assert child.returncode != 0
        again = aib(tmp_path, *command)

    assert again.returncode == 0, again.stderr
    found = ranked(tmp_path)
    assert width(found["random"]) <= 24
    asked_twice = len(answered(tmp_path)) - needed(found)
    assert 0 <= asked_twice <= (0 if number == signal.SIGINT else 4)
    assert "2 of 2 subjects settled" in " ".join(again.stdout.split())


def _wait_for(ledger: Path, lines: int) -> None:
    deadline = time.monotonic() + 600
    while not ledger.exists() or ledger.read_text(encoding="utf-8").count("\n") < lines:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            ("--until-width", "5", "--runs", "1"),
            "it takes at least 2 runs to see how much they vary",
        ),
        (("--until-width", "5", "--no-judge"), "leave --no-judge out"),
        (("--until-width", "5", "--exp", "identity"), "leave --exp out"),
        (("--until-width", "0"), "not in the range"),
    ],
)
def test_what_cannot_be_played_for_is_said_before_anything_is_sent(
    folder: Path, typed: tuple[str, ...], said: str
) -> None:
    """Exit code 2, nothing asked."""
    done = until(folder, *typed)

    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert answered(folder) == []
