"""One way to turn content into a key: canonical JSON, then SHA-256.

Knows nothing of what it hashes. Every key in the store is made here, so two things have one key exactly
when their content is the same: key order, spacing and the platform do not matter, every character does.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any


def canonical(value: Any) -> str:
    """*value* as JSON with sorted keys and no spacing; dataclasses become objects, tuples become lists.

    A field that does not count when two values of a dataclass are compared is left out.

    Raises TypeError for what JSON has no word for, ValueError for NaN and infinities.
    """
    return _CANONICAL.encode(value)


def content_hash(value: Any) -> str:
    """The SHA-256 of *value*'s canonical JSON: 64 hexadecimal digits."""
    return text_hash(canonical(value))


def text_hash(text: str) -> str:
    """The SHA-256 of *text* in UTF-8: 64 hexadecimal digits."""
    # surrogatepass: a lone surrogate in a model's reply is odd content, not a reason to lose it
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.compare}
    raise TypeError(f"{type(value).__name__} has no canonical form")


# made once: every call needs several keys
_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain
)
