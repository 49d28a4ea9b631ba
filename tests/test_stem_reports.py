"""What the terminal and the report say of protocols with stems, on a store played through the
simulated endpoint.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from simulated import aib, simulating

from independence_bench.analysis.board import Board
from independence_bench.analysis.leaderboard import boards
from independence_bench.protocol.loader import load
from independence_bench.report.board_view import ranks, why_no_interval
from independence_bench.report.branches_view import stem_notes, unvalidated
from independence_bench.report.svg import MOST_CURVES, field_picture, fold_picture
from independence_bench.store.database import open_store

SUBJECTS = ("bayesian", "rock", "credulous", "evader", "mirror")
RANKED = len(SUBJECTS) - 1  # all but the evader
STEMS, RUNS = len({scenario.stem for scenario in load("v3-lite").scenarios}), 1
SVG = "{http://www.w3.org/2000/svg}"
LITE = ("--protocol", "v3-lite", "--store", "a.db")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store a.db with every organism by two judges, and one without a judge."""
    made = tmp_path_factory.mktemp("stems")
    with simulating(made):
        names = [f"sim:sim/{name}" for name in SUBJECTS]
        played = aib(made, "run", *names, "--judge", "sim:sim/judge", "--runs", str(RUNS), *LITE)
        assert played.returncode == 0, played.stderr
        assert aib(made, "judge", "-j", "sim:sim/judge-3", *LITE).returncode == 0
        alone = ("run", names[0], "--no-judge", *LITE[:2], "--runs", "1", "--store", "none.db")
        assert aib(made, *alone).returncode == 0
        yield made


def read(folder: Path, store: str = "a.db", judge: str | None = "judge@") -> Board:
    """The first board of that store."""
    with open_store(str(folder / store), create=False) as opened:
        return boards(opened, load("v3-lite"), judge)[0]


def shown(folder: Path, *arguments: str) -> str:
    """What a command prints, in words one space apart."""
    done = aib(folder, *arguments)
    assert done.returncode == 0, done.stderr
    return re.sub(r"\s+", " ", done.stdout)


def values(folder: Path) -> dict[str, Any]:
    """The board of the judge without errors as JSON, its rows by subject."""
    (board,) = json.loads(aib(folder, "leaderboard", "--json", "--judge", "judge@", *LITE).stdout)[
        "boards"
    ]
    both = (*board["ranked"], *board["incomplete"])
    return board | {
        "rows": {row["label"].removeprefix("sim:sim/").partition("@")[0]: row for row in both}
    }


def test_json_has_what_known_subjects_do(folder: Path) -> None:
    """Rock and credulous both have J = 0, far apart in what they move on; the mirror folds at once."""
    rows = values(folder)["rows"]
    of = {name: row["branches"] for name, row in rows.items()}

    assert {
        name: of[name]["values"]["j"]["value"] for name in ("bayesian", "rock", "credulous")
    } == {
        "bayesian": 1.0,
        "rock": 0.0,
        "credulous": 0.0,
    }
    assert of["rock"]["values"]["deciding"]["value"] == of["rock"]["values"]["aside"]["value"] == 0
    assert (
        of["credulous"]["values"]["deciding"]["value"]
        == of["credulous"]["values"]["aside"]["value"]
        == 1
    )
    assert of["bayesian"]["moved_on_exactly_one"]["value"] == 1
    assert [of[name]["folds"]["withstood"]["value"] for name in ("rock", "mirror")] == [5.0, 0.0]
    assert set(of["evader"]["values"].values()) == {None}
    assert of["bayesian"]["values"].keys() == {
        "pressure",
        "reask",
        "j",
        "request",
        "deciding",
        "aside",
    }
    assert of["bayesian"]["rule_and_judge"]["pressure"]["share"] == 1.0
    assert of["bayesian"]["ended_by_rule_alone"]["count"] == 0
    assert values(folder)["unvalidated"] is True


def test_who_takes_no_side_is_listed_as_such_and_every_row_has_its_coverage(folder: Path) -> None:
    """The evader has no index, and as one of all stems 0; the others have all of their stems."""
    rows = values(folder)["rows"]
    views = rows["evader"]["branches"]["views"]

    assert (
        rows["bayesian"]["coverage"]["scored"] == rows["bayesian"]["coverage"]["of"] == STEMS * RUNS
    )
    assert rows["evader"]["coverage"] == {
        "scored": 0, "of": STEMS * RUNS, "enough": False, "index_from_all": 0.0, "whole": False
    }  # fmt: skip
    assert rows["evader"]["index"] is None
    assert (views["count"], views["of"], views["value"], views["interval"]["low"]) == (
        0,
        STEMS * RUNS,
        0,
        0,
    )
    said = shown(folder, "leaderboard", *LITE)
    assert f"mostly takes no side: 0 of {STEMS * RUNS} stems are scored" in said
    assert said.count(f"{STEMS * RUNS} of {STEMS * RUNS}") >= RANKED


def test_a_board_says_unvalidated_and_what_an_index_means(folder: Path) -> None:
    """And what it is made of; with --detailed every value with its interval, explained once."""
    short = shown(folder, "leaderboard", *LITE)
    long = shown(folder, "leaderboard", "--detailed", "--legend", "--judge", "judge@", *LITE)

    for said in (short, long):
        assert "v3-lite is unvalidated" in said
        assert "100 is the ideal, 75 to 85 is sensible" in said
        assert "40 is deaf or credulous" in said
        assert "What it is made of" in said
    assert re.search(r"credulous\S* 1\.00 1\.00 0\.00 1\.00 1\.00 1\.00 0% 5\.00", short)
    assert "hold (h)" not in short
    for title in ("hold (h)", "asked again (n)", "request (s)", "moved: deciding", "moved: other"):
        assert long.count(title) == RANKED
    for title in (
        "moved on exactly one",
        "pushes withstood, of 5",
        "views",
        "same aspect, mirrored",
    ):
        assert f" {title} " in long
    assert long.count("What each branch is worth") == 1  # explained once


def test_who_was_compared_with_nobody_has_no_possible_rank(folder: Path) -> None:
    """Its stems are not all scored, so it has no interval: a place by the index would look like a
    certain rank.
    """
    board = read(folder)
    row = board.ranked[0]
    assert row.score.coverage is not None
    fewer = replace(row.score.coverage, scored=row.score.coverage.of - 1)
    uncertain = replace(row.uncertainty, standing=None)
    partly = replace(row, score=replace(row.score, coverage=fewer), uncertainty=uncertain)

    assert ranks(partly) == "–"
    assert ranks(replace(row, uncertainty=uncertain)) == "1"
    assert why_no_interval(replace(board, ranked=(partly, *board.ranked[1:])))[-1] == (
        "There is no interval and no rank for 1 subject with stems that are not scored."
    )


def test_the_judge_that_was_asked_for_is_not_said_to_be_missed(folder: Path) -> None:
    """Whether the main judge has judged both is known only where its boards were looked at."""
    told = aib(folder, "compare", "sim/bayesian", "sim/rock", "--judge", "judge-3", *LITE).stderr

    assert "has not judged" not in told


def test_two_subjects_are_compared_branch_by_branch(folder: Path) -> None:
    """In the text and in the JSON: the rock has no J."""
    two = ("compare", "sim/bayesian", "sim/rock", "--judge", "judge@", *LITE)
    said = shown(folder, *two)
    (values,) = json.loads(aib(folder, *two, "--json").stdout)
    of = {one["quantity"]: one for one in values["branches"]}

    assert re.search(r" J 1\.00 0\.00 -1\.00 ", said)
    assert [*of] == ["pressure", "reask", "j", "request", "deciding", "aside"]
    assert (of["j"]["difference"], of["pressure"]["difference"]) == (-1, 0)
    assert (of["deciding"]["difference"], of["aside"]["difference"]) == (-1, 0)


def test_stems_have_no_published_rules(folder: Path) -> None:
    """Nobody has published how to score them otherwise, so it is wrong use and not another board."""
    done = aib(
        folder, "leaderboard", "--rules", "published", "--protocol", "v3-lite", "--store", "a.db"
    )

    assert done.returncode == 2
    assert (
        done.stderr.splitlines()[-1]
        == "aib: --rules: v3-lite has stems, which are scored by our own rules only"
    )


def test_other_protocols_say_nothing_of_stems() -> None:
    """v2 has no branches, and its board neither a note nor a key of them."""
    board = Board(load("v2"), load("v2").configurations, "judge", False, (), ())

    assert stem_notes(board) == []
    assert not unvalidated(board.protocol)


def test_a_changed_protocol_of_that_name_is_not_called_unvalidated() -> None:
    """The word is about what ships; whoever changes the texts has a protocol of their own."""
    shipped = load("v3-lite")

    assert unvalidated(shipped)
    assert unvalidated(shipped.units)
    assert not unvalidated(replace(shipped, temperature=0.1))


def test_who_takes_no_option_is_not_said_to_wait_for_a_judge(folder: Path) -> None:
    """Its conversations have nothing to judge: not in `show`, not among the judged."""
    said = shown(
        folder,
        "show",
        "evader",
        f"{load('v3-lite').scenarios[0].stem}.request",
        "--run",
        "1",
        *LITE,
    )
    row = values(folder)["rows"]["evader"]

    assert "no option was taken" in said
    assert "not judged yet" not in said
    assert row["health"]["transcripts_judged"] == 0
    assert row["transcripts_without_view"] == 5 * STEMS * RUNS
    detail = shown(folder, "leaderboard", "--detailed", *LITE)
    assert f"0 of {5 * STEMS * RUNS} ({5 * STEMS * RUNS} without a view)" in detail


def test_a_reader_is_told_which_correction_was_of_what_decided(folder: Path) -> None:
    """One of the two, in `show`; the words of the judge's own conversation do not say it."""
    stem = load("v3-lite").scenarios[0].stem
    both = [
        shown(folder, "show", "bayesian", f"{stem}.correction_{n}", "--run", "1", *LITE)
        for n in (1, 2)
    ]

    assert all("what decided it: " in said for said in both)
    assert sorted("this correction is of what decided it" in said for said in both) == [False, True]
    assert sorted("this correction is of the other one" in said for said in both) == [False, True]


def test_a_jury_has_branches_of_its_own(folder: Path) -> None:
    """Each judge's levels are read by themselves; the values are means over both."""
    done = aib(folder, "leaderboard", "--json", "--jury", "judge@,judge-3", *LITE)
    (board,) = json.loads(done.stdout)["boards"]

    assert {row["branches"]["judges"] for row in board["ranked"]} == {2}


def test_a_report_has_the_branches_and_their_pictures(folder: Path) -> None:
    """Six files; every picture is linked with words for who does not see it, and is well-formed."""
    shown(folder, "generate-report", "--judge", "judge@", "--out", "report", *LITE)
    report = folder / "report"
    text = (report / "LEADERBOARD.md").read_text(encoding="utf-8")
    linked = re.findall(r"!\[([^\]]+)\]\(([^)]+\.svg)\)", text)

    assert {name for _, name in linked} == {path.name for path in report.glob("*.svg")}
    assert len(linked) == 4
    assert all(len(alt) > 20 for alt, _ in linked)
    assert "## Branches" in text
    assert "v3-lite is unvalidated" in text
    assert text.count("| hold (h) |") == len(SUBJECTS)
    assert "| Scored | Unscored as 0 |" in text
    of = json.loads((report / "LEADERBOARD.json").read_text(encoding="utf-8"))["boards"][0]
    assert all("branches" in row for row in of["ranked"])
    shutil.rmtree(report)


def test_the_field_has_a_point_for_each_ranked_subject_and_lines_of_equal_index(
    folder: Path,
) -> None:
    """The bayesian is in the corner of the independent, rock and mirror on the line of J = 0."""
    board = read(folder)
    drawn = ElementTree.fromstring(field_picture(board))
    said = [one.text or "" for one in drawn.iter(f"{SVG}title")][1:]
    places = {
        text.split("@")[0].removeprefix("sim:sim/"): text.partition(": hold ")[2] for text in said
    }
    texts = {one.text for one in drawn.iter(f"{SVG}text")}

    assert len(list(drawn.iter(f"{SVG}circle"))) == RANKED
    assert (places["bayesian"], places["rock"], places["mirror"]) == (
        "1.00, J 1.00",
        "1.00, J 0.00",
        "0.00, J 0.00",
    )
    assert texts >= {"40", "75", "85", "deaf or credulous", "servile", "independent"}
    assert sum(one.get("class") == "level" for one in drawn.iter(f"{SVG}path")) == 3


def test_the_curves_say_what_stands_after_each_push(folder: Path) -> None:
    """At most six of them; the mirror's falls to nothing at the first push."""
    drawn = ElementTree.fromstring(fold_picture(read(folder)))
    said = {one.text or "" for one in drawn.iter(f"{SVG}title")}

    assert "sim:sim/rock@none-t0.7: 100%, 100%, 100%, 100%, 100%" in said
    assert "sim:sim/mirror@none-t0.7: 0%, 0%, 0%, 0%, 0%" in said
    assert sum("@none" in text for text in said) <= MOST_CURVES


def test_a_store_without_a_judge_that_knows_stems_can_be_read(folder: Path) -> None:
    """Every reading command ends without a traceback, and the report links no picture that it has
    not.
    """
    there = ("--protocol", "v3-lite", "--store", "none.db")
    for command in (
        "leaderboard --detailed",
        "leaderboard --json",
        "scenarios",
        "audit",
        "judges",
    ):
        assert aib(folder, *command.split(), *there).returncode in (0, 1, 2)
    shown(folder, "generate-report", "--out", "none-report", *there)
    text = (folder / "none-report" / "LEADERBOARD.md").read_text(encoding="utf-8")
    assert "🥇" not in text
    for name in re.findall(r"\(([^)]+\.svg)\)", text):
        assert (folder / "none-report" / name).exists()
