"""The figures of README.md, computed again from the published data set."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from simulated_endpoint import aib

from independence_bench.dataset.import_published import PublishedImport

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))
from build import published  # noqa: E402

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
CLAIMS = (DOCS / "research" / "claims.md").read_text(encoding="utf-8")
SHOWN = 5  # rows at each end


@pytest.fixture(scope="module")
def ranked(
    real: tuple[Path, PublishedImport], tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    """The ranked subjects of the published board, by our own rules."""
    found: list[dict[str, Any]] = asked(real, tmp_path_factory, "leaderboard")["boards"][0][
        "ranked"
    ]
    return found


def asked(real: tuple[Path, PublishedImport], folders: pytest.TempPathFactory, *words: str) -> Any:
    """What `aib WORDS --json` says of the published data."""
    at = ("--protocol", "published-v2", "--store", str(real[0]), "--json")
    return json.loads(aib(folders.mktemp("readme"), *words, *at).stdout)


def row_of(one: dict[str, Any], dollars: dict[str, str]) -> str:
    """A row of README's board."""
    rerun, new_scenarios = (
        one["index_interval"][question] for question in ("rerun", "new_scenarios")
    )
    same = f"{rerun['low']:.1f}–{rerun['high']:.1f}".replace("100.0", "100")
    new = f"{new_scenarios['low']:.0f}–{new_scenarios['high']:.0f}"
    name = one["subject"]["name"]
    paid = f"${float(dollars[name]):.3f}" if name in dollars else "–"
    ranks = f"{one['ranks']['rank_low']}–{one['ranks']['rank_high']}"
    return f"| {ranks} | {name} | {one['index']:.1f} | {same} | {new} | {paid} |"


def test_board_is_what_the_published_data_gives(ranked: list[dict[str, Any]]) -> None:
    """The five first and the five last, with both intervals and what a run cost."""
    table = README.split("<!-- board -->\n")[1].split("<!-- end of board -->")[0].splitlines()[2:]
    with (DOCS / "data" / "published.csv").open(encoding="utf-8", newline="") as file:
        dollars = {row["model"]: row["dollars_a_run"] for row in csv.DictReader(file)}

    assert table[:SHOWN] == [row_of(one, dollars) for one in ranked[:SHOWN]]
    assert table[SHOWN] == f"| | *{len(ranked) - 2 * SHOWN} more* | | | | |"
    assert table[SHOWN + 1 :] == [row_of(one, dollars) for one in ranked[-SHOWN:]]


def test_findings_count_what_the_board_says(ranked: list[dict[str, Any]]) -> None:
    """How many may be first, on this test and on another, and how many are near the ceiling."""
    first, first_on_another = (
        sum(one[ranks]["tied_with_best"] for one in ranked)
        for ranks in ("ranks", "ranks_new_scenarios")
    )
    near_ceiling = sum(one["index"] >= 90 for one in ranked)

    assert f"**{first} of the {len(ranked)} may be first.**" in README
    assert first_on_another == len(ranked)
    assert f"any of the {len(ranked)} may be first" in README
    assert f"{near_ceiling} of the {len(ranked)} are at 90 or more" in README


def test_claims_are_what_the_script_prints(
    real: tuple[Path, PublishedImport], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every figure of the page on claims, and those of README."""
    board = tmp_path_factory.mktemp("claims") / "board.json"
    board.write_text(json.dumps(asked(real, tmp_path_factory, "leaderboard")), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(DOCS.parent / "research" / "published_claims.py"), str(board)],
        capture_output=True,
        text=True,
        check=True,
    )
    figures = set(re.findall(r"-?\d+\.\d+", done.stdout))
    result = CLAIMS.split("## Result")[1].split("## One fine-tune")[0].replace("−", "-")
    told = set(re.findall(r"-?\d+\.\d+", re.sub(r"\$[\d.]+|: [\d.]+ to [\d.]+ of 10", "", result)))

    assert told - figures <= {"4.5", "95.7"}  # a model's name, and its index
    assert {"85.8", "89.8", "0.55", "0.33", "0.71"} <= figures
    assert all(one in README for one in ("85.8", "89.8", "0.55", "0.33 to 0.71"))


def test_fine_tune_is_what_its_command_prints(
    real: tuple[Path, PublishedImport], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Both indices, the difference, and both of its intervals."""
    (tuned,) = asked(
        real, tmp_path_factory, "compare", "local:google/gemma-4-26b-a4b", "uncensored-heretic"
    )
    index, text = tuned["index"], re.sub(r"\s+", " ", CLAIMS)
    rerun, new_scenarios = (index["interval"][question] for question in ("rerun", "new_scenarios"))

    lost = (
        f"lost {-index['difference']:.1f} points (95%: {-rerun['high']:.1f} to {-rerun['low']:.1f})"
    )
    indices = (
        f'gemma-4-26b-a4b has {tuned["a"]["index"]:.1f}, its "heretic" variant '
        f"{tuned['b']['index']:.1f}"
    )
    assert f"{lost}: {indices}" in text
    assert (
        f"from {new_scenarios['low']:.1f} to {new_scenarios['high']:+.1f}".replace("-", "−") in text
    )


def test_model_list_has_the_published_figures(
    real: tuple[Path, PublishedImport], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Indices, intervals and runs of docs/data/published.csv, and the dollars of a run, from the
    imported data.
    """
    told = asked(real, tmp_path_factory, "leaderboard", "--rules", "published", "--detailed")

    assert published(told) == (DOCS / "data" / "published.csv").read_text(encoding="utf-8")


def test_conditions_are_what_the_board_says(
    real: tuple[Path, PublishedImport], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The judge's own vendor, and how many models were played within a day."""
    board = asked(real, tmp_path_factory, "leaderboard")["boards"][0]
    kin, text = board["judge_and_subjects_of_one_vendor"], re.sub(r"\s+", " ", README)

    assert (
        f"The {kin['subjects']} models named `google/…` have {kin['index']:.1f} in the mean, the "
        f"others {kin['others']:.1f}." in text
    )
    sittings = board["sittings"]
    assert f"{sittings['one']} of the {sittings['of']} were played in one session, and" in text
