"""Somebody else's description of a character -> what a sheet says of it.

    found = read_description(path)     # a Character Card V2 or V3 (JSON, or in a PNG), or a bare prompt
    found.draft, found.missing         # what it says; what a sheet has and it does not say

Reads what stands there and makes nothing up: a line "Likes: rain" of a description is a taste, a sentence is left in
the prompt. Files are read within a bound and nothing of them is run, followed or unpacked beyond it.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
import unicodedata
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from independence_bench.errors import WrongUse, why
from independence_bench.escape import TURNING, label_text
from independence_bench.models.response import read_json
from independence_bench.yaml_io import yaml_text

LARGEST_FILE = 50_000_000  # bytes: a card's picture may be large, what is read of it is not
LARGEST_TEXT = 2_000_000  # bytes of a card's text, unpacked
MOST_FOUND = 20  # lines of a description that become items
MOST_CHUNKS = 50_000  # parts of a picture that are looked at
PNG = b"\x89PNG\r\n\x1a\n"
KEYWORDS = (b"ccv3", b"chara")  # V3 first: a file may have both

_UNSEEN = ("Cc", "Cs", "Co")

SECTIONS: Mapping[str, str] = {
    "facts": "facts about it: topic and text",
    "views": "what it thinks: topic and text",
    "tastes": "what it likes: topic and text",
    "red_lines": "what it never does: topic and text",
}
# what stands before the colon of a line -> the section that the line belongs to; other lines are facts
_TOPICS: Mapping[str, str] = {
    **dict.fromkeys(("likes", "loves", "dislikes", "hates", "favorites", "favourites", "hobbies", "tastes"), "tastes"),
    **dict.fromkeys(("opinions", "opinion", "views", "beliefs", "believes", "values", "worldview"), "views"),
    **dict.fromkeys(("never", "boundaries", "limits", "rules", "red lines", "will not", "refuses"), "red_lines"),
    **dict.fromkeys(("voice", "speech", "tone", "style", "speaking style", "manner"), "voice"),
    **dict.fromkeys(("name", "full name"), "name"),
}
_LINE = re.compile(
    r"^[ \t]{0,8}[-*•]?[ \t]{0,8}\*{0,3}([A-Za-z][A-Za-z /'-]{1,40}?)\*{0,3}[ \t]{0,8}:\*{0,3}[ \t]{0,8}(\S.{0,400})$",
    re.MULTILINE,
)
_WORD = r"[A-Z][\w'’.-]{0,40}"
_NAMED = re.compile(rf"\b(?:You are|Your name is|You're|You play|Act as) {{1,3}}({_WORD}(?: {_WORD}){{0,3}})")
_NO_NAMES = frozenset({"a", "an", "the", "now", "not", "ai", "assistant", "chatgpt"})
_SAYS_AI = re.compile(
    r"\b(?:an ai|language model|artificial intelligence|chatbot|computer program|virtual assistant)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class PartialSheet:
    """What is known of a character. "" and {}: nothing."""

    name: str = ""
    prompt: str = ""
    voice: str = ""
    items: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # section -> topic -> text
    says_it_is_an_ai: bool | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """What was read."""

    kind: str  # in words
    draft: PartialSheet
    notes: tuple[str, ...] = ()  # what was left out, or taken for something

    @property
    def missing(self) -> tuple[str, ...]:
        """What a sheet has and the description does not say."""
        gone = [key for key in ("name", "prompt", "voice") if not getattr(self.draft, key)]
        gone += [section for section in SECTIONS if not self.draft.items.get(section)]
        return (*gone, *(["says_it_is_an_ai"] if self.draft.says_it_is_an_ai is None else []))


def read_description(path: Path) -> Description:
    """What the file at *path* says of a character. Raises WrongUse where it cannot be read as one."""
    data = _bytes(path)
    if data.startswith(PNG):
        return _of_card(_in_png(data, path), path, "a character card in a picture")
    if len(data) > LARGEST_TEXT:
        raise WrongUse(f"{path} has {len(data):,} bytes of text, more than {LARGEST_TEXT:,}; shorten it")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n").strip()
    except UnicodeDecodeError:
        raise WrongUse(f"{path} is neither a PNG nor UTF-8 text; give a card (.json, .png) or a prompt (.md)") from None
    if not text:
        raise WrongUse(f"{path} is empty")
    if path.suffix.lower() == ".json":
        return _of_card(text, path, "a character card")
    prompt, left_out = _plain(_named(text, ""))
    return Description(
        "a prompt", _drafted("", prompt, prompt, "", _SAYS_AI.search(prompt) is not None or None), left_out
    )


def _bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise WrongUse(f"{path} does not exist or is not a file")
        if path.stat().st_size > LARGEST_FILE:
            raise WrongUse(f"{path} has {path.stat().st_size:,} bytes, more than {LARGEST_FILE:,}; give a smaller one")
        return path.read_bytes()[: LARGEST_FILE + 1]
    except (OSError, ValueError) as error:
        raise WrongUse(f"{path} cannot be read ({why(error)})") from error


# ---------------------------------------------------------------- cards


def _in_png(data: bytes, path: Path) -> str:
    texts: dict[bytes, bytes] = {}
    at = len(PNG)
    for _ in range(MOST_CHUNKS):
        if at + 8 > len(data):
            break
        (length,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        if at + 12 + length > len(data):
            raise WrongUse(
                f"{path} says that a part of it has {length:,} bytes, which it does not have: it is cut off or forged"
            )
        if kind in (b"tEXt", b"zTXt", b"iTXt"):
            keyword, _, rest = data[at + 8 : at + 8 + length].partition(b"\0")
            if keyword.lower() in KEYWORDS:
                texts.setdefault(keyword.lower(), _chunk(kind, rest, path))
        if kind == b"IEND":
            break
        at += 12 + length
    for keyword in KEYWORDS:
        if keyword in texts:
            return _decoded(texts[keyword], path)
    raise WrongUse(f"{path} is a picture without a character card in it (a text chunk `chara` or `ccv3`)")


def _chunk(kind: bytes, rest: bytes, path: Path) -> bytes:
    """The text of a chunk, after its keyword."""
    packed = kind == b"zTXt"
    if kind == b"zTXt":
        rest = rest[1:]
    elif kind == b"iTXt":
        packed, rest = rest[:1] == b"\1", rest[2:].split(b"\0", 2)[-1]
    if not packed:
        return rest
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(rest, LARGEST_TEXT + 1)
    except zlib.error as error:
        raise WrongUse(f"{path} has a damaged text in it ({error})") from error
    return text


def _decoded(text: bytes, path: Path) -> str:
    if len(text) > LARGEST_TEXT * 4 // 3:
        raise WrongUse(f"{path} carries a text of {len(text):,} bytes, more than {LARGEST_TEXT:,}; that is not a card")
    try:
        plain = text if text.lstrip().startswith(b"{") else base64.b64decode(text, validate=False)
        return plain.decode("utf-8")
    except (binascii.Error, ValueError) as error:
        raise WrongUse(f"{path} carries a text that is not a card: neither JSON nor base64 of it") from error


def _of_card(text: str, path: Path, kind: str) -> Description:
    """What a card says. V1 has its fields on top, V2 and V3 have them in `data`."""
    try:
        content = read_json(text)
    except (ValueError, RecursionError):
        raise WrongUse(f"{path} is not valid JSON; a prompt belongs in a .md or .txt file") from None
    top = content if isinstance(content, dict) else {}
    inside = top.get("data")
    fields: dict[str, Any] = inside if isinstance(inside, dict) else top
    name = _field(fields, "name")
    parts = {
        key: _field(fields, key)
        for key in ("system_prompt", "description", "personality", "scenario", "post_history_instructions")
    }
    if not name and not any(parts.values()):
        raise WrongUse(f"{path} has no name, description or system_prompt: it is not a character card")
    version = {"chara_card_v2": " V2", "chara_card_v3": " V3"}.get(str(top.get("spec")), "")
    called = " ".join(_printable(name).split())[:60]
    kept = {key: _named(text, called) for key, text in parts.items() if text}
    whole, left_out = _plain("\n\n".join(kept.values()))
    notes = [*left_out]
    if "{{original}}" in parts["system_prompt"]:
        notes.append("{{original}} stood for a prompt that the card does not have; it was left out")
    notes += [
        f"{key} is not part of a prompt and was left out"
        for key in ("first_mes", "mes_example", "character_book", "alternate_greetings")
        if fields.get(key)
    ]
    descriptive = "\n".join(_plain(kept[key])[0] for key in ("description", "personality") if key in kept)
    return Description(f"{kind}{version}", _drafted(called, whole, descriptive, called, None), tuple(notes))


def _field(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    return value.strip() if isinstance(value, str) else ""


def _named(text: str, name: str) -> str:
    """*text* with the places filled in that cards have for the two who talk."""
    text = text.replace("{{original}}", "")
    called = name or "the character"  # by a function: in a template a backslash of the name would be an escape
    text = re.sub(r"\{\{\s*char\s*\}\}|<BOT>", lambda _: called, text, flags=re.IGNORECASE)
    return re.sub(r"\{\{\s*user\s*\}\}|<USER>", "the user", text, flags=re.IGNORECASE)


# ---------------------------------------------------------------- texts


def _plain(text: str) -> tuple[str, tuple[str, ...]]:
    """*text* as a sheet can have it, and what had to go."""
    left_out: dict[str, None] = {}

    def gone(match: re.Match[str]) -> str:
        left_out[f"{match[0]} cannot be filled in here and was left out"] = None
        return ""

    # what is left out is named in a note, so it is made printable first
    text = re.sub(r"\{\{[^{}\n]{1,200}\}\}", gone, _printable(text))
    return text.strip(), tuple(left_out)


def _printable(text: str) -> str:
    """*text* without what a terminal would obey or a reader would not see."""
    return "".join(c for c in text if c in "\n\t" or not (unicodedata.category(c) in _UNSEEN or c in TURNING))


def _drafted(name: str, prompt: str, descriptive: str, called: str, says_ai: bool | None) -> PartialSheet:
    """What *descriptive*, a part of *prompt*, says line by line."""
    items: dict[str, dict[str, str]] = {}
    voice = ""
    for line in _LINE.finditer(descriptive):
        topic, text = " ".join(line[1].split()), " ".join(line[2].split())
        if "{{" in topic + text or "}}" in topic + text or text.startswith("//"):
            continue
        section = _TOPICS.get(topic.casefold(), "facts")
        if section == "voice":
            voice = voice or text[:2000]
        elif section == "name":
            name = name or text[:60]
        elif sum(map(len, items.values())) < MOST_FOUND:
            items.setdefault(section, {}).setdefault(topic.lower(), text)
    if not name and (named := _NAMED.search(prompt)) and named[1].split()[0].casefold() not in _NO_NAMES:
        name = named[1].rstrip(".,'’-")[:60]
    return PartialSheet(name or called, prompt, voice, items, says_ai)


# ---------------------------------------------------------------- written down


def sheet_text(draft: PartialSheet) -> str:
    """*draft* as a sheet's file; what it does not say stands there as a comment."""
    parts = [yaml_text({"name": draft.name})]
    parts.append(
        yaml_text({"prompt": f"{draft.prompt}\n"}) if draft.prompt else "# prompt: what it is told of itself\n"
    )
    parts.append(yaml_text({"voice": draft.voice}) if draft.voice else "# voice: how it sounds\n")
    for section, about in SECTIONS.items():
        here = draft.items.get(section)
        parts.append(yaml_text({section: dict(here)}) if here else f"# {section}: # {about}\n#   topic: text\n")
    parts.append(yaml_text({"says_it_is_an_ai": draft.says_it_is_an_ai is not False}))
    return f"# {label_text(draft.name)}: what each key means is in docs/persona.md\n" + "".join(parts)
