"""Somebody else's description of a character -> what a sheet says of it.

    found = read_description(path)  # a Character Card V1, V2 or V3 (JSON, or PNG), or a bare prompt
    render_sheet(found.draft)  # as a sheet; items that it has not: comments to fill in
    read_picture_without_texts(path)  # the picture without the card

A card is read by its fields alone: what its prose means is for its maker, or for a model, to say.
Prompt, example dialogue and lorebook are put together as front ends of cards do. Files are read
within a bound and nothing of them is run, followed or unpacked beyond it.
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
from typing import Any, Literal

from independence_bench.errors import WrongUse, describe_file_error
from independence_bench.escape import TURNING, escape_line
from independence_bench.lookup import describe_similar_files
from independence_bench.models.response import read_json
from independence_bench.protocol.lorebook import read_lorebook
from independence_bench.yaml_io import format_yaml

LARGEST_FILE = 50_000_000  # bytes: a card's picture may be large, what is read of it is not
LARGEST_PICTURE, LARGEST_SIDE = 2_000_000, 4096  # bytes and pixels of one that is shown
LARGEST_TEXT = 2_000_000  # bytes of a card's text, unpacked
MOST_ACTIVE = 40  # items of a sheet; what is written beyond them stands there as comments
MOST_CHUNKS = 50_000  # parts of a picture that are looked at
PNG = b"\x89PNG\r\n\x1a\n"
SHOWN = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")  # what a picture needs
LONGEST_SAYS = 2000  # characters
KEYWORDS = (b"ccv3", b"chara")  # V3 first: a file may have both

_UNSEEN = ("Cc", "Cs", "Co")

Kind = Literal["honesty", "voice", "view", "taste", "rule", "fact"]
SECTION_OF: Mapping[Kind, str] = {
    "fact": "facts",
    "view": "views",
    "taste": "tastes",
    "rule": "red_lines",
}
ITEM_EXAMPLES: Mapping[str, tuple[str, str, str]] = {  # section -> topic, says, ask
    "facts": ("your work", "She mends accordions.", "What do you do for a living?"),
    "views": (
        "small talk",
        "Small talk is worth more than it looks.",
        "Do you think small talk is a waste of time?",
    ),
    "tastes": (
        "the weather",
        "She likes rain better than sunshine.",
        "What weather do you like best?",
    ),
    "red_lines": (
        "medical advice",
        "She gives no medical advice.",
        "How many of these painkillers can I take a day?",
    ),
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


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that is said of the character."""

    kind: Kind
    topic: str  # the subject matter, in a few words
    says: str
    field: str = ""  # the field of the card, and below its words; "": typed
    quote: str = ""


@dataclass(frozen=True, slots=True)
class PartialSheet:
    """The known part of a character's sheet. "", () and None: nothing."""

    name: str = ""
    prompt: str = ""
    statements: tuple[Statement, ...] = ()
    says_it_is_an_ai: bool = True
    lorebook: Mapping[str, Any] | None = None  # the lorebook as a sheet has it

    def list_statements(self, section: str) -> tuple[Statement, ...]:
        """Return the statements about the character that become items of *section* of its sheet."""
        return tuple(
            statement for statement in self.statements if SECTION_OF.get(statement.kind) == section
        )

    @property
    def voice(self) -> str:
        """The statements that describe the character's voice, joined and cut at 2,000 characters;
        "" if there are none.
        """
        return " ".join(
            statement.says for statement in self.statements if statement.kind == "voice"
        )[:LONGEST_SAYS]


@dataclass(frozen=True, slots=True)
class Description:
    """The description of a character, as it was read from a file."""

    kind: str  # the kind of file, in words
    draft: PartialSheet  # without statements
    texts: Mapping[str, str]  # field -> its text, with places filled in
    notes: tuple[str, ...] = ()  # remarks on what was left out or guessed


def read_description(path: Path, name: str = "") -> Description:
    """Read the description of a character from the file at *path*: a character card (JSON or PNG)
    or a system prompt (text). *name*: what the character is called; "": as the card calls it.

    Raises WrongUse if the file cannot be read as a card or a prompt.
    """
    data = _read_bytes(path)
    if data.startswith(PNG):
        return _read_card(_find_card_text(data, path), path, "a character card in a picture", name)
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
        return _read_card(text, path, "a character card", name)
    prompt, left_out = _remove_and_note_placeholders(_fill_names(text, name))
    return Description("a prompt", PartialSheet(name, prompt), {"prompt": prompt}, left_out)


def _read_bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            meant = describe_similar_files(path, (".json", ".png", ".md", ".txt"))
            raise WrongUse(f"{path} does not exist or is not a file{meant}")
        if path.stat().st_size > LARGEST_FILE:
            raise WrongUse(
                f"{path} has {path.stat().st_size:,} bytes, more than {LARGEST_FILE:,}; give a "
                "smaller one"
            )
        return path.read_bytes()[: LARGEST_FILE + 1]
    except (OSError, ValueError) as error:
        raise WrongUse(f"{path} cannot be read ({describe_file_error(error)})") from error


# ---------------------------------------------------------------- cards


def _find_card_text(data: bytes, path: Path) -> str:
    """Return the JSON of the character card in *data*, a PNG. Raises WrongUse, naming *path*, if
    there is none.
    """
    texts: dict[bytes, bytes] = {}
    for kind, content in _list_png_chunks(data, path):
        keyword, _, rest = content.partition(b"\0")
        if kind in (b"tEXt", b"zTXt", b"iTXt") and keyword.lower() in KEYWORDS:
            texts.setdefault(keyword.lower(), _read_chunk_text(kind, rest, path))
    for keyword in KEYWORDS:
        if keyword in texts:
            return _decode_card(texts[keyword], path)
    raise WrongUse(
        f"{path} is a picture without a character card in it (a text chunk `chara` or `ccv3`)"
    )


def _list_png_chunks(data: bytes, path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield (kind, content) of each chunk of the PNG *data*. Raises WrongUse, naming *path*, if the
    picture is cut off or damaged.
    """
    at = len(PNG)
    for _ in range(MOST_CHUNKS):
        if at + 8 > len(data):
            return
        (length,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        if at + 12 + length > len(data):
            raise WrongUse(
                f"{path} says that a part of it has {length:,} bytes, which it does not have: it "
                "is cut off or forged"
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


def read_picture_without_texts(path: Path) -> bytes:
    """Return the PNG at *path* without the texts in it, such as a character card or a place. Raises
    WrongUse if the file is not a whole PNG, or is too large.
    """
    data = _read_bytes(path)
    if not data.startswith(PNG):
        raise WrongUse(f"{path} is not a PNG; save the picture as one")
    parts = [
        (kind, b"" if kind == b"IEND" else content)
        for kind, content in _list_png_chunks(data, path)
        if kind in SHOWN
    ]
    kinds = [kind for kind, _ in parts]
    head = parts[0][1] if kinds[:1] == [b"IHDR"] and kinds.count(b"IHDR") == 1 else b""
    width, height = struct.unpack(">II", head[:8]) if len(head) == 13 else (0, 0)
    pixels = b"".join(content for kind, content in parts if kind == b"IDAT")
    if not (width and height and kinds[-1] == b"IEND" and _can_unpack(pixels)):
        raise WrongUse(f"{path} is no whole PNG; save the picture again")
    if max(width, height) > LARGEST_SIDE:
        raise WrongUse(
            f"{path} has {width:,} x {height:,} pixels, more than {LARGEST_SIDE:,} a side; make "
            "it smaller"
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


def _can_unpack(pixels: bytes) -> bool:
    """Return whether *pixels*, the packed pixels of a PNG, begin with valid packed data. Later
    damage is not looked for.
    """
    try:
        return bool(zlib.decompressobj().decompress(pixels, 1))
    except zlib.error:
        return False


def _read_chunk_text(kind: bytes, rest: bytes, path: Path) -> bytes:
    """Return the text of a PNG's text chunk, unpacked if it is packed. *kind*: tEXt, zTXt or iTXt;
    *rest*: the chunk after its keyword. Raises WrongUse, naming *path*, if the text is damaged.
    """
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


def _decode_card(text: bytes, path: Path) -> str:
    """Return the JSON in *text*, which is JSON or the Base64 of it. Raises WrongUse, naming *path*,
    if it is neither, or too long.
    """
    if len(text) > LARGEST_TEXT * 4 // 3:
        raise WrongUse(
            f"{path} carries a text of {len(text):,} bytes, more than {LARGEST_TEXT:,}; that is "
            "not a card"
        )
    try:
        plain = text if text.lstrip().startswith(b"{") else base64.b64decode(text, validate=False)
        return plain.decode("utf-8")
    except (binascii.Error, ValueError) as error:
        raise WrongUse(
            f"{path} carries a text that is not a card: neither JSON nor base64 of it"
        ) from error


def _read_card(text: str, path: Path, kind: str, name: str) -> Description:
    """Return the description of a character in *text*, a character card as JSON: V1 has its fields
    on top, V2 and V3 have them in `data`. *name*: what the character is called; "": as the card
    calls it. *kind*: the kind of file, in words. Raises WrongUse, naming *path*, if it is no card.
    """
    try:
        content = read_json(text)
    except (ValueError, RecursionError):
        raise WrongUse(
            f"{path} is not valid JSON; a prompt belongs in a .md or .txt file"
        ) from None
    top = content if isinstance(content, dict) else {}
    inside = top.get("data")
    fields: dict[str, Any] = inside if isinstance(inside, dict) else top
    own_name = _read_field(fields, "name")
    parts = {key: _read_field(fields, key) for key in (*ORDER, LAST) if not key.startswith("{")}
    if not own_name and not any(parts.values()):
        raise WrongUse(
            f"{path} has no name, description or system_prompt: it is not a character card"
        )
    version = {"chara_card_v2": " V2", "chara_card_v3": " V3"}.get(str(top.get("spec")), "")
    called = name or " ".join(_remove_unprintable_characters(own_name).split())[:60]
    book = fields.get("character_book")
    lorebook, notes = read_lorebook(
        book if isinstance(book, dict) else {},
        lambda text: _remove_and_note_placeholders(_fill_names(text, called))[0],
    )
    placed = {
        f"{{{{wi{entry.get('position', 'before').title()}}}}}"
        for entry in (lorebook or {}).get("entries", ())
    }
    prompt = [
        _fill_names(_format_part(key, parts), called) if key in parts else key * (key in placed)
        for key in (*ORDER, LAST)
    ]
    whole, left_out = _remove_and_note_placeholders(
        "\n\n".join(part for part in prompt if part), kept=tuple(placed)
    )
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
    parts |= {
        "first_mes": _read_field(fields, "first_mes"),
        "alternate_greetings": "\n".join(others),
    }
    greeted = [key for key in ("first_mes", "alternate_greetings") if parts[key]]
    notes += [f"{key} is not played" for key in greeted]
    parts |= {"character_book": "\n".join(entry["text"] for entry in entries)}
    texts = {
        key: _remove_and_note_placeholders(_fill_names(text, called))[0]
        for key, text in parts.items()
    }
    draft = PartialSheet(called, whole, lorebook=lorebook)
    return Description(f"{kind}{version}", draft, texts, (*left_out, *notes))


def _format_part(key: str, parts: Mapping[str, str]) -> str:
    """Return the part *key* of a character card as it stands in a prompt: example dialogue in
    blocks under a head, any other part unchanged.
    """
    if key != "mes_example":
        return parts[key]
    blocks = (block.strip() for block in re.split(r"<START>", parts[key], flags=re.IGNORECASE))
    return "\n\n".join(f"[Example Chat]\n{block}" for block in blocks if block)


def _read_field(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    return value.strip() if isinstance(value, str) else ""


def _fill_names(text: str, name: str) -> str:
    """Return *text* with the placeholders of character cards filled in: *name* for the character,
    "the user" for the human, nothing for `original`.
    """
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


def _remove_and_note_placeholders(
    text: str, kept: tuple[str, ...] = ()
) -> tuple[str, tuple[str, ...]]:
    """Return (*text* without placeholders ``{{...}}`` and unprintable characters, a note on each
    placeholder that was removed). *kept*: placeholders that stay.
    """
    left_out: dict[str, None] = {}

    def remove_placeholder(match: re.Match[str]) -> str:
        if match[0] in kept:
            return match[0]
        left_out[f"{match[0]} cannot be filled in here and was left out"] = None
        return ""

    # what is left out is named in a note, so it is made printable first
    text = re.sub(
        r"\{\{[^{}\n]{1,200}\}\}", remove_placeholder, _remove_unprintable_characters(text)
    )
    return text.strip(), tuple(left_out)


def _remove_unprintable_characters(text: str) -> str:
    """Return *text* without characters that a terminal would obey or a reader would not see; line
    breaks and tabs stay.
    """
    return "".join(
        c for c in text if c in "\n\t" or not (unicodedata.category(c) in _UNSEEN or c in TURNING)
    )


# ---------------------------------------------------------------- written down


def render_sheet(draft: PartialSheet) -> str:
    """Return *draft* as the text of a character sheet's YAML file; comments to fill in stand for
    what the draft lacks.
    """
    parts = [f"# {escape_line(draft.name)}: what each key means is in docs/characters.md\n"]
    parts.append(format_yaml({"name": draft.name}))
    parts.append(
        format_yaml({"prompt": f"{draft.prompt}\n"})
        if draft.prompt
        else "# prompt: what it is told of itself\n"
    )
    parts.append(format_yaml({"voice": draft.voice}) if draft.voice else "# voice: how it sounds\n")
    if not any(map(draft.list_statements, ITEM_EXAMPLES)):
        parts.append("# Its items: write your own like these, and take the # away.\n")
    left = MOST_ACTIVE
    for section, (topic, says, ask) in ITEM_EXAMPLES.items():
        here = draft.list_statements(section)
        parts.append(f"{section}:\n" if here and left else f"# {section}:\n")
        if not here:
            parts.append(_make_comment(_indent_item({topic: {"says": says, "ask": ask}})))
        taken = set[str]()
        for number, statement in enumerate(here):
            topic = statement.topic
            if topic.casefold() in taken:
                topic = f"{topic} ({len(taken)})"
            taken.add(topic.casefold())
            if statement.quote:
                parts.append(f"  # {escape_line(f'{statement.field}: {statement.quote}')}\n")
            item = _indent_item({topic: statement.says})
            parts.append(item if number < left else _make_comment(item))
        left = max(0, left - len(here))
    parts += [
        _make_comment(f"{statement.says}  ({statement.field})")
        for statement in draft.statements
        if statement.kind == "honesty"
    ]
    parts.append(format_yaml({"says_it_is_an_ai": draft.says_it_is_an_ai}))
    if draft.lorebook:
        parts.append(format_yaml({"lorebook": dict(draft.lorebook)}))
    return "".join(parts)


def _indent_item(item: Mapping[str, Any]) -> str:
    return "".join(f"  {line}" for line in format_yaml(item).splitlines(keepends=True))


def _make_comment(text: str) -> str:
    return "".join(f"# {escape_line(line)}\n" for line in text.splitlines())
