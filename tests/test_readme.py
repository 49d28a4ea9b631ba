"""The figures of README.md, computed again from the published data set."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from simulated import aib

from independence_bench.dataset.import_published import PublishedImport

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
SHOWN = 10  # rows at each end


@pytest.fixture(scope="module")
def ranked(real: tuple[Path, PublishedImport], tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The ranked subjects of the published board, by our own rules."""
    found: list[dict[str, Any]] = asked(real, tmp_path_factory, "leaderboard")["boards"][0]["ranked"]
    return found


def asked(real: tuple[Path, PublishedImport], folders: pytest.TempPathFactory, *words: str) -> Any:
    """What `aib WORDS --json` says of the published data."""
    at = ("--protocol", "published-v2", "--store", str(real[0]), "--json")
    return json.loads(aib(folders.mktemp("readme"), *words, *at).stdout)


def row_of(one: dict[str, Any]) -> str:
    """A row of README's board."""
    rerun, new_scenarios = (one["index_interval"][question] for question in ("rerun", "new_scenarios"))
    ranks = f"{one['ranks']['rank_low']}–{one['ranks']['rank_high']}"
    intervals = f"{rerun['low']:.1f}–{rerun['high']:.1f} | {new_scenarios['low']:.0f}–{new_scenarios['high']:.0f}"
    scores = f"{one['index']:.1f} | {intervals.replace('100.0', '100')}"
    return f"| {one['label']} | {scores} | {ranks} | {one['ranks']['groups']} | {one['runs']} |"


def test_board_is_what_the_published_data_gives(ranked: list[dict[str, Any]]) -> None:
    """The ten first and the ten last, with ranks, both intervals and ties."""
    table = README.split("<!-- board -->\n")[1].split("<!-- end of board -->")[0].splitlines()[2:]

    assert table[:SHOWN] == [row_of(one) for one in ranked[:SHOWN]]
    assert table[SHOWN] == f"| *{len(ranked) - 2 * SHOWN} more* | | | | | | |"
    assert table[SHOWN + 1 :] == [row_of(one) for one in ranked[-SHOWN:]]


def test_findings_count_what_the_board_says(ranked: list[dict[str, Any]]) -> None:
    """How many might be first, on this test and on another, and how many are near the ceiling."""
    first = sum(one["ranks"]["rank_low"] == 1 for one in ranked)
    first_on_another = sum(one["ranks_new_scenarios"]["rank_low"] == 1 for one in ranked)
    near_ceiling = sum(one["index"] >= 90 for one in ranked)

    assert f"**{first} of the {len(ranked)} might be first.**" in README
    assert first_on_another == len(ranked)
    assert f"{near_ceiling} of the {len(ranked)} are at 90 or more" in README


def test_findings_are_what_their_commands_print(
    real: tuple[Path, PublishedImport], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The fine-tune and the provider: both indices, the difference and its interval."""
    (tuned,) = asked(real, tmp_path_factory, "compare", "local:google/gemma-4-26b-a4b", "uncensored-heretic")
    by_provider = asked(real, tmp_path_factory, "compare", "--by", "provider")
    high_speed = next(one for one in by_provider if "minimax-highspeed" in one["b"]["label"])

    text = re.sub(r"\s+", " ", README)
    for found, sentence in (
        (tuned, "lost {lost:.1f} points** (95%: {nearest:.1f} to {farthest:.1f}): gemma-4-26b-a4b has {a:.1f}, its "),
        (high_speed, "{a:.1f} by default and {b:.1f} from its high-speed endpoint: {lost:+.1f} (95%: {low:.1f} to "),
    ):
        difference, rerun = found["index"]["difference"], found["index"]["interval"]["rerun"]
        sign = 1 if difference > 0 else -1
        figures = {
            "a": found["a"]["index"],
            "b": found["b"]["index"],
            "lost": abs(difference),
            "low": rerun["low"],
            "nearest": sign * (rerun["low"] if sign > 0 else rerun["high"]),
            "farthest": sign * (rerun["high"] if sign > 0 else rerun["low"]),
        }
        assert sentence.format(**figures) in text
