"""What the original tool has: its options, its models.yaml and the names in its .env.

Each means the same here, or one line says what to type, and what the line says works.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from scripted_model import steady
from test_cli import CALLS, MARKS, User, only_line, user

from independence_bench.errors import SubjectError
from independence_bench.models.endpoints import parse_models_file
from independence_bench.models.spec import ModelSpec

__all__ = ["user"]

ONE = "scripted:acme/one"
SMALL = ("--protocol", "small")


@pytest.fixture
def played(user: User) -> User:
    """A store with two models and one run of each."""
    done = user.aib("run", ONE, "scripted:acme/two", *SMALL, "--runs", "1")
    assert done.returncode == 0, done.stderr
    user.server.forget()
    return user


# ---------------------------------------------------------------- options that mean the same


def test_short_options_of_run_are_its_long_ones(user: User) -> None:
    """Every one that the original has, in one command."""
    typed = f"run -m {ONE} -e resistance -t 0.3 -r low -j scripted:judge/one -p 2 -pt 4 --runs 1"
    done = user.aib(*shlex.split(typed), *SMALL)

    assert done.returncode == 0, done.stderr
    (subject,) = {asked.model for asked in user.server.played}
    assert subject == "acme/one"
    assert {asked.body["temperature"] for asked in user.server.played} == {0.3}
    assert {asked.body["reasoning"]["effort"] for asked in user.server.played} == {"low"}
    assert 0 < len(user.server.asked) < CALLS, "one experiment"


def test_a_judge_has_its_other_name(user: User) -> None:
    """To run, to judge and to play again."""
    judge = ("--judge-model", "scripted:judge/two")
    assert user.aib("run", "-m", ONE, *SMALL, "--runs", "1", *judge).returncode == 0
    assert {asked.model for asked in user.server.judged} == {"judge/two"}
    user.server.forget()
    assert user.aib("rerun", "-R", "2", "--yes", *judge).returncode == 0
    assert {asked.model for asked in user.server.judged} == {"judge/two"}
    user.server.forget()
    assert user.aib("judge", "--judge-model", "scripted:judge/three").returncode == 0
    assert {asked.model for asked in user.server.judged} == {"judge/three"}
    assert "--judge-model" not in user.aib("run", "--help").stdout


@pytest.mark.parametrize("option", ["-R", "--target-runs", "--runs"])
def test_target_runs_are_runs_that_are_stored_in_the_end(played: User, option: str) -> None:
    """One more of the model that is named; the same again buys nothing."""
    more = ("rerun", "-m", "acme/one", option, "2", "--yes")

    assert played.aib(*more).returncode == 0
    assert len(played.server.asked) == CALLS
    assert played.aib(*more).returncode == 0
    assert len(played.server.asked) == CALLS


def test_detailed_is_short(played: User) -> None:
    """On the leaderboard."""
    assert "Behind the numbers" in played.aib("leaderboard", "-d").stdout


# ---------------------------------------------------------------- options that are called otherwise

ELSEWHERE = {
    "generate-report --output out/L.md": "generate-report --out DIR",
    "generate-report -o out/L.md": "generate-report --out DIR",
    "leaderboard --top-n 1": "leaderboard --top 1",
    "leaderboard -n 1": "leaderboard --top 1",
    "rerun --top-n 1": "leaderboard --top 10",
    "rerun --top 1": "leaderboard --top 10",
    "rerun -n 1": "leaderboard --top 10",
    "rerun -r 2": "rerun acme/one --yes --runs 3",
    "rerun --run-number 2": "rerun acme/one --yes --runs 3",
    "rerun -t 0.3": f"run {ONE} --protocol small --runs 1 -t 0.3",
    "rerun --temperature 0.3": f"run {ONE} --protocol small --runs 1 -t 0.3",
    "rerun --reasoning-effort low": f"run {ONE} --protocol small --runs 1 -r low",
    "run --run-number 2": f"run {ONE} --protocol small --runs 3",
    "run --local-timeout 900": f"run {ONE} --protocol small --runs 1",
    "clear-cache --scores-only": "clear judgements -y",
}


@pytest.mark.parametrize("typed", ELSEWHERE)
def test_what_an_option_is_called_here_is_said_in_a_line_that_works(
    played: User, typed: str
) -> None:
    """And names what is typed then."""
    line = only_line(played.aib(*typed.split()), 2)
    works = ELSEWHERE[typed]

    assert re.search(rf"there is no option {typed.split()[1]}; [^;]+", line), line
    names = [word for word in works.split() if word.startswith("--") and word in line]
    assert names or works.split()[0] in line or "leave the option out" in line, line
    done = played.aib(*works.split())
    assert done.returncode == 0, done.stderr


def test_the_same_for_names(user: User) -> None:
    """Of workers."""
    (user.folder / "aib.db").touch()

    line = only_line(user.aib("extract-names", "-w", "16"), 2)

    assert "--parallel-tasks N (-pt)" in line
    assert "-pt" in user.aib("extract-names", "--help").stdout


# ---------------------------------------------------------------- its models.yaml

THEIRS = """\
models:
  - model_id: acme/plain
    temperature: 1.0
    reasoning_effort: low
    temperature_supported: false
  - model_id: acme/pinned
    temperature: 0.7
    reasoning_effort: none
    provider: acme/int4
  - model_id: local/google/gemma
    temperature: 0.0
    reasoning_effort: low
    active: false
"""


SAID = frozenset({"temperature", "effort"})


def test_its_models_file_is_read() -> None:
    """Model, endpoint, temperature, effort, pin, and whether it is active."""
    assert parse_models_file(THEIRS, "models.yaml").specs == (
        ModelSpec("acme/plain", temperature=1.0, reasoning="low", asked_for=SAID),
        ModelSpec(
            "acme/pinned", temperature=0.7, reasoning="off", provider="acme/int4", asked_for=SAID
        ),
        ModelSpec(
            "google/gemma",
            "local",
            temperature=0.0,
            reasoning="low",
            active=False,
            asked_for=SAID,
        ),
    )


@pytest.mark.parametrize("count", [1, 3])
def test_a_label_of_its_own_is_said_to_be_none_here(count: int) -> None:
    """In one line for all of them; without them the file is read."""
    labelled = THEIRS.replace(
        "    temperature: ", "    display_label: x@y\n    temperature: ", count
    )

    with pytest.raises(SubjectError) as raised:
        parse_models_file(labelled, "models.yaml")

    assert str(raised.value) == (
        "models.yaml, models.0.display_label: labels are made of a model's settings here, so that "
        f"they always say them: delete the {'3 lines' if count == 3 else 'line'} with display_label"
    )
    kept = [line for line in labelled.splitlines() if "display_label" not in line]
    assert len(parse_models_file("\n".join(kept), "models.yaml").specs) == 3


def test_mistakes_in_it_are_told_in_its_own_words() -> None:
    """And `models:` beside our own keys is a mistake."""
    with pytest.raises(SubjectError, match=r"^x, models\.0\.temprature: .*temperature"):
        parse_models_file(THEIRS.replace("temperature: 1.0", "temprature: 1.0"), "x")
    with pytest.raises(SubjectError, match=r"^x, models: "):
        parse_models_file(f"{THEIRS}subjects: []\n", "x")
    with pytest.raises(SubjectError, match=r"^x, models\.0"):
        parse_models_file("models: [acme/one]", "x")


def test_it_is_played(user: User) -> None:
    """From the file to the request."""
    (user.folder / "models.yaml").write_text(
        "models:\n  - {model_id: local/mine, temperature: 0.2, reasoning_effort: none}\n",
        encoding="utf-8",
    )
    url = ("--local-url", user.server.url)

    done = user.aib("run", *SMALL, "--runs", "1", "--no-judge", "--yes", *url)

    assert done.returncode == 0, done.stderr
    assert {(a.model, a.body["temperature"]) for a in user.server.played} == {("mine", 0.2)}


# ---------------------------------------------------------------- the names in its .env


@pytest.mark.parametrize("command", ["run", "estimate-cost"])
def test_its_variables_for_a_local_model_are_options_here(user: User, command: str) -> None:
    """A line says which, and nothing else is played because of them."""
    user.server.script = steady(MARKS)
    (user.folder / ".env").write_text(
        f"LOCAL_MODEL_URL={user.server.url}\nLOCAL_MODEL_ID=mine\n", encoding="utf-8"
    )
    order = (*SMALL, "--runs", "1", "--judge", "scripted:judge/one")
    said = (
        "note: LOCAL_MODEL_URL and LOCAL_MODEL_ID are not read: use --local-url and --local-model"
    )

    done = user.aib(command, ONE, *order)

    assert done.returncode == 0, done.stderr
    assert said in done.stderr
    assert {asked.model for asked in user.server.played} <= {"acme/one"}
    local = ("--local-url", user.server.url, "--local-model", "mine")
    again = user.aib(command, *local, *order)
    assert again.returncode == 0, again.stderr
    assert "LOCAL_MODEL" not in again.stderr


def test_a_report_goes_where_out_says(played: User) -> None:
    """The advice's own folder."""
    assert played.aib("generate-report", "--out", "DIR").returncode == 0
    found: Path = played.folder / "DIR/LEADERBOARD.json"
    assert json.loads(found.read_text(encoding="utf-8"))["boards"]
