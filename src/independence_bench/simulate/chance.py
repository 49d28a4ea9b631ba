"""Reproducible random numbers, made from a hash of what causes them.

The same causes give the same number on every machine, whatever was drawn before, so the order in which concurrent
requests arrive changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from independence_bench.hashing import content_hash

T = TypeVar("T")


def unit(*causes: str | int) -> float:
    """A number in [0, 1), the same for the same *causes*."""
    return int(content_hash(list(causes))[:13], 16) / 16**13


def choose(options: Sequence[T], *causes: str | int) -> T:
    """One of *options* (there must be one), the same for the same *causes*."""
    return options[int(unit(*causes) * len(options))]
