"""Counts and arguments of a call in Inspect's form, as plain JSON. Knows no Inspect."""

from __future__ import annotations

import json
from typing import Any

from independence_bench.models.messages import ToolCall, Usage


def usage_of(told: Usage) -> dict[str, Any]:
    """As Inspect counts: what was read from a cache is no part of the input."""
    prompt, cached, reply = told.prompt_tokens or 0, told.cached_tokens or 0, told.completion_tokens or 0
    return {
        "input_tokens": max(prompt - cached, 0),
        "output_tokens": reply,
        "total_tokens": prompt + reply,
        "input_tokens_cache_read": told.cached_tokens,
        "reasoning_tokens": told.reasoning_tokens,
        "total_cost": told.cost,
    }


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call as an object; what is none stands in one under no name."""
    try:
        given = json.loads(call.arguments)
    except (ValueError, RecursionError):
        given = None
    return given if isinstance(given, dict) else {"": call.arguments}
