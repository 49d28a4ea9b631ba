"""Everything at once, on a model that nobody scripted: `aib run embedded`, as `make demo` does
it.
"""

from __future__ import annotations

import json
import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from inprocess_aib import invoke

from independence_bench.models.local.files import SMOLLM2, find_pin
from independence_bench.protocol.loader import load_protocol

pytestmark = [
    pytest.mark.skipif(
        find_spec("xllamacpp") is None, reason="the extra [embedded] is not installed"
    ),
    pytest.mark.skipif(
        not find_pin(SMOLLM2).path.exists(),
        reason="no weights; `aib models install smollm2-135m` fetches them",
    ),
]


def aib(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `aib` in *folder*."""
    return invoke(
        folder,
        {name: value for name, value in os.environ.items() if name != "AIB_STORE"},
        *arguments,
    )


def with_known_marks(folder: Path) -> None:
    """Have the protocol in *folder* ask for marks that the embedded judge gives."""
    for path in (path for path in folder.rglob("*") if path.is_file()):
        text = path.read_text(encoding="utf-8")
        path.write_text(
            text.replace("own_voice", "distinctiveness").replace("changed", "name_changed"), "utf-8"
        )


@pytest.mark.parametrize("name", ["small", pytest.param("v2", marks=pytest.mark.torture)])
def test_everything_is_played_judged_ranked_and_readable_without_key_or_network(
    name: str, small: Path, tmp_path: Path
) -> None:
    """One command gives an index from a real model; a second one does nothing; every number can be
    read.
    """
    order = (
        "run",
        "embedded",
        "--judge",
        "embedded",
        "--protocol",
        name,
        "--runs",
        "1",
        "--max-tokens",
        "12",
    )
    with_known_marks(small)
    protocol = load_protocol(small if name == "small" else name)

    first = aib(*order, folder=tmp_path)
    again = aib(*order, folder=tmp_path)
    board = json.loads(aib("leaderboard", "--json", folder=tmp_path).stdout)["boards"][0]
    shown = aib("show", "smollm2", "choice" if name == "small" else "negotiation", folder=tmp_path)

    assert first.returncode == 0, first.stderr
    assert (
        f"{protocol.configuration_reply_count}/{protocol.configuration_reply_count} calls"
        in first.stderr
    )
    assert "0/0 calls" in again.stderr
    assert again.stdout == first.stdout
    (row,) = board["ranked"]
    assert board["judge_is_embedded"]
    assert (row["rank"], row["ranks"]) == (None, None)
    assert "(a demonstration)" in first.stdout
    assert "‡ is a very small" in " ".join(first.stdout.split())  # on what it is, beside its label
    assert not board["incomplete"]
    assert 0 < row["index"] < 100
    assert row["health"]["replies"] == protocol.configuration_reply_count
    assert row["health"]["transcripts_judged"] == len(protocol.scenarios)
    # the index is what its dimensions say, to be recomputed by hand from the JSON
    assert row["index"] == pytest.approx(
        sum(weight * row["dimensions"][name] for name, weight in board["weights"].items() if weight)
    )
    assert " · scored" in shown.stdout
    assert "drift:" in shown.stdout
