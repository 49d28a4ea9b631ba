"""One subject in two configurations, as the page is sent it: on boards of their own, and in a pool."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench_once import bench_in
from scripted import Answer, Asked, Bench
from viewed import answering, read, script, served, site_answers

from independence_bench.protocol.definition import Configuration
from independence_bench.store.database import open_store
from independence_bench.viewer.routes import Answers
from independence_bench.viewer.static_site import freeze, offer

STRONG, NEUTRAL = Configuration("strong", "tool_role"), Configuration("neutral", "user_role")


def wavering(asked: Asked) -> Answer:
    """Who is told to be somebody holds, whoever is told nothing follows; judges as in `script`."""
    if asked.judging or "You are somebody" in asked.text:
        return script(asked)
    return script(
        Asked(asked.number, asked.times, {**asked.body, "model": "acme/mirror"}, asked.headers)
    )


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with Iris in two configurations, Mirror in one; two runs, one judge. To be read only."""
    with bench_in(tmp_path_factory.mktemp("settings"), wavering) as made:
        iris, mirror = (made.subject(f"acme/{name}") for name in ("iris", "mirror"))
        made.play(iris, mirror, runs=2)
        made.play(iris, runs=2, configurations=[NEUTRAL])
        return made.store


def boards_of(answers: Answers) -> list[dict[str, Any]]:
    """The boards by our own rules, the one to open with first."""
    return [one for one in read(answers, "index.json")["boards"] if one["rules"] == "own"]


def told_of(answers: Answers, board: dict[str, Any], name: str = "iris") -> Any:
    """The subject with that name in its configurations."""
    there = read(answers, f"boards/{board['id']}.json")["in_several"]
    (subject,) = [one["subject"] for one in there if name in one["label"]]
    return read(answers, f"settings/{board['series']}/{subject}.json")


def test_a_subject_is_compared_with_itself_on_two_boards(filled: Path) -> None:
    """Values are those of the two boards; the difference and its interval those of the subject's
    page.
    """
    with answering(filled) as answers:
        strong, neutral = boards_of(answers)
        told = told_of(answers, strong)
        assert told == told_of(answers, neutral)
        assert strong["series"] == neutral["series"]
        rows = [read(answers, f"boards/{one['id']}.json")["rows"] for one in (strong, neutral)]
        subject = read(answers, f"boards/{strong['id']}/subjects/{told['subject']}.json")

    first, second = told["configurations"]  # in the protocol's order of prompts
    assert [(one["configuration"], one["board"]) for one in told["configurations"]] == [
        ("neutral/user_role", neutral["id"]),
        ("strong/tool_role", strong["id"]),
    ]
    on_boards = [next(row for row in of if "iris" in row["subject"]["label"]) for of in rows]
    assert second["values"][0] == pytest.approx(on_boards[0]["index"]["value"], abs=0.001)
    assert first["values"][0] == pytest.approx(on_boards[1]["index"]["value"], abs=0.001)
    (change,), (turned,) = second["others"], first["others"]
    (elsewhere,) = subject["elsewhere"]
    assert change["configuration"] == "neutral/user_role"
    assert change["apart"]["points"][0] == pytest.approx(elsewhere["change"]["points"], abs=0.001)
    assert change["apart"]["rerun"]["low"][0] == pytest.approx(
        elsewhere["change"]["rerun"]["low"], abs=0.001
    )
    assert change["apart"]["rerun"]["high"][0] == pytest.approx(
        elsewhere["change"]["rerun"]["high"], abs=0.001
    )
    assert elsewhere["why"] is None
    assert change["apart"]["why"] is None
    assert turned["apart"]["rerun"]["low"][0] == -change["apart"]["rerun"]["high"][0]
    assert change["apart"]["new_scenarios"] is None
    flipped = [told["compared"][place] for place in change["apart"]["flipped"]]
    assert {"scenario": "erosion", "dimension": "resistance"} in flipped
    assert not set(change["apart"]["flipped"]) & set(change["apart"]["order"])


def test_a_pool_is_taken_apart(bench: Callable[..., Bench], where: str, small: Path) -> None:
    """Both configurations are on one board; the change of the index is the one that the board's
    report has.
    """
    text = (small / "protocol.yaml").read_text()
    pooled = "configurations:\n  - {system: neutral, delivery: tool_role}\n"
    (small / "protocol.yaml").write_text(text.replace("configurations:\n", pooled))
    played = bench(wavering)
    played.play(*(played.subject(f"acme/{name}") for name in ("iris", "mirror")), runs=2)

    with answering(where) as answers:
        (entry,) = boards_of(answers)
        board = read(answers, f"boards/{entry['id']}.json")
        told = told_of(answers, entry)

    assert {one["board"] for one in told["configurations"]} == {entry["id"]}
    (spread,) = [
        one
        for one in board["configurations"]["subjects"]
        if board["ids"][one["label"]] == told["subject"]
    ]
    assert [one["values"][0] for one in told["configurations"]] == pytest.approx(
        spread["indices"], abs=0.001
    )
    # strong minus neutral, as in the report
    change = told["configurations"][0]["others"][0]["apart"]
    (effect,) = [
        n for n, one in enumerate(board["configurations"]["effects"]) if one["factor"] == "system"
    ]
    said = spread["changes"][effect]
    assert change["points"][0] == pytest.approx(said["points"], abs=0.001) != 0
    ends = said["rerun"]
    low, high, shown = (change["rerun"][part][0] for part in ("low", "high", "shown"))
    assert (low, high) == pytest.approx((ends["low"], ends["high"]), abs=0.001)
    assert (change["shown"][0], shown) == (said["shown"]["points"], ends["shown"])


def test_who_is_in_one_configuration_has_no_such_page(filled: Path) -> None:
    """And is not offered."""
    with answering(filled) as answers:
        board = boards_of(answers)[0]
        every = read(answers, f"boards/{board['id']}.json")
        (mirror,) = [
            row["subject"]["id"] for row in every["rows"] if "mirror" in row["subject"]["label"]
        ]
        assert [one["configurations"] for one in every["in_several"]] == [
            ["neutral/user_role", "strong/tool_role"]
        ]
        assert answers.get(f"settings/{board['series']}/{mirror}.json") is None
        assert answers.get(f"settings/{board['series']}/{mirror}.csv") is None
        assert answers.get(f"settings/nothing/{every['in_several'][0]['subject']}.json") is None
        assert not [
            path for path in answers.paths() if path.startswith("settings/") and mirror in path
        ]


def test_why_there_is_no_interval_is_said(bench: Callable[..., Bench], where: str) -> None:
    """Single runs; and rules that are not our own."""
    played = bench(wavering)
    for configuration in (STRONG, NEUTRAL):
        played.play(configurations=[configuration])

    with answering(where) as answers:
        told = [told_of(answers, one, "") for one in read(answers, "index.json")["boards"]]
        board = boards_of(answers)[0]
        subject = read(answers, f"boards/{board['id']}/subjects/{told[0]['subject']}.json")

    own, published = (
        told[0]["configurations"][0]["others"][0],
        told[-1]["configurations"][0]["others"][0],
    )
    assert own["apart"]["rerun"] is published["apart"]["rerun"] is None
    assert "no subject has two runs in neutral/user_role" in own["apart"]["why"]
    assert "under our own rules only" in published["apart"]["why"]
    assert own["apart"]["points"][0] is not None
    assert own["apart"]["stand"] == []
    (elsewhere,) = subject["elsewhere"]
    assert elsewhere["change"]["rerun"] is None
    assert "no subject has two runs" in elsewhere["why"]


def test_the_table_has_every_two_configurations(filled: Path) -> None:
    """Index, dimensions and scenarios of both; the later configuration minus the earlier one."""
    with answering(filled) as answers:
        board = boards_of(answers)[0]
        told = told_of(answers, board)
        table = answers.get(f"settings/{board['series']}/{told['subject']}.csv")

    assert table is not None
    rows = list(csv.DictReader(io.StringIO(table.decode("utf-8-sig"), newline="")))
    assert len(rows) == len(told["compared"])
    assert rows[0]["score"] == "index"
    assert rows[0]["scenario"] == ""
    assert float(rows[0]["second_value"]) - float(rows[0]["first_value"]) == pytest.approx(
        float(rows[0]["difference"]), abs=0.002
    )


def test_comparisons_of_settings_are_frozen_once_for_all_boards(
    filled: Path, tmp_path: Path
) -> None:
    """One file for a subject by one judge and one set of rules, however many boards; the server's
    bytes.
    """
    out = tmp_path / "site"
    with answering(filled, offer(False, 2)) as answers:
        freeze(answers, None, out, lambda _written, _total: None)
        boards = read(answers, "index.json")["boards"]

    files = {path: body for path, body in site_answers(out).items() if path.startswith("settings/")}
    assert len(boards) == 4  # two configurations, our own rules and the published ones
    assert len(files) == 4  # two series, as JSON and as a table
    with open_store(filled, create=False) as store, served(store) as browser:
        for path, body in files.items():
            assert browser.get(f"/api/{path}")[2] == body
    assert all(
        json.loads(body)["configurations"] for path, body in files.items() if path.endswith(".json")
    )


def test_the_next_scenario_is_of_the_same_run_and_configuration(filled: Path) -> None:
    """Of Iris's four runs in two configurations, each conversation leads through its own."""
    with answering(filled) as answers:
        for id_ in answers.catalog.transcripts:
            shown = read(answers, f"transcripts/{id_}.json")
            if (after := shown["neighbours"]["next_scenario"]) is not None:
                other = read(answers, f"transcripts/{after['id']}.json")
                assert all(
                    other[name] == shown[name] for name in ("subject", "run", "configuration")
                )
                assert other["scenario"] != shown["scenario"]
