"""Ids that are safe in a path and readable in an address: made of a name, and told apart by a hash.

A name comes from outside. What is left of it here are lower-case letters, digits and single hyphens, so no id leaves
its folder, and none differs from another in case alone.
"""

from __future__ import annotations

import re
import unicodedata

from independence_bench.hashing import text_hash

LONGEST = 48  # characters of a name
HASH = 8  # hexadecimal digits that tell two of one name apart
TRANSCRIPT = 16  # of a transcript's id: there may be a hundred thousand


def slug(name: str, hash_: str) -> str:
    """*name* as far as it is plain letters and digits, and the start of *hash_* (hexadecimal)."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii").lower()
    readable = re.sub(r"[^a-z0-9]+", "-", plain)[:LONGEST].strip("-")
    return f"{readable}-{hash_[:HASH]}" if readable else hash_[:HASH]


def scenario_slug(name: str) -> str:
    """The id of a scenario; the protocol's reader has seen to it that *name* is lower-case letters, digits and `_`."""
    return name.replace("_", "-")


def transcript_slug(protocol_hash: str, transcript_id: str) -> str:
    """The id of a transcript as one protocol reads it: two protocols may share it, with rubrics of their own."""
    return text_hash(protocol_hash + transcript_id)[:TRANSCRIPT]
