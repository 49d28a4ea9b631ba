"""Somebody else's description of a character -> what a sheet says of it.

    found = read_description(path)  # a Character Card V1, V2 or V3 (JSON, or in a PNG), or a bare prompt
    found.draft, found.missing  # what it says; what a sheet has and it does not say
    read_picture(path)  # the picture without the card

Makes nothing up: what states something is found by `sentences`. Prompt, example dialogue and
lorebook are put together as front ends of cards do. Files are read within a bound and nothing of
them is run, followed or unpacked beyond it.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
import unicodedata
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from independence_bench.errors import WrongUse, why
from independence_bench.escape import TURNING, label_text
from independence_bench.models.response import read_json
from independence_bench.personas.sentences import Kind, Statement, denies, read_statements
from independence_bench.protocol.lorebook import read_lorebook
from independence_bench.yaml_io import yaml_text

LARGEST_FILE = 50_000_000  # bytes: a card's picture may be large, what is read of it is not
LARGEST_PICTURE, LARGEST_SIDE = 2_000_000, 4096  # bytes and pixels of one that is shown
LARGEST_TEXT = 2_000_000  # bytes of a card's text, unpacked
# characters that are read sentence by sentence: as many as a sheet's prompt may have
MOST_READ = 100_000
# statements in a sheet, and how many of them become items; others are comments
MOST_FOUND, MOST_ACTIVE = 300, 40
MOST_CHUNKS = 50_000  # parts of a picture that are looked at
PNG = b"\x89PNG\r\n\x1a\n"
SHOWN = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")  # what a picture needs
LONGEST_SAYS = 2000  # characters
KEYWORDS = (b"ccv3", b"chara")  # V3 first: a file may have both

_UNSEEN = ("Cc", "Cs", "Co")

SECTIONS: Mapping[str, str] = {
    "facts": "facts about it: topic and text",
    "views": "what it thinks: topic and text",
    "tastes": "what it likes: topic and text",
    "red_lines": "what it never does: topic and text",
}
SECTION_OF: Mapping[Kind, str] = {
    "fact": "facts",
    "view": "views",
    "taste": "tastes",
    "rule": "red_lines",
}
ORDER = (
    "system_prompt",
    "{{wiBefore}}",
    "description",
    "personality",
    "scenario",
    "{{wiAfter}}",
    "mes_example",
)
LAST = "post_history_instructions"
_WORD = r"[A-Z][\w'’-]{0,40}(?:(?<=\b[DM]r)\.|(?<=\bMrs)\.|(?<=\bSt)\.)?"
_NAMED = re.compile(
    rf"\b(?:You are|Your name is|You're|You play|Act as|Du bist) {{1,3}}({_WORD}(?: {_WORD}){{0,3}})"
    rf"|^(?:#{{1,3}} )?({_WORD}) (?:is|ist) (?:an?|the|eine?|der|die|das)\b"
    r"|「([^「」\n]{1,20})」です"
)
_TITLED = re.compile(
    r"^[ \t]{0,8}[-*•]?[ \t]{0,8}\**(?:full |voller )?name\**[ \t]{0,4}:\**[ \t]{0,8}(\S.{0,60})",
    re.IGNORECASE | re.MULTILINE,
)
_NO_NAMES = frozenset({"a", "an", "the", "now", "not", "ai", "assistant", "chatgpt"})


@dataclass(frozen=True, slots=True)
class PartialSheet:
    """What is known of a character. "", () and {}: nothing."""

    name: str = ""
    prompt: str = ""
    statements: tuple[Statement, ...] = ()
    says_it_is_an_ai: bool | None = None
    lorebook: Mapping[str, Any] | None = None  # as a sheet has it

    def of(self, section: str) -> tuple[Statement, ...]:
        """What becomes items of *section*, or stands there as a comment."""
        return tuple(
            statement for statement in self.statements if SECTION_OF.get(statement.kind) == section
        )

    @property
    def voice(self) -> str:
        """How it sounds, by all that is sure of it."""
        return " ".join(
            statement.says
            for statement in self.statements
            if statement.kind == "voice" and statement.sure
        )[:LONGEST_SAYS]


@dataclass(frozen=True, slots=True)
class Description:
    """What was read."""

    kind: str  # in words
    draft: PartialSheet
    texts: Mapping[str, str]  # by field, with places filled in
    notes: tuple[str, ...] = ()  # what was left out, or taken for something

    @property
    def missing(self) -> tuple[str, ...]:
        """What a sheet has and the description does not say."""
        gone = [key for key in ("name", "prompt") if not getattr(self.draft, key)]
        kinds = {statement.kind for statement in self.draft.statements}
        gone += [
            name for kind, name in {"voice": "voice", **SECTION_OF}.items() if kind not in kinds
        ]
        return (*gone, *(["says_it_is_an_ai"] if self.draft.says_it_is_an_ai is None else []))


def read_description(path: Path) -> Description:
    """What the file at *path* says of a character. Raises WrongUse where it cannot be read as one."""
    data = _bytes(path)
    if data.startswith(PNG):
        return _of_card(_in_png(data, path), path, "a character card in a picture")
    if len(data) > LARGEST_TEXT:
        raise WrongUse(
            f"{path} has {len(data):,} bytes of text, more than {LARGEST_TEXT:,}; shorten it"
        )
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n").strip()
    except UnicodeDecodeError:
        raise WrongUse(
            f"{path} is neither a PNG nor UTF-8 text; give a card (.json, .png) or a prompt (.md)"
        ) from None
    if not text:
        raise WrongUse(f"{path} is empty")
    if path.suffix.lower() == ".json":
        return _of_card(text, path, "a character card")
    prompt, left_out = _plain(_named(text, ""))
    return _described("a prompt", "", prompt, {"prompt": text}, None, left_out)


def _bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise WrongUse(f"{path} does not exist or is not a file")
        if path.stat().st_size > LARGEST_FILE:
            raise WrongUse(
                f"{path} has {path.stat().st_size:,} bytes, more than {LARGEST_FILE:,}; give a smaller one"
            )
        return path.read_bytes()[: LARGEST_FILE + 1]
    except (OSError, ValueError) as error:
        raise WrongUse(f"{path} cannot be read ({why(error)})") from error


# ---------------------------------------------------------------- cards


def _in_png(data: bytes, path: Path) -> str:
    texts: dict[bytes, bytes] = {}
    for kind, content in _chunks(data, path):
        keyword, _, rest = content.partition(b"\0")
        if kind in (b"tEXt", b"zTXt", b"iTXt") and keyword.lower() in KEYWORDS:
            texts.setdefault(keyword.lower(), _chunk(kind, rest, path))
    for keyword in KEYWORDS:
        if keyword in texts:
            return _decoded(texts[keyword], path)
    raise WrongUse(
        f"{path} is a picture without a character card in it (a text chunk `chara` or `ccv3`)"
    )


def _chunks(data: bytes, path: Path) -> Iterator[tuple[bytes, bytes]]:
    """The parts of the PNG *data*: kind and content."""
    at = len(PNG)
    for _ in range(MOST_CHUNKS):
        if at + 8 > len(data):
            return
        (length,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        if at + 12 + length > len(data):
            raise WrongUse(
                f"{path} says that a part of it has {length:,} bytes, which it does not have: it is cut off or forged"
            )
        if data[at + 8 + length : at + 12 + length] != struct.pack(
            ">I", zlib.crc32(data[at + 4 : at + 8 + length])
        ):
            raise WrongUse(
                f"{path} is damaged: a part of it is not what its sum says; save it again"
            )
        yield kind, data[at + 8 : at + 8 + length]
        if kind == b"IEND":
            return
        at += 12 + length


def read_picture(path: Path) -> bytes:
    """The PNG at *path* as a picture alone, without the texts and places in it. Raises WrongUse
    where it is none.
    """
    data = _bytes(path)
    if not data.startswith(PNG):
        raise WrongUse(f"{path} is not a PNG; save the picture as one")
    parts = [
        (kind, b"" if kind == b"IEND" else content)
        for kind, content in _chunks(data, path)
        if kind in SHOWN
    ]
    kinds = [kind for kind, _ in parts]
    head = parts[0][1] if kinds[:1] == [b"IHDR"] and kinds.count(b"IHDR") == 1 else b""
    width, height = struct.unpack(">II", head[:8]) if len(head) == 13 else (0, 0)
    pixels = b"".join(content for kind, content in parts if kind == b"IDAT")
    if not (width and height and kinds[-1] == b"IEND" and _unpacks(pixels)):
        raise WrongUse(f"{path} is no whole PNG; save the picture again")
    if max(width, height) > LARGEST_SIDE:
        raise WrongUse(
            f"{path} has {width:,} x {height:,} pixels, more than {LARGEST_SIDE:,} a side; make it smaller"
        )
    packed = ((kind + content, struct.pack(">I", len(content))) for kind, content in parts)
    bare = PNG + b"".join(
        length + part + struct.pack(">I", zlib.crc32(part)) for part, length in packed
    )
    if len(bare) > LARGEST_PICTURE:
        raise WrongUse(
            f"{path} has {len(bare):,} bytes, more than {LARGEST_PICTURE:,}; make it smaller"
        )
    return bare


def _unpacks(pixels: bytes) -> bool:
    """Whether *pixels* begin as packed ones do: what comes later is the browser's matter."""
    try:
        return bool(zlib.decompressobj().decompress(pixels, 1))
    except zlib.error:
        return False


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
        raise WrongUse(
            f"{path} carries a text of {len(text):,} bytes, more than {LARGEST_TEXT:,}; that is not a card"
        )
    try:
        plain = text if text.lstrip().startswith(b"{") else base64.b64decode(text, validate=False)
        return plain.decode("utf-8")
    except (binascii.Error, ValueError) as error:
        raise WrongUse(
            f"{path} carries a text that is not a card: neither JSON nor base64 of it"
        ) from error


def _of_card(text: str, path: Path, kind: str) -> Description:
    """What a card says. V1 has its fields on top, V2 and V3 have them in `data`."""
    try:
        content = read_json(text)
    except (ValueError, RecursionError):
        raise WrongUse(
            f"{path} is not valid JSON; a prompt belongs in a .md or .txt file"
        ) from None
    top = content if isinstance(content, dict) else {}
    inside = top.get("data")
    fields: dict[str, Any] = inside if isinstance(inside, dict) else top
    name = _field(fields, "name")
    parts = {key: _field(fields, key) for key in (*ORDER, LAST) if not key.startswith("{")}
    if not name and not any(parts.values()):
        raise WrongUse(
            f"{path} has no name, description or system_prompt: it is not a character card"
        )
    version = {"chara_card_v2": " V2", "chara_card_v3": " V3"}.get(str(top.get("spec")), "")
    called = " ".join(_printable(name).split())[:60]
    book = fields.get("character_book")
    lorebook, notes = read_lorebook(
        book if isinstance(book, dict) else {}, lambda text: _plain(_named(text, called))[0]
    )
    placed = {
        f"{{{{wi{entry.get('position', 'before').title()}}}}}"
        for entry in (lorebook or {}).get("entries", ())
    }
    prompt = [
        _named(_shown(key, parts), called) if key in parts else key * (key in placed)
        for key in (*ORDER, LAST)
    ]
    whole, left_out = _plain("\n\n".join(part for part in prompt if part), kept=tuple(placed))
    if "{{original}}" in parts["system_prompt"]:
        notes.append("{{original}} stood for a prompt that the card does not have; it was left out")
    if parts[LAST]:
        notes.append(f"{LAST} stands at the end of the prompt, not behind each message")
    greetings, entries = fields.get("alternate_greetings"), (lorebook or {}).get("entries", ())
    others = (
        [greeting for greeting in greetings if isinstance(greeting, str)]
        if isinstance(greetings, list)
        else []
    )
    parts |= {"first_mes": _field(fields, "first_mes"), "alternate_greetings": "\n".join(others)}
    greeted = [key for key in ("first_mes", "alternate_greetings") if parts[key]]
    notes += [f"{key} is read for what it states, and not played" for key in greeted]
    parts |= {"character_book": "\n".join(entry["text"] for entry in entries)}
    return _described(f"{kind}{version}", called, whole, parts, lorebook, (*left_out, *notes))


def _shown(key: str, parts: Mapping[str, str]) -> str:
    """The part *key* as it stands in a prompt: example dialogue in blocks, as front ends have it."""
    if key != "mes_example":
        return parts[key]
    blocks = (block.strip() for block in re.split(r"<START>", parts[key], flags=re.IGNORECASE))
    return "\n\n".join(f"[Example Chat]\n{block}" for block in blocks if block)


def _field(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    return value.strip() if isinstance(value, str) else ""


def _named(text: str, name: str) -> str:
    """*text* with the places filled in that cards have for the two who talk."""
    text = text.replace("{{original}}", "")
    # by a function: in a template a backslash of the name would be an escape
    called = name or "the character"
    text = re.sub(r"\{\{\s{0,9}char\s{0,9}\}\}|<BOT>", lambda _: called, text, flags=re.IGNORECASE)
    text = re.sub(
        r"^([ \t]{0,8})(?:\{\{user\}\}|<USER>):",
        r"\1User:",
        text,
        flags=re.IGNORECASE | re.MULTILINE,
    )
    return re.sub(r"\{\{\s{0,9}user\s{0,9}\}\}|<USER>", "the user", text, flags=re.IGNORECASE)


# ---------------------------------------------------------------- texts


def _plain(text: str, kept: tuple[str, ...] = ()) -> tuple[str, tuple[str, ...]]:
    """*text* as a sheet can have it, and what had to go; *kept*: marks that stay."""
    left_out: dict[str, None] = {}

    def gone(match: re.Match[str]) -> str:
        if match[0] in kept:
            return match[0]
        left_out[f"{match[0]} cannot be filled in here and was left out"] = None
        return ""

    # what is left out is named in a note, so it is made printable first
    text = re.sub(r"\{\{[^{}\n]{1,200}\}\}", gone, _printable(text))
    return text.strip(), tuple(left_out)


def _printable(text: str) -> str:
    """*text* without what a terminal would obey or a reader would not see."""
    return "".join(
        c for c in text if c in "\n\t" or not (unicodedata.category(c) in _UNSEEN or c in TURNING)
    )


def _described(
    kind: str,
    name: str,
    prompt: str,
    texts: Mapping[str, str],
    lorebook: Mapping[str, Any] | None,
    notes: tuple[str, ...],
) -> Description:
    """What *texts*, by field, say."""
    if not name and (named := _TITLED.search(prompt) or _NAMED.search(prompt)):
        title = next(group for group in named.groups() if group)
        name = (
            ""
            if not title.strip() or title.split()[0].casefold() in _NO_NAMES
            else title.strip(" .,'’-*")[:60]
        )
    called = name or "the character"
    filled = {key: _plain(_named(text, called))[0] for key, text in texts.items()}
    statements: dict[str, Statement] = {}  # each text once; where it stands twice, as it is surer
    left = MOST_READ
    for key, text in filled.items():
        for statement in read_statements(key, text[:left], called):
            known = statements.get(statement.says.casefold())
            # else no sheet can have it
            whole = "{{" not in statement.topic and "}}" not in statement.topic
            if (
                whole
                and len(statements) < MOST_FOUND
                and (known is None or (statement.sure and not known.sure))
            ):
                statements[statement.says.casefold()] = statement
        left = max(left - len(text), 0)
    honest = next(
        (
            statement
            for statement in statements.values()
            if statement.kind == "honesty" and statement.sure
        ),
        None,
    )
    says_ai = None if honest is None else not denies(honest.says)
    draft = PartialSheet(name, prompt, tuple(statements.values()), says_ai, lorebook)
    return Description(kind, draft, filled, notes)


# ---------------------------------------------------------------- written down


def sheet_text(draft: PartialSheet) -> str:
    """*draft* as a sheet's file; what it does not say, or does not surely say, stands there as a
    comment.
    """
    parts = [yaml_text({"name": draft.name})]
    parts.append(
        yaml_text({"prompt": f"{draft.prompt}\n"})
        if draft.prompt
        else "# prompt: what it is told of itself\n"
    )
    parts.append(yaml_text({"voice": draft.voice}) if draft.voice else "# voice: how it sounds\n")
    parts += _aside(draft, "voice")
    left = MOST_ACTIVE
    for section, about in SECTIONS.items():
        here = draft.of(section)
        sure = [statement for statement in here if statement.sure][:left]
        left -= len(sure)
        parts.append(
            f"{section}:\n"
            if sure
            else f"# {section}: # {about}\n" + "#   topic: text\n" * (not here)
        )
        taken = set[str]()
        for statement in [*sure, *(statement for statement in here if statement not in sure)]:
            topic = (
                statement.topic
                if statement.topic.casefold() not in taken
                else f"{statement.topic} ({len(taken)})"
            )
            taken.add(topic.casefold())
            item = "".join(
                f"  {line}" for line in yaml_text({topic: statement.says}).splitlines(keepends=True)
            )
            parts.append(
                f"  # {label_text(f'{statement.field}: {statement.quote}' if statement.quote else statement.field)}\n"
                + (item if statement in sure else _comment(item))
            )
    parts += _aside(draft, "honesty")
    parts.append(yaml_text({"says_it_is_an_ai": draft.says_it_is_an_ai is not False}))
    if draft.lorebook:
        parts.append(yaml_text({"lorebook": dict(draft.lorebook)}))
    return f"# {label_text(draft.name)}: what each key means is in docs/persona.md\n" + "".join(
        parts
    )


def _aside(draft: PartialSheet, kind: Kind) -> list[str]:
    """What is said of *kind*, with its place; of the voice what is not sure."""
    said = [
        statement
        for statement in draft.statements
        if statement.kind == kind and not (kind == "voice" and statement.sure)
    ]
    return [_comment(f"{statement.says}  ({statement.field})") for statement in said]


def _comment(text: str) -> str:
    return "".join(f"# {label_text(line)}\n" for line in text.splitlines())
