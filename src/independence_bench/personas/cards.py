"""A file with somebody else's description of a character -> what is in it.

    found = read_description(path)  # a Character Card V1, V2 or V3, or a bare prompt
    render_sheet(found.draft)  # as a sheet; items that it has not: comments to fill in
    read_picture_without_texts(path)  # the picture without the card

A card is JSON under any name, or stands in a PNG (a text of it) or in a CHARX (a zip). Files are
read within a bound, and nothing of them is run, followed or unpacked beyond it. What the fields of
a card mean is in `card_fields`.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from independence_bench.errors import WrongUse, describe_file_error
from independence_bench.lookup import describe_similar_files
from independence_bench.models.response import read_json
from independence_bench.personas.card_fields import (
    Description,
    describe_card,
    describe_prompt,
    find_card,
    get_fields,
    is_card,
)
from independence_bench.personas.drafts import PartialSheet, Statement, render_sheet

__all__ = [
    "LARGEST_PICTURE",
    "PNG",
    "Description",
    "PartialSheet",
    "Statement",
    "holds_card",
    "read_description",
    "read_picture_without_texts",
    "remove_picture_texts",
    "render_sheet",
]

LARGEST_FILE = 50_000_000  # bytes: a card's picture may be large, what is read of it is not
LARGEST_PICTURE, LARGEST_SIDE = 2_000_000, 4096  # bytes and pixels of one that is shown
LARGEST_TEXT = 2_000_000  # bytes of a card's text, unpacked
MOST_CHUNKS = 50_000  # parts of a picture that are looked at
MOST_TEXTS = 8  # texts of a picture that may be its card
PNG = b"\x89PNG\r\n\x1a\n"
ZIP = b"PK\x03\x04"
TEXTS = (b"tEXt", b"zTXt", b"iTXt")
SHOWN = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")  # what a picture needs
KEYWORDS = (b"ccv3", b"chara")  # V3 first: a file may have both
CARD_FILE = "card.json"  # in a CHARX
OTHER_KINDS = (  # (place in the file, bytes there, what it is)
    (0, b"\xff\xd8\xff", "a JPEG picture"),
    (8, b"WEBP", "a WebP picture"),
    (0, b"GIF8", "a GIF picture"),
    (4, b"ftyp", "an AVIF or HEIC picture, or a film"),
    (0, b"BM", "a BMP picture"),
    (0, b"%PDF", "a PDF"),
    (0, b"\x1f\x8b", "packed by gzip"),
    (0, b"7z\xbc\xaf", "a 7z archive"),
    (0, b"Rar!", "a RAR archive"),
)
SHORTEST_BASE64 = 40  # characters of a text file that may be a card
_BASE64 = re.compile(rb"[A-Za-z0-9+/_\-\s]++=*+\s*+")


def read_description(path: Path, name: str = "") -> Description:
    """Read the description of a character from the file at *path*: a character card (JSON under any
    name, PNG or CHARX) or a system prompt (text). *name*: what the character is called; "": as the
    card calls it.

    Raises WrongUse if the file cannot be read as a card or a prompt.
    """
    data = _read_bytes(path)
    if data.startswith(PNG):
        found = _find_card_in_png(data, path)
        description = describe_card(found.card, "a character card in a picture", name)
        return replace(description, notes=(*found.notes, *description.notes), picture=data)
    if zipfile.is_zipfile(io.BytesIO(data)):
        found = _find_card_in_zip(data, path)
        description = describe_card(found.card, "a character card in a CHARX file", name)
        return replace(description, notes=(*found.notes, *description.notes), picture=found.picture)
    for at, magic, what in OTHER_KINDS:
        if data[at : at + len(magic)] == magic and (b"\0" in data[:4096] or at or len(data) < 4096):
            raise WrongUse(
                f"{path} is {what}, in which no card is looked for; export the character as PNG or "
                "JSON from where you made it"
            )
    if len(data) > LARGEST_TEXT:
        raise WrongUse(
            f"{path} has {len(data):,} bytes of text, more than {LARGEST_TEXT:,}; shorten it"
        )
    text = _decode_text(data, path)
    if not text:
        raise WrongUse(f"{path} is empty")
    card = _find_card_in_text(text, path)
    if card is not None:
        return describe_card(card, "a character card", name)
    return describe_prompt(text, name)


def holds_card(path: Path) -> bool:
    """Return whether the file at *path* is a character card, so that it is no sheet; or a picture
    or an archive, in which only a card can be. False if it cannot be read.
    """
    try:
        data = _read_bytes(path)
        if data.startswith((PNG, ZIP)):
            return True
        text = _decode_text(data, path) if len(data) <= LARGEST_TEXT else ""
        return text[:1] in ("{", "[", '"') and is_card(read_json(text))
    except (WrongUse, ValueError, RecursionError):
        return False


def _read_bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            meant = describe_similar_files(path, (".json", ".png", ".charx", ".md", ".txt"))
            raise WrongUse(f"{path} does not exist or is not a file{meant}")
        if path.stat().st_size > LARGEST_FILE:
            raise WrongUse(
                f"{path} has {path.stat().st_size:,} bytes, more than {LARGEST_FILE:,}; give a "
                "smaller one"
            )
        return path.read_bytes()[: LARGEST_FILE + 1]
    except (OSError, ValueError) as error:
        raise WrongUse(f"{path} cannot be read ({describe_file_error(error)})") from error


def _decode_text(data: bytes, path: Path) -> str:
    """Return the text in *data*, UTF-8 or UTF-16, with line feeds as line ends. Raises WrongUse,
    naming *path*, if it is in another encoding.
    """
    encoding = "utf-8-sig"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif data[1:2] == b"\0" or data[:1] == b"\0":  # JSON begins with a character of ASCII
        encoding = "utf-16-le" if data[1:2] == b"\0" else "utf-16-be"
    try:
        return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n").strip()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise WrongUse(
            f"{path} is neither a PNG nor UTF-8 text (line {line}); save it again, with UTF-8 as "
            "its encoding"
        ) from None


# ---------------------------------------------------------------- cards in files


@dataclass(frozen=True, slots=True)
class _Found:
    """A card that was found in a file, and remarks on the file."""

    card: dict[str, Any]
    notes: tuple[str, ...] = ()
    picture: bytes = b""


def _find_card_in_text(text: str, path: Path) -> dict[str, Any] | None:
    """Return the character card in *text*, JSON or the base64 of it; None if *text* is a prompt.
    Raises WrongUse, naming *path*, if it should be a card and is none.
    """
    meant = path.suffix.lower() == ".json"
    if text[0] not in '{["' and not meant:
        coded = text.encode("utf-8", "surrogatepass")
        plain = _decode_base64(coded) if len(coded) >= SHORTEST_BASE64 else None
        if plain is None or plain.lstrip()[:1] != b"{":
            return None
        text, meant = plain.decode("utf-8", "replace"), True
    try:
        content = read_json(text)
    except RecursionError:
        content = None
        if meant:
            raise WrongUse(f"{path} is not valid JSON: it is nested too deeply") from None
    except ValueError as error:
        # a card with a mistake in it, under any name, must not become a prompt
        if meant or _looks_like_json_of_card(text):
            raise WrongUse(
                f"{path} is not valid JSON: {_explain_json_error(error, text)}; correct it, or "
                "export the card again (a prompt belongs in a .md or .txt file)"
            ) from None
        return None
    card = _find_named_card(content, path)
    if card is None and isinstance(content, dict) and "entries" in content:
        raise WrongUse(
            f"{path} is a lorebook, not a character card; add it to the card in your front end, "
            "and export that"
        )
    if card is None and meant:
        raise WrongUse(
            f"{path} has no name, description or system_prompt: it is not a character card"
        )
    return card if meant or is_card(content) else None


def _looks_like_json_of_card(text: str) -> bool:
    return text[0] in "{[/" and any(
        f'"{key}"' in text for key in ("chara_card_v2", "chara_card_v3", "first_mes", "char_name")
    )


def _explain_json_error(error: ValueError, text: str) -> str:
    """Return in words what is wrong with the JSON *text*, and in which line, from the *error* of
    its reader.
    """
    if not isinstance(error, json.JSONDecodeError):
        return "a number in it is too long"
    # the reader passes over what stands before the first character
    at = error.pos + len(text) - len(error.doc) if len(error.doc) < len(text) else error.pos
    line, rest, before = text.count("\n", 0, at) + 1, text[at : at + 2], text[:at].rstrip()
    if rest[:1] in ("}", "]") and before[-1:] == ",":
        return f"line {line} has a comma before {rest[0]}"
    if rest in ("//", "/*"):
        return f"line {line} has a comment, which JSON does not allow"
    if at >= len(text.rstrip()):
        return f"it ends too early, in line {line}"
    return f"line {line}, character {at - text.rfind(chr(10), 0, at)}: {error.msg.lower()}"


def _find_named_card(content: object, path: Path) -> dict[str, Any] | None:
    try:
        return find_card(content)
    except WrongUse as error:
        raise WrongUse(f"{path} {error}") from None


def _find_card_in_png(data: bytes, path: Path) -> _Found:
    """Return the card in *data*, a PNG: the first whole one of its V3 cards, else of the others.
    Raises WrongUse, naming *path*, if there is none.
    """
    texts: list[tuple[bytes, bytes, bytes, bool]] = []  # keyword, kind, rest, whether the sum fits
    notes: list[str] = []
    cut_off: WrongUse | None = None
    ended = False
    try:
        for kind, content, fits in _list_png_chunks(data, path):
            keyword, divided, rest = content.partition(b"\0")
            if kind in TEXTS and divided and keyword.strip().lower() in KEYWORDS:
                texts.append((keyword.strip().lower(), kind, rest, fits))
                if ended:
                    notes.append("its card stands behind the end of the picture")
            ended = ended or kind == b"IEND"
    except WrongUse as error:
        cut_off = error
    texts.sort(key=lambda text: KEYWORDS.index(text[0]))
    failed: list[tuple[str, WrongUse]] = []
    for number, (keyword, kind, rest, fits) in enumerate(texts[:MOST_TEXTS]):
        label = keyword.decode()
        try:
            card = _read_chunk_card(kind, rest, path)
        except WrongUse as error:
            failed.append((label, error))
            continue
        same = sum(text[0] == keyword for text in texts)
        if failed:
            wrong = " and ".join(dict.fromkeys(label for label, _ in failed))
            notes.append(f"a card in it ({wrong}) is damaged; another one ({label}) was read")
        if same > 1:
            notes.append(
                f"it has {same} cards called {label}; number {_place(texts, number)} was read"
            )
        if not fits:
            notes.append("the checksum of its card is wrong; the card is whole and was read")
        if cut_off:
            notes.append("the picture is cut off behind the card")
        return _Found(card, tuple(notes))
    if cut_off:
        raise cut_off
    if failed:
        raise failed[-1][1]
    raise WrongUse(
        f"{path} is a picture without a character card in it (a text chunk `chara` or `ccv3`): "
        "pictures lose it when they are edited or sent; export the character again"
    )


def _place(texts: list[tuple[bytes, bytes, bytes, bool]], number: int) -> int:
    """Return which one of its keyword the text *number* is, counted from 1."""
    return sum(text[0] == texts[number][0] for text in texts[: number + 1])


def _read_chunk_card(kind: bytes, rest: bytes, path: Path) -> dict[str, Any]:
    """Return the card in a PNG's text chunk. *kind*: tEXt, zTXt or iTXt; *rest*: the chunk after
    its keyword. Raises WrongUse, naming *path*, if there is none in it.
    """
    text = _decode_card(_read_chunk_text(kind, rest, path), path)
    try:
        content = read_json(text)
    except (ValueError, RecursionError) as error:
        why = _explain_json_error(error, text) if isinstance(error, ValueError) else "too deep"
        raise WrongUse(
            f"{path} has a card in it that is not valid JSON: {why}; export the card again"
        ) from None
    card = _find_named_card(content, path)
    if card is None:
        raise WrongUse(
            f"{path} has no name, description or system_prompt: it is not a character card"
        )
    return card


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
        return unpacker.decompress(rest, LARGEST_TEXT * 4 // 3 + 1)
    except zlib.error as error:
        raise WrongUse(f"{path} has a damaged text in it ({error})") from error


def _decode_card(text: bytes, path: Path) -> str:
    """Return the JSON in *text*, which is JSON or the base64 of it, in a chunk of the *kind*.
    Raises WrongUse, naming *path*, if it is neither, or too long.
    """
    if len(text) > LARGEST_TEXT * 4 // 3:
        raise WrongUse(
            f"{path} carries a text of {len(text):,} bytes, more than {LARGEST_TEXT:,}; that is "
            "not a card"
        )
    if text.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        try:
            return text.decode("utf-8-sig")
        except UnicodeDecodeError:
            return text.decode("latin-1")  # as the format of PNGs has it
    plain = _decode_base64(text)
    try:
        if plain is not None:
            return _decode_text(plain, path)
    except WrongUse:
        pass
    raise WrongUse(
        f"{path} carries a text that is not a card: neither JSON nor base64 of it; export it again"
    )


def _decode_base64(text: bytes) -> bytes | None:
    """Return the bytes whose base64 *text* is: of either alphabet, in lines, without padding. None
    if it is none.
    """
    if not _BASE64.fullmatch(text.rstrip(b"\0")):
        return None
    packed = (
        b"".join(text.rstrip(b"\0").split()).rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    )
    try:
        return base64.b64decode(packed + b"=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _find_card_in_zip(data: bytes, path: Path) -> _Found:
    """Return the card in *data*, a CHARX: the file card.json of a zip, and the main icon if that is
    a PNG. Raises WrongUse, naming *path*, if there is none.
    """
    damaged = f"{path} is a zip file that cannot be read; export the character again"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if CARD_FILE not in archive.namelist():
                raise WrongUse(
                    f"{path} is a zip file without {CARD_FILE}, so no CHARX; give the card in it"
                )
            text = _unpack(archive, CARD_FILE, LARGEST_TEXT)
            if text is None:
                raise WrongUse(
                    f"{path} has a {CARD_FILE} of more than {LARGEST_TEXT:,} bytes; shorten it"
                )
            card = _find_card_in_text(_decode_text(text, path), Path(f"{path}/{CARD_FILE}"))
            assert card is not None  # noqa: S101 - by its name it is a card, or refused
            icon = _find_icon(card)
            known = icon in archive.namelist()
            picture = (_unpack(archive, icon, LARGEST_PICTURE) or b"") if known else b""
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        ValueError,
        RuntimeError,
        IndexError,
    ) as error:
        raise WrongUse(damaged) from error
    return _Found(card, picture=picture if picture.startswith(PNG) else b"")


def _unpack(archive: zipfile.ZipFile, name: str, most: int) -> bytes | None:
    """Return the file *name* of *archive*; None if it has more than *most* bytes."""
    with archive.open(name) as file:
        unpacked = file.read(most + 1)
    return unpacked if len(unpacked) <= most else None


def _find_icon(card: dict[str, Any]) -> str:
    """Return the path, in its archive, of the main icon that *card* names; "" if it names none."""
    assets = get_fields(card).get("assets")
    icons = [
        asset
        for asset in (assets if isinstance(assets, list) else [])
        if isinstance(asset, dict) and asset.get("type") == "icon"
    ]
    icons.sort(key=lambda asset: asset.get("name") != "main")
    address = icons[0].get("uri") if icons else None
    if not isinstance(address, str):
        return ""
    return re.sub(r"^embed{1,2}ed://", "", address)


# ---------------------------------------------------------------- pictures


def _list_png_chunks(data: bytes, path: Path) -> Iterator[tuple[bytes, bytes, bool]]:
    """Yield (kind, content, whether its checksum is right) of each chunk of the PNG *data*, and of
    the texts behind its end. Raises WrongUse, naming *path*, if the picture is cut off.
    """
    at, ended = len(PNG), False
    for _ in range(MOST_CHUNKS):
        if at + 8 > len(data):
            return
        (length,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        if ended and kind not in TEXTS:
            return
        if at + 12 + length > len(data):
            if ended:
                return
            raise WrongUse(
                f"{path} says that a part of it has {length:,} bytes, which it does not have: it "
                "is cut off or forged"
            )
        content = data[at + 8 : at + 8 + length]
        total = zlib.crc32(data[at + 4 : at + 8 + length])
        yield kind, content, data[at + 8 + length : at + 12 + length] == struct.pack(">I", total)
        ended = ended or kind == b"IEND"
        at += 12 + length


def read_picture_without_texts(path: Path) -> bytes:
    """Return the PNG at *path* without the texts in it, such as a character card or a place. Raises
    WrongUse if the file is not a whole PNG, or is too large.
    """
    return remove_picture_texts(_read_bytes(path), path)


def remove_picture_texts(data: bytes, path: Path) -> bytes:
    """Return the PNG *data* without the texts in it. Raises WrongUse, naming *path*, if it is not a
    whole PNG, or is too large.
    """
    if not data.startswith(PNG):
        raise WrongUse(f"{path} is not a PNG; save the picture as one")
    parts: list[tuple[bytes, bytes]] = []
    for kind, content, fits in _list_png_chunks(data, path):
        if kind in SHOWN:
            if not fits:
                raise WrongUse(
                    f"{path} is damaged: a part of it is not what its sum says; save it again"
                )
            parts.append((kind, b"" if kind == b"IEND" else content))
        if kind == b"IEND":
            break
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
