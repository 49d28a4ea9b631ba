"""How much may be written or held of what is unpacked: archives, blobs, columns. A small file can stand for gigabytes.

Pure. Whoever unpacks asks here, before the bytes are there.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

LARGEST_TEXT = 64_000_000  # bytes of one record: a reply of the largest size that can be set, escaped for JSON in JSON
LARGEST_TOTAL = 2_000_000_000  # bytes of a data set in all; the known one has 100 million
HELD = 64_000_000  # bytes of records that are held together


class TooLarge(ValueError):
    """Unpacked, it would be larger than it may be."""

    def __init__(self, most: int) -> None:
        super().__init__(f"unpacked it would be larger than {most:,} bytes")


@dataclass(slots=True)
class Allowance:
    """What is left to unpack, in bytes."""

    most: int = LARGEST_TOTAL
    taken: int = 0

    def take(self, size: int) -> None:
        """Count *size* more bytes. Raises TooLarge before they are beyond the most."""
        if self.taken + size > self.most:
            raise TooLarge(self.most)
        self.taken += size


def inflate(blob: bytes, most: int = LARGEST_TEXT) -> bytes:
    """What zlib packed, at most *most* bytes. Raises TooLarge for more, zlib.error for what is damaged or cut short."""
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(blob, most + 1)
    if len(data) > most:
        raise TooLarge(most)
    if not unpacker.eof:
        raise zlib.error("incomplete or truncated stream")
    return data
