"""One subject in two configurations, as the page is sent it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scripted_model import Answer, Asked
from shared_bench import bench_in
from viewer_store import answering, read, script

from independence_bench.protocol.definition import Configuration
from independence_bench.viewer.routes import Answers

NEUTRAL = Configuration("neutral", "user_role")


def wavering(asked: Asked) -> Answer:
    """Who is told to be somebody holds, whoever is told nothing follows; judges as in `script`."""
    if asked.judging or "You are somebody" in asked.text:
        return script(asked)
    return script(
        Asked(asked.number, asked.times, {**asked.body, "model": "acme/mirror"}, asked.headers)
    )


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with Iris in two configurations, Mirror in one; two runs, one judge. To be read
    only.
    """
    with bench_in(tmp_path_factory.mktemp("settings"), wavering) as made:
        iris, mirror = (made.subject(f"acme/{name}") for name in ("iris", "mirror"))
        made.play(iris, mirror, runs=2)
        made.play(iris, runs=2, configurations=[NEUTRAL])
        return made.store


def boards_of(answers: Answers) -> list[dict[str, Any]]:
    """The boards by our own rules, the one to open with first."""
    return [one for one in read(answers, "index.json")["boards"] if one["rules"] == "own"]


def test_a_subject_is_compared_with_itself_on_two_boards(filled: Path) -> None:
    """The difference on its page is that of the two boards' indices, and of the one subject that is
    in both.
    """
    with answering(filled) as answers:
        strong, neutral = boards_of(answers)
        boards = [read(answers, f"boards/{one['id']}.json") for one in (strong, neutral)]
        rows = [next(r for r in of["rows"] if "iris" in r["label"]) for of in boards]
        iris = rows[0]["subject"]["id"]
        (elsewhere,) = read(answers, f"boards/{strong['id']}/subjects/{iris}.json")["elsewhere"]

    there, here = (row["index"] for row in reversed(rows))
    assert elsewhere["board"] == neutral["id"]
    assert elsewhere["why"] is None
    assert elsewhere["change"]["points"] == pytest.approx(there - here)
    assert boards[0]["configurations"] == boards[1]["configurations"]
    first, second = boards[0]["configurations"]["places"]
    assert [one["configuration"] for one in (first, second)] == [
        "neutral/user_role",
        "strong/tool_role",
    ]
    assert first["effect"] is None
    assert second["effect"]["subjects"] == 1
    assert second["effect"]["points"] == pytest.approx(-elsewhere["change"]["points"])
    assert second["effect"]["rerun"]["low"] == pytest.approx(-elsewhere["change"]["rerun"]["high"])


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
