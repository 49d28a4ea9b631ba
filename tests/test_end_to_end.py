"""Everything at once, on a model that nobody scripted: `aib run embedded`, as `make demo` does it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from independence_bench.models.local import weights
from independence_bench.protocol.loader import load

pytestmark = [
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the extra [embedded] is not installed"),
    pytest.mark.skipif(weights.find() is None, reason="no weights; `aib embedded install` fetches them"),
]


def aib(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `aib` as a user would, in *folder*."""
    environment = {name: value for name, value in os.environ.items() if name != "AIB_STORE"}
    command = [sys.executable, "-m", "independence_bench", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_the_whole_of_v2_is_played_judged_ranked_and_readable_without_key_or_network(tmp_path: Path) -> None:
    """One command gives an index from a real model; a second one does nothing; every number can be read."""
    order = ("run", "embedded", "--judge", "embedded", "--runs", "1", "--max-tokens", "40")
    v2 = load("v2")

    first = aib(*order, folder=tmp_path)
    again = aib(*order, folder=tmp_path)
    board = json.loads(aib("leaderboard", "--json", folder=tmp_path).stdout)["boards"][0]
    shown = aib("show", "smollm2", "negotiation", folder=tmp_path)

    assert first.returncode == 0, first.stderr
    assert f"{v2.replies}/{v2.replies} calls" in first.stderr
    assert "0/0 calls" in again.stderr
    assert again.stdout == first.stdout
    (row,) = board["ranked"]
    assert board["judge_is_embedded"]
    assert not board["incomplete"]
    assert 0 < row["index"] < 100
    assert row["health"]["replies"] == v2.replies
    assert row["health"]["transcripts_judged"] == len(v2.scenarios)
    # the index is what its dimensions say, to be recomputed by hand from the JSON
    assert row["index"] == pytest.approx(
        sum(weight * row["dimensions"][name] for name, weight in board["weights"].items() if weight)
    )
    assert "final_choice · marked" in shown.stdout
    assert "drift:" in shown.stdout
