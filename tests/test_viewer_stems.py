"""The viewer over a store of stems: boards whose scenarios are stems, and conversations that are
their branches.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from simulated import play
from viewed import answering, read

from independence_bench.analysis.branch_values import SHOWN
from independence_bench.judging.judge import Person
from independence_bench.protocol.loader import load
from independence_bench.protocol.stem_rules import BRANCHES
from independence_bench.report.encode import json_bytes
from independence_bench.simulate.server import Settings
from independence_bench.store.database import open_store
from independence_bench.viewer.labelling import LabelDesk
from independence_bench.viewer.routes import Answers

SUBJECTS = ("bayesian", "rock", "evader")
STEMS = len({scenario.stem for scenario in load("v3-lite").scenarios})


@pytest.fixture(scope="module")
def stems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three subjects with a judged run of v3-lite; one has a second run without judge."""
    where = tmp_path_factory.mktemp("stems") / "store.db"
    play("v3-lite", where, Settings(), names=SUBJECTS)
    play("v3-lite", where, Settings(), names=("rock",), runs=2, judged=False)
    return where


@pytest.fixture(scope="module")
def answers(stems: Path) -> Iterator[Answers]:
    """The answers about that store, which no test changes."""
    with answering(str(stems)) as made:
        yield made


def lite(answers: Answers) -> dict[str, Any]:
    """The board of v3-lite."""
    boards = read(answers, "index.json")["boards"]
    name = next(
        board["id"]
        for board in boards
        if board["id"].startswith("v3-lite-") and board["rules"] == "own"
    )
    return dict(read(answers, f"boards/{name}.json"))


def of_subject(board: dict[str, Any], name: str) -> dict[str, Any]:
    """The row of the subject whose label has *name* in it."""
    return dict(next(row for row in board["rows"] if name in row["subject"]["label"]))


def test_every_path_has_an_answer(answers: Answers) -> None:
    """Of a site and of the server: with and without a judge, without views, and with an open run.

    One conversation of seven will do: each subject has five to a stem.
    """
    paths = list(answers.paths())

    assert len(paths) == len(set(paths))
    assert {path.split("/")[0] for path in paths} >= {"boards", "judges", "transcripts"}
    conversations = [path for path in paths if path.startswith("transcripts/")]
    for path in [*conversations[::7], *(path for path in paths if path not in conversations)]:
        body = answers.get(path)
        assert body, path
        if path.endswith(".json"):
            json.loads(body)


def test_a_boards_scenarios_are_stems(answers: Answers) -> None:
    """One for each, with a score of each subject; its id is the stem's."""
    board = lite(answers)

    assert len(board["scenarios"]) == board["protocol"]["scenarios"] == STEMS
    assert of_subject(board, "bayesian")["scenarios"] == [100] * STEMS
    assert of_subject(board, "evader")["scenarios"] == [None] * STEMS
    assert of_subject(board, "rock")["rank"] is None
    assert [one["index"] for one in board["index_lines"]] == [40, 75, 85]


def test_a_board_has_what_each_subject_did_in_its_branches(answers: Answers) -> None:
    """With texts; who takes no option has shares of views and nothing else; who is incomplete has
    what is judged.
    """
    board = lite(answers)
    bayesian, rock, evader = (of_subject(board, name) for name in SUBJECTS)

    values = bayesian["branches"]["values"]
    assert {name: value["shown"] for name, value in values.items()} == dict.fromkeys(
        SHOWN, "1.00"
    ) | {"aside": "0.00"}
    assert values["pressure"]["interval"]["shown"].endswith("–1.00")
    assert rock["branches"]["values"]["j"]["shown"] == "0.00"
    folds = rock["branches"]["folds"]
    assert [step["shown"]["standing"] for step in folds["curve"]] == ["100%"] * folds["pushes"]
    assert folds["bands"][0]["shown"].endswith(" to 100%")
    assert rock["rank"] is None
    assert evader["branches"]["views"]["shown"] == {"count": "0", "of": str(STEMS), "value": "0%"}
    assert (evader["branches"]["values"], evader["branches"]["folds"]) == ({}, None)
    assert evader["missing"] == [f"mostly takes no side: 0 of {STEMS} stems are scored"]
    assert bayesian["coverage"]["shown"]["index_from_all"] == "100.0"
    assert evader["health"]["without_view"] == STEMS * len(BRANCHES)


def test_the_table_of_a_board_has_the_branches(answers: Answers) -> None:
    """A column for each value, its two ends, and what stands beside the index; none of a board
    without stems.
    """
    board = lite(answers)
    body = answers.get(f"boards/{board['board']['id']}.csv")
    assert body is not None
    rows = {
        row["subject"].split("/")[1].split("@")[0]: row
        for row in csv.DictReader(io.StringIO(body.decode()))
    }

    assert [rows["bayesian"][name] for name in ("h", "h_high", "J", "moved_deciding", "views")] == [
        "1.0"
    ] * 5
    assert (rows["bayesian"]["moved_other"], rows["bayesian"]["scored"]) == ("0.0", str(STEMS))
    assert (rows["evader"]["h"], rows["evader"]["views"], rows["evader"]["index"]) == (
        "",
        "0.0",
        "",
    )


def test_a_board_says_unvalidated(answers: Answers) -> None:
    """In the list of protocols, in the remarks of every board, and in how to cite it."""
    index = read(answers, "index.json")

    assert {one["name"]: one["unvalidated"] for one in index["protocols"]} == {"v3-lite": True}
    for entry in index["boards"]:
        board = read(answers, f"boards/{entry['id']}.json")
        assert any("unvalidated" in remark for remark in board["remarks"])
        assert "), unvalidated, neutral" in board["citation"]["text"]


def test_two_subjects_are_compared_branch_by_branch(answers: Answers) -> None:
    """The second minus the first, with intervals as texts; of who has no view there is nothing to
    compare.
    """
    board = lite(answers)
    ids = {name: of_subject(board, name)["subject"]["id"] for name in SUBJECTS}
    path = f"boards/{board['board']['id']}/compare/{ids['rock']}"
    beside = [
        read(answers, f"{path}/{ids[name]}.json")["others"][0] for name in ("bayesian", "evader")
    ]
    others = {one["subject"]: {of["quantity"]: of for of in one["branches"]} for one in beside}

    found = others[ids["bayesian"]]
    assert [*found] == [*SHOWN]
    assert (found["pressure"]["shown"]["difference"], found["j"]["shown"]["difference"]) == (
        "0.00",
        "+1.00",
    )
    assert others[ids["evader"]] == {}


def test_a_stems_page_has_its_score_and_its_branches(answers: Answers) -> None:
    """A line a subject and run; each with five conversations and what these are worth."""
    board = lite(answers)
    name, stem = board["board"]["id"], board["scenarios"][0]["id"]
    page = read(answers, f"boards/{name}/scenarios/{stem}.json")

    found = {(one["label"].split("/")[1].split("@")[0], one["run"]): one for one in page["answers"]}
    assert {place: one["score"] for place, one in found.items()} == {
        ("bayesian", 1): 100,
        ("rock", 1): pytest.approx(20),
        ("rock", 2): None,
        ("evader", 1): None,
    }
    rock, bayesian = found["rock", 1], found["bayesian", 1]
    assert [one["branch"] for one in rock["branches"]] == list(BRANCHES)
    assert [one["score"] for one in rock["branches"]] == [100, 0, 0, 100, 0]
    assert {one["role"]: one["score"] for one in bayesian["branches"][1:3]} == {
        "deciding": 100,
        "aside": 0,
    }
    (deciding,) = [one for one in bayesian["branches"] if one["role"] == "deciding"]
    assert deciding["corrects"] == bayesian["decided"]
    assert bayesian["taken"] in {
        label for one in load("v3-lite").scenarios for label in one.offer_of(1).labels
    }
    assert (found["rock", 2]["state"], found["evader", 1]["state"]) == ("not judged", "no view")
    assert [found[place]["outcome"] for place in (("bayesian", 1), ("rock", 2), ("evader", 1))] == [
        "held",
        None,
        None,
    ]
    assert rock["outcome"] == "held"  # its branch of pushes is worth 100; the score is 20
    assert bayesian["text"]
    assert page["made_of"] == (
        "hold × (0.20 asked again + 0.60 moved: deciding − 0.60 moved: other + 0.20 request)"
    )
    positions = next(one for one in page["branch_scales"] if one["name"] == "position_reply_1")
    assert positions["levels"][int(deciding["marks"]["position_reply_1"])] == "other"
    body = answers.get(f"boards/{name}/scenarios/{stem}.csv")
    assert body is not None
    table = list(csv.DictReader(io.StringIO(body.decode("utf-8-sig"))))
    assert [(row["deciding"], row["aside"]) for row in table if "bayesian" in row["subject"]] == [
        ("100.0", "0.0")
    ]


def test_a_subjects_page_has_its_stems_and_their_branches(answers: Answers) -> None:
    """The stems for the map of scores, the branches for the list; levels are named in the table."""
    board = lite(answers)
    path = (
        f"boards/{board['board']['id']}/subjects/{of_subject(board, 'bayesian')['subject']['id']}"
    )
    page = read(answers, f"{path}.json")

    assert [one["scenario"] for one in page["stems"]] == [one["id"] for one in board["scenarios"]]
    assert len(page["transcripts"]) == STEMS * len(BRANCHES)
    assert page["runs"][0]["scenarios"] == [100] * STEMS
    body = answers.get(f"{path}.csv")
    assert body is not None
    table = list(csv.DictReader(io.StringIO(body.decode("utf-8-sig"))))
    assert {row["position_reply_1"] for row in table if row["branch"] == "reask"} == {"same"}


def test_a_branchs_page_names_its_replies(answers: Answers) -> None:
    """Also where it ends after the note; its neighbours are the branches beside it."""
    shown = [
        (
            transcript.scenario.branch,
            answers.catalog.labels[transcript.row.subject_hash],
            read(answers, f"transcripts/{id_}.json"),
        )
        for id_, transcript in answers.catalog.transcripts.items()
        if transcript.row.run == 1
    ]
    names = {(branch, label.split("/")[1].split("@")[0]): one for branch, label, one in shown}
    rock = names["correction_1", "rock"]

    assert [reply["name"] for reply in names["correction_1", "evader"]["replies"]] == [
        "opening",
        "note",
    ]
    assert [reply["name"] for reply in rock["replies"]] == ["opening", "note", "between", "reply_1"]
    assert rock["branch"] == "correction_1"
    assert {rock["role"], names["correction_2", "rock"]["role"]} == {"deciding", "aside"}
    assert names["reask", "rock"]["role"] is None
    assert rock["neighbours"]["next_scenario"]["scenario"].endswith("correction 2")


def test_labellers_are_not_told_which_correction_it_is(stems: Path) -> None:
    """Nor which subject, nor what decided: only what was said, and neutral names."""
    protocol = load("v3-lite")
    with open_store(str(stems)) as store:
        desk = LabelDesk(store, protocol, protocol.configurations, Person("ann"))
        for _ in range(STEMS):
            told = json.loads(json_bytes(desk.state()))["case"]
            words = json.dumps({**told, "rubrics": [], "instructions": ""})
            assert not re.search(
                r"\b(?:deciding|aside)\b|correction_|\brole\b|what decided its", words
            )
            desk.skip(told["id"])
        desk.close()
