"""What may be absent and is not here, for type checkers and for whoever reads the failure."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def known(value: T | None) -> T:
    """*value*, which is there."""
    assert value is not None
    return value
