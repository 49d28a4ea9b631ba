"""JSON grown out of any bytes, so that a mutation changes its shape instead of making it no JSON at
all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

NUMBERS = (0, 1, -1, 2, 0.5, 5, 10, 12, 11, 95, 200, 402, 403, 429, 502,
           2**31, 2**63, 10**400, 1e-9, 1e308, -0.0,
           float("nan"), float("inf"), 1e6, 0.000001)  # fmt: skip
DEEPEST = 12
MOST = 8  # entries of one list or object


def grow(data: bytes, words: Sequence[str]) -> Any:
    """The value that *data* stands for; *words* are its likely keys and texts. Null where *data*
    ends too soon.

    A byte of a text that is no UTF-8 becomes a lone surrogate.
    """
    return _value(iter(data), words, 0)


def _value(data: Iterator[int], words: Sequence[str], depth: int) -> Any:
    kind, size = next(data, 0) % 6, next(data, 0)
    match kind:
        case 1:
            return size % 2 == 1
        case 2:
            return NUMBERS[size % len(NUMBERS)]
        case 3:
            return words[size % len(words)]
        case 4:
            return bytes(next(data, 32) for _ in range(size)).decode("utf-8", "surrogateescape")
        case 5 if depth < DEEPEST and size % 2:
            return [_value(data, words, depth + 1) for _ in range(size // 2 % MOST)]
        case 5 if depth < DEEPEST:
            return {
                words[next(data, 0) % len(words)]: _value(data, words, depth + 1)
                for _ in range(size // 2 % MOST)
            }
    return None


def flatten(value: Any, words: Sequence[str]) -> bytes:
    """Bytes that `grow` into *value*, or into something like it: a number that is in no table
    becomes 0.
    """
    if isinstance(value, bool):
        return bytes([1, value])
    if isinstance(value, int | float):
        return bytes([2, NUMBERS.index(value) if value in NUMBERS else 0])
    if isinstance(value, str):
        text = value.encode("utf-8", "replace")[:255]
        return bytes([3, words.index(value)]) if value in words else bytes([4, len(text)]) + text
    if isinstance(value, list):
        parts = [flatten(part, words) for part in value[: MOST - 1]]
        return bytes([5, len(parts) * 2 + 1]) + b"".join(parts)
    if isinstance(value, dict):
        known = [(key, part) for key, part in value.items() if key in words][: MOST - 1]
        return bytes([5, len(known) * 2]) + b"".join(
            bytes([words.index(key)]) + flatten(part, words) for key, part in known
        )
    return bytes([0, 0])
