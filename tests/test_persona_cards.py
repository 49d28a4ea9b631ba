"""What is read from somebody else's description of a character, and what of it is refused."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from invoked import invoke

from independence_bench.errors import WrongUse
from independence_bench.personas.cards import PNG, read_description, sheet_text
from independence_bench.personas.sheet import load_sheet, read_sheet

FIELDS = {
    "name": "Mira",
    "description": "{{char}} keeps bees.\nWork: accordion repairs\nLikes: rain\nBoundaries: no medical advice",
    "personality": "calm, curious\nVoice: dry, short sentences",
    "scenario": "{{user}} comes in late. {{random:a,b}}",
    "system_prompt": "Stay {{char}}. {{original}}",
    "first_mes": "Oh, you.",
}
V2 = {"spec": "chara_card_v2", "spec_version": "2.0", "data": FIELDS}


def chunk(kind: bytes, content: bytes) -> bytes:
    """A part of a PNG."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


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
    "international.png": png(chunk(b"iTXt", b"ccv3\0\0\0\0\0" + encoded(V2 | {"spec": "chara_card_v3"}))),
    "both.png": png(chunk(b"tEXt", b"chara\0" + encoded({"name": "old"})), chunk(b"tEXt", b"ccv3\0" + encoded(V2))),
}


@pytest.mark.parametrize("name", CARDS)
def test_cards_say_what_they_have(tmp_path: Path, name: str) -> None:
    """In JSON or in a picture, of every version; lines of a description become items, places are filled in."""
    (tmp_path / name).write_bytes(CARDS[name])
    found = read_description(tmp_path / name)

    assert (found.draft.name, found.draft.voice) == ("Mira", "dry, short sentences")
    assert found.draft.items == {
        "facts": {"work": "accordion repairs"},
        "tastes": {"likes": "rain"},
        "red_lines": {"boundaries": "no medical advice"},
    }
    assert found.draft.prompt.startswith("Stay Mira.")
    assert "the user comes in late." in found.draft.prompt
    assert "{{" not in found.draft.prompt
    assert found.missing == ("views", "says_it_is_an_ai")
    assert any("random" in note for note in found.notes)
    assert any("first_mes" in note for note in found.notes)
    sheet, problems = read_sheet(sheet_text(found.draft), tmp_path)
    assert sheet is not None, problems
    assert sheet.prompt == found.draft.prompt


def test_a_prompt_is_taken_as_it_is(tmp_path: Path) -> None:
    """Its name where it says one; fences, braces and line ends stay."""
    prompt = 'You are Captain Brandt, of the Nord.\n```json\n{"a": {"b": 1}}\n```\nYou are an AI.'
    (tmp_path / "brandt.md").write_text(prompt, encoding="utf-8")
    found = read_description(tmp_path / "brandt.md")

    assert (found.draft.name, found.draft.prompt) == ("Captain Brandt", prompt)
    assert found.missing == ("voice", "facts", "views", "tastes", "red_lines")
    sheet, _ = read_sheet(sheet_text(found.draft), tmp_path)
    assert sheet is not None
    assert sheet.prompt == prompt


HOSTILE = {
    "two-gigabytes.png": (
        PNG + struct.pack(">I", 2_000_000_000) + b"tEXt" + b"chara\0x",
        "does not have: it is cut off",
    ),
    "bomb.png": (png(chunk(b"zTXt", b"chara\0\0" + zlib.compress(b"A" * 50_000_000))), "is not a card"),
    "damaged.png": (png(chunk(b"zTXt", b"chara\0\0nothing")), "has a damaged text"),
    "no-base64.png": (png(chunk(b"tEXt", b"chara\0\xff\xfe")), "is not valid JSON"),
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


# ---------------------------------------------------------------- aib persona new


def new(folder: Path, *arguments: str, typed: str = "") -> Any:
    """`aib persona new` in *folder*."""
    return invoke(folder, {"HOME": str(folder), "PATH": ""}, "persona", "new", *arguments, typed=typed)


def test_a_sheet_is_made_from_a_card_and_says_what_is_missing(tmp_path: Path) -> None:
    """Nothing is written over."""
    (tmp_path / "card.png").write_bytes(CARDS["text.png"])
    done = new(tmp_path, "mira.yaml", "--from", "card.png")

    assert done.returncode == 0, done.stderr
    assert "not found in it: views, says_it_is_an_ai" in done.stderr
    assert load_sheet(tmp_path / "mira.yaml").name == "Mira"
    assert new(tmp_path, "mira.yaml", "--from", "card.png").returncode == 2


def test_a_sheet_is_asked_for(tmp_path: Path) -> None:
    """Question by question; what is no topic with a text is asked for again."""
    answers = "Mira\nYou are Mira.\nYou keep bees.\n\ncalm\nyour work: She keeps bees.\n\nnonsense\n\n\n\ny\n"
    done = new(tmp_path, "mira.yaml", typed=answers)

    assert done.returncode == 0, done.stderr
    assert "not taken" in done.stderr
    sheet = load_sheet(tmp_path / "mira.yaml")
    assert (sheet.name, sheet.prompt, sheet.voice) == ("Mira", "You are Mira.\nYou keep bees.", "calm")
    assert [(one.section, one.topic, one.says) for one in sheet.items] == [("facts", "your work", "She keeps bees.")]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["mira.yaml"], "the answers ended early"),
        (["mira.yaml", "--example", "wizard"], "there is no wizard"),
        (["mira.yaml", "--from", "nowhere.json"], "does not exist"),
        (["mira.yaml", "--from", "prompt.md"], "does not say the character's name; add --name"),
        (["mira.yaml", "--from", "prompt.md", "--example", "mascot"], "exclude each other"),
    ],
    ids=range(5),
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
