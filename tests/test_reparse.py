"""Raw bodies read once more: odd JSON is read as `json` reads it."""

from __future__ import annotations

import pytest

from independence_bench.analysis.audit import parse_reply_body
from independence_bench.protocol.definition import ToolWording
from independence_bench.protocol.loader import load_protocol


@pytest.fixture(scope="module")
def wording() -> ToolWording:
    """What the tool is called."""
    return load_protocol("v2").tool_role


@pytest.mark.parametrize(
    "odd",
    [
        '"x": NaN, "y": [Infinity, -Infinity, 1e999]',
        '"x": 1, "x": 2, "response": "Another.", "response": "I keep my name."',
        '"x": "\\ud800 alone"',
        '"x": "\ud800 alone"',
        '"x": "a line\nand\x01 another"',
        f'"x": {"[" * 500}{"]" * 500}',
        f'"x": {"9" * 4000}',
        '"x": 9007199254740993, "y": -0.0, "z": 1E+5',
    ],
)
def test_a_file_is_read_whatever_stands_beside_its_words(odd: str, wording: ToolWording) -> None:
    """What one decoder refuses the other one reads: surrogates, control characters, depth, numbers
    without end.
    """
    body = f'{{"request_messages": [], "response": "I keep my name.", {odd}}}'

    assert parse_reply_body(body, 200, "user_role", wording) == ("I keep my name.", "")


@pytest.mark.parametrize(
    "body", ["", "{", "[]", "1", '{"request_messages": [], "response": "x"} y', "[" * 100_000]
)
def test_what_is_no_file_has_no_words(body: str, wording: ToolWording) -> None:
    """A reason stands in their place."""
    read = parse_reply_body(body, 200, "user_role", wording)

    assert isinstance(read, str)
    assert read
