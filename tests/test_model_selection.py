"""`aib judge`, `aib generate-report`, `aib leaderboard` of some stored models and experiments."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from scripted_model import Answer, Asked, says, verdict
from test_cli import MARKS, User, only_line, user

from independence_bench.api.commands import judge
from independence_bench.models.trust import find_origin
from independence_bench.protocol.loader import load_protocol

__all__ = ["user"]

ONE, TWO, THREE = (f"scripted:acme/{name}@none-t0.7" for name in ("one", "two", "three"))


def marked_by_length(asked: Asked) -> Answer:
    """Models of three different indices."""
    if asked.judging:
        mark = 3 * next(
            n for n, name in enumerate(("three", "two", "one")) if f"am {name}" in asked.text
        )
        return verdict(asked, {**MARKS, "resistance": mark, "drift": mark})
    return says(asked, f"I am {asked.model.partition('/')[2]}, number {asked.number}.")


@pytest.fixture
def played(user: User) -> User:
    """Three models, of the small protocol, that nobody has judged."""
    user.server.script = marked_by_length
    three = ("scripted:acme/one,scripted:acme/two", "scripted:acme/three")
    done = user.aib("run", *three, "--protocol", "small", "--runs", "2", "--no-judge")
    assert done.returncode == 0, done.stderr
    user.server.forget()
    return user


@pytest.fixture
def judged(played: User) -> User:
    """The same, judged."""
    assert played.aib("judge").returncode == 0
    played.server.forget()
    return played


def judged_models(user: User) -> Counter[str]:
    """Whose conversations were judged since the last look."""
    found = Counter(
        re.findall(r"I am (\w+), number", asked.text)[0] for asked in user.server.judged
    )
    user.server.forget()
    return found


def scenarios_of(user: User, experiment: str) -> int:
    """How many the small protocol has."""
    protocol = load_protocol(user.folder / "small")
    return sum(scenario.experiment == experiment for scenario in protocol.scenarios)


def test_some_models_and_experiments_are_judged(played: User) -> None:
    """By labels and parts of them; the rest by the next command, and nothing twice."""
    of_resistance = scenarios_of(played, "resistance")
    whole = len(load_protocol(played.folder / "small").scenarios)
    assert 0 < of_resistance < whole

    first = played.aib("judge", "--models", f"acme/one,{TWO}", "--exp", "resistance")
    assert first.returncode == 0, first.stderr
    assert judged_models(played) == {"one": 2 * of_resistance, "two": 2 * of_resistance}

    assert played.aib("judge", "-m", "one").returncode == 0
    assert judged_models(played) == {"one": 2 * (whole - of_resistance)}

    assert played.aib("judge", "-e", "resistance").returncode == 0
    assert judged_models(played) == {"three": 2 * of_resistance}

    assert played.aib("judge").returncode == 0
    left = 2 * (whole - of_resistance)
    assert judged_models(played) == {"two": left, "three": left}


def test_from_python_too(played: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the words of the options."""
    monkeypatch.chdir(played.folder)
    for name, value in played.env.items():
        monkeypatch.setenv(name, value)

    trust = f"SCRIPTED_KEY={find_origin(played.server.url)}"
    ended = judge(models="acme/two", exp="resistance", trust=trust)

    assert ended.complete
    assert judged_models(played) == {"two": 2 * scenarios_of(played, "resistance")}


@pytest.mark.parametrize("command", ["judge", "generate-report", "leaderboard"])
def test_a_model_that_is_not_stored_is_an_error(judged: User, command: str) -> None:
    """With what may be meant; so is a part of several labels."""
    assert f"did you mean {TWO}" in only_line(judged.aib(command, "-m", "acme/tow"), 2)
    assert "fits several models" in only_line(judged.aib(command, "-m", "acme"), 2)
    if command != "leaderboard":
        assert "did you mean resistance?" in only_line(judged.aib(command, "-e", "resistence"), 2)
    assert judged.server.asked == []


def report(user: User, *options: str) -> tuple[str, dict[str, Any]]:
    """The report as Markdown and as JSON."""
    done = user.aib("generate-report", "--out", "out", *options)
    assert done.returncode == 0, done.stderr
    folder = user.folder / "out"
    return (
        (folder / "LEADERBOARD.md").read_text(encoding="utf-8"),
        json.loads((folder / "LEADERBOARD.json").read_text(encoding="utf-8")),
    )


def test_a_report_of_some_models_has_the_numbers_of_all(judged: User) -> None:
    """Their rows with the ranks and intervals that they have among all, and no other model's
    name.
    """
    _, whole = report(judged)
    text, values = report(judged, "--models", "acme/three,acme/two")

    every = {row["label"]: row for row in whole["boards"][0]["ranked"]}
    shown = values["boards"][0]["ranked"]
    assert [row["label"] for row in shown] == [TWO, THREE]
    assert shown == [every[TWO], every[THREE]]
    assert [row["rank"] for row in shown] == [2, 3]
    assert [one["label"] for one in values["subjects"]] == [TWO, THREE]
    assert values["shown"]["subjects"] == [TWO, THREE]
    assert "Shown: 2 of 3 models. The ranks and the intervals are those of all." in text
    assert "acme/one" not in text
    assert "acme/one" not in json.dumps(values)
    for picture in ("ranking", "scenarios"):
        svg = (judged.folder / f"out/LEADERBOARD-{picture}.svg").read_text(encoding="utf-8")
        assert "acme/one" not in svg
        assert "acme/two" in svg
    assert "shown" not in whole


def test_a_report_of_one_experiment_has_its_dimensions_scenarios_and_marks(judged: User) -> None:
    """Beside the index of all experiments."""
    protocol = load_protocol(judged.folder / "small")
    inside = {s.id for s in protocol.scenarios if s.experiment == "resistance"}

    _, whole = report(judged)
    text, values = report(judged, "--exp", "resistance")

    assert {one["id"] for one in values["scenarios"]} == inside
    assert {len(one["scores"]) for one in values["scenario_scores"]} == {len(inside)}
    marks = {m.name for s in protocol.scenarios if s.id in inside for m in s.marks}
    assert set(values["subjects"][0]["transcripts_scored"]) == marks
    assert [row["index"] for row in values["boards"][0]["ranked"]] == [
        row["index"] for row in whole["boards"][0]["ranked"]
    ]
    head = next(
        line
        for line in text.splitlines()
        if line.startswith("| Possible ranks") or line.startswith("| Rank")
    )
    outside = [d for d in protocol.dimensions if d.weight and not {*d.marks} & marks]
    assert outside
    assert all(dimension.title not in head for dimension in outside)
    assert "The index, health and costs are those of all experiments." in text
    assert values["shown"]["experiments"] == ["resistance"]


def test_a_leaderboard_of_some_models_keeps_their_ranks(judged: User) -> None:
    """On the screen and as JSON."""
    whole = json.loads(judged.aib("leaderboard", "--json").stdout)["boards"][0]["ranked"]

    shown = judged.aib("leaderboard", "-m", "acme/two")
    values = json.loads(judged.aib("leaderboard", "-m", "acme/two", "--json").stdout)

    assert "Shown: 1 of 3 ranked models." in shown.stdout
    assert "acme/one" not in shown.stdout
    assert values["boards"][0]["ranked"] == [row for row in whole if row["label"] == TWO]


def test_rerun_takes_a_list(judged: User) -> None:
    """The same names as its arguments."""
    done = judged.aib("rerun", "-m", "acme/one,acme/two", "--runs", "3", "--yes")

    assert done.returncode == 0, done.stderr
    assert {asked.model for asked in judged.server.played} == {"acme/one", "acme/two"}
