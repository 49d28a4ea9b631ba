"""The benchmarks themselves, with tiny numbers: that they count right and print their table. No
times are judged.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripted_model import measured

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
WIDTH = 80


def started(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A benchmark, run to its end."""
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / program), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={
            "PATH": "",
            "PYTHONIOENCODING": "utf-8",
            "PYTHONPATH": str(Path(__file__).parent),
            **measured(),
        },
    )


def printed(name: str, *arguments: str) -> str:
    """What one benchmark prints; its exit code says what its last lines say."""
    ran = started(f"{name}.py", *arguments)
    assert ran.returncode in (0, 1), ran.stderr
    lines = ran.stdout.splitlines()
    said = [line.split()[0] for line in lines if line.startswith(("PASS  ", "OVER  "))]
    assert said
    assert ran.returncode == ("OVER" in said)
    assert max(map(len, lines)) <= WIDTH
    return ran.stdout


def cells(output: str, row: str) -> list[str]:
    """The numbers in the line of a table that begins with *row*."""
    (line,) = (line for line in output.splitlines() if line.startswith(f"{row}  "))
    return line.removeprefix(row).split()


@pytest.mark.torture
def test_scale() -> None:
    """One worker and two make the calls of one plan once each."""
    output = printed("scale", "--load", "1x8x0.05", "--load", "2x8x0.05", "--seconds", "1")

    for row in ("now, 1 x 8", "now, 2 x 8"):
        assert len(cells(output, row)) == 8
    assert "was served once and is stored once" in output


@pytest.mark.torture
def test_overhead() -> None:
    """Three contenders make the same calls, and the endpoint agrees."""
    output = printed(
        "overhead", "--calls", "200", "--at-once", "100", "--delay", "0.01", "--times", "1"
    )

    assert "200 calls of 10 ms, 100 at once: at least 0.02 s; turns: 1" in output
    assert "the endpoint served 200 calls of 200 to each" in output
    for row in ("bare aiohttp", "aiohttp + SQLite", "aib"):
        assert len(cells(output, row)) == 6
    assert re.search(r"aib, each further call: \S+ ms CPU \(100 calls", output)


@pytest.mark.torture
def test_overhead_refuses_numbers_that_do_not_come_out_even() -> None:
    """Rather than making other calls than it was told to."""
    ran = started("overhead.py", "--calls", "150")

    assert ran.returncode == 2
    assert "--calls goes in steps of 100" in ran.stderr


@pytest.mark.torture
def test_makespan() -> None:
    """With a place for every conversation nobody waits: the engine's time on the virtual clock is
    the bound.
    """
    output = printed("makespan", "--seeds", "2", "--runs", "1", "--at-once", "15", "--at-once", "3")

    assert "v2, one subject, 1 runs: 41 calls" in output
    assert "each of the 4 orders made its 41 calls once" in output
    assert cells(output, "15 at once")[-4:] == ["1.000"] * 4
    assert all(float(number) >= 1 for number in cells(output, "3 at once")[-4:])


@pytest.mark.torture
def test_endpoints() -> None:
    """Both ways of sharing places make the same calls, and both endpoints agree."""
    output = printed("endpoints", "--runs", "1", "--delay", "0.01", "--at-once", "4")

    assert "11 replies at one endpoint, 9 judgements at one that refuses every 2nd" in output
    assert "each of the 2 orders got its 11 replies and 9 judgements once" in output
    assert len(cells(output, "before")) == len(cells(output, "after")) == 4


def test_makespan_compares_with_what_can_be_worked_out_by_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two places, three conversations of two calls: 3 + 1, 2 + 2 and 1 + 1 seconds."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from makespan import bound, first_come

    conversations = [(3.0, 1.0), (2.0, 2.0), (1.0, 1.0)]

    assert (bound(conversations, 1), first_come(conversations, 1)) == (10, 10)
    assert (bound(conversations, 2), first_come(conversations, 2)) == (5, 5)
    assert (bound(conversations, 9), first_come(conversations, 9)) == (4, 4)
    assert first_come([(1.0,), (1.0,), (5.0,)], 2) == 6


@pytest.mark.torture
def test_rescore() -> None:
    """Every subject of the generated store is ranked."""
    output = printed("rescore", "--subjects", "3", "--runs", "2", "--times", "1")

    assert "3 subjects x 2 runs: 90 judged conversations" in output
    assert "all 3 subjects were ranked, 1 times each way" in output
    assert len(cells(output, "rows")) == len(cells(output, "aib leaderboard")) == 4


@pytest.mark.torture
def test_reading() -> None:
    """Every reading command is started on a generated store, and one without a store."""
    output = printed("reading", "--subjects", "3", "--runs", "2", "--times", "1")

    assert cells(output, "reading it all once")[-1] == "1.00"
    for command in ("leaderboard", "compare --by provider", "generate-report", "audit"):
        assert len(cells(output, command)) == 2
    assert "there is no store: " in output


@pytest.mark.torture
def test_start() -> None:
    """Both are started, and the imports are really listed."""
    output = printed("start", "--pairs", "1")

    assert cells(output, "python -c pass")[-1] == "1.00"
    assert len(cells(output, "aib --help")) == 3
    assert (
        found := re.search(r"aib leaderboard imports (\d+) top-level modules", output)
    ) is not None
    assert int(found[1]) > 50


@pytest.mark.torture
def test_planning() -> None:
    """An order is foreseen and begun, and both take some time."""
    output = printed("planning", "--protocol", "lite", "--subjects", "8")

    assert "lite, 8 subjects, one of 4 workers" in output
    for row in ("foreseen", "begun"):
        assert len(cells(output, row)) == 3


@pytest.mark.torture
def test_memory() -> None:
    """Both orders play just what is left."""
    output = printed("memory", "--transcripts", "300", "--added", "20")

    assert cells(output, "adding")[:2] == ["20", "20"]
    assert cells(output, "resuming")[:2] == ["300", "100"]
    before, playing, end, most = map(int, cells(output, "adding")[2:6])
    assert 20 < before <= playing <= end <= most


@pytest.mark.torture
def test_coverage() -> None:
    """Every section is gone through with a handful of draws; one alone, seeded, gives the same
    twice.
    """
    ran = [
        started("coverage", "--quick", "--draws", "100", *arguments)
        for arguments in ((), ("--only", "index"), ("--only", "index"))
    ]

    assert all(one.returncode in (0, 1) for one in ran), ran[0].stderr
    assert ran[0].stdout.startswith("10 draws a cell, ")
    assert ran[1].stdout == ran[2].stdout
    lines = ran[0].stdout.splitlines()
    assert max(map(len, lines)) <= WIDTH
    for name in ("marks", "index", "differences", "several judges", "ranking"):
        for question in ("the same test again", "another test like it"):
            assert sum(line[4:].startswith(f"  {name}, {question}: ") for line in lines) == 1
    assert set(ran[1].stdout.splitlines()[2:]) <= set(lines)


@pytest.mark.torture
def test_assumptions_of_coverage() -> None:
    """With a handful of boards every part has its row, and what is below the requirement is
    listed.
    """
    ran = started("coverage/assumptions.py", "--draws", "4")

    assert ran.returncode in (0, 1), ran.stderr
    for name in (
        "Runs that are not independent",
        "What no interval can cover",
        "Subjects unlike the others",
        "Held or folded, on tiny boards",
        "Rankings of equals",
        "Unequal runs",
    ):
        assert sum(line.startswith(f"| {name} | ") for line in ran.stdout.splitlines()) == 1
    assert "Cells that miss the requirement" in ran.stdout


@pytest.mark.torture
def test_viewer() -> None:
    """Every kind of answer is asked for, and the search finds its words."""
    # of two subjects, who can be compared
    output = printed("viewer", "--transcripts", "150", "--asked", "5")

    assert "150 judged conversations" in output
    assert "search: 150 conversations" in output
    for row in (
        "first table",
        "scenario",
        "subject",
        "compare",
        "transcript",
        "first query",
        "query",
        "query, common word",
    ):
        assert len(cells(output, row)) == 4


@pytest.mark.torture
def test_growth() -> None:
    """Every figure at two sizes, each with its exponent and its goal."""
    ran = started("growth.py", "--sizes", "75", "150", "--asked", "3")
    output = ran.stdout

    assert ran.returncode == 0, ran.stderr  # goals are stated for larger stores
    assert cells(output, "conversations") == ["75", "150", "exponent", "goal"]
    files = cells(output, "site: files")
    assert int(files[1]) > int(files[0]) > 10
    assert 0 < float(files[2]) < 1
    assert [line for line in output.splitlines() if line.startswith("view: memory")]
    assert float(cells(output, "search, the first, s")[0]) > 0


@pytest.mark.torture
def test_errors_of_gates() -> None:
    """Every situation is drawn, tested with one look and with two, and summed up in two tables."""
    done = started("coverage/gates.py", "--draws", "2")

    assert "Traceback" not in done.stderr, done.stderr
    for said in (
        "| a build that is not worse fails (at most 5%) |",
        "| v2, middle | 1 |",
        "| v2, ceiling | 10 |",
    ):
        assert said in done.stdout
