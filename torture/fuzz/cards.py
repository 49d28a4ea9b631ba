"""A character card: a picture with a text in it, JSON, or a prompt; the first byte says which.

A description or one line that names the file; what it drafts is a sheet that is read back without a
word lost.
"""

from __future__ import annotations

import base64
import json
import struct
import tempfile
import zlib
from pathlib import Path

from fuzz.json_values import flatten, grow
from fuzz.texts import assert_names, assert_storable
from independence_bench.errors import WrongUse
from independence_bench.personas.cards import PNG, read_description, render_sheet
from independence_bench.yaml_io import read_yaml_mapping

KINDS = ("card.png", "chunk.png", "card.json", "grown.json", "prompt.md")
WORDS = (
    "spec", "chara_card_v2", "chara_card_v3", "data", "name", "system_prompt", "description",
    "personality", "scenario", "post_history_instructions", "first_mes", "{{char}} likes: rain",
    "You are Ada Lovelace.", "{{original}}", "- **Likes**: rain\nNever: lies\nVoice: dry",
    "{{user}}", "\ud800", "\x1b[31m", "an AI",
)  # fmt: skip


def check(data: bytes) -> None:
    """Read *data* as a file of the kind that its first byte picks."""
    name = KINDS[(data[0] if data else 0) % len(KINDS)]
    body = data[1:]
    if name == "card.png":
        body = PNG + body
    elif name == "chunk.png":
        body = picture(body)
    elif name == "grown.json":
        body = json.dumps(grow(body, WORDS)).encode("utf-8", "surrogatepass")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_bytes(body)
        try:
            found = read_description(file)
        except WrongUse as error:
            assert_names(error, str(file))
            return
    draft = found.draft
    assert_storable(draft.name, draft.prompt, *found.texts.values(), *found.notes)
    written = read_yaml_mapping(
        render_sheet(draft), lambda where, problem: WrongUse(f"{where}: {problem}")
    )
    assert written["name"] == draft.name
    assert written.get("prompt", "").rstrip("\n") == draft.prompt, (
        written.get("prompt"),
        draft.prompt,
    )


def picture(body: bytes) -> bytes:
    """A picture whose only part is *body*: its first byte says how it is packed."""
    kind, text = (body[0] if body else 0) % 3, body[1:]
    if kind == 0:
        return PNG + chunk(b"tEXt", b"chara\0" + base64.b64encode(text))
    if kind == 1:
        return PNG + chunk(b"zTXt", b"ccv3\0\0" + zlib.compress(text))
    return PNG + chunk(b"iTXt", b"chara\0\1\0\0\0" + zlib.compress(base64.b64encode(text)))


def chunk(kind: bytes, data: bytes) -> bytes:
    """One part of a picture."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


CARD = (
    b'{"spec": "chara_card_v2", "data": {"name": "Ada", "description": "Likes: rain\\nNever: lies",'
    b' "system_prompt": "You are {{char}}. {{original}}"}}'
)
SEEDS = (
    b"\x00" + chunk(b"IHDR", b"\0" * 13) + chunk(b"tEXt", b"chara\0" + base64.b64encode(CARD)),
    b"\x00" + chunk(b"zTXt", b"ccv3\0\0" + zlib.compress(b"0" * 1000)) + chunk(b"IEND", b""),
    b"\x01\x00" + CARD,
    b"\x01\x01" + CARD,
    b"\x01\x02" + CARD,
    b"\x02" + CARD,
    b'\x02{"name": "Ada", "personality": "- **Voice**: dry\\n* Opinions : {{user}} is right"}',
    b"\x03" + flatten(json.loads(CARD), WORDS),
    b"\x04You are Ada Lovelace.\r\nLikes: rain\n**Never**: lies {{weather}}\nVoice: dry: but warm",
)
FOUND = (
    b"\x03\x05\x02\x04\x03",  # a name and no prompt
    b'\x02{"name": "A", "description": "{{\\ud800}}"}',  # what is left out is named in a note
    b'\x02{"name": "A\\\\u", "description": "{{char}}"}',  # a name that is no template
)
