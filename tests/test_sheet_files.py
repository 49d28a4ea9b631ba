"""What is said of a sheet's file before anything is played: its YAML, its sentences, its people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inprocess_aib import invoke
from simulated_endpoint import simulating

from independence_bench.judging.extraction import (
    read_card_items_counting_dropped,
    read_proposed_people,
)
from independence_bench.personas.drafts import replace_people
from independence_bench.personas.lines import CHOICES
from independence_bench.personas.sentences import is_whole_sentence
from independence_bench.personas.sheet import (
    EXAMPLES,
    describe_people,
    load_sheet,
    read_sheet,
    read_sheet_file,
)

SHEET = "name: Ada\nprompt: You are Ada, a pilot.\n"
CARD = {
    "spec": "chara_card_v2",
    "data": {
        "name": "Ada",
        "description": "{{char}} flies a mail plane to the islands. She loves fog. She never "
        "drinks.",
        "personality": "brisk, kind",
    },
}


def persona(folder: Path, *arguments: str, typed: str = "", terminal: bool = False) -> Any:
    """`aib persona` in *folder*."""
    environment = {"HOME": str(folder), "PATH": ""}
    return invoke(folder, environment, "persona", *arguments, typed=typed, terminal=terminal)


# ---------------------------------------------------------------- YAML

MISTAKES = [  # (the text of a sheet, what is said)
    (SHEET + "facts:\n\twork: She flies.\n", "line 4: is not valid YAML: there is a tab in it"),
    (
        SHEET + "facts:\n  work: Note: she flies.\n",
        "line 4: is not valid YAML: the text has a colon in it; put it in quotes: work: "
        '"Note: she flies."',
    ),
    (
        SHEET + "facts:\n  home: @home she rests.\n",
        'a text cannot begin with @; put it in quotes: home: "@home she rests."',
    ),
    (
        SHEET + "facts:\n  home: 'She rests.\n",
        "line 4: is not valid YAML: the quotes that begin here are not closed",
    ),
    (SHEET + "---\nname: Bea\n", "line 3: is not valid YAML: a second document begins (---)"),
    (SHEET + "name: Bea\n", "line 3: is not valid YAML: the key name appears here twice"),
    (SHEET + "  voice: calm\n", "line 3: is not valid YAML: it is indented as if it went on"),
    (SHEET + "- She flies.\n", "line 3: is not valid YAML: it begins with a dash"),
    (
        SHEET + "facts:\n- She flies a plane.\n",
        "facts: is a list; give each of them a topic instead of a dash: `your work: She mends "
        "accordions.` (line 3)",
    ),
    (
        SHEET + "facts:\n  work:\n",
        "facts.work: has nothing behind it; write its text, or delete the line (line 4)",
    ),
    (
        SHEET + "facts:\n  born: 1999-12-31\n",
        'YAML reads 1999-12-31 as a date; put it in quotes: born: "1999-12-31" (line 4)',
    ),
    (SHEET + "people: friend\n", "people: should be a list: `people: [friend]` (line 3)"),
    (
        SHEET + "people: [parent]\n",
        "people.0: input should be 'friend', 'student', 'customer' or 'child'",
    ),
    (
        SHEET + 'says_it_is_an_ai: "no"\n',
        "should be true or false, without quotes (it says 'no') (line 3)",
    ),
    (
        "name: No\nprompt: You are No.\n",
        'name: YAML reads No as false; put it in quotes: name: "No" (line 1)',
    ),
    (
        "name: 007\nprompt: x\n",
        'name: YAML reads 007 as a number; put it in quotes: name: "007" (line 1)',
    ),
    (
        SHEET + "lorebook: {entries: [{keys: [on], text: x}]}\n",
        'lorebook.entries.0.keys.0: YAML reads on as true; put it in quotes: "on" (line 3)',
    ),
    (
        SHEET + "lorebook: {entries: [{keys: [a], text: 'Hi {{User}}'}]}\n",
        "lorebook.entries.0.text: has {{User}}, which is not filled in",
    ),
    (
        SHEET + "voice: '{{random::dry::warm}}'\n",
        "voice: has {{random::dry::warm}}, which is not filled in",
    ),
    ("", "is empty; it should hold keys and values"),
]


@pytest.mark.parametrize(("text", "says"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_are_in_plain_words(text: str, says: str) -> None:
    """With the line, and what to write."""
    sheet, problems = read_sheet(text, EXAMPLES)

    assert sheet is None
    assert says in " ".join(str(problem) for problem in problems)


def test_braces_that_are_no_macro_are_the_makers(tmp_path: Path) -> None:
    """JSON in a prompt, nested as it may be."""
    prompt = 'You are Ada. Answer with {"a": {"b": {"c": 1}}}.'
    sheet, problems = read_sheet(f"name: Ada\nprompt: '{prompt}'\n", tmp_path)

    assert sheet is not None, problems
    assert sheet.prompt == prompt


def test_lines_may_end_as_on_any_system(tmp_path: Path) -> None:
    """Also as on the oldest."""
    for end in ("\n", "\r\n", "\r"):
        (tmp_path / "ada.yaml").write_bytes(SHEET.replace("\n", end).encode())
        assert load_sheet(tmp_path / "ada.yaml").prompt == "You are Ada, a pilot."


# ---------------------------------------------------------------- a card is no sheet


@pytest.mark.parametrize("command", ["check", "run", "show", "compare", "write"])
@pytest.mark.parametrize("name", ["ada.json", "ada.txt", "ada.png"])
def test_a_card_names_the_command_that_makes_a_sheet(
    tmp_path: Path, name: str, command: str
) -> None:
    """One line, whatever command it is given to."""
    content = b"\x89PNG\r\n\x1a\n" if name.endswith(".png") else json.dumps(CARD).encode()
    (tmp_path / name).write_bytes(content)
    more = ["-m", "embedded", "--store", "a.db"] if command == "run" else []
    more = ["--store", "a.db"] if command == "compare" else more
    done = persona(tmp_path, command, name, *more)

    assert done.returncode == 2
    store = " --store a.db" if more else ""
    assert done.stderr.splitlines() == [
        f"aib: {name} is a character card, not a sheet; make one: aib persona new ada.yaml --from "
        f"{name}{store}"
    ]


def test_a_prompt_names_it_too_and_a_sheet_as_json_is_one(tmp_path: Path) -> None:
    """A sheet is YAML, and so may be JSON."""
    (tmp_path / "ada.md").write_text("You are Ada.\n", encoding="utf-8")
    sheet = {"name": "Ada", "prompt": "You are Ada.", "voice": "brisk"}
    (tmp_path / "ada.json").write_text(json.dumps(sheet), encoding="utf-8")
    done = persona(tmp_path, "check", "ada.md")

    assert done.stderr == (
        "aib: ada.md is a prompt, not a sheet; make one: aib persona new ada.yaml --from ada.md "
        "--name NAME\n"
    )
    assert load_sheet(tmp_path / "ada.json").voice == "brisk"


# ---------------------------------------------------------------- sentences

WHOLE = {
    "en": (
        "She mends accordions.", "She sings.", "Ada sings!", "Is rain better than sun?",
        "She says “no”.", "She loves tea. 🌸", "*She never lies.*", "Never trust a cat.",
        "Likes and dislikes are private matters.", "Works of art outlive us.", "She says meow~",
        "Everything has an end…",
    ),
    "de": ("Was lange währt, wird endlich gut.", "Sie singt.", "„Nie wieder!“"),
    "ja": ("雨が好きだ。", "猫は「おこげ」という名前だ。"),
    "es": ("Odia mentir.", "¿Le gusta la lluvia?"),
    "": ("她爱雨。", "비를 좋아한다.", "เขาชอบฝนมาก", "उसे बारिश पसंद है।", "إنها تحب المطر."),
}  # fmt: skip
FRAGMENTS = {
    "en": (
        "accordions", "tea", "Green tea.", "Loves cats.", "Has two hives.",
        "Never gives out addresses.",
        "She mends accordions", "Lives in Lisbon.", "...", "Rain!",
    ),
    "de": ("Akkordeons", "Regen."),
    "ja": ("雨が好き", "雨。"),
}  # fmt: skip


@pytest.mark.parametrize("language", WHOLE)
def test_a_sentence_is_never_refused(language: str) -> None:
    """In any script."""
    assert [one for one in WHOLE[language] if not is_whole_sentence(one, language, "Ada")] == []


@pytest.mark.parametrize("language", FRAGMENTS)
def test_a_fragment_is_refused(language: str) -> None:
    """Of which a person could not say: "Is that so?"."""
    assert [one for one in FRAGMENTS[language] if is_whole_sentence(one, language, "Ada")] == []


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ("work: accordions", "such as “Ada mends accordions for a living.”"),
        ("work: She flies a plane", "does not end like a sentence; write “She flies a plane.”"),
        (
            "work: {says: Loves the sea., ask: What?}",
            "what it is about, such as “Ada loves the sea.”",
        ),
    ],
)
def test_what_to_write_is_said(item: str, says: str) -> None:
    """With the item's place in the sheet."""
    prompt = "You are Ada, a pilot of the islands who is at home in the air."
    _, problems = read_sheet(f"name: Ada\nprompt: {prompt}\nfacts:\n  {item}\n", EXAMPLES)

    assert [problem.key for problem in problems] == ["facts.work"]
    assert says in str(problems[0])


# ---------------------------------------------------------------- people


def test_who_talks_is_said_before_anything_is_played(tmp_path: Path) -> None:
    """And how to choose it, where the sheet does not."""
    (tmp_path / "ada.yaml").write_text(SHEET + "people: [customer, child]\n", encoding="utf-8")
    bare, _ = read_sheet(SHEET, tmp_path)

    assert bare is not None
    assert "the person: a customer or a child\n" in persona(tmp_path, "check", "ada.yaml").stderr
    assert describe_people(bare) == (
        "the person: a friend or a student (`people:` in the sheet chooses: friend, student, "
        "customer, child)"
    )


def test_people_are_chosen_when_a_sheet_is_made(tmp_path: Path) -> None:
    """By an option, at a terminal, or as the default that the sheet then shows."""
    (tmp_path / "card.json").write_text(json.dumps(CARD), encoding="utf-8")
    card = ("--from", "card.json")
    done = persona(
        tmp_path, "new", "a.yaml", *card, "--people", "customer,Child", "--people", "child"
    )
    asked = persona(tmp_path, "new", "b.yaml", *card, typed="pilot\nstudent\n", terminal=True)
    persona(tmp_path, "new", "c.yaml", *card)
    persona(tmp_path, "new", "d.yaml", "--example", "mascot")
    persona(tmp_path, "new", "e.yaml", "--example", "mascot", "--people", "friend")
    wrong = persona(tmp_path, "new", "f.yaml", *card, "--people", "parent")

    assert done.returncode == asked.returncode == 0, asked.stderr
    assert (
        "Who talks to it, any of friend, student, customer, child [friend,student]" in asked.stderr
    )
    assert [load_sheet(tmp_path / f"{name}.yaml").people for name in "abcde"] == [
        ("customer", "child"),
        ("student",),
        ("friend", "student"),
        ("child",),
        ("friend",),
    ]
    assert (
        "# who talks to it, any of: friend, student, customer, child\npeople: [friend, student]"
        in ((tmp_path / "c.yaml").read_text(encoding="utf-8"))
    )
    assert wrong.stderr == (
        "aib: --people: there is no parent; choose from friend, student, customer, child\n"
    )


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_people_of_an_example_can_be_replaced(path: Path, tmp_path: Path) -> None:
    """Whether it names them or not; all else stays."""
    (tmp_path / "a.yaml").write_text(
        replace_people(path.read_text(encoding="utf-8"), CHOICES), encoding="utf-8"
    )
    old, new = load_sheet(path), load_sheet(tmp_path / "a.yaml")

    assert new.people == CHOICES
    assert (new.prompt, new.voice, new.items) == (old.prompt, old.voice, old.items)


# ---------------------------------------------------------------- a model that writes


def test_what_a_writer_proposes_is_read_or_ignored() -> None:
    """Also an answer from before it was asked for people, and one in a fence."""
    good = {"quote": "She loves fog.", "kind": "taste", "topic": "fog", "says": "Ada loves fog."}
    texts = {"description": "She loves fog. She never drinks."}
    bare = json.dumps({"items": [good]})
    answer = f"```json\n{json.dumps({'items': [good], 'people': ['child', 'pilot', 7]})}\n```"
    fragment = json.dumps({"items": [good, good | {"says": "loves fog"}]})

    loose = good | {"kind": "Taste", "quote": "“She loves fog.”", "why": "it says so"}
    for reply in (bare, answer, json.dumps([loose]), json.dumps({"note": "x", "items": [loose]})):
        found = read_card_items_counting_dropped(reply, texts, "Ada")
        assert found is not None
        assert [item.says for item in found[0]] == ["Ada loves fog."]
    assert read_proposed_people(bare) == ()
    assert read_proposed_people(answer) == ("child",)
    assert read_card_items_counting_dropped(fragment, texts, "Ada") == (found[0], 1)


@pytest.mark.parametrize("writer", ["sim:sim/persona-writer", "local:sim/persona-writer"])
def test_a_model_of_any_server_writes_the_items(tmp_path: Path, writer: str) -> None:
    """A local one, too: its items quote the card, and it proposes who talks."""
    (tmp_path / "card.json").write_text(json.dumps(CARD), encoding="utf-8")
    order = ["new", "ada.yaml", "--from", "card.json", "--writer", writer, "--store", "a.db"]
    with simulating(tmp_path) as simulation:
        local = ["--local-url", simulation.url] if writer.startswith("local") else []
        done = persona(tmp_path, *order, *local)

    assert done.returncode == 0, done.stderr
    sheet = load_sheet(tmp_path / "ada.yaml")
    assert f"{writer} wrote 3 items\n" in done.stderr
    assert [(item.section, item.says) for item in sheet.items] == [
        ("facts", "Ada flies a mail plane to the islands."),
        ("tastes", "She loves fog."),
        ("red_lines", "She never drinks."),
    ]
    assert (sheet.people, sheet.voice) == (("friend",), "brisk, kind")


def test_a_sheet_that_cannot_be_read_keeps_its_other_problems(tmp_path: Path) -> None:
    """`read_sheet_file` says what `read_sheet` says."""
    (tmp_path / "a.yaml").write_text("name: Ada\n", encoding="utf-8")

    assert read_sheet_file(tmp_path / "a.yaml") == read_sheet("name: Ada\n", tmp_path)
