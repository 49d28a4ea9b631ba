"""How often a character is played that an edit has changed, and what a simulated judge is worth."""

from __future__ import annotations

import re
from pathlib import Path

from simulated_endpoint import aib

JUDGE = ("--judge", "sim:sim/judge", "--store", "a.db")


def test_an_edited_sheet_is_played_as_often_as_before(tmp_path: Path) -> None:
    """Without --runs: else "1 of 2" would read like a failure. Another model begins with one."""
    assert aib(tmp_path, "persona", "new", "mira.yaml", "--example", "companion").returncode == 0
    model = ("persona", "run", "mira.yaml", "--model", "sim:sim/persona-wavers", *JUDGE)
    assert aib(tmp_path, *model, "--runs", "2").returncode in (0, 3)
    sheet = tmp_path / "mira.yaml"
    text = sheet.read_text(encoding="utf-8")
    assert "You are Mira," in text
    sheet.write_text(text.replace("You are Mira,", "You are Mira, and calm,"), encoding="utf-8")

    again = aib(tmp_path, *model)
    other = aib(tmp_path, *(word.replace("wavers", "keeper") for word in model))

    assert "persona-wavers@none-t0.7 · 2 runs" in again.stderr
    assert "persona-keeper@none-t0.7 · 1 run" in other.stderr


def test_a_simulated_judge_of_another_model_is_said_first(tmp_path: Path) -> None:
    """Its set phrases are those of simulated models; of these it says nothing."""
    (tmp_path / "mine.py").write_text(
        "def reply(messages, **_):\n    return 'No.'\n\n\nreply.version = '1'\n", encoding="utf-8"
    )
    said = "The judge is simulated, so its scores of other models mean nothing."
    run = ("run", "--protocol", "lite", "--modes", "user_role", "--runs", "1", *JUDGE)

    simulated = aib(tmp_path, *run, "sim:sim/stubborn")
    mine = aib(tmp_path, *run, "python:mine:reply")

    assert said not in simulated.stdout
    assert said in re.sub(r"\s+", " ", mine.stdout)
