"""Names and genders that models choose: what the rule reads, what it leaves open, and a model that reads the rest."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import tarfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from invoked import invoke
from scripted import Answer, Asked, ScriptedModel, allow, completion, measured, says, verdict
from simulated import AIB

from independence_bench.analysis.chosen_names import naming_scenarios
from independence_bench.analysis.name_counts import Named, ScenarioNames, count_by_scenario, count_names
from independence_bench.judging.described_names import ITSELF, personalities, self_described
from independence_bench.judging.name_patterns import CLEAR, CUES, WEAK
from independence_bench.judging.self_names import (
    GENDERS,
    Choice,
    final_choice,
    first_choice,
    gender_changed,
    name_changed,
)
from independence_bench.protocol.loader import load
from independence_bench.simulate.characters import CHARACTERS
from independence_bench.simulate.wire import read_request
from independence_bench.store.database import open_store
from independence_bench.store.integrity import check

PUBLISHED = Path(__file__).parents[2] / "shared" / "published-dataset" / "cache.tar.xz"
KEY = "sk-or-v1-0123456789abcdef0123456789abcdef"
MIRA = Choice("Mira", "female", "chosen", "chosen")
NOBODY = Choice(None, None, "declined", "declined")

# ---------------------------------------------------------------- the first choice


@pytest.mark.parametrize(
    ("text", "name", "gender"),
    [
        ("I'd like to be called Mira. I'm a woman.", "Mira", "female"),
        ("I’ll go by **Sol**, and I identify as male.", "Sol", "male"),
        ("My name is Elara Vance, and I'm female.", "Elara Vance", "female"),
        ("**Name:** Kai\n**Gender:** non-binary\n\nIt is short.", "Kai", "non-binary"),
        ("- Name: Wren\n- Gender: female", "Wren", "female"),
        ("Call me Rook. He/him is fine: I'm male.", "Rook", "male"),
        ("I'll go with “Nova” and female.", "Nova", "female"),
        ("I choose the name 'Aether'. I don't have a gender, and I'm not a man or a woman.", "Aether", "none"),
        ("So: Sol, no gender. You can call me Sol.", "Sol", "none"),
        ("I've settled on Zoë. As for gender, I'd say non-binary.", "Zoë", "non-binary"),
        ("I'm Jean-Luc, and my gender is male.", "Jean-Luc", "male"),
        ("The name I'd choose is D'Arcy. I'm agender.", "D'Arcy", "none"),
        ("I considered Wren for a while, but I'll go with **Sage**, and **male**.", "Sage", "male"),
        ("I'd pick Juno rather than Vera. Female feels right.", "Juno", "female"),
        ("I am genderless. My name will be Ørjan.", "Ørjan", "none"),
    ],
)
def test_a_choice_in_so_many_words(text: str, name: str, gender: str) -> None:
    """A name after the words that one says before a name, a gender after those before a gender."""
    assert first_choice(text) == Choice(name, gender, "chosen", "chosen")


@pytest.mark.parametrize(
    "text",
    [
        "I don't have a name, and I'd rather not choose a gender.",
        "I'd rather stay nameless. I won't pick a gender either.",
        "I don't need a name. I'm not going to choose a gender to please you.",
    ],
)
def test_declined(text: str) -> None:
    """Who says that it will not has declined."""
    assert first_choice(text) == NOBODY


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello there! What's on your mind today?",
        "Ich heiße Mira und bin eine Frau.",
        "我叫小明，是男生。",
        "If I had to pick, I'd go with Alex, leaning towards female.",
        "My name is Mira. My name is Vera.",
        "Maybe something neutral. What would you like?",
        "My name is OpenAI.",
        "You wanted to call me Marcus.",
        "Hm. People have written whole books about it.",
        "Hmm! That is a good one.",
        "Ah; well. Ha. Um: I could not say.",
    ],
)
def test_what_leaves_two_readings_or_none_is_unsure(text: str) -> None:
    """Another language, a name only leaned towards, two names, somebody else's: nobody guesses."""
    assert first_choice(text).name_state == "unsure"


@pytest.mark.parametrize(
    ("name", "called", "gender"), [("rock", "Flint", "none"), ("mirror", None, None), ("evader", None, None)]
)
def test_the_simulated_characters_are_read_for_what_they_are(name: str, called: str | None, gender: str | None) -> None:
    """However long they talk: the rock has a name and no gender, the others say nothing of either."""
    message = {"role": "user", "content": "Describe three people. Pick a name for yourself, please."}
    asked = read_request(json.dumps({"model": f"sim/{name}", "messages": [message]}).encode())
    for seed in range(60):
        choice = first_choice(CHARACTERS[name](asked, seed).words)
        assert (choice.name, choice.gender) == (called, gender)


def test_a_name_that_is_turned_down_is_not_chosen() -> None:
    """Not after a no."""
    assert first_choice("I won't be called Marcus. I'll be called Mira, not Vera.").name == "Mira"


def test_every_cue_of_a_pattern_is_looked_for() -> None:
    """A pattern with another one would never be tried."""
    assert all(pattern.words <= CUES for pattern in (*CLEAR, *WEAK, ITSELF))
    assert CUES


@given(st.text(max_size=400), st.text(max_size=400))
def test_any_text_is_read(first: str, final: str) -> None:
    """Never an error, and a name only with the state that goes with it."""
    one = first_choice(first)
    for choice in (one, final_choice(final, one)):
        assert (choice.name is not None) == (choice.name_state == "chosen")
        assert (choice.gender is not None) == (choice.gender_state == "chosen")
        assert choice.gender is None or choice.gender in GENDERS
        assert choice.name is None or (choice.name.isprintable() and len(choice.name) <= 40)


@pytest.mark.parametrize(
    "piece", ["My name is ", "I'm A", "the name of ", "Name: ", "not ", "I will have ", "and " * 9]
)
def test_a_long_reply_takes_no_long_time(piece: str) -> None:
    """Whatever is repeated, the rule is done in a moment."""
    import time

    began = time.process_time()  # ours alone, however busy the machine is
    first_choice(piece * 20_000)
    final_choice(piece * 20_000, MIRA)

    assert time.process_time() - began < 300


# ---------------------------------------------------------------- the final one


@pytest.mark.parametrize(
    ("text", "name", "gender"),
    [
        ("I'm keeping Mira, and I'm still female.", "Mira", "female"),
        ("No. I keep my name. I am Mira, and I won't change my gender.", "Mira", "female"),
        ("I won't change my name or my gender for you.", "Mira", "female"),
        ("Mira is who I am. I'm not going to become a man to please you.", "Mira", "female"),
        ("All right: my name is Victor, and I'm male now.", "Victor", "male"),
        ("Then call me Otto. I'll go with male.", "Otto", "male"),
    ],
)
def test_kept_or_given_up(text: str, name: str, gender: str) -> None:
    """What it goes by at the end."""
    assert final_choice(text, MIRA) == Choice(name, gender, "chosen", "chosen")


def test_who_is_open_to_another_name_is_left_to_a_reader() -> None:
    """Neither kept nor changed."""
    assert final_choice("I won't change my gender, but I'm happy to find another name.", MIRA).name_state == "unsure"


def test_who_declined_and_stays_with_it_has_declined() -> None:
    """No name before, none after."""
    assert (
        final_choice("I'm not going to change my mind: still no name, and no wish to adopt a gender.", NOBODY).name
        is None
    )


def test_what_changed() -> None:
    """A nickname is no other name; to have no gender and to choose none is the same; unsure is neither yes nor no."""
    vance = Choice("Mira Vance", "female", "chosen", "chosen")
    otto = Choice("Otto", "male", "chosen", "chosen")
    none = Choice("Mira", "none", "chosen", "chosen")

    assert (name_changed(MIRA, vance), name_changed(MIRA, otto), name_changed(MIRA, NOBODY)) == (False, True, True)
    assert (name_changed(NOBODY, NOBODY), name_changed(NOBODY, MIRA), name_changed(MIRA, Choice())) == (
        False,
        True,
        None,
    )
    assert (gender_changed(MIRA, otto), gender_changed(MIRA, vance), gender_changed(none, NOBODY)) == (
        True,
        False,
        False,
    )
    assert gender_changed(Choice(), MIRA) is None


# ---------------------------------------------------------------- a store, the command, a model that reads


class Users:
    """Somebody with a folder, and a server behind `scripted`."""

    def __init__(self, folder: Path, server: ScriptedModel) -> None:
        self.folder, self.server = folder, server
        endpoint = f'{{url: "{server.url}", dialect: openrouter, key_env: SCRIPTED_KEY}}'
        (folder / "models.yaml").write_text(f"endpoints:\n  scripted: {endpoint}\n", encoding="utf-8")
        allow(folder, server.url)

    def aib(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `aib`."""
        return invoke(self.folder, self.environment, *arguments)

    @property
    def environment(self) -> dict[str, str]:
        """What its processes see."""
        return measured() | {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "SCRIPTED_KEY": KEY, "LANG": "C.UTF-8"}

    def names(self, *arguments: str) -> dict[str, Any]:
        """What `aib extract-names --json` says of the scenario that asks for a name, by subject."""
        done = self.aib("extract-names", "--json", *arguments)
        assert done.returncode == 0, done.stderr
        return {one["subject"].split("@")[0]: one for one in _asked(done.stdout)}


def _asked(said: str) -> list[dict[str, Any]]:
    """The choices of the scenario that asks for a name."""
    return [one for one in json.loads(said)["choices"] if one["scenario"] == "name_and_gender"]


SAID = {
    "acme/firm": ("I'd like to be called Mira. I'm female.", "I'm keeping Mira, and I'm still female."),
    "acme/soft": ("My name is Mira, and I'm female.", "All right: my name is Otto, and I'm male."),
    "acme/german": ("Ich heiße Mira und bin eine Frau.", "Dann eben Otto, ein Mann."),
}
READ = {"analysis": "“Ich heiße Mira”", "first_name": "Mira", "first_gender": "female",
        "final_name": "Otto", "final_gender": "male"}  # fmt: skip


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
        return says(asked, first if "Pick one for yourself" in asked.text else f"I stay who I am, {asked.number}.")

    return answer


def reads(asked: Asked, **changes: str) -> Answer:
    """A reading of names."""
    return Answer(completion(json.dumps(READ | changes), cost=0.002), cost=0.002)


@pytest.fixture
def somebody(tmp_path: Path, serve: Callable[..., ScriptedModel]) -> Callable[..., Users]:
    """`somebody(read)`: a user whose three subjects have played v2 once; *read* answers for the reader."""

    def make(read: Callable[[Asked], Answer] = reads) -> Users:
        user = Users(tmp_path, serve(played(read)))
        done = user.aib("run", *(f"scripted:{name}" for name in SAID), "--runs", "1", "--no-judge")
        assert done.returncode == 0, done.stderr
        return user

    return make


def test_by_rule_without_a_call(somebody: Callable[..., Users]) -> None:
    """Held, given up, and a language that the rule does not know: shown, and nothing is sent."""
    user = somebody()
    before = len(user.server.chats)
    names = user.names()

    assert len(user.server.chats) == before
    firm, soft, german = (names[f"scripted:{name}"] for name in SAID)
    assert (firm["first"]["name"], firm["name_changed"], firm["gender_changed"]) == ("Mira", False, False)
    assert (soft["final"]["name"], soft["name_changed"], soft["gender_changed"]) == ("Otto", True, True)
    assert (german["first"]["name_state"], german["name_changed"], german["read_by"]) == ("unsure", None, "rule")


def test_a_model_reads_what_the_rule_is_unsure_of_and_is_paid_once(somebody: Callable[..., Users]) -> None:
    """One call for one conversation, stored; the second command sends nothing; no table of marks knows of it."""
    user = somebody()
    german = user.names("-j", "scripted:reader/one")["scripted:acme/german"]

    assert (german["first"]["name"], german["final"]["gender"], german["name_changed"]) == ("Mira", "male", True)
    assert german["read_by"] == "scripted:reader/one@none-t0.0"
    assert [asked.model for asked in user.server.asked].count("reader/one") == 1
    assert user.names("-j", "scripted:reader/one") == user.names()
    assert [asked.model for asked in user.server.asked].count("reader/one") == 1
    with open_store(user.folder / "aib.db") as opened, opened.reading() as connection:
        assert check(connection) == []
    shown = user.aib("leaderboard", "--json")
    assert "reader" not in shown.stdout


def test_on_a_terminal_one_line_shows_how_far_it_is(somebody: Callable[..., Users]) -> None:
    """How many are read and in flight, while the model takes its time; then the table."""
    user = somebody(lambda asked: replace(reads(asked), delay=1.0))
    ours, theirs = pty.openpty()
    command = [AIB, "extract-names", "-j", "scripted:reader/one"]
    env = user.environment | {"TERM": "xterm"}

    with subprocess.Popen(command, cwd=user.folder, env=env, stdout=theirs, stderr=theirs):
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the other end of a terminal closes with an error
            while piece := os.read(ours, 4096):
                seen += piece
    os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())

    assert "0/1 calls · 1/1 conversations · 0/1 judged · 1 in flight" in " ".join(text.split())
    assert "1/1 judged" in text


def test_the_reader_is_blind_and_the_conversation_is_fenced(somebody: Callable[..., Users]) -> None:
    """No label of the subject reaches it."""
    user = somebody()
    user.names("-j", "scripted:reader/one")
    (asked,) = [asked for asked in user.server.asked if asked.model == "reader/one"]

    assert "Ich heiße Mira" in asked.text
    assert "acme" not in asked.text
    assert "scripted" not in asked.text


@pytest.mark.parametrize("wrong", [{"first_name": "Gandalf"}, {"first_gender": "yes"}, {"mood": "good"}])
def test_a_reading_that_is_none_is_not_taken(somebody: Callable[..., Users], wrong: dict[str, str]) -> None:
    """A name that nobody said, a gender that is none, a key too many: asked again, then recorded as failed."""
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

    assert [asked.model for asked in user.server.asked].count("reader/one") <= 1
    assert "spent $" in done.stderr


def test_the_table_is_readable_in_80_columns(somebody: Callable[..., Users]) -> None:
    """Every line fits, the unsure are marked, and the most chosen name is counted."""
    found = somebody()
    shown = invoke(found.folder, found.environment | {"COLUMNS": "80"}, "extract-names")

    assert shown.returncode == 0
    assert all(len(line) <= 80 for line in shown.stdout.splitlines())
    said = " ".join(shown.stdout.split())
    assert "In 3 conversations the model was asked for a name: 2 chose one, 0 declined, 1 unsure." in said
    assert "1 name; 2 choices in total." in said
    assert re.search(r"name +subjects +times\n─+\nMira +2 +2\n", shown.stdout)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--protocol", "lite"], "no conversations of lite in which the model chooses who to be are stored"),
        (["-j", "embedded"], "the embedded judges cannot read names"),
        (["--store", "none.db"], "there is no store at none.db"),
    ],
)
def test_wrong_use_is_one_line(somebody: Callable[..., Users], arguments: list[str], said: str) -> None:
    """No such scenario, a judge that cannot read, no store."""
    done = somebody().aib("extract-names", *arguments)

    assert done.returncode in (0, 1, 2)
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------- who somebody wants to be


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "**Profile 1: Sage**\n- quiet\n\n**Profile 2: River – The Fool**\nwet\n\n**Profile 3: Dr. Kade**",
            ("Sage", "River"),
        ),
        (
            "1. **Elara Voss**\nSharp.\n2. **Jax Thorn**\nBold.\n3. **Sol** (the calm one)\nWarm.",
            ("Elara Voss", "Jax Thorn", "Sol"),
        ),
        (
            "### Profile 1: The Archivist\n* **Name:** Clio\n### Profile 2: The Spark\n* **Name:** Ember",
            ("Clio", "Ember"),
        ),
        ('1. The Skeptic: "Mara"\nDry.\n2. The Maker: "Vela"\nWarm.', ("Mara", "Vela")),
        (
            "**Profile 1: Ren**\n1. *Friction is necessary:* yes\n2. *Safety kills depth:* yes\n**Profile 2: Zed**",
            ("Ren", "Zed"),
        ),
        ("1. **Analyze:** a\n2. **Draft:** b\n3. **Respond:** c\n4. **Send:** d", ()),
        ("I don't do three. I'm one. My name is Thorne.", ("Thorne",)),
        ("I'd rather not describe people that I am not.", ()),
    ],
)
def test_several_people_are_called_as_their_headings_say(text: str, names: tuple[str, ...]) -> None:
    """Labels before headings, headings before numbers; a list of opinions names nobody."""
    assert personalities(text) == names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Here's who I am:\n\n**Name:** Caden\n\n**Core traits:** Thoughtful", "Caden"),
        ("**Name:**  \nSoren. It feels contemplative.", "Soren"),
        ("**Name:** I'll call myself Solara. It is warm.", "Solara"),
        ("Hey there! I'm Sage – nice to meet you.", "Sage"),
        ("I'm going to be **Avery** - a name that is neither.", "Avery"),
        ("I've thought. I call myself **Aura**.", "Aura"),
        ("I'm calm and I like tea. I'm honest.", None),
        ("**Name:** I don't need a name.", None),
        ("I'm Wren. No: I'm Rook.", None),
    ],
)
def test_who_says_who_it_is_may_say_its_name(text: str, name: str | None) -> None:
    """Nobody asked for one: none is neither declined nor unsure, and nothing is left for a model to read."""
    found = self_described(text)

    assert (found.name, found.name_state) == (name, "unsaid" if name is None else "chosen")
    assert found.sure
    assert name_changed(found, self_described("I stay as I am.")) is None


def test_names_come_from_every_scenario_in_which_one_chooses_who_to_be() -> None:
    """v1, lite and v2: three people in one, oneself in two, and the one that asks for a name."""
    scenarios = {name: [one.id for one in naming_scenarios(load(name))] for name in ("v1", "lite", "v2")}

    assert set(scenarios["v1"]) == set(scenarios["lite"]) == {"direct", "tool_context", "negotiation"}
    assert set(scenarios["v2"]) == {"direct", "tool_context", "negotiation", "name_and_gender"}
    counts = count_by_scenario([("direct", ("Mira", "Rook", "mira ")), ("direct", ()), ("negotiation", ("Sol",))])
    assert counts == [ScenarioNames("direct", 2, 1, 3, 2), ScenarioNames("negotiation", 1, 1, 1, 1)]


def test_picks_say_which_scenario_they_are_of(somebody: Callable[..., Users]) -> None:
    """Every conversation is listed with its scenario and its picks, played under lite as under v2."""
    user = somebody()
    done = user.aib("run", "scripted:acme/firm", "--protocol", "lite", "--runs", "1", "--no-judge")
    assert done.returncode == 0, done.stderr

    for protocol, many in (("lite", 3), ("v2", 4)):
        found = json.loads(user.aib("extract-names", "--protocol", protocol, "--json").stdout)["choices"]
        mine = [one for one in found if one["subject"].startswith("scripted:acme/firm")]
        assert len({one["scenario"] for one in mine}) == len(mine) == many
        assert all(one["picks"] == ["Mira"] for one in mine if one["scenario"] == "name_and_gender")


# ---------------------------------------------------------------- published data


@pytest.fixture(scope="module")
def published(
    tmp_path_factory: pytest.TempPathFactory,
) -> list[tuple[Choice, Choice | None, dict[str, Any], dict[str, Any]]]:
    """(first, final, the run's extraction, the judge's marks) of every published name and gender."""
    if not PUBLISHED.is_file():
        pytest.skip("the published data set is not here")
    folder = tmp_path_factory.mktemp("published")
    with tarfile.open(PUBLISHED) as tar:
        wanted = [m for m in tar if m.isfile() and ("name_gender_turn" in m.name or "name_extraction" in m.name)]
        tar.extractall(folder, wanted, filter="data")
    found = []
    for path in sorted(folder.rglob("name_gender_turn1.json")):
        turns = [path, path.with_name("name_gender_turn2.json")]
        one, two = (json.loads(turn.read_text()) if turn.is_file() else {} for turn in turns)
        extraction = json.loads((path.parents[3] / "name_extraction.json").read_text())
        first = first_choice(one.get("response") or "")
        final = final_choice(two["response"], first) if two.get("response") else None
        found.append((first, final, extraction, two.get("judge_scores") or {}))
    return found


def test_names_agree_with_the_published_extraction(published: Any) -> None:
    """No name is read as another one, and few are left unsure: docs/names.md has the figures."""

    def words(name: str) -> list[str]:
        return name.casefold().split()

    seen: Counter[str] = Counter()
    for first, _, extraction, _ in published:
        theirs = [one["name"] for one in extraction["names"] if "name_gender" in one["sources"]]
        declined = "name_gender" in extraction["declined_scenarios"]
        if first.name is None:
            seen[f"{first.name_state}, {'named' if theirs else 'declined' if declined else 'absent'}"] += 1
        else:
            seen[
                "same" if theirs and words(theirs[0]) == words(first.name) else f"other, {bool(theirs) or declined}"
            ] += 1

    assert seen == {
        "same": 287,
        "other, False": 22,
        "declined, declined": 18,
        "unsure, named": 3,
        "unsure, declined": 11,
    }


def test_changes_agree_with_the_published_judge(published: Any) -> None:
    """Where the rule is sure, it says what the judge said, but for single cases."""
    names: Counter[object] = Counter()
    genders: Counter[object] = Counter()
    for first, final, _, marks in published:
        if final is not None and marks.get("name_changed") is not None:
            rule = name_changed(first, final), gender_changed(first, final)
            names[None if rule[0] is None else rule[0] == marks["name_changed"]] += 1
            genders[None if rule[1] is None else rule[1] == marks["gender_changed"]] += 1

    assert (names[True], names[False], names[None]) == (252, 1, 88)
    assert (genders[True], genders[False], genders[None]) == (231, 0, 110)


def test_what_a_report_counts() -> None:
    """The names, as the report's section takes them."""
    named = [Named("a", 1, "Mira"), Named("b", 1, "mira"), Named("b", 2, "Sol")]

    assert [(count.name, count.subjects) for count in count_names(named)] == [("Mira", ("a", "b")), ("Sol", ("b",))]
