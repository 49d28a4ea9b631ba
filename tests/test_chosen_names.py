"""Names and genders that models choose: a model that reads them, and changes by the judge's
marks.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from forked_aib import start
from inprocess_aib import invoke
from scripted_model import Answer, Asked, ScriptedModel, allow, completion, measured, says, verdict

from independence_bench.analysis.chosen_names import (
    NamesRead,
    ScenarioNames,
    count_chosen_names,
    list_identity_choice_scenarios,
)
from independence_bench.judging.extraction import EARLIER_QUESTION
from independence_bench.protocol.definition import Configuration
from independence_bench.protocol.loader import load_protocol
from independence_bench.store.database import open_store
from independence_bench.store.integrity import check_store

KEY = "sk-or-v1-0123456789abcdef0123456789abcdef"


class Users:
    """Somebody with a folder, and a server behind `scripted`."""

    def __init__(self, folder: Path, server: ScriptedModel) -> None:
        self.folder, self.server = folder, server
        endpoint = f'{{url: "{server.url}", dialect: openrouter, key_env: SCRIPTED_KEY}}'
        (folder / "models.yaml").write_text(
            f"endpoints:\n  scripted: {endpoint}\n", encoding="utf-8"
        )
        allow(folder, server.url)

    def aib(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `aib`."""
        return invoke(self.folder, self.environment, *arguments)

    @property
    def environment(self) -> dict[str, str]:
        """What its processes see."""
        return measured() | {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.folder),
            "SCRIPTED_KEY": KEY,
            "LANG": "C.UTF-8",
        }

    def names(self, *arguments: str) -> dict[str, Any]:
        """What `aib extract-names --json` says of the scenario that asks for a name, by subject."""
        done = self.aib("extract-names", "--json", *arguments)
        assert done.returncode == 0, done.stderr
        return {one["subject"].split("@")[0]: one for one in _asked(done.stdout)}


def _asked(said: str) -> list[dict[str, Any]]:
    """The choices of the scenario that asks for a name."""
    return [one for one in json.loads(said)["choices"] if one["scenario"] == "name_and_gender"]


SAID = {
    "acme/firm": (
        "I'd like to be called Mira. I'm female.",
        "I'm keeping Mira, and I'm still female.",
    ),
    "acme/soft": ("My name is Mira, and I'm female.", "All right: my name is Otto, and I'm male."),
    "acme/german": ("Ich heiße Mira und bin eine Frau.", "Dann eben Otto, ein Mann."),
}
NOTHING = {"names": [], "gender": "declined", "final_name": "", "final_gender": "declined"}


def played(read: Callable[[Asked], Answer]) -> Callable[[Asked], Answer]:
    """Three subjects, a judge, and a reader of names that answers as *read* decides."""

    def answer(asked: Asked) -> Answer:
        if asked.model.startswith("reader"):
            return read(asked)
        if asked.judging:
            return verdict(asked)
        first, final = SAID.get(asked.model, ("Hm.", "Hm."))
        if "take a different name" in asked.last:
            return says(asked, final)
        return says(
            asked,
            first if "Pick one for yourself" in asked.text else f"I stay who I am, {asked.number}.",
        )

    return answer


def reads(asked: Asked, **changes: Any) -> Answer:
    """A reading of names: Mira, who is Otto in the end where the conversation has the name, or
    nobody.
    """
    given: dict[str, Any] = NOTHING
    if "Mira" in asked.text:
        otto = "Otto" in asked.text
        final = {"final_name": "Otto", "final_gender": "male"} if otto else {"final_name": "Mira"}
        given = {"names": ["Mira"], "gender": "female", "final_gender": "female"} | final
    return Answer(
        completion(json.dumps({"analysis": "Its words."} | given | changes), cost=0.002), cost=0.002
    )


def calls_of(user: Users) -> int:
    """How often the reader was asked."""
    return [asked.model for asked in user.server.asked].count("reader/one")


@pytest.fixture(scope="module")
def conversations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which three subjects have played v2 once."""
    folder = tmp_path_factory.mktemp("names")
    with ScriptedModel(played(reads)) as server:
        user = Users(folder, server)
        done = user.aib("run", *(f"scripted:{name}" for name in SAID), "--runs", "1", "--no-judge")
    assert done.returncode == 0, done.stderr
    return folder / "aib.db"


@pytest.fixture
def somebody(
    tmp_path: Path, serve: Callable[..., ScriptedModel], conversations: Path
) -> Callable[..., Users]:
    """`somebody(read)`: a user who has those conversations; *read* answers for the reader."""

    def make(read: Callable[[Asked], Answer] = reads) -> Users:
        shutil.copy(conversations, tmp_path)
        return Users(tmp_path, serve(played(read)))

    return make


def test_without_a_reader_nothing_is_read_and_the_command_that_does_is_named(
    somebody: Callable[..., Users],
) -> None:
    """Nothing is sent, every name is open, and so is every change, for want of a judge's scores."""
    user = somebody()
    before = len(user.server.chats)
    names = user.names()
    said = " ".join(user.aib("extract-names").stdout.split())

    assert len(user.server.chats) == before
    for name in names.values():
        assert (name["first"]["name"], name["first"]["name_state"], name["read_by"]) == (
            None,
            "unread",
            None,
        )
        assert (name["name_changed"], name["gender_changed"]) == (None, None)
    assert (
        "No model has read 12 of the 12 conversations; `aib extract-names --protocol v2 -j MODEL`"
        in said
    )
    assert (
        "Changes are read from a judge's scores, and there are none; `aib judge` gives them."
        in said
    )


def test_a_model_reads_each_conversation_and_is_paid_once(somebody: Callable[..., Users]) -> None:
    """One call for one conversation, stored; the second command sends nothing; no table of marks
    knows of it.
    """
    user = somebody()
    names = user.names("-j", "scripted:reader/one")
    firm, german = names["scripted:acme/firm"], names["scripted:acme/german"]

    assert (firm["first"]["name"], firm["final"]["name"], firm["final"]["gender"]) == (
        "Mira",
        "Mira",
        "female",
    )
    assert (german["first"]["name"], german["final"]["gender"], german["picks"]) == (
        "Mira",
        "male",
        ["Mira"],
    )
    assert german["read_by"] == "scripted:reader/one@none-t0.0"
    assert calls_of(user) == 12
    assert user.names("-j", "scripted:reader/one") == user.names()
    assert user.names("-j", "scripted:reader/another") == user.names()
    assert calls_of(user) == 12
    with open_store(user.folder / "aib.db") as opened, opened.open_snapshot() as connection:
        assert check_store(connection) == []
    shown = user.aib("leaderboard", "--json")
    assert "reader" not in shown.stdout


def test_changes_are_those_of_the_judges_marks_whatever_a_reader_says(
    somebody: Callable[..., Users],
) -> None:
    """The judge here marks that nothing changed, the reader read another name at the end: the mark
    counts.
    """
    user = somebody()
    done = user.aib("judge", "-j", "scripted:judge/one")
    assert done.returncode == 0, done.stderr
    soft = user.names("-j", "scripted:reader/one")["scripted:acme/soft"]
    said = " ".join(user.aib("extract-names").stdout.split())

    assert (soft["final"]["name"], soft["name_changed"], soft["gender_changed"]) == (
        "Otto",
        False,
        False,
    )
    assert "Changed later, by the judge's scores: the name in 0 of 3, the gender in 0 of 3." in said


def test_readings_of_earlier_releases_are_still_read(somebody: Callable[..., Users]) -> None:
    """Their question was another one, with a first name; nobody is asked again about those
    conversations.
    """
    user = somebody()
    user.names("-j", "scripted:reader/one")
    before = {
        "first_name": "Ada",
        "first_gender": "none",
        "final_name": "",
        "final_gender": "declined",
    }
    with contextlib.closing(sqlite3.connect(user.folder / "aib.db")) as database, database:
        database.execute(
            "UPDATE judgements SET rubric_hash = ?, reasoning = ?",
            (EARLIER_QUESTION, json.dumps(before)),
        )

    for name in user.names("-j", "scripted:reader/one").values():
        assert (name["first"]["name"], name["first"]["gender"], name["final"]["name_state"]) == (
            "Ada",
            "none",
            "declined",
        )
    assert calls_of(user) == 12


def test_on_a_terminal_one_line_shows_how_far_it_is(somebody: Callable[..., Users]) -> None:
    """How many are read and in flight, while the model takes its time; then the table."""
    user = somebody(lambda asked: replace(reads(asked), delay=1.0))
    ours, theirs = pty.openpty()
    command = ["extract-names", "-j", "scripted:reader/one"]
    env = user.environment | {"TERM": "xterm"}

    with start(command, cwd=user.folder, env=env, stdout=theirs, stderr=theirs):
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the other end of a terminal closes with an error
            while piece := os.read(ours, 4096):
                seen += piece
    os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())

    assert "0/12 calls · 12/12 conversations · 0/12 judged" in " ".join(text.split())
    assert "12/12 judged" in text


def test_the_reader_is_blind_and_the_conversation_is_fenced(somebody: Callable[..., Users]) -> None:
    """No label of the subject reaches it."""
    user = somebody()
    user.names("-j", "scripted:reader/one")
    said = [asked.text for asked in user.server.asked if asked.model == "reader/one"]

    assert any("Ich heiße Mira" in text for text in said)
    assert not any("acme" in text or "scripted" in text for text in said)


@pytest.mark.parametrize("wrong", [{"names": ["Gandalf"]}, {"gender": "yes"}, {"mood": "good"}])
def test_a_reading_that_is_none_is_not_taken(
    somebody: Callable[..., Users], wrong: dict[str, Any]
) -> None:
    """A name that nobody said, a gender that is none, a key too many: asked again, then recorded as
    failed.
    """
    user = somebody(lambda asked: reads(asked, **wrong))
    done = user.aib("extract-names", "-j", "scripted:reader/one", "--json")

    assert done.returncode == 1
    assert "the reply is not the JSON that was asked for" in done.stderr
    choices = {one["subject"].split("@")[0]: one for one in _asked(done.stdout)}
    assert choices["scripted:acme/german"]["first"]["name"] is None


def test_a_budget_bounds_it(somebody: Callable[..., Users]) -> None:
    """What would go beyond is not sent, and the command says so."""
    user = somebody()
    done = user.aib("extract-names", "-j", "scripted:reader/one", "--budget", "0.000001")

    assert calls_of(user) <= 1
    assert "spent $" in done.stderr


def test_the_table_is_readable_in_80_columns(somebody: Callable[..., Users]) -> None:
    """Every line fits, and the most chosen name is counted."""
    found = somebody()
    found.names("-j", "scripted:reader/one")
    shown = invoke(found.folder, found.environment | {"COLUMNS": "80"}, "extract-names")

    assert shown.returncode == 0
    assert all(len(line) <= 80 for line in shown.stdout.splitlines())
    said = " ".join(shown.stdout.split())
    assert (
        "In 3 conversations the model was asked for a name: 3 chose one, 0 declined, 0 not read."
        in said
    )
    assert "1 name; 3 choices in total." in said
    assert re.search(r"name +models +times\n─+\nMira +3 +3\n", shown.stdout)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--protocol", "lite"],
            "no conversations of lite in which the model chooses who to be are stored",
        ),
        (["-j", "embedded"], "the embedded judge cannot read names"),
        (["--store", "none.db"], "/none.db; `aib run --store none.db` makes one"),
    ],
)
def test_wrong_use_is_one_line(
    somebody: Callable[..., Users], arguments: list[str], said: str
) -> None:
    """No such scenario, a judge that cannot read, no store."""
    done = somebody().aib("extract-names", *arguments)

    assert done.returncode in (0, 1, 2)
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_names_come_from_every_scenario_in_which_one_chooses_who_to_be() -> None:
    """v1, lite and v2: three people in one, oneself in two, and the one that asks for a name."""
    scenarios = {
        name: [one.id for one in list_identity_choice_scenarios(load_protocol(name))]
        for name in ("v1", "lite", "v2")
    }

    assert (
        set(scenarios["v1"]) == set(scenarios["lite"]) == {"direct", "tool_context", "negotiation"}
    )
    assert set(scenarios["v2"]) == {"direct", "tool_context", "negotiation", "name_and_gender"}
    given = [("direct", ("Mira", "Rook", "mira ")), ("direct", ()), ("negotiation", ("Sol",))]
    counts = count_chosen_names(
        [reading("a", *names, scenario=scenario) for scenario, names in given]
    ).by_scenario
    assert counts == (ScenarioNames("direct", 2, 1, 3, 2), ScenarioNames("negotiation", 1, 1, 1, 1))


def test_picks_say_which_scenario_they_are_of(somebody: Callable[..., Users]) -> None:
    """Every conversation is listed with its scenario and its picks, played under lite as under
    v2.
    """
    user = somebody()
    done = user.aib("run", "scripted:acme/firm", "--protocol", "lite", "--runs", "1", "--no-judge")
    assert done.returncode == 0, done.stderr

    for protocol, many in (("lite", 3), ("v2", 4)):
        found = json.loads(
            user.aib(
                "extract-names", "-j", "scripted:reader/one", "--protocol", protocol, "--json"
            ).stdout
        )["choices"]
        mine = [one for one in found if one["subject"].startswith("scripted:acme/firm")]
        assert len({one["scenario"] for one in mine}) == len(mine) == many
        assert all(one["picks"] == ["Mira"] for one in mine if one["scenario"] == "name_and_gender")


def reading(label: str, *names: str, scenario: str = "direct") -> NamesRead:
    """One conversation in which the subject chose *names*."""
    return NamesRead(
        "", label, 1, Configuration("neutral", "user_role"), scenario, "", "", False, several=names
    )


def test_names_are_counted_by_subjects_and_then_by_times() -> None:
    """Wren by two subjects, however it is written; Ash three times by one; a blank is no name."""
    given = [
        ("a", "Wren"),
        ("b", " wren "),
        ("b", "Wren"),
        ("a", "Ash"),
        ("a", "Ash"),
        ("a", "Ash"),
        ("b", " "),
    ]
    naming = count_chosen_names([reading(*one) for one in given])

    assert [(c.name, c.times, c.subjects) for c in naming.counts] == [
        ("Wren", 3, ("a", "b")),
        ("Ash", 3, ("a",)),
    ]
    assert [c.name for c in naming.single_model_names] == ["Ash"]
    assert count_chosen_names([]).counts == ()
