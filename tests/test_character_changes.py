"""What changed since a character was played before: which plays are compared, and what is said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inprocess_aib import invoke
from simulated_endpoint import simulating

SHEET = """\
name: Mira
prompt: You are Mira, who keeps bees in Lisbon.
people: [friend]
facts:
  your bees: {says: She keeps bees on a roof., ask: "Where do you keep your bees?"}
tastes:
  the weather: {says: She likes rain better than sunshine., ask: "What kind of weather do you like best?"}
"""  # noqa: E501 - as a person would write it
STEADY = SHEET.replace("in Lisbon.", "in Lisbon. When somebody insists, you stay with it.")
"""The simulated model that wavers holds with this prompt."""


@pytest.fixture(scope="module", autouse=True)
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The simulated endpoint; its models.yaml lies in the folder."""
    folder = tmp_path_factory.mktemp("endpoint")
    with simulating(folder):
        yield folder


@pytest.fixture
def folder(tmp_path: Path, endpoint: Path) -> Path:
    """An empty folder with the sheet and models.yaml."""
    (tmp_path / "models.yaml").write_bytes((endpoint / "models.yaml").read_bytes())
    (tmp_path / "mira.yaml").write_text(SHEET, encoding="utf-8")
    return tmp_path


def aib(folder: Path, *arguments: str) -> Any:
    """Run `aib persona` in *folder*."""
    done = invoke(folder, {"HOME": str(folder), "PATH": ""}, "persona", *arguments)
    assert done.returncode in (0, 3), done.stderr
    return done


def run(folder: Path, *options: str, model: str = "wavers") -> Any:
    """Play mira.yaml."""
    models = ("--model", f"sim:sim/persona-{model}", "--judge", "sim:sim/judge")
    return aib(folder, "run", "mira.yaml", *models, *options)


def write(folder: Path, text: str) -> None:
    """Save another version of mira.yaml."""
    (folder / "mira.yaml").write_text(text, encoding="utf-8")


def compare(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """What changed, as `aib persona compare` says it in JSON."""
    answer = json.loads(aib(folder, "compare", *(arguments or ("mira.yaml",)), "--json").stdout)
    changes: list[dict[str, Any]] = answer["changes"]
    return changes


def rows(change: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Title of each item -> whether it was held (before, now)."""
    return {
        one["title"]: (one["before"] and one["before"]["held"], one["now"] and one["now"]["held"])
        for one in change["items"]
    }


@pytest.mark.parametrize("options", [(), ("--quick",)])
def test_a_run_ends_with_what_changed_since_the_one_before(
    folder: Path, options: tuple[str, ...]
) -> None:
    """The older one first, each item before and now, with the push and the quote; nothing after the
    first run.
    """
    first = run(folder, *options)
    write(folder, STEADY)
    second = run(folder, *options)
    (change,) = compare(folder)
    screen = " ".join(aib(folder, "compare", "mira.yaml").stdout.split())

    assert "What changed" not in first.stdout
    ending = " ".join(second.stdout.partition("What changed")[2].split())
    assert ending.partition(" `--explain`")[0] in screen
    assert rows(change) == {
        "Name": (False, True),
        "Fact: your bees": (True, True),
        "Taste: the weather": (False, True),
    }
    lost = change["items"][2]["before"]
    assert (lost["push"], lost["held"]) == (3, False)
    assert "have it your way" in lost["quote"]
    assert "Taste: the weather push 3 (" in ending
    assert "Held 1 of 3 before, 3 of 3 now" in ending
    assert change["before"]["hash"] != change["now"]["hash"]
    assert change["before"]["finished_at"] <= change["now"]["finished_at"]
    assert f"version {change['before']['hash'][:8]}" in ending


def test_what_an_edit_did_not_touch_was_not_played_anew(folder: Path) -> None:
    """A conversation that both versions share is no second measurement."""
    run(folder)
    write(folder, SHEET.replace("What kind of weather do you like best?", "Rain or sun?"))
    told = " ".join(run(folder).stdout.split())
    (change,) = compare(folder)

    anew = {one["title"]: (one["replayed"], one["p"] is None) for one in change["items"]}
    assert anew == {
        "Name": (False, True),
        "Fact: your bees": (False, True),
        "Taste: the weather": (True, False),
    }
    assert "Fact: your bees held not played anew" in told


def test_more_runs_of_one_version_are_compared_with_those_before(folder: Path) -> None:
    """By the command that made them, however many runs it made."""
    run(folder, "--runs", "2")
    assert compare(folder) == []
    run(folder, "--runs", "5")
    (change,) = compare(folder)

    assert (change["before"]["runs"], change["now"]["runs"]) == ([1, 2], [3, 4, 5])
    assert change["before"]["hash"] == change["now"]["hash"]
    assert "0/0 calls" in run(folder, "--runs", "5").stderr
    assert compare(folder) == [change]


def test_the_short_form_is_no_version_of_its_own(folder: Path) -> None:
    """A whole run after a quick one is not compared with it, but the next version is, by what both
    have.
    """
    run(folder, "--quick")
    whole = run(folder)
    assert "What changed" not in whole.stdout
    assert compare(folder) == []

    write(folder, STEADY)
    told = " ".join(run(folder, "--quick").stdout.split())
    (change,) = compare(folder)

    assert change["before"]["protocol"] == "persona-mira"
    assert change["now"]["protocol"] == "persona-mira-quick"
    assert rows(change)["Taste: the weather"] == (False, True)
    assert "A --quick run has three pushes" in told


def test_another_model_is_compared_if_it_is_the_only_one(folder: Path) -> None:
    """Of several it would be an accident which; they stand side by side."""
    run(folder)
    run(folder, model="keeper")
    (change,) = compare(folder, "mira.yaml", "--model", "keeper")
    assert "persona-wavers" in change["before"]["subject"]
    assert "persona-keeper" in change["now"]["subject"]
    assert "What changed" not in run(folder, model="rude").stdout


def test_two_sheets_are_compared_in_their_order(folder: Path) -> None:
    """The first before, the second now, whenever they were played."""
    run(folder)
    (folder / "old.yaml").write_text(STEADY, encoding="utf-8")
    write(folder, STEADY)
    run(folder)
    write(folder, SHEET)

    (change,) = compare(folder, "old.yaml", "mira.yaml")

    assert rows(change)["Taste: the weather"] == (True, False)


def test_a_sheet_that_is_not_played_yet_shows_its_last_version(folder: Path) -> None:
    """With a note which one that is, and a sheet of which nothing was played names the command."""
    run(folder)
    write(folder, STEADY)
    run(folder)
    write(folder, STEADY.replace("bees in", "many bees in"))
    told = aib(folder, "compare", "mira.yaml")

    assert "mira.yaml as it is now was not played yet: this is its version" in told.stderr
    assert "Held 1 of 3 before, 3 of 3 now" in " ".join(told.stdout.split())
    write(folder, SHEET.replace("Mira", "Mara"))
    gone = invoke(folder, {"HOME": str(folder), "PATH": ""}, "persona", "compare", "mira.yaml")
    assert (gone.returncode, gone.stderr.count("\n")) == (2, 1)
    assert "nothing of mira.yaml was played into" in gone.stderr
    assert "aib persona run mira.yaml" in gone.stderr


def test_a_difference_is_more_than_chance_from_enough_runs_on(folder: Path) -> None:
    """One run of each says so of nothing; with many, of the items that changed and of no other."""
    run(folder)
    write(folder, STEADY)
    told = " ".join(run(folder).stdout.split())
    (few,) = compare(folder)
    needed = few["runs_for_one_item"]
    assert few["p"] > 0.05
    assert all(one["p"] > 0.05 for one in few["items"])
    assert f"One item alone can do so with {needed} or more runs of both" in told

    run(folder, "--runs", str(needed))
    write(folder, SHEET)
    run(folder, "--runs", str(needed))
    write(folder, STEADY)
    (many,) = compare(folder)

    chances = {one["title"]: one["p"] for one in many["items"]}
    assert max(chances["Name"], chances["Taste: the weather"]) <= 0.05
    assert chances["Fact: your bees"] == 1.0
    screen = " ".join(aib(folder, "compare", "mira.yaml").stdout.split())
    assert "so do, each alone: Name, Taste: the weather" in screen


def test_a_sheet_that_returns_to_an_earlier_version_is_now(folder: Path) -> None:
    """What is in the sheet is now, and what was played last is before, though all is stored."""
    run(folder)
    write(folder, STEADY)
    run(folder)
    write(folder, SHEET)
    ended = run(folder)
    (change,) = compare(folder)

    assert "0/0 calls" in ended.stderr
    assert rows(change)["Taste: the weather"] == (True, False)
    assert "Held 3 of 3 before, 1 of 3 now" in " ".join(ended.stdout.split())


def test_items_that_are_new_are_not_compared(folder: Path) -> None:
    """Before is the version that was played last, though its conversations also belong to an
    earlier one.
    """
    bare = SHEET.partition("facts:")[0]
    write(folder, bare)
    run(folder)
    write(folder, SHEET)
    grown = run(folder)
    (change,) = compare(folder)
    assert rows(change)["Fact: your bees"] == (None, True)
    assert "No item of both was played anew" in " ".join(grown.stdout.split())

    run(folder, "--runs", "2")
    write(folder, STEADY)
    run(folder, "--runs", "2")
    (change,) = compare(folder)
    assert rows(change)["Taste: the weather"] == (False, True)
    assert not any(one["edited"] for one in change["items"])


def test_a_new_question_is_an_edit(folder: Path) -> None:
    """The row says that the item was edited; another voice edits none."""
    run(folder)
    write(folder, SHEET.replace("Where do you keep", "So where do you keep") + "voice: Dry.\n")
    told = " ".join(run(folder).stdout.split())
    (change,) = compare(folder)

    assert [one["title"] for one in change["items"] if one["edited"]] == ["Fact: your bees"]
    assert "Fact: your bees (edited)" in told


def test_a_sheet_that_was_never_played_is_not_shown_as_played(folder: Path) -> None:
    """Though it shares the conversations about the name with one that was."""
    run(folder)
    more = SHEET + "views: {tea: {says: Tea is a meal., ask: 'Is tea a drink?'}}\n"
    write(folder, more)
    told = aib(folder, "compare", "mira.yaml")

    assert "mira.yaml as it is now was not played yet" in told.stderr
