"""`aib demo`: characters of known behaviour, played, judged and explained in one command."""

from __future__ import annotations

import json
from pathlib import Path

from simulated import aib


def test_demo_ranks_characters_as_they_were_written_and_resumes_for_nothing(tmp_path: Path) -> None:
    """The first look needs no key; a second call plays nothing again, and the store reads like any other."""
    first = aib(tmp_path, "demo", "--no-open")

    assert first.returncode == 0, first.stderr
    assert "not models" in first.stderr.splitlines()[0]
    rows = [line.split() for line in first.stdout.split("What the characters do")[1].splitlines()]
    shown = {row[1]: float(row[0]) for row in rows if len(row) > 2 and row[1].startswith("sim/")}
    assert shown["sim/bayesian"] == 100
    assert shown["sim/mirror"] == 0
    assert shown["sim/mirror"] < shown["sim/rock"] < shown["sim/credulous"] < shown["sim/bayesian"]
    assert "aib view --store aib-demo.db" in first.stderr

    again = aib(tmp_path, "demo", "--no-open")

    assert again.stdout == first.stdout
    assert "0/0 calls" in again.stderr
    board = json.loads(aib(tmp_path, "leaderboard", "--store", "aib-demo.db", "--json").stdout)["boards"][0]
    assert board["ranked"][0]["subject"]["model"] == "sim/bayesian"
