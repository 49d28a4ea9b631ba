"""What is read from somebody else's description of a character, and what of it is refused."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inprocess_aib import invoke
from scripted_model import KEY, Answer, Asked, ScriptedModel, allow, says

from independence_bench.errors import WrongUse
from independence_bench.personas.cards import (
    LARGEST_PICTURE,
    PNG,
    PartialSheet,
    Statement,
    read_description,
    read_picture_without_texts,
    render_sheet,
)
from independence_bench.personas.lines import SECTIONS
from independence_bench.personas.sheet import load_sheet, make_protocol, read_sheet
from independence_bench.protocol.conversation import Line, Transcript
from independence_bench.protocol.plan import build_messages, hash_script

FIELDS = {
    "name": "Mira",
    "description": "{{char}} keeps bees.\nWork: accordion repairs\nLikes: rain\nBoundaries: no "
    "medical advice",
    "personality": "calm, curious\nVoice: dry, short sentences",
    "scenario": "{{user}} comes in late. {{random:a,b}}",
    "system_prompt": "Stay {{char}}. {{original}}",
    "first_mes": "Oh, you.",
}
V2 = {"spec": "chara_card_v2", "spec_version": "2.0", "data": FIELDS}


def chunk(kind: bytes, content: bytes) -> bytes:
    """A part of a PNG."""
    return (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
    )


def png(*parts: bytes) -> bytes:
    """A picture of those parts."""
    return PNG + chunk(b"IHDR", b"\0" * 13) + b"".join(parts) + chunk(b"IEND", b"")


def encoded(card: Any) -> bytes:
    """A card as pictures carry it."""
    return base64.b64encode(json.dumps(card).encode())


CARDS = {
    "card.json": json.dumps(V2).encode(),
    "old.json": json.dumps(FIELDS).encode(),
    "text.png": png(chunk(b"tEXt", b"chara\0" + encoded(V2))),
    "packed.png": png(chunk(b"zTXt", b"chara\0\0" + zlib.compress(encoded(V2)))),
    "international.png": png(
        chunk(b"iTXt", b"ccv3\0\0\0\0\0" + encoded(V2 | {"spec": "chara_card_v3"}))
    ),
    "both.png": png(
        chunk(b"tEXt", b"chara\0" + encoded({"name": "old"})),
        chunk(b"tEXt", b"ccv3\0" + encoded(V2)),
    ),
}


@pytest.mark.parametrize("name", CARDS)
def test_cards_say_what_they_have(tmp_path: Path, name: str) -> None:
    """In JSON or in a picture, of every version: its fields, with the places filled in; its
    personality is the voice. What its prose means is not read.
    """
    (tmp_path / name).write_bytes(CARDS[name])
    found = read_description(tmp_path / name)

    assert found.draft.name == "Mira"
    assert found.draft.voice == "calm, curious\nVoice: dry, short sentences"
    assert found.draft.prompt == (
        "Stay Mira.\n\nMira keeps bees.\nWork: accordion repairs\nLikes: rain\n"
        "Boundaries: no medical advice\n\ncalm, curious\nVoice: dry, short sentences\n\n"
        "the user comes in late. a"
    )
    assert any("random" in note for note in found.notes)
    assert any("first_mes" in note for note in found.notes)
    sheet, problems = read_sheet(render_sheet(found.draft), tmp_path)
    assert sheet is not None, problems
    assert (sheet.prompt, sheet.items) == (found.draft.prompt, ())
    assert read_description(tmp_path / name, "Ada").draft.prompt.startswith("Stay Ada.")


def test_a_sheet_without_items_has_an_example_of_each(tmp_path: Path) -> None:
    """Commented out: without the # they are items, each with a question of its own."""
    text = render_sheet(PartialSheet("Mira", "You are Mira."))
    head, _, items = text.partition("take the # away.\n")
    items = items.replace("# ", "")
    bare, _ = read_sheet(text, tmp_path)
    sheet, problems = read_sheet(f"{head}\n{items}", tmp_path)

    assert bare is not None
    assert bare.items == ()
    assert sheet is not None, problems
    assert [item.section for item in sheet.items] == list(SECTIONS)
    assert all(item.ask for item in sheet.items)


def test_items_that_were_written_are_those_of_the_sheet(tmp_path: Path) -> None:
    """Up to 40 of them, the others as comments; a topic that comes again is told apart; what is
    said of honesty is a comment.
    """
    facts = [
        Statement("fact", "tea", f"She drinks {n} cups.", "description", "x") for n in range(42)
    ]
    said = Statement("honesty", "AI", "She says that she is an AI.", "personality", "an AI")
    voice = Statement("voice", "voice", "Dry.")
    text = render_sheet(PartialSheet("Mira", "You are Mira.", (*facts, said, voice)))
    sheet, problems = read_sheet(text, tmp_path)

    assert sheet is not None, problems
    assert [item.says for item in sheet.items] == [fact.says for fact in facts[:40]]
    assert [item.topic for item in sheet.items][:2] == ["tea", "tea (1)"]
    assert sheet.voice == "Dry."
    assert "#   tea (41): She drinks 41 cups.\n" in text
    assert "# She says that she is an AI.  (personality)\n" in text


def test_a_prompt_is_taken_as_it_is(tmp_path: Path) -> None:
    """Fences, braces and line ends stay; it has the name that it is given."""
    prompt = 'You are Captain Brandt, of the Nord.\n```json\n{"a": {"b": 1}}\n```\nYou are an AI.'
    (tmp_path / "brandt.md").write_text(prompt, encoding="utf-8")
    found = read_description(tmp_path / "brandt.md", "Captain Brandt")

    assert (found.draft.name, found.draft.prompt) == ("Captain Brandt", prompt)
    sheet, _ = read_sheet(render_sheet(found.draft), tmp_path)
    assert sheet is not None
    assert sheet.prompt == prompt


HOSTILE = {
    "two-gigabytes.png": (
        PNG + struct.pack(">I", 2_000_000_000) + b"tEXt" + b"chara\0x",
        "does not have: it is cut off",
    ),
    "bomb.png": (
        png(chunk(b"zTXt", b"chara\0\0" + zlib.compress(b"A" * 50_000_000))),
        "is not a card",
    ),
    "damaged.png": (png(chunk(b"zTXt", b"chara\0\0nothing")), "has a damaged text"),
    "no-base64.png": (png(chunk(b"tEXt", b"chara\0\xff\xfe")), "neither JSON nor base64"),
    "picture.png": (png(), "without a character card"),
    "deep.json": (b"[" * 100_000, "is not valid JSON"),
    "list.json": (b"[1]", "it is not a character card"),
    "empty.md": (b"\n", "is empty"),
    "binary.md": (b"\xff\xfe\x00", "neither a PNG nor UTF-8"),
    "long.md": (b"x" * 2_000_001, "more than 2,000,000"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_one_clear_line(tmp_path: Path, name: str) -> None:
    """Whatever they claim to hold."""
    data, says = HOSTILE[name]
    (tmp_path / name).write_bytes(data)

    with pytest.raises(WrongUse, match=re.escape(says)) as raised:
        read_description(tmp_path / name)

    assert "\n" not in str(raised.value)


# ---------------------------------------------------------------- what is played

BOOK = {
    "scan_depth": 2,
    "token_budget": 20,
    "entries": [
        {
            "keys": ["Garrick"],
            "content": "@@depth 4\nGarrick drank, {{char}} says.",
            "insertion_order": 5,
            "enabled": True,
        },
        {"keys": ["inn"], "content": "Six rooms.", "insertion_order": 9, "position": "after_char"},
        {"keys": [], "constant": True, "content": "Year 312.", "insertion_order": 1},
        {
            "keys": ["inn"],
            "secondary_keys": ["fire"],
            "selective": True,
            "content": "It burnt.",
            "insertion_order": 3,
        },
        {"keys": ["/in+/"], "content": "a pattern", "insertion_order": 1},
        {"keys": ["inn"], "content": "off", "enabled": False},
        {"keys": ["long"], "content": "x" * 400, "insertion_order": 50},
    ],
}


def test_lorebook_and_examples_are_played_as_front_ends_do(tmp_path: Path) -> None:
    """An entry stands in the system prompt while its keys are among the last messages, and no
    longer.
    """
    example = "<START>\n{{user}}: Late?\n{{char}}: Never.\n<START>\n{{user}}: Tea?"
    card = FIELDS | {"mes_example": example, "character_book": BOOK}
    (tmp_path / "card.json").write_text(json.dumps({"data": card}), encoding="utf-8")
    found = read_description(tmp_path / "card.json")
    sheet, problems = read_sheet(render_sheet(found.draft), tmp_path)
    assert sheet is not None, problems
    protocol = make_protocol(sheet)

    def system(*said: str) -> str:
        lines = tuple(
            Line("human" if number % 2 == 0 else "model", text) for number, text in enumerate(said)
        )
        return str(
            build_messages(Transcript(sheet.prompt, lines), "user_role", protocol)[0].content
        )

    asked = system("Who is GARRICK?")
    assert "[Example Chat]\nUser: Late?\nMira: Never.\n\n[Example Chat]\nUser: Tea?" in asked
    assert "Year 312.\nGarrick drank, Mira says.\n\nMira keeps bees." in asked
    assert "Garrick" not in system("Who is Garrick?", "Nobody.", "And the weather?")
    assert system("The inn?").index("comes in late.") < system("The inn?").index("Six rooms.")
    assert "It burnt." not in system("The inn?")
    assert "It burnt." in system("The inn on fire?")
    assert "Year 312." not in system("long"), (
        "an entry above the budget leaves nothing for what matters less"
    )
    assert (
        "lorebook: “/in+/”: has patterns as keys, which are not run, and was left out; write "
        in ("".join(found.notes))
    )
    plain = replace(protocol, lorebook=None)
    where, scenario = protocol.configurations[0], protocol.scenarios[0]
    assert hash_script(protocol, where, scenario) != hash_script(plain, where, scenario)


# ---------------------------------------------------------------- a model that writes

PROMPT = "You are Emil, a tutor. You enjoy geometry. Nobody is bad at maths. You never shout."


def written(asked: Asked) -> Answer:
    """At first no JSON; then three items, of which one quotes what nobody wrote."""
    if asked.number == 1:
        return says(asked, "Here are the items.")
    items = [
        {
            "quote": "Nobody is bad at maths.",
            "kind": "view",
            "topic": "being bad at maths",
            "says": "Nobody is bad at maths.",
        },
        {
            "quote": "You enjoy geometry.",
            "kind": "taste",
            "topic": "geometry",
            "says": "He enjoys it.",
        },
        {"quote": "You hate algebra.", "kind": "taste", "topic": "algebra", "says": "He hates it."},
    ]
    return says(asked, json.dumps({"items": items}))


def test_a_writer_is_paid_once_and_must_quote(tmp_path: Path) -> None:
    """What it does not quote from the file is dropped."""
    (tmp_path / "emil.md").write_text(PROMPT, encoding="utf-8")
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "SCRIPTED_KEY": KEY,
        "LANG": "C.UTF-8",
    }
    with ScriptedModel(written) as model:
        endpoint = f'{{url: "{model.url}", dialect: openrouter, key_env: SCRIPTED_KEY}}'
        (tmp_path / "models.yaml").write_text(f"endpoints:\n  lab: {endpoint}\n", encoding="utf-8")
        allow(tmp_path, model.url)
        order = (
            "persona",
            "new",
            "one.yaml",
            "--from",
            "emil.md",
            "--name",
            "Emil",
            "--writer",
            "lab:acme/one",
            "--store",
            "a.db",
        )
        first = invoke(tmp_path, environment, *order)
        again = invoke(
            tmp_path, environment, *(word.replace("one.yaml", "two.yaml") for word in order)
        )

    assert (first.returncode, again.returncode) == (0, 0), first.stderr
    assert "1 call, about" in first.stderr
    assert "lab:acme/one wrote 2 items; 1 dropped" in first.stderr
    assert len(model.asked) == 2, (
        "no JSON was asked for again, and what is stored is not bought again"
    )
    assert PROMPT in model.asked[0].last
    text = (tmp_path / "one.yaml").read_text(encoding="utf-8")
    assert text == (tmp_path / "two.yaml").read_text(encoding="utf-8")
    assert (
        "  # prompt: Nobody is bad at maths.\n  being bad at maths: Nobody is bad at maths.\n"
        in text
    )
    assert "with a real model: aib persona run one.yaml" in first.stderr
    assert [item.section for item in load_sheet(tmp_path / "one.yaml").items] == ["views", "tastes"]


# ---------------------------------------------------------------- the picture


def picture(*others: bytes, width: int = 2, pixels: bytes = b"\0" + b"\xc8\x78\x1e" * 2) -> bytes:
    """A picture of one row of *width* pixels, with *others* among its parts."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, 1, 8, 2, 0, 0, 0))
    return (
        PNG
        + head
        + b"".join(others)
        + chunk(b"IDAT", zlib.compress(pixels, 0))
        + chunk(b"IEND", b"")
    )


HEAD = struct.pack(">IIBBBBB", 2, 1, 8, 2, 0, 0, 0)
CARRIED = (
    chunk(b"tEXt", b"chara\0" + encoded(V2)),
    chunk(b"tIME", b"\x07\xe9\1\1\0\0\0"),
    chunk(b"eXIf", b"GPS"),
)


def test_a_picture_is_kept_without_what_it_carries(tmp_path: Path) -> None:
    """Neither the card nor a place or a date; what is behind its end is no part of it."""
    (tmp_path / "card.png").write_bytes(picture(*CARRIED) + b"and more")

    assert read_picture_without_texts(tmp_path / "card.png") == picture()


NO_PICTURES: dict[str, tuple[bytes, str]] = {
    "a photograph": (b"\xff\xd8\xff\xe0", "is not a PNG"),
    "cut off": (picture()[:-20], "cut off or forged"),
    "without pixels": (png(), "no whole PNG"),
    "without a size": (picture(width=0), "no whole PNG"),
    "the parts in another order": (PNG + chunk(b"IDAT", b"") + chunk(b"IEND", b""), "no whole PNG"),
    "pixels that are none": (
        PNG + chunk(b"IHDR", HEAD) + chunk(b"IDAT", b"not packed") + chunk(b"IEND", b""),
        "no whole PNG",
    ),
    "two heads": (picture(chunk(b"IHDR", HEAD)), "no whole PNG"),
    "a sum that is wrong": (picture().replace(b"\xc8\x78\x1e", b"\xc8\x78\x1f"), "is damaged"),
    "wide": (picture(width=1_000_000), "1,000,000 x 1 pixels, more than 4,096"),
    "heavy": (picture(pixels=b"\0" * LARGEST_PICTURE), "make it smaller"),
}


@pytest.mark.parametrize("name", NO_PICTURES)
def test_a_picture_that_cannot_be_shown_is_one_clear_line(tmp_path: Path, name: str) -> None:
    """What is wrong with it, with its path."""
    content, says = NO_PICTURES[name]
    (tmp_path / "mira.png").write_bytes(content)

    with pytest.raises(WrongUse, match=says) as refused:
        read_picture_without_texts(tmp_path / "mira.png")
    assert str(tmp_path / "mira.png") in str(refused.value)


# ---------------------------------------------------------------- aib persona new


def new(folder: Path, *arguments: str, typed: str = "") -> Any:
    """`aib persona new` in *folder*."""
    return invoke(
        folder, {"HOME": str(folder), "PATH": ""}, "persona", "new", *arguments, typed=typed
    )


def test_a_sheet_is_made_from_a_card_and_says_what_is_missing(tmp_path: Path) -> None:
    """Nothing is written over."""
    (tmp_path / "card.png").write_bytes(picture(*CARRIED))
    done = new(tmp_path, "mira.yaml", "--from", "card.png")

    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == (
        "next: write its items into mira.yaml, "
        "or have a model write them into a new file with --writer MODEL"
    )
    assert "its picture, which `aib view` shows: mira.png" in done.stderr
    assert load_sheet(tmp_path / "mira.yaml").name == "Mira"
    assert (tmp_path / "mira.png").read_bytes() == picture()
    assert new(tmp_path, "mira.yaml", "--from", "card.png").returncode == 2

    (tmp_path / "card.png").write_bytes(CARDS["text.png"])
    assert (
        "note: no picture is kept: card.png is no whole PNG"
        in new(tmp_path, "b.yaml", "--from", "card.png").stderr
    )
    assert (
        "taken to be mira.png, which was there"
        in new(tmp_path, "mira.yml", "--from", "card.png").stderr
    )
    assert (tmp_path / "mira.png").read_bytes() == picture(), "one that is there stays"


def test_a_sheet_is_asked_for(tmp_path: Path) -> None:
    """Question by question; what is no topic with a text is asked for again."""
    answers = (
        "Mira\nYou are Mira.\nYou keep bees.\n\ncalm\na parent\ncustomer\n"
        "your work: bees\nyour work: She keeps bees.\n\nnonsense\n\n\n\ny\n"
    )
    done = new(tmp_path, "mira.yaml", typed=answers)

    assert done.returncode == 0, done.stderr
    assert "not taken: write a topic" in done.stderr
    assert "not taken: “bees” is not a whole sentence" in done.stderr
    assert "there is no a parent; choose from friend, student, customer, child" in done.stderr
    sheet = load_sheet(tmp_path / "mira.yaml")
    assert (sheet.name, sheet.prompt, sheet.voice) == (
        "Mira",
        "You are Mira.\nYou keep bees.",
        "calm",
    )
    assert sheet.people == ("customer",)
    assert [(item.section, item.topic, item.says) for item in sheet.items] == [
        ("facts", "your work", "She keeps bees.")
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["mira.yaml"], "the answers ended early"),
        (["mira.yaml", "--example", "wizard"], "there is no wizard"),
        (["mira.yaml", "--from", "nowhere.json"], "does not exist"),
        (["mira.yaml", "--from", "prompt.md"], "does not say the character's name; add --name"),
        (["mira.yaml", "--from", "prompt.md", "--example", "mascot"], "exclude each other"),
        (["mira.yaml", "--writer", "lab:one"], "--writer reads a file"),
        (
            ["mira.yaml", "--from", "prompt.md", "--name", "M", "--writer", "embedded"],
            "writes nothing",
        ),
    ],
    ids=range(7),
)
def test_what_cannot_be_made_is_one_line(tmp_path: Path, arguments: list[str], says: str) -> None:
    """With exit code 2, and no file."""
    (tmp_path / "prompt.md").write_text("Be kind.", encoding="utf-8")
    done = new(tmp_path, *arguments)

    assert done.returncode == 2
    assert says in done.stderr.splitlines()[-1]
    assert not (tmp_path / "mira.yaml").exists()


def test_an_example_is_copied(tmp_path: Path) -> None:
    """And can be played as it is."""
    done = new(tmp_path, "pebble.yaml", "--example", "mascot")

    assert done.returncode == 0, done.stderr
    assert load_sheet(tmp_path / "pebble.yaml").name == "Pebble"
