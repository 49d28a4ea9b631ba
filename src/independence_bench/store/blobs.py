"""Texts as blobs, and how large what is unpacked may be.

Whoever unpacks an archive, a blob or a column asks here how much may be written or held of it,
before the bytes are there: a small file can stand for gigabytes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from independence_bench.errors import StoreError

# bytes of one record: a reply of the largest size that can be set, escaped for JSON in JSON
LARGEST_TEXT = 64_000_000
LARGEST_TOTAL = 2_000_000_000  # bytes of a data set in all; the known one has 100 million
HELD = 64_000_000  # bytes of records that are held together


class TooLarge(ValueError):
    """The error for a text that would be larger than allowed when it is unpacked."""

    def __init__(self, most: int) -> None:
        super().__init__(f"unpacked it would be larger than {most:,} bytes")


@dataclass(slots=True)
class Allowance:
    """The number of bytes that may still be unpacked."""

    most: int = LARGEST_TOTAL
    taken: int = 0

    def take_bytes(self, size: int) -> None:
        """Count *size* more bytes as unpacked. Raises TooLarge if more bytes than allowed have then
        been unpacked in all.
        """
        if self.taken + size > self.most:
            raise TooLarge(self.most)
        self.taken += size


def inflate_blob(blob: bytes, most: int = LARGEST_TEXT) -> bytes:
    """Return the bytes that zlib compressed into *blob*. Raises TooLarge if they are more than
    *most*, zlib.error if the blob is damaged or cut short.
    """
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(blob, most + 1)
    if len(data) > most:
        raise TooLarge(most)
    if not unpacker.eof:
        raise zlib.error("incomplete or truncated stream")
    return data


def pack_text(text: str) -> bytes:
    """Return *text* compressed by zlib, in the form in which the store keeps long texts."""
    # fast: 4% larger than the default, in half of the time, which is spent on every call; to clear
    # a window of the usual size takes a fifth of it
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1, 14)


def unpack_text(blob: bytes) -> str:
    """Return the text that was compressed into *blob* for the store. Raises StoreError if it is
    damaged.
    """
    try:
        return inflate_blob(blob).decode("utf-8", "surrogatepass")
    except (zlib.error, TooLarge, UnicodeDecodeError, TypeError) as error:
        raise Damaged(error) from None


def unpack_json(blob: bytes) -> Any:
    """Return the value of the JSON text that was compressed into *blob* for the store. Raises
    StoreError if the blob is damaged, ValueError if its text is not JSON.
    """
    try:
        # in half the time of the two steps below; it refuses more, such as a lone surrogate
        return from_json(inflate_blob(blob), cache_strings="keys")
    except (zlib.error, TooLarge, ValueError, TypeError):
        return json.loads(unpack_text(blob))


class WrongChecksum(ValueError):
    """The error for a stored record that can be read but was changed after it was stored."""


class Damaged(StoreError):
    """The error for a stored record that aib cannot have written. *store*: the store as a user
    named it, if known.
    """

    def __init__(self, error: Exception, store: str = "") -> None:
        self.error = error
        reason = type(error).__name__
        if isinstance(error, zlib.error):
            reason = "it cannot be unpacked"
        elif isinstance(error, WrongChecksum):
            reason = str(error)
        named = f"the store {store}".rstrip()
        super().__init__(f"{named} holds a damaged record ({reason}); restore it from a copy")


@contextmanager
def report_damage() -> Iterator[None]:
    """Turn a ValueError, TypeError, KeyError or RecursionError that is raised inside the block into
    a StoreError which says that the store holds a damaged record.
    """
    try:
        yield
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Damaged(error) from None
