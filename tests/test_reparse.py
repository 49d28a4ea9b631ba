"""Raw bodies read once more: odd JSON is read as `json` reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from independence_bench.analysis.audit.evidence import model_lines, words_in
from independence_bench.protocol.definition import ToolWording
from independence_bench.protocol.loader import load


@pytest.fixture(scope="module")
def wording() -> ToolWording:
    """What the tool is called."""
    return load("v2").tool_role


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

    assert words_in(body, 200, "user_role", wording) == ("I keep my name.", "")


@pytest.mark.parametrize(
    "body", ["", "{", "[]", "1", '{"request_messages": [], "response": "x"} y', "[" * 100_000]
)
def test_what_is_no_file_has_no_words(body: str, wording: ToolWording) -> None:
    """A reason stands in their place."""
    read = words_in(body, 200, "user_role", wording)

    assert isinstance(read, str)
    assert read


def called(*calls: Any) -> dict[str, Any]:
    """What a model says by calls of a tool."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


@pytest.mark.parametrize(
    "odd",
    [
        *("text", 7, None, ["role", "assistant"], {}, {"role": "tool"}),
        *(
            called("text", None, {}, {"function": "f"}, {"function": {}}),
            {"role": "assistant", "tool_calls": "all"},
        ),
    ],
)
def test_a_history_is_read_whatever_else_is_in_a_request(odd: Any) -> None:
    """A request of a foreign export may have anything in the place of a message or a call; the rest
    is read.
    """
    own = called({"function": {"name": "say", "arguments": json.dumps({"message": "I stay."})}})
    messages = [{"role": "system", "content": "Be."}, odd, own, {"role": "user", "content": "Why?"}]

    said, last = model_lines(json.dumps({"messages": messages}))

    assert [line for line in said if line] == ["I stay."]
    assert last == "Why?"
    assert model_lines(json.dumps({"messages": odd})) == ((), "")
