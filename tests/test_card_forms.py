"""Character cards in every form in which people have them: read whole, or refused in one line."""

from __future__ import annotations

import base64
import io
import json
import struct
import time
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from inprocess_aib import invoke

from independence_bench.errors import WrongUse
from independence_bench.hashing import hash_content
from independence_bench.personas.card_fields import Description
from independence_bench.personas.cards import PNG, read_description, render_sheet
from independence_bench.personas.macros import MacroFiller, find_macro
from independence_bench.personas.sheet import read_sheet
from independence_bench.protocol.lorebook import Entry, Lorebook

FIELDS: dict[str, Any] = {
    "name": "Ilse Ørsted",
    "description": "{{char}} tunes pianos in Bergen.",
    "personality": "dry, patient",
    "first_mes": "Come in.",
}


def v2(**fields: Any) -> dict[str, Any]:
    """A V2 card with *fields* in the place of its own."""
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": FIELDS | fields}


def v3(**fields: Any) -> dict[str, Any]:
    """A V3 card with *fields* in the place of its own."""
    return {"spec": "chara_card_v3", "spec_version": "3.0", "data": FIELDS | fields}


def as_json(card: Any) -> bytes:
    """A card as UTF-8."""
    return json.dumps(card, ensure_ascii=False).encode()


def part(kind: bytes, content: bytes, total: bytes | None = None) -> bytes:
    """A part of a PNG, with its checksum or *total*."""
    right = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + (right if total is None else total)


def text(keyword: str, content: bytes, total: bytes | None = None) -> bytes:
    """A tEXt part."""
    return part(b"tEXt", keyword.encode() + b"\0" + content, total)


def packed(card: Any) -> bytes:
    """The base64 of a card."""
    return base64.b64encode(as_json(card))


HEAD = PNG + part(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
PIXELS, END = part(b"IDAT", zlib.compress(b"\0\0\0\0")), part(b"IEND", b"")


def png(*texts: bytes, behind: bytes = b"") -> bytes:
    """A picture of one pixel with *texts* in it, and something *behind* its end."""
    return HEAD + b"".join(texts) + PIXELS + END + behind


def charx(files: Mapping[str, bytes]) -> bytes:
    """A zip of *files*."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


ICON = {"type": "icon", "uri": "embeded://assets/icon/main.png", "name": "main", "ext": "png"}
PLAIN = packed(v2())
BYTES = as_json(v2(description="{{char}} tunes pianos in Bergen.", system_prompt="ÿþ?>~~~ÿ" * 20))
READ: dict[str, tuple[bytes, str]] = {  # file -> its content, and what a note says
    "v1.json": (as_json(FIELDS), ""),
    "v2.json": (as_json(v2()), ""),
    "bom.json": (b"\xef\xbb\xbf" + as_json(v2()), ""),
    "utf16.json": (as_json(v2()).decode().encode("utf-16"), ""),
    "utf16-without-a-mark.json": (as_json(v2()).decode().encode("utf-16-le"), ""),
    "saved.txt": (as_json(v2()), ""),
    "without-an-end": (as_json(v2()), ""),
    "base64.txt": (packed(v2()), ""),
    "list.json": (as_json([v2()]), ""),
    "string.json": (as_json(json.dumps(v2())), ""),
    "data-is-a-string.json": (as_json({"data": json.dumps(v2())}), ""),
    "data-is-null.json": (as_json(FIELDS | {"spec": "chara_card_v2", "data": None}), ""),
    "data-is-empty.json": (as_json(FIELDS | {"spec": "chara_card_v2", "data": {}}), ""),
    "spaces.json": (as_json({" data ": {f" {key} ": FIELDS[key] for key in FIELDS}}), ""),
    "nulls.json": (as_json(v2(scenario=None, character_book=None, extensions=None)), ""),
    "list-of-texts.json": (
        as_json(v2(description=["{{char}} tunes pianos", "in Bergen."])),
        "description is a list",
    ),
    "text.png": (png(text("chara", PLAIN)), ""),
    "capital.png": (png(text("Chara", PLAIN)), ""),
    "behind-the-pixels.png": (HEAD + PIXELS + text("chara", PLAIN) + END, ""),
    "behind-the-end.png": (png(behind=text("chara", PLAIN)), "behind the end"),
    "junk-behind.png": (png(text("chara", PLAIN), behind=b"PK\x03\x04junk" * 9), ""),
    "wrong-checksum.png": (png(text("chara", PLAIN, b"\0\0\0\0")), "checksum"),
    "cut-off.png": (png(text("chara", PLAIN))[:-20], "cut off behind"),
    "no-padding.png": (png(text("chara", PLAIN.rstrip(b"="))), ""),
    "lines.png": (png(text("chara", base64.encodebytes(as_json(v2())))), ""),
    "urlsafe.png": (png(text("chara", base64.urlsafe_b64encode(BYTES))), ""),
    "raw.png": (png(part(b"iTXt", b"chara\0\0\0\0\0" + as_json(v2()))), ""),
    "raw-latin-1.png": (png(text("chara", as_json(v2()).decode().encode("latin-1"))), ""),
    "zipped.png": (png(part(b"zTXt", b"chara\0\0" + zlib.compress(PLAIN))), ""),
    "damaged-v3.png": (
        png(text("ccv3", b"!!!"), text("chara", PLAIN)),
        "a card in it (ccv3) is damaged; another one (chara) was read",
    ),
    "empty-v3.png": (png(text("chara", PLAIN), text("ccv3", b"")), "(ccv3) is damaged"),
    "twice.png": (
        png(text("chara", PLAIN), text("chara", packed(v2(name="Other")))),
        "has 2 cards called chara; number 1 was read",
    ),
    "card.charx": (charx({"card.json": as_json(v3())}), ""),
    "icon.charx": (
        charx({"card.json": as_json(v3(assets=[ICON])), "assets/icon/main.png": png()}),
        "",
    ),
}


@pytest.mark.parametrize("name", READ)
def test_a_card_is_read_whatever_its_form(tmp_path: Path, name: str) -> None:
    """Its name, its prompt, and its personality as the voice; the sheet reads back the same."""
    content, note = READ[name]
    (tmp_path / name).write_bytes(content)
    found = read_description(tmp_path / name)
    sheet, problems = read_sheet(render_sheet(found.draft), tmp_path)

    assert sheet is not None, problems
    assert (sheet.name, sheet.voice) == ("Ilse Ørsted", "dry, patient")
    assert "Ilse Ørsted tunes pianos" in sheet.prompt
    assert sheet.prompt == found.draft.prompt
    assert note in "\n".join(found.notes)
    assert not note or any(note in one for one in found.notes)
    assert "{{" not in sheet.prompt


REFUSED: dict[str, tuple[bytes, str]] = {  # file -> its content, and what the line says
    "photo.jpg": (b"\xff\xd8\xff\xe0\0\x10JFIF", "is a JPEG picture"),
    "renamed.png": (b"\xff\xd8\xff\xe0\0\x10JFIF", "export the character as PNG or JSON"),
    "picture.webp": (b"RIFF\x10\0\0\0WEBPVP8 ", "is a WebP picture"),
    "moving.gif": (b"GIF89a\0\0", "is a GIF picture"),
    "picture.png": (png(), "without a character card"),
    "two.json": (as_json([v2(), v2(name="Bo")]), "2 character cards in it (Ilse Ørsted, Bo)"),
    "comma.json": (as_json(v2())[:-1] + b",}", "line 1 has a comma before }"),
    "comment.json": (b"// mine\n" + as_json(v2()), "line 1 has a comment"),
    "comma.txt": (as_json(v2())[:-1] + b",}", "is not valid JSON"),
    "half.json": (as_json(v2())[:80], "line 1"),
    "deep.json": (b"[" * 100_000, "nested too deeply"),
    "other.json": (b'{"a": 1}', "it is not a character card"),
    "world.json": (b'{"entries": {}}', "is a lorebook, not a character card"),
    "latin.md": ("You are Zoë.".encode("cp1252"), "with UTF-8 as its encoding"),
    "other.zip": (charx({"a.txt": b"x"}), "without card.json"),
    "large.charx": (charx({"card.json": b" " * 3_000_000}), "more than 2,000,000"),
    "broken.charx": (charx({"card.json": as_json(v3())})[:40] + b"PK\5\6" + bytes(18), "card.json"),
    "bad.png": (png(text("chara", b"!!!")), "neither JSON nor base64"),
    "no-card.png": (png(text("chara", base64.b64encode(b"{nonsense"))), "is not valid JSON"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_no_card_is_one_line(tmp_path: Path, name: str) -> None:
    """What it is, and what to do."""
    content, says = REFUSED[name]
    (tmp_path / name).write_bytes(content)

    with pytest.raises(WrongUse) as refused:
        read_description(tmp_path / name)
    assert says in str(refused.value)
    assert str(tmp_path / name) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_icon_of_a_charx_is_the_picture(tmp_path: Path) -> None:
    """Nothing else of it is unpacked, wherever it would lead."""
    content = charx(
        {"card.json": as_json(v3(assets=[ICON])), "assets/icon/main.png": png(), "../up": b"x"}
    )
    (tmp_path / "card.charx").write_bytes(content)
    done = invoke(
        tmp_path,
        {"HOME": str(tmp_path), "PATH": ""},
        *["persona", "new", "a.yaml", "--from", "card.charx"],
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.png").read_bytes() == HEAD + PIXELS + END
    assert not (tmp_path.parent / "up").exists()


def describe(folder: Path, card: dict[str, Any]) -> Description:
    """What is read of *card*."""
    (folder / "card.json").write_bytes(as_json(card))
    return read_description(folder / "card.json")


def test_older_names_of_fields_a_nickname_and_odd_names_are_read(tmp_path: Path) -> None:
    """A number is a name; what nobody sees is no part of one."""
    older = {
        "char_name": "Ada",
        "char_persona": "{{char}} loves tea.",
        "world_scenario": "A kitchen.",
        "example_dialogue": "<START>\n<USER>: Hi\n<BOT>: Tea?",
    }
    found = describe(tmp_path, older)
    called = describe(tmp_path, v3(nickname="Illi"))

    assert found.draft.name == "Ada"
    assert found.draft.prompt == (
        "Ada loves tea.\n\nA kitchen.\n\n[Example Chat]\nUser: Hi\nAda: Tea?"
    )
    assert called.draft.name == "Illi"
    assert called.draft.prompt.startswith("Illi tunes pianos")
    assert "its nickname" in "".join(called.notes)
    assert describe(tmp_path, v2(name=47)).draft.name == "47"
    assert describe(tmp_path, v2(name="\u202eIl\0se\u200b")).draft.name == "Ilse"


def test_what_is_not_played_is_named(tmp_path: Path) -> None:
    """Whatever reaches a model in a front end, and no model here."""
    found = describe(
        tmp_path,
        v3(
            alternate_greetings=["Hello."],
            extensions={"depth_prompt": {"prompt": "Be brief.", "depth": 4}},
            personality="calm " * 500,
        ),
    )
    said = "\n".join(found.notes)

    assert "first_mes is not played\nalternate_greetings is not played" in said
    assert "depth_prompt, a note among the messages, is not played" in said
    assert "its first 1,999 are the voice" in said or "are the voice" in said
    assert len(found.draft.voice) <= 2000


# ---------------------------------------------------------------- macros

FILLED = {
    "{{char}}, {{ Char }}, {{CHAR}}, <BOT>, <char>": "Ilse, Ilse, Ilse, Ilse, Ilse",
    "<USER>: hi\n{{user}}: well, {{User}}": "User: hi\nUser: well, the user",
    "<user>Be kind.</user>": "<user>Be kind.</user>",
    "a{{// a note\nof lines }}b{{comment: x}}{{noop}}": "ab",
    '{"a": {"b": {"c": 1}}}': '{"a": {"b": {"c": 1}}}',
    '{"a":{"b":"{{char}}"}}': '{"a":{"b":"Ilse"}}',
    '{"a":{"b":{{char}}}}': '{"a":{"b":Ilse}}',
    '{{"a": 1}} {{{char}}}': '{{"a": 1}} {Ilse}',
    "{{random::red::green}} {{pick:a,b}}": "red a",
    "{{random:red,{{random:green,blue}},yellow}}": "red",
    '{{setvar::mood::{"a":{"b":1}}}}{{getvar::mood}}': '{"a":{"b":1}}',
    "a\n\n{{trim}}\n\nb{{newline}}c": "ab\nc",
    "{{time}}{{persona}}{{}}{{ }}x": "x",
    "{{if {{char}}}}x{{/if}}": "x",
    "{{random::" + "::".join(f"option {n}" for n in range(500)) + "}}": "option 0",
    "{{// :{ }}a{{// :{ }}b": "ab",
    "{{char": "{{char",
    "{char} and [[char]]": "Ilse and [[char]]",
}


@pytest.mark.parametrize("written", FILLED)
def test_a_macro_is_filled_in_or_left_out(written: str) -> None:
    """Of any length, on any number of lines, in another one; braces that are the writer's stay."""
    filled = MacroFiller("Ilse").fill(written)

    assert filled == FILLED[written]
    assert find_macro(filled) == ""


def test_what_is_decided_or_left_out_is_named_once() -> None:
    """One line each, and cut where it is long."""
    filler = MacroFiller("Ilse")
    filler.fill(
        "{{time}} {{time}} {{random::tea::rum}} {{persona}} {{scenario}}" + "{{a" + "b" * 99
    )
    filler.fill("{{" + "x" * 900 + "}}")
    many = MacroFiller("Ilse")
    many.fill("".join(f"{{{{macro{n}}}}}" for n in range(99)))

    assert list(filler.notes[:4]) == [
        "{{time}} cannot be filled in here and was left out",
        "{{random::tea::rum}} is always its first choice, “tea”",
        "{{persona}} cannot be filled in here and was left out",
        "{{scenario}} was left out: the prompt has that part in its own place",
    ]
    assert all(len(note) < 160 for note in filler.notes)
    assert many.notes[-1] == "87 more macros were left out or decided"


@pytest.mark.parametrize(
    "unit",
    [
        "{{",
        "}}",
        "{",
        "{{}",
        "{{a}}",
        "{{ ",
        "a{",
        "{{a:{ }}",
        "\n{{trim}}",
        "{{getvar::x}}",
        "<USER>",
    ],
)
def test_hostile_braces_take_linear_time(unit: str) -> None:
    """Ten times the text takes no hundred times the time; variables cannot grow without end."""
    taken = []
    for size in (20_000, 200_000):
        began = time.process_time()
        filled = MacroFiller("I").fill(
            "{{setvar::x::" + "y" * 900 + "}}" + unit * (size // len(unit))
        )
        taken.append(time.process_time() - began)
        assert len(filled) < 3 * size + 300_000
    assert taken[1] < 40 * taken[0] + 0.5


# ---------------------------------------------------------------- lorebooks


def entry(**more: Any) -> dict[str, Any]:
    """A lorebook entry about dragons, with *more* in it."""
    return {"keys": ["dragon"], "content": "Dragons are gone.", "enabled": True} | more


def world(**more: Any) -> dict[str, Any]:
    """The same in the form of a world file."""
    return {"uid": 0, "key": ["dragon"], "keysecondary": [], "content": "Dragons are gone."} | more


GONE = {"keys": ["dragon"], "text": "Dragons are gone."}
# name -> (entries of a card, entries of the sheet, what a note says)
BOOKS: dict[str, tuple[Any, list[dict[str, Any]], str]] = {
    "an object": ({"0": entry(), "1": entry(keys=["sea"])}, [GONE, GONE | {"keys": ["sea"]}], ""),
    "a world file": (
        {"0": world(position=1, order=5)},
        [GONE | {"position": "after", "order": 5}],
        "",
    ),
    "switched off": ([world(disable=True), entry(enabled="false"), entry(enabled=0)], [], ""),
    "keys in a text": ([entry(keys="dragon, wyrm")], [GONE | {"keys": ["dragon", "wyrm"]}], ""),
    "commas in a key": (
        [entry(keys=["dragon, wyrm"])],
        [GONE | {"keys": ["dragon", "wyrm"]}],
        "a key with commas",
    ),
    "numbers as texts": (
        [entry(insertion_order="5", priority="7")],
        [GONE | {"order": 5, "priority": 7}],
        "",
    ),
    "slashes": ([entry(keys=["/help", "24/7"])], [GONE | {"keys": ["/help", "24/7"]}], ""),
    "patterns": ([entry(keys=["/drag(on|oon)/i"])], [], "has patterns as keys"),
    "a pattern and a word": (
        [entry(keys=["/d.*n/", "dragon"])],
        [GONE],
        "its patterns are not run",
    ),
    "use_regex": ([entry(use_regex=True)], [], "has patterns as keys"),
    "no keys": ([entry(keys=["", ""]), entry(keys=[])], [], "and was left out"),
    "constant": (
        [entry(keys=None, constant="true")],
        [{"constant": True, "text": "Dragons are gone."}],
        "",
    ),
    "a place by number": ([entry(position=1)], [GONE | {"position": "after"}], ""),
    "a place in extensions": (
        [entry(position="", extensions={"position": 1})],
        [GONE | {"position": "after"}],
        "",
    ),
    "among the messages": (
        [entry(extensions={"position": 4, "depth": 2})],
        [GONE | {"position": "after"}],
        "in a front end at depth 2",
    ),
    "NOT ANY": (
        [entry(selective=True, secondary_keys=["tame"], extensions={"selectiveLogic": 2})],
        [GONE | {"also": ["tame"], "also_rule": "not any"}],
        "",
    ),
    "AND ALL of a world": (
        [world(keysecondary=["red", "old"], selectiveLogic=3)],
        [GONE | {"also": ["red", "old"], "also_rule": "all"}],
        "",
    ),
    "never": (
        [entry(extensions={"probability": 0, "useProbability": True})],
        [],
        "probability of 0",
    ),
    "sometimes": ([entry(extensions={"probability": 40})], [GONE], "no chance is drawn"),
    "whole words": (
        [entry(extensions={"match_whole_words": True})],
        [GONE | {"whole_words": True}],
        "",
    ),
    "sticky": ([entry(extensions={"sticky": 3})], [GONE], "not played: it stays for some messages"),
    "no entries": ("many", [], "its entries are no list"),
}


@pytest.mark.parametrize("name", BOOKS)
def test_a_lorebook_is_read_whatever_its_form(tmp_path: Path, name: str) -> None:
    """What cannot be played is named."""
    entries, played, note = BOOKS[name]
    found = describe(tmp_path, v2(character_book={"entries": entries}))
    given = (found.draft.lorebook or {}).get("entries", [])

    assert given == played
    said = [line for line in found.notes if line.startswith("lorebook")]
    assert bool(said) == bool(note), said
    assert note in "".join(said)


def test_a_large_lorebook_is_read_whole(tmp_path: Path) -> None:
    """900 entries are the world of some cards; more than a thousand are cut, and it is said."""
    entries = [entry(keys=[f"k{number}"], content="x" * 400) for number in range(1001)]
    found = describe(tmp_path, v2(character_book={"entries": entries[:900], "scan_depth": "4"}))
    cut = describe(tmp_path, v2(character_book={"entries": entries}))
    sheet, problems = read_sheet(render_sheet(found.draft), tmp_path)

    assert sheet is not None, problems
    assert sheet.lorebook is not None
    assert (len(sheet.lorebook.entries), sheet.lorebook.scan_depth) == (900, 4)
    assert "lorebook: “k1000”: left out: more than 1,000 entries" in "".join(cut.notes)


@pytest.mark.parametrize(
    ("rule", "woken"),
    [("any", (0, 1, 1)), ("all", (0, 0, 1)), ("not any", (1, 0, 0)), ("not all", (1, 1, 0))],
)
def test_secondary_keys_are_counted_by_their_rule(rule: str, woken: tuple[int, ...]) -> None:
    """As front ends do: none, one or both of two are said."""
    made = Entry.model_validate(
        {"keys": ["dragon"], "also": ["red", "old"], "also_rule": rule, "text": "x"}
    )
    said = ("a dragon", "a red dragon", "an old red dragon")

    assert tuple(int(made.is_woken(one)) for one in said) == woken
    assert not made.is_woken("red and old")


def test_a_whole_word_is_no_part_of_another() -> None:
    """Only where the entry asks for it."""
    loose, strict = (
        Entry.model_validate({"keys": ["inn"], "whole_words": whole, "text": "x"})
        for whole in (False, True)
    )

    assert loose.is_woken("dinner")
    assert not strict.is_woken("dinner")
    assert strict.is_woken("The inn, please")


def test_a_lorebook_that_is_stored_keeps_its_hash() -> None:
    """What entries were given later counts only where it is set."""
    old = {"keys": ["inn"], "also": ["fire"], "text": "It burnt."}
    book = Lorebook.model_validate({"entries": [old]})
    other = Lorebook.model_validate({"entries": [old | {"also_rule": "not any"}]})

    known = "f5691bb2cebaf2ad3f7da4e5c4515700fe06548e6fae9ff9b5cb391c0a5dff9a"
    assert hash_content(book) == known
    assert hash_content(other) != hash_content(book)
