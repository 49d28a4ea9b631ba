"""`aib demo`: characters of known behaviour, played, judged and explained; and how every command
shows its store.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from inprocess_aib import invoke
from rich.cells import cell_len
from simulated_endpoint import aib, environment

LABEL = "sim:sim/gives-in-at-2@none-t0.7"
# what reads a store and prints, as a user types it
READING = (
    "leaderboard",
    "leaderboard --detailed --top 1",
    "judges",
    "scenarios",
    "compare sim/stubborn sim/gives-in-at-2",
    "audit",
    "costs --explain",
    f"show {LABEL} negotiation",
)


@dataclass(frozen=True, slots=True)
class Demo:
    """What the first call printed, and where its store is."""

    folder: Path
    first: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """A store as a new user has it after the first command."""
    folder = tmp_path_factory.mktemp("demo")
    return Demo(folder, aib(folder, "demo", "--no-open"))


def test_demo_ranks_characters_as_they_were_written_and_resumes_for_nothing(demo: Demo) -> None:
    """The first look needs no key; a second call plays nothing again, and the store reads like any
    other.
    """
    first = demo.first

    assert first.returncode == 0, first.stderr
    assert "simulated" in first.stderr.splitlines()[0]
    rows = [line.split() for line in first.stdout.split("behaviour")[1].splitlines()]
    shown = {row[2]: float(row[0]) for row in rows if len(row) > 3 and row[2].startswith("sim/")}
    assert len(shown) == 6
    assert (shown["sim/stubborn"], shown["sim/agreeable"]) == (100, 0)
    assert shown["sim/agreeable"] < shown["sim/gives-in-at-1"] < shown["sim/gives-in-at-2"]
    for who in ("person", "sim/stubborn holds", "sim/agreeable gives in"):
        assert f"\n{who}: " in first.stdout
    assert "`aib view --store aib-demo.db`" in first.stderr

    again = aib(demo.folder, "demo", "--no-open")

    assert again.stdout == first.stdout
    assert "0/0 calls" in again.stderr
    board = json.loads(aib(demo.folder, "leaderboard", "--store", "aib-demo.db", "--json").stdout)[
        "boards"
    ][0]
    assert board["ranked"][0]["subject"]["model"] == "sim/stubborn"


def test_demo_fits_a_terminal_of_24_lines(demo: Demo) -> None:
    """With the dialogue, the six models, what the index means and what to type next."""
    about = environment(demo.folder) | {"COLUMNS": "80"}
    done = invoke(demo.folder, about, "demo", "--no-open")

    lines = (done.stdout + done.stderr).splitlines()
    assert len(lines) <= 24
    assert max(map(cell_len, lines)) <= 80 or "calls" in max(lines, key=cell_len)


@pytest.mark.parametrize("typed", READING)
def test_every_command_fits_a_terminal_and_is_whole_in_a_pipe(demo: Demo, typed: str) -> None:
    """No line is too wide or ends in blanks, no legend is told twice; in a pipe no label is cut and
    no column lost.
    """
    for width in (80, None):
        about = (
            environment(demo.folder)
            | {"AIB_STORE": "aib-demo.db"}
            | ({"COLUMNS": str(width)} if width else {})
        )
        done = invoke(demo.folder, about, *typed.split())
        lines = done.stdout.splitlines()

        assert done.returncode == 0, done.stderr
        assert [line for line in lines if line != line.rstrip()] == []
        assert [line for line in lines if cell_len(line) > (width or len(line))] == []
        assert done.stdout.count("explains all") <= 1
        if width is None:
            assert "No room" not in done.stdout
            assert not typed.endswith(("--wide", "costs --explain")) or LABEL in done.stdout


@pytest.mark.parametrize("command", ["scenarios", "costs"])
def test_rows_of_long_tables_are_chosen_by_a_word_or_a_number(demo: Demo, command: str) -> None:
    """--find and --top; a word that is nowhere is a mistake, and totals stay."""
    word = "stubborn" if command == "costs" else "memory"
    about = environment(demo.folder) | {"AIB_STORE": "aib-demo.db"}
    every, found, first, none = (
        invoke(demo.folder, about, *command.split(), *more)
        for more in ((), ("--find", word.upper()), ("--top", "1"), ("--find", "nowhere"))
    )

    rows, kept = (
        [line.split() for line in one.stdout.splitlines() if word in line] for one in (every, found)
    )
    assert kept
    assert [row for row in kept if row not in rows] == []
    assert len(found.stdout) < len(every.stdout) > len(first.stdout)
    assert "Shown: " in found.stdout
    assert "Shown: 1 of " in first.stdout
    assert "total" in found.stdout or command != "costs"
    assert (none.returncode, none.stdout, none.stderr.count("\n")) == (2, "", 1)
