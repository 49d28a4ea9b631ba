"""What commands print for programs: JSON of our values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from independence_bench.protocol.definition import Configuration


def json_text(value: object, indent: int = 2) -> str:
    """*value* in ASCII, so that a terminal obeys nothing in it; absent is null, never 0.

    A dataclass is an object with its fields, a configuration is a text.
    """
    return json.dumps(value, indent=indent, default=_plain)


def _plain(value: Any) -> object:
    if isinstance(value, Configuration):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    return {field.name: getattr(value, field.name) for field in fields(value)}


def picked(value: object, names: str) -> dict[str, Any]:
    """The attributes of *value* that are called *names*, which spaces separate."""
    return {name: getattr(value, name) for name in names.split()}
